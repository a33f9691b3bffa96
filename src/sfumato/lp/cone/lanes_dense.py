"""Dense Newton systems of the block interior-point method, for programs in which most rows are paired.

One n × n system H_y = Gᵀ diag(z/s) G + diag(λ/r) for each column y, four columns in the lanes of a register. What is
kept of a factorised system is U with H⁻¹ = U Uᵀ, which the linking matrix Σ H_y⁻¹ needs anyway; or, where rows are
in classes and few sums of rows are needed, the factor L of H itself, which is had in less than half the time.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.lp.cone.registers import LANES, larger, load, registers, root, spread, spread_like, store

__all__ = [
    "DenseSystems", "add_products", "by_class", "dense_work", "eliminate", "keep", "padded", "substitute", "summed_over"
]  # fmt: skip

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_PANEL = 32  # columns eliminated before the rest of the matrix is touched
_STRIP = 16  # rows that stay in cache while others stream past


class DenseSystems:
    """The factorised systems of all columns, and what a thread needs to factorise its share of them.

    Parameters
    ----------
    n, blocks, threads
        Number of rows, of blocks of columns and of threads.
    classes
        The class of each row.
    grouped
        Whether sums over classes go through the factors instead of all rows; by default what takes less work.
    """

    def __init__(self, n: int, blocks: int, classes: Integers, threads: int = 1, grouped: bool | None = None) -> None:
        self.n, self.blocks, self.classes = n, blocks, classes
        count = int(classes.max()) + 1
        self.grouped = _grouped_work(n, count) < n**3 / 2 if grouped is None else grouped
        self.size = padded(n)
        self.starts, self.members = by_class(classes) if self.grouped else (np.arange(n + 1), np.arange(n))
        self.roots = registers(blocks, n * (n + 1) // 2, LANES)
        self.scratch = [_Scratch(self.size, padded(len(self.starts) - 1)) for _ in range(threads)]

    @staticmethod
    def memory(n: int, blocks: int, threads: int) -> int:
        """Bytes of the arrays."""
        return 8 * LANES * (blocks * n * n // 2 + 3 * threads * padded(n) ** 2)

    def clear(self) -> None:
        """Forget the linking matrix before blocks are factorised anew."""
        for scratch in self.scratch:
            scratch.sums[:] = 0.0

    def factor(
        self, thread: int, low: int, high: int, first: Integers, second: Integers, decay: Floats, r: Floats,
        lam: Floats, z: Floats, pull: Floats, mask: Floats,
    ) -> None:  # fmt: skip
        """Factorise blocks low … high; their part of the linking matrix is added up in the thread's memory."""
        scratch = self.scratch[thread]
        _factor(low, high, first, second, decay, r, lam, z, pull, mask, self.starts, self.members, self.grouped,
                self.roots, scratch.w, scratch.v, scratch.excess, scratch.least, scratch.sums)  # fmt: skip

    def link(self) -> Floats:
        """Σ_y H_y⁻¹, summed over classes; the lower triangle."""
        count = len(self.starts) - 1
        link = np.zeros((count, count))
        for scratch in self.scratch:
            link += scratch.sums[:count, :count].sum(axis=2)
        return link if self.grouped else summed_over(self.classes, link)

    def apply(
        self, thread: int, low: int, high: int, r: Floats, mask: Floats, q: Floats, shift: Floats,
        out: Floats, sums: Floats,
    ) -> None:  # fmt: skip
        """out_y = H_y⁻¹ (q_y + shift) for the columns of blocks low … high; Σ out_y added to ``sums``."""
        if self.grouped:
            _solve(low, high, self.roots, r, mask, q, shift, out, sums, self.scratch[thread].work)
        else:
            _apply(low, high, self.roots, q, shift, out, sums, self.scratch[thread].work)


class _Scratch:
    """Scratch memory of one thread."""

    def __init__(self, size: int, rows: int) -> None:
        self.w = registers(size, size, LANES)
        self.v, self.sums = registers(rows, size, LANES), registers(rows, size, LANES)
        self.excess, self.least, self.work = (registers(size, LANES) for _ in range(3))


