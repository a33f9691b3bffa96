"""The block interior-point methods of :mod:`sfumato.lp`: compiled, or over arrays where there are limits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from ctypes import CDLL
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import Any

from sfumato.design.problem import Problem
from sfumato.design.solvers.answer import Answer
from sfumato.design.solvers.reduced import check_begun, reduced_program, shown_thinned, whole_answer, worth_keeping
from sfumato.design.symmetry import symmetry
from sfumato.lp.cone.arrays import solve_batched
from sfumato.lp.cone.lanes import solve_columns
from sfumato.lp.cone.program import ColumnProgram, ColumnSolution, Start
from sfumato.watch import Watch, watch_of

__all__ = ["Trail", "gpu_is_there", "solve_in_batches", "solve_in_blocks"]

_DRIVERS = {"linux": "libcuda.so.1", "win32": "nvcuda.dll"}  # of NVIDIA's GPUs, where torch loads them from


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
    time_limit: float | Watch | None = None,
    trail: Trail | None = None,
) -> Answer:
    """Near-optimal to a relative gap, however many pairs there are; compiled, unless there are limits."""
    solver = solve_batched if problem.limits else solve_columns if trail is None else trail.solve
    return _reduced(problem, solver, "block interior point", tolerance, progress, time_limit)


def solve_in_batches(
    problem: Problem,
    tolerance: float,
    progress: Callable[..., object] | None = None,
    time_limit: float | Watch | None = None,
) -> Answer:
    """The same method over arrays: on a GPU if torch finds one, else in NumPy."""
    device = "cuda" if gpu_is_there() else None
    name = f"batched interior point ({device or 'NumPy'})"
    return _reduced(problem, partial(solve_batched, device=device), name, tolerance, progress, time_limit)


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


def _reduced(
    problem: Problem,
    solver: Callable[..., ColumnSolution],
    name: str,
    tolerance: float,
    progress: Callable[..., object] | None,
    time_limit: float | Watch | None,
) -> Answer:
    """Solve what symmetries leave of a program, and spread the answer over all columns again."""
    watch = watch_of(time_limit)
    group = symmetry(problem, watch)
    program = reduced_program(problem, group)
    shown = shown_thinned(progress, tolerance)
    found = solver(program, tolerance=tolerance, time_limit=watch, progress=shown)
    check_begun(found)
    return whole_answer(problem, group, found, worth_keeping(program, found, tolerance), name)
