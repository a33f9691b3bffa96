"""Matrices from other tools: CSV, TSV, columns of spaces, JSON and .npy, with or without names of rows and columns.

Texts are taken for what is written: ``0.1`` is a tenth and ``1/3`` a third; how well each number is known is kept
beside (:mod:`sfumato.report.audit_digits`). What cannot be a channel (percentages, counts, a transposed table) is
refused with a word on what it looks like.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.channel import Channel
from sfumato.errors import InvalidChannel, InvalidInput, Mismatch, NotSupported, keyword, short, shown
from sfumato.files import read_bytes, read_text
from sfumato.labels import text_of
from sfumato.numbers import Array, exact, floats, is_exact, nearest_float, object_array, told_apart
from sfumato.release.formats.lines_csv import csv_rows
from sfumato.report.audit_digits import are_doubles, array_errors, rough_errors, text_errors
from sfumato.report.audit_rounding import Margins
from sfumato.spaces.finite import FiniteSpace

TOLERANCE = Fraction(1, 1000)
"""How far from 1 the sum of a row may be: what is lost by writing a few dozen numbers with four digits."""

_LARGEST_FILE = 2**28  # Files of more bytes are refused.
_MOST_EXPLAINED = 10  # A row that is off by more tolerances than this was not rounded: it is another thing.
_MOST_EXACT = 250_000  # So many entries are read as fractions in a second or two; more are read as doubles.
_MOST_DIGITS = 400  # No number of a matrix has more digits, nor its exponent to ten.
_INFINITE = ("inf", "infinity", "∞")
_NUMBER = re.compile(r"[+-]?\d+\s*/\s*\d+|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_WHATEVER_ITS_SIZE = re.compile(r"[+-]?\d+\s*/\s*\d+|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d{1,3})?")


@dataclass(frozen=True, eq=False)
class LabelledMatrix:
    """A table of numbers and the names of its rows and columns, None where the file has none.

    ``divided`` is how far from 1 the sum of a row was before rows were divided by their sums, 0 if that was not done.
    ``errors`` says by how much each number may differ from what is written (None: by nothing), and ``box`` between
    which numbers each entry of a channel lies.
    """

    values: Array
    rows: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    divided: Fraction | float = Fraction(0)
    errors: Array | None = None
    box: Margins | None = None


def read_matrix(
    path: str | PathLike[str],
    *,
    header: bool | None = None,
    names: bool | None = None,
    tolerance: Fraction = TOLERANCE,
    secrets: int | None = None,
    digits: bool = False,
) -> LabelledMatrix:
    """A stochastic matrix from a file; rows whose sums differ from 1 by at most ``tolerance`` are divided by them.

    Ten times that is allowed where the digits of a row explain it.

    Parameters
    ----------
    path
        ``.npy``, ``.json`` (a list of rows; or ``matrix``, ``secrets`` and ``outputs``; or an object of objects), or
        text with columns apart by commas, semicolons, tabs or spaces.
    header, names
        Whether the first row names the columns, whether the first column names the rows. By default found out: a row
        or column of text is one of names. One that mixes text and numbers is refused, because a slip of the pen would
        make names of probabilities. Different whole numbers are names if rows sum to 1 only then: in a first row
        only below a corner that is no number, or where it is one row more than there are ``secrets``.
    secrets
        How many rows there should be, where that is known.
    digits
        Whether a text is meant as it is written, also where its digits are those of doubles: these differ from it.
    """
    file = Path(path)
    return _chosen(_opened(file, digits), str(file), header, names, tolerance, secrets, digits)


def matrix_from_text(text: str, what: str, tolerance: Fraction, secrets: int) -> LabelledMatrix:
    """The same from the text of such a file; ``what`` is how errors call it."""
    return _chosen(_cells(text, what), what, None, None, tolerance, secrets)


def _chosen(
    opened: LabelledMatrix | list[list[str]],
    what: str,
    header: bool | None,
    names: bool | None,
    tolerance: Fraction,
    secrets: int | None,
    digits: bool = False,
) -> LabelledMatrix:
    """The reading with the right number of rows whose rows sum to 1; else the first one, which is then refused."""
    readings = _readings(opened, what, header, names, counted=secrets is not None, digits=digits)
    sized = [m for m in readings if secrets in (None, len(m.values))]
    if not sized:
        raise InvalidInput(f"{what} has {len(readings[0].values)} rows for {secrets} secrets")
    return channel_rows(next((m for m in sized if _sums_fit(m, tolerance).all()), sized[0]), tolerance, what)


def read_square(path: str | PathLike[str]) -> LabelledMatrix:
    """A square table, such as distances: names of rows and columns, if there are some, must be the same."""
    file = Path(path)
    readings = _readings(_opened(file), str(file), None, None, infinite=True, counted=True)
    square = [m for m in readings if m.values.shape[0] == m.values.shape[1]]
    table = next((m for m in square if not np.diagonal(m.values).any()), None)
    if table is None:
        rows, columns = readings[0].values.shape
        raise InvalidInput(
            f"{file} is no square table with zeros on its diagonal: {rows} rows and {columns} columns of numbers"
        )
    if table.rows is not None and table.columns is not None and table.rows != table.columns:
        raise InvalidInput(f"{file}: rows and columns have different names, or another order")
    return table


def channel_rows(matrix: LabelledMatrix, tolerance: Fraction = TOLERANCE, what: str = "the matrix") -> LabelledMatrix:
    """The matrix with rows that sum to 1, or an error that says what it looks like instead.

    Examples
    --------
    >>> channel_rows(LabelledMatrix(object_array([Fraction("0.333"), Fraction("0.666")], (1, 2)))).values.tolist()
    [[Fraction(1, 3), Fraction(2, 3)]]
    """
    table, exactly = matrix.values, is_exact(matrix.values)
    infinite = np.zeros(table.shape, dtype=bool) if exactly else ~np.isfinite(table)
    for wrong, why in ((infinite, "which is no probability"), (table < 0, "a negative number")):
        if wrong.any():
            x, y = np.argwhere(wrong)[0]
            raise InvalidChannel(f"{what}: {_where(matrix, x, y)} is {_shown(table[x, y])}, {why}")
    sums = table.sum(axis=1)
    off, bad = np.abs(sums - 1), np.flatnonzero(~_sums_fit(matrix, tolerance))
    if bad.size:
        x = int(bad[0])
        raise InvalidChannel(
            f"{what}: {_where(matrix, x)} sums to {told_apart(sums[x], 1)[0]}, not to 1 within {_shown(tolerance)}"
            f"{_looks_like(table, tolerance)}", x if matrix.rows is None else matrix.rows[x], sums[x],
        )  # fmt: skip
    box = None if matrix.errors is None else _box(table, matrix.errors, sums)
    # m doubles, each rounded once, sum to 1 within m units in the last place: that is no deviation
    if (off <= (0 if exactly else (table.shape[1] + 8) * 2.0**-52)).all():
        return replace(matrix, box=box)
    most = off.max()
    return replace(matrix, values=table / sums[:, None], divided=most if exactly else float(most), box=box)


def _box(table: Array, errors: Array, sums: Array) -> Margins | None:
    """Where the entries lie; rows that cannot sum to 1 within their errors are divided by their sums, errors too."""
    box = Margins.around(table, errors)
    if box.known:
        return None
    off = (box.low.sum(axis=1) > 1) | (box.high.sum(axis=1) < 1)
    scale = np.where(off, sums, sums / sums)[:, None]
    return Margins.around(table / scale, errors / scale) if off.any() else box


def _looks_like(table: Array, tolerance: Fraction) -> str:
    values, limit = floats(table), float(tolerance)
    sums = values.sum(axis=1)
    if (np.abs(sums - 100) <= 100 * limit).all():
        return ": these are percentages; divide them by 100"
    if (np.abs(values.sum(axis=0) - 1) <= limit).all():
        return ", but its columns do: one row a secret is needed; transpose it"
    if (values == np.round(values)).all() and sums.min() > 1:
        return ": these are counts; probabilities are needed, and shares of counts are only estimates of them"
    if (np.abs(sums - 1) <= 0.05).all():
        return "; a larger tolerance divides rows by their sums"
    return ""


def channel_on(
    matrix: LabelledMatrix, space: FiniteSpace | None, what: str = "the matrix"
) -> tuple[Channel, Margins | None]:
    """The channel of a matrix on a space, rows by their names where there are some, else in order; and its box.

    Outputs are called by their names; those that are secrets get the label of the secret. Without names, the outputs
    of a square matrix are the secrets.

    Examples
    --------
    >>> from sfumato.spaces import grid
    >>> half = object_array([Fraction(1, 2)] * 4, (2, 2))
    >>> channel_on(LabelledMatrix(half, ("0,1", "0,0"), ("0,0", "none")), grid(1, 2))[0].outputs
    ((0, 0), 'none')
    """
    rows, columns = matrix.values.shape
    if space is None:
        labels: tuple[Any, ...] = tuple(range(rows)) if matrix.rows is None else matrix.rows
    else:
        labels = space.labels
        if rows != len(labels):
            raise InvalidInput(f"{what} has {rows} rows for {len(labels)} secrets of {space.name}")
    spelled = {text: label for label in labels for text in (text_of(label), str(label))}
    order = list(range(rows))
    if space is not None and matrix.rows is not None:
        strangers = [name for name in matrix.rows if name not in spelled]
        if strangers:
            raise Mismatch.unknown(f"rows of {what}", list(map(text_of, labels)), strangers)
        place = {spelled[name]: i for i, name in enumerate(matrix.rows)}
        if len(place) < rows:
            raise InvalidInput(f"{what} names a secret twice")
        order = [place[label] for label in labels]
    if matrix.columns is not None:
        outputs = tuple(spelled.get(name, name) for name in matrix.columns)
    else:
        outputs = labels if columns == rows else tuple(range(columns))
    return Channel(labels, matrix.values[order], outputs), None if matrix.box is None else matrix.box.rows(order)


# ----------------------------------------------------------------- text


def _opened(file: Path, digits: bool = False) -> LabelledMatrix | list[list[str]]:
    """A table of numbers, or cells of text that may be names."""
    if file.suffix.lower() == ".npy":
        return _from_numpy(read_bytes(file, _LARGEST_FILE), str(file))
    text = read_text(file, _LARGEST_FILE)
    return _from_json(text, str(file), digits) if file.suffix.lower() == ".json" else _cells(text, str(file))


def _cells(text: str, what: str) -> list[list[str]]:
    """Rows of cells, all equally long; lines that are empty or begin with # are passed over."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise InvalidInput(f"{what} is empty")
    separator = next((sign for sign in ";\t," if sign in lines[0]), "")  # beside a semicolon a comma is a decimal one
    if not separator:
        grid = [line.split() for line in lines]
    else:
        try:
            grid = [row for _, row in csv_rows("\n".join(lines).encode("utf-8", "replace"), separator)]
        except InvalidInput as error:
            raise InvalidInput(f"{what}: {error}") from error
    grid = [[cell.strip() for cell in row] for row in grid]
    if separator != ",":  # then a comma is a decimal point
        grid = [[cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell for cell in row] for row in grid]
    width = len(grid[-1])
    if len(grid[0]) == width - 1:
        grid[0] = ["", *grid[0]]  # a header that leaves out the corner, as R writes it
    for number, row in enumerate(grid, 1):
        if len(row) != width:
            raise InvalidInput(f"{what}: row {number} has {len(row)} cells, the last one has {width}")
    return grid


