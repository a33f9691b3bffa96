"""From coordinates to secrets: the cell of a grid that contains a point, or the nearest secret.

Distances are those of the space, in its unit: straight lines in one of the three metrics, or great circles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from sfumato.certify.protocol import Domain
from sfumato.errors import InvalidInput, Mismatch, keyword, shown
from sfumato.numbers import Floats, nearest_float, told_apart
from sfumato.release.rows import BadRow, Located, Rows, Secrets, Values
from sfumato.spaces.constructors import EARTH_RADIUS_KM
from sfumato.spaces.lengths import in_unit

Nearest = Callable[[Floats], tuple[Rows, Floats, NDArray[np.bool_]]]
"""For points: the index of the nearest secret, the distance to it, and whether the point lies in a cell."""

_POWERS = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": inf}

# Distances and coordinates of one space agree up to their roundings; what is compared are sums and square roots of a
# few doubles, and arcs up to half the globe from coordinates in degrees.
_SAME_DISTANCE = 1e-9
_SAME_ARC = 1e-6

_FARTHEST = 1e150  # the square of a distance is still a float


class Position:
    """The columns that hold the coordinates of a point, in the order of the space: ``Position("x", "y")``."""

    def __init__(self, *columns: str) -> None:
        if not columns or not all(isinstance(name, str) for name in columns):
            raise InvalidInput(
                f"a position is named by its columns, such as Position('x', 'y'), found {shown(columns)}"
            )
        self.columns = columns

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.columns))})"


class Place(Position):
    """The columns that hold latitude and longitude in degrees: ``Place("lat", "lon")``."""

    def __init__(self, latitude: str, longitude: str) -> None:
        if not isinstance(latitude, str) or not isinstance(longitude, str):
            raise InvalidInput("a place is named by its columns, such as Place('lat', 'lon'): latitude first")
        super().__init__(latitude, longitude)


@dataclass(frozen=True, eq=False)
class Coordinates(Secrets):
    """Columns of coordinates; made by :func:`coordinates_of`.

    ``within`` is a distance in the unit of the space; None stands for the cells of a grid. Where the nearest secret is
    taken, it says beyond which distance a point lies outside; None then stands for the cells of a grid, or for the
    largest distance of a secret from its nearest neighbour.
    """

    columns: tuple[str, ...]
    nearest: Nearest
    spherical: bool
    on_unknown: str
    within: float | None
    domain: Domain

    def find(self, batch: Sequence[Values], first: int) -> Rows:
        """The index of each row's secret, −1 for rows to be left out."""
        return self.locate(batch, first).rows

    def locate(self, batch: Sequence[Values], first: int) -> Located:
        """The same, and which points were moved into the space because the nearest secret is taken."""
        points = np.column_stack([values.numbers() for values in batch])
        known: NDArray[np.bool_] = np.asarray(np.isfinite(points).all(axis=1))
        if self.spherical:
            known &= (np.abs(points[:, 0]) <= 90) & (np.abs(points[:, 1]) <= 360)
        if not known.all() and self.on_unknown != "drop":
            row = int(np.argmin(known))
            raise self._no_point(batch, points[row], row, first)
        index, distance, inside = self.nearest(np.where(known[:, None], points, 0.0))
        near = inside if self.within is None else np.asarray(distance <= self.within)
        if self.on_unknown == "nearest":
            return Located(index, distance[~near])
        if self.on_unknown == "drop":
            return Located(np.where(known & near, index, -1))
        if not near.all():
            row = int(np.argmin(near))
            raise self._outside(points[row], distance[row], row, first)
        return Located(index)

    @property
    def unit(self) -> str:
        """That of the space."""
        return self.domain.unit

    def _no_point(self, batch: Sequence[Values], point: Floats, row: int, first: int) -> BadRow:
        values = tuple(values.value(row) for values in batch)
        for name, value, number in zip(self.columns, values, point.tolist(), strict=True):
            if not np.isfinite(number):
                what = "is missing" if value is None or value == "" else f"is {value!r}, which is no finite number"
                return BadRow(
                    f"{name!r} {what}; {keyword('on_unknown', 'drop')} leaves such rows out", first + row + 1, value
                )
        return BadRow(
            f"{', '.join(map(repr, self.columns))} are {tuple(point.tolist())}: latitude is within ±90 degrees, "
            "longitude within ±360, latitude comes first",
            first + row + 1,
            values,
        )

    def _outside(self, point: Floats, distance: float, row: int, first: int) -> BadRow:
        unit = f" {self.domain.unit}" if self.domain.unit else ""
        if self.within is None:
            where = f"outside the cells of {self.domain.name}"
        else:
            away, most = told_apart(distance, self.within)
            where = f"{away}{unit} from the nearest secret of {self.domain.name}, more than {most}{unit}"
        names = ", ".join(map(repr, self.columns))
        return BadRow(
            f"{names} are {tuple(point.tolist())}, {where}; {keyword('on_unknown', 'drop')} leaves such rows out, "
            "'nearest' takes it",
            first + row + 1,
            tuple(point.tolist()),
        )


