"""Elimination of a symmetric matrix with few entries: which row when, and what fills up.

Eliminating a row joins all its neighbours that are left. :func:`elimination` takes next a row with fewest such
neighbours (minimum degree; ties go to the row that came first), then renumbers rows so that those below one node of
the elimination tree follow each other. The factor then has its entries where :class:`Elimination` says, for any
values in the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Elimination:
    """An order of rows and the places of the factor's entries below the diagonal, column after column.

    Parameters
    ----------
    order
        The row of the matrix that is eliminated j-th.
    starts, rows
        In the new numbering, column j has the rows ``rows[starts[j] : starts[j + 1]]``, ascending.
    """

    order: Integers
    starts: Integers
    rows: Integers

    @property
    def entries(self) -> int:
        """Number of entries below the diagonal."""
        return len(self.rows)

    @property
    def products(self) -> int:
        """Number of products an elimination takes."""
        heights = np.diff(self.starts)
        return int((heights * (heights + 1)).sum()) // 2

    @property
    def parents(self) -> Integers:
        """The first row of each column, its parent in the elimination tree; n for roots."""
        n = len(self.order)
        heights = np.diff(self.starts)
        parents = np.full(n, n)
        parents[heights > 0] = self.rows[self.starts[:-1][heights > 0]]
        return parents


def elimination(n: int, first: Integers, second: Integers) -> Elimination:
    """A fill-reducing elimination of an n × n matrix with entries at the pairs, in either direction, and the diagonal.

    Takes n² bytes and about as many operations as the elimination itself.

    Examples
    --------
    A star: the middle comes last but one, and nothing fills up.

    >>> import numpy as np
    >>> star = elimination(4, np.array([0, 0, 0]), np.array([1, 2, 3]))
    >>> star.order.tolist(), star.entries
    ([1, 2, 0, 3], 3)
    """
    adjacent = np.zeros((n, n), dtype=np.bool_)
    adjacent[first, second] = adjacent[second, first] = True
    np.fill_diagonal(adjacent, False)
    order, starts, rows = _minimum_degree(adjacent)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    return _in_postorder(order, starts, place[rows])


@njit(cache=True, nogil=True)
def _minimum_degree(adjacent):  # type: ignore[no-untyped-def]
    """An order in which each row has fewest neighbours left when its turn comes, and these; the graph is destroyed."""
    n = len(adjacent)
    degree = np.empty(n, dtype=np.int64)
    for i in range(n):
        degree[i] = adjacent[i].sum()
    order, around, starts = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    rows = np.empty(16 * n, dtype=np.int64)
    for step in range(n):
        row = np.argmin(degree)
        order[step] = row
        count = 0
        for k in range(n):
            if adjacent[row, k]:
                around[count] = k
                count += 1
                adjacent[k, row] = False
        degree[row] = 2 * n
        for a in range(count):
            i = around[a]
            degree[i] -= 1
            for b in range(count):
                k = around[b]
                if k != i and not adjacent[i, k]:
                    adjacent[i, k] = True
                    degree[i] += 1
        while len(rows) < starts[step] + count:
            rows = np.concatenate((rows, np.empty_like(rows)))
        starts[step + 1] = starts[step] + count
        rows[starts[step] : starts[step + 1]] = around[:count]
    return order, starts, rows[: starts[n]].copy()


def _in_postorder(order: Integers, starts: Integers, rows: Integers) -> Elimination:
    """The same elimination with columns renumbered so that each comes right after all that lead to it.

    Of those that lead to one column the highest comes last: columns with the same rows then stand side by side.
    """
    n, heights = len(order), np.diff(starts)
    first = np.minimum.reduceat(np.append(rows, n), starts[:-1])
    parents = np.where(heights > 0, first, n)
    below: list[list[int]] = [[] for _ in range(n + 1)]
    for j in np.argsort(heights, kind="stable").tolist():
        below[parents[j]].append(j)
    sequence: list[int] = []
    waiting = below[n][:]
    while waiting:  # ancestors before descendants, the highest first: the reverse of the order wanted
        j = waiting.pop()
        sequence.append(j)
        waiting.extend(below[j])
    kept = np.array(sequence[::-1])
    place = np.empty(n, dtype=np.int64)
    place[kept] = np.arange(n)
    columns = [np.sort(place[rows[starts[j] : starts[j + 1]]]) for j in kept.tolist()]
    return Elimination(
        order[kept], np.concatenate([[0], np.cumsum(heights[kept])]), np.concatenate([*columns, np.empty(0, np.int64)])
    )
