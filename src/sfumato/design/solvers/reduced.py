"""What symmetries leave of a problem, and the answer to the whole from the answer to that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.design.problem import Problem
from sfumato.design.solvers.answer import Answer, Multipliers
from sfumato.design.symmetry import Symmetry
from sfumato.lp.cone.program import ColumnProgram, ColumnProgress, ColumnSolution, Ending
from sfumato.lp.proof.thinning import Kept, listed, thinned
from sfumato.watch import TimeIsUp

__all__ = ["check_begun", "reduced_program", "shown_thinned", "whole_answer", "worth_keeping"]

_SPENT = 2  # tolerances that the bound may fall when multipliers are left out: callers ask for 0.3 of theirs


def reduced_program(problem: Problem, group: Symmetry | None) -> ColumnProgram:
    """One column for each orbit of actions, or the program as it is."""
    return problem.program if group is None else group.reduced(problem.program)


def check_begun(found: ColumnSolution) -> None:
    """Raise TimeIsUp for a run that has not made a step: its starting point is worse than what needs no solver."""
    if found.ended is Ending.TIME and not found.iterations:
        raise TimeIsUp


def shown_thinned(
    progress: Callable[[ColumnProgress], object] | None, tolerance: float
) -> Callable[[ColumnProgress], object] | None:
    """Progress that shows the bound as it will be when multipliers have been left out, and no better one."""
    if progress is None:
        return None

    def tell(state: ColumnProgress) -> None:
        spent = _SPENT * tolerance * abs(state.value) if np.isfinite(state.value) else 0.0
        gap = state.gap + _SPENT * tolerance
        progress(replace(state, bound=state.bound - spent, gap=gap))

    return tell


def worth_keeping(program: ColumnProgram, found: ColumnSolution, tolerance: float) -> Kept:
    """Few multipliers of a solution that prove nearly as much as all."""
    return thinned(program, found, _SPENT * tolerance * abs(found.value))


def whole_answer(
    problem: Problem, group: Symmetry | None, found: ColumnSolution, kept: Kept | NDArray[np.float64], name: str
) -> Answer:
    """A solution of the reduced program, with those of its multipliers that are kept, spread over all columns."""
    program = problem.program
    few = kept if isinstance(kept, Kept) else listed(kept)
    values = few.values * np.exp(-program.logs)[few.pair]
    matrix, prices = found.matrix, found.prices
    multipliers = Multipliers(program.first[few.pair], program.second[few.pair], few.column, values)
    if group is not None:
        matrix, multipliers = group.spread(matrix), group.spread_multipliers(multipliers)
        prices = group.spread_prices(prices, [len(limit.level) for limit in program.limits])
        name += f", {len(group)} symmetries"
    finished = found.ended in (Ending.REACHED, Ending.STALLED)
    return Answer(matrix, multipliers, name, found.iterations, found.seconds, finished, prices)
