"""Columns in one cone that sum to one: a block interior-point method.

The m columns of a :class:`~sfumato.lp.cone.program.ColumnProgram` without limits are independent cones, linked only by
the n row sums, and Newton's equations fall apart the same way: one n × n system H_y for each column, one n × n system
Σ_y H_y⁻¹ for the prices of the rows. An iteration costs m Cholesky factorisations and a few passes over pairs and
columns, all compiled (:mod:`sfumato.lp.cone.lanes_iterate`, :mod:`sfumato.lp.cone.lanes_passes`). Where the pairs are
the edges of a sparse graph, so are the factors (:mod:`sfumato.lp.cone.lanes_sparse`); otherwise they are dense
(:mod:`sfumato.lp.cone.lanes_dense`): what takes less work is chosen. Where rows are in classes there is one price a
class, and sums over classes are all that is formed of the inverses.

The iterates are feasible on both sides: R is always strictly inside the cones, and any Z ≥ 0 gives a lower bound
(:func:`column_bound`), so a run may be stopped at any time. Steps are those of Mehrotra (1992) with the
second-order term kept within bounds, then centrality correctors of Gondzio (1996). Floats throughout: the answer
is a proposal, and who needs a proof rounds the two matrices to a safe side.
"""

from __future__ import annotations

import numpy as np

from sfumato.errors import NotSupported
from sfumato.lp.cone.lanes_iterate import LanesIterate, shifted_costs
from sfumato.lp.cone.program import (
    ColumnProgram,
    ColumnSolution,
    Ending,
    Start,
    checked_program,
    column_bound,
    constant_columns,
)
from sfumato.lp.cone.run import Progress, Run, guarded
from sfumato.watch import TimeIsUp, Watch, watch_of

_MOST_ITERATIONS = 400
_MIDWAY = 1e-2  # The gap from which similar programs start well; closer points are too near the boundary.
_LATE = 1e-2  # Below this gap the method does not recover from rounding errors any more.


def solve_columns(
    program: ColumnProgram,
    *,
    tolerance: float = 1e-4,
    time_limit: float | Watch | None = None,
    progress: Progress | None = None,
    start: Start | None = None,
    keep_midway: bool = False,
) -> ColumnSolution:
    """Minimise over columns in one cone that sum to one, with a lower bound from the multipliers.

    Parameters
    ----------
    tolerance
        Relative gap at which to stop. 1e-9 is within reach of most programs.
    time_limit
        Seconds after which to stop, or a watch. An iteration that would not be through in time is not begun, or left
        where it is.
    progress
        Called after each iteration. Raising ``KeyboardInterrupt`` in it (or pressing Ctrl-C) ends the
        run with the best point so far; ``ended`` says so.
    start
        The midway point of a similar program, with other logs or costs: it saves some of the iterations.
    keep_midway
        Whether to keep such a point.

    Examples
    --------
    Two secrets, e^l = 3: the best R tells the truth three times out of four.

    >>> import numpy as np
    >>> program = ColumnProgram([[0, 1], [1, 0]], [0, 1], [1, 0], np.log([3.0, 3.0]))
    >>> solution = solve_columns(program, tolerance=1e-8)
    >>> solution.matrix.round(6).tolist(), round(solution.value, 6), round(solution.bound, 6)
    ([[0.75, 0.25], [0.25, 0.75]], 0.5, 0.5)
    """
    program = checked_program(program, tolerance, time_limit)
    run = Run(watch_of(time_limit), _MOST_ITERATIONS, progress=progress)
    if program.limits:
        raise NotSupported("limits on weighted sums", ["programs without limits"])
    if shifted_costs(program)[1] == 0 or (program.shape[1] == 1 and program.classes is None):
        return constant_columns(program, run.seconds)
    try:
        method = LanesIterate(program, start, run.watch)
    except TimeIsUp:
        return constant_columns(program, run.seconds, Ending.TIME)
    return _iterated(program, method, run, tolerance, keep_midway)


def _iterated(
    program: ColumnProgram, method: LanesIterate, run: Run, tolerance: float, keep_midway: bool
) -> ColumnSolution:
    """Iterate until the gap is small enough, or something ends it."""
    best, midway = np.inf, None

    def judged() -> tuple[float, Ending | None]:
        nonlocal best, midway
        value, bound = method.standing()
        if value < best:
            best = value
            method.remember()
        highest, gap = method.keep_multipliers(bound), method.relative(value, bound)
        if keep_midway and midway is None and gap <= _MIDWAY:
            midway = method.midway()
        run.stands(best, highest, method.relative(best, highest))
        if gap <= tolerance:
            return gap, Ending.REACHED
        # the multipliers of the step before are the better ones, and kept
        spoilt = _LATE > gap > run.gaps[-1] and method.is_spoilt(value, bound)
        return gap, Ending.STALLED if spoilt else None

    try:
        ended = guarded(lambda: run.until(method.iterate, judged))
    finally:
        method.close()
    if not run.iterations and ended is Ending.TIME:  # to write down where it began may take longer than there was
        return constant_columns(program, run.seconds, ended)
    matrix, multipliers = method.matrix(), method.multipliers()
    value = float((program.cost * matrix).sum())
    if ended is Ending.INTERRUPTED:  # which may have been anywhere
        bound = column_bound(program, multipliers)
    else:
        bound = method.highest if run.iterations else method.standing()[1]
    gap = method.relative(value, bound)
    if ended is Ending.STALLED and gap <= tolerance:
        ended = Ending.REACHED
    return ColumnSolution(
        matrix, multipliers, value, bound, gap, run.iterations, run.seconds, ended, midway=midway
    )  # fmt: skip
