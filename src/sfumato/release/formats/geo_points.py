"""Points as people of maps store them: WKB, GeoArrow, WKT, GeoJSON; read without loops in Python.

Each form gives x and y and, row by row, what is wrong: nothing there, an empty point, another shape than a point, a
height or measure beside x and y, or bytes that are none of these. Outputs are written in the same form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit
from numpy.typing import NDArray

from sfumato.numbers import Floats
from sfumato.release.foreign import is_bytes, is_text
from sfumato.threads import for_reading

FINE, MISSING, EMPTY, NO_POINT, HEIGHT, DAMAGED = range(6)
"""What a row is: a point, nothing, an empty point, another shape, a point with a height or measure, no geometry."""

Codes = NDArray[np.uint8]

_SHAPES = ("geometry", "point", "line string", "polygon", "multi-point", "multi-line string", "multi-polygon",
           "collection")  # fmt: skip
_NUMBER = r"(?:[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
_WKT = (
    r"(?i)^\s*(?:SRID=(?P<srid>[0-9]+);\s*)?POINT\s*(?:ZM|Z|M)?\s*\(\s*"
    rf"(?P<x>{_NUMBER})\s+(?P<y>{_NUMBER})(?P<more>(?:\s+{_NUMBER}){{0,2}})\s*\)\s*$"
)
_EMPTY_WKT = re.compile(r"\s*(?:SRID=\d+;\s*)?POINT\s*(?:ZM|Z|M)?\s*EMPTY\s*", re.IGNORECASE)
_ANY_WKT = re.compile(r"\s*(?:SRID=\d+;\s*)?([A-Z]+)\s*(?:ZM|Z|M)?\s*(?:\(|EMPTY)", re.IGNORECASE)
_GEOJSON = (
    r'^\s*\{\s*"type"\s*:\s*"Point"\s*,\s*"coordinates"\s*:\s*\[\s*'
    rf"(?P<x>{_NUMBER})\s*,\s*(?P<y>{_NUMBER})(?P<more>(?:\s*,\s*{_NUMBER})*)\s*\]\s*\}}\s*$"
)
_RECORD = 21  # bytes of a point: order, type, x, y


class Points2D(NamedTuple):
    """x and y of rows, NaN where there is none; what each row is; which system its rows say they are in, 0 for none."""

    x: Floats
    y: Floats
    codes: Codes
    srids: NDArray[np.int64] | None = None


def read_points(array: Any) -> Points2D:
    """The points of an Arrow array: WKB, WKT, or coordinates in records or lists.

    Examples
    --------
    >>> found = read_points(pa.array(["POINT (2.5 48)", None, "POINT EMPTY", "LINESTRING (0 0, 1 1)"]))
    >>> found.x.tolist()[0], found.y.tolist()[0], found.codes.tolist()
    (2.5, 48.0, [0, 1, 2, 3])
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if is_bytes(array.type):
        return _of_wkb(array)
    if is_text(array.type):
        return _of_wkt(array)
    if pa.types.is_struct(array.type) and {"x", "y"} <= {field.name for field in array.type}:
        x, y = (_floats(pc.struct_field(array, name)) for name in ("x", "y"))
        return Points2D(x, y, _judged(x, y, _gone(array), array.type.num_fields > 2))
    if pa.types.is_fixed_size_list(array.type) and pa.types.is_floating(array.type.value_type):
        axes = array.type.list_size
        if axes >= 2:
            flat = _floats(array.values.slice(array.offset * axes, len(array) * axes))
            x, y = (np.ascontiguousarray(along) for along in flat.reshape(-1, axes).T[:2])
            return Points2D(x, y, _judged(x, y, _gone(array), axes > 2))
    nothing = np.full(len(array), np.nan)
    return Points2D(nothing, nothing, np.where(_gone(array), MISSING, DAMAGED).astype(np.uint8))


