"""Pairs of rows in every column, laid out for array operations, and the Newton systems they make.

For a pair k = (x, e) with decay d the slack of a column r is r_e − d r_x; G maps a column to its slacks. A cone
knows G and Gᵀ, and the inverse of H = Gᵀ diag(z/s) G + diag(λ/r) of many columns at once. Two layouts: all pairs as
an n × n table (:class:`DenseCone`), for metrics in which most pairs count, and a list of pairs whose matrices have a
small band once the rows are in a good order (:class:`BandedCone` of :mod:`sfumato.lp.cone.arrays_band`).

With r ∘ H ∘ r the off-diagonal entries are −w ≤ 0, w = z/s · r_e · d r_x, and the row sums r (λ + Gᵀz), which is what
:func:`~sfumato.lp.cone.arrays_roots.inverse_roots` wants.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.lp.cone.arrays_backend import Arrays
from sfumato.lp.cone.arrays_links import Part
from sfumato.lp.cone.arrays_roots import inverse_roots
from sfumato.lp.cone.products import aimed, dual_stepped, moved_targets, predicted, reach
from sfumato.lp.cone.program import ColumnProgram
from sfumato.numbers import Floats, Integers

_WORTH_SPLITTING = 256  # With fewer rows, four products take longer than one.


class Cone(ABC):
    """Pairs in one layout. Columns come in chunks: arrays over rows are c × n, over pairs c × ``shape``.

    Attributes
    ----------
    shape
        Of the pairs of one column.
    decay, weight
        For each pair; 0 where the layout has a place and the program has no pair.
    present
        Where pairs are, None if everywhere.
    kept
        Which pairs of the program these are.
    bytes_kept, bytes_used
        Memory of a column's factor, and of its largest temporary array.
    """

    arrays: Arrays
    shape: tuple[int, ...]
    decay: Any
    weight: Any
    present: Any
    kept: Integers
    bytes_kept: int
    bytes_used: int

    @abstractmethod
    def slacks(self, r: Any) -> Any:
        """G r."""

    @abstractmethod
    def adjoint(self, values: Any) -> Any:
        """Gᵀ times values over pairs."""

    @abstractmethod
    def laid_out(self, values: Floats) -> Any:
        """Values of the program's pairs, in their layout; 0 elsewhere."""

    @abstractmethod
    def listed(self, values: Any) -> Any:
        """Values in the layout, along the last axis in the order of the pairs ``kept``."""

    @abstractmethod
    def factor(self, r: Any, lam: Any, adjoint: Any, z: Any) -> Any:
        """What :meth:`solve` and :meth:`gram` need of H, where ``adjoint`` is Gᵀz."""

    @abstractmethod
    def solve(self, factor: Any, values: Any) -> Any:
        """H⁻¹ times values over rows."""

    @abstractmethod
    def gram(self, factor: Any, r: Any, parts: list[Part], low: int, high: int) -> Any:
        """Σ_y B_yᵀ H_y⁻¹ B_y over the columns low … high."""

    def predicted(self, r: Any, dr: Any, z: Any) -> Any:
        """Sizes of the predictor's step, as :func:`~sfumato.lp.cone.products.predicted`."""
        return predicted(self.arrays.module, self.slacks(r), self.slacks(dr), z)

    def is_inside(self, r: Any) -> bool:
        """Whether entries and slacks are positive."""
        return bool((r > 0).all()) and (not self.shape[0] or bool((self.slacks(r) > 0).all()))

    def weighted(self, columns: Any) -> Any:
        """Weights of the pairs of columns that have weights themselves."""
        return columns.reshape(-1, *(1 for _ in self.shape)) * self.weight

    def aim(self, r: Any, dr: Any, z: Any, target: Any, columns: Any, centre: float, least: float, most: float) -> Any:
        """Set targets, and return Gᵀ of the duals after the step they ask for."""
        slack, change = self.slacks(r), self.slacks(dr)
        target[:] = aimed(slack, change, z, self.weighted(columns), centre, least, most)
        return self.adjoint(dual_stepped(slack, change, z, target))

    def reach(
        self, r: Any, primal: Any, dual: Any, more: Any, z: Any, target: Any, new: Any, shares: tuple[float, ...]
    ) -> Any:
        """How far steps may go, as :func:`~sfumato.lp.cone.products.reach`."""
        slack, ahead, beside, change = (self.slacks(array) for array in (r, primal, dual, more))
        return reach(self.arrays.module, slack, ahead, beside, change, z, target, new, shares, self.present)

    def move(
        self, r: Any, primal: Any, dual: Any, z: Any, target: Any, new: Any, columns: Any, ahead: float, beside: float,
        least: float, most: float,
    ) -> Any:  # fmt: skip
        """Set new targets for a longer step, and return Gᵀ of the duals after the step they ask for."""
        slack, forward, change = self.slacks(r), self.slacks(primal), self.slacks(dual)
        weight = self.weighted(columns)
        new[:] = moved_targets(slack, forward, change, z, target, weight, ahead, beside, least, most)
        return self.adjoint(dual_stepped(slack, change, z, new))

    def advance(self, r: Any, dr: Any, z: Any, target: Any, dual: float, trial: bool = False) -> Any:
        """Take the step of the multipliers, unless it is a trial, and return Gᵀ of the new ones."""
        new = (1.0 - dual) * z + dual * dual_stepped(self.slacks(r), self.slacks(dr), z, target)
        if not trial:
            z[:] = new
        return self.adjoint(new)


