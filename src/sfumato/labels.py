"""Numbers that carry labels: a mapping, a series or a table is matched by label, never by position.

What a label is matched with must be equal to it; truth values, members of enumerations and times are no numbers:
``True`` is not 1. A label that is
not known, that occurs twice or that is missing is an error that names it. Lists, arrays and series without an index
carry no labels, and are taken in order.

================================================  ==========================================
carries labels                                    where they are
================================================  ==========================================
``dict``, ``Counter``, any mapping                its keys
pandas ``Series``                                 its index
pandas ``DataFrame`` of one column                its index
any table of two columns                          the first column
``value_counts()`` of pyarrow                     its values
================================================  ==========================================

A table of two dimensions has labels for its rows (the index of pandas, otherwise the first column) and for its columns
(their names; where names can only be texts, as in polars and Arrow, a label is found by its spelling).

The index 0, 1, … that pandas gives by default is a label like any other: it is matched where the labels are 0, 1, …,
and refused elsewhere, since nobody knows whether the order was meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.arguments import items
from sfumato.errors import InvalidInput, Mismatch, few, needs, shown

if TYPE_CHECKING:  # an extra
    import pandas

_NONE = object()  # This stands where a number is missing.
_TIMES = (np.datetime64, np.timedelta64)  # NumPy would make integers of these, counted in a unit that is lost.


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labels and what belongs to each; ``counted`` if they are the default index of pandas, ``series`` if an index."""

    labels: list[Any]
    values: list[Any]
    series: bool = False
    counted: bool = False


def label_key(label: Any) -> Any:
    """What two labels share if they are the same: 1 and 1.0, but not 1 and True, nor a member of an enumeration.

    What cannot be hashed, however deep inside, is no label and the same as none.
    """
    try:
        key = _key(label)
        hash(key)
    except (TypeError, RecursionError):
        return object()
    return key


def _key(label: Any) -> Any:
    if isinstance(label, np.generic) and not isinstance(label, _TIMES):
        label = label.item()
    if isinstance(label, bool | Enum):
        return (type(label), label)
    if isinstance(label, tuple | list):
        return tuple(map(_key, label))
    return label


def text_of(label: Any) -> str:
    """A label as a file spells it: a cell (2, 3) of a grid is ``2,3``."""
    return ",".join(map(text_of, label)) if isinstance(label, tuple) else str(label)


