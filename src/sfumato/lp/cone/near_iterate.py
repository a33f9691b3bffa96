"""One run of the interior-point method of :mod:`sfumato.lp.cone.near`: the iterate and how it moves.

The steps are those of :mod:`sfumato.lp.cone.lanes_iterate` (Mehrotra's predictor and corrector with the second-order
term kept within bounds, then centrality correctors of Gondzio), and so are the weights of the barrier. What is
different is the systems: a column with k peaks takes k² n products instead of n³/2, and the linking matrix is a
diagonal one and the square of all V (:mod:`sfumato.lp.cone.near_passes`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sfumato.lp.cone import near_passes as newton
from sfumato.lp.cone.near_layout import laid_out, sum_of_squares
from sfumato.lp.cone.near_settled import Settled, settled
from sfumato.memory import check_room
from sfumato.threads import on_threads
from sfumato.watch import Watch

__all__ = ["NearIterate"]

Floats = NDArray[np.float64]

_INSTEAD = ("fewer outputs", "solver='first-order'", "a coarser space")
_WORTH_A_THREAD = 400_000  # entries: below, handing over takes longer than the work
_SMALLEST_SCALE = 1e-6  # of the costs: relative gaps are not measured against values smaller than that
_SMALLEST_STAKE = 1e-2  # of a row, relative to the largest: below, it counts as this one
_SMALLEST_WEIGHT = 1e-6  # of a pair, relative to the largest: infinitely far ones still have a barrier
_SMALLEST_COLUMN = 1.0  # weight of a small column, in terms of an average one
_SMALLEST_SIZE = 1e-2  # of a column to begin with, in terms of the largest
_SLOPE = 0.4  # of the log bounds, at which columns fall off to begin with: less than a half
_STEEPEST = 30.0  # logarithms down to which they fall
_BLIND = 0.03  # share of constant columns in the start
_CENTRING = 0.3  # the most of the average product that is aimed at
_SECOND_ORDER = (-1.0, 10.0)  # bounds of the second-order term, in average products
_STEP = 0.98  # of the way to the boundary
_CORRECTORS, _LONGER = 3, 0.3  # how many there are at most, and by how much each tries to make a step longer
_LONG = 0.95  # a step that needs no corrector
_BOX = (0.1, 10.0)  # products at the longer step, in terms of the one aimed at
_REFINEMENTS, _BALANCED = 3, 1e-11  # of what rows lack, and when that is a rounding error
_SHIFT = 2.0**-50  # of the diagonal, when the linking matrix has lost its definiteness


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
        floor = cost.min(axis=1)
        spread = (cost - floor[:, None]).T
        self.floor, self.scale = floor, float(spread.sum()) / self.m or 1.0
        self.cost = np.ascontiguousarray(spread / self.scale)
        self.magnitude = _SMALLEST_SCALE * float(np.abs(cost).max(axis=1).sum())
        self.peaks, self.layout = peaks, laid_out(peaks, logs, cost, furthest)
        check_room(48 * self.layout.pairs, f"the method at peaks for {self.layout.pairs} pairs of rows", _INSTEAD)
        self.watch.check()
        far = logs + np.diag(np.full(self.n, np.inf))
        self.all_decay = np.exp(-far)
        self.decay = self.layout.of_pairs(self.all_decay)
        self._choose_weights(far)
        np.fill_diagonal(far, 0.0)
        self._start(far)

    def _choose_weights(self, far: Floats) -> None:
        """How large a product may be, relative to others: see :mod:`sfumato.lp.cone.lanes_iterate`."""
        stakes = self.cost.mean(axis=0)
        share = np.cbrt(np.maximum(stakes / (stakes.max() or 1.0), _SMALLEST_STAKE))
        nearest = far.min(axis=1)
        typical = float(np.median(nearest[np.isfinite(nearest)])) if np.isfinite(nearest).any() else 1.0
        weight = np.minimum(share[:, None], share) * np.minimum(typical / far, 1.0)
        weight = np.maximum(weight, _SMALLEST_WEIGHT * weight.max())
        np.fill_diagonal(weight, share)
        self.weight, self.share = self.layout.of_pairs(weight), share[self.layout.near]
        self.total = float(self.share.sum()) + float(self.weight.sum())

    def _start(self, far: Floats) -> None:
        """Columns that fall off from the row they are best for, and multipliers that make them central.

        Below half the rate of the bounds, dividing by the sums of rows leaves all bounds strictly kept. Such a start
        loses about as much as an exponential mechanism, where constant columns lose what a blind guess does: on cities
        it saves half of the iterations. Reduced costs need not fit the prices yet, since steps see to that.
        """
        sizes = np.bincount(self.cost.argmin(axis=0), minlength=self.m).astype(np.float64)
        sizes = np.maximum(sizes, _SMALLEST_SIZE * sizes.max())
        sizes /= sizes.sum()
        way = np.minimum(_SLOPE * far[:, _centres(self.cost)].T, _STEEPEST)
        r = np.exp(way.min(axis=0) - way) * sizes[:, None]
        r = (1.0 - _BLIND) * r / r.sum(axis=0) + _BLIND * sizes[:, None]
        layout = self.layout
        own = layout.columns, layout.near
        self.r, self.own_cost = r[own], self.cost[own]
        left = self.cost.copy()
        left[own] = np.inf
        self.elsewhere = left.min(axis=0)  # what far columns allow for a price
        mu = float((self.own_cost * self.r).sum()) / self.total
        heft = self._hefts()
        self.lam: Floats = mu * heft[layout.columns] * self.share / self.r
        self.z, self.v, self.t, self.t_new = (np.empty(layout.pairs) for _ in range(4))
        self._each(lambda low, high: newton.centred(low, high, *self._pairs, self.weight, mu * heft, self.r, self.z))
        self.pull, self.g, self.q, self.dr, self.tr, self.tr_new = (np.zeros_like(self.r) for _ in range(6))
        self._pull()
        self.price = self._allowed()
        self.remember()

    def remember(self) -> None:
        """Keep what there is now, as the best so far."""
        self.best = self.r.copy(), self.pull.copy()

    def recall(self) -> None:
        """Go back to the best, for good: multipliers are not kept."""
        self.r, self.pull = self.best

    def finish(self) -> None:
        """Go back to the best and let go of all arrays over pairs: what is left can be settled, but not go on."""
        self.recall()
        for name in ("z", "v", "t", "t_new", "decay", "weight"):
            self.__dict__.pop(name, None)

    def _hefts(self) -> Floats:
        """Weights of columns, 1 on average: those of their sums, but for columns that vanish."""
        sums = np.bincount(self.layout.columns, self.r, self.m)
        heft = np.maximum(self.m / self.n * sums, _SMALLEST_COLUMN)
        return np.asarray(heft * (self.m / float(heft.sum())))

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
        if self.layout.pairs + len(self.r) < _WORTH_A_THREAD:
            return [work(0, self.m)]
        return on_threads(work, self.m)

    def _pull(self) -> None:
        self._whole(lambda low, high: newton.pulls(low, high, *self._pairs, self.z, self.pull))

    def _allowed(self) -> Floats:
        """What the present multipliers allow for the price of every row."""
        return self.layout.least(self.own_cost - self.pull, self.elsewhere)

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
        return (value - bound) / max(abs(value), self.magnitude)

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
        found = settled(dense, self.cost, self._allowed(), self.peaks, self.all_decay, self.watch)
        return replace(found, value=float(self.floor.sum()) + self.scale * found.value)

    def iterate(self) -> bool:
        """One step; False, and nothing changed, when rounding errors have made the direction useless."""
        self.heft = self._hefts()
        link = self._factor()
        missing = 1.0 - self._sums()
        lift = self.price[self.layout.near] - self.own_cost
        self.dr[:], self.q[:] = 0.0, lift
        dp = self._direction(link, missing, np.zeros(self.n))
        if dp is None:
            return False
        barrier, mu = self._centring()
        least, most = (mu * limit for limit in _SECOND_ORDER)
        self._each(lambda low, high: newton.aim(
            low, high, *self._pairs, self.weight, self.share, self.heft, self.r, self.dr, self.lam, self.z, lift,
            barrier, least, most, self.t, self.tr, self.q))  # fmt: skip
        dp = self._direction(link, missing, dp)
        if dp is None:
            return False
        steps = self._steps(self.t, self.tr)
        for _ in range(min(1 + self.n // 100, _CORRECTORS)):
            tried = self._recentred(link, missing, lift, dp, steps, barrier)
            if tried is None:
                break
            dp, steps = tried
        primal, dual = (min(1.0, _STEP * step) for step in steps)
        self._whole(lambda low, high: newton.advance(
            low, high, *self._pairs, self.r, self.dr, self.lam, self.z, self.t, self.tr, primal, dual))  # fmt: skip
        self._pull()
        self.price = self.price + dual * dp
        return True

    def _factor(self) -> Floats:
        """Factor every H_y, and the sum of their inverses."""
        self._each(lambda low, high: newton.factor(
            low, high, *self._pairs, self.r, self.lam, self.z, self.v, self.g))  # fmt: skip
        link = sum_of_squares(self.layout, self.v, self.n).T  # by columns, as LAPACK has it
        every = np.arange(self.n)
        diagonal = link[every, every] + self.layout.sums(self.g, self.n)
        link[every, every] = diagonal
        root, lost = lapack.dpotrf(link, lower=1)
        shift = _SHIFT
        while lost and shift < 1.0:
            link[every, every] = diagonal * (1.0 + shift)
            root, lost = lapack.dpotrf(link, lower=1)
            shift *= 8.0
        return np.asarray(root)

    def _direction(self, link: Floats, missing: Floats, dp: Floats) -> Floats | None:
        """Correct dr by the residual in q, and the change dp of prices so that rows sum to 1; None if not finite."""
        layout = self.layout

        def moved(shift: Floats) -> Floats:
            def work(low: int, high: int) -> Floats:
                part = np.zeros(self.n)
                newton.apply(low, high, layout.starts, layout.places, layout.blocks, layout.near, self.v, self.g,
                             self.q, shift, self.dr, part)  # fmt: skip
                return part

            return np.asarray(sum(self._each(work)))

        sums = moved(dp)
        self.q[:] = 0.0
        for _ in range(_REFINEMENTS):
            more = lapack.dpotrs(link, missing - sums, lower=1)[0]
            sums, dp = moved(more), dp + more
            if not np.abs(missing - sums).max() > _BALANCED:
                break
        return dp if np.isfinite(dp).all() and np.isfinite(sums).all() else None

    def _measured(self, work: Callable[[int, int, Floats], None]) -> Floats:
        """Five numbers for each part of the columns."""

        def one(low: int, high: int) -> Floats:
            stats = np.zeros(5)
            work(low, high, stats)
            return stats

        return np.array(self._each(one))

    def _centring(self) -> tuple[float, float]:
        """The product to aim at and the average one, from how far the predictor can go (Mehrotra's rule)."""
        stats = self._measured(lambda low, high, into: newton.measure_predictor(
            low, high, *self._pairs, self.r, self.dr, self.lam, self.z, into))  # fmt: skip
        primal, dual = (min(1.0, step) for step in _longest(stats))
        s0, s1, s2 = (float(total) for total in stats[:, 2:].sum(axis=0))
        after = s0 * (1 - dual) + s1 * (primal * (1 - dual) - dual) - s2 * primal * dual
        mu = self.mu = s0 / self.total
        return min(_CENTRING, max(after / s0, 0.0) ** 3) * mu, mu

    def _steps(self, t: Floats, tr: Floats) -> tuple[float, float]:
        """Primal and dual steps to the boundary, for targets t and tr."""
        return _longest(self._measured(lambda low, high, into: newton.measure(
            low, high, *self._pairs, self.r, self.dr, self.lam, self.z, t, tr, into)))  # fmt: skip

    def _recentred(
        self, link: Floats, missing: Floats, lift: Floats, dp: Floats, steps: tuple[float, float], barrier: float
    ) -> tuple[Floats, tuple[float, float]] | None:
        """A corrected direction with longer steps; None, and the old direction restored, if there is none."""
        full = [min(1.0, step) for step in steps]
        if min(full) > _LONG:
            return None
        primal, dual = (min(1.0, step + _LONGER) for step in full)
        least, most = (barrier * limit for limit in _BOX)
        before = self.dr.copy()
        self._each(lambda low, high: newton.recentre(
            low, high, *self._pairs, self.weight, self.share, self.heft, self.r, self.dr, self.lam, self.z, self.t,
            self.tr, lift, primal, dual, least, most, self.t_new, self.tr_new, self.q))  # fmt: skip
        found = self._direction(link, missing, dp)
        longer = self._steps(self.t_new, self.tr_new) if found is not None else steps
        if found is None or sum(min(1.0, step) for step in longer) <= sum(full):
            self.dr = before
            return None
        self.t, self.t_new = self.t_new, self.t
        self.tr, self.tr_new = self.tr_new, self.tr
        return found, longer


def _centres(cost: Floats) -> NDArray[np.int64]:
    """The row for which each column is best, in terms of what the row has at stake; costs have one line a column."""
    stakes = np.maximum(cost.mean(axis=0), 1e-300)
    return np.asarray((cost / stakes).argmin(axis=1))


def _longest(stats: Floats) -> tuple[float, float]:
    down, up = (max(float(found), 0.1) for found in stats[:, :2].max(axis=0))
    return 1.0 / down, 1.0 / up  # ten times a full step is as good as any
