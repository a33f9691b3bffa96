"""Planar Laplace noise around places that are no grid: what people do without a design, as a table to compare with.

Noise of density ∝ e^{−ε|z|} is added to the position, and the output nearest to where it lands is told. The table of
probabilities is found by quadrature (directions × quantiles of the radius) and proves nothing: losses are good to some
thousandths of themselves, and on the Earth the noise is carried along great circles, where the promise of the plane
holds only as far as the Earth is flat.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import gammainc, gammaincinv

from sfumato.numbers import Floats
from sfumato.report.maps import MapLayout
from sfumato.spaces.finite import FiniteSpace
from sfumato.spaces.ground import earth_radius, unit_vectors

_DIRECTIONS, _RADII = 72, 64
_MOST_NODES = 2_000_000  # So many nodes, over all secrets together, take about a second.
_FEWEST = 12


def laplace_table(space: FiniteSpace, layout: MapLayout, outputs: NDArray[np.int64], rate: float) -> Floats:
    """One row a secret, one column an output, given by its index among the secrets.

    Examples
    --------
    >>> from sfumato.report.maps import map_layout
    >>> from sfumato.spaces import points
    >>> two = points([(0.0, 0.0), (1.0, 0.25)])
    >>> table = laplace_table(two, map_layout(two), np.arange(2), 2.0)
    >>> table.sum(axis=1).tolist(), bool(table[0, 0] > 0.7)
    ([1.0, 1.0], True)
    """
    share = min(1.0, (_MOST_NODES / (_DIRECTIONS * _RADII * len(space))) ** 0.5)
    directions, parts = (max(_FEWEST, round(count * share)) for count in (_DIRECTIONS, _RADII))
    # the radius has the distribution function 1 − (1 + εr)e^{−εr}; the mean of each of its quantiles is a node
    radii = 2 * parts * np.diff(gammainc(3, gammaincinv(2, np.arange(parts + 1) / parts))) / rate
    turns = 2 * np.pi * (np.arange(directions) + 0.5) / directions
    if layout.sphere:
        assert space.coordinates is not None
        positions, landing = unit_vectors(*space.coordinates.T), _on_sphere(space, radii, turns)
    else:
        positions, landing = np.stack([layout.x, layout.y], axis=1), _in_plane(layout, radii, turns)
    tree = cKDTree(positions[outputs])  # on the sphere, the nearest by chord is the nearest
    result = np.empty((len(space), len(outputs)))
    for x in range(len(space)):
        nearest = tree.query(landing(x).reshape(-1, positions.shape[1]))[1]
        result[x] = np.bincount(nearest, minlength=len(outputs)) / nearest.size
    return result


def _in_plane(layout: MapLayout, radii: Floats, turns: Floats):  # type: ignore[no-untyped-def]
    steps = radii[:, None, None] * np.stack([np.cos(turns), np.sin(turns)], axis=1)[None]
    return lambda x: np.array([layout.x[x], layout.y[x]]) + steps


def _on_sphere(space: FiniteSpace, radii: Floats, turns: Floats):  # type: ignore[no-untyped-def]
    """From a place, so far along great circles in all directions."""
    where = space.coordinates
    assert where is not None
    up, longitude = unit_vectors(*where.T), np.radians(where[:, 0])
    east = np.stack([-np.sin(longitude), np.cos(longitude), np.zeros_like(longitude)], axis=1)
    north = np.cross(up, east)
    angles = (radii / earth_radius(space.unit))[:, None, None]

    def landing(x: int) -> Floats:
        heading = np.cos(turns)[None, :, None] * north[x] + np.sin(turns)[None, :, None] * east[x]
        return np.asarray(np.cos(angles) * up[x] + np.sin(angles) * heading)

    return landing
