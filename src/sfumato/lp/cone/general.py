"""Columns under linear rows and second-order cones: a block interior-point method.

For a :class:`~sfumato.lp.cone.blocks.BlockProgram` the columns are linked by their sums only, and Newton's equations
fall apart the same way: one n × n system H_y = Σ Gᵀ W_y⁻² G for each column, with the scaling W of Nesterov and Todd
for every block and for the entries r ≥ 0, and one system Σ_y A H_y⁻¹ Aᵀ for the prices of the sums. The loop is that of
:mod:`sfumato.lp.cone.loop`. What it asks is answered strip by strip (:mod:`sfumato.lp.cone.strips`), on the cores of
this machine (:mod:`sfumato.lp.cone.general_iterate`) or on a GPU (:class:`ArraysBlockIterate`).

R is always strictly inside the cones, and duals in the cones give a lower bound
(:func:`~sfumato.lp.cone.blocks.blocks_bound`), so a run may be stopped at any time. Floats throughout: the answer is a
proposal, and who needs a proof rounds both sides to a safe place.

Arrays on any device have wide strips, one after the other. All passes over cones are those of
:mod:`sfumato.lp.cone.strips`; the systems of a strip are factored together, block by block
(:mod:`sfumato.lp.cone.arrays_tridiagonal`), and the prices of the sums have one dense factor on the device.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from sfumato.errors import NotConverged, NotSupported, TooLarge, expect, shown
from sfumato.lp.cone.arrays_backend import Arrays, arrays_on, gpu_is_there
from sfumato.lp.cone.arrays_tridiagonal import Tridiagonal, block_rows
from sfumato.lp.cone.blocks import BlockProgram, BlockSolution, blocks_bound
from sfumato.lp.cone.general_iterate import BlockIterate, Kept
from sfumato.lp.cone.loop import Tuning, step
from sfumato.lp.cone.program import Ending, check_tolerance, relative_gap
from sfumato.lp.cone.run import Progress, Run, guarded
from sfumato.lp.cone.strips import Systems
from sfumato.memory import check_memory
from sfumato.numbers import Floats, text_below
from sfumato.watch import Watch, watch_of

# So many arrays over all forms and columns are kept, and so many more of one strip are there for a while.
_KEPT, _PASSING = 18, 12
# A strip is this part of what one temporary array may have: a pass has several.
_STRIP = 4
_SMALLER = ("fewer columns", "a coarser lattice")


class ArraysBlockIterate(BlockIterate):
    """The iterate of one run on the device of ``arrays``."""

    arrays: Arrays

    def __init__(self, program: BlockProgram, watch: Watch, arrays: Arrays) -> None:
        super().__init__(program, watch, arrays)
        self.sums = arrays.given(self.program.sums.toarray())

    def _prepare(self) -> None:
        (n, m), forms = self.program.shape, self.forms
        size = block_rows(n, forms.rows, forms.columns)
        one_array, one_row = 8 * forms.components, 8 * size * (n + size)
        wide = self._wide = max(1, min(m, self.arrays.chunk // _STRIP // max(one_array, one_row)))
        entries = 8 * (len(forms.rows) + sum(d * (d + 1) // 2 * count for d, count in forms.shapes))
        factors = 16 * size * (n + size)
        needed = m * (_KEPT * one_array + factors + 12 * 8 * n) + 5 * 8 * n * n
        needed += wide * max(_PASSING * one_array, 2 * factors + entries, 4 * one_row)
        what = f"the block method over arrays for {n} rows, {forms.components} forms and {m} columns"
        check_memory(needed, what, _SMALLER, self.arrays.memory)
        self.scratch = [(None, self.arrays.zeros(n, n))]

    def _width(self) -> int:
        return self._wide

    def _systems(self, columns: int) -> Systems:
        return Tridiagonal(self.arrays, self.program.shape[0], (self.forms.rows, self.forms.columns), columns)

    def _factor_link(self) -> bool:
        xp, upper = self.arrays.module, self.scratch[0][1]
        upper = xp.triu(upper)
        link = self.sums @ (upper + xp.triu(upper, 1).mT) @ self.sums.mT
        diagonal = xp.diagonal(link)
        if not bool((xp.isfinite(diagonal) & (diagonal > 0)).all()):
            return False
        self.link = self.arrays.scaled_root(link)
        return self.link[0] is not None

    def _link_solution(self, lack: Floats) -> Floats:
        root, scale = self.link
        more: Any = scale * self.arrays.solve(root, scale * self.arrays.given(lack))
        return self.arrays.numpy(more)


_MOST_ITERATIONS = 400
# A relative error of sums up to this one is taken for rounding.
_BALANCED = 1e-9
# With fewer forms times columns than this, a GPU takes longer to be asked than a processor to answer.
_WORTH_A_GPU = 2_000_000
_TUNING = Tuning(correctors=4)
# The relative gap from which on it shows which columns vanish.
_VANISH = 1.0


def solve_blocks(
    program: BlockProgram,
    *,
    tolerance: float = 1e-4,
    time_limit: float | Watch | None = None,
    progress: Progress | None = None,
    device: str = "auto",
    vanishing: float = 0.0,
    threads: int | None = None,
) -> BlockSolution:
    """Minimise over columns under linear rows and second-order cones, with a lower bound from the duals.

    Where factors do not fit into memory and torch is there, the first-order method is used
    (:mod:`sfumato.lp.first_order_cones`).

    Parameters
    ----------
    tolerance
        Relative gap at which to stop. 1e-6 is within reach of most programs.
    time_limit, progress
        As for :func:`~sfumato.lp.cone.lanes.solve_columns`.
    device
        ``"cpu"``, ``"cuda"``, or ``"auto"``: a GPU if there is one and the program is large enough for it.
    vanishing
        Columns that come to bring less than this part of what they would if all brought the same are left out. The
        bound is then one for programs of the columns that are left.
    threads
        How many cores to use at most, where others are busy with programs of their own; by default all.

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
    try:
        method = _method(program, device, run.watch, threads)
    except TooLarge:
        if find_spec("torch") is None:
            raise
        from sfumato.lp.first_order_cones import solve_blocks_first_order

        return solve_blocks_first_order(
            program, tolerance=tolerance, time_limit=run.watch, progress=progress, device=device
        )
    return solve_with(method, program, run, tolerance, vanishing)


