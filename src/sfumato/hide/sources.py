"""What points come from: a table of any library, or a file; its columns, and its coordinates in batches.

The release itself reads tables and files in its own way (:mod:`sfumato.release`). What stands here finds the columns
before, and reads coordinates for what is paid for: a box or a prior from the data.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.arguments import file_path
from sfumato.errors import InvalidInput, keyword, shown
from sfumato.hide.wish import Wish
from sfumato.numbers import Floats
from sfumato.release.crs import System, agreed_system, system_of
from sfumato.release.formats.geo_points import FINE, HEIGHT, read_geojson, read_points
from sfumato.release.formats.geopandas import holds_shapes, pandas_layout, wkb_of_series
from sfumato.release.formats.layouts import geometry_columns, geometry_name, schema_layout
from sfumato.release.formats.lines import CellValues
from sfumato.release.formats.reading import BATCH, check_decimal, file_batches, file_decimal
from sfumato.release.places import Geometry, Place, Position, SeveralPlaces, in_system
from sfumato.release.reference import Reference, coordinate_reference
from sfumato.release.rows import TypedValues, Values
from sfumato.spaces.foreign import ACROSS, LATITUDES, LONGITUDES, UP, named_column
from sfumato.specs.complaints import nearest


@dataclass(frozen=True, eq=False)
class Source:
    """A table, or the file of one."""

    table: Any = None
    file: Path | None = None
    layer: str | None = None
    decimal: str | None = None
    """What stands before the decimals of coordinates in a CSV file, as far as it is known."""
    back: Callable[[Any], Any] = lambda table: table
    """Makes what was given of a released table."""

    @property
    def name(self) -> str:
        """How messages call it."""
        return "the table" if self.file is None else str(self.file)

    @cached_property
    def reference(self) -> Reference:
        """What a file says of its points."""
        assert self.file is not None
        return coordinate_reference(self.file, layer=self.layer)

    @property
    def format(self) -> str:
        """That of a file, empty for a table."""
        return "" if self.file is None else self.reference.format

    @property
    def is_json(self) -> bool:
        """Whether each row says which columns it has."""
        return self.format in ("geojson", "jsonl")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        if self.file is not None:
            first = self.reference.columns  # of JSON those of one row
            return (*dict.fromkeys([*first, *self.head().column_names]),) if self.is_json else first
        names = getattr(self.table, "column_names", None) or getattr(self.table, "columns", None)
        if (names is None or callable(names)) and hasattr(self.table, "schema"):
            names = self.table.schema.names
        return () if names is None else tuple(name for name in names if isinstance(name, str))

    def require(self, names: Sequence[str]) -> None:
        """Refuse names of columns that are not there."""
        for name in names if self.columns else ():
            if name not in self.columns:
                raise InvalidInput(f"{self.name} has no column {shown(name)}{nearest(name, self.columns)}")

    def batches(self, column: Position, others: Sequence[str]) -> Iterator[tuple[Floats, Floats, list[Values]]]:
        """Both coordinates, degrees where they are places, NaN where there is none; and other columns."""
        for x, y, system, beside in self._read(column, others):
            yield *(system.degrees(x, y) if system is not None else (x, y)), beside

    def first_points(self, column: Position) -> tuple[Floats, Floats, System | None]:
        """Coordinates of the first rows as they are written, to the east first, and their system if one is said."""
        for x, y, system, _ in self._read(column, []):
            return (y, x, system) if isinstance(column, Place) and system is None else (x, y, system)
        return np.empty(0), np.empty(0), column.system

    def first_degrees(self, column: Position) -> tuple[Floats, Floats]:
        """Latitudes and longitudes of the first rows."""
        for latitude, longitude, _ in self.batches(column, []):
            return latitude, longitude
        return np.empty(0), np.empty(0)

    def _read(
        self, column: Position, others: Sequence[str]
    ) -> Iterator[tuple[Floats, Floats, System | None, list[Values]]]:
        """Both coordinates as they are written, the system that they are in, and other columns."""
        if isinstance(column, Geometry):
            for x, y, system, batch in self._geometries(column, list(others)):
                yield x, y, system, [self._values(batch.column(name)) for name in others]
            return
        for batch in self._arrow([*column.columns, *others]):
            x, y = (self._values(batch.column(name)).numbers() for name in column.columns)
            if isinstance(column, Place) and column.system is not None:  # which has longitude first
                x, y = y, x
            yield x, y, column.system, [self._values(batch.column(name)) for name in others]

    def _values(self, array: Any) -> Values:
        """Cells of a text file are texts, whatever they look like."""
        if self.format != "csv":
            return TypedValues(array)
        data = array.buffers()[2]
        texts = np.frombuffer(b"" if data is None else data, dtype=np.uint8)
        offsets = np.frombuffer(array.buffers()[1], dtype=np.int32)[array.offset : array.offset + len(array) + 1]
        ends = offsets.astype(np.int64)
        return CellValues(texts, ends[:-1], ends[1:], False, self.decimal or ".")

    def _geometries(self, column: Geometry, others: list[str]) -> Iterator[tuple[Floats, Floats, System, Any]]:
        """Points, their system, and the batch that they came with."""
        name, said, batches = self._shapes(column, others)
        system = agreed_system(said, column.system, f"the column {shown(name)}")
        if system is None:
            raise InvalidInput(f"{self.name} does not say its coordinate system: give {keyword('crs')}")
        for batch in batches:
            shapes = batch.column(name)
            found = read_geojson(shapes) if self.format in ("geojson", "jsonl") else read_points(shapes)
            fine = (found.codes == FINE) | (found.codes == HEIGHT)
            x, y = (np.where(fine, along, np.nan) for along in (found.x, found.y))
            yield x, y, system, batch

    def _shapes(self, column: Geometry, others: list[str]) -> tuple[str, System | None, Iterator[Any]]:
        """The column of geometries, its system as far as the source says one, and rows that have it."""
        if self.file is None and nw.dependencies.is_pandas_dataframe(self.table):
            layout = pandas_layout(self.table, column)
            columns = {name: pa.Array.from_pandas(self.table[name]) for name in others}
            series = self.table[layout.name]
            shapes = wkb_of_series(series) if layout.form == "shapely" else pa.Array.from_pandas(series)
            whole = pa.table({layout.name: shapes, **columns})
            return layout.name, layout.system, iter(whole.to_batches(BATCH))
        if self.file is not None and self.format not in ("parquet", "arrow"):
            known = self.reference.geometries
            name = geometry_name(self.columns, column, known)
            return name, system_of(self.reference.crs or None), self._arrow([name, *others])
        layout = schema_layout(self.schema, column)
        return layout.name, layout.system, self._arrow([layout.name, *others])

    @cached_property
    def schema(self) -> Any:
        """That of Arrow, of what has one."""
        if self.file is not None:
            return next(file_batches(self.file, self.format, None, self.layer)).schema
        schema = getattr(self.table, "schema", None)
        return schema if isinstance(schema, pa.Schema) else self.head(1).schema

    def head(self, rows: int = BATCH) -> Any:
        """The first rows with all columns, as a table of Arrow."""
        if self.file is not None:
            parts, many = [], 0
            for batch in file_batches(self.file, self.format, None, self.layer):
                parts.append(batch)
                many += len(batch)
                if many >= rows:
                    break
            first = _together(parts).slice(0, rows)
            return _with_points(first) if self.decimal == "," else first
        if nw.dependencies.is_pandas_dataframe(self.table):
            return arrow_of_pandas(self.table.iloc[:rows])
        frame: Any = nw.from_native(self.table).head(rows)
        return (frame.collect() if isinstance(frame, nw.LazyFrame) else frame).to_arrow()

    def _arrow(self, names: Sequence[str]) -> Iterator[Any]:
        names = list(dict.fromkeys(names))
        self.require(names)
        if self.file is None:
            frame: Any = nw.from_native(self.table)
            frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
            yield from frame.select(*names).to_arrow().to_batches(BATCH)
        else:
            yield from file_batches(self.file, self.format, names, self.layer)


def _together(parts: list[Any]) -> Any:
    """Batches as one table; those of JSON may have other columns each, and of other types."""
    tables = [pa.Table.from_batches([part]) for part in parts]
    try:
        return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.concat_tables([_in_texts(table) for table in tables], promote_options="permissive")


def _with_points(table: Any) -> Any:
    """Numbers with decimal commas as numbers with points, for whoever looks at what other columns hold."""
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if pa.types.is_string(column.type):
            number = pc.match_substring_regex(column, r"^\s*[+-]?[0-9]*,[0-9]+\s*$")
            fresh = pc.if_else(number, pc.replace_substring(column, ",", "."), column)
            table = table.set_column(place, name, fresh)
    return table


def _in_texts(table: Any) -> Any:
    """All columns as texts."""
    columns = [
        pa.array(
            [value if value is None or isinstance(value, str) else json.dumps(value) for value in column.to_pylist()],
            pa.string(),
        )
        for column in table.columns
    ]
    return pa.table(columns, schema=pa.schema([field.with_type(pa.string()) for field in table.schema]))


def arrow_of_pandas(frame: Any) -> Any:
    """A frame as Arrow has it: shapes as WKB, row names that are more than numbers as columns, objects as texts."""
    columns: dict[str, Any] = {}
    for name in frame.columns:
        series = frame[name]
        columns[str(name)] = (
            wkb_of_series(series) if str(series.dtype) == "geometry" or holds_shapes(series) else _of_series(series)
        )
    index = frame.index
    if type(index).__name__ != "RangeIndex":
        for level in range(index.nlevels):
            label = f"index {index.names[level]}" if index.names[level] is not None else "index"
            columns[label] = _of_series(index.get_level_values(level).to_series())
    return pa.table(columns)


def _of_series(series: Any) -> Any:
    try:
        return pa.Array.from_pandas(series)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([None if value is None else str(value) for value in series])


def source_of(given: Any, layer: str | None = None, decimal: str | None = None) -> Source:
    """A path is a file; anything else is a table."""
    decimal = check_decimal(decimal)
    if not isinstance(given, str | PathLike):
        if decimal is not None:
            raise InvalidInput(f"{keyword('decimal')} is for CSV files: a table has numbers")
        return _of_table(given)
    file = file_path(given, "the source")
    if not file.is_file():
        raise InvalidInput(f"there is no file {file}")
    source = Source(file=file, layer=layer, decimal=decimal)
    if decimal is not None and source.format != "csv":
        raise InvalidInput(f"{keyword('decimal')} is for CSV files, and {file.name} is none")
    return source


def with_decimal(source: Source, column: Position) -> Source:
    """The same, which knows what stands before the decimals of coordinates, in a CSV file that has such columns."""
    if source.file is None or source.format != "csv" or isinstance(column, Geometry) or source.decimal is not None:
        return source
    return replace(source, decimal=file_decimal(source.file, column.columns, degrees=isinstance(column, Place)))


def _of_table(given: Any) -> Source:
    """A table that can be looked at twice; what is lazy is collected here, once, and comes back as what it was."""
    if nw.dependencies.is_polars_lazyframe(given):
        return Source(table=given.collect(), back=lambda table: table.lazy())
    if isinstance(given, pa.RecordBatchReader):
        return Source(table=given.read_all(), back=lambda table: table.to_reader())
    datasets = sys.modules.get("pyarrow.dataset")  # who has a dataset has loaded it
    if datasets is not None and isinstance(given, datasets.Dataset):
        return Source(table=given.to_table(), back=datasets.dataset)
    if isinstance(given, nw.DataFrame | nw.LazyFrame):
        inner = _of_table(given.to_native())
        return Source(table=inner.table, back=lambda table: nw.from_native(inner.back(table)))
    return Source(table=given)


def position_of(source: Source, wish: Wish) -> Position:
    """The columns that hold points: as they are named, or by their usual names. Heights, which tell places, go."""
    column: Position | None = None
    if wish.places is not None:
        column = SeveralPlaces(wish.places)
    elif wish.geometry is not None:
        column = Geometry(wish.geometry, drop_z=True)
    elif wish.lat is not None and wish.lon is not None:
        column = Place(wish.lat, wish.lon)
    elif wish.x is not None and wish.y is not None:
        column = Position(wish.x, wish.y)
    else:
        column = _found(source)
    return column if wish.crs is None else in_system(column, wish.crs)


def _found(source: Source) -> Position:
    """The columns that hold points by what a file says, or by their names."""
    which = f"{_options('lat', 'lon')}, {_options('x', 'y')}, or {keyword('geometry')}"
    if source.file is not None:
        reference = source.reference
        if reference.column is None:
            raise InvalidInput(f"{source.file}: {reference.why}; say which with {which}")
        return Geometry(reference.geometries[0], drop_z=True) if reference.geometries else reference.column
    schema = getattr(source.table, "schema", None)
    if hasattr(source.table, "_geometry_column_name") or (isinstance(schema, pa.Schema) and geometry_columns(schema)):
        return Geometry(drop_z=True)
    how = f"say which with {which}"
    usual = {"lat": LATITUDES, "lon": LONGITUDES, "x": ACROSS, "y": UP}
    for inside in (False, True):  # usual names come before those that have one as a part
        names = {
            option: named_column(source.columns, words, option, how, inside=inside) for option, words in usual.items()
        }
        place, plane = names["lat"] and names["lon"], names["x"] and names["y"]
        if place or plane:
            break
    if bool(place) == bool(plane):
        several = "could each be the points" if place else "hold no coordinates by their names"
        listed = ", ".join(source.columns[:12]) + (", …" if len(source.columns) > 12 else "")
        raise InvalidInput(f"the columns {listed} {several}: {how}")
    return Place(names["lat"], names["lon"]) if place else Position(names["x"], names["y"])


def _options(first: str, second: str) -> str:
    return f"{keyword(first)} and {keyword(second)}"
