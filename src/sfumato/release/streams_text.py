"""Releases of files of text, block after block: CSV, JSON lines, GeoJSON."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.errors import InvalidInput, NotSupported, keyword, worded
from sfumato.release.batches import BatchRelease
from sfumato.release.crs import WGS84
from sfumato.release.formats.geo_json import FeatureRecords, FeatureSink, collection_system, feature_lines
from sfumato.release.formats.layouts import PointLayout
from sfumato.release.formats.lines import Bytes, Records, Scanned, blanked, edited
from sfumato.release.formats.lines_csv import CsvRecords
from sfumato.release.formats.lines_json import JsonRecords
from sfumato.release.formats.lines_without import without_keys
from sfumato.release.formats.reading import (
    delimiter_of,
    file_blocks,
    file_decimal,
    read_batches,
    scanned_parts,
    told_with_file,
)
from sfumato.release.geometry import refuse_coordinate_keys, refuse_geometry_text, refuse_told, watched
from sfumato.release.places import Geometry, Place, Position
from sfumato.release.rows import BadRow
from sfumato.release.terms import Terms

TEXTS = ("csv", "jsonl", "geojson")
"""The formats that are text, and may be compressed as a whole."""


def _decimal(source: Path, work: BatchRelease, delimiter: str | None, given: str | None) -> str:
    """What stands before the decimals of the coordinates of a release; labels are spelled in one way."""
    column = work.terms.column
    numbers = work.secrets.about_points or isinstance(column, Position)
    if not numbers or isinstance(column, Geometry):
        if given == ",":
            raise InvalidInput(f"{keyword('decimal')} is for columns of coordinates")
        return "."
    return given or file_decimal(source, work.taken, delimiter, degrees=isinstance(column, Place))


def _records(
    source: Path, kind: str, work: BatchRelease, delimiter: str | None, decimal: str | None, members: Any
) -> Records:
    """What finds and replaces the cells; ``members`` are those of a collection of GeoJSON, once it is open."""
    points = isinstance(work.terms.column, Geometry)
    if kind == "csv":
        if points:
            work.read(PointLayout(work.taken[0], form="wkt"))
        work.decimal = _decimal(source, work, delimiter, decimal)
        return CsvRecords(work, delimiter_of(source, delimiter), work.decimal)
    if not points:
        return JsonRecords(work)
    system = collection_system(members[0]) if members else WGS84
    work.read(PointLayout(work.taken[0], system, form="geojson"))
    return FeatureRecords(work, collection=kind == "geojson")


def _check_geojson(terms: Terms) -> None:
    """Refuse what GeoJSON has no place for."""
    if not isinstance(terms.column, Geometry):
        raise NotSupported(
            "columns of GeoJSON, whose features have a geometry beside them", [worded("Geometry()", "geometry")]
        )
    if terms.keep or terms.into is not None:
        raise NotSupported(
            "a second geometry, or one of another name, in GeoJSON", [f"{worded('Geometry()', 'geometry')} alone"]
        )


def sink_of(target: Path | None) -> Any:
    """Where a release is written; None: nowhere, of a rehearsal."""
    return pa.MockOutputStream() if target is None else pa.OSFile(str(target), "wb")


def release_text(
    source: Path, target: Path | None, kind: str, work: BatchRelease, batch: int, delimiter: str | None,
    compression: Any, decimal: str | None = None,
) -> None:  # fmt: skip
    """Copy a file of text with cells replaced."""
    collection = kind == "geojson"
    if collection:
        _check_geojson(work.terms)
    members: list[dict[str, Any]] = []
    with (
        sink_of(target) as place,
        pa.CompressedOutputStream(place, compression) if compression else nullcontext(place) as whole,
    ):
        sink: Any = FeatureSink(whole, members) if collection else whole
        blocks = _features(source, members) if collection else file_blocks(source)
        if kind != "csv" and work.terms.drop:
            blocks = _without(source, blocks, work.terms)
        blocks = read_batches(source, "text", blocks)
        first = next(blocks)  # with which a collection says its members
        records: Records = told_with_file(source, _records, source, kind, work, delimiter, decimal, members)

        def opened(block: bytes, final: bool) -> int | None:
            header = told_with_file(source, records.open, block, final=final)
            if header is not None:
                sink.write(header[0])
            return None if header is None else int(header[1])

        def scan(data: Bytes, final: bool, row: int) -> Scanned:
            return records.scan(data, batch, final=final, first_row=row)

        for part, scanned in scanned_parts(chain([first], blocks), opened, scan):
            sink.write(_released_part(part, scanned, records).data)
        if collection:
            sink.finish()


def _without(source: Path, blocks: Iterator[tuple[bytes, bool]], terms: Terms) -> Iterator[tuple[bytes, bool]]:
    """Lines without what is left out; what is wrong with them is told with the file."""
    try:
        yield from without_keys(blocks, terms.drop, features=isinstance(terms.column, Geometry))
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from None


def _features(source: Path, members: list[dict[str, Any]]) -> Iterator[tuple[bytes, bool]]:
    """The lines of a collection; what is wrong with it is told with the file."""
    try:
        yield from feature_lines(file_blocks(source), members)
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from None


def _released_part(part: Bytes, scanned: Scanned, records: Records) -> Bytes:
    """The bytes that come instead of some records, or of lines without any."""
    work = records.work
    if not len(scanned.first):
        return part[: scanned.used]
    _refuse_geometries(part, scanned, records)
    first = work.rows
    drawn = work.draw(
        [records.values(part, scanned, name) for name in work.taken],
        [records.values(part, scanned, name) for name in work.terms.ids],
    )
    outputs = drawn.outputs
    if drawn.kept is not None:
        outputs = np.zeros((len(drawn.kept), *drawn.outputs.shape[1:]), dtype=np.int64)
        outputs[drawn.kept] = drawn.outputs
    _refuse_absent(scanned, drawn.kept, len(work.taken), first)
    return edited(part, scanned, drawn.kept, records.edits(scanned, outputs), records.entries)


def _refuse_geometries(part: Any, scanned: Any, records: Records) -> None:
    """Refuse geometries beside those that are replaced, and keys that are called like coordinates."""
    work = records.work
    if not watched(work):
        return
    points = isinstance(work.terms.column, Geometry)
    aside = (*(work.replaced if points else ()), *work.beside, *work.terms.drop)
    cells = [records.place[name] for name in aside if name in records.place]
    text = part[: scanned.used]
    text = (blanked(text, scanned.starts[cells], scanned.ends[cells]) if cells else text).tobytes()
    refuse_geometry_text(text, work)
    if points and records.typed:
        refuse_coordinate_keys(text, work)
    columns = records.beside(part, scanned)
    refuse_told(columns, columns.__getitem__, work)


def _refuse_absent(scanned: Any, kept: Any, taken: int, first: int) -> None:
    """A null may be a secret, but a key that is not there leaves no place for the output."""
    absent = (scanned.starts[:taken] < 0).any(axis=0)
    if kept is not None:
        absent &= kept
    if absent.any():
        raise BadRow("a key is missing", first + int(np.argmax(absent)) + 1)
