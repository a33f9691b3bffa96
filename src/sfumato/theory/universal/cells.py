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

import numpy as np
from numba import njit

from sfumato.errors import NotSupported
from sfumato.numbers import Array, Integers
from sfumato.privacy.adjacency import lone_pairs
from sfumato.theory.universal.question import exact_product
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
    pairs = 0
    for k, row in enumerate(inequalities):
        values = exact_product(rays, row[:, None])[:, 0]
        signs = np.sign(values).astype(np.int64)
        pairs += int((signs > 0).sum()) * int((signs < 0).sum())
        if pairs <= most * _PAIRS_A_RAY:
            with plain_interrupts():
                kept, joined, first, second = _split(loose, signs, k, size)
        if pairs > most * _PAIRS_A_RAY or kept.shape[1] + len(first) > most:
            raise NotSupported(f"more than {most} vertices of cells", ["fewer secrets, outputs or actions"])
        rays = np.concatenate([rays[signs >= 0], _combined(rays, values, first, second)])
        loose = np.concatenate([kept, joined], axis=1)
    return rays


def _combined(rays: Array, values: Array, first: Integers, second: Integers) -> Array:
    """The combinations of rays of positive and of negative values on the hyperplane, each without a common factor."""
    common = np.gcd(values[first], values[second])
    one, other = values[first] // common, -values[second] // common
    tops = rays.max(axis=1, initial=0).astype(np.float64)
    if (one * tops[second] + other * tops[first]).max(initial=0.0) >= _FITS:
        rays = rays.astype(object)
    result = one[:, None] * rays[second] + other[:, None] * rays[first]
    return np.asarray(result // np.gcd.reduce(result, axis=1)[:, None])


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