def column_values(values: Any, what: str = "values") -> list[Any]:
    """A column of any library as a list of Python's own values."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        return list(values)
    for name in ("to_pylist", "tolist", "to_list"):  # of Arrow, of NumPy and pandas, of polars
        method = getattr(values, name, None)
        if callable(method) and not isinstance(values, type):
            return items(method(), what)
    return items(values, what)


def labelled(values: Any) -> Labelled | None:
    """The labels that a mapping, a series or a table of two columns carries; None for what carries none.

    Examples
    --------
    >>> labelled({"north": 3, "south": 1}).labels, labelled([3, 1])
    (['north', 'south'], None)
    """
    if isinstance(values, np.ndarray | list | tuple | str | bytes):
        return None
    values = _native(values)
    if isinstance(values, set | frozenset):
        raise InvalidInput("a set has no order and no labels: give a list, or a mapping from labels to numbers")
    if isinstance(values, Mapping):
        return Labelled(list(values), list(values.values()))
    if _has_index(values) and not hasattr(values, "columns"):
        return Labelled(column_values(values.index), column_values(values), True, _is_default(values.index))
    if _is_struct(values):
        labels, numbers = map(column_values, values.flatten())
        return Labelled(labels, numbers)
    frame = frame_of(values)
    if frame is None:
        return None
    if frame.index is not None and len(frame.columns) == 1:
        return Labelled(frame.index, frame.columns[0], True, frame.counted)
    if len(frame.columns) != 2 or not frame.row_numbers:
        also = "" if frame.row_numbers else " and an index that is no row number"
        raise InvalidInput(
            f"a table of two columns is needed, labels and numbers, found {len(frame.columns)} columns{also}"
        )
    labels, numbers = frame.columns
    return Labelled(labels, numbers)


def in_order(values: Any, labels: Sequence[Any], what: str, *, absent: Any = _NONE) -> Any:
    """Values in the order of the labels they carry; whatever carries none comes back as it is.

    Parameters
    ----------
    labels
        The labels that are known, in order.
    what
        What the values are called in a message.
    absent
        What stands for a label that does not occur; without it that is an error.

    Examples
    --------
    >>> in_order({"b": 2, "a": 1}, ("a", "b"), "counts")
    [1, 2]
    >>> in_order({"b": 2, "x": 1}, ("a", "b"), "counts")
    Traceback (most recent call last):
        ...
    sfumato.errors.Mismatch: counts: 'x' is not among 'a', 'b'
    """
    given = labelled(values)
    return values if given is None else _in_order(given, labels, what, absent)


def _in_order(given: Labelled, labels: Sequence[Any], what: str, absent: Any = _NONE) -> list[Any]:
    order = _order(given.labels, labels, what, counted=given.counted, complete=absent is _NONE)
    return [absent if place is None else given.values[place] for place in order]


def _order(
    found: Sequence[Any], labels: Sequence[Any], what: str, *, counted: bool = False, complete: bool = True
) -> list[int | None]:
    """For each label its place among those that were found, None where it is missing and need not be there."""
    places: dict[Any, int | None] = {label_key(label): None for label in labels}
    for place, label in enumerate(found):
        key = label_key(label)
        if key not in places:
            hint = (
                "; the index 0, 1, … is no order of secrets: pass .to_numpy() for numbers in order, or set the index"
                if counted
                else ""
            )
            raise Mismatch(what, labels, found, f"{shown(label)} is not among {few(labels)}{hint}")
        if places[key] is not None:
            raise Mismatch(what, labels, found, f"{shown(label)} occurs twice")
        places[key] = place
    order = list(places.values())
    if complete and None in order:
        raise Mismatch(what, labels, found, f"{shown(labels[order.index(None)])} is missing")
    return order


# ----------------------------------------------------------------- tables of two dimensions


def row_names(table: Any) -> list[Any] | None:
    """The labels of the rows of a table, None where there are none or only the default index of pandas."""
    if isinstance(table, Mapping):
        return list(table)
    frame = frame_of(table)
    return None if frame is None or frame.counted else frame.parts()[0]


def column_labels(table: Any) -> list[Any] | None:
    """The labels of the columns of a table, None where there are none."""
    if isinstance(table, np.ndarray):
        return None
    frame = frame_of(table)
    if frame is not None:
        return frame.parts()[1]
    rows = table.values() if isinstance(table, Mapping) else table
    first = next(iter(rows), None) if isinstance(rows, Sequence) or isinstance(table, Mapping) else None
    given = None if isinstance(first, str | bytes) or not isinstance(first, Iterable) else labelled(first)
    return None if given is None else given.labels


def table_in_order(table: Any, rows: Sequence[Any], columns: Sequence[Any] | None, what: str) -> Any:
    """A table with rows and columns in the order of labels; what carries none comes back as it is.

    Examples
    --------
    >>> table_in_order({"z": {"no": 2, "yes": 1}, "x": {"yes": 3, "no": 4}}, ("x", "z"), ("yes", "no"), "a channel")
    [[3, 4], [1, 2]]
    """
    frame = frame_of(table)
    if frame is None:
        if isinstance(table, np.ndarray | str | bytes) or not isinstance(table, Iterable):
            return table
        ordered = items(in_order(table, rows, f"the rows of {what}"), f"the rows of {what}")
        return ordered if columns is None else [in_order(row, columns, f"the columns of {what}") for row in ordered]
    index, names, contents = frame.parts()
    if columns is not None:
        spelled = columns if frame.index is not None else _spelled(columns)
        where = "" if frame.index is not None else ", after the first, which names its rows"
        order = _order(names, spelled, f"the columns of {what}{where}", counted=frame.counted_names)
        contents = [contents[place] for place in order if place is not None]
    by_row = [list(row) for row in zip(*contents, strict=True)]
    return _in_order(Labelled(index, by_row, counted=frame.counted), rows, f"the rows of {what}")


def _spelled(labels: Sequence[Any]) -> Sequence[Any]:
    """The labels as texts, for tables whose columns can have no other names."""
    texts = [str(label) for label in labels]
    return texts if len(set(texts)) == len(texts) else labels


@dataclass(frozen=True, eq=False)
class Frame:
    """A table: names and contents of its columns, its index where it has one."""

    names: list[Any]
    columns: list[list[Any]]
    index: list[Any] | None = None
    counted: bool = False  # the index is the default one
    counted_names: bool = False  # so are the names
    row_numbers: bool = True  # the index says nothing but which row it was

    def parts(self) -> tuple[list[Any], list[Any], list[list[Any]]]:
        """Labels of rows, labels of columns, and the columns; without an index the first column labels the rows."""
        if self.index is not None:
            return self.index, self.names, self.columns
        return self.columns[0], self.names[1:], self.columns[1:]

    def column(self, name: Any) -> list[Any]:
        """The values of one column."""
        places = [place for place, other in enumerate(self.names) if label_key(other) == label_key(name)]
        if not places:
            raise InvalidInput(f"the table has no column {shown(name)}: it has {few(self.names)}")
        if len(places) > 1:
            raise InvalidInput(f"the table has several columns {shown(name)}")
        return self.columns[places[0]]


def frame_of(values: Any) -> Frame | None:
    """The columns of a dataframe of any library, None for what is none."""
    values = _native(values)
    if isinstance(values, np.ndarray | list | tuple | Mapping):
        return None
    if _has_index(values) and hasattr(values, "iloc"):
        if not hasattr(values, "columns"):
            return None
        columns = [column_values(values.iloc[:, place]) for place in range(len(values.columns))]
        index, names = column_values(values.index), column_values(values.columns)
        row_numbers = values.index.name is None and all(isinstance(label, int) for label in index)
        default = _is_default(values.index), _is_default(values.columns)
        return Frame(names, columns, index, *default, row_numbers=row_numbers)
    if hasattr(values, "columns") and (hasattr(values, "__arrow_c_stream__") or hasattr(values, "to_pylist")):
        table = values if isinstance(values, pa.Table | pa.RecordBatch) else pa.table(values)
        return Frame(list(table.schema.names), [column_values(column) for column in table.columns])
    return None


def _native(values: Any) -> Any:
    """What a wrapper of narwhals is around."""
    return values.to_native() if type(values).__module__.split(".")[0] == "narwhals" else values


def _has_index(values: Any) -> bool:
    return hasattr(values, "index") and not callable(values.index) and hasattr(values, "to_numpy")


def _is_default(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _is_struct(values: Any) -> bool:
    """What ``value_counts`` of Arrow gives: an array of records with two fields."""
    kind = getattr(values, "type", None)
    return hasattr(values, "flatten") and hasattr(values, "to_pylist") and getattr(kind, "num_fields", 0) == 2


# ----------------------------------------------------------------- on the way out

Axis = tuple[str, Sequence[Any]]  # what labels are called, and the labels


def pandas_frame(values: Any, rows: Axis, columns: Axis) -> pandas.DataFrame:
    """A table of two dimensions with its labels, as pandas has it."""
    return _pandas().DataFrame(values, index=_pandas_index(rows), columns=_pandas_index(columns))


def pandas_series(values: Any, labels: Axis, name: str) -> pandas.Series[Any]:
    """Numbers with their labels, as pandas has them."""
    return _pandas().Series(values, index=_pandas_index(labels), name=name)


def pandas_records(records: Sequence[Mapping[str, Any]], index: str | None = None) -> pandas.DataFrame:
    """Records as rows, one field of them as the index."""
    frame = _pandas().DataFrame(list(records))
    return frame if index is None else frame.set_index(index)


def _pandas_index(labels: Axis) -> Any:
    name, values = labels
    return _pandas().Index(list(values), name=name, tupleize_cols=False)  # a cell of a grid is one label


def _pandas() -> Any:
    with needs("pandas", "pandas"):
        import pandas
    return pandas
