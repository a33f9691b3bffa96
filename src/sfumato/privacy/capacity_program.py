"""Capacities of a type by a linear program over columns, enclosed from both sides.

With one output for each secret the multiplicative capacity is the largest Σ_y M_yy of a mechanism of the type and
the additive one is 1 minus the smallest (columns with their extreme at the same secret may be merged).
:func:`sfumato.lp.cone.lanes.solve_columns` proposes a matrix and multipliers in floats. Neither is trusted:

- the matrix becomes a mechanism of rationals that is private by comparison with bounds of e^{−εd}, so the capacity
  it has is attained;
- the multipliers give a bound on every mechanism, evaluated with an explicit bound on all rounding errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import fsum, inf, nextafter

import flint
import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sfumato.channels.channel import Channel
from sfumato.lp.cone.lanes import solve_columns
from sfumato.lp.cone.program import ColumnProgram, Ending
from sfumato.measures.leakage import capacity
from sfumato.numbers import Floats, float_above, float_below, fractions, object_array
from sfumato.privacy.type import PrivacyType, ball_rate, distance_ball

_TOLERANCE = 1e-9  # The search ends at this relative gap, or earlier where rounding makes it.
_SMALLEST_LOG = 1e-8  # Secrets that must be nearer to equal than this may differ by so much in the search.
_BITS = 96  # Balls of so many bits around e^{−εd} are off by at most one unit in the last place when rounded to floats.
# Secrets this near (in εd) may get equal rows before columns are made private, where that is better: their rows may
# hardly differ, so even rounding errors in their sums take much to make good.
_NEARLY_EQUAL = 1e-7
_SMALLEST_ENTRY = 1e-290  # Entries this small are far above what underflows in a product, and far below what matters.
_MOST_SWEEPS = 10_000


@dataclass(frozen=True, eq=False)
class PromisedPairs:
    """The pairs of a type that imply all others, in both directions, with floats on either side of e^{−εd}."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    logs: Floats
    low: Floats
    high: Floats


class CapacityMethod(StrEnum):
    """How a capacity of a type was found."""

    TIGHT = "closed form, from the solution of Φz = 1"
    LOOSE = "closed form, from the solution of Σ w e^{εd} = 1"
    TREE = "closed form on a tree"
    VERTICES = "exact program over the vertices"
    COLUMNS = "program over columns, enclosed"


@dataclass(frozen=True, eq=False)
class CapacityResult:
    """A capacity that the channel has, exact or rounded down, and what no mechanism exceeds, exact or rounded up."""

    value: Fraction | float
    bound: Fraction | float
    channel: Channel
    method: CapacityMethod


def pairs_of(privacy: PrivacyType) -> PromisedPairs:
    """Pairs with proven bounds of e^{−εd}, one ball for each distinct distance."""
    space = privacy.space
    table = space.pair_distances
    distinct, where = np.unique(table.values, return_inverse=True)
    with flint.ctx.workprec(_BITS):
        rate = ball_rate(privacy)
        balls = [rate * distance_ball(table, value) for value in distinct.tolist()]
        decays = [(-ball).exp() for ball in balls]
        low = np.array([max(0.0, nextafter(float(decay.lower()), -inf)) for decay in decays])
        high = np.array([min(1.0, nextafter(float(decay.upper()), inf)) for decay in decays])
        logs = np.array([float(ball.mid()) for ball in balls])
    twice = np.concatenate([where, where])
    ends = np.concatenate(space.pairs), np.concatenate(space.pairs[::-1])
    return PromisedPairs(*ends, logs[twice], low[twice], high[twice])


def enclosed_capacity(privacy: PrivacyType, kind: str) -> CapacityResult:
    """The ``"multiplicative"`` or ``"additive"`` capacity of a type, between two proven bounds.

    Examples
    --------
    >>> from sfumato.spaces import grid
    >>> capacity = enclosed_capacity(PrivacyType(grid(2, 2), alpha="1/2"), "additive")
    >>> round(capacity.value, 7), 0 <= capacity.bound - capacity.value < 1e-8
    (0.4781572, True)
    """
    pairs = pairs_of(privacy)
    cost = np.eye(len(privacy.space)) * (1.0 if kind == "additive" else -1.0)
    program = ColumnProgram(cost, pairs.first, pairs.second, np.maximum(pairs.logs, _SMALLEST_LOG))
    solution = solve_columns(program, tolerance=_TOLERANCE)
    if solution.ended is Ending.INTERRUPTED:
        raise KeyboardInterrupt
    least = _bound_below(cost, pairs, solution.multipliers)
    channel = private_channel(solution.matrix, privacy, kind, pairs)
    own = getattr(capacity(channel), kind)
    bound = float_above(1 - Fraction(least)) if kind == "additive" else -least
    bound = min(bound, _bound_by_radius(privacy, kind))
    return CapacityResult(float_below(own) + 0.0, bound, channel, CapacityMethod.COLUMNS)


def _bound_by_radius(privacy: PrivacyType, kind: str) -> float:
    """With c the secret whose farthest one is nearest, at distance R: e^{εR}, and 1 − e^{−εR}.

    Each column lies between e^{−εR} and e^{εR} times its entry at c, and these sum to 1. Best for tiny ε.
    """
    table = privacy.space.distances
    with flint.ctx.workprec(_BITS):
        reach = ball_rate(privacy) * distance_ball(table, table.values.max(axis=1).min())
        ball = -(-reach).expm1() if kind == "additive" else reach.exp()
        return nextafter(float(ball.upper()), inf)


