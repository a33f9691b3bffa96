"""Positive definite systems with entries near the diagonal, four columns in one register: factor, solve, invert.

A system H with bandwidth w is stored row by row, w + 1 registers a row, the diagonal last; so is its Cholesky factor L,
with reciprocals on the diagonal. The inverse is full, but each of its rows is a combination of the w rows below it:
Lᵀ H⁻¹ = L⁻¹ has nothing above the diagonal, so (H⁻¹)_ij = −Σ_k L_ki (H⁻¹)_kj / L_ii for i < j, from the last row up.
That takes n² w / 2 products, where a dense inverse takes n³. Dense systems have w = n − 1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.lp.cone.registers import LANES, larger, load, registers, root, spread, store_lanes
from sfumato.numbers import Floats, Integers

# A pivot below this part of its diagonal entry is nothing but rounding error.
_SMALLEST_PIVOT = 2.0**-50


class Bands:
    """The systems of some columns, n × n, whose lower triangles have entries at ``places``: rows and columns."""

    def __init__(self, n: int, places: tuple[Integers, Integers], columns: int) -> None:
        rows, others = places
        self.n, self.width, self.columns = n, int((rows - others).max(initial=0)), columns
        width = self.width
        self.places = rows * (width + 1) + others - rows + width
        self.groups = -(-columns // LANES)
        self.factors = registers(self.groups, n * (width + 1), LANES)
        self.mask = registers(self.groups, LANES)
        self.mask.reshape(-1)[:columns] = 1.0

    @staticmethod
    def scratch(n: int) -> Floats:
        """Room for one inverse, which is written four entries at a time, past the end of a row."""
        return registers(n, n + 4, LANES)

    def factor(self, entries: Floats, scratch: Floats, link: Floats) -> None:
        """Factor the systems with these ``entries`` at their places, one column a system.

        Add their inverses to ``link``, upper triangles only; ``scratch`` is what :meth:`scratch` gave.
        """
        for group, factors in enumerate(self.factors):
            part = entries[:, group * LANES : (group + 1) * LANES]
            factors[:] = 0.0
            factors[self.places] = part[:, :1]
            factors[self.places, : part.shape[1]] = part
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
    n, high = len(link), width + 1
    small, one, zero = spread(_SMALLEST_PIVOT), spread(1.0), spread(0.0)
    above, beside = np.empty((width + 1, LANES)), np.empty((width + 1, LANES))
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
                    store_lanes(band, row + j, rest * load(band, other + j))
                else:
                    store_lanes(band, row + j, one / root(larger(rest, entry * small)))
        if n % 2:
            _add_row(band, width, n - 1, above, inverse)
        for i in range(n - 1 - n % 2, 0, -2):
            _add_two_rows(band, width, i, above, beside, inverse)
        _add_up(inverse, mask[group, 0], mask[group, 1], mask[group, 2], mask[group, 3], link)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_up(inverse, first, second, third, fourth, link):  # type: ignore[no-untyped-def]
    """Add the lanes of upper triangles, those that count."""
    for i in range(len(link)):
        for j in range(i, len(link)):
            left = first * inverse[i, j, 0] + second * inverse[i, j, 1]
            link[i, j] += left + (third * inverse[i, j, 2] + fourth * inverse[i, j, 3])


@njit(cache=True, nogil=True)
def _read_factors(band, width, i, below, factors):  # type: ignore[no-untyped-def]
    """−L_ki / L_ii for the rows k below row i."""
    high = width + 1
    reciprocal = load(band, i * high + width)
    for k in range(below):
        store_lanes(factors, k, spread(0.0) - reciprocal * load(band, (i + 1 + k) * high + width - 1 - k))


@njit(cache=True, nogil=True)
def _add_row(band, width, i, above, inverse):  # type: ignore[no-untyped-def]
    """Row i of the inverse from those below it."""
    n, long, zero = len(inverse), inverse.shape[1], spread(0.0)
    below = min(width, n - 1 - i)
    _read_factors(band, width, i, below, above)
    for j in range(i + 1, n):
        entry = zero
        for k in range(below):
            entry = entry + load(above, k) * load(inverse, (i + 1 + k) * long + j)
        store_lanes(inverse, i * long + j, entry)
    _mirror(band, width, i, below, above, inverse)


@njit(cache=True, nogil=True)
def _add_two_rows(band, width, i, above, beside, inverse):  # type: ignore[no-untyped-def]
    """Rows i and i − 1 of the inverse, so that what is read of the rows below serves twice."""
    n, long, zero = len(inverse), inverse.shape[1], spread(0.0)
    below, more = min(width, n - 1 - i), min(width, n - i)
    _read_factors(band, width, i, below, above)
    _read_factors(band, width, i - 1, more, beside)
    both = min(below, max(more - 1, 0))
    for j in range(i + 1, n, 4):
        a, b, c, d = zero, zero, zero, zero
        e, f, g, h = zero, zero, zero, zero
        for k in range(both):
            one, other, at = load(above, k), load(beside, k + 1), (i + 1 + k) * long + j
            entry = load(inverse, at)
            a, e = a + one * entry, e + other * entry
            entry = load(inverse, at + 1)
            b, f = b + one * entry, f + other * entry
            entry = load(inverse, at + 2)
            c, g = c + one * entry, g + other * entry
            entry = load(inverse, at + 3)
            d, h = d + one * entry, h + other * entry
        for k in range(both, below):
            one, at = load(above, k), (i + 1 + k) * long + j
            a = a + one * load(inverse, at)
            b = b + one * load(inverse, at + 1)
            c = c + one * load(inverse, at + 2)
            d = d + one * load(inverse, at + 3)
        if more:
            other = load(beside, 0)
            e, f, g, h = e + other * a, f + other * b, g + other * c, h + other * d
        at = i * long + j
        store_lanes(inverse, at, a)
        store_lanes(inverse, at + 1, b)
        store_lanes(inverse, at + 2, c)
        store_lanes(inverse, at + 3, d)
        at -= long
        store_lanes(inverse, at, e)
        store_lanes(inverse, at + 1, f)
        store_lanes(inverse, at + 2, g)
        store_lanes(inverse, at + 3, h)
    _mirror(band, width, i, below, above, inverse)
    entry = zero
    for k in range(more):
        entry = entry + load(beside, k) * load(inverse, (i + k) * long + i)
    store_lanes(inverse, (i - 1) * long + i, entry)
    _mirror(band, width, i - 1, more, beside, inverse)


@njit(cache=True, nogil=True)
def _mirror(band, width, i, below, factors, inverse):  # type: ignore[no-untyped-def]
    """The diagonal entry of row i, and its entries near the diagonal in the rows below."""
    long = inverse.shape[1]
    reciprocal = load(band, i * (width + 1) + width)
    corner = reciprocal * reciprocal
    for k in range(below):
        entry = load(inverse, i * long + i + 1 + k)
        corner = corner + load(factors, k) * entry
        store_lanes(inverse, (i + 1 + k) * long + i, entry)
    store_lanes(inverse, i * long + i, corner)


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
            store_lanes(vector, i, rest * load(band, row + i))
        for i in range(n - 1, -1, -1):
            row = i * high + width - i
            rest = load(vector, i) * load(band, row + i)
            store_lanes(vector, i, rest)
            for k in range(max(0, i - width), i):
                store_lanes(vector, k, load(vector, k) - load(band, row + k) * rest)
