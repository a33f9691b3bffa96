"""From a column to secrets: labels by lookup, coordinates by the nearest secret or the cell that contains them.

Nothing is guessed. A value stands for a label of its own type: 3 is no ``"3"``, no ``3.0`` and no ``True``, and what is
stored for something else (the ordinal of a pandas ``Period``, the ends of an interval, the fields of a record) is no
label at all. Only text without types (a CSV file) is compared with how labels are spelled: ``7`` for 7 but not ``07``
or ``7.0``, ``2,3`` for the cell (2, 3), ``1/3`` for a fraction, any decimal digits for a float. Missing values, NaN,
unknown labels and coordinates outside the space stop a release, with the number of the row, unless a policy says
otherwise:

===========  ================================================================
``error``    the first such row is refused
``drop``     such rows are left out; that a row is missing then tells it was one of them
``nearest``  the nearest secret is taken, where the space has coordinates; missing values are still refused, and so
             is a table of which more than a share lies outside the space
===========  ================================================================
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.arguments import one_of
from sfumato.draws.plans import LARGEST_SECRET
from sfumato.errors import InvalidInput, keyword, shown
from sfumato.release.foreign import Foreign, foreign_kind, is_bytes, is_text
from sfumato.release.keys import Texts

if TYPE_CHECKING:
    from sfumato.release.formats.lines import CellValues

POLICIES: tuple[str, ...] = ("error", "nearest", "drop")

UNKNOWN, MISSING, NOT_A_NUMBER, OTHER_KIND = -1, -2, -3, -4
"""What stands for a value that has no index."""

Rows = NDArray[Any]
"""Integer indices of secrets, or points, one row a point."""

# A value on the border of the space is inside, although quotients of doubles may put it a few roundings beyond.
OUTSIDE = 1e-9

_INTEGER = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WITH_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?", re.ASCII)
_LARGEST_TABLE = 2**22  # Entries of the largest table from integers to secrets.
_MOST_COMPARED = 2_000  # A similar label is looked for among so many.
_TEXT = ord("t")
_BYTES = ord("b")


class BadRow(InvalidInput):
    """A row that cannot be released; ``row`` is its number (the first row of data is 1), ``value`` what it holds.

    ``policy`` says which policy would take it; ``reason`` is the message without that, for whoever has the policy.
    """

    def __init__(self, message: str, row: int, value: Any = None, policy: str = "") -> None:
        self.reason = f"row {row}: {message}"
        super().__init__(f"{self.reason}; {policy}" if policy else self.reason)
        self.row = row
        self.value = value
        self.policy = policy


class ManyStrays(InvalidInput):
    """More rows have no secret than may be moved or left out; ``reason`` is the message, whatever is added to it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.reason = message


def leaves_out() -> str:
    """The policy that leaves out rows that have no secret, as a message advises it."""
    return f"{keyword('on_unknown', 'drop')} leaves such rows out"


# ----------------------------------------------------------------- columns


