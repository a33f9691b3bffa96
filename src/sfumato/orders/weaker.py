"""Two weaker orders: which channel tells more in the worst case, and which under every metric.

B refines A when B = A·R for a stochastic R. Weaker demands on R give weaker orders (Chatzikokolakis, Fernandes and
Palamidessi 2019):

* *max-case*, B = A·R for any R ≥ 0: every posterior of B is a mixture of posteriors of A, so that no output of B is
  worth more than the best output of A, whatever is at stake;
* *privacy*: under whatever metric A is private, B is private too.

Each implies the next. Rationals are decided exactly; floats stand for numbers known up to rounding, as in
:mod:`sfumato.orders.refinement`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq
from scipy.optimize import nnls

from sfumato.channels.channel import Channel
from sfumato.channels.prior import Prior
from sfumato.channels.ratios import log_ratios, logarithms, row_gaps
from sfumato.errors import shown
from sfumato.losses.loss import Gain
from sfumato.lp import solve
from sfumato.numbers import ROUNDING, TABLE_ROUNDING, Array, exact, floats, fractions, product, text_above, told_apart
from sfumato.orders.refinement import SeparatingConsumer, closest_program, tame, to_compare
from sfumato.verdict import Verdict, fails, holds, undecided

__all__ = ["Mixtures", "PrivacyBreach", "max_refines", "privacy_refines"]


@dataclass(frozen=True, eq=False)
class Mixtures:
    """Witness that posteriors of B are mixtures of those of A: B = A·``weights``, up to ``residual``.

    ``weights[z, y]`` ≥ 0 is how much of output z of A goes into output y of B; rows need not sum to 1. The residual is
    the largest entry of ``|A·weights − B|``, each output of B divided by its largest probability (0 if exact).
    """

    weights: Array
    residual: Fraction | float


@dataclass(frozen=True)
class PrivacyBreach:
    """Witness against privacy refinement: B tells two secrets apart by a factor that A keeps to.

    ``output`` of B is ``factor`` times as likely for ``x`` as for ``z``, no output of A more than ``allowed`` times, in
    either direction.
    """

    x: Any
    z: Any
    output: Any
    factor: Fraction | float
    allowed: Fraction | float


def max_refines(b: Channel, a: Channel, *, proof: bool = False) -> Verdict:
    """Whether no output of B is worth more than the best output of A: max-case refinement.

    max_y V_g(π^y) is no larger for B than for A, for every prior and gain, exactly if the posteriors of B lie in the
    convex hull of those of A.

    Parameters
    ----------
    b, a, proof
        As in :func:`~sfumato.orders.refinement.refines`.

    Returns
    -------
    Verdict
        *holds* with :class:`Mixtures`; *fails* with a :class:`~sfumato.orders.refinement.SeparatingConsumer`, whose
        gains are those after the best output; or *undecided*.

    Examples
    --------
    >>> a = Channel([0, 1], [["1/2", "1/2", 0], [0, "1/2", "1/2"]])
    >>> b = Channel([0, 1], [[1, 0], [0, 1]])
    >>> bool(max_refines(b, a)), bool(max_refines(a, b))      # both can tell everything, b always does
    (True, True)
    >>> flip = Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    >>> print(max_refines(a, flip))
    fails: after its best output b gives a consumer 1, a no more than 0.666667
    """
    b, a, rounded = to_compare(b, a, proof)
    exactly = a.exact and b.exact
    columns: list[Array] = []
    residual: Fraction | float = Fraction(0) if exactly else 0.0
    # weights that would be right if those that come nearest had no negative ones: one system for all outputs of B
    nearest = None if exactly else lstsq(floats(a.matrix), floats(b.matrix), lapack_driver="gelsy", check_finite=False)
    doubt: Verdict | None = None
    for y, column in enumerate(b.matrix.T):
        if not column.any():
            columns.append(np.array([0 * v for v in a.matrix[0]], dtype=a.matrix.dtype))
            continue
        weights, direction, off = (
            _mixed_exactly(a.matrix, column)
            if nearest is None
            else _mixed_in_floats(floats(a.matrix), floats(column), np.maximum(nearest[0][:, y], 0.0))
        )
        if weights is not None:
            columns.append(weights)
            residual = max(residual, off)
            continue
        verdict = _worth_more(b, a, y, direction, rounded)
        if verdict.decided:
            return verdict
        doubt = doubt or verdict
    if doubt is not None:
        return doubt
    how = "" if residual == 0 else f", up to {text_above(residual)} of its largest probability"
    return holds(f"every posterior of b is a mixture of posteriors of a{how}", Mixtures(np.array(columns).T, residual))


def _mixed_exactly(a: Array, column: Array) -> tuple[Array | None, Array, Fraction]:
    """Weights r ≥ 0 with A·r = column, found by the least Σ |A·r − column|; otherwise h with h·A ≤ 0 < h·column."""
    solution = solve(closest_program(column[:, None], a, stochastic=False))
    assert solution.primal is not None and solution.dual is not None  # a solution is r = 0, and no cost is negative
    return (solution.primal[: a.shape[1]] if solution.value == 0 else None), solution.dual, Fraction(0)


def _mixed_in_floats(
    table: NDArray[np.float64], column: NDArray[np.float64], guess: NDArray[np.float64]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64], float]:
    """The same by least squares: r ≥ 0 that comes nearest has h = column − A·r with h·A ≤ 0 and h·column = ``|h|²``."""
    largest = float(column.max())
    # what one rounding of each entry explains, taken four times, and the rounding of this evaluation
    allowed, rounding = (table.shape[1] + 4) * 2.0**-51, (table.shape[1] + 2) * 2.0**-53
    off = float(np.abs(column - table @ guess).max()) / largest + rounding
    if off <= allowed:
        return guess, np.zeros(len(table)), off
    most = table.max(axis=0)
    scale = np.where(most > 0, most, 1.0)  # a rare output of A has a posterior like any other
    try:
        weights = nnls(table / scale, column / largest, maxiter=30 * sum(table.shape))[0] / scale
    except RuntimeError:  # it went round in circles: nothing is known
        return None, np.zeros(len(table)), inf
    direction = column / largest - table @ weights
    off = float(np.abs(direction).max()) + rounding
    return (weights * largest if off <= allowed else None), direction, off


def _worth_more(b: Channel, a: Channel, y: int, direction: Array, rounded: bool) -> Verdict:
    """The consumer with one thing to do, whose gain is the direction moved into [0, 1], judged after best outputs."""
    if direction.dtype == np.float64:
        direction = tame(direction)
    shifted = direction - direction.min()
    gain = Gain(("act",), b.secrets, (shifted / max(shifted.max(), Fraction(1, 2**80)))[None, :], "separating")
    witness = SeparatingConsumer(
        Prior.uniform(b.secrets), gain, _after_best(gain, b.matrix[:, [y]]), _after_best(gain, a.matrix)
    )
    if not (a.exact and b.exact):
        # moving entries by their rounding moves a mean of gains in [0, 1] by at most twice that, on both sides
        if witness.margin <= 4 * exact(ROUNDING):
            return undecided("a posterior of b is too close to the mixtures of posteriors of a for float64", witness)
    elif rounded and witness.margin * Fraction(b.matrix[:, y].sum()) <= TABLE_ROUNDING * len(b.secrets):
        return undecided("a posterior of b leaves the mixtures by no more than the rounding of tables", witness)
    more, less = told_apart(witness.from_b, witness.from_a)
    return fails(f"after its best output b gives a consumer {more}, a no more than {less}", witness)


def _after_best(gain: Gain, matrix: Array) -> Fraction:
    """max over outputs of V_g of the posterior, under the even prior, in exact arithmetic."""
    table = fractions(matrix)
    totals = table.sum(axis=0)
    worth = product(gain.matrix, table)[0]
    return max(Fraction(v) / Fraction(total) for v, total in zip(worth, totals, strict=True) if total > 0)


def privacy_refines(b: Channel, a: Channel, *, proof: bool = False) -> Verdict:
    """Whether B is private under every metric under which A is: privacy refinement.

    The least such metric is ``d(x, z) = max_y |ln A_xy/A_zy|``, so B must not tell any two secrets apart by a larger
    factor than A does.

    Parameters
    ----------
    b, a, proof
        As in :func:`~sfumato.orders.refinement.refines`.

    Returns
    -------
    Verdict
        *holds*; *fails* with a :class:`PrivacyBreach`; or *undecided*.

    Examples
    --------
    >>> a = Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    >>> b = Channel([0, 1], [["1/2", "1/2"], ["1/4", "3/4"]])
    >>> bool(privacy_refines(b, a)), bool(max_refines(b, a))
    (True, True)
    >>> print(privacy_refines(Channel([0, 1], [["3/4", "1/4"], ["1/4", "3/4"]]), a))
    fails: b's output 0 is 3 times as likely for 0 as for 1, outputs of a are at most 2 times as likely
    """
    b, a, rounded = to_compare(b, a, proof)
    exactly = a.exact and b.exact
    doubt: Verdict | None = None
    most_over: Fraction | float = 0.0
    for x, z in _suspects(b, a, rounded):
        breach = _breach(b, a, x, z)
        if breach is None:
            continue
        more, less = told_apart(breach.factor, breach.allowed)
        reason = (
            f"b's output {shown(breach.output)} is {more} times as likely for {shown(breach.x)} as for "
            f"{shown(breach.z)}, outputs of a are at most {less} times as likely"
        )
        if exactly:
            y = b.outputs.index(breach.output)
            slack = b.matrix[x, y] - breach.allowed * b.matrix[z, y]
            if not rounded or slack > TABLE_ROUNDING * (1 + breach.allowed):
                return fails(reason, breach)
            doubt = doubt or undecided(f"{reason}, which the rounding of their tables may explain", breach)
        elif breach.factor > breach.allowed * (1 + 4 * ROUNDING):  # each of the four entries may be off by its rounding
            return fails(reason, breach)
        else:
            most_over = max(most_over, breach.factor / breach.allowed - 1)
    if doubt is not None:
        return doubt
    how = f", up to a part of {text_above(most_over)}" if most_over else ""
    return holds(f"b tells no two secrets apart by a larger factor than a{how}")


def _suspects(b: Channel, a: Channel, rounded: bool) -> list[tuple[int, int]]:
    """Pairs of secrets that floats leave in doubt; where they leave none, the pair that B tells apart best beside A."""
    first, second = np.triu_indices(len(a.secrets), 1)
    low, high = row_gaps(logarithms(b.matrix), first, second)
    allowed = log_ratios(logarithms(a.matrix), first, second)
    over = np.full((len(a.secrets), len(a.secrets)), -inf)
    with np.errstate(invalid="ignore"):
        over[first, second], over[second, first] = high - allowed, -low - allowed
    over[np.isnan(over)] = -inf  # both infinite
    # logarithms of floats are good to far less than a billionth: only what is nearer is looked at
    if over.max() > 1e-9 and not rounded:
        return [divmod(int(over.argmax()), len(over))]
    return [(x, z) for x, z in np.argwhere(over > -1e-9).tolist()]


def _breach(b: Channel, a: Channel, x: int, z: int) -> PrivacyBreach | None:
    """The pair in the numbers of the channels, if B's factor is larger there."""
    ratio = _quotient(b.matrix[x], b.matrix[z])
    y = max(range(len(ratio)), key=ratio.__getitem__)
    allowed = max(_quotient(a.matrix[x], a.matrix[z]) + _quotient(a.matrix[z], a.matrix[x]))
    if ratio[y] <= allowed:
        return None
    return PrivacyBreach(a.secrets[x], a.secrets[z], b.outputs[y], ratio[y], allowed)


def _quotient(over: Array, under: Array) -> list[Any]:
    """Entry by entry, infinite for something over nothing and 1 for nothing over nothing."""
    return [p / q if q else (inf if p else 1) for p, q in zip(over.tolist(), under.tolist(), strict=True)]
