"""Positive definite systems with entries near the diagonal, four columns in one register: factor, solve, invert.

A system H with bandwidth w is stored row by row, w + 1 registers a row, the diagonal last; so is its Cholesky factor L,
with reciprocals on the diagonal. The inverse is full, but each of its rows is a combination of the w rows below it:
Lᵀ H⁻¹ = L⁻¹ has nothing above the diagonal, so (H⁻¹)_ij = −Σ_k L_ki (H⁻¹)_kj / L_ii for i < j, from the last row up.
That takes n² w / 2 products, where a dense inverse takes n³. Dense systems have w = n − 1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.lp.cone.registers import LANES, larger, load, registers, root, spread, store
from sfumato.numbers import Floats, Integers

# A pivot below this part of its diagonal entry is nothing but rounding error.
_SMALLEST_PIVOT = 2.0**-50


class Bands:
    """The systems of some columns, n × n with bandwidth w."""

    def __init__(self, n: int, width: int, columns: int) -> None:
        self.n, self.width, self.columns = n, width, columns
        self.groups = -(-columns // LANES)
        self.factors = registers(self.groups, n * (width + 1), LANES)
        self.mask = registers(self.groups, LANES)
        self.mask.reshape(-1)[:columns] = 1.0

    @staticmethod
    def scratch(n: int) -> Floats:
        """Room for one inverse, which is written four entries at a time, past the end of a row."""
        return registers(n, n + 4, LANES)

    def factor(self, places: Integers, entries: Floats, scratch: Floats, link: Floats) -> None:
        """Factor the systems whose ``entries``, one column a system, are at ``places``.

        Add their inverses to ``link``, upper triangles only; ``scratch`` is what :meth:`scratch` gave.
        """
        for group, factors in enumerate(self.factors):
            part = entries[:, group * LANES : (group + 1) * LANES]
            factors[:] = 0.0
            factors[places] = part[:, :1]
            factors[places, : part.shape[1]] = part
        _factor(self.factors, self.width, self.mask, scratch, link)

    def solve(self, right: Floats) -> Floats:
        """H⁻¹ q for each column q."""
        lanes = registers(self.n, self.groups * LANES)
        lanes[:, : self.columns] = right
        vectors = np.ascontiguousarray(lanes.reshape(self.n, self.groups, LANES).transpose(1, 0, 2))
        _solve(self.factors, self.width, vectors)
        return vectors.transpose(1, 0, 2).reshape(self.n, -1)[:, : self.columns]


@njit(cache=True, nogil=True)
def _factor(bands, width, mask, inverse, link):  # type: ignore[no-untyped-def]
    n, high, long = len(link), width + 1, inverse.shape[1]
    small, one, zero = spread(_SMALLEST_PIVOT), spread(1.0), spread(0.0)
    above = np.empty((width + 1, LANES))
    for group in range(len(bands)):
        band = bands[group]
        for i in range(n):
            row = i * high + width - i  # entry j of row i is at row + j
            start = max(0, i - width)
            for j in range(start, i + 1):
                other = j * high + width - j
                even, odd = zero, zero
                for k in range(start, j - 1, 2):
                    even = even + load(band, row + k) * load(band, other + k)
                    odd = odd + load(band, row + k + 1) * load(band, other + k + 1)
                if (j - start) % 2:
                    even = even + load(band, row + j - 1) * load(band, other + j - 1)
                entry = load(band, row + j)
                rest = entry - (even + odd)
                if j < i:
                    store(band, row + j, rest * load(band, other + j))
                else:
                    store(band, row + j, one / root(larger(rest, entry * small)))
        keep = mask[group]
        for i in range(n - 1, -1, -1):
            reciprocal = load(band, i * high + width)
            below = min(width, n - 1 - i)
            for k in range(below):
                store(above, k, zero - reciprocal * load(band, (i + 1 + k) * high + width - 1 - k))
            for j in range(i + 1, n, 4):
                a, b, c, d = zero, zero, zero, zero
                for k in range(below):
                    factor, at = load(above, k), (i + 1 + k) * long + j
                    a = a + factor * load(inverse, at)
                    b = b + factor * load(inverse, at + 1)
                    c = c + factor * load(inverse, at + 2)
                    d = d + factor * load(inverse, at + 3)
                at = i * long + j
                store(inverse, at, a)
                store(inverse, at + 1, b)
                store(inverse, at + 2, c)
                store(inverse, at + 3, d)
            corner = reciprocal * reciprocal
            for k in range(below):
                entry = load(inverse, i * long + i + 1 + k)
                corner = corner + load(above, k) * entry
                store(inverse, (i + 1 + k) * long + i, entry)
            store(inverse, i * long + i, corner)
            for j in range(i, n):
                lanes = inverse[i, j]
                link[i, j] += keep[0] * lanes[0] + keep[1] * lanes[1] + keep[2] * lanes[2] + keep[3] * lanes[3]


@njit(cache=True, nogil=True)
def _solve(bands, width, vectors):  # type: ignore[no-untyped-def]
    n, high = vectors.shape[1], width + 1
    for group in range(len(bands)):
        band, vector = bands[group], vectors[group]
        for i in range(n):
            row = i * high + width - i
            rest = load(vector, i)
            for k in range(max(0, i - width), i):
                rest = rest - load(band, row + k) * load(vector, k)
            store(vector, i, rest * load(band, row + i))
        for i in range(n - 1, -1, -1):
            row = i * high + width - i
            rest = load(vector, i) * load(band, row + i)
            store(vector, i, rest)
            for k in range(max(0, i - width), i):
                store(vector, k, load(vector, k) - load(band, row + k) * rest)
