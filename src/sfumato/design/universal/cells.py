"""Vertices of the cells on which the loss of a mechanism is linear in the prior, exactly.

U_M(π) = Σ_y min_w Σ_x π_x M_xy ℓ(w, x) is concave and linear on finitely many cells of the set of priors. Their
vertices are the vertices of {(π, t) : t_y ≤ Σ_x π_x M_xy ℓ(w, x) for all w}: with s_y = (the loss of the first action
at y) − t_y this is a cone in the positive orthant, so double description can start from the unit vectors
and add one inequality after the other.

Rays are integer vectors without a common factor. They are kept in machine words as long as every product provably
fits, and in Python's integers from then on, so that what comes out is exact either way. Two rays are adjacent if no
third one satisfies with equality all that both do; that is decided on bit sets.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.errors import NotSupported
from sfumato.numbers import Array
from sfumato.privacy.adjacency import ones
from sfumato.threads import plain_interrupts

MOST_RAYS = 400_000  # So many rays are kept at one time.
LARGEST_MOST = 10**9  # A caller may ask for so many instead; pairs of rays are still counted in 64 bits.
_PAIRS_A_RAY = 10_000  # So many pairs are looked at for each ray that may be kept: some ten seconds of work in all.
_FITS = 2**62  # A machine word, with room for one addition.


def cell_vertices(pieces: Array, limits: Array | None = None, most: int = MOST_RAYS) -> Array:
    """The priors at which cells meet, one row each, as integer weights without a common factor.

    Parameters
    ----------
    pieces
        Integers, outputs × actions × coordinates: the loss of an action at an output is linear in the coordinates
        λ ≥ 0 of a prior (the prior itself, or weights of given priors).
    limits
        Integers, rows × coordinates: only λ with ``limits @ λ ≥ 0`` count.
    most
        How many rays may be kept at a time.

    Raises
    ------
    NotSupported
        If there are more.

    Examples
    --------
    With one output that tells nothing and ℓ_bin, two secrets change places in the middle:

    >>> cell_vertices(np.array([[[0, 1], [1, 0]]])).tolist()
    [[0, 1], [1, 0], [1, 1]]
    """
    outputs, actions, size = pieces.shape
    rows = [] if limits is None or not len(limits) else [np.concatenate([limits, _zeros(len(limits), outputs)], axis=1)]
    for y in _flat_first(pieces):
        table = np.concatenate([pieces[y, 1:] - pieces[y, :1], _zeros(actions - 1, outputs)], axis=1)
        table[:, size + y] = 1
        rows.append(table)
    inequalities = np.concatenate(rows) if rows else _zeros(0, size + outputs)
    vertices = extreme_rays(inequalities, most)[:, :size]
    vertices = vertices[(vertices != 0).any(axis=1)]
    if vertices.dtype == object:
        return np.asarray(vertices[sorted(range(len(vertices)), key=lambda i: [*vertices[i]])])
    return np.asarray(vertices[np.lexsort(vertices.T[::-1])])


def _flat_first(pieces: Array) -> list[int]:
    """Outputs in the order of how much their columns vary: the lists on the way are then shortest, by experience."""
    tops = np.abs(pieces).max(axis=1)
    return sorted(range(len(pieces)), key=lambda y: max(tops[y]) / max(min(tops[y]), Fraction(1, 10**9)))


def _zeros(rows: int, columns: int) -> Array:
    return np.zeros((rows, columns), dtype=object)


def extreme_rays(inequalities: Array, most: int = MOST_RAYS) -> Array:
    """The extreme rays of {z ≥ 0 : inequalities @ z ≥ 0}, one row each, in integers without a common factor."""
    count, size = inequalities.shape
    words = (count + size + 63) // 64
    rays: Array = np.eye(size, dtype=np.int64)
    tight = np.zeros((size, words), dtype=np.uint64)  # which inequalities hold with equality; z_i ≥ 0 come first
    for i in range(size):
        for j in range(size):
            if i != j:
                tight[i, j // 64] |= np.uint64(1 << (j % 64))
    done, pairs = 0, 0
    if _fits(inequalities):
        small = np.ascontiguousarray(inequalities.astype(np.int64))
        with plain_interrupts():
            rays, tight, done, pairs = _in_words(small, rays, tight, most, most * _PAIRS_A_RAY)
    for k in range(max(done, 0), count if done >= 0 else 0):
        rays, tight, looked = _one_more(inequalities[k], rays.astype(object), tight, size + k, size)
        pairs += looked
        if len(rays) > most or pairs > most * _PAIRS_A_RAY:
            done = -1
            break
    if done < 0:
        raise NotSupported(f"more than {most} vertices of cells", ["fewer secrets, outputs or actions"])
    return rays


def _fits(table: Array) -> bool:
    return not table.size or max(int(np.max(table)), -int(np.min(table))) < 2**40


def _one_more(row: Array, rays: Array, tight: NDArray[np.uint64], place: int, size: int) -> tuple[Array, Array, int]:
    """One inequality in Python's integers; also how many pairs were looked at."""
    used = np.flatnonzero(row)
    values = (rays[:, used] * row[used]).sum(axis=1) if len(used) else np.zeros(len(rays), dtype=object)
    signs = np.array([(v > 0) - (v < 0) for v in values], dtype=np.int64)
    bit, word = np.uint64(1 << (place % 64)), place // 64
    tight = tight.copy()
    tight[signs == 0, word] |= bit
    if not (signs < 0).any():
        return rays, tight, 0
    with plain_interrupts():
        first, second = _adjacent_pairs(tight, signs, size)
    combined = rays[second] * values[first][:, None] - rays[first] * values[second][:, None]
    factors = [gcd(*(int(v) for v in ray)) for ray in combined]
    if len(combined):
        combined = combined // np.array(factors, dtype=object)[:, None]
    both = tight[first] & tight[second]
    both[:, word] |= bit
    kept = signs >= 0
    looked = int((signs > 0).sum()) * int((signs < 0).sum())
    return np.concatenate([rays[kept], combined]), np.concatenate([tight[kept], both]), looked


