"""The interior-point methods of :mod:`sfumato.lp`: compiled, or over arrays where there are limits."""

from __future__ import annotations

import sys
from ctypes import CDLL
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import Any

from sfumato.design.answer import Answer, Progress, TimeLimit
from sfumato.design.problem import Problem
from sfumato.design.solvers.reduced import solve_reduced
from sfumato.lp.cone.arrays import solve_batched
from sfumato.lp.cone.lanes import solve_columns
from sfumato.lp.cone.program import ColumnProgram, ColumnSolution, Start

# The drivers of NVIDIA's GPUs, where torch loads them from.
_DRIVERS = {"linux": "libcuda.so.1", "win32": "nvcuda.dll"}


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


def gpu_is_there() -> bool:
    """Whether torch is installed and finds a GPU; not imported, which takes seconds, where it cannot find one."""
    place = find_spec("torch")
    if place is None or not _knows_gpus(place.origin):
        return False
    import torch

    return bool(torch.cuda.is_available())


def _knows_gpus(origin: str | None) -> bool:
    """Whether this build of torch could use a GPU, and for NVIDIA's whether there is a driver; yes where unknown."""
    try:
        named = run_path(str(Path(str(origin)).with_name("version.py")))
    except (OSError, SyntaxError, ImportError):
        return True
    if named.get("hip", "unknown") is not None:
        return True
    if named.get("cuda", "unknown") is None or sys.platform not in _DRIVERS:
        return named.get("cuda", "unknown") is not None
    try:
        CDLL(_DRIVERS[sys.platform])
    except OSError:
        return False
    return True
