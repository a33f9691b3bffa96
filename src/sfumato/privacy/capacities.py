"""Capacities of a privacy type: the most that any mechanism of the type can leak, to anyone.

Every mechanism is a post-processing of a sum Σ a_i v_i = 1 of rays of the cone of private columns (paper A,
Theorem 3), and post-processing never raises a capacity. With rays scaled to maximum 1, the
multiplicative capacity of such a mechanism is Σ a_i and the additive one 1 − Σ a_i min_x v_i(x), both
linear: one linear program over the vertices gives the best (paper A, Corollaries 17 and 18).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.channels.channel import Channel, normalise
from sfumato.errors import SolverError
from sfumato.lp import LinearProgram, solve
from sfumato.numbers import Array, is_exact
from sfumato.privacy.type import PrivacyType
from sfumato.privacy.vertices import Vertices, vertices

__all__ = ["TypeCapacities", "capacities"]


@dataclass(frozen=True, eq=False)
class TypeCapacities:
    """Both capacities of a type and mechanisms that attain them; exact for exact types."""

    multiplicative: Fraction | float
    additive: Fraction | float
    most_multiplicative: Channel
    most_additive: Channel

    def __repr__(self) -> str:
        return f"TypeCapacities(multiplicative={self.multiplicative}, additive={self.additive})"


def capacities(privacy: PrivacyType) -> TypeCapacities:
    """The largest multiplicative and additive capacity of any mechanism of the type.

    Found over the vertices, so for spaces small enough to list them.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> capacities(PrivacyType(line(5), alpha="1/2"))
    TypeCapacities(multiplicative=7/3, additive=3/4)
    """
    corner = vertices(privacy)
    rays = np.stack([vertex.ray for vertex in corner], axis=1)
    one = np.ones(rays.shape[1], dtype=np.int64 if is_exact(rays) else np.float64)
    multiplicative, most = _best(corner, rays, -one)
    additive, least = _best(corner, rays, rays.min(axis=0))
    return TypeCapacities(-multiplicative, 1 - additive, most, least)


def _best(corner: Vertices, rays: Array, cost: Array) -> tuple[Any, Channel]:
    """Minimise cost · a over a ≥ 0 with Σ a_i v_i = 1; the value and the mechanism."""
    one = np.ones(len(rays), dtype=np.int64 if is_exact(rays) else np.float64)
    solution = solve(LinearProgram.dense(cost, rays, "=" * len(rays), one))
    if solution.primal is None or solution.value is None:
        raise SolverError(f"the program over the vertices ended as {solution.status}")
    used = [i for i, a in enumerate(solution.primal) if a > 0]
    matrix = rays[:, used] * solution.primal[used]
    if not is_exact(rays):
        matrix = normalise(np.maximum(matrix, 0.0))
    return solution.value, Channel(corner.privacy.space, matrix, used)
