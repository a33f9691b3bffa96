"""Elimination modulo primes: which minors of an integer table are zero, decided in machine words.

A minor that is not zero modulo some prime is not zero. One that is zero modulo primes whose product exceeds twice
Hadamard's bound is zero, since no other integer of its size is divisible by all of them. So a table is kept modulo
enough primes (:func:`residues_of`), and columns are independent if they are modulo one of them.

Primes have 29 bits: sixteen products of residues fit into a machine word, and nothing is divided while columns are
eliminated: row r becomes head · row r − factor · pivot row. Columns are taken one by one, each with all pivots before
it, so that columns that depend on each other are refused early.
"""

from __future__ import annotations

from math import isqrt
from typing import NamedTuple

import flint
import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.errors import NotSupported
from sfumato.numbers import Array

MOST_ROWS = 16
"""Rows of a table: a sum of so many products of two residues fits into a machine word."""

_PRIME_BITS = 29
_MOST_PRIMES = 512


class Residues(NamedTuple):
    """An integer table modulo enough primes to decide every minor."""

    tables: NDArray[np.int64]  # primes × rows × columns
    primes: NDArray[np.int64]


def residues_of(table: Array) -> Residues:
    """An integer table modulo primes whose product exceeds twice Hadamard's bound on its minors.

    Examples
    --------
    >>> residues_of(np.array([[1, 2], [3, -1]], dtype=object)).tables.tolist()
    [[[1, 2], [3, 536870908]]]
    """
    bound = 2
    for row in table:
        norms = sorted((int(v) ** 2 for v in row), reverse=True)[: len(table) + 1]
        bound *= isqrt(sum(norms)) + 1
    primes: list[int] = []
    product, candidate = 1, 2**_PRIME_BITS
    while product <= bound:
        candidate -= 1
        if flint.fmpz(candidate).is_prime():
            primes.append(candidate)
            product *= candidate
    if len(primes) > _MOST_PRIMES or len(table) > MOST_ROWS:
        raise NotSupported("kernels with determinants this large", ["fewer secrets", "an alpha with smaller powers"])
    tables = [np.mod(table, prime).astype(np.int64) for prime in primes] or [table.astype(np.int64)]
    return Residues(np.ascontiguousarray(np.stack(tables)), np.array(primes or [2], dtype=np.int64))


@njit(cache=True, inline="always")
def remainder(value, prime, reciprocal):  # type: ignore[no-untyped-def]
    """value mod prime for 0 ≤ value ≤ 16 · prime²: the quotient in floats is off by at most one."""
    rest = value - np.int64(np.float64(value) * reciprocal) * prime
    if rest < 0:
        rest += prime
    elif rest >= prime:
        rest -= prime
    return rest


@njit(cache=True)
def eliminate(work, rows, pivots, width, prime):  # type: ignore[no-untyped-def]
    """Bring columns to echelon form in place; False as soon as one of the first ``pivots`` depends on those before it.

    ``work[c]`` is column c, of ``rows`` entries; one entry behind them keeps with which row its pivot was exchanged.
    All ``width`` columns have the rows combined in the same way; only the first ``pivots`` of them get a pivot.
    """
    reciprocal = 1.0 / prime
    for c in range(width):
        column = work[c]
        for t in range(min(c, pivots)):
            earlier = work[t]
            exchanged, head = earlier[rows], earlier[t]
            column[t], column[exchanged] = column[exchanged], column[t]
            top = prime - column[t]
            for r in range(t + 1, rows):
                column[r] = remainder(column[r] * head + top * earlier[r], prime, reciprocal)
        if c < pivots:
            pivot = c
            while pivot < rows and column[pivot] == 0:
                pivot += 1
            if pivot >= rows:
                return False
            column[c], column[pivot] = column[pivot], column[c]
            column[rows] = pivot
    return True


@njit(cache=True)
def substitute_back(work, size, width, prime):  # type: ignore[no-untyped-def]
    """After :func:`eliminate` of ``size`` rows and pivots, turn each further column b into the x with A·x = b."""
    for t in range(size - 1, -1, -1):
        scale, power, exponent = 1, work[t, t], prime - 2
        while exponent:  # Fermat: the inverse is the (p − 2)th power
            if exponent & 1:
                scale = scale * power % prime
            power = power * power % prime
            exponent >>= 1
        for c in range(size, width):
            work[c, t] = work[c, t] * scale % prime
            top = prime - work[c, t]
            for r in range(t):
                work[c, r] = (work[c, r] + top * work[t, r]) % prime
