"""From coordinates to secrets: the cell of a grid that contains a point, or the nearest secret.

Distances are those of the space, in its unit: straight lines in one of the three metrics, or great circles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from sfumato.arguments import flag, items, text
from sfumato.certify.protocol import Domain
from sfumato.errors import InvalidInput, Mismatch, keyword, shown, worded
from sfumato.numbers import Floats, nearest_float, told_apart
from sfumato.release.crs import agreed_system, system_of
from sfumato.release.rows import BadRow, Located, Rows, Secrets, Values, bad_coordinate, coordinates_in, leaves_out
from sfumato.spaces.axes import look_swapped, swap_columns, swapped_axes
from sfumato.spaces.box import NORMS, Box, box_of_points
from sfumato.spaces.ground import (
    EARTH_RADIUS_KM,
    Ground,
    arcs,
    ground_lengths,
    ground_positions,
    sample_pairs,
    sphere_radius,
    unit_vectors,
)
from sfumato.spaces.lengths import METRES, in_unit

Nearest = Callable[[Floats], tuple[Rows, Floats, NDArray[np.bool_]]]
"""For points: the index of the nearest secret, the distance to it, and whether the point lies in a cell."""

# Distances and coordinates of one space agree up to their roundings; what is compared are sums and square roots of a
# few doubles.
_SAME_DISTANCE = 1e-9

_FARTHEST = 1e150  # the square of a distance is still a float


class Position:
    """The columns that hold the coordinates of a point, in the order of the space: ``Position("x", "y")``.

    A mechanism on a list of secrets takes a point for its cell or its nearest secret, and its promise is about these; a
    :class:`~sfumato.certify.coordinates.BoxMechanism` takes it as it is, and its promise is about all points.

    Parameters
    ----------
    columns
        Their names, as texts.
    crs
        The coordinate system of the two columns, such as ``"EPSG:2154"``. Where secrets are places on the Earth, points
        are converted to degrees on the way in, and outputs back on the way out (pyproj, extra ``geo``).
    """

    def __init__(self, *columns: str, crs: Any = None) -> None:
        if not columns or not all(isinstance(name, str) for name in columns):
            raise InvalidInput(
                f"a position is named by its columns, such as Position('x', 'y'), found {shown(columns)}"
            )
        if len({*columns}) < len(columns):
            raise InvalidInput(f"each coordinate has a column of its own, found {shown(columns)}")
        if crs is not None and len(columns) != 2:
            raise _not_two(columns)
        self.columns = columns
        self.system = system_of(crs)

    @property
    def each(self) -> tuple[Position, ...]:
        """The places of a row: this one, unless there are several."""
        return (self,)

    def __repr__(self) -> str:
        crs = [] if self.system is None else [f"crs={self.system.name!r}"]
        return f"{type(self).__name__}({', '.join([*map(repr, self.columns), *crs])})"


class Place(Position):
    """The columns that hold latitude and longitude in degrees: ``Place("lat", "lon")``."""

    def __init__(self, latitude: str, longitude: str) -> None:
        if not isinstance(latitude, str) or not isinstance(longitude, str):
            raise InvalidInput("a place is named by its columns, such as Place('lat', 'lon'): latitude first")
        super().__init__(latitude, longitude)


class Geometry(Position):
    """The column that holds points, as geopandas, GeoParquet, GeoPackage, Shapefile and GeoJSON do: ``Geometry()``.

    Points are read from geometries of geopandas, WKB, WKT, the points of GeoArrow and GeoJSON, and replaced by released
    points in the same form and the same coordinate system. Other shapes, empty points and missing ones are refused,
    or left out with ``on_unknown="drop"``.

    Parameters
    ----------
    column
        Its name. ``"geometry"`` also stands for the one column of geometries of a table that calls it otherwise.
    crs
        The coordinate system, such as ``"EPSG:2154"``, where the table or file does not say it.
    drop_z
        Leave heights and measures out. Without it points that have them are refused: they are never kept.
    beside
        Columns that stay although they are geometries as well, or have names of coordinates.

    Examples
    --------
    >>> Geometry(), Geometry("home", crs="EPSG:4326")
    (Geometry('geometry'), Geometry('home', crs='EPSG:4326'))
    """

    def __init__(
        self, column: str = "geometry", *, crs: Any = None, drop_z: bool = False, beside: Sequence[str] = ()
    ) -> None:
        if not isinstance(column, str):
            raise InvalidInput(f"a column of points is named by a text, found {shown(column)}")
        super().__init__(column)
        self.system = system_of(crs)
        self.drop_z = flag(drop_z, "drop_z")
        self.beside = tuple(text(name, "a column beside the points") for name in items(beside, "beside"))
        if column in self.beside:
            raise InvalidInput(f"{shown(column)} is released, and cannot stay beside itself")


class SeveralPlaces(Position):
    """Several places in a row, such as both ends of a trip, each by a name and its columns of latitude and longitude.

    All of them are drawn for by the same mechanism, in one pass; a row with m places costs m times as much.

    Examples
    --------
    >>> trip = SeveralPlaces({"start": ("lat0", "lon0"), "end": ("lat1", "lon1")})
    >>> trip.columns, trip.each
    (('lat0', 'lon0', 'lat1', 'lon1'), (Place('lat0', 'lon0'), Place('lat1', 'lon1')))
    """

    def __init__(self, places: Mapping[str, tuple[str, str]]) -> None:
        super().__init__(*(name for pair in places.values() for name in pair))
        self.names = tuple(places)
        self.places: tuple[Position, ...] = tuple(Place(*pair) for pair in places.values())

    @property
    def each(self) -> tuple[Position, ...]:
        """The places of a row."""
        return self.places


def in_system(column: Position, crs: Any) -> Position:
    """The same columns with a coordinate system; refused where they have another one, or where it does not fit."""
    if isinstance(column, SeveralPlaces):
        several = copy(column)
        several.places = tuple(in_system(place, crs) for place in column.places)
        several.system = several.places[0].system
        return several
    if not isinstance(column, Geometry) and len(column.columns) != 2:
        raise _not_two(column.columns)
    found = copy(column)
    names = ", ".join(map(repr, column.columns))
    found.system = agreed_system(column.system, system_of(crs), names)
    if isinstance(column, Place) and found.system is not None and not found.system.geographic:
        instead = worded("Position('x', 'y')", "x", "y")
        raise InvalidInput(
            f"{names} are latitudes and longitudes, but {found.system} has coordinates in {found.system.unit}: name "
            f"columns of x and y with {instead}"
        )
    return found


def renamed(column: Geometry, name: str) -> Geometry:
    """The same for a column of another name."""
    found = copy(column)
    found.columns = (name,)
    return found


def _not_two(columns: tuple[str, ...]) -> InvalidInput:
    return InvalidInput(f"{keyword('crs')} is for two columns, to the east and to the north, found {shown(columns)}")


@dataclass(frozen=True, eq=False)
class SeveralSecrets(Secrets):
    """Several places in a row: the secrets of each stand side by side, along the second axis."""

    each: tuple[Secrets, ...]
    widths: tuple[int, ...]

    @property
    def unit(self) -> str:
        """That of each."""
        return self.each[0].unit

    @property
    def about_points(self) -> bool:
        """Whether those of each are points."""
        return self.each[0].about_points

    def locate(self, batch: Sequence[Values], first: int) -> Located:
        """The secrets of all places of each row, and how far outside those were that were moved."""
        found, start = [], 0
        for secrets, width in zip(self.each, self.widths, strict=True):
            found.append(secrets.locate(batch[start : start + width], first))
            start += width
        moved = [len(one.moved) for one in found]
        return Located(
            np.stack([one.rows for one in found], axis=1), np.concatenate([one.moved for one in found]), tuple(moved)
        )

    def refusing(self) -> Secrets:
        """The same, where each refuses."""
        return SeveralSecrets(tuple(secrets.refusing() for secrets in self.each), self.widths)

    def kept(self, rows: Rows) -> NDArray[np.bool_]:
        """The rows all of whose places are kept."""
        return np.asarray(np.logical_and.reduce([secrets.kept(rows[:, k]) for k, secrets in enumerate(self.each)]))


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
    measured_in: str = ""

    def locate(self, batch: Sequence[Values], first: int) -> Located:
        """The index of each row's secret, −1 for rows to be left out, and which points were moved into the space."""
        points = np.column_stack(coordinates_in(batch, self.columns, first))
        known: NDArray[np.bool_] = np.asarray(np.isfinite(points).all(axis=1))
        if self.spherical:
            known &= (np.abs(points[:, 0]) <= 90) & (np.abs(points[:, 1]) <= 360)
        if not known.all() and self.on_unknown != "drop":
            row = int(np.argmin(known))
            raise self._no_point(batch, points[row], row, first)
        index, distance, inside = self.nearest(np.where(known[:, None], points, 0.0))
        near = inside if self.within is None else np.asarray(distance <= self.within)
        if self.spherical and not near.any() and look_swapped(self._near, *points.T):
            what = f"no point is near to a secret of {self.domain.name}, but nearly all would be"
            raise swapped_axes(what, swap_columns(*self.columns))
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
        """That in which distances between points and secrets are measured: that of the space, or a length."""
        return self.measured_in

    def _near(self, latitude: Floats, longitude: Floats) -> NDArray[np.bool_]:
        """Which places are near to a secret, or in a cell."""
        points = np.column_stack([latitude, longitude])
        known = (np.abs(latitude) <= 90) & (np.abs(longitude) <= 360)
        _, distance, inside = self.nearest(np.where(known[:, None], points, 0.0))
        return np.asarray(known & (inside if self.within is None else distance <= self.within))

    def _no_point(self, batch: Sequence[Values], point: Floats, row: int, first: int) -> BadRow:
        return bad_coordinate(self.columns, batch, point, row, first) or BadRow(
            f"{', '.join(map(repr, self.columns))} are {tuple(point.tolist())}: latitude is within ±90 degrees, "
            "longitude within ±360, latitude comes first",
            first + row + 1,
            tuple(values.value(row) for values in batch),
        )

    def _outside(self, point: Floats, distance: float, row: int, first: int) -> BadRow:
        unit = f" {self.unit}" if self.unit else ""
        if self.within is None:
            cells = self.domain.space is not None and self.domain.space.ground is not None
            where = f"in none of the {self.domain.name}" if cells else f"outside the cells of {self.domain.name}"
        else:
            away, most = told_apart(distance, self.within)
            where = f"{away}{unit} from the nearest secret of {self.domain.name}, more than {most}{unit}"
        names = ", ".join(map(repr, self.columns))
        return BadRow(
            f"{names} are {tuple(point.tolist())}, {where}",
            first + row + 1,
            tuple(point.tolist()),
            f"{leaves_out()}, 'nearest' takes it",
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
    ground = None if domain.space is None else domain.space.ground
    # km where ways on the ground are measured in minutes or steps
    unit = domain.unit if ground is None or domain.unit in METRES else "km"
    limit = None if within is None else distance_in(unit, within)
    spherical = isinstance(column, Place)
    if ground is not None:
        assert where is not None
        if not spherical:
            named = worded("Place('lat', 'lon')", "lat", "lon")
            raise InvalidInput(f"the secrets of {domain.name} are on the Earth: name latitude and longitude, {named}")
        nearest, boxes = _on_ground(where, ground, unit), ground.cells is not None
    elif spherical:
        assert where is not None
        radius = _radius(domain)
        nearest, boxes = _on_a_sphere(where, radius), False
    else:
        nearest, boxes = _in_a_plane(domain, measured=limit is not None)
    if limit is None and on_unknown != "nearest" and not boxes:
        measured = f", a distance in {unit}" if unit else ", a distance"
        raise InvalidInput(
            f"{domain.name} is no grid of cells: say {keyword('within')}{measured} beyond which a point is outside, "
            f"or {keyword('on_unknown', 'nearest')} to take every point"
        )
    if limit is None and not boxes:
        assert where is not None
        if ground is not None:
            limit = _widest_on_ground(where, ground, unit)
        else:
            limit = radius * float(arcs(_widest(unit_vectors(*where.T)))) if spherical else float(_widest(where))
    return Coordinates(column.columns, nearest, spherical, on_unknown, limit, domain, unit)


def _widest_on_ground(where: Floats, ground: Ground, unit: str) -> float:
    """The largest distance of a place from the one nearest to it; infinite for a place alone."""
    if len(where) == 1:
        return inf
    positions = ground_positions(where, ground.earth)
    there = np.asarray(cKDTree(positions).query(positions, k=2)[1])[:, 1]
    return float(ground_lengths(where, where[there], ground.earth, unit).max())


def _widest(where: Floats) -> Floats:
    """The largest distance of a point from the one nearest to it; infinite for a point alone."""
    distances = np.asarray(cKDTree(where).query(where, k=2)[0])
    return np.asarray(distances[:, 1].max())


def _in_a_plane(domain: Domain, *, measured: bool) -> tuple[Nearest, bool]:
    """The nearest secret by coordinates, and whether secrets are the cells of a grid."""
    box = _cells(domain)
    power = _power(domain) if measured else 2.0
    if power is None:
        raise InvalidInput(
            f"the distances of {domain.name} are not those of its coordinates, so that {keyword('within')} has no "
            f"unit: leave it out with {keyword('on_unknown', 'nearest')}"
        )
    if box is None:
        assert domain.coordinates is not None
        tree = cKDTree(domain.coordinates)

        def nearest(points: Floats) -> tuple[Rows, Floats, NDArray[np.bool_]]:
            # beyond this, distances would be infinite, and nothing be nearest
            distance, index = tree.query(np.clip(points, -_FARTHEST, _FARTHEST), p=power, workers=-1)
            return np.asarray(index, dtype=np.int64), np.asarray(distance), np.ones(len(points), dtype=bool)

        return nearest, False
    (first, step), shape = box.spacing, box.shape

    def cell(points: Floats) -> tuple[Rows, Floats, NDArray[np.bool_]]:
        with np.errstate(over="ignore"):  # what is too far for a float is infinitely far
            scaled = (points - first) / step
            place = np.clip(np.floor(scaled + 0.5), 0, np.array(shape) - 1)
            gap = np.abs(scaled - place)
            index = np.ravel_multi_index(tuple(place.astype(np.int64).T), shape).astype(np.int64)
            return index, np.linalg.norm(gap * step, ord=power, axis=1), (gap <= 0.5).all(axis=1)

    return cell, True


def _cells(domain: Domain) -> Box | None:
    """The box whose cells are the secrets in their order, or None."""
    if domain.grid is not None:
        return domain.grid
    assert domain.coordinates is not None
    box, cells = box_of_points(domain.coordinates) or (None, np.empty(0))
    return box if len(cells) > 1 and (np.diff(cells) == 1).all() else None


def _power(domain: Domain) -> float | None:
    """The norm of coordinates that gives the distances of the space, or None."""
    if domain.grid is not None:
        return NORMS[domain.grid.metric]
    if domain.space is None or domain.coordinates is None:
        return None
    if domain.space.source.lattice is not None:
        return NORMS[domain.space.source.lattice.metric]
    first, second, lengths = sample_pairs(domain.space)
    offsets = domain.coordinates[first] - domain.coordinates[second]
    # shortest paths along the axes of a grid are its Manhattan distance, although each edge is a straight line
    order = ("manhattan", "chebyshev", "euclidean") if domain.space.edges is not None else tuple(NORMS)
    for name in order:
        if np.allclose(np.linalg.norm(offsets, ord=NORMS[name], axis=1), lengths, rtol=_SAME_DISTANCE, atol=0.0):
            return NORMS[name]
    return None


def _radius(domain: Domain) -> float:
    radius = EARTH_RADIUS_KM if domain.space is None else sphere_radius(domain.space)
    if radius is None:
        columns = worded("Position('x', 'y')", "x", "y")
        raise InvalidInput(
            f"the distances of {domain.name} are no great circles between latitudes and longitudes: "
            f"name the columns of its coordinates, {columns}"
        )
    return radius


def _on_a_sphere(where: Floats, radius: float) -> Nearest:
    tree = cKDTree(unit_vectors(*where.T))

    def nearest(points: Floats) -> tuple[Rows, Floats, NDArray[np.bool_]]:
        chords, index = tree.query(unit_vectors(*points.T[::-1]), workers=-1)
        return np.asarray(index, dtype=np.int64), radius * arcs(np.asarray(chords)), np.ones(len(points), dtype=bool)

    return nearest


def _on_ground(where: Floats, ground: Ground, unit: str) -> Nearest:
    """The cell that holds a point, else the nearest place."""
    tree = cKDTree(ground_positions(where, ground.earth))

    def nearest(points: Floats) -> tuple[Rows, Floats, NDArray[np.bool_]]:
        latitude, longitude = points.T
        if ground.cells is None:
            index = np.full(len(points), -1, dtype=np.int64)
        else:
            index = ground.cells.locate(latitude, longitude)
        inside = index >= 0
        if not inside.all():
            index[~inside] = tree.query(ground_positions(points[~inside][:, ::-1], ground.earth), workers=-1)[1]
        distance = ground_lengths(points[:, ::-1], where[index], ground.earth, unit)
        return index, distance, inside if ground.cells is not None else np.ones(len(points), dtype=bool)

    return nearest
