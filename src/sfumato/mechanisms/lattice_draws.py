"""Draws from the tight-constraints mechanism of a grid with millions of cells, one row of which is never written down.

Row x has the weights W(y) = ⌊K(x − y) Z_y / 2^bits⌋ + floor, plus what is missing to 2^60 at one cell, the spill. A
draw first takes a uniform integer u < 2^60 and finds which of the three parts it hits:

* u < floor · cells: the cell ⌊u / floor⌋.
* u ≥ 2^60 − missing: the spill. What is missing differs with x, but its proved bounds are so close that u hardly
  ever lies between them; if it does, the row is summed up.
* Otherwise a cell with the chance ⌊K(x − y) Z_y / 2^bits⌋ / S, where S is the sum of that over the row, by rejection: a
  cell y is proposed with a chance proportional to M(y) ≥ ⌊K Z_y / 2^bits⌋, and taken if a uniform number of [0, 1) is
  below their ratio. That number is a lane's word, and is continued with more words when 64 bits do not decide.

S is 2^60 minus the other two parts, so it is the same for all secrets up to the bounds of what is missing (some
10^-11): the chance of a rejection, and with it the work, does not depend on the secret.

Proposals. On grids where distances add up along the axes, and on lines, the exact mechanism z_y e^{−ε d} is two-sided
geometric noise along each axis, what leaves the grid counting for its border. On other grids an offset is drawn from
an alias table with a multiple of K as weights, and again what leaves the grid counts for its border, where Z is larger
than inside. One proposal in 2^20 is any cell, which makes up for what rounding and the ends of tables leave too small.
Of the first kind all but 2^-19 of the proposals are taken, of the second kind most.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, prod
from typing import TYPE_CHECKING, Any, NamedTuple

import flint
import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.compiled import product_shifted
from sfumato.draws.alias import AliasTables, alias_tables
from sfumato.draws.noise import Noise, Rate, noise
from sfumato.draws.plans import split
from sfumato.draws.randomness import Lane, Stream
from sfumato.errors import NotSupported
from sfumato.mechanisms.lattice import KERNEL_BITS, is_separable, proper_dimension, shifted_products
from sfumato.numbers import Integers, as_ball, dyadic

if TYPE_CHECKING:
    from sfumato.mechanisms.tight import LatticeMechanism


_TOTAL = 1 << KERNEL_BITS
_UNUSED = 64 - KERNEL_BITS  # bits of a word beyond a uniform integer below 2^60
_LARGEST_BOX = 1 << 24  # offsets in a table of proposals
_MIX = 20  # one proposal in 2^20 is any cell
_Z_BITS = 63
_REJECTED, _TAKEN, _OPEN = 0, 1, 2


class Proposed(NamedTuple):
    """Cells with their weights and with bounds of M, in units of 2^-60; the bounds agree where M is an integer."""

    cells: Integers
    weights: NDArray[np.uint64]
    least: NDArray[np.uint64]
    most: NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class LatticePlan:
    """Draws from a :class:`LatticeMechanism`; made by :func:`lattice_plan`.

    ``proposals`` take so many ``words`` of a lane to ``propose`` a cell for each of the secrets that wait, with chances
    that exceed the weights up to a factor; their ``bounds`` enclose M to so many bits.

    ``digits`` of a word are looked at when a proposal is judged; fewer than 64 leave more open, as tests want it.
    """

    mechanism: LatticeMechanism
    proposals: _Offsets | _Noise
    digits: int = 64

    @property
    def name(self) -> str:
        """The sides of the grid."""
        return f"{' × '.join(map(str, self.sides))} cells"

    @property
    def sides(self) -> tuple[int, ...]:
        """The sides of the grid."""
        return self.mechanism.lattice.shape

    @property
    def output_sides(self) -> tuple[int, ...]:
        """The same."""
        return self.sides

    def draw(self, columns: Integers, stream: Stream, lanes: Integers) -> Integers:
        """One cell for each secret."""
        place = (stream.take(lanes, 0, 1)[0] >> np.uint64(_UNUSED)).astype(np.int64)
        cells = np.empty(len(lanes), dtype=np.int64)
        below, above = len(self.mechanism.lattice) * self.mechanism.floor, _TOTAL - ceil(self.mechanism.missing[1])
        near = (place >= below) & (place < above)
        for k in np.flatnonzero(~near).tolist():
            cell = self._elsewhere(tuple(columns[:, k].tolist()), int(place[k]))
            near[k] = cell is None
            cells[k] = 0 if cell is None else cell
        waiting = np.flatnonzero(near)
        number = 1
        while waiting.size:
            waiting = self._attempt(columns, stream, lanes, number, waiting, cells)
            number += self.proposals.words + 1
        return split(cells, self.sides)

    def _elsewhere(self, secret: tuple[int, ...], place: int) -> int | None:
        """The cell, unless u lies in the main part after all."""
        mechanism = self.mechanism
        if place < len(mechanism.lattice) * mechanism.floor:
            return place // mechanism.floor
        spill = int(np.ravel_multi_index(mechanism.spill, self.sides))
        if place >= _TOTAL - floor(mechanism.missing[0]):
            return spill
        missing = (
            int(mechanism.row_weights(secret)[mechanism.spill]) - mechanism.floor - weight_of(mechanism, secret, spill)
        )
        if not mechanism.missing[0] <= missing <= mechanism.missing[1]:
            raise AssertionError("what is missing in a row is outside of its bounds")
        return spill if place >= _TOTAL - missing else None

    def _attempt(
        self, columns: Integers, stream: Stream, lanes: Integers, number: int, waiting: Integers, cells: Integers
    ) -> Integers:
        """Propose a cell to all that wait; those that took none."""
        asking, words = lanes[waiting], self.proposals.words
        proposed = self.proposals.propose(columns, waiting, stream, asking, number)
        judges = stream.take(asking, number + words, 1)[0]
        judges &= np.uint64((1 << 64) - (1 << (64 - self.digits)))
        step = np.uint64(1 << (64 - self.digits))
        states = _judge(judges, step, proposed.weights, proposed.least, proposed.most)
        for k in np.flatnonzero(states == _OPEN).tolist():
            secret, cell = tuple(columns[:, waiting[k]].tolist()), int(proposed.cells[k])
            lane = Lane(stream, int(asking[k]), number + words)
            taken = self._settled(lane, int(judges[k]) >> (64 - self.digits), secret, cell, int(proposed.weights[k]))
            states[k] = _TAKEN if taken else _REJECTED
        cells[waiting] = proposed.cells
        return np.asarray(waiting[states == _REJECTED])

    def _settled(self, lane: Lane, digits: int, secret: tuple[int, ...], cell: int, weight: int) -> bool:
        def ratio(bits: int) -> tuple[Fraction, Fraction]:
            low, high = self.proposals.bounds(secret, cell, bits)
            return weight / high, weight / low

        return lane.stays_below(digits, self.digits, ratio)

    def identity(self) -> bytes:
        """All that the weights are made of."""
        return lattice_identity(self.mechanism)


def lattice_identity(mechanism: LatticeMechanism) -> bytes:
    """Bytes that two mechanisms share only if their weights are the same."""
    similarities = mechanism.solution.kernel.integers
    shape, metric, step = mechanism.lattice.shape, mechanism.lattice.metric, mechanism.lattice.step[0]
    numbers = f"{mechanism.solution.bits}, {mechanism.floor}, {mechanism.spill}, {similarities.shape}"
    # the words are those of the first version: keyed noise and ledgers know the mechanism by them
    words = f"lattice (Lattice(shape={shape}, metric={metric!r}, step={step!r}), {numbers})"
    return words.encode() + similarities.tobytes() + mechanism.diagonal.tobytes()


def lattice_plan(
    mechanism: LatticeMechanism, *, digits: int = 64, low: int | None = None, mix: int = _MIX
) -> LatticePlan:
    """What draws from the tight-constraints mechanism of a grid.

    Tests make rare events frequent: by few ``digits`` of a word, few digits ``low`` of a table, a small ``mix``, where
    one proposal in 2^mix is any cell.
    """
    if is_separable(mechanism.lattice):
        return LatticePlan(mechanism, _noise_proposals(mechanism, mix), digits)
    return LatticePlan(mechanism, _offset_proposals(mechanism, low, mix), digits)


def weight_of(mechanism: LatticeMechanism, secret: tuple[int, ...], cell: int) -> int:
    """⌊K(x − y) Z_y / 2^bits⌋."""
    (gap, _), table = _apart(mechanism, secret, cell), mechanism.solution.kernel.integers
    if any(g >= reach for g, reach in zip(gap, table.shape, strict=True)):
        return 0
    return int(table[gap]) * int(mechanism.diagonal.flat[cell]) >> mechanism.solution.bits


def _apart(mechanism: LatticeMechanism, secret: tuple[int, ...], cell: int) -> tuple[tuple[int, ...], int]:
    """How far a cell lies from a secret along each axis, and the set of axes along which it lies at an end."""
    shape = mechanism.lattice.shape
    place = [int(i) for i in np.unravel_index(cell, shape)]
    ends = sum(
        1 << axis for axis, (y, side) in enumerate(zip(place, shape, strict=True)) if side > 1 and y in (0, side - 1)
    )
    return tuple(abs(x - y) for x, y in zip(secret, place, strict=True)), ends


@njit(cache=True, nogil=True)
def _judge(words, step, weights, least, most):  # type: ignore[no-untyped-def]
    """Whether a number that begins with a word (up to ``step``) is below weight/M for all M between the bounds."""
    states, below = np.empty(words.size, dtype=np.int64), np.uint64(64)
    for k in range(words.size):
        weight, high = weights[k], most[k]
        after = words[k] + step
        top = product_shifted(after, high, below) + np.uint64(after * high != np.uint64(0))
        top = high if after == np.uint64(0) else top
        rejected = product_shifted(words[k], least[k], below) >= weight
        states[k] = _TAKEN if top <= weight else (_REJECTED if rejected else _OPEN)
    return states


# ----------------------------------------------------------------- proposals by an offset


@dataclass(frozen=True, eq=False)
class _Offsets:
    """Offsets o with the weights E(o), a cell beyond the border counting for the nearest one on it, or any cell.

    ``places[|o|, A]`` is M for a cell at this distance that lies at an end along the axes of the set A: the sum of E
    over all that counts for it, and what any cell gets. The last entry beside them is K(o). The last output of the
    table stands for any cell.
    """

    mechanism: LatticeMechanism
    tables: AliasTables
    offsets: NDArray[np.int32]
    places: NDArray[np.uint64]
    anywhere: int
    words: int = 1

    def propose(self, columns: Integers, waiting: Integers, stream: Stream, lanes: Integers, first: int) -> Proposed:
        chosen = self.tables.draw(np.zeros(len(lanes), dtype=np.int64), stream, lanes, first)
        shape, reach = self.mechanism.lattice.shape, self.mechanism.solution.kernel.integers.shape
        bits = np.uint64(self.mechanism.solution.bits)
        cells, weights, bounds = _at_offsets(
            columns, waiting, chosen, self.offsets, np.array(shape), np.array(reach), self.places,
            self.mechanism.diagonal.ravel().view(np.uint64), bits,
        )  # fmt: skip
        for k in np.flatnonzero(chosen == len(self.offsets) - 1).tolist():
            secret = tuple(columns[:, waiting[k]].tolist())
            cells[k] = Lane(stream, int(lanes[k]), first, again=True).below(len(self.mechanism.lattice))
            weights[k] = weight_of(self.mechanism, secret, int(cells[k]))
            bounds[k] = int(self.bounds(secret, int(cells[k]), 0)[0])
        return Proposed(cells, weights, bounds, bounds)

    def bounds(self, secret: tuple[int, ...], cell: int, bits: int) -> tuple[Fraction, Fraction]:
        (gap, ends), reach = _apart(self.mechanism, secret, cell), self.mechanism.solution.kernel.integers.shape
        near = all(g < r for g, r in zip(gap, reach, strict=True))
        exact = Fraction(int(self.places[np.ravel_multi_index(gap, reach), ends]) if near else self.anywhere)
        return exact, exact


def _offset_proposals(mechanism: LatticeMechanism, low: int | None, mix: int) -> _Offsets:
    """The least multiple of K, rounded up, whose folded sums exceed all weights: floats guess it, integers decide."""
    near, bits, shape = mechanism.solution.kernel.integers, mechanism.solution.bits, mechanism.lattice.shape
    if prod(2 * s - 1 for s in near.shape) > _LARGEST_BOX:
        raise NotSupported(f"a table of proposals for offsets within {near.shape}", [f"up to {_LARGEST_BOX} offsets"])
    anywhere = 1 + (_TOTAL >> mix) // len(mechanism.lattice)
    patterns = _patterns(shape)
    needed = [shifted_products(near, _highest(mechanism.diagonal, ends), bits) for ends in patterns]
    # where sums end with the table they are too small: there ``anywhere`` has to do
    folded = [np.maximum(_folded(near.astype(np.float64), ends), 1.0) for ends in patterns]
    parts = (
        float((np.maximum(wanted - anywhere, 0) / sums).max()) for wanted, sums in zip(needed, folded, strict=True)
    )
    factor = int(max(parts) * 2.0**bits)
    while True:
        weights = shifted_products(near, factor, bits)
        sums = [_folded(weights, ends) + anywhere for ends in patterns]
        if all((covered >= wanted).all() for covered, wanted in zip(sums, needed, strict=True)):
            break
        factor += 1 + factor // 1000
    places = np.stack([*(covered.ravel() for covered in sums), near.ravel()], axis=1).astype(np.uint64)
    around = np.stack(np.meshgrid(*(np.arange(1 - s, s) for s in near.shape), indexing="ij"), axis=-1)
    offsets = around.reshape(-1, near.ndim)
    box = weights[tuple(np.abs(offsets).T)]
    outputs = np.append(box[box > 0], anywhere * len(mechanism.lattice))
    total = sum(outputs.tolist())
    if total >= 1 << 63:
        raise AssertionError("sums of proposals do not fit 64 bits")
    steps = np.concatenate([offsets[box > 0], np.zeros((1, near.ndim), dtype=np.int64)]).astype(np.int32)
    return _Offsets(mechanism, alias_tables(outputs[None], total, low=low), steps, places, anywhere)


def _patterns(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All sets of axes."""
    return [tuple(axis for axis in range(len(shape)) if code >> axis & 1) for code in range(1 << len(shape))]


