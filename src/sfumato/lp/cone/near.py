"""Columns under all pairs of a metric: an interior-point method that looks at few pairs, those next to peaks.

The program of :mod:`sfumato.lp.cone.program` with a bound l(x, z) for every pair of rows, where bounds add up along
chains, l(x, z) ≤ l(x, y) + l(y, z). Its dual: prices p_x of largest sum for which every column y has multipliers Z ≥ 0
with C_xy + Σ_z Z_xz − Σ_z e^{l(z, x)} Z_zx ≥ p_x.

**Few pairs are enough.** Call x a peak of column y if p_x > C_xy. In some optimum only pairs whose first row is a peak
have a multiplier. For a unit of Z_xz raises row x by 1 and lowers row z by e^{l(x, z)}; if z is lowered and raised, say
by Z_zv, then Z_xv does the same for x and asks no more of v, since l(x, v) ≤ l(x, z) + l(z, v). So multipliers may be
taken to go straight from rows that are only raised to rows that are only lowered, and a row need not be raised unless
p_x > C_xy. Where costs are distances, peaks of y are the rows whose price is larger than their way to y: its
neighbours, however many rows there are. A column with k peaks has k n pairs instead of n², and its Newton system falls
apart into n − k rows, each alone, and k × k (:mod:`sfumato.lp.cone.near_passes`).

**Which ones** nobody knows before, so rows get a reach: y has x for a peak where C_xy < reach_x. Leaving out pairs can
only make the optimum smaller, and then some price is as large as the reach of its row. A rough run shows prices, and
the next has reaches beyond them. In the end prices are as good as any; the matrix may break the bound of a pair that no
price depends on, and is moved to where it does not (:meth:`sfumato.lp.cone.near_iterate.NearIterate.settled`). If that
costs too much, rows whose price is held back, and rows for which others leave no room, get more peaks for another run.
Floats throughout: the answer is a proposal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InvalidInput
from sfumato.lp.cone.near_iterate import NearIterate
from sfumato.lp.cone.near_layout import best_rows
from sfumato.lp.cone.near_settled import Settled
from sfumato.lp.cone.program import Ending, check_tolerance, relative_gap
from sfumato.lp.cone.run import Progress, Run, guarded
from sfumato.numbers import Floats, array, floats
from sfumato.watch import Watch, watch_of

_SMALLEST_LOG = 1e-6  # Smaller log bounds are solved as this one: below, slacks are hardly more than rounding errors.
_FURTHEST = 1e3  # Logarithms beyond which nothing is left in floats.
# The part of an entry, in tolerances, that another row must have at least, so that their bound is looked at.
_TELLING = 1e-5
_MOST_ITERATIONS = 500
_FIRST_COLUMNS = (4, 40)  # Columns that a row reaches to begin with, at least and at most.
_ONE_IN = 20  # A row reaches no more than one in so many columns to begin with, but for the nearest.
_FIRST_REACH = 1.2  # The first reach, in terms of what a row loses under an exponential mechanism.
# The gap of the prices by which reaches are chosen: from then on they hardly rise by more than the margin.
_ROUGH = 3e-2
_MARGIN = 1.3  # The reach in terms of the price, both above the least cost of the row.
_HELD_MARGIN = 2.5  # The margin of prices that have been held back, which may be anything.
# A price next to the least cost of its row may rise: it is no further below than this part of the way up to the cost
# of the few nearest columns.
_NEAR = 1.0
_HELD_FROM = 0.95  # A price above this part of the reach is held back by it.
_HELD_TOO_MUCH = 5e-2  # If this part of all prices is held back midway, a run is not worth going on with.
_MOST_RUNS = 8  # Runs for want of peaks, at most.
_ACCEPTED = 1.5  # The gap once all pairs are kept, in tolerances, with which the last run is good enough.
_EARLY = 2.5  # The gap, in tolerances, at which that is tried first, since R often costs less once all bounds are kept.
_CLOSER = 2.5  # By so many times the gap has to become smaller if that is too much.


@dataclass(frozen=True, eq=False)
class PeakSolution:
    """What :func:`solve_peaks` found.

    Parameters
    ----------
    settled
        R, moved to where all bounds are kept, and what it costs then: call it through :attr:`matrix` and :attr:`cost`.
    prices
        For each row what the multipliers allow: the sum is a lower bound of the program, up to rounding.
    reach
        For each row the cost up to which columns have it for a peak, so that its price is not held back.
    value, bound, gap
        What R costs once all bounds are kept, or, after a rough run, before they are; the sum of prices; and the
        difference relative to the value.
    peaks, iterations, seconds, ended
        Number of peaks of all columns, iterations of all runs, how long it took and why it stopped.
    """

    settled: Callable[[], Settled]
    prices: Floats
    reach: Floats
    value: float
    bound: float
    gap: float
    peaks: int
    iterations: int
    seconds: float
    ended: Ending

    @property
    def matrix(self) -> Floats:
        """R: rows sum to 1, and pairs keep their bounds up to an error of the order of the gap.

        A rough run that was made for its prices is moved to there when it is asked for first: that takes a while.
        """
        return self._settled.matrix

    @property
    def cost(self) -> float:
        """What that costs."""
        return self._settled.value

    @cached_property
    def _settled(self) -> Settled:
        return self.settled()


def solve_peaks(
    cost: Any,
    logs: Any,
    *,
    tolerance: float = 1e-4,
    time_limit: float | Watch | None = None,
    progress: Progress | None = None,
    reach: Floats | None = None,
    settle: bool = True,
) -> PeakSolution:
    """Minimise Σ C∘R over R ≥ 0 with row sums 1 and R_xy ≤ e^{l(x, z)} R_zy, where l is a metric.

    Parameters
    ----------
    cost
        C, one row a row, one column a column.
    logs
        The table l; infinite where nothing is asked. Chains must not be shorter than what they join.
    tolerance
        Relative gap at which to stop.
    time_limit, progress
        As for :func:`~sfumato.lp.cone.lanes.solve_columns`.
    reach
        That of a similar program: it saves the rough runs.
    settle
        Whether to go on until little is lost by keeping all bounds, or only until prices are good.

    Examples
    --------
    >>> far = np.abs(np.arange(6)[:, None] - np.arange(6.0))
    >>> solution = solve_peaks(far / 6, far * np.log(2), tolerance=1e-6)
    >>> round(solution.value, 5), round(solution.bound, 5), solution.peaks < 36
    (0.89583, 0.89583, True)
    """
    table, far = floats(array(cost, "the cost of columns", 2)), np.asarray(logs, dtype=np.float64)
    if far.shape != (len(table), len(table)) or not np.isfinite(table).all() or np.isnan(far).any():
        raise InvalidInput(f"{len(table)} rows need finite costs and a square table of log bounds, found {far.shape}")
    check_tolerance(tolerance)
    run = Run(watch_of(time_limit), _MOST_ITERATIONS, progress=progress)
    search = _ReachSearch(table, np.maximum(far, _SMALLEST_LOG), tolerance, run, settle)
    if not (table > table.min(axis=1, keepdims=True)).any():
        return search.constant(Ending.REACHED)
    return search.result(reach)


def first_losses(cost: Floats, logs: Floats) -> Floats:
    """What rows lose under an exponential mechanism with the best remap, centred where each column is best.

    Examples
    --------
    >>> first_losses(np.array([[0.0, 1.0], [1.0, 0.0]]), np.log(9) * (1 - np.eye(2))).tolist()
    [0.25, 0.25]
    """
    share = exponential_shares(cost, logs)
    return np.asarray((share * cost[:, (share.T @ cost).argmin(axis=1)]).sum(axis=1))


def exponential_shares(cost: Floats, logs: Floats) -> Floats:
    """An exponential mechanism: rows sum to 1, and columns fall off at half the rate from the row they are best for."""
    centre = best_rows(cost - cost.min(axis=1, keepdims=True))
    far = np.minimum(logs[:, centre], _FURTHEST)
    far[centre, np.arange(len(centre))] = 0.0
    share = np.exp((far.min(axis=1, keepdims=True) - far) / 2)
    return np.asarray(share / share.sum(axis=1, keepdims=True))


class _ReachSearch:
    """Runs with reaches that grow."""

    def __init__(self, cost: Floats, logs: Floats, tolerance: float, run: Run, settle: bool) -> None:
        self.cost, self.logs, self.tolerance, self.run, self.settle = cost, logs, tolerance, run, settle
        self.looked = False  # whether a run has been looked at midway
        self.ranked = np.sort(cost, axis=1)
        self.floor = self.ranked[:, 0]
        dearer = np.where(self.ranked > self.floor[:, None], self.ranked, np.inf).min(axis=1)
        # a row to which all columns cost the same has them all for company
        second = np.where(np.isfinite(dearer), dearer, np.nextafter(self.floor, np.inf))
        # of few columns no row has many, or every row would be a peak
        self.few = np.maximum(second, self.ranked[:, min(_FIRST_COLUMNS[0], cost.shape[1] // _ONE_IN)])
        self.more = np.zeros(cost.shape, dtype=bool)  # peaks beyond the reach of their rows
        self.runs: list[NearIterate] = []  # the last two
        self.accepted: Settled | None = None  # with which the search has come to an end

    def constant(self, ended: Ending) -> PeakSolution:
        """Constant columns, and the least costs for prices.

        They are the answer where every column costs the same, and what there is where the time was up before a run.
        """
        (n, m), bound = self.cost.shape, float(self.floor.sum())
        value = bound if ended is Ending.REACHED else float(self.cost.sum()) / m
        columns = Settled(np.full((n, m), 1.0 / m), value, np.zeros((n, m), dtype=bool))
        gap = relative_gap(value, bound, 1e-300)
        return PeakSolution(
            lambda: columns, self.floor.copy(), self.few, value, bound, gap, 0, 0, self.run.seconds, ended
        )  # fmt: skip

    def result(self, reach: Floats | None) -> PeakSolution:
        """Search, and say what there is in the end."""
        self.reach = self._first_reach() if reach is None else np.maximum(reach, self.few)
        ended = guarded(lambda: self._search(rough=reach is None and self.settle and self.tolerance < _ROUGH))
        if not self.runs:
            return self.constant(Ending.TIME)
        runs = self.runs[-2 if ended in (Ending.TIME, Ending.INTERRUPTED) else -1 :]
        runs[-1].finish()
        method = max(runs, key=lambda run: run.standing()[1])
        prices, (value, bound) = method.prices(), method.standing()
        settled = None
        if self.settle or ended is not Ending.REACHED:  # a rough run says how far it has come by its own measure
            settled = self.accepted or min((run.settled() for run in runs), key=lambda one: one.value)
            value = settled.value
        # for a similar program: beyond prices, and further where they have been held back
        further = np.where(self._short(prices), self._longer(prices), self._reach(prices))
        return PeakSolution(
            lambda: settled or method.settled(), prices, further, value, bound,
            method.relative(value, bound), len(method.layout.rows), self.run.iterations, self.run.seconds, ended,
        )  # fmt: skip

    def _search(self, rough: bool) -> Ending:
        """Runs, until no peak is missing; ``rough`` ones first if there are no reaches to begin with."""
        if rough:
            self.reach = self._reach(self._rough_prices())
        ended = Ending.STALLED
        for _ in range(_MOST_RUNS):
            ended, again = self._iterated(self._next_run(), self.tolerance, self.settle)
            if not again:
                break
        return ended

    def _next_run(self) -> NearIterate:
        """A new run; the one before it is kept, since it is the better one for a while."""
        if self.runs:
            self.runs[-1].finish()
        furthest = -float(np.log(_TELLING * self.tolerance))
        method = NearIterate(self.cost, self.logs, self._peaks(), furthest, self.run.watch)
        self.runs = [*self.runs[-1:], method]
        return method

    def _peaks(self) -> NDArray[np.bool_]:
        return (self.cost < self.reach[:, None]) | self.more

    def _rough_prices(self) -> Floats:
        """Prices good enough to tell by which reaches they are not held back."""
        for _ in range(2):
            method = self._next_run()
            ended, _ = self._iterated(method, _ROUGH, False)
            method.recall()
            prices = method.prices()
            if ended is Ending.TIME or not self._held_back(prices) > _ROUGH:
                break
            self.reach = np.maximum(self._reach(prices), self.reach)
        return prices

    def _iterated(self, method: NearIterate, tolerance: float, settle: bool) -> tuple[Ending, bool]:
        """Iterate to the end; why it ended, and whether it is to be tried again with the peaks that were missing.

        More peaks in the midst of a run would throw the iterate out of the centre: a new run is sooner through.
        """
        self.closer, self.again = (_EARLY if settle else 1.0) * tolerance, False

        def judged() -> tuple[float, Ending | None]:
            value, bound = method.standing()
            gap = method.relative(value, bound) + method.lacking
            if gap < min(self.run.gaps):
                method.remember()
            self.run.stands(value, bound, gap)
            if not self.run.has_time:
                return gap, Ending.TIME
            return gap, Ending.REACHED if self._is_through(method, bound, gap, tolerance, settle) else None

        return self.run.until(method.iterate, judged), self.again

    def _is_through(self, method: NearIterate, bound: float, gap: float, tolerance: float, settle: bool) -> bool:
        """Whether a run need not go on: it has come far enough, or too many prices are held back."""
        if gap <= self.closer:
            if not settle or self._settles(method, bound):
                return True
            self._lengthen(method.prices())
            self.again = gap <= tolerance and bool((self._peaks() & ~method.peaks).any())
            if self.again or self.closer < tolerance / _CLOSER**3:
                return True
            self.closer = min(self.closer, gap) / _CLOSER
        elif settle and not self.looked and gap <= _ROUGH / 2:
            self.looked = True  # once: later on, what a few rows lack is made up for in the end
            self.again = self._held_back(method.prices()) > _HELD_TOO_MUCH
            if self.again:
                self._lengthen(method.prices())
        return self.again

    def _held_back(self, prices: Floats) -> float:
        """What part of all prices, above the least costs, belongs to rows whose reach is too short for theirs."""
        held = (prices > self.floor + _HELD_FROM * (self.reach - self.floor)) & (self.reach <= self.ranked[:, -1])
        above = np.maximum(prices - self.floor, 0.0)
        return float(above[held].sum() / max(abs(float(prices.sum())), 1e-300))

    def _lengthen(self, prices: Floats) -> None:
        """Give longer reaches to rows whose price has come up to theirs."""
        self.reach = np.where(self._short(prices), self._longer(prices), self.reach)

    def _short(self, prices: Floats) -> NDArray[np.bool_]:
        """Rows whose price has come up to their reach."""
        gone = _HELD_FROM * (self.reach - self.floor)
        limit = self.floor + np.where(gone > 0, gone, -_NEAR * (self.few - self.floor))
        return np.asarray((prices > limit) & (self.reach <= self.ranked[:, -1]))

    def _longer(self, prices: Floats) -> Floats:
        return np.maximum(self._reach(prices), self.floor + _HELD_MARGIN * (self.reach - self.floor))

    def _settles(self, method: NearIterate, bound: float) -> bool:
        """Whether little is lost when all bounds are kept; if not, rows that have to be moved far get more peaks."""
        settled = method.settled()
        self.more |= settled.moved
        good = method.relative(settled.value, bound) <= _ACCEPTED * self.tolerance
        self.accepted = settled if good else None
        return good

    def _first_reach(self) -> Floats:
        """About what rows lose under an exponential mechanism, but a few columns in any case and not too many."""
        lost = _FIRST_REACH * first_losses(self.cost, self.logs)
        many = self.ranked[:, min(_FIRST_COLUMNS[1], self.ranked.shape[1] - 1)]
        return np.asarray(np.maximum(np.minimum(lost, many), self.few))

    def _reach(self, prices: Floats) -> Floats:
        """Reaches a good deal beyond prices; rows with a price next to their least cost have at least a few columns."""
        reach = self.floor + _MARGIN * np.maximum(prices - self.floor, 0.0)
        near = prices > self.floor - _NEAR * (self.few - self.floor)
        return np.where(near, np.maximum(reach, self.few), reach)
