"""One application after the other of the primal–dual operator of :mod:`sfumato.lp.first_order`, over lists of entries.

Everything is in double precision. Single precision would halve the traffic, but it stalls at gaps of 3e-4 to 2e-3 on
grids with a uniform prior, where optima are many.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from sfumato.lp.cone.program import ColumnProgram
from sfumato.lp.first_order import Halpern
from sfumato.lp.first_order_start import beginning, flows, worth_moving
from sfumato.lp.first_order_support import Closure, Support
from sfumato.memory import check_memory
from sfumato.watch import Watch

torch: Any = import_module("torch") if find_spec("torch") else None

_BYTES_OF_A_TABLE = 64  # An entry has costs, how columns fall off, matrices at the start and the best, scratch.
_BYTES_OF_AN_ENTRY = 120  # An entry that may move has costs, steps, iterates and where they began, and indices.
_BYTES_OF_A_SLOT = 90  # A pair of such an entry has multipliers, where they began, the best, scratch, and indices.
_DEVICE_SHARE = 0.94  # This part of the memory that is free on a device may be used.
_SMALLER_PROBLEMS = ("fewer outputs", "a coarser space", "mechanisms.tight_constraints, which needs no table")
_SMALLEST_ENTRY = 1e-12
_SMALLEST_STAKE = 1e-4  # Rows with less at stake, relative to the largest, count as this one.
_NORM_ROUNDS = 30  # The norm of A takes so many rounds of power iteration.
_NEWTON_FAST, _NEWTON_MOST = 3, 60  # Prices of classes take so many rounds: on a device, and on a processor.


class Iteration(Halpern):
    """One run over lists of entries."""

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
        self._choose_steps(begun)
        watch.check()
        self._begin(begun)

    def _check_room(self, program: ColumnProgram, table: int, entries: int) -> None:
        """Refuse tables, and lists of the entries that may move, for which there is no room; before they are made."""
        slots = int(np.bincount(program.first, minlength=1).max(initial=0))
        size = _BYTES_OF_A_TABLE * table + entries * (_BYTES_OF_AN_ENTRY + _BYTES_OF_A_SLOT * slots)
        free = int(_DEVICE_SHARE * torch.cuda.mem_get_info(self.device)[0]) if self.device.type == "cuda" else None
        (n, m), pairs = program.shape, len(program.first)
        check_memory(size, f"the first-order method for {n} rows, {m} columns and {pairs} pairs on {self.device.type}",
                   _SMALLER_PROBLEMS, free)  # fmt: skip
        if table:  # what comes back is a table over pairs, on this side
            check_memory(16 * pairs * m, f"a table of multipliers for {pairs} pairs in {m} columns", _SMALLER_PROBLEMS)

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
        p = self.support.field(steps, outside=1.0)
        held = self.support.decay.square() * p + self.support.at_ends(p)
        self.choose_steps(p, torch.where(self.support.real, self.support.share / held, 0.0), _NORM_ROUNDS)
        self.cost = self.support.field(self.dense_cost)
        self.choose_weight(self.cost)

    def squared(self, r: Any) -> Any:
        """|A|ᵀ Q |A| of entries."""
        z = (self.support.decay * r + self.support.at_ends(r)) * self.q
        result = (self.support.decay * z).sum(0) + self.support.arriving(z)
        result[-1] = 0.0
        return result

    def _begin(self, begun: Any) -> None:
        matrix = begun.falling.sqrt() if begun.matrix is None else begun.matrix
        self.theta = torch.zeros_like(self.sizes)
        z = torch.zeros(self.support.after.shape, dtype=torch.float64, device=self.device)
        if begun.prices is not None:
            prices = self.support.field(begun.prices[:, None].expand(self.support.shape))
            falling = self.support.field(begun.falling)
            z = flows(self.support, self.cost, prices, falling)
        self.begin(self._with_sums(self.support.field(matrix)), z)
        self._consider(matrix)

    def warm(self, matrix: Any, multipliers: Any) -> None:
        """Begin from another point, given as arrays; either may be None."""
        if matrix is not None:
            given = torch.tensor(np.maximum(matrix, 0.0), device=self.device)
            self.r = self.r0 = self._with_sums(self.support.field(given))
            self._consider(given)
        if multipliers is not None and len(self.z):
            given = torch.tensor(np.maximum(multipliers, 0.0) / self.scale, device=self.device)
            pair = self.support.pair[self.support.rows].T
            self.z = self.z0 = torch.zeros_like(self.z)
            self.z[:, :-1] = torch.where(self.support.real[:, :-1], given[pair, self.support.columns], 0.0)
            self.keep_bound(self.z)

    def _with_sums(self, field: Any) -> Any:
        """A list, multiplied in place by what makes its classes sum to their sizes."""
        sums = self.support.sums(field)
        return field.mul_(self.support.of_class(self.sizes / sums.clamp_min(1e-300)))

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
        self.t = self._with_sums((v - support.of_class(theta) * self.p).clamp_min_(0))

    def differences(self, r: Any) -> Any:
        """e^{−l} R_x − R_z for every place, anything for what is no pair: its step Q is zero."""
        return self.support.differences(r)

    def projected(self, z: Any) -> Any:
        """Multipliers are not negative."""
        return z.clamp_min_(0)

    def bound_of(self, z: Any) -> float:
        """Σ_c |c| min (C + AᵀZ), with entries that are left out, in double precision."""
        reduced = self.cost + self.support.adjoint(z)
        least = torch.minimum(self.support.extreme(reduced, "min"), self.outer)
        return self.base + self.scale * float(self.sizes @ least)

    def improve(self) -> None:
        """Keep T, repaired, if it costs less than the best so far."""
        self._consider(self.support.matrix(self.t))

    def _consider(self, matrix: Any) -> None:
        closed = self.repaired(matrix)
        self.consider(closed, self.base + self.scale * float((self.dense_cost * closed).sum()))

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
