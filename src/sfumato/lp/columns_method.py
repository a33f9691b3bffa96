"""One run of the block interior-point method of :mod:`sfumato.lp.columns`: the iterate and how it moves.

An iteration factors every H_y, finds the direction of the predictor, aims at products that are smaller and more even,
corrects the direction for that, once or a few times more for longer steps, and goes most of the way to the boundary.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotSupported
from sfumato.lp import columns_newton as newton
from sfumato.lp.lanes import LANES

__all__ = ["BlockNewton"]

Floats = NDArray[np.float64]

_LARGEST_MEMORY = 2**35  # bytes of the arrays over pairs and columns
_SMALLEST_SCALE = 1e-6  # of the costs: relative gaps are not measured against values smaller than that
_WORTH_A_THREAD = 100_000  # pairs times columns for each: below, handing over takes longer than the work
_CENTRING = 0.3  # the most of the average product that is aimed at
_SECOND_ORDER = (-1.0, 10.0)  # bounds of the second-order term, in average products
_STEP = 0.98  # of the way to the boundary
_LONGER = 0.4  # by how much a corrector tries to make a step longer
_BOX = (0.1, 3.0)  # products at the longer step, in terms of the one aimed at


class BlockNewton:
    """The iterate and the arrays of one run; costs are shifted to row minima 0 and scaled to a total spread of 1."""

    def __init__(
        self, cost: Floats, first: NDArray[np.int64], second: NDArray[np.int64], logs: Floats, spread: float
    ) -> None:
        n, m = cost.shape
        self.n, self.m, self.scale, self.floor = n, m, spread, cost.min(axis=1)
        self.magnitude = _SMALLEST_SCALE * float(np.abs(cost).max(axis=1).sum())
        # entries of the lower triangle are visited in order, so the matrix streams past once
        self.order = np.lexsort((np.minimum(first, second), np.maximum(first, second)))
        self.first, self.second, logs = first[self.order], second[self.order], logs[self.order]
        self.decay = np.exp(-logs)
        blocks, pairs, size = -(-m // LANES), len(logs), -(-n // 4) * 4
        self.lanes = np.concatenate([np.arange(m), np.zeros(blocks * LANES - m, dtype=np.int64)])
        self.mask = (np.arange(blocks * LANES) < m).astype(np.float64).reshape(blocks, LANES)
        threads = max(1, min(cpu_count() or 1, blocks, pairs * m // _WORTH_A_THREAD))
        memory = 8 * blocks * LANES * (3 * pairs + n * n // 2 + 11 * n) + 24 * threads * LANES * size * size
        if memory > _LARGEST_MEMORY:
            raise NotSupported(f"{pairs} pairs in {m} columns ({memory / 2**30:.0f} GiB)",
                               [f"programs that fit into {_LARGEST_MEMORY // 2**30} GiB"])  # fmt: skip
        cost = (cost - self.floor[:, None]) / spread
        self.cost = self._in_lanes(cost)
        self._choose_weights(cost, logs)
        self._start(cost, logs, blocks)
        self.q, self.out, self.dr, self.rest, self.pull_before = (np.zeros_like(self.r) for _ in range(5))
        self.t, self.t_new = np.zeros_like(self.z), np.zeros_like(self.z)
        self.tr, self.tr_new = np.zeros_like(self.r), np.zeros_like(self.r)
        self.roots = np.zeros((blocks, n * (n + 1) // 2, LANES))
        self.workers = [Worker(n, size) for _ in range(threads)]
        self.edges = np.linspace(0, blocks, threads + 1).astype(int).tolist()
        self.pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None

    def _choose_weights(self, cost: Floats, logs: Floats) -> None:
        """How large a product may be, relative to others, while the gap shrinks.

        Far pairs nearly repeat r ≥ 0, so they count by the inverse of their log bound. Rows with little at
        stake count less: the cube root is what needed fewest iterations on priors with bumps.
        """
        stakes = cost.mean(axis=1)
        self.share = np.cbrt(np.maximum(stakes / stakes.max(), 1e-4))
        self.weight = np.minimum(self.share[self.first], self.share[self.second])
        if len(logs):
            nearest = np.full(self.n, np.inf)
            np.minimum.at(nearest, self.first, logs)
            self.weight *= np.minimum(np.median(nearest[np.isfinite(nearest)]) / logs, 1.0)
        self.total = self.m * float(self.share.sum() + self.weight.sum())

    def _start(self, cost: Floats, logs: Floats, blocks: int) -> None:
        """R constant, which is strictly inside every cone, and multipliers that make it nearly central."""
        mu = 1.0 / self.total
        z = mu * self.m * self.weight / -np.expm1(-logs)
        pull = np.bincount(self.second, z, self.n) - np.bincount(self.first, self.decay * z, self.n)
        margin = mu * self.m * self.share
        self.r = np.full((blocks, self.n, LANES), 1.0 / self.m)
        self.z = np.tile(z[None, :, None], (blocks, 1, LANES))
        self.pull = np.tile(pull[None, :, None], (blocks, 1, LANES))
        self.lam = self._in_lanes(cost + margin[:, None])
        self.price = -pull - margin

    def _in_lanes(self, table: Floats) -> Floats:
        """n × m into blocks of lanes; the last block is filled up with copies of column 0, which are masked."""
        return np.ascontiguousarray(table[:, self.lanes].reshape(len(table), -1, LANES).transpose(1, 0, 2))

    def _from_lanes(self, blocks: Floats) -> Floats:
        return np.ascontiguousarray(
            blocks.transpose(1, 0, 2).reshape(blocks.shape[1], len(blocks) * LANES)[:, : self.m]
        )

    def matrix(self) -> Floats:
        """R of the present iterate."""
        return self._from_lanes(self.r)

    def multipliers(self) -> Floats:
        """Z of the present iterate, in the order and scale of the program."""
        result = np.empty((len(self.order), self.m))
        result[self.order] = self._from_lanes(self.z) * self.scale
        return result

    def standing(self) -> tuple[float, float]:
        """Value and bound of the present iterate."""
        value = float((self.cost * self.r * self.mask[:, None, :]).sum())
        reduced = np.where(self.mask[:, None, :] > 0, self.cost - self.pull, np.inf)
        bound = float(reduced.min(axis=(0, 2)).sum())
        base = float(self.floor.sum())
        return base + self.scale * value, base + self.scale * bound

    def relative(self, value: float, bound: float) -> float:
        """The relative gap."""
        return (value - bound) / max(abs(value), self.magnitude)

    def is_spoilt(self, value: float, bound: float) -> bool:
        """Whether rounding made the bound of the multipliers worse than the sum of the prices, by as much as the gap.

        In exact arithmetic it is never worse: C − Gᵀz − p = λ > 0.
        """
        prices = float(self.floor.sum()) + self.scale * float(self.price.sum())
        return value - bound > 2 * (value - prices)

    def close(self) -> None:
        """Wait for what is still running."""
        if self.pool is not None:
            self.pool.shutdown()

    def _on_blocks(self, work: Callable[[Worker, int, int], None]) -> None:
        """Run ``work`` on all blocks, a share for each worker."""
        parts = list(zip(self.workers, self.edges[:-1], self.edges[1:], strict=True))
        waiting = [self.pool.submit(work, *part) for part in parts[1:]] if self.pool else []
        work(*parts[0])
        for future in waiting:
            future.result()

    def iterate(self) -> bool:
        """One step; False, and nothing changed, when rounding errors have made the direction useless."""
        link = self._factor()
        missing = 1.0 - self.matrix().sum(axis=1)
        dp = self._predict(link, missing)
        if dp is None:
            return False
        barrier, mu = self._centring()
        self._aim(barrier, mu)
        dp = self._direction(link, missing, dp)
        if dp is None:
            return False
        steps = self._steps(self.t, self.tr)
        # a corrector costs passes over pairs, a factorisation n times as much: large n can afford more of them
        for _ in range(int(np.clip(self.n // 100, 1, 4))):
            tried = self._recentred(link, missing, dp, steps, barrier)
            if tried is None:
                break
            dp, steps = tried
        primal, dual = (min(1.0, _STEP * step) for step in steps)
        self._on_blocks(lambda worker, low, high: newton.advance(
            low, high, self.first, self.second, self.decay, self.r, self.dr, self.rest, self.lam, self.z, self.t,
            self.tr, primal, dual, self.t_new, self.pull_before))  # fmt: skip
        self.go_back()  # which is forward here: the new ones have been written beside the old
        self.price = self.price + dual * dp
        return True

    def go_back(self) -> None:
        """Exchange the multipliers with those before the last step (until the next one begins)."""
        self.z, self.t_new = self.t_new, self.z
        self.pull, self.pull_before = self.pull_before, self.pull

    def _factor(self) -> Floats:
        """Factor every H_y, and the sum of their inverses."""

        def work(worker: Worker, low: int, high: int) -> None:
            worker.square[:] = 0.0
            newton.factor(
                low, high, self.first, self.second, self.decay, self.r, self.lam, self.z, self.pull, self.mask,
                self.roots, worker.w, worker.v, worker.excess, worker.least, worker.square,
            )  # fmt: skip

        self._on_blocks(work)
        link = np.zeros((self.n, self.n))
        for worker in self.workers:
            link += worker.square[: self.n, : self.n].sum(axis=2)
        newton.link_factor(link)
        return link

    def _predict(self, link: Floats, missing: Floats) -> Floats | None:
        """The direction to the optimum itself, all targets zero."""
        self.dr[:] = 0.0
        self.rest[:] = 0.0
        self.q[:] = self.price[None, :, None] - self.cost
        return self._direction(link, missing, np.zeros(self.n))

    def _direction(self, link: Floats, missing: Floats, dp: Floats) -> Floats | None:
        """Correct dr by the residual in q, and the change dp of prices so that rows sum to 1; None if not finite."""

        def work(worker: Worker, low: int, high: int) -> None:
            worker.sums[:] = 0.0
            newton.apply(low, high, self.roots, self.q, dp, self.out, worker.sums, worker.work)

        def finish(worker: Worker, low: int, high: int) -> None:
            work(worker, low, high)
            worker.sums[:] = 0.0
            newton.extend(low, high, self.out, self.dr, self.rest, worker.sums)

        self._on_blocks(work)
        lack = missing - self._from_lanes(self.dr).sum(axis=1) - sum(worker.sums.sum(axis=1) for worker in self.workers)
        dp = dp + newton.link_solve(link, lack)
        self._on_blocks(finish)
        return dp if all(np.isfinite(worker.sums).all() for worker in self.workers) and np.isfinite(dp).all() else None

    def _centring(self) -> tuple[float, float]:
        """The product to aim at and the average one, from how far the predictor can go (Mehrotra's rule)."""

        def work(worker: Worker, low: int, high: int) -> None:
            worker.stats[:] = 0.0
            newton.measure_predictor(low, high, self.first, self.second, self.decay, self.r, self.dr, self.lam, self.z,
                                     self.mask, worker.stats)  # fmt: skip

        self._on_blocks(work)
        primal, dual = (min(1.0, step) for step in self._longest())
        s0, s1, s2 = (float(sum(worker.stats[k].sum() for worker in self.workers)) for k in (2, 3, 4))
        after = s0 * (1 - dual) + s1 * (primal * (1 - dual) - dual) - s2 * primal * dual
        mu = s0 / self.total
        return min(_CENTRING, max(after / s0, 0.0) ** 3) * mu, mu

    def _aim(self, barrier: float, mu: float) -> None:
        least, most = (mu * limit for limit in _SECOND_ORDER)
        self._on_blocks(lambda worker, low, high: newton.aim(
            low, high, self.first, self.second, self.decay, self.weight, self.share, self.r, self.dr, self.lam, self.z,
            self.cost, self.price, barrier, least, most, self.t, self.tr, self.q))  # fmt: skip

    def _steps(self, t: Floats, tr: Floats) -> tuple[float, float]:
        """Primal and dual steps to the boundary, for targets t and tr."""

        def work(worker: Worker, low: int, high: int) -> None:
            worker.stats[:] = 0.0
            newton.measure(low, high, self.first, self.second, self.decay, self.r, self.dr, self.rest, self.lam, self.z,
                           t, tr, worker.stats)  # fmt: skip

        self._on_blocks(work)
        return self._longest()

    def _longest(self) -> tuple[float, float]:
        primal, dual = (float(max(worker.stats[k].max() for worker in self.workers)) for k in (0, 1))
        return 1.0 / max(primal, 0.1), 1.0 / max(dual, 0.1)  # ten times a full step is as good as any

    def _recentred(
        self, link: Floats, missing: Floats, dp: Floats, steps: tuple[float, float], barrier: float
    ) -> tuple[Floats, tuple[float, float]] | None:
        """A corrected direction with longer steps; None, and the old direction restored, if there is none."""
        full = [min(1.0, step) for step in steps]
        if min(full) > 0.95:
            return None
        primal, dual = (min(1.0, step + _LONGER) for step in full)
        least, most = (barrier * limit for limit in _BOX)
        kept = self.dr.copy(), self.rest.copy()
        self._on_blocks(lambda worker, low, high: newton.recentre(
            low, high, self.first, self.second, self.decay, self.weight, self.share, self.r, self.dr, self.rest,
            self.lam, self.z, self.t, self.tr, self.cost, self.price, primal, dual, least, most, self.t_new,
            self.tr_new, self.q))  # fmt: skip
        found = self._direction(link, missing, dp)
        longer = self._steps(self.t_new, self.tr_new) if found is not None else steps
        if found is None or sum(min(1.0, step) for step in longer) <= sum(full):
            self.dr[:], self.rest[:] = kept
            return None
        self.t, self.t_new = self.t_new, self.t
        self.tr, self.tr_new = self.tr_new, self.tr
        return found, longer


class Worker:
    """Scratch memory of one thread."""

    def __init__(self, n: int, size: int) -> None:
        self.w, self.v, self.square = (np.zeros((size, size, LANES)) for _ in range(3))
        self.excess, self.least = np.zeros((size, LANES)), np.zeros((size, LANES))
        self.sums, self.work = np.zeros((n, LANES)), np.zeros((n, LANES))
        self.stats = np.zeros((5, LANES))
