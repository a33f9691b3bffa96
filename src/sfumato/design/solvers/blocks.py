"""The block interior-point methods of :mod:`sfumato.lp`: compiled, or over arrays where there are limits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.design.problem import Problem
from sfumato.design.solvers.answer import Answer, Multipliers
from sfumato.lp.column_program import Ending
from sfumato.lp.columns import solve_columns

__all__ = ["solve_in_blocks"]


def solve_in_blocks(
    problem: Problem, tolerance: float, progress: Callable[..., object] | None = None, time_limit: float | None = None
) -> Answer:
    """Near-optimal to a relative gap, however many pairs there are."""
    first, second = problem.ordered_pairs
    if problem.limits:
        from sfumato.lp.batched import solve_batched as solver
    else:
        solver = solve_columns
    found = solver(problem.program, tolerance=tolerance, time_limit=time_limit, progress=progress)
    values = found.multipliers * np.exp(-problem.logs)[:, None]
    pair, action = np.nonzero(values > 0)
    return Answer(
        found.matrix,
        Multipliers(first[pair], second[pair], action, values[pair, action]),
        "block interior point", found.iterations, found.seconds, found.ended in (Ending.REACHED, Ending.STALLED),
        found.prices,
    )  # fmt: skip
