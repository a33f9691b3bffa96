"""Coordinate systems of points: what a table says its numbers are, how they become degrees, and how they come back.

Longitude and latitude of WGS 84 (``EPSG:4326``, ``OGC:CRS84``) are known here; every other system is pyproj's. Points
have x before y, longitude before latitude, whatever the order of axes that a system was defined with: so they are
stored in WKB, GeoJSON, GeoPackage and Shapefile alike.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, cast

import numpy as np

from sfumato.errors import InvalidInput, keyword, shown
from sfumato.numbers import Floats
from sfumato.spaces.earth import converted
from sfumato.spaces.lengths import METRES
from sfumato.spaces.libraries import pyproj_library

_WGS84 = ("EPSG:4326", "OGC:CRS84", "CRS84", "WGS84", "WGS 84", "EPSG:4326+0", "URN:OGC:DEF:CRS:OGC:1.3:CRS84",
          "URN:OGC:DEF:CRS:OGC::CRS84", "URN:OGC:DEF:CRS:EPSG::4326")  # fmt: skip
_CODES = {("EPSG", "4326"), ("OGC", "CRS84")}


@dataclass(frozen=True)
class System:
    """A coordinate system; made by :func:`system_of`.

    Parameters
    ----------
    name
        What people call it, such as ``EPSG:2154``.
    definition
        What pyproj takes for it: the same, or PROJJSON, or WKT.
    geographic
        Whether its coordinates are angles.
    unit
        That of its coordinates: ``degree``, ``m``, or another one.
    """

    name: str
    definition: str
    geographic: bool
    unit: str

    def __str__(self) -> str:
        return self.name

    @property
    def plain(self) -> bool:
        """Whether x and y are longitude and latitude of WGS 84, with nothing to convert."""
        return self is WGS84

    @property
    def coded(self) -> bool:
        """Whether an authority has a code for it, which is its name."""
        return self.name == self.definition

    def projjson(self) -> dict[str, Any] | None:
        """The system as PROJJSON, written anew, without notes; None of WGS 84 where pyproj is not installed.

        Examples
        --------
        >>> town = system_of("+proj=tmerc +lat_0=10 +lon_0=20 +type=crs")
        >>> noted = system_of({**town.projjson(), "remarks": "of Atlantis"})
        >>> "remarks" in noted.projjson()
        False
        """
        if self.plain and find_spec("pyproj") is None:
            return None
        found = json.loads(pyproj_library().CRS.from_user_input(self.definition).to_json())
        return found if self.coded else cast(dict[str, Any], _without_notes(found))

    def degrees(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Latitudes and longitudes; infinite where the system has no such point, NaN where nothing was given."""
        if self.plain:
            return y, x
        there = np.isfinite(x) & np.isfinite(y)
        latitude, longitude = np.full(x.shape, np.nan), np.full(x.shape, np.nan)
        longitude[there], latitude[there] = converted(
            x[there], y[there], self.definition, WGS84.definition, f"points from {self} to degrees", strict=False
        )
        return latitude, longitude

    def points(self, latitude: Floats, longitude: Floats) -> tuple[Floats, Floats]:
        """x and y of places; refused where the system has no such point."""
        if self.plain:
            return longitude, latitude
        return converted(longitude, latitude, WGS84.definition, self.definition, f"places from degrees to {self}")


WGS84 = System("EPSG:4326", "EPSG:4326", True, "degree")
"""Longitude and latitude in degrees."""


_NOTES = ("remarks", "scope", "area", "bbox", "usages", "temporal_extent", "vertical_extent")


def _without_notes(part: Any) -> Any:
    """PROJJSON without what it says of where and why a system is used; a name stays, which is that of the system."""
    if isinstance(part, dict):
        return {key: _without_notes(value) for key, value in part.items() if key not in _NOTES}
    return [_without_notes(value) for value in part] if isinstance(part, list) else part


def system_of(crs: Any) -> System | None:
    """The system that a code, a text, PROJJSON or an object of pyproj names; None where nothing is said.

    Examples
    --------
    >>> system_of("OGC:CRS84") is system_of(4326) is WGS84, system_of(None)
    (True, None)
    """
    if crs is None or isinstance(crs, System):
        return crs
    if isinstance(crs, bool) or not (isinstance(crs, str | int | np.integer | Mapping) or hasattr(crs, "to_json")):
        raise InvalidInput(f"crs is a coordinate system such as 'EPSG:2154', found {shown(crs)}")
    given = f"EPSG:{crs}" if isinstance(crs, int | np.integer) else crs.strip() if isinstance(crs, str) else crs
    if given == "":
        return None
    if isinstance(given, str) and given.upper() in _WGS84:
        return WGS84
    if isinstance(given, str) and given.startswith("{"):
        try:
            given = json.loads(given)
        except ValueError as error:
            raise InvalidInput(f"{shown(given)} is no coordinate system in PROJJSON") from error
    if isinstance(given, Mapping):
        code = given.get("id") or {}
        if isinstance(code, Mapping) and (str(code.get("authority")), str(code.get("code"))) in _CODES:
            return WGS84
        given = json.dumps(given)
    return _of_pyproj(given, crs)


def _of_pyproj(given: Any, said: Any) -> System:
    pyproj = pyproj_library()
    try:
        found = pyproj.CRS.from_user_input(given)
    except (pyproj.exceptions.ProjError, TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{shown(said)} is no coordinate system that pyproj knows: give a code such as 'EPSG:2154'"
        ) from error
    code = found.to_authority()
    if code in _CODES:
        return WGS84
    unit = found.axis_info[0].unit_name if found.axis_info else ""
    named = ":".join(code) if code is not None else found.name
    definition = ":".join(code) if code is not None else found.to_json()
    return System(named, definition, bool(found.is_geographic), "m" if unit == "metre" else unit)


def same_system(one: System, other: System) -> bool:
    """Whether two systems are one, whatever the order of axes in their definitions."""
    if one == other:
        return True
    if one.plain or other.plain or one.geographic != other.geographic:
        return False
    import pyproj

    first, second = (pyproj.CRS.from_user_input(system.definition) for system in (one, other))
    return bool(first.equals(second, ignore_axis_order=True))


def agreed_system(said: System | None, given: System | None, where: str) -> System | None:
    """What a table says its system is, or what was given where it says nothing; refused where both differ."""
    if said is not None and given is not None and not same_system(said, given):
        raise InvalidInput(
            f"{where} is in {said}, but {keyword('crs', given.name)} was given: leave it out, or convert the file first"
        )
    return given if said is None else said


def refuse_other_unit(system: System | None, unit: str, name: str) -> None:
    """Refuse coordinates of a system that are taken as they are where their unit is not that of the space."""
    if system is None or unit not in METRES:
        return
    if system.geographic:
        raise InvalidInput(
            f"the coordinates are degrees ({system}), but {name} has coordinates in {unit}: degrees would be taken for "
            f"{unit}; make a box on the Earth (earth_box), or convert the points to a projected system first"
        )
    if system.unit in METRES and METRES[system.unit] != METRES[unit]:
        raise InvalidInput(
            f"the coordinates of {system} are in {system.unit}, but {name} has coordinates in {unit}: make the box in "
            f"{system.unit}, or convert the points first"
        )
