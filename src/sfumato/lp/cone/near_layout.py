"""Peaks and near rows: which pairs of rows are looked at in which column, and where their numbers stand.

A column has peaks, and rows near one of them. A row z from which nothing but a share of e^{−l(x, z)} < e^{−T} arrives
at any peak x is far: its entry has to be no more than that part of the entry of x, which is put there in the end. So a
column is a small program of its own over near rows, and what a long list of columns shares is the sums of rows.

Entries of all columns stand in one list, those of column y from ``places[y]`` on, in the order of ``near``. Pairs of y
are a block of lines with one number an entry, from ``blocks[y]`` on: a line for each peak, and one more in which every
row stands beside itself, for r ≥ 0. Lines are numbered through, those of y from ``starts[y]`` on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg import blas

from sfumato.numbers import Floats, Integers

_CHEAPEST = 4  # In so many columns of least cost a row has an entry in any case, so that it can sum to 1.
_LINES = 512  # Peaks of a group of columns, at least: products of matrices that tall are at full speed.


@dataclass(frozen=True, eq=False)
class Layout:
    """Peaks and near rows of all columns.

    Parameters
    ----------
    starts, at
        Where the lines of a column begin, and the place of each line's peak among the near rows of its column.
    rows
        The row of each peak.
    places, near, columns
        Where the entries of a column begin, the row and the column of each entry.
    blocks
        Where the pairs of a column begin.
    groups
        Columns with nearly the same near rows, together; each with the rows near any of them.
    """

    starts: Integers
    at: Integers
    rows: Integers
    places: Integers
    near: Integers
    columns: Integers
    blocks: Integers
    groups: tuple[tuple[Integers, Integers], ...]

    @property
    def pairs(self) -> int:
        """Numbers in all blocks."""
        return int(self.blocks[-1])

    def of_pairs(self, table: Floats) -> Floats:
        """The entries of a square table that belong to peaks and near rows, and those on its diagonal."""
        picked = np.empty(self.pairs)
        _pick(self.starts, self.rows, self.places, self.near, self.blocks, table, picked)
        return picked

    def sums(self, values: Floats, n: int) -> Floats:
        """Sums over the entries of every row."""
        return np.bincount(self.near, values, n).astype(np.float64)

    def least(self, values: Floats, elsewhere: Floats) -> Floats:
        """The least of the entries of every row, and of what stands elsewhere."""
        least = elsewhere.copy()
        np.minimum.at(least, self.near, values)
        return least

    def dense(self, values: Floats, n: int) -> Floats:
        """A table of one line a column, zero at far rows."""
        table = np.zeros((len(self.places) - 1, n))
        table[self.columns, self.near] = values
        return table


def best_rows(above: Floats) -> Integers:
    """The row for which each column is best, in terms of what the row has at stake; least costs are taken off."""
    stakes = np.maximum(above.mean(axis=1), 1e-300)
    return np.asarray((above / stakes[:, None]).argmin(axis=0))


def laid_out(peaks: NDArray[np.bool_], logs: Floats, cost: Floats, furthest: float) -> Layout:
    """Near rows of columns with given peaks, one row a row and one column a column.

    Examples
    --------
    >>> far = np.abs(np.arange(9)[:, None] - np.arange(9.0))
    >>> layout = laid_out(far[:, [0, 8]] < 2, far, far[:, [0, 8]], 3.0)
    >>> layout.rows.tolist(), layout.near.tolist()
    ([0, 1, 7, 8], [0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8])
    """
    n, m = cost.shape
    owners, rows = np.nonzero(peaks.T)
    first = np.searchsorted(owners, np.arange(m + 1))
    close = np.ascontiguousarray(peaks.T)
    _mark(first, rows, logs, furthest, close)
    few = min(_CHEAPEST, m)
    cheapest = np.argpartition(cost, few - 1, axis=1)[:, :few]
    close[cheapest.ravel(), np.repeat(np.arange(n), few)] = True
    empty = np.flatnonzero(~close.any(axis=1))  # a column that no row looks at has an entry all the same
    close[empty, cost[:, empty].argmin(axis=0)] = True
    columns, near = np.nonzero(close)
    places = np.searchsorted(columns, np.arange(m + 1))
    starts = first + np.arange(m + 1)
    at = np.zeros(starts[-1], dtype=np.int64)
    at[np.arange(len(rows)) + owners] = (np.cumsum(close, axis=1) - 1)[owners, rows]
    blocks = np.concatenate([[0], np.cumsum(np.diff(starts) * np.diff(places))])
    return Layout(starts, at, rows, places, near, columns, blocks, _groups(close, np.diff(first)))


def _groups(close: NDArray[np.bool_], peaks: Integers) -> tuple[tuple[Integers, Integers], ...]:
    """Columns in groups: one that is left and those that share most of their near rows with it."""
    m, sizes = len(close), close.sum(axis=1)
    lines = max(_LINES, float(sizes.mean()))  # about as many as rows, or adding up takes longer than multiplying
    number = max(1, int(lines * m / max(int(peaks.sum()), 1)))
    left, groups = np.flatnonzero(peaks), []
    flags = close.astype(np.float32)
    while left.size:
        shared = flags[left] @ flags[left[0]]
        extra = sizes[left] - 2.0 * shared
        extra[0] = -np.inf
        nearest = np.argsort(extra, kind="stable")[:number]
        taken = left[nearest]
        groups.append((taken, np.flatnonzero(close[taken].any(axis=0))))
        left = np.delete(left, nearest)
    return tuple(groups)


@njit(cache=True, nogil=True)
def _mark(starts, rows, logs, furthest, close):  # type: ignore[no-untyped-def]
    """Rows that are near a peak."""
    for w in range(len(starts) - 1):
        for i in range(starts[w], starts[w + 1]):
            line = logs[rows[i]]
            for e in range(len(line)):
                if line[e] <= furthest:
                    close[w, e] = True


@njit(cache=True, nogil=True)
def _pick(starts, rows, places, near, blocks, table, picked):  # type: ignore[no-untyped-def]
    for w in range(len(starts) - 1):
        k = blocks[w]
        for i in range(starts[w], starts[w + 1] - 1):
            line = table[rows[i - w]]
            for e in range(places[w], places[w + 1]):
                picked[k] = line[near[e]]
                k += 1
        for e in range(places[w], places[w + 1]):
            picked[k] = table[near[e], near[e]]
            k += 1


def sum_of_squares(layout: Layout, v: Floats, n: int) -> Floats:
    """The upper triangle of VᵀV, summed over all columns; V has the pairs of each column for its lines."""
    total, local = np.zeros((n, n)), np.empty(n, dtype=np.int64)
    for columns, rows in layout.groups:
        local[rows] = np.arange(len(rows))
        lines = np.zeros((int((layout.starts[columns + 1] - layout.starts[columns] - 1).sum()), len(rows)))
        _stack(columns, layout.starts, layout.places, layout.near, layout.blocks, v, local, lines)
        _add(total, rows, blas.dsyrk(1.0, lines.T, lower=1))
    return total


@njit(cache=True, nogil=True)
def _stack(columns, starts, places, near, blocks, v, local, lines):  # type: ignore[no-untyped-def]
    """The lines of a few columns, one below the other, over the rows near any of them."""
    at = 0
    for w in columns:
        k = blocks[w]
        for _ in range(starts[w], starts[w + 1] - 1):
            line = lines[at]
            for e in range(places[w], places[w + 1]):
                line[local[near[e]]] = v[k]
                k += 1
            at += 1


@njit(cache=True, nogil=True)
def _add(total, rows, part):  # type: ignore[no-untyped-def]
    """Add the lower triangle of a part to the upper one of the total: a part is stored by columns, and rows ascend."""
    mirrored = part.T
    for j in range(len(rows)):
        line, into = mirrored[j], total[rows[j]]
        for i in range(j, len(rows)):
            into[rows[i]] += line[i]