def _is_number(cell: str, infinite: bool) -> bool:
    """Whether it is a number that a float can come near: what is computed of it, and said, is a float somewhere."""
    if len(cell) > _MOST_DIGITS or not _NUMBER.fullmatch(cell):
        return infinite and cell.lower() in _INFINITE
    if "/" not in cell:
        return isfinite(float(cell))
    above, below = map(int, cell.split("/"))
    return below != 0 and isfinite(nearest_float(Fraction(above, below)))


def _reads_as_number(cell: str) -> bool:
    """Whether it looks like a number, also one that no matrix may have: nan, infinities, percentages, endless ones."""
    try:
        float(cell.rstrip("%‰ ").replace("−", "-"))
    except ValueError:
        return bool(_WHATEVER_ITS_SIZE.fullmatch(cell))
    return True


def _no_number(cell: Any) -> str:
    """What is wrong with a cell that is none of the numbers of a matrix."""
    found = _WHATEVER_ITS_SIZE.fullmatch(cell.strip()) if isinstance(cell, str) else isinstance(cell, int | Decimal)
    if not found or (isinstance(cell, str) and "/" in cell and not cell.partition("/")[2].strip(" 0")):
        return f"{shown(cell)} is no number"
    return f"{short(cell)} is no number of a matrix: these have at most {_MOST_DIGITS} digits, and none is beyond 1e308"


