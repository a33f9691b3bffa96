"""The tight-constraints mechanism M(x)(y) = z_y e^{−ε d(x, y)}, Φz = 1: a table, or a lattice.

Every constraint towards the reported secret is used up. Where it exists, nobody whose prior is regular can guess
the secret more often with any other private mechanism (ElSalamouny, Chatzikokolakis and Palamidessi 2014, Theorem 4).
On a line it is the truncated geometric mechanism, on a discrete space random response.

Rounding to integers keeps the promise by a floor. Let a ≤ E b be two exact entries of a column, E = e^{εd}, and let A
and B be integers within h of a and b. Then A + F ≤ E (B + F) as soon as F (E − 1) ≥ h (E + 1), that is,
F ≥ h coth(εd/2). A floor for the shortest distance serves all pairs: a few units in 2^52 or more for each output.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from secrets import randbelow
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.optimize import brentq

from sfumato.arguments import integer, positive
from sfumato.certify.certificate import kernel_terms
from sfumato.certify.charge import Charge, rate_text, rule_charge, sha
from sfumato.certify.exponentials import factors_below
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.protocol import Domain, no_table
from sfumato.certify.repair import DEFAULT_BITS
from sfumato.certify.verify import prove
from sfumato.compiled import product_exceeds
from sfumato.draws.plans import Tuples
from sfumato.errors import Infeasible, InvalidInput, NotSupported, PrivacyViolation, UndecidedError, shown
from sfumato.mechanisms.lattice import (
    KERNEL_BITS,
    LatticeSolution,
    as_lattice,
    exact_sum,
    is_separable,
    lattice_kernel,
    lattice_solution,
    mean_distances,
    offset_lengths,
    shifted_products,
)
from sfumato.mechanisms.lattice_draws import LatticePlan, lattice_identity, lattice_plan
from sfumato.mechanisms.proved import LARGEST_TABLE, proved
from sfumato.numbers import Number, common_denominator, exact, float_above, floats, text_above, text_below
from sfumato.privacy.regular import has_tight_constraints
from sfumato.privacy.similarity import similarity
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.spaces.box import Box, MetricName
from sfumato.spaces.constructors import grid
from sfumato.verdict import Verdict, fails, holds, undecided

__all__ = [
    "LatticeMechanism",
    "LatticeThreshold",
    "has_lattice_tight_constraints",
    "lattice_threshold",
    "lattice_tight_constraints",
    "tight_constraints",
]

_LARGEST_EXACT = 2**16  # Entries of the largest table of long fractions.
_MOST_EXACT_BITS = 4096  # The kernel reads common denominators of so many bits.
_LARGEST_FLOOR = 1e-9  # A floor that costs more of the probability is left to repair.
_FLOAT_ERROR = 8 * 2.0**-52  # The relative error of an entry z_y e^{−εd} in float64.


def tight_constraints(privacy: PrivacyType) -> Mechanism:
    """The tight-constraints mechanism of a privacy type, proved.

    Exact types give the exact mechanism; others are rounded to integers and moved by some 1e-12 of probability.
    Grids beyond 2,500 secrets are for :func:`lattice_tight_constraints`, products for :func:`product_mechanism`.
    Optimal for guessing the secret (``losses.bin``) under every regular prior.

    Raises
    ------
    Infeasible
        If there is none; ``ray`` is the :class:`Separation` that proves it.
    UndecidedError
        If a sign could not be decided.
    NotSupported
        If a table would be too large; the error names what to call instead.

    Examples
    --------
    >>> from sfumato.spaces import line, star
    >>> mechanism = tight_constraints(PrivacyType(line(3), alpha="1/2"))
    >>> [[str(p) for p in row] for row in mechanism.channel.matrix]
    [['2/3', '1/6', '1/6'], ['1/3', '1/3', '1/3'], ['1/6', '1/6', '2/3']]
    >>> tight_constraints(PrivacyType(star(4), alpha="1/2"))
    Traceback (most recent call last):
    sfumato.errors.Infeasible: no tight-constraints mechanism: the only solution of Φz = 1 has z = -1/3 < 0 at 0
    """
    privacy = as_type(privacy)
    space = privacy.space
    if len(space) > LARGEST_TABLE:
        shape = "Lattice(…)" if (lattice := space.source.lattice) is None else f"Lattice({lattice.shape}, …)"
        others = [f"lattice_tight_constraints({shape}) on grids", "product_mechanism() on products"]
        raise NotSupported(f"a table of {len(space)} secrets and outputs", [f"at most {LARGEST_TABLE}", *others])
    verdict = has_tight_constraints(privacy)
    _require(verdict)
    diagonal = verdict.witness
    if diagonal.exact and len(space) ** 2 <= _LARGEST_EXACT:
        matrix = similarity(privacy) * diagonal.values[None, :]
        if common_denominator(matrix)[1].bit_length() <= _MOST_EXACT_BITS:
            return proved("tight_constraints", privacy, matrix, space.labels)
    matrix = floats(similarity(privacy)) * floats(diagonal.values)[None, :]
    weights = _with_floor(matrix, privacy) if space.pairs.first.size else None
    if weights is not None:
        with suppress(PrivacyViolation):  # z was known too badly: repair moves it a little farther
            return prove(weights, privacy, outputs=space.labels, provenance={"made by": "tight_constraints"})
    return proved("tight_constraints", privacy, matrix, space.labels)


def _require(verdict: Verdict) -> None:
    if verdict.outcome == "undecided":
        raise UndecidedError(f"whether a tight-constraints mechanism exists: {verdict.reason}", verdict)
    if verdict.outcome == "fails":
        raise Infeasible(f"no tight-constraints mechanism: {verdict.reason}", verdict.witness)


def _with_floor(matrix: NDArray[np.float64], privacy: PrivacyType) -> NDArray[np.int64] | None:
    """Integers near a tight matrix in floats: rounded, raised by the floor, rows filled up at the likeliest output.

    None where that would cost too much.
    """
    n, total = len(matrix), 1 << DEFAULT_BITS
    factor = privacy.factor_bounds(privacy.space.pair_distances.values.min())[0]
    h = 1 + float(matrix.max()) * total * _FLOAT_ERROR
    floor = ceil(exact(h) * (factor + 1) / (factor - 1)) + 1
    # rows differ by rounding; what fills them up must be private too
    spread = n * (2 * h + 1) + 2 * total * float(np.abs(matrix.sum(axis=1) - 1).max())
    room = ceil(exact(spread) * (factor + 1) / (factor - 1)) + n * floor
    if room > _LARGEST_FLOOR * total:
        return None
    weights = np.rint(matrix * float(total - room)).astype(np.int64) + floor
    weights[:, int(np.argmax(matrix.sum(axis=0)))] += total - weights.sum(axis=1)
    return weights


# ----------------------------------------------------------------- lattices


def has_lattice_tight_constraints(
    lattice: Box, *, epsilon: Number | None = None, alpha: Number | None = None
) -> Verdict:
    """Whether the tight-constraints mechanism exists on a grid of any size.

    The witness is the :class:`LatticeSolution` with its error bound. Undecided where an entry of z is closer to zero
    than that, and for Chebyshev distances in three or more dimensions unless ε is large.

    Examples
    --------
    >>> from sfumato.mechanisms import Lattice
    >>> [bool(has_lattice_tight_constraints(Lattice((100, 100)), epsilon=e)) for e in ("0.665", "0.666")]
    [False, True]
    """
    return _judged(lattice_solution(lattice_kernel(lattice, epsilon, alpha)))


def _judged(solution: LatticeSolution) -> Verdict:
    if is_separable(solution.kernel.lattice):
        return holds("Φ is a Kronecker product of lines, and z the product of theirs, all positive", solution)
    where = np.unravel_index(int(solution.values.argmin()), solution.values.shape)
    least, point = float(solution.values[where]), tuple(int(i) for i in where)
    if least > solution.error:
        return holds(
            f"z ≥ {text_below(least - solution.error, 6)}, proved by a residual of {text_above(solution.norm, 3)}",
            solution,
        )
    if least < -solution.error:
        return fails(
            f"the only solution of Φz = 1 has z = {least:.6g} ± {text_above(solution.error, 1)} < 0 at {point}",
            solution,
        )
    if solution.error == np.inf:
        return undecided("no lower bound of the eigenvalues of Φ is known for this metric and ε", solution)
    return undecided(f"z = {least:.3g} at {point} is within the error bound {text_above(solution.error, 3)}", solution)


@dataclass(frozen=True, eq=False, repr=False)
class LatticeMechanism:
    """The tight-constraints mechanism on a grid, one row at a time.

    Row x has the integer weights W_x(y) = ⌊K(x − y) Z_y / 2^bits⌋ + floor, plus what is missing to ``total`` = 2^60 at
    the output ``spill``. K are the similarities in units of 2^-60 and Z = 2^bits z̃ is the ``diagonal``. The whole
    mechanism is proved, although no one ever looks at all of it:

    * |W_x(y) − floor − 2^60 z̃_y e^{−ε d(x, y)}| ≤ 2 by construction, and the exact entries of a column obey the
      promise by the triangle inequality; so do the integers, by the floor (see the module).
    * The missing parts lie between ``missing[0]`` and ``missing[1]`` for every x, by the exact residual of z̃; the
      ratio of these is at most e^{ε·step}, so they are a private column.
    * Every row sums to ``total``.
    """

    about: ClassVar[Literal["secrets"]] = "secrets"
    drawn_as: ClassVar[Literal["table"]] = "table"

    lattice: Box
    privacy: PrivacyType
    """ε and the step, on a few points of the grid."""
    solution: LatticeSolution
    diagonal: NDArray[np.int64]
    floor: int
    spill: tuple[int, ...]
    missing: tuple[Fraction, Fraction]

    @property
    def total(self) -> int:
        """What the weights of every row sum to."""
        return 1 << KERNEL_BITS

    def __repr__(self) -> str:
        shape = " × ".join(map(str, self.lattice.shape))
        rate = f"epsilon={self.privacy.rate:g}" if self.privacy.alpha is None else f"alpha={self.privacy.alpha}"
        return f"LatticeMechanism({shape}, {self.lattice.metric}, {rate}, proved)"

    @property
    def domain(self) -> Domain:
        """The grid."""
        return Domain(f"grid({', '.join(map(str, self.lattice.shape))})", grid=self.lattice)

    @property
    def secrets(self) -> Sequence[tuple[Any, ...]]:
        """The cells, as tuples of indices."""
        return Tuples([range(side) for side in self.lattice.shape])

    @property
    def outputs(self) -> Sequence[tuple[Any, ...]]:
        """The cells again."""
        return self.secrets

    def as_plan(self) -> LatticePlan:
        """Rejection from proved bounds."""
        return lattice_plan(self)

    def as_charge(self) -> Charge:
        """What a ledger adds up."""
        metric = ["lattice", self.lattice.shape, self.lattice.metric, str(self.lattice.step[0])]
        rule = [self.floor, self.spill, self.solution.bits, sha(self.diagonal.tobytes())]
        charge = rule_charge(self.domain.name, metric, rate_text(self.privacy), rule)
        return replace(charge, noise=sha(lattice_identity(self)))

    def as_table(self) -> Mechanism:
        """The table of a grid that is small enough, proved by the kernel."""
        if len(self.lattice) > LARGEST_TABLE:
            raise no_table(self, f"grids of at most {LARGEST_TABLE} cells")
        lattice = self.lattice
        space = grid(*lattice.shape, metric=cast(MetricName, lattice.metric), step=lattice.step[0])
        weights = np.stack([self.row_weights(place).ravel() for place in self.secrets])
        privacy = PrivacyType(space, self.privacy.epsilon, self.privacy.alpha)
        return prove(weights, privacy, outputs=space.labels, provenance={"made by": "lattice_tight_constraints"})

    def row_weights(self, secret: tuple[int, ...]) -> NDArray[np.int64]:
        """The integer weights of one row, in the shape of the grid; they sum to ``total``."""
        place = self._place(secret)
        table = self.solution.kernel.integers
        box, offsets = [], []
        for x, side, reach in zip(place, self.lattice.shape, table.shape, strict=True):
            first, last = max(0, x - reach + 1), min(side, x + reach)
            box.append(slice(first, last))
            offsets.append(np.abs(np.arange(first, last) - x))
        result = np.full(self.lattice.shape, self.floor, dtype=np.int64)
        near = shifted_products(table[np.ix_(*offsets)], self.diagonal[tuple(box)], self.solution.bits)
        result[tuple(box)] += near
        result[self.spill] += self.total - int(result.sum())
        return result

    def row(self, secret: tuple[int, ...]) -> NDArray[np.float64]:
        """The output distribution of one secret in floats, in the shape of the grid."""
        return self.row_weights(secret).astype(np.float64) / float(self.total)

    def sample(self, secret: tuple[int, ...]) -> tuple[int, ...]:
        """One output, drawn exactly from the integer weights of its row with the system's random bits."""
        ends = np.cumsum(self.row_weights(secret).ravel())  # up to 2^60, so no sum overflows
        place = int(np.searchsorted(ends, randbelow(self.total), side="right"))
        return tuple(int(i) for i in np.unravel_index(place, self.lattice.shape))

    def verify_pair(self, x: tuple[int, ...], z: tuple[int, ...]) -> Verdict:
        """Compare two rows in integers, all outputs, both ways: the promise on this pair, without the argument."""
        first, second = self._place(x), self._place(z)
        if first == second:
            return holds("a row keeps its promise with itself")
        gap = tuple(abs(a - b) for a, b in zip(first, second, strict=True))
        length = offset_lengths(self.lattice, gap).ravel()[-1:]
        p, q = factors_below(*kernel_terms(self.privacy), length, self.total)
        rows = [self.row_weights(s).ravel().astype(np.uint64) for s in (first, second)]
        broken = _first_broken(*rows, p[0], q[0])
        if broken < 0:
            return holds(f"all {len(self.lattice)} outputs were compared in integers")
        return fails("an output tells the two apart more than promised", np.unravel_index(broken, self.lattice.shape))

    @cached_property
    def utility(self) -> Fraction:
        """The chance that a uniformly distributed secret is reported truly: no private mechanism has more than Σz/n."""
        count, bits = len(self.lattice), self.solution.bits
        kept = exact_sum(self.diagonal) << (KERNEL_BITS - bits)
        at_spill = int(self.row_weights(self.spill)[self.spill]) - self.floor
        at_spill -= int(self.diagonal[self.spill]) << (KERNEL_BITS - bits)
        return Fraction(kept + count * self.floor + at_spill, self.total * count)

    @property
    def utility_bound(self) -> float:
        """Σz/n on the safe side: what no private mechanism exceeds under the uniform prior."""
        return float_above(exact(float(self.solution.values.mean()))) * (1 + 1e-9) + self.solution.error

    def expected_distance(self) -> float:
        """The mean distance between a uniformly distributed secret and what is reported, in floats by one FFT."""
        values = np.ldexp(self.diagonal.astype(np.float64), -self.solution.bits)
        return float((values * mean_distances(self.solution.kernel)).sum() / len(self.lattice))

    def _place(self, secret: Any) -> tuple[int, ...]:
        shape = self.lattice.shape
        place = secret if isinstance(secret, tuple) else (secret,)
        if len(place) != len(shape) or not all(
            isinstance(i, int | np.integer) and 0 <= i < side for i, side in zip(place, shape, strict=False)
        ):
            raise InvalidInput(f"a secret of this lattice is a tuple of indices below {shape}, found {shown(secret)}")
        return tuple(int(i) for i in place)


