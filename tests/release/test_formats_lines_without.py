"""Columns that are left out of a release, in every format; keys of JSON go with one comma, wherever they stand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import geopandas
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.release.formats.lines_without import without_keys
from sfumato.release.places import Geometry
from table_files import FORMATS

SURVEY = sf.random_response(sf.PrivacyType(sf.discrete(["no", "yes"]), epsilon=1))
TABLE = pa.table(
    {"home": ["a, b"] * 900, "id": range(900), "smokes": ["no", "yes", "no"] * 300, "q": ['"'] * 900, "z": [1.5] * 900}
)


@given(
    st.lists(
        st.permutations(["a", "b", "c", "d"]).flatmap(lambda names: st.sampled_from([names[:k] for k in range(5)]))
    ),
    st.sets(st.sampled_from(["a", "b", "c", "d", "e"])),
    st.integers(1, 40),
    st.booleans(),
)
def test_keys_go_and_everything_else_stays(rows: list[list[str]], gone: set[str], cut: int, features: bool) -> None:
    objects: list[Any] = [{name: {"a": [k, '"}']} for name in row} for k, row in enumerate(rows)]
    lines = [{"type": "Feature", "properties": value} for value in objects] if features else objects
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    blocks = [(text[at : at + cut], at + cut >= len(text)) for at in range(0, max(len(text), 1), cut)]
    if rows and not gone <= {name for row in rows for name in row}:
        with pytest.raises(InvalidInput, match="to leave out in any of"):
            list(without_keys(iter(blocks), sorted(gone), features))
        return
    found = b"".join(block for block, _ in without_keys(iter(blocks), sorted(gone), features)).decode()
    left = [{name: value for name, value in row.items() if name not in gone} for row in objects]
    wanted = [{"type": "Feature", "properties": value} for value in left] if features else left
    assert [json.loads(line) for line in found.splitlines()] == wanted


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("gone", [["home"], ["home", "id"], ["q", "z"], ["home", "z"]])
def test_columns_are_left_out_of_every_format(ending: str, gone: list[str], tmp_path: Path) -> None:
    write, read = FORMATS[ending]
    source, target = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    write(TABLE, source)
    sf.release_file(SURVEY, source, target, "smokes", drop=gone)
    done = read(target)
    assert done.column_names == [name for name in TABLE.column_names if name not in gone]
    for name in done.column_names:
        assert name == "smokes" or done[name].to_pylist() == TABLE[name].to_pylist()


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_are_left_out_of_tables(library: Any) -> None:
    columns = {name: TABLE[name].to_pylist() for name in TABLE.column_names}
    done = sf.release_table(SURVEY, library(columns), "smokes", drop="home", into="told", keep=True)
    assert list(getattr(done, "column_names", None) or done.columns) == ["id", "smokes", "q", "z", "told"]


@pytest.mark.parametrize("ending", ["geojson", "gpkg", "shp", "parquet"])
def test_columns_are_left_out_of_files_of_maps(ending: str, tmp_path: Path) -> None:
    town = sf.spaces.earth_box(48.8, 2.2, sides=(10, 10), step=5)
    best = sf.design(sf.Prior.uniform(town), sf.losses.distance(town), sf.PrivacyType(town, alpha="1/2"), tolerance=0.9)
    frame = geopandas.GeoDataFrame(
        {"lat": [48.81] * 3, "n": [1, 2, 3], "lon": [2.22] * 3},
        geometry=geopandas.points_from_xy([2.22] * 3, [48.81] * 3), crs="EPSG:4326",
    )  # fmt: skip
    source, target = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    frame.to_parquet(source) if ending == "parquet" else frame.to_file(source)
    with pytest.raises(InvalidInput, match="'lat'"):
        sf.release_file(best.mechanism, source, target, Geometry())
    sf.release_file(best.mechanism, source, target, Geometry(), drop="lat", stay="lon")
    done = geopandas.read_parquet(target) if ending == "parquet" else geopandas.read_file(target)
    assert list(done.columns) == ["n", "lon", "geometry"] and list(done["n"]) == [1, 2, 3]


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"drop": "smokes"}, "'smokes' is released"),
        ({"drop": "nothing"}, "there is no column 'nothing'"),
        ({"drop": [1]}, "names columns by texts"),
        ({"drop": "q", "stay": "q"}, "'q' stays"),
        ({"drop": "id", "person": "id", "most_rows": 2}, "names whose row it is"),
    ],
)
def test_what_cannot_be_left_out_is_said(terms: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        sf.release_table(SURVEY, TABLE, "smokes", **terms)
