"""Points in other forms than two columns of degrees: geometries are read, projected coordinates become degrees.

What is wrong with a file as a whole (no coordinate system, degrees taken for metres, axes in the wrong order) is told
as such, not as the first row that lies outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.certify.protocol import Domain
from sfumato.errors import InvalidInput, Mismatch, keyword, shown
from sfumato.numbers import Floats
from sfumato.release.crs import System, agreed_system, refuse_other_unit
from sfumato.release.families import release_family
from sfumato.release.formats.geo_points import (
    DAMAGED,
    EMPTY,
    FINE,
    HEIGHT,
    MISSING,
    NO_POINT,
    Points2D,
    read_geojson,
    read_points,
    shape_name,
)  # fmt: skip
from sfumato.release.formats.layouts import PointLayout
from sfumato.release.places import Geometry, Place, Position
from sfumato.release.rows import (
    BadRow,
    Located,
    Rows,
    Secrets,
    TypedValues,
    Values,
    coordinates_in,
    leaves_out,
)  # fmt: skip

_SAME_EARTH = 0.01  # radii that are called the Earth's differ by half of this
_WRONG = {
    MISSING: "is missing",
    EMPTY: "is an empty point",
    DAMAGED: "is no geometry that can be read",
}


@dataclass(frozen=True, eq=False)
class Unread(Secrets):
    """A column of points before anybody has looked at the table that holds it."""

    column: Geometry
    domain: Domain

    @property
    def about_points(self) -> bool:
        """Whether the promise will be about all points."""
        return release_family(self.domain).about_points

    def locate(self, batch: Sequence[Values], first: int) -> Located:
        """Nothing can be found."""
        raise InvalidInput(f"the column {shown(self.column.columns[0])} is read with its table, or not at all")


@dataclass(frozen=True, eq=False)
class Converted(Secrets):
    """Points that are read from geometries, or converted to degrees, or both; made by :func:`converted_secrets`."""

    inner: Secrets
    column: Position
    system: System | None
    """From which points are converted to degrees; None where coordinates are taken as they are."""
    on_unknown: str
    numbered: System | None = None
    """The system that rows may name by its number."""

    @property
    def unit(self) -> str:
        """That of the space."""
        return self.inner.unit

    @property
    def about_points(self) -> bool:
        """Whether the promise is about all points."""
        return self.inner.about_points

    def kept(self, rows: Rows) -> Any:
        """Which rows are not left out."""
        return self.inner.kept(rows)

    def marks(self, rows: Rows) -> Rows:
        """One integer for each row that tells its secret from others."""
        return self.inner.marks(rows)

    def refusing(self) -> Secrets:
        """The same, which refuses what is no secret instead of leaving it out."""
        return replace(self, inner=self.inner.refusing(), on_unknown="error")

    def locate(self, batch: Sequence[Values], first: int) -> Located:
        """The secrets of the rows, and which points were moved into the space."""
        x, y = self._points(batch, first)
        pair = (x, y) if self.system is None else self.system.degrees(x, y)
        values = [TypedValues(pa.array(along)) for along in pair]
        try:
            found = self.inner.locate(values, first)
        except BadRow as error:
            self._refuse_degrees(x, y)
            row = error.row - first - 1
            if self.system is None or self.system.plain or not 0 <= row < len(x):
                raise
            what = f"({x[row]}, {y[row]}) in {self.system}: {error.reason.split(': ', 1)[-1]}"
            raise BadRow(what, error.row, policy=error.policy) from None
        if len(x) and (len(found.moved) == len(x) or not self.inner.kept(found.rows).any()):
            self._refuse_degrees(x, y)
        return found

    def _points(self, batch: Sequence[Values], first: int) -> tuple[Floats, Floats]:
        if not isinstance(self.column, Geometry):
            x, y = coordinates_in(batch, self.column.columns, first)
            return (y, x) if isinstance(self.column, Place) else (x, y)
        (values,) = batch
        typed = isinstance(values, TypedValues)
        array = values.array if isinstance(values, TypedValues) else values.strings()
        found = read_points(array) if typed or not values.typed else read_geojson(array)
        self._refuse_numbers(found)
        return self._judged(found, array, first)

    def _judged(self, found: Points2D, array: Any, first: int) -> tuple[Floats, Floats]:
        assert isinstance(self.column, Geometry)
        name, codes = shown(self.column.columns[0]), found.codes
        high = codes == HEIGHT
        if high.any() and not self.column.drop_z:
            raise BadRow(
                f"{name} has a height or measure beside x and y, which would stay as it is: "
                f"{keyword('drop_z', True)} leaves heights and measures out",
                first + int(np.argmax(high)) + 1,
            )
        bad = (codes != FINE) & ~high
        if not bad.any():
            return found.x, found.y
        if self.on_unknown != "drop":
            row = int(np.argmax(bad))
            what = _WRONG.get(int(codes[row]))
            if codes[row] == NO_POINT:
                what = f"is a {shape_name(array, row)}, not a point"
            raise BadRow(f"{name} {what}", first + row + 1, policy=leaves_out())
        return np.where(bad, np.nan, found.x), np.where(bad, np.nan, found.y)

    def _refuse_numbers(self, found: Points2D) -> None:
        """Rows that say another system than the one they are read in."""
        if found.srids is None or not found.srids.any():
            return
        said = np.unique(found.srids[found.codes != MISSING]).tolist()
        name = shown(self.column.columns[0])
        if len(said) > 1:
            raise InvalidInput(
                f"{name} has points in several systems (SRID {said[0]} and {said[1]}): convert them first"
            )
        if self.numbered is None:
            raise InvalidInput(
                f"the points of {name} say that they are in EPSG:{said[0]}: say {keyword('crs', f'EPSG:{said[0]}')}"
            )
        if self.numbered.name != f"EPSG:{said[0]}":
            raise InvalidInput(f"the points of {name} say that they are in EPSG:{said[0]}, not in {self.numbered}")

    def _refuse_degrees(self, x: Floats, y: Floats) -> None:
        """Refuse degrees in a system of lengths, and the other way round, where no point lies where it should."""
        known = np.isfinite(x) & np.isfinite(y)
        if self.system is None or not known.any():
            return
        east, north = x[known], y[known]
        angles = bool((np.abs(east) <= 360).all() and (np.abs(north) <= 90).all())
        if angles and not self.system.geographic:
            raise InvalidInput(
                f"the coordinates look like degrees, such as ({east[0]}, {north[0]}), although they are said to be in "
                f"{self.system}, whose unit is {self.system.unit}: were they given the wrong system? "
                "'EPSG:4326' stands for degrees"
            )
        if self.system.geographic and bool((np.abs(north) > 360).any() or (np.abs(east) > 360).any()):
            raise InvalidInput(
                f"({east[0]}, {north[0]}) are no degrees, although they are said to be in {self.system}: were they "
                "given the wrong system? Projected coordinates have one of their own, such as 'EPSG:2154'"
            )


def on_the_ground(domain: Domain) -> bool:
    """Whether secrets are places on the Earth, known by degrees."""
    return release_family(domain).on_the_ground(domain)


def system_in(column: Position, layout: PointLayout | None, domain: Domain) -> System | None:
    """The system of the points; refused where there is none and one is needed, or where it does not fit."""
    said = None if layout is None else layout.system
    where = f"the column {shown(column.columns[0])}"
    system = agreed_system(said, column.system, where)
    if not on_the_ground(domain):
        refuse_other_unit(system, domain.unit, domain.name)
        return system
    if system is None:
        raise InvalidInput(
            f"nothing says in which coordinate system {where} is: say {keyword('crs', 'EPSG:4326')} for longitude and "
            "latitude in degrees, or the code of another one"
        )
    return system


def converted_secrets(
    column: Position, layout: PointLayout | None, domain: Domain, *, on_unknown: str, within: Any
) -> Secrets:
    """How geometries, or coordinates in another system, become secrets."""
    if isinstance(column, Geometry):
        if domain.dimension != 2:
            raise Mismatch(
                "points", ("2 coordinates",), (f"{domain.dimension} coordinates",),
                f"points of a map have two coordinates, but a secret of {domain.name} has {domain.dimension or 'none'}",
            )  # fmt: skip
        if layout is None:
            return Unread(column, domain)
    system = system_in(column, layout, domain)
    ground = on_the_ground(domain)
    if isinstance(column, Geometry):
        name = column.columns[0]
        x, y = f"x of {name}", f"y of {name}"
    else:
        x, y = reversed(column.columns) if isinstance(column, Place) else column.columns
    inner: Position = Place(y, x) if ground else Position(x, y)
    found = release_family(domain).placed(inner, domain, on_unknown, within)
    return Converted(found, column, system if ground else None, on_unknown, system)


def points_out(
    column: Position, layout: PointLayout | None, domain: Domain, x: Floats, y: Floats
) -> tuple[Floats, Floats]:
    """Outputs in the system of the table: x before y, where longitude comes before latitude."""
    system = system_in(column, layout, domain)
    return system.points(y, x) if system is not None and on_the_ground(domain) else (x, y)
