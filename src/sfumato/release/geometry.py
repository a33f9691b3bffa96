"""Geometries beside a released place: they hold the true point, so that a release with one of them is refused.

The columns of coordinates are replaced; a column of points beside them (``geometry`` of geopandas, WKB in a GeoParquet
file, GeoJSON in JSON lines, WKT in a CSV file) would tell what they were. It is known by the name of its type, by the
metadata of GeoParquet, or by its values. Where the secret is no place, geometries say nothing about it and stay; with
``keep`` the truth stays anyway.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import InvalidInput, keyword, shown, worded
from sfumato.release.batches import BatchRelease
from sfumato.release.formats.layouts import GEO, extension_name, released_geo
from sfumato.release.places import Geometry
from sfumato.release.telling import shape_of, told_by_names, told_by_type
from sfumato.spaces.foreign import COORDINATES

_ROWS_SEARCHED = 1 << 12  # A first value is looked for in so many rows at a time.


def refuse_geometry_types(kinds: Mapping[str, str], work: BatchRelease) -> None:
    """Refuse columns that stay beside a released place if the name of their type says that they are geometries."""
    _refuse(kinds, lambda name: told_by_type(kinds[name]), work)


def refuse_geometry_schema(schema: Any, work: BatchRelease) -> None:
    """Refuse geometries that the schema of an Arrow table tells of: by their types, or by what GeoParquet says."""
    refuse_coordinates(schema.names, work)
    refuse_geometry_types({field.name: extension_name(field) for field in schema}, work)
    refuse_geo((schema.metadata or {}).get(GEO), schema.names, work)


def refuse_coordinates(names: Iterable[str], work: BatchRelease) -> None:
    """Refuse columns that are called like coordinates beside a released column of points, which often has them.

    Two columns from which geometries were made would tell where they were.
    """
    if isinstance(work.terms.column, Geometry):
        names = list(names)
        telling = told_by_names(name for name in names if name not in work.replaced)
        _refuse(names, lambda name: "coordinates, by its name" if name in telling else "", work)


def refuse_geo(about: Any, names: Iterable[str], work: BatchRelease) -> None:
    """Refuse columns that the metadata of GeoParquet speaks of."""
    if about is not None:
        _refuse(names, lambda name: "geometries" if name in geo_columns(about) else "", work)


def refuse_geometry_columns(table: Any, work: BatchRelease) -> None:
    """Refuse columns of an Arrow table or batch whose first value is a geometry."""
    refuse_geometry_values(table.schema.names, lambda name: _first(table.column(name)), work)
    refuse_told(table.schema.names, table.column, work)


def refuse_told(names: Iterable[str], column: Callable[[str], Any], work: BatchRelease) -> None:
    """Refuse columns that stay if their texts tell places where the released ones lie; ``column`` gives one in Arrow.

    Batches come one after the other, and what was seen in those before counts.
    """
    for name in names if work.lookout is not None else ():
        if name in (*work.replaced, *work.beside, *work.terms.drop):
            continue
        assert work.lookout is not None
        if how := work.lookout.told(name, column(name)):
            raise InvalidInput(
                f"the column {shown(name)} tells places where the released ones lie ({how}), beside the noise: say "
                f"whether it goes, {keyword('drop', name)}, or stays (keep in hide, stay in release)"
            )


def refuse_geometry_values(names: Iterable[str], value: Callable[[str], Any], work: BatchRelease) -> None:
    """Refuse columns by one value of each."""
    _refuse(names, lambda name: shape_of(value(name)), work)


def _refuse(names: Iterable[str], held: Callable[[str], str], work: BatchRelease) -> None:
    """Refuse columns that stay beside a released place; ``held`` says which geometries one of them holds, if any."""
    for name in names if watched(work) else ():
        if name not in (*work.replaced, *work.beside, *work.terms.drop) and (what := held(name)):
            kept = "" if not isinstance(work.terms.column, Geometry) else f", or name it in {_beside()}"
            raise InvalidInput(
                f"the column {shown(name)} holds {what}, which would tell the true places beside the noise: "
                f"drop the column first{kept}"
            )


def refuse_geometry_text(text: bytes, work: BatchRelease) -> None:
    """Refuse WKT, WKB in digits or GeoJSON anywhere in lines of text whose released columns are places."""
    if not watched(work) or any(shape_of(str(label)) for label in work.sampler.secrets or ()):
        return  # labels that are texts of this kind themselves are no sign of another column
    small = text.lower()
    for word, form in _IN_TEXT.items():
        if word in small and (match := form.search(small)) is not None:
            found = text[match.start() : match.end()][:40].decode(errors="replace")
            raise InvalidInput(
                f"a geometry beside the released columns ({found}…) would tell the true places: drop it first"
            )


def refuse_coordinate_keys(text: bytes, work: BatchRelease) -> None:
    """Refuse keys of JSON, at any depth, that are called like coordinates and hold numbers, beside released points."""
    for match in _KEYS.finditer(text):
        name = match[1].decode()
        if name not in work.beside:
            raise InvalidInput(
                f"the key {shown(name)} holds coordinates, by its name, which would tell the true places beside the "
                f"noise: drop it first, or name it in {_beside()}"
            )


def _beside() -> str:
    """How the reader of a message names columns that may stay."""
    return worded("Geometry(…, beside=[…])", "beside")


_KEYS = re.compile(rb'"(' + "|".join(COORDINATES).encode() + rb')"\s*:\s*"?[-+.\d]', re.IGNORECASE)
_SHAPE = rb"\s*(?:zm?|m)?\s*\(+\s*[-+.\d]"
_IN_TEXT = {
    b"point": re.compile(rb"point" + _SHAPE),
    b"string": re.compile(rb"string" + _SHAPE),
    b"polygon": re.compile(rb"polygon" + _SHAPE),
    b"coordinates": re.compile(rb'coordinates\\?"+\s*:\s*\['),
    b"01010000": re.compile(rb"\b01010000[02468ace]0[\da-f]{32}"),
    b"0000000001": re.compile(rb"\b0000000001[\da-f]{32}"),
}
"""What shapes look like in small letters, by a word that each has: looking for the word first is far quicker.

