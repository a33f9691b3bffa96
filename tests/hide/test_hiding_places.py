"""Several places in a row: one pass, one promise about each, and what all of them cost together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from hide_files import QUICK, points
from sfumato.certify.amounts import amount
from sfumato.errors import BudgetExceeded, InvalidInput
from sfumato.specs.spec import read_spec, spec_from_text, to_toml

PLACES = {"start": ("start_lat", "start_lon"), "end": ("end_lat", "end_lon")}
COLUMNS = ["id", "start_lat", "start_lon", "end_lat", "end_lon"]
WIDE: dict[str, Any] = {"hide": "100 m", "box": (40.60, -74.20, 40.90, -73.80), "time_limit": 1}
"""A box in which noise is far smaller than trips are long."""


def trips(rows: int = 20, seed: int = 1, north: float = 0.0) -> pa.Table:
    """Rows of three people; ends lie so much farther north."""
    start, end = points(rows, seed), points(rows, seed + 1)
    values = [start["id"], start["lat"], start["lon"], end["lat"] + north, end["lon"]]
    return pa.table(dict(zip(COLUMNS, values, strict=True)))


@pytest.mark.parametrize("library", [lambda table: table, pa.Table.to_pandas, pl.from_arrow])
def test_each_place_is_drawn_for_in_its_own_columns(library: Any) -> None:
    true = trips(north=0.15)
    done = sf.hide(library(true), places=PLACES, **WIDE)
    assert isinstance(done.table, type(library(true))) and done.columns == (*COLUMNS[1:],) and done.stay == ("id",)
    told = done.table if isinstance(done.table, pd.DataFrame) else pd.DataFrame(done.table.to_pandas())
    assert list(told.columns) == COLUMNS and list(told["id"]) == true["id"].to_pylist()
    for name in COLUMNS[1:]:
        gaps = np.abs(told[name].to_numpy() - true[name].to_numpy())
        assert gaps.min() > 0 and gaps.max() < 0.05
    assert len({*told["start_lat"]}) > 1 and not np.allclose(told["end_lat"] - told["start_lat"], 0.15, atol=1e-9)


def _write(table: pa.Table, file: Path) -> None:
    if file.suffix == ".parquet":
        pq.write_table(table, file)
    elif file.suffix == ".csv":
        pa.csv.write_csv(table, file)
    else:
        table.to_pandas().to_json(file, orient="records", lines=True)


def _read(file: Path) -> Any:
    if file.suffix == ".parquet":
        return pd.read_parquet(file)
    return pd.read_csv(file) if file.suffix == ".csv" else pd.read_json(file, lines=True)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_files_are_written_in_one_pass_and_the_spec_repeats_it(ending: str, tmp_path: Path) -> None:
    true = trips(north=0.15)
    _write(true, tmp_path / f"trips{ending}")
    source, target = tmp_path / f"trips{ending}", tmp_path / f"hidden{ending}"
    person = {"person": "id", "most_rows": 4, "beyond": "drop"}
    done = sf.hide(source, output=target, places=["start=start_lat,start_lon", "end=end_lat,end_lon"], **person, **WIDE)
    told = _read(target)
    assert list(told.columns) == COLUMNS and list(told["id"]) == true["id"].to_pylist()[:12]
    for name in COLUMNS[1:]:
        assert np.abs(told[name].to_numpy() - true[name].to_numpy()[:12]).max() < 0.05
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted({source.name, *(f.name for f in done.files)})
    spec = read_spec(tmp_path / "hidden.toml")
    assert {name: tuple(pair) for name, pair in spec.release.places.items()} == PLACES  # type: ignore[union-attr]
    again = sf.hide(source, output=tmp_path / f"again{ending}", spec=spec)
    assert again.promises[:2] == done.promises[:2] and again.mechanism.proof.digest == done.mechanism.proof.digest


def test_all_places_of_all_rows_are_charged_and_may_keep_one_promise_together(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "spent.ledger", limit=amount(alpha="1/2"))
    person = {"person": "id", "most_rows": 7}
    with pytest.raises(BudgetExceeded):
        sf.hide(trips(), "1 km", places=PLACES, ledger=ledger, dataset="trips", **QUICK)
    assert not ledger.entries()
    done = sf.hide(trips(), "1 km", places=PLACES, per_person=True, ledger=ledger, dataset="trips", **person, **QUICK)
    (entry,) = ledger.entries()
    assert (entry.times, entry.rows, entry.column) == (14, 20, "end_lat, end_lon, start_lat, start_lon")
    assert entry.cost <= amount(alpha="1/2") and float(amount(alpha="1/2") - entry.cost) < 1e-12
    assert "each with 2 places (start, end)" in done.promises[1] and "each at 1/14 of its rate" in done.promises[1]
    assert "alpha = 1/2 per km" in done.promises[0]
    again = sf.hide(trips(), spec=spec_from_text(to_toml(done.spec)))
    assert again.mechanism.privacy.epsilon == done.mechanism.privacy.epsilon
    plain = sf.hide(trips(), "1 km", places=PLACES, **QUICK)
    assert "each of the 2 places of a row (start, end): all of them together cost 2 times" in plain.promises[1]
    rows = sf.hide(trips(), "1 km", places=PLACES, **person, **QUICK)
    assert "all of them together cost 14 times as much" in rows.promises[1]


def test_places_outside_are_counted_for_each() -> None:
    table = trips()
    ends = table["end_lat"].to_pylist()
    far = table.set_column(3, "end_lat", pa.array([40.7285, 40.729, 40.7285, *ends[3:]]))
    with pytest.raises(InvalidInput, match="3 of 20 rows lie outside the space at their end"):
        sf.hide(far, "1 km", places=PLACES, **QUICK)
    done = sf.hide(far, "1 km", places=PLACES, most_moved="1/5", **QUICK)
    assert done.diagnostics.strays == {"start": 0, "end": 3} and done.diagnostics.moved == 3
    left = sf.hide(far, "1 km", places=PLACES, on_unknown="drop", most_dropped=1, **QUICK)
    assert left.table["id"].to_pylist() == table["id"].to_pylist()[3:]
    assert "of 40 places in 20 rows 0 have no place" in sf.hide(far, "1 km", places=PLACES, dry_run=True, **QUICK).words


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"places": {"start": ("start_lat", "start_lon")}}, "names several places of a row"),
        ({"places": ["start"]}, "a place is said as start=start_lat,start_lon"),
        ({"places": ["a=start_lat,start_lon", "a=end_lat,end_lon"]}, "has a name of its own"),
        ({"places": {"a": ("start_lat",), "b": ("end_lat", "end_lon")}}, "two columns, latitude and longitude"),
        ({"places": {"a": PLACES["start"], "b": PLACES["start"]}}, "each coordinate has a column of its own"),
        ({"places": {"a": PLACES["start"], "b": ("end_lon", "end_lat")}}, "called like a longitude"),
        ({"places": {"a": PLACES["start"], "b": ("end_lat", "end_lng")}}, "no column 'end_lng', did you mean"),
        ({"places": PLACES, "lat": "start_lat", "lon": "start_lon"}, "name different columns"),
        ({"places": PLACES, "prior": "data", "prior_epsilon": 1}, "looks at one place in each row"),
        ({"lat": "start_lat", "lon": "start_lon"}, "'end_lat' "),
    ],
)
def test_what_cannot_be_several_places_is_said(wishes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        sf.hide(trips(), "1 km", **QUICK, **wishes)


def test_a_third_place_beside_them_is_refused_and_the_same_key_is_for_one() -> None:
    third = trips().append_column("depot_lat", trips()["end_lat"])
    with pytest.raises(InvalidInput, match="'depot_lat'"):
        sf.hide(third, "1 km", places=PLACES, **QUICK)
    with pytest.raises(InvalidInput, match="give latitude and longitude, or columns"):
        spec_from_text('[space]\nkind = "box"\nsides = 2\nstep = 1\n[release]\nlatitude = "a"\nlongitude = "b"\n'
                       'places = {a = ["b", "c"], d = ["e", "f"]}')  # fmt: skip
