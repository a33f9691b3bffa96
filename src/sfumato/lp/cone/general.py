"""Columns under linear rows and second-order cones: a block interior-point method.

For a :class:`~sfumato.lp.cone.blocks.BlockProgram` the columns are linked by their sums only, and Newton's equations
fall apart the same way: one n × n system H_y = Σ Gᵀ W_y⁻² G for each column, with the scaling W of Nesterov and Todd
for every block and for the entries r ≥ 0, and one system Σ_y A H_y⁻¹ Aᵀ for the prices of the sums. The loop is that of
:mod:`sfumato.lp.cone.loop`. What it asks is answered strip by strip (:mod:`sfumato.lp.cone.strips`): operations on
whole arrays over cones and columns, and compiled systems with entries near the diagonal
(:mod:`sfumato.lp.cone.banded`).

R is always strictly inside the cones, and duals in the cones give a lower bound
(:func:`~sfumato.lp.cone.blocks.blocks_bound`), so a run may be stopped at any time. Floats throughout: the answer is a
proposal, and who needs a proof rounds both sides to a safe place.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add
from os import cpu_count
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from sfumato.errors import NotConverged, expect
from sfumato.lp.cone import cholesky
from sfumato.lp.cone.banded import Bands
from sfumato.lp.cone.blocks import BlockProgram, BlockSolution, blocks_bound
from sfumato.lp.cone.loop import Predicted, Steps, Tuning, longest, step
from sfumato.lp.cone.program import Ending, check_tolerance, relative_gap
from sfumato.lp.cone.registers import LANES
from sfumato.lp.cone.run import Progress, Run, guarded
from sfumato.lp.cone.second_order import inverse
from sfumato.lp.cone.strips import Forms, Strip
from sfumato.lp.cone.weights import row_weights
from sfumato.memory import check_room
from sfumato.numbers import Floats, Integers
from sfumato.watch import Watch, watch_of

Result = TypeVar("Result")

_MOST_ITERATIONS = 400
# A relative error of sums up to this one is taken for rounding.
_BALANCED = 1e-9
# What sums lack after a direction is found is corrected at most so often, and not below this part of a total.
_REFINEMENTS, _IMBALANCE = 3, 1e-13
# Relative gaps are not measured against values smaller than this part of the costs.
_SMALLEST_SCALE = 1e-6
# A column that vanishes has at least this weight, in terms of an average one.
_SMALLEST_COLUMN = 1e-3
# A pivot of the links below this part of its diagonal entry has lost all digits; its price is left as it is.
_LOST = 2.0**-52
# All forms of a strip of columns take about so many bytes: larger arrays leave the cache, smaller ones cost more calls.
_STRIP = 2**21
# With fewer forms times columns than this, handing work to a thread takes longer than the work.
_WORTH_A_THREAD = 50_000
# A step that rounding puts on the boundary is halved at most so often.
_HALVINGS = 6
_SMALLER = ("fewer columns", "a coarser lattice")
_TUNING = Tuning()


def solve_blocks(
    program: BlockProgram,
    *,
    tolerance: float = 1e-4,
    time_limit: float | Watch | None = None,
    progress: Progress | None = None,
) -> BlockSolution:
    """Minimise over columns under linear rows and second-order cones, with a lower bound from the duals.

    Parameters
    ----------
    tolerance
        Relative gap at which to stop. 1e-6 is within reach of most programs.
    time_limit, progress
        As for :func:`~sfumato.lp.cone.lanes.solve_columns`.

    Raises
    ------
    NotConverged
        If the run ended before it had met a point with the given sums, as it must where there is none.

    Examples
    --------
    Two secrets and |r₀ − r₁| ≤ (r₀ + r₁)/2: the best R tells the truth three times out of four.

    >>> program = BlockProgram([[0, 1], [1, 0]], [([[0.5, 0.5]], [[1, -1]])])
    >>> solution = solve_blocks(program, tolerance=1e-8)
    >>> solution.matrix.round(6).tolist(), round(solution.value, 6), round(solution.bound, 6)
    ([[0.75, 0.25], [0.25, 0.75]], 0.5, 0.5)
    """
    run = Run(watch_of(time_limit), _MOST_ITERATIONS, progress=progress)
    expect(program, BlockProgram, "a program of blocks", "BlockProgram(cost, blocks)")
    check_tolerance(tolerance)
    best = _Best(program, BlockIterate(program, run.watch), run, tolerance)
    try:
        ended = guarded(lambda: run.until(best.step, best.judged))
    finally:
        best.method.close()
    return best.result(ended)


class _Best:
    """The best point and the best duals so far."""

    def __init__(self, program: BlockProgram, method: BlockIterate, run: Run, tolerance: float) -> None:
        self.program, self.method, self.run, self.tolerance = program, method, run, tolerance
        self.value, self.bound = np.inf, -np.inf
        self.matrix: Floats | None = None
        self.duals: tuple[Floats, ...] = ()
        self.smallest = _SMALLEST_SCALE * float(program.totals @ -program.least(-np.abs(program.cost))) or 1.0
        self._remember()

    def _remember(self) -> float:
        """Keep what is better than before; how far the present point is from an optimum with the right sums."""
        value, bound = self.method.standing()
        if self.method.lack <= _BALANCED and value < self.value:
            self.value, self.matrix = value, self.method.matrix()
        if bound > self.bound:
            self.bound, self.duals = bound, self.method.duals()
        return abs(relative_gap(value, bound, self.smallest)) + self.method.lack

    def step(self) -> bool:
        """Take a step; whether there was one."""
        with np.errstate(all="ignore"):  # a direction that is not finite is refused
            return step(self.method, _TUNING) > 0

    def judged(self) -> tuple[float, Ending | None]:
        """How far the present point is from an optimum, and whether the gap between the best is small enough."""
        distance = self._remember()
        gap = np.inf if self.matrix is None else relative_gap(self.value, self.bound, self.smallest)
        self.run.stands(self.value, self.bound, gap)
        return distance, Ending.REACHED if gap <= self.tolerance else None

    def result(self, ended: Ending) -> BlockSolution:
        """The best point and the best duals."""
        if self.matrix is None:
            raise NotConverged(
                f"after {self.run.iterations} iterations ({ended}) the sums are still off by {self.method.lack:.1e} of "
                f"their totals; the value is at least {self.bound:g}",
                gap=np.inf,
            )
        value, bound = float((self.program.cost * self.matrix).sum()), blocks_bound(self.program, self.duals)
        gap = relative_gap(value, bound, self.smallest)
        return BlockSolution(self.matrix, self.duals, value, bound, gap, self.run.iterations, self.run.seconds, ended)


class BlockIterate:
    """The iterate of one run; costs are shifted and scaled: the least is 0, and the start has a value of about 1."""

    def __init__(self, program: BlockProgram, watch: Watch) -> None:
        self.order = _narrow_order(program)
        self.program = program = _reordered(program, self.order)
        self.watch = watch
        self.floor = program.least(program.cost)
        cost = program.cost - (program.sums.T @ self.floor)[:, None]
        r = program.inside[:, None] * _column_sizes(program, cost)
        # What is left of costs without a choice is rounding error, and no scale. A power of two changes no digits, so
        # that duals are inside their cones in the program's scale too.
        stake = max(float((cost * r).sum()), _SMALLEST_SCALE**2 * float((np.abs(program.cost) * r).sum())) or 1.0
        self.scale = float(2.0 ** np.round(np.log2(stake)))
        cost /= self.scale
        forms = Forms(program, row_weights(cost.mean(axis=1)))
        n, m = program.shape
        self.weight = m * float(sum(weight.sum() for weight in forms.weights))
        components = sum(d * count for d, count in forms.shapes)
        check_room(8 * m * (n * (forms.width + 12) + 12 * components),
                   f"the block method for {n} rows, {components} forms and {m} columns", _SMALLER)  # fmt: skip
        threads = (cpu_count() or 1) if components * m >= _WORTH_A_THREAD else 1
        wide = max(1, min(_STRIP // (8 * components), m // threads) // LANES) * LANES
        self._start(forms, cost, r, [slice(low, low + wide) for low in range(0, m, wide)])
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self.scratch = [(Bands.scratch(n), np.zeros((n, n))) for _ in range(threads)]
        self.link = np.empty((0, 0))

    def _start(self, forms: Forms, cost: Floats, r: Floats, parts: list[slice]) -> None:
        """Columns that are multiples of the one inside, and duals that make them nearly central."""
        m = self.program.shape[1]
        slacks = forms.of(self.program.inside[:, None])
        z = [inverse(s) * weight * (m / self.weight) for s, weight in zip(slacks, forms.weights, strict=True)]
        reduced = cost - forms.pulled([np.zeros_like(z[0]), *z[1:]])
        self.price = self.program.least(reduced - z[0][0])
        entries = (reduced - (self.program.sums.T @ self.price)[:, None])[None]
        self.strips = []
        for part in parts:
            duals = [
                entries[:, :, part],
                *(np.broadcast_to(block, (*block.shape[:2], m))[:, :, part] for block in z[1:]),
            ]
            costs, columns = (np.ascontiguousarray(table[:, part]) for table in (cost, r))
            self.strips.append(Strip(forms, costs, columns, [np.ascontiguousarray(part) for part in duals]))
        self.dp = np.zeros_like(self.price)
        self.missing = self._missing()

    def _each(self, work: Callable[..., Result], *arguments: Any) -> list[Result]:
        """What ``work`` gives for each strip, on all cores where that pays."""

        def quiet(strip: Strip) -> Result:
            with np.errstate(all="ignore"):  # a direction that is not finite is refused; threads ask on their own
                return work(strip, *arguments)

        return list(map(quiet, self.strips) if self.pool is None else self.pool.map(quiet, self.strips))

    def close(self) -> None:
        """Wait for what is still running."""
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)

    def _missing(self) -> Floats:
        """What the sums lack."""
        return np.asarray(self.program.totals - self.program.sums @ sum(strip.r.sum(axis=1) for strip in self.strips))

    @property
    def lack(self) -> float:
        """The largest error of a sum, relative to its total."""
        return float(np.abs(self.missing / self.program.totals).max())

    def matrix(self) -> Floats:
        """The present R."""
        result = np.empty(self.program.shape)
        result[self.order] = np.concatenate([strip.r for strip in self.strips], axis=1)
        return result

    def duals(self) -> tuple[Floats, ...]:
        """The present duals of the blocks, in the scale of the program."""
        blocks = range(1, len(self.program.blocks) + 1)
        return tuple(self.scale * np.concatenate([strip.z[k] for strip in self.strips], axis=2) for k in blocks)

    def standing(self) -> tuple[float, float]:
        """Value and bound of the present iterate."""
        totals = self.program.totals
        least = np.min([self.program.least(reduced) for reduced in self._each(Strip.reduced)], axis=0)
        inside = np.array([sum(strip.value for strip in self.strips), totals @ least])
        value, bound = float(totals @ self.floor) + self.scale * inside
        return float(value), float(bound)

    def factor(self) -> bool:
        """Factor every H_y, and the matrix A Σ_y H_y⁻¹ Aᵀ of the links."""
        sums = self.program.sums
        mean = sum(float(strip.r.sum()) for strip in self.strips) / self.program.shape[1]
        for _, link in self.scratch:
            link[:] = 0.0
        self._each(self._factor_strip, mean)
        upper = np.sum([link for _, link in self.scratch], axis=0)
        self.link = np.ascontiguousarray(sums @ (sums @ (upper + np.triu(upper, 1).T)).T)
        cholesky.factor(self.link, _LOST * np.diagonal(self.link), True)
        return bool(np.isfinite(self.link).all())

    def _factor_strip(self, strip: Strip, mean: float) -> None:
        """Products in a column count by how much is left of it beside the mean: most columns vanish.

        With equal weights they do so late, and until then short steps along their boundaries hold up all others.
        """
        self.watch.check()
        inverse, link = scratch = self.scratch.pop()
        strip.factor(np.maximum(strip.r.sum(axis=0) / mean, _SMALLEST_COLUMN), inverse, link)
        self.scratch.append(scratch)

    def predict(self) -> bool:
        """The direction to products of zero."""
        self.dp = np.zeros_like(self.price)
        self._each(Strip.begin)
        return self._direct()

    def _direct(self) -> bool:
        """Correct the direction by what the targets leave of the equations; False if it is not finite."""
        self.watch.check()
        sums, totals = self.program.sums, self.program.totals
        lack = self.missing - sums @ np.sum(self._each(Strip.correct, sums.T @ (self.price + self.dp)), axis=0)
        for _ in range(_REFINEMENTS):
            more = cholesky.solved(self.link, lack)
            self.dp = self.dp + more
            lack = lack - sums @ np.sum(self._each(Strip.extend, sums.T @ more), axis=0)
            if not np.abs(lack / totals).max() > _IMBALANCE:
                break
        return all(self._each(Strip.measure)) and bool(np.isfinite(self.dp).all())

    def predicted(self) -> Predicted:
        """How far the predictor goes, and what it makes of ⟨s, z⟩."""
        table = np.array(self._each(Strip.predicted))
        return Predicted(longest(*table[:, :2].max(axis=0)), *table[:, 2:].sum(axis=0).tolist())

    def aim(self, target: float, least: float, most: float) -> bool:
        """Aim at products, less the second-order term within bounds."""
        self._each(Strip.aim, target, least, most)
        return self._direct()

    def steps(self) -> Steps:
        """How far the direction may go to the boundary."""
        return longest(*np.max(self._each(Strip.reach), axis=0).tolist())

    def recentre(self, steps: Steps, longer: Steps, least: float, most: float) -> Steps | None:
        """Bring products that are too small or too large at longer steps back."""
        dp = self.dp
        self._each(Strip.move_targets, *longer, least, most)
        corrected = self.steps() if self._direct() else steps
        if corrected.exceed(steps):
            return corrected
        self.dp = dp
        self._each(Strip.restore)
        return None

    def advance(self, primal: float, dual: float) -> None:
        """Take the step; a side on which rounding would leave the cones goes half as far, or stays."""
        self._taken(Strip.try_primal, Strip.take_primal, primal)
        self.price = self.price + self._taken(Strip.try_dual, Strip.take_dual, dual) * self.dp
        self.missing = self._missing()

    def _taken(self, attempt: Callable[[Strip, float], bool], take: Callable[[Strip], None], length: float) -> float:
        """How far one side goes."""
        for _ in range(_HALVINGS):
            if all(self._each(attempt, length)):
                self._each(take)
                return length
            length /= 2
        return 0.0


def _column_sizes(program: BlockProgram, cost: Floats) -> Floats:
    """How large columns are at the start: by the share of rows for which each is best, and a little of all.

    That is one number for all columns of most programs; in those with classes, the lengths of the orbits of columns.
    """
    least = program.sums.T @ program.least(cost) + _SMALLEST_SCALE**2 * np.abs(program.cost).max()
    best = (cost <= least[:, None]).astype(np.float64)
    in_class = program.sums @ best
    sizes = program.totals / in_class.sum(axis=1) @ in_class
    kept = np.maximum(sizes, _SMALLEST_COLUMN * sizes.max())
    return np.asarray(kept * (program.totals.sum() / (program.sums @ program.inside).sum() / kept.sum()))


def _narrow_order(program: BlockProgram) -> Integers:
    """An order of rows in which those of a cone are near each other: the given one, or Cuthill and McKee's (1969)."""
    n = program.shape[0]
    pattern = csr_array((n, n))
    for block in program.blocks:
        looks_at = reduce(add, (abs(matrix) for matrix in block))
        pattern = csr_array(pattern + looks_at.T @ looks_at)
    one, other = pattern.nonzero()
    order = reverse_cuthill_mckee(pattern, symmetric_mode=True).astype(np.int64)
    place = np.argsort(order)
    narrower = np.abs(place[one] - place[other]).max(initial=0) < np.abs(one - other).max(initial=0)
    return order if narrower else np.arange(n)


def _reordered(program: BlockProgram, order: Integers) -> BlockProgram:
    blocks = tuple(tuple(csr_array(matrix[:, order]) for matrix in block) for block in program.blocks)
    return BlockProgram(program.cost[order], blocks, program.sums[:, order], program.totals, program.inside[order])
