"""Problems whose optimum is known by a theorem: matrix and multipliers are written down, not searched for.

On a line the truncated geometric mechanism with a remap is the best for every prior as long as the loss has single
crossings (docs, "geometric"), and for two secrets whatever the loss is (paper A, Cor. 9). Under a regular prior the
tight-constraints mechanism, where it exists, is the best for ℓ_bin (paper C, Thm 2). The hypotheses are not checked
one by one: the multipliers are those of the proof, and if they do not prove what is asked for, the form does not apply.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

import numpy as np

from sfumato.design.answer import Answer, Multipliers
from sfumato.design.problem import Problem
from sfumato.design.routes import along_trees
from sfumato.design.simple import multipliers_bound
from sfumato.memory import room
from sfumato.numbers import Floats, Integers, floats

_Form = tuple[Floats, Multipliers, str]  # matrix, multipliers and the name of the method

_TABLES = 24  # A form takes so many tables of n × n doubles, with its multipliers and the proof after it.
_LARGEST_SYSTEM = 4000  # More equations take longer to solve than they save.
_ROW_STRIDE = 64  # The rows of a table are looked at in so many strides.
_STRAIGHT = 1e-9  # Distances that add up to this relative error are on a line.
_GIVEN_AWAY = 0.05  # The bound may lose this share of the tolerance by leaving out flows from far away.
_ROUNDING = 1e-13  # What is below zero by less than this share of the largest number is a rounding error.


def closed_form(problem: Problem, tolerance: float) -> Answer | None:
    """The answer that a theorem gives, if it is as good as asked for."""
    started = perf_counter()
    n, m = problem.shape
    if not problem.objective.plain or problem.events or n < 2 or 8 * _TABLES * n * max(n, m) > room():
        return None
    for form in (_on_a_line, _bin_under_a_regular_prior):
        for matrix, multipliers, method in form(problem, _GIVEN_AWAY * tolerance):
            value, bound = float((problem.float_cost * matrix).sum()), multipliers_bound(problem, multipliers)
            if value - bound <= tolerance * abs(value):
                return Answer(matrix, multipliers, method, 0, perf_counter() - started)
    return None


def _places_on_a_line(distances: Floats) -> Floats | None:
    """Coordinates whose differences are the distances, or None if the points are not on a line.

    Rows are looked at a few at a time, those far apart first: no other space gets far, and no second table is made.
    """
    end = int(np.argmax(distances[0]))
    places = distances[end]
    if not np.isfinite(places).all():
        return None
    n, allowed = len(places), _STRAIGHT * float(places.max())
    for start in range(_ROW_STRIDE):
        rows = np.arange(start, n, _ROW_STRIDE)
        if len(rows) and np.abs(np.abs(places[rows, None] - places) - distances[rows]).max() > allowed:
            return None
    return np.asarray(places)


def _on_a_line(problem: Problem, spare: float) -> Iterator[_Form]:
    """Geometric with its best remap; prices and multipliers of the single-crossing theorem.

    With the multipliers near each peak alone, which lose a share of ``spare``; and, should these not do, with all.
    """
    space = problem.privacy.space
    if space.edges is not None and len(space.edges.pairs.first) > len(space) - 1 + len(space) // 2:
        return  # a line may have a few edges more than it needs, but a grid has twice as many
    places = _places_on_a_line(space.distances.floats)
    if places is None:
        return
    order = np.argsort(places)
    at = problem.privacy.rate * places[order]
    steps = np.diff(at)
    if not len(steps) or steps.max() > 700 or steps.min() < 1e-12:
        return
    cost, alpha = problem.float_cost[order], np.exp(-steps)
    losses = _weighed(cost, alpha)  # of action w after output y, up to the weight of y
    best = losses.argmin(axis=1)
    side = np.concatenate([[0.0], alpha, [0.0]])  # e^{−εd} to the left of each point; beyond the ends 0
    weights = 1.0 - side[:-1] / (1 + side[:-1]) - side[1:] / (1 + side[1:])
    columns = np.zeros(problem.shape[::-1])
    for y, (action, weight) in enumerate(zip(best, weights, strict=True)):
        columns[action] += weight * np.exp(-np.abs(at - at[y]))
    matrix = np.empty(problem.shape)
    matrix[order] = columns.T
    prices = _solved_on_a_line(alpha, losses[np.arange(len(order)), best])
    reduced = cost - prices[:, None]
    lost = max(spare * abs(float(prices.sum())) / len(order), 1e-300)  # that a row may be short of
    reach = np.log(max(float(reduced.max()) / lost / -np.expm1(-float(steps.min())), 1.0))
    for far in (reach, np.inf) if reach < at[-1] - at[0] else (np.inf,):
        first, second, action, values = _handed_on(reduced, alpha, at, far)
        yield matrix, Multipliers(order[first], order[second], action, values), "geometric with a remap"


def _weighed(cost: Floats, alpha: Floats) -> Floats:
    """Σ_x e^{−εd(y, x)} cost_x for every y: what has come from the left, and from the right."""
    total, left, right = cost.copy(), cost[0], cost[-1]
    for y in range(1, len(cost)):
        total[y] += alpha[y - 1] * left
        left = cost[y] + alpha[y - 1] * left
    for y in range(len(cost) - 2, -1, -1):
        total[y] += alpha[y] * right
        right = cost[y] + alpha[y] * right
    return total


def _solved_on_a_line(alpha: Floats, right: Floats) -> Floats:
    """p with Σ_x e^{−εd(y, x)} p_x = right_y; the inverse of this matrix is tridiagonal."""
    within = alpha / -np.expm1(2 * np.log(alpha))  # α / (1 − α²)
    result = right.copy()
    result[:-1] += within * (alpha * right[:-1] - right[1:])
    result[1:] += within * (alpha * right[1:] - right[:-1])
    return result


def _handed_on(reduced: Floats, alpha: Floats, at: Floats, reach: float) -> tuple[Integers, Integers, Integers, Floats]:
    """Multipliers that lift reduced costs to 0 where they are below: a surplus is handed on, worth α of it.

    From the left up to the first point where that is not enough, from the right down to this point. Rays of the
    geometric peak in one place, so one such point for each action will do. What comes from further away than ``reach``
    is not waited for: next to nothing is left of it.
    """
    n, m = reduced.shape
    small = _ROUNDING * float(np.abs(reduced).max())
    open_until = _first_below(reduced, alpha, -small)
    middle = at[np.minimum(open_until, n - 1)]
    rightwards, leftwards = np.zeros((n, m)), np.zeros((n, m))
    standing = reduced[0].copy()
    for x in range(n - 1):
        handing = (x < open_until) & (at[x] >= middle - reach)
        rightwards[x] = np.where(handing, alpha[x] * np.maximum(standing, 0.0), 0.0)
        standing = reduced[x + 1] + rightwards[x]
    standing = reduced[n - 1].copy()
    for x in range(n - 1, 0, -1):
        handing = (x > open_until) & (at[x] <= middle + reach)
        leftwards[x] = np.where(handing, alpha[x - 1] * np.maximum(standing, 0.0), 0.0)
        standing = reduced[x - 1] + leftwards[x]
    right, left = np.nonzero(rightwards > small), np.nonzero(leftwards > small)
    first, second = np.concatenate([right[0] + 1, left[0] - 1]), np.concatenate([right[0], left[0]])
    values = np.concatenate([rightwards[right], leftwards[left]])
    return first, second, np.concatenate([right[1], left[1]]), values


def _first_below(reduced: Floats, alpha: Floats, level: float) -> Integers:
    """For each action the first point from the left at which all that is handed on is not enough; n where it is."""
    n, m = reduced.shape
    standing, first = reduced[0].copy(), np.full(m, n)
    for x in range(n):
        first = np.where((standing < level) & (first == n), x, first)
        if x < n - 1:
            standing = reduced[x + 1] + alpha[x] * np.maximum(standing, 0.0)
    return first


def _right_actions(problem: Problem) -> tuple[Integers, Floats] | None:
    """For each secret the one action that is right, and what any other costs beyond it; None for other losses.

    That is ℓ_bin however it is spelled: scaled, with costs that depend on the secret alone, actions in any order.
    """
    cost = floats(problem.loss.matrix).T
    n, m = cost.shape
    right = cost.argmin(axis=1)
    if n != m or len(np.unique(right)) != n:
        return None
    stake, allowed = np.empty(n), _ROUNDING * float(np.abs(cost).max())  # differences have the errors of the costs
    for x in range(n):
        above = np.delete(cost[x], right[x]) - cost[x, right[x]]
        stake[x] = above.max()
        if stake[x] - above.min() > allowed:
            return None
    return right, stake * problem.prior.float_weights


def _bin_under_a_regular_prior(problem: Problem, spare: float) -> Iterator[_Form]:
    """Tight constraints for ℓ_bin: with π = Φμ and Φw = 1, M = Φ diag(w) and Z(x, z, x) = μ_z e^{−εd(x, z)}.

    What another action costs takes the place of the prior, so that it may depend on the secret.
    """
    space = problem.privacy.space
    right_actions = _right_actions(problem) if len(space) <= _LARGEST_SYSTEM else None
    if right_actions is None:
        return
    right, stake = right_actions
    with np.errstate(over="ignore"):
        decay = np.exp(-problem.privacy.rate * space.distances.floats)
    try:
        shares = np.linalg.solve(decay, np.column_stack([stake, np.ones(len(space))]))
    except np.linalg.LinAlgError:
        return
    regular, weights = shares.T
    small = _ROUNDING * max(float(stake.max()), 1e-300)
    if not np.isfinite(shares).all() or regular.min() < -small or weights.min() < -_ROUNDING:
        return
    # what is owed at z by output x, in units of x
    owed = np.maximum(regular, 0.0)[None, :] * decay
    np.fill_diagonal(owed, 0.0)
    if space.edges is None:
        x, z = np.nonzero(owed)
        multipliers = Multipliers(x, z, right[x], owed[x, z])
    else:
        multipliers = along_trees(problem.privacy, np.arange(len(space)), owed)
        multipliers = replace(multipliers, action=right[multipliers.action])
    matrix = np.empty_like(decay)
    matrix[:, right] = decay * np.maximum(weights, 0.0)
    yield matrix, multipliers, "tight constraints"
