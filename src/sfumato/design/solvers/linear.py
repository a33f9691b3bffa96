"""The whole program at once: by HiGHS in floats, or in rationals with a gap of exactly zero."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from time import perf_counter
from typing import Any

import numpy as np

from sfumato.design.problem import Problem
from sfumato.design.solvers.answer import Answer, Multipliers
from sfumato.errors import NotSupported, SolverError
from sfumato.lp import LinearProgram, solve
from sfumato.numbers import Array, fractions, object_array

__all__ = ["linear_program", "solve_exactly", "solve_with_highs"]


def linear_program(problem: Problem, *, exact: bool) -> LinearProgram:
    """Variables M_xw in rows; first the rows "sums to 1", then a row for each ordered pair and action.

    Pairs are scaled to e^{−εd} M_xw − M_zw ≤ 0, so that no coefficient exceeds 1.
    """
    n, m = problem.shape
    first, second = problem.ordered_pairs
    pairs = len(first)
    action = np.arange(m)
    place = (np.arange(pairs)[:, None] * m + action[None, :]).ravel() + n
    rows = np.concatenate([np.repeat(np.arange(n), m), place, place])
    columns = np.concatenate(
        [np.arange(n * m), (first[:, None] * m + action).ravel(), (second[:, None] * m + action).ravel()]
    )
    if exact:
        values = problem.privacy.space.pair_distances.values
        decay: Array = object_array(1 / _factor(problem, value) for value in [*values, *values])
        ones = fractions(np.ones(n * m, dtype=np.int64))
        entries = np.concatenate([ones, np.repeat(decay, m), np.tile(-ones[:1], pairs * m)])
        cost, rhs = fractions(problem.cost).ravel(), fractions(np.repeat([1, 0], [n, pairs * m]))
    else:
        entries = np.concatenate([np.ones(n * m), np.repeat(np.exp(-problem.logs), m), -np.ones(pairs * m)])
        cost, rhs = problem.float_cost.ravel(), np.repeat([1.0, 0.0], [n, pairs * m])
    return LinearProgram(cost, rows, columns, entries, "=" * n + "<" * (pairs * m), rhs)


def _factor(problem: Problem, value: Any) -> Fraction:
    factor = problem.privacy.exact_factor(value)
    if factor is None:
        raise NotSupported(f"an exact optimum for {problem.privacy!r}", ["rational bounds: alpha= and whole distances"])
    return factor


def solve_exactly(problem: Problem, tolerance: float, progress: Callable[..., object] | None) -> Answer:
    """The optimum in rationals; loss and bound will be equal."""
    if not problem.exact:
        raise NotSupported("an exact optimum in floats", ["exact prior and loss, alpha= and whole distances"])
    return _solve(problem, exact=True, method="exact")


def solve_with_highs(problem: Problem, tolerance: float, progress: Callable[..., object] | None) -> Answer:
    """The optimum that HiGHS finds."""
    return _solve(problem, exact=False, method="HiGHS")


def _solve(problem: Problem, *, exact: bool, method: str) -> Answer:
    started = perf_counter()
    n, m = problem.shape
    program = linear_program(problem, exact=exact)
    solution = solve(program, exact=exact)
    if solution.primal is None or solution.dual is None:
        raise SolverError(f"the program of the design ended as {solution.status}: it always has an optimum")
    first, second = problem.ordered_pairs
    decay = program.values[n * m : n * m + len(first) * m]
    multipliers = -solution.dual[n:] * decay
    used = np.flatnonzero(multipliers > 0)
    pair, action = used // m, used % m
    return Answer(
        solution.primal.reshape(n, m),
        Multipliers(first[pair], second[pair], action, multipliers[used]),
        method, 0, perf_counter() - started,
    )  # fmt: skip
