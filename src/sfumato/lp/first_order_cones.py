"""Columns under second-order cones by the first-order method: nothing is factored.

The iteration of :mod:`sfumato.lp.first_order`, steered alike, for a :class:`~sfumato.lp.cone.blocks.BlockProgram`:

    T = proj(R − τ P∘(C − GᵀZ)),    U = proj_K(Z − σ Q∘G(2T − R)),

where the dual step projects onto the cones, which is one formula for each, and Q has one number a cone. There is no
start that is nearly optimal for cones in general. Instead P, by which all entries of a column move by comparable
shares, is taken anew from the iterate whenever a run begins. Columns become private by a part of the column that is
inside all cones. The method is for programs whose factors do not fit into memory: where they do,
:func:`~sfumato.lp.cone.general.solve_blocks` needs a hundredth of the iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from sfumato.errors import MissingExtra, NotSupported, expect, keyword
from sfumato.lp.cone.arrays_backend import arrays_on
from sfumato.lp.cone.blocks import BlockProgram, BlockSolution, blocks_bound
from sfumato.lp.cone.program import ColumnProgress, check_tolerance, relative_gap
from sfumato.lp.cone.second_order import smallest
from sfumato.lp.first_order import Halpern, Measure, Steering, device_named, quick
from sfumato.memory import check_memory
from sfumato.numbers import Floats
from sfumato.watch import Watch, watch_of

torch: Any = import_module("torch") if find_spec("torch") else None

# Arrays of numbers over entries, and over forms of all columns, that are there at once.
_OVER_ENTRIES, _OVER_FORMS = 14, 12
_SMALLEST_SHARE = 1e-4  # An entry moves as if it had at least this part of the largest one in its row.
_SMALLEST_STAKE = 1e-2  # Rows with less at stake, relative to the largest, count as this one.
_NORM_ROUNDS = 20  # The norm of G takes so many rounds of power iteration.
_NEWTON_MOST, _NEWTON_DONE = 60, 1e-12  # Prices of sums take so many rounds at most, to this relative error.
_INSIDE = 1 + 1e-9  # A little more of the column inside than what rounding errors leave of the cones.
_SMALLER = ("fewer columns", "a coarser lattice")


def solve_blocks_first_order(
    program: BlockProgram,
    *,
    tolerance: float = 1e-2,
    time_limit: float | Watch | None = None,
    progress: Callable[[ColumnProgress], object] | None = None,
    device: str = "auto",
) -> BlockSolution:
    """Minimise over columns under linear rows and second-order cones, without factors.

    Parameters
    ----------
    tolerance
        Relative gap at which to stop. 1e-2 is what the method is for; 1e-3 takes patience.
    time_limit, progress
        As for :func:`~sfumato.lp.first_order.solve_first_order`.
    device
        ``"cpu"``, ``"cuda"``, or ``"auto"``: a GPU if there is one.

    Raises
    ------
    MissingExtra
        If torch is not installed.
    NotSupported
        If no multiple of the column inside has the totals of the program as its sums.

    Examples
    --------
    >>> program = BlockProgram([[0, 1], [1, 0]], [([[0.5, 0.5]], [[1, -1]])])
    >>> solution = solve_blocks_first_order(program, tolerance=1e-5, device="cpu")
    >>> solution.matrix.round(4).tolist(), solution.ended.name
    ([[0.75, 0.25], [0.25, 0.75]], 'REACHED')
    """
    program = expect(program, BlockProgram, "a program of blocks", "BlockProgram(cost, blocks)")
    check_tolerance(tolerance)
    begun, watch = perf_counter(), watch_of(time_limit)
    _check_totals(program)
    if torch is None:
        raise MissingExtra("gpu", "torch")
    scale = program.smallest_value
    with quick(sum(block[0].shape[0] for block in program.blocks) * program.shape[1]):
        method = ConeIteration(program, device_named(device, torch.cuda.is_available()))
        run = Steering(method, begun, scale)
        ended = run.until(tolerance, watch, progress)
        matrix, duals = method.matrix(), method.duals()
    value, bound = float((program.cost * matrix).sum()), blocks_bound(program, duals)
    gap = relative_gap(value, bound, scale)
    every = np.arange(program.shape[1])
    return BlockSolution(every, matrix, duals, value, bound, gap, run.iterations, perf_counter() - begun, ended)


def _check_totals(program: BlockProgram) -> None:
    sums = program.sums @ program.inside
    if not np.allclose(sums / program.totals, (sums / program.totals)[0], rtol=1e-9):
        raise NotSupported(
            f"a column inside whose sums are not a multiple of the totals (give another, {keyword('inside')}) in the "
            "first-order method",
            ["solve_blocks"],
        )


class ConeIteration(Halpern):
    """One run over tables of entries and of forms; A = −G."""

    sign = -1.0

    def __init__(self, program: BlockProgram, device: str) -> None:
        self.program, self.device = program, torch.device(device)
        (n, m), arrays = program.shape, arrays_on(device)
        self.shapes = [(len(block), block[0].shape[0]) for block in program.blocks]
        forms = sum(d * count for d, count in self.shapes)
        check_memory(8 * m * (_OVER_ENTRIES * n + _OVER_FORMS * forms),
                   f"the first-order method for {n} rows, {forms} forms and {m} columns on {device}", _SMALLER,
                   arrays.memory)  # fmt: skip
        matrix = csr_array(vstack([part for block in program.blocks for part in block] or [csr_array((0, n))], "csr"))
        self.forms, self.adjoint = arrays.sparse(matrix), arrays.sparse(csr_array(matrix.T.tocsr()))
        sizes = abs(matrix)
        self.absolute, self.absolute_adjoint = arrays.sparse(sizes), arrays.sparse(csr_array(sizes.T.tocsr()))
        self.squares = arrays.sparse(matrix.power(2))
        by_entry = program.sums.tocsc()
        self.classes, self.factors = arrays.integers(by_entry.indices), arrays.given(by_entry.data)[:, None]
        self.totals = arrays.given(program.totals)
        floor = program.least(program.cost)
        cost = program.cost - (program.sums.T @ floor)[:, None]
        self.inside = arrays.given(program.inside)[:, None]
        sums = program.sums @ program.inside / program.totals
        self.inside_sums = float(sums[0])
        start = program.inside[:, None] / (self.inside_sums * m)
        self.base, self.scale = float(program.totals @ floor), float((cost * start).sum()) or 1.0
        self.cost = arrays.given(cost / self.scale)
        self.margins = [smallest(part)[:, 0] for part in self._parts(self.forms @ self.inside)]
        self.theta = torch.zeros_like(self.totals)
        self.begin(arrays.given(np.repeat(start, m, axis=1)), arrays.zeros(forms, m))
        self.improve()
        stake = self.cost.mean(1)
        self.relative = (stake / stake.max().clamp_min(1e-300)).clamp_min(_SMALLEST_STAKE)[:, None]
        self._choose_steps()
        self.choose_weight(self.cost)

    def _parts(self, stacked: Any) -> list[Any]:
        """What is stacked over forms, block by block: components, cones, columns."""
        parts, low = [], 0
        for d, count in self.shapes:
            parts.append(stacked[low : low + d * count].view(d, count, stacked.shape[1]))
            low += d * count
        return parts

    def _choose_steps(self) -> None:
        """P from the present iterate, Q with one number for all forms of a cone, and how long steps may be."""
        largest = self.t.amax(1, keepdim=True).clamp_min(1e-300)  # in a class, a row may have nothing
        shares = (self.t / largest).clamp_min_(_SMALLEST_SHARE)
        p = shares.sqrt_().div_(self.relative).mul_(self.inside)
        held = self.squares @ p
        for part in self._parts(held):
            part[:] = part.sum(0, keepdim=True)
        self.choose_steps(p, 1.0 / held.clamp_min_(1e-300), _NORM_ROUNDS)

    def _sums(self, table: Any) -> Any:
        """Σ_y A r_y, of entries already multiplied by A."""
        return torch.zeros_like(self.totals).index_add_(0, self.classes, table.sum(1))

    def primal_step(self) -> None:
        """T = the nearest to R − τ P∘(C − GᵀZ) with the given sums, in the norm Σ (·)²/P."""
        v = self.r - (self.eta / self.weight) * self.p * (self.cost - self.adjoint @ self.z)
        slope_of, totals = self.factors * self.p, self.totals[self.classes][:, None]
        alone = ((v - totals / self.factors) / slope_of).amax(1)
        least = torch.full_like(self.totals, -torch.inf).scatter_reduce_(0, self.classes, alone, "amax")
        theta = torch.maximum(self.theta, least)
        for _ in range(_NEWTON_MOST):
            inside = (v - theta[self.classes][:, None] * slope_of).clamp_min_(0)
            excess = self._sums(self.factors * inside) - self.totals
            if float((excess / self.totals).abs().max()) < _NEWTON_DONE:
                break
            slope = self._sums(torch.where(inside > 0, self.factors * slope_of, 0.0))
            theta = torch.where(slope > 0, torch.maximum(theta + excess / slope.clamp_min(1e-30), least), least)
        self.theta = theta
        inside = (v - theta[self.classes][:, None] * slope_of).clamp_min_(0)
        self.t = inside * (self.totals / self._sums(self.factors * inside).clamp_min(1e-300))[self.classes][:, None]

    def differences(self, r: Any) -> Any:
        """G of entries."""
        return self.forms @ r

    def projected(self, z: Any) -> Any:
        """The nearest in the cones."""
        for part in self._parts(z):
            project(part)
        return z

    def squared(self, r: Any) -> Any:
        """|G|ᵀ Q |G| of entries."""
        return self.absolute_adjoint @ (self.q * (self.absolute @ r))

    def bound_of(self, z: Any) -> float:
        """Σ_c b_c min (C − GᵀZ)/A."""
        each = ((self.cost - self.adjoint @ z) / self.factors).amin(1)
        least = torch.full_like(self.totals, torch.inf).scatter_reduce_(0, self.classes, each, "amin")
        return self.base + self.scale * float(self.totals @ least)

    def restart(self, measure: Measure) -> None:
        """Begin anew, with steps that fit T."""
        super().restart(measure)
        self._choose_steps()

    def improve(self) -> None:
        """Add as much of the column inside to each column of T as its cones lack; keep that if it costs less."""
        lacks = torch.zeros(self.t.shape[1], dtype=torch.float64, device=self.device)
        for part, margin in zip(self._parts(self.forms @ self.t), self.margins, strict=True):
            if part.shape[1]:
                slack: Any = smallest(part)
                lacks = torch.maximum(lacks, (-slack / margin[:, None]).amax(0))
        lacks = lacks * _INSIDE
        private = (self.t + self.inside * lacks) / (1.0 + self.inside_sums * float(lacks.sum()))
        self.consider(private, self.base + self.scale * float((self.cost * private).sum()))

    def matrix(self) -> Floats:
        """The best point."""
        return np.asarray(self.best.cpu().numpy())

    def duals(self) -> tuple[Floats, ...]:
        """The best duals in the scale of the program, inside their cones in spite of rounding."""
        found = []
        for part in self._parts(self.best_z):
            z = self.scale * part.cpu().numpy()
            radius = np.sqrt((z[1:] ** 2).sum(axis=0))
            z[0] = np.maximum(z[0], radius * (1 + 2.0**-48))
            found.append(z)
        return tuple(found)


def project(x: Any) -> None:
    """The nearest vectors in the cones t ≥ ‖u‖, in place; x has one row a component, as in ``second_order``.

    Where −t ≥ ‖u‖ it is 0, where t ≥ ‖u‖ it is x, and else (t + ‖u‖)/2 times (1, u/‖u‖).

    Examples
    --------
    >>> x = torch.tensor([[0.0, 2.0, -3.0], [2.0, 1.0, 1.0]])
    >>> project(x)
    >>> x.tolist()
    [[1.0, 2.0, 0.0], [1.0, 1.0, 0.0]]
    """
    if len(x) == 1:
        x.clamp_min_(0)
        return
    radius = x[1:].square().sum(0).sqrt_()
    first = torch.where(x[0] >= radius, x[0], (0.5 * (x[0] + radius)).clamp_min(0))
    x[1:] *= torch.where(x[0] >= radius, 1.0, first / radius.clamp_min(1e-300))
    x[0] = first
