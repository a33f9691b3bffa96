"""The loss of a mechanism on a box, linear in its table: Σ_v Σ_y M(v)(y) c(v, y), c(v, y) = ∫ B_v(x) π(x) ℓ(y, x) dx.

A convex loss lies below what is interpolated between the corners of a small box. So c is bounded from above by a sum
over points: c(v, y) ≤ Σ_p W_vp ℓ(y, p), with the integrals W_vp of B_v π times the hat function of p, and the more
points the closer. The kernel sums the same in integers.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np
from scipy.sparse import coo_array, csr_array

from sfumato.numbers import Floats, Integers
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
    grid = np.stack(np.meshgrid(*(axis.places for axis in along), indexing="ij"), axis=-1)
    weights = _combined(along, np.asarray(density, dtype=np.float64).reshape(box.shape))
    return Moments(weights, grid.reshape(-1, box.dimension), parts)


@dataclass(frozen=True, eq=False)
class _AxisMoments:
    """Points along an axis; pairs of a B-spline and the hat of a point that overlap; their integrals over each cell.

    Integrals are per length of a cell, one row a pair, one column a cell.
    """

    places: Floats
    splines: Integers
    hats: Integers
    shares: csr_array
    many: int  # B-splines


def _combined(along: list[_AxisMoments], density: Floats) -> csr_array:
    """Σ over cells of mass times the product of the moments along the axes, axis after axis.

    Cells without people are never laid out: a town may have a million.
    """
    rest = coo_array(density.reshape(1, -1))
    for axis, cells in zip(along, density.shape, strict=True):
        rest = coo_array((axis.shares @ rest.reshape((cells, -1)).tocsr()).T)  # the next axis stands first now
    rest = rest.reshape((1, -1))
    pairs = np.unravel_index(rest.col, [len(axis.splines) for axis in along])
    many, places = [axis.many for axis in along], [len(axis.places) for axis in along]
    rows = np.ravel_multi_index([axis.splines[pair] for axis, pair in zip(along, pairs, strict=True)], many)
    columns = np.ravel_multi_index([axis.hats[pair] for axis, pair in zip(along, pairs, strict=True)], places)
    return csr_array((rest.data, (rows, columns)), shape=(prod(many), prod(places)))


def _axis_moments(axis: Axis, cells: tuple, parts: int) -> _AxisMoments:  # type: ignore[type-arg]
    """The moments along one axis, every piece between breaks and borders of cells cut into so many parts."""
    ends = sorted({*axis.breaks, *cells})
    fine = [low + (high - low) * k / parts for low, high in pairwise(ends) for k in range(parts)] + [ends[-1]]
    found: dict[tuple[int, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    cell = 0
    for i, (low, high) in enumerate(pairwise(fine)):
        while cells[cell + 1] <= low:
            cell += 1
        width = float(high - low)
        share = width / float(cells[cell + 1] - cells[cell])
        for node in _NODES:
            for v, weight in _spline(axis, low, float(low) + node * width):
                found[v, i][cell] += 0.5 * share * weight * (1 - node)
                found[v, i + 1][cell] += 0.5 * share * weight * node
    entries = [(pair, cell, value) for pair, per in enumerate(found.values()) for cell, value in per.items()]
    pairs, where, values = zip(*entries, strict=True)
    splines, hats = np.array([*found]).T
    shares = csr_array((values, (pairs, where)), shape=(len(found), len(cells) - 1))
    return _AxisMoments(np.array([float(t) for t in fine]), splines, hats, shares, len(axis))


def _spline(axis: Axis, low, place: float) -> list[tuple[int, float]]:  # type: ignore[no-untyped-def]
    """B-splines at a place, in floats; ``low`` is an exact place of the same cell, at or before it."""
    j = axis.cell_of(low)
    before, here, after = (float(w) for w in axis.widths[j : j + 3])
    s = (place - float(axis.breaks[j])) / here
    if axis.degree == 1:
        return [(j, 1 - s), (j + 1, s)]
    left, right = (1 - s) ** 2 * here / (before + here), s**2 * here / (here + after)
    return [(j, left), (j + 1, 1 - left - right), (j + 2, right)]