def _highest(diagonal: Integers, ends: tuple[int, ...]) -> int:
    """The largest Z of cells that lie at an end along exactly these axes, 0 if there are none."""
    for axis, side in enumerate(diagonal.shape):
        inner = slice(1, -1) if side > 1 else slice(0, 0 if axis in ends else 1)
        outer = [0, -1] if side > 1 else slice(0, 0)
        diagonal = diagonal[(slice(None),) * axis + (outer if axis in ends else inner,)]
    return int(diagonal.max(initial=0))


def _folded(table: NDArray[Any], ends: tuple[int, ...]) -> NDArray[Any]:
    """Sums outwards from each offset along these axes."""
    for axis in ends:
        table = np.flip(np.cumsum(np.flip(table, axis), axis=axis), axis)
    return np.asarray(table)


@njit(cache=True, nogil=True)
def _at_offsets(columns, waiting, chosen, offsets, shape, reach, places, diagonal, bits):  # type: ignore[no-untyped-def]
    """The cells at the offsets from the secrets, their weights and their M."""
    cells, weights = np.empty(chosen.size, dtype=np.int64), np.empty(chosen.size, dtype=np.uint64)
    bounds = np.empty(chosen.size, dtype=np.uint64)
    last = places.shape[1] - 1
    for k in range(chosen.size):
        cell = gap = ends = np.int64(0)
        for axis in range(shape.size):
            x, end = columns[axis, waiting[k]], shape[axis] - 1
            y = min(max(x + np.int64(offsets[chosen[k], axis]), np.int64(0)), end)
            ends |= np.int64((end > 0) & ((y == 0) | (y == end))) << axis
            cell = cell * (end + 1) + y
            gap = gap * reach[axis] + abs(y - x)
        near, z = places[gap, last], diagonal[cell]
        cells[k], bounds[k] = cell, places[gap, ends]
        weights[k] = product_shifted(near, z, bits)
    return cells, weights, bounds


