"""Positive definite systems with entries near the diagonal, for many columns at once, over arrays on any device.

Rows go into blocks so large that entries couple neighbouring blocks only. With D_i on the diagonal of H and B_i left of
it, S_i = D_i − B_i S_{i−1}⁻¹ B_iᵀ are what elimination leaves, and K_i = S_i⁻¹ B_{i+1}ᵀ. All work is products of small
dense matrices, one for each column: what a GPU does best. Of the inverse X, which is full, one row of blocks is there
at a time, from the last one up: X_ij = −K_i X_{i+1,j} for j > i, and X_ii = S_i⁻¹ − X_{i,i+1} K_iᵀ. That takes n² b
products for blocks of b rows, where a dense inverse takes n³, and the factors take 2nb numbers instead of n².
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.lp.cone.arrays_backend import Arrays
from sfumato.numbers import Integers

# What is added to the diagonal, relative to it, when rounding has left no factor; it grows until there is one.
_SHIFT, _GROWTH = 2.0**-50, 8.0
# Smaller blocks than these make too many calls.
_SMALLEST_BLOCK = 16


def block_rows(n: int, rows: Integers, columns: Integers) -> int:
    """The least number of rows a block, for entries at ``rows`` and ``columns`` of the lower triangle.

    Examples
    --------
    A grid with 20 × 20 points, each coupled with its two next neighbours along both axes: two lines a block.

    >>> points = np.arange(400)
    >>> block_rows(400, np.concatenate([points[2:], points[40:]]), np.concatenate([points[:-2], points[:-40]]))
    40
    """
    width = int((rows - columns).max(initial=0))
    for size in range(max(_SMALLEST_BLOCK, (width + 1) // 2), width):
        if (rows // size - columns // size).max(initial=0) <= 1:
            return min(size, n)
    return min(max(width, _SMALLEST_BLOCK), n)


class Tridiagonal:
    """The systems of some columns.

    Parameters
    ----------
    arrays
        Where they are.
    n, places
        Number of rows, and where lower triangles have entries: rows and columns.
    columns
        How many systems there are.
    """

    def __init__(self, arrays: Arrays, n: int, places: tuple[Integers, Integers], columns: int) -> None:
        self.arrays, self.n, self.columns = arrays, n, columns
        self.size = size = block_rows(n, *places)
        self.count = -(-n // size)
        rows, others = places
        # blocks on the diagonal come first, then those left of it, beginning with that of the second row of blocks
        block = rows // size + np.where(rows // size > others // size, self.count - 1, 0)
        self.places = arrays.integers((block * size + rows % size) * size + others % size)
        beyond = np.arange(n, self.count * size)  # rows that fill the last block
        self.beyond = arrays.integers((beyond // size * size + beyond % size) * size + beyond % size)
        every = np.arange(size)
        self.diagonal = arrays.integers(every * size + every)
        self.roots: list[Any] = []
        self.onward: list[Any] = []

    def factor(self, entries: Any, scratch: Any, link: Any) -> None:
        """Factor the systems with these ``entries`` at their places, one column a system.

        Add the sum of their inverses to ``link``, upper triangles of blocks only; nothing is needed from ``scratch``.
        """
        self._eliminate(self._blocks(entries))
        arrays, size = self.arrays, self.size
        row = None
        for i in range(self.count - 1, -1, -1):
            corner = self.roots[i].mT @ self.roots[i]
            if row is None:
                row = corner
            else:
                right = -(self.onward[i] @ row)
                row = arrays.module.concatenate([corner - right[:, :, :size] @ self.onward[i].mT, right], -1)
            high = min((i + 1) * size, self.n)
            link[i * size : high, i * size :] += row.sum(0)[: high - i * size, : self.n - i * size]

    def _blocks(self, entries: Any) -> Any:
        """All blocks of the systems."""
        flat = self.arrays.zeros(self.columns, (2 * self.count - 1) * self.size**2)
        flat[:, self.places] = entries.T
        flat[:, self.beyond] = 1.0
        return flat.reshape(self.columns, 2 * self.count - 1, self.size, self.size)

    def _eliminate(self, blocks: Any) -> None:
        """Inverse roots of all S_i, and all K_i."""
        self.roots, self.onward = [], []
        for i in range(self.count):
            left = blocks[:, i]
            if i:
                beside = blocks[:, self.count + i - 1] @ self.roots[-1].mT
                self.onward.append(self.roots[-1].mT @ beside.mT)
                left = left - beside @ beside.mT
            self.roots.append(self._inverse_roots(left, blocks[:, i]))

    def _inverse_roots(self, left: Any, given: Any) -> Any:
        """L⁻¹ for every S = L Lᵀ; the diagonal grows where there is no L."""
        roots, failed = self.arrays.roots(left)
        shift = _SHIFT
        while shift < 1 and bool(failed.any()):
            bad = left[failed].reshape(-1, self.size**2)
            bad[:, self.diagonal] += shift * given[failed].reshape(-1, self.size**2)[:, self.diagonal]
            left = left + 0.0
            left[failed] = bad.reshape(-1, self.size, self.size)
            again, still = self.arrays.roots(left[failed])
            roots[failed] = again
            rest = failed.nonzero()
            rest = rest[0] if isinstance(rest, tuple) else rest[:, 0]
            failed[rest] = still
            shift *= _GROWTH
        return self.arrays.inverted(roots)

    def solve(self, right: Any) -> Any:
        """H⁻¹ q for each column q."""
        padded = self.arrays.zeros(self.columns, self.count * self.size)
        padded[:, : self.n] = right.T
        parts = padded.reshape(self.columns, self.count, self.size, 1)
        forward: list[Any] = []
        for i in range(self.count):
            forward.append(parts[:, i] - self.onward[i - 1].mT @ forward[-1] if i else parts[:, 0])
        result: list[Any] = []
        for i in range(self.count - 1, -1, -1):
            own = self.roots[i].mT @ (self.roots[i] @ forward[i])
            result.append(own - self.onward[i] @ result[-1] if result else own)
        return self.arrays.module.concatenate(result[::-1], 1)[:, : self.n, 0].T