@dataclass(frozen=True, eq=False)
class TypedValues:
    """A batch of one column in Arrow; ``typed``, since a value says its type and is no text that spells a label."""

    array: Any  # pa.Array
    typed: bool = True

    def __len__(self) -> int:
        return len(self.array)

    def distinct(self) -> tuple[NDArray[Any], list[Any]]:
        """For each row the place of its value in a list, and the list."""
        array = self.array
        kind = array.type
        if (strange := foreign_kind(kind)) is not None:
            gone = pc.is_null(array).to_numpy(zero_copy_only=False)
            return gone.astype(np.int64), [Foreign(strange, None), None]
        if pa.types.is_nested(kind) or pa.types.is_null(kind) or isinstance(kind, pa.BaseExtensionType):
            return _distinct_objects(_plain(value) for value in array.to_pylist())
        if pa.types.is_dictionary(kind) and len(array.dictionary) > len(array):
            array = array.dictionary_decode()  # a batch is looked at in its own time, however long its dictionary is
        if not pa.types.is_dictionary(array.type):
            if array.type in (pa.string_view(), pa.binary_view()):
                array = array.cast(pa.large_string() if array.type == pa.string_view() else pa.large_binary())
            array = pc.dictionary_encode(array, null_encoding="encode")
        indices, values = array.indices, array.dictionary.to_pylist()
        if indices.null_count:
            indices, values = pc.fill_null(indices, len(values)), [*values, None]
        return indices.to_numpy(zero_copy_only=False), values

    def integers(self) -> NDArray[Any] | None:
        """The column as integers, if it is one and nothing is missing."""
        if not pa.types.is_integer(self.array.type) or self.array.null_count:
            return None
        numbers: NDArray[Any] = self.array.to_numpy(zero_copy_only=False)
        return numbers

    def numbers(self) -> NDArray[np.float64]:
        """The column as floats, NaN where something is missing or no number."""
        kind = self.array.type
        if pa.types.is_dictionary(kind):
            return TypedValues(self.array.dictionary_decode()).numbers()
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            return np.full(len(self.array), np.nan)
        floats = pc.fill_null(self.array.cast(pa.float64(), safe=False), np.nan)
        return np.asarray(floats.to_numpy(zero_copy_only=False), dtype=np.float64)

    def texts(self, what: str, first: int) -> Texts:
        """The column as ids; refuses what is missing and what has several spellings."""
        array, kind = self.array, self.array.type
        if pa.types.is_dictionary(kind):
            return TypedValues(array.dictionary_decode()).texts(what, first)
        written = pa.types.is_integer(kind) or is_text(kind)
        if array.null_count:
            row = int(np.argmax(pc.is_null(array).to_numpy(zero_copy_only=False)))
            raise BadRow(f"the row id {shown(what)} is missing", first + row + 1)
        if not written and not is_bytes(kind):
            raise InvalidInput(
                f"the row id {shown(what)} holds {kind}: use integers, texts or bytes, which have one spelling"
            )
        array = array.cast(pa.large_string() if written else pa.large_binary())
        _, offsets, data = array.buffers()
        ends = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
        content = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
        return content, ends, _TEXT if written else _BYTES

    def value(self, row: int) -> Any:
        """One value, for a message."""
        value, strange = self.array[row].as_py(), foreign_kind(self.array.type)
        return _plain(value) if strange is None or value is None else Foreign(strange, value)


Values: TypeAlias = "TypedValues | CellValues"
"""A batch of one column, of a table or of text."""


def coordinates_in(batch: Sequence[Values], columns: Sequence[str], first: int) -> list[NDArray[np.float64]]:
    """Columns as floats, NaN where something is missing or no number; ``first`` rows came before these.

    A column of texts is refused whatever the policy is: no row of it has a coordinate, and all would be left out.
    """
    for name, values in zip(columns, batch, strict=True):
        if not isinstance(values, TypedValues):
            continue
        kind = values.array.type
        if is_text(kind.value_type if pa.types.is_dictionary(kind) else kind):
            there = np.flatnonzero(values.array.is_valid().to_numpy(zero_copy_only=False))
            if there.size:
                value = values.value(int(there[0]))
                raise BadRow(f"{shown(name)} {no_number(value, True)}", first + int(there[0]) + 1, value)
    return [values.numbers() for values in batch]


def bad_coordinate(columns: Sequence[str], batch: Sequence[Values], point: Any, row: int, first: int) -> BadRow | None:
    """What to say of a row whose point has a coordinate that is missing or no number; None if all are finite."""
    for name, values, number in zip(columns, batch, point.tolist(), strict=True):
        if not isfinite(number):
            value = values.value(row)
            policy = "" if _spelled_otherwise(value) else leaves_out()
            decimal = "." if isinstance(values, TypedValues) else values.decimal
            return BadRow(f"{name!r} {no_number(value, values.typed, decimal)}", first + row + 1, value, policy)
    return None


def no_number(value: Any, typed: bool, decimal: str = ".") -> str:
    """What is wrong with a value that should be a coordinate, after the name of its column.

    Examples
    --------
    >>> no_number("0.7", True)
    "is the text '0.7': make it a column of numbers first"
    >>> no_number("north", False), no_number("", False)
    ("is 'north', which is no finite number", 'is missing')
    """
    if value is None or value == "":
        return "is missing"
    if typed and isinstance(value, str):
        return f"is the text {shown(value)}: make it a column of numbers first"
    if decimal == "." and isinstance(value, str) and _WITH_COMMA.fullmatch(value):
        return f"is {shown(value)}, with a comma: {keyword('decimal', ',')} if it stands before decimals"
    if decimal == "," and isinstance(value, str) and any(map(str.isdigit, value)):
        return f"is {shown(value)}, but numbers have decimal commas here: 12,5, -0,75 or 1e3"
    if _spelled_otherwise(value):
        return f"is {shown(value)}, which is not how a number is written here: 12.5, -0.75 or 1e3"
    return f"is {shown(value)}, which is no finite number"


