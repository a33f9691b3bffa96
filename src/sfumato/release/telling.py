"""Which columns tell a place or a person, beside the released ones: the one rule book of releases and of hiding.

By their names, by the names of their types, by values that are geometries, cells or codes of places, or have places in
them (:mod:`~sfumato.release.neighbourhood`); by numbers, or pairs of them in texts, lists and records, that lie where
the points lie; and by numbers that follow the points closely, such as the same places in another coordinate system.
Columns in which no value occurs twice name rows, persons or places.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.numbers import Floats
from sfumato.release.formats.layouts import extension_name
from sfumato.release.neighbourhood import MOST, PAD, Lookout, Neighbourhood
from sfumato.spaces.foreign import place_names

_TYPES = ("geoarrow.", "ogc.", "geometry", "geography", "udt")
"""How the names of types begin: GeoArrow, geopandas, Spark."""

_SHAPES = "Point|LineString|Polygon|MultiPoint|MultiLineString|MultiPolygon|GeometryCollection"
_WKT = re.compile(rf"(?:SRID=\d+;)?\s*\b(?:{_SHAPES})\s*(?:Z|M|ZM)?\s*\(+\s*[-+.\d]", re.IGNORECASE)
_HEX = re.compile(r"\b(?:01(?:0[1-7]|1[01])0000[02468ACE]0|00[02468ACE]00000[1-7])[\dA-F]{32}", re.IGNORECASE)  # of WKB
_GEOJSON = re.compile(r'(?:coordinates|geometries)\\?"+\s*:\s*\[')  # quotes are escaped or doubled inside texts
_SHORTEST_WKB = 9  # bytes: order, type, number of parts

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


def told_by_names(names: Iterable[str]) -> dict[str, str]:
    """Those of some columns that tell places by their names."""
    return dict.fromkeys(place_names(names), "by the name")


def told_by_type(kind: str) -> str:
    """What a column holds whose type has such a name, if it is a geometry."""
    return "geometries" if kind.lower().startswith(_TYPES) else ""


def shape_of(value: Any) -> str:
    """What a value is, if it is a geometry: WKT, WKB, GeoJSON, or an object of shapely."""
    if isinstance(value, str):
        forms = {"WKT": _WKT.match, "WKB": _HEX.match, "GeoJSON": _GEOJSON.search}
        return next((f"geometries ({form})" for form, fits in forms.items() if fits(value)), "")
    if isinstance(value, bytes | bytearray):
        return "geometries (WKB)" if _is_wkb(bytes(value)) else ""
    if isinstance(value, dict):
        shape = re.fullmatch(_SHAPES, str(value.get("type"))) and ("coordinates" in value or "geometries" in value)
        if {"xmin", "ymin", "xmax", "ymax"} <= value.keys():
            return "boxes around geometries"
        return "geometries (GeoJSON)" if shape else ""
    return "geometries" if hasattr(value, "__geo_interface__") or hasattr(value, "geom_type") else ""


def _is_wkb(value: bytes) -> bool:
    """A byte for the order, then a type from 1 to 17, perhaps with a dimension (thousands) or flags of PostGIS."""
    if len(value) < _SHORTEST_WKB or value[0] not in (0, 1):
        return False
    code = int.from_bytes(value[1:5], "little" if value[0] else "big")
    plain, flags = code & 0x1FFFFFFF, code >> 29
    return plain % 1000 in range(1, 18) and plain // 1000 in range(4) and (flags == 0 or plain < 1000)


def telling_columns(
    names: Sequence[str],
    head: Any,
    points: tuple[Floats, Floats],
    region: Neighbourhood | None,
    known: Mapping[str, str],
) -> dict[str, str]:
    """Those of some columns that tell places, and why that is thought: by their names, or by what the first rows hold.

    ``points`` are those of these rows, ``region`` is where they lie; ``known`` tell places for a reason of their own.
    """
    found = told_by_names(names) | dict(known)
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


def all_different(column: Any) -> bool:
    """Whether no value of a column occurs twice: each is then a name, of a row, a person or a place."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    there = column.take(pa.array(_there(column)))
    if pa.types.is_nested(column.type) or isinstance(column.type, pa.BaseExtensionType):
        different = len({repr(value) for value in there.to_pylist()})  # Arrow does not compare these
    else:
        different = len(there.unique())
    return len(there) > 1 and different == len(there)


def region_of(points: tuple[Floats, Floats], earth: bool, corners: Any) -> Neighbourhood | None:
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
    if told := told_by_type(extension_name(field)):
        return told
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
