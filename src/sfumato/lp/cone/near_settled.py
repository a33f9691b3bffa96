"""The matrix of :mod:`sfumato.lp.cone.near_iterate`, moved to where the bounds of all pairs are kept.

Pairs without peaks are no constraint there, nor are rows far from all peaks. But the least entries that peaks ask for
keep all bounds, and what rows have beyond is next to nothing if they have peaks enough. It is put where others leave
room for it. Where there is none, others are made to follow, and move in their turn. In the end a few rounds of "least
columns above that keep all bounds, rows divided by their sums" come near.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.lp.cone.near_passes import FAST
from sfumato.numbers import Floats
from sfumato.threads import on_threads
from sfumato.watch import Watch

_CLOSINGS, _CLOSED = 12, 1e-8  # Bounds come to be kept in at most so many rounds, and are at the latter error.
_BALANCINGS = 6  # Before these there are at most so many rounds in which rows are moved one after the other.
_PARTS = 16  # A row gets what it lacks in so many parts.
_PER_ERROR = 10.0  # An error that is left costs about so many times as much in the end, in terms of the loss.
_REST = 1e-4  # Of a row that is moved far, entries that sum to no more than this are left as they are.
_NOTHING = 1e-13  # Bounds with a smaller decay ask for next to nothing, and are left to the last rounds.


@dataclass(frozen=True, eq=False)
class Settled:
    """A matrix that keeps all bounds up to a small error, one row a row; about what it costs without that error; and
    the entries of rows that had to be moved far.
    """

    matrix: Floats
    value: float
    moved: NDArray[np.bool_]


def settled(
    r: Floats, cost: Floats, prices: Floats, peaks: NDArray[np.bool_], decay: Floats, watch: Watch | None = None
) -> Settled:
    """R with the bounds of all pairs kept, up to a small error.

    Parameters
    ----------
    r, cost
        One line a column.
    prices
        Of the rows.
    peaks
        One line a row.
    decay
        e^{−l} of all pairs, zero on the diagonal.
    watch
        Where its time is up, rounds are left out: the error is larger then, and so is the value that counts it.
    """
    watch, (m, n) = watch or Watch(), r.shape
    columns = np.empty_like(r)
    owners, rows = np.nonzero(peaks.T)
    starts = np.searchsorted(owners, np.arange(m + 1))
    on_threads(lambda low, high: _least(low, high, starts, rows, decay, r, columns), m)
    by_row, lacking = np.ascontiguousarray(cost.T), np.zeros(n)
    order = np.argsort(-by_row.mean(axis=1), kind="stable")
    over = by_row - prices[:, None]
    near = np.where(decay > _NOTHING, decay, 0.0)
    matrix, moved = np.ascontiguousarray(columns.T), np.zeros(by_row.shape, dtype=bool)
    for k in range(_BALANCINGS):
        if watch.over:
            break
        _balance(matrix, by_row, near, order, lacking)
        short = order[lacking[order] > _CLOSED]
        if k == 0:
            far = np.flatnonzero(lacking > _REST)
            moved[far] = _mainstays(r.T[far])
        if not short.size:
            break
        _place(matrix, over, near, short, lacking, _PARTS)
    columns, off = np.ascontiguousarray(matrix.T), np.inf
    for _ in range(_CLOSINGS):
        sums = columns.sum(axis=0)
        columns, off = columns / sums, float(sums.max() / sums.min()) - 1.0
        if off <= _CLOSED or watch.over:
            break
        columns = _closed(columns, decay)
    value = float((cost * columns).sum()) * (1.0 + _PER_ERROR * off)
    return Settled(np.ascontiguousarray(columns.T), value, moved)


def _mainstays(given: Floats) -> NDArray[np.bool_]:
    """The columns that make up all but a little of some rows."""
    ranked = np.sort(given, axis=1)
    left = np.minimum((np.cumsum(ranked, axis=1) < _REST).sum(axis=1), given.shape[1] - 1)
    return np.asarray(given >= ranked[np.arange(len(given)), left][:, None])


def _closed(columns: Floats, decay: Floats) -> Floats:
    """The least columns above that keep all bounds."""
    closed = np.empty_like(columns)
    on_threads(lambda low, high: _close(low, high, decay, columns, closed), len(columns))
    return closed


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _close(low, high, decay, columns, closed):  # type: ignore[no-untyped-def]
    """The least columns above given ones that keep all bounds: one sweep is enough where bounds are a metric."""
    n = columns.shape[1]
    for w in range(low, high):
        entries, into = columns[w], closed[w]
        for e in range(n):
            into[e] = entries[e]
        for x in range(n):
            own, line = entries[x], decay[x]
            for e in range(n):
                into[e] = max(into[e], line[e] * own)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _least(low, high, starts, rows, decay, r, into):  # type: ignore[no-untyped-def]
    """The least columns with the entries of their peaks: all other rows get what peaks ask of them.

    They keep the bounds of all pairs, since these are a metric.
    """
    n = r.shape[1]
    for w in range(low, high):
        entries, column = r[w], into[w]
        column[:] = 0.0
        for i in range(starts[w], starts[w + 1]):
            own, line = entries[rows[i]], decay[rows[i]]
            column[rows[i]] = max(column[rows[i]], own)
            for e in range(n):
                column[e] = max(column[e], line[e] * own)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _balance(matrix, cost, decay, order, lacking):  # type: ignore[no-untyped-def]
    """Rows moved in place, one after the other, towards a sum of 1, with no bound broken.

    All other rows leave an interval for every entry. What a row lacks is put where it costs least, what it has too much
    is taken where it costs most; ``lacking`` says what it still lacks, negative if it has too much.
    """
    n, m = matrix.shape
    low, high = np.empty(m), np.empty(m)
    for x in order:
        row = matrix[x]
        lacks = 1.0 - row.sum()
        if abs(lacks) > 1e-15:
            low[:] = 0.0
            high[:] = 1.0
            for z in range(n):
                near = decay[z, x]
                if near > 0.0:
                    other, far = matrix[z], 1.0 / near
                    for w in range(m):
                        low[w] = max(low[w], near * other[w])
                        high[w] = min(high[w], far * other[w])
            ranked = np.argsort(cost[x])
            for i in range(m):
                w = ranked[i] if lacks > 0.0 else ranked[m - 1 - i]
                change = (
                    min(lacks, max(high[w] - row[w], 0.0)) if lacks > 0.0 else max(lacks, min(low[w] - row[w], 0.0))
                )
                row[w] += change
                lacks -= change
                if abs(lacks) <= 1e-15:
                    break
        lacking[x] = lacks


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _place(matrix, over, decay, rows, lacking, parts):  # type: ignore[no-untyped-def]
    """Give rows what they lack, in a few parts, each to the column where that costs least in terms of prices.

    Other rows are raised in that column by what the bounds then ask of them; ``over`` is what an entry costs beyond the
    price of its row, and so what it costs to raise one and lower another of the same row that no bound holds.
    """
    n, m = matrix.shape
    price = np.empty(m)
    for x in rows:
        line = decay[x]
        for _ in range(parts):
            part = lacking[x] / parts
            for w in range(m):
                price[w] = over[x, w] * part
            for z in range(n):
                if line[z] > 0.0:
                    for w in range(m):
                        price[w] += max(line[z] * (matrix[x, w] + part) - matrix[z, w], 0.0) * over[z, w]
            best = price.argmin()
            matrix[x, best] += part
            for z in range(n):
                matrix[z, best] = max(matrix[z, best], line[z] * matrix[x, best])
