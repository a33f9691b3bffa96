"""Release a file into a file: CSV, JSON lines, Parquet, Arrow; in constant memory; the whole file or none.

The output is written under another name in the same folder, brought to the disk, charged to the ledger, and only then
given its name. An error, a full disk or a killed process leaves no output; what a killed process leaves under the other
name is removed by the next release to the same place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from sfumato.arguments import file_path, flag, integer, one_of
from sfumato.certify.verify import load
from sfumato.errors import InvalidFile, InvalidInput, NotSupported, SfumatoError, shown
from sfumato.files import PartialFile
from sfumato.release.batches import BATCH, LARGEST_BATCH, BatchRelease, Progress, batch_release
from sfumato.release.geometry import refuse_geometry_text, refuse_geometry_types, watched
from sfumato.release.lines import Records, edited
from sfumato.release.lines_csv import CsvRecords
from sfumato.release.lines_json import JsonRecords
from sfumato.release.rows import BadRow
from sfumato.release.tables import order_after, release_batch, released_schema
from sfumato.release.terms import Column, Keywords, Terms, terms_of, with_terms

FORMATS: dict[str, tuple[str, ...]] = {
    "csv": (".csv", ".tsv", ".txt"),
    "jsonl": (".jsonl", ".ndjson", ".jsonlines"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc", ".arrows"),
}
"""The formats of files, and the endings by which they are known."""

_COMPRESSIONS: dict[str, Any] = {
    ".gz": "gzip",
    ".bz2": "bz2",
    ".zst": "zstd",
    ".lz4": "lz4",
}  # of text; the others compress inside
_BLOCK = 1 << 22  # bytes of text read at once
_LONGEST_RECORD = 1 << 26  # bytes
_LARGEST_GROUP = 1 << 20  # rows of a row group or an Arrow batch; larger ones are split, so that memory stays bounded


@dataclass(frozen=True)
class Released:
    """What a release of a file did."""

    file: Path
    rows: int
    dropped: int
    seconds: float
    moved: int = 0
    """Rows outside the space that were taken for the nearest secret. This is about the true data: it is not private."""
    farthest: float = 0.0
    """How far the farthest of them was from its secret."""

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0


@with_terms
def release_file(
    mechanism: Any,
    source: str | PathLike[str],
    target: str | PathLike[str],
    column: Column | Terms,
    *,
    format: str | None = None,  # noqa: A002 - what such an argument is called everywhere
    batch: int = BATCH,
    overwrite: bool = False,
    delimiter: str | None = None,
    progress: Callable[[Progress], None] | None = None,
    **keywords: Unpack[Keywords],
) -> Released:
    """Copy a file with the secrets of a column replaced by outputs of a proved mechanism.

    In CSV files and JSON lines everything but the released cells is copied byte for byte; in Parquet and Arrow files
    the other columns, their types, row groups and metadata stay. Parameters that are not listed here are those of
    :class:`~sfumato.release.terms.Terms`.

    Parameters
    ----------
    mechanism
        A proved mechanism, or the path of its file, which is then loaded and proved again.
    source, target
        Two files of one format. CSV and JSON lines may be compressed (``.csv.gz``).
    format
        ``"csv"``, ``"jsonl"``, ``"parquet"`` or ``"arrow"``; known by the endings of the files unless given.
    overwrite
        Replace an existing target. Without it a file that is there is never touched: releasing again with fresh noise
        is another release.
    delimiter
        Of a CSV file; the one that its header has most of, unless given.
    """
    old, new = file_path(source, "the source"), file_path(target, "the target")
    overwrite = flag(overwrite, "overwrite")
    kind = _format_of(old, new, format)
    _check_places(old, new, overwrite)
    batch = integer(batch, "batch, a number of rows,", 1, LARGEST_BATCH)
    if isinstance(mechanism, str | PathLike):
        mechanism = load(mechanism)
    work = batch_release(mechanism, terms_of(column, keywords), progress=progress)
    work.changes.folder = new.parent
    with _complaints_of_writing(new):
        part = PartialFile(new)
    with part:
        with _complaints_of_writing(new):
            if kind in ("csv", "jsonl"):
                tab = "\t" if kind == "csv" and ".tsv" in old.suffixes and delimiter is None else delimiter
                records: Records = CsvRecords(work, tab) if kind == "csv" else JsonRecords(work)
                _release_text(old, part.temporary, records, batch, _compression(new))
            elif kind == "parquet":
                _release_parquet(old, part.temporary, work, batch)
            else:
                _release_arrow(old, part.temporary, work, batch)
            part.settle()
        work.finish()
        part.place(overwrite=overwrite)
    return Released(new, work.rows, work.dropped, work.seconds, work.moved, work.farthest)


# ----------------------------------------------------------------- places


def _format_of(source: Path, target: Path, given: str | None) -> str:
    if given is not None:
        one_of(given, tuple(FORMATS), "format")
        for path in (source, target):
            if given not in ("csv", "jsonl") and _compression(path):
                raise NotSupported(f"a {given} file that is compressed as a whole, {path.name}", ["without the ending"])
        return given
    formats = [_ending_format(path) for path in (source, target)]
    if formats[0] != formats[1]:
        raise NotSupported(
            f"releasing {formats[0]} into {formats[1]}", ["a target of the same format as the source", "format="]
        )
    return formats[0]


def _ending_format(path: Path) -> str:
    compressed = _compression(path)
    ending = (Path(path.stem) if compressed else path).suffix.lower()
    for name, endings in FORMATS.items():
        if ending in endings and (not compressed or name in ("csv", "jsonl")):
            return name
    known = [ending for endings in FORMATS.values() for ending in endings]
    raise NotSupported(
        f"the format of {shown(path.name)}", [*known, "with .gz, .bz2, .zst or .lz4 after text", "format="]
    )


def _compression(path: Path) -> Any:
    return _COMPRESSIONS.get(path.suffix.lower())


def _check_places(source: Path, target: Path, overwrite: bool) -> None:
    if not source.exists():
        raise InvalidInput(f"there is no file {source}")
    if not source.is_file():
        raise InvalidInput(f"{source} is no file")
    if not target.parent.is_dir():
        raise InvalidInput(f"{target} cannot be written: there is no folder {target.parent}")
    if target.is_dir():
        raise InvalidInput(f"{target} cannot be written: it is a folder")
    if target.is_symlink() and not target.exists():
        raise InvalidInput(f"{target} cannot be written: it is a link to a file that is not there")
    if target.exists():
        if target.samefile(source):
            raise InvalidInput(f"{target} is the source itself: name another file, the true data should stay apart")
        if not overwrite:
            raise InvalidInput(
                f"{target} is already there: releasing again is another release; overwrite it if that is meant"
            )
        if not target.is_file():
            raise InvalidInput(f"{target} cannot be replaced: it is no file")


@contextmanager
def _complaints_of_writing(target: Path) -> Iterator[None]:
    """A full disk is an OSError that names the target, not the other name."""
    try:
        yield
    except SfumatoError:
        raise
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidFile(f"{target} cannot be written: {' '.join(str(error).split())[:200]}") from error
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno or 0, f"{target} cannot be written, nothing was left behind: {reason}") from error


@contextmanager
def _complaints_of_reading(source: Path, kind: str) -> Iterator[None]:
    try:
        yield
    except SfumatoError:
        raise
    except (OSError, ValueError, TypeError, KeyError, MemoryError, NotImplementedError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InvalidFile(f"{source} cannot be read as {kind}: {reason}") from error


def _reading(source: Path, kind: str, batches: Iterator[Any]) -> Iterator[Any]:
    """The same batches; what goes wrong in reading is told apart from what goes wrong in writing."""
    while True:
        with _complaints_of_reading(source, kind):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


# ----------------------------------------------------------------- text


def _release_text(source: Path, target: Path, records: Records, batch: int, compression: Any) -> None:
    with (
        pa.OSFile(str(target), "wb") as file,
        pa.CompressedOutputStream(file, compression) if compression else nullcontext(file) as sink,
    ):
        rest, opened = b"", False
        for block, final in _reading(source, "text", _blocks(source)):
            rest = rest + block if rest else block
            if not opened:
                header = _named(source, records.open, rest, final=final)
                if header is None:
                    continue
                sink.write(header[0])
                rest, opened = rest[header[1] :], True
            rest = rest[_release_block(np.frombuffer(rest, dtype=np.uint8), sink, records, batch, final) :]
            if len(rest) > _LONGEST_RECORD:
                raise BadRow(f"longer than {_LONGEST_RECORD >> 20} MiB: does a quote never end?", records.work.rows + 1)


def _named(source: Path, work: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    try:
        return work(*arguments, **named)
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from None


def _blocks(source: Path) -> Iterator[tuple[bytes, bool]]:
    """Each block of a file, and whether it is the last one."""
    compression = _compression(source)
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
            if watched(work):
                refuse_geometry_text(part[: scanned.used].tobytes(), work)
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


def _refuse_absent(scanned: Any, kept: Any, taken: int, first: int) -> None:
    """A null may be a secret, but a key that is not there leaves no place for the output."""
    absent = (scanned.starts[:taken] < 0).any(axis=0)
    if kept is not None:
        absent &= kept
    if absent.any():
        raise BadRow("a key is missing", first + int(np.argmax(absent)) + 1)


# ----------------------------------------------------------------- Parquet and Arrow


def _release_parquet(source: Path, target: Path, work: BatchRelease, batch: int) -> None:
    with _complaints_of_reading(source, "Parquet"):
        file = pq.ParquetFile(source)
        before = file.schema_arrow
    with file:
        work.total = file.metadata.num_rows
        schema = _named(source, released_schema, before, work)
        _named(source, _refuse_stored_order, file, work)
        _named(source, refuse_geometry_types, _logical_types(file), work)
        with pq.ParquetWriter(target, schema, compression=_codecs(file, work)) as writer:
            for number in range(file.metadata.num_row_groups):
                groups = file.iter_batches(batch_size=batch, row_groups=[number])
                released = (release_batch(part, work, schema) for part in _reading(source, "Parquet", groups))
                for group in _grouped(released):
                    writer.write_table(pa.Table.from_batches(group, schema).unify_dictionaries(), _LARGEST_GROUP)


def _logical_types(file: Any) -> dict[str, str]:
    """What Parquet itself calls the types of columns: it knows geometries."""
    columns = (file.schema.column(place) for place in range(len(file.schema)))
    return {column.path.split(".")[0]: column.logical_type.type for column in columns}


def _refuse_stored_order(file: Any, work: BatchRelease) -> None:
    """Rows that are sorted by the secret tell it by their order, which stays."""
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        for column in group.sorting_columns:
            name = group.column(column.column_index).path_in_schema.split(".")[0]
            if name in work.taken and not work.terms.keep:
                raise InvalidInput(
                    f"the rows are sorted by {shown(name)}, so that their order tells the secrets: shuffle them first"
                )


def _grouped(batches: Iterator[Any]) -> Iterator[list[Any]]:
    """Batches that fill a group together."""
    group: list[Any] = []
    rows = 0
    for batch in batches:
        if rows and rows + len(batch) > _LARGEST_GROUP:
            yield group
            group, rows = [], 0
        group.append(batch)
        rows += len(batch)
    if rows:
        yield group


def _codecs(file: Any, work: BatchRelease) -> Any:
    """How each column of a Parquet file is compressed."""
    if file.metadata.num_row_groups == 0:
        return "snappy"
    group = file.metadata.row_group(0)
    chunks = [group.column(k) for k in range(group.num_columns)]
    codecs = {chunk.path_in_schema: chunk.compression.lower() for chunk in chunks}
    codecs = {path: "none" if codec == "uncompressed" else codec for path, codec in codecs.items()}
    if len(set(codecs.values())) == 1:
        return next(iter(codecs.values()))
    fresh = [column for column in order_after(file.schema_arrow.names, work) if not isinstance(column, str)]
    like = next((codec for path, codec in codecs.items() if path.split(".")[0] == work.taken[0]), "snappy")
    return codecs | {f"{column.name}{end}": like for column in fresh for end in ("", ".list.element")}


def _release_arrow(source: Path, target: Path, work: BatchRelease, batch: int) -> None:
    with _complaints_of_reading(source, "Arrow"), source.open("rb") as start:
        is_file = start.read(6) == b"ARROW1"
    with _complaints_of_reading(source, "Arrow"):
        mapped = pa.memory_map(str(source)) if source.stat().st_size else pa.BufferReader(b"")
        reader: Any = pa.ipc.open_file(mapped) if is_file else pa.ipc.open_stream(mapped)
        batches = (reader.get_batch(k) for k in range(reader.num_record_batches)) if is_file else iter(reader)
    schema = _named(source, released_schema, reader.schema, work)
    with mapped, pa.OSFile(str(target), "wb") as sink:
        grown = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)  # as dictionaries of other columns may be
        writer = pa.ipc.new_file(sink, schema, options=grown) if is_file else pa.ipc.new_stream(sink, schema)
        with writer:
            for whole in _reading(source, "Arrow", batches):
                with _complaints_of_reading(source, "Arrow"):
                    whole.validate(full=True)  # what a damaged file says of its own layout is not believed
                slices = (whole.slice(first, batch) for first in range(0, len(whole), batch))
                for group in _grouped(release_batch(part, work, schema) for part in slices):
                    for part in pa.Table.from_batches(group, schema).combine_chunks().to_batches():
                        writer.write_batch(part)
