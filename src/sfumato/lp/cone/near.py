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
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InvalidInput
from sfumato.lp.cone.near_iterate import NearIterate
from sfumato.lp.cone.near_settled import Settled
from sfumato.lp.cone.program import ColumnProgress, Ending
from sfumato.numbers import array, floats
from sfumato.threads import plain_interrupts
from sfumato.watch import TimeIsUp, Watch, watch_of

__all__ = ["PeakSolution", "exponential_shares", "first_losses", "solve_peaks"]

Floats = NDArray[np.float64]

_SMALLEST_LOG = 1e-6  # smaller bounds are solved as this one: below, slacks are hardly more than rounding errors
_FURTHEST = 1e3  # logarithms: further away nothing is left in floats
_TELLING = 1e-5  # tolerances: of an entry, what another row must have at least, so that their bound is looked at
_MOST_ITERATIONS = 500
_PATIENCE = 12  # iterations in which the gap must fall by a tenth, or rounding has the upper hand
_FIRST = (4, 40)  # columns that a row reaches to begin with, at least and at most
_SPARSE = 20  # a row reaches no more than one in so many columns to begin with, but for the nearest
_FURTHER = 1.2  # the first reach, in terms of what a row loses under an exponential mechanism
_ROUGH = 3e-2  # gap of the prices by which reaches are chosen: by then they hardly rise by more than the margin
_MARGIN = 1.3  # reach in terms of the price, both above the least cost of the row
_NEAR = 1.0  # of the way from the cost of these few columns down to the least, and as far below: prices that may rise
_UP = 0.95  # of the reach: a price above that is held back by it
_HELD = 5e-2  # of all prices: if so much is held back midway, a run is not worth going on with
_FURTHER_STILL = 2.5  # the margin for prices that have been held back, which may be anything
_MOST_RUNS = 8  # for want of peaks
_ACCEPTED = 1.5  # tolerances: the gap once all pairs are kept, with which the last run is good enough
_EARLY = 2.5  # tolerances: the gap at which that is tried first, since R often costs less once all bounds are kept
_CLOSER = 2.5  # by which the gap has to become smaller if that is too much


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
    progress: Callable[[ColumnProgress], object] | None = None,
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
    time_limit
        Seconds after which to stop, or a watch. An iteration that would not be through in time is not begun, or left
        where it is.
    progress
        Called after each iteration. Raising ``KeyboardInterrupt`` in it, or pressing Ctrl-C, ends the run.
    reach
        That of a similar program: it saves the rough runs.
    settle
        Whether to go on until little is lost by keeping all bounds, or only until prices are good.

    Examples
    --------
    >>> far = np.abs(np.arange(6)[:, None] - np.arange(6.0))
    >>> found = solve_peaks(far / 6, far * np.log(2), tolerance=1e-6)
    >>> round(found.value, 5), round(found.bound, 5), found.peaks < 36
    (0.89583, 0.89583, True)
    """
    table, far = floats(array(cost, "the cost of columns", 2)), np.asarray(logs, dtype=np.float64)
    if far.shape != (len(table), len(table)) or not np.isfinite(table).all() or np.isnan(far).any():
        raise InvalidInput(f"{len(table)} rows need finite costs and a square table of log bounds, found {far.shape}")
    if not tolerance > 0:
        raise InvalidInput(f"the tolerance is a positive relative gap, found {tolerance}")
    run = _Search(table, np.maximum(far, _SMALLEST_LOG), tolerance, watch_of(time_limit), progress, settle)
    if not (table > table.min(axis=1, keepdims=True)).any():
        return run.free()
    return run.result(reach)


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
    above = cost - cost.min(axis=1, keepdims=True)
    stakes = np.maximum(above.mean(axis=1), 1e-300)
    centre = (above / stakes[:, None]).argmin(axis=0)  # the row for which a column is best
    far = np.minimum(logs[:, centre], _FURTHEST)
    far[centre, np.arange(len(centre))] = 0.0
    share = np.exp((far.min(axis=1, keepdims=True) - far) / 2)
    return np.asarray(share / share.sum(axis=1, keepdims=True))


class _Search:
    """One run, with reaches that grow."""

    def __init__(
        self, cost: Floats, logs: Floats, tolerance: float, watch: Watch,
        progress: Callable[[ColumnProgress], object] | None, settle: bool,
    ) -> None:  # fmt: skip
        self.cost, self.logs, self.tolerance, self.settle = cost, logs, tolerance, settle
        self.watch, self.progress, self.slowest = watch, progress, 0.0
        self.begun, self.iterations, self.looked = perf_counter(), 0, False
        self.ranked = np.sort(cost, axis=1)
        self.floor = self.ranked[:, 0]
        dearer = np.where(self.ranked > self.floor[:, None], self.ranked, np.inf).min(axis=1)
        # a row to which all columns cost the same has them all for company
        second = np.where(np.isfinite(dearer), dearer, np.nextafter(self.floor, np.inf))
        # of few columns no row has many, or every row would be a peak
        self.few = np.maximum(second, self.ranked[:, min(_FIRST[0], cost.shape[1] // _SPARSE)])
        self.more = np.zeros(cost.shape, dtype=bool)  # peaks beyond the reach of their rows
        self.runs: list[NearIterate] = []  # the last two
        self.accepted: Settled | None = None  # with which the search has come to an end

    def free(self) -> PeakSolution:
        """Every column costs the same: any will do."""
        n, m = self.cost.shape
        value = float(self.floor.sum())
        anything = Settled(np.full((n, m), 1.0 / m), value, np.zeros((n, m), dtype=bool))
        return PeakSolution(lambda: anything, self.floor.copy(), self.few, value, value, 0.0, 0, 0,
                            perf_counter() - self.begun, Ending.REACHED)  # fmt: skip

    def untouched(self) -> PeakSolution:
        """Constant columns, and the least costs for prices: the time was up before the first run."""
        n, m = self.cost.shape
        value, bound = float(self.cost.sum()) / m, float(self.floor.sum())
        anything = Settled(np.full((n, m), 1.0 / m), value, np.zeros((n, m), dtype=bool))
        return PeakSolution(lambda: anything, self.floor.copy(), self.few, value, bound,
                            (value - bound) / max(abs(value), 1e-300), 0, 0, perf_counter() - self.begun,
                            Ending.TIME)  # fmt: skip

    def result(self, reach: Floats | None) -> PeakSolution:
        """Search, and say what was found."""
        ended = Ending.STALLED
        self.reach = self._first_reach() if reach is None else np.maximum(reach, self.few)
        try:
            with plain_interrupts():
                if reach is None and self.settle and self.tolerance < _ROUGH:
                    self.reach = self._reach(self._rough_prices())
                for _ in range(_MOST_RUNS):
                    ended, again = self._run(self._next_run(), self.tolerance, self.settle)
                    if not again:
                        break
        except TimeIsUp:
            ended = Ending.TIME
        except KeyboardInterrupt:
            ended = Ending.INTERRUPTED
        if not self.runs:
            return self.untouched()
        runs = self.runs[-2 if ended in (Ending.TIME, Ending.INTERRUPTED) else -1 :]
        runs[-1].finish()
        method = max(runs, key=lambda run: run.standing()[1])
        prices, (value, bound) = method.prices(), method.standing()
        found = None
        if self.settle or ended is not Ending.REACHED:  # a rough run says how far it has come by its own measure
            found = self.accepted or min((run.settled() for run in runs), key=lambda one: one.value)
            value = found.value
        return PeakSolution(
            lambda: found or method.settled(), prices, self._next_reach(prices), value, bound,
            method.relative(value, bound), len(method.layout.rows), self.iterations, perf_counter() - self.begun, ended,
        )  # fmt: skip

    def _next_run(self) -> NearIterate:
        """A new run; the one before it is kept, since it is the better one for a while."""
        if self.runs:
            self.runs[-1].finish()
        method = NearIterate(self.cost, self.logs, self._peaks(), -float(np.log(_TELLING * self.tolerance)), self.watch)
        self.runs = [*self.runs[-1:], method]
        return method

    def _peaks(self) -> NDArray[np.bool_]:
        return (self.cost < self.reach[:, None]) | self.more

    def _rough_prices(self) -> Floats:
        """Prices good enough to tell by which reaches they are not held back."""
        for _ in range(2):
            method = self._next_run()
            ended, _ = self._run(method, _ROUGH, False)
            method.recall()
            prices = method.prices()
            if ended is Ending.TIME or not self._held_back(prices) > _ROUGH:
                break
            self.reach = np.maximum(self._reach(prices), self.reach)
        return prices

    def _run(self, method: NearIterate, tolerance: float, settle: bool) -> tuple[Ending, bool]:
        """Iterate to the end; why it ended, and whether it is to be tried again with the peaks that were missing.

        More peaks in the midst of a run would throw the iterate out of the centre: a new run is sooner through.
        """
        gaps, closer, before = [np.inf], (_EARLY if settle else 1.0) * tolerance, self.watch.spent
        for _ in range(_MOST_ITERATIONS):
            if not method.iterate():
                return Ending.STALLED, False
            self.iterations += 1
            value, bound = method.standing()
            gap = method.relative(value, bound) + method.lacking
            if gap < min(gaps):
                method.remember()
            gaps.append(gap)
            seconds = perf_counter() - self.begun
            if self.progress is not None:
                self.progress(ColumnProgress(self.iterations, value, bound, gap, seconds))
            self.slowest, before = max(self.slowest, self.watch.spent - before), self.watch.spent
            if not self.watch.allows(self.slowest):
                return Ending.TIME, False
            if gap <= closer:
                if not settle or self._settles(method, bound):
                    return Ending.REACHED, False
                self._lengthen(method.prices())
                if gap <= tolerance and (self._peaks() & ~method.peaks).any():
                    return Ending.REACHED, True
                if closer < tolerance / _CLOSER**3:
                    return Ending.REACHED, False
                closer = min(closer, gap) / _CLOSER
            elif settle and not self.looked and gap <= _ROUGH / 2:
                self.looked = True  # once: later on, what a few rows lack is made up for in the end
                if self._held_back(method.prices()) > _HELD:
                    self._lengthen(method.prices())
                    return Ending.REACHED, True
            elif len(gaps) > _PATIENCE and not min(gaps[-_PATIENCE:]) < 0.9 * min(gaps[:-_PATIENCE]):
                return Ending.STALLED, False
        return Ending.STALLED, False

    def _held_back(self, prices: Floats) -> float:
        """What part of all prices, above the least costs, belongs to rows whose reach is too short for theirs."""
        held = (prices > self.floor + _UP * (self.reach - self.floor)) & (self.reach <= self.ranked[:, -1])
        above = np.maximum(prices - self.floor, 0.0)
        return float(above[held].sum() / max(abs(float(prices.sum())), 1e-300))

    def _lengthen(self, prices: Floats) -> None:
        """Give longer reaches to rows whose price has come up to theirs."""
        self.reach = np.where(self._short(prices), self._longer(prices), self.reach)

    def _short(self, prices: Floats) -> NDArray[np.bool_]:
        """Rows whose price has come up to their reach."""
        gone = _UP * (self.reach - self.floor)
        limit = self.floor + np.where(gone > 0, gone, -_NEAR * (self.few - self.floor))
        return np.asarray((prices > limit) & (self.reach <= self.ranked[:, -1]))

    def _longer(self, prices: Floats) -> Floats:
        return np.maximum(self._reach(prices), self.floor + _FURTHER_STILL * (self.reach - self.floor))

    def _next_reach(self, prices: Floats) -> Floats:
        """For a similar program: beyond prices, and further where they have been held back."""
        return np.where(self._short(prices), self._longer(prices), self._reach(prices))

    def _settles(self, method: NearIterate, bound: float) -> bool:
        """Whether little is lost when all bounds are kept; if not, rows that have to be moved far get more peaks."""
        found = method.settled()
        self.more |= found.moved
        good = method.relative(found.value, bound) <= _ACCEPTED * self.tolerance
        self.accepted = found if good else None
        return good

    def _first_reach(self) -> Floats:
        """About what rows lose under an exponential mechanism, but a few columns in any case and not too many."""
        lost = _FURTHER * first_losses(self.cost, self.logs)
        many = self.ranked[:, min(_FIRST[1], self.ranked.shape[1] - 1)]
        return np.asarray(np.maximum(np.minimum(lost, many), self.few))

    def _reach(self, prices: Floats) -> Floats:
        """Reaches a good deal beyond prices; rows with a price next to their least cost have at least a few columns."""
        reach = self.floor + _MARGIN * np.maximum(prices - self.floor, 0.0)
        near = prices > self.floor - _NEAR * (self.few - self.floor)
        return np.where(near, np.maximum(reach, self.few), reach)
