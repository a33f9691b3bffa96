"""A large problem with few of its actions: what is found in little time where a solver for all of them has nothing yet.

On a graph a column takes a sparse factor, and the time of a solver grows with the number of columns. A hundredth of the
actions, spread over the places where people are, cost a few per cent of the loss: beside exponential noise that is
nothing. Multipliers are about these actions alone, so that no bound comes of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.design.answer import NO_MULTIPLIERS, Answer, Progress, tell_state
from sfumato.design.problem import Problem, with_actions
from sfumato.design.simple import spread_out
from sfumato.design.solvers import SOLVERS
from sfumato.errors import SolverError
from sfumato.lp.cone.program import ColumnProgress
from sfumato.numbers import floats
from sfumato.watch import TimeIsUp, Watch

_LARGE = 1_000_000  # entries from which on a solver for all actions may have nothing after a minute
_SPARSE = 4  # pairs for each secret, at most: those of roads, where a column is cheap
_SECONDS = 2e-8  # for a secret squared and an action: 100 actions at 2,000 crossings take eight seconds on two cores
_SHARE = 0.5  # of the time that is left
_FEWEST, _MOST = 10, 300
_GAP = 5e-3


def few_actions(problem: Problem, watch: Watch, progress: Progress) -> Answer | None:
    """An answer with few actions; None where there is time for all of them, or not even for these."""
    (n, m), left = problem.shape, watch.left
    sparse = len(problem.privacy.space.pairs.first) <= _SPARSE * n
    if left is None or n * m < _LARGE or not sparse or not problem.objective.plain or problem.events:
        return None
    many = int(min(_SHARE * left / (_SECONDS * n**2), _MOST))
    if many < _FEWEST or many >= m:
        return None
    tell_state(progress, ColumnProgress.beginning(f"solving with {many} outputs first", watch.spent), watch)
    kept = spread_out(problem, many)
    small = replace(problem, loss=with_actions(problem.loss, kept.tolist()))
    try:
        answer = SOLVERS["interior"](small, _GAP, progress, watch.share(_SHARE + 0.1))
    except (SolverError, TimeIsUp):
        return None
    matrix = np.zeros(problem.shape)
    matrix[:, kept] = floats(answer.matrix)
    return replace(
        answer, matrix=matrix, multipliers=NO_MULTIPLIERS, method=f"{answer.method}, {many} outputs", finished=False
    )
