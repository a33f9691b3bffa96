"""The block interior-point methods of :mod:`sfumato.lp`: compiled, or over arrays where there are limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.design.problem import Problem
from sfumato.design.solvers.answer import Answer
from sfumato.design.solvers.reduced import reduced_program, whole_answer
from sfumato.design.symmetry import symmetry
from sfumato.lp.batched import solve_batched
from sfumato.lp.column_program import ColumnProgram, ColumnSolution, Start, column_bound
from sfumato.lp.columns import solve_columns

__all__ = ["Trail", "gpu_is_there", "solve_in_batches", "solve_in_blocks"]

_SPENT = 7  # tolerances that the bound may fall when small multipliers are left out: callers ask for a tenth of theirs
_STEPS = 8  # thresholds tried between a number and its double


@dataclass(eq=False)
class Trail:
    """What one design leaves for the next one, whose promise is a little different: a point to start from."""

    start: Start | None = None

    def solve(self, program: ColumnProgram, **options: Any) -> ColumnSolution:
        """Start where the last program was midway, if it had the same shape."""
        shape = program.shape, len(program.first)
        fits = self.start is not None and (self.start.matrix.shape, len(self.start.multipliers)) == shape
        found = solve_columns(program, **options, start=self.start if fits else None, keep_midway=True)
        self.start = found.midway or self.start
        return found


def solve_in_blocks(
    problem: Problem,
    tolerance: float,
    progress: Callable[..., object] | None = None,
    time_limit: float | None = None,
    trail: Trail | None = None,
) -> Answer:
    """Near-optimal to a relative gap, however many pairs there are; compiled, unless there are limits."""
    solver = solve_batched if problem.limits else solve_columns if trail is None else trail.solve
    return _reduced(problem, solver, "block interior point", tolerance, progress, time_limit)


def solve_in_batches(
    problem: Problem, tolerance: float, progress: Callable[..., object] | None = None, time_limit: float | None = None
) -> Answer:
    """The same method over arrays: on a GPU if torch finds one, else in NumPy."""
    device = "cuda" if gpu_is_there() else None
    name = f"batched interior point ({device or 'NumPy'})"
    return _reduced(problem, partial(solve_batched, device=device), name, tolerance, progress, time_limit)


def gpu_is_there() -> bool:
    """Whether torch is installed and finds a GPU."""
    if find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


def _reduced(
    problem: Problem,
    solver: Callable[..., ColumnSolution],
    name: str,
    tolerance: float,
    progress: Callable[..., object] | None,
    time_limit: float | None,
) -> Answer:
    """Solve what symmetries leave of a program, and spread the answer over all columns again."""
    group = symmetry(problem)
    program = reduced_program(problem, group)
    found = solver(program, tolerance=tolerance, time_limit=time_limit, progress=progress)
    return whole_answer(problem, group, found, _worth_keeping(program, found, tolerance), name)


def _worth_keeping(program: ColumnProgram, found: ColumnSolution, tolerance: float) -> NDArray[np.float64]:
    """The multipliers, small ones set to zero as far as the bound hardly falls: the kernel is through sooner then.

    The bound need not fall steadily, so this is a search for few, not for the fewest.
    """
    values = found.multipliers
    if not values.size:
        return values
    least = column_bound(program, values, found.prices) - _SPENT * tolerance * abs(found.value)
    low, high = -52 * _STEPS, 0  # what is below the largest by this factor may go, by that one not
    while high - low > 1:
        middle = (low + high) // 2
        if column_bound(program, _cut(values, middle), found.prices) >= least:
            low = middle
        else:
            high = middle
    return _cut(values, low)


def _cut(values: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    return np.where(values >= values.max() * 2.0 ** (steps / _STEPS), values, 0.0)
