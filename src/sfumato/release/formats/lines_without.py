"""Keys that are left out of JSON: of the object on each line, or of each feature and its properties.

All else stays as it is written, byte for byte: the scanner says where a key begins and its value ends, and both go with
one comma.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.errors import InvalidInput, shown
from sfumato.release.formats.geo_json import FIXED
from sfumato.release.formats.lines import Bytes, Scanned
from sfumato.release.formats.lines_json import scan_json

_ROWS = 1 << 14  # lines that are scanned at once
_EMPTY = b"{}"  # stands for properties that are null
_COMMA = re.compile(rb"[ \t\r]*,[ \t\r]*")  # behind a value, with the blanks around it

Block = tuple[bytes, bool]
"""Bytes of a file, and whether they are its last."""


def without_keys(blocks: Iterator[Block], names: Sequence[str], features: bool) -> Iterator[Block]:
    r"""The same lines without some keys; where lines are features, theirs and those among their properties.

    A key that no line has is refused: it may be another one that was to go.

    Examples
    --------
    >>> text = b'{"a": 1, "b": [2, 3], "c": 4}\n'
    >>> list(without_keys(iter([(text[:9], False), (text[9:], True)]), ["a", "b"], features=False))
    [(b'', False), (b'{"c": 4}\n', True)]
    """
    rest, row = b"", 0
    missing = set(names)
    for block, final in blocks:
        rest += block
        end = len(rest) if final else rest.rfind(b"\n") + 1
        parts = []
        data = np.frombuffer(rest[:end], dtype=np.uint8)
        while len(data):
            part, used, rows = _part(data, names, features, final, row, missing)
            if not used:
                break
            parts.append(part)
            data, row = data[used:], row + rows
        if final and missing and row:
            raise InvalidInput(f"there is no {shown(min(missing))} to leave out in any of the {row:,} rows")
        yield b"".join(parts), final
        rest = rest[end:]


def _part(
    data: Bytes, names: Sequence[str], features: bool, final: bool, row: int, missing: set[str]
) -> tuple[bytes, int, int]:
    """The next lines without the keys, how many bytes they had, and how many records they are.

    Keys that are found are no longer ``missing``.
    """
    if not features:
        scanned = scan_json(data, list(names), _ROWS, final=final, first_row=row)
        _seen(scanned, names, missing)
        cuts = _cuts(data, scanned)
        return _cut(data[: scanned.used].tobytes(), cuts), scanned.used, len(scanned.first)
    scanned = scan_json(data, ["properties", *names], _ROWS, final=final, first_row=row)
    assert scanned.keys is not None
    in_feature = scanned.keys[0] >= 0
    for k, name in enumerate(names):
        if name in FIXED:
            scanned.keys[k + 1, in_feature] = -1  # what makes a feature stays
    starts, ends = scanned.starts[0], scanned.ends[0]
    inner = [
        data[start:end].tobytes() if start >= 0 and data[start] == ord("{") else _EMPTY
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    lines = np.frombuffer(b"\n".join(inner), dtype=np.uint8)
    begins = np.cumsum([0, *(len(text) + 1 for text in inner)])[:-1]
    found = scan_json(lines, list(names), max(len(inner), 1), final=True, first_row=row)
    _seen(found, names, missing)
    _seen(scanned, ["properties", *names], missing)
    shift = starts - begins
    cuts = [(first + int(shift[k]), last + int(shift[k]), k) for first, last, k in _cuts(lines, found)]
    cuts += _cuts(data, scanned, skipped=1)
    return _cut(data[: scanned.used].tobytes(), sorted(cuts)), scanned.used, len(scanned.first)


def _seen(scanned: Scanned, names: Sequence[str], missing: set[str]) -> None:
    """Keys that stand in some record are not missing."""
    assert scanned.keys is not None
    missing -= {name for name, places in zip(names, scanned.keys, strict=True) if (places >= 0).any()}


def _cuts(data: Bytes, scanned: Scanned, skipped: int = 0) -> list[tuple[int, int, int]]:
    """From where to where bytes go, in order, and in which record: a key with its value and a comma."""
    keys, ends, commas = scanned.keys, scanned.ends, scanned.commas
    assert keys is not None and commas is not None
    done, text = [], data.data
    for row in range(keys.shape[1]):
        there = sorted((int(keys[k, row]), int(ends[k, row]), int(commas[k, row])) for k in range(skipped, len(keys)))
        front = True  # whether nothing before the key stays
        at = -1
        for key, end, comma in (entry for entry in there if entry[0] >= 0):
            front = front and comma < max(at, 0)  # its comma went with the key before it
            if not front:
                done.append((comma, end, row))
                continue
            follows = _COMMA.match(text, end)
            at = end if follows is None else follows.end()
            done.append((key, at, row))
    return done


def _cut(text: bytes, cuts: list[tuple[int, int, int]]) -> bytes:
    """A text without some parts."""
    kept, at = [], 0
    for first, last, _ in cuts:
        kept.append(text[at:first])
        at = max(at, last)
    return b"".join([*kept, text[at:]])
