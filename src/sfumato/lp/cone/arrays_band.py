"""Pairs of a sparse graph as a list, and Newton systems with a small band.

In the order of Cuthill and McKee, reversed, rows that have a pair in common are close. With blocks as large as the
largest distance H is block tridiagonal, and so is its Cholesky factor: for block j an upper triangular V_j, the
transposed inverse of the factor's diagonal block, and N_j ≥ 0, minus the block below. Elimination adds only, as in
:mod:`sfumato.lp.cone.arrays_roots`, and solving is products of small matrices, for many columns at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from sfumato.lp.cone.arrays_backend import Arrays
from sfumato.lp.cone.arrays_links import Part
from sfumato.lp.cone.arrays_pairs import Cone, DenseCone, split_decay
from sfumato.lp.cone.arrays_roots import inverse_roots
from sfumato.lp.cone.program import ColumnProgram, pairs_of_rows
from sfumato.numbers import Floats, Integers

_NARROW = 0.2  # A band as wide as this part of the rows takes as long as a full matrix.
_SMALLEST_BLOCK = 4  # Blocks of fewer rows are all overhead.


def band(program: ColumnProgram) -> tuple[Integers, int]:
    """An order of the rows, and the largest distance between the two of a pair in this order.

    Examples
    --------
    >>> cycle = ColumnProgram(np.eye(6), [0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0], np.ones(6))
    >>> band(cycle)[1]
    2
    """
    n, first, second = program.shape[0], program.first, program.second
    if not len(first):
        return np.arange(n), 0
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    graph = csr_array((np.ones(2 * len(first)), ends), shape=(n, n))
    order = reverse_cuthill_mckee(graph, symmetric_mode=True).astype(np.int64)
    place = np.argsort(order)
    return order, int(np.abs(place[first] - place[second]).max())


class BandedCone(Cone):
    """Pairs as a list, rows in the given order, in blocks of ``size`` rows."""

    def __init__(self, arrays: Arrays, program: ColumnProgram, weight: Floats, order: Integers, size: int) -> None:
        n = program.shape[0]
        self.arrays, self.size, self.n = arrays, size, n
        self.kept = np.flatnonzero(weight)
        first, second = program.first[self.kept], program.second[self.kept]
        self.shape, self.present = (len(self.kept),), None
        self.first, self.second = arrays.integers(first), arrays.integers(second)
        self.decay, self.weight = self.laid_out(np.exp(-program.logs)), self.laid_out(weight)
        self.near, self.rest = split_decay(self.decay)
        self.into, self.out_of = (arrays.integers(pairs_of_rows(ends, n, len(ends))) for ends in (second, first))
        self.blocks = -(-n // size)
        # the last block is filled up with rows of their own, which read the entry n: a one
        filled = np.concatenate([order, np.full(self.blocks * size - n, n)])
        self.filled = arrays.integers(filled)
        place = np.argsort(order)
        self.place = arrays.integers(place)
        self._lay_out_blocks(place[first], place[second])
        self.bytes_kept = 16 * self.blocks * size * size
        self.bytes_used = max(self.bytes_kept, 8 * len(self.kept))
        self.links: list[list[Any]] = []

    def _lay_out_blocks(self, x: Integers, e: Integers) -> None:
        """For each pair of rows, in either direction, its one or two pairs, and its places in the blocks."""
        upper, lower = np.minimum(x, e), np.maximum(x, e)
        places, which = np.unique(lower * self.n + upper, return_inverse=True)
        self.members = self.arrays.integers(pairs_of_rows(which, len(places), len(which)))
        lower, upper = np.divmod(places, self.n)
        size, half = self.size, self.blocks * self.size * self.size
        block, row, column = lower // size, lower % size, upper % size
        same = block == upper // size
        at = np.where(same, 0, half) + (upper // size) * size * size + row * size + column
        self.entries = self.arrays.integers(at)

    def slacks(self, r: Any) -> Any:
        """G r."""
        x, e = r[:, self.first], r[:, self.second]
        return (e - self.near * x) + self.rest * x

    def adjoint(self, values: Any) -> Any:
        """Gᵀ times values over pairs: each row gathers its own."""
        gathered = self._padded(values)[:, self.into].sum(2)
        return gathered - self._padded(self.decay * values)[:, self.out_of].sum(2)

    def _padded(self, values: Any, last: float = 0.0) -> Any:
        """One column more."""
        return self.arrays.module.concatenate([values, self.arrays.zeros(len(values), 1) + last], 1)

    def laid_out(self, values: Floats) -> Any:
        """Values of the pairs that are kept."""
        return self.arrays.given(values[self.kept])

    def listed(self, values: Any) -> Any:
        """They are a list already."""
        return values

    def _in_blocks(self, values: Any, last: float) -> Any:
        return self._padded(values, last)[:, self.filled].reshape(len(values), self.blocks, self.size)

    def factor(self, r: Any, lam: Any, adjoint: Any, z: Any) -> Any:
        """r in blocks, V_j and N_j: c × blocks × size (× size)."""
        c, size = len(r), self.size
        w = z / self.slacks(r) * r[:, self.second] * (self.decay * r[:, self.first])
        halves = self.arrays.zeros(c, 2 * self.blocks * size * size)
        halves[:, self.entries] = self._padded(w)[:, self.members].sum(2)
        inside, across = (part.reshape(c, self.blocks, size, size) for part in _halves(halves))
        excess, least = self._in_blocks(r * (lam + adjoint), 1.0), self._in_blocks(r * lam, 1.0)
        for j in range(self.blocks):
            coupled = inside[:, j]
            mine = excess[:, j]
            if j + 1 < self.blocks:
                root = inverse_roots(self.arrays, coupled, mine + across[:, j].sum(1), least[:, j])
                below = across[:, j] @ root
                across[:, j] = below
                inside[:, j + 1] += below @ below.mT
                excess[:, j + 1] += (below @ (root.mT @ mine[:, :, None]))[:, :, 0]
            else:
                root = inverse_roots(self.arrays, coupled, mine, least[:, j])
            inside[:, j] = root
        return self._in_blocks(r, 1.0), inside, across

    def solve(self, factor: Any, values: Any) -> Any:
        """H⁻¹ times values over rows."""
        scale, roots, below = factor
        right = (self._in_blocks(values, 0.0) * scale)[:, :, :, None]
        half: list[Any] = []
        for j in range(self.blocks):
            force = right[:, j] + below[:, j - 1] @ half[-1] if j else right[:, j]
            half.append(roots[:, j].mT @ force)
        for j in reversed(range(self.blocks)):
            force = half[j] + below[:, j].mT @ half[j + 1] if j + 1 < self.blocks else half[j]
            half[j] = roots[:, j] @ force
        solved = self.arrays.module.concatenate([block[:, :, 0] for block in half], 1) * scale.reshape(len(scale), -1)
        return solved[:, self.place]

    def gram(self, factor: Any, r: Any, parts: list[Part], low: int, high: int) -> Any:
        """Σ_y B_yᵀ H_y⁻¹ B_y over the columns low … high.

        The columns of B are sorted by the block in which they begin, so that up to block j only the first of them
        have anything to be solved for; and of what comes back only one triangle is needed.
        """
        if not self.links:
            self._sort_links(parts)
        k = len(self.link_order)
        total = self.arrays.zeros(k, k)
        step = max(1, self.arrays.chunk // (8 * k * self.blocks * self.size))
        scale, roots, below = factor
        tables = [None if part.table is None else self._in_blocks(part.table[low:high], 0.0) for part in parts]
        for start in range(0, high - low, step):
            part = slice(start, start + step)
            weights = [scale[part] if table is None else scale[part] * table[part] for table in tables]
            self._add_gram(total, weights, roots[part], below[part])
        lower = self.arrays.module.tril(total)
        both = lower + self.arrays.module.tril(total, -1).T
        return both[self.link_place][:, self.link_place]

    def _sort_links(self, parts: list[Part]) -> None:
        """Indicators of the columns of B for the rows of each block, up to the last that has begun there."""
        size, begins, indicators = self.size, [], []
        filled = self.arrays.numpy(self.filled)
        for part in parts:
            labels = np.append(self.arrays.numpy(part.labels), part.count)[filled]
            first = np.full(part.count + 1, self.blocks - 1)
            np.minimum.at(first, labels, np.arange(len(labels)) // size)
            begins.append(first[:-1])
            indicators.append(labels)
        order = np.argsort(np.concatenate(begins), kind="stable")
        rank, at = np.argsort(order), 0
        counts = np.searchsorted(np.concatenate(begins)[order], np.arange(self.blocks), side="right")
        self.link_order, self.link_place = order, self.arrays.integers(rank)
        self.links = [[] for _ in range(self.blocks)]
        for part, labels in zip(parts, indicators, strict=True):
            for j, count in enumerate(counts.tolist()):
                table = np.zeros((size, count))
                mine = labels[j * size : (j + 1) * size]
                inside = np.flatnonzero(mine < part.count)
                table[inside, rank[at + mine[inside]]] = 1.0
                self.links[j].append(self.arrays.given(table))
            at += part.count

    def _add_gram(self, total: Any, weights: list[Any], roots: Any, below: Any) -> None:
        half: list[Any] = []
        for j, tables in enumerate(self.links):
            force = sum(weight[:, j, :, None] * table for weight, table in zip(weights, tables, strict=True))
            if j:
                force[:, :, : half[-1].shape[2]] += below[:, j - 1] @ half[-1]
            half.append(roots[:, j].mT @ force)
        solved = None
        for j in reversed(range(self.blocks)):
            mine, count = half.pop(), self.links[j][0].shape[1]
            if solved is not None:
                mine = mine + below[:, j].mT @ solved[:, :, :count]
            solved = roots[:, j] @ mine
            for weight, table in zip(weights, self.links[j], strict=True):
                total[:count, :count] += table.T @ (weight[:, j, :, None] * solved).sum(0)


def cone_for(program: ColumnProgram, weight: Floats, arrays: Arrays) -> Cone:
    """The pairs of a program that have a weight, in the layout that needs less work."""
    order, width = band(program)
    size = max(width, _SMALLEST_BLOCK)
    if size <= _NARROW * program.shape[0]:
        return BandedCone(arrays, program, weight, order, size)
    if arrays.fused:
        from sfumato.lp.cone.arrays_triton import FusedCone

        return FusedCone(arrays, program, weight)
    return DenseCone(arrays, program, weight)


def _halves(values: Any) -> tuple[Any, Any]:
    middle = values.shape[1] // 2
    return values[:, :middle], values[:, middle:]
