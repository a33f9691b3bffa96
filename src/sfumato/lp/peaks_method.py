"""One run of the interior-point method of :mod:`sfumato.lp.peaks`: the iterate and how it moves.

The steps are those of :mod:`sfumato.lp.columns_method` (Mehrotra's predictor and corrector with the second-order term
kept within bounds, then centrality correctors of Gondzio), and so are the weights of the barrier. What is different is
the systems: a column with k peaks takes k² n products instead of n³/2, and the linking matrix is a diagonal one and
the square of all V (:mod:`sfumato.lp.peaks_newton`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sfumato.errors import NotSupported
from sfumato.lp import peaks_newton as newton
from sfumato.threads import on_threads

__all__ = ["PeakNewton", "Settled"]

Floats = NDArray[np.float64]

_LARGEST_MEMORY = 2**34  # bytes of the arrays over peaks and rows
_WORTH_A_THREAD = 400_000  # entries: below, handing over takes longer than the work
_SMALLEST_SCALE = 1e-6  # of the costs: relative gaps are not measured against values smaller than that
_SMALLEST_STAKE = 1e-2  # of a row, relative to the largest: below, it counts as this one
_SMALLEST_WEIGHT = 1e-6  # of a pair, relative to the largest: infinitely far ones still have a barrier
_SMALLEST_COLUMN = 1.0  # weight of a small column, in terms of an average one
_SMALLEST_SIZE = 1e-2  # of a column to begin with, in terms of the largest
_SLOPE = 0.4  # of the log bounds, at which columns fall off to begin with: less than a half
_STEEPEST = 30.0  # logarithms down to which they fall
_BLIND = 0.03  # share of constant columns in the start
_CENTRING = 0.1  # the most of the average product that is aimed at
_SECOND_ORDER = (-1.0, 10.0)  # bounds of the second-order term, in average products
_STEP = 0.98  # of the way to the boundary
_LONGER = 0.3  # by how much a corrector tries to make a step longer
_LONG = 0.95  # a step that needs no corrector
_BOX = (0.1, 10.0)  # products at the longer step, in terms of the one aimed at
_REFINEMENTS, _BALANCED = 3, 1e-11  # of what rows lack, and when that is a rounding error
_CLOSINGS, _CLOSED = 12, 1e-8  # rounds in which bounds come to be kept, and when they are
_BALANCINGS, _PARTS = 6, 16  # rounds before these, and parts in which a row gets what it lacks
_PER_ERROR = 10.0  # what an error that is left costs in the end, roughly, in terms of the loss
_REST = 1e-4  # of a row that is moved far: entries that sum to no more are left as they are
_SHIFT = 2.0**-50  # of the diagonal, when the linking matrix has lost its definiteness


@dataclass(frozen=True, eq=False)
class Settled:
    """A matrix that keeps all bounds up to a small error, one row a row; about what it costs without that error; and
    the entries of rows that had to be moved far.
    """

    matrix: Floats
    value: float
    moved: NDArray[np.bool_]


class PeakNewton:
    """The iterate and the arrays of one run; costs are shifted and scaled to a total spread of 1.

    Parameters
    ----------
    cost
        One row a row, one column a column.
    logs
        The table of log bounds, infinite where there is none; the diagonal is not read.
    peaks
        Which rows are peaks of which columns, in the shape of the costs.
    """

    def __init__(self, cost: Floats, logs: Floats, peaks: NDArray[np.bool_]) -> None:
        self.n, self.m = cost.shape
        floor = cost.min(axis=1)
        spread = (cost - floor[:, None]).T
        self.floor, self.scale = floor, float(spread.sum()) / self.m or 1.0
        self.cost = np.ascontiguousarray(spread / self.scale)
        self.magnitude = _SMALLEST_SCALE * float(np.abs(cost).max(axis=1).sum())
        self._list(peaks)
        far = logs + np.diag(np.full(self.n, np.inf))
        self.decay = np.exp(-far)
        self._choose_weights(far)
        np.fill_diagonal(far, 0.0)
        self._start(far)

    def _choose_weights(self, far: Floats) -> None:
        """How large a product may be, relative to others: see :mod:`sfumato.lp.columns_method`."""
        stakes = self.cost.mean(axis=0)
        self.share = np.cbrt(np.maximum(stakes / (stakes.max() or 1.0), _SMALLEST_STAKE))
        nearest = far.min(axis=1)
        typical = float(np.median(nearest[np.isfinite(nearest)])) if np.isfinite(nearest).any() else 1.0
        weight = np.minimum(self.share[:, None], self.share) * np.minimum(typical / far, 1.0)
        self.weight = np.maximum(weight, _SMALLEST_WEIGHT * weight.max())
        np.fill_diagonal(self.weight, self.share)
        self.total = self.m * float(self.share.sum()) + float(self.weight.sum(axis=1)[self.rows].sum())

    def _list(self, peaks: NDArray[np.bool_]) -> None:
        self.peaks = peaks
        self.columns, self.rows = np.nonzero(peaks.T)
        self.starts = np.searchsorted(self.columns, np.arange(self.m + 1))
        if 32 * len(self.rows) * self.n > _LARGEST_MEMORY:
            raise NotSupported(f"{len(self.rows)} peaks over {self.n} rows ({len(self.rows) * self.n >> 25} GiB)",
                               [f"programs that fit into {_LARGEST_MEMORY >> 30} GiB"])  # fmt: skip

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
        self.r: Floats = (1.0 - _BLIND) * r / r.sum(axis=0) + _BLIND * sizes[:, None]
        mu = float((self.cost * self.r).sum()) / self.total
        heft = self._hefts()
        own = self.r[self.columns, self.rows]
        self.z: Floats = self.r[self.columns] - self.decay[self.rows] * own[:, None]
        np.divide(mu * heft[self.columns, None] * self.weight[self.rows], self.z, out=self.z)
        self.lam: Floats = mu * heft[:, None] * self.share / self.r
        self.v, self.t, self.t_new = (np.empty_like(self.z) for _ in range(3))
        self.pull, self.g, self.q, self.dr, self.tr, self.tr_new = (np.zeros_like(self.r) for _ in range(6))
        self._pull()
        self.price = (self.cost - self.pull).min(axis=0)
        self.remember()

    def remember(self) -> None:
        """Keep what there is now, as the best so far."""
        self.best = self.r.copy(), self.pull.copy()

    def recall(self) -> None:
        """Go back to the best, for good: multipliers are not kept."""
        self.r, self.pull = self.best

    def _hefts(self) -> Floats:
        """Weights of columns, 1 on average: those of their sums, but for columns that vanish."""
        heft = np.maximum(self.m * self.r.mean(axis=1), _SMALLEST_COLUMN)
        return np.asarray(heft * (self.m / float(heft.sum())))

    @property
    def _pairs(self) -> tuple[Any, ...]:
        return self.starts, self.rows, self.decay

    def _each(self, work: Callable[[int, int], Any]) -> list[Any]:
        """Run ``work`` on all columns, shared among threads where it is worth it."""
        if (len(self.rows) + self.m) * self.n < _WORTH_A_THREAD:
            return [work(0, self.m)]
        return on_threads(work, self.m)

    def _pull(self) -> None:
        self._each(lambda low, high: newton.pulls(low, high, *self._pairs, self.z, self.pull))

    def standing(self) -> tuple[float, float]:
        """Value and bound of the present iterate."""
        base = float(self.floor.sum())
        value, bound = float((self.cost * self.r).sum()), float((self.cost - self.pull).min(axis=0).sum())
        return base + self.scale * value, base + self.scale * bound

    def relative(self, value: float, bound: float) -> float:
        """The relative gap."""
        return (value - bound) / max(abs(value), self.magnitude)

    @property
    def lacking(self) -> float:
        """How far the sum of a row is from 1, at worst."""
        return float(np.abs(1.0 - self.r.sum(axis=0)).max())

    def prices(self) -> Floats:
        """What the present multipliers allow for every row, in the units of the costs: their sum is the bound."""
        return np.asarray(self.floor + self.scale * (self.cost - self.pull).min(axis=0))

    def settled(self) -> Settled:
        """R with the bounds of all pairs kept, up to a small error.

        Pairs without peaks are no constraint here. But the least entries that peaks ask for keep all bounds, and what
        rows have beyond is next to nothing if they have peaks enough. It is put where others leave room for it. Where
        there is none, others are made to follow, and move in their turn. In the end a few rounds of "least columns
        above that keep all bounds, rows divided by their sums" come near.
        """
        columns, cost, lacking = np.empty_like(self.r), np.ascontiguousarray(self.cost.T), np.zeros(self.n)
        self._each(lambda low, high: newton.least(low, high, *self._pairs, self.r, columns))
        order = np.argsort(-cost.mean(axis=1), kind="stable")
        over = cost - (self.cost - self.pull).min(axis=0)[:, None]
        matrix, moved = np.ascontiguousarray(columns.T), np.zeros(cost.shape, dtype=bool)
        for k in range(_BALANCINGS):
            newton.balance(matrix, cost, self.decay, order, lacking)
            short = order[lacking[order] > _CLOSED]
            if k == 0:
                far = np.flatnonzero(lacking > _REST)
                moved[far] = self._mainstays(far)
            if not short.size:
                break
            newton.place(matrix, over, self.decay, short, lacking, _PARTS)
        columns, off = np.ascontiguousarray(matrix.T), np.inf
        for _ in range(_CLOSINGS):
            sums = columns.sum(axis=0)
            columns, off = columns / sums, float(sums.max() / sums.min()) - 1.0
            if off <= _CLOSED:
                break
            columns = self._closed(columns)
        whole = float((self.cost * columns).sum()) * (1.0 + _PER_ERROR * off)
        value = float(self.floor.sum()) + self.scale * whole
        return Settled(np.ascontiguousarray(columns.T), value, moved)

    def _mainstays(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The columns that make up all but a little of some rows."""
        given = self.r.T[rows]
        ranked = np.sort(given, axis=1)
        left = np.minimum((np.cumsum(ranked, axis=1) < _REST).sum(axis=1), self.m - 1)
        return np.asarray(given >= ranked[np.arange(len(rows)), left][:, None])

    def _closed(self, columns: Floats) -> Floats:
        """The least columns above that keep all bounds."""
        closed = np.empty_like(columns)
        self._each(lambda low, high: newton.close(low, high, self.decay, columns, closed))
        return closed

    def iterate(self) -> bool:
        """One step; False, and nothing changed, when rounding errors have made the direction useless."""
        self.heft = self._hefts()
        link = self._factor()
        missing = 1.0 - self.r.sum(axis=0)
        self.dr[:], self.q[:] = 0.0, self.price - self.cost
        dp = self._direction(link, missing, np.zeros(self.n))
        if dp is None:
            return False
        barrier, mu = self._centring()
        least, most = (mu * limit for limit in _SECOND_ORDER)
        self._each(lambda low, high: newton.aim(
            low, high, *self._pairs, self.weight, self.share, self.heft, self.r, self.dr, self.lam, self.z, self.cost,
            self.price, barrier, least, most, self.t, self.tr, self.q))  # fmt: skip
        dp = self._direction(link, missing, dp)
        if dp is None:
            return False
        steps = self._steps(self.t, self.tr)
        for _ in range(min(1 + self.n // 100, 4)):
            tried = self._recentred(link, missing, dp, steps, barrier)
            if tried is None:
                break
            dp, steps = tried
        primal, dual = (min(1.0, _STEP * step) for step in steps)
        self._each(lambda low, high: newton.advance(
            low, high, *self._pairs, self.r, self.dr, self.lam, self.z, self.t, self.tr, primal, dual))  # fmt: skip
        self._pull()
        self.price = self.price + dual * dp
        return True

    def _factor(self) -> Floats:
        """Factor every H_y, and the sum of their inverses."""
        self._each(lambda low, high: newton.factor(
            low, high, *self._pairs, self.r, self.lam, self.z, self.v, self.g))  # fmt: skip
        link = self.v.T @ self.v
        every = np.arange(self.n)
        diagonal = link[every, every] + self.g.sum(axis=0)
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

        def moved(shift: Floats) -> Floats:
            def work(low: int, high: int) -> Floats:
                part = np.zeros(self.n)
                newton.apply(low, high, self.starts, self.v, self.g, self.q, shift, self.dr, part)
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
        self, link: Floats, missing: Floats, dp: Floats, steps: tuple[float, float], barrier: float
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
            self.tr, self.cost, self.price, primal, dual, least, most, self.t_new, self.tr_new, self.q))  # fmt: skip
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
