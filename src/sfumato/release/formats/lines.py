"""CSV and JSON lines as bytes: the cells of a few columns are found and replaced, everything else is copied as it is.

Quotes, spaces, line ends, the digits of numbers and the order of keys stay as they were written, whatever they mean. A
scanner (:mod:`~sfumato.release.formats.lines_csv`, :mod:`~sfumato.release.formats.lines_json`) finds where the cells of
the wanted columns begin and end in a block of whole records; a cell becomes a value only once for each different
spelling; an editor copies the block with new texts in the place of the old ones.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit
from numpy.typing import NDArray

from sfumato.errors import shown
from sfumato.release.batches import BatchRelease
from sfumato.release.foreign import Foreign
from sfumato.release.keys import Texts
from sfumato.release.rows import BadRow
from sfumato.threads import for_reading

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Edit = tuple[Places, Places, Places]
"""For each record: from where to where, and the number of the text that comes there instead."""

_QUOTE, _BACKSLASH = 34, 92


class Scanned(NamedTuple):
    """Records of a block: where each begins, ends and where the next one may begin; the cells of wanted columns.

    For JSON, ``keys`` are the places of the keys and ``commas`` that of the comma before them; a missing key is at −1.
    ``other`` is the place of the first key of each record that is none of the wanted ones.
    """

    used: int  # bytes that are whole records
    first: Places
    last: Places
    after: Places
    starts: Places  # column by column
    ends: Places
    keys: Places | None = None
    commas: Places | None = None
    other: Places | None = None


# ----------------------------------------------------------------- values of cells


@dataclass(frozen=True, eq=False)
class CellValues:
    """The cells of one column in a block of text."""

    data: Bytes
    starts: Places
    ends: Places
    typed: bool  # JSON: a cell says its type
    decimal: str = "."  # what stands before the decimals of a number

    def __len__(self) -> int:
        return len(self.starts)

    def distinct(self) -> tuple[NDArray[Any], list[Any]]:
        """For each row the place of its value in a list, and the list."""
        content, offsets, _ = self._content(False)
        encoded = pc.dictionary_encode(_binary(content, offsets))
        return encoded.indices.to_numpy(), [self._decoded(cell) for cell in encoded.dictionary.to_pylist()]

    def integers(self) -> NDArray[Any] | None:
        """Cells are looked up by their spelling."""
        return None

    def strings(self) -> Any:
        """The cells as texts of Arrow, without quotes; those of JSON as they are written."""
        content, offsets, escaped = self._content(not self.typed)
        cells = _binary(content, offsets)
        if escaped.any():
            cells = pc.if_else(pa.array(escaped), pc.replace_substring(cells, '""', '"'), cells)
        return cells.view(pa.string())

    def numbers(self) -> NDArray[np.float64]:
        """The cells as floats, NaN where something is missing or no number."""
        content, offsets, _ = self._content(not self.typed)
        texts = _binary(content, offsets).view(pa.string())
        mark = re.escape(self.decimal)
        plausible = pc.match_substring_regex(texts, rf"^[+-]?([0-9]+{mark}?[0-9]*|{mark}[0-9]+)([eE][+-]?[0-9]+)?$")
        if not pc.all(plausible, min_count=0).as_py():
            texts = pc.if_else(plausible, texts, "nan")
        if self.decimal != ".":
            texts = pc.replace_substring(texts, self.decimal, ".")
        # Arrow reads no leading plus sign
        if len(content) and (content == ord("+")).any():
            texts = pc.utf8_ltrim(texts, "+")
        return np.asarray(texts.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)

    def texts(self, what: str, first: int) -> Texts:
        """The cells as ids; refuses what is missing and what has several spellings."""
        content, offsets, escaped = self._content(True)
        empty = np.flatnonzero(self.starts < 0 if self.typed else np.diff(offsets) == 0)
        if empty.size:
            raise BadRow(f"the row id {shown(what)} is missing", first + int(empty[0]) + 1)
        if self.typed:
            row = _first_no_id(self.data, self.starts, self.ends)
            if row >= 0:
                value = self.value(row)
                raise BadRow(
                    f"the row id {shown(what)} is {shown(value)}: use integers or texts", first + row + 1, value
                )
        if escaped.any():
            # only these, and as bytes: the id of a row must depend neither on other rows nor on how bytes are decoded
            cells = [content[a:b].tobytes() for a, b in pairwise(offsets.tolist())]
            for row in np.flatnonzero(escaped).tolist():
                value = str(self.value(row)).encode("utf-8", "surrogatepass") if self.typed else None
                cells[row] = cells[row].replace(b'""', b'"') if value is None else value
            offsets = np.cumsum([0, *map(len, cells)], dtype=np.int64)
            content = np.frombuffer(b"".join(cells), dtype=np.uint8)
        return content, offsets, ord("t")

    def _content(self, bare: bool) -> tuple[Bytes, Places, NDArray[np.bool_]]:
        """The bytes of all cells one after the other, where each begins, and which of them are not as they stand."""
        found: tuple[Bytes, Places, NDArray[np.bool_]] = _gathered(for_reading(self.data), self.starts, self.ends, bare)
        return found

    def value(self, row: int) -> Any:
        """One value."""
        start, end = int(self.starts[row]), int(self.ends[row])
        return self._decoded(self.data[start:end].tobytes() if start >= 0 else b"")

    def _decoded(self, cell: bytes) -> Any:
        text = cell.decode("utf-8", "replace")  # what is no text is no label
        if not self.typed:
            return unquoted(text)
        try:
            return _tuples(json.loads(text)) if text else None
        except ValueError:  # an integer of thousands of digits, which Python does not read
            return text


def unquoted(text: str) -> str:
    """What a cell of a CSV file says."""
    return text[1:-1].replace('""', '"') if len(text) > 1 and text[0] == text[-1] == '"' else text


def _tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_tuples(part) for part in value)
    # the keys of an object come in any order, and a label has none
    return Foreign("a record", json.dumps(value)) if isinstance(value, dict) else value


def record_texts(data: Bytes, scanned: Scanned) -> Any:
    """Records as texts of Arrow, one each."""
    content, offsets, _ = _gathered(data, scanned.first, scanned.last + 1, False)
    return _binary(content, offsets).view(pa.string())


def _binary(content: Bytes, offsets: Places) -> Any:
    buffers: list[Any] = [None, pa.py_buffer(offsets.astype(np.int32).data), pa.py_buffer(content.data)]
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)


@njit(cache=True, nogil=True)
def _gathered(data, starts, ends, bare):  # type: ignore[no-untyped-def]
    """The bytes of cells one after the other, ``bare`` without quotes, and whether there is an escape inside these."""
    rows = len(starts)
    offsets, quoted, escaped = np.zeros(rows + 1, np.int64), np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    for row in range(rows):
        size = ends[row] - starts[row]
        quoted[row] = bare and size >= 2 and data[starts[row]] == _QUOTE
        offsets[row + 1] = offsets[row] + size - 2 * quoted[row]
    content = np.empty(offsets[rows], np.uint8)
    for row in range(rows):
        at, inside = starts[row] + quoted[row], quoted[row]
        for k in range(offsets[row + 1] - offsets[row]):
            byte = data[at + k]
            content[offsets[row] + k] = byte
            if inside and (byte == _BACKSLASH or byte == _QUOTE):  # noqa: SIM109
                escaped[row] = True
    return content, offsets, escaped


@njit(cache=True, nogil=True)
def _first_no_id(data, starts, ends):  # type: ignore[no-untyped-def]
    """The first JSON value that is neither text nor an integer."""
    for row in range(len(starts)):
        if data[starts[row]] == _QUOTE:
            continue
        for k in range(starts[row], ends[row]):
            if not (48 <= data[k] <= 57) and not (data[k] == 45 and k == starts[row] and ends[row] - k > 1):
                return row
        if ends[row] - starts[row] == 2 and data[starts[row]] == 45 and data[starts[row] + 1] == 48:
            return row  # -0 is another spelling of 0
    return -1


# ----------------------------------------------------------------- the editor


class Entries:
    """Texts that can be put in, each under a number."""

    def __init__(self) -> None:
        self.texts: list[bytes] = []
        self.lasting = 0
        self.packed: tuple[Bytes, Places] | None = None

    def add(self, *texts: bytes) -> int:
        """The number of the first of them; the others follow."""
        self.texts += texts
        self.packed, self.lasting = None, len(self.texts)
        return len(self.texts) - len(texts)

    def numbers(self, base: int | None, before: bytes, outputs: NDArray[np.int64]) -> Places:
        """The numbers of outputs that were added from ``base`` on; without it they are integers, spelled here."""
        if base is not None:
            return base + outputs
        different, places = np.unique(outputs, return_inverse=True)
        del self.texts[self.lasting :]  # the integers of the batch before
        self.texts += [before + str(v).encode() for v in different.tolist()]
        self.packed = None
        return np.asarray(self.lasting + places, dtype=np.int64)

    def arrays(self) -> tuple[Bytes, Places]:
        """All texts one after the other, and where each begins."""
        if self.packed is None:
            bounds = np.cumsum([0, *map(len, self.texts)], dtype=np.int64)
            self.packed = np.frombuffer(b"".join(self.texts), dtype=np.uint8), bounds
        return self.packed


def edited(data: Bytes, scanned: Scanned, kept: NDArray[np.bool_] | None, edits: list[Edit], entries: Entries) -> Bytes:
    """The scanned part of a block with texts replaced.

    Edits count over all records; records that are not kept are left out with their line.
    """
    froms, tos, numbers = map(np.stack, zip(*edits, strict=True))
    stays = np.ones(len(scanned.first), dtype=np.bool_) if kept is None else kept
    result: Bytes = _edited(
        data, scanned.used, scanned.first, scanned.after, stays, froms, tos, numbers, *entries.arrays()
    )
    return result


@njit(cache=True, nogil=True)
def _edited(data, used, first, after, stays, froms, tos, numbers, content, bounds):  # type: ignore[no-untyped-def]
    edits, rows = froms.shape
    size = used
    for row in range(rows):
        for e in range(edits):
            size += bounds[numbers[e, row] + 1] - bounds[numbers[e, row]]
    result = np.empty(size, np.uint8)
    order = np.empty(edits, np.int64)
    at, done = 0, 0
    for row in range(rows):
        if not stays[row]:
            at = _copied(data, done, first[row], result, at)
            done = after[row]
            continue
        for e in range(edits):  # by place: keys of JSON come in any order
            j = e
            while j > 0 and froms[order[j - 1], row] > froms[e, row]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = e
        for e in order:
            at = _copied(data, done, froms[e, row], result, at)
            at = _copied(content, bounds[numbers[e, row]], bounds[numbers[e, row] + 1], result, at)
            done = tos[e, row]
    return result[: _copied(data, done, used, result, at)]


@njit(cache=True, nogil=True)
def blanked(data, starts, ends):  # type: ignore[no-untyped-def]
    """A copy of a block with spaces in the place of some cells."""
    result = data.copy()
    for k in range(starts.shape[0]):
        for row in range(starts.shape[1]):
            for at in range(max(starts[k, row], 0), ends[k, row]):
                result[at] = 32
    return result


@njit(inline="always")
def _copied(source, first, last, result, at):  # type: ignore[no-untyped-def]
    """Where a copy of some bytes ends that begins at ``at``."""
    for k in range(first, last):
        result[at] = source[k]
        at += 1
    return at


# ----------------------------------------------------------------- the records of a file


class Records(ABC):
    """What is found in the records of a file and what is put in; a dialect is a subclass.

    ``place`` says which of the scanned cells are those of a column.
    """

    typed: bool  # whether a cell says its type
    decimal: str = "."  # what stands before the decimals of a number

    def __init__(self, work: BatchRelease) -> None:
        self.work = work
        self.entries = Entries()
        self.nothing = self.entries.add(b"")
        self.place: dict[str, int] = {}

    @abstractmethod
    def open(self, block: bytes, *, final: bool) -> tuple[bytes, int] | None:
        """The new header and how many bytes the old one had; None if the block ends before it does."""

    @abstractmethod
    def scan(self, data: Bytes, most: int, *, final: bool, first_row: int) -> Scanned:
        """Up to ``most`` whole records of a block; ``final`` says that nothing comes after it."""

    @abstractmethod
    def replaced(self, scanned: Scanned, numbers: list[Places]) -> list[Edit]:
        """The edits that put texts, one list of numbers for each new column, in the place of the secret."""

    @abstractmethod
    def beside(self, data: Bytes, scanned: Scanned) -> dict[str, Any]:
        """The columns of some records whose texts may tell places, the released ones among them, in Arrow."""

    def values(self, data: Bytes, scanned: Scanned, name: str) -> CellValues:
        """The cells of a column."""
        k = self.place[name]
        return CellValues(data, scanned.starts[k], scanned.ends[k], self.typed, self.decimal)

    def edits(self, scanned: Scanned, outputs: NDArray[np.int64]) -> list[Edit]:
        """What is put where; ``outputs`` has a number for every record and place, also for those left out."""
        columns = zip(self.columns, self.work.added, strict=True)
        numbers = [self.entries.numbers(base, text, added.of(outputs)) for (base, text), added in columns]
        if self.work.terms.keep:
            fresh: list[Edit] = [(scanned.last, scanned.last, number) for number in numbers]
        else:
            fresh = self.replaced(scanned, numbers)
        return [*fresh, *self.removed(scanned)]

    def removed(self, scanned: Scanned) -> list[Edit]:
        """The edits that leave other columns out; none where these are gone before the records are scanned."""
        return []

    def prepare(self, before: Sequence[bytes], spelled: Callable[[Any], bytes]) -> None:
        """Keep the texts of all outputs, in each new column after the bytes that stand before it."""
        self.columns: list[tuple[int | None, bytes]] = []
        for text, added in zip(before, self.work.added, strict=True):
            values = added.values
            if values is not None and added.numeric and all(float(value).is_integer() for value in values):
                values = [int(value) for value in values]
            base = None if values is None else self.entries.add(*(text + spelled(value) for value in values))
            self.columns.append((base, text))
