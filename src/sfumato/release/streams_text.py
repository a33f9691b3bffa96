"""Files of text, block after block: CSV, JSON lines, GeoJSON; and how reading of any file is complained about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.errors import InvalidFile, InvalidInput, NotSupported, SfumatoError, worded
from sfumato.release.batches import BatchRelease
from sfumato.release.crs import WGS84
from sfumato.release.geo_json import FeatureRecords, FeatureSink, collection_system, feature_lines
from sfumato.release.geometry import refuse_coordinate_keys, refuse_geometry_text, watched
from sfumato.release.layouts import PointLayout
from sfumato.release.lines import Records, blanked, edited
from sfumato.release.lines_csv import CsvRecords
from sfumato.release.lines_json import JsonRecords
from sfumato.release.lines_without import without_keys
from sfumato.release.places import Geometry
from sfumato.release.rows import BadRow

TEXTS = ("csv", "jsonl", "geojson")
"""The formats that are text, and may be compressed as a whole."""

_COMPRESSIONS: dict[str, Any] = {
    ".gz": "gzip",
    ".bz2": "bz2",
    ".zst": "zstd",
    ".lz4": "lz4",
}  # of text; the others compress inside
_BLOCK = 1 << 22  # bytes of text read at once
_LONGEST_RECORD = 1 << 26  # bytes


def compression_of(path: Path) -> Any:
    """How a file is compressed as a whole, None if it is not."""
    return _COMPRESSIONS.get(path.suffix.lower())


@contextmanager
def complaints_of_reading(source: Path, kind: str) -> Iterator[None]:
    """What goes wrong in reading is told with the file."""
    try:
        yield
    except SfumatoError:
        raise
    except (OSError, ValueError, TypeError, KeyError, MemoryError, NotImplementedError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InvalidFile(f"{source} cannot be read as {kind}: {reason}") from error


def reading(source: Path, kind: str, batches: Iterator[Any]) -> Iterator[Any]:
    """The same batches; what goes wrong in reading is told apart from what goes wrong in writing."""
    while True:
        with complaints_of_reading(source, kind):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def named(source: Path, work: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """What a call returns; what it complains about is told with the file."""
    try:
        return work(*arguments, **keywords)
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from None


@dataclass(frozen=True, eq=False)
class TextFile:
    """A release into a file of text."""

    kind: str
    work: BatchRelease
    delimiter: str | None = None

    def records(self, source: Path, members: list[dict[str, Any]]) -> Records:
        """What finds and replaces the cells; ``members`` are those of a collection of GeoJSON, once it is open."""
        work, column = self.work, self.work.terms.column
        points = isinstance(column, Geometry)
        if self.kind == "csv":
            if points:
                work.read(PointLayout(work.taken[0], form="wkt"))
            return CsvRecords(work, "\t" if ".tsv" in source.suffixes and self.delimiter is None else self.delimiter)
        if not points:
            return JsonRecords(work)
        system = collection_system(members[0]) if members else WGS84
        work.read(PointLayout(work.taken[0], system, form="geojson"))
        return FeatureRecords(work)

    def check(self) -> None:
        """Refuse what GeoJSON has no place for."""
        terms = self.work.terms
        if self.kind != "geojson":
            return
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


def release_text(source: Path, target: Path | None, file: TextFile, batch: int, compression: Any) -> None:
    """Copy a file of text with cells replaced."""
    file.check()
    members: list[dict[str, Any]] = []
    records: Records | None = None
    with (
        sink_of(target) as place,
        pa.CompressedOutputStream(place, compression) if compression else nullcontext(place) as whole,
    ):
        sink: Any = FeatureSink(whole, members) if file.kind == "geojson" else whole
        rest, opened = b"", False
        blocks = file_blocks(source) if file.kind != "geojson" else _features(source, members)
        if file.kind != "csv" and file.work.terms.drop:
            points = isinstance(file.work.terms.column, Geometry)
            blocks = without_keys(blocks, file.work.terms.drop, features=points)
        for block, final in reading(source, "text", blocks):
            rest = rest + block if rest else block
            if records is None:
                records = named(source, file.records, source, members)
            if not opened:
                header = named(source, records.open, rest, final=final)
                if header is None:
                    continue
                sink.write(header[0])
                rest, opened = rest[header[1] :], True
            rest = rest[_release_block(np.frombuffer(rest, dtype=np.uint8), sink, records, batch, final) :]
            if len(rest) > _LONGEST_RECORD:
                raise BadRow(f"longer than {_LONGEST_RECORD >> 20} MiB: does a quote never end?", file.work.rows + 1)
        if file.kind == "geojson":
            sink.finish()


def _features(source: Path, members: list[dict[str, Any]]) -> Iterator[tuple[bytes, bool]]:
    """The lines of a collection; what is wrong with it is told with the file."""
    try:
        yield from feature_lines(file_blocks(source), members)
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from None


def file_blocks(source: Path) -> Iterator[tuple[bytes, bool]]:
    """Each block of a file, and whether it is the last one."""
    compression = compression_of(source)
    with pa.OSFile(str(source), "rb") as file:
        stream = pa.CompressedInputStream(file, compression) if compression else file
        before = stream.read(_BLOCK)
        while block := stream.read(_BLOCK):
            yield before, False
            before = block
        yield before, True


def _release_block(data: Any, sink: Any, records: Records, batch: int, final: bool) -> int:
    """Release the whole records of a block; the number of bytes that they have."""
    work, at = records.work, 0
    while at < len(data):
        part = data[at:]
        scanned = records.scan(part, batch, final=final, first_row=work.rows)
        if not scanned.used:
            break
        if len(scanned.first):
            _refuse_geometries(part, scanned, records)
            first = work.rows
            drawn = work.draw(
                [records.values(part, scanned, name) for name in work.taken],
                [records.values(part, scanned, name) for name in work.terms.ids],
            )
            outputs = drawn.outputs
            if drawn.kept is not None:
                outputs = np.zeros(len(drawn.kept), dtype=np.int64)
                outputs[drawn.kept] = drawn.outputs
            _refuse_absent(scanned, drawn.kept, len(work.taken), first)
            sink.write(edited(part, scanned, drawn.kept, records.edits(scanned, outputs), records.entries).data)
        else:
            sink.write(part[: scanned.used].data)
        at += scanned.used
    return at


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


def _refuse_absent(scanned: Any, kept: Any, taken: int, first: int) -> None:
    """A null may be a secret, but a key that is not there leaves no place for the output."""
    absent = (scanned.starts[:taken] < 0).any(axis=0)
    if kept is not None:
        absent &= kept
    if absent.any():
        raise BadRow("a key is missing", first + int(np.argmax(absent)) + 1)
