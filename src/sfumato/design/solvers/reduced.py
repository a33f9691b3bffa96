"""What symmetries leave of a problem, and the answer to the whole from the answer to that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.design.answer import Answer, Multipliers, Progress, TimeLimit
from sfumato.design.problem import Problem
from sfumato.design.symmetry import SYMMETRIES
from sfumato.lp.cone.program import ColumnProgram, ColumnProgress, ColumnSolution, Ending
from sfumato.lp.proof.thinning import Kept, listed_multipliers, thinned
from sfumato.watch import TimeIsUp, Watch, watch_of

# So many tolerances the bound may fall when multipliers are left out: callers ask for 0.3 of theirs.
_SPENT = 2


def solve_reduced(
    problem: Problem,
    solve: Callable[..., ColumnSolution],
    method: str,
    tolerance: float,
    progress: Callable[[ColumnProgress], object] | None,
    time_limit: TimeLimit,
    most_secrets: float = np.inf,
) -> Answer:
    """Solve what symmetries leave of a problem, looked for up to so many secrets, and spread it over all columns.

    Few multipliers are kept that prove nearly as much as all.
    """
    watch = watch_of(time_limit)
    step = SYMMETRIES(problem, watch) if problem.shape[0] <= most_secrets else None
    program = problem.program if step is None else step.part
    shown = None if progress is None else _with_thinned_bounds(progress, tolerance)
    solution = solve(program, tolerance=tolerance, time_limit=watch, progress=shown)
    if solution.ended is Ending.TIME and not solution.iterations:
        raise TimeIsUp  # its starting point is worse than what needs no solver
    kept = thinned(program, solution, _SPENT * tolerance * abs(solution.value))
    answer = reduced_answer(program, solution, kept, method)
    return answer if step is None else step.invert(answer)


def show_bounds(progress: Progress, iteration: int, value: float, bound: float, watch: Watch, stage: str = "") -> None:
    """Show the best value and the best bound so far, where somebody looks."""
    if progress is not None:
        gap = (value - bound) / max(abs(value), 1e-300) if np.isfinite(value) else np.inf
        progress(ColumnProgress(iteration, value, bound, gap, watch.spent, stage))


def _with_thinned_bounds(
    progress: Callable[[ColumnProgress], object], tolerance: float
) -> Callable[[ColumnProgress], object]:
    """Progress that shows the bound as it will be when multipliers have been left out, and no better one."""

    def thinned_state(state: ColumnProgress) -> None:
        spent = _SPENT * tolerance * abs(state.value) if np.isfinite(state.value) else 0.0
        progress(replace(state, bound=state.bound - spent, gap=state.gap + _SPENT * tolerance))

    return thinned_state


def reduced_answer(
    program: ColumnProgram, solution: ColumnSolution, kept: Kept | NDArray[np.float64], method: str
) -> Answer:
    """A solution of a program, with those of its multipliers that are kept."""
    few = kept if isinstance(kept, Kept) else listed_multipliers(kept)
    values = few.values * np.exp(-program.logs)[few.pair]
    multipliers = Multipliers(program.first[few.pair], program.second[few.pair], few.column, values)
    finished = solution.ended in (Ending.REACHED, Ending.STALLED)
    return Answer(
        solution.matrix, multipliers, method, solution.iterations, solution.seconds, finished, solution.prices
    )
