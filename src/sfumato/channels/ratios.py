"""How far the rows of a channel lie apart: logarithms of the ratios of their entries, for many pairs of rows."""

from __future__ import annotations

from math import inf, log
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.numbers import Array, Floats, is_exact
from sfumato.threads import over_pairs


def logarithms(matrix: Array) -> Floats:
    """Natural logarithms, −inf for zeros; exact entries may lie far outside the range of floats."""
    if is_exact(matrix):
        flat = [log(v.numerator) - log(v.denominator) if v else -inf for v in matrix.ravel()]
        return np.array(flat).reshape(matrix.shape)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(matrix))


def row_gaps(table: Floats, first: NDArray[Any], second: NDArray[Any]) -> tuple[Floats, Floats]:
    """The least and the largest difference of the entries of two rows, for each pair; ∞ − ∞ does not count.

    Examples
    --------
    >>> low, high = row_gaps(np.log2([[0.5, 0.5], [0.125, 1.0]]), np.array([0]), np.array([1]))
    >>> low.tolist(), high.tolist()
    ([-1.0], [2.0])
    """
    low, high = over_pairs(_scan, table, first, second, width=2).T
    return low, high


def log_ratios(logs: Floats, first: NDArray[Any], second: NDArray[Any]) -> Floats:
    """The largest |ln C_xy − ln C_zy| of each pair of rows of logarithms."""
    low, high = row_gaps(logs, first, second)
    return np.maximum(0.0, np.maximum(high, -low))


@njit(cache=True, nogil=True)
def _scan(table, first, second, result):  # type: ignore[no-untyped-def]
    for k in range(first.size):
        a, b = table[first[k]], table[second[k]]
        low, high = np.inf, -np.inf
        for y in range(a.size):
            gap = a[y] - b[y]  # NaN where both are infinite, and NaN changes nothing
            low = gap if gap < low else low
            high = gap if gap > high else high
        result[k, 0], result[k, 1] = low, high