# ----------------------------------------------------------------- proposals by noise along the axes


@dataclass(frozen=True, eq=False)
class _Noise:
    """z_y e^{−ε d} with the share 1 − 2^-20, any cell otherwise; M is this times 2^60 (1 + 2^-20) / (1 − 2^-20).

    Distances add up along the axes, so K is a table by length, and z and Z depend only on the axes along which a cell
    lies at an end: ``z_least`` and ``z_most`` enclose 2^63 z.
    """

    mechanism: LatticeMechanism
    noise: Noise
    near: NDArray[np.uint64]
    diagonal: NDArray[np.uint64]
    z_least: NDArray[np.uint64]
    z_most: NDArray[np.uint64]
    mix: int

    @property
    def words(self) -> int:
        return 1 + proper_dimension(self.mechanism.lattice) * self.noise.words

    @property
    def anywhere(self) -> Fraction:
        """What the cells that are drawn alike add to M."""
        share = Fraction(1, 1 << self.mix)
        return _TOTAL * share * (1 + share) / (1 - share) / len(self.mechanism.lattice)

    def propose(self, columns: Integers, waiting: Integers, stream: Stream, lanes: Integers, first: int) -> Proposed:
        shape = self.mechanism.lattice.shape
        drawn, number = np.zeros((len(shape), len(lanes)), dtype=np.int64), first + 1
        for axis, side in enumerate(shape):
            if side > 1:
                drawn[axis] = self.noise.draw(stream, lanes, number)
                number += self.noise.words
        mixed = stream.take(lanes, first, 1)[0] >> np.uint64(64 - self.mix)
        for k in np.flatnonzero(mixed == 0).tolist():
            anywhere = Lane(stream, int(lanes[k]), first).below(len(self.mechanism.lattice))
            drawn[:, k] = np.array(np.unravel_index(anywhere, shape)) - columns[:, waiting[k]]
        extra = np.array([floor(self.anywhere), ceil(self.anywhere)], dtype=np.uint64)
        bits = np.uint64(self.mechanism.solution.bits)
        weights = self.near, self.diagonal, bits, self.z_least, self.z_most, extra, np.uint64(self.mix)
        return Proposed(*_at_noise(columns, waiting, drawn, np.array(shape), *weights))

    def bounds(self, secret: tuple[int, ...], cell: int, bits: int) -> tuple[Fraction, Fraction]:
        gap, ends = _apart(self.mechanism, secret, cell)
        # M is at least ``anywhere``, at least 1: absolute bits are relative ones
        with flint.ctx.workprec(bits + KERNEL_BITS + 128):
            rate = self.noise.rate.ball()
            ball = _z_ball(rate, proper_dimension(self.mechanism.lattice), ends.bit_count()) * (-rate * sum(gap)).exp()
            ball = ball * flint.arb(2) ** KERNEL_BITS * (1 + flint.arb(2) ** -self.mix) + as_ball(self.anywhere)
            return dyadic(ball.lower()), dyadic(ball.upper())


