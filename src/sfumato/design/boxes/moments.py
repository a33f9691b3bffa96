"""The loss of a mechanism on a box, linear in its table: Σ_v Σ_y M(v)(y) c(v, y), c(v, y) = ∫ B_v(x) π(x) ℓ(y, x) dx.

A convex loss lies below what is interpolated between the corners of a small box. So c is bounded from above by a sum
over points: c(v, y) ≤ Σ_p W_vp ℓ(y, p), with the integrals W_vp of B_v π times the hat function of p, and the more
points the closer. The kernel sums the same in integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import coo_array, csr_array, kron

from sfumato.numbers import Floats
from sfumato.spaces.splines import Axis, Rounding

# Gauss' rule with two nodes on [0, 1]: exact for degree three, that of a B-spline of degree 2 times a hat function.
_NODES = 0.5 + np.array([-0.5, 0.5]) / np.sqrt(3.0)


@dataclass(frozen=True, eq=False)
class Moments:
    """W, one row a lattice point, one column a point p; where these points are; into how many parts pieces were cut."""

    weights: csr_array
    points: Floats
    parts: int

    def costs(self, losses: Floats) -> Floats:
        """c(v, y) from the loss of each output at the points."""
        return np.asarray(self.weights @ losses)


def density_moments(rounding: Rounding, density: Floats, parts: int) -> Moments:
    """The moments of a density (masses of the cells of the box), every piece cut into so many parts along an axis.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> from sfumato.spaces.splines import rounding_of
    >>> found = density_moments(rounding_of(box((1,), step="1/2")), np.array([0.5, 0.5]), 2)
    >>> found.weights.toarray().sum(axis=1).round(6).tolist(), found.points.ravel().tolist()
    ([0.083333, 0.416667, 0.416667, 0.083333], [0.0, 0.25, 0.5, 0.75, 1.0])
    """
    box = rounding.box
    along = [_axis_moments(axis, box.breaks(i), parts) for i, axis in enumerate(rounding.axes)]
    grid = np.stack(np.meshgrid(*(places for places, _ in along), indexing="ij"), axis=-1)
    weights = _combined([tables for _, tables in along], np.asarray(density, dtype=np.float64).reshape(box.shape))
    return Moments(weights, grid.reshape(-1, box.dimension), parts)


def _combined(tables: list[list[csr_array]], density: Floats) -> csr_array:
    """Σ over cells of mass times the Kronecker product of the moments along the axes.

    All parts are laid out and added up once: a sum that grows cell by cell takes minutes for a million of them.
    """
    first, rest = tables[0], tables[1:]
    parts = [
        coo_array(table * mass if not rest else kron(table, _combined(rest, mass)))
        for table, mass in zip(first, density, strict=True)
        if np.any(mass)
    ]
    entries, rows, columns = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("data", "row", "col")
    )
    return csr_array((entries, (rows, columns)), shape=parts[0].shape)


def _axis_moments(axis: Axis, cells: tuple, parts: int) -> tuple[Floats, list[csr_array]]:  # type: ignore[type-arg]
    """Points along an axis, and for each cell of the box the integrals over it of B-splines times hats, per length."""
    ends = sorted({*axis.breaks, *cells})
    fine = [low + (high - low) * k / parts for low, high in pairwise(ends) for k in range(parts)] + [ends[-1]]
    places = np.array([float(t) for t in fine])
    tables = [np.zeros((len(axis), len(fine))) for _ in range(len(cells) - 1)]
    cell = 0
    for i, (low, high) in enumerate(pairwise(fine)):
        while cells[cell + 1] <= low:
            cell += 1
        width = float(high - low)
        share = width / float(cells[cell + 1] - cells[cell])
        for node in _NODES:
            for v, weight in _spline(axis, low, float(low) + node * width):
                tables[cell][v, i] += 0.5 * share * weight * (1 - node)
                tables[cell][v, i + 1] += 0.5 * share * weight * node
    return places, [csr_array(table) for table in tables]


def _spline(axis: Axis, low, place: float) -> list[tuple[int, float]]:  # type: ignore[no-untyped-def]
    """B-splines at a place, in floats; ``low`` is an exact place of the same cell, at or before it."""
    j = axis.cell_of(low)
    before, here, after = (float(w) for w in axis.widths[j : j + 3])
    s = (place - float(axis.breaks[j])) / here
    if axis.degree == 1:
        return [(j, 1 - s), (j + 1, s)]
    left, right = (1 - s) ** 2 * here / (before + here), s**2 * here / (here + after)
    return [(j, left), (j + 1, 1 - left - right), (j + 2, right)]
