"""Is some matrix that rounds to the numbers of a file private? Decided in rationals.

A file tells each entry up to an error, so what it stands for is any matrix within margins whose rows sum to 1. Asking
whether one of them keeps a promise is a linear program, coupled over columns by the sums of rows. Floats look for an
answer, and either answer is checked exactly: a matrix within margins is put before
:func:`~sfumato.privacy.satisfaction.satisfies`, and that there is none is shown by a combination of the inequalities,
with every e^{εd} rounded up, that no point within margins satisfies. Unknowns are measured in errors, so that errors of
10^-17 are no harder than errors of a thousandth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.certify.repair import quantise
from sfumato.channels.channel import Channel
from sfumato.errors import SfumatoError
from sfumato.lp import LinearProgram, Status, solve
from sfumato.numbers import Array, exact, float_above, floats, fractions, is_exact, object_array, text_above, text_below
from sfumato.privacy.satisfaction import satisfies, smallest_epsilon
from sfumato.privacy.type import PrivacyType
from sfumato.verdict import Outcome, Verdict, fails, holds, undecided

_LARGEST_PROGRAM = 5_000  # A program with so many entries is solved within some ten seconds.
_MOST_ROWS = 30_000  # A program with more rows is not built.
_LARGEST_EXACT = 50  # A program with so many unknowns is solved in rationals in a second or two.
_NONE = "no matrix that rounds to it keeps the promise"
_AT_A_TIME = 2**22  # So many comparisons at a time take 32 MB.
_CLEAR = 1e-12  # A relative gap of this size is real: products of three doubles are off by less than 10^-15.
_BITS = 128  # Bounds of e^{εd} have so many bits, which is nothing beside errors of 10^-17.
_BORDER = 1e-6  # Nearer to the border, in errors, HiGHS is not believed; it is right to 10^-10.
_GRIDS = (52, 60, 80, 120, 200)  # A matrix from floats is rounded to so many bits, coarse first.


@dataclass(frozen=True, eq=False)
class Margins:
    """Between which numbers each entry lies, and what is written; exact, or doubles with ends rounded outwards."""

    written: Array
    low: Array
    high: Array

    @classmethod
    def around(cls, written: Array, error: Array) -> Margins:
        """Entries known up to an error, and to be probabilities."""
        if is_exact(written):
            ends = object_array([Fraction(0), Fraction(1)])
            return cls(written, np.maximum(written - error, ends[:1]), np.minimum(written + error, ends[1:]))
        near = floats(error) * (1 + 2.0**-50)
        low, high = np.nextafter(written - near, -1.0), np.nextafter(written + near, 2.0)
        known = floats(error) == 0
        low, high = np.where(known, written, low), np.where(known, written, high)
        return cls(written, np.maximum(low, 0.0), np.minimum(high, 1.0))

    def rows(self, order: list[int]) -> Margins:
        """The margins with their rows in another order."""
        return Margins(self.written[order], self.low[order], self.high[order])

    @property
    def error(self) -> Fraction:
        """The largest error."""
        gap = np.maximum(self.high - self.written, self.written - self.low)
        return exact(gap.max())

    @property
    def known(self) -> bool:
        """Whether every entry is known exactly."""
        return bool((self.low == self.high).all())


@dataclass(frozen=True, eq=False)
class Nearest:
    """A matrix that keeps the promise and rounds to what is written: how far it is from that, and the ε it needs."""

    channel: Channel
    distance: Fraction
    epsilon: float


def private_within(margins: Margins, channel: Channel, privacy: PrivacyType) -> Verdict:
    """Whether some matrix within margins, with rows that sum to 1, keeps the promise.

    Parameters
    ----------
    channel
        For its labels: the channel that was read.

    Returns
    -------
    Verdict
        *holds* with a :class:`Nearest`, *fails*, or *undecided* where the matrix is too large, or where floats do not
        come far enough from the border for rationals to confirm them.

    Examples
    --------
    >>> from sfumato.numbers import array
    >>> from sfumato.spaces import line
    >>> written = array([["0.667", "0.333"], ["0.333", "0.667"]], "a matrix", 2)
    >>> margins = Margins.around(written, written * 0 + Fraction(1, 2000))
    >>> verdict = private_within(margins, Channel(line(2), written), PrivacyType(line(2), alpha="1/2"))
    >>> verdict.witness.channel.matrix[0].tolist()
    [Fraction(2, 3), Fraction(1, 3)]
    """
    broken = _apart(margins, channel, privacy)
    if broken is not None:
        return fails(broken)
    if margins.low.size <= _LARGEST_PROGRAM:
        tight = _with_forced_zeros(Margins(*map(fractions, (margins.written, margins.low, margins.high))), privacy)
        if tight is None:
            return fails("an output that is impossible for one secret is not for another")
        return _by_fractions(tight, channel, privacy) or _by_program(tight, channel, privacy)
    return _by_repair(margins, channel, privacy) or undecided(
        f"a matrix of {margins.low.size:,} entries is too large to look for one near it that keeps the promise"
    )


def _apart(margins: Margins, channel: Channel, privacy: PrivacyType) -> str | None:
    """An output and a pair for which the smallest ratio within margins is too large, by more than floats err."""
    low, high = floats(margins.low), floats(margins.high)
    first, second = privacy.space.pairs
    with np.errstate(over="ignore"):
        factors = np.exp(privacy.rate * privacy.space.pair_distances.floats) * (1 + _CLEAR)
    step = max(1, _AT_A_TIME // low.shape[1])
    for start in range(0, len(first), step):
        part = slice(start, start + step)
        for upper, lower in ((first[part], second[part]), (second[part], first[part])):
            steep = low[upper] > factors[part, None] * np.maximum(high[lower], 1e-300)  # ∞ · 0 would be no number
            wrong = np.argwhere(steep | ((high[lower] == 0) & (low[upper] > 0)))
            if wrong.size:
                k, y = wrong[0]
                x, z = int(upper[k]), int(lower[k])
                times = "infinitely many" if high[z, y] == 0 else text_below(exact(low[x, y]) / exact(high[z, y]), 6)
                return (
                    f"in every matrix that rounds to it, output {channel.outputs[y]!r} is at least {times} times as "
                    f"likely for {channel.secrets[x]!r} as for {channel.secrets[z]!r}"
                )
    return None


def _with_forced_zeros(margins: Margins, privacy: PrivacyType) -> Margins | None:
    """Margins in which an output that is impossible for a secret is so at any finite distance; None if nothing is
    within them.
    """
    finite = ~privacy.space.distances.infinite
    gone = (finite.astype(np.int64) @ (margins.high == 0).astype(np.int64)) > 0
    if (margins.low[gone] > 0).any():
        return None
    low, high = margins.low.copy(), margins.high.copy()
    low[gone], high[gone] = Fraction(0), Fraction(0)
    return Margins(margins.written, low, high)


# ----------------------------------------------------------------- ways to find one


def _confirmed(margins: Margins, channel: Channel, privacy: PrivacyType, table: Array) -> Verdict | None:
    """The verdict that a matrix is within margins and private, if it is: exactly."""
    if (table < margins.low).any() or (table > margins.high).any() or (table.sum(axis=1) != 1).any():
        return None
    candidate = Channel(channel.secrets, table, channel.outputs)
    if satisfies(candidate, privacy).outcome is not Outcome.HOLDS:
        return None
    distance = exact(abs(table - fractions(margins.written)).max())
    return _nearest(candidate, distance, privacy)


def _nearest(channel: Channel, distance: Fraction, privacy: PrivacyType) -> Verdict:
    return holds(
        f"a matrix that differs from what is written by at most {text_above(distance, 3)} in any entry keeps the "
        "promise",
        Nearest(channel, distance, smallest_epsilon(channel, privacy.space)),
    )


def _by_fractions(margins: Margins, channel: Channel, privacy: PrivacyType) -> Verdict | None:
    """The simplest fractions within margins: thirds and sixths come back from any number of digits."""
    flat = [_simplest(low, high) for low, high in zip(margins.low.ravel(), margins.high.ravel(), strict=True)]
    return _confirmed(margins, channel, privacy, object_array(flat, margins.low.shape))


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of least denominator in an interval of numbers ≥ 0, by continued fractions."""
    whole = ceil(low)
    if whole <= high or low == high:
        return Fraction(whole) if whole <= high else low
    below = floor(low)
    return below + 1 / _simplest(1 / (high - below), 1 / (low - below))


