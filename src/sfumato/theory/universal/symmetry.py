"""Isometries that leave a loss as it is: then some mechanism of least regret is symmetric too.

The regret of a mixture is at most the mixture of regrets, so averaging over the group loses nothing. Rays come in
orbits, one weight for each; and priors need only be looked at in a region that contains one of each orbit of priors,
{π : u·π ≥ u·π_g for all g} for any u.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.errors import NotSupported
from sfumato.numbers import Array, Integers
from sfumato.spaces.isometries import isometries
from sfumato.theory.universal.question import ReducedLoss

_MOST_LIMITS = 60  # The region of priors has so many inequalities: any of them are enough, many make it small.
_LARGEST_GROUP = 6000


@dataclass(frozen=True, eq=False)
class RaySymmetry:
    """Permutations of secrets (rows), the orbit of each ray, and inequalities of a region of priors."""

    permutations: Integers
    orbits: tuple[tuple[int, ...], ...]
    limits: Array


def symmetry_of(question: ReducedLoss) -> RaySymmetry:
    """The isometries of the space under which the reduced loss is the same up to the names of actions."""
    n = question.table.shape[1]
    group = np.arange(n)[None, :]
    try:
        candidates = isometries(question.privacy.space)
        if len(candidates) <= _LARGEST_GROUP:
            rows = {tuple(row) for row in question.table.tolist()}
            group = np.array([g for g in candidates if {tuple(row) for row in question.table[:, g].tolist()} == rows])
    except NotSupported:
        pass
    return RaySymmetry(group, _orbits(question, group), _region(group))


def _orbits(question: ReducedLoss, group: Integers) -> tuple[tuple[int, ...], ...]:
    """Rays that isometries turn into each other; heights tell rays apart exactly."""
    heights = question.corner.coefficients
    place = {(row - row[0]).tobytes(): i for i, row in enumerate(heights)}
    smallest = np.arange(len(heights))
    for g in group:
        moved = heights[:, g]
        smallest = np.minimum(smallest, [place[np.ascontiguousarray(row - row[0]).tobytes()] for row in moved])
    members: dict[int, list[int]] = {}
    for i, first in enumerate(smallest.tolist()):
        members.setdefault(first, []).append(i)
    return tuple(tuple(orbit) for orbit in members.values())


def _region(group: Integers) -> Array:
    """u·π ≥ u·π_g for a u without symmetry, those g first that move least."""
    n = group.shape[1]
    weights = np.array([(k * (k + 1) // 2 + 1) ** 2 for k in range(n, 0, -1)], dtype=object)
    others = sorted(
        (g for g in group.tolist() if g != list(range(n))), key=lambda g: sum(i != v for i, v in enumerate(g))
    )
    # Σ_x u_x π_{g(x)} = Σ_x u_{g⁻¹(x)} π_x
    rows = [weights - weights[np.argsort(g)] for g in others[:_MOST_LIMITS]]
    return np.stack(rows) if rows else np.zeros((0, n), dtype=object)
