"""Planar Laplace noise between places: points in the plane, or on a part of the Earth, that form no grid.

Noise lands on points z of a lattice in the plane, finer next to places, with chances ∝ e^{−ε|z − x|}, and is moved to
the place that is nearest. Moving is a post-processing, so the ε of the result is about that of the noise; what a
lattice changes, sums of e^{−ε|z − x|} that differ a little between places, is seen in the table and made up for.
Places on the Earth are laid out on a map first, with ε over the most that the map stretches a distance between two of
them. Whatever was done on the way, the table that comes of it is what the kernel judges, with the distances of the
space.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from sfumato.errors import NotSupported
from sfumato.numbers import Floats
from sfumato.spaces.constructors import EARTH_RADIUS_KM
from sfumato.spaces.finite import FiniteSpace
from sfumato.spaces.lengths import METRES

_SAME_DISTANCE = 1e-9  # Distances and coordinates of points in the plane differ by no more than their roundings.
_MOST_STRETCHED = 2.0  # quotient of the largest and smallest stretch of a map, beyond which noise has no one size
_NEAREST, _WIDEST = 1 / 16, 0.35  # ε times the side of a square of the lattice, next to a place and farther away
_BY_DISTANCE = 1 / 4  # the side of a square, in parts of its distance from the nearest place
_FAR = 6.0  # times 1/ε: so far from all places, where next to nothing lands, squares are as wide as that allows
_REACH = 16.0  # times 1/ε: 2e-6 of the noise lies behind the end of the lattice
_MOST_PLACES = 600  # between which noise is tabulated in half a minute


def places_of(space: FiniteSpace) -> tuple[Floats, float]:
    """Where places are on a plane, and the most that a distance of the space is stretched there.

    Raises
    ------
    NotSupported
        If the places have no two coordinates, or distances that are not about those of the plane.

    Examples
    --------
    >>> from sfumato.spaces import geo
    >>> where, most = places_of(geo([(48.85, 2.35), (48.80, 2.13), (48.95, 2.50)]))
    >>> where.shape, round(most, 3)
    ((3, 2), 1.0)
    """
    refusal = NotSupported(
        f"planar noise on {space.name}", ["points in the plane with Euclidean distances", "places within a country"]
    )
    where = space.coordinates
    if where is None or where.shape[1] != 2 or len(space) < 2:
        raise refusal
    if len(space) > _MOST_PLACES:
        raise NotSupported(f"planar noise between {len(space)} places", [f"at most {_MOST_PLACES}", "a full grid"])
    if space.edges is not None:  # ways along streets or steps are longer than straight lines
        raise refusal
    first, second = np.triu_indices(len(space), 1)  # all pairs, also those that a chain of others implies
    apart = space.distances.floats[first, second]
    if not np.isfinite(apart).all():
        raise refusal
    plain = np.hypot(*(where[first] - where[second]).T)
    if np.allclose(plain, apart, rtol=_SAME_DISTANCE, atol=0):
        return where, 1.0
    if space.unit not in METRES or np.abs(where[:, 1]).max() > 90 or np.abs(where[:, 0]).max() > 360:
        raise refusal
    mapped = _mapped(where) * float(1000 / METRES[space.unit])
    ratios = np.hypot(*(mapped[first] - mapped[second]).T) / apart
    if not ratios.max() <= _MOST_STRETCHED * ratios.min():
        raise refusal
    return mapped, float(ratios.max())


def _mapped(degrees: Floats) -> Floats:
    """(longitude, latitude) on a flat map in km, true to scale along the middle parallel."""
    longitude, latitude = np.radians(degrees).T
    middle = np.angle(np.exp(1j * longitude).mean())
    east = (longitude - middle + np.pi) % (2 * np.pi) - np.pi  # whatever lies across the antimeridian
    centre = (latitude.min() + latitude.max()) / 2
    return np.stack([east * np.cos(centre), latitude], axis=1) * float(EARTH_RADIUS_KM)


def planar_laplace_on_places(where: Floats, rate: float) -> Floats:
    """The chance of each place after planar Laplace noise on the map, for each place; in floats.

    Examples
    --------
    >>> import numpy as np
    >>> table = planar_laplace_on_places(np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 2.0]]), 1.0)
    >>> np.round(table, 2).tolist()
    [[0.65, 0.14, 0.21], [0.11, 0.81, 0.08], [0.19, 0.09, 0.72]]
    """
    nearest = cKDTree(where)
    points, areas = _lattice(where, nearest, rate)
    cell = np.asarray(nearest.query(points)[1])
    order = np.argsort(cell, kind="stable")
    points, areas, cell = points[order], areas[order], cell[order]
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    table = np.zeros((len(where), len(where)))
    for x, place in enumerate(where):
        chances = areas * np.exp(-rate * np.hypot(*(points - place).T))
        table[x, cell[starts]] = np.add.reduceat(chances, starts)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def _lattice(where: Floats, nearest: Any, rate: float) -> tuple[Floats, Floats]:
    """Points in all that noise reaches, four in each of squares that are small next to places, and their areas."""
    low, high = where.min(axis=0) - _REACH / rate, where.max(axis=0) + _REACH / rate
    side = float((high - low).max())
    corners, kept = low[None, :], []
    while len(corners):
        apart, other = nearest.query(corners + side / 2, k=2)[0].T
        far = apart * rate >= _FAR
        # small next to places, and next to the borders between two of them
        wanted = np.minimum(
            _BY_DISTANCE * apart, np.where(far, np.inf, np.minimum(_WIDEST / rate, (other - apart) / 2))
        )
        wanted = np.maximum(wanted, _NEAREST / rate)
        done = side <= wanted
        kept.append((corners[done], side))
        side /= 2
        corners = np.concatenate([corners[~done] + side * np.array(shift) for shift in product((0, 1), repeat=2)])
    inner = np.array(list(product((0.5 - np.sqrt(1 / 12), 0.5 + np.sqrt(1 / 12)), repeat=2)))  # of Gauss' rule
    points = [(part[:, None] + size * inner[None]).reshape(-1, 2) for part, size in kept]
    areas = [np.full(4 * len(part), size**2) for part, size in kept]
    return np.concatenate(points), np.concatenate(areas)