def distance_in(unit: str, given: Any) -> float:
    """A positive distance as a number, or as a text with a unit of length: ``"500 m"``."""
    distance = nearest_float(in_unit(given, unit, "within"))
    if not 0 < distance < inf:
        raise InvalidInput(f"within must be a positive distance, found {shown(given)}")
    return distance


def coordinates_of(column: Position, domain: Domain, *, on_unknown: str, within: Any = None) -> Coordinates:
    """How points become secrets of a space.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sfumato.release.rows import TypedValues
    >>> from sfumato.spaces import grid
    >>> city = grid(3, 3, step="1/2", unit="km")
    >>> domain = Domain.of(city)
    >>> finder = coordinates_of(Position("x", "y"), domain, on_unknown="error")
    >>> finder.find([TypedValues(pa.array([0.7])), TypedValues(pa.array([-0.2]))], 0).tolist()
    [3]
    """
    where = domain.coordinates
    if where is None and domain.grid is None:
        raise InvalidInput(f"{domain.name} has no coordinates: release a column of labels")
    if len(column.columns) != domain.dimension:
        raise Mismatch("columns of coordinates", (f"{domain.dimension} columns",), column.columns)
    limit = None if within is None else distance_in(domain.unit, within)
    spherical = isinstance(column, Place)
    if spherical:
        assert where is not None
        radius = _radius(domain)
        nearest, boxes = _on_a_sphere(where, radius), False
    else:
        nearest, boxes = _in_a_plane(domain, measured=limit is not None)
    if limit is None and on_unknown != "nearest" and not boxes:
        unit = f", a distance in {domain.unit}" if domain.unit else ", a distance"
        raise InvalidInput(
            f"{domain.name} is no grid of cells: say {keyword('within')}{unit} beyond which a point is outside, "
            f"or {keyword('on_unknown', 'nearest')} to take every point"
        )
    if limit is None and not boxes:
        assert where is not None
        limit = radius * float(_arcs(_widest(_vectors(where[:, ::-1])))) if spherical else float(_widest(where))
    return Coordinates(column.columns, nearest, spherical, on_unknown, limit, domain)


def _widest(where: Floats) -> Floats:
    """The largest distance of a point from the one nearest to it; infinite for a point alone."""
    distances = np.asarray(cKDTree(where).query(where, k=2)[0])
    return np.asarray(distances[:, 1].max())


def _in_a_plane(domain: Domain, *, measured: bool) -> tuple[Nearest, bool]:
    """The nearest secret by coordinates, and whether secrets are the cells of a grid."""
    cells = _cells(domain)
    power = _power(domain) if measured else 2.0
    if power is None:
        raise InvalidInput(
            f"the distances of {domain.name} are not those of its coordinates, so that {keyword('within')} has no "
            f"unit: leave it out with {keyword('on_unknown', 'nearest')}"
        )
    if cells is None:
        assert domain.coordinates is not None
        tree = cKDTree(domain.coordinates)

        def nearest(points: Floats) -> tuple[Rows, Floats, NDArray[np.bool_]]:
            # beyond this, distances would be infinite, and nothing be nearest
            distance, index = tree.query(np.clip(points, -_FARTHEST, _FARTHEST), p=power, workers=-1)
            return np.asarray(index, dtype=np.int64), np.asarray(distance), np.ones(len(points), dtype=bool)

        return nearest, False
    shape, origin, step = cells

    def cell(points: Floats) -> tuple[Rows, Floats, NDArray[np.bool_]]:
        with np.errstate(over="ignore"):  # what is too far for a float is infinitely far
            scaled = (points - origin) / step
            place = np.clip(np.floor(scaled + 0.5), 0, np.array(shape) - 1)
            gap = np.abs(scaled - place)
            index = np.ravel_multi_index(tuple(place.astype(np.int64).T), shape).astype(np.int64)
            return index, np.linalg.norm(gap * step, ord=power, axis=1), (gap <= 0.5).all(axis=1)

    return cell, True


