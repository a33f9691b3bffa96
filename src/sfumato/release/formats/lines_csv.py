"""CSV: the scanner, the header, and what is put where.

A quoted cell begins with a quote right after the delimiter and ends with a quote right before the next; quotes inside
are doubled. Lines end with a newline, alone or after a carriage return. A row of another length than the header, a
quote that does not end and a lone carriage return are refused, for readers disagree about them. Empty lines are copied;
in a file with a single column they are empty cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sfumato.errors import InvalidInput, shown
from sfumato.release.batches import BatchRelease
from sfumato.release.formats.lines import Bytes, CellValues, Edit, Places, Records, Scanned, unquoted
from sfumato.release.geometry import refuse_coordinates
from sfumato.release.rows import BadRow, label_spelling
from sfumato.release.tables import order_after

_QUOTE, _NEWLINE, _RETURN = 34, 10, 13
_DELIMITERS = (",", ";", "\t", "|")
_LONGEST_HEADER = 2**20
_CELLS_AT_ONCE = 1 << 18
_NO_ASCII = "this is no CSV file in UTF-8 or another encoding that contains ASCII"
_MARK = b"\xef\xbb\xbf"  # which some programs put before text in UTF-8

FINE, BAD_QUOTE, BAD_COUNT, BAD_RETURN, OPEN_QUOTE = range(5)
_SCAN_ERRORS = {
    BAD_QUOTE: "something follows the closing quote of a cell",
    BAD_COUNT: "the number of cells is {found}, but the header has {wanted}",
    BAD_RETURN: "there is a carriage return without a newline",
    OPEN_QUOTE: "a quoted cell does not end",
}


class CsvRecords(Records):
    """The records of a CSV file."""

    typed = False

    def __init__(self, work: BatchRelease, delimiter: str | None = None, decimal: str = ".") -> None:
        super().__init__(work)
        self.given, self.decimal = delimiter, decimal

    def open(self, block: bytes, *, final: bool) -> tuple[bytes, int] | None:
        """The new header and how many bytes the old one had; None if the block ends before it does."""
        found = csv_header(block, self.given, final=final)
        if found is None:
            return None
        self.delimiter, self.names, line = found.delimiter, found.names, found.line
        begin = found.end - line.end
        head = block[begin : begin + _LONGEST_HEADER]
        refuse_coordinates(self.names, self.work)
        written = dict(zip(self.names, line.cells, strict=False))
        names = [c if isinstance(c, str) else c.name for c in order_after(self.names, self.work)]
        self._prepare()
        fresh = [written[name] if name in written else self._cell(name) for name in names]
        return block[:begin] + self.delimiter.encode().join(fresh) + head[line.stop : line.end], found.end

    def _prepare(self) -> None:
        work = self.work
        wanted = [*work.taken, *work.terms.ids, *work.terms.drop, *(n for n in work.beside if n in self.names)]
        positions = sorted({self.names.index(name) for name in wanted})
        self.wanted = np.array(positions, dtype=np.int64)
        self.place = {name: positions.index(self.names.index(name)) for name in wanted}
        before = self.delimiter.encode() if work.terms.keep else b""
        self.prepare([before] * len(work.added), lambda value: self._cell(_spelling(value, self.decimal)))

    def _cell(self, text: str) -> bytes:
        """A cell as it is written, in quotes where it must be."""
        risky = not text or text != text.strip() or any(c in text for c in (self.delimiter, '"', "\r", "\n"))
        return ('"' + text.replace('"', '""') + '"' if risky else text).encode("utf-8", "surrogatepass")

    def scan(self, data: Bytes, most: int, *, final: bool, first_row: int) -> Scanned:
        """Up to ``most`` whole records of a block."""
        return scan_csv(data, ord(self.delimiter), len(self.names), self.wanted, most, final=final, first_row=first_row)

    def beside(self, data: Bytes, scanned: Scanned) -> dict[str, Any]:
        """The columns that stay, as they are written but for their quotes."""
        gone = (*self.work.replaced, *self.work.beside, *self.work.terms.drop)
        stay = [name for name in self.names if name not in gone]
        if self.work.lookout is None or not stay:
            return {}
        text, places = data[: scanned.used], np.array([self.names.index(name) for name in stay], dtype=np.int64)
        rows = len(scanned.first)
        found = scan_csv(text, ord(self.delimiter), len(self.names), places, rows, final=True, first_row=0)
        cells = zip(stay, found.starts, found.ends, strict=True)
        return {name: CellValues(text, starts, ends, False).strings() for name, starts, ends in cells}

    def replaced(self, scanned: Scanned, numbers: list[Places]) -> list[Edit]:
        """New cells in the place of the first ones that hold the secret; the others of these go."""
        cells = [self.place[name] for name in self.work.taken[: len(numbers)]]
        return [(scanned.starts[k], scanned.ends[k], number) for k, number in zip(cells, numbers, strict=True)]

    def removed(self, scanned: Scanned) -> list[Edit]:
        """The edits that leave columns out."""
        left = [*self.work.terms.drop, *(() if self.work.terms.keep else self.work.taken[len(self.work.added) :])]
        done: list[Edit] = []
        nothing = np.full(len(scanned.first), self.nothing)
        front = next(k for k, name in enumerate(self.names) if name not in left)
        for name in left:
            start, end = scanned.starts[self.place[name]], scanned.ends[self.place[name]]
            # with one delimiter: that before the cell, or that after it if nothing before it stays
            first = self.names.index(name) < front
            done.append((start, end + 1, nothing) if first else (start - 1, end, nothing))
        return done


def _spelling(value: Any, decimal: str) -> str:
    """How a CSV file spells an output."""
    if isinstance(value, float):
        return repr(value).replace(".", decimal)
    return "" if value is None else label_spelling(value)


class _Line(NamedTuple):
    """The first line: its cells, none if it does not end here; how many they are; where it stops, where the next one
    begins; what is wrong with it.
    """

    cells: list[bytes]
    fields: int
    stop: int
    end: int
    wrong: int


class CsvHeader(NamedTuple):
    """What the first line of a CSV file says, and where the second one begins."""

    delimiter: str
    names: list[str]
    end: int
    line: _Line


def csv_header(block: bytes, delimiter: str | None = None, *, final: bool) -> CsvHeader | None:
    r"""The header of a CSV file, from its beginning; None if the block ends before it does.

    Examples
    --------
    >>> csv_header(b"id;answer\n1;no\n", final=True)[:3]
    (';', ['id', 'answer'], 10)
    """
    one = isinstance(delimiter, str) and len(delimiter) == 1
    if delimiter is not None and (not one or delimiter in '"\r\n' or not delimiter.isascii()):
        raise InvalidInput(f"a delimiter is one character such as ',' or ';', found {shown(delimiter)}")
    delimiters = _DELIMITERS if delimiter is None else (delimiter,)
    begin = len(_MARK) if block.startswith(_MARK) else 0
    head = block[begin : begin + _LONGEST_HEADER]
    if final and not head:
        raise InvalidInput("the file is empty: a CSV file has a header with the names of its columns")
    if block[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InvalidInput(_NO_ASCII)
    cut = begin + len(head) < len(block)
    lines = [_first_line(head, delimiter, final=final and not cut) for delimiter in delimiters]
    if any(not line.cells and not line.wrong for line in lines):
        if cut:
            raise InvalidInput(f"no header ends within {_LONGEST_HEADER >> 20} MiB: this is no CSV file")
        return None
    # the delimiter that makes most cells; a comma if there is none
    delimiter, line = max(zip(delimiters, lines, strict=True), key=lambda pair: pair[1].fields)
    if b"\0" in head[: line.end or None]:
        raise InvalidInput(_NO_ASCII)
    if line.wrong:
        raise InvalidInput(f"the header: {_SCAN_ERRORS[line.wrong]}")
    names = [unquoted(cell.decode("utf-8", "replace")) for cell in line.cells]
    return CsvHeader(delimiter, names, begin + line.end, line)


def _first_line(head: bytes, delimiter: str, *, final: bool) -> _Line:
    """The header, by the scanner itself: by other rules a row of data might pass for a part of it."""
    data, fields = np.frombuffer(head, dtype=np.uint8), 1
    while True:
        places, cells = np.zeros((3, 1), dtype=np.int64), np.empty((2, fields, 1), dtype=np.int64)
        count, _, wrong, found = _scan_csv(data, ord(delimiter), fields, np.arange(fields), final, places, cells)
        if wrong != BAD_COUNT:
            listed = [head[a:b] for a, b in cells[:, :, 0].T.tolist()] if count else []
            _, stop, end = places[:, 0].tolist()
            return _Line(listed, found + 1 if wrong else fields, stop, end, wrong)
        fields = found


def scan_csv(
    data: Bytes, delimiter: int, fields: int, wanted: Places, most: int, *, final: bool, first_row: int
) -> Scanned:
    """Up to ``most`` records of a block; ``wanted`` are positions of columns in rising order."""
    places = np.empty((3, most), dtype=np.int64)
    cells = np.empty((2, len(wanted), most), dtype=np.int64)
    count, used, wrong, fields_found = _scan_csv(data, delimiter, fields, wanted, final, places, cells)
    if wrong:
        message = _SCAN_ERRORS[wrong].format(found=fields_found, wanted=fields)
        raise BadRow(message, first_row + count + 1)
    first, last, after = (part[:count] for part in places)
    return Scanned(used, first, last, after, cells[0, :, :count], cells[1, :, :count])


def csv_delimiter(data: bytes, given: str | None = None) -> str:
    """What stands between the cells of a small table: what its first line that is not empty has most of."""
    start = data.removeprefix(_MARK).lstrip(b"\r\n")
    header = csv_header(start, given, final=True) if start else None
    return "," if header is None else header.delimiter


def csv_rows(data: bytes, delimiter: str, most: int | None = None, *, final: bool = True) -> Iterator[CsvRow]:
    r"""The records of a small table one by one, the first ones of its bytes; they may have different numbers of cells.

    Of a block that is not ``final`` the last record may be cut off, and is left out.

    Examples
    --------
    >>> [tuple(row) for row in csv_rows(b'a,"b, c"\n\n1\n', ",")]
    [(1, ['a', 'b, c']), (3, ['1'])]
    """
    block = np.frombuffer(data, dtype=np.uint8)[len(_MARK) if data.startswith(_MARK) else 0 :]
    ends, at, fields, given = np.flatnonzero(block == _NEWLINE), 0, 1, 0
    while at < len(block) and (most is None or given < most):
        size = max(1, _CELLS_AT_ONCE // fields)
        size = size if most is None else min(most - given, size)
        places, cells = np.empty((3, size), dtype=np.int64), np.empty((2, fields, size), dtype=np.int64)
        rest = block[at:]
        count, used, wrong, found = _scan_csv(rest, ord(delimiter), fields, np.arange(fields), final, places, cells)
        spans = zip(cells[0, :, :count], cells[1, :, :count], strict=True)
        try:
            texts = [CellValues(rest, starts, stops, False).strings().to_pylist() for starts, stops in spans]
        except UnicodeDecodeError:
            data.decode()  # which says where in all of it
            raise
        lines = (np.searchsorted(ends, at + places[1, :count]) + 1).tolist()
        yield from (CsvRow(line, list(row)) for line, row in zip(lines, zip(*texts, strict=True), strict=True))
        at, given = at + used, given + count
        if wrong == BAD_COUNT:
            fields = found
        elif wrong:
            line = np.searchsorted(ends, at) + 1
            raise InvalidInput(f"line {line}: {_SCAN_ERRORS[wrong]}")
        elif count < size:
            return


class CsvRow(NamedTuple):
    """The cells of a record, and the line on which it ends."""

    line: int
    cells: list[str]


@njit(cache=True, nogil=True)
def _scan_csv(data, delimiter, fields, wanted, final, places, cells):  # type: ignore[no-untyped-def]
    """Count, used bytes, what is wrong and how many cells the wrong record has."""
    size, at, count = len(data), 0, 0
    most = places.shape[1]
    while at < size and count < most:
        begin, field, next_wanted = at, 0, 0
        if fields > 1:  # a line without anything is no record; in a single column it would be an empty cell
            if data[at] == _NEWLINE:
                at += 1
                continue
            if data[at] == _RETURN and at + 1 < size and data[at + 1] == _NEWLINE:
                at += 2
                continue
        while True:  # one field
            start = at
            if at < size and data[at] == _QUOTE:
                at += 1
                while True:
                    while at < size and data[at] != _QUOTE:
                        at += 1
                    if at + 1 < size and data[at + 1] == _QUOTE:
                        at += 2
                        continue
                    break
                if at >= size or (at + 1 >= size and not final):
                    if final:
                        return count, begin, OPEN_QUOTE, field
                    return count, begin, FINE, field
                at += 1
                if at < size and data[at] != delimiter and data[at] != _NEWLINE and data[at] != _RETURN:
                    return count, begin, BAD_QUOTE, field
            else:
                while at < size:
                    byte = data[at]
                    if byte == delimiter or byte == _NEWLINE or byte == _RETURN:  # noqa: SIM109
                        break
                    at += 1
            if at >= size and not final:
                return count, begin, FINE, field
            if next_wanted < len(wanted) and wanted[next_wanted] == field and field < fields:
                cells[0, next_wanted, count] = start
                cells[1, next_wanted, count] = at
                next_wanted += 1
            field += 1
            if at < size and data[at] == delimiter:
                at += 1
                continue
            break
        end = at
        if at < size and data[at] == _RETURN:
            if at + 1 >= size and not final:
                return count, begin, FINE, field
            if at + 1 >= size or data[at + 1] != _NEWLINE:
                return count, begin, BAD_RETURN, field
            at += 1
        if at < size:
            at += 1
        if field != fields:
            return count, begin, BAD_COUNT, field
        places[0, count], places[1, count], places[2, count] = begin, end, at
        count += 1
    return count, at, FINE, 0
