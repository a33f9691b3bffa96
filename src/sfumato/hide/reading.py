"""Files of points in batches of Arrow, whatever their format: what is looked at before a release, or paid for.

Cells of CSV files are texts, whatever they look like. Features of GeoJSON are one row each: their properties, and the
geometry as the text that stands there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from sfumato.errors import InvalidInput
from sfumato.release.geo_files import DRIVERS, layer_batches
from sfumato.release.geo_json import feature_columns, feature_lines, foreign_members, is_feature
from sfumato.release.lines_csv import csv_header
from sfumato.release.streams_text import arrow_file, delimiter_of, file_blocks, first_block, reading

BATCH = 1 << 16
"""Rows of a batch."""

MEMBER = b"member"
"""The key of metadata by which a column is known as a foreign member of features."""

_AS_WE_SAY = {"wkb_geometry": "geometry"}  # what a Shapefile, whose geometries have no name, calls them in Arrow


def file_batches(file: Path, kind: str, names: Sequence[str] | None, layer: str | None = None) -> Iterator[Any]:
    """The rows of a file: the columns of these names, or all of them."""
    wanted = None if names is None else list(dict.fromkeys(names))
    if kind == "parquet":
        with pq.ParquetFile(file) as rows:
            yield from reading(file, "Parquet", rows.iter_batches(BATCH, columns=wanted))
    elif kind == "csv":
        yield from _csv(file, wanted)
    elif kind == "arrow":
        yield from _arrow(file, wanted)
    elif kind in DRIVERS:
        with layer_batches(file, layer, BATCH) as rows:
            for batch in rows:
                named = batch.rename_columns([_AS_WE_SAY.get(name, name) for name in batch.schema.names])
                yield named if wanted is None else named.select(wanted)
    else:
        yield from _json(file, kind, wanted)


def _csv(file: Path, wanted: list[str] | None) -> Iterator[Any]:
    header = csv_header(first_block(file), delimiter_of(file), final=True)
    assert header is not None
    texts = {name: pa.string() for name in header.names}
    try:
        yield from pyarrow.csv.open_csv(
            file,
            parse_options=pyarrow.csv.ParseOptions(delimiter=header.delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(include_columns=wanted, column_types=texts),
        )
    except pa.ArrowInvalid as error:
        raise InvalidInput(f"{file} cannot be read: {str(error)[:200]}") from error


def _arrow(file: Path, wanted: list[str] | None) -> Iterator[Any]:
    with arrow_file(file) as found:
        for batch in found.batches:
            for first in range(0, len(batch), BATCH):
                part = batch.slice(first, BATCH)
                yield part if wanted is None else part.select(wanted)


def _json(file: Path, kind: str, wanted: list[str] | None) -> Iterator[Any]:
    """Objects of JSON lines, or features of a collection, as rows."""
    blocks = file_blocks(file)
    lines = feature_lines(blocks, []) if kind == "geojson" else blocks
    rest = b""
    for block, final in reading(file, "text", lines):
        *whole, rest = (rest + block).split(b"\n")
        if final:
            whole, rest = [*whole, rest], b""
        rows = [_row(line, file) for line in whole if line.strip()]
        for first in range(0, len(rows), BATCH):
            yield _batch(rows[first : first + BATCH], wanted)


def _row(line: bytes, file: Path) -> _Row:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"{file}: this is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"{file}: this is no file of JSON objects")
    if "geometry" not in found:
        return _Row(found, {})
    others = feature_columns(found) if is_feature(found) else {n: v for n, v in found.items() if n != "geometry"}
    members = dict.fromkeys(foreign_members(found)) if is_feature(found) else {}
    return _Row({**others, "geometry": json.dumps(found["geometry"])}, members)


class _Row(NamedTuple):
    """The columns of a row, and which of them are foreign members of a feature."""

    values: dict[str, Any]
    members: dict[str, None]


def _batch(rows: list[_Row], wanted: list[str] | None) -> Any:
    names = list(dict.fromkeys(name for row in rows for name in row.values)) if wanted is None else wanted
    members = {name for row in rows for name in row.members}
    columns = [_column([row.values.get(name) for row in rows]) for name in names]
    fields = [
        pa.field(name, column.type, metadata={MEMBER: b""} if name in members else None)
        for name, column in zip(names, columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _column(values: list[Any]) -> Any:
    """Values of one type, or their texts where they are of several."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if value is None else json.dumps(value) for value in values])