def _gone(array: Any) -> NDArray[np.bool_]:
    if not array.null_count:
        return np.zeros(len(array), dtype=np.bool_)
    return np.asarray(pc.is_null(array).to_numpy(zero_copy_only=False))


# ----------------------------------------------------------------- WKB


def _of_wkb(array: Any) -> Points2D:
    if pa.types.is_fixed_size_binary(array.type) or array.type == pa.binary_view():
        array = array.cast(pa.large_binary())
    _, bounds, data = array.buffers()
    width = np.int64 if pa.types.is_large_binary(array.type) else np.int32
    if bounds is None or not len(array):
        return Points2D(np.empty(0), np.empty(0), np.empty(0, np.uint8), np.empty(0, np.int64))
    offsets = np.frombuffer(bounds, dtype=width)[array.offset : array.offset + len(array) + 1]
    content = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
    return Points2D(*_wkb_points(for_reading(content), for_reading(offsets, np.int64), for_reading(_gone(array))))


@njit(cache=True, nogil=True)
def _number(data, at, size, little):  # type: ignore[no-untyped-def]
    """Four bytes as a number, or eight as the bits of a double."""
    value = np.uint64(0)
    for k in range(size):
        value |= np.uint64(data[at + (k if little else size - 1 - k)]) << np.uint64(8 * k)
    return value


@njit(cache=True, nogil=True)
def _wkb_points(data, offsets, gone):  # type: ignore[no-untyped-def]
    """ISO WKB (thousands for Z and M) and that of PostGIS (flags, a system's number), in either order of bytes."""
    rows = len(offsets) - 1
    x, y = np.empty(rows, np.uint64), np.empty(rows, np.uint64)
    codes, srids = np.zeros(rows, np.uint8), np.zeros(rows, np.int64)
    nothing = np.uint64(0x7FF8000000000000)
    infinite, fraction = np.uint64(0x7FF0000000000000), np.uint64(0x000FFFFFFFFFFFFF)
    for row in range(rows):
        x[row], y[row] = nothing, nothing
        at, size = offsets[row], offsets[row + 1] - offsets[row]
        if gone[row]:
            codes[row] = MISSING
            continue
        if size < 5 or data[at] > 1:
            codes[row] = DAMAGED
            continue
        little = data[at] == 1
        kind = _number(data, at + 1, 4, little)
        flags, plain = kind >> np.uint32(29), kind & np.uint32(0x1FFFFFFF)
        high = (flags & np.uint32(6)) != 0 or plain >= 1000
        axes = 2 + ((flags >> np.uint32(2)) & np.uint32(1)) + ((flags >> np.uint32(1)) & np.uint32(1))
        if plain // 1000 == 1 or plain // 1000 == 2:
            axes += 1
        elif plain // 1000 == 3:
            axes += 2
        numbered = (flags & np.uint32(1)) != 0
        head = 9 if numbered else 5
        if plain % 1000 == 0 or plain % 1000 > 17 or plain >= 4000:
            codes[row] = DAMAGED
            continue
        if plain % 1000 != 1:
            codes[row] = NO_POINT
            continue
        if size != head + 8 * axes:
            codes[row] = DAMAGED
            continue
        if numbered:
            srids[row] = _number(data, at + 5, 4, little)
        x[row], y[row] = _number(data, at + head, 8, little), _number(data, at + head + 8, 8, little)
        exponents = x[row] & y[row] & infinite
        if exponents == infinite and (x[row] & fraction) != 0 and (y[row] & fraction) != 0:  # no numbers, both
            codes[row] = EMPTY
        elif high:
            codes[row] = HEIGHT
    return x.view(np.float64), y.view(np.float64), codes, srids


def shape_name(array: Any, row: int) -> str:
    """What a geometry that is no point is, for a message."""
    value = array[row].as_py()
    if isinstance(value, bytes):
        code = int.from_bytes(value[1:5], "little" if value[0] else "big") & 0x1FFFFFFF
        return _SHAPES[code % 1000] if code % 1000 < len(_SHAPES) else "curve or surface"
    match = _ANY_WKT.match(value) if isinstance(value, str) else None
    return match[1].lower() if match else "shape"


