"""The whole program at once: by HiGHS in floats, or in rationals with a gap of exactly zero."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from sfumato.design.answer import Answer, EventMultipliers, Multipliers, Progress, TimeLimit
from sfumato.design.problem import Problem
from sfumato.errors import Infeasible, NotSupported, SolverError, shown
from sfumato.lp import Limit, LinearProgram, Status, solve
from sfumato.lp.highs import check_program
from sfumato.numbers import Array, floats, fractions, object_array
from sfumato.watch import Watch, watch_of

_Entries = tuple[Array, Array, Array]  # rows, columns and values of a part of the matrix


def linear_program(problem: Problem, *, exact: bool) -> LinearProgram:
    """Variables M_xw in rows, then the largest excess τ over relative limits if there are any, then the excesses
    s_jw ≥ 0 of promises about events.

    First the rows "sums to 1", then a row for each ordered pair and action, then the limits, then for each pair j of
    a promise about events a row for each action, M_xw/f − M_zw − s_jw ≤ 0, then Σ_w s_jw ≤ δ/f. Pairs are scaled to
    e^{−εd} M_xw − M_zw ≤ 0, so that no coefficient exceeds 1.
    """
    n, m = problem.shape
    pairs = len(problem.ordered_pairs[0])
    limits = problem.limits if exact else problem.program.limits
    relative = any(limit.relative for limit in limits)
    field = fractions if exact else floats
    ones = field(np.ones(n * m, dtype=np.int64))
    sums = np.repeat(np.arange(n), m), np.arange(n * m), ones
    of_limits = n + pairs * m
    of_events = of_limits + sum(len(limit.level) for limit in limits)
    parts = [sums, _pairs(problem, exact=exact), *_limit_rows(limits, of_limits, n * m)]
    decay = _event_decays(problem, exact=exact)
    parts += _event_rows(problem, decay, of_events, n * m + int(relative))
    rows, columns, entries = (np.concatenate([part[k] for part in parts]) for k in range(3))
    slacks = field(np.zeros(len(decay) * m, dtype=np.int64))
    costs = field(problem.cost if exact else problem.float_cost).ravel()
    cost = np.concatenate([costs, ones[: int(relative)], slacks])
    deltas = object_array(event.delta for event in problem.events for _ in range(len(event)))
    rhs = np.concatenate(
        [field(np.repeat([1, 0], [n, pairs * m])), *(field(limit.level) for limit in limits), slacks,
         field(deltas) * decay]
    )  # fmt: skip
    free = frozenset({n * m} if relative else ())
    return LinearProgram(cost, rows, columns, field(entries), "=" * n + "<" * (len(rhs) - n), rhs, free)


def _check_size(problem: Problem) -> None:
    """Refuse a program that is too large, before any part of it is written down."""
    n, m = problem.shape
    pairs, events = 2 * len(problem.privacy.space.pairs.first), sum(map(len, problem.events))
    groups = sum(len(limit.level) for limit in problem.limits)
    rows = n + pairs * m + groups + events * (m + 1)
    entries = n * m * (1 + len(problem.limits)) + 2 * pairs * m + groups + 4 * events * m
    check_program(rows, n * m + 1 + events * m, entries, f"the design of {n} secrets and {m} actions as one program")


def _pairs(problem: Problem, *, exact: bool) -> _Entries:
    """e^{−εd} M_xw − M_zw ≤ 0, after the n rows of sums."""
    n, m = problem.shape
    first, second = problem.ordered_pairs
    place = (np.arange(len(first))[:, None] * m + np.arange(m)).ravel() + n
    columns = np.concatenate([(end[:, None] * m + np.arange(m)).ravel() for end in (first, second)])
    if exact:
        values = problem.privacy.space.pair_distances.values
        decay: Array = object_array(1 / _factor(problem, value) for value in [*values, *values])
    else:
        decay = np.exp(-problem.logs)
    return np.tile(place, 2), columns, np.concatenate([np.repeat(decay, m), np.full(len(place), -1)])


def _limit_rows(limits: tuple[Limit, ...], start: int, tau: int) -> Iterator[_Entries]:
    for limit in limits:
        m = limit.table.shape[1]
        used = np.flatnonzero(limit.group >= 0)
        places = (used[:, None] * m + np.arange(m)).ravel()
        yield start + np.repeat(limit.group[used], m), places, limit.table[used].ravel()
        if limit.relative:
            every = np.arange(len(limit.level))
            yield start + every, np.full(len(every), tau), np.full(len(every), -1)
        start += len(limit.level)


def _event_decays(problem: Problem, *, exact: bool) -> Array:
    """1/f for each pair of the promises about events."""
    decays = [1 / (event.factor.bounds()[0] if exact else float(event.factor)) for event in problem.events]
    which = problem.event_pairs.which
    return object_array(decays)[which] if exact else np.array(decays, dtype=np.float64)[which]


def _event_rows(problem: Problem, decay: Array, start: int, slack: int) -> list[_Entries]:
    if not problem.events:
        return []
    m, size = problem.shape[1], len(decay)
    upper, lower, _ = problem.event_pairs
    rows = start + np.arange(size * m)
    excesses = slack + np.arange(size * m)
    ones = np.ones(size * m, dtype=np.int64)
    return [
        (rows, (upper[:, None] * m + np.arange(m)).ravel(), np.repeat(decay, m)),
        (rows, (lower[:, None] * m + np.arange(m)).ravel(), -ones),
        (rows, excesses, -ones),
        (start + size * m + np.repeat(np.arange(size), m), excesses, ones),
    ]


def _factor(problem: Problem, value: Any) -> Fraction:
    factor = problem.privacy.exact_factor(value)
    if factor is None:
        raise NotSupported(
            f"an exact optimum for {shown(problem.privacy)}",
            ["rational bounds: alpha instead of epsilon, and whole distances"],
        )
    return factor


def solve_exactly(
    problem: Problem, tolerance: float, progress: Progress = None, time_limit: TimeLimit = None
) -> Answer:
    """The optimum in rationals; loss and bound will be equal. Where its time is up first there is nothing."""
    return _solve(problem, exact=True, method="exact", watch=watch_of(time_limit))


def solve_with_highs(
    problem: Problem, tolerance: float, progress: Progress = None, time_limit: TimeLimit = None
) -> Answer:
    """The optimum that HiGHS finds. Where its time is up first there is nothing."""
    return _solve(problem, exact=False, method="HiGHS", watch=watch_of(time_limit))


def _solve(problem: Problem, *, exact: bool, method: str, watch: Watch) -> Answer:
    started = perf_counter()
    n, m = problem.shape
    _check_size(problem)
    watch.check()
    program = linear_program(problem, exact=exact)
    watch.check()
    solution = solve(program, exact=exact, watch=watch)
    if solution.status is Status.INFEASIBLE and problem.ceilings:
        raise Infeasible("no mechanism with this promise keeps the limits", solution.ray)
    if solution.primal is None or solution.dual is None:
        raise SolverError(f"the program of the design ended as {solution.status}: it always has an optimum")
    first, second = problem.ordered_pairs
    decay = program.values[n * m : n * m + len(first) * m]
    of_pairs = n + len(first) * m
    multipliers = -solution.dual[n:of_pairs] * decay
    used = np.flatnonzero(multipliers > 0)
    pair, action = used // m, used % m
    ends = of_pairs + np.cumsum([0, *(len(limit.level) for limit in problem.limits)])
    decays = _event_decays(problem, exact=exact)
    excesses = -solution.dual[ends[-1] : ends[-1] + len(decays) * m] * np.repeat(decays, m)
    counted = np.flatnonzero(excesses > 0)
    prices = tuple(-solution.dual[low:high] for low, high in pairwise(ends))
    return Answer(
        solution.primal[: n * m].reshape(n, m),
        Multipliers(first[pair], second[pair], action, multipliers[used]),
        method, 0, perf_counter() - started, prices=prices,
        events=EventMultipliers(counted // m, counted % m, excesses[counted]),
    )  # fmt: skip
