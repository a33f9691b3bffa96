"""The iterate of :mod:`sfumato.lp.cone.near`: columns with few peaks and the rows near them, for the one loop.

A column with k peaks takes k² n products instead of n³/2, and the linking matrix is a diagonal one and the square of
all V (:mod:`sfumato.lp.cone.near_passes`). Costs are shifted and scaled to a total spread of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sfumato.lp.cone import near_passes as passes
from sfumato.lp.cone.loop import Predicted, Steps, Tuning, longest, step
from sfumato.lp.cone.near_layout import best_rows, laid_out, sum_of_squares
from sfumato.lp.cone.near_settled import Settled, settled
from sfumato.lp.cone.products import column_weights, pair_weights, row_weights
from sfumato.lp.cone.program import SMALLER_PROBLEMS, relative_gap, smallest_value
from sfumato.memory import check_memory
from sfumato.numbers import Floats
from sfumato.threads import on_threads
from sfumato.watch import Watch

_WORTH_A_THREAD = 400_000  # Entries below which handing over to threads takes longer than the work.
_SMALLEST_STAKE = 1e-2  # A row with less at stake, relative to the largest, counts as this one.
# The least weight of a pair, relative to the largest: infinitely far ones still have a barrier.
_SMALLEST_WEIGHT = 1e-6
_SMALLEST_COLUMN = 1.0  # The least weight of a column, in terms of an average one.
_SMALLEST_SIZE = 1e-2  # The least size of a column at the start, relative to the largest.
_SLOPE = 0.4  # The part of the log bounds at which columns fall off at the start: less than a half.
_STEEPEST = 30.0  # Columns fall by no more logarithms than this at the start.
_CONSTANT = 0.03  # The share of constant columns in the start.
_REFINEMENTS, _BALANCED = 3, 1e-11  # What rows lack is refined at most so often, and left once it is a rounding error.
_SHIFT = 2.0**-50  # What is added to the diagonal, relatively, when the linking matrix has lost its definiteness.


class NearIterate:
    """The iterate and the arrays of one run; costs are shifted and scaled to a total spread of 1.

    Parameters
    ----------
    cost
        One row a row, one column a column.
    logs
        The table of log bounds, infinite where there is none; the diagonal is not read.
    peaks
        Which rows are peaks of which columns, in the shape of the costs.
    furthest
        Logarithm beyond which a row is far from a peak, and their bound left to the end.
    watch
        Asked before every pass; where the time is up, a step is left where it is.
    """

    def __init__(
        self, cost: Floats, logs: Floats, peaks: NDArray[np.bool_], furthest: float = np.inf,
        watch: Watch | None = None,
    ) -> None:  # fmt: skip
        self.n, self.m = cost.shape
        self.watch = watch or Watch()
        # A corrector costs passes over pairs, a factorisation as many times more as there are peaks in a column.
        self.tuning = Tuning(correctors=min(1 + self.n // 100, 3), longer=0.3, box=(0.1, 10.0))
        floor = cost.min(axis=1)
        spread = (cost - floor[:, None]).T
        self.floor, self.scale = floor, float(spread.sum()) / self.m or 1.0
        self.cost = np.ascontiguousarray(spread / self.scale)
        self.smallest_value = smallest_value(cost)
        self.peaks, self.layout = peaks, laid_out(peaks, logs, cost, furthest)
        check_memory(
            48 * self.layout.pairs, f"the method at peaks for {self.layout.pairs} pairs of rows", SMALLER_PROBLEMS
        )
        self.watch.check()
        far = logs + np.diag(np.full(self.n, np.inf))
        self.all_decay = np.exp(-far)
        self.decay = self.layout.of_pairs(self.all_decay)
        self._choose_weights(far)
        np.fill_diagonal(far, 0.0)
        self._start(far)

    def _choose_weights(self, far: Floats) -> None:
        rows = row_weights(self.cost.mean(axis=0), _SMALLEST_STAKE)
        pairs = pair_weights(rows[:, None], rows, far, far.min(axis=1))
        pairs = np.maximum(pairs, _SMALLEST_WEIGHT * pairs.max())
        np.fill_diagonal(pairs, rows)
        self.pair_weight = self.layout.of_pairs(pairs)
        self.weight = float(self.pair_weight.sum())

    def _start(self, far: Floats) -> None:
        """Columns that fall off from the row they are best for, and multipliers that make them central.

        Below half the rate of the bounds, dividing by the sums of rows leaves all bounds strictly kept. Such a start
        loses about as much as an exponential mechanism, where constant columns lose what a blind guess does: on cities
        it saves half of the iterations. Reduced costs need not fit the prices yet, since steps see to that.
        """
        sizes = np.bincount(self.cost.argmin(axis=0), minlength=self.m).astype(np.float64)
        sizes = np.maximum(sizes, _SMALLEST_SIZE * sizes.max())
        sizes /= sizes.sum()
        way = np.minimum(_SLOPE * far[:, best_rows(self.cost.T)].T, _STEEPEST)
        r = np.exp(way.min(axis=0) - way) * sizes[:, None]
        r = (1.0 - _CONSTANT) * r / r.sum(axis=0) + _CONSTANT * sizes[:, None]
        layout = self.layout
        own = layout.columns, layout.near
        self.r, self.own_cost = r[own], self.cost[own]
        left = self.cost.copy()
        left[own] = np.inf
        self.elsewhere = left.min(axis=0)  # what far columns allow for a price
        mu = float((self.own_cost * self.r).sum()) / self.weight
        columns = self._column_weights()
        self.z, self.v, self.t, self.t_new = (np.empty(layout.pairs) for _ in range(4))
        self._each(
            lambda low, high: passes.centred(low, high, *self._pairs, self.pair_weight, mu * columns, self.r, self.z)
        )
        self.adjoint, self.g, self.q, self.dr = (np.zeros_like(self.r) for _ in range(4))
        self._set_adjoint()
        self.price = self._allowed()
        self.remember()

    def remember(self) -> None:
        """Keep what there is now, as the best so far."""
        self.best = self.r.copy(), self.adjoint.copy()

    def recall(self) -> None:
        """Go back to the best, for good: multipliers are not kept."""
        self.r, self.adjoint = self.best

    def finish(self) -> None:
        """Go back to the best and let go of all arrays over pairs: what is left can be settled, but not go on."""
        self.recall()
        for name in ("z", "v", "t", "t_new", "decay", "pair_weight"):
            self.__dict__.pop(name, None)

    def _column_weights(self) -> Floats:
        sums = np.bincount(self.layout.columns, self.r, self.m)
        return column_weights(self.m / self.n * sums, _SMALLEST_COLUMN)

    @property
    def _pairs(self) -> tuple[Any, ...]:
        layout = self.layout
        return layout.starts, layout.at, layout.places, layout.blocks, self.decay

    def _each(self, work: Callable[[int, int], Any]) -> list[Any]:
        """Run ``work`` on all columns, shared among threads where it is worth it; not to the end if the time is up."""

        def in_time(low: int, high: int) -> Any:
            self.watch.check()
            return work(low, high)

        return self._whole(in_time)

    def _whole(self, work: Callable[[int, int], Any]) -> list[Any]:
        """The same, to the end in any case: what changes the iterate."""
        if self.layout.pairs < _WORTH_A_THREAD:
            return [work(0, self.m)]
        return on_threads(work, self.m)

    def _set_adjoint(self) -> None:
        self._whole(lambda low, high: passes.adjoints(low, high, *self._pairs, self.z, self.adjoint))

    def _allowed(self) -> Floats:
        """What the present multipliers allow for the price of every row."""
        return self.layout.least(self.own_cost - self.adjoint, self.elsewhere)

    def _sums(self) -> Floats:
        """The sums of rows."""
        return self.layout.sums(self.r, self.n)

    def standing(self) -> tuple[float, float]:
        """Value and bound of the present iterate."""
        base = float(self.floor.sum())
        value, bound = float((self.own_cost * self.r).sum()), float(self._allowed().sum())
        return base + self.scale * value, base + self.scale * bound

    def relative(self, value: float, bound: float) -> float:
        """The relative gap."""
        return relative_gap(value, bound, self.smallest_value)

    @property
    def lacking(self) -> float:
        """How far the sum of a row is from 1, at worst."""
        return float(np.abs(1.0 - self._sums()).max())

    def prices(self) -> Floats:
        """What the present multipliers allow for every row, in the units of the costs: their sum is the bound."""
        return np.asarray(self.floor + self.scale * self._allowed())

    def settled(self) -> Settled:
        """R with the bounds of all pairs kept, up to a small error, and what it costs in the units of the costs."""
        dense = self.layout.dense(self.r, self.n)
        moved = settled(dense, self.cost, self._allowed(), self.peaks, self.all_decay, self.watch)
        return replace(moved, value=float(self.floor.sum()) + self.scale * moved.value)

    def iterate(self) -> bool:
        """One step; False, and nothing changed, when rounding errors have made the direction useless."""
        return step(self, self.tuning) > 0

    def factor(self) -> bool:
        """Factor every H_y, and the sum of their inverses."""
        self.column_weight, self.missing = self._column_weights(), 1.0 - self._sums()
        self.excess = self.price[self.layout.near] - self.own_cost
        self._each(lambda low, high: passes.factor_columns(
            low, high, *self._pairs, self.r, self.z, self.v, self.g))  # fmt: skip
        link = sum_of_squares(self.layout, self.v, self.n).T  # by columns, as LAPACK has it
        every = np.arange(self.n)
        diagonal = link[every, every] + self.layout.sums(self.g, self.n)
        link[every, every] = diagonal
        self.link, lost = lapack.dpotrf(link, lower=1)
        shift = _SHIFT
        while lost and shift < 1.0:
            link[every, every] = diagonal * (1.0 + shift)
            self.link, lost = lapack.dpotrf(link, lower=1)
            shift *= 8.0
        return True

    def predict(self) -> bool:
        """Find the direction to the optimum itself, all targets zero."""
        self.dr[:], self.q[:], self.dp = 0.0, self.excess, np.zeros(self.n)
        return self._direct()

    def _direct(self) -> bool:
        """Correct the direction by the residual in q, and prices so that rows sum to 1; whether it is finite."""
        sums = self._extended(self.dp)
        self.q[:] = 0.0
        for _ in range(_REFINEMENTS):
            more = lapack.dpotrs(self.link, self.missing - sums, lower=1)[0]
            sums, self.dp = self._extended(more), self.dp + more
            if not np.abs(self.missing - sums).max() > _BALANCED:
                break
        return bool(np.isfinite(self.dp).all() and np.isfinite(sums).all())

    def _extended(self, prices: Floats) -> Floats:
        """Add H⁻¹(q + prices) to the direction; the sums of its rows."""
        layout = self.layout

        def work(low: int, high: int) -> Floats:
            part = np.zeros(self.n)
            passes.apply(low, high, layout.starts, layout.places, layout.blocks, layout.near, self.v, self.g, self.q,
                         prices, self.dr, part)  # fmt: skip
            return part

        return np.asarray(sum(self._each(work)))

    def _measured(self, work: Callable[[int, int, Floats], None]) -> tuple[list[float], list[float]]:
        """The largest ratios −ds/s and −dz/z of all columns, and sums of three numbers."""

        def one(low: int, high: int) -> Floats:
            stats = np.zeros(5)
            work(low, high, stats)
            return stats

        stats = np.array(self._each(one))
        return stats[:, :2].max(axis=0).tolist(), stats[:, 2:].sum(axis=0).tolist()

    def predicted(self) -> Predicted:
        """Measure the direction of the predictor."""
        ratios, sums = self._measured(lambda low, high, into: passes.measure_predictor(
            low, high, *self._pairs, self.r, self.dr, self.z, into))  # fmt: skip
        return Predicted.from_ratios(*ratios, *sums)

    def aim(self, target: float, least: float, most: float) -> bool:
        """Find the direction to products ``target`` less the second-order term."""
        self._each(lambda low, high: passes.aim(
            low, high, *self._pairs, self.pair_weight, self.column_weight, self.r, self.dr, self.z, self.excess, target,
            least, most, self.t, self.q))  # fmt: skip
        return self._direct()

    def steps(self) -> Steps:
        """How far the direction may go to the boundary."""
        return self._steps(self.t)

    def _steps(self, t: Floats) -> Steps:
        """The same for targets t."""
        ratios, _ = self._measured(lambda low, high, into: passes.measure(
            low, high, *self._pairs, self.r, self.dr, self.z, t, into))  # fmt: skip
        return longest(*ratios)

    def recentre(self, steps: Steps, longer: Steps, least: float, most: float) -> Steps | None:
        """Correct the direction for longer steps; None, and it is what it was, where they would not be."""
        before = self.dr.copy(), self.dp
        self._each(lambda low, high: passes.recentre(
            low, high, *self._pairs, self.pair_weight, self.column_weight, self.r, self.dr, self.z, self.t, self.excess,
            *longer, least, most, self.t_new, self.q))  # fmt: skip
        corrected = self._steps(self.t_new) if self._direct() else steps
        if not corrected.exceed(steps):
            self.dr, self.dp = before
            return None
        self.t, self.t_new = self.t_new, self.t
        return corrected

    def advance(self, primal: float, dual: float) -> None:
        """Take the step."""
        self._whole(lambda low, high: passes.advance(
            low, high, *self._pairs, self.r, self.dr, self.z, self.t, primal, dual))  # fmt: skip
        self._set_adjoint()
        self.price = self.price + dual * self.dp
