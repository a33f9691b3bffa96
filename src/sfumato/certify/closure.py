"""Compiled closures: the least private column above a given one, in floats and in integers.

A column v is private when v_x ≤ f_xz v_z for all pairs. The least private column above v is
found by raising entries along pairs until nothing is broken. Entries are visited from the
largest down; since a bound never asks for more than the entry it comes from, almost all are
final when they are visited.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload
from numpy.typing import NDArray

from sfumato.certify.certificate import kernel_terms
from sfumato.certify.exponentials import factors_below
from sfumato.compiled import product_exceeds
from sfumato.privacy.type import PrivacyType
from sfumato.threads import on_threads

_SINGLE_THREAD_WORK = 100_000  # pairs times columns: below, starting threads takes longer than the work
_INTERPRETED_WORK = 2048  # pairs times columns: below, plain Python is through before a compiled function is loaded
_STRIP = 128  # neighbours that are looked at together
_SMALLEST_RAISE = 1.0 + 2.0**-52  # a raise by less than a unit in the last place would go round for ever
_CLEARLY_BELOW = 1.0 - 2.0**-49  # Below this share of a bound, seven roundings of 2^-53 hide no excess.


@dataclass(frozen=True, eq=False)
class Bounds:
    """The pairs to respect, both directions, grouped by their first end.

    Neighbours of x are ``ends[starts[x]:starts[x + 1]]``, with factor p/q ≤ e^{εd} and its
    reciprocal ``decay`` = e^{−εd} in floats; ``rest`` is 1 − decay without cancellation.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    p: NDArray[np.uint64]
    q: NDArray[np.uint64]
    decay: NDArray[np.float64]
    rest: NDArray[np.float64]


def bounds_of(privacy: PrivacyType, cap: int) -> Bounds:
    """The bounds of a privacy type for weights up to ``cap``."""
    pairs = privacy.space.pairs
    p, q = factors_below(*kernel_terms(privacy), privacy.space.pair_distances.values, cap)
    order = np.lexsort((np.concatenate(pairs[::-1]), np.concatenate(pairs)))
    first, second = np.concatenate(pairs)[order], np.concatenate(pairs[::-1])[order]
    p, q = np.concatenate([p, p])[order], np.concatenate([q, q])[order]
    starts = np.searchsorted(first, np.arange(len(privacy.space) + 1))
    # p − q is exact in integers, so the rest is good to full relative precision for any ε
    rest = (p - q).astype(np.float64) / p.astype(np.float64)
    return Bounds(starts, second, p, q, q.astype(np.float64) / p.astype(np.float64), rest)


def close_floats(matrix: NDArray[np.float64], bounds: Bounds) -> NDArray[np.float64]:
    """Each column replaced by the least private one above it, up to rounding."""
    columns = matrix.T.copy(order="C")
    order = np.argsort(-columns, axis=1, kind="stable")
    _over_columns(columns, order, bounds, np.ones_like(bounds.decay), bounds.decay, _SMALLEST_RAISE)
    return np.ascontiguousarray(columns.T)


def close_integers(weights: NDArray[np.uint64], bounds: Bounds) -> NDArray[np.uint64]:
    """Each column replaced by the least private integer one above it, exactly."""
    columns = weights.T.copy(order="C")
    order = np.argsort(columns, axis=1, kind="stable")[:, ::-1].copy()
    _over_columns(columns, order, bounds, bounds.p, bounds.q, _CLEARLY_BELOW)
    return np.ascontiguousarray(columns.T)


def least_constant(deficit: NDArray[np.float64], bounds: Bounds) -> float:
    """The least c ≥ 0 for which deficit + c is a private column, up to rounding.

    deficit_x + c ≤ f (deficit_z + c) means c ≥ (decay · deficit_x − deficit_z) / (1 − decay). A
    pair whose factor rounds to 1 forces equal rows, and then its deficits are equal too.
    """
    if not bounds.ends.size:
        return 0.0
    first = np.repeat(np.arange(len(deficit)), np.diff(bounds.starts))
    lack = bounds.decay * deficit[first] - deficit[bounds.ends]
    needed = np.divide(lack, bounds.rest, out=np.zeros_like(lack), where=(bounds.rest > 0) & (lack > 0))
    return float(needed.max(initial=0.0))