def _z_ball(rate: flint.arb, dimension: int, ends: int) -> flint.arb:
    """z of a cell that lies at an end along so many axes."""
    falls = (-rate).exp()
    return (1 - falls) ** (dimension - ends) / (1 + falls) ** dimension


def _noise_proposals(mechanism: LatticeMechanism, mix: int) -> _Noise:
    privacy, lattice = mechanism.privacy, mechanism.lattice
    steps = noise(Rate(privacy.epsilon, privacy.alpha, lattice.step[0]), fair=False)
    patterns, dimension = _patterns(lattice.shape), proper_dimension(lattice)
    with flint.ctx.workprec(160):
        rate = steps.rate.ball()
        balls = [_z_ball(rate, dimension, min(len(p), dimension)) for p in patterns]
        balls = [ball * flint.arb(2) ** _Z_BITS for ball in balls]
        least = np.array([floor(dyadic(ball.lower())) for ball in balls], dtype=np.uint64)
        most = np.array([ceil(dyadic(ball.upper())) for ball in balls], dtype=np.uint64)
    diagonal = np.array([_highest(mechanism.diagonal, p) for p in patterns], dtype=np.uint64)
    near = _by_length(mechanism.solution.kernel.integers)
    result = _Noise(mechanism, steps, near, diagonal, least, most, mix)
    _require_excess(mechanism, result)
    return result


