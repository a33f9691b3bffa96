"""Points in WKB, GeoArrow, WKT and GeoJSON, beside what shapely reads and writes."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.release.formats.geo_points import (
    DAMAGED,
    EMPTY,
    FINE,
    HEIGHT,
    MISSING,
    NO_POINT,
    box_array,
    point_array,
    read_geojson,
    read_points,
    shape_name,
    wkt_points,
)

COORDINATES = st.floats(allow_nan=False, allow_infinity=False, width=64)
SHAPES = [
    shapely.Point(1.5, -2), None, shapely.Point(), shapely.LineString([(0, 0), (1, 1)]), shapely.Point(1, 2, 3),
    shapely.MultiPoint([(0, 0), (1, 1)]), shapely.box(0, 0, 1, 1), shapely.GeometryCollection(),
]  # fmt: skip
CODES = [FINE, MISSING, EMPTY, NO_POINT, HEIGHT, NO_POINT, NO_POINT, NO_POINT]


@pytest.mark.parametrize("flavor", ["iso", "extended"])
@pytest.mark.parametrize("order", [0, 1])
def test_shapes_of_shapely_in_wkb(flavor: str, order: int) -> None:
    written = shapely.to_wkb(np.array(SHAPES), byte_order=order, flavor=flavor)
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        found = read_points(pa.array(written, kind).slice(0))
        assert found.codes.tolist() == CODES
        assert (found.x[0], found.y[0], found.x[4], found.y[4]) == (1.5, -2, 1, 2)
    array = pa.array(written, pa.binary())
    assert shape_name(array, 3) == "line string" and shape_name(array, 5) == "multi-point"
    assert read_points(array.slice(3, 2)).codes.tolist() == CODES[3:5]


@given(points=st.lists(st.tuples(COORDINATES, COORDINATES), min_size=1, max_size=5))
@settings(max_examples=30, deadline=None)
def test_every_form_comes_back_as_it_was(points: list[tuple[float, float]]) -> None:
    """Doubles stay what they are, bit by bit; a box around a point holds it, also in few digits."""
    x, y = (np.array(axis) for axis in zip(*points, strict=True))
    double = [pa.field("x", pa.float64()), pa.field("y", pa.float64())]
    for kind in (None, pa.large_binary(), pa.string(), pa.struct(double), pa.list_(pa.float64(), 2)):
        found = read_points(point_array(x, y, kind))
        assert found.x.tolist() == x.tolist() and found.y.tolist() == y.tolist() and not found.codes.any()
    assert shapely.from_wkb(point_array(x, y).to_pylist()).tolist() == shapely.points(x, y).tolist()
    texts = pa.array([json.dumps({"type": "Point", "coordinates": list(point)}) for point in points])
    assert read_geojson(texts).x.tolist() == x.tolist()


@given(x=st.floats(-1e6, 1e6), y=st.floats(-1e6, 1e6))
@settings(max_examples=30, deadline=None)
def test_a_box_holds_its_point(x: float, y: float) -> None:
    sides = {name: name for name in ("xmin", "ymin", "xmax", "ymax")}
    for width in (pa.float32(), pa.float64()):
        like = pa.struct([*((name, width) for name in sides), ("zmin", width)])
        box = box_array(np.array([x]), np.array([y]), sides, like).to_pylist()[0]
        assert box["xmin"] <= x <= box["xmax"] and box["ymin"] <= y <= box["ymax"] and "zmin" not in box


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("POINT(1 2)", FINE), (" point ( +1.5e0   -2. ) ", FINE), ("SRID=4326;POINT (1 2)", FINE), ("", MISSING),
        ("POINT Z (1 2 3)", HEIGHT), ("POINT (1 2 3)", HEIGHT), ("POINT ZM (1 2 3 4)", HEIGHT), ("POINT EMPTY", EMPTY),
        ("MULTIPOINT ((1 2))", NO_POINT), ("POLYGON EMPTY", NO_POINT), ("POINT (1)", DAMAGED), ("1 2", DAMAGED),
        ("POINT (nan 2)", DAMAGED), ("POINT (1, 2)", DAMAGED),
    ],
)  # fmt: skip
def test_wkt(text: str, code: int) -> None:
    assert read_points(pa.array([text])).codes.tolist() == [code]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"coordinates": [1, 2], "type": "Point"}, FINE), ({"type": "Point", "coordinates": [1, 2, 3]}, HEIGHT),
        (None, MISSING), ({"type": "Point", "coordinates": []}, EMPTY), ({"type": "Point"}, DAMAGED),
        ({"type": "LineString", "coordinates": [[1, 2], [3, 4]]}, NO_POINT), ([1, 2], DAMAGED),
        ({"type": "GeometryCollection", "geometries": []}, NO_POINT), ({"type": "Point", "coordinates": [1]}, DAMAGED),
        ({"type": "Point", "coordinates": [True, 2]}, DAMAGED),
    ],
)  # fmt: skip
def test_geojson(value: Any, code: int) -> None:
    assert read_geojson(pa.array([json.dumps(value)])).codes.tolist() == [code]


@pytest.mark.parametrize(
    "value", [b"", b"\1", b"\2" + bytes(20), b"\1" + struct.pack("<Id", 1, 2.0), b"\1" + struct.pack("<Idd", 0, 1, 2),
              b"\1" + struct.pack("<Iddd", 1, 1, 2, 3), b"\1" + struct.pack("<Idd", 9001, 1, 2)]
)  # fmt: skip
def test_bytes_that_are_no_geometry(value: bytes) -> None:
    assert read_points(pa.array([value])).codes.tolist() == [DAMAGED]


def test_numbers_of_systems() -> None:
    numbered = [shapely.set_srid(shapely.Point(1, 2), 2154), shapely.Point(1, 2)]
    found = read_points(pa.array(shapely.to_wkb(numbered, include_srid=True)))
    assert found.srids is not None and found.srids.tolist() == [2154, 0] and found.x.tolist() == [1, 1]
    texts = read_points(pa.array(["SRID=2154;POINT (1 2)", None, "POINT (1 2)"]))
    assert texts.srids is not None and texts.srids.tolist() == [2154, 0, 0]
    assert wkt_points(np.array([0.1]), np.array([-2.0])) == ["POINT (0.1 -2.0)"]


def test_points_that_are_no_arrow_of_points() -> None:
    assert read_points(pa.array([1, None])).codes.tolist() == [DAMAGED, MISSING]
    assert read_points(pa.array([{"a": 1.0}, None])).codes.tolist() == [DAMAGED, MISSING]
    three = pa.array([[1.0, 2, 3], None], pa.list_(pa.float64(), 3))
    assert read_points(three).codes.tolist() == [HEIGHT, MISSING]
    with_none = pa.array([{"x": None, "y": None}, {"x": 1.0, "y": 2.0}])
    assert read_points(with_none).codes.tolist() == [EMPTY, FINE]