def _bound_below(cost: Floats, pairs: PromisedPairs, multipliers: Floats) -> float:
    """A number that Σ cost∘M is never below: Σ_x min_y (C + AᵀZ)_xy less all rounding errors.

    With k terms in an entry, each a float or a product of two, the computed sum is off by at most
    γ_{k+1} = (k + 1)u / (1 − (k + 1)u), u = 2^-53, times the sum of absolute values; the few operations that
    follow, that sum's own error and underflow are covered by counting 8 terms more and adding 1e-290.
    """
    ends = np.concatenate([pairs.first, pairs.second]), np.tile(np.arange(len(pairs.first)), 2)
    entries = np.concatenate([pairs.low, -np.ones(len(pairs.first))])
    rows, values = csr_array((entries, ends), shape=(len(cost), len(pairs.first))), np.abs(multipliers)
    reduced, size = cost + rows @ values, np.abs(cost) + abs(rows) @ values
    count = (np.bincount(ends[0], minlength=1).max() + 17.0) * 2.0**-53
    safe = reduced - (count / (1.0 - 2.0 * count)) * size - 1e-290
    return nextafter(fsum(safe.min(axis=1)), -inf)


def private_channel(matrix: Floats, privacy: PrivacyType, kind: str, pairs: PromisedPairs | None = None) -> Channel:
    """A mechanism of the type next to an approximate one, in rationals, one output for each secret.

    Entries are raised until every column is private, M_zy ≥ e^{−εd(x, z)} M_xy, proved with upper bounds of
    e^{−εd}: floats are rationals. Rows then differ a little in their sums. What is missing, and the smallest
    constant that keeps the column private, is added to one column, and everything is divided by the common sum.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> rough = np.array([[0.7, 0.3], [0.3, 0.7]])
    >>> channel = private_channel(rough, PrivacyType(line(2), epsilon="0.7"), "multiplicative")
    >>> channel.exact, round(float(channel.matrix[0, 0]), 6)
    (True, 0.668188)
    """
    pairs = pairs_of(privacy) if pairs is None else pairs
    if not pairs.first.size:  # a single secret
        return Channel(privacy.space, [[1]], privacy.secrets)
    candidates = [_raised_to_private(matrix, privacy, pairs)]
    if (pairs.logs < _NEARLY_EQUAL).any():
        candidates.append(_raised_to_private(_merged(matrix, pairs), privacy, pairs))
    return max(candidates, key=lambda channel: getattr(capacity(channel), kind))


def _raised_to_private(matrix: Floats, privacy: PrivacyType, pairs: PromisedPairs) -> Channel:
    columns = np.maximum(matrix.T, _SMALLEST_ENTRY)
    if _raise_columns(columns, pairs.first, pairs.second, pairs.high, _MOST_SWEEPS):
        return Channel(privacy.space, [[1]] * len(matrix), [privacy.secrets[0]])  # one output tells nothing
    exact = fractions(np.ascontiguousarray(columns.T))
    sums = exact.sum(axis=1)
    missing = max(sums) - sums
    y, constant = _where_to_fill(columns, missing.astype(np.float64), pairs)
    decay = object_array(map(Fraction, pairs.high))
    while True:
        filled = exact[:, y] + missing + constant
        if (decay * filled[pairs.first] <= filled[pairs.second]).all():
            break
        constant = 2 * constant + Fraction(2.0**-60)  # makes good the rounding of the constant
    exact[:, y] = filled
    return Channel(privacy.space, exact / exact[0].sum(), privacy.secrets)


def _merged(matrix: Floats, pairs: PromisedPairs) -> Floats:
    """One row for all secrets that must have nearly equal ones."""
    n, near = len(matrix), pairs.logs < _NEARLY_EQUAL
    joined = csr_array((np.ones(int(near.sum())), (pairs.first[near], pairs.second[near])), shape=(n, n))
    _, group = connected_components(joined, directed=False)
    _, representative = np.unique(group, return_index=True)
    return np.asarray(matrix[representative[group]])


@njit(cache=True, nogil=True)
def _raise_columns(columns, first, second, decay, most):  # type: ignore[no-untyped-def]
    """Raise entries until all columns are private, for certain; True if that took too long.

    A product is off by 2^-53 of itself at most, and e^{−εd} ≤ 1.
    """
    for y in range(columns.shape[0]):
        column = columns[y]
        sweeps, raised = 0, True
        while raised:
            raised = False
            sweeps += 1
            if sweeps > most:
                return True
            for k in range(len(first)):
                needed = min(column[first[k]], column[first[k]] * decay[k] * (1.0 + 2.0**-51))
                if column[second[k]] < needed:
                    column[second[k]] = needed
                    raised = True
    return False


def _where_to_fill(columns: Floats, missing: Floats, pairs: PromisedPairs) -> tuple[int, Fraction]:
    """The column that needs the smallest constant beside the missing mass, and that constant.

    With decay δ, v_z + c ≥ δ (v_x + c) means c ≥ (δ v_x − v_z) / (1 − δ). Columns are given as rows.
    """
    rest = -np.expm1(-pairs.logs)
    needed = np.zeros(len(columns))
    for y, column in enumerate(columns + missing):
        lack = np.maximum(pairs.high * column[pairs.first] - column[pairs.second], 0.0)
        needed[y] = float((lack / rest).max())
    y = int(np.argmin(needed))
    return y, Fraction(float(needed[y]) * (1.0 + 2.0**-40))