def _by_length(table: Integers) -> NDArray[np.uint64]:
    """K as a table by the sum of the offsets, which must be all it depends on."""
    lengths = np.add.reduce(np.meshgrid(*map(np.arange, table.shape), indexing="ij"))
    result = np.zeros(int(lengths.max()) + 2, dtype=np.int64)  # the last entry is 0: beyond reach
    result[lengths.ravel()] = table.ravel()
    if (result[lengths] != table).any():
        raise AssertionError("similarities that depend on more than the length")
    return result.astype(np.uint64)


def _require_excess(mechanism: LatticeMechanism, proposals: _Noise) -> None:
    """Z is as ``diagonal`` says, and M exceeds all weights.

    K ≤ 2^60 k + 0.51, and Z / 2^bits ≤ z (1 + 2^-20) is checked. So ⌊K Z / 2^bits⌋ ≤ 2^60 k z (1 + 2^-20) + 0.52,
    which is below M = 2^60 k z (1 + 2^-20) + anywhere if ``anywhere`` is at least 1.
    """
    ends = np.zeros((), dtype=np.int64)
    for axis, side in enumerate(mechanism.lattice.shape):
        at = np.zeros(side, dtype=np.int64)
        at[[0, -1]] = (side > 1) << axis
        ends = np.add.outer(ends, at)
    if (proposals.diagonal[ends] != mechanism.diagonal.astype(np.uint64)).any():
        raise AssertionError("a diagonal that depends on more than the border")
    for highest, z in zip(proposals.diagonal.tolist(), proposals.z_least.tolist(), strict=True):
        if not highest <= Fraction(z, 1 << _Z_BITS) * (1 + Fraction(1, 1 << proposals.mix)) * (
            1 << mechanism.solution.bits
        ):
            raise AssertionError("a proposal is rarer than what it stands for")
    if proposals.anywhere < 1:
        raise NotSupported(f"draws on a grid of {len(mechanism.lattice)} cells", ["fewer than 2^39 cells"])


