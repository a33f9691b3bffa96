"""What a file says of its points before any of them is read: format, columns, geometries, coordinate system.

Only the beginning of a file is looked at, or its metadata. Which column holds what is told by the file, or by names;
where several could be meant, nothing is chosen.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from sfumato.arguments import file_path
from sfumato.errors import InvalidInput, few
from sfumato.release.crs import WGS84, System, agreed_system, system_of
from sfumato.release.formats.geo_files import DRIVERS, layer_of
from sfumato.release.formats.geo_json import collection_system, feature_columns, feature_lines, is_feature
from sfumato.release.formats.layouts import geometry_columns, geometry_name, schema_layout
from sfumato.release.formats.reading import complaints_of_reading, csv_names, file_schema, first_block
from sfumato.release.places import Geometry, Place, Position, in_system
from sfumato.release.streams import format_of_file
from sfumato.spaces.foreign import ACROSS, LATITUDES, LONGITUDES, UP, named_column
from sfumato.spaces.libraries import pyogrio_library

GEOMETRIES = ("geometry", "geom", "wkt", "the_geom", "wkb_geometry", "shape")
"""Names of columns that hold geometries as texts, in small letters."""


@dataclass(frozen=True)
class Reference:
    """What a file says of its points; made by :func:`coordinate_reference`.

    Parameters
    ----------
    file, format
        Its place, and one of :data:`sfumato.release.streams.FORMATS`.
    columns
        The names of its columns; those of the first feature in GeoJSON.
    geometries
        Those that hold geometries, the main one first.
    crs
        The name of the coordinate system, such as ``EPSG:2154``; empty where the file says nothing.
    geographic
        Whether coordinates are angles; None where that is not known.
    unit
        That of the coordinates; empty where it is not known.
    column
        What releases the points: ``Geometry(…)``, ``Place(…)`` or ``Position(…)``; None where no column, or more than
        one, could be meant. ``why`` then says so.
    layer
        Of a GeoPackage.
    """

    file: Path
    format: str
    columns: tuple[str, ...]
    geometries: tuple[str, ...] = ()
    crs: str = ""
    geographic: bool | None = None
    unit: str = ""
    column: Position | None = None
    why: str = ""
    layer: str | None = None

    @property
    def left(self) -> tuple[str, ...]:
        """The columns that are not released."""
        taken = () if self.column is None else self.column.columns
        return tuple(name for name in self.columns if name not in taken)


def coordinate_reference(source: str | PathLike[str], *, crs: Any = None, layer: str | None = None) -> Reference:
    """What a file says of its points, without reading all of it.

    Parameters
    ----------
    source
        A file of points: CSV, JSON lines, GeoJSON, Parquet or GeoParquet, Arrow, GeoPackage, Shapefile.
    crs
        The coordinate system where the file does not say it; refused where it says another one.
    layer
        Of a GeoPackage that has several.
    """
    file = file_path(source, "the source")
    if not file.is_file():
        raise InvalidInput(f"there is no file {file}")
    kind = format_of_file(file)
    given = system_of(crs)
    if kind in DRIVERS:
        return _of_ogr(file, kind, layer, given)
    if kind == "csv":
        return _by_names(file, kind, csv_names(file), given)
    if kind in ("jsonl", "geojson"):
        return _of_json(file, kind, given)
    schema = file_schema(file, kind)
    known = geometry_columns(schema)
    if not known:
        return _by_names(file, kind, schema.names, given)
    column = Geometry(geometry_name(schema.names, Geometry(), known[:1]), crs=given)
    system = agreed_system(schema_layout(schema, column).system, given, str(file))
    return _reference(file, kind, schema.names, system, Geometry(known[0], crs=system), known)


def _reference(
    file: Path, kind: str, names: Any, system: System | None, column: Position | None, known: Any = (), **more: Any
) -> Reference:
    """What a file says, with what is to be told of its system; ``known`` are its geometries."""
    crs, angles, unit = ("", None, "") if system is None else (system.name, system.geographic, system.unit)
    return Reference(file, kind, tuple(names), tuple(known), crs, angles, unit, column, **more)


def _by_names(file: Path, kind: str, names: Any, given: System | None) -> Reference:
    """A file whose points are columns of numbers, or of texts, known by their names."""
    found: list[Position] = []
    try:
        for inside in (False, True):  # usual names come before those that have one as a part
            named = partial(named_column, names, inside=inside)
            latitude, longitude = named(LATITUDES, "the latitude"), named(LONGITUDES, "the longitude")
            across, up = named(ACROSS, "x"), named(UP, "y")
            shape = named(GEOMETRIES, "the geometry") if kind == "csv" else ""
            found += [Place(latitude, longitude)] if latitude and longitude else []
            found += [Position(across, up)] if across and up else []
            found += [Geometry(shape)] if shape else []
            if found:
                break
    except InvalidInput as error:
        return _reference(file, kind, names, given, None, why=str(error))
    if len(found) != 1:
        several = " and ".join(f"{few(list(column.columns))}" for column in found)
        why = f"{several} could each be the points" if found else f"no column is called like a coordinate: {few(names)}"
        return _reference(file, kind, names, given, None, why=why)
    column, system = found[0], WGS84 if given is None and isinstance(found[0], Place) else given
    column = column if given is None else in_system(column, given)
    return _reference(file, kind, names, system, column, column.columns if isinstance(column, Geometry) else ())


def _of_ogr(file: Path, kind: str, layer: str | None, given: System | None) -> Reference:
    which = layer_of(file, layer)
    about = pyogrio_library().read_info(file, layer=which)
    name = about.get("geometry_name") or "geometry"
    system = agreed_system(system_of(about["crs"]), given, str(file))
    names, column = (*map(str, about["fields"]), name), Geometry(name, crs=system)
    return _reference(file, kind, names, system, column, [name], layer=which)


def _of_json(file: Path, kind: str, given: System | None) -> Reference:
    members: list[dict[str, Any]] = []
    with complaints_of_reading(file, "JSON"):
        if kind == "geojson":
            lines = next(feature_lines(iter([(first_block(file), False)]), members), (b"", True))[0]
        else:
            lines = first_block(file)
        first = next((line for line in lines.split(b"\n") if line.strip()), b"{}")
        record = json.loads(first)
    if not isinstance(record, dict):
        raise InvalidInput(f"{file}: this is no file of JSON objects")
    if "geometry" not in record:
        return _by_names(file, kind, list(record), given)
    system = agreed_system(collection_system(members[0]) if members else WGS84, given, str(file))
    names = [*(feature_columns(record) if is_feature(record) else (name for name in record if name != "geometry"))]
    names.append("geometry")
    return _reference(file, kind, names, system, Geometry(crs=system), ["geometry"])
