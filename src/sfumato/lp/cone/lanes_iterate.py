"""One run of the block interior-point method of :mod:`sfumato.lp.cone.lanes`: the iterate and how it moves.

An iteration factors every H_y, finds the direction of the predictor, aims at products that are smaller and more even,
corrects the direction for that, once or a few times more for longer steps, and goes most of the way to the boundary.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count

import numpy as np
from numpy.typing import NDArray

from sfumato.lp.cone import lanes_passes as newton
from sfumato.lp.cone.elimination import Elimination, elimination
from sfumato.lp.cone.lanes_dense import DenseSystems, dense_work
from sfumato.lp.cone.lanes_single import SingleSystems
from sfumato.lp.cone.lanes_sparse import SparseSystems, sparse_work
from sfumato.lp.cone.program import ColumnProgram, Start
from sfumato.lp.cone.registers import LANES, registers
from sfumato.memory import check_room
from sfumato.watch import Watch

__all__ = ["LanesIterate"]

Floats = NDArray[np.float64]

_INSTEAD = ("fewer outputs", "solver='first-order', which needs no factors", "a coarser space")
_SMALLEST_SCALE = 1e-6  # of the costs: relative gaps are not measured against values smaller than that
_WORTH_A_THREAD = 100_000  # pairs times columns for each: below, handing over takes longer than the work
_SPARSE = 0.1  # share of all ordered pairs: with more of them, an elimination is not even looked for
_SINGLE = 5e-3  # a gap above which single precision does for the systems: slacks are not small beside their entries
_SINGLE_ROWS = 150  # and rows from which on it is sooner through
_SINGLE_LOG = 0.02  # and log bounds, because no slack is larger than this part of its entries
_LOOK = 2e9  # products between two looks at the watch: about a second
_SHORT = 0.02  # a step after which rounding errors are suspected
_SLOWER = 2.0  # how much longer a product takes in a sparse system than in a dense one
_CAUTION = 0.2  # share of the constant start that is mixed into a given one
_CENTRING = 0.3  # the most of the average product that is aimed at
_SECOND_ORDER = (-1.0, 10.0)  # bounds of the second-order term, in average products
_IMBALANCE = 1e-13  # of the sum of a row: steps would add up such errors
_SINGLE_IMBALANCE = 1e-5  # in single precision, whose errors the next steps correct
_SMALLEST_COLUMN = 1e-3  # weight of a column that vanishes, in terms of an average one
_STEP = 0.98  # of the way to the boundary
_LONGER = 0.4  # by how much a corrector tries to make a step longer
_BOX = (0.1, 3.0)  # products at the longer step, in terms of the one aimed at


class LanesIterate:
    """The iterate and the arrays of one run; costs are shifted and scaled to a total spread of 1."""

    def __init__(self, program: ColumnProgram, start: Start | None = None, watch: Watch | None = None) -> None:
        n, m = program.shape
        self.n, self.m, self.watch = n, m, watch or Watch()
        cost, self.scale, base = shifted(program)
        self.base = float(base.sum())
        self.magnitude = _SMALLEST_SCALE * float(np.abs(program.cost).max(axis=1).sum())
        shape = sparse_elimination(n, program.first, program.second, len(program.sizes))
        self.rows = np.arange(n) if shape is None else shape.order
        self.places = np.argsort(self.rows)
        cost, first, second = cost[self.rows], self.places[program.first], self.places[program.second]
        self._number_classes(program.row_classes[self.rows])
        # entries of the lower triangle are visited in order, so the matrix streams past once
        self.order = np.lexsort((np.minimum(first, second), np.maximum(first, second)))
        self.first, self.second, logs = first[self.order], second[self.order], program.logs[self.order]
        self.decay = np.exp(-logs)
        blocks, pairs = -(-m // LANES), len(logs)
        self.lanes = np.concatenate([np.arange(m), np.zeros(blocks * LANES - m, dtype=np.int64)])
        self.mask = (np.arange(blocks * LANES) < m).astype(np.float64).reshape(blocks, LANES)
        threads = max(1, min(cpu_count() or 1, blocks, pairs * m // _WORTH_A_THREAD))
        # one array over pairs and columns more than those made here: multipliers that are kept, and the result
        memory = 8 * blocks * LANES * (4 * pairs + 19 * n)
        memory += (
            DenseSystems.memory(n, blocks, threads) if shape is None else SparseSystems.memory(shape, blocks, threads)
        )
        check_room(memory, f"the block method for {pairs} pairs of rows in {m} columns", _INSTEAD)
        self.cost = self._in_lanes(cost)
        self._choose_weights(cost, logs)
        self._start(cost, logs, blocks)
        if start is not None:
            self._continue(start)
        self.q, self.out, self.dr, self.rest, self.pull_before = (registers(*self.r.shape) for _ in range(5))
        self.kept = [registers(*self.r.shape) for _ in range(2)]
        self.best = registers(*self.r.shape)
        self.t, self.t_new = registers(*self.z.shape), registers(*self.z.shape)
        self.tr, self.tr_new = registers(*self.r.shape), registers(*self.r.shape)
        self.remember()
        self.best_z: Floats | None = None  # the multipliers of the largest bound, where they are not the present ones
        self.highest = -np.inf
        self.systems: DenseSystems | SparseSystems | SingleSystems = (
            DenseSystems(n, blocks, self.classes, threads)
            if shape is None
            else SparseSystems(shape, blocks, self.classes, self.first, self.second, threads)
        )
        self.doubles = self.systems
        if isinstance(self.doubles, DenseSystems) and n >= _SINGLE_ROWS and logs.min(initial=1.0) >= _SINGLE_LOG:
            self.systems = SingleSystems(n, blocks, self.doubles, threads)
        self.workers = [Worker(n, thread) for thread in range(threads)]
        # two blocks are one in single precision
        self.edges = [*(2 * np.linspace(0, blocks // 2, threads + 1).astype(int)[:-1]).tolist(), blocks]
        self.pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        work = dense_work(n, len(self.sizes)) if shape is None else sparse_work(shape, len(self.sizes))
        self.stride = 2 * max(1, int(_LOOK / (2 * LANES * max(work, 1))))  # blocks that are factored at a time

    def _number_classes(self, classes: NDArray[np.int64]) -> None:
        """Number the classes in the order of their first rows."""
        leaders = np.unique(classes, return_index=True)[1]
        rank = np.empty(len(leaders), dtype=np.int64)
        rank[np.argsort(leaders)] = np.arange(len(leaders))
        self.classes: NDArray[np.int64] = rank[classes]
        self.sizes = np.bincount(self.classes).astype(np.float64)

    def _over_classes(self, values: Floats) -> Floats:
        """Sums of a number for each row over the rows of each class."""
        return values if len(self.sizes) == self.n else np.bincount(self.classes, values).astype(np.float64)

    def _over_rows(self, prices: Floats) -> Floats:
        """The price of each row, that of its class."""
        return prices[self.classes]

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
        """Constant columns, which are strictly inside every cone, and multipliers that make them nearly central."""
        mu = 1.0 / self.total
        z = mu * self.m * self.weight / -np.expm1(-logs)
        pull = np.bincount(self.second, z, self.n) - np.bincount(self.first, self.decay * z, self.n)
        margin = mu * self.m * self.share
        self.r, self.pull = registers(blocks, self.n, LANES), registers(blocks, self.n, LANES)
        self.z, self.heft = registers(blocks, len(z), LANES), registers(blocks, LANES)
        columns = column_sizes(cost, self.classes, self.sizes)[self.lanes].reshape(blocks, 1, LANES)
        self.r[:], self.pull[:] = columns, pull[:, None]
        for block in self.z:  # gigabytes, some of them
            self.watch.check()
            block[:] = z[:, None]
        self.price = np.full(len(self.sizes), np.inf)
        np.minimum.at(self.price, self.classes, -pull - margin)
        self.lam = self._in_lanes(cost - (pull + self._over_rows(self.price))[:, None])

    def _continue(self, start: Start) -> None:
        """Begin at a point of a similar program instead, mixed with the constant one, with products of one size.

        Where its columns are not inside the cones of this one even then, the constant start remains.
        """
        inside = (1 - _CAUTION) * self._in_lanes(start.matrix[self.rows]) + _CAUTION * self.r
        if len(self.decay) and any(
            (block[self.second] <= self.decay[:, None] * block[self.first]).any() for block in inside
        ):
            return
        mu = _CAUTION * _CAUTION / self.total
        self.r[:] = inside
        given = np.maximum(start.multipliers, 0.0)[self.order] / self.scale
        for b, block in enumerate(self.r):
            slack = block[self.second] - self.decay[:, None] * block[self.first]
            z = given[:, self.lanes[b * LANES : (b + 1) * LANES]] + mu * self.weight[:, None] / slack
            self.z[b] = z
            for lane in range(LANES):
                self.pull[b, :, lane] = np.bincount(self.second, z[:, lane], self.n) - np.bincount(
                    self.first, self.decay * z[:, lane], self.n
                )
        reduced = self.cost - self.pull
        least = np.where(self.mask[:, None, :] > 0, reduced, np.inf).min(axis=(0, 2)) - mu * self.m * self.share
        self.price = np.full(len(self.sizes), np.inf)
        np.minimum.at(self.price, self.classes, least)
        self.lam[:] = reduced - self._over_rows(self.price)[None, :, None]

    def _in_lanes(self, table: Floats) -> Floats:
        """n × m into blocks of lanes; the last block is filled up with copies of column 0, which are masked."""
        blocks = registers(len(self.mask), len(table), LANES)
        blocks[:] = table[:, self.lanes].reshape(len(table), -1, LANES).transpose(1, 0, 2)
        return blocks

    def _from_lanes(self, blocks: Floats) -> Floats:
        return np.ascontiguousarray(
            blocks.transpose(1, 0, 2).reshape(blocks.shape[1], len(blocks) * LANES)[:, : self.m]
        )

    def remember(self) -> None:
        """Take the present R for the best."""
        self.best[:] = self.r

    def keep_multipliers(self, bound: float) -> float:
        """The largest bound so far, given that of the step just made; its multipliers are kept."""
        if bound >= self.highest:
            self.highest, self.best_z = bound, None
        elif self.best_z is None:
            self.best_z = self.t_new.copy()  # those before the last step, until the next one writes over them
        return self.highest

    def present(self) -> Floats:
        """The present R."""
        return self._from_lanes(self.r)[self.places]

    def midway(self) -> Start:
        """The present R and Z."""
        return Start(self.present(), self._listed(self.z))

    def matrix(self) -> Floats:
        """The best R so far."""
        return self._from_lanes(self.best)[self.places]

    def multipliers(self) -> Floats:
        """The best Z so far, in the order and scale of the program."""
        return self._listed(self.z if self.best_z is None else self.best_z)

    def _listed(self, blocks: Floats) -> Floats:
        result = np.empty((len(self.order), self.m))
        for b, block in enumerate(blocks):  # one at a time: no second array of this size
            columns = slice(b * LANES, min(b * LANES + LANES, self.m))
            result[self.order, columns] = self.scale * block[:, : columns.stop - columns.start]
        return result

    def standing(self) -> tuple[float, float]:
        """Value and bound of the present iterate."""
        value = float(np.einsum("bxl,bxl,bl->", self.cost, self.r, self.mask))
        reduced = self.cost - self.pull
        reduced[-1, :, self.mask[-1] == 0] = np.inf
        least = np.full(len(self.sizes), np.inf)
        np.minimum.at(least, self.classes, reduced.min(axis=(0, 2)))
        return self.base + self.scale * value, self.base + self.scale * float(self.sizes @ least)

    def relative(self, value: float, bound: float) -> float:
        """The relative gap."""
        return (value - bound) / max(abs(value), self.magnitude)

    def is_spoilt(self, value: float, bound: float) -> bool:
        """Whether rounding made the bound of the multipliers worse than the sum of the prices, by as much as the gap.

        In exact arithmetic it is never worse: C − Gᵀz − p = λ > 0.
        """
        prices = self.base + self.scale * float(self.sizes @ self.price)
        return value - bound > 2 * (value - prices)

    def close(self) -> None:
        """Wait for what is still running."""
        if self.pool is not None:
            self.pool.shutdown()

    def _on_blocks(self, work: Callable[[Worker, int, int], None]) -> None:
        """Run ``work`` on all blocks, a share for each worker; nothing where the time is up."""
        self.watch.check()
        parts = list(zip(self.workers, self.edges[:-1], self.edges[1:], strict=True))
        waiting = [self.pool.submit(work, *part) for part in parts[1:]] if self.pool else []
        work(*parts[0])
        for future in waiting:
            future.result()

    def iterate(self) -> bool:
        """One step; False, and nothing changed, when rounding errors have made the direction useless."""
        if self.systems is not self.doubles:
            if self.relative(*self.standing()) > _SINGLE and self._step() > _SHORT:
                return True
            self.systems = self.doubles
        return self._step() > 0

    def _step(self) -> float:
        """The shorter of the two steps taken; 0, and nothing changed, where there is no direction."""
        self._weigh_columns()
        link = self._factor()
        missing = self.sizes - self._over_classes(self._row_sums(self.r))
        dp = self._predict(link, missing)
        if dp is None:
            return 0.0
        barrier, mu = self._centring()
        self._aim(barrier, mu)
        dp = self._direction(link, missing, dp)
        if dp is None:
            return 0.0
        steps = self._steps(self.t, self.tr)
        # a corrector costs passes over pairs, a factorisation n times as much; a third one saves hardly any iteration
        for _ in range(min(1 + self.n // 100, 2)):
            tried = self._recentred(link, missing, dp, steps, barrier)
            if tried is None:
                break
            dp, steps = tried
        primal, dual = (min(1.0, _STEP * step) for step in steps)
        self._on_blocks(lambda worker, low, high: newton.advance(
            low, high, self.first, self.second, self.decay, self.r, self.dr, self.rest, self.lam, self.z, self.t,
            self.tr, primal, dual, self.t_new, self.pull_before))  # fmt: skip
        self._take_multipliers()
        self.price = self.price + dual * dp
        return min(primal, dual)

    def _weigh_columns(self) -> None:
        """Products in a column count by how much is left of it.

        Most columns of a program with unequal rows vanish. With equal weights they do so late, and until then short
        steps along their boundaries hold up all others: that took twice as many iterations.
        """
        self.heft[:] = np.maximum(self.m * self.r.mean(axis=1), _SMALLEST_COLUMN)
        self.heft *= self.m / float((self.heft * self.mask).sum())

    def _row_sums(self, table: Floats) -> Floats:
        """Sums over columns."""
        found: Floats = np.einsum("bxl,bl->x", table, self.mask)
        return found

    def _take_multipliers(self) -> None:
        """The new ones have been written beside the old, which stay there until the next step."""
        self.z, self.t_new = self.t_new, self.z
        self.pull, self.pull_before = self.pull_before, self.pull

    def _factor_systems(self) -> None:
        """Factor every H_y."""

        def work(worker: Worker, low: int, high: int) -> None:
            for start in range(low, high, self.stride):
                self.watch.check()
                self.systems.factor(worker.thread, start, min(start + self.stride, high), self.first, self.second,
                                    self.decay, self.r, self.lam, self.z, self.pull, self.mask)  # fmt: skip

        self.systems.clear()
        self._on_blocks(work)

    def _factor(self) -> Floats:
        """Factor every H_y, and the sum of their inverses."""
        self._factor_systems()
        link = self.systems.link()
        newton.link_factor(link)
        return link

    def _predict(self, link: Floats, missing: Floats) -> Floats | None:
        """The direction to the optimum itself, all targets zero."""
        self.dr[:] = 0.0
        self.rest[:] = 0.0
        self.q[:] = self._over_rows(self.price)[None, :, None] - self.cost
        return self._direction(link, missing, np.zeros(len(self.sizes)))

    def _direction(self, link: Floats, missing: Floats, dp: Floats) -> Floats | None:
        """Correct dr by the residual in q, and the change dp of prices so that rows sum to 1; None if not finite."""

        def work(worker: Worker, low: int, high: int) -> None:
            worker.sums[:] = 0.0
            self.systems.apply(worker.thread, low, high, self.r, self.mask, self.q, shift, self.out, worker.sums)

        def finish(worker: Worker, low: int, high: int) -> None:
            work(worker, low, high)
            worker.sums[:] = 0.0
            newton.extend(low, high, self.out, self.dr, self.rest, worker.sums)

        shift = self._over_rows(dp)
        self._on_blocks(work)
        found = self._row_sums(self.dr) + sum(worker.sums.sum(axis=1) for worker in self.workers)
        dp = dp + newton.link_solve(link, missing - self._over_classes(found))
        shift = self._over_rows(dp)
        self._on_blocks(finish)
        lack = missing - self._over_classes(sum(worker.sums.sum(axis=1) for worker in self.workers))
        allowed = _IMBALANCE if self.systems is self.doubles else _SINGLE_IMBALANCE
        if np.abs(lack / self.sizes).max() > allowed:  # inverses far larger than what is left of their sums
            more = newton.link_solve(link, lack)
            self.q[:], shift, dp = 0.0, self._over_rows(more), dp + more
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
            low, high, self.first, self.second, self.decay, self.weight, self.share, self.heft, self.r, self.dr,
            self.lam, self.z, self.cost, self._over_rows(self.price), barrier, least, most, self.t, self.tr,
            self.q))  # fmt: skip

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
        self.kept[0][:], self.kept[1][:] = self.dr, self.rest
        prices = self._over_rows(self.price)
        self._on_blocks(lambda worker, low, high: newton.recentre(
            low, high, self.first, self.second, self.decay, self.weight, self.share, self.heft, self.r, self.dr,
            self.rest, self.lam, self.z, self.t, self.tr, self.cost, prices, primal, dual, least, most, self.t_new,
            self.tr_new, self.q))  # fmt: skip
        found = self._direction(link, missing, dp)
        longer = self._steps(self.t_new, self.tr_new) if found is not None else steps
        if found is None or sum(min(1.0, step) for step in longer) <= sum(full):
            self.dr, self.rest, self.kept = *self.kept, [self.dr, self.rest]
            return None
        self.t, self.t_new = self.t_new, self.t
        self.tr, self.tr_new = self.tr_new, self.tr
        return found, longer


class Worker:
    """Scratch memory of one thread."""

    def __init__(self, n: int, thread: int) -> None:
        self.thread = thread
        self.sums, self.stats = registers(n, LANES), registers(5, LANES)


def sparse_elimination(n: int, first: NDArray[np.int64], second: NDArray[np.int64], classes: int) -> Elimination | None:
    """An elimination that makes use of the pairs that are not there; None where that would take longer."""
    pairs = len(np.unique(np.minimum(first, second) * n + np.maximum(first, second)))
    if pairs > _SPARSE * n * n:
        return None
    shape = elimination(n, first, second)
    return shape if _SLOWER * sparse_work(shape, classes) < dense_work(n, classes) else None


def shifted(program: ColumnProgram) -> tuple[Floats, float, Floats]:
    """Costs from 0 on in each class and scaled to a total spread of 1; the scale, and what was subtracted in each row.

    The scale is 0 when every class has one cost only.
    """
    floor = np.full(len(program.sizes), np.inf)
    np.minimum.at(floor, program.row_classes, program.cost.min(axis=1))
    base: Floats = floor[program.row_classes]
    cost = program.cost - base[:, None]
    scale = float(cost.sum()) / program.shape[1]
    return cost / (scale or 1.0), scale, base


def column_sizes(cost: Floats, classes: NDArray[np.int64], sizes: Floats) -> Floats:
    """The share of rows for which each column is best, and a little of all: how large columns are at the start.

    That is one number for all columns of most programs; in those with classes, the lengths of the orbits of columns.
    """
    least = np.full(len(sizes), np.inf)
    np.minimum.at(least, classes, cost.min(axis=1))
    best = cost <= least[classes][:, None]
    rows = (sizes / np.bincount(classes, best.sum(axis=1)))[classes] @ best
    kept: Floats = np.maximum(rows, _SMALLEST_COLUMN * rows.max())
    kept /= kept.sum()
    return kept