def _spelled_otherwise(value: Any) -> bool:
    """Whether a text has digits: a whole column is then probably written like that, and no stray row of it."""
    return isinstance(value, str) and any(sign.isdigit() for sign in value) and not _DECIMAL.fullmatch(value)


def _distinct_objects(values: Iterable[Any]) -> tuple[NDArray[Any], list[Any]]:
    places: dict[Any, int] = {}
    codes = [places.setdefault((type(value), value), len(places)) for value in values]
    return np.array(codes, dtype=np.int64), [value for _, value in places]


def _plain(value: Any) -> Any:
    """Lists and records of a table as tuples, which is what labels are made of."""
    if isinstance(value, dict):
        return tuple(_plain(part) for part in value.values())
    if isinstance(value, list):
        return tuple(_plain(part) for part in value)
    return value


# ----------------------------------------------------------------- labels

_KINDS = {
    "int": "an integer", "float": "a float", "str": "text", "bool": "a truth value", "tuple": "a tuple",
    "Fraction": "a fraction",
}  # fmt: skip


def kind_of(value: Any) -> str:
    """What must agree between a value and a label: 1, 1.0, True and "1" are of four kinds."""
    if value is None:
        return "missing"
    if isinstance(value, float):
        return "nan" if isnan(value) else "float"
    if isinstance(value, tuple):
        return f"tuple({', '.join(kind_of(part) for part in value)})"
    return value.kind if isinstance(value, Foreign) else type(value).__name__


def _kind_in_words(kind: str) -> str:
    return _KINDS.get(kind.split("(")[0], kind)


def label_spelling(label: Any) -> str:
    """A label as a CSV file spells it: the cell (2, 3) is ``2,3``, one third ``1/3``."""
    return ",".join(map(label_spelling, label)) if isinstance(label, tuple) else str(label)


class Located(NamedTuple):
    """The secrets of rows, and how far from them those rows were that lie outside the space.

    Where a row has several places, ``strays`` counts those that were moved at each of them.
    """

    rows: Rows
    moved: NDArray[np.float64] = np.empty(0)
    strays: tuple[int, ...] = ()


class Secrets(ABC):
    """Finds the secrets that a table holds."""

    left_out: int = -1
    """What stands for a row to be left out."""

    @property
    def unit(self) -> str:
        """In which unit distances are told, if they have one."""
        return ""

    @property
    def about_points(self) -> bool:
        """Whether the secrets are all points, not a list that points are taken for."""
        return False

    def find(self, batch: Sequence[Values], first: int) -> Rows:
        """The index of each row's secret, or ``left_out``; ``first`` rows came before these."""
        return self.locate(batch, first).rows

    @abstractmethod
    def locate(self, batch: Sequence[Values], first: int) -> Located:
        """The same, and which rows were moved into the space because the nearest secret is taken."""

    def refusing(self) -> Secrets:
        """The same, which refuses what is no secret instead of leaving it out."""
        return replace(self, on_unknown="error")  # type: ignore[type-var] # every kind of them is a dataclass

    def kept(self, rows: Rows) -> NDArray[np.bool_]:
        """Which rows are not left out."""
        return np.asarray(rows != self.left_out)

    def marks(self, rows: Rows) -> Rows:
        """One integer for each row that tells its secret from others: its index."""
        return rows


