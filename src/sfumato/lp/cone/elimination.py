"""Elimination of a symmetric matrix with few entries: which row when, and what fills up.

Eliminating a row joins all its neighbours that are left. The order is that of SuperLU: next comes a row with fewest
such neighbours (minimum degree). Then rows are renumbered so that those below one node of the elimination tree follow
each other. The factor has its entries where :class:`Elimination` says, for any values in the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.sparse.csgraph import depth_first_order
from scipy.sparse.linalg import splu

from sfumato.numbers import Integers


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

    Takes about as many operations as the elimination itself.

    Examples
    --------
    A star: the middle comes last, and nothing fills up.

    >>> import numpy as np
    >>> star = elimination(4, np.array([0, 0, 0]), np.array([1, 2, 3]))
    >>> star.order.tolist(), star.entries
    ([3, 2, 1, 0], 3)
    """
    return _eliminated(n, *(np.asarray(ends, dtype=np.int64).tobytes() for ends in (first, second)))


@lru_cache(maxsize=4)  # Searches solve many programs on one space; large factors have millions of places.
def _eliminated(n: int, *pairs: bytes) -> Elimination:
    first, second = (np.frombuffer(ends, dtype=np.int64) for ends in pairs)
    every, count = np.arange(n), np.bincount(np.concatenate([first, second]), minlength=n)
    ends = np.concatenate([first, second, every]), np.concatenate([second, first, every])
    dominant = np.concatenate([np.full(2 * len(first), -1.0), count + 1.0])  # so that there are pivots in any order
    place = splu(csc_array((dominant, ends), shape=(n, n)), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
                 options={"SymmetricMode": True}).perm_c  # fmt: skip
    below: list[set[int]] = [set() for _ in range(n)]
    places = place[first], place[second]
    for row, later in zip(np.minimum(*places).tolist(), np.maximum(*places).tolist(), strict=True):
        below[row].add(later)
    parents = np.full(n, n)
    for row, rows in enumerate(below):
        if rows:
            parents[row] = parent = min(rows)
            below[parent].update(rows)
            below[parent].remove(parent)
    return _in_postorder(np.argsort(place), below, parents)


def _in_postorder(order: Integers, below: list[set[int]], parents: Integers) -> Elimination:
    """The same elimination with columns renumbered so that each comes right after all that lead to it.

    Of those that lead to one column the last comes last: columns with the same rows then stand side by side.
    """
    n = len(order)
    tree = csr_array((np.ones(n), (n - parents, n - np.arange(n))), shape=(n + 1, n + 1))  # column j is node n − j
    sequence = n - depth_first_order(tree, 0, return_predecessors=False)[:0:-1]  # ancestors first, in reverse
    place = np.argsort(sequence)
    columns = place[np.repeat(np.arange(n), [len(rows) for rows in below])]
    rows = place[np.array([row for rows in below for row in rows], dtype=np.int64)]
    starts = np.searchsorted(np.sort(columns), np.arange(n + 1))
    return Elimination(order[sequence], starts, rows[np.lexsort((rows, columns))])
