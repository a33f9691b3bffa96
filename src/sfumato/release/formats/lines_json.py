"""JSON lines: the scanner, which reads all of JSON, and what is put where.

One object a line; empty lines are copied. A key that occurs twice, or that is spelled with escapes so that it could
pass for another one, is refused where it is one that the release is about.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit

from sfumato.errors import InvalidInput, keyword, shown
from sfumato.release.batches import BatchRelease
from sfumato.release.formats.lines import Bytes, Edit, Places, Records, Scanned, blanked, record_texts
from sfumato.release.rows import BadRow

_QUOTE, _NEWLINE, _RETURN, _BACKSLASH = 34, 10, 13, 92
_ESCAPED = tuple(b'"\\/bfnrt')  # what may follow a backslash, beside u
_DEEPEST = 256  # objects and lists inside each other

FINE, BAD_JSON, TWICE, TOO_DEEP = range(4)
_SCAN_ERRORS = {
    BAD_JSON: "this is no JSON object on one line",
    TWICE: "a key occurs twice",
    TOO_DEEP: f"more than {_DEEPEST} objects and lists are inside each other",
}


class JsonRecords(Records):
    """The objects of a file of JSON lines."""

    typed = True

    def __init__(self, work: BatchRelease) -> None:
        super().__init__(work)
        names, keep = [added.name for added in work.added], work.terms.keep
        self.fresh = [name for name in names if name not in work.taken]
        self.wanted = [*dict.fromkeys([*work.taken, *work.terms.ids, *self.fresh, *work.beside])]
        self.place = {name: k for k, name in enumerate(self.wanted)}
        self.renames = keep or names != [*work.taken]
        before = [(", " if keep else "") + f"{json.dumps(name)}: " if self.renames else "" for name in names]
        self.prepare([text.encode() for text in before], lambda value: json.dumps(value, default=str).encode())

    def open(self, block: bytes, *, final: bool) -> tuple[bytes, int] | None:
        """There is no header."""
        if block[:3] == b"\xef\xbb\xbf" or block[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InvalidInput("this is no file of JSON lines: it begins with a byte order mark")
        return b"", 0

    def scan(self, data: Bytes, most: int, *, final: bool, first_row: int) -> Scanned:
        """Up to ``most`` whole records of a block."""
        scanned = scan_json(data, self.wanted, most, final=final, first_row=first_row)
        check_utf8(data[: scanned.used], first_row)
        for name in self.fresh:
            there = np.flatnonzero(scanned.starts[self.place[name]] >= 0)
            if there.size:
                raise BadRow(
                    f"there is a key {shown(name)} already: name another one with {keyword('into')}",
                    first_row + int(there[0]) + 1,
                )
        return scanned

    def beside(self, data: Bytes, scanned: Scanned) -> dict[str, Any]:
        """The values of each key as texts, lists and records as they are written; nothing where no line is suspect."""
        aside = [self.place[name] for name in (*self.work.replaced, *self.work.beside) if name in self.place]
        lookout = self.work.lookout
        if lookout is None:
            return {}
        lines = record_texts(blanked(data[: scanned.used], scanned.starts[aside], scanned.ends[aside]), scanned)
        if not lookout.suspects(lines):
            return {}
        columns: dict[str, list[str]] = {}
        for line in record_texts(data, scanned).to_pylist():
            for name, value in self.named_values(json.loads(line, parse_int=str, parse_float=str)).items():
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                columns.setdefault(name, []).append(text)
        return {name: pa.array(texts, pa.large_string()) for name, texts in columns.items()}

    def named_values(self, record: dict[str, Any]) -> dict[str, Any]:
        """What stands in the columns of a record."""
        return record

    def replaced(self, scanned: Scanned, numbers: list[Places]) -> list[Edit]:
        """New values; or else the first of the taken keys in a line is the new one, the others go with their comma."""
        taken = [self.place[name] for name in self.work.taken]
        if not self.renames:
            return [(scanned.starts[k], scanned.ends[k], number) for k, number in zip(taken, numbers, strict=True)]
        assert scanned.keys is not None and scanned.commas is not None
        foremost = np.argmin(scanned.keys[taken], axis=0)
        done: list[Edit] = []
        for place, k in enumerate(taken):
            stays = foremost == place
            start = np.where(stays, scanned.keys[k], scanned.commas[k])
            done.append((start, scanned.ends[k], np.where(stays, numbers[0], self.nothing)))
        return done


def check_utf8(data: Bytes, first_row: int) -> None:
    """Raise for bytes that are no text; ``first_row`` rows came before them."""
    try:
        data.tobytes().decode("utf-8")
    except UnicodeDecodeError as error:
        row = first_row + 1 + int((data[: error.start] == _NEWLINE).sum())
        raise BadRow("this is no text in UTF-8", row) from None


def scan_json(data: Bytes, names: list[str], most: int, *, final: bool, first_row: int) -> Scanned:
    """Up to ``most`` objects of a block, one a line; ``names`` are the wanted keys."""
    spelled = [json.dumps(name, ensure_ascii=False).encode()[1:-1] for name in names]
    keys = np.frombuffer(b"".join(spelled), dtype=np.uint8)
    bounds = np.cumsum([0, *map(len, spelled)], dtype=np.int64)
    places = np.empty((4, most), dtype=np.int64)
    cells = np.empty((4, len(names), most), dtype=np.int64)
    strange = np.zeros(most, dtype=np.bool_)
    count, used, wrong, at = _scan_json(data, keys, bounds, final, places, cells, strange)
    if wrong:
        near = data[at : at + 20].tobytes().decode("utf-8", "replace")
        raise BadRow(f"{_SCAN_ERRORS[wrong]}, near {shown(near)}", first_row + count + 1)
    first, last, after, other = (part[:count] for part in places)
    for row in np.flatnonzero(strange[:count]).tolist():
        plain = (cells[0, :, row] >= 0).tolist()
        _refuse_disguised(data[first[row] : last[row] + 1].tobytes(), names, plain, first_row + row + 1)
    starts, ends, kinds, commas = (part[:, :count] for part in cells)
    return Scanned(used, first, last, after, starts, ends, kinds, commas, other)


def _refuse_disguised(record: bytes, names: list[str], plain: list[bool], row: int) -> None:
    """A key may be spelled with escapes, and would then pass for another one."""
    # a number is not looked at: one of thousands of digits would be refused
    keys = [key for key, _ in json.loads(record, object_pairs_hook=list, parse_int=str, parse_float=str)]
    for name, is_plain in zip(names, plain, strict=True):
        if keys.count(name) != int(is_plain):
            raise BadRow(f"the key {shown(name)} is spelled with escapes: write it plainly, and once", row)


@njit(cache=True)
def _blank(data, at):  # type: ignore[no-untyped-def]
    """The place after spaces and tabs; other white space would end the line."""
    while at < len(data) and (data[at] == 32 or data[at] == 9):
        at += 1
    return at


@njit(cache=True)
def _is_hex(byte):  # type: ignore[no-untyped-def]
    return 48 <= byte <= 57 or 65 <= byte <= 70 or 97 <= byte <= 102


@njit(cache=True)
def _string(data, at, end):  # type: ignore[no-untyped-def]
    """The place after a string that begins at ``at``, or −1."""
    if at >= end or data[at] != _QUOTE:
        return -1
    at += 1
    while at < end:
        byte = data[at]
        if byte == _QUOTE:
            return at + 1
        if byte < 32:
            return -1
        if byte == _BACKSLASH:
            at += 1
            if at >= end:
                return -1
            byte = data[at]
            if byte == 117:  # \uXXXX
                if at + 4 >= end:
                    return -1
                for k in range(1, 5):
                    if not _is_hex(data[at + k]):
                        return -1
                at += 4
            elif byte not in _ESCAPED:
                return -1
        at += 1
    return -1


@njit(cache=True)
def _digits(data, at, end):  # type: ignore[no-untyped-def]
    while at < end and 48 <= data[at] <= 57:
        at += 1
    return at


@njit(cache=True)
def _scalar(data, at, end):  # type: ignore[no-untyped-def]
    """The place after a string, a number, true, false or null, or −1."""
    if at >= end:
        return -1
    byte = data[at]
    if byte == _QUOTE:
        return _string(data, at, end)
    for word in (b"true", b"false", b"null"):
        if byte == word[0]:
            if at + len(word) > end:
                return -1
            for k in range(len(word)):
                if data[at + k] != word[k]:
                    return -1
            return at + len(word)
    if byte == 45:
        at += 1
    whole = _digits(data, at, end)
    if whole == at or (data[at] == 48 and whole > at + 1):
        return -1
    at = whole
    if at < end and data[at] == 46:
        part = _digits(data, at + 1, end)
        if part == at + 1:
            return -1
        at = part
    if at < end and (data[at] == 101 or data[at] == 69):
        at += 1
        if at < end and (data[at] == 43 or data[at] == 45):
            at += 1
        part = _digits(data, at, end)
        if part == at:
            return -1
        at = part
    return at


@njit(cache=True)
def _which(data, first, last, keys, bounds):  # type: ignore[no-untyped-def]
    """The wanted key that is spelled so, or −1."""
    for k in range(len(bounds) - 1):
        if bounds[k + 1] - bounds[k] == last - first:
            same = True
            for j in range(last - first):
                if data[first + j] != keys[bounds[k] + j]:
                    same = False
                    break
            if same:
                return k
    return -1


@njit(cache=True, nogil=True)
def _scan_json(data, keys, bounds, final, places, cells, strange):  # type: ignore[no-untyped-def]
    """Count, used bytes, what is wrong and where."""
    size, at, count = len(data), 0, 0
    stack = np.empty(_DEEPEST, np.uint8)
    while at < size and count < places.shape[1]:
        line = at
        while at < size and data[at] != _NEWLINE:
            at += 1
        if at >= size and not final:
            return count, line, FINE, line
        after, end = min(at + 1, size), at
        if end > line and data[end - 1] == _RETURN:
            end -= 1
        begin = _blank(data, line)
        at = after
        if begin >= end:
            continue  # an empty line is no record
        closing, wrong = _scan_object(data, begin, end, keys, bounds, cells, places[3], count, strange, stack)
        if wrong:
            return count, line, wrong, closing
        places[0, count], places[1, count], places[2, count] = begin, closing, after
        count += 1
    return count, at, FINE, 0


@njit(cache=True)
def _scan_object(data, at, end, keys, bounds, cells, other, row, strange, stack):  # type: ignore[no-untyped-def]
    """The place of the closing brace of an object that fills a line, and what is wrong with it.

    ``stack`` remembers what is open; keys and values of the outermost object are looked at, those inside only read.
    """
    for k in range(cells.shape[1]):
        for j in range(4):
            cells[j, k, row] = -1
    other[row] = -1
    if data[at] != 123:
        return at, BAD_JSON
    depth, comma, which = 0, -1, -1
    while True:  # here a value begins
        begin = at
        if at < end and (data[at] == 123 or data[at] == 91):
            if depth == len(stack):
                return at, TOO_DEEP
            stack[depth] = data[at]
            depth += 1
            at = _blank(data, at + 1)
            more = at >= end or data[at] != stack[depth - 1] + 2  # } and ] come two after { and [
        else:
            at = _scalar(data, at, end)
            if at < 0:
                return begin, BAD_JSON
            more = False
        while not more:  # after a value: a comma and the next one, or the end of what is open
            if depth == 1 and which >= 0:
                cells[1, which, row] = at
            at = _blank(data, at)
            more = at < end and data[at] == 44
            if more and depth == 1:
                comma = at
            elif not more:
                if at >= end or data[at] != stack[depth - 1] + 2:
                    return at, BAD_JSON
                depth -= 1
                if depth == 0:
                    return at, FINE if _blank(data, at + 1) >= end else BAD_JSON
            at += 1
        at = _blank(data, at)
        if stack[depth - 1] == 123:
            key, at = at, _string(data, at, end)
            colon = _blank(data, at)
            if at < 0 or colon >= end or data[colon] != 58:
                return key, BAD_JSON
            if depth == 1:
                for k in range(key + 1, at - 1):
                    if data[k] == _BACKSLASH:
                        strange[row] = True
                which = _which(data, key + 1, at - 1, keys, bounds)
                if which >= 0 and cells[0, which, row] >= 0:
                    return key, TWICE
                if which < 0 and other[row] < 0:
                    other[row] = key
            at = _blank(data, colon + 1)
            if depth == 1 and which >= 0:
                cells[0, which, row], cells[2, which, row], cells[3, which, row] = at, key, comma
