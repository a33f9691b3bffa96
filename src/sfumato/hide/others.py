"""Other columns that tell where points are: by their names, or by what they hold.

A release replaces the columns that it is told about. What stays beside them is copied, and a second pair of
coordinates, a cell of H3, a geohash or a text of WKT would tell what was hidden. Such a column is refused until
somebody says of it that it goes, or that it stays.

Names are looked at for all columns, contents in the first rows: texts that are geometries, cells or codes of places, or
have places in them (:mod:`sfumato.release.neighbourhood`, which looks at all rows as they are released); numbers, or
pairs of them in texts, lists and records, that lie where the points lie; and numbers that follow the points closely,
such as the same places in another coordinate system. What somebody keeps on purpose is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.errors import InvalidInput, few, keyword, shown
from sfumato.hide.reading import BATCH, MEMBER
from sfumato.hide.sources import Source
from sfumato.numbers import Floats
from sfumato.release.geometry import shape_of
from sfumato.release.layouts import extension_name, schema_layout
from sfumato.release.neighbourhood import MOST, PAD, Lookout, Neighbourhood
from sfumato.release.places import Geometry, Position
from sfumato.spaces.foreign import place_names
from sfumato.specs.complaints import nearest

_ROWS = 2000  # values of a column that are looked at, spread over the first rows
_FOLLOWS = (
    0.95  # the share of a column's variance that the points explain: what is left is below a quarter of its spread
)
_FEWEST = 10  # rows below which a fit of three numbers says nothing

_H3 = re.compile(r"(?:0x)?8[0-9a-f]{14}", re.IGNORECASE)
_PLUS_CODE = re.compile(r"[23456789CFGHJMPQRVWX]{4,8}\+[23456789CFGHJMPQRVWX]{2,7}(?:\W.*)?", re.IGNORECASE)
_SEXAGESIMAL = re.compile(r"\s*\d{1,3}\s*[°º]\s*[\d.]+.*[NSEWOnsewo]?\s*")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_TWO_NUMBERS = re.compile(rf"\s*[\[(]?\s*({_NUMBER})\s*[,; ]\s*({_NUMBER})\s*(?:[,; ]\s*{_NUMBER}\s*)?[\])]?\s*")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
_A_NUMBER = re.compile(rf"\s*{_NUMBER}\s*")


def refuse_places(
    source: Source, column: Position, drop: Sequence[str], keep: Sequence[str], earth: bool, corners: Any = None
) -> None:
    """Refuse columns that tell places and of which nobody has said whether they go or stay.

    ``corners`` are those of the box, least and largest first and second coordinate, where it is known.
    """
    sure = not source.is_json or len(source.head()) < BATCH  # rows of JSON that come later may have other keys
    for option, names in (("drop", drop), ("keep", keep)):
        for name in names:
            if name not in source.columns and sure:
                known = nearest(name, source.columns)
                raise InvalidInput(f"{keyword(option, name)}: {source.name} has no such column{known}")
    found = {name: why for name, why in telling(source, column, earth, corners).items() if name not in (*drop, *keep)}
    if not found:
        return
    words = "; ".join(f"{shown(name)} ({why})" for name, why in found.items())
    one = next(iter(found))
    of_index = [name for name in found if name not in source.columns]
    if of_index:
        raise InvalidInput(f"the row names of the table tell where points are: {words}; reset the index first")
    each = "it" if len(found) == 1 else "each of them"
    raise InvalidInput(
        f"beside the released {few(list(column.columns))}, places would stay as they are and tell what is hidden: "
        f"{words}; say of {each} whether it goes, {keyword('drop', one)}, or stays, {keyword('keep', one)}"
    )


def telling(source: Source, column: Position, earth: bool, corners: Any = None) -> dict[str, str]:
    """The columns beside the points that tell places, and why that is thought."""
    head = source.head()
    own = released_columns(source, column)
    names = [name for name in dict.fromkeys([*source.columns, *head.column_names]) if name not in own]
    found = dict.fromkeys(place_names(names), "by the name")
    found |= {field.name: "a member beside the properties" for field in head.schema if MEMBER in (field.metadata or {})}
    points = _points(source, column, len(head))
    region = _region(points, earth, corners)
    lookout = None if region is None else Lookout(region)
    pairs: dict[int, set[str]] = {0: set(), 1: set()}
    parts: dict[int, set[str]] = {0: set(), 1: set()}
    for name in (name for name in names if name in head.column_names and name not in found):
        if (why := _held(head.schema.field(name), head.column(name), lookout)) or not len(points[0]):
            found |= {name: why} if why else {}
            continue
        for part, rows, values in _numbers(name, head.column(name)):
            if _follows(values, rows, points):
                found[name] = "its numbers follow the points"
            for axis in (0, 1):
                if region is not None and region.rare and region.holds(axis, values):
                    pairs[axis].add(name)
                    parts[axis].add(part)
    if any(one != other for one in parts[0] for other in parts[1]):
        found |= dict.fromkeys(sorted(pairs[0] | pairs[1]), "its numbers lie where the points lie")
    return {name: found[name] for name in names if name in found}


def released_columns(source: Source, column: Position) -> tuple[str, ...]:
    """What is released with points: their columns, and boxes around each point."""
    if not isinstance(column, Geometry):
        return column.columns
    if source.file is None and hasattr(source.table, "_geometry_column_name"):
        active = source.table._geometry_column_name
        return column.columns if column.columns[0] in source.columns or active is None else (active,)
    if source.format in ("parquet", "arrow") or (source.file is None and isinstance(source.table, pa.Table)):
        layout = schema_layout(source.schema, column)
        return (layout.name, *(name for name, _ in layout.boxes))
    return (*column.columns, *(source.reference.geometries[:1] if source.file is not None else ()))


def looked_up(source: Source, names: Sequence[str]) -> tuple[str, ...]:
    """Those of some columns in whose first rows no value occurs twice: each is a name, of a row, a person or a place.

    What is missing or empty is no value.

    Examples
    --------
    >>> looked_up(Source(pa.table({"osm_id": [42, 7, None], "kind": ["stop", "stop", "stop"]})), ["osm_id", "kind"])
    ('osm_id',)
    """
    head = source.head()
    return tuple(name for name in names if name in head.column_names and _all_different(head.column(name)))


def _all_different(column: Any) -> bool:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    there = column.take(pa.array(_there(column)))
    if pa.types.is_nested(column.type) or isinstance(column.type, pa.BaseExtensionType):
        different = len({repr(value) for value in there.to_pylist()})  # Arrow does not compare these
    else:
        different = len(there.unique())
    return len(there) > 1 and different == len(there)


# ----------------------------------------------------------------- where the points are


def _points(source: Source, column: Position, most: int) -> tuple[Floats, Floats]:
    """The points of the first rows, NaN where there is none."""
    first, second = [np.empty(0)], [np.empty(0)]
    many = 0
    for x, y, _ in source.batches(column, []):
        first.append(np.asarray(x, dtype=float))
        second.append(np.asarray(y, dtype=float))
        many += len(x)
        if many >= most:
            break
    return np.concatenate(first)[:most], np.concatenate(second)[:most]


def _region(points: tuple[Floats, Floats], earth: bool, corners: Any) -> Neighbourhood | None:
    """Around nearly all points and the box, and a little farther."""
    known = np.isfinite(points[0]) & np.isfinite(points[1])
    if not known.any():
        return None
    low, high = [], []
    for axis, along in enumerate(points):
        least, most = np.quantile(along[known], [0.02, 0.98]).tolist()
        if corners is not None:
            least, most = min(least, float(corners[axis])), max(most, float(corners[axis + 2]))
        pad = max((most - least) / 2, PAD if earth else 0.0)
        low.append(least - pad)
        high.append(most + pad)
    return Neighbourhood((low[0], low[1]), (high[0], high[1]), earth)


def _follows(values: Floats, rows: NDArray[np.int64], points: tuple[Floats, Floats]) -> bool:
    """Whether a line through both coordinates explains nearly all of some numbers."""
    rows, values = rows[rows < len(points[0])], values[rows < len(points[0])]
    x, y = points[0][rows], points[1][rows]
    fine = np.isfinite(x) & np.isfinite(y)
    if fine.sum() < _FEWEST or not np.ptp(values[fine]) > 0:
        return False
    wanted = values[fine] - values[fine].mean()
    wanted = wanted / np.abs(wanted).max()  # identifiers of 64 bits have squares beyond a double's
    terms = np.column_stack([x[fine] - x[fine].mean(), y[fine] - y[fine].mean()])
    left = wanted - terms @ np.linalg.lstsq(terms, wanted, rcond=None)[0]
    return bool(left @ left <= (1 - _FOLLOWS) * (wanted @ wanted))


# ----------------------------------------------------------------- what a column holds


def _there(column: Any) -> NDArray[np.int64]:
    """The rows in which something stands; an empty text is nothing."""
    textual = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    there = pc.greater(pc.binary_length(column), 0).fill_null(False) if textual else pc.is_valid(column)
    return np.flatnonzero(there.to_numpy())


def _sampled(column: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Rows in which something stands, spread evenly, and what stands there."""
    there = _there(column)
    rows = there[np.unique(np.linspace(0, len(there) - 1, min(_ROWS, len(there))).astype(int))] if len(there) else there
    return rows, column.take(pa.array(rows)).to_pylist()