def _by_repair(margins: Margins, channel: Channel, privacy: PrivacyType) -> Verdict | None:
    """A repaired matrix that happens to lie within margins, for matrices too large for a program."""
    try:
        mechanism = quantise(channel, privacy).mechanism
    except SfumatoError:
        return None
    table = mechanism.weights / float(mechanism.total)  # a power of two: exact
    low, high = np.nextafter(floats(margins.low), 2.0), np.nextafter(floats(margins.high), -1.0)
    if (table < low).any() or (table > high).any():
        return None
    distance = exact(np.abs(table - floats(margins.written)).max() * (1 + 2.0**-40))
    return _nearest(mechanism.channel, distance, privacy)


# ----------------------------------------------------------------- the program


_Row: TypeAlias = tuple[list[tuple[int, Any]], Any]  # terms (unknown, coefficient), and the right-hand side


@dataclass(frozen=True, eq=False)
class _Program:
    """Inequalities a·δ ≤ b and equations c·δ = d over δ = (entry − written) / error, ends lo ≤ δ ≤ hi; all exact.

    The largest coefficient of a row is ±1; inequalities that hold within all of the margins are left out.
    """

    rows: list[_Row]
    sums: list[_Row]
    low: Array
    high: Array
    error: Array
    places: NDArray[np.int64]


