"""Refinement: which channel tells more, whatever the prior and whatever is at stake.

B refines A when B = A·R for a stochastic R: B is A followed by post-processing, so B is
safer and A is at least as useful to every consumer (Blackwell 1951; paper A, Eq. 6; the
sufficiency order of Kifer and Lin).

Rationals are decided exactly. Floats stand for numbers known up to rounding: *holds* then
comes with a factor whose residual is at the level of rounding, *fails* with a prior and a
gain that separate the channels by more than rounding can explain, evaluated exactly, and
what lies between is *undecided*.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import lsmr

from sfumato.arguments import flag
from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.channels.prior import Prior
from sfumato.losses.loss import Gain
from sfumato.lp import LinearProgram, solve
from sfumato.numbers import (
    ROUNDING,
    TABLE_ROUNDING,
    Array,
    exact,
    floats,
    fractions,
    from_flint,
    product,
    text_above,
    to_flint,
    told_apart,
)
from sfumato.verdict import Verdict, fails, holds, undecided
from sfumato.watch import TimeIsUp, Watch, watch_of

__all__ = ["Factor", "SeparatingConsumer", "refines"]

# So many projections take a small fraction of the time of the linear program that they may save.
_MOST_PROJECTIONS = 300

# Of a common denominator, times the fourth power of the size: FLINT took 2 s for 100 rows of 50 bits, 28 s for 200.
_SECONDS_A_BIT = 4e-10


@dataclass(frozen=True, eq=False)
class Factor:
    """Witness that B = A·R: the post-processing R and the largest entry of ``|A·R − B|`` (0 if exact)."""

    post_processing: Channel
    residual: Fraction | float


@dataclass(frozen=True, eq=False)
class SeparatingConsumer:
    """Witness that B is not A·R: a consumer who gains more from B than from A."""

    prior: Prior
    gain: Gain
    from_b: Fraction
    from_a: Fraction

    @property
    def margin(self) -> Fraction:
        """How much more B gives, exactly."""
        return self.from_b - self.from_a


def refines(b: Channel, a: Channel, *, proof: bool = False, time_limit: float | Watch | None = None) -> Verdict:
    """Whether B = A·R for some stochastic R, so that B is the safer channel.

    Parameters
    ----------
    b, a
        Channels or mechanisms on the same secrets. If both are exact the answer is exact. A mechanism of an irrational
        type is a table rounded from something else: what is within its rounding is undecided.
    proof
        Decide about the tables as they are: for float channels the rational channels that the floats
        stand for, rows divided by their exact totals. Then "holds" has an exact factor.
    time_limit
        Seconds, or a watch: what an exact inverse or a linear program has not decided by then is undecided. Numbers
        that nearly are those of a refinement, as two roundings of one table are, may take hours in rationals.

    Returns
    -------
    Verdict
        *holds* with a :class:`Factor`, *fails* with a :class:`SeparatingConsumer`, or *undecided*.

    Examples
    --------
    >>> a = Channel([0, 1], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> b = Channel([0, 1], [["5/8", "3/8"], ["3/8", "5/8"]])
    >>> verdict = refines(b, a)
    >>> verdict.witness.post_processing.matrix[0].tolist()
    [Fraction(3, 4), Fraction(1, 4)]
    >>> reverse = refines(a, b)
    >>> bool(reverse), reverse.witness.margin > 0
    (False, True)
    """
    watch = watch_of(time_limit)
    b, a, rounded = to_compare(b, a, proof)
    try:
        verdict = _refines_exactly(b, a, watch) if a.exact and b.exact else _refines_in_floats(b, a, watch)
    except TimeIsUp:
        return undecided("the time limit is too short for an answer: give it more, or floats instead of fractions")
    if rounded and isinstance(verdict.witness, SeparatingConsumer) and verdict.witness.margin <= TABLE_ROUNDING:
        return undecided(f"{verdict.reason}, no more than the rounding of their tables may cost", verdict.witness)
    return verdict


def to_compare(b: Channel, a: Channel, proof: bool) -> tuple[Channel, Channel, bool]:
    """Two channels on the same secrets, in rationals for a proof, and whether a table stands for another one."""
    # the table of a mechanism of an irrational type is rounded from what a theorem would be about
    promises = [privacy for value in (a, b) if (privacy := getattr(value, "privacy", None)) is not None]
    rounded = not all(privacy.exact for privacy in promises)
    a, b = as_channel(a), as_channel(b)
    check_secrets("two channels in a refinement", a, b)
    if flag(proof, "proof"):
        return b.to_rationals(), a.to_rationals(), False
    return b, a, rounded


def _refines_exactly(b: Channel, a: Channel, watch: Watch) -> Verdict:
    shared = _shared_out(b.matrix, a.matrix)
    if shared is not None:
        return _factored(b, a, shared)
    watch.check()
    columns = np.flatnonzero((a.matrix != 0).any(axis=0))
    digits = max(Fraction(v).denominator.bit_length() for v in a.matrix.flat)
    # where columns are independent nothing else is needed; the elimination cannot be interrupted
    if len(columns) <= len(a.matrix) and not watch.allows(_SECONDS_A_BIT * digits * float(len(a.matrix)) ** 4):
        raise TimeIsUp
    inverse = _left_inverse(a.matrix[:, columns])
    if inverse is not None:
        return _decide_by_inverse(b, a, columns, *inverse)
    solution = solve(closest_program(b.matrix, a.matrix), watch=watch)
    if solution.primal is None or solution.dual is None:
        return undecided(f"the linear program ended as {solution.status}")
    if solution.value == 0:
        shape = len(a.outputs), len(b.outputs)
        return _factored(b, a, np.asarray(solution.primal[: shape[0] * shape[1]].reshape(shape)))
    return _separation_verdict(b, a, solution.dual[: b.matrix.size].reshape(b.matrix.shape))


def _shared_out(b: Array, a: Array) -> Array | None:
    """The factor of a channel that tells as much as the other one: the same outputs in any order, split or joined.

    An output is worth what its column is up to a factor. Where both have the same in all outputs of each direction,
    these of A are shared out to those of B by their sums.
    """
    directions: dict[tuple[Any, ...], tuple[list[int], list[int]]] = {}
    sums = b.sum(axis=0), a.sum(axis=0)
    for side, table in enumerate((b, a)):
        for place in np.flatnonzero(sums[side] != 0).tolist():
            direction = tuple(table[:, place] / Fraction(sums[side][place]))
            directions.setdefault(direction, ([], []))[side].append(place)
    factor = np.full((a.shape[1], b.shape[1]), Fraction(0), dtype=object)
    factor[sums[1] == 0, 0] = Fraction(1)
    for ours, theirs in directions.values():
        whole = sums[0][ours].sum()
        if whole != sums[1][theirs].sum():
            return None
        factor[np.ix_(theirs, ours)] = sums[0][ours] / Fraction(whole)
    return factor


def _left_inverse(matrix: Array) -> tuple[Array, Array] | None:
    """L with L·A = I if the columns of A are independent, and N whose rows span {v : v·A = 0}."""
    n, m = matrix.shape
    if m > n:
        return None
    augmented = to_flint(np.concatenate([matrix, np.eye(n, dtype=np.int64).astype(object)], axis=1))
    reduced, _ = augmented.rref()
    table = from_flint(reduced)
    if any(table[i, i] != 1 for i in range(m)):
        return None
    return table[:m, m:], table[m:, m:]


def _decide_by_inverse(b: Channel, a: Channel, columns: NDArray[np.int64], left: Array, kernel: Array) -> Verdict:
    """With independent columns R is unique: it exists iff L·B solves A·R = B and is non-negative."""
    if kernel.size:
        off = product(kernel, b.matrix)
        if (off != 0).any():
            i, y = np.argwhere(off != 0)[0]
            direction = kernel[i] * (1 if off[i, y] > 0 else -1)
            return _separated(b, a, direction, y)
    factor = product(left, b.matrix)
    if (factor < 0).any():
        z, y = np.unravel_index(int(np.argmin(factor)), factor.shape)
        return _separated(b, a, -left[z], int(y))
    full = np.full((len(a.outputs), len(b.outputs)), Fraction(0), dtype=object)
    full[columns] = factor
    full[np.setdiff1d(np.arange(len(a.outputs)), columns), 0] = Fraction(1)
    return _factored(b, a, full)


def closest_program(b: Array, a: Array, *, stochastic: bool = True) -> LinearProgram:
    """Find the stochastic R that makes Σ |A·R − B| least; R_zy come first, in row-major order.

    The program always has a solution. Its value is 0 iff B refines A; otherwise the multipliers F
    of the rows A·R = B have Σ_y F_y·B_y > Σ_z max_y F_y·A_z, and entries in [−1, 1].
    Rows of an R that is not ``stochastic`` have any sums: multipliers then have F_y·A_z ≤ 0 for all y and z.
    """
    n, m = a.shape
    k = b.shape[1]
    x, z = np.nonzero(a)
    y = np.arange(k)
    sums = m if stochastic else 0
    equations, factors = np.arange(n * k), np.arange(sums * k)
    one: Array = np.ones(1, dtype=a.dtype if a.dtype == np.float64 else np.int64)
    return LinearProgram(
        cost=np.concatenate([0 * np.repeat(one, m * k), np.repeat(one, 2 * n * k)]),
        rows=np.concatenate(
            [(x[:, None] * k + y[None, :]).ravel(), equations, equations, n * k + np.repeat(np.arange(sums), k)]
        ),
        columns=np.concatenate([(z[:, None] * k + y[None, :]).ravel(), m * k + np.arange(2 * n * k), factors]),
        values=np.concatenate(
            [np.repeat(a[x, z], k), np.repeat(one, n * k), -np.repeat(one, n * k), np.repeat(one, sums * k)]
        ),
        senses="=" * (n * k + sums),
        rhs=np.concatenate([b.ravel(), np.repeat(one, sums)]),
    )


def _separated(b: Channel, a: Channel, direction: Array, output: int) -> Verdict:
    """The consumer who cares for one output of B only: F_y = direction, all other columns 0."""
    weights = np.full((len(b.secrets), len(b.outputs)), Fraction(0), dtype=object)
    weights[:, output] = direction
    return _separation_verdict(b, a, weights)


def _separation_verdict(b: Channel, a: Channel, weights: Array) -> Verdict:
    witness = _separating_consumer(b, a, weights)
    more, less = told_apart(witness.from_b, witness.from_a)
    return fails(
        f"a consumer gains {more} from b and {less} from a, that is {float(witness.margin):.3g} more",
        witness,
    )


def _separating_consumer(b: Channel, a: Channel, weights: Array) -> SeparatingConsumer:
    """Turn weights F with Σ_y F_y·B_y > Σ_z max_y F_y·A_z into a prior and a gain in [0, 1].

    The uniform prior with gain n·F does it. Adding a constant for each secret and dividing
    by a positive number change both vulnerabilities alike.
    """
    shifted = weights - weights.min(axis=1)[:, None]
    largest = shifted.max()
    table = (shifted / largest if largest > 0 else shifted).T
    gain = Gain(b.outputs, b.secrets, table, "separating")
    prior = Prior.uniform(b.secrets)
    return SeparatingConsumer(prior, gain, _vulnerability(b, gain), _vulnerability(a, gain))


def _vulnerability(channel: Channel, gain: Gain) -> Fraction:
    """V_g[uniform ▷ C] in exact arithmetic, float entries taken as the rationals they store."""
    # most actions of a separating gain are alike: equal rows need one product
    distinct = list({tuple(row): row for row in gain.matrix}.values())
    table = product(np.array(distinct, dtype=gain.matrix.dtype), fractions(channel.matrix))
    return Fraction(table.max(axis=0).sum()) / len(channel.secrets)


def _factored(b: Channel, a: Channel, matrix: Array, residual: Any = Fraction(0)) -> Verdict:
    processing = Channel(a.outputs, matrix, b.outputs)
    how = "exactly" if residual == 0 else f"up to {text_above(residual)} in every entry"
    return holds(f"b is a followed by post-processing, {how}", Factor(processing, residual))


def _refines_in_floats(b: Channel, a: Channel, watch: Watch) -> Verdict:
    first, second = floats(b.matrix), floats(a.matrix)
    # A residual of this size is what rounding the entries of A, B and R once each explains:
    # |Σ_z A_xz R_zy − B_xy| ≤ (m + 2) units of 2^-53, taken four times.
    allowed = (second.shape[1] + 2) * 2.0**-51
    factor, separating = _float_candidates(first, second, watch)
    if factor is not None:
        # what its own evaluation rounds is covered
        residual = float(np.abs(second @ factor - first).max() + (second.shape[1] + 2) * 2.0**-53)
        if residual <= allowed:
            return _factored(b, a, factor, residual)
    if separating is not None:
        witness = _separating_consumer(b, a, tame(separating))
        # moving every entry of A and B by its rounding moves a gain in [0, 1] by at most twice that
        if witness.margin > 2 * exact(ROUNDING):
            return fails(
                f"a consumer gains {float(witness.margin):.3g} more from b than from a, which is beyond rounding",
                witness,
            )
    return undecided(
        "the channels are too close to the border of refinement for float64: give exact numbers, or ask for a proof"
    )


def _float_candidates(
    b: NDArray[np.float64], a: NDArray[np.float64], watch: Watch
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """A factor or separating weights, found in floats and to be checked by the caller."""
    if a.shape == b.shape and (a == b).all():
        return np.eye(a.shape[1]), None
    used = np.flatnonzero(a.any(axis=0))
    n, m = a.shape
    if len(used) <= n and np.linalg.matrix_rank(a[:, used]) == len(used):
        left = np.linalg.pinv(a[:, used])
        factor = np.zeros((m, b.shape[1]))
        factor[np.setdiff1d(np.arange(m), used), 0] = 1.0
        factor[used] = left @ b
        for _ in range(2):  # the inverse of an ill-conditioned channel is corrected by its own residual
            factor[used] += left @ (b - a @ factor)
        clipped = _stochastic(factor)
        off = b - a @ factor  # the part of B outside the range of A
        x_off, y_off = np.unravel_index(int(np.argmax(np.abs(off))), off.shape)
        separating = np.zeros_like(b)
        if abs(off[x_off, y_off]) > max(-factor.min(), 0.0):
            separating[:, y_off] = off[:, y_off]
        else:
            z, y = np.unravel_index(int(np.argmin(factor[used])), factor[used].shape)
            separating[:, y] = -left[z]
        return clipped, separating
    watch.check()
    projected = _projected(b, a)
    if projected is not None:
        return projected, None
    program = closest_program(b, a)
    solution = solve(program, exact=False, watch=watch)
    if solution.primal is None or solution.dual is None:
        return None, None
    factor = _polish(program, solution.primal, m * b.shape[1]).reshape(m, b.shape[1])
    return _stochastic(factor), solution.dual[: b.size].reshape(b.shape)


def _projected(b: NDArray[np.float64], a: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """A factor by alternating projections, when there is one with room to spare; cheaper than a program.

    Start at the constant factor whose rows are the average row of B. Steps go back and forth between
    {R : A·R = B, rows sum to 1} and {R ≥ θ}; a small θ > 0 ends them inside instead of on the border.
    """
    left, k = np.linalg.pinv(a), b.shape[1]
    factor = np.tile(b.mean(axis=0), (a.shape[1], 1))
    for _ in range(_MOST_PROJECTIONS):
        factor = factor - left @ (a @ factor - b)
        # A maps the defects of row sums to 0, so taking them off leaves A·R where it is
        factor = factor - (factor.sum(axis=1, keepdims=True) - 1.0) / k
        if factor.min() >= 0:
            return np.asarray(factor)
        factor = np.maximum(factor, 1e-3 / k)
    return None


def _stochastic(factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """The factor with rows that sum to 1 and no negative entry, its product with A hardly changed.

    A maps the defects of row sums to the rounding of B's row sums. Taking the same row from all,
    in proportion to the defects, keeps A·R where it is; dividing rows by their sums would not.
    """
    common = np.maximum(factor.mean(axis=0), 0.0)
    level = factor - (factor.sum(axis=1) - 1.0)[:, None] * (common / common.sum())[None, :]
    clipped = np.maximum(level, 0.0)
    return np.asarray(clipped / clipped.sum(axis=1, keepdims=True))


def _polish(program: LinearProgram, point: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Move a solver's factor on to its equations: 1e-10 is good for a solver, not for a proof."""
    matrix = program.sparse()[:, :size]
    factor = np.maximum(point[:size], 0.0)
    for _ in range(3):
        support = np.flatnonzero(factor > 1e-12)
        error = program.rhs - matrix @ factor
        if np.abs(error).max() <= 2.0**-52:
            break
        step = lsmr(matrix[:, support], error, atol=1e-15, btol=1e-15, conlim=0, maxiter=5 * matrix.shape[0])[0]
        factor[support] = np.maximum(factor[support] + step, 0.0)
    return factor


def tame(weights: NDArray[np.float64]) -> Array:
    """Weights scaled to at most 1 and rounded to 40 bits: small rationals separate as well."""
    scaled = np.round(weights / max(np.abs(weights).max(), 1e-300) * 2.0**40)
    return fractions(scaled) / 2**40