@njit(cache=True, nogil=True)
def _at_noise(columns, waiting, drawn, shape, near, diagonal, bits, z_least, z_most, extra, mix):  # type: ignore[no-untyped-def]
    """Cells, their weights, and bounds of M: K is within 0.51 of 2^60 k, so K ± 1 encloses it."""
    count = waiting.size
    cells, weights = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.uint64)
    least, most = np.empty(count, dtype=np.uint64), np.empty(count, dtype=np.uint64)
    one, below = np.uint64(1), np.uint64(_Z_BITS)
    beyond = np.int64(near.size - 1)
    for k in range(count):
        cell = length = ends = np.int64(0)
        for axis in range(shape.size):
            x, end = columns[axis, waiting[k]], shape[axis] - 1
            y = min(max(x + drawn[axis, k], np.int64(0)), end)
            ends |= np.int64((end > 0) & ((y == 0) | (y == end))) << axis
            cell = cell * (end + 1) + y
            length += abs(y - x)
        similar, z = near[min(length, beyond)], diagonal[ends]
        weights[k] = product_shifted(similar, z, bits)
        low, high = similar - np.uint64(similar > 0), similar + one
        small = product_shifted(low, z_least[ends], below)
        large = product_shifted(high, z_most[ends], below) + one
        cells[k] = cell
        least[k] = small + (small >> mix) + extra[0]
        most[k] = large + (large >> mix) + one + extra[1]
    return cells, weights, least, most
