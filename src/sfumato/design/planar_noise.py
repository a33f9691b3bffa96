"""Laplace noise in the plane between places of a list, moved to the best action: what anybody would compare with.

Secrets with coordinates are laid out in a plane, places on the Earth as on a map of their region. Noise around a secret
is e^(−ε′‖x − z‖) at the points z of a fine lattice, where ε′ is so small that no pair of secrets is closer on the map
than it is by the metric, times ε: each column keeps the promise. Then every z is told as the action that loses least
given z. What rows lack of one goes to one action, with a constant that makes it a column that keeps the promise too.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from sfumato.design.problem import Problem
from sfumato.numbers import Floats, Integers, floats

_STEP = 0.3  # ε′ times the step of the lattice: sums over it differ from secret to secret by some 1e-4
_REACH = 7.0  # ε′ times how far the lattice goes beyond the secrets: noise ends there in one case of a hundred
_MOST_POINTS = 60_000  # of the lattice; for more the step is larger, and nothing is tried where it would be too large
_LARGEST_STEP = 1.0
# Of secrets, points and actions that are tried, and of pairs of secrets: both take some ten seconds on two cores.
_MOST_PRODUCTS, _MOST_PAIRS = 3 * 10**9, 10**8
_NEAREST = 16  # secrets next to where most people are, whose best actions are tried for a point
_CHUNK = 2**24  # numbers that are held at a time
_FLATTEST = 0.7  # of ε, that ε′ is at least: a map of a larger part of the Earth is none


def planar_noise(problem: Problem) -> Floats | None:
    """A matrix of actions, or None where secrets have no places in a plane or the noise would need too many points."""
    where = _on_a_map(problem) if problem.shape[0] ** 2 <= _MOST_PAIRS else None
    rate = 0.0 if where is None else _rate(problem, where)
    if where is None or not rate > 0:
        return None
    low, high = where.min(axis=0) - _REACH / rate, where.max(axis=0) + _REACH / rate
    most = min(_MOST_POINTS, _MOST_PRODUCTS // (len(where) * (_NEAREST + 2)))
    step = max(_STEP / rate, float(np.sqrt(np.prod(high - low) / max(1, most))))
    if step * rate > _LARGEST_STEP:
        return None
    along = [np.arange(start, end, step) for start, end in zip(low, high, strict=True)]
    lattice = np.stack(np.meshgrid(*along, indexing="ij"), axis=-1).reshape(-1, 2)
    matrix, stakes = np.zeros(problem.shape), problem.float_cost
    tree, best = cKDTree(where), floats(problem.loss.matrix).argmin(axis=0)
    weights = problem.prior.float_weights
    chunk = max(1, _CHUNK // (len(where) * (_NEAREST + 2)))
    for first in range(0, len(lattice), chunk):
        points = lattice[first : first + chunk]
        noise = np.exp(-rate * np.linalg.norm(where[:, None] - points[None], axis=2))
        np.add.at(matrix.T, _told(noise, stakes, weights, where, tree, best), noise.T)
    matrix /= matrix.sum(axis=1).max()
    rest = _private(problem, 1 - matrix.sum(axis=1))
    matrix[:, int((rest @ stakes).argmin())] += rest
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def _private(problem: Problem, lacking: Floats) -> Floats:
    """What rows lack, and the least constant with which that keeps the promise: all rows have one sum then."""
    n, constant = len(lacking), 0.0
    for first in range(0, n, max(1, _CHUNK // n)):
        block = slice(first, first + max(1, _CHUNK // n))
        more = np.expm1(problem.privacy.log_bounds[block])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            needed = (lacking[block, None] - lacking[None]) / more - lacking[None]
        constant = max(constant, float(np.nanmax(np.where(more > 0, needed, 0.0))))
    return lacking + constant


def _on_a_map(problem: Problem) -> Floats | None:
    """Where secrets are in a plane: as they stand, or on a map of their region whose unit is a degree of latitude."""
    space = problem.privacy.space
    where = space.coordinates
    if where is None or where.shape[1] != 2 or len(where) < 2:
        return None
    if space.ground is None:
        return np.asarray(where)
    middle = np.radians(where[:, 1].mean())
    return np.stack([where[:, 0] * np.cos(middle), where[:, 1]], axis=1)


def _rate(problem: Problem, where: Floats) -> float:
    """ε′ for a unit of the map; 0 where the metric is no distance on it."""
    n = len(where)
    rates = []
    for first in range(0, n, max(1, _CHUNK // n)):
        block = slice(first, first + max(1, _CHUNK // n))
        apart = np.linalg.norm(where[block, None] - where[None], axis=2)
        logs = problem.privacy.log_bounds[block]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(apart > 0, logs / apart, np.inf)
        rates.append((float(ratio.min()), float(np.median(ratio[np.isfinite(ratio)]))))
    least, usual = min(low for low, _ in rates), float(np.median([middle for _, middle in rates]))
    return least * (1 - 1e-9) if np.isfinite(usual) and least >= _FLATTEST * usual else 0.0


def _told(noise: Floats, stakes: Floats, weights: Floats, where: Floats, tree: cKDTree, best: Integers) -> Integers:
    """For each point of the lattice the action that loses least, among the best ones around where most people are."""
    joint = noise * weights[:, None]
    middle = (where.T @ joint) / joint.sum(axis=0)
    near = np.atleast_2d(tree.query(middle.T, k=min(_NEAREST, len(where)))[1].reshape(middle.shape[1], -1))
    actions = best[near]
    lost = np.empty(actions.shape)
    for i in range(actions.shape[1]):
        lost[:, i] = (noise * stakes[:, actions[:, i]]).sum(axis=0)
    return np.asarray(actions[np.arange(len(actions)), lost.argmin(axis=1)])
