"""Rows in: every file that people bring is read here, in batches, and what goes wrong is told with it.

CSV is read by one scanner (:mod:`~sfumato.release.formats.lines_csv`), JSON lines by another, all else by libraries. A
release copies text byte for byte and needs its cells where they stand (:func:`file_cells`, :func:`scanned_parts`); who
looks at a file before that takes batches of Arrow (:func:`file_batches`), in which cells of CSV files are texts,
whatever they look like, and features of GeoJSON one row each: their properties, and the geometry as the text that
stands there.

Where a number of a CSV file is written as 48,8566, with a decimal comma, it is read and written so. Half of the world
writes a comma where the other half writes a point. Who knows it says it; otherwise the first rows say it, where they
leave no doubt: a comma before three digits may as well stand between thousands, of which degrees have none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from sfumato.arguments import one_of
from sfumato.errors import InvalidFile, InvalidInput, SfumatoError, few, keyword, shown
from sfumato.release.formats.geo_files import DRIVERS, layer_batches
from sfumato.release.formats.geo_json import feature_columns, feature_lines, foreign_members, is_feature
from sfumato.release.formats.lines import Bytes, CellValues, Scanned, unquoted
from sfumato.release.formats.lines_csv import CsvHeader, csv_header, scan_csv
from sfumato.release.formats.lines_json import check_utf8, scan_json
from sfumato.release.rows import BadRow, TypedValues, Values

BATCH = 1 << 16
"""Rows of a batch of Arrow."""

MEMBER = b"member"
"""The key of metadata by which a column is known as a foreign member of features."""

_AS_WE_SAY = {"wkb_geometry": "geometry"}  # what a Shapefile, whose geometries have no name, calls them in Arrow
_COMPRESSIONS: dict[str, Any] = {
    ".gz": "gzip",
    ".bz2": "bz2",
    ".zst": "zstd",
    ".lz4": "lz4",
}  # of text; the others compress inside
_BLOCK = 1 << 22  # bytes of text read at once
_LONGEST_RECORD = 1 << 26  # bytes
_LARGEST_BATCH = 1 << 20  # rows; a larger one is not written as one
_CELLS = 1 << 20  # rows at once of which some columns are taken
_RECORDS = 1 << 18  # records of a block of text at once


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


def read_batches(source: Path, kind: str, batches: Iterator[Any]) -> Iterator[Any]:
    """The same batches; what goes wrong in reading is told apart from what goes wrong in writing."""
    while True:
        with complaints_of_reading(source, kind):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def told_with_file(source: Path, work: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """What a call returns; what it complains about is told with the file."""
    try:
        return work(*arguments, **keywords)
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from None


def delimiter_of(source: Path, given: str | None = None) -> str | None:
    """What stands between the cells of a CSV file, as far as somebody or its ending says it."""
    return "\t" if ".tsv" in source.suffixes and given is None else given


class ArrowFile(NamedTuple):
    """The schema of an Arrow file and its batches; ``whole`` where it is no stream, ``alone`` where that has one batch
    of a usual size.
    """

    schema: Any
    batches: Iterator[Any]
    whole: bool
    alone: bool


@contextmanager
def arrow_file(source: Path) -> Iterator[ArrowFile]:
    """An Arrow file or stream, read through a map of the memory."""
    with complaints_of_reading(source, "Arrow"):
        mapped = pa.memory_map(str(source)) if source.stat().st_size else pa.BufferReader(b"")
        whole = mapped.read(6) == b"ARROW1"
        mapped.seek(0)
        reader: Any = pa.ipc.open_file(mapped) if whole else pa.ipc.open_stream(mapped)
        batches = (reader.get_batch(k) for k in range(reader.num_record_batches)) if whole else iter(reader)
        alone = whole and reader.num_record_batches == 1 and len(reader.get_batch(0)) <= _LARGEST_BATCH
    with mapped:
        yield ArrowFile(reader.schema, _sound(source, batches), whole, alone)


def _sound(source: Path, batches: Iterator[Any]) -> Iterator[Any]:
    for batch in read_batches(source, "Arrow", batches):
        with complaints_of_reading(source, "Arrow"):
            batch.validate(full=True)  # what a damaged file says of its own layout is not believed
        yield batch


def file_decimal(source: Path, columns: Sequence[str], delimiter: str | None = None, *, degrees: bool = False) -> str:
    """What stands before the decimals in columns of a CSV file, by its first rows."""
    block, final = next(file_blocks(source))
    return decimal_in(block, delimiter_of(source, delimiter), columns, final=final, degrees=degrees)


def csv_names(source: Path) -> list[str]:
    """The names of the columns of a CSV file."""
    with complaints_of_reading(source, "text"):
        header = csv_header(first_block(source), delimiter_of(source), final=True)
    return [] if header is None else header.names


def file_schema(source: Path, kind: str) -> Any:
    """The schema of a Parquet or Arrow file."""
    with complaints_of_reading(source, kind.capitalize()):
        if kind == "parquet":
            return pq.read_schema(source)
        with arrow_file(source) as found:
            return found.schema


# ----------------------------------------------------------------- blocks of text


def scanned_parts(
    blocks: Iterable[tuple[bytes, bool]],
    opened: Callable[[bytes, bool], int | None],
    scan: Callable[[Bytes, bool, int], Scanned],
) -> Iterator[tuple[Bytes, Scanned]]:
    """The records of a text in the order of its blocks, each time from their first byte on.

    ``opened`` says how many bytes a header has, None if it does not end here; ``scan`` finds whole records, and is told
    how many came before.
    """
    rest, begun, rows = b"", False, 0
    for block, final in blocks:
        rest = rest + block if rest else block
        if not begun:
            start = opened(rest, final)
            if start is None:
                continue
            rest, begun = rest[start:], True
        data = np.frombuffer(rest, dtype=np.uint8)
        while len(data) and (scanned := scan(data, final, rows)).used:
            yield data, scanned
            data, rows = data[scanned.used :], rows + len(scanned.first)
        rest = rest[len(rest) - len(data) :]
        if len(rest) > _LONGEST_RECORD:
            raise BadRow(f"longer than {_LONGEST_RECORD >> 20} MiB: does a quote never end?", rows + 1)


def first_block(source: Path) -> bytes:
    """The beginning of a file."""
    return next(file_blocks(source))[0]


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


# ----------------------------------------------------------------- batches of Arrow


def file_batches(file: Path, kind: str, names: Sequence[str] | None, layer: str | None = None) -> Iterator[Any]:
    """The rows of a file: the columns of these names, or all of them."""
    wanted = None if names is None else list(dict.fromkeys(names))
    if kind == "parquet":
        yield from _parquet_batches(file, wanted, BATCH)
    elif kind == "csv":
        for cells in _csv_cells(file, wanted, None, BATCH):
            yield pa.RecordBatch.from_arrays([_sound_texts(cell.strings()) for _, cell in cells], [n for n, _ in cells])
    elif kind == "arrow":
        yield from _arrow_batches(file, wanted, BATCH)
    elif kind in DRIVERS:
        with layer_batches(file, layer, BATCH) as rows:
            for batch in rows:
                known = batch.rename_columns([_AS_WE_SAY.get(name, name) for name in batch.schema.names])
                yield known if wanted is None else known.select(wanted)
    else:
        yield from _json(file, kind, wanted)


def _parquet_batches(
    file: Path, wanted: list[str] | None, rows: int, dictionaries: Sequence[str] = ()
) -> Iterator[Any]:
    with complaints_of_reading(file, "Parquet"):
        opened = pq.ParquetFile(file, read_dictionary=list(dictionaries))
    with opened:
        yield from read_batches(file, "Parquet", opened.iter_batches(rows, columns=wanted))


def _arrow_batches(file: Path, wanted: list[str] | None, rows: int) -> Iterator[Any]:
    with arrow_file(file) as found:
        for batch in found.batches:
            for first in range(0, len(batch), rows):
                part = batch.slice(first, rows)
                yield part if wanted is None else part.select(wanted)


def _sound_texts(texts: Any) -> Any:
    """Texts of Arrow; what is no text in UTF-8 is read as far as it is one."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([cell.decode("utf-8", "replace") for cell in texts.view(pa.binary()).to_pylist()], pa.string())
    return texts