In digits only points are looked for; a released place is one."""


def watched(work: BatchRelease) -> bool:
    """Whether geometries would tell the secret: it is a place, and the truth is not kept on purpose."""
    return work.placed and not work.terms.keep


def geo_columns(about: Any) -> set[str]:
    """The columns that the metadata of GeoParquet speaks of: geometries and boxes around them.

    Examples
    --------
    >>> geo_columns(b'{"primary_column": "home", "columns": {"home": {"encoding": "WKB"}}}')
    {'home'}
    """
    try:
        metadata = about if isinstance(about, Mapping) else json.loads(about)
        columns = dict(metadata.get("columns", {}))
        covering = (column.get("covering") for column in columns.values())
        boxes = {path[0] for box in covering if box for side in box.values() for path in side.values()}
        return {*columns, *boxes, metadata.get("primary_column", "geometry")}
    except (ValueError, TypeError, AttributeError, IndexError, KeyError) as error:
        raise InvalidInput(
            "the metadata 'geo' cannot be read, and may name a column of true places: drop it first"
        ) from error


def geo_anew(schema: Any, work: BatchRelease) -> dict[Any, Any]:
    """What GeoParquet says after a release, without the box around the true places: of released points, and of columns
    of geometries that stay.
    """
    if isinstance(work.terms.column, Geometry) and work.layout is not None:
        stay = (*work.beside, *(work.taken if work.terms.keep else ()))
        return released_geo(schema.metadata, work.layout, work.added[0].name, stay)
    gone = (*work.terms.drop, *(() if work.terms.keep else work.replaced))
    stay = tuple(name for name in schema.names if name not in gone)
    return released_geo(schema.metadata, None, "", stay if not watched(work) else work.beside)


def _first(column: Any) -> Any:
    """The first value that is there, None if there is none, or none that could be a geometry."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_primitive(kind) or pa.types.is_null(kind):
        return None
    for start in range(0, len(column), _ROWS_SEARCHED):
        part = column.slice(start, _ROWS_SEARCHED)
        if part.null_count < len(part):
            return part.filter(pc.is_valid(part))[0].as_py()
    return None
