"""Columns in one cone that sum to one: a block interior-point method.

The program: n rows, m columns, minimise Σ_xy C_xy R_xy over R ≥ 0 whose rows sum to 1 and whose columns satisfy
R_xy ≤ e^{l_k} R_zy for a list of ordered pairs k = (x, z). The columns are m independent cones, linked only by the
n row sums, and Newton's equations fall apart the same way: one n × n system H_y for each column, one n × n system
Σ_y H_y⁻¹ for the prices of the rows. An iteration costs m Cholesky factorisations and a few passes over pairs and
columns, all compiled (:mod:`sfumato.lp.columns_newton`).

The iterates are feasible on both sides: R is always strictly inside the cones, and any Z ≥ 0 gives a lower bound
(:func:`column_bound`), so a run may be stopped at any time. Steps are those of Mehrotra (1992) with the
second-order term kept within bounds, then centrality correctors of Gondzio (1996). Floats throughout: the answer
is a proposal, and who needs a proof rounds the two matrices to a safe side.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from os import cpu_count
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InvalidInput, NotSupported, expect
from sfumato.lp import columns_newton as newton
from sfumato.lp.lanes import LANES
from sfumato.numbers import array, floats

__all__ = ["ColumnProgram", "ColumnProgress", "ColumnSolution", "Ending", "column_bound", "solve_columns"]

Floats = NDArray[np.float64]

_SMALLEST_LOG = 1e-9
# Slacks are differences of entries whose ratio may be e^l: below this nothing but rounding errors is left of them.

_LARGEST_COST = 1e250  # so that sums of all of them stay floats
_LARGEST_MEMORY = 2**35  # bytes of the arrays over pairs and columns
_MOST_ITERATIONS = 400
_LATE = 1e-2  # a gap at which the method does not recover from rounding errors any more
_PATIENCE = 12  # iterations in which the gap must fall by a tenth, or rounding has the upper hand
_SMALLEST_SCALE = 1e-6  # of the costs: relative gaps are not measured against values smaller than that
_WORTH_A_THREAD = 100_000  # pairs times columns: below, handing over takes longer than the work

_CENTRING = 0.3  # the most of the average product that is aimed at
_SECOND_ORDER = (-1.0, 10.0)  # bounds of the second-order term, in average products
_STEP = 0.98  # of the way to the boundary
_LONGER = 0.4  # by how much a corrector tries to make a step longer
_BOX = (0.1, 3.0)  # products at the longer step, in terms of the one aimed at


class Ending(StrEnum):
    """Why the iteration stopped."""

    REACHED = "the gap is small enough"
    STALLED = "rounding errors stopped it"
    TIME = "the time limit was reached"
    INTERRUPTED = "it was interrupted"


@dataclass(frozen=True, eq=False)
class ColumnProgram:
    """Minimise Σ C∘R over R ≥ 0 with row sums 1 and R_xy ≤ e^{l_k} R_zy for k = (x, z), in every column y.

    Parameters
    ----------
    cost
        C, one row a secret, one column an output; floats.
    first, second
        The ordered pairs x = first[k], z = second[k]; list both directions where both are meant.
    logs
        l_k > 0, at least 1e-9.

    Examples
    --------
    >>> program = ColumnProgram([[0, 1], [1, 0]], [0, 1], [1, 0], [1.0, 1.0])
    >>> program.shape
    (2, 2)
    """

    cost: Floats
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    logs: Floats

    def __post_init__(self) -> None:
        cost = floats(array(self.cost, "the cost of columns", 2))
        if not np.isfinite(cost).all():
            x, y = np.argwhere(~np.isfinite(cost))[0]
            raise InvalidInput(f"the cost of row {x} in column {y} is {cost[x, y]}: give finite costs")
        if np.abs(cost).max() > _LARGEST_COST:
            raise InvalidInput(f"costs reach {np.abs(cost).max():g}: scale them down to at most {_LARGEST_COST:g}")
        first, second = _indices(self.first, "first", len(cost)), _indices(self.second, "second", len(cost))
        logs = floats(array(self.logs, "the log bounds of pairs", 1)) if np.size(self.logs) else np.empty(0)
        if not len(first) == len(second) == len(logs):
            raise InvalidInput(
                f"pairs need lists of one length, found {len(first)} first ends, {len(second)} second ends "
                f"and {len(logs)} log bounds"
            )
        loops = np.flatnonzero(first == second)
        if loops.size:
            raise InvalidInput(f"pair {loops[0]} joins row {first[loops[0]]} to itself: leave it out")
        bad = np.flatnonzero(~((logs >= _SMALLEST_LOG) & np.isfinite(logs)))
        if bad.size:
            raise InvalidInput(
                f"the log bound of pair {bad[0]} is {logs[bad[0]]}, it must be finite and at least "
                f"{_SMALLEST_LOG:g}: merge rows that must be equal, leave out pairs without bound"
            )
        for name, value in (("cost", cost), ("first", first), ("second", second), ("logs", logs)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.cost.shape[0], self.cost.shape[1]


def _indices(ends: Any, what: str, n: int) -> NDArray[np.int64]:
    given = np.asarray(ends)
    if given.size == 0:
        return np.empty(0, dtype=np.int64)
    if given.dtype.kind not in "iu" or given.ndim != 1:
        raise InvalidInput(f"the {what} ends of pairs must be a list of row numbers, found {ends!r}")
    if given.min() < 0 or given.max() >= n:
        raise InvalidInput(
            f"the {what} ends of pairs must lie between 0 and {n - 1}, found {given.min()} … {given.max()}"
        )
    return given.astype(np.int64)


@dataclass(frozen=True)
class ColumnProgress:
    """Where a run stands after an iteration."""

    iteration: int
    value: float
    bound: float
    gap: float
    seconds: float


@dataclass(frozen=True, eq=False)
class ColumnSolution:
    """What :func:`solve_columns` found.

    Parameters
    ----------
    matrix
        R, strictly inside the cones; rows sum to 1 up to rounding.
    multipliers
        Z ≥ 0, one row a pair, one column a column of R: what :func:`column_bound` takes.
    value, bound
        Σ C∘R and the lower bound that Z gives, in floats.
    gap
        (value − bound) / |value|, or relative to a millionth of the costs if the value is smaller.
    iterations, seconds, ended
        How long it took and why it stopped.
    """

    matrix: Floats
    multipliers: Floats
    value: float
    bound: float
    gap: float
    iterations: int
    seconds: float
    ended: Ending


def column_bound(program: ColumnProgram, multipliers: Any) -> float:
    """The lower bound Σ_x min_y (C + AᵀZ)_xy that any Z ≥ 0 gives, in floats.

    A has the rows e^{−l_k} R_xy − R_zy ≤ 0. Since every row of R is a distribution and Z·AR ≤ 0,
    Σ C∘R ≥ Σ (C + AᵀZ)∘R ≥ Σ_x min_y (C + AᵀZ)_xy.

    Examples
    --------
    >>> program = ColumnProgram([[0, 1], [1, 0]], [0, 1], [1, 0], [1.0, 1.0])
    >>> column_bound(program, [[0, 0], [0, 0]])
    0.0
    >>> round(column_bound(program, [[0.7, 0], [0, 0.7]]), 4)
    0.515
    """
    given = floats(array(multipliers, "the multipliers", 2)) if len(program.first) else np.zeros((0, program.shape[1]))
    if given.shape != (len(program.first), program.shape[1]):
        raise InvalidInput(
            f"{len(program.first)} pairs and {program.shape[1]} columns, but multipliers of shape {given.shape}"
        )
    if (given < 0).any():
        raise InvalidInput(f"multipliers must not be negative, found {given.min()}")
    reduced = program.cost.copy()
    np.add.at(reduced, program.first, np.exp(-program.logs)[:, None] * given)
    np.subtract.at(reduced, program.second, given)
    return float(reduced.min(axis=1).sum())


def solve_columns(
    program: ColumnProgram,
    *,
    tolerance: float = 1e-4,
    time_limit: float | None = None,
    progress: Callable[[ColumnProgress], object] | None = None,
) -> ColumnSolution:
    """Minimise over columns in one cone that sum to one, with a lower bound from the multipliers.

    Parameters
    ----------
    tolerance
        Relative gap at which to stop. 1e-9 is within reach of most programs.
    time_limit
        Seconds after which to stop, checked after each iteration.
    progress
        Called after each iteration. Raising ``KeyboardInterrupt`` in it (or pressing Ctrl-C) ends the
        run with the best point so far; ``ended`` says so.

    Examples
    --------
    Two secrets, e^l = 3: the best R tells the truth three times out of four.

    >>> import numpy as np
    >>> program = ColumnProgram([[0, 1], [1, 0]], [0, 1], [1, 0], np.log([3.0, 3.0]))
    >>> found = solve_columns(program, tolerance=1e-8)
    >>> found.matrix.round(6).tolist(), round(found.value, 6), round(found.bound, 6)
    ([[0.75, 0.25], [0.25, 0.75]], 0.5, 0.5)
    """
    program = expect(program, ColumnProgram, "a program over columns", "ColumnProgram(cost, first, second, logs)")
    if not tolerance > 0:
        raise InvalidInput(f"the tolerance is a positive relative gap, found {tolerance}")
    if time_limit is not None and not time_limit > 0:
        raise InvalidInput(f"the time limit is a positive number of seconds, found {time_limit}")
    start = perf_counter()
    n, m = program.shape
    spread = float((program.cost - program.cost.min(axis=1, keepdims=True)).sum()) / m
    if spread == 0 or m == 1:
        value = float(program.cost.min(axis=1).sum())
        return ColumnSolution(np.full((n, m), 1.0 / m), np.zeros((len(program.first), m)), value, value, 0.0, 0,
                              perf_counter() - start, Ending.REACHED)  # fmt: skip
    method = _BlockNewton(program, spread)
    best, matrix = np.inf, method.matrix()
    ended, iterations, gaps = Ending.STALLED, 0, [np.inf]
    try:
        while iterations < _MOST_ITERATIONS and method.iterate():
            iterations += 1
            current, value, bound = method.matrix(), *method.standing()
            if value < best:
                best, matrix = value, current
            gaps.append(method.relative(value, bound))
            seconds = perf_counter() - start
            if progress is not None:
                progress(ColumnProgress(iterations, value, bound, gaps[-1], seconds))
            if _LATE > gaps[-1] > gaps[-2] and method.is_spoilt(value, bound):
                method.go_back()
            elif gaps[-1] <= tolerance:
                ended = Ending.REACHED
            elif time_limit is not None and seconds >= time_limit:
                ended = Ending.TIME
            elif min(gaps[-_PATIENCE:]) < 0.9 * min(gaps[:-_PATIENCE], default=np.inf):
                continue
            break
    except KeyboardInterrupt:
        ended = Ending.INTERRUPTED
    finally:
        method.close()
    value, bound = float((program.cost * matrix).sum()), method.standing()[1]
    if ended is Ending.STALLED and method.relative(value, bound) <= tolerance:
        ended = Ending.REACHED
    return ColumnSolution(matrix, method.multipliers(), value, bound, method.relative(value, bound), iterations,
                          perf_counter() - start, ended)  # fmt: skip


class _BlockNewton:
    """The iterate and the arrays of one run; costs are shifted to row minima 0 and scaled to a total spread of 1."""

    def __init__(self, program: ColumnProgram, spread: float) -> None:
        n, m = program.shape
        self.n, self.m, self.scale, self.floor = n, m, spread, program.cost.min(axis=1)
        self.magnitude = _SMALLEST_SCALE * float(np.abs(program.cost).max(axis=1).sum())
        # entries of the lower triangle are visited in order, so the matrix streams past once
        low, high = np.minimum(program.first, program.second), np.maximum(program.first, program.second)
        self.order = np.lexsort((low, high))
        self.first, self.second = program.first[self.order], program.second[self.order]
        logs = program.logs[self.order]
        self.decay = np.exp(-logs)
        blocks, pairs, size = -(-m // LANES), len(logs), -(-n // 4) * 4
        self.lanes = np.concatenate([np.arange(m), np.zeros(blocks * LANES - m, dtype=np.int64)])
        self.mask = (np.arange(blocks * LANES) < m).astype(np.float64).reshape(blocks, LANES)
        threads = min(cpu_count() or 1, blocks) if pairs * m >= _WORTH_A_THREAD else 1
        memory = 8 * blocks * LANES * (3 * pairs + n * n // 2 + 11 * n) + 24 * threads * LANES * size * size
        if memory > _LARGEST_MEMORY:
            raise NotSupported(f"{pairs} pairs in {m} columns ({memory / 2**30:.0f} GiB)",
                               [f"programs that fit into {_LARGEST_MEMORY // 2**30} GiB"])  # fmt: skip
        cost = (program.cost - self.floor[:, None]) / spread
        self.cost = self._in_lanes(cost)
        self._choose_weights(cost, logs)
        self._start(cost, logs, blocks)
        self.q, self.out, self.dr, self.rest, self.pull_before = (np.zeros_like(self.r) for _ in range(5))
        self.t, self.t_new = np.zeros_like(self.z), np.zeros_like(self.z)
        self.tr, self.tr_new = np.zeros_like(self.r), np.zeros_like(self.r)
        self.roots = np.zeros((blocks, n * (n + 1) // 2, LANES))
        self.workers = [_Worker(n, size) for _ in range(threads)]
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

    def _on_blocks(self, work: Callable[[_Worker, int, int], None]) -> None:
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

        def work(worker: _Worker, low: int, high: int) -> None:
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

        def work(worker: _Worker, low: int, high: int) -> None:
            worker.sums[:] = 0.0
            newton.apply(low, high, self.roots, self.q, dp, self.out, worker.sums, worker.work)

        def finish(worker: _Worker, low: int, high: int) -> None:
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

        def work(worker: _Worker, low: int, high: int) -> None:
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

        def work(worker: _Worker, low: int, high: int) -> None:
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


class _Worker:
    """Scratch memory of one thread."""

    def __init__(self, n: int, size: int) -> None:
        self.w, self.v, self.square = (np.zeros((size, size, LANES)) for _ in range(3))
        self.excess, self.least = np.zeros((size, LANES)), np.zeros((size, LANES))
        self.sums, self.work = np.zeros((n, LANES)), np.zeros((n, LANES))
        self.stats = np.zeros((5, LANES))
