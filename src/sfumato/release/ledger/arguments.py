"""What may be said to a ledger: names, texts, counts, limits, each checked before it comes near the file.

SQLite makes a text of a number that is put into a column of texts, and whoever hashes the number finds another row than
was written. So every argument has one type, and what is of no such type is an error of its own.

Some names are told apart by no reader: ``people``, ``People`` and ``people`` with a blank after it. Under a new name
nothing is spent, so that a slip of the hand would begin a second account of the same people. A name that looks like one
that is there, and is another one, is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unicodedata import category, normalize

from sfumato import arguments
from sfumato.arguments import file_path, integer, items
from sfumato.certify.amounts import Amount, amount
from sfumato.certify.charge import Charge
from sfumato.errors import InvalidEpsilon, InvalidInput, keyword, shown
from sfumato.numbers import Number, as_written
from sfumato.spaces.queries import names_answers

_MOST_TIMES = 2**53  # A charge counts at most so many values; SQLite adds up to 2^63.
_LONGEST_TEXT = 10_000  # Names, notes and tokens have at most so many letters; nobody reads longer ones.
_MOST_BITS = 8192  # Numerators and denominators are no longer, as for the ε of a privacy type.


def place(path: Any) -> Path:
    """Where a ledger lies."""
    ledger = file_path(path, "a ledger")
    try:
        ledger.exists()
    except OSError as error:
        raise InvalidInput(f"a ledger cannot be {shown(path)}: {error.strerror}") from None
    return ledger


def short_text(given: Any, what: str) -> str:
    """A text, as a plain one: enumerations and the texts of numpy are subclasses."""
    plain = str.__str__(arguments.text(given, what))
    if len(plain) > _LONGEST_TEXT:
        raise InvalidInput(f"{what} has {len(plain):,} letters: a ledger keeps at most {_LONGEST_TEXT:,}")
    return plain


def name(given: Any, what: str) -> str:
    """A text that is not empty."""
    if not isinstance(given, str) or not given:
        raise InvalidInput(f"{what} must be a name, found {shown(given)}")
    return short_text(given, what)


def column_names(given: Any) -> tuple[str, ...] | None:
    """One column or several; None for all of a dataset."""
    if given is None:
        return None
    if isinstance(given, str):
        return (name(given, "a column"),)
    columns = tuple(sorted({name(column, "a column") for column in items(given, "columns, which are named by texts,")}))
    if not columns:
        raise InvalidInput("columns are named by texts, found none")
    return columns


def charge_fields(
    dataset: Any, column: Any, scope: Any, rows: Any, key: Any, data: Any, token: Any, note: Any
) -> dict[str, Any]:
    """What a charge says of itself."""
    if key is not None and (not isinstance(key, bytes) or not key):
        raise InvalidInput(f"a key is given by its bytes, found {type(key).__name__}: key_bytes(path) reads a key file")
    if key is not None and data is None:
        raise InvalidInput(
            "a keyed release is charged with a fingerprint of its data (data=…), so that a changed table is noticed: "
            "release() makes it, or Fingerprint in sfumato.release.keys"
        )
    return {
        "dataset": name(dataset, "dataset"),
        "column": name(column, "column"),
        "scope": short_text(scope, "scope"),
        "rows": None if rows is None else integer(rows, "rows", 0, _MOST_TIMES),
        "key": None if key is None else hashlib.sha256(b"sfumato ledger, fingerprint of a key\0" + key).hexdigest(),
        "data": None if data is None else name(data, "data"),
        "token": None if token is None else name(token, "token"),
        "note": short_text(note, "note"),
    }


def times_of(times: Any, rows: Any, charge: Charge) -> int:
    """How many rows are about one person: what is said, else one, unless rows are answers about many people at once."""
    if times is not None:
        return integer(times, "times", 1, _MOST_TIMES)
    if rows is not None and rows > 1 and names_answers(charge.space):
        raise InvalidInput(
            f"{rows:,} rows of {charge.space} are answers about people, not people, and one person may change several: "
            f"say how many at most, {keyword('times', 2)} for counts by district, where who moves leaves one and joins "
            f"another, {keyword('times', 1)} if each person is in one row whatever happens"
        )
    return 1


def charged_fields(charge: Charge, *, keyed: bool) -> dict[str, Any]:
    """What is charged for, as it is kept."""
    if keyed and not charge.noise:
        raise InvalidInput(
            "what is drawn from a Laplace mechanism depends on its pixels and steps: charge a keyed release with what "
            "draws, mechanism=sampler(mechanism, pixels=…, steps=…)"
        )
    return {
        "space": short_text(charge.space, "the name of a space"),
        "unit": short_text(charge.unit, "a unit"),
        "metric": name(charge.metric, "the digest of a metric"),
        "promise": name(charge.text, "a promise"),
        "mechanism": name(charge.mechanism, "the digest of a mechanism"),
        "noise": short_text(charge.noise or charge.mechanism, "the digest of noise"),
        "delta": None if charge.delta is None else str(charge.delta),
    }


def limit_fields(dataset: Any, columns: tuple[str, ...] | None, promise: Any, delta: Any, unit: Any) -> dict[str, Any]:
    """A limit, as it is kept."""
    if delta is not None and promise is None:
        raise InvalidInput("a limit on delta comes with one on epsilon: say both")
    return {
        "time": now(),
        "dataset": None if dataset is None else name(dataset, "dataset"),
        "columns": None if columns is None else json.dumps(columns, ensure_ascii=False),
        "promise": promise,
        "unit": None if unit is None else short_text(unit, "unit"),
        "delta": delta,
    }


def limit_text(limit: Number | Amount | None, alpha: Number | None = None) -> str | None:
    """ε or α as it is kept, None for no limit."""
    if limit is not None and alpha is not None:
        raise InvalidInput("give a limit as epsilon or as alpha, not both")
    if limit is None and alpha is None:
        return None
    for value in (limit, alpha):
        _refuse_strange(value, "a limit")
    most = limit if isinstance(limit, Amount) else amount(epsilon=limit, alpha=alpha)
    numbers = [most.rational, *(base for base, _ in most.logarithms)]
    if any(part.bit_length() > _MOST_BITS for number in numbers for part in number.as_integer_ratio()):
        raise InvalidEpsilon(f"a limit of more than {_MOST_BITS} bits cannot be written down")
    if not most.logarithms:
        return f"epsilon {most.rational}"
    if most.rational == 0 and len(most.logarithms) == 1 and most.logarithms[0][1] == 1:
        return f"alpha {1 / most.logarithms[0][0]}"
    raise InvalidInput(f"a limit is one ε or one α, found the sum {most}")


def delta_text(delta: Number | None) -> str | None:
    """δ as it is kept: a rational between 0 and 1."""
    if delta is None:
        return None
    _refuse_strange(delta, "delta")
    value = as_written(delta, "delta", InvalidEpsilon)
    if not 0 <= value <= 1 or value.denominator.bit_length() > _MOST_BITS:
        raise InvalidEpsilon(f"delta is a number between 0 and 1, found {shown(delta)}")
    return str(value)


def _refuse_strange(number: Any, what: str) -> None:
    """Truth values, and texts and integers that are too long to be read, or to be shown in an error."""
    long = isinstance(number, str) and len(number) > _LONGEST_TEXT
    if isinstance(number, bool) or long or (isinstance(number, int) and number.bit_length() > _MOST_BITS):
        raise InvalidEpsilon(f"{what} is a number of at most {_MOST_BITS} bits, found {shown(number)}")


def now() -> str:
    """The time, as it is kept."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