def _readings(
    grid: LabelledMatrix | list[list[str]],
    what: str,
    header: bool | None,
    names: bool | None,
    *,
    infinite: bool = False,
    counted: bool = False,
    digits: bool = False,
) -> list[LabelledMatrix]:
    """Every way to tell names from numbers, with as few names as possible first.

    Numbers are names only if they are different whole ones, and those of a first row without a corner only if the
    number of rows is known (``counted``): a row of probabilities must not be taken for a header because it does not
    sum to 1.
    """
    if isinstance(grid, LabelledMatrix):
        return [grid]
    texts = [[not _is_number(cell, infinite) for cell in row] for row in grid]
    readings = []
    for top, side in ((False, False), (True, False), (False, True), (True, True)):
        inner = [row[side:] for row in grid[top:]]
        if header not in (None, top) or names not in (None, side) or not inner or not inner[0]:
            continue
        corner = (header is None and not top) or (names is None and not side)  # would be a name or a number
        if any(any(row[side:]) for row in texts[top:]) or (corner and not grid[0][0]):
            continue
        above = tuple(grid[0][side:]) if top else None
        beside = tuple(row[0] for row in grid[top:]) if side else None
        if not top and header is None and side and texts[0][0] and not any(row[0] for row in texts[1:]) and texts[1:]:
            continue  # a word above numbers is the head of their column
        if (header or _may_head(above, grid[0][0] if side else None, counted)) and (names or _may_name(beside)):
            readings.append(_from_cells(inner, beside, above, digits))
    if not readings:
        _refuse(grid, texts, what, header, names)
    return readings


