"""Columns in one cone by a first-order method: nothing is factored, so memory is that of the entries that matter.

A restarted, reflected Halpern iteration. Classes of rows are projected onto their sums exactly, so only the pairs have
multipliers Z ≥ 0. One application of the primal–dual operator (Chambolle and Pock, 2011), a step for each entry, is

    T = proj(R − τ P∘(C + AᵀZ)),    U = max(Z + σ Q∘A(2T − R), 0),

where proj goes onto {sums over classes = their sizes, R ≥ 0} in the norm Σ (·)²/P. The next iterate is pulled to where
the run began, R ← (k+1)/(k+2) (2T − R) + 1/(k+2) R⁰ and Z alike (Lu and Yang, 2024); the run begins anew when the
fixed-point residual has fallen enough. Three things make it fast here: a start that is nearly optimal
(:mod:`sfumato.lp.first_order_start`); P, by which all entries of a column move by comparable shares although they fall
off exponentially; and leaving out entries that are too small to matter (:mod:`sfumato.lp.first_order_support`).
Floats throughout: the answer is a proposal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from math import exp, log
from time import perf_counter
from typing import Any

import numpy as np

from sfumato.errors import InvalidInput, Mismatch, MissingExtra, NotSupported, shown
from sfumato.lp.cone.program import (
    ColumnProgram,
    ColumnProgress,
    ColumnSolution,
    Ending,
    checked_program,
    constant_columns,
    least_of_classes,
    relative_gap,
    smallest_value,
)
from sfumato.numbers import Floats
from sfumato.watch import TimeIsUp, Watch, watch_of

Start = tuple[Floats | None, Floats | None]

_MOST_ITERATIONS = 200_000
# A run begins anew once its residual has fallen to the first part, or to the second and rises, or the run makes up the
# third part of all iterations.
_ENOUGH, _NECESSARY, _LONG = 0.2, 0.8, 0.36
_CHECK = {"cpu": 25, "cuda": 50}  # So many iterations lie between looks at residual and bound.
_REPAIR = {"cpu": 1, "cuda": 4}  # Every so many checks there is a repair, which takes long on a device.
_WEIGHT = 0.3  # The primal weight at the start, in norms of the scaled costs.
_SMOOTHING, _DRIFT = 0.5, 30.0  # The share of the observed weight in the next one, and how far it may go.
_NORM_MARGIN = 1.03  # Power iteration finds a little less than a norm.
_WORTH_A_THREAD = 3_000_000  # With fewer multipliers, threads wait for each other longer than they work.


def solve_first_order(
    program: ColumnProgram,
    *,
    tolerance: float = 1e-3,
    time_limit: float | Watch | None = None,
    progress: Callable[[ColumnProgress], object] | None = None,
    device: str = "auto",
    start: Start = (None, None),
) -> ColumnSolution:
    """Minimise over columns in one cone whose classes of rows have given sums, in memory of the order of the result.

    Parameters
    ----------
    tolerance
        Relative gap at which to stop. 1e-3 is what the method is for; 1e-6 takes patience.
    time_limit
        Seconds after which to stop, or a watch; looked at after each iteration.
    progress
        Called at the beginning and at every check. Raising ``KeyboardInterrupt`` in it (or pressing Ctrl-C) ends the
        run with the best point so far.
    device
        ``"cpu"``, ``"cuda"``, or ``"auto"``: a GPU if there is one.
    start
        A matrix (one row a row, one column a column) and multipliers (one row a pair) to begin with, as
        :class:`~sfumato.lp.cone.program.ColumnSolution` has them; either may be None.

    Raises
    ------
    MissingExtra
        If torch is not installed.
    NotSupported
        If the program has limits: the block methods know them.

    Examples
    --------
    >>> program = ColumnProgram([[0, 1], [1, 0]], [0, 1], [1, 0], np.log([3.0, 3.0]))
    >>> solution = solve_first_order(program, tolerance=1e-6, device="cpu")
    >>> solution.matrix.round(4).tolist(), round(solution.value, 5), solution.ended.name
    ([[0.75, 0.25], [0.25, 0.75]], 0.5, 'REACHED')
    """
    program = checked_program(program, tolerance, time_limit)
    if program.limits:
        raise NotSupported("a program with limits in the first-order method", ["solve_batched"])
    begun, watch = perf_counter(), watch_of(time_limit)
    checked = _start(start, program)
    if watch.over:  # before torch is loaded, which takes seconds
        return constant_columns(program, perf_counter() - begun, Ending.TIME)
    if find_spec("torch") is None:
        raise MissingExtra("gpu", "torch")
    import torch

    from sfumato.lp.first_order_iteration import Iteration

    place = device_named(device, torch.cuda.is_available())
    least = least_of_classes(program.cost.min(axis=1), program.row_classes)
    if not (program.cost > least[program.row_classes][:, None]).any():
        return constant_columns(program, perf_counter() - begun)
    try:
        with quick(len(program.first) * program.shape[1]):
            method = Iteration(program, tolerance, place, watch)
            method.warm(*checked)
            run = Steering(method, begun, smallest_value(program.cost))
            ended, state = run.until(tolerance, watch, progress), run.state()
            multipliers = method.support.multipliers(method.best_z, method.scale, len(program.first))
            return ColumnSolution(
                method.best.cpu().numpy(), multipliers, state.value, state.bound, state.gap, state.iteration,
                state.seconds, ended,
            )  # fmt: skip
    except TimeIsUp:
        return constant_columns(program, perf_counter() - begun, Ending.TIME)


@dataclass(frozen=True)
class Measure:
    """How far the operator moves an iterate, and how far both sides have come in this run (scaled)."""

    residual: float
    moved: float
    away: float


class Halpern(ABC):
    """The arrays of one run: R, Z, where the run began, T = what the operator makes of R, and the best of both sides.

    A subclass says what its pairs or cones are.
    """

    sign = 1.0

    def begin(self, r: Any, z: Any) -> None:
        """Begin the first run."""
        self.r = self.r0 = self.t = r
        self.z = self.z0 = self.best_z = z
        self.best: Any = None
        self.best_value, self.best_bound = np.inf, self.bound_of(z)

    @abstractmethod
    def primal_step(self) -> None:
        """Find T."""

    @abstractmethod
    def improve(self) -> None:
        """Make a point of T, and keep it if it is better."""

    @abstractmethod
    def bound_of(self, z: Any) -> float:
        """What Z proves."""

    @abstractmethod
    def differences(self, r: Any) -> Any:
        """A of entries, times ``sign``."""

    @abstractmethod
    def projected(self, z: Any) -> Any:
        """The nearest multipliers that are allowed, in place."""

    @abstractmethod
    def squared(self, r: Any) -> Any:
        """|A|ᵀ Q |A| of entries, which says how long steps may be."""

    def choose_steps(self, p: Any, q: Any, rounds: int) -> None:
        """Steps as long as the norm of |A| allows, scaled by P and Q: at least that of A, by power iteration."""
        self.p, self.q = p, q
        root, length = p.sqrt(), 0.0
        v = root.new_ones(root.shape)
        for _ in range(rounds if len(q) else 0):
            v /= v.norm()
            v = root * self.squared(root * v)
            length = float(v.norm()) ** 0.5
        self.eta = 1.0 / max(_NORM_MARGIN * length, 1e-9)

    def choose_weight(self, cost: Any) -> None:
        """The primal weight at the start."""
        self.weight = self.first_weight = max(_WEIGHT * float((cost.square() * self.p).sum()) ** 0.5, 1e-30)

    def next_multipliers(self) -> Any:
        """U = proj(Z + σ Q∘A(2T − R))."""
        moved = self.differences(2 * self.t - self.r).mul_(self.q).mul_(self.sign * self.eta * self.weight)
        return self.projected(moved.add_(self.z))

    def advance(self, k: int) -> None:
        """The k-th iterate of a run becomes the next: reflected, and pulled to where the run began."""
        onward = (k + 1) / (k + 2)
        u = self.next_multipliers()
        self.z = u.mul_(2 * onward).sub_(self.z, alpha=onward).add_(self.z0, alpha=1 - onward)
        self.r = (2 * onward * self.t).sub_(self.r, alpha=onward).add_(self.r0, alpha=1 - onward)

    def measure(self) -> Measure:
        """Where the iterate stands; the bound of U is kept if it is better."""
        u = self.next_multipliers()
        self.keep_bound(u)
        step, change, held = self.t - self.r, u - self.z, self.q.clamp_min(1e-300)
        cross = self.sign * float((change * self.differences(step)).sum())
        primal, changed = float((step.square() / self.p).sum()), float((change.square_() / held).sum())
        moved = float(((self.t - self.r0).square_() / self.p).sum())
        away = float(((u - self.z0).square_() / held).sum())
        square = primal * self.weight / self.eta - 2 * cross + changed / (self.weight * self.eta)
        return Measure(max(square, 0.0) ** 0.5, moved**0.5, away**0.5)

    def keep_bound(self, z: Any) -> None:
        """Keep multipliers if they prove more than the best so far."""
        bound = self.bound_of(z)
        if bound > self.best_bound:
            self.best_bound, self.best_z = bound, z.clone()

    def consider(self, matrix: Any, value: float) -> None:
        """Keep a matrix if it costs less than the best so far."""
        if value < self.best_value:
            self.best_value, self.best = value, matrix

    def restart(self, measure: Measure) -> None:
        """Begin anew from (T, U), with a primal weight nearer to how far the two have moved."""
        self.z = self.z0 = self.next_multipliers()
        self.r = self.r0 = self.t
        if measure.moved > 0 and measure.away > 0:
            wanted = exp(_SMOOTHING * log(measure.away / measure.moved) + (1 - _SMOOTHING) * log(self.weight))
            self.weight = min(max(wanted, self.first_weight / _DRIFT), self.first_weight * _DRIFT)


class Steering:
    """How an iteration is steered: when it is looked at, and when it begins anew."""

    def __init__(self, method: Halpern, begun: float, smallest: float) -> None:
        self.method, self.begun, self.smallest_value = method, begun, smallest
        self.place = method.t.device.type
        self.iterations = 0
        self.at_start = self.before = np.inf

    def until(self, tolerance: float, watch: Watch, progress: Callable[[ColumnProgress], object] | None) -> Ending:
        """Iterate; why it stopped. The best of both sides stays with the method."""
        method, k, every = self.method, 0, _CHECK[self.place]
        try:
            if progress is not None:
                progress(self.state())
            while self.state().gap > tolerance:
                if self.iterations >= _MOST_ITERATIONS:
                    return Ending.STALLED
                if watch.over:
                    return Ending.TIME
                method.primal_step()
                self.iterations += 1
                if k == 0:
                    self.at_start = self.before = method.measure().residual
                if self.iterations % every == 0:
                    measure = method.measure()
                    if self.iterations % (every * _REPAIR[self.place]) == 0:
                        method.improve()
                    if progress is not None:
                        progress(self.state())
                    if k and self._is_over(measure, k):
                        method.restart(measure)
                        k = 0
                        continue
                    self.before = measure.residual
                method.advance(k)
                k += 1
        except KeyboardInterrupt:
            return Ending.INTERRUPTED
        return Ending.REACHED

    def _is_over(self, measure: Measure, k: int) -> bool:
        """Whether the run has done what it can."""
        rising = self.before < measure.residual <= _NECESSARY * self.at_start
        return measure.residual <= _ENOUGH * self.at_start or rising or k >= _LONG * self.iterations

    def state(self) -> ColumnProgress:
        """The best value and bound so far."""
        value, bound = self.method.best_value, self.method.best_bound
        gap = relative_gap(value, bound, self.smallest_value)
        return ColumnProgress(self.iterations, value, bound, gap, perf_counter() - self.begun)


@contextmanager
def quick(work: int) -> Iterator[None]:
    """One thread where handing over takes longer than the work."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(before if work >= _WORTH_A_THREAD else 1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def device_named(name: str, has_gpu: bool) -> str:
    """The device to use; ``has_gpu`` says whether torch finds a GPU."""
    if name == "auto":
        return "cuda" if has_gpu else "cpu"
    if name not in ("cpu", "cuda"):
        raise NotSupported(f"device {shown(name)}", ["auto", "cpu", "cuda"])
    if name == "cuda" and not has_gpu:
        raise NotSupported("device 'cuda' on a machine where torch finds no GPU", ["auto", "cpu"])
    return name


def _start(given: tuple[Any, Any], program: ColumnProgram) -> Start:
    """The two arrays to begin with, if they have the right shapes."""
    arrays: list[Floats | None] = []
    rows = ("a matrix", program.shape[0]), ("multipliers", len(program.first))
    for values, (what, length) in zip(given, rows, strict=True):
        array = None if values is None else np.asarray(values, dtype=np.float64)
        if array is not None and array.shape != (length, program.shape[1]):
            raise Mismatch(f"{what} to begin with", (length, program.shape[1]), array.shape,
                           f"{length} rows and {program.shape[1]} columns are needed, found {array.shape}")  # fmt: skip
        if array is not None and not np.isfinite(array).all():
            raise InvalidInput(f"{what} to begin with must be finite")
        arrays.append(array)
    return arrays[0], arrays[1]