def _json(file: Path, kind: str, wanted: list[str] | None) -> Iterator[Any]:
    """Objects of JSON lines, or features of a collection, as rows."""
    blocks = file_blocks(file)
    lines = feature_lines(blocks, []) if kind == "geojson" else blocks
    rest = b""
    for block, final in read_batches(file, "text", lines):
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


# ----------------------------------------------------------------- cells


def file_cells(
    source: Path, kind: str, names: Sequence[str], delimiter: str | None = None
) -> Iterator[dict[str, Values]]:
    """The values of some columns, as a release takes them: each has to be there once."""
    wanted = list(dict.fromkeys(names))
    if kind == "csv":
        yield from map(dict, _csv_cells(source, wanted, delimiter, _RECORDS))
    elif kind == "jsonl":
        yield from _json_cells(source, wanted)
    else:
        schema = file_schema(source, kind)
        check_columns(source, schema.names, wanted)
        if kind == "parquet":  # texts that a file keeps as a dictionary stay one: no text of ten million is built
            texts = [name for name in wanted if pa.types.is_string(schema.field(name).type)]
            batches = _parquet_batches(source, wanted, _CELLS, texts)
        else:
            batches = _arrow_batches(source, wanted, _CELLS)
        for batch in batches:
            yield {name: TypedValues(batch.column(name)) for name in wanted}


