"""Problems whose optimum is known by a theorem: matrix and multipliers are written down, not searched for.

On a line the truncated geometric mechanism with a remap is the best for every prior as long as the loss has single
crossings (docs, "geometric"), and for two secrets whatever the loss is (paper A, Cor. 9). Under a regular prior the
tight-constraints mechanism, where it exists, is the best for ℓ_bin (paper C, Thm 2). The hypotheses are not checked
one by one: the multipliers are those of the proof, and if they do not prove what is asked for, the form does not apply.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from sfumato.design.problem import Problem
from sfumato.design.solvers.answer import Answer, Multipliers
from sfumato.numbers import floats

__all__ = ["closed_form"]

Floats = NDArray[np.float64]

_LARGEST = 4000  # secrets: beyond, a matrix of n × n is no quick answer any more
_STRAIGHT = 1e-9  # relative: distances that add up to this are on a line
_ROUNDING = 1e-13  # relative to the largest: what is below zero by less is a rounding error


def closed_form(problem: Problem, tolerance: float) -> Answer | None:
    """The answer that a theorem gives, if it is as good as asked for."""
    started = perf_counter()
    if not problem.objective.plain or not 2 <= len(problem.privacy.space) <= _LARGEST:
        return None
    for form in (_on_a_line, _bin_under_a_regular_prior):
        found = form(problem)
        if found is None:
            continue
        matrix, multipliers, method = found
        factors = problem.factors(multipliers.first, multipliers.second)
        value = float((problem.float_cost * matrix).sum())
        bound = float(multipliers.reduced(problem.float_cost, factors).min(axis=1).sum())
        if value - bound <= tolerance * abs(value):
            return Answer(matrix, multipliers, method, 0, perf_counter() - started)
    return None


def _places_on_a_line(distances: Floats) -> Floats | None:
    """Coordinates whose differences are the distances, or None if the points are not on a line."""
    end = int(np.argmax(distances[0]))
    places = distances[end]
    if not np.isfinite(places).all():
        return None
    straight = np.abs(np.abs(places[:, None] - places[None, :]) - distances).max() <= _STRAIGHT * places.max()
    return places if straight else None


def _on_a_line(problem: Problem) -> tuple[Floats, Multipliers, str] | None:
    """Geometric with its best remap; prices and multipliers of the single-crossing theorem."""
    space = problem.privacy.space
    places = _places_on_a_line(space.distances.floats)
    if places is None:
        return None
    order = np.argsort(places)
    steps = problem.privacy.rate * np.diff(places[order])
    if not len(steps) or steps.max() > 700 or steps.min() < 1e-12:
        return None
    cost = problem.float_cost[order]
    decay = np.exp(-np.abs(np.subtract.outer(places[order], places[order])) * problem.privacy.rate)
    losses = decay @ cost  # of action w after output y, up to the weight of y
    best = losses.argmin(axis=1)
    side = np.concatenate([[0.0], np.exp(-steps), [0.0]])  # e^{−εd} to the left of each point; beyond the ends 0
    weights = 1.0 - side[:-1] / (1 + side[:-1]) - side[1:] / (1 + side[1:])
    matrix = np.zeros(problem.shape)
    np.add.at(matrix.T, best, (decay * weights).T)
    prices = _solved_on_a_line(side[1:-1], losses[np.arange(len(order)), best])
    first, second, action, values = _handed_on(cost - prices[:, None], np.exp(-steps))
    back = np.empty_like(matrix)
    back[order] = matrix
    return back, Multipliers(order[first], order[second], action, values), "geometric with a remap"


def _solved_on_a_line(alpha: Floats, right: Floats) -> Floats:
    """p with Σ_x e^{−εd(y, x)} p_x = right_y; the inverse of this matrix is tridiagonal."""
    within = alpha / -np.expm1(2 * np.log(alpha))  # α / (1 − α²)
    result = right.copy()
    result[:-1] += within * (alpha * right[:-1] - right[1:])
    result[1:] += within * (alpha * right[1:] - right[:-1])
    return result


def _handed_on(
    reduced: Floats, alpha: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], Floats]:
    """Multipliers that lift reduced costs to 0 where they are below: a surplus is handed on, worth α of it.

    From the left up to the first point where that is not enough, from the right down to this point. Rays of the
    geometric peak in one place, so one such point for each action will do.
    """
    n, m = reduced.shape
    small = _ROUNDING * float(np.abs(reduced).max())
    rightwards, leftwards = np.zeros((n, m)), np.zeros((n, m))
    standing, open_until = reduced[0].copy(), np.full(m, n)
    for x in range(n - 1):
        open_until = np.where((standing < -small) & (open_until == n), x, open_until)
        rightwards[x] = np.where(open_until == n, alpha[x] * np.maximum(standing, 0.0), 0.0)
        standing = reduced[x + 1] + rightwards[x]
    open_until = np.where((standing < -small) & (open_until == n), n - 1, open_until)
    standing = reduced[n - 1].copy()
    for x in range(n - 1, 0, -1):
        leftwards[x] = np.where(x > open_until, alpha[x - 1] * np.maximum(standing, 0.0), 0.0)
        standing = reduced[x - 1] + leftwards[x]
    right, left = np.nonzero(rightwards > small), np.nonzero(leftwards > small)
    first, second = np.concatenate([right[0] + 1, left[0] - 1]), np.concatenate([right[0], left[0]])
    values = np.concatenate([rightwards[right], leftwards[left]])
    return first, second, np.concatenate([right[1], left[1]]), values


def _bin_under_a_regular_prior(problem: Problem) -> tuple[Floats, Multipliers, str] | None:
    """Tight constraints for ℓ_bin: with π = Φμ and Φw = 1, M = Φ diag(w) and Z(x, z, x) = μ_z e^{−εd(x, z)}."""
    space, loss = problem.privacy.space, problem.loss
    table = floats(loss.matrix)
    if loss.actions != space.labels or (table != table.max() * (1 - np.eye(len(space)))).any() or table.max() <= 0:
        return None
    distances = space.distances.floats
    with np.errstate(over="ignore"):
        decay = np.exp(-problem.privacy.rate * distances)
    try:
        shares = np.linalg.solve(decay, np.column_stack([problem.prior.float_weights, np.ones(len(space))]))
    except np.linalg.LinAlgError:
        return None
    regular, weights = shares.T
    if regular.min() < -_ROUNDING or weights.min() < -_ROUNDING or not np.isfinite(shares).all():
        return None
    # what is owed at z by output x, in units of x
    owed = table.max() * np.maximum(regular, 0.0)[None, :] * decay
    np.fill_diagonal(owed, 0.0)
    if space.edges is None:
        x, z = np.nonzero(owed)
        multipliers = Multipliers(x, z, x, owed[x, z])
    else:
        multipliers = _along_paths(problem, owed)
    return decay * np.maximum(weights, 0.0), multipliers, "tight constraints"


def _along_paths(problem: Problem, owed: Floats) -> Multipliers:
    """The same with multipliers on edges only: what is owed at z travels along a shortest path from x."""
    space, n = problem.privacy.space, len(problem.privacy.space)
    ends, lengths = space.pairs, space.pair_distances.floats
    graph = csr_array((lengths, (ends[0], ends[1])), shape=(n, n))
    away, before = dijkstra(graph, directed=False, return_predecessors=True)
    order = np.argsort(-away, axis=1, kind="stable")
    every = np.arange(n)
    total = owed.copy()
    for k in range(n - 1):  # the farthest first; the last one is x itself
        node = order[:, k]
        reached = before[every, node] >= 0
        total[every[reached], before[every, node][reached]] += total[every, node][reached]
    x, z = np.nonzero((before >= 0) & (total > 0))
    parent = before[x, z].astype(np.int64)
    with np.errstate(over="ignore"):
        values = total[x, z] * np.exp(problem.privacy.rate * away[x, parent])
    return Multipliers(parent, z, x, values)
