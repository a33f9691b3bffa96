"""The interior-point methods of :mod:`sfumato.lp`: compiled, or over arrays where there are limits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from sfumato.design.answer import Answer, Progress, TimeLimit
from sfumato.design.problem import Problem
from sfumato.design.solvers.reduced import solve_reduced
from sfumato.lp.cone.arrays import solve_batched
from sfumato.lp.cone.arrays_backend import gpu_is_there
from sfumato.lp.cone.lanes import solve_columns
from sfumato.lp.cone.program import ColumnProgram, ColumnSolution, Start


@dataclass(eq=False)
class Trail:
    """What one design leaves for the next one, whose promise is a little different: a point to start from."""

    start: Start | None = None

    def solve(self, program: ColumnProgram, **options: Any) -> ColumnSolution:
        """Start where the last program was midway, if it had the same shape."""
        shape = program.shape, len(program.first)
        fits = self.start is not None and (self.start.matrix.shape, len(self.start.multipliers)) == shape
        solution = solve_columns(program, **options, start=self.start if fits else None, keep_midway=True)
        self.start = solution.midway or self.start
        return solution


def solve_by_interior_point(
    problem: Problem,
    tolerance: float,
    progress: Progress = None,
    time_limit: TimeLimit = None,
    trail: Trail | None = None,
) -> Answer:
    """Near-optimal to a relative gap, however many pairs there are; compiled, unless there are limits."""
    solver = solve_batched if problem.limits else solve_columns if trail is None else trail.solve
    return solve_reduced(problem, solver, "block interior point", tolerance, progress, time_limit)


def solve_by_arrays(
    problem: Problem, tolerance: float, progress: Progress = None, time_limit: TimeLimit = None
) -> Answer:
    """The same method over arrays: on a GPU if torch finds one, else in NumPy."""
    device = "cuda" if gpu_is_there() else None
    name = f"batched interior point ({device or 'NumPy'})"
    return solve_reduced(problem, partial(solve_batched, device=device), name, tolerance, progress, time_limit)