@njit(cache=True)
def _in_words(inequalities, rays, tight, most, most_pairs):  # type: ignore[no-untyped-def]
    """All inequalities whose numbers fit; returns how many were added, or −1 for too many rays or pairs."""
    count, size = inequalities.shape
    pairs = 0
    words = tight.shape[1]
    for k in range(count):
        largest = np.int64(0)
        for i in range(len(rays)):
            for j in range(size):
                largest = max(largest, abs(rays[i, j]))
        weight = 0.0
        for j in range(size):
            weight += abs(inequalities[k, j])
        if weight * largest >= _FITS:
            return rays, tight, k, pairs
        values = np.zeros(len(rays), np.int64)
        signs = np.zeros(len(rays), np.int64)
        word, bit = (size + k) // 64, np.uint64(1) << np.uint64((size + k) % 64)
        negative, positive = 0, 0
        for i in range(len(rays)):
            for j in range(size):
                values[i] += inequalities[k, j] * rays[i, j]
            signs[i] = np.sign(values[i])
            negative += signs[i] < 0
            positive += signs[i] > 0
        if negative == 0:
            for i in range(len(rays)):
                if signs[i] == 0:
                    tight[i, word] |= bit
            continue
        pairs += negative * positive
        if pairs > most_pairs:
            return rays, tight, -1, pairs
        first, second = _adjacent_pairs(tight, signs, size)
        total = len(rays) - negative + first.size
        if total > most:
            return rays, tight, -1, pairs
        grown = np.empty((total, size), np.int64)
        sets = np.empty((total, words), np.uint64)
        place = 0
        for i in range(len(rays)):
            if signs[i] >= 0:
                grown[place], sets[place] = rays[i], tight[i]
                if signs[i] == 0:
                    sets[place, word] |= bit
                place += 1
        for t in range(first.size):
            if not _combined(rays, values, first[t], second[t], grown[place]):
                return rays, tight, k, pairs
            for w in range(words):
                sets[place, w] = tight[first[t], w] & tight[second[t], w]
            sets[place, word] |= bit
            place += 1
        rays, tight = grown, sets
    return rays, tight, count, pairs


