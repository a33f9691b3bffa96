"""Columns in one cone that sum to one: a block interior-point method.

The program: n rows, m columns, minimise Σ_xy C_xy R_xy over R ≥ 0 whose rows sum to 1 and whose columns satisfy R_xy ≤
e^{l_k} R_zy for a list of ordered pairs k = (x, z). The columns are m independent cones, linked only by the n row sums,
and Newton's equations fall apart the same way: one n × n system H_y for each column, one n × n system Σ_y H_y⁻¹ for the
prices of the rows. An iteration costs m Cholesky factorisations and a few passes over pairs and columns, all compiled
(:mod:`sfumato.lp.cone.lanes_iterate`, :mod:`sfumato.lp.cone.lanes_passes`). Where the pairs are the edges of a sparse
graph, so are the factors (:mod:`sfumato.lp.cone.lanes_sparse`); otherwise they are dense
(:mod:`sfumato.lp.cone.lanes_dense`): what takes less work is chosen. Where rows are in classes there is one price a
class, and sums over classes are all that is formed of the inverses.

The iterates are feasible on both sides: R is always strictly inside the cones, and any Z ≥ 0 gives a lower bound
(:func:`column_bound`), so a run may be stopped at any time. Steps are those of Mehrotra (1992) with the
second-order term kept within bounds, then centrality correctors of Gondzio (1996). Floats throughout: the answer
is a proposal, and who needs a proof rounds the two matrices to a safe side.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from sfumato.errors import NotSupported
from sfumato.lp.cone.lanes_iterate import LanesIterate, shifted
from sfumato.lp.cone.program import (
    ColumnProgram,
    ColumnProgress,
    ColumnSolution,
    Ending,
    Start,
    checked_program,
    column_bound,
    untouched,
)
from sfumato.threads import plain_interrupts
from sfumato.watch import TimeIsUp, Watch, watch_of

__all__ = ["solve_columns"]

_MOST_ITERATIONS = 400
_MIDWAY = 1e-2  # a gap from which similar programs start well; closer points are too near the boundary
_LATE = 1e-2  # a gap at which the method does not recover from rounding errors any more
_PATIENCE = 12  # iterations in which the gap must fall by a tenth, or rounding has the upper hand


def solve_columns(
    program: ColumnProgram,
    *,
    tolerance: float = 1e-4,
    time_limit: float | Watch | None = None,
    progress: Callable[[ColumnProgress], object] | None = None,
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
    >>> found = solve_columns(program, tolerance=1e-8)
    >>> found.matrix.round(6).tolist(), round(found.value, 6), round(found.bound, 6)
    ([[0.75, 0.25], [0.25, 0.75]], 0.5, 0.5)
    """
    program = checked_program(program, tolerance, time_limit)
    begun, watch = perf_counter(), watch_of(time_limit)
    n, m = program.shape
    if program.limits:
        raise NotSupported("limits on weighted sums", ["programs without limits"])
    _, scale, base = shifted(program)
    if scale == 0 or (m == 1 and program.classes is None):
        value = float(base.sum())
        return ColumnSolution(np.full((n, m), 1.0 / m), np.zeros((len(program.first), m)), value, value, 0.0, 0,
                              perf_counter() - begun, Ending.REACHED)  # fmt: skip
    try:
        method = LanesIterate(program, start, watch)
    except TimeIsUp:
        return untouched(program, perf_counter() - begun)
    return _iterated(program, method, tolerance, watch, progress, keep_midway, begun)


def _iterated(
    program: ColumnProgram,
    method: LanesIterate,
    tolerance: float,
    watch: Watch,
    progress: Callable[[ColumnProgress], object] | None,
    keep_midway: bool,
    begun: float,
) -> ColumnSolution:
    """Iterate until the gap is small enough, or something ends it."""
    best, midway, highest, slowest = np.inf, None, -np.inf, 0.0
    ended, iterations, gaps = Ending.STALLED, 0, [np.inf]
    try:
        with plain_interrupts():
            before = watch.spent
            while iterations < _MOST_ITERATIONS and method.iterate():
                iterations += 1
                value, bound = method.standing()
                if value < best:
                    best = value
                    method.remember()
                highest = method.keep_multipliers(bound)
                gaps.append(method.relative(value, bound))
                seconds = perf_counter() - begun
                slowest, before = max(slowest, watch.spent - before), watch.spent
                if keep_midway and midway is None and gaps[-1] <= _MIDWAY:
                    midway = method.midway()
                if progress is not None:
                    progress(ColumnProgress(iterations, best, highest, method.relative(best, highest), seconds))
                if gaps[-1] <= tolerance:
                    ended = Ending.REACHED
                elif _LATE > gaps[-1] > gaps[-2] and method.is_spoilt(value, bound):
                    pass  # the multipliers of the step before are the better ones, and kept
                elif not watch.allows(slowest):  # what follows takes about as long as an iteration
                    ended = Ending.TIME
                elif min(gaps[-_PATIENCE:]) < 0.9 * min(gaps[:-_PATIENCE], default=np.inf):
                    continue
                break
    except TimeIsUp:
        ended = Ending.TIME
    except KeyboardInterrupt:
        ended = Ending.INTERRUPTED
    finally:
        method.close()
    if not iterations and ended is Ending.TIME:  # to write down where it began may take longer than there was
        return untouched(program, perf_counter() - begun)
    matrix, multipliers = method.matrix(), method.multipliers()
    value = float((program.cost * matrix).sum())
    if ended is Ending.INTERRUPTED:  # which may have been anywhere
        bound = column_bound(program, multipliers)
    else:
        bound = highest if iterations else method.standing()[1]
    if ended is Ending.STALLED and method.relative(value, bound) <= tolerance:
        ended = Ending.REACHED
    return ColumnSolution(matrix, multipliers, value, bound, method.relative(value, bound), iterations,
                          perf_counter() - begun, ended, midway=midway)  # fmt: skip
