"""What a file says of its points before any of them is read: format, columns, geometries, coordinate system.

Only the beginning of a file is looked at, or its metadata. Which column holds what is told by the file, or by names;
where several could be meant, nothing is chosen.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from sfumato.arguments import file_path
from sfumato.errors import InvalidInput, few
from sfumato.release.crs import WGS84, System, agreed_system, system_of
from sfumato.release.geo_files import DRIVERS, layer_of, pyogrio_module
from sfumato.release.geo_json import collection_system, feature_lines
from sfumato.release.layouts import geometry_columns, geometry_name, schema_layout
from sfumato.release.lines_csv import header_of
from sfumato.release.places import Geometry, Place, Position, in_system
from sfumato.release.streams import format_of_file
from sfumato.release.streams_text import complaints_of_reading, file_blocks
from sfumato.spaces.foreign import ACROSS, LATITUDES, LONGITUDES, UP, named_column

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
        with complaints_of_reading(file, "text"):
            names = header_of(_start(file), ".tsv" in file.suffixes)
        return _by_names(file, kind, names, given)
    if kind in ("jsonl", "geojson"):
        return _of_json(file, kind, given)
    with complaints_of_reading(file, kind.capitalize()):
        schema = pq.read_schema(file) if kind == "parquet" else _arrow_schema(file)
    known = geometry_columns(schema)
    if not known:
        return _by_names(file, kind, schema.names, given)
    column = Geometry(geometry_name(schema.names, Geometry(), known[:1]), crs=given)
    return _found(
        file, kind, schema.names, known, agreed_system(schema_layout(schema, column).system, given, str(file))
    )


def _arrow_schema(file: Path) -> Any:
    with pa.memory_map(str(file)) as mapped:
        whole = mapped.read(6) == b"ARROW1"
        mapped.seek(0)
        return (pa.ipc.open_file(mapped) if whole else pa.ipc.open_stream(mapped)).schema


def _start(file: Path) -> bytes:
    return next(file_blocks(file))[0]


def _found(file: Path, kind: str, names: Any, known: Any, system: System | None, layer: str | None = None) -> Reference:
    """A file whose points are geometries."""
    return Reference(
        file, kind, tuple(names), tuple(known), "" if system is None else system.name,
        None if system is None else system.geographic, "" if system is None else system.unit,
        Geometry(known[0], crs=system), layer=layer,
    )  # fmt: skip


def _by_names(file: Path, kind: str, names: Any, given: System | None) -> Reference:
    """A file whose points are columns of numbers, or of texts, known by their names."""
    try:
        latitude, longitude = (named_column(names, usual, what) for usual, what in
                               ((LATITUDES, "the latitude"), (LONGITUDES, "the longitude")))  # fmt: skip
        across, up = named_column(names, ACROSS, "x"), named_column(names, UP, "y")
        shape = named_column(names, GEOMETRIES, "the geometry") if kind == "csv" else ""
    except InvalidInput as error:
        return _unnamed(file, kind, names, given, str(error))
    found: list[Position] = []
    if latitude and longitude:
        found.append(Place(latitude, longitude))
    if across and up:
        found.append(Position(across, up))
    if shape:
        found.append(Geometry(shape))
    if len(found) != 1:
        several = " and ".join(f"{few(list(column.columns))}" for column in found)
        why = f"{several} could each be the points" if found else f"no column is called like a coordinate: {few(names)}"
        return _unnamed(file, kind, names, given, why)
    column, system = found[0], WGS84 if given is None and isinstance(found[0], Place) else given
    column = column if given is None else in_system(column, given)
    shapes = column.columns if isinstance(column, Geometry) else ()
    return Reference(
        file, kind, tuple(names), tuple(shapes), "" if system is None else system.name,
        None if system is None else system.geographic, "" if system is None else system.unit, column,
    )  # fmt: skip


def _unnamed(file: Path, kind: str, names: Any, given: System | None, why: str) -> Reference:
    crs, angles, unit = ("", None, "") if given is None else (given.name, given.geographic, given.unit)
    return Reference(file, kind, tuple(names), (), crs, angles, unit, None, why)


def _of_ogr(file: Path, kind: str, layer: str | None, given: System | None) -> Reference:
    which = layer_of(file, layer)
    about = pyogrio_module().read_info(file, layer=which)
    name = about.get("geometry_name") or "geometry"
    system = agreed_system(system_of(about["crs"]), given, str(file))
    return _found(file, kind, (*map(str, about["fields"]), name), [name], system, which)


def _of_json(file: Path, kind: str, given: System | None) -> Reference:
    members: list[dict[str, Any]] = []
    with complaints_of_reading(file, "JSON"):
        if kind == "geojson":
            lines = next(feature_lines(iter([(_start(file), False)]), members), (b"", True))[0]
        else:
            lines = _start(file)
        first = next((line for line in lines.split(b"\n") if line.strip()), b"{}")
        record = json.loads(first)
    if not isinstance(record, dict):
        raise InvalidInput(f"{file}: this is no file of JSON objects")
    if "geometry" not in record:
        return _by_names(file, kind, list(record), given)
    system = agreed_system(collection_system(members[0]) if members else WGS84, given, str(file))
    inside = record.get("properties")
    names = [*(inside if isinstance(inside, dict) else (name for name in record if name != "geometry")), "geometry"]
    return _found(file, kind, names, ["geometry"], system)
