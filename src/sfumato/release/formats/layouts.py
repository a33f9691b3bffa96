"""How a table holds a column of points: under which name, in which coordinate system, with which boxes around them.

GeoParquet says it in its metadata, GeoArrow in the type of the column, geopandas in the column itself. What none of
them says is unknown, and not guessed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sfumato.errors import InvalidInput, few, shown, worded
from sfumato.release.crs import WGS84, System, agreed_system, system_of
from sfumato.release.foreign import is_bytes, is_text
from sfumato.release.places import Geometry

GEO = b"geo"
"""The key of GeoParquet in the metadata of a schema: names of columns, and a box around the true points."""

EXTENSION, ABOUT = b"ARROW:extension:name", b"ARROW:extension:metadata"
"""The keys under which a field says that it is of an extension type, and which parameters that has."""

_POINTS = ("geoarrow.point", "geoarrow.wkb", "geoarrow.wkt", "ogc.wkb", "geoarrow.geometry")
_EDGES = ("planar", "spherical", "vincenty", "thomas", "andoyer", "karney")
_ENCODINGS = ("WKB", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon")
_CORNERS = ("xmin", "ymin", "xmax", "ymax")

Paths = Mapping[str, str]
"""The fields of a record that hold the sides of a box, by the side."""


@dataclass(frozen=True)
class PointLayout:
    """A column of points in a table.

    Parameters
    ----------
    name
        Of the column.
    system
        The coordinate system that the table says, None where it says nothing.
    boxes
        Columns that hold the box around each point, and under which names their sides.
    form
        ``"arrow"`` for the types of Arrow, ``"wkt"`` or ``"geojson"`` for texts of a file, ``"shapely"`` for geopandas.
    """

    name: str
    system: System | None = None
    boxes: tuple[tuple[str, Paths], ...] = ()
    form: str = "arrow"


def geo_metadata(metadata: Mapping[Any, Any] | None) -> dict[str, Any] | None:
    """What GeoParquet says about the columns of a table, None where it says nothing."""
    about = (metadata or {}).get(GEO)
    if about is None:
        return None
    try:
        found = json.loads(about)
        columns = found["columns"]
        if not all(isinstance(value, dict) for value in (found, columns, *columns.values())):
            raise TypeError
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidInput("the metadata 'geo' cannot be read: write the file again, or drop its metadata") from error
    return dict(found)


def schema_layout(schema: Any, column: Geometry) -> PointLayout:
    """How an Arrow table holds the points of a column."""
    geo = geo_metadata(schema.metadata)
    name = geometry_name(schema.names, column, geometry_columns(schema))
    field = schema.field(name)
    extension = extension_name(field)
    if extension and extension not in _POINTS:
        raise InvalidInput(f"the column {shown(name)} holds {extension}, not points: convert it first")
    if not extension and not _could_hold_points(field.type):
        raise InvalidInput(
            f"the column {shown(name)} holds {field.type}: points are geometries, WKB, WKT, or records of x and y"
        )
    said, about = _said(field), (geo or {}).get("columns", {}).get(name)
    if about is not None:
        if "encoding" in about and str(about["encoding"]) not in ("WKB", "point"):
            raise InvalidInput(f"the column {shown(name)} holds shapes ({about['encoding']}), not points")
        in_file = system_of(about["crs"]) if "crs" in about else WGS84  # which is what GeoParquet means by nothing
        said = agreed_system(in_file, said, f"the column {shown(name)}")
    return PointLayout(name, said, _boxes_of(about or {}, schema))


def geometry_columns(schema: Any) -> list[str]:
    """The columns of geometries that a schema tells of, the primary one first."""
    geo = geo_metadata(schema.metadata) or {}
    first = geo.get("primary_column")
    known = [name for name in schema.names if name in geo.get("columns", {})]
    known += [field.name for field in schema if extension_name(field) in _POINTS and field.name not in known]
    return sorted(known, key=lambda name: name != first)


def geometry_name(names: Sequence[str], column: Geometry, known: Sequence[str]) -> str:
    """The name of the column that is meant: its own, or the one of geometries where none has the usual name."""
    name = column.columns[0]
    if name in names or name != "geometry" or not known:
        if name not in names:
            hint = f"; geometries are in {few(list(known))}" if known else f": there are {few(list(names))}"
            raise InvalidInput(f"there is no column {shown(name)}{hint}")
        return name
    if len(known) > 1:
        which = worded(f"Geometry({shown(known[0])})", "geometry")
        raise InvalidInput(f"{few(list(known))} are geometries: say which is released, {which}")
    return known[0]


def extension_name(field: Any) -> str:
    """The name of the extension type of a field, registered or not; empty if it has none."""
    if isinstance(field.type, pa.BaseExtensionType):
        return str(field.type.extension_name)
    return bytes((field.metadata or {}).get(EXTENSION, b"")).decode(errors="replace")


def _could_hold_points(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_struct(kind):
        return {"x", "y"} <= {field.name for field in kind}
    return is_bytes(kind) or is_text(kind) or bool(pa.types.is_fixed_size_list(kind))


def _said(field: Any) -> System | None:
    """What GeoArrow says about the system of a column."""
    serialized = getattr(field.type, "__arrow_ext_serialize__", None)
    about = serialized() if serialized is not None else (field.metadata or {}).get(ABOUT)
    if not about:
        return None
    try:
        found = json.loads(about)
        crs = found.get("crs")
    except (ValueError, AttributeError) as error:
        raise InvalidInput(f"what GeoArrow says about the column {shown(field.name)} cannot be read") from error
    return system_of(crs)


def _boxes_of(about: Mapping[str, Any], schema: Any) -> tuple[tuple[str, Paths], ...]:
    """The columns of boxes around points, with the names of their sides."""
    boxes = []
    try:
        for box in (about.get("covering") or {}).values():
            paths = {side: [str(part) for part in path] for side, path in box.items()}
            (name,) = {path[0] for path in paths.values()}
            if name in schema.names:
                boxes.append((name, {path[1]: side for side, path in paths.items() if side in _CORNERS}))
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise InvalidInput(
            "the boxes that the metadata 'geo' names (covering) cannot be read: drop these columns first"
        ) from error
    return tuple(boxes)


def released_field(name: str, kind: Any, before: Any) -> Any:
    """The field of released points: its type, and what GeoArrow said that is no more than a system."""
    extension = (before.metadata or {}).get(EXTENSION)
    if extension is None:
        return pa.field(name, kind, nullable=before.nullable)
    about = geoarrow_anew(before.metadata.get(ABOUT), before.name)
    return pa.field(name, kind, nullable=before.nullable, metadata={EXTENSION: extension, ABOUT: about})


def geoarrow_anew(about: bytes | None, name: str) -> bytes:
    """What GeoArrow says of a column: its system, written anew, and its edges.

    Examples
    --------
    >>> geoarrow_anew(b'{"crs": "OGC:CRS84", "edges": "spherical", "note": "of Atlantis"}', "home")
    b'{"crs": "EPSG:4326", "crs_type": "authority_code", "edges": "spherical"}'
    """
    try:
        found = dict(json.loads(about or b"{}"))
    except (ValueError, TypeError) as error:
        raise InvalidInput(f"what GeoArrow says about the column {shown(name)} cannot be read") from error
    made: dict[str, Any] = {}
    system = system_of(found.get("crs"))
    if system is not None:
        code = isinstance(found["crs"], str) and system.coded
        written = system.name if code else system.projjson()
        made["crs"] = system.name if written is None else written
        made["crs_type"] = "projjson" if isinstance(made["crs"], dict) else "authority_code"
    if found.get("edges") in _EDGES:
        made["edges"] = found["edges"]
    return json.dumps(made).encode()


def released_geo(
    metadata: Mapping[Any, Any] | None, layout: PointLayout | None, name: str, stay: Sequence[str]
) -> dict[Any, Any]:
    """What GeoParquet says of the columns after a release: nothing of where the points are, and no notes.

    ``name`` is the column of released points, where the release is about a ``layout`` of points; ``stay`` are columns
    of geometries that stay.
    """
    about = geo_metadata(metadata)
    if about is None:
        return {}
    columns = {other: _column_anew(about["columns"][other]) for other in stay if other in about["columns"]}
    if layout is not None:
        before = about["columns"].get(layout.name, {})
        point = _column_anew(before) | {"geometry_types": ["Point"]}
        if layout.boxes and "covering" in before:
            point["covering"] = {"bbox": _covering(*layout.boxes[0])}
        columns = {name: point} | columns
    primary = about.get("primary_column")
    if not columns:
        return {}
    geo = {"version": "1.1.0", "primary_column": primary if primary in columns else next(iter(columns)),
           "columns": columns}  # fmt: skip
    return {GEO: json.dumps(geo).encode()}


def _covering(box: str, paths: Paths) -> dict[str, list[str]]:
    """Where the sides of the boxes around released points stand."""
    return {side: [box, path] for path, side in paths.items()}


def _column_anew(about: Mapping[str, Any]) -> dict[str, Any]:
    """What GeoParquet says of one column: its encoding, system and edges, each one of a few words or written anew."""
    encoding = about.get("encoding", "WKB")
    made: dict[str, Any] = {"encoding": encoding if encoding in _ENCODINGS else "WKB", "geometry_types": []}
    if "crs" in about:
        system = system_of(about["crs"])
        written = None if system is None else system.projjson()
        if system is None or written is not None:  # what is not said is WGS 84, which needs no words
            made["crs"] = written
    if about.get("edges") in _EDGES:
        made["edges"] = about["edges"]
    if about.get("orientation") == "counterclockwise":
        made["orientation"] = "counterclockwise"
    if isinstance(about.get("epoch"), int | float):
        made["epoch"] = about["epoch"]
    return made
