"""The multiplicative Kantorovich distance: how far a promise carries from secrets to beliefs.

For a metric d on secrets the distance of two distributions π and σ is ::

    sup { |ln Σ π_x f_x − ln Σ σ_x f_x|  :  f ≥ 0,  f_x ≤ e^{d(x, z)} f_z for all x, z },

the lifting of d by Chatzikokolakis, Gebler, Palamidessi and Xu (2014). Such f are the columns of d-private mechanisms.
So it is the logarithm of the least factor that every d-private mechanism keeps between the outputs of two people who
draw their secrets from π and σ; for two secrets known for sure it is d again.

The supremum of a ratio of linear functions over a cone is a linear program with one variable for each secret. It is
solved in rationals, with e^d rounded down where they are not rational; by how much that moves the answer is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from sfumato.channels.channel import check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import InvalidEpsilon, NotSupported, TooLarge, short
from sfumato.lp import LinearProgram, Status, solve
from sfumato.numbers import (
    Array,
    Number,
    as_written,
    exp_bounds,
    float_above,
    float_below,
    fractions,
    log_bounds,
    object_array,
)
from sfumato.spaces.finite import FiniteSpace, as_space
from sfumato.watch import TimeIsUp, Watch

__all__ = ["MultiplicativeDistance", "multiplicative_kantorovich"]

_SECONDS = 20.0  # A basis that floats propose is confirmed in far less; without one, a large program takes hours.
_BITS = 80  # Relative precision of e^d: what is lost along a chain of a thousand factors is below that of a float.


@dataclass(frozen=True, eq=False)
class MultiplicativeDistance:
    """``lower ≤ distance ≤ upper``, proved.

    ``ratio`` is e to the distance where that is known exactly, else None. ``function`` is an f whose means differ by
    the factor e^lower at least, the larger one that of the first distribution if ``forwards``; None where the distance
    is infinite.
    """

    lower: float
    upper: float
    ratio: Fraction | None
    function: Array | None
    forwards: bool


def multiplicative_kantorovich(
    first: Prior, second: Prior, space: FiniteSpace, *, alpha: Number | None = None
) -> MultiplicativeDistance:
    """Multiplicative Kantorovich distance of two distributions over a space.

    Parameters
    ----------
    alpha
        Measures distances in units of ln 1/α, so that e^d is α^{−d} and rational for whole d.

    Raises
    ------
    NotSupported
        Where factors lie so far apart, as on a line of a hundred secrets with a factor e for each step, that floats
        find no basis to confirm.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> space = line(3)
    >>> found = multiplicative_kantorovich(Prior.point(space, 0), Prior.uniform(space), space, alpha="1/2")
    >>> found.ratio, found.function.tolist()              # (1 + 2 + 4)/3 against 1
    (Fraction(7, 3), [Fraction(1, 1), Fraction(2, 1), Fraction(4, 1)])
    >>> found = multiplicative_kantorovich(Prior.point(space, 0), Prior.point(space, 2), space)
    >>> found.lower <= 2 <= found.upper, found.upper - found.lower < 1e-12
    (True, True)
    """
    first, second, space = as_prior(first), as_prior(second), as_space(space)
    check_secrets("two distributions and a space", space, first, second)
    base = None if alpha is None else as_written(alpha, "alpha", InvalidEpsilon)
    if base is not None and not 0 < base < 1:
        raise InvalidEpsilon(f"alpha lies strictly between 0 and 1, found {short(base)}")
    one, other = (fractions(p.weights) / fractions(p.weights).sum() for p in (first, second))
    factors, error = _factors(space, base)
    there, back = _largest_ratio(space, one, other, factors), _largest_ratio(space, other, one, factors)
    forwards = there[0] is None or (back[0] is not None and there[0] >= back[0])  # None being infinity
    ratio, function = there if forwards else back
    if ratio is None:
        return MultiplicativeDistance(inf, inf, None, None, forwards)
    # Any f that keeps to the true factors becomes one that keeps to ours when it is lowered along chains of at most
    # n − 1 pairs, by (1 + error)^(n − 1) ≤ 1 / (1 − (n − 1) error) at most.
    most = ratio / (1 - (len(space) - 1) * error)
    low_log, high_log = float_below(log_bounds(ratio)[0]), float_above(log_bounds(most)[1])
    return MultiplicativeDistance(max(0.0, low_log), high_log, None if error else ratio, function, forwards)


def _factors(space: FiniteSpace, alpha: Fraction | None) -> tuple[list[Fraction], Fraction]:
    """Rationals below the factor of each pair that no chain implies, and what part of them is missing at most."""
    table = space.pair_distances
    bounds: dict[float | int, tuple[Fraction, Fraction]] = {}
    for value in np.unique(table.values).tolist():
        low, high = table.bounds(value, 2 * _BITS)
        if alpha is None:
            bounds[value] = exp_bounds(low, _BITS)[0], exp_bounds(high, _BITS)[1]
        elif low == high and low.denominator == 1:
            bounds[value] = (alpha ** -int(low),) * 2
        else:
            unit = log_bounds(1 / alpha, 2 * _BITS)
            bounds[value] = exp_bounds(unit[0] * low, _BITS)[0], exp_bounds(unit[1] * high, _BITS)[1]
    error = max((high / low - 1 for low, high in bounds.values()), default=Fraction(0))
    return [bounds[value][0] for value in table.values.tolist()], error


def _largest_ratio(
    space: FiniteSpace, over: Array, under: Array, factors: list[Fraction]
) -> tuple[Fraction | None, Array | None]:
    """The largest Σ over·f for Σ under·f ≤ 1 and f that keep to the factors along pairs, and f; None if unbounded."""
    n, (first, second) = len(space), space.pairs
    count = len(factors)
    rows = np.arange(count)
    one = np.ones(count, dtype=np.int64)
    against = -object_array(factors) if count else np.empty(0, dtype=object)
    program = LinearProgram(
        cost=-over,
        rows=np.concatenate([rows, rows, count + rows, count + rows, np.full(n, 2 * count)]),
        columns=np.concatenate([first, second, second, first, np.arange(n)]),
        values=np.concatenate([one, against, one, against, under]),
        senses="<" * (2 * count + 1),
        rhs=np.concatenate([np.zeros(2 * count, dtype=np.int64), [1]]),
    )
    try:
        solution = solve(program, exact=True, watch=Watch(_SECONDS))
    except (TimeIsUp, TooLarge):
        raise NotSupported(
            f"the multiplicative distance on {space.name}, whose factors lie too far apart for a solver",
            ["fewer secrets", "shorter distances, or an alpha nearer to 1"],
        ) from None
    if solution.status is Status.UNBOUNDED:
        return None, None
    assert solution.value is not None and solution.primal is not None  # f = 1 keeps to all
    return -Fraction(solution.value), solution.primal
