"""Columns of a CSV file: whatever is missing or no number is told with its line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isfinite
from os import PathLike
from pathlib import Path
from typing import Any

from sfumato.errors import InvalidInput
from sfumato.files import read_text
from sfumato.labels import text_of
from sfumato.numbers import as_written
from sfumato.release.formats.lines_csv import csv_delimiter, csv_rows
from sfumato.spaces.foreign import named_column
from sfumato.specs.complaints import nearest

_LARGEST_FILE = 2**30  # bytes
_MOST_EXACT = 100_000  # entries of a table that are read as fractions, a second or so; more are read as doubles
_INFINITE = ("inf", "infinity", "∞")


@dataclass(frozen=True, eq=False)
class Columns:
    """The header of a CSV file, its rows as texts, and the line on which each stands."""

    file: Path
    header: tuple[str, ...]
    rows: list[list[str]]
    lines: list[int]

    def __len__(self) -> int:
        return len(self.rows)


def read_columns(path: str | PathLike[str]) -> Columns:
    """Read a CSV file with a header; columns are apart by a comma, a semicolon, a tab or |, whichever the header has.

    Empty lines are passed over; a row of another length than the header is refused.
    """
    file = Path(path)
    return columns_from_text(read_text(file, _LARGEST_FILE), file)


def columns_from_text(text: str, name: str | PathLike[str] = "the table") -> Columns:
    r"""The same for a text; ``name`` is how errors call it.

    Examples
    --------
    >>> columns_from_text("x;y\n1;2").header
    ('x', 'y')
    """
    return columns_from_bytes(text.encode("utf-8", "replace"), name)


def columns_from_bytes(
    data: bytes, name: str | PathLike[str], most: int | None = None, *, delimiter: str | None = None, final: bool = True
) -> Columns:
    """The same for the bytes of a text, as far as so many rows below the header; ``final`` where they are all of it."""
    file = Path(name)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        separator = csv_delimiter(data, delimiter)
        for line, row in csv_rows(data, separator, None if most is None else most + 1, final=final):
            cells = [cell.strip() for cell in row]
            if any(cells):
                rows.append(cells)
                lines.append(line)
    except InvalidInput as error:
        raise InvalidInput(f"{file}, {error}") from error
    if len(rows) < 2:
        raise InvalidInput(f"{file} needs a header with the names of its columns and at least one row below it")
    header = tuple(rows[0])
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            raise InvalidInput(f"{file}, line {line}: {len(row)} cells, but the header has {len(header)}")
    return Columns(file, header, rows[1:], lines[1:])


def usual_column(table: Columns, usual: Sequence[str], what: str, how: str) -> str:
    """The one column with a usual name, an empty text if there is none; ``how`` says how to choose among several."""
    try:
        return str(named_column(table.header, usual, what, how))
    except InvalidInput as error:
        raise InvalidInput(f"{table.file}: {error}") from None


def column_texts(table: Columns, name: str) -> list[str]:
    """The texts of a column, none of them empty."""
    if name not in table.header:
        raise InvalidInput(f"{table.file} has no column {name!r}{nearest(name, table.header)}")
    if table.header.count(name) > 1:
        raise InvalidInput(f"{table.file} has several columns {name!r}")
    place = table.header.index(name)
    cells = [row[place] for row in table.rows]
    for cell, line in zip(cells, table.lines, strict=True):
        if not cell:
            raise InvalidInput(f"{table.file}, line {line}: {name!r} is empty")
    return cells


def rows_with(table: Columns, names: Sequence[str]) -> Columns:
    """The rows in which none of some columns is empty."""
    places = [table.header.index(name) for name in names if name in table.header]
    kept = [at for at, row in enumerate(table.rows) if all(row[place] for place in places)]
    return replace(table, rows=[table.rows[at] for at in kept], lines=[table.lines[at] for at in kept])


def numbers_of(table: Columns, name: str) -> list[Fraction]:
    """The numbers of a column, exactly as written."""
    cells = column_texts(table, name)
    return [_number(cell, table, line, name) for cell, line in zip(cells, table.lines, strict=True)]


def column_in_order(
    table: Columns, name: str, label: str | None, labels: Sequence[Any], what: str, hint: str = ""
) -> list[Fraction]:
    """The numbers of a column with a row for each of some labels, in their order or matched by a column of labels."""
    values = numbers_of(table, name)
    if label is not None:
        return [values[i] for i in _in_order(table, column_texts(table, label), labels, "row for")]
    if len(values) != len(labels):
        raise InvalidInput(f"{table.file} has {len(values)} rows for {len(labels)} {what}{hint}")
    return values


def amounts_by_label(amounts: Mapping[Any, Fraction], labels: Sequence[Any], what: str) -> list[Fraction]:
    """Amounts for each of some labels, 0 where none is named; errors call a label ``what``."""
    named = dict(zip(spelled_labels(amounts, labels, what), amounts.values(), strict=True))
    return [named.get(label, Fraction(0)) for label in labels]


def labelled_table(
    table: Columns, columns: Sequence[Any] | None, what: str, *, infinite: bool = False
) -> tuple[tuple[str, ...], list[list[Any]]]:
    """A matrix whose first column names its rows and whose header its columns: the names of rows, and the numbers.

    Columns come in the order of labels, or else of rows; errors call them ``what``. ``infinite`` allows ``inf`` for a
    number. Up to 100,000 numbers are taken for what is written, more for the nearest doubles.
    """
    names = column_texts(table, table.header[0])
    above = table.header[1:]
    for labels in (names, above):
        if len(set(labels)) < len(labels):
            twice = next(label for label in labels if labels.count(label) > 1)
            raise InvalidInput(f"{table.file} names {twice!r} twice")
    exactly = len(names) * len(above) <= _MOST_EXACT
    entries = [
        [_entry(cell, table, line, name, exactly, infinite) for cell, name in zip(row[1:], above, strict=True)]
        for row, line in zip(table.rows, table.lines, strict=True)
    ]
    order = _in_order(table, above, names if columns is None else columns, what)
    return tuple(names), [[row[i] for i in order] for row in entries]


def _in_order(table: Columns, names: Sequence[str], wanted: Sequence[Any], what: str) -> list[int]:
    """Where the labels of a space stand among those of a file; both must have the same ones."""
    place = {label: i for i, label in enumerate(names)}
    texts = [text_of(label) for label in wanted]
    for text in texts:
        if text not in place:
            raise InvalidInput(f"{table.file} has no {what} {text!r}{nearest(text, names) if len(names) < 20 else ''}")
    known = set(texts)
    for text in names:
        if text not in known:
            raise InvalidInput(f"{table.file} has a {what} {text!r}, which is no secret of the space")
    return [place[text] for text in texts]


def spelled_labels(labels: Iterable[Any], known: Sequence[Any], what: str) -> tuple[Any, ...]:
    """Known labels that were named by themselves or by their spelling, as a file or an option has them."""
    own = set(known)
    texts = {text_of(label): label for label in known}
    matches = []
    for label in labels:
        if label in own:
            matches.append(label)
        elif text_of(label) in texts:
            matches.append(texts[text_of(label)])
        else:
            hint = nearest(text_of(label), texts) if len(texts) < 40 else ""
            raise InvalidInput(f"{label!r} is no {what}{hint}")
    return tuple(matches)


def _number(cell: str, table: Columns, line: int, name: str) -> Fraction:
    try:
        return as_written(cell)
    except ValueError:
        what = f"{cell!r} is no number" if cell else "a number is missing"
        raise InvalidInput(f"{table.file}, line {line}, column {name!r}: {what}") from None


def _entry(cell: str, table: Columns, line: int, name: str, exactly: bool, infinite: bool) -> Fraction | float:
    if not exactly:
        with suppress(ValueError):
            value = float(cell)
            if isfinite(value):
                return value
    if infinite and cell.lower() in _INFINITE:
        return inf
    return _number(cell, table, line, name)