def _held(field: Any, column: Any, lookout: Lookout | None) -> str:
    """Which places a column holds, empty where it holds none that can be told one by one."""
    kind = extension_name(field).lower()
    if kind.startswith(("geoarrow.", "ogc.")):
        return "geometries"
    if pa.types.is_temporal(field.type) or pa.types.is_boolean(field.type) or pa.types.is_null(field.type):
        return ""
    _, values = _sampled(column)
    shape = next((words for value in values if (words := shape_of(value))), "")
    if shape:
        return shape
    if pa.types.is_integer(field.type):
        many = sum(value >> 59 == 1 for value in values if isinstance(value, int) and value > 0)
        return "cells of H3" if values and many >= MOST * len(values) else ""
    texts = [value.strip() for value in values if isinstance(value, str) and value.strip()]
    for form, words in ((_H3, "cells of H3"), (_PLUS_CODE, "plus codes"), (_SEXAGESIMAL, "degrees and minutes")):
        if texts and sum(form.fullmatch(text) is not None for text in texts) >= MOST * len(texts):
            return words
    return "" if lookout is None else lookout.told(field.name, column)


def _numbers(name: str, column: Any) -> Iterator[tuple[str, NDArray[np.int64], Floats]]:
    """The numbers of a column, and those in its texts, lists and records: under a name each, with their rows."""
    if pa.types.is_temporal(column.type) or pa.types.is_boolean(column.type):
        return
    rows, values = _sampled(column)
    parts: dict[str, list[tuple[int, float]]] = {}
    for row, value in zip(rows.tolist(), values, strict=True):
        for part, number in _inside(name, value):
            parts.setdefault(part, []).append((row, number))
    for part, found in parts.items():
        if len(found) < MOST * len(values):
            continue
        at, numbers = np.array([row for row, _ in found]), np.array([number for _, number in found])
        fine = np.isfinite(numbers)
        if fine.any():
            yield part, at[fine], numbers[fine]


def _inside(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """The numbers in one value."""
    if isinstance(value, str):
        if _A_NUMBER.fullmatch(value):
            yield name, float(value)
        elif _DECIMAL_COMMA.fullmatch(value):
            yield name, float(value.replace(",", "."))
        elif (match := _TWO_NUMBERS.fullmatch(value)) is not None:
            yield from ((f"{name}[{k}]", float(match[k + 1])) for k in (0, 1))
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _inside(f"{name}.{key}", part)
    elif isinstance(value, list | tuple):
        for k, part in enumerate(value[:3]):
            yield from _inside(f"{name}[{k}]", part)
    elif isinstance(value, int | float) or (value is not None and hasattr(value, "as_integer_ratio")):
        yield name, float(value)