def lattice_tight_constraints(
    lattice: Box, *, epsilon: Number | None = None, alpha: Number | None = None
) -> LatticeMechanism:
    """The tight-constraints mechanism on a grid of any size, proved and never a table.

    Examples
    --------
    >>> from sfumato.mechanisms import Lattice
    >>> mechanism = lattice_tight_constraints(Lattice((50, 40)), epsilon="0.8")
    >>> mechanism
    LatticeMechanism(50 × 40, euclidean, epsilon=0.8, proved)
    >>> bool(mechanism.row_weights((3, 4)).sum() == mechanism.total), round(float(mechanism.utility), 6)
    (True, 0.111803)
    >>> print(mechanism.verify_pair((0, 0), (0, 1)))
    holds: all 2000 outputs were compared in integers
    """
    kernel = lattice_kernel(lattice, epsilon, alpha)
    solution, privacy = lattice_solution(kernel), kernel.privacy
    _require(_judged(solution))
    count = len(lattice)
    factor = privacy.factor_bounds(1)[0]  # ≤ e^{ε·step}
    lever = (factor + 1) / (factor - 1)
    floor = ceil(2 * lever)
    low, high = (exact(r) for r in solution.residual)
    # what rounding can add: K by 0.51 and ⌊ ⌋ by 1 for each output, Z by 1 for each offset
    rounding = 2 * count + 1 + (solution.kernel.total + 2 ** len(lattice.shape) * count >> solution.bits)
    spread = exact((high - low) * (1 << KERNEL_BITS)) + 2 * rounding
    wanted = spread / (factor - 1) * Fraction(9, 8) + count * floor + rounding
    share = wanted / (1 << KERNEL_BITS) - low  # of z, given up so that every row has something missing
    kept = (1 << 62) - max(0, ceil(share * (1 << 62)))
    if kept < 1 << 61 or (solution.integers < 0).any():
        raise NotSupported(f"integer weights of {KERNEL_BITS} bits on {count} secrets at this ε", ["a larger ε"])
    diagonal = shifted_products(solution.integers, kept, 62)
    scale = Fraction(kept, 1 << 62) * (1 << KERNEL_BITS)
    missing = (
        (1 << KERNEL_BITS) - count * floor - scale * (1 - low) - rounding,
        (1 << KERNEL_BITS) - count * floor - scale * (1 - high) + rounding,
    )
    if not 0 < missing[1] <= factor * missing[0]:
        raise AssertionError("the missing parts of the rows are no private column")
    spill = tuple(side // 2 for side in lattice.shape)
    return LatticeMechanism(lattice, privacy, solution, diagonal, floor, spill, missing)


@dataclass(frozen=True)
class LatticeThreshold:
    """Two values of ε close together: proved to have no mechanism at ``low`` and one at ``high``.

    What lies beyond is not claimed; :func:`sfumato.types.tight_threshold` does that for spaces whose distances fit a
    table.
    """

    low: Fraction
    high: Fraction

    def __float__(self) -> float:
        return float((self.low + self.high) / 2)


def lattice_threshold(lattice: Box, *, digits: int = 7, near: float | None = None) -> LatticeThreshold:
    """Where the tight-constraints mechanism of a grid begins to exist, to some decimals (up to 9).

    Floats look for the last change of sign below the ε at which row sums of Φ reach 2; the two ends are proved.

    Examples
    --------
    >>> from sfumato.mechanisms import Lattice
    >>> threshold = lattice_threshold(Lattice((100, 100)), digits=7)
    >>> f"{float(threshold):.7f}"
    '0.6653516'
    """
    lattice = as_lattice(lattice)
    if is_separable(lattice):
        raise NotSupported(f"a threshold on {lattice.name}: the mechanism exists for every ε", ["other metrics"])
    digits, step = integer(digits, "digits", 1, 9), float(lattice.step[0])

    def least(rate: float) -> float:
        return float(lattice_solution(lattice_kernel(lattice, rate)).values.min())

    high = 2.0 / step if near is None else 1.1 * positive(near, "near")
    low = high * 0.8
    while least(low) >= 0:
        high, low = low, low * 0.8
        if low * step < 0.05:
            raise NotSupported(f"a threshold below {low:g} on {lattice.name}", ["smaller grids"])
    middle = brentq(least, low, high, xtol=10.0 ** -(digits + 2), rtol=1e-12)
    units = 10 ** (digits + 1)
    ends = Fraction(round(middle * units) - 5, units), Fraction(round(middle * units) + 5, units)
    verdicts = [has_lattice_tight_constraints(lattice, epsilon=end) for end in ends]
    if verdicts[0].outcome != "fails" or verdicts[1].outcome != "holds":
        raise UndecidedError(f"the sign of z at {digits} digits: {verdicts[0].reason}; {verdicts[1].reason}", verdicts)
    return LatticeThreshold(*ends)


@njit(cache=True, nogil=True)
def _first_broken(a, b, p, q):  # type: ignore[no-untyped-def]
    for y in range(a.size):
        if product_exceeds(max(a[y], b[y]), q, p, min(a[y], b[y])):
            return y
    return -1
