"""The iterate of :mod:`sfumato.lp.cone.lanes`: columns side by side in the lanes of registers, for the one loop.

One system H_y for each column (dense, in single precision or sparse), and Σ_y H_y⁻¹ for the prices of the rows, which
links them. Costs are shifted and scaled to a total spread of 1. All passes over pairs and columns are compiled
(:mod:`sfumato.lp.cone.lanes_passes`) and shared among threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sfumato.lp.cone import cholesky
from sfumato.lp.cone import lanes_passes as passes
from sfumato.lp.cone.elimination import Elimination, elimination
from sfumato.lp.cone.lanes_dense import DenseSystems, dense_work
from sfumato.lp.cone.lanes_sparse import SparseSystems, sparse_work
from sfumato.lp.cone.loop import Predicted, Steps, Tuning, longest, step
from sfumato.lp.cone.products import column_weights, pair_weights, row_weights
from sfumato.lp.cone.program import (
    SMALLER_PROBLEMS,
    ColumnProgram,
    Start,
    least_of_classes,
    relative_gap,
    smallest_value,
)
from sfumato.lp.cone.registers import LANES, registers
from sfumato.memory import check_memory
from sfumato.numbers import Floats, Integers
from sfumato.threads import cores
from sfumato.watch import Watch

_WORTH_A_THREAD = 100_000  # Pairs times columns for each thread: below, handing over takes longer than the work.
_SPARSE = 0.1  # The share of all ordered pairs above which a sparse elimination is not even looked for.
_SLOWER = 2.0  # A product takes so many times longer in a sparse system than in a dense one.
# Single precision does for the systems while the gap is above this, since slacks are not small beside their entries.
_SINGLE = 5e-3
_SINGLE_ROWS = 150  # Single precision is sooner through from so many rows on.
# Single precision needs log bounds at least as large: no slack is larger than this part of its entries.
_SINGLE_LOG = 0.02
_LOOK = 2e9  # Products between two looks at the watch: about a second.
_SHORT = 0.02  # After a step in single precision that is shorter than this, rounding errors are suspected.
_CAUTION = 0.2  # The share of the constant start that is mixed into a given one.
# What a row may lack, relative to its sum, in double and in single precision. Steps would add up larger errors; those
# of single precision are corrected by the steps that follow.
_IMBALANCE, _SINGLE_IMBALANCE = 1e-13, 1e-5
# The weight of a column that vanishes, and its size at the start, in terms of an average one and of the largest.
_SMALLEST_COLUMN = 1e-3
# A pivot of the linking matrix below this part of its diagonal has lost all its digits: its price is left as it is.
_LOST = 2.0**-52


class LanesIterate:
    """The iterate and the arrays of one run."""

    def __init__(self, program: ColumnProgram, start: Start | None = None, watch: Watch | None = None) -> None:
        n, m = program.shape
        self.n, self.m, self.watch = n, m, watch or Watch()
        # A corrector costs passes over pairs, a factorisation n times as much; a third one saves hardly an iteration.
        self.tuning = Tuning(correctors=min(1 + n // 100, 2))
        cost, self.scale, base = shifted_costs(program)
        self.base, self.smallest_value = float(base.sum()), smallest_value(program.cost)
        shape = sparse_elimination(n, program.first, program.second, len(program.sizes))
        self.rows = np.arange(n) if shape is None else shape.order
        self.places = np.argsort(self.rows)
        cost, first, second = cost[self.rows], self.places[program.first], self.places[program.second]
        self._number_classes(program.row_classes[self.rows])
        # entries of the lower triangle are visited in order, so the matrix streams past once
        self.order = np.lexsort((np.minimum(first, second), np.maximum(first, second)))
        logs, itself = program.logs[self.order], np.arange(n)  # last, every row is beside itself, for r ≥ 0
        self.first, self.second = (np.concatenate([ends[self.order], itself]) for ends in (first, second))
        self.decay = np.concatenate([np.exp(-logs), np.zeros(n)])
        self._pairs = self.first, self.second, self.decay
        blocks, pairs = -(-m // LANES), len(logs)
        self.lanes = np.concatenate([np.arange(m), np.zeros(blocks * LANES - m, dtype=np.int64)])
        self.mask = (np.arange(blocks * LANES) < m).astype(np.float64).reshape(blocks, LANES)
        threads = max(1, min(cores(), blocks, pairs * m // _WORTH_A_THREAD))
        # one array over pairs and columns more than those made here: multipliers that are kept, and the result
        memory = 8 * blocks * LANES * (4 * pairs + 19 * n)
        memory += (
            DenseSystems.memory(n, blocks, threads) if shape is None else SparseSystems.memory(shape, blocks, threads)
        )
        check_memory(memory, f"the block method for {pairs} pairs of rows in {m} columns", SMALLER_PROBLEMS)
        self.cost = self._in_lanes(cost)
        self._choose_weights(cost, logs)
        self._start(cost, logs, blocks)
        if start is not None:
            self._continue(start)
        self.q, self.out, self.dr, self.rest, self.adjoint_before = (registers(*self.r.shape) for _ in range(5))
        self.direction_before = [registers(*self.r.shape) for _ in range(2)]
        self.best = registers(*self.r.shape)
        self.t, self.t_new = registers(*self.z.shape), registers(*self.z.shape)
        self.remember()
        self.best_z: Floats | None = None  # the multipliers of the largest bound, where they are not the present ones
        self.highest = -np.inf
        self.systems: DenseSystems | SparseSystems = (
            DenseSystems(n, blocks, self.classes, threads)
            if shape is None
            else SparseSystems(shape, blocks, self.classes, self.first, self.second, threads)
        )
        self.doubles = self.systems
        if isinstance(self.doubles, DenseSystems) and n >= _SINGLE_ROWS and logs.min(initial=1.0) >= _SINGLE_LOG:
            self.systems = DenseSystems(n, blocks, self.classes, threads, single=True)
        self.workers = [Worker(n, thread) for thread in range(threads)]
        # two blocks are one in single precision
        self.edges = [*(2 * np.linspace(0, blocks // 2, threads + 1).astype(int)[:-1]).tolist(), blocks]
        self.pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        work = dense_work(n, len(self.sizes)) if shape is None else sparse_work(shape, len(self.sizes))
        self.stride = 2 * max(1, int(_LOOK / (2 * LANES * max(work, 1))))  # blocks that are factored at a time

    def _number_classes(self, classes: Integers) -> None:
        """Number the classes in the order of their first rows."""
        leaders = np.unique(classes, return_index=True)[1]
        rank = np.empty(len(leaders), dtype=np.int64)
        rank[np.argsort(leaders)] = np.arange(len(leaders))
        self.classes: Integers = rank[classes]
        self.sizes = np.bincount(self.classes).astype(np.float64)

    def _over_classes(self, values: Floats) -> Floats:
        """Sums of a number for each row over the rows of each class."""
        return values if len(self.sizes) == self.n else np.bincount(self.classes, values).astype(np.float64)

    def _over_rows(self, prices: Floats) -> Floats:
        """The price of each row, that of its class."""
        return prices[self.classes]

    def _choose_weights(self, cost: Floats, logs: Floats) -> None:
        first, second, _ = self._bounds
        nearest = np.full(self.n, np.inf)
        np.minimum.at(nearest, first, logs)
        self.row_weight = row_weights(cost.mean(axis=1))
        self.pair_weight = pair_weights(self.row_weight[first], self.row_weight[second], logs, nearest)
        self._weights = np.concatenate([self.pair_weight, self.row_weight])
        self.weight = self.m * float(self._weights.sum())

    def _start(self, cost: Floats, logs: Floats, blocks: int) -> None:
        """Constant columns, which are strictly inside every cone, and multipliers that make them nearly central."""
        mu = 1.0 / self.weight
        z = mu * self.m * self.pair_weight / -np.expm1(-logs)
        adjoint = self._adjoint(z)
        margin = mu * self.m * self.row_weight
        self.r, self.adjoint = registers(blocks, self.n, LANES), registers(blocks, self.n, LANES)
        self.z, self.column_weight = registers(blocks, len(z) + self.n, LANES), registers(blocks, LANES)
        columns = column_sizes(cost, self.classes, self.sizes)[self.lanes].reshape(blocks, 1, LANES)
        self.r[:], self.adjoint[:] = columns, adjoint[:, None]
        for block in self.z:  # gigabytes, some of them
            self.watch.check()
            block[: len(z)] = z[:, None]
        self.price = least_of_classes(-adjoint - margin, self.classes)
        self.lam[:] = self._in_lanes(cost - (adjoint + self._over_rows(self.price))[:, None])

    @property
    def lam(self) -> Floats:
        """λ, the multipliers of r ≥ 0."""
        return self.z[:, -self.n :]

    @property
    def _bounds(self) -> tuple[Integers, Integers, Floats]:
        """The pairs of different rows."""
        return self.first[: -self.n], self.second[: -self.n], self.decay[: -self.n]

    def _adjoint(self, z: Floats) -> Floats:
        """Gᵀz of one column, without λ."""
        first, second, decay = self._bounds
        return np.asarray(np.bincount(second, z, self.n) - np.bincount(first, decay * z, self.n))

    def _continue(self, start: Start) -> None:
        """Begin at a point of a similar program instead, mixed with the constant one, with products of one size.

        Where its columns are not inside the cones of this one even then, the constant start remains.
        """
        inside = (1 - _CAUTION) * self._in_lanes(start.matrix[self.rows]) + _CAUTION * self.r
        if any((block[self.second] <= self.decay[:, None] * block[self.first]).any() for block in inside):
            return
        mu = _CAUTION * _CAUTION / self.weight
        self.r[:] = inside
        given = np.maximum(start.multipliers, 0.0)[self.order] / self.scale
        first, second, decay = self._bounds
        for b, block in enumerate(self.r):
            slack = block[second] - decay[:, None] * block[first]
            z = given[:, self.lanes[b * LANES : (b + 1) * LANES]] + mu * self.pair_weight[:, None] / slack
            self.z[b, : len(z)] = z
            self.adjoint[b] = np.transpose([self._adjoint(lane) for lane in z.T])
        self._reprice(mu)

    def _reprice(self, mu: float) -> None:
        """Prices that leave products of size ``mu`` to the entries, and λ > 0 to match."""
        reduced, least = self._reduced()
        self.price = least_of_classes(least - mu * self.m * self.row_weight, self.classes)
        self.lam[:] = reduced - self._over_rows(self.price)[None, :, None]

    def _reduced(self) -> tuple[Floats, Floats]:
        """Reduced costs C − Gᵀz, and the least of each row."""
        reduced = self.cost - self.adjoint
        return reduced, np.where(self.mask[:, None, :] > 0, reduced, np.inf).min(axis=(0, 2))

    def _in_lanes(self, table: Floats) -> Floats:
        """n × m into blocks of lanes; the last block is filled up with copies of column 0, which are masked."""
        blocks = registers(len(self.mask), len(table), LANES)
        blocks[:] = table[:, self.lanes].reshape(len(table), -1, LANES).transpose(1, 0, 2)
        return blocks

    def _from_lanes(self, blocks: Floats) -> Floats:
        table = blocks.transpose(1, 0, 2).reshape(blocks.shape[1], len(blocks) * LANES)[:, : self.m]
        return np.ascontiguousarray(table)[self.places]

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

    def midway(self) -> Start:
        """The present R and Z."""
        return Start(self._from_lanes(self.r), self._listed(self.z))

    def matrix(self) -> Floats:
        """The best R so far."""
        return self._from_lanes(self.best)

    def multipliers(self) -> Floats:
        """The best Z so far, in the order and scale of the program."""
        return self._listed(self.z if self.best_z is None else self.best_z)

    def _listed(self, blocks: Floats) -> Floats:
        result = np.empty((len(self.order), self.m))
        for b, block in enumerate(blocks):  # one at a time: no second array of this size
            columns = slice(b * LANES, min(b * LANES + LANES, self.m))
            result[self.order, columns] = self.scale * block[: -self.n, : columns.stop - columns.start]
        return result

    def standing(self) -> tuple[float, float]:
        """Value and bound of the present iterate."""
        value = float(np.einsum("bxl,bxl,bl->", self.cost, self.r, self.mask))
        return self.base + self.scale * value, self.base + self.scale * self._bound()

    def _bound(self) -> float:
        """The lower bound that the present multipliers give, in the scale of the iterate."""
        return float(self.sizes @ least_of_classes(self._reduced()[1], self.classes))

    def relative(self, value: float, bound: float) -> float:
        """The relative gap."""
        return relative_gap(value, bound, self.smallest_value)

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
            if self.relative(*self.standing()) > _SINGLE and step(self, self.tuning) > _SHORT:
                return True
            self.systems = self.doubles
        return step(self, self.tuning) > 0

    def factor(self) -> bool:
        """Weigh columns by how much is left of them, factor every H_y, and what links them."""
        self.column_weight[:] = column_weights(self.m * self.r.mean(axis=1), _SMALLEST_COLUMN, self.mask)

        def work(worker: Worker, low: int, high: int) -> None:
            for start in range(low, high, self.stride):
                self.watch.check()
                self.systems.factor(worker.thread, start, min(start + self.stride, high), *self._pairs, self.r,
                                    self.z, self.adjoint, self.mask)  # fmt: skip

        self.systems.clear()
        self._on_blocks(work)
        self.missing = self.sizes - self._over_classes(self._row_sums(self.r))
        return self._factor_links()

    def _row_sums(self, table: Floats) -> Floats:
        """Sums over columns."""
        sums: Floats = np.einsum("bxl,bl->x", table, self.mask)
        return sums

    def _factor_links(self) -> bool:
        """Factor Σ H_y⁻¹."""
        self.link = self.systems.link()
        cholesky.factor(self.link, _LOST * np.diagonal(self.link), True)
        return True

    def predict(self) -> bool:
        """Find the direction to the optimum itself, all targets zero."""
        self.dr[:] = 0.0
        self.rest[:] = 0.0
        self.q[:] = self._over_rows(self.price)[None, :, None] - self.cost
        self.dp = np.zeros(len(self.sizes))
        return self._direct()

    def _direct(self) -> bool:
        """Correct the direction by the residual in q, with prices that give rows what they lack; whether it is finite.

        Where inverses are far larger than what is left of their sums, a second correction is needed.
        """
        self._apply(self.dp)
        self._correct_links(applied=True)
        self._apply(self.dp, extends=True)
        lacking = self._lacking()
        allowed = _IMBALANCE if self.systems is self.doubles else _SINGLE_IMBALANCE
        if np.abs(lacking / self.sizes).max() > allowed:
            before, self.q[:] = self.dp, 0.0
            self._correct_links(applied=False)
            self._apply(self.dp - before, extends=True)
            lacking = self._lacking()
        return bool(np.isfinite(lacking.sum() + self.dp.sum()))

    def _correct_links(self, applied: bool) -> None:
        """Change prices by what rows lack with the direction, and with what was ``applied`` beside it."""
        lacking = self._lacking()
        if applied:
            lacking = lacking - self._over_classes(self._row_sums(self.dr))
        self.dp = self.dp + cholesky.factor_solved(self.link, lacking)

    def _lacking(self) -> Floats:
        """What rows lack with the sums that have just been made."""
        return self.missing - self._over_classes(np.asarray(sum(worker.sums.sum(axis=1) for worker in self.workers)))

    def _apply(self, prices: Floats, *, extends: bool = False) -> None:
        """H⁻¹(q + prices) for every column, added to the direction if it ``extends`` that one, and the sums of rows."""
        shift = self._over_rows(prices)

        def work(worker: Worker, low: int, high: int) -> None:
            worker.sums[:] = 0.0
            self.systems.apply(worker.thread, low, high, self.r, self.mask, self.q, shift, self.out, worker.sums)
            if extends:  # the rounding error of the sum is kept
                worker.sums[:] = 0.0
                passes.extend(low, high, self.out, self.dr, self.rest, worker.sums)

        self._on_blocks(work)

    def predicted(self) -> Predicted:
        """Measure the direction of the predictor."""
        ratios, sums = self._measured(lambda low, high, stats: passes.measure_predictor(
            low, high, *self._pairs, self.r, self.dr, self.z, self.mask, stats))  # fmt: skip
        return Predicted.from_ratios(*ratios, *sums)

    def _measured(self, measure: Callable[[int, int, Floats], None]) -> tuple[list[float], list[float]]:
        """The largest ratios −ds/s and −dz/z of all blocks, and sums of three numbers."""

        def work(worker: Worker, low: int, high: int) -> None:
            worker.stats[:] = 0.0
            measure(low, high, worker.stats)

        self._on_blocks(work)
        stats = np.array([worker.stats for worker in self.workers])
        return stats[:, :2].max(axis=(0, 2)).tolist(), stats[:, 2:].sum(axis=(0, 2)).tolist()

    def aim(self, target: float, least: float, most: float) -> bool:
        """Find the direction to products ``target`` less the second-order term."""
        self._on_blocks(lambda worker, low, high: passes.aim(
            low, high, *self._pairs, self._weights, self.column_weight, self.r, self.dr, self.z, self.cost,
            self._over_rows(self.price), target, least, most, self.t, self.q))  # fmt: skip
        return self._direct()

    def steps(self) -> Steps:
        """How far the direction may go to the boundary."""
        return self._steps(self.t)

    def _steps(self, t: Floats) -> Steps:
        """The same for targets t."""
        ratios, _ = self._measured(lambda low, high, stats: passes.measure(
            low, high, *self._pairs, self.r, self.dr, self.rest, self.z, t, stats))  # fmt: skip
        return longest(*ratios)

    def recentre(self, steps: Steps, longer: Steps, least: float, most: float) -> Steps | None:
        """Correct the direction for longer steps; None, and it is what it was, where they would not be."""
        prices, before = self._over_rows(self.price), self.dp
        self.direction_before[0][:], self.direction_before[1][:] = self.dr, self.rest
        self._on_blocks(lambda worker, low, high: passes.recentre(
            low, high, *self._pairs, self._weights, self.column_weight, self.r, self.dr, self.rest, self.z, self.t,
            self.cost, prices, *longer, least, most, self.t_new, self.q))  # fmt: skip
        corrected = self._steps(self.t_new) if self._direct() else steps
        if not corrected.exceed(steps):
            self.dr, self.rest, self.direction_before = *self.direction_before, [self.dr, self.rest]
            self.dp = before
            return None
        self.t, self.t_new = self.t_new, self.t
        return corrected

    def advance(self, primal: float, dual: float) -> None:
        """Take the step; the multipliers before it stay beside the new ones until the next."""
        self._on_blocks(lambda worker, low, high: passes.advance(
            low, high, *self._pairs, self.r, self.dr, self.rest, self.z, self.t, primal, dual, self.t_new,
            self.adjoint_before))  # fmt: skip
        self.z, self.t_new = self.t_new, self.z
        self.adjoint, self.adjoint_before = self.adjoint_before, self.adjoint
        self.price = self.price + dual * self.dp


class Worker:
    """Scratch memory of one thread."""

    def __init__(self, n: int, thread: int) -> None:
        self.thread = thread
        self.sums, self.stats = registers(n, LANES), registers(5, LANES)


def sparse_elimination(n: int, first: Integers, second: Integers, classes: int) -> Elimination | None:
    """An elimination that makes use of the pairs that are not there; None where that would take longer."""
    pairs = len(np.unique(np.minimum(first, second) * n + np.maximum(first, second)))
    if pairs > _SPARSE * n * n:
        return None
    shape = elimination(n, first, second)
    return shape if _SLOWER * sparse_work(shape, classes) < dense_work(n, classes) else None


def shifted_costs(program: ColumnProgram) -> tuple[Floats, float, Floats]:
    """Costs from 0 on in each class and scaled to a total spread of 1; the scale, and what was subtracted in each row.

    The scale is 0 when every class has one cost only.
    """
    floor = least_of_classes(program.cost.min(axis=1), program.row_classes)
    base: Floats = floor[program.row_classes]
    cost = program.cost - base[:, None]
    scale = float(cost.sum()) / program.shape[1]
    return cost / (scale or 1.0), scale, base


def column_sizes(cost: Floats, classes: Integers, sizes: Floats) -> Floats:
    """The share of rows for which each column is best, and a little of all: how large columns are at the start.

    That is one number for all columns of most programs; in those with classes, the lengths of the orbits of columns.
    """
    least = least_of_classes(cost.min(axis=1), classes)
    best = cost <= least[classes][:, None]
    rows = (sizes / np.bincount(classes, best.sum(axis=1)))[classes] @ best
    kept: Floats = np.maximum(rows, _SMALLEST_COLUMN * rows.max())
    kept /= kept.sum()
    return kept