def _may_head(cells: tuple[str, ...] | None, corner: str | None, counted: bool) -> bool:
    if cells is None or (corner is not None and not _reads_as_number(corner)):
        return _may_name(cells)
    first = cells if corner is None else (corner, *cells)
    if not any(map(_reads_as_number, first)):
        return True
    return counted and all(cell.isdigit() for cell in first) and _may_name(cells)


def _may_name(cells: tuple[str, ...] | None) -> bool:
    """Words, or different whole numbers; not both, since a word among numbers may be a number with a slip in it."""
    if cells is None or not any(map(_reads_as_number, cells)):
        return True
    whole = all(cell.isdigit() and len(cell) <= _MOST_DIGITS for cell in cells)
    return whole and len(set(cells)) == len(cells)


def _refuse(
    grid: list[list[str]], texts: list[list[bool]], what: str, header: bool | None, names: bool | None
) -> NoReturn:
    """Say which cell is no number: one that tries to be, one among numbers, one of a row or column that mixes both."""
    top, side = header is not False, names is not False
    wrong = [(i, j) for i, row in enumerate(texts) for j, text in enumerate(row) if text]
    tries = [(i, j) for i, j in wrong if _reads_as_number(grid[i][j])]
    cells = [(i, j, "") for i, j in tries if (i or not header) and (j or not names)]
    cells += [(i, j, "") for i, j in wrong if i >= top and j >= side]
    cells += [(i, j, "outputs") for i, j in wrong if header is None and i == 0 and j > 0]
    cells += [(i, j, "secrets") for i, j in wrong if names is None and j == 0 and i > 0]
    cells += [(i, j, "outputs") for i, j in wrong if i == j == 0]
    if not cells:
        raise InvalidInput(f"{what} has no numbers that could be a matrix")
    i, j, named = cells[0]
    problem = _no_number(grid[i][j]) if grid[i][j] else "a number is missing"
    if named:
        line, choice = ("row", "header") if named == "outputs" else ("column", "names")
        asking = keyword(choice, True)
        problem += (
            f", and a first {line} with numbers in it is not taken for the names of {named} "
            f"{f'without {asking}' if asking else 'unasked'}"
        )
    raise InvalidInput(f"{what}, row {i + 1}, column {j + 1}: {problem}")


def _sums_fit(matrix: LabelledMatrix, tolerance: Fraction) -> NDArray[np.bool_]:
    """Which rows sum to 1 within the tolerance, or within ten times that where their digits explain it.

    Who asks for less than the usual tolerance gets what is asked for.
    """
    sums = matrix.values.sum(axis=1)
    wide = _MOST_EXPLAINED * tolerance if tolerance >= TOLERANCE else tolerance
    errors = np.zeros(len(sums)) if matrix.errors is None else matrix.errors.sum(axis=1)
    return np.array([
        abs(total) < inf and abs(exact(total) - 1) <= max(tolerance, min(exact(error), wide))
        for total, error in zip(sums, errors, strict=True)
    ])  # fmt: skip


