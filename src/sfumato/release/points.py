"""Columns of coordinates for a mechanism whose promise is about points: nothing is snapped to a cell.

A coordinate is the double that is read, exactly. What lies outside of the box is moved to its nearest point, which
costs no privacy (it brings no two points farther apart), or refused, or left out, as the policy says; what is missing
or no finite number is refused, or left out. On the Earth coordinates are degrees, and what lies beyond the margin of
the box is refused whatever the policy: nothing is promised about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.draws.plans import Tuples
from sfumato.draws.rounding import Reach
from sfumato.errors import InvalidInput, Mismatch, NotSupported, counted, keyword, worded
from sfumato.numbers import Floats, exact, float_above, float_below, nearest_float
from sfumato.release.keys import id_digests
from sfumato.release.places import Place, Position
from sfumato.release.rows import BadRow, Located, Rows, Secrets, Values, bad_coordinate, coordinates_in, leaves_out
from sfumato.spaces.axes import look_swapped, swap_columns, swapped_axes
from sfumato.spaces.box import NORMS, Box
from sfumato.spaces.earth import on_the_earth
from sfumato.spaces.surface import Earth, Plane

_SALT = b"sfumato points\0\0"
_DOUBLES = ord("d")
_ROUNDED_BY = ("80 km", "8 km", "800 m", "80 m", "8 m", "80 cm", "8 cm", "8 mm")
"""Half a step along both axes, by decimals: a degree is at most 111.2 km."""
_MOST_OUTPUTS = 1 << 24  # whose coordinates are held at a time: about 2 GiB


@dataclass(frozen=True, eq=False)
class Points(Secrets):
    """Columns of coordinates that are the secrets themselves; made by :func:`points_of`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sfumato.release.rows import TypedValues
    >>> from sfumato.spaces.box import box
    >>> finder = points_of(Position("x"), box(1, step="1/4"), on_unknown="nearest")
    >>> finder.locate([TypedValues(pa.array([0.3, 1.5, -0.0]))], 0)
    Located(rows=array([[0.3],
           [1. ],
           [0. ]]), moved=array([0.5]), strays=())
    """

    columns: tuple[str, ...]
    box: Box
    on_unknown: str = "error"

    @property
    def unit(self) -> str:
        """That of the box."""
        return self.box.unit

    @property
    def about_points(self) -> bool:
        """All points of the box are secrets."""
        return True

    @cached_property
    def inside(self) -> tuple[Floats, Floats]:
        """The least and the largest doubles inside of the box, along each axis."""
        ends = [(o, o + side) for o, side in zip(self.box.origin, self.box.sides, strict=True)]
        return np.array([float_above(low) for low, _ in ends]), np.array([float_below(high) for _, high in ends])

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """The last doubles that are not inside of the two ends: what lies beyond them is drawn for as they are."""
        ends = [(o, o + side) for o, side in zip(self.box.origin, self.box.sides, strict=True)]
        return np.array([float_below(low) for low, _ in ends]), np.array([float_above(high) for _, high in ends])

    def locate(self, batch: Sequence[Values], first: int) -> Located:
        """The points, NaN for rows to be left out, and how far outside those were that count as the nearest one."""
        points = self.read(coordinates_in(batch, self.columns, first))
        inside, near = self.taken(points)
        if inside.all():
            return Located(points.T)
        if self.on_unknown == "drop":
            return Located(np.where(inside, points, np.nan).T)
        wrong = ~(near if self.on_unknown == "nearest" else inside)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise self._complaint(batch, self.read(points[:, row]), row, first)
        return self.moved(points, inside)

    def read(self, columns: Sequence[Any] | Floats) -> Floats:
        """Columns, or one row of them, in the order of the axes and back: on the Earth latitude is first; −0 is 0."""
        return np.asarray(self.box.surface.turned(np.asarray(columns, dtype=np.float64))) + 0.0

    def taken(self, points: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which points lie inside of the box, and which can be moved to it; what is no number is neither."""
        low, high = (ends[:, None] for ends in self.inside)
        return np.asarray(((points >= low) & (points <= high)).all(axis=0)), np.asarray(np.isfinite(points).all(axis=0))

    def moved(self, points: Floats, inside: NDArray[np.bool_]) -> Located:
        """All points in the box, and how far outside of it the others were."""
        least, most = (ends[:, None] for ends in self.ends)
        moved = np.clip(points, least, most)
        with np.errstate(over="ignore"):  # what is too far for a double is infinitely far
            gaps = np.linalg.norm((points - moved)[:, ~inside], ord=NORMS[self.box.metric], axis=0)
        return Located(moved.T, np.asarray(gaps))

    def kept(self, rows: Rows) -> NDArray[np.bool_]:
        """All but those that were left out."""
        return ~np.isnan(rows[:, 0])

    def marks(self, rows: Rows) -> Rows:
        """64 bits of a digest of each point: two points share one by a chance of 2^-64."""
        many, axes = rows.shape
        doubles = np.ascontiguousarray(rows, dtype="<f8").view(np.uint8).ravel()
        digests = id_digests([(doubles, np.arange(many + 1, dtype=np.int64) * 8 * axes, _DOUBLES)], _SALT)
        return np.ascontiguousarray(digests[:, :8]).view("<i8").ravel().astype(np.int64, copy=False)

    def _complaint(self, batch: Sequence[Values], point: Floats, row: int, first: int) -> BadRow:
        names, where = ", ".join(map(repr, self.columns)), tuple(point.tolist())
        are = f"{names} is {where[0]}" if len(where) == 1 else f"{names} are {where}"
        return bad_coordinate(self.columns, batch, point, row, first) or BadRow(
            f"{are}, outside of {self.box.name} {self._corners()}",
            first + row + 1,
            where,
            f"{leaves_out()}, 'nearest' moves it to the border, which costs no privacy",
        )

    def _corners(self) -> str:
        sides = zip(self.box.origin, self.box.sides, strict=True)
        return " × ".join(f"[{nearest_float(o):.6g}, {nearest_float(o + side):.6g}]" for o, side in sides)