def dense_work(n: int, classes: int) -> float:
    """Products that factor and inverse of one system take, or the sums of the inverse over classes."""
    return min(n**3 / 2, _grouped_work(n, classes))


def _grouped_work(n: int, classes: int) -> float:
    """Products of elimination, substitution of classes and their scalar products."""
    return n**3 / 6 + classes * n**2 / 2 + classes**2 * n / 2


def padded(n: int) -> int:
    """Rows of a system filled up to whole tiles."""
    return -(-n // 4) * 4


def by_class(classes: Integers) -> tuple[Integers, Integers]:
    """The rows, class after class, and where each class starts."""
    return np.concatenate([[0], np.cumsum(np.bincount(classes))]), np.argsort(classes, kind="stable")


def summed_over(classes: Integers, link: Floats) -> Floats:
    """Qᵀ A Q with Q the indicator of classes, from the lower triangle of A; A itself if every row is a class."""
    if int(classes.max()) + 1 == len(classes):
        return link
    starts, members = by_class(classes)
    whole = np.tril(link) + np.tril(link, -1).T
    half = np.add.reduceat(whole[members], starts[:-1], axis=0)
    return np.ascontiguousarray(np.add.reduceat(half[:, members], starts[:-1], axis=1))


@njit(cache=True, nogil=True)
def _dots(rows, i, others, j, start, stop, n):  # type: ignore[no-untyped-def]
    """Scalar products of rows i, …, i + 3 with rows j, j + 1 of the others, over columns start … stop."""
    zero = spread_like(rows, 0.0)
    a0, a1, b0, b1, c0, c1, d0, d1 = zero, zero, zero, zero, zero, zero, zero, zero
    p, q = i * n, j * n
    for k in range(start, stop):
        u, v = load(others, q + k), load(others, q + n + k)
        row = load(rows, p + k)
        a0 = a0 + row * u
        a1 = a1 + row * v
        row = load(rows, p + n + k)
        b0 = b0 + row * u
        b1 = b1 + row * v
        row = load(rows, p + 2 * n + k)
        c0 = c0 + row * u
        c1 = c1 + row * v
        row = load(rows, p + 3 * n + k)
        d0 = d0 + row * u
        d1 = d1 + row * v
    return a0, a1, b0, b1, c0, c1, d0, d1


@njit(cache=True, nogil=True)
def add_dots(sums, rows, i, others, j, start, stop, n):  # type: ignore[no-untyped-def]
    """Add the scalar products of :func:`_dots` to the entries (i … i + 3, j … j + 1) of ``sums``."""
    a0, a1, b0, b1, c0, c1, d0, d1 = _dots(rows, i, others, j, start, stop, n)
    at = i * n + j
    store(sums, at, load(sums, at) + a0)
    store(sums, at + 1, load(sums, at + 1) + a1)
    at += n
    store(sums, at, load(sums, at) + b0)
    store(sums, at + 1, load(sums, at + 1) + b1)
    at += n
    store(sums, at, load(sums, at) + c0)
    store(sums, at + 1, load(sums, at + 1) + c1)
    at += n
    store(sums, at, load(sums, at) + d0)
    store(sums, at + 1, load(sums, at + 1) + d1)


@njit(cache=True, nogil=True)
def _pivot(w, j, size, excess, least):  # type: ignore[no-untyped-def]
    """Divide column j by the root of its pivot: what is left of the column plus the excess of row j.

    In exact arithmetic no pivot is below rλ, because the rest of H is positive semidefinite.
    """
    pivot = load(excess, j)
    for i in range(j + 1, size):
        pivot = pivot + load(w, i * size + j)
    scale = spread_like(w, 1.0) / root(larger(pivot, load(least, j)))
    store(w, j * size + j, scale)
    share = load(excess, j) * scale
    for i in range(j + 1, size):
        entry = load(w, i * size + j) * scale
        store(w, i * size + j, entry)
        store(excess, i, load(excess, i) + entry * share)


@njit(cache=True, nogil=True)
def eliminate(w, size, excess, least):  # type: ignore[no-untyped-def]
    """H = L Lᵀ for off-diagonal entries −w and row sums ``excess``: w becomes −L, with reciprocals on the diagonal."""
    for start in range(0, size, _PANEL):
        stop = min(start + _PANEL, size)
        for j in range(start, stop, 2):
            for i in range(j // 4 * 4, size, 4):
                add_dots(w, w, i, w, j, start, j, size)
            _pivot(w, j, size, excess, least)
            corner = load(w, (j + 1) * size + j)
            for i in range(j + 2, size):
                at = i * size + j
                store(w, at + 1, load(w, at + 1) + load(w, at) * corner)
            _pivot(w, j + 1, size, excess, least)
        for j in range(stop, size, 2):
            for i in range(j // 4 * 4, size, 4):
                add_dots(w, w, i, w, j, start, stop, size)


@njit(cache=True, nogil=True)
def _finish(v, i, j, n, left, right, first, below, second):  # type: ignore[no-untyped-def]
    """Columns j and j + 1 of row i, given the scalar products with the columns before."""
    at = i * n + j
    left = (load(v, at) + left) * first
    store(v, at, left)
    store(v, at + 1, (load(v, at + 1) + right + left * below) * second)


@njit(cache=True, nogil=True)
def substitute(w, v, lead):  # type: ignore[no-untyped-def]
    """V L⁻ᵀ in place: the same elimination for the rows of V, sums of positive terms again.

    Rows come in the order of ``lead``, the place of their first entry.
    """
    rows, size = v.shape[0], w.shape[0]
    for top in range(0, rows, _STRIP):
        bottom = min(top + _STRIP, rows)
        for j in range(lead[top] // 2 * 2, size, 2):
            at = j * size + j
            first, below, second = load(w, at), load(w, at + size), load(w, at + size + 1)
            for i in range(top, bottom, 4):
                if lead[i] > j + 1:
                    break
                a0, a1, b0, b1, c0, c1, d0, d1 = _dots(v, i, w, j, lead[i], j, size)
                _finish(v, i, j, size, a0, a1, first, below, second)
                _finish(v, i + 1, j, size, b0, b1, first, below, second)
                _finish(v, i + 2, j, size, c0, c1, first, below, second)
                _finish(v, i + 3, j, size, d0, d1, first, below, second)


@njit(cache=True, nogil=True)
def _assemble(b, first, second, decay, r, lam, z, pull, w, excess, least):  # type: ignore[no-untyped-def]
    """r ∘ H ∘ r of block b: minus its entries below the diagonal into ``w``, its row sums into ``excess``."""
    n, size, pairs = r.shape[1], w.shape[0], len(first)
    one, zero = spread(1.0), spread(0.0)
    for i in range(size):
        for j in range(i // 4 * 4 + 4):
            store(w, i * size + j, zero)
        if i < n:
            at = b * n + i
            store(excess, i, load(r, at) * (load(lam, at) + load(pull, at)))
            store(least, i, load(r, at) * load(lam, at))
        else:
            store(excess, i, one)
            store(least, i, one)
    for k in range(pairs):
        x, e, d = first[k], second[k], spread(decay[k])
        here, there = load(r, b * n + x), load(r, b * n + e)
        at = max(x, e) * size + min(x, e)
        store(w, at, load(w, at) + load(z, b * pairs + k) / (there - d * here) * there * (d * here))


@njit(cache=True, nogil=True)
def keep(roots, at, n, w, v, grouped):  # type: ignore[no-untyped-def]
    """Write one triangle from ``at`` on: the rows of L out of ``w`` if ``grouped``, else those of U out of ``v``."""
    size = w.shape[0]
    for i in range(n):
        if grouped:
            for k in range(i + 1):
                store(roots, at + k, load(w, i * size + k))
            at += i + 1
        else:
            for k in range(i, n):
                store(roots, at + k - i, load(v, i * size + k))
            at += n - i


@njit(cache=True, nogil=True)
def add_products(sums, v, lead, size):  # type: ignore[no-untyped-def]
    """Add V Vᵀ to ``sums``, the lower triangle; rows of V begin at ``lead``."""
    rows = v.shape[0]
    for top in range(0, rows, _STRIP):
        bottom = min(top + _STRIP, rows)
        for j in range(0, bottom, 2):
            for i in range(max(j // 4 * 4, top), bottom, 4):
                add_dots(sums, v, i, v, j, lead[i], size, size)


@njit(cache=True, nogil=True)
def _factor(  # type: ignore[no-untyped-def]
    low, high, first, second, decay, r, lam, z, pull, mask, starts, members, grouped, roots, w, v, excess, least, sums
):
    """U_y with H_y⁻¹ = U_y U_yᵀ, summed over the members of each class, and Σ U_y U_yᵀ added to ``sums``.

    Into ``roots`` go the rows of the upper triangles U one after the other, or, if ``grouped``, the rows of minus the
    lower triangles L, with reciprocals on the diagonal. ``pull`` is Gᵀz. Lanes with mask 0 get U = 0.
    """
    n, size, rows, count = r.shape[1], w.shape[0], v.shape[0], len(starts) - 1
    zero = spread(0.0)
    lead = np.full(rows, size)
    lead[:count] = members[starts[:count]]
    for b in range(low, high):
        _assemble(b, first, second, decay, r, lam, z, pull, w, excess, least)
        eliminate(w, size, excess, least)
        for i in range(rows):
            for k in range(lead[i // 4 * 4] // 4 * 4, size):
                store(v, i * size + k, zero)
        for c in range(count):
            for k in range(starts[c], starts[c + 1]):
                x = members[k]
                store(v, c * size + x, load(r, b * n + x) * load(mask, b))
        substitute(w, v, lead)
        keep(roots, b * (n * (n + 1) // 2), n, w, v, grouped)
        add_products(sums, v, lead, size)


@njit(cache=True, nogil=True)
def _apply(low, high, roots, q, shift, out, sums, work):  # type: ignore[no-untyped-def]
    """out_y = H_y⁻¹ (q_y + shift) for the columns of blocks low … high; Σ out_y added to ``sums``."""
    n = q.shape[1]
    half = n * (n + 1) // 2
    zero = spread(0.0)
    for b in range(low, high):
        for k in range(n):
            store(work, k, zero)
        at = b * half
        for i in range(n):
            force = load(q, b * n + i) + spread(shift[i])
            for k in range(i, n):
                store(work, k, load(work, k) + load(roots, at + k - i) * force)
            at += n - i
        at = b * half
        for i in range(n):
            even, odd = zero, zero
            for k in range(i, n - 1, 2):
                even = even + load(roots, at + k - i) * load(work, k)
                odd = odd + load(roots, at + k - i + 1) * load(work, k + 1)
            if (n - i) % 2:
                even = even + load(roots, at + n - 1 - i) * load(work, n - 1)
            at += n - i
            store(out, b * n + i, even + odd)
            store(sums, i, load(sums, i) + even + odd)


@njit(cache=True, nogil=True)
def _solve(low, high, roots, r, mask, q, shift, out, sums, work):  # type: ignore[no-untyped-def]
    """The same as :func:`_apply` where ``roots`` has the factors L: substitution forwards and backwards."""
    n = q.shape[1]
    half = n * (n + 1) // 2
    zero = spread(0.0)
    for b in range(low, high):
        at = b * half
        for i in range(n):
            even, odd = (load(q, b * n + i) + spread(shift[i])) * load(r, b * n + i), zero
            for k in range(0, i - 1, 2):
                even = even + load(roots, at + k) * load(work, k)
                odd = odd + load(roots, at + k + 1) * load(work, k + 1)
            if i % 2:
                even = even + load(roots, at + i - 1) * load(work, i - 1)
            store(work, i, (even + odd) * load(roots, at + i))
            at += i + 1
        for i in range(n - 1, -1, -1):
            at -= i + 1
            found = load(work, i) * load(roots, at + i)
            for k in range(i):
                store(work, k, load(work, k) + load(roots, at + k) * found)
            found = found * load(r, b * n + i) * load(mask, b)
            store(out, b * n + i, found)
            store(sums, i, load(sums, i) + found)