class DenseCone(Cone):
    """All ordered pairs of rows as a table (x, e): broadcasting only, nothing is gathered or scattered."""

    def __init__(self, arrays: Arrays, program: ColumnProgram, weight: Floats) -> None:
        n = program.shape[0]
        self.arrays, self.shape = arrays, (n, n)
        self.kept = np.flatnonzero(weight)
        self.place = arrays.integers((program.first * n + program.second)[self.kept])
        self.decay, self.weight = self.laid_out(np.exp(-program.logs)), self.laid_out(weight)
        self.present = self.weight > 0
        self.near, self.rest = split_decay(self.decay)
        self.bytes_kept = self.bytes_used = 8 * n * n

    def slacks(self, r: Any) -> Any:
        """G r."""
        x, e = r[:, :, None], r[:, None, :]
        return (e - self.near * x) + self.rest * x

    def adjoint(self, values: Any) -> Any:
        """Gᵀ times values over pairs."""
        return values.sum(1) - (self.decay * values).sum(2)

    def laid_out(self, values: Floats) -> Any:
        """Values of the program's pairs as a table."""
        table = self.arrays.zeros(self.shape[0] * self.shape[1])
        table[self.place] = self.arrays.given(values[self.kept])
        return table.reshape(self.shape)

    def listed(self, values: Any) -> Any:
        """Tables as lists of pairs."""
        return values.reshape(len(values), -1)[:, self.place]

    def factor(self, r: Any, lam: Any, adjoint: Any, z: Any) -> Any:
        """U, upper triangular, with U Uᵀ = H⁻¹."""
        roots = inverse_roots(self.arrays, self.coupled(r, z), r * (lam + adjoint), r * lam)
        roots *= r[:, :, None]
        return roots

    def coupled(self, r: Any, z: Any) -> Any:
        """−r ∘ H ∘ r off the diagonal; what is above it need not be there."""
        w = z / self.slacks(r) * r[:, None, :] * (self.decay * r[:, :, None])
        return w + w.mT

    def solve(self, factor: Any, values: Any) -> Any:
        """H⁻¹ times values over rows."""
        return (factor @ (factor.mT @ values[:, :, None]))[:, :, 0]

    def gram(self, factor: Any, r: Any, parts: list[Part], low: int, high: int) -> Any:
        """Σ_y B_yᵀ H_y⁻¹ B_y over the columns low … high."""
        rows = []
        for part in parts:
            weighted = factor if part.table is None else part.table[low:high, :, None] * factor
            rows.append(weighted if part.indicator is None else part.indicator @ weighted)
        stacked = rows[0] if len(rows) == 1 else self.arrays.module.concatenate(rows, 1)
        return _sum_of_squares(self.arrays, stacked, triangular=stacked is factor)


def split_decay(decay: Any) -> tuple[Any, Any]:
    """``near``, 1 where d > 1/2 and else 0, and ``rest`` = near − d.

    e − d x = (e − near · x) + rest · x loses no digit where d is nearly 1 and x nearly e.
    """
    near = decay * 0 + (decay > 0.5)
    return near, near - decay


def _sum_of_squares(arrays: Arrays, stacked: Any, triangular: bool) -> Any:
    """Σ_c X_c X_cᵀ; of upper triangular X most of the half that is zero is left out."""
    k = stacked.shape[1]
    result = arrays.zeros(k, k)
    edges = np.linspace(0, k, 5 if triangular and k >= _WORTH_SPLITTING else 2).astype(int).tolist()
    for top, bottom in pairwise(edges):
        start = top if triangular else 0
        square = arrays.summed_products(stacked[:, top:bottom, start:], stacked[:, :bottom, start:])
        result[top:bottom, :bottom] = square
        result[:top, top:bottom] = square[:, :top].T
    return result
