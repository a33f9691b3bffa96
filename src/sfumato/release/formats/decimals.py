"""Decimal commas in CSV files: where a number is written as 48,8566, it is read and written so.

Half of the world writes a comma where the other half writes a point. Who knows it says it; otherwise the first rows
say it, where they leave no doubt: a comma before three digits may as well stand between thousands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from sfumato.arguments import one_of
from sfumato.errors import keyword
from sfumato.release.formats.lines import unquoted
from sfumato.release.formats.lines_csv import csv_header, scan_csv
from sfumato.release.rows import BadRow

_COMMA = re.compile(r"[+-]?(\d*,\d+|\d+,)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
_ROWS = 1000  # that are looked at


def check_decimal(given: str | None) -> str | None:
    """A comma, a point, or nothing said."""
    return None if given is None else str(one_of(given, (".", ","), keyword("decimal")))


def decimal_of(texts: Sequence[str]) -> str:
    """What stands before the decimals of numbers: a comma where one of them can be nothing else, and none has a point.

    Texts that are no numbers in either way say nothing.

    Examples
    --------
    >>> decimal_of(["48,8566", "2", ""]), decimal_of(["48.8566", "2"]), decimal_of(["1,234", "2,345"])
    (',', '.', '.')
    """
    commas = [text for text in texts if _COMMA.fullmatch(text)]
    others = [text for text in texts if text and not _WHOLE.fullmatch(text) and not _COMMA.fullmatch(text)]
    pointed = any("." in text and any(sign.isdigit() for sign in text) for text in others)
    return "," if not pointed and any(not _THOUSANDS.fullmatch(text) for text in commas) else "."


def decimal_in(block: bytes, delimiter: str | None, columns: Sequence[str], *, final: bool) -> str:
    """What stands before the decimals in columns of a CSV file, by the first rows of its first block."""
    header = csv_header(block, delimiter, final=final)
    places = [] if header is None else sorted({header.names.index(name) for name in columns if name in header.names})
    if header is None or not places:
        return "."
    data = np.frombuffer(block, dtype=np.uint8)[header.end :]
    separator, wanted = ord(header.delimiter), np.array(places, dtype=np.int64)
    try:
        found = scan_csv(data, separator, len(header.names), wanted, _ROWS, final=final, first_row=0)
    except BadRow:  # which the release itself refuses, with the file
        return "."
    bounds = zip(found.starts.ravel().tolist(), found.ends.ravel().tolist(), strict=True)
    return decimal_of([unquoted(data[a:b].tobytes().decode("utf-8", "replace")) for a, b in bounds])