_INVISIBLE = ("Cc", "Cf", "Zs", "Zl", "Zp")  # the categories of letters that leave no ink, or none of their own
_BETWEEN = re.compile(r"[\s_\-\u2010-\u2015\u2212]+")  # blanks and dashes, which are written one for another
_LATIN = str.maketrans("авекмнорстухіјѕһԁԛԝӏαβεζηικμνορτυχ", "abekmhopctyxijshdqwlabezhikmvoptux")


def looks(name: str) -> str:
    r"""What a reader makes of a name: capitals, blanks, dashes, what is invisible and Greek or Cyrillic letters that
    are drawn like Latin ones tell no names apart.

    Examples
    --------
    >>> looks("People_2026 ") == looks("people 2026") == looks("people\u200b-2026"), looks("people 2025")
    (True, 'people 2025')
    """
    plain = normalize("NFKC", normalize("NFKC", name).casefold())
    inked = "".join(" " if category(letter).startswith("Z") or letter in "\t\r\n" else letter for letter in plain)
    drawn = "".join(letter for letter in inked if letter == " " or category(letter) not in _INVISIBLE)
    return _BETWEEN.sub(" ", drawn.translate(_LATIN)).strip() or plain


def refuse_alike(name: str, known: Iterable[str], what: str) -> None:
    """Raise for a name that looks like one of those that are known, and is none of them."""
    names = list(known)
    if name in names:
        return
    mine = looks(name)
    alike = next((other for other in names if looks(other) == mine), None)
    if alike is not None:
        raise InvalidInput(
            f"the {what} {shown(name)} looks like {shown(alike)}, which the ledger has, and is another name, of which "
            f"nothing would be spent: say {shown(alike)} if that is meant, or take a name that nobody takes for it"
        )
