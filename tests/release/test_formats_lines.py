from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfumato.release.foreign import Foreign
from sfumato.release.formats.lines import CellValues, Entries, Scanned, edited
from sfumato.release.formats.lines_csv import scan_csv
from sfumato.release.formats.lines_json import scan_json
from sfumato.release.rows import BadRow

Bytes = Any


def array(data: bytes) -> Bytes:
    return np.frombuffer(data, dtype=np.uint8)


def in_pieces(scan: Any, data: bytes, cut: int) -> list[tuple[int, Scanned]]:
    """Scan a file that arrives in two pieces: the records and where each piece begins."""
    first = scan(array(data[:cut]), final=False)
    return [(0, first), (first.used, scan(array(data[first.used :]), final=True))]


# ----------------------------------------------------------------- CSV

CELLS = st.text(st.sampled_from('ab",;\n\r é0'), max_size=5)


def written(rows: list[list[str]], delimiter: str, end: str, quoting: Any) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)
    return text.getvalue().encode()


@settings(max_examples=150)
@given(
    st.integers(1, 4).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.lists(CELLS, min_size=n, max_size=n), max_size=6))
    ),
    st.sampled_from([",", ";"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.data(),
)
def test_the_cells_are_those_that_the_standard_library_reads(
    table: tuple[int, list[list[str]]], delimiter: str, end: str, quoting: Any, data: st.DataObject
) -> None:
    n, rows = table
    rows = [row for row in rows if n > 1 or row != [""]]
    # what an unquoted lone \r means is nobody's agreement, and the standard library does not quote it
    assume(quoting == csv.QUOTE_ALL or not any("\r" in cell and "\n" not in cell for row in rows for cell in row))
    raw = written(rows, delimiter, end, quoting)
    raw = raw if data.draw(st.booleans()) else raw.removesuffix(end.encode())
    wanted = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1)))), dtype=np.int64)

    def scan(block: Bytes, final: bool) -> Scanned:
        return scan_csv(block, ord(delimiter), n, wanted, 100, final=final, first_row=0)

    found = []
    for begin, part in in_pieces(scan, raw, data.draw(st.integers(0, len(raw)))):
        block = array(raw[begin:])
        columns = [CellValues(block, part.starts[k], part.ends[k], typed=False) for k in range(len(wanted))]
        found += [[column.value(row) for column in columns] for row in range(len(part.first))]
        assert len(found) <= len(rows)
        decoded = [[column.distinct()[1][code] for code in column.distinct()[0]] for column in columns]
        assert decoded == [[column.value(row) for row in range(len(part.first))] for column in columns]
    assert found == [[row[k] for k in wanted] for row in rows]


@settings(max_examples=100)
@given(st.binary(max_size=60), st.integers(0, 60))
def test_any_bytes_are_records_or_a_bad_row(data: bytes, cut: int) -> None:
    def scan(block: Bytes, final: bool) -> Scanned:
        return scan_csv(block, ord(","), 2, np.array([0, 1]), 100, final=final, first_row=0)

    try:
        whole = scan(array(data), True)
    except BadRow:
        return
    assert whole.used == len(data)
    parts = in_pieces(scan, data, cut)
    assert sum(len(part.first) for _, part in parts) == len(whole.first)
    assert (np.concatenate([part.starts + at for at, part in parts], axis=1) == whole.starts).all()


@pytest.mark.parametrize(
    ("data", "row", "words"),
    [
        (b'1,2\n3,"4\n5,6\n', 2, "a quoted cell does not end"),
        (b'1,2\n3,"4"x\n', 2, "something follows the closing quote"),
        (b"1,2\n\n3\n", 2, "the number of cells is 1, but the header has 2"),
        (b"1,2\n3,4\n5,6,7\n", 3, "the number of cells is 3"),
        (b"1,2\r3,4\n", 1, "carriage return without a newline"),
        (b"1,2\r", 1, "carriage return without a newline"),
        (b'1,""2""\n', 1, "something follows"),
    ],
)
def test_bad_csv_is_told_with_its_row(data: bytes, row: int, words: str) -> None:
    with pytest.raises(BadRow, match=words) as caught:
        scan_csv(array(data), ord(","), 2, np.array([0]), 100, final=True, first_row=0)
    assert caught.value.row == row


# ----------------------------------------------------------------- JSON lines

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "ä", 'q"', "\n", "c"]) | st.text(max_size=3), VALUES, max_size=5)
SEPARATORS = [(", ", ": "), (",", ":"), (" ,\t", " : ")]


