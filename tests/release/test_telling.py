"""The rule book of columns that tell places: each reason by itself, and what is no reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.release.telling import all_different, region_of, shape_of, telling_columns, told_by_names, told_by_type

RNG = np.random.default_rng(3)
LAT, LON = 40.7 + RNG.random(40) / 50, -74 + RNG.random(40) / 50
COLUMNS: dict[str, tuple[Any, str]] = {
    "dropoff_lat": (LAT, "by the name"),
    "code": (["8a2a1072b59ffff"] * 40, "cells of H3"),
    "mapped": (580_000 + 84_000 * (LON + 74) + 3 * LAT, "its numbers follow the points"),
    "shape": (["POINT (1 2)"] * 40, "geometries (WKT)"),
    "note": ([f"at {y:.5f}, {x:.5f}" for y, x in zip(LAT, LON, strict=True)], "pairs of numbers"),
    "age": (RNG.integers(18, 90, 40), ""),
    "fare": (RNG.random(40) * 30, ""),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_each_reason_by_itself(name: str) -> None:
    values, why = COLUMNS[name]
    head = pa.table({name: values})
    found = telling_columns([name], head, (LAT, LON), region_of((LAT, LON), True, None), {})
    assert found == ({name: why} if why else {})
    assert telling_columns([name], head, (LAT, LON), None, {name: "known"})[name] == "known"


def test_names_types_shapes_and_persons() -> None:
    assert told_by_names(["id", "home_lon", "flat"]) == {"home_lon": "by the name"}
    assert told_by_type("GeoArrow.point") == told_by_type("geometry") == "geometries" and not told_by_type("int64")
    assert shape_of({"type": "Point", "coordinates": [1, 2]}) == "geometries (GeoJSON)" and not shape_of("Point Nine")
    assert all_different(pa.chunked_array([[3, None], [4]])) and not all_different(pa.chunked_array([[3, 3]]))
