"""Mechanisms and bounds that need no solver: what is returned where the time is up before a solver has anything.

Exponential noise, e^{−εd/2} around the secret for which each output is best, keeps every promise about ratios, and one
output for all secrets keeps every promise there is. Where secrets are places in a plane, Laplace noise does with half
as much of it (:mod:`sfumato.design.planar_noise`). All come with the best action for each output. Bounds come from
the costs alone (:mod:`sfumato.design.bounds`).
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np

from sfumato.channels.channel import as_channel
from sfumato.design.answer import NO_MULTIPLIERS, Answer, Multipliers
from sfumato.design.planar_noise import planar_noise
from sfumato.design.problem import Problem
from sfumato.errors import NotSupported, SolverError
from sfumato.lp import Limit
from sfumato.lp.cone.near import exponential_shares
from sfumato.mechanisms.registry import MECHANISMS
from sfumato.numbers import Floats, floats

# The best action of every output is looked for up to so many products, which take some seconds.
_MOST_PRODUCTS = 2 * 10**10
_MOST_PLACES = 150  # for which known noise is summed up and proved within two seconds
_SPARE = 1e-9  # In floats a limit is kept by this share of its level, so that rounding does not break it.


def simple_answer(problem: Problem, *, small: bool = False) -> Answer | None:
    """The best of them in floats, of those that keep the limits; None where none does.

    Parameters
    ----------
    small
        Whether one output for all has to do, because even a table of probabilities takes too long to prove.

    Examples
    --------
    >>> import sfumato as sf
    >>> from sfumato.design.problem import problem
    >>> line = sf.line(3)
    >>> asked = problem(sf.Prior.uniform(line), sf.losses.absolute(line), sf.PrivacyType(line, alpha="1/9"))
    >>> found = simple_answer(asked)
    >>> found.method, round(value_of(asked, found.matrix), 3)
    ('exponential noise', 0.39)
    """
    started = perf_counter()
    candidates = [(_same_for_all(problem), "one output for all")]
    if not problem.events and not small:
        candidates.append((_exponential(problem), "exponential noise"))
        noise = planar_noise(problem) if problem.objective.plain else None
        if noise is not None:
            candidates.append((noise, "planar Laplace noise"))
            candidates += _known(problem)
    kept = [(matrix, method) for matrix, method in candidates if _keeps_limits(problem, matrix)]
    if not kept:
        return None
    matrix, method = min(kept, key=lambda one: value_of(problem, one[0]))
    # a worst case is bounded by the mean over secrets, or over priors; limits have no price
    prices = tuple(np.full(len(limit.level), float(limit.relative)) for limit in problem.limits)
    return Answer(matrix, NO_MULTIPLIERS, method, 0, perf_counter() - started,
                  finished=False, prices=prices)  # fmt: skip


def _same_for_all(problem: Problem) -> Floats:
    """The action that is best where nothing is told; under limits the one that exceeds them least."""
    matrix = np.zeros(problem.shape)
    tables = [limit.table for limit in problem.program.limits if not limit.relative]
    worth = problem.float_cost.sum(axis=0)
    if problem.objective.criterion != "expected":
        worth = floats(problem.loss.matrix).max(axis=1)
    if tables:
        worth = np.max([table.max(axis=0) for table in tables], axis=0)
    matrix[:, int(worth.argmin())] = 1.0
    return matrix


def _exponential(problem: Problem) -> Floats:
    """Exponential noise around the secret for which each action is best, with the best action for each output."""
    stakes = problem.float_cost if problem.objective.criterion == "expected" else floats(problem.loss.matrix).T
    share = exponential_shares(stakes, problem.privacy.log_bounds)
    n, m = problem.shape
    if n * m * m > _MOST_PRODUCTS:
        return share
    matrix = np.zeros((m, n))
    np.add.at(matrix, (share.T @ stakes).argmin(axis=1), share.T)
    return np.ascontiguousarray(matrix.T)


def _known(problem: Problem) -> list[tuple[Floats, str]]:
    """Planar Laplace noise told by the nearest place, as strong as the promise allows: it pays for few places."""
    known = MECHANISMS["planar_laplace"]
    if len(problem.privacy.space) > _MOST_PLACES or not known.applies(problem.privacy):
        return []
    try:
        told = floats(as_channel(known(problem.privacy)).matrix)
    except (NotSupported, SolverError):
        return []
    matrix = np.zeros(problem.shape)
    np.add.at(matrix.T, (told.T @ problem.float_cost).argmin(axis=1), told.T)
    return [(matrix, "planar Laplace noise, told by the nearest place")]


def _keeps_limits(problem: Problem, matrix: Floats) -> bool:
    limits = [limit for limit in problem.program.limits if not limit.relative]
    return all((_excess(limit, matrix) <= -_SPARE * np.abs(limit.level)).all() for limit in limits)


def _excess(limit: Limit, matrix: Floats) -> Floats:
    """By how much a matrix exceeds a limit, for each of its groups."""
    counted = limit.group >= 0
    sums = (limit.table * matrix).sum(axis=1)[counted]
    return np.asarray(np.bincount(limit.group[counted], sums, len(limit.level)) - limit.level)


def value_of(problem: Problem, matrix: Floats) -> float:
    """What the objective makes of a matrix, in floats."""
    relative = [limit for limit in problem.program.limits if limit.relative]
    value = float((problem.float_cost * matrix).sum())
    if not relative:
        return value
    return value + float(np.concatenate([_excess(limit, matrix) for limit in relative]).max())


def prices_of(problem: Problem, multipliers: Multipliers) -> Floats:
    """min_w (C + AᵀZ)_xw in floats: prices that multipliers allow; those of infinite factors prove nothing."""
    factors = problem.factors(multipliers.first, multipliers.second)
    usable = np.isfinite(factors)
    return np.asarray(multipliers[usable].reduced(problem.float_cost, factors[usable]).min(axis=1))


def bound_of(problem: Problem, multipliers: Multipliers) -> float:
    """What multipliers prove of the expected loss, in floats."""
    return float(prices_of(problem, multipliers).sum())


def joined(problem: Problem, one: Answer, other: Answer | None) -> Answer:
    """The matrix that costs less with the multipliers that prove more, of two answers to a plain problem.

    Where there is more to it than an expected loss, the matrix alone is chosen, and it keeps its own multipliers.
    """
    if other is None:
        return one
    cheaper = min(one, other, key=lambda answer: value_of(problem, floats(answer.matrix)))
    if not problem.objective.plain or problem.events:
        return cheaper if len(cheaper.multipliers) else replace(one, matrix=cheaper.matrix, method=cheaper.method)
    tighter = max(one, other, key=lambda answer: bound_of(problem, answer.multipliers))
    if tighter is cheaper:
        return cheaper
    given = tighter.multipliers
    return replace(
        cheaper, matrix=floats(cheaper.matrix), multipliers=replace(given, values=floats(np.asarray(given.values))),
        iterations=max(one.iterations, other.iterations), seconds=max(one.seconds, other.seconds),
    )  # fmt: skip