def wkb_array(x: Floats, y: Floats, kind: Any = None) -> Any:
    """Points in WKB, little-endian, as an Arrow array of bytes."""
    records = np.zeros(len(x), dtype=[("order", "u1"), ("type", "<u4"), ("x", "<f8"), ("y", "<f8")])
    records["order"], records["type"], records["x"], records["y"] = 1, 1, x, y
    ends = pa.py_buffer(np.arange(0, _RECORD * len(x) + 1, _RECORD, dtype=np.int64))
    whole = pa.Array.from_buffers(pa.large_binary(), len(x), [None, ends, pa.py_buffer(records.tobytes())])
    return whole.cast(pa.large_binary() if kind == pa.large_binary() else pa.binary())


# ----------------------------------------------------------------- coordinates in records and lists


def _floats(array: Any) -> Floats:
    numbers = pc.fill_null(array.cast(pa.float64(), safe=False), np.nan)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def _judged(x: Floats, y: Floats, gone: NDArray[np.bool_], high: bool) -> Codes:
    codes = np.full(len(x), HEIGHT if high else FINE, dtype=np.uint8)
    codes[np.isnan(x) & np.isnan(y)] = EMPTY
    codes[gone] = MISSING
    return codes


# ----------------------------------------------------------------- texts


def _of_wkt(array: Any) -> Points2D:
    array = array.cast(pa.large_string()) if array.type == pa.string_view() else array
    found = pc.extract_regex(array, _WKT)
    codes = _of_matches(array, found)
    for row in np.flatnonzero(codes == DAMAGED).tolist():
        text = array[row].as_py()
        if _EMPTY_WKT.fullmatch(text):
            codes[row] = EMPTY
        elif (match := _ANY_WKT.match(text)) is not None and match[1].upper() != "POINT":
            codes[row] = NO_POINT
    x, y, high = _numbers_of(found)
    codes[(codes == FINE) & high] = HEIGHT
    srid = pc.struct_field(found, "srid")
    numbered = pc.if_else(pc.equal(pc.fill_null(srid, ""), ""), "0", srid).cast(pa.int64())
    return Points2D(x, y, codes, np.asarray(numbered.to_numpy(zero_copy_only=False)))


def _of_matches(array: Any, found: Any) -> Codes:
    """FINE where the text is a point, DAMAGED where it is not, MISSING where there is none."""
    matched = ~np.asarray(pc.is_null(pc.struct_field(found, "x")).to_numpy(zero_copy_only=False))
    codes = np.where(matched, FINE, DAMAGED).astype(np.uint8)
    gone = pc.fill_null(pc.equal(pc.binary_length(array), 0), True)
    codes[np.asarray(gone.to_numpy(zero_copy_only=False))] = MISSING
    return codes


def _numbers_of(found: Any) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """x, y, and whether there is more than these."""
    x, y = (_floats(pc.utf8_ltrim(pc.struct_field(found, name), "+").cast(pa.float64())) for name in ("x", "y"))
    more = pc.not_equal(pc.fill_null(pc.struct_field(found, "more"), ""), "")
    return x, y, np.asarray(more.to_numpy(zero_copy_only=False))


def read_geojson(array: Any) -> Points2D:
    """The points of geometries of GeoJSON, as texts.

    Examples
    --------
    >>> found = read_geojson(pa.array(['{"type": "Point", "coordinates": [2.5, 48]}', "null"]))
    >>> found.x.tolist()[0], found.codes.tolist()
    (2.5, [0, 1])
    """
    found = pc.extract_regex(array, _GEOJSON)
    codes = _of_matches(array, found)
    x, y, high = _numbers_of(found)
    codes[(codes == FINE) & high] = HEIGHT
    x, y = x.copy(), y.copy()
    for row in np.flatnonzero(codes == DAMAGED).tolist():  # keys in another order, more keys, other shapes
        x[row], y[row], codes[row] = _of_geojson(array[row].as_py())
    return Points2D(x, y, codes)