@dataclass(frozen=True, eq=False)
class EarthPoints(Points):
    """Columns of latitude and longitude in degrees; rows are (longitude, latitude), as they are read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sfumato.release.rows import TypedValues
    >>> from sfumato.spaces.earth import earth_box
    >>> town = earth_box(48, 2, sides=(10, 10), step=5)
    >>> finder = points_of(Place("lat", "lon"), town, on_unknown="nearest")
    >>> found = finder.locate([TypedValues(pa.array([48.01, 47.99])), TypedValues(pa.array([2.01, 362.01]))], 0)
    >>> found.rows.tolist(), found.moved.round(3).tolist()
    ([[2.01, 48.01], [362.01, 47.99]], [1.112])
    """

    @cached_property
    def reaches(self) -> tuple[tuple[Reach, Reach], tuple[Reach, Reach]]:
        """Longitudes and latitudes of the box, and of all that is accepted."""
        outer = on_the_earth(self.box)
        inside, accepted = ((Reach(*across), Reach(*up)) for across, up in (outer.inner.reaches, outer.reaches))
        return inside, accepted

    def taken(self, points: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which places lie inside of the box, and which within its margin."""
        inside, near = (_all_taken(both, points)[0] for both in self.reaches)
        if not inside.any():
            reaches = self.reaches[0]
            if look_swapped(lambda north, east: _all_taken(reaches, (east, north))[0], *points[::-1]):
                what = f"no point lies in {self.box.name}, but nearly all would"
                raise swapped_axes(what, swap_columns(*self.columns))
        return inside, near

    def moved(self, points: Floats, inside: NDArray[np.bool_]) -> Located:
        """The places as they are read, and how far outside of the box those are that count as its nearest point."""
        return Located(points.T, self._gaps(points[:, ~inside]))

    def _gaps(self, places: Floats) -> Floats:
        """How far places lie outside of the box, on its map."""
        _, added = _all_taken(self.reaches[1], places)
        corner, scale = np.array(self.box.surface.scales, dtype=float).T[..., None]
        sides = np.array(self.box.sides, dtype=float)[:, None]
        along = (places + added - corner) / scale
        return np.asarray(np.linalg.norm(along - np.clip(along, 0.0, sides), axis=0))

    def _complaint(self, batch: Sequence[Values], point: Floats, row: int, first: int) -> BadRow:
        if self.on_unknown != "nearest" or not np.isfinite(point).all():
            return super()._complaint(batch, point, row, first)
        names, where = ", ".join(map(repr, self.columns)), tuple(point.tolist())
        return BadRow(f"{names} are {where}, which {self.box.surface.beyond}", first + row + 1, where)

    def _corners(self) -> str:
        inner = self.reaches[0][::-1]
        ends = [f"[{nearest_float(reach.low):.6g}, {nearest_float(reach.high):.6g}]" for reach in inner]
        return f"{ends[0]} × {ends[1]} in degrees"


def _all_taken(reaches: Sequence[Reach], places: Floats | Sequence[Floats]) -> tuple[NDArray[np.bool_], Floats]:
    """Which places lie within reach along all axes, and what to add to their coordinates to undo turns."""
    found = [reach.turns(along) for reach, along in zip(reaches, places, strict=True)]
    return np.asarray(np.logical_and(found[0][0], found[1][0])), np.stack([added for _, added in found])


def points_of(column: str | Position, box: Box, *, on_unknown: str, within: Any = None) -> Points:
    """How columns become points of a box; on an interval one column may be named by a text."""
    named = Position(column) if isinstance(column, str) else column
    finder, held = _FINDERS[type(box.surface)]
    if not isinstance(named, held):
        columns = worded("Place('lat', 'lon')", "lat", "lon")
        raise InvalidInput(
            f"the points of {box.name} are places: name the columns of latitude and longitude, {columns}"
        )
    if isinstance(named, Place) and held is Position:
        on_the_ground = worded("sf.spaces.earth_box", "earth_box")
        raise NotSupported(
            f"latitudes and longitudes on {box.name}, whose points have coordinates in {box.unit or 'its unit'}",
            [f"{_position(box)} with coordinates of the box", f"a box on the Earth, by {on_the_ground}"],
        )
    if len(named.columns) != box.dimension:
        raise Mismatch(
            "columns of coordinates", (f"{box.dimension} columns",), named.columns,
            f"a point of {box.name} has {box.dimension} coordinates, found the column"
            f"{'s' * (len(named.columns) > 1)} {', '.join(map(repr, named.columns))}: name them all, {_position(box)}",
        )  # fmt: skip
    if within is not None:
        raise InvalidInput(
            f"{keyword('within')} is for lists of places: points outside of a box are refused, or moved to it with "
            f"{keyword('on_unknown', 'nearest')}"
        )
    return finder(named.columns, box, on_unknown)


_FINDERS: dict[type[Plane], tuple[type[Points], type[Position]]] = {
    Plane: (Points, Position),
    Earth: (EarthPoints, Place),
}
"""How rows become points, and what names their columns."""


def _position(box: Box) -> str:
    """The same for the coordinates of a box."""
    names = ("x", "y", "z")[: box.dimension]
    return worded(f"Position({', '.join(map(repr, names))})", *names)


def output_points(outputs: Sequence[Any], box: Box, decimals: int | None = None) -> Floats:
    """The coordinates of outputs, one row an output, each the double nearest to the exact one.

    On the Earth they are latitude and longitude. With ``decimals`` they are rounded first, which looks at the output
    alone: what a release tells is what was drawn, rounded, and costs no more.
    """
    surface = box.surface
    written = nearest_float if decimals is None else lambda at: nearest_float(round(at, decimals))
    if isinstance(outputs, Tuples):  # all tuples of few coordinates, each of which becomes one of a place
        many = prod(map(len, outputs.axes))
        if many > _MOST_OUTPUTS:
            raise NotSupported(
                f"telling {many:,} points by their coordinates", ["a promise over a larger distance", "a smaller box"]
            )
        axes = [[surface.coordinate(axis, exact(y)) for y in values] for axis, values in enumerate(outputs.axes)]
        parts = np.meshgrid(*(np.array([written(y) for y in values]) for values in axes), indexing="ij")
        return np.stack(surface.turned([part.ravel() for part in parts]), axis=1)
    rows = [surface.place(tuple(map(exact, y if isinstance(y, tuple) else (y,)))) for y in outputs]
    return np.array([list(map(written, row)) for row in rows]).reshape(len(rows), box.dimension)


def rounding_words(decimals: int | None) -> str:
    """How coordinates are rounded, a sentence; empty where they are the doubles nearest to outputs."""
    if decimals is None:
        return ""
    return (
        f"What is written is what was drawn, rounded to {counted(decimals, 'decimal')} of a degree, by at most "
        f"{_ROUNDED_BY[decimals]}: further digits would be digits of the noise."
    )
