"""Few multipliers that prove nearly as much as all that a solver has found.

An interior-point method returns a positive multiplier for every pair in every column, and a first-order method many
small ones. Any Z ≥ 0 proves a bound (:func:`sfumato.lp.column_bound`), so those that carry nothing may go: files,
checks and memory shrink with them. A column of a program with n rows needs about n of them.

Two things are done to each column. A multiplier v on a pair and v′ on the same pair the other way round are replaced
by one on the larger side, which makes no reduced cost smaller: with decays d and d′ the pair keeps v − d′v′ if that is
not negative, and d′v′ > v implies v′ > dv. Then small ones are left out: without v on the pair (x, z) the reduced cost
of x falls by dv and that of z grows by v. Every row may fall to the least reduced cost of its class, and by an equal
share of what the bound may lose beyond that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from sfumato.lp.cone.program import ColumnProgram, ColumnSolution
from sfumato.numbers import Floats, Integers
from sfumato.threads import for_reading, on_threads

_COLUMNS = 8  # So many columns, neighbours in memory, are taken at a time.
_SWEEPS = 3  # What is left out for one row leaves room at others; later sweeps over the rows find little.
_ONE_THREAD = 100_000  # With fewer multipliers, starting threads takes longer than the work.


@dataclass(frozen=True, eq=False)
class Kept:
    """Multipliers that are not zero: the pair, the column and the value of each."""

    pair: Integers
    column: Integers
    values: Floats

    def __len__(self) -> int:
        return len(self.values)


def listed_multipliers(multipliers: Floats) -> Kept:
    """The multipliers that are not zero, of one row a pair and one column a column."""
    pair, column = np.nonzero(multipliers)
    return Kept(pair, column, multipliers[pair, column])


def thinned(program: ColumnProgram, solution: ColumnSolution, spare: float) -> Kept:
    """Multipliers whose bound is at most ``spare`` below that of all those found, up to rounding.

    Examples
    --------
    >>> from sfumato.lp.cone.lanes import solve_columns
    >>> far = np.arange(8.0)
    >>> first, second = np.concatenate([[range(7), range(1, 8)], [range(1, 8), range(7)]], axis=1)
    >>> program = ColumnProgram(np.abs(far[:, None] - far) / 8, first, second, np.ones(14))
    >>> solution = solve_columns(program, tolerance=1e-5)
    >>> kept = thinned(program, solution, 5e-5)
    >>> solution.multipliers.size, len(kept) < 64
    (112, True)
    """
    if not solution.multipliers.size:
        return listed_multipliers(solution.multipliers)
    cost = program.cost
    for limit, price in zip(program.limits, solution.prices, strict=True):
        cost = cost + limit.weighted(price)
    multipliers, cost = for_reading(solution.multipliers), for_reading(cost)
    (n, m), classes = program.shape, program.row_classes
    order = np.argsort(program.first, kind="stable")
    first, second = program.first[order], program.second[order]
    starts, decay = np.searchsorted(first, np.arange(n + 1)), np.exp(-program.logs)[order]
    pairs = order, starts, second, decay, _reversed(first, second, n)
    wide = m if multipliers.size <= _ONE_THREAD else _COLUMNS

    def over_columns(work: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What ``work`` says of a few columns at a time, on all cores."""

        def on_blocks(start: int, stop: int) -> list[Any]:
            edges = [(low, min(low + wide, m)) for low in range(start * wide, stop * wide, wide)]
            return [work(multipliers, *edge, cost, *pairs, *arguments) for edge in edges]

        return [part for parts in on_threads(on_blocks, -(-m // wide)) for part in parts]

    least = np.min(over_columns(_least, classes, len(program.sizes)), axis=0)
    # every row may lose as much beyond what costs nothing
    kept = over_columns(_kept, (least - spare / n)[classes])
    return Kept(*(np.concatenate(parts) for parts in zip(*kept, strict=True)))


def _reversed(first: Integers, second: Integers, n: int) -> Integers:
    """The place of the same pair the other way round, −1 where it is not listed."""
    here, there = first * n + second, second * n + first
    order = np.argsort(here, kind="stable")
    place = np.minimum(np.searchsorted(here[order], there), len(here) - 1)
    reverse = order[place]
    reverse = np.where(here[reverse] == there, reverse, -1)
    # pairs that are listed twice would have one reverse: only those that name each other are joined
    joined = (reverse >= 0) & (reverse[reverse] == np.arange(len(reverse)))
    return np.asarray(np.where(joined, reverse, -1), dtype=np.int64)


@njit(cache=True, nogil=True)
def _netted(multipliers, low, high, order, decay, reverse, scratch):  # type: ignore[no-untyped-def]
    """Columns low … high, one row each, in the order of pairs; of a pair both ways round only one is left."""
    for k in range(len(order)):
        for w in range(low, high):
            scratch[w - low, k] = max(multipliers[order[k], w], 0.0)
    for w in range(high - low):
        for k in range(len(order)):
            j = reverse[k]
            if j > k:
                here, there = scratch[w, k], scratch[w, j]
                if here >= decay[j] * there:
                    scratch[w, k], scratch[w, j] = here - decay[j] * there, 0.0
                else:
                    scratch[w, k], scratch[w, j] = 0.0, there - decay[k] * here


@njit(cache=True, nogil=True)
def _reduced(values, cost, w, starts, second, decay, result):  # type: ignore[no-untyped-def]
    """(C + AᵀZ) of one column."""
    for x in range(len(result)):
        result[x] = cost[x, w]
    for x in range(len(result)):
        for k in range(starts[x], starts[x + 1]):
            result[x] += decay[k] * values[k]
            result[second[k]] -= values[k]


@njit(cache=True, nogil=True)
def _least(  # type: ignore[no-untyped-def]
    multipliers, low, high, cost, order, starts, second, decay, reverse, classes, count
):
    """The least reduced cost of each class in columns low … high."""
    scratch, reduced = np.empty((high - low, len(order))), np.empty(len(cost))
    least = np.full(count, np.inf)
    _netted(multipliers, low, high, order, decay, reverse, scratch)
    for w in range(low, high):
        _reduced(scratch[w - low], cost, w, starts, second, decay, reduced)
        for x in range(len(cost)):
            least[classes[x]] = min(least[classes[x]], reduced[x])
    return least


@njit(cache=True, nogil=True)
def _leave_out(values, starts, second, decay, room, places, falls):  # type: ignore[no-untyped-def]
    """Set multipliers to zero, the smallest first in each row, while its room lasts; whether there were any."""
    some = False
    for x in range(len(room)):
        count, total = 0, 0.0
        for k in range(starts[x], starts[x + 1]):
            fall = decay[k] * values[k]
            if values[k] > 0.0 and fall <= room[x]:
                places[count], falls[count] = k, fall
                count += 1
                total += fall
        if not count:
            continue
        some = True
        for i in np.argsort(falls[:count]) if total > room[x] else np.arange(count):
            if falls[i] > room[x]:
                break
            k = places[i]
            room[x] -= falls[i]
            room[second[k]] += values[k]
            values[k] = 0.0
    return some


@njit(cache=True, nogil=True)
def _kept(multipliers, low, high, cost, order, starts, second, decay, reverse, floor):  # type: ignore[no-untyped-def]
    """Pairs, columns and values of what is left of columns low … high, whose reduced costs stay above a floor."""
    scratch, room = np.empty((high - low, len(order))), np.empty(len(cost))
    places, falls = np.empty(len(order), np.int64), np.empty(len(order))
    _netted(multipliers, low, high, order, decay, reverse, scratch)
    count = 0
    for w in range(low, high):
        values = scratch[w - low]
        _reduced(values, cost, w, starts, second, decay, room)
        room -= floor
        for _ in range(_SWEEPS):
            if not _leave_out(values, starts, second, decay, room, places, falls):
                break
        for value in values:
            count += value > 0.0
    pair, column, kept = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
    at = 0
    for w in range(high - low):
        for k in range(len(order)):
            if scratch[w, k] > 0.0:
                pair[at], column[at], kept[at] = order[k], low + w, scratch[w, k]
                at += 1
    return pair, column, kept
