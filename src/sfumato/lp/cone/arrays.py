"""Columns in one cone, with classes of rows and limits: the block interior-point method over arrays, on any device.

The method of :mod:`sfumato.lp.cone.lanes`, written over whole arrays for NumPy and for torch, so that it runs on a GPU,
and for every :class:`~sfumato.lp.cone.program.ColumnProgram`: rows in classes, limits on weighted sums, and limits
whose largest excess is minimised. For each column H_y = Gᵀ diag(z/s) G + diag(λ/r) is factored, many columns at once;
the prices of classes and limits solve the matrix Σ_y B_yᵀ H_y⁻¹ B_y of the links (:mod:`sfumato.lp.cone.arrays_links`),
to which limits add the quotients of their slacks and prices.

R is always strictly inside the cones, and any Z ≥ 0 with prices u ≥ 0 gives a lower bound
(:func:`~sfumato.lp.cone.program.column_bound`), so a run may be stopped at any time. Limits need not hold at the
start; a point counts only when they do. Floats throughout: the answer is a proposal.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import Infeasible, NotConverged
from sfumato.lp.cone.arrays_backend import arrays_on
from sfumato.lp.cone.arrays_iterate import ArraysIterate
from sfumato.lp.cone.arrays_links import Links, scaled
from sfumato.lp.cone.program import ColumnProgram, ColumnProgress, ColumnSolution, Ending, checked_program
from sfumato.numbers import told_apart
from sfumato.watch import TimeIsUp, Watch, watch_of

__all__ = ["solve_batched"]

Floats = NDArray[np.float64]

_MOST_ITERATIONS = 1000
_LATE = 1e-2  # a gap at which the method does not recover from rounding errors any more
_PATIENCE = 25  # iterations in which gap and excess must fall by a tenth, or rounding has the upper hand
_MISSED = 1e-9  # excess over a limit, relative to its level or its average sum, that is taken for a rounding error
_BEYOND = 1e-6  # by how much a lower bound must exceed any possible value to prove that there is no point
_SMALLEST_SCALE = 1e-6  # of the costs: relative gaps are not measured against values smaller than that


def solve_batched(
    program: ColumnProgram,
    *,
    tolerance: float = 1e-4,
    time_limit: float | Watch | None = None,
    progress: Callable[[ColumnProgress], object] | None = None,
    device: str | None = None,
) -> ColumnSolution:
    """Minimise over columns in one cone, linked by classes and limits, with a lower bound from the multipliers.

    Parameters
    ----------
    tolerance
        Relative gap at which to stop. 1e-6 is within reach of most programs.
    time_limit
        Seconds after which to stop, or a watch. An iteration that would not be through in time is not begun, or left
        where it is.
    progress
        Called after each iteration; the gap is infinite while a limit does not hold. Raising
        ``KeyboardInterrupt`` in it (or pressing Ctrl-C) ends the run with the best point so far.
    device
        None for NumPy, or the name of a torch device, such as "cpu" or "cuda".

    Returns
    -------
    ColumnSolution
        Limits hold up to 1e-9 of their level, or of what they sum on average if that is more.

    Raises
    ------
    Infeasible
        If no point keeps the limits: the lower bound has passed every value that a point could have. The multipliers
        and prices that say so are its ``ray``.
    NotConverged
        If the run ended before it had met a point that keeps the limits.

    Examples
    --------
    Two secrets, e^l = 3, and the smallest possible loss of the worse-off secret:

    >>> import numpy as np
    >>> from sfumato.lp.cone.program import Limit
    >>> loss = Limit(np.array([[0.0, 1], [2, 0]]), np.array([0, 1]), np.zeros(2), relative=True)
    >>> program = ColumnProgram(np.zeros((2, 2)), [0, 1], [1, 0], np.log([3.0, 3.0]), limits=(loss,))
    >>> found = solve_batched(program, tolerance=1e-7)
    >>> round(found.value, 6), found.prices[0].round(5).tolist()
    (0.4, [0.4, 0.6])
    """
    program = checked_program(program, tolerance, time_limit)
    start, watch = perf_counter(), watch_of(time_limit)
    arrays = arrays_on(device)
    links = scaled(program)
    (n, m), pairs = program.shape, len(program.first)
    if not links.cost.any() and not program.limits:
        value = float(program.sizes @ links.floor)
        return ColumnSolution(np.full((n, m), 1.0 / m), np.zeros((pairs, m)), value, value, 0.0, 0,
                              perf_counter() - start, Ending.REACHED)  # fmt: skip
    run = _Run(program, links, ArraysIterate(program, links, arrays, watch), start)
    ended = run.until(tolerance, watch, progress)
    return run.result(ended, tolerance)


class _Run:
    """The best point so far, and what the gaps have been."""

    def __init__(self, program: ColumnProgram, links: Links, method: ArraysIterate, start: float) -> None:
        self.program, self.method, self.start = program, method, start
        self.iterations, self.best = 0, np.inf
        self.matrix: Any = None
        self.bound, self.missed = -np.inf, np.inf
        size = float(program.sizes @ _largest(np.abs(program.cost), program))
        self.ceiling = float(program.sizes @ _largest(program.cost, program))
        excess = []
        for limit in program.limits:
            if limit.relative:
                excess.append(_largest_sums(limit.table, limit.group, program, len(limit.level)) - limit.level)
        if excess:
            most = float(np.concatenate(excess).max())
            self.ceiling, size = self.ceiling + most, size + abs(most)
        self.magnitude = _SMALLEST_SCALE * size if size else 1.0

    def relative(self, value: float, bound: float) -> float:
        """The relative gap."""
        return (value - bound) / max(abs(value), self.magnitude)

    def until(self, tolerance: float, watch: Watch, progress: Callable[[ColumnProgress], object] | None) -> Ending:
        """Iterate; why it stopped."""
        gap, merits, slowest, before = np.inf, [np.inf], 0.0, watch.spent
        method = self.method
        try:
            while self.iterations < _MOST_ITERATIONS and self._iterate(gap < _LATE):
                self.iterations += 1
                value, self.missed = method.value_of(method.r)
                if self.missed <= _MISSED and value < self.best:
                    self.best, self.matrix = value, method.r
                self.bound = method.bound
                self._check_feasible()
                gap = self.relative(value, self.bound)
                merits.append(abs(gap) + self.missed)
                gap = gap if self.missed <= _MISSED else np.inf
                seconds = perf_counter() - self.start
                slowest, before = max(slowest, watch.spent - before), watch.spent
                if progress is not None:
                    highest = method.highest
                    nearest = self.relative(self.best, highest) if np.isfinite(self.best) else np.inf
                    progress(ColumnProgress(self.iterations, self.best, highest, nearest, seconds))
                if gap <= tolerance:
                    return Ending.REACHED
                if method.spoilt:
                    return Ending.STALLED
                if not watch.allows(slowest):  # what follows takes about as long as an iteration
                    return Ending.TIME
                if not min(merits[-_PATIENCE:]) < 0.9 * min(merits[:-_PATIENCE], default=np.inf):
                    return Ending.STALLED
        except TimeIsUp:
            return Ending.TIME
        except KeyboardInterrupt:
            return Ending.INTERRUPTED
        return Ending.STALLED

    def _iterate(self, late: bool) -> bool:
        with np.errstate(all="ignore"):  # a direction that is not finite is refused
            return self.method.iterate(late)

    def _check_feasible(self) -> None:
        fixed = [limit for limit in self.program.limits if not limit.relative]
        if not fixed or self.bound <= self.ceiling + _BEYOND * max(abs(self.ceiling), abs(self.bound), self.magnitude):
            return
        ray = self.method.multipliers(), self._prices()
        low, high = told_apart(self.bound, self.ceiling)
        raise Infeasible(
            f"no point keeps the limits: the lower bound is {low}, and no point has a value above {high}; "
            "raise the levels",
            ray,
        )

    def _prices(self, prices: Floats | None = None) -> tuple[Floats, ...]:
        """Prices of limits, one array a limit; of the present iterate unless others are given."""
        edges = np.cumsum([len(limit.level) for limit in self.program.limits])
        every = self.method.limit_prices() if prices is None else prices
        return tuple(np.split(every, edges[:-1])) if len(edges) else ()

    def result(self, ended: Ending, tolerance: float) -> ColumnSolution:
        """The best point and the best multipliers."""
        method = self.method
        if ended is Ending.INTERRUPTED:  # which may have been anywhere
            self.bound = method.bound_of(method.refreshed_pull(), method.limit_prices())
        if self.matrix is None and method.value_of(method.r)[1] <= _MISSED:  # the time was up before the first step
            self.matrix, self.best, self.bound = method.r, method.value_of(method.r)[0], method.bound
        if self.matrix is None:
            raise NotConverged(
                f"after {self.iterations} iterations ({ended}) a limit is still exceeded, by {self.missed:.1e} of its "
                f"level; the value is at least {self.bound:g}",
                gap=np.inf,
            )
        kept = method.kept if method.kept is not None and method.kept.bound > self.bound else None
        self.bound = self.bound if kept is None else kept.bound
        gap = self.relative(self.best, self.bound)
        if ended is Ending.STALLED and gap <= tolerance:
            ended = Ending.REACHED
        matrix = np.ascontiguousarray(method.arrays.numpy(self.matrix).T)
        multipliers = method.multipliers() if kept is None else kept.multipliers
        return ColumnSolution(matrix, multipliers, self.best, self.bound, gap, self.iterations,
                              perf_counter() - self.start, ended,
                              self._prices(None if kept is None else kept.prices))  # fmt: skip


def _largest(table: Floats, program: ColumnProgram) -> Floats:
    """The largest entry of each class."""
    result = np.full(len(program.sizes), -np.inf)
    np.maximum.at(result, program.row_classes, table.max(axis=1))
    return result


def _largest_sums(table: Floats, group: NDArray[np.int64], program: ColumnProgram, count: int) -> Floats:
    """For each group a number that its sum cannot exceed: every class at its largest entry within the group."""
    most = np.full((count, len(program.sizes)), -np.inf)
    inside = group >= 0
    np.maximum.at(most, (group[inside], program.row_classes[inside]), table.max(axis=1)[inside])
    members = np.zeros((count, len(program.sizes)))
    np.add.at(members, (group[inside], program.row_classes[inside]), 1.0)
    # a class that is partly elsewhere may have nothing inside
    most = np.where(members < program.sizes, np.maximum(most, 0.0), most)
    return np.asarray(most @ program.sizes)
