"""Columns beside released points are looked at in all rows: some values that tell a place of the region are enough."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.release.neighbourhood import Lookout, around
from sfumato.release.places import Place
from sfumato.release.streams import release_file
from sfumato.release.tables import release_table
from table_files import FORMATS

ROWS = 2000
RNG = np.random.default_rng(5)
TOWN = sf.geo([(40.70, -74.02), (40.72, -74.00)])
MECHANISM = sf.random_response(sf.PrivacyType(TOWN, epsilon=1))
WHERE = Place("lat", "lon")
LAT, LON = 40.702 + 0.01 * RNG.random(ROWS), -74.015 + 0.01 * RNG.random(ROWS)

HARMLESS: dict[str, Any] = {
    "paid": [f"{a:.2f} $ and {b:.2f} $" for a, b in 100 * RNG.random((ROWS, 2))],
    "change": [f"{a:.2f}, -{b:.2f}" for a, b in 100 * RNG.random((ROWS, 2))],
    "sensor": [f"{a:.5f} {b:.5f}" for a, b in 200 * RNG.random((ROWS, 2)) - 100],
    "when": [f"2024-{1 + k % 12:02}-{1 + k % 28:02} {k % 24:02}:40:{k % 60:02}.74" for k in range(ROWS)],
    "phone": [f"+1 212 {a:03} {b:04}" for a, b in RNG.integers(0, 999, (ROWS, 2))],
    "word": (["dress", "dr5", "drop", "ninth", "", None] * ROWS)[:ROWS],
    "bits": ["".join(map(str, bits)) for bits in RNG.integers(0, 2, (ROWS, 12))],
    "amount": [f"{k},50 EUR" for k in range(ROWS)],
}


def beside(late: str = "see https://maps.example/@40.7112,-74.0093,15z") -> dict[str, Any]:
    """Points with notes, all empty but for one far beyond the first rows."""
    return {"lat": LAT, "lon": LON, "note": [""] * (ROWS - 1) + [late]}


@pytest.mark.parametrize("name", HARMLESS)
def test_numbers_that_lie_there_by_chance_do_not_stop_a_release(name: str) -> None:
    lookout = Lookout(around((40.70, -74.02, 40.72, -74.00), earth=True))
    assert lookout.told(name, pa.array(HARMLESS[name])) == ""


def test_what_was_seen_in_batches_before_counts() -> None:
    lookout = Lookout(around((40.70, -74.02, 40.72, -74.00), earth=True))
    batch = pa.array(["40.71 -74.01", *[""] * 99, "a", "b", "c"])
    assert [lookout.told("note", batch) for _ in range(3)] == ["", "", "pairs of numbers"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["", None, "lat=40.71 lng=-74.01"]).dictionary_encode(),
        pa.array([["x"], None, ["lat=40.71 lng=-74.01"]]),
        pa.array([{"a": "x"}, None, {"a": "lat=40.71 lng=-74.01"}]),
        pa.array(["", None, "lat=40.71 lng=-74.01"], pa.string_view()),
        pa.chunked_array([["x"], ["lat=40.71 lng=-74.01"]]),
    ],
    ids=["dictionary", "list", "record", "view", "chunks"],
)
def test_texts_inside_of_others_are_looked_at(column: Any) -> None:
    lookout = Lookout(around((40.70, -74.02, 40.72, -74.00), earth=True))
    assert lookout.told("note", column) == "coordinates with their names or in links to maps"


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_one_place_in_the_last_row_of_a_table(library: Any) -> None:
    given = library(beside())
    with pytest.raises(InvalidInput, match="'note' tells places where the released ones lie"):
        release_table(MECHANISM, given, WHERE, within="50 km")
    assert len(release_table(MECHANISM, given, WHERE, within="50 km", stay=["note"])) == ROWS
    assert len(release_table(MECHANISM, given, WHERE, within="50 km", drop=["note"])) == ROWS
    assert len(release_table(MECHANISM, library(beside("nothing here")), WHERE, within="50 km")) == ROWS


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("late", ["dr5regw and 40.7112/-74.0093", "15/9647/12320"])
def test_places_in_late_rows_of_a_file(ending: str, late: str, tmp_path: Path) -> None:
    columns = beside(late) | {"note": [""] * (ROWS - 3) + [late] * 3}
    source, target = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    FORMATS[ending][0](pa.table(columns), source)
    with pytest.raises(InvalidInput, match="'note' tells places"):
        release_file(MECHANISM, source, target, WHERE, within="50 km", batch=500)
    assert not target.exists()
    release_file(MECHANISM, source, target, WHERE, within="50 km", batch=500, stay=["note"])
    assert target.exists()