def _of_geojson(text: str) -> tuple[float, float, int]:
    try:
        value = json.loads(text)
    except ValueError:
        return np.nan, np.nan, DAMAGED
    if value is None:
        return np.nan, np.nan, MISSING
    if not isinstance(value, dict) or not {"coordinates", "geometries"} & value.keys():
        return np.nan, np.nan, DAMAGED
    where = value.get("coordinates")
    if value.get("type") != "Point" or not isinstance(where, list):
        return np.nan, np.nan, NO_POINT
    if not where:
        return np.nan, np.nan, EMPTY
    if len(where) < 2 or not all(isinstance(at, int | float) and not isinstance(at, bool) for at in where):
        return np.nan, np.nan, DAMAGED
    return float(where[0]), float(where[1]), HEIGHT if len(where) > 2 else FINE


# ----------------------------------------------------------------- outputs


def point_array(x: Floats, y: Floats, like: Any = None) -> Any:
    """Points as an Arrow array in the form of a type: WKB unless it is one of texts, records or lists."""
    if isinstance(like, pa.BaseExtensionType):
        stored = point_array(x, y, like.storage_type)
        return pa.ExtensionArray.from_storage(like, stored) if stored.type == like.storage_type else stored
    if like is not None and is_text(like):
        return pa.array(wkt_points(x, y), pa.large_string() if pa.types.is_large_string(like) else pa.string())
    if like is not None and pa.types.is_struct(like):
        fields = [like.field(name).with_nullable(True) for name in ("x", "y")]
        return pa.StructArray.from_arrays(
            [pa.array(at).cast(field.type, safe=False) for at, field in zip((x, y), fields, strict=True)],
            fields=fields,
        )
    if like is not None and pa.types.is_fixed_size_list(like):
        flat = pa.array(np.stack([x, y], axis=1).ravel()).cast(like.value_type, safe=False)
        return pa.FixedSizeListArray.from_arrays(flat, type=pa.list_(like.value_field, 2))
    return wkb_array(x, y, like)


def wkt_points(x: Floats, y: Floats) -> list[str]:
    """Points in WKT.

    Examples
    --------
    >>> wkt_points(np.array([2.5]), np.array([48.0]))
    ['POINT (2.5 48.0)']
    """
    return [f"POINT ({a!r} {b!r})" for a, b in zip(x.tolist(), y.tolist(), strict=True)]


def geojson_points(x: Floats, y: Floats) -> list[dict[str, Any]]:
    """Points as geometries of GeoJSON."""
    return [{"type": "Point", "coordinates": [a, b]} for a, b in zip(x.tolist(), y.tolist(), strict=True)]


def box_array(x: Floats, y: Floats, sides: Mapping[str, str], like: Any) -> Any:
    """Boxes around points as records of their sides; ``sides`` says which field of the record is which side.

    Fields that are no side of a box in the plane are gone. Where a side has a type of few digits, it is rounded away
    from the point, so that the box still holds it.
    """
    fields = [field for field in like if field.name in sides]
    columns = []
    for field in fields:
        side = sides[field.name]
        exact = x if side[0] == "x" else y
        near = pa.array(exact).cast(field.type, safe=False)
        back = near.cast(pa.float64()).to_numpy(zero_copy_only=False)
        beyond = back > exact if side.endswith("min") else back < exact
        if beyond.any():
            narrow = near.to_numpy(zero_copy_only=False)
            end = np.array(-np.inf if side.endswith("min") else np.inf, dtype=narrow.dtype)
            near = pa.array(np.where(beyond, np.nextafter(narrow, end), narrow))
        columns.append(near)
    return pa.StructArray.from_arrays(columns, fields=fields)