@dataclass(frozen=True, eq=False)
class Labels(Secrets):
    """A column that names secrets by their labels.

    Parameters
    ----------
    column
        Its name.
    labels
        The labels of the secrets, in order.
    on_unknown
        What to do about values that are no label.
    position
        For ``"nearest"``: the coordinate of each secret on a line, in order.
    name
        What the labels are called in print.

    Examples
    --------
    >>> rows = Labels("answer", ("no", "maybe", "yes")).find([TypedValues(pa.array(["yes", "no"]))], 0)
    >>> rows.tolist()
    [2, 0]
    """

    column: str
    labels: tuple[Any, ...]
    on_unknown: str = "error"
    position: NDArray[np.float64] | None = None
    name: str = "the mechanism"

    @cached_property
    def known(self) -> dict[str, dict[Any, int]]:
        """For each kind the index of every label."""
        result: dict[str, dict[Any, int]] = {}
        for index, label in enumerate(self.labels):
            result.setdefault(kind_of(label), {})[label] = index
        return result

    @cached_property
    def spelled(self) -> dict[str, int]:
        """The index of each label under its spelling."""
        result: dict[str, int] = {}
        for index, label in enumerate(self.labels):
            text = label_spelling(label)
            if label is not None and result.setdefault(text, index) != index:
                raise InvalidInput(
                    f"two secrets are spelled {shown(text)}: release a table with types, such as Parquet"
                )
        return result

    @cached_property
    def integer_table(self) -> tuple[int, Rows] | None:
        """The smallest integer label and the indices from it on, where that is a small table."""
        whole = self.known.get("int")
        if not whole:
            return None
        low, high = min(whole), max(whole)
        if high - low >= min(_LARGEST_TABLE, 16 * len(whole) + 1024) or not -(2**63) <= low <= high < 2**63:
            return None
        table = np.full(high - low + 1, UNKNOWN, dtype=np.int64)
        for label, index in whole.items():
            table[label - low] = index
        return low, table

    def find(self, batch: Sequence[Values], first: int) -> Rows:
        """The index of each row's secret, −1 for rows to be left out."""
        (values,) = batch
        whole = values.integers() if self.on_unknown != "nearest" else None
        if whole is not None and self.integer_table is not None:
            low, table = self.integer_table
            inside = (whole >= low) & (whole < low + len(table))
            rows = np.full(len(whole), UNKNOWN, dtype=np.int64)
            # the differences fit: only values inside the table are taken
            rows[inside] = table[(whole[inside].astype(np.int64) - low)]
        else:
            places, distinct = values.distinct()
            index = self._typed_index if values.typed else self._spelled_index
            rows = np.array([index(value) for value in distinct], dtype=np.int64)[places]
        return self._judged(rows, values, first)

    def locate(self, batch: Sequence[Values], first: int) -> Located:
        """Numbers are outside if they lie beyond the first or last label, by more than half the largest gap."""
        rows = self.find(batch, first)
        if self.on_unknown != "nearest":
            return Located(rows)
        assert self.position is not None
        where, _ = self._sorted
        reach = np.diff(where).max(initial=0.0) / 2
        with np.errstate(over="ignore"):
            gaps = np.abs(batch[0].numbers() - self.position[rows])
        return Located(rows, np.asarray(gaps[gaps > reach * (1 + OUTSIDE)]))

    def _typed_index(self, value: Any) -> int:
        kind = kind_of(value)
        labels = self.known.get(kind)
        if labels is not None and (index := labels.get(value)) is not None:
            return index
        if kind == "missing":
            return MISSING
        if self.on_unknown == "nearest" and kind in ("int", "float", "nan"):
            return self._nearest(_as_float(value)) if kind == "int" or isfinite(value) else NOT_A_NUMBER
        if kind == "nan":
            return NOT_A_NUMBER
        return OTHER_KIND if labels is None else UNKNOWN

    def _spelled_index(self, text: Any) -> int:
        index = self.spelled.get(text)
        if index is not None:
            return index
        if not text:
            return MISSING
        is_number = _DECIMAL.fullmatch(text) is not None
        if is_number and isfinite(float(text)):
            if self.on_unknown == "nearest":
                return self._nearest(float(text))
            return self.known.get("float", {}).get(float(text), UNKNOWN)
        return NOT_A_NUMBER if text.lower() == "nan" else UNKNOWN

    def _nearest(self, value: float) -> int:
        """The secret nearest to a number; the smaller one of two."""
        assert self._sorted is not None
        where, order = self._sorted
        right = int(np.searchsorted(where, value))
        if right == 0 or (right < len(where) and where[right] - value < value - where[right - 1]):
            return int(order[right])
        return int(order[right - 1])

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.float64], Rows]:
        assert self.position is not None
        order = np.argsort(self.position, kind="stable")
        return self.position[order], order

    def _judged(self, rows: Rows, values: Values, first: int) -> Rows:
        bad = rows < 0
        if not bad.any():
            return rows
        if self.on_unknown == "drop":
            bad = rows == OTHER_KIND
            if not bad.any():
                return np.maximum(rows, -1)
        row = int(np.argmax(bad))
        value = values.value(row)
        policy = {OTHER_KIND: "", UNKNOWN: leaves_out()}.get(int(rows[row]), f"fill it, or {leaves_out()}")
        raise BadRow(self.reason(int(rows[row]), value), first + row + 1, value, policy)

    def reason(self, code: int, value: Any) -> str:
        """What is wrong with a value that is no label."""
        if code in (MISSING, NOT_A_NUMBER):
            return f"{self.column!r} is {'missing' if code == MISSING else 'NaN'}"
        if code == OTHER_KIND:
            kinds = " or ".join(dict.fromkeys(_kind_in_words(kind) for kind in self.known if kind != "missing"))
            return (
                f"{self.column!r} is {shown(value)}, {_kind_in_words(kind_of(value))}, but a secret of {self.name} is "
                f"{kinds}, such as {self.labels[0]!r}: types are not guessed, convert the column first"
            )
        return f"{self.column!r} is {shown(value)}, which is no secret of {self.name}{self.similar(value)}"

    def similar(self, value: Any, what: str = "secrets") -> str:
        """The label that may have been meant, or a few of them."""
        texts = [label_spelling(label) for label in self.labels[:_MOST_COMPARED]]
        if len(self.labels) <= _MOST_COMPARED:
            close = get_close_matches(label_spelling(value), texts, 1, 0.6)
            if close:
                return f" (did you mean {close[0]!r}?)"
        return f" ({what} are {', '.join(map(repr, texts[:3]))}{', …' if len(self.labels) > 3 else ''})"