def _over_columns(
    columns: NDArray[Any], order: NDArray[np.int64], bounds: Bounds, p: NDArray[Any], q: NDArray[Any], share: float
) -> None:
    """Close every column; an entry that is above ``share`` of its bound, in floats, is compared as its type asks."""
    if bounds.ends.size * len(columns) <= _INTERPRETED_WORK:
        for column, entries in zip(columns, order, strict=True):
            column[:] = _closed_list(column.tolist(), entries.tolist(), bounds, p.tolist(), q.tolist())
        return
    given = bounds.starts, bounds.ends, p, q, bounds.decay, share
    if bounds.ends.size * len(columns) <= _SINGLE_THREAD_WORK:
        _close(columns, order, *given)
        return
    on_threads(lambda start, stop: _close(columns[start:stop], order[start:stop], *given), len(columns))


def _closed_list(column: list[Any], order: list[int], bounds: Bounds, p: list[Any], q: list[Any]) -> list[Any]:
    """What :func:`_close` does, on Python numbers: for columns so small that compiling would take far longer."""
    starts, ends, queue = bounds.starts.tolist(), bounds.ends.tolist(), deque(order)
    margin = _SMALLEST_RAISE if isinstance(column[0], float) else 1
    while queue:
        x = queue.popleft()
        for k in range(starts[x], starts[x + 1]):
            z = ends[k]
            if column[x] * q[k] > p[k] * column[z] * margin:
                column[z] = column[x] * q[k] / p[k] if margin != 1 else -(-column[x] * q[k] // p[k])
                if z not in queue:
                    queue.append(z)
    return column


@njit(cache=True, nogil=True)
def _close(columns, order, starts, ends, p, q, decay, share):  # type: ignore[no-untyped-def]
    n = columns.shape[1]
    queue = np.empty(n, np.int64)
    waiting = np.empty(n, np.bool_)
    rounded = np.empty(n)  # the column in floats
    for c in range(columns.shape[0]):
        column = columns[c]
        for x in range(n):
            rounded[x], queue[x], waiting[x] = column[x], order[c, x], True
        head, count = 0, n
        while count:
            x = queue[head]
            head = head + 1 if head + 1 < n else 0
            count -= 1
            waiting[x] = False
            for first in range(starts[x], starts[x + 1], _STRIP):
                last = min(first + _STRIP, starts[x + 1])
                if ends[last - 1] - ends[first] == last - 1 - first:  # they stand side by side
                    others = rounded[ends[first] : ends[last - 1] + 1]
                    if not _comes_near(rounded[x], others, decay[first:last], share):
                        continue
                for k in range(first, last):
                    z = ends[k]
                    raised = _raised(column[x], column[z], p[k], q[k])
                    if raised > column[z]:
                        column[z] = rounded[z] = raised
                        if not waiting[z]:
                            waiting[z] = True
                            tail = head + count
                            queue[tail if tail < n else tail - n] = z
                            count += 1


@njit(cache=True, nogil=True)
def _comes_near(value, others, decay, share):  # type: ignore[no-untyped-def]
    """Whether a value, times its decay, exceeds this share of any of the others; without a branch, so in vectors."""
    count = 0
    for k in range(others.size):
        count += value * decay[k] > others[k] * share
    return count > 0


def _raised(value: Any, other: Any, p: Any, q: Any) -> Any:
    """``other``, or value · q / p where that is more: exactly for integers, rounded up, beyond rounding for floats."""
    raise AssertionError("compiled only")


@overload(_raised)
def _raised_of_type(value, other, p, q):  # type: ignore[no-untyped-def]
    if isinstance(value, types.Float):
        return lambda value, other, p, q: value * q / p if value * q > p * other * _SMALLEST_RAISE else other
    return lambda value, other, p, q: _ceiling(value, q, p, other) if product_exceeds(value, q, p, other) else other


@njit(cache=True, nogil=True)
def _ceiling(value, q, p, least):  # type: ignore[no-untyped-def]
    """The least integer r ≥ least with r·p ≥ value·q: guessed in floats, settled in integers."""
    guess = np.uint64(np.float64(value) * (np.float64(q) / np.float64(p)))
    result = max(guess, least)
    while result > least and not product_exceeds(value, q, p, result - np.uint64(1)):
        result -= np.uint64(1)
    while product_exceeds(value, q, p, result):
        result += np.uint64(1)
    return result
