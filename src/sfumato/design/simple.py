"""Mechanisms and bounds that need no solver: what is returned where the time is up before a solver has anything.

Exponential noise, e^{−εd/2} around the secret for which each output is best, keeps every promise about ratios, and one
output for all secrets keeps every promise there is. Where rows have sums that differ little, exponential noise needs
less than half of ε, and is as strong as the promise allows. Where secrets have coordinates, noise that is the same
everywhere does with half as much (:mod:`sfumato.design.same_noise`). All come with the best action for each output.
Bounds come from the costs alone (:mod:`sfumato.design.bounds`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

import numpy as np

from sfumato.design.answer import NO_MULTIPLIERS, Answer, Multipliers
from sfumato.design.problem import Problem, with_actions
from sfumato.design.result import SAME_NOISE
from sfumato.design.same_noise import same_noise
from sfumato.lp import Limit
from sfumato.lp.cone.near import exponential_shares
from sfumato.numbers import Floats, Integers, floats

# The best action of every output is looked for up to so many products, which take some seconds.
_MOST_PRODUCTS = 2 * 10**10
_MOST_PAIRS = 10**7  # for which it is looked how strong exponential noise may be: a second
_HALVINGS = 12  # of the interval in which that strength is
_FEWEST = 10  # outputs that are worth it
_SPARE = 1e-9  # In floats a limit is kept by this share of its level, so that rounding does not break it.


def simple_answer(problem: Problem, *, outputs: int | None = None, quick: bool = False) -> Answer | None:
    """The best of them in floats, of those that keep the limits; None where none does.

    Parameters
    ----------
    outputs
        With how many outputs it has to do, because more take too long to prove; as many as there are by default.
    quick
        Whether noise that is the same everywhere is left out, because it takes seconds.

    Examples
    --------
    >>> import sfumato as sf
    >>> from sfumato.design.problem import problem
    >>> line = sf.line(3)
    >>> asked = problem(sf.Prior.uniform(line), sf.losses.absolute(line), sf.PrivacyType(line, alpha="1/9"))
    >>> found = simple_answer(asked)
    >>> found.method, round(value_of(asked, found.matrix), 3)
    ('the same noise everywhere', 0.141)
    """
    started = perf_counter()
    candidates = [(_same_for_all(problem), "one output for all")]
    if not problem.events and (outputs is None or outputs >= problem.shape[1]):
        candidates += _noises(problem, quick)
    elif not problem.events and problem.objective.plain and outputs is not None and outputs >= _FEWEST:
        candidates += _with_few_outputs(problem, outputs, quick)
    kept = [(matrix, method) for matrix, method in candidates if _keeps_limits(problem, matrix)]
    if not kept:
        return None
    matrix, method = min(kept, key=lambda one: value_of(problem, one[0]))
    # a worst case is bounded by the mean over secrets, or over priors; limits have no price
    prices = tuple(np.full(len(limit.level), float(limit.relative)) for limit in problem.limits)
    return Answer(matrix, NO_MULTIPLIERS, method, 0, perf_counter() - started,
                  finished=False, prices=prices)  # fmt: skip


def _noises(problem: Problem, quick: bool) -> Iterator[tuple[Floats, str]]:
    """What tells something, with the best action for each output."""
    for matrix in _exponential(problem):
        yield matrix, "exponential noise"
    noise = same_noise(problem) if problem.objective.plain and not quick else None
    if noise is not None:
        yield noise, SAME_NOISE


def _with_few_outputs(problem: Problem, outputs: int, quick: bool) -> Iterator[tuple[Floats, str]]:
    """The same for so many actions, spread over the places where people are."""
    kept = spread_out(problem, outputs)
    for told, method in _noises(replace(problem, loss=with_actions(problem.loss, kept.tolist())), quick):
        matrix = np.zeros(problem.shape)
        matrix[:, kept] = told
        yield matrix, f"{method}, {len(kept)} outputs"


def spread_out(problem: Problem, many: int) -> Integers:
    """So many actions, one after the other the best one for the secret that loses most by those before."""
    cost = problem.float_cost
    least = cost.min(axis=1)
    chosen = [int(cost.sum(axis=0).argmin())]
    near = cost[:, chosen[0]].copy()
    while len(chosen) < many:
        x = int((near - least).argmax())
        action = int(cost[x].argmin())
        if action in chosen:
            break
        chosen.append(action)
        near = np.minimum(near, cost[:, action])
    return np.array(sorted(chosen))


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


def _exponential(problem: Problem) -> Iterator[Floats]:
    """Exponential noise with the best action for each output.

    First around the secret for which each action is best; then around all of them, as strong as the promise allows.
    """
    stakes = problem.float_cost if problem.objective.criterion == "expected" else floats(problem.loss.matrix).T
    share = exponential_shares(stakes, problem.privacy.log_bounds)
    n, m = problem.shape
    if n * m * m > _MOST_PRODUCTS:
        yield share
        return
    yield _told_best(share, stakes)
    if n * n <= _MOST_PAIRS and n * n * m <= _MOST_PRODUCTS:
        yield _told_best(_strongest(problem.privacy.log_bounds), stakes)


def _strongest(logs: Floats) -> Floats:
    """Rows as e^{−s·εd}, divided by their sums, with the largest s that is found.

    Two sums S differ by what is left of the promise at most: ln S(z) − ln S(x) ≤ (1 − s)·εd(x, z). So s = 1/2 will do.
    """

    def rows(strength: float) -> tuple[Floats, Floats]:
        share = np.exp(-strength * logs)
        return share, np.log(share.sum(axis=1))

    low, high = 0.5, 1.0
    for strength in (1.0, *([0.0] * _HALVINGS)):
        strength = strength or (low + high) / 2
        sums = rows(strength)[1]
        if (sums[None] - sums[:, None] <= (1 - strength) * logs + _SPARE).all():
            low = strength
        else:
            high = strength
    share, sums = rows(low)
    return np.asarray(share / np.exp(sums)[:, None])


def _told_best(share: Floats, stakes: Floats) -> Floats:
    """Outputs added up for the action that loses least after each of them."""
    matrix = np.zeros(stakes.shape)
    np.add.at(matrix.T, (share.T @ stakes).argmin(axis=1), share.T)
    return matrix


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


def multipliers_bound(problem: Problem, multipliers: Multipliers) -> float:
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
    tighter = max(one, other, key=lambda answer: multipliers_bound(problem, answer.multipliers))
    if tighter is cheaper:
        return cheaper
    given = tighter.multipliers
    return replace(
        cheaper, matrix=floats(cheaper.matrix), multipliers=replace(given, values=floats(np.asarray(given.values))),
        iterations=max(one.iterations, other.iterations), seconds=max(one.seconds, other.seconds),
    )  # fmt: skip