def _as_float(value: float) -> float:
    """A float at the same end of the line where an integer is larger than any."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def check_policy(on_unknown: str) -> str:
    """One of the three policies."""
    return str(one_of(on_unknown, POLICIES, keyword("on_unknown")))


def line_position(labels: tuple[Any, ...], coordinates: NDArray[np.float64] | None, name: str) -> NDArray[np.float64]:
    """Where labels that are numbers lie on a line; refused where nearest numbers are not nearest secrets."""
    if coordinates is None or coordinates.shape[1] != 1:
        raise InvalidInput(
            f"{keyword('on_unknown', 'nearest')} needs a line: {name} has "
            + ("no coordinates" if coordinates is None else f"{coordinates.shape[1]} coordinates a secret")
            + ("" if coordinates is None else "; release columns of coordinates instead")
        )
    if not all(isinstance(label, int | float | Fraction) and not isinstance(label, bool) for label in labels):
        raise InvalidInput(
            f"{keyword('on_unknown', 'nearest')} needs labels that are numbers: {name} has {shown(labels[0])}"
        )
    numbers = np.array([float(label) for label in labels])
    where = coordinates[:, 0]
    # a label is its coordinate in other units: the two lists are proportional up to the rounding of a product
    scale = max(np.abs(where).max(), 1e-300) / max(np.abs(numbers).max(), 1e-300)
    if not np.allclose(numbers * scale, where, rtol=1e-12, atol=0.0):
        raise InvalidInput(f"{keyword('on_unknown', 'nearest')}: the labels of {name} are not where its secrets are")
    return numbers


@dataclass(frozen=True, eq=False)
class Integers(Secrets):
    """A column of integers that are the secrets themselves, for mechanisms without a list of secrets.

    Examples
    --------
    >>> Integers("visits").find([TypedValues(pa.array([3, -1000]))], 0).tolist()
    [3, -1000]
    """

    column: str
    on_unknown: str = "error"
    # indices are the secrets, so that −1 is one of them and cannot stand for a row that is left out
    left_out = -(2**63)

    def locate(self, batch: Sequence[Values], first: int) -> Located:
        """The secrets of the rows."""
        (values,) = batch
        whole = values.integers()
        if whole is not None and whole.dtype.kind == "i" and _all_within(whole, LARGEST_SECRET):
            return Located(np.asarray(whole, dtype=np.int64))
        places, distinct = values.distinct()
        rows = [self._integer(value, values.typed) for value in distinct]
        wrong = np.array([value is None for value in rows], dtype=bool)[places]
        if wrong.any() and self.on_unknown != "drop":
            row = int(np.argmax(wrong))
            value = values.value(row)
            needed = f"an integer of 64 bits is needed, within ±2^{LARGEST_SECRET.bit_length() - 1}"
            raise BadRow(f"{shown(self.column)} is {shown(value)}, but {needed}", first + row + 1, value)
        listed = np.array([self.left_out if value is None else value for value in rows], dtype=np.int64)
        return Located(listed[places])

    def _integer(self, value: Any, typed: bool) -> int | None:
        if not typed:
            value = int(value) if _INTEGER.fullmatch(value) else None
        return value if kind_of(value) == "int" and abs(value) <= LARGEST_SECRET else None


def _all_within(numbers: NDArray[Any], bound: int) -> bool:
    return not numbers.size or (int(numbers.min()) >= -bound and int(numbers.max()) <= bound)