def worth_a_gpu(forms: int, columns: int) -> bool:
    """Whether a GPU is asked for a program with so many linear forms of so many columns, where there is one."""
    return forms * columns >= _WORTH_A_GPU


def solve_with(
    method: BlockIterate, program: BlockProgram, run: Run, tolerance: float, vanishing: float = 0.0
) -> BlockSolution:
    """Minimise by the iterate of a run, whichever it is: what :func:`solve_blocks` does once it has chosen one."""
    best = _Best(program, method, run, tolerance, vanishing / program.shape[1])
    try:
        ended = guarded(lambda: run.until(best.step, best.judged))
    finally:
        method.close()
    if ended is Ending.INTERRUPTED and best.point is None:
        raise KeyboardInterrupt  # there is nothing to return yet
    return best.result(ended)


def _method(program: BlockProgram, device: str, watch: Watch, threads: int | None) -> BlockIterate:
    if device not in ("auto", "cpu", "cuda"):
        raise NotSupported(f"device {shown(device)}", ["auto", "cpu", "cuda"])
    if device == "auto" and threads == 1:  # one of many processes: a GPU is for those that have it alone
        device = "cpu"
    if device == "auto":
        forms = program.shape[0] + sum(len(block) * block[0].shape[0] for block in program.blocks)
        device = "cuda" if worth_a_gpu(forms, program.shape[1]) and gpu_is_there() else "cpu"
    if device == "cpu":
        return BlockIterate(program, watch, threads=threads)
    return ArraysBlockIterate(program, watch, arrays_on(device))


class _Best:
    """The best point and the best duals so far."""

    def __init__(
        self, program: BlockProgram, method: BlockIterate, run: Run, tolerance: float, vanishing: float
    ) -> None:
        self.program, self.method, self.run, self.tolerance = program, method, run, tolerance
        self.vanishing = vanishing
        self.value, self.bound = np.inf, -np.inf
        self.point: Kept | None = None
        self.duals: Kept = self.method.kept()
        self.smallest = program.smallest_value
        self._remember()

    def _remember(self) -> float:
        """Keep what is better than before; how far the present point is from an optimum with the right sums."""
        value, bound = self.method.standing()
        if self.method.lack <= _BALANCED and value < self.value:
            self.value, self.point = value, self.method.kept()
        if bound > self.bound:
            self.bound, self.duals = bound, self.method.kept()
        return abs(relative_gap(value, bound, self.smallest)) + self.method.lack

    def step(self) -> bool:
        """Take a step; whether there was one."""
        with np.errstate(all="ignore"):  # a direction that is not finite is refused
            return step(self.method, _TUNING) > 0

    def judged(self) -> tuple[float, Ending | None]:
        """How far the present point is from an optimum, and whether the gap between the best is small enough."""
        distance = self._remember()
        if self.vanishing and distance < _VANISH and self.method.thin(self.vanishing):
            self.value, self.bound, self.point = np.inf, -np.inf, None
            distance = self._remember()
        gap = np.inf if self.point is None else relative_gap(self.value, self.bound, self.smallest)
        self.run.stands(self.value, self.bound, gap)
        return distance, Ending.REACHED if gap <= self.tolerance else None

    def result(self, ended: Ending) -> BlockSolution:
        """The best point and the best duals."""
        if self.point is None:
            raise NotConverged(
                f"after {self.run.iterations} iterations ({ended}) the sums are still off by {self.method.lack:.1e} of "
                f"their totals; the value is at least {text_below(self.bound, 6)}",
                gap=np.inf,
            )
        matrix, duals, columns = self.method.matrix(self.point), self.method.duals(self.duals), self.method.columns
        left = self.program if len(columns) == self.program.shape[1] else self.program.restricted(columns)
        value, bound = float((left.cost * matrix).sum()), blocks_bound(left, duals)
        gap = relative_gap(value, bound, self.smallest)
        return BlockSolution(columns, matrix, duals, value, bound, gap, self.run.iterations, self.run.seconds, ended)
