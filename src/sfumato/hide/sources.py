"""What points come from: a table of any library, or a file; its columns, and its coordinates in batches.

The release itself reads tables and files in its own way (:mod:`sfumato.release`). What stands here finds the columns
before, and reads coordinates for what is paid for: a box or a prior from the data.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from sfumato.arguments import file_path
from sfumato.errors import InvalidInput, NotSupported, few, keyword, shown
from sfumato.hide.wish import Wish
from sfumato.numbers import Floats
from sfumato.release.crs import agreed_system
from sfumato.release.geo_points import read_points
from sfumato.release.geopandas import pandas_layout, wkb_of_series
from sfumato.release.layouts import geometry_columns, schema_layout
from sfumato.release.lines import CellValues
from sfumato.release.lines_csv import header_of
from sfumato.release.places import Geometry, Place, Position, in_system
from sfumato.release.reference import Reference, coordinate_reference
from sfumato.release.rows import TypedValues, Values
from sfumato.spaces.foreign import ACROSS, COORDINATES, LATITUDES, LONGITUDES, UP, named_column
from sfumato.specs.complaints import nearest

_BATCH = 1 << 16
_FIRST_BYTES = 1 << 20  # of a text file, for its header


@dataclass(frozen=True, eq=False)
class Source:
    """A table, or the file of one."""

    table: Any = None
    file: Path | None = None
    layer: str | None = None

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

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return _columns_of_table(self.table) if self.file is None else self.reference.columns

    def values(self, column: Position) -> Iterator[list[Values]]:
        """Both coordinates as they are read, or as degrees where they are in another form."""
        if isinstance(column, Geometry) or column.system is not None:
            for x, y, _ in self.batches(column, []):
                yield [TypedValues(pa.array(values)) for values in (x, y)]
            return
        for batch in self._arrow(column.columns):
            yield [self._values(batch.column(name)) for name in column.columns]

    def batches(self, column: Position, others: Sequence[str]) -> Iterator[tuple[Floats, Floats, list[Values]]]:
        """Both coordinates, degrees where they are places, NaN where there is none; and other columns."""
        if isinstance(column, Geometry):
            for points, batch in self._geometries(column, list(others)):
                yield *points, [self._values(batch.column(name)) for name in others]
            return
        for batch in self._arrow([*column.columns, *others]):
            x, y = (self._values(batch.column(name)).numbers() for name in column.columns)
            both = column.system.degrees(x, y) if column.system is not None else (x, y)
            yield *both, [self._values(batch.column(name)) for name in others]

    def _values(self, array: Any) -> Values:
        """Cells of a text file are texts, whatever they look like."""
        if self.format != "csv":
            return TypedValues(array)
        data = array.buffers()[2]
        texts = np.frombuffer(b"" if data is None else data, dtype=np.uint8)
        offsets = np.frombuffer(array.buffers()[1], dtype=np.int32)[array.offset : array.offset + len(array) + 1]
        ends = offsets.astype(np.int64)
        return CellValues(texts, ends[:-1], ends[1:], False)

    def _geometries(self, column: Geometry, others: list[str]) -> Iterator[tuple[tuple[Floats, Floats], Any]]:
        if hasattr(self.table, "_geometry_column_name"):
            layout = pandas_layout(self.table, column)
            columns = {name: pa.Array.from_pandas(self.table[name]) for name in others}
            whole = pa.table({layout.name: wkb_of_series(self.table[layout.name]), **columns})
            batches: Any = whole.to_batches(_BATCH)
        elif self.format == "parquet":
            layout = schema_layout(pq.read_schema(self.file), column)
            batches = self._arrow([layout.name, *others])
        else:
            raise NotSupported(f"looking at the geometries of {self.name} first", ["GeoParquet", "a GeoDataFrame"])
        system = agreed_system(layout.system, column.system, f"the column {shown(layout.name)}")
        if system is None:
            raise InvalidInput(f"{self.name} does not say its coordinate system: give {keyword('crs')}")
        for batch in batches:
            found = read_points(batch.column(layout.name))
            yield system.degrees(found.x, found.y), batch

    def _arrow(self, names: Sequence[str]) -> Iterator[Any]:
        names = list(dict.fromkeys(names))
        for name in names if self.columns else ():
            if name not in self.columns:
                raise InvalidInput(f"{self.name} has no column {shown(name)}{nearest(name, self.columns)}")
        if self.file is None:
            frame: Any = nw.from_native(self.table)
            frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
            yield from frame.select(*names).to_arrow().to_batches(_BATCH)
        elif self.format == "parquet":
            with pq.ParquetFile(self.file) as file:
                yield from file.iter_batches(_BATCH, columns=names)
        elif self.format == "csv":
            yield from self._csv(names)
        else:
            raise NotSupported(f"looking at the data of {self.file.name} first", ["CSV", "Parquet", "a table"])

    def _csv(self, names: list[str]) -> Iterator[Any]:
        assert self.file is not None
        texts = {name: pa.string() for name in names}
        try:
            yield from pyarrow.csv.open_csv(
                self.file,
                parse_options=pyarrow.csv.ParseOptions(delimiter=_delimiter(self.file), newlines_in_values=True),
                convert_options=pyarrow.csv.ConvertOptions(include_columns=names, column_types=texts),
            )
        except pa.ArrowInvalid as error:
            raise InvalidInput(f"{self.file} cannot be read: {str(error)[:200]}") from error


def source_of(given: Any, layer: str | None = None) -> Source:
    """A path is a file; anything else is a table."""
    if not isinstance(given, str | PathLike):
        return Source(table=given)
    file = file_path(given, "the source")
    if not file.is_file():
        raise InvalidInput(f"there is no file {file}")
    return Source(file=file, layer=layer)


def _delimiter(file: Path) -> str:
    """What stands between the cells of a CSV file: what makes as many of its first line as it has names."""
    with pa.input_stream(str(file), compression="detect") as stream:
        head = stream.read(_FIRST_BYTES)
    names = header_of(head, ".tsv" in file.suffixes)
    first = io.StringIO(head.decode("utf-8-sig", "replace"))
    return next(
        (
            mark
            for mark in ",;\t|"
            if len(next(csv.reader(io.StringIO(first.getvalue()), delimiter=mark), [])) == len(names)
        ),
        ",",
    )


def _columns_of_table(table: Any) -> tuple[str, ...]:
    names = getattr(table, "column_names", None) or getattr(table, "columns", None)
    if (names is None or callable(names)) and hasattr(table, "schema"):
        names = table.schema.names
    return tuple(name for name in names if isinstance(name, str)) if names is not None else ()


def refuse_other_coordinates(source: Source, column: Position) -> None:
    """Refuse a table in which other columns are called like coordinates: they would stay, and tell where points are."""
    if isinstance(column, Geometry) or not {*column.columns} <= {*source.columns}:
        return  # a release looks for itself, or misses a column
    others = [name for name in source.columns if name.lower() in COORDINATES and name not in column.columns]
    if others:
        raise InvalidInput(
            f"{few(others)} would stay beside the released {few(list(column.columns))}, and by the name it tells where "
            "points are: drop or rename it first"
        )


def column_of(source: Source, wish: Wish) -> Position:
    """The columns that hold points: as they are named, or by their usual names."""
    column: Position | None = None
    if wish.geometry is not None:
        column = Geometry(wish.geometry)
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
        return Geometry(reference.geometries[0]) if reference.geometries else reference.column
    schema = getattr(source.table, "schema", None)
    if hasattr(source.table, "_geometry_column_name") or (isinstance(schema, pa.Schema) and geometry_columns(schema)):
        return Geometry()
    how = f"say which with {which}"
    usual = {"lat": LATITUDES, "lon": LONGITUDES, "x": ACROSS, "y": UP}
    names = {option: named_column(source.columns, words, option, how) for option, words in usual.items()}
    place, plane = names["lat"] and names["lon"], names["x"] and names["y"]
    if bool(place) == bool(plane):
        several = "could each be the points" if place else "hold no coordinates by their names"
        listed = ", ".join(source.columns[:12]) + (", …" if len(source.columns) > 12 else "")
        raise InvalidInput(f"the columns {listed} {several}: {how}")
    return Place(names["lat"], names["lon"]) if place else Position(names["x"], names["y"])


def _options(first: str, second: str) -> str:
    return f"{keyword(first)} and {keyword(second)}"
