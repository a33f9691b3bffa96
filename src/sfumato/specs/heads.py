"""The first rows of a file of points, whatever its size."""

from __future__ import annotations

from contextlib import suppress
from os import PathLike
from pathlib import Path

from sfumato.arguments import quoted
from sfumato.errors import InvalidInput, NotSupported
from sfumato.files import refuse_endless, refuse_spreadsheet
from sfumato.numbers import as_written
from sfumato.release.formats.reading import delimiter_of, file_batches, file_blocks
from sfumato.release.streams import FORMATS
from sfumato.specs.complaints import nearest
from sfumato.specs.tables import Columns, columns_from_bytes

_ROWS = 1_000


def first_rows(path: str | PathLike[str]) -> Columns:
    """The names of the columns of a CSV or Parquet file, and its first thousand rows as texts."""
    file = Path(path)
    ending = file.suffix.lower()
    if not file.exists():
        raise InvalidInput(f"there is no file {quoted(file)}{like(file)}")
    refuse_endless(file)
    refuse_spreadsheet(file)
    if ending not in FORMATS["csv"] + FORMATS["parquet"]:
        raise NotSupported(f"points from {file.name!r}", ["a .csv or .parquet file; `sfumato hide` takes more formats"])
    try:
        if ending in FORMATS["parquet"]:
            return _parquet_rows(file)
        block, final = next(file_blocks(file))
        return columns_from_bytes(block, file, _ROWS, delimiter=delimiter_of(file), final=final)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{quoted(file)} is not text in UTF-8 (byte {error.start})") from error
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise InvalidInput(f"{quoted(file)} cannot be read: {reason}") from error


def like(file: Path) -> str:
    """``, did you mean 'trips.csv'?`` where the folder has a file of nearly that name."""
    with suppress(OSError):
        hint = nearest(file.name, [other.name for other in file.parent.iterdir() if other.is_file()])
        return hint if "did you mean" in hint else ""
    return ""


def _parquet_rows(file: Path) -> Columns:
    batch = next(file_batches(file, "parquet", None), None)
    if batch is None or not batch.num_rows:
        raise InvalidInput(f"{quoted(file)} has no rows")
    columns = [column.to_pylist() for column in batch.slice(0, _ROWS).columns]
    rows = [["" if cell is None else str(cell) for cell in row] for row in zip(*columns, strict=True)]
    return Columns(file, tuple(batch.schema.names), rows, list(range(1, len(rows) + 1)))


def numbers_in(table: Columns, name: str) -> list[float]:
    """The numbers of a column, without rows that have none there; a text is refused with its line."""
    if name not in table.header:
        raise InvalidInput(f"{table.file} has no column {name!r}{nearest(name, table.header)}")
    place = table.header.index(name)
    found = []
    for row, line in zip(table.rows, table.lines, strict=True):
        if row[place]:
            found.append(float(as_written(row[place], f"{table.file}, line {line}, column {name!r}:")))
    return found