def _program(margins: Margins, privacy: PrivacyType) -> _Program | None:
    """None where there are too many inequalities; an inequality or sum without unknowns that is false stays in."""
    shape = margins.low.shape
    free = np.flatnonzero((margins.low < margins.high).ravel())
    number = np.full(shape, -1, dtype=np.int64)
    number.ravel()[free] = np.arange(len(free))
    # an entry that is known has its value for a middle, and one that is not may be written outside of its margins
    middle = np.where(number >= 0, margins.written, margins.low)
    error = np.maximum(margins.high - middle, middle - margins.low)
    rows = []
    space = privacy.space
    near, wide = floats(middle), floats(error)
    bounds: dict[Any, Fraction] = {}  # many pairs share a distance
    for x, z, value in zip(*space.pairs, space.pair_distances.values, strict=True):
        if value not in bounds:
            bounds[value] = privacy.factor_bounds(value, _BITS)[1]
        factor = bounds[value]
        rough = min(float_above(factor), 1e300)
        for upper, lower in ((int(x), int(z)), (int(z), int(x))):
            slack = rough * near[lower] - near[upper]
            reach = rough * wide[lower] + wide[upper] + _CLEAR * (rough * near[lower] + near[upper])
            for y in np.flatnonzero(slack <= reach).tolist():
                terms = [(number[upper, y], error[upper, y]), (number[lower, y], -factor * error[lower, y])]
                row = _row(terms, factor * middle[lower, y] - middle[upper, y])
                if row[0] or row[1] < 0:
                    rows.append(row)
        if len(rows) > _MOST_ROWS:
            return None
    sums = [_row(zip(number[x], error[x], strict=True), 1 - middle[x].sum()) for x in range(shape[0])]
    flat = error.ravel()[free]
    low = (margins.low.ravel()[free] - middle.ravel()[free]) / flat
    high = (margins.high.ravel()[free] - middle.ravel()[free]) / flat
    return _Program(rows, sums, low, high, flat, free)


def _row(terms: Iterable[tuple[Any, Fraction]], side: Fraction) -> _Row:
    """The row over the entries that are unknown."""
    unknown = [(int(i), value) for i, value in terms if i >= 0]
    scale = max((abs(value) for _, value in unknown), default=Fraction(1))
    return [(i, value / scale) for i, value in unknown], side / scale


def _by_program(margins: Margins, channel: Channel, privacy: PrivacyType) -> Verdict:
    program = _program(margins, privacy)
    if program is None:
        return undecided("too many pairs of entries near their bound to look for a matrix that keeps the promise")
    below = any(not row and side < 0 for row, side in program.rows)
    if below or any(not row and side != 0 for row, side in program.sums):
        return fails("entries that are written exactly break it")
    closest, prices = _closest(program)
    if closest < 1 - _BORDER:
        inner = _inner(program, closest + max((1 - closest) / 8, _BORDER))
        tables = () if inner is None else (_rounded(margins, program, inner, bits) for bits in _GRIDS)
        for table in tables:
            verdict = _confirmed(margins, channel, privacy, table)
            if verdict is not None:
                return verdict
    elif _refuted(program, prices):
        return fails(_NONE)
    return _exactly(margins, program, channel, privacy) or undecided(
        "whether a matrix that rounds to it keeps the promise is too close to tell"
    )


def _exactly(margins: Margins, program: _Program, channel: Channel, privacy: PrivacyType) -> Verdict | None:
    """The program in rationals, for small ones on the border: rows that sum to 1 only if every entry is at an end."""
    if len(program.low) > _LARGEST_EXACT or len(program.rows) > 8 * _LARGEST_EXACT:
        return None
    rows = [*program.rows, *(([(i, Fraction(1))], high) for i, high in enumerate(program.high)), *program.sums]
    # unknowns count from the lower end
    rows = [(terms, side - sum(value * program.low[i] for i, value in terms)) for terms, side in rows]
    solution = solve(_assembled(object_array([Fraction(0)] * len(program.low)), rows, len(program.sums)), exact=True)
    if solution.status is Status.INFEASIBLE:
        return fails(_NONE)
    if solution.primal is None:
        return None
    return _confirmed(margins, channel, privacy, _placed(margins, program, solution.primal + program.low))