@settings(max_examples=150)
@given(st.lists(st.tuples(OBJECTS, st.booleans(), st.sampled_from(SEPARATORS)), max_size=4), st.data())
def test_values_are_those_that_the_standard_library_reads(rows: list[Any], data: st.DataObject) -> None:
    lines = [json.dumps(value, ensure_ascii=escaped, separators=separators) for value, escaped, separators in rows]
    # keys with escapes are looked at one by one; here they are other keys
    names = ["a", "b", "zzz"]
    raw = "\n".join(lines).encode("utf-8", "surrogatepass")

    def scan(block: Bytes, final: bool) -> Scanned:
        return scan_json(block, names, 100, final=final, first_row=0)

    found = []
    for begin, part in in_pieces(scan, raw, data.draw(st.integers(0, len(raw)))):
        block = array(raw[begin:])
        for row in range(len(part.first)):
            cells = [CellValues(block, part.starts[k], part.ends[k], typed=True) for k in range(len(names))]
            found.append([None if cell.starts[row] < 0 else cell.value(row) for cell in cells])
    assert found == [[tuples(value.get(name)) for name in names] for value, _, _ in rows]


def tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return Foreign("a record", json.dumps(value))

    return tuple(tuples(part) for part in value) if isinstance(value, list) else value


def is_object(line: str) -> bool:
    def refuse(_word: str) -> None:
        raise ValueError("NaN and Infinity are no JSON")

    try:
        value = json.loads(line, parse_constant=refuse, object_pairs_hook=lambda pairs: ("object", pairs))
    except ValueError:
        return False
    return isinstance(value, tuple) and [key for key, _ in value[1]].count("a") < 2


@settings(max_examples=300)
@given(OBJECTS, st.lists(st.tuples(st.integers(0, 80), st.sampled_from('{}[]",:\\ 01-.eEutna\tx')), max_size=3))
def test_what_is_json_is_decided_like_the_standard_library(value: Any, changes: list[tuple[int, str]]) -> None:
    line = json.dumps(value)
    for at, letter in changes:
        at = min(at, len(line))
        line = line[:at] + letter + line[at + (at % 2) :]
    assume(line.strip(" \t"))
    try:
        scan_json(array(line.encode()), ["a"], 10, final=True, first_row=0)
        accepted = True
    except BadRow:
        accepted = False
    assert accepted == is_object(line), line


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"a":1,"a":2}', "a key occurs twice"),
        (b'{"a":1,"\\u0061":2}', "the key 'a' is spelled with escapes"),
        (b'{"\\u0061":2}', "the key 'a' is spelled with escapes"),
        (b"[1]", "this is no JSON object on one line"),
        (b'{"a":NaN}', "this is no JSON object"),
        (b'{"a":1}{"a":2}', "this is no JSON object"),
        (b'{"b":' + b"[" * 300 + b"]" * 300 + b"}", "inside each other"),
    ],
)
def test_bad_json_is_told_with_its_row(line: bytes, words: str) -> None:
    with pytest.raises(BadRow, match=words) as caught:
        scan_json(array(b'{"a":1}\n\n' + line), ["a"], 10, final=True, first_row=5)
    assert caught.value.row == 7


def test_keys_with_quotes_are_found() -> None:
    found = scan_json(array(rb'{"say \"no\"":1,"t\u00e4g":3}'), ['say "no"'], 10, final=True, first_row=0)
    assert found.starts.tolist() == [[14]]


# ----------------------------------------------------------------- values and edits


def test_numbers_of_cells() -> None:
    texts = ["1", "-.5", '"2.5"', "+1e3", "1e+2", "", "nan", "inf", "0x10", "1_0", "١", "1e400"]
    data = array("".join(texts).encode())
    ends = np.cumsum([len(text.encode()) for text in texts])
    starts = ends - [len(text.encode()) for text in texts]
    found = CellValues(data, starts, ends, typed=False).numbers()
    assert found[:5].tolist() == [1.0, -0.5, 2.5, 1000.0, 100.0]
    assert np.isnan(found[5:11]).all() and found[11] == np.inf
    assert np.isnan(CellValues(data, starts, ends, typed=True).numbers()[2])


@settings(max_examples=80)
@given(st.lists(st.lists(st.text("xyz", max_size=4), min_size=2, max_size=2), min_size=1, max_size=6), st.data())
def test_edits_replace_and_leave_out(rows: list[list[str]], data: st.DataObject) -> None:
    raw = "".join(f"{a},{b}\n" for a, b in rows).encode()
    scanned = scan_csv(array(raw), ord(","), 2, np.array([0, 1]), 100, final=True, first_row=0)
    count = len(rows)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    numbers = np.array(data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)))
    entries = Entries()
    texts = ["", "new", "q"]
    base = entries.add(*(text.encode() for text in texts))
    edits = [(scanned.starts[k], scanned.ends[k], base + numbers) for k in (1, 0)]  # in any order
    result = edited(array(raw), scanned, kept, edits, entries).tobytes()
    expected = [f"{texts[i]},{texts[i]}\n" for i, stays in zip(numbers, kept, strict=True) if stays]
    assert result == "".join(expected).encode()
