"""Release a file into a file: CSV, JSON lines, Parquet, Arrow, GeoJSON, GeoPackage, Shapefile; the whole file or none.

All are read and written batch after batch, in constant memory.

The output is written under another name in the same folder, brought to the disk, charged to the ledger, and only then
given its name. An error, a full disk or a killed process leaves no output; what a killed process leaves under the other
name is removed by the next release to the same place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from sfumato.arguments import file_path, flag, integer, one_of
from sfumato.certify.verify import load
from sfumato.errors import InvalidFile, InvalidInput, NotSupported, SfumatoError, keyword, shown
from sfumato.fields import with_fields
from sfumato.files import PartialFile, partial_files, place_together, refuse_spreadsheet, writable
from sfumato.release.batches import BATCH, LARGEST_BATCH, BatchRelease, Progress, batch_release, tell
from sfumato.release.fields import TermFields
from sfumato.release.formats.geo_files import DRIVERS, into_part, release_ogr
from sfumato.release.formats.reading import (
    arrow_file,
    check_decimal,
    complaints_of_reading,
    compression_of,
    read_batches,
    told_with_file,
)
from sfumato.release.geometry import refuse_geometry_types
from sfumato.release.staying import GrownDictionaries, compacted, unordered, unordered_schema
from sfumato.release.streams_text import TEXTS, release_text, sink_of
from sfumato.release.tables import order_after, release_batch, released_schema, staying_names
from sfumato.release.terms import Column, Terms, terms_of

FORMATS: dict[str, tuple[str, ...]] = {
    "csv": (".csv", ".tsv", ".txt"),
    "jsonl": (".jsonl", ".ndjson", ".jsonlines", ".geojsonl", ".geojsons"),
    "geojson": (".geojson",),
    "parquet": (".parquet", ".pq", ".geoparquet"),
    "arrow": (".arrow", ".feather", ".ipc", ".arrows"),
    "gpkg": (".gpkg",),
    "shapefile": (".shp", ".shz", ".shp.zip"),
}
"""The formats of files, and the endings by which they are known."""

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
    note: str = ""
    """What must be said where coordinates were released by a list of secrets, whose promise is about these alone."""
    beyond: int = 0
    """Of the dropped rows, those whose person has others before them."""
    strays: tuple[int, ...] = ()
    """The moved ones at each place of a row."""
    decimal: str = "."
    """What stands before the decimals of coordinates, in a CSV file and what was made of it."""

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0


@with_fields(Terms)
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
    decimal: str | None = None,
    layer: str | None = None,
    progress: Callable[[Progress], None] | None = None,
    beside: Mapping[Path, bytes] | None = None,
    **keywords: Unpack[TermFields],
) -> Released:
    """Copy a file with the secrets of a column replaced by outputs of a proved mechanism.

    In CSV files, JSON lines and GeoJSON everything but the released cells is copied byte for byte; in Parquet and Arrow
    files the other columns, their types and row groups stay, and metadata are made anew; a GeoPackage or Shapefile is
    made of the released rows. What a file says of its points as a whole (boxes around them, extents, statistics) is
    gone, or made of released points. Parameters that are not listed here are those of
    :class:`~sfumato.release.terms.Terms`.

    Parameters
    ----------
    mechanism
        A proved mechanism, or the path of its file, which is then loaded and proved again.
    source, target
        Two files of one format. CSV, JSON lines and GeoJSON may be compressed (``.csv.gz``).
    format
        ``"csv"``, ``"jsonl"``, ``"geojson"``, ``"parquet"``, ``"arrow"``, ``"gpkg"`` or ``"shapefile"``; known by the
        endings of the files unless given.
    overwrite
        Replace an existing target. Without it a file that is there is never touched: releasing again with fresh noise
        is another release.
    delimiter
        Of a CSV file; the one that its header has most of, unless given.
    decimal
        ``","`` for coordinates of a CSV file with decimal commas, ``"."`` for points; what its first rows have, unless
        given. Released coordinates are written alike.
    beside
        Files with their contents that appear together with the target, or not at all.
    layer
        Of a GeoPackage; needed where it has several.
    """
    old, new = file_path(source, "the source"), file_path(target, "the target")
    overwrite = flag(overwrite, "overwrite")
    kind = common_format(old, new, format)
    _check_places(old, new, overwrite)
    contents = _contents(beside)
    for path in contents:
        _check_places(old, path, overwrite)
    decimal = check_decimal(decimal)
    if decimal is not None and kind != "csv":
        raise InvalidInput(f"{keyword('decimal')} is for CSV files, and {old.name} is none")
    batch = integer(batch, "batch, a number of rows,", 1, LARGEST_BATCH)
    if isinstance(mechanism, str | PathLike):
        mechanism = load(mechanism)
    work = tell(batch_release(mechanism, terms_of(column, keywords), progress=progress))
    work.changes.folder = new.parent
    if layer is not None and kind not in DRIVERS:
        raise InvalidInput(f"{keyword('layer')} is for a GeoPackage, and {old.name} is none")
    with _complaints_of_writing(new):
        part = PartialFile(new)
    with part, partial_files(contents) as others, ExitStack() as stack:
        with _complaints_of_writing(new):
            parts: list[PartialFile] = []
            if kind in DRIVERS:
                parts = _release_ogr(old, part, kind, work, batch, layer, stack, overwrite=overwrite)
            else:
                release_rows(old, part.temporary, kind, work, batch, delimiter, compression_of(new), decimal)
            part.settle()
        work.finish()
        place_together([*others, *parts, part], overwrite=overwrite)
    return Released(
        new, work.rows, work.dropped, work.seconds, work.moved, work.farthest, work.note, work.beyond, work.strays,
        work.decimal,
    )  # fmt: skip


def release_rows(
    source: Path, target: Path | None, kind: str, work: BatchRelease, batch: int = BATCH, delimiter: str | None = None,
    compression: Any = None, decimal: str | None = None,
) -> None:  # fmt: skip
    """Copy the rows of a file of one of our own formats, released, into a file that nobody looks at, or none."""
    if kind in TEXTS:
        release_text(source, target, kind, work, batch, delimiter, compression, decimal)
    elif kind == "parquet":
        _release_parquet(source, target, work, batch)
    else:
        _release_arrow(source, target, work, batch)


# ----------------------------------------------------------------- places


def _contents(beside: Any) -> dict[Path, bytes]:
    """Files that appear with the target, by their names."""
    if not isinstance(beside, Mapping | None):
        raise InvalidInput(f"{keyword('beside')} maps names of files to their contents, found {shown(beside)}")
    found = {file_path(name, "a file beside the target"): content for name, content in (beside or {}).items()}
    if not all(isinstance(content, bytes) for content in found.values()):
        raise InvalidInput(f"{keyword('beside')} maps names of files to their contents, which are bytes")
    return found


def common_format(source: Path, target: Path, given: str | None = None) -> str:
    """The format of two files, which is one."""
    if given is not None:
        one_of(given, tuple(FORMATS), "format")
        for path in (source, target):
            if given not in TEXTS and compression_of(path):
                raise NotSupported(f"a {given} file that is compressed as a whole, {path.name}", ["without the ending"])
        return given
    formats = [format_of_file(path) for path in (source, target)]
    if formats[0] != formats[1]:
        raise NotSupported(
            f"releasing {formats[0]} into {formats[1]}", ["a target of the same format as the source", "format="]
        )
    return formats[0]


def format_of_file(path: Path) -> str:
    """The format of a file, by its ending."""
    refuse_spreadsheet(path)
    compressed = compression_of(path)
    inner = Path(path.stem) if compressed else path
    ending = "".join(inner.suffixes[-2:]).lower() if inner.suffix.lower() == ".zip" else inner.suffix.lower()
    for name, endings in FORMATS.items():
        if ending in endings and (not compressed or name in TEXTS):
            return name
    known = [ending for endings in FORMATS.values() for ending in endings]
    raise NotSupported(
        f"the format of {shown(path.name)}", [*known, "with .gz, .bz2, .zst or .lz4 after text", "format="]
    )


def _check_places(source: Path, target: Path, overwrite: bool) -> None:
    if not source.exists():
        raise InvalidInput(f"there is no file {source}")
    if not source.is_file():
        raise InvalidInput(f"{source} is no file")
    writable(target)
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


# ----------------------------------------------------------------- Parquet and Arrow


def _release_parquet(source: Path, target: Path | None, work: BatchRelease, batch: int) -> None:
    with complaints_of_reading(source, "Parquet"):
        file = pq.ParquetFile(source)
        before = file.schema_arrow
    with file:
        work.total = file.metadata.num_rows
        schema = told_with_file(source, released_schema, before, work)
        stay = staying_names(before.names, work)
        told_with_file(source, _refuse_stored_order, file, work)
        told_with_file(source, refuse_geometry_types, _logical_types(file), work)
        several = file.metadata.num_row_groups > 1 or work.total > _LARGEST_GROUP
        said = unordered_schema(schema) if several else schema
        with sink_of(target) as sink, pq.ParquetWriter(sink, said, compression=_codecs(file, work)) as writer:
            for number in range(file.metadata.num_row_groups):
                groups = file.iter_batches(batch_size=batch, row_groups=[number])
                parts = read_batches(source, "Parquet", groups)
                released = (release_batch(part, work, schema, compact=False) for part in parts)
                for group in _grouped(released):
                    table = compacted(pa.Table.from_batches(group, schema), stay)
                    writer.write_table(unordered(table) if several else table, _LARGEST_GROUP)


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


def _release_ogr(
    source: Path, part: PartialFile, kind: str, work: BatchRelease, batch: int, layer: str | None, beside: ExitStack,
    *, overwrite: bool,
) -> list[PartialFile]:  # fmt: skip
    """Release what pyogrio reads and writes; the files that come beside the main one, in their own parts."""
    target = part.target
    with part.folder() as folder:
        main, *others = release_ogr(source, folder, target.name, kind, work, batch, layer)
        into_part(main, part)
        parts = []
        for other in others:
            place = target.with_suffix(other.suffix)
            if place.exists() and not overwrite:
                raise InvalidInput(f"{place} is already there, and belongs to another release: name another target")
            parts.append(beside.enter_context(PartialFile(place)))
            into_part(other, parts[-1])
            parts[-1].settle()
    return parts


def _release_arrow(source: Path, target: Path | None, work: BatchRelease, batch: int) -> None:
    with arrow_file(source) as file:
        schema = told_with_file(source, released_schema, file.schema, work)
        stay, grown = staying_names(file.schema.names, work), GrownDictionaries()
        said = schema if file.alone else unordered_schema(schema)
        with sink_of(target) as sink:
            deltas = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
            writer = pa.ipc.new_file(sink, said, options=deltas) if file.whole else pa.ipc.new_stream(sink, said)
            with writer:
                for whole in file.batches:
                    slices = (whole.slice(first, batch) for first in range(0, len(whole), batch))
                    released = (release_batch(part, work, schema, compact=False) for part in slices)
                    for group in _grouped(released):
                        table = compacted(pa.Table.from_batches(group, schema), stay)
                        for part in table.combine_chunks().to_batches():
                            writer.write_batch(part if file.alone else grown.of(part))
