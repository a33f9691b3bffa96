"""Cholesky factors of the matrices that link columns, compiled: one factor, one substitution each way.

A factor L stands below the diagonal of its matrix, with the reciprocals of its pivots' roots on it. A library routine
would be no faster at these sizes, would start threads of its own, and could not be called from compiled code.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_REORDERED = {"reassoc", "contract"}


@njit(cache=True, nogil=True, fastmath=_REORDERED, error_model="numpy")
def _row(matrix, i, start, least, skip):  # type: ignore[no-untyped-def]
    """Row i from column ``start`` on; whether its pivot was too small."""
    for j in range(start, i):
        rest = matrix[i, j]
        for k in range(j):
            rest -= matrix[i, k] * matrix[j, k]
        matrix[i, j] = rest * matrix[j, j]
    pivot = matrix[i, i]
    for k in range(i):
        pivot -= matrix[i, k] * matrix[i, k]
    lost = not pivot > least
    if lost and skip:
        matrix[i, i] = 0.0
    else:
        matrix[i, i] = 1.0 / np.sqrt(max(pivot, least))
    return lost


@njit(cache=True, nogil=True, fastmath=_REORDERED, error_model="numpy")
def factor(matrix, least, skip):  # type: ignore[no-untyped-def]
    """The factor of a symmetric matrix in place, from its lower triangle; how many pivots were too small.

    Parameters
    ----------
    least
        For each row what its pivot has to exceed.
    skip
        What happens to a row whose pivot does not: if True it is left out, and every solution is 0 there; else its
        pivot becomes that least one.
    """
    n, lost = len(matrix), 0
    for top in range(0, n, 4):
        bottom = min(top + 4, n)
        start = top if bottom == top + 4 else 0
        for j in range(start):  # four rows at once up to the diagonal, then each alone
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for k in range(j):
                entry = matrix[j, k]
                a += matrix[top, k] * entry
                b += matrix[top + 1, k] * entry
                c += matrix[top + 2, k] * entry
                d += matrix[top + 3, k] * entry
            matrix[top, j] = (matrix[top, j] - a) * matrix[j, j]
            matrix[top + 1, j] = (matrix[top + 1, j] - b) * matrix[j, j]
            matrix[top + 2, j] = (matrix[top + 2, j] - c) * matrix[j, j]
            matrix[top + 3, j] = (matrix[top + 3, j] - d) * matrix[j, j]
        for i in range(top, bottom):
            lost += _row(matrix, i, start, least[i], skip)
    return lost


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def forward(root, vector):  # type: ignore[no-untyped-def]
    """L⁻¹ times a vector, in place."""
    for i in range(len(vector)):
        rest = vector[i]
        for k in range(i):
            rest -= root[i, k] * vector[k]
        vector[i] = rest * root[i, i]


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def backward(root, vector):  # type: ignore[no-untyped-def]
    """L⁻ᵀ times a vector, in place."""
    for i in range(len(vector) - 1, -1, -1):
        vector[i] *= root[i, i]
        for k in range(i):
            vector[k] -= root[i, k] * vector[i]


@njit(cache=True, nogil=True)
def factor_solved(root, vector):  # type: ignore[no-untyped-def]
    """(L Lᵀ)⁻¹ times a vector."""
    result = vector.copy()
    forward(root, result)
    backward(root, result)
    return result
