"""Sparse Newton systems of the block interior-point method, for programs whose pairs are the edges of a sparse graph.

All systems have their entries at the same places, so one symbolic analysis (:mod:`sfumato.lp.cone.elimination`) serves
all columns and iterations. H = L D Lᵀ is eliminated in terms of off-diagonal entries and row sums, as in
:mod:`sfumato.lp.cone.lanes_dense`, and stays free of cancellation.

The linking matrix needs every entry of every H_y⁻¹, of which nothing is kept: unit vectors, eight at a time, go
through the factors of four columns. A forward substitution from row i visits only its ancestors in the elimination
tree. The backward substitution stops at what is asked: in postorder the rows before i, with the ancestors of i, need
no others, so entries on one side of the diagonal take Σ_i Σ_{j<i} (height of column j) products, all of them sums of
positive terms.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.lp.cone.elimination import Elimination
from sfumato.lp.cone.lanes_dense import by_class, summed_over
from sfumato.lp.cone.registers import (
    LANES,
    WIDE,
    larger,
    load,
    load_wide,
    registers,
    spread,
    spread_wide,
    store_lanes,
)
from sfumato.numbers import Floats, Integers


class SparseSystems:
    """The factorised systems of all columns, and what a thread needs to factorise its share of them.

    Parameters
    ----------
    shape
        The elimination; rows must have been renumbered in its order.
    blocks
        Number of blocks of columns.
    classes
        The class of each row.
    first, second
        The pairs, those of rows with themselves last.
    threads
        Number of threads.
    grouped
        Whether sums over classes go through the factors instead of unit vectors; by default what takes less work.
    """

    def __init__(
        self, shape: Elimination, blocks: int, classes: Integers, first: Integers, second: Integers, threads: int = 1,
        grouped: bool | None = None,
    ) -> None:  # fmt: skip
        self.n, self.shape, self.classes = len(shape.order), shape, classes
        self.starts, self.rows = shape.starts, shape.rows
        self.targets = _targets(self.starts, self.rows, shape.products - shape.entries)
        first, second = first[: -self.n], second[: -self.n]
        self.places = _places(self.starts, self.rows, np.minimum(first, second), np.maximum(first, second))
        count = int(classes.max()) + 1
        self.grouped = _grouped_work(shape, count) < _link_work(shape) if grouped is None else grouped
        every = np.arange(self.n)
        if self.grouped:
            strips = -(-count // WIDE)
            self.sides = classes, *by_class(classes)
            self.strips = np.arange(strips + 1) * self.n, np.tile(every, strips), np.tile([0, self.n], (strips, 1))
        else:
            self.sides = every, np.arange(self.n + 1), every
            self.strips = *_paths(shape.parents), np.stack([every[::WIDE], every[::WIDE] + WIDE], axis=1)
        self.factors = registers(blocks, shape.entries, LANES)
        self.inverses = registers(blocks, self.n, LANES)
        self.scratch = [_SparseScratch(self.n, count if self.grouped else self.n) for _ in range(threads)]

    @staticmethod
    def memory(shape: Elimination, blocks: int, threads: int) -> int:
        """Bytes of the arrays, at most."""
        n = len(shape.order)
        return 8 * (blocks * LANES * (shape.entries + n) + threads * (n + WIDE) ** 2)

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
        _factor(low, high, first, second, decay, r, z, adjoint, self.starts, self.rows, self.places, self.targets,
                self.factors, self.inverses, scratch.excess)  # fmt: skip
        _link(low, high, r, mask, self.starts, self.rows, self.factors, self.inverses, *self.strips, *self.sides,
              scratch.sides, scratch.sums)  # fmt: skip

    def link(self) -> Floats:
        """Σ_y H_y⁻¹, summed over classes; the lower triangle."""
        link = sum((scratch.sums for scratch in self.scratch[1:]), self.scratch[0].sums)
        count = link.shape[1]
        link = np.ascontiguousarray(link.transpose(0, 2, 1).reshape(-1, count)[:count])
        return link if self.grouped else summed_over(self.classes, link)

    def apply(
        self, thread: int, low: int, high: int, r: Floats, mask: Floats, q: Floats, shift: Floats,
        out: Floats, sums: Floats,
    ) -> None:  # fmt: skip
        """out_y = H_y⁻¹ (q_y + shift) for the columns of blocks low … high; Σ out_y added to ``sums``."""
        _solve(low, high, self.starts, self.rows, self.factors, self.inverses, r, mask, q, shift, out, sums,
               self.scratch[thread].excess)  # fmt: skip


class _SparseScratch:
    """Scratch memory of one thread."""

    def __init__(self, n: int, count: int) -> None:
        self.excess, self.sides = registers(n, LANES), registers(n, LANES, WIDE)
        self.sums = registers(-(-count // WIDE), count, WIDE)


def sparse_work(shape: Elimination, classes: int) -> int:
    """Products that factor and inverse of one system take, or the sums of the inverse over classes."""
    return shape.products + min(_grouped_work(shape, classes), _link_work(shape))


def _grouped_work(shape: Elimination, count: int) -> int:
    """Products that the sums over ``count`` classes of one inverse take."""
    return 2 * shape.entries * -(-count // WIDE) * WIDE


def _link_work(shape: Elimination) -> int:
    """Products that one inverse takes, on one side of the diagonal."""
    heights = np.diff(shape.starts)
    paths = _paths(shape.parents)[1]
    before = np.concatenate([[0], np.cumsum(heights)])[: len(heights) : WIDE]
    return WIDE * int(before.sum() + 2 * heights[paths].sum())


@njit(cache=True, nogil=True)
def _targets(starts, rows, count):  # type: ignore[no-untyped-def]
    """For each column the place of entry (b, a) in the factor, for all its rows a < b."""
    targets = np.empty(count, dtype=np.int32)
    at = 0
    for j in range(len(starts) - 1):
        for a in range(starts[j], starts[j + 1]):
            place, stop = starts[rows[a]], starts[rows[a] + 1]
            for b in range(a + 1, starts[j + 1]):
                while rows[place] != rows[b] and place < stop:
                    place += 1
                targets[at] = place
                at += 1
    return targets


@njit(cache=True, nogil=True)
def _places(starts, rows, column, row):  # type: ignore[no-untyped-def]
    """The places of entries in the factor."""
    places = np.empty(len(row), dtype=np.int64)
    for k in range(len(row)):
        start, stop = starts[column[k]], starts[column[k] + 1]
        places[k] = start + np.searchsorted(rows[start:stop], row[k])
    return places


@njit(cache=True, nogil=True)
def _paths(parents):  # type: ignore[no-untyped-def]
    """For each strip of rows these rows and their ancestors in the elimination tree, ascending."""
    n = len(parents)
    strips = (n + WIDE - 1) // WIDE
    path_starts = np.zeros(strips + 1, dtype=np.int64)
    visited = [0 for _ in range(0)]
    for s in range(strips):
        marked = np.zeros(n + 1, dtype=np.bool_)
        for i in range(s * WIDE, min(s * WIDE + WIDE, n)):
            while i < n and not marked[i]:
                marked[i] = True
                i = parents[i]
        for i in range(s * WIDE, n):
            if marked[i]:
                visited.append(i)
        path_starts[s + 1] = len(visited)
    return path_starts, np.array(visited)


@njit(cache=True, nogil=True)
def _factor(  # type: ignore[no-untyped-def]
    low, high, first, second, decay, r, z, adjoint, starts, rows, places, targets, factors, inverses, excess
):
    """Minus L below the diagonal and the reciprocals of D, with r ∘ H ∘ r = L D Lᵀ, for the columns of blocks."""
    n, pairs, entries = r.shape[1], len(first), len(rows)
    one, zero = spread(1.0), spread(0.0)
    for b in range(low, high):
        base = b * entries
        for k in range(entries):
            store_lanes(factors, base + k, zero)
        for i in range(n):
            at, dual = b * n + i, load(z, (b + 1) * pairs - n + i)
            store_lanes(excess, i, load(r, at) * (dual + load(adjoint, at)))
        for k in range(pairs - n):
            d, at = spread(decay[k]), base + places[k]
            here, there = load(r, b * n + first[k]), load(r, b * n + second[k])
            store_lanes(
                factors, at, load(factors, at) + load(z, b * pairs + k) / (there - d * here) * there * (d * here)
            )
        target = 0
        for j in range(n):
            pivot = load(excess, j)
            for k in range(starts[j], starts[j + 1]):
                pivot = pivot + load(factors, base + k)
            inverse = one / larger(pivot, load(r, b * n + j) * load(z, (b + 1) * pairs - n + j))
            store_lanes(inverses, b * n + j, inverse)
            share = load(excess, j) * inverse
            for k in range(starts[j], starts[j + 1]):
                entry = load(factors, base + k)
                store_lanes(excess, rows[k], load(excess, rows[k]) + entry * share)
                entry = entry * inverse
                store_lanes(factors, base + k, entry)
                for i in range(k + 1, starts[j + 1]):
                    at = base + targets[target]
                    store_lanes(factors, at, load(factors, at) + entry * load(factors, base + i))
                    target += 1


@njit(cache=True, nogil=True)
def _add(table, row, factor, a, b, c, d):  # type: ignore[no-untyped-def]
    """Add multiples of four registers, one for each column, to a row of right-hand sides."""
    at = LANES * row
    store_lanes(table, at, load_wide(table, at) + spread_wide(factor[0]) * a)
    store_lanes(table, at + 1, load_wide(table, at + 1) + spread_wide(factor[1]) * b)
    store_lanes(table, at + 2, load_wide(table, at + 2) + spread_wide(factor[2]) * c)
    store_lanes(table, at + 3, load_wide(table, at + 3) + spread_wide(factor[3]) * d)


@njit(cache=True, nogil=True)
def _gathered(j, a, b, c, d, starts, rows, factors, sides):  # type: ignore[no-untyped-def]
    """Add to row j of the right-hand sides what a backward substitution takes from other rows, and store it."""
    for k in range(starts[j], starts[j + 1]):
        at = LANES * rows[k]
        a = a + spread_wide(factors[k, 0]) * load_wide(sides, at)
        b = b + spread_wide(factors[k, 1]) * load_wide(sides, at + 1)
        c = c + spread_wide(factors[k, 2]) * load_wide(sides, at + 2)
        d = d + spread_wide(factors[k, 3]) * load_wide(sides, at + 3)
    at = LANES * j
    store_lanes(sides, at, a)
    store_lanes(sides, at + 1, b)
    store_lanes(sides, at + 2, c)
    store_lanes(sides, at + 3, d)
    return a, b, c, d


@njit(cache=True, nogil=True)
def _collect(sums, place, scale, a, b, c, d):  # type: ignore[no-untyped-def]
    """Add the sum over four columns of r times H⁻¹."""
    entry = spread_wide(scale[0]) * a + spread_wide(scale[1]) * b
    entry = entry + (spread_wide(scale[2]) * c + spread_wide(scale[3]) * d)
    store_lanes(sums, place, load_wide(sums, place) + entry)


@njit(cache=True, nogil=True)
def _there_and_back(  # type: ignore[no-untyped-def]
    path, stop, starts, rows, factors, inverses, r, sides, sums, base, places
):
    """(L D Lᵀ)⁻¹ on right-hand sides; ``path`` has the rows where L⁻¹ leaves something, ascending.

    Rows before ``stop`` are added to ``sums``.
    """
    for j in path:
        at = LANES * j
        a, b, c, d = load_wide(sides, at), load_wide(sides, at + 1), load_wide(sides, at + 2), load_wide(sides, at + 3)
        for k in range(starts[j], starts[j + 1]):
            _add(sides, rows[k], factors[k], a, b, c, d)
        store_lanes(sides, at, a * spread_wide(inverses[j, 0]))
        store_lanes(sides, at + 1, b * spread_wide(inverses[j, 1]))
        store_lanes(sides, at + 2, c * spread_wide(inverses[j, 2]))
        store_lanes(sides, at + 3, d * spread_wide(inverses[j, 3]))
    for p in range(len(path) - 1, -1, -1):
        j = path[p]
        at = LANES * j
        a, b, c, d = load_wide(sides, at), load_wide(sides, at + 1), load_wide(sides, at + 2), load_wide(sides, at + 3)
        a, b, c, d = _gathered(j, a, b, c, d, starts, rows, factors, sides)
        if j < stop:
            _collect(sums, base + places[j], r[j], a, b, c, d)


@njit(cache=True, nogil=True)
def _link(  # type: ignore[no-untyped-def]
    low, high, r, mask, starts, rows, factors, inverses, path_starts, paths, edges, classes, class_starts, members,
    sides, sums,
):  # fmt: skip
    """Qᵀ Σ_y H_y⁻¹ Q added to ``sums``, in strips of its rows, with Q the indicator of classes.

    Every strip has its path, and ``edges``: rows before the first are on no path, those from the second on are not
    asked for.
    """
    count, zero = len(class_starts) - 1, spread_wide(0.0)
    for b in range(low, high):
        factor, scale = factors[b], r[b]
        for s in range(len(edges)):
            path, top, stop = paths[path_starts[s] : path_starts[s + 1]], edges[s, 0], edges[s, 1]
            for j in path:
                sides[j] = 0.0
            for c in range(s * WIDE, min(s * WIDE + WIDE, count)):
                for x in members[class_starts[c] : class_starts[c + 1]]:
                    for lane in range(LANES):
                        sides[x, lane, c - s * WIDE] = scale[x, lane] * mask[b, lane]
            _there_and_back(path, stop, starts, rows, factor, inverses[b], scale, sides, sums, s * count, classes)
            for j in range(top - 1, -1, -1):
                d0, d1, d2, d3 = _gathered(j, zero, zero, zero, zero, starts, rows, factor, sides)
                _collect(sums, s * count + classes[j], scale[j], d0, d1, d2, d3)


@njit(cache=True, nogil=True)
def _solve(  # type: ignore[no-untyped-def]
    low, high, starts, rows, factors, inverses, r, mask, q, shift, out, sums, work
):
    """out_y = H_y⁻¹ (q_y + shift) for the columns of blocks low … high; Σ out_y added to ``sums``."""
    n, entries = r.shape[1], len(rows)
    for b in range(low, high):
        base = b * entries
        for j in range(n):
            at = b * n + j
            store_lanes(work, j, (load(q, at) + spread(shift[j])) * load(r, at))
        for j in range(n):
            entry = load(work, j)
            for k in range(starts[j], starts[j + 1]):
                store_lanes(work, rows[k], load(work, rows[k]) + load(factors, base + k) * entry)
            store_lanes(work, j, entry * load(inverses, b * n + j))
        for j in range(n - 1, -1, -1):
            entry = load(work, j)
            for k in range(starts[j], starts[j + 1]):
                entry = entry + load(factors, base + k) * load(work, rows[k])
            store_lanes(work, j, entry)
            entry = entry * load(r, b * n + j) * load(mask, b)
            store_lanes(out, b * n + j, entry)
            store_lanes(sums, j, load(sums, j) + entry)