def _lp(program: _Program, radius: float | None) -> LinearProgram:
    """Without a radius: the least r with a point within margins that is at most r errors from 0 in any entry. With one:
    the most room s around a point that is no farther than the radius.

    Unknowns are δ, free, and at the end r ≥ 0, or s ≥ 0, which costs −1.
    """
    count = len(program.low)
    room = [] if radius is None else [(count, 1.0)]
    rows: list[_Row] = [([*terms, *room], side) for terms, side in program.rows]
    for i in range(count):
        for sign, end in ((1.0, float(program.high[i])), (-1.0, -float(program.low[i]))):
            if radius is not None:
                rows.append(([(i, sign), *room], min(end, radius)))
            else:
                rows.append(([(i, sign), (count, -1.0)], 0.0))
                if end < 1:
                    rows.append(([(i, sign)], end))
    cost = np.zeros(count + 1)
    cost[count] = 1.0 if radius is None else -1.0
    return _assembled(cost, [*rows, *program.sums], len(program.sums), frozenset(range(count)))


def _assembled(cost: Array, rows: list[_Row], equations: int, free: frozenset[int] = frozenset()) -> LinearProgram:
    """The program in the numbers of its cost; the last rows are equations."""
    where = np.array([(k, i) for k, (terms, _) in enumerate(rows) for i, _ in terms], dtype=np.int64).reshape(-1, 2)
    values = object_array(value for terms, _ in rows for _, value in terms).astype(cost.dtype)
    senses = "<" * (len(rows) - equations) + "=" * equations
    sides = object_array(side for _, side in rows).astype(cost.dtype)
    return LinearProgram(cost, where[:, 0], where[:, 1], values, senses, sides, free)


def _closest(program: _Program) -> tuple[float, list[float]]:
    """How many errors the nearest private matrix is away, infinite for none; prices of inequalities, then of sums."""
    solution = solve(_lp(program, None), exact=False)
    prices = solution.dual if solution.dual is not None else solution.ray
    priced = np.zeros(len(program.rows) + len(program.sums)) if prices is None else -prices
    kept = [*np.maximum(priced[: len(program.rows)], 0.0), *priced[len(priced) - len(program.sums) :]]
    return (np.inf if solution.primal is None else float(solution.primal[-1])), kept


def _inner(program: _Program, radius: float) -> NDArray[np.float64] | None:
    """A point within a radius, as far from all inequalities as possible."""
    solution = solve(_lp(program, radius), exact=False)
    return None if solution.primal is None or solution.primal[-1] <= 0 else np.asarray(solution.primal[:-1])


def _placed(margins: Margins, program: _Program, point: Array) -> Array:
    """The matrix of a point."""
    flat = np.where(margins.low < margins.high, margins.written, margins.low).ravel()
    flat[program.places] += program.error * point
    return flat.reshape(margins.low.shape)


def _rounded(margins: Margins, program: _Program, point: NDArray[np.float64], bits: int) -> Array:
    """The matrix of a point with entries on a grid; what rows miss goes to the entry that may take most."""
    flat = _placed(margins, program, fractions(point)).ravel()
    flat[program.places] = object_array(Fraction(round(value * 2**bits), 2**bits) for value in flat[program.places])
    result = flat.reshape(margins.low.shape)
    widest = np.argmax(margins.high - margins.low, axis=1)
    for x, y in enumerate(widest):
        result[x, y] += 1 - sum(result[x].tolist(), Fraction(0))
    return result


def _refuted(program: _Program, prices: list[float]) -> bool:
    """Whether Σ λ (a·δ − b) + Σ μ (c·δ − d) > 0 for all δ within margins, λ ≥ 0: then none has a·δ ≤ b, c·δ = d."""
    total = [Fraction(0)] * len(program.low)
    value = Fraction(0)
    for (terms, side), price in zip([*program.rows, *program.sums], prices, strict=True):
        weight = Fraction(price)
        value -= weight * side
        for i, coefficient in terms:
            total[i] += weight * coefficient
    for slope, low, high in zip(total, program.low, program.high, strict=True):
        value += min(slope * low, slope * high)
    return value > 0