def check_columns(source: Path, there: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse names that no column of a file has, or several have."""
    for name in wanted:
        if list(there).count(name) != 1:
            what = "no column" if name not in there else "more than one column"
            raise InvalidInput(f"{source} has {what} {shown(name)}; its columns are {few(list(there))}")


def _csv_cells(
    source: Path, names: list[str] | None, delimiter: str | None, most: int
) -> Iterator[list[tuple[str, CellValues]]]:
    """The cells of some columns of a CSV file, or of all, with their names, in the order of the file."""
    header: CsvHeader
    places: Any

    def opened(block: bytes, final: bool) -> int | None:
        nonlocal header, places
        found = told_with_file(source, csv_header, block, delimiter_of(source, delimiter), final=final)
        if found is None:
            return None
        header = found
        if names is not None:
            check_columns(source, header.names, names)
        listed = range(len(header.names)) if names is None else sorted(map(header.names.index, names))
        places = np.array(listed, dtype=np.int64)
        return header.end

    def scan(data: Bytes, final: bool, rows: int) -> Scanned:
        return scan_csv(data, ord(header.delimiter), len(header.names), places, most, final=final, first_row=rows)

    for part, done in _text(source, opened, scan):
        cells = zip(places.tolist(), done.starts, done.ends, strict=True)
        yield [(header.names[k], CellValues(part, starts, ends, False)) for k, starts, ends in cells]


def _json_cells(source: Path, wanted: list[str]) -> Iterator[dict[str, Values]]:
    def scan(data: Bytes, final: bool, rows: int) -> Scanned:
        done = scan_json(data, wanted, _RECORDS, final=final, first_row=rows)
        check_utf8(data[: done.used], rows)
        absent = (done.starts < 0).all(axis=1)
        if len(done.first) and not rows and absent.any():
            raise InvalidInput(f"{source} has no key {shown(wanted[int(np.argmax(absent))])} in its first rows")
        return done

    for part, done in _text(source, lambda _block, _final: 0, scan):
        cells = zip(wanted, done.starts, done.ends, strict=True)
        yield {name: CellValues(part, starts, ends, True) for name, starts, ends in cells}


def _text(
    source: Path, opened: Callable[[bytes, bool], int | None], scan: Callable[[Bytes, bool, int], Scanned]
) -> Iterator[tuple[Bytes, Scanned]]:
    """The records of a file of text, part after part; what is wrong with them is told with the file."""
    for part, done in scanned_parts(
        read_batches(source, "text", file_blocks(source)), opened, partial(told_with_file, source, scan)
    ):
        if len(done.first):
            yield part, done


_COMMA = re.compile(r"[+-]?(\d*,\d+|\d+,)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
_ROWS = 1000  # that are looked at


def check_decimal(given: str | None) -> str | None:
    """A comma, a point, or nothing said."""
    return None if given is None else str(one_of(given, (".", ","), keyword("decimal")))


def decimal_of(texts: Sequence[str], *, degrees: bool = False) -> str:
    """What stands before the decimals of numbers: a comma where one of them can be nothing else, and none has a point.

    Texts that are no numbers in either way say nothing. A comma never stands between thousands of ``degrees``.

    Examples
    --------
    >>> decimal_of(["48,8566", "2", ""]), decimal_of(["48.8566", "2"]), decimal_of(["1,234", "2,345"])
    (',', '.', '.')
    >>> decimal_of(["48,857", "2"], degrees=True)
    ','
    """
    commas = [text for text in texts if _COMMA.fullmatch(text)]
    others = [text for text in texts if text and not _WHOLE.fullmatch(text) and not _COMMA.fullmatch(text)]
    pointed = any("." in text and any(sign.isdigit() for sign in text) for text in others)
    return "," if not pointed and any(degrees or not _THOUSANDS.fullmatch(text) for text in commas) else "."


def decimal_in(
    block: bytes, delimiter: str | None, columns: Sequence[str], *, final: bool, degrees: bool = False
) -> str:
    """What stands before the decimals in columns of a CSV file, by the first rows of its first block."""
    header = csv_header(block, delimiter, final=final)
    places = [] if header is None else sorted({header.names.index(name) for name in columns if name in header.names})
    if header is None or not places:
        return "."
    data = np.frombuffer(block, dtype=np.uint8)[header.end :]
    separator, wanted = ord(header.delimiter), np.array(places, dtype=np.int64)
    try:
        found = scan_csv(data, separator, len(header.names), wanted, _ROWS, final=final, first_row=0)
    except BadRow:  # which the release itself refuses, with the file
        return "."
    bounds = zip(found.starts.ravel().tolist(), found.ends.ravel().tolist(), strict=True)
    return decimal_of([unquoted(data[a:b].tobytes().decode("utf-8", "replace")) for a, b in bounds], degrees=degrees)