def _from_cells(
    rows: Sequence[Sequence[str]], beside: tuple[str, ...] | None, above: tuple[str, ...] | None, digits: bool
) -> LabelledMatrix:
    """Fractions of what is written, and how well they are known; doubles where these are printed, or very many."""
    shape = (len(rows), len(rows[0]))
    flat = [cell.replace(" ", "") for row in rows for cell in row]
    infinite = any(cell.lower() in _INFINITE for cell in flat)  # distances, which nobody rounds to infinity
    if (
        not infinite and not digits and len(flat) <= _MOST_EXACT and are_doubles(flat)
    ):  # the same numbers as those of an array
        table = np.array(list(map(float, flat))).reshape(shape)
        return LabelledMatrix(table, beside, above, errors=array_errors(table))
    if infinite or len(flat) > _MOST_EXACT:
        table = np.array([float(_exact(cell)) if infinite or "/" in cell else float(cell) for cell in flat])
        errors = None if infinite else (rough_errors(flat) + array_errors(table)).reshape(shape)
        return LabelledMatrix(table.reshape(shape), beside, above, errors=errors)
    table = object_array([_exact(cell) for cell in flat], shape)
    return LabelledMatrix(table, beside, above, errors=object_array(text_errors(flat), shape))


def _exact(cell: str) -> Fraction | float:
    """A cell that is a number, or an infinity."""
    if cell.lower() in _INFINITE:
        return float("inf")
    return Fraction(cell)


# ----------------------------------------------------------------- JSON and arrays


def _from_numpy(data: bytes, what: str) -> LabelledMatrix:
    try:
        table = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, OSError, EOFError, MemoryError, OverflowError) as error:  # a header may claim any shape
        raise InvalidInput(f"{what} is no array of NumPy: {error}") from error
    if table.ndim != 2 or not table.size or table.dtype.kind not in "fiu":
        raise InvalidInput(f"{what}: a table of real numbers is needed, found {table.dtype} of shape {table.shape}")
    values = table.astype(np.float64)
    if np.isnan(values).any():
        x, y = np.argwhere(np.isnan(values))[0]
        raise InvalidInput(f"{what}, row {x + 1}, column {y + 1}: NaN is no number")
    return LabelledMatrix(values, errors=array_errors(table) if np.isfinite(values).all() else None)


def _from_json(text: str, what: str, digits: bool) -> LabelledMatrix:
    try:
        content = json.loads(text, parse_float=_as_it_stands, parse_int=_as_it_stands)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} is no JSON: {error}") from error
    rows = columns = None
    if isinstance(content, dict) and "matrix" in content:
        rows, columns = (content.get(key) for key in ("secrets", "outputs"))
        content = content["matrix"]
    elif isinstance(content, dict) and content and all(isinstance(row, dict) for row in content.values()):
        rows, columns = list(content), list(next(iter(content.values())))
        content = [
            [row.get(name) for name in columns] if set(row) == set(columns) else None for row in content.values()
        ]
    if not isinstance(content, list) or not content or not all(isinstance(row, list) and row for row in content):
        raise NotSupported(
            f"the JSON of {what}", ["a list of rows", "matrix, secrets and outputs", "an object of objects"]
        )
    if len({len(row) for row in content}) > 1:
        raise InvalidInput(f"{what}: rows have different lengths")
    cells = [[_json_number(value, what, i, j) for j, value in enumerate(row)] for i, row in enumerate(content)]
    return _from_cells(cells, _texts(rows), _texts(columns), digits)


def _as_it_stands(number: str) -> int | Decimal | str:
    """A number of JSON; one that is too long to be read stays a text, which is no number of a matrix."""
    if not _is_number(number, infinite=False):
        return number
    return int(number) if number.lstrip("-").isdigit() else Decimal(number)


def _json_number(value: Any, what: str, i: int, j: int) -> str:
    """A number as it is written."""
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, float):  # json reads Infinity and NaN so
        if value == float("inf"):
            return "inf"
    elif isinstance(value, str) and _is_number(value.strip(), infinite=True):
        return value
    raise InvalidInput(f"{what}, row {i + 1}, column {j + 1}: {_no_number(value)}")


def _texts(labels: Any) -> tuple[str, ...] | None:
    if labels is None:
        return None
    if not isinstance(labels, list):
        raise InvalidInput("secrets and outputs are lists of names")
    return tuple(text_of(tuple(label) if isinstance(label, list) else label) for label in labels)


# ----------------------------------------------------------------- words


def _where(matrix: LabelledMatrix, x: int, y: int | None = None) -> str:
    row = f"row {x + 1}" if matrix.rows is None else f"the row of {shown(matrix.rows[x])}"
    if y is None:
        return row
    return f"{row}, column {y + 1 if matrix.columns is None else shown(matrix.columns[y])},"


def _shown(value: Any) -> str:
    return f"{float(value):.6g}"
