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

from typing import Any

import numpy as np

from sfumato.errors import Infeasible, NotConverged
from sfumato.lp.cone.arrays_backend import arrays_on
from sfumato.lp.cone.arrays_iterate import ArraysIterate
from sfumato.lp.cone.arrays_links import scaled_links
from sfumato.lp.cone.program import (
    SMALLEST_SCALE,
    ColumnProgram,
    ColumnSolution,
    Ending,
    checked_program,
    constant_columns,
    least_of_classes,
    relative_gap,
)
from sfumato.lp.cone.run import Progress, Run, guarded
from sfumato.numbers import Floats, Integers, text_below, told_apart
from sfumato.watch import Watch, watch_of

_MOST_ITERATIONS = 1000
_PATIENCE = 25  # Iterations in which gap and excess must fall by a tenth, or rounding has the upper hand.
_LATE = 1e-2  # Below this gap the method does not recover from rounding errors any more.
_MISSED = 1e-9  # An excess over a limit, relative to its level or its average sum, that is taken for a rounding error.
_BEYOND = 1e-6  # By so much, relatively, a lower bound must exceed any possible value to prove that there is no point.


def solve_batched(
    program: ColumnProgram,
    *,
    tolerance: float = 1e-4,
    time_limit: float | Watch | None = None,
    progress: Progress | None = None,
    device: str | None = None,
) -> ColumnSolution:
    """Minimise over columns in one cone, linked by classes and limits, with a lower bound from the multipliers.

    Parameters
    ----------
    tolerance
        Relative gap at which to stop. 1e-6 is within reach of most programs.
    time_limit, progress
        As for :func:`~sfumato.lp.cone.lanes.solve_columns`; the gap is infinite while a limit does not hold.
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
    >>> solution = solve_batched(program, tolerance=1e-7)
    >>> round(solution.value, 6), solution.prices[0].round(5).tolist()
    (0.4, [0.4, 0.6])
    """
    program = checked_program(program, tolerance, time_limit)
    run = Run(watch_of(time_limit), _MOST_ITERATIONS, _PATIENCE, progress)
    arrays, links = arrays_on(device), scaled_links(program)
    if not links.cost.any() and not program.limits:
        return constant_columns(program, run.seconds)
    search = _Search(program, ArraysIterate(program, links, arrays, run.watch), run)
    return search.result(search.ended(tolerance), tolerance)


class _Search:
    """The best point so far, and what bounds say of points that keep the limits."""

    def __init__(self, program: ColumnProgram, method: ArraysIterate, run: Run) -> None:
        self.program, self.method, self.run = program, method, run
        self.matrix: Any = None
        self.best, self.bound, self.missed = np.inf, -np.inf, np.inf
        size, self.ceiling = (
            -float(program.sizes @ least_of_classes(-table.max(axis=1), program.row_classes))
            for table in (np.abs(program.cost), program.cost)
        )
        excess = []
        for limit in program.limits:
            if limit.relative:
                excess.append(_largest_sums(limit.table, limit.group, program, len(limit.level)) - limit.level)
        if excess:
            most = float(np.concatenate(excess).max())
            self.ceiling, size = self.ceiling + most, size + abs(most)
        self.smallest_value = SMALLEST_SCALE * size if size else 1.0

    def relative(self, value: float, bound: float) -> float:
        """The relative gap."""
        return relative_gap(value, bound, self.smallest_value)

    def ended(self, tolerance: float) -> Ending:
        """Iterate; why it stopped."""
        method, run, gap = self.method, self.run, np.inf

        def judged() -> tuple[float, Ending | None]:
            nonlocal gap
            value, self.missed = method.value_of(method.r)
            if self.missed <= _MISSED and value < self.best:
                self.best, self.matrix = value, method.r
            self.bound, highest = method.bound, method.highest
            self._check_feasible()
            apart = self.relative(value, self.bound)
            gap = apart if self.missed <= _MISSED else np.inf
            run.stands(self.best, highest, self.relative(self.best, highest) if np.isfinite(self.best) else np.inf)
            ended = Ending.REACHED if gap <= tolerance else Ending.STALLED if method.spoilt else None
            return abs(apart) + self.missed, ended

        return guarded(lambda: run.until(lambda: method.iterate(late=gap < _LATE), judged))

    def _check_feasible(self) -> None:
        fixed = [limit for limit in self.program.limits if not limit.relative]
        size = max(abs(self.ceiling), abs(self.bound), self.smallest_value)
        if not fixed or self.bound <= self.ceiling + _BEYOND * size:
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
            self.bound = method.bound_of(method.refreshed_adjoint(), method.limit_prices())
        if self.matrix is None and method.value_of(method.r)[1] <= _MISSED:  # the time was up before the first step
            self.matrix, self.best, self.bound = method.r, method.value_of(method.r)[0], method.bound
        if self.matrix is None:
            raise NotConverged(
                f"after {self.run.iterations} iterations ({ended}) a limit is still exceeded, by {self.missed:.1e} of "
                f"its level; the value is at least {text_below(self.bound, 6)}",
                gap=np.inf,
            )
        kept = method.kept if method.kept is not None and method.kept.bound > self.bound else None
        self.bound = self.bound if kept is None else kept.bound
        gap = self.relative(self.best, self.bound)
        if ended is Ending.STALLED and gap <= tolerance:
            ended = Ending.REACHED
        matrix = np.ascontiguousarray(method.arrays.numpy(self.matrix).T)
        multipliers = method.multipliers() if kept is None else kept.multipliers
        prices = self._prices(None if kept is None else kept.prices)
        return ColumnSolution(matrix, multipliers, self.best, self.bound, gap, self.run.iterations, self.run.seconds,
                              ended, prices)  # fmt: skip


def _largest_sums(table: Floats, group: Integers, program: ColumnProgram, count: int) -> Floats:
    """For each group a number that its sum cannot exceed: every class at its largest entry within the group."""
    most = np.full((count, len(program.sizes)), -np.inf)
    inside = group >= 0
    np.maximum.at(most, (group[inside], program.row_classes[inside]), table.max(axis=1)[inside])
    members = np.zeros((count, len(program.sizes)))
    np.add.at(members, (group[inside], program.row_classes[inside]), 1.0)
    # a class that is partly elsewhere may have nothing inside
    most = np.where(members < program.sizes, np.maximum(most, 0.0), most)
    return np.asarray(most @ program.sizes)
