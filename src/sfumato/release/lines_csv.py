"""CSV: the scanner, the header, and what is put where.

A quoted cell begins with a quote right after the delimiter and ends with a quote right before the next; quotes inside
are doubled. Lines end with a newline, alone or after a carriage return. A row of another length than the header, a
quote that does not end and a lone carriage return are refused, for readers disagree about them. Empty lines are copied;
in a file with a single column they are empty cells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.errors import InvalidInput, shown
from sfumato.release.batches import Added, BatchRelease
from sfumato.release.lines import Bytes, CellValues, Edit, Entries, Places, Scanned
from sfumato.release.rows import BadRow, label_spelling
from sfumato.release.tables import order_after

_QUOTE, _NEWLINE, _RETURN = 34, 10, 13
_DELIMITERS = (",", ";", "\t", "|")
_LONGEST_HEADER = 2**20
_NO_ASCII = "this is no CSV file in UTF-8 or another encoding that contains ASCII"
_MARK = b"\xef\xbb\xbf"  # which some programs put before text in UTF-8

FINE, BAD_QUOTE, BAD_COUNT, BAD_RETURN, OPEN_QUOTE = range(5)
_SCAN_ERRORS = {
    BAD_QUOTE: "something follows the closing quote of a cell",
    BAD_COUNT: "the number of cells is {found}, but the header has {wanted}",
    BAD_RETURN: "there is a carriage return without a newline",
    OPEN_QUOTE: "a quoted cell does not end",
}


class CsvRecords:
    """The records of a CSV file: what is found in them and what is put in."""

    def __init__(self, work: BatchRelease, delimiter: str | None = None) -> None:
        one = isinstance(delimiter, str) and len(delimiter) == 1
        if delimiter is not None and (not one or delimiter in '"\r\n' or not delimiter.isascii()):
            raise InvalidInput(f"a delimiter is one character such as ',' or ';', found {shown(delimiter)}")
        self.work = work
        self.delimiter = delimiter
        self.names: list[str] = []
        self.entries = Entries()

    def open(self, block: bytes, *, final: bool) -> tuple[bytes, int] | None:
        """The new header and how many bytes the old one had; None if the block ends before it does."""
        if not block:
            raise InvalidInput("the file is empty: a CSV file has a header with the names of its columns")
        begin = len(_MARK) if block.startswith(_MARK) else 0
        if block[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InvalidInput(_NO_ASCII)
        head = block[: begin + _LONGEST_HEADER]
        delimiters = _DELIMITERS if self.delimiter is None else (self.delimiter,)
        lines = [_first_line(head, begin, delimiter.encode()) for delimiter in delimiters]
        if any(line.end is None for line in lines):
            if len(block) > len(head):
                raise InvalidInput(f"no header ends within {_LONGEST_HEADER >> 20} MiB: this is no CSV file")
            if not final:
                return None
        # the delimiter that makes most cells; a comma if there is none
        best = max(range(len(lines)), key=lambda k: len(lines[k].cells))
        self.delimiter, (cells, stop, ended, wrong) = delimiters[best], lines[best]
        end = len(block) if ended is None else ended
        if b"\0" in block[begin:end]:
            raise InvalidInput(_NO_ASCII)
        if wrong:
            raise InvalidInput(f"the header: {_SCAN_ERRORS[wrong]}")
        self.names = [_header_name(cell) for cell in cells]
        after = order_after(self.names, self.work)
        written = dict(zip(self.names, cells, strict=False))
        fresh = [written[c] if isinstance(c, str) else self._header_cell(c, written) for c in after]
        self._prepare()
        return block[:begin] + self.delimiter.encode().join(fresh) + block[stop:end], end

    def _header_cell(self, added: Added, written: dict[str, bytes]) -> bytes:
        return written[added.name] if added.name in written else self._cell(added.name)

    def _prepare(self) -> None:
        assert self.delimiter is not None
        wanted = [*self.work.taken, *self.work.terms.ids]
        positions = sorted({self.names.index(name) for name in wanted})
        self.wanted = np.array(positions, dtype=np.int64)
        self.place = {name: positions.index(self.names.index(name)) for name in wanted}
        self.nothing = self.entries.add(b"")
        before = self.delimiter.encode() if self.work.terms.keep else b""
        self.before = before
        self.bases = [
            None if a.values is None else self.entries.add(*(before + self._cell(text) for text in _spellings(a)))
            for a in self.work.added
        ]

    def _cell(self, text: str) -> bytes:
        """A cell as it is written, in quotes where it must be."""
        assert self.delimiter is not None
        risky = not text or text != text.strip() or any(c in text for c in (self.delimiter, '"', "\r", "\n"))
        return ('"' + text.replace('"', '""') + '"' if risky else text).encode("utf-8", "surrogatepass")

    def scan(self, data: Bytes, most: int, *, final: bool, first_row: int) -> Scanned:
        """Whole records of a block."""
        assert self.delimiter is not None
        return scan_csv(data, ord(self.delimiter), len(self.names), self.wanted, most, final=final, first_row=first_row)

    def values(self, data: Bytes, scanned: Scanned, name: str) -> CellValues:
        """The cells of a column."""
        k = self.place[name]
        return CellValues(data, scanned.starts[k], scanned.ends[k], typed=False)

    def edits(self, scanned: Scanned, outputs: NDArray[np.int64]) -> list[Edit]:
        """What is put where; ``outputs`` has a number for every record, also for those that are left out."""
        done: list[Edit] = []
        for k in range(len(self.work.added)):
            numbers = self.entries.numbers(self.bases[k], self.before, outputs)
            if self.work.terms.keep:
                done.append((scanned.last, scanned.last, numbers))
            else:
                cell = self.place[self.work.taken[k]]
                done.append((scanned.starts[cell], scanned.ends[cell], numbers))
        if not self.work.terms.keep:
            nothing = np.full(len(outputs), self.nothing, dtype=np.int64)
            gone = [self.names.index(name) for name in self.work.taken[len(self.work.added) :]]
            front = next(k for k in range(len(self.names)) if k not in gone)
            for name, column in zip(self.work.taken[len(self.work.added) :], gone, strict=True):
                cell = self.place[name]
                start, end = scanned.starts[cell], scanned.ends[cell]
                # with one delimiter: that before the cell, or that after it if nothing before it stays
                done.append((start, end + 1, nothing) if column < front else (start - 1, end, nothing))
        return done


def _spellings(added: Added) -> Sequence[str]:
    """How a CSV file spells each output."""
    values = list(added.values or [])
    if added.numeric and all(float(v).is_integer() for v in values):
        values = [int(v) for v in values]
    return ["" if v is None else repr(v) if isinstance(v, float) else label_spelling(v) for v in values]


class _Line(NamedTuple):
    """The first line: cells, where the last one stops, where the next line begins (None: not yet), what is wrong."""

    cells: list[bytes]
    stop: int
    end: int | None
    wrong: int


def _first_line(block: bytes, begin: int, delimiter: bytes) -> _Line:
    """The first line by the rules of the scanner: by others a row of data might pass for a part of the header."""
    stops = re.compile(b"[\r\n" + re.escape(delimiter) + b"]")
    cells: list[bytes] = []
    at = begin
    while True:
        start = at
        if block[at : at + 1] == b'"':
            at = block.find(b'"', at + 1)
            while at >= 0 and block[at + 1 : at + 2] == b'"':
                at = block.find(b'"', at + 2)
            if at < 0:
                return _Line([*cells, block[start:]], len(block), None, OPEN_QUOTE)
            at += 1
            if block[at : at + 1] not in (b"", b"\r", b"\n", delimiter):
                return _Line([*cells, block[start:at]], at, at, BAD_QUOTE)
        else:
            stop = stops.search(block, at)
            at = len(block) if stop is None else stop.start()
        cells.append(block[start:at])
        if block[at : at + 1] != delimiter:
            break
        at += 1
    ending = block[at : at + 2]
    if ending[:1] == b"\n":
        return _Line(cells, at, at + 1, FINE)
    if len(ending) < 2:  # nothing, or a carriage return, after which a newline may come
        return _Line(cells, at, None, BAD_RETURN if ending else FINE)
    return _Line(cells, at, at + 2, FINE if ending == b"\r\n" else BAD_RETURN)


def _header_name(cell: bytes) -> str:
    text = cell.decode("utf-8", "replace")
    return text[1:-1].replace('""', '"') if len(text) > 1 and text[0] == text[-1] == '"' else text


def scan_csv(
    data: Bytes, delimiter: int, fields: int, wanted: Places, most: int, *, final: bool, first_row: int
) -> Scanned:
    """Up to ``most`` records of a block; ``wanted`` are positions of columns in rising order.

    ``final`` says that nothing comes after the block.
    """
    places = np.empty((3, most), dtype=np.int64)
    cells = np.empty((2, len(wanted), most), dtype=np.int64)
    count, used, wrong, fields_found = _scan_csv(data, delimiter, fields, wanted, final, places, cells)
    if wrong:
        message = _SCAN_ERRORS[wrong].format(found=fields_found, wanted=fields)
        raise BadRow(message, first_row + count + 1)
    first, last, after = (part[:count] for part in places)
    return Scanned(used, first, last, after, cells[0, :, :count], cells[1, :, :count])


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
