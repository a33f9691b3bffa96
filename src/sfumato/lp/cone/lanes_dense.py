"""Dense Newton systems of the block interior-point method, for programs in which most rows are paired.

One n × n system H_y = Gᵀ diag(z/s) G + diag(λ/r) for each column y, four columns in the lanes of a register. What is
kept of a factorised system is U with H⁻¹ = U Uᵀ, which the linking matrix Σ H_y⁻¹ needs anyway; or, where rows are
in classes and few sums of rows are needed, the factor L of H itself, which is had in less than half the time.

In the first iterations single precision will do. Elimination without subtraction keeps the relative error of every
entry at a few 1e-7 (:mod:`sfumato.lp.cone.lanes_passes` says why), which is enough as long as no slack is small beside
its entries. Eight columns fit into a register where four doubles do, and the factors, which every right-hand side has
to be read past, take half the memory. Right-hand sides and their solutions stay doubles. Two neighbouring blocks of
columns make one then, so threads must begin at even ones.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.lp.cone.registers import (
    LANES,
    SINGLES,
    beside,
    first_half,
    larger,
    load,
    load_doubles,
    narrowed,
    registers,
    root,
    second_half,
    spread_doubles,
    spread_like,
    store_lanes,
    widened,
)
from sfumato.numbers import Floats, Integers

_PANEL = 32  # So many columns are eliminated before the rest of the matrix is touched.
_STRIP = 16  # So many rows stay in cache while others stream past.


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
    single
        Whether they are in single precision.
    """

    def __init__(
        self, n: int, blocks: int, classes: Integers, threads: int = 1, grouped: bool | None = None,
        single: bool = False,
    ) -> None:  # fmt: skip
        self.classes, self.single = classes, single
        count = int(classes.max()) + 1
        self.grouped = _grouped_work(n, count) < n**3 / 2 if grouped is None else grouped
        self.starts, self.members = by_class(classes) if self.grouped else (np.arange(n + 1), np.arange(n))
        width, together = (SINGLES, 2) if single else (LANES, 1)
        self.roots = registers(-(-blocks // together), n * (n + 1) // 2, width, single=single)
        rows = padded(len(self.starts) - 1)
        self.scratch = [_Scratch(padded(n), rows, width, single) for _ in range(threads)]

    @staticmethod
    def memory(n: int, blocks: int, threads: int) -> int:
        """Bytes of the arrays."""
        return 8 * LANES * (blocks * n * n // 2 + 3 * threads * padded(n) ** 2)

    def clear(self) -> None:
        """Forget the linking matrix before blocks are factorised anew."""
        for scratch in self.scratch:
            scratch.sums[:] = 0.0

    def factor(
        self, thread: int, low: int, high: int, first: Integers, second: Integers, decay: Floats, r: Floats, z: Floats,
        adjoint: Floats, mask: Floats,
    ) -> None:  # fmt: skip
        """Factorise blocks low … high; their part of the linking matrix is added up in the thread's memory."""
        scratch = self.scratch[thread]
        _factor(low, high, first, second, decay, r, z, adjoint, mask, self.starts, self.members, self.grouped,
                self.roots, scratch.w, scratch.v, scratch.excess, scratch.least, scratch.sums)  # fmt: skip

    def link(self) -> Floats:
        """Σ_y H_y⁻¹, summed over classes; the lower triangle."""
        count = len(self.starts) - 1
        link = np.zeros((count, count))
        for scratch in self.scratch:
            link += scratch.sums[:count, :count].sum(axis=2, dtype=np.float64)
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

    def __init__(self, size: int, rows: int, width: int, single: bool) -> None:
        self.w = registers(size, size, width, single=single)
        self.v, self.sums = (registers(rows, size, width, single=single) for _ in range(2))
        self.excess, self.least = (registers(size, width, single=single) for _ in range(2))
        self.work = registers(size, width)


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
def _add_dots(sums, rows, i, others, j, start, stop, n):  # type: ignore[no-untyped-def]
    """Add the scalar products of :func:`_dots` to the entries (i … i + 3, j … j + 1) of ``sums``."""
    a0, a1, b0, b1, c0, c1, d0, d1 = _dots(rows, i, others, j, start, stop, n)
    at = i * n + j
    store_lanes(sums, at, load(sums, at) + a0)
    store_lanes(sums, at + 1, load(sums, at + 1) + a1)
    at += n
    store_lanes(sums, at, load(sums, at) + b0)
    store_lanes(sums, at + 1, load(sums, at + 1) + b1)
    at += n
    store_lanes(sums, at, load(sums, at) + c0)
    store_lanes(sums, at + 1, load(sums, at + 1) + c1)
    at += n
    store_lanes(sums, at, load(sums, at) + d0)
    store_lanes(sums, at + 1, load(sums, at + 1) + d1)


@njit(cache=True, nogil=True)
def _pivot(w, j, size, excess, least):  # type: ignore[no-untyped-def]
    """Divide column j by the root of its pivot: what is left of the column plus the excess of row j.

    In exact arithmetic no pivot is below rλ, because the rest of H is positive semidefinite.
    """
    pivot = load(excess, j)
    for i in range(j + 1, size):
        pivot = pivot + load(w, i * size + j)
    scale = spread_like(w, 1.0) / root(larger(pivot, load(least, j)))
    store_lanes(w, j * size + j, scale)
    share = load(excess, j) * scale
    for i in range(j + 1, size):
        entry = load(w, i * size + j) * scale
        store_lanes(w, i * size + j, entry)
        store_lanes(excess, i, load(excess, i) + entry * share)


@njit(cache=True, nogil=True)
def _eliminate(w, size, excess, least):  # type: ignore[no-untyped-def]
    """H = L Lᵀ for off-diagonal entries −w and row sums ``excess``: w becomes −L, with reciprocals on the diagonal."""
    for start in range(0, size, _PANEL):
        stop = min(start + _PANEL, size)
        for j in range(start, stop, 2):
            for i in range(j // 4 * 4, size, 4):
                _add_dots(w, w, i, w, j, start, j, size)
            _pivot(w, j, size, excess, least)
            corner = load(w, (j + 1) * size + j)
            for i in range(j + 2, size):
                at = i * size + j
                store_lanes(w, at + 1, load(w, at + 1) + load(w, at) * corner)
            _pivot(w, j + 1, size, excess, least)
        for j in range(stop, size, 2):
            for i in range(j // 4 * 4, size, 4):
                _add_dots(w, w, i, w, j, start, stop, size)


@njit(cache=True, nogil=True)
def _finish(v, i, j, n, left, right, first, below, second):  # type: ignore[no-untyped-def]
    """Columns j and j + 1 of row i, given the scalar products with the columns before."""
    at = i * n + j
    left = (load(v, at) + left) * first
    store_lanes(v, at, left)
    store_lanes(v, at + 1, (load(v, at + 1) + right + left * below) * second)


@njit(cache=True, nogil=True)
def _substitute(w, v, lead):  # type: ignore[no-untyped-def]
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
def _together(roots):  # type: ignore[no-untyped-def]
    """How many blocks of columns a register of these roots holds."""
    return roots.shape[2] // LANES


@njit(cache=True, nogil=True)
def _assemble(b, c, first, second, decay, r, z, adjoint, w, excess, least):  # type: ignore[no-untyped-def]
    """r ∘ H ∘ r of blocks b and c: minus its entries below the diagonal into ``w``, its row sums into ``excess``."""
    n, size, pairs = r.shape[1], w.shape[0], len(first)
    one, zero = spread_like(w, 1.0), spread_like(w, 0.0)
    for i in range(size):
        for j in range(i // 4 * 4 + 4):
            store_lanes(w, i * size + j, zero)
        store_lanes(excess, i, one)
        store_lanes(least, i, one)
    for i in range(n):
        left, right, k = b * n + i, c * n + i, pairs - n + i  # with itself
        entry, dual = beside(w, r, left, right), beside(w, z, b * pairs + k, c * pairs + k)
        store_lanes(excess, i, narrowed(entry * (dual + beside(w, adjoint, left, right))))
        store_lanes(least, i, narrowed(entry * dual))
    for k in range(pairs - n):
        x, e, d = first[k], second[k], spread_doubles(w, decay[k])
        here, there = beside(w, r, b * n + x, c * n + x), beside(w, r, b * n + e, c * n + e)
        dual = beside(w, z, b * pairs + k, c * pairs + k)
        at = max(x, e) * size + min(x, e)
        store_lanes(w, at, load(w, at) + narrowed(dual / (there - d * here) * there * (d * here)))


@njit(cache=True, nogil=True)
def _keep(roots, at, n, w, v, grouped):  # type: ignore[no-untyped-def]
    """Write one triangle from ``at`` on: the rows of L out of ``w`` if ``grouped``, else those of U out of ``v``."""
    size = w.shape[0]
    for i in range(n):
        if grouped:
            for k in range(i + 1):
                store_lanes(roots, at + k, load(w, i * size + k))
            at += i + 1
        else:
            for k in range(i, n):
                store_lanes(roots, at + k - i, load(v, i * size + k))
            at += n - i


@njit(cache=True, nogil=True)
def _add_products(sums, v, lead, size):  # type: ignore[no-untyped-def]
    """Add V Vᵀ to ``sums``, the lower triangle; rows of V begin at ``lead``."""
    rows = v.shape[0]
    for top in range(0, rows, _STRIP):
        bottom = min(top + _STRIP, rows)
        for j in range(0, bottom, 2):
            for i in range(max(j // 4 * 4, top), bottom, 4):
                _add_dots(sums, v, i, v, j, lead[i], size, size)


@njit(cache=True, nogil=True)
def _factor(  # type: ignore[no-untyped-def]
    low, high, first, second, decay, r, z, adjoint, mask, starts, members, grouped, roots, w, v, excess, least, sums
):
    """U_y with H_y⁻¹ = U_y U_yᵀ, summed over the members of each class, and Σ U_y U_yᵀ added to ``sums``.

    Into ``roots`` go the rows of the upper triangles U one after the other, or, if ``grouped``, the rows of minus the
    lower triangles L, with reciprocals on the diagonal. ``adjoint`` is Gᵀz without λ. Lanes with mask 0 get U = 0.
    """
    n, size, rows, count, together = r.shape[1], w.shape[0], v.shape[0], len(starts) - 1, _together(roots)
    zero, nothing = spread_like(w, 0.0), np.zeros((1, LANES))
    lead = np.full(rows, size)
    for i in range(count):
        lead[i] = members[starts[i]]
    for b in range(low, high, together):
        alone = b + together > high  # the last block may be
        c = b if alone else b + together - 1
        _assemble(b, c, first, second, decay, r, z, adjoint, w, excess, least)
        _eliminate(w, size, excess, least)
        for i in range(rows):
            for k in range(lead[i // 4 * 4] // 4 * 4, size):
                store_lanes(v, i * size + k, zero)
        kept = beside(w, np.concatenate((mask[b : b + 1], nothing if alone else mask[c : c + 1])), 0, 1)
        for i in range(count):
            for k in range(starts[i], starts[i + 1]):
                x = members[k]
                store_lanes(v, i * size + x, narrowed(beside(w, r, b * n + x, c * n + x) * kept))
        _substitute(w, v, lead)
        _keep(roots, b // together * (n * (n + 1) // 2), n, w, v, grouped)
        _add_products(sums, v, lead, size)


@njit(cache=True, nogil=True)
def _put(b, c, i, n, value, out, sums):  # type: ignore[no-untyped-def]
    """Entry i of the solutions for two blocks, or for one."""
    one = first_half(value)
    store_lanes(out, b * n + i, one)
    store_lanes(sums, i, load(sums, i) + one)
    if c > b:
        other = second_half(value)
        store_lanes(out, c * n + i, other)
        store_lanes(sums, i, load(sums, i) + other)


@njit(cache=True, nogil=True)
def _apply(low, high, roots, q, shift, out, sums, work):  # type: ignore[no-untyped-def]
    """out_y = H_y⁻¹ (q_y + shift) for the columns of blocks low … high; Σ out_y added to ``sums``."""
    n, together = q.shape[1], _together(roots)
    half, zero = n * (n + 1) // 2, spread_doubles(roots, 0.0)
    for b in range(low, high, together):
        c = min(b + together, high) - 1
        for k in range(n):
            store_lanes(work, k, zero)
        at = b // together * half
        for i in range(n):
            force = beside(roots, q, b * n + i, c * n + i) + spread_doubles(roots, shift[i])
            for k in range(i, n):
                store_lanes(work, k, load_doubles(roots, work, k) + widened(load(roots, at + k - i)) * force)
            at += n - i
        at = b // together * half
        for i in range(n):
            even, odd = zero, zero
            for k in range(i, n - 1, 2):
                even = even + widened(load(roots, at + k - i)) * load_doubles(roots, work, k)
                odd = odd + widened(load(roots, at + k - i + 1)) * load_doubles(roots, work, k + 1)
            if (n - i) % 2:
                even = even + widened(load(roots, at + n - 1 - i)) * load_doubles(roots, work, n - 1)
            at += n - i
            _put(b, c, i, n, even + odd, out, sums)


@njit(cache=True, nogil=True)
def _solve(low, high, roots, r, mask, q, shift, out, sums, work):  # type: ignore[no-untyped-def]
    """The same as :func:`_apply` where ``roots`` has the factors L: substitution forwards and backwards."""
    n, together = q.shape[1], _together(roots)
    half, zero = n * (n + 1) // 2, spread_doubles(roots, 0.0)
    for b in range(low, high, together):
        c = min(b + together, high) - 1
        at = b // together * half
        for i in range(n):
            left, right = b * n + i, c * n + i
            even = (beside(roots, q, left, right) + spread_doubles(roots, shift[i])) * beside(roots, r, left, right)
            odd = zero
            for k in range(0, i - 1, 2):
                even = even + widened(load(roots, at + k)) * load_doubles(roots, work, k)
                odd = odd + widened(load(roots, at + k + 1)) * load_doubles(roots, work, k + 1)
            if i % 2:
                even = even + widened(load(roots, at + i - 1)) * load_doubles(roots, work, i - 1)
            store_lanes(work, i, (even + odd) * widened(load(roots, at + i)))
            at += i + 1
        for i in range(n - 1, -1, -1):
            at -= i + 1
            entry = load_doubles(roots, work, i) * widened(load(roots, at + i))
            for k in range(i):
                store_lanes(work, k, load_doubles(roots, work, k) + widened(load(roots, at + k)) * entry)
            entry = entry * beside(roots, r, b * n + i, c * n + i) * beside(roots, mask, b, c)
            _put(b, c, i, n, entry, out, sums)