def _cells(domain: Domain) -> tuple[tuple[int, ...], Floats, Floats] | None:
    """Sides, first centre and steps of a full grid in the order of its rows, or None."""
    if domain.grid is not None:
        shape, _, step = domain.grid
        return shape, np.zeros(len(shape)), np.full(len(shape), step)
    where = domain.coordinates
    assert where is not None
    axes = [np.unique(column) for column in where.T]
    shape = tuple(len(axis) for axis in axes)
    if np.prod(shape, dtype=float) != len(where) or max(shape) == 1:
        return None
    full = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(len(where), -1)
    gaps = [np.diff(axis) for axis in axes]
    steps = np.array([gap.mean() if len(gap) else 0.0 for gap in gaps])
    steps[steps == 0] = steps.max()  # a side of one cell is as long as the others
    even = all(
        np.abs(gap - step).max(initial=0.0) <= _SAME_DISTANCE * step for gap, step in zip(gaps, steps, strict=True)
    )
    if not even or not (full == where).all():
        return None
    return shape, np.array([axis[0] for axis in axes]), steps


def _pairs(domain: Domain) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Pairs of secrets and their distances: the edges of a graph, or three rows of the table."""
    space = domain.space
    assert space is not None
    if space.edges is not None:
        return space.edges.pairs.first, space.edges.pairs.second, space.edges.lengths.floats
    n = len(space)
    some = np.unique([0, n // 2, n - 1])
    return np.repeat(some, n), np.tile(np.arange(n), len(some)), space.distances.floats[some].ravel()


def _power(domain: Domain) -> float | None:
    """The norm of coordinates that gives the distances of the space, or None."""
    if domain.grid is not None:
        return _POWERS[domain.grid[1]]
    if domain.space is None or domain.coordinates is None:
        return None
    if domain.space.source.lattice is not None:
        return _POWERS[domain.space.source.lattice[1]]
    first, second, lengths = _pairs(domain)
    offsets = domain.coordinates[first] - domain.coordinates[second]
    # shortest paths along the axes of a grid are its Manhattan distance, although each edge is a straight line
    order = ("manhattan", "chebyshev", "euclidean") if domain.space.edges is not None else tuple(_POWERS)
    for name in order:
        if np.allclose(np.linalg.norm(offsets, ord=_POWERS[name], axis=1), lengths, rtol=_SAME_DISTANCE, atol=0.0):
            return _POWERS[name]
    return None


def _vectors(degrees: Floats) -> Floats:
    """Latitude and longitude as points of the unit sphere: the nearest of them is the nearest by great circles."""
    latitude, longitude = np.radians(degrees).T
    return np.column_stack(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)]
    )


def _arcs(chords: Floats) -> Floats:
    return np.asarray(2 * np.arcsin(np.clip(chords / 2, 0, 1)))


def _radius(domain: Domain) -> float:
    """The radius of the sphere on which the distances of a space are great circles."""
    assert domain.coordinates is not None
    if domain.space is None or len(domain.coordinates) == 1:
        return EARTH_RADIUS_KM
    first, second, lengths = _pairs(domain)
    there = _vectors(domain.coordinates[:, ::-1])
    arcs = _arcs(np.linalg.norm(there[first] - there[second], axis=1))
    radius = float(lengths.max() / max(float(arcs[np.argmax(lengths)]), 1e-300))
    # the distances of secrets a few metres apart are rounded by some 1e-9 of a radian in the coordinates' sines
    if not np.allclose(arcs * radius, lengths, rtol=_SAME_ARC, atol=_SAME_DISTANCE * radius):
        raise InvalidInput(
            f"the distances of {domain.name} are no great circles between latitudes and longitudes: "
            "name the columns of its coordinates with Position(…)"
        )
    return radius


def _on_a_sphere(where: Floats, radius: float) -> Nearest:
    tree = cKDTree(_vectors(where[:, ::-1]))

    def nearest(points: Floats) -> tuple[Rows, Floats, NDArray[np.bool_]]:
        chords, index = tree.query(_vectors(points), workers=-1)
        return np.asarray(index, dtype=np.int64), radius * _arcs(np.asarray(chords)), np.ones(len(points), dtype=bool)

    return nearest