@njit(cache=True)
def _divisor(a, b):  # type: ignore[no-untyped-def]
    while b:
        a, b = b, a % b
    return a


@njit(cache=True)
def _combined(rays, values, i, j, out):  # type: ignore[no-untyped-def]
    """Write the combination of rays i (positive) and j (negative) on the hyperplane; False if it may not fit."""
    one, other = values[i], -values[j]
    common = _divisor(one, other)
    one //= common
    other //= common
    size = rays.shape[1]
    factor = np.int64(0)
    for c in range(size):
        if float(one) * abs(rays[j, c]) + float(other) * abs(rays[i, c]) >= _FITS:
            return False
        out[c] = one * rays[j, c] + other * rays[i, c]
        factor = _divisor(factor, abs(out[c])) if factor != 1 else factor
    if factor > 1:
        for c in range(size):
            out[c] //= factor
    return True


@njit(cache=True)
def _adjacent_pairs(tight, signs, size):  # type: ignore[no-untyped-def]
    """Indices of adjacent rays on the two sides, positive ones first."""
    total, words = tight.shape
    # for each inequality the rays that satisfy it with equality, as bits: who contains a set is then an intersection
    blocks = (total + 63) // 64
    owners = np.zeros((64 * words, blocks), np.uint64)
    for i in range(total):
        mine = np.uint64(1) << np.uint64(i % 64)
        for w in range(words):
            rest = tight[i, w]
            while rest:
                low = rest & (~rest + np.uint64(1))
                owners[64 * w + ones(low - np.uint64(1)), i // 64] |= mine
                rest ^= low
    positive, negative = np.flatnonzero(signs > 0), np.flatnonzero(signs < 0)
    first, second = np.empty(1024, np.int64), np.empty(1024, np.int64)
    members = np.empty(64 * words, np.int64)
    shared = np.empty(words, np.uint64)
    count = 0
    for q in range(negative.size):
        j = negative[q]
        for p in range(positive.size):
            i = positive[p]
            number = 0
            for w in range(words):
                number += ones(tight[i, w] & tight[j, w])
            if number < size - 2:
                continue
            for w in range(words):
                shared[w] = tight[i, w] & tight[j, w]
            if _only_two(owners, shared, members, total):
                if count == first.size:
                    first, second = _longer(first), _longer(second)
                first[count], second[count] = i, j
                count += 1
    return first[:count].copy(), second[:count].copy()


@njit(cache=True)
def _longer(array):  # type: ignore[no-untyped-def]
    result = np.empty(2 * array.size, array.dtype)
    result[: array.size] = array
    return result


@njit(cache=True)
def _only_two(owners, shared, members, total):  # type: ignore[no-untyped-def]
    """Whether exactly two of all rays satisfy all these inequalities with equality."""
    size = 0
    for w in range(shared.size):
        rest = shared[w]
        while rest:
            low = rest & (~rest + np.uint64(1))
            members[size] = 64 * w + ones(low - np.uint64(1))
            size += 1
            rest ^= low
    if size == 0:  # in a plane two rays need not share anything; every ray satisfies no inequality
        return total == 2
    owned = 0
    for b in range(owners.shape[1]):
        word = ~np.uint64(0)
        for t in range(size - 1, -1, -1):  # late inequalities are satisfied by fewer
            word &= owners[members[t], b]
            if word == 0:
                break
        owned += ones(word)
        if owned > 2:
            return False
    return True
