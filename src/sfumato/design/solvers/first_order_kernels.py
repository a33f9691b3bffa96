"""A restarted, reflected Halpern iteration for columns in one cone, on plain arrays; needs numpy and torch only.

The program: minimise Σ C∘R over R ≥ 0 whose rows sum to 1 and whose columns satisfy e^{−l_k} R_xy − R_zy ≤ 0 for
ordered pairs k = (x, z). Rows are projected onto the simplex exactly, so only the pairs have multipliers Z ≥ 0, and
any Z gives the lower bound Σ_x min_y (C + AᵀZ)_xy. Nothing is factored: memory is that of R and Z.

One application of the primal–dual operator (Chambolle and Pock, 2011) with a step for each entry is

    T = proj(R − τ P∘(C + AᵀZ)),    U = max(Z + σ Q∘A(2T − R), 0),

where proj goes onto the rows' simplices in the norm Σ (·)²/P. The next iterate is pulled to where the run began,
R ← (k+1)/(k+2) (2T − R) + 1/(k+2) R⁰ and Z alike (Lu and Yang, 2024), and the run begins anew when the fixed-point
residual has fallen enough. What makes it fast here is P: columns fall off like e^{−dist} from the secret for which
an action is best, so P_xy = e^{−dist(x, anchor of y)} lets all entries move by comparable shares, divided by what is
at stake in row x, so that unlikely secrets keep up. With it, 12 × 12 grids need a third of the iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import exp, log, prod
from time import perf_counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["FirstOrderProgress", "FirstOrderSolution", "lattice_shape", "minimise_columns"]

_SMALLEST_STEP = 1e-12  # of P: entries beyond that decay move as if they were closer
_SMALLEST_STAKE = 1e-4  # relative to the largest: rows below it count as this one
_SMALLEST_SCALE = 1e-6  # of the costs: relative gaps are not measured against values smaller than that
_FAR = 0.5  # pairs get dual steps by log^−2·this: far ones nearly repeat R ≥ 0
_WEIGHT = 0.3  # primal weight to begin with, in norms of the scaled costs
_SMOOTHING = 0.5  # share of the observed weight in the next one
_DRIFT = 30.0  # how far the primal weight may move away from the first one
_ENOUGH, _NECESSARY, _LONG = 0.2, 0.8, 0.36  # restart rules: residual fallen to, fallen and rising, share of all
_NORM_ROUNDS, _NORM_MARGIN = 30, 1.03  # power iteration for the norm of A and what is added to it
_NEWTON_FAST, _NEWTON_MOST = 6, 60  # rounds for the threshold of the simplex
_MOST_SHIFTS = 32  # more offsets than that are gathered
_CHUNK_BYTES = {"cpu": 1 << 23, "cuda": 1 << 30}  # of one array over a chunk of pairs


@dataclass(frozen=True)
class FirstOrderProgress:
    """Where a run stands at a check: the best value and bound so far."""

    iteration: int
    value: float
    bound: float
    gap: float
    seconds: float


@dataclass(frozen=True, eq=False)
class FirstOrderSolution:
    """What :func:`minimise_columns` found.

    ``matrix`` satisfies rows and pairs up to rounding and costs ``value``.
    ``multipliers`` (one row a pair) are for e^{−l} R_x − R_z ≤ 0 and give ``bound``. ``ended`` is ``"reached"``,
    ``"time"``, ``"interrupted"`` or ``"iterations"``; ``layout`` is ``"shifts"`` or ``"gathers"``.
    """

    matrix: NDArray[Any]
    multipliers: NDArray[Any]
    value: float
    bound: float
    gap: float
    iterations: int
    restarts: int
    seconds: float
    ended: str
    layout: str
    seconds_to_start: float


class _Block:
    """Pairs that are worked on together, with how to find their two ends in an n × m field."""

    decay: Tensor
    """e^{−l}, to be broadcast over the columns."""
    share: Tensor
    """What far pairs get of a dual step."""
    places: NDArray[np.int64]
    """Which of the given pairs they are."""

    def ends(self, field: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def add_transposed(self, field: Tensor, z: Tensor, sign: int = -1) -> None:
        """Add AᵀZ of these pairs to the field; |A|ᵀZ if ``sign`` is 1."""
        raise NotImplementedError

    def raise_(self, field: Tensor) -> None:
        """R_z ← max(R_z, e^{−l} R_x)."""
        raise NotImplementedError

    def size(self, m: int) -> tuple[int, ...]:
        raise NotImplementedError


class _Gathered(_Block):
    def __init__(self, first: Tensor, second: Tensor, logs: Tensor, share: Tensor, places: NDArray[np.int64]) -> None:
        self.first, self.second, self.places = first, second, places
        self.decay, self.share = torch.exp(-logs)[:, None], share[:, None]

    def ends(self, field: Tensor) -> tuple[Tensor, Tensor]:
        return field.index_select(0, self.first), field.index_select(0, self.second)

    def add_transposed(self, field: Tensor, z: Tensor, sign: int = -1) -> None:
        field.index_add_(0, self.first, self.decay * z)
        field.index_add_(0, self.second, z, alpha=sign)

    def raise_(self, field: Tensor) -> None:
        raised = field.index_select(0, self.first).mul_(self.decay)
        field.scatter_reduce_(0, self.second[:, None].expand_as(raised), raised, "amax")

    def size(self, m: int) -> tuple[int, ...]:
        return (len(self.first), m)


class _Shifted(_Block):
    """All pairs of a lattice with one offset and one bound: both ends are views."""

    def __init__(
        self, shape: tuple[int, ...], offset: tuple[int, ...], decay: Tensor, share: Tensor, places: NDArray[np.int64]
    ) -> None:
        self.shape, self.offset, self.places = shape, offset, places
        self.decay, self.share = decay, share

    def _slices(self, times: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        here, there = [], []
        for length, step in zip(self.shape, self.offset, strict=True):
            far = min(abs(step) * times, length)
            low, high = slice(0, length - far), slice(far, length)
            here.append(low if step >= 0 else high)
            there.append(high if step >= 0 else low)
        return tuple(here), tuple(there)

    def ends(self, field: Tensor, times: int = 1) -> tuple[Tensor, Tensor]:
        here, there = self._slices(times)
        cells = field.view(*self.shape, field.shape[1])
        return cells[here], cells[there]

    def add_transposed(self, field: Tensor, z: Tensor, sign: int = -1) -> None:
        at_first, at_second = self.ends(field)
        at_first.addcmul_(z, self.decay)
        at_second.add_(z, alpha=sign)

    def raise_(self, field: Tensor) -> None:
        # doubled strides: after ⌈log₂ length⌉ rounds everything along this direction has been seen
        times, decay = 1, self.decay
        while all(abs(step) * times < length for step, length in zip(self.offset, self.shape, strict=True)):
            at_first, at_second = self.ends(field, times)
            torch.maximum(at_second, at_first * decay, out=at_second)
            times, decay = 2 * times, decay * decay

    def size(self, m: int) -> tuple[int, ...]:
        here, _ = self._slices(1)
        return (*(part.stop - part.start for part in here), m)


def lattice_shape(n: int, first: NDArray[np.int64], second: NDArray[np.int64]) -> tuple[int, int] | None:
    """Rows and columns of the grid, in row-major order, whose neighbours the pairs are; None if they are not.

    Examples
    --------
    >>> first, second = np.array([0, 1, 2, 3, 0, 2, 1, 3]), np.array([1, 0, 3, 2, 2, 0, 3, 1])
    >>> lattice_shape(4, first, second)
    (2, 2)
    >>> lattice_shape(5, first, second) is None
    True
    """
    width = int(np.abs(first - second).max(initial=0))
    width = n if width == 1 else width
    if width < 2 or n % width:
        return None
    steps = np.abs(first // width - second // width) + np.abs(first % width - second % width)
    return (n // width, width) if bool((steps == 1).all()) else None


def _shifts(
    shape: tuple[int, ...] | None, first: NDArray[np.int64], second: NDArray[np.int64], logs: NDArray[np.float64]
) -> list[tuple[tuple[int, ...], NDArray[np.int64]]] | None:
    """Offsets and their pairs in row-major order; None if some offset is incomplete or has two bounds."""
    if shape is None or not len(first):
        return None
    here, there = np.unravel_index(first, shape), np.unravel_index(second, shape)
    steps = np.stack([b - a for a, b in zip(here, there, strict=True)], axis=1)
    offsets, group = np.unique(steps, axis=0, return_inverse=True)
    if len(offsets) > _MOST_SHIFTS:
        return None
    found = []
    for k, offset in enumerate(offsets.tolist()):
        places = np.flatnonzero(group.ravel() == k)
        places = places[np.argsort(first[places], kind="stable")]
        complete = len(places) == prod(length - abs(step) for length, step in zip(shape, offset, strict=True))
        if not complete or np.ptp(logs[places]) > 0 or (np.diff(first[places]) == 0).any():
            return None
        found.append((tuple(offset), places))
    return found


def _advanced(
    z: Tensor, z0: Tensor, rx: Tensor, rz: Tensor, tx: Tensor, tz: Tensor, px: Tensor, pz: Tensor,
    decay: Tensor, share: Tensor, sigma: Tensor, onward: Tensor,
) -> Tensor:  # fmt: skip
    """The next multipliers: reflected, and pulled to where the run began."""
    u = _moved(z, rx, rz, tx, tz, px, pz, decay, share, sigma)
    return onward * (2 * u - z) + (1 - onward) * z0


def _moved(
    z: Tensor, rx: Tensor, rz: Tensor, tx: Tensor, tz: Tensor, px: Tensor, pz: Tensor,
    decay: Tensor, share: Tensor, sigma: Tensor,
) -> Tensor:  # fmt: skip
    """max(Z + σ Q∘A(2T − R), 0), with rows of A P^{1/2} scaled to the length ``share``."""
    step = sigma * share / (decay * decay * px + pz)
    return torch.clamp_min(z + step * (decay * (2 * tx - rx) - (2 * tz - rz)), 0)


def _threshold(v: Tensor, p: Tensor, theta: Tensor, least: Tensor) -> tuple[Tensor, Tensor]:
    """One step of Newton towards Σ max(V − θP, 0) = 1, and how far the sum was off."""
    inside = torch.clamp_min(v - theta * p, 0)
    excess = inside.sum(1, keepdim=True) - 1
    slope = torch.where(inside > 0, p, torch.zeros_like(p)).sum(1, keepdim=True)
    better = torch.maximum(theta + excess / slope.clamp_min(1e-30), least)
    return torch.where(slope > 0, better, least), excess


def _stepped(r: Tensor, p: Tensor, cost: Tensor, pull: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    v = r - tau * p * (cost + pull)
    return v, ((v - 1) / p).amax(1, keepdim=True)


def _reflected(r: Tensor, t: Tensor, r0: Tensor, onward: Tensor) -> Tensor:
    return onward * (2 * t - r) + (1 - onward) * r0


class _Iteration:
    """The arrays of one run."""

    def __init__(
        self, cost: NDArray[np.float64], first: NDArray[np.int64], second: NDArray[np.int64],
        logs: NDArray[np.float64], shape: tuple[int, ...] | None, device: torch.device, dtype: torch.dtype,
        compiled: bool,
    ) -> None:  # fmt: skip
        self.n, self.m = cost.shape
        self.device, self.dtype = device, dtype
        floor = cost.min(axis=1)
        spread = float((cost - floor[:, None]).mean(axis=1).sum())
        self.base, self.scale = float(floor.sum()), spread if spread > 0 else 1.0
        self.magnitude = _SMALLEST_SCALE * float(np.abs(cost).max(axis=1).sum())
        self.cost = self._on_device((cost - floor[:, None]) / self.scale)
        self.layout, self.blocks = self._blocks(shape, first, second, logs)
        self.first, self.second = self._indices(first), self._indices(second)
        self.decay = self._on_device(np.exp(-logs))
        self.closeness = -self._on_device(np.expm1(-logs))
        wrap: Callable[[Any], Any] = torch.compile if compiled else lambda f: f
        self._advanced, self._threshold = wrap(_advanced), wrap(_threshold)
        self._stepped, self._reflected, self._moved = wrap(_stepped), wrap(_reflected), wrap(_moved)
        self._choose_steps()
        self.theta = torch.zeros((self.n, 1), device=device, dtype=dtype)
        self.r0, self.t, self.pull = torch.empty_like(self.r), torch.empty_like(self.r), torch.zeros_like(self.r)
        self.pull_u = torch.zeros_like(self.r)
        self.z = [torch.zeros(block.size(self.m), device=device, dtype=dtype) for block in self.blocks]
        self.z0 = [torch.zeros_like(z) for z in self.z]
        self.best_z = [torch.zeros_like(z) for z in self.z]
        self.best_r, self.closed = self.r.clone(), torch.empty_like(self.r)
        self.r0.copy_(self.r)

    def _on_device(self, values: NDArray[Any]) -> Tensor:
        return torch.tensor(np.ascontiguousarray(values), dtype=self.dtype).to(self.device)

    def _indices(self, values: NDArray[np.int64]) -> Tensor:
        return torch.tensor(np.ascontiguousarray(values), dtype=torch.int64).to(self.device)

    def _blocks(
        self, shape: tuple[int, ...] | None, first: NDArray[np.int64], second: NDArray[np.int64],
        logs: NDArray[np.float64],
    ) -> tuple[str, list[_Block]]:  # fmt: skip
        if not len(logs):
            return "gathers", []
        share = (logs / logs.min()) ** (-2 * _FAR)
        found = _shifts(shape, first, second, logs)
        if shape is not None and found is not None:
            return "shifts", [
                _Shifted(shape, offset, self._on_device(np.exp(-logs[places[:1]]))[0],
                         self._on_device(share[places[:1]])[0], places)
                for offset, places in found
            ]  # fmt: skip
        order = np.lexsort((second, first))
        item = torch.empty(0, dtype=self.dtype).element_size()
        chunk = max(1, _CHUNK_BYTES[self.device.type] // (item * self.m))
        parts = [order[k : k + chunk] for k in range(0, len(order), chunk)]
        return "gathers", [
            _Gathered(self._indices(first[part]), self._indices(second[part]), self._on_device(logs[part]),
                      self._on_device(share[part]), part)
            for part in parts
        ]  # fmt: skip

    def _choose_steps(self) -> None:
        """P, the norm of the scaled A, and a private matrix to begin with."""
        stake = self.cost.mean(1, keepdim=True)
        regret = torch.where(stake > 0, self.cost / stake.clamp_min(1e-30), torch.full_like(self.cost, torch.inf))
        anchor = regret.argmin(0)
        closed = torch.zeros_like(self.cost)
        closed[anchor, torch.arange(self.m, device=self.device)] = 1.0
        self.close(closed)
        start = closed.sqrt()
        start = start.clamp_min_(_SMALLEST_STEP)
        self.r = start.div_(start.sum(1, keepdim=True))
        relative = (stake / stake.max()).clamp_min(_SMALLEST_STAKE)
        self.p = closed.clamp_min_(_SMALLEST_STEP).div_(relative)
        self.eta = 1.0 / max(self._norm(), 1e-9)
        scaled = float((self.cost.square() * self.p).sum(dtype=torch.float64)) ** 0.5
        self.weight = self.first_weight = max(_WEIGHT * scaled, 1e-30)

    def _norm(self) -> float:
        """The norm of |A| with scaled rows and columns, which is at least that of A, by power iteration."""
        root = self.p.sqrt()
        v, length = torch.ones_like(root), 0.0
        for _ in range(_NORM_ROUNDS if self.blocks else 0):
            v.div_(v.norm())
            moved, v = root * v, torch.zeros_like(v)
            for block in self.blocks:
                (mx, mz), (px, pz) = block.ends(moved), block.ends(self.p)
                z = (block.decay * mx + mz) * block.share / (block.decay * block.decay * px + pz)
                block.add_transposed(v, z, sign=1)
            v.mul_(root)
            length = float(v.norm()) ** 0.5
        return _NORM_MARGIN * length

    def close(self, field: Tensor) -> None:
        """The least field above this one that satisfies all pairs, up to 1e-9 of its sum."""
        before = float(field.sum(dtype=torch.float64))
        for _ in range(self.n):
            for block in self.blocks:
                block.raise_(field)
            after = float(field.sum(dtype=torch.float64))
            if after <= before * (1 + 1e-9):
                return
            before = after

    def warm(self, matrix: NDArray[Any] | None, multipliers: NDArray[Any] | None, weight: float | None) -> None:
        """Begin from another point."""
        if matrix is not None:
            r = self._on_device(np.asarray(matrix, dtype=np.float64)).clamp_min_(0)
            self.r = r.div_(r.sum(1, keepdim=True).clamp_min(1e-30))
            self.r0.copy_(self.r)
        if multipliers is not None:
            for block, z, z0 in zip(self.blocks, self.z, self.z0, strict=True):
                given = np.asarray(multipliers)[block.places] / self.scale
                z.copy_(self._on_device(given).clamp_min_(0).view(z.shape))
                z0.copy_(z)
                block.add_transposed(self.pull, z)
        if weight is not None:
            self.weight = self.first_weight = weight

    def primal_step(self) -> None:
        """T from R and AᵀZ."""
        tau = torch.tensor(self.eta / self.weight, device=self.device, dtype=self.dtype)
        v, least = self._stepped(self.r, self.p, self.cost, self.pull, tau)
        theta = torch.maximum(self.theta, least)
        if self.device.type == "cuda":  # asking whether it has converged would wait for the device
            for _ in range(_NEWTON_FAST):
                theta, _ = self._threshold(v, self.p, theta, least)
        else:
            for _ in range(_NEWTON_MOST):
                theta, excess = self._threshold(v, self.p, theta, least)
                if float(excess.abs().max()) < 1e-12:
                    break
        self.theta = theta
        torch.clamp_min(v.addcmul_(theta, self.p, value=-1), 0, out=self.t)
        self.t.div_(self.t.sum(1, keepdim=True).clamp_min(1e-30))

    def _views(self, block: _Block) -> Iterator[Tensor]:
        for field in (self.r, self.t, self.p):
            yield from block.ends(field)

    def _sigma(self) -> Tensor:
        return torch.tensor(self.eta * self.weight, device=self.device, dtype=self.dtype)

    def advance(self, k: int) -> None:
        """The k-th iterate of a run becomes the next."""
        onward = torch.tensor((k + 1) / (k + 2), device=self.device, dtype=self.dtype)
        sigma = self._sigma()
        self.pull.zero_()
        for block, z, z0 in zip(self.blocks, self.z, self.z0, strict=True):
            z.copy_(self._advanced(z, z0, *self._views(block), block.decay, block.share, sigma, onward))
            block.add_transposed(self.pull, z)
        self.r.copy_(self._reflected(self.r, self.t, self.r0, onward))

    def measure(self) -> tuple[float, float, float, float]:
        """Residual of the operator, how far T and U are from where the run began (scaled), and the bound of U."""
        sigma = self._sigma()
        self.pull_u.zero_()
        zero = torch.zeros((), device=self.device, dtype=torch.float64)
        cross, change, away = zero.clone(), zero.clone(), zero.clone()
        for block, z, z0 in zip(self.blocks, self.z, self.z0, strict=True):
            rx, rz, tx, tz, px, pz = self._views(block)
            u = self._moved(z, rx, rz, tx, tz, px, pz, block.decay, block.share, sigma)
            block.add_transposed(self.pull_u, u)
            inverse = (block.decay * block.decay * px + pz) / block.share
            away += ((u - z0).square() * inverse).sum(dtype=torch.float64)
            u -= z
            change += (u.square() * inverse).sum(dtype=torch.float64)
            cross += (u * (block.decay * (tx - rx) - (tz - rz))).sum(dtype=torch.float64)
        primal = ((self.t - self.r).square() / self.p).sum(dtype=torch.float64)
        moved = float(((self.t - self.r0).square() / self.p).sum(dtype=torch.float64)) ** 0.5
        square = primal * (self.weight / self.eta) - 2 * cross + change / (self.weight * self.eta)
        least = (self.cost + self.pull_u).amin(1).sum(dtype=torch.float64)
        return float(square.clamp_min(0).sqrt()), moved, float(away) ** 0.5, self.base + self.scale * float(least)

    def write_u(self, into: list[Tensor]) -> None:
        """U of the present iterate."""
        sigma = self._sigma()
        for block, z, target in zip(self.blocks, self.z, into, strict=True):
            target.copy_(self._moved(z, *self._views(block), block.decay, block.share, sigma))

    def restart(self, moved: float, away: float) -> None:
        """Begin anew from (T, U), with a primal weight nearer to how far the two have moved."""
        self.write_u(self.z)
        for z, z0 in zip(self.z, self.z0, strict=True):
            z0.copy_(z)
        self.pull.copy_(self.pull_u)
        self.r.copy_(self.t)
        self.r0.copy_(self.t)
        if moved > 0 and away > 0:
            wanted = exp(_SMOOTHING * log(away / moved) + (1 - _SMOOTHING) * log(self.weight))
            self.weight = min(max(wanted, self.first_weight / _DRIFT), self.first_weight * _DRIFT)

    def repaired(self) -> tuple[float, Tensor]:
        """T closed, with what rows then lack added to one column, and what that costs."""
        closed = self.closed
        closed.copy_(self.t)
        self.close(closed)
        closed.div_(closed.sum(1, keepdim=True))
        self.close(closed)
        sums = closed.sum(1, dtype=torch.float64)
        missing = sums.max() - sums
        if len(self.decay):
            lacking = self.decay.double() * missing[self.first] - missing[self.second]
            missing += (lacking / self.closeness.double()).max().clamp_min(0)
        column = int((missing.to(self.dtype) @ self.cost).argmin())
        closed[:, column] += missing.to(self.dtype)
        closed.div_(closed.sum(1, keepdim=True))
        return self.base + self.scale * float((self.cost * closed).sum(dtype=torch.float64)), closed

    def relative(self, value: float, bound: float) -> float:
        """The relative gap."""
        return (value - bound) / max(abs(value), self.magnitude)


def minimise_columns(
    cost: NDArray[np.float64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    logs: NDArray[np.float64],
    *,
    tolerance: float = 1e-3,
    time_limit: float | None = None,
    progress: Callable[[FirstOrderProgress], object] | None = None,
    shape: tuple[int, ...] | None = None,
    start: tuple[NDArray[Any] | None, NDArray[Any] | None] = (None, None),
    device: str = "cpu",
    dtype: torch.dtype = torch.float64,
    compiled: bool = False,
    check_every: int = 25,
    most_iterations: int = 1_000_000,
) -> FirstOrderSolution:
    """Minimise Σ C∘R over rows that sum to 1 and columns with R_xy ≤ e^{l_k} R_zy for all pairs k = (x, z).

    Arrays are taken as they are: finite costs, indices in range, no loops, positive finite logs.

    Parameters
    ----------
    tolerance
        Relative gap between the repaired value and the bound at which to stop.
    progress
        Called at every check; raising ``KeyboardInterrupt`` ends the run with the best so far, as Ctrl-C does.
    shape
        Of the lattice whose cells, in row-major order, the rows are: pairs are then shifts, not gathers, where few
        offsets occur. :func:`lattice_shape` finds it for neighbours.
    start
        A matrix and multipliers to begin with, either may be None.
    compiled
        Fuse element-wise work with ``torch.compile``; worth it on a GPU.

    Examples
    --------
    >>> pair = np.array([0, 1]), np.array([1, 0]), np.log([3.0, 3.0])
    >>> found = minimise_columns(np.array([[0.0, 1.0], [1.0, 0.0]]), *pair, tolerance=1e-6)
    >>> found.matrix.round(4).tolist(), round(found.value, 5), found.ended
    ([[0.75, 0.25], [0.25, 0.75]], 0.5, 'reached')
    """
    began = perf_counter()
    if not (cost > cost.min(axis=1, keepdims=True)).any():
        value = float(cost.min(axis=1).sum())
        return FirstOrderSolution(
            np.full(cost.shape, 1 / cost.shape[1]), np.zeros((len(logs), cost.shape[1])), value, value, 0.0, 0, 0,
            perf_counter() - began, "reached", "gathers", 0.0,
        )  # fmt: skip
    run = _Iteration(cost, first, second, logs, shape, torch.device(device), dtype, compiled)
    run.warm(*start, None)
    ready = perf_counter() - began
    best, bound, gap = np.inf, run.base, np.inf
    iteration, restarts, k = 0, 0, 0
    at_start, before, ended = np.inf, np.inf, "iterations"
    try:
        while iteration < most_iterations:
            iteration += 1
            run.primal_step()
            if k == 0:
                at_start = before = run.measure()[0]
            if iteration % check_every:
                run.advance(k)
                k += 1
                continue
            residual, moved, away, lower = run.measure()
            value, closed = run.repaired()
            if value < best:
                best = value
                run.best_r.copy_(closed)
            if lower > bound:
                bound = lower
                run.write_u(run.best_z)
            gap, seconds = run.relative(best, bound), perf_counter() - began
            if progress is not None:
                progress(FirstOrderProgress(iteration, best, bound, gap, seconds))
            if gap <= tolerance:
                ended = "reached"
                break
            if time_limit is not None and seconds >= time_limit:
                ended = "time"
                break
            rising = residual <= _NECESSARY * at_start and residual > before
            if k and (residual <= _ENOUGH * at_start or rising or k >= _LONG * iteration):
                run.restart(moved, away)
                restarts, k = restarts + 1, 0
            else:
                before = residual
                run.advance(k)
                k += 1
    except KeyboardInterrupt:
        ended = "interrupted"
    multipliers = np.zeros((len(logs), run.m), dtype=np.float64 if dtype == torch.float64 else np.float32)
    for block, z in zip(run.blocks, run.best_z, strict=True):
        multipliers[block.places] = (z.view(-1, run.m) * run.scale).cpu().numpy()
    return FirstOrderSolution(
        run.best_r.cpu().numpy(), multipliers, best, bound, gap, iteration, restarts, perf_counter() - began, ended,
        run.layout, ready,
    )  # fmt: skip
