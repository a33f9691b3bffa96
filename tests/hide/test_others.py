"""Other columns that tell where points are are refused, until somebody says that they go or stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from hide_files import QUICK, points
from sfumato.errors import InvalidInput
from sfumato.hide.choice import Chosen
from sfumato.hide.others import looked_up, telling
from sfumato.hide.sources import Source
from sfumato.release.places import Geometry, Place, Position

ROWS = 30
COLUMNS = points(ROWS)
LAT, LON = COLUMNS["lat"], COLUMNS["lon"]
RNG = np.random.default_rng(3)
GEOHASHES = ["dr5r7p4", "dr5regw", "dr5re9b"]

TELLING: dict[str, dict[str, Any]] = {
    "coordinates with a word before them": {"pickup_latitude": LAT, "pickup_longitude": LON},
    "other coordinates by name": {"dropoffLat": LAT + 1, "dropoffLng": LON + 1},
    "axes with a number": {"x1": LON, "y1": LAT},
    "an address": {"home_address": ["1 Main Street"] * ROWS},
    "cells by name": {"h3_8": ["-"] * ROWS},
    "numbers in the box": {"a": LAT[::-1].copy(), "b": LON[::-1].copy()},
    "texts of numbers in the box": {"a": [str(v) for v in LAT[::-1]], "b": [str(v) for v in LON[::-1]]},
    "texts with decimal commas": {
        "a": [f"{v:.5f}".replace(".", ",") for v in LAT[::-1]], "b": [f"{v:.5f}".replace(".", ",") for v in LON[::-1]],
    },
    "the same in another system": {"east": 583000 + 84000 * (LON + 74) + 900 * (LAT - 40.7)},
    "the same in millionths": {"e": (LAT * 1e6).astype(np.int64)},
    "pairs in a text": {"where": [f"({y:.5f}, {x:.5f})" for y, x in zip(LAT, LON, strict=True)]},
    "pairs in a list": {"where": [[x, y] for y, x in zip(LAT, LON, strict=True)]},
    "pairs in a record": {"where": [{"u": x, "v": y} for y, x in zip(LAT, LON, strict=True)]},
    "cells of H3": {"cell": ["892a100d2c3ffff"] * ROWS},
    "cells of H3 as numbers": {"cell": [0x892A100D2C3FFFF] * ROWS},
    "geohashes": {"code": [GEOHASHES[k % 3] for k in range(ROWS)]},
    "plus codes": {"code": ["87G7PX7V+4H"] * ROWS},
    "a link in one row": {"note": [""] * (ROWS - 1) + ["https://maps.example/@40.7112,-74.0093,15z"]},
    "tiles in few rows": {"note": [None, ""] * (ROWS // 2 - 2) + ["15/9647/12320"] * 4},
    "base 64": {"note": ["AQEAAAAAAAAAAIBSwAAAAAAAYERA"] + ["a"] * (ROWS - 1)},
    "minutes": {"code": ["40°42'46\"N"] * ROWS},
    "WKT": {"shape_text": [None] * 9 + [f"POINT ({x} {y})" for y, x in zip(LAT[9:], LON[9:], strict=True)]},
    "GeoJSON": {
        "shape_text": [
            json.dumps({"type": "Point", "coordinates": [x, y]}) for y, x in zip(LAT, LON, strict=True)
        ]
    },
}  # fmt: skip

HARMLESS = {
    "fare": RNG.gamma(2, 10, ROWS), "age": RNG.integers(18, 90, ROWS), "name": ["dress"] * ROWS, "flat": [1] * ROWS,
    "phone": ["+1 212 740 4073"] * ROWS, "paid": ["40.70 $, 3.20 $"] * ROWS, "day": ["2024-12-17"] * ROWS,
    "x_ray": [0.5] * ROWS, "how_long": [3.5] * ROWS, "seen": pa.array(range(ROWS), pa.timestamp("s")),
    "empty": [None] * ROWS, "gap": [None if k % 2 else float(k) for k in range(ROWS)],
}  # fmt: skip


def beside(more: dict[str, Any]) -> pa.Table:
    return pa.table(COLUMNS | more)


@pytest.fixture(scope="module")
def chosen() -> Chosen:
    done = sf.hide(pa.table(COLUMNS), "1 km", **QUICK)
    return Chosen(done.design, done.why)


@pytest.mark.parametrize("what", TELLING)
def test_columns_that_tell_places_are_known(what: str) -> None:
    table = beside(TELLING[what] | HARMLESS)
    assert set(telling(Source(table), Place("lat", "lon"), earth=True)) == set(TELLING[what])


def test_few_rows_and_a_plane() -> None:
    few = beside(TELLING["numbers in the box"] | HARMLESS).slice(0, 2)
    assert set(telling(Source(few), Place("lat", "lon"), earth=True)) == {"a", "b"}
    plane = pa.table(
        {"u": LON * 1e4 + 1e6, "v": LAT * 1e4, "p": LON[::-1] * 1e4 + 1e6, "q": LAT[::-1] * 1e4} | HARMLESS
    )
    assert set(telling(Source(plane), Position("u", "v"), earth=False)) == {"p", "q"}


FILES: dict[str, Any] = {
    "csv": lambda frame, path: pd.DataFrame(frame).to_csv(path, index=False),
    "parquet": lambda frame, path: pq.write_table(pa.Table.from_pandas(pd.DataFrame(frame)), path),
    "jsonl": lambda frame, path: pd.DataFrame(frame).to_json(path, orient="records", lines=True),
    "arrow": lambda frame, path: pd.DataFrame(frame).to_feather(path),
}


@pytest.mark.parametrize("ending", [*FILES, "geojson", "gpkg", "shp", "geoparquet"])
def test_a_file_of_any_format_is_refused_until_each_column_is_decided(
    ending: str, chosen: Chosen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.hide.hiding.chosen", lambda *_: chosen)
    source, target = tmp_path / f"trips.{ending}", tmp_path / f"hidden.{ending}"
    columns = COLUMNS | {"pickup_lat": LAT, "cell": TELLING["cells of H3"]["cell"]}
    if ending in FILES:
        FILES[ending](columns, source)
    else:
        others = {name: values for name, values in columns.items() if name not in ("lat", "lon")}
        frame = geopandas.GeoDataFrame(others, geometry=geopandas.points_from_xy(LON, LAT), crs="EPSG:4326")
        frame.to_parquet(source) if ending == "geoparquet" else frame.to_file(source)
    with pytest.raises(InvalidInput, match=r"'pickup_lat' \(by the name\); 'cell' \(cells of H3\); say of each"):
        sf.hide(source, "1 km", output=target, **QUICK)
    with pytest.raises(InvalidInput, match="'cell'"):
        sf.hide(source, "1 km", output=target, drop="pickup_lat", **QUICK)
    done = sf.hide(source, "1 km", output=target, drop=["pickup_lat"], keep=["cell"], **QUICK)
    text = target.read_bytes()
    assert b"pickup_lat" not in text and done.spec.release is not None
    assert (done.spec.release.drop, done.spec.release.keep) == (["pickup_lat"], ["cell"])
    assert "pickup_lat" not in done.stay and "cell" in done.stay


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_of_every_library(library: Any, chosen: Chosen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.hide.hiding.chosen", lambda *_: chosen)
    given = library(COLUMNS | {"a": LAT, "b": LON})
    with pytest.raises(InvalidInput, match="its numbers lie where the points lie"):
        sf.hide(given, "1 km", **QUICK)
    done = sf.hide(given, "1 km", drop=["a", "b"], **QUICK).table
    assert type(done) is type(given) and list(getattr(done, "column_names", None) or done.columns) == list(COLUMNS)


def test_frames_of_geopandas_and_row_names(chosen: Chosen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.hide.hiding.chosen", lambda *_: chosen)
    shapes = geopandas.points_from_xy(LON, LAT)
    frame = geopandas.GeoDataFrame({"id": COLUMNS["id"], "start": shapes}, geometry=shapes, crs="EPSG:4326")
    with pytest.raises(InvalidInput, match="'start'"):
        sf.hide(frame, "1 km", **QUICK)
    assert list(sf.hide(frame, "1 km", drop="start", **QUICK).table.columns) == ["id", "geometry"]
    named = pd.DataFrame(COLUMNS, index=pd.Index(GEOHASHES * 10, name="where"))
    with pytest.raises(InvalidInput, match="reset the index first"):
        sf.hide(named, "1 km", **QUICK)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_names_are_said_to_be_looked_up(
    library: Any, chosen: Chosen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.hide.hiding.chosen", lambda *_: chosen)
    more = {"osm_id": np.arange(ROWS) + 42_000_000, "ref": ["", None, *map(str, range(ROWS - 2))], "kind": ["a"] * ROWS}
    done = sf.hide(library(COLUMNS | more), "1 km", **QUICK)
    assert done.looked_up == ("osm_id", "ref") and done.stay == ("id", "osm_id", "ref", "kind")
    assert "No value occurs twice in the first rows of osm_id, ref: such values are names" in done.beside[1]
    assert len(sf.hide(library(COLUMNS | more), "1 km", drop=["osm_id", "ref"], **QUICK).beside) == 1


def test_values_of_every_type_may_be_names() -> None:
    kinds = {
        "coded": pa.array(["a", "b", None]).dictionary_encode(), "parts": [[1], [2], None], "kind": [{"a": 1}] * 3,
        "raw": [b"a", b"b", b"c"], "when": pa.array([1, 2, 3], pa.timestamp("s")), "twice": [1, 1, None],
        "alone": [None, None, 5], "nothing": pa.nulls(3),
    }  # fmt: skip
    assert looked_up(Source(pa.table(kinds)), list(kinds)) == ("coded", "parts", "raw", "when")


def test_what_is_dropped_or_kept_is_there() -> None:
    with pytest.raises(InvalidInput, match="no such column, did you mean 'id'"):
        sf.hide(pa.table(COLUMNS), "1 km", drop="idd", **QUICK)
    with pytest.raises(InvalidInput, match="dropped and kept"):
        sf.hide(pa.table(COLUMNS), "1 km", drop="id", keep="id", **QUICK)


@pytest.mark.parametrize("value", ["x", 2.5, [1, "x"], {"a": None}, None, 2**70], ids=repr)
@pytest.mark.parametrize("kind", ["jsonl", "geojson"])
def test_a_key_that_comes_late_is_a_column_like_any_other(
    kind: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another type than before, or for the first time, in a batch that is not the first."""
    monkeypatch.setattr("sfumato.release.formats.reading._BLOCK", 512)
    rows = [{"n": k} | ({"late": value} if k > ROWS - 3 else {"late": 1} if k == 0 else {}) for k in range(ROWS)]
    rows = [row | ({"later": value} if row["n"] > ROWS - 3 else {}) for row in rows]
    file = tmp_path / f"people.{kind}"
    if kind == "jsonl":
        file.write_text("".join(
            json.dumps(row | {"lat": y, "lon": x}) + "\n" for row, y, x in zip(rows, LAT, LON, strict=True)
        ))  # fmt: skip
    else:
        points_of = [{"type": "Point", "coordinates": [x, y]} for y, x in zip(LAT, LON, strict=True)]
        features = [{"type": "Feature", "properties": row, "geometry": point}
                    for row, point in zip(rows, points_of, strict=True)]  # fmt: skip
        file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    source = Source(file=file)
    assert {"n", "late", "later"} <= set(source.columns) and len(source.head()) == ROWS
    assert telling(source, Place("lat", "lon") if kind == "jsonl" else Geometry("geometry"), earth=True) == {}
