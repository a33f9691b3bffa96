"""Vertices of the cells on which the loss of a mechanism is linear in the prior, exactly.

U_M(π) = Σ_y min_w Σ_x π_x M_xy ℓ(w, x) is concave and linear on finitely many cells of the set of priors. Their
vertices are the vertices of {(π, t) : t_y ≤ Σ_x π_x M_xy ℓ(w, x) for all w}: with s_y = (the loss of the first action
at y) − t_y this is a cone in the positive orthant, so double description can start from the unit vectors
and add one inequality after the other.

Rays are integer vectors without a common factor. They are kept in machine words as long as every product provably
fits, and in Python's integers from then on, so that what comes out is exact either way. Two rays are adjacent if no
third one satisfies with equality all that both do; that is decided on bit sets of what holds strictly
(:mod:`sfumato.privacy.adjacency`).
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.errors import NotSupported
from sfumato.numbers import Array
from sfumato.privacy.adjacency import lone_pairs
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
    rays: Array = np.eye(size, dtype=np.int64)
    places = np.arange(size)
    loose = np.zeros(((count + size + 63) // 64, size), dtype=np.uint64)  # what holds strictly; z_i ≥ 0 come first
    loose[places // 64, places] = np.uint64(1) << (places % 64).astype(np.uint64)
    done, pairs = 0, 0
    if _fits(inequalities):
        small = np.ascontiguousarray(inequalities.astype(np.int64))
        with plain_interrupts():
            rays, loose, done, pairs = _in_words(small, rays, loose, most, most * _PAIRS_A_RAY)
    for k in range(max(done, 0), count if done >= 0 else 0):
        rays, loose, looked = _one_more(inequalities[k], rays.astype(object), loose, k)
        pairs += looked
        if len(rays) > most or pairs > most * _PAIRS_A_RAY:
            done = -1
            break
    if done < 0:
        raise NotSupported(f"more than {most} vertices of cells", ["fewer secrets, outputs or actions"])
    return rays


def _fits(table: Array) -> bool:
    return not table.size or max(int(np.max(table)), -int(np.min(table))) < 2**40


def _one_more(row: Array, rays: Array, loose: NDArray[np.uint64], k: int) -> tuple[Array, Array, int]:
    """Inequality k in Python's integers; also how many pairs were looked at."""
    used = np.flatnonzero(row)
    values = (rays[:, used] * row[used]).sum(axis=1) if len(used) else np.zeros(len(rays), dtype=object)
    signs = np.array([(v > 0) - (v < 0) for v in values], dtype=np.int64)
    with plain_interrupts():
        sets, joined, first, second = _split(loose, signs, k, rays.shape[1])
    combined = rays[second] * values[first][:, None] - rays[first] * values[second][:, None]
    factors = [gcd(*(int(v) for v in ray)) for ray in combined]
    if len(combined):
        combined = combined // np.array(factors, dtype=object)[:, None]
    looked = int((signs > 0).sum()) * int((signs < 0).sum())
    return np.concatenate([rays[signs >= 0], combined]), np.concatenate([sets, joined], axis=1), looked


@njit(cache=True)
def _split(loose, signs, k, size):  # type: ignore[no-untyped-def]
    """What holds strictly for the rays that stay and for those that are new, and the pairs that these come from.

    Of a pair the positive ray comes first. Adjacent rays have all but two of ``size`` equalities in common at least.
    """
    positive, negative = np.flatnonzero(signs > 0), np.flatnonzero(signs < 0)
    joined, second, first = lone_pairs(loose, k + 2, loose[:, positive], loose[:, negative])
    kept = loose.copy()
    for i in positive:
        kept[(size + k) // 64, i] |= np.uint64(1) << np.uint64((size + k) % 64)
    return kept[:, np.flatnonzero(signs >= 0)], joined, positive[first], negative[second]


@njit(cache=True)
def _in_words(inequalities, rays, loose, most, most_pairs):  # type: ignore[no-untyped-def]
    """All inequalities whose numbers fit; returns how many were added, or −1 for too many rays or pairs."""
    count, size = inequalities.shape
    pairs = 0
    for k in range(count):
        largest = np.int64(0)
        for i in range(len(rays)):
            for j in range(size):
                largest = max(largest, abs(rays[i, j]))
        weight = 0.0
        for j in range(size):
            weight += abs(inequalities[k, j])
        if weight * largest >= _FITS:
            return rays, loose, k, pairs
        values = np.zeros(len(rays), np.int64)
        for i in range(len(rays)):
            for j in range(size):
                values[i] += inequalities[k, j] * rays[i, j]
        signs = np.sign(values)
        pairs += (signs < 0).sum() * (signs > 0).sum()
        if pairs > most_pairs:
            return rays, loose, -1, pairs
        kept, joined, first, second = _split(loose, signs, k, size)
        stay = np.flatnonzero(signs >= 0)
        total = stay.size + first.size
        if total > most:
            return rays, loose, -1, pairs
        grown, sets = np.empty((total, size), np.int64), np.empty((len(loose), total), np.uint64)
        grown[: stay.size], sets[:, : stay.size], sets[:, stay.size :] = rays[stay], kept, joined
        for t in range(first.size):
            if not _combined(rays, values, first[t], second[t], grown[stay.size + t]):
                return rays, loose, k, pairs
        rays, loose = grown, sets
    return rays, loose, count, pairs


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
