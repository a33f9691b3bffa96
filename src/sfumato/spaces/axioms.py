"""Compiled checks of metric axioms and the exact search for implied pairs.

Distances come as n × n tables in one of three forms (see :mod:`sfumato.spaces.distances`).
Every comparison "a + b ≤ c" here is exact: integers for rational distances, integers after
squaring for square roots, an error-free sum for floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sfumato.threads import for_reading, on_threads

INFINITE = 2**61
"""Stands for an infinite distance in integer tables; two of them still add up in int64."""

LARGEST_RADICAND = 2**30
"""Radicands below this keep (c − a − b)² and 4ab inside int64."""

RATIONAL, ROOT, FLOAT = 0, 1, 2


@njit(cache=True, nogil=True, inline="always")
def chain_fits(form, a, b, c):  # type: ignore[no-untyped-def]
    """Whether a chain of lengths a and b is no longer than c, decided exactly."""
    if form == 0:
        return a + b <= c
    if form == 1:
        rest = c - a - b
        return rest >= 0 and rest * rest >= 4 * a * b
    total = a + b
    if total != c:
        return total < c
    # a + b rounds to c: the rounding error, itself a double, decides
    virtual = total - a
    return (a - (total - virtual)) + (b - virtual) <= 0.0


def open_pairs(n: int, first: NDArray[np.int64], second: NDArray[np.int64]) -> int:
    """How many of the pairs of n points no chain of the given ones joins.

    Examples
    --------
    >>> open_pairs(4, np.array([0, 1]), np.array([1, 2]))
    3
    """
    graph = coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(n, n))
    sizes = np.bincount(connected_components(graph, directed=False)[1])
    return int(n * n - sum(size * size for size in sizes.tolist())) // 2


# In the loops below, 16 rows of the table stay in cache while all others stream past.


@njit(cache=True, nogil=True)
def _triangle_rows(table, first, last, slack):  # type: ignore[no-untyped-def]
    n = table.shape[0]
    for start in range(first, last, 16):
        for y in range(n):
            second = table[y]
            for x in range(start, min(start + 16, last)):
                direct = table[x]
                leg = table[x, y] + slack
                broken = 0
                for z in range(n):
                    broken += direct[z] > leg + second[z]
                if broken:
                    for z in range(n):
                        if direct[z] > leg + second[z]:
                            return x, y, z
    return -1, -1, -1


def triangle_violation(table: NDArray[Any], slack: float | int) -> tuple[int, int, int] | None:
    """Indices x, y, z with d(x, z) > d(x, y) + d(y, z) + slack, if there are any."""
    read = for_reading(table)
    triples = on_threads(lambda first, last: _triangle_rows(read, first, last, slack), len(read))
    return next((triple for triple in triples if triple[0] >= 0), None)


@njit(cache=True, nogil=True)
def _midpoint_rows(form, table, near, nearest, order, first, last, via):  # type: ignore[no-untyped-def]
    n, blocks = nearest.shape
    for start in range(first, last, 16):
        stop = min(start + 16, last)
        for z in range(start + 1, n):
            for x in range(start, min(stop, z)):
                # a filter in floats finds candidates; exact arithmetic decides on each
                reach = near[x, z] * (1.0 + 2.0**-49)
                between = -1
                for block in range(blocks):
                    if nearest[x, block] + nearest[z, block] > reach:
                        continue
                    from_x = near[x, block * 64 : block * 64 + 64]
                    from_z = near[z, block * 64 : block * 64 + 64]
                    candidates = 0
                    for k in range(len(from_x)):
                        candidates += from_x[k] + from_z[k] <= reach
                    if candidates:
                        for k in range(len(from_x)):
                            y = order[block * 64 + k]
                            if from_x[k] + from_z[k] <= reach and y != order[x] and y != order[z]:
                                legs = table[order[x], y], table[order[z], y]
                                if chain_fits(form, legs[0], legs[1], table[order[x], order[z]]):
                                    between = y
                                    break
                        if between >= 0:
                            break
                via[order[x], order[z]] = between
                via[order[z], order[x]] = between


def midpoints(form: int, table: NDArray[Any], floats: NDArray[np.float64]) -> NDArray[np.int32]:
    """For each pair an index y with d(x, y) + d(y, z) ≤ d(x, z), y ≠ x, z; −1 where there is none.

    ``floats`` are the same distances rounded to doubles, at most four units in the last
    place off. Points are visited in blocks of 64 neighbours; a block whose nearest points
    are too far from both ends is passed over, so only those along the way are looked at.
    """
    n, table = len(table), for_reading(table)
    via = np.full((n, n), -1, dtype=np.int32)
    order = _neighbours_together(floats)
    near = floats[np.ix_(order, order)]
    np.fill_diagonal(near, np.inf)  # a pair's own ends are no midpoints
    nearest = np.minimum.reduceat(near, np.arange(0, n, 64), axis=1)
    on_threads(lambda first, last: _midpoint_rows(form, table, near, nearest, order, first, last, via), n, 32)
    via[np.isinf(floats)] = -1
    return via


def _neighbours_together(floats: NDArray[np.float64], leaf: int = 64) -> NDArray[np.int64]:
    """An order of the points in which near ones stand together: halve by two far-off points."""

    def halve(members: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        if len(members) <= leaf:
            return [members]
        one = members[np.argmax(_capped(floats[members[0], members]))]
        other = members[np.argmax(_capped(floats[one, members]))]
        lean = _capped(floats[one, members]) - _capped(floats[other, members])
        ranked = members[np.argsort(lean, kind="stable")]
        half = leaf * (-(-len(members) // leaf) // 2)
        return halve(ranked[:half]) + halve(ranked[half:])

    return np.concatenate(halve(np.arange(len(floats))))


def _capped(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.minimum(distances, 1e300)  # differences of infinite distances would be NaN
