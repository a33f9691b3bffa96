"""Dense Newton systems in single precision, for the first iterations of the block interior-point method.

Elimination without subtraction keeps the relative error of every entry at a few 1e-7
(:mod:`sfumato.lp.cone.lanes_passes` says why), which is enough as long as no slack is small beside its entries. Eight
columns fit into a register where four doubles do, and the factors, which every right-hand side has to be read past,
take half the memory. A system is eliminated by the functions of :mod:`sfumato.lp.cone.lanes_dense`; right-hand sides
and their solutions stay doubles.

Two neighbouring blocks of columns make one block here, so threads must begin at even ones.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.lp.cone.lanes_dense import DenseSystems, add_products, eliminate, keep, padded, substitute, summed_over
from sfumato.lp.cone.registers import (
    SINGLES,
    joined,
    load,
    lower_half,
    registers,
    spread,
    spread_like,
    store,
    upper_half,
)

__all__ = ["SingleSystems"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class SingleSystems:
    """The factorised systems of all columns, like :class:`sfumato.lp.cone.lanes_dense.DenseSystems`."""

    def __init__(self, n: int, blocks: int, like: DenseSystems, threads: int = 1) -> None:
        self.n, self.blocks, self.classes, self.grouped = n, blocks, like.classes, like.grouped
        self.starts, self.members = like.starts, like.members
        self.roots = registers(-(-blocks // 2), n * (n + 1) // 2, SINGLES, single=True)
        rows = padded(len(self.starts) - 1)
        self.scratch = [_Scratch(padded(n), rows) for _ in range(threads)]

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
            link += scratch.sums[:count, :count].sum(axis=2, dtype=np.float64)
        return link if self.grouped else summed_over(self.classes, link)

    def apply(
        self, thread: int, low: int, high: int, r: Floats, mask: Floats, q: Floats, shift: Floats,
        out: Floats, sums: Floats,
    ) -> None:  # fmt: skip
        """out_y = H_y⁻¹ (q_y + shift) for the columns of blocks low … high; Σ out_y added to ``sums``."""
        left, right = self.scratch[thread].work
        if self.grouped:
            _solve(low, high, self.roots, r, mask, q, shift, out, sums, left, right)
        else:
            _apply(low, high, self.roots, q, shift, out, sums, left, right)


class _Scratch:
    """Scratch memory of one thread."""

    def __init__(self, size: int, rows: int) -> None:
        self.w = registers(size, size, SINGLES, single=True)
        self.v, self.sums = (registers(rows, size, SINGLES, single=True) for _ in range(2))
        self.excess, self.least = (registers(size, SINGLES, single=True) for _ in range(2))
        self.work = registers(size, SINGLES // 2), registers(size, SINGLES // 2)


@njit(cache=True, nogil=True)
def _assemble(b, c, first, second, decay, r, lam, z, pull, w, excess, least):  # type: ignore[no-untyped-def]
    """r ∘ H ∘ r of blocks b and c: minus its entries below the diagonal into ``w``, its row sums into ``excess``."""
    n, size, pairs = r.shape[1], w.shape[0], len(first)
    one, zero = spread_like(w, 1.0), spread_like(w, 0.0)
    for i in range(size):
        for j in range(i // 4 * 4 + 4):
            store(w, i * size + j, zero)
        store(excess, i, one)
        store(least, i, one)
    for i in range(n):
        left, right = b * n + i, c * n + i
        slack, other = load(r, left) * load(lam, left), load(r, right) * load(lam, right)
        store(least, i, joined(slack, other))
        pulled, beside = load(r, left) * load(pull, left), load(r, right) * load(pull, right)
        store(excess, i, joined(slack + pulled, other + beside))
    for k in range(pairs):
        x, e, d = first[k], second[k], spread(decay[k])
        here, there = load(r, b * n + x), load(r, b * n + e)
        left = load(z, b * pairs + k) / (there - d * here) * there * (d * here)
        here, there = load(r, c * n + x), load(r, c * n + e)
        right = load(z, c * pairs + k) / (there - d * here) * there * (d * here)
        at = max(x, e) * size + min(x, e)
        store(w, at, load(w, at) + joined(left, right))


@njit(cache=True, nogil=True)
def _factor(  # type: ignore[no-untyped-def]
    low, high, first, second, decay, r, lam, z, pull, mask, starts, members, grouped, roots, w, v, excess, least, sums
):
    """What the function of this name in :mod:`sfumato.lp.cone.lanes_dense` does, for two blocks at a time."""
    n, size, rows, count = r.shape[1], w.shape[0], v.shape[0], len(starts) - 1
    zero = spread_like(w, 0.0)
    lead = np.full(rows, size)
    lead[:count] = members[starts[:count]]
    for b in range(low, high, 2):
        c = b + 1 if b + 1 < high else b  # the last block may be alone
        _assemble(b, c, first, second, decay, r, lam, z, pull, w, excess, least)
        eliminate(w, size, excess, least)
        for i in range(rows):
            for k in range(lead[i // 4 * 4] // 4 * 4, size):
                store(v, i * size + k, zero)
        kept, beside = load(mask, b), load(mask, c) if c > b else spread(0.0)
        for i in range(count):
            for k in range(starts[i], starts[i + 1]):
                x = members[k]
                store(v, i * size + x, joined(load(r, b * n + x) * kept, load(r, c * n + x) * beside))
        substitute(w, v, lead)
        keep(roots, b // 2 * (n * (n + 1) // 2), n, w, v, grouped)
        add_products(sums, v, lead, size)


@njit(cache=True, nogil=True)
def _put(b, c, i, n, left, right, out, sums):  # type: ignore[no-untyped-def]
    """Entry i of the solutions for two blocks, or for one."""
    store(out, b * n + i, left)
    store(sums, i, load(sums, i) + left)
    if c > b:
        store(out, c * n + i, right)
        store(sums, i, load(sums, i) + right)


@njit(cache=True, nogil=True)
def _apply(low, high, roots, q, shift, out, sums, left, right):  # type: ignore[no-untyped-def]
    """out_y = U_y U_yᵀ (q_y + shift)."""
    n = q.shape[1]
    zero = spread(0.0)
    for b in range(low, high, 2):
        c = b + 1 if b + 1 < high else b
        for k in range(n):
            store(left, k, zero)
            store(right, k, zero)
        at = b // 2 * (n * (n + 1) // 2)
        for i in range(n):
            force, other = load(q, b * n + i) + spread(shift[i]), load(q, c * n + i) + spread(shift[i])
            for k in range(i, n):
                entry = load(roots, at + k - i)
                store(left, k, load(left, k) + lower_half(entry) * force)
                store(right, k, load(right, k) + upper_half(entry) * other)
            at += n - i
        at = b // 2 * (n * (n + 1) // 2)
        for i in range(n):
            found, other = zero, zero
            for k in range(i, n):
                entry = load(roots, at + k - i)
                found = found + lower_half(entry) * load(left, k)
                other = other + upper_half(entry) * load(right, k)
            at += n - i
            _put(b, c, i, n, found, other, out, sums)


@njit(cache=True, nogil=True)
def _solve(low, high, roots, r, mask, q, shift, out, sums, left, right):  # type: ignore[no-untyped-def]
    """The same where ``roots`` has the factors L: substitution forwards and backwards."""
    n = q.shape[1]
    for b in range(low, high, 2):
        c = b + 1 if b + 1 < high else b
        at = b // 2 * (n * (n + 1) // 2)
        for i in range(n):
            found = (load(q, b * n + i) + spread(shift[i])) * load(r, b * n + i)
            other = (load(q, c * n + i) + spread(shift[i])) * load(r, c * n + i)
            for k in range(i):
                entry = load(roots, at + k)
                found = found + lower_half(entry) * load(left, k)
                other = other + upper_half(entry) * load(right, k)
            entry = load(roots, at + i)
            store(left, i, found * lower_half(entry))
            store(right, i, other * upper_half(entry))
            at += i + 1
        for i in range(n - 1, -1, -1):
            at -= i + 1
            entry = load(roots, at + i)
            found, other = load(left, i) * lower_half(entry), load(right, i) * upper_half(entry)
            for k in range(i):
                entry = load(roots, at + k)
                store(left, k, load(left, k) + lower_half(entry) * found)
                store(right, k, load(right, k) + upper_half(entry) * other)
            found = found * load(r, b * n + i) * load(mask, b)
            _put(b, c, i, n, found, other * load(r, c * n + i) * load(mask, c), out, sums)
