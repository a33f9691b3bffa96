"""One application after the other of the primal–dual operator of :mod:`sfumato.lp.first_order`, over lists of entries.

Everything is in double precision. Single precision would halve the traffic, but it stalls at gaps of 3e-4 to 2e-3 on
grids with a uniform prior, where optima are many.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from math import exp, log
from typing import Any

import numpy as np

from sfumato.lp.cone.program import ColumnProgram
from sfumato.lp.first_order_start import beginning, flows, worth_moving
from sfumato.lp.first_order_support import Closure, Support
from sfumato.memory import check_room
from sfumato.watch import Watch

torch: Any = import_module("torch") if find_spec("torch") else None

_BYTES_OF_A_TABLE = 64  # An entry has costs, how columns fall off, matrices at the start and the best, scratch.
_BYTES_OF_AN_ENTRY = 120  # An entry that may move has costs, steps, iterates and where they began, and indices.
_BYTES_OF_A_SLOT = 90  # A pair of such an entry has multipliers, where they began, the best, scratch, and indices.
_DEVICE_SHARE = 0.94  # This part of the memory that is free on a device may be used.
_SMALLER_PROBLEMS = ("fewer outputs", "a coarser space", "mechanisms.tight_constraints, which needs no table")
_SMALLEST_ENTRY = 1e-12
_SMALLEST_STAKE = 1e-4  # Rows with less at stake, relative to the largest, count as this one.
_WEIGHT = 0.3  # The primal weight at the start, in norms of the scaled costs.
_SMOOTHING = 0.5  # The share of the observed weight in the next one.
_DRIFT = 30.0  # The primal weight may become so many times larger or smaller than the first one.
_NORM_ROUNDS, _NORM_MARGIN = 30, 1.03  # The norm of A takes so many rounds of power iteration, and a margin.
_NEWTON_FAST, _NEWTON_MOST = 3, 60  # Prices of classes take so many rounds: on a device, and on a processor.


@dataclass(frozen=True)
class Measure:
    """How far the operator moves an iterate, how far both sides have come in this run (scaled), and a bound."""

    residual: float
    moved: float
    away: float
    bound: float


class Iteration:
    """The lists of one run: R, Z, where the run began, and T = what the operator makes of R."""

    def __init__(self, program: ColumnProgram, tolerance: float, device: str, watch: Watch | None = None) -> None:
        watch, self.device = watch or Watch(), torch.device(device)
        self._check_room(program, program.cost.size, 0)
        self.classes = torch.tensor(program.row_classes, device=self.device)
        self.sizes = torch.tensor(program.sizes, device=self.device, dtype=torch.float64)
        cost = torch.tensor(program.cost, device=self.device)
        floor = self._least_of_rows(cost)
        cost -= floor[self.classes][:, None]
        spread = float(cost.mean(1).sum())
        self.base, self.scale = float(self.sizes @ floor), spread if spread > 0 else 1.0
        cost /= self.scale
        self.closure = Closure(program, self.device)
        watch.check()
        begun = beginning(program, cost, self.closure, watch)
        watch.check()
        inside = worth_moving(program, cost, begun, tolerance)
        self._check_room(program, 0, int(inside.sum()))
        self.support = Support(program, inside)
        watch.check()
        self.outer = self._least_of_rows(torch.where(inside, torch.inf, cost))
        self.dense_cost = cost
        self.best_matrix: Any = None
        self.best_value = np.inf
        self._choose_steps(begun)
        watch.check()
        self._begin(begun)
        self.restarts = 0

    def _check_room(self, program: ColumnProgram, table: int, entries: int) -> None:
        """Refuse tables, and lists of the entries that may move, for which there is no room; before they are made."""
        slots = int(np.bincount(program.first, minlength=1).max(initial=0))
        size = _BYTES_OF_A_TABLE * table + entries * (_BYTES_OF_AN_ENTRY + _BYTES_OF_A_SLOT * slots)
        free = int(_DEVICE_SHARE * torch.cuda.mem_get_info(self.device)[0]) if self.device.type == "cuda" else None
        (n, m), pairs = program.shape, len(program.first)
        check_room(size, f"the first-order method for {n} rows, {m} columns and {pairs} pairs on {self.device.type}",
                   _SMALLER_PROBLEMS, free)  # fmt: skip
        if table:  # what comes back is a table over pairs, on this side
            check_room(16 * pairs * m, f"a table of multipliers for {pairs} pairs in {m} columns", _SMALLER_PROBLEMS)

    def _least_of_rows(self, table: Any) -> Any:
        least = torch.full((len(self.sizes),), torch.inf, dtype=torch.float64, device=self.device)
        return least.scatter_reduce_(0, self.classes, table.amin(1), "amin")

    def _choose_steps(self, begun: Any) -> None:
        """P: entries move by comparable shares, and more where little is at stake; Q; and how long steps may be."""
        stake = self.dense_cost.mean(1) if begun.prices is None else begun.prices.abs()
        relative = (stake / stake.max()).clamp_min(_SMALLEST_STAKE)
        # a row far from all columns still sums to 1; and what an anchor does not reach may be of any size
        steps = torch.where(begun.falling > 0, begun.falling / begun.falling.amax(1, keepdim=True), 1.0)
        steps = steps.clamp_min_(_SMALLEST_ENTRY).sqrt_().div_(relative[:, None])
        self.p = self.support.field(steps, outside=1.0)
        self.cost = self.support.field(self.dense_cost)
        held = self.support.decay.square() * self.p + self.support.at_ends(self.p)
        self.q = torch.where(self.support.real, self.support.share / held, 0.0)
        self.eta = 1.0 / max(self._norm(), 1e-9)
        scaled = float((self.cost.square() * self.p).sum()) ** 0.5
        self.weight = self.first_weight = max(_WEIGHT * scaled, 1e-30)

    def _norm(self) -> float:
        """The norm of |A| with scaled rows and columns, which is at least that of A, by power iteration."""
        root, length = self.p.sqrt(), 0.0
        v = torch.ones_like(root)
        for _ in range(_NORM_ROUNDS if len(self.q) else 0):
            v /= v.norm()
            z = (self.support.decay * (root * v) + self.support.at_ends(root * v)) * self.q
            arriving = z.view(-1).index_select(0, self.support.before.view(-1)).view(self.support.before.shape)
            v = ((self.support.decay * z).sum(0) + arriving.sum(0)) * root
            v[-1] = 0.0
            length = float(v.norm()) ** 0.5
        return _NORM_MARGIN * length

    def _begin(self, begun: Any) -> None:
        matrix = begun.falling.sqrt() if begun.matrix is None else begun.matrix
        self.r = self.support.field(matrix)
        self.r *= self._shares(self.r)
        self.r0 = self.r.clone()
        self.theta = torch.zeros_like(self.sizes)
        self.z = torch.zeros(self.support.after.shape, dtype=torch.float64, device=self.device)
        if begun.prices is not None:
            prices = self.support.field(begun.prices[:, None].expand(self.support.shape))
            falling = self.support.field(begun.falling)
            self.z = flows(self.support, self.cost, prices, falling)
        self.z0 = self.z.clone()
        self.best_z, self.best_bound = self.z.clone(), self.bound_of(self.z)
        self.t = self.r
        self.consider(self.repaired(matrix))

    def warm(self, matrix: Any, multipliers: Any) -> None:
        """Begin from another point, given as arrays; either may be None."""
        if matrix is not None:
            given = torch.tensor(np.maximum(matrix, 0.0), device=self.device)
            self.r = self.support.field(given)
            self.r *= self._shares(self.r)
            self.r0 = self.r.clone()
            self.consider(self.repaired(given))
        if multipliers is not None and len(self.z):
            given = torch.tensor(np.maximum(multipliers, 0.0) / self.scale, device=self.device)
            pair = self.support.pair[self.support.rows].T
            self.z[:, :-1] = torch.where(self.support.real[:, :-1], given[pair, self.support.columns], 0.0)
            self.z0 = self.z.clone()
            self._keep_bound(self.bound_of(self.z), self.z)

    def _shares(self, field: Any) -> Any:
        """What makes the classes of a list sum to their sizes."""
        sums = self.support.sums(field)
        return self.support.of_class(self.sizes / sums.clamp_min(1e-300))

    def primal_step(self) -> None:
        """T = the nearest to R − τ P∘(C + AᵀZ) whose classes sum to their sizes, in the norm Σ (·)²/P."""
        support, tau = self.support, self.eta / self.weight
        v = self.r - tau * self.p * (self.cost + support.adjoint(self.z))
        sizes = support.of_class(self.sizes)
        least = support.extreme((v - sizes) / self.p, "max")
        theta, waits = torch.maximum(self.theta, least), self.device.type == "cpu"
        for _ in range(_NEWTON_MOST if waits else _NEWTON_FAST):
            inside = (v - support.of_class(theta) * self.p).clamp_min_(0)
            excess = support.sums(inside) - self.sizes
            slope = support.sums(torch.where(inside > 0, self.p, 0.0))
            theta = torch.where(slope > 0, torch.maximum(theta + excess / slope.clamp_min(1e-30), least), least)
            if waits and float((excess / self.sizes).abs().max()) < 1e-12:
                break  # the rest is divided away
        self.theta = theta
        self.t = (v - support.of_class(theta) * self.p).clamp_min_(0)
        self.t *= self._shares(self.t)

    def next_multipliers(self) -> Any:
        """U = max(Z + σ Q∘A(2T − R), 0)."""
        moved = self.support.differences(2 * self.t - self.r).mul_(self.q).mul_(self.eta * self.weight)
        return moved.add_(self.z).clamp_min_(0)

    def advance(self, k: int) -> None:
        """The k-th iterate of a run becomes the next: reflected, and pulled to where the run began."""
        onward = (k + 1) / (k + 2)
        u = self.next_multipliers()
        self.z = u.mul_(2 * onward).sub_(self.z, alpha=onward).add_(self.z0, alpha=1 - onward)
        self.r = (2 * onward * self.t).sub_(self.r, alpha=onward).add_(self.r0, alpha=1 - onward)

    def measure(self) -> Measure:
        """Where the iterate stands; the bound of U is kept if it is better."""
        u = self.next_multipliers()
        bound = self.bound_of(u)
        self._keep_bound(bound, u)
        inverse = torch.where(self.support.real, 1 / self.q.clamp_min(1e-300), 0.0)
        away = float(((u - self.z0).square_() * inverse).sum())
        change = u - self.z
        step = self.t - self.r
        cross = float((change * self.support.differences(step) * self.support.real).sum())
        changed = float((change.square_() * inverse).sum())
        primal = float((step.square() / self.p).sum())
        moved = float(((self.t - self.r0).square() / self.p).sum())
        square = primal * self.weight / self.eta - 2 * cross + changed / (self.weight * self.eta)
        return Measure(max(square, 0.0) ** 0.5, moved**0.5, away**0.5, bound)

    def _keep_bound(self, bound: float, z: Any) -> None:
        if bound > self.best_bound:
            self.best_bound, self.best_z = bound, z.clone()

    def bound_of(self, z: Any) -> float:
        """Σ_c |c| min (C + AᵀZ), with entries that are left out, in double precision."""
        reduced = self.cost + self.support.adjoint(z)
        least = torch.minimum(self.support.extreme(reduced, "min"), self.outer)
        return self.base + self.scale * float(self.sizes @ least)

    def restart(self, measure: Measure) -> None:
        """Begin anew from (T, U), with a primal weight nearer to how far the two have moved."""
        self.z = self.next_multipliers()
        self.z0, self.r, self.r0 = self.z.clone(), self.t.clone(), self.t.clone()
        self.restarts += 1
        if measure.moved > 0 and measure.away > 0:
            wanted = exp(_SMOOTHING * log(measure.away / measure.moved) + (1 - _SMOOTHING) * log(self.weight))
            self.weight = min(max(wanted, self.first_weight / _DRIFT), self.first_weight * _DRIFT)

    def improve(self) -> None:
        """Keep T, repaired, if it costs less than the best so far."""
        self.consider(self.repaired(self.support.matrix(self.t)))

    def consider(self, closed: Any) -> None:
        """Keep a matrix if it costs less than the best so far."""
        value = self.base + self.scale * float((self.dense_cost * closed).sum())
        if value < self.best_value:
            self.best_value, self.best_matrix = value, closed

    def repaired(self, matrix: Any) -> Any:
        """A matrix closed, with what classes then lack added to one column: all in double precision."""
        closed = matrix.clone()
        self.closure.close(closed)
        closed *= (self.sizes / self._class_sums(closed))[self.classes][:, None]
        self.closure.close(closed)
        sums = self._class_sums(closed) / self.sizes
        missing = (sums.max() - sums)[self.classes]
        if len(self.closure.first):
            decay = self.closure.decay[:, 0]
            lacking = decay * missing[self.closure.first] - missing[self.closure.second]
            missing += (lacking / (1 - decay)).max().clamp_min(0)
        closed[:, int((missing @ self.dense_cost).argmin())] += missing
        return closed.mul_((self.sizes / self._class_sums(closed))[self.classes][:, None])

    def _class_sums(self, matrix: Any) -> Any:
        return torch.zeros_like(self.sizes).index_add_(0, self.classes, matrix.sum(1))
