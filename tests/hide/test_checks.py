"""All that a release would refuse is refused before a mechanism is looked for, and before anything is paid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from shapely.geometry import Point
from shapely.geometry import box as rectangle

import sfumato as sf
from hide_files import BOX, QUICK, csv_file, points, table
from sfumato.errors import BudgetExceeded, InvalidInput, NotSupported

ROWS = 70_000  # more than are looked at first


@pytest.fixture
def no_design(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mechanism that is looked for is a failure."""

    def fail(*_: Any, **__: Any) -> Any:
        raise AssertionError("a mechanism was looked for")

    for name in ("chosen", "chosen_cells", "calibrated"):
        monkeypatch.setattr(f"sfumato.hide.hiding.{name}", fail)


def late(**changed: Any) -> pa.Table:
    """Many rows, the last of which is changed."""
    columns: dict[str, Any] = {"id": np.arange(ROWS), **{name: points(ROWS)[name] for name in ("lat", "lon")}}
    for name, value in changed.items():
        columns[name] = [*columns[name][:-1].tolist(), value]
    return pa.table(columns)


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "a person that is no column": (table(), {"person": "who", "most_rows": 9}, "no column 'who'"),
    "too many rows of a person": (late(id=5), {"person": "id", "most_rows": 1}, "more than 1 rows"),
    "a missing value": (late(lat=None), {}, "row 70000"),
    "one far point": (late(lat=48.9), {}, "row 70000"),
    "points outside": (table().set_column(1, "lat", pa.array(points()["lat"] + 0.025)), {}, "outside|not one of"),
    "WKT beside them": (table().append_column("w", pa.array(["POINT (1 2)"] * 20)), {}, "'w'"),
    "two columns of one name": (table().append_column("id", table()["id"]), {}, "several columns 'id'"),
    "a column to drop that is not there": (table(), {"drop": "none"}, "no such column"),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("kind", ["table", "csv"])
@pytest.mark.usefixtures("no_design")
def test_what_is_refused_costs_nothing(what: str, kind: str, tmp_path: Path) -> None:
    given, wishes, message = REFUSED[what]
    if kind == "csv" and what == "two columns of one name":
        return
    ledger = sf.Ledger(tmp_path / "spent.ledger")
    paid = {"prior": "data", "prior_epsilon": 1, "ledger": ledger, "dataset": "trips"}
    if kind == "csv":
        given.to_pandas().to_csv(tmp_path / "in.csv", index=False)
        given, wishes = tmp_path / "in.csv", wishes | {"output": tmp_path / "out.csv"}
    with pytest.raises(InvalidInput, match=message):
        sf.hide(given, "1 km", **QUICK, **paid, **wishes)
    assert not ledger.entries() and not list(tmp_path.glob("out*"))


@pytest.mark.usefixtures("no_design")
def test_a_box_from_the_data_is_paid_for_when_every_row_has_been_looked_at(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "spent.ledger")
    paid = {"box": "data", "box_epsilon": 1, "ledger": ledger, "dataset": "trips"}
    for given, wishes in ((late(lat=None), {}), (late(), {"person": "who", "most_rows": 1})):
        with pytest.raises(InvalidInput, match=r"row 70000|no column 'who'"):
            sf.hide(given, "1 km", **paid, **wishes)
    with pytest.raises(AssertionError, match="looked for"):  # one that is not refused is charged
        sf.hide(late(), "1 km", **paid)
    assert [entry.column for entry in ledger.entries()] == ["box (lat lon)"]


@pytest.mark.usefixtures("no_design")
def test_what_quantiles_leave_far_away_is_said_before_a_box_is_paid_for(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    latitude, longitude = 48.85 + 0.02 * rng.normal(size=5000), 2.34 + 0.03 * rng.normal(size=5000)
    latitude[::100] = longitude[::100] = 0.0  # points in the ocean
    given = pa.table({"lat": latitude, "lon": longitude})
    ledger = sf.Ledger(tmp_path / "spent.ledger")
    paid = {"box": "data", "box_epsilon": 1, "ledger": ledger, "dataset": "trips"}
    found = sf.hide(given, "1 km", dry_run=True, **paid)
    assert found.far == 50 and found.refused.startswith("row 1: 'lat', 'lon' are (0.0, 0.0)")
    assert "of the box that quantiles give without noise, half of them by at most" in found.words
    with pytest.raises(InvalidInput, match=r"row 1: .* would refuse them: 50 lie too far away; .* would leave out"):
        sf.hide(given, "1 km", **paid)
    assert not ledger.entries()
    with pytest.raises(AssertionError, match="looked for"):  # whoever leaves them out gets a box
        sf.hide(given, "1 km", on_unknown="drop", most_dropped="0.2", **paid)
    assert [entry.column for entry in ledger.entries()] == ["box (lat lon)"]
    assert sf.hide(given, "1 km", dry_run=True, on_unknown="drop", most_dropped="0.2", **paid).refused == ""
    few = sf.hide(given.slice(0, 20), "1 km", dry_run=True, **paid)
    assert few.rows == 20 and "needs 4,000 rows or more" in few.refused


@pytest.mark.usefixtures("no_design")
def test_no_part_is_paid_where_there_is_no_room_for_another(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "spent.ledger")
    ledger.set_limit(1, dataset="trips", column="prior (lat lon)")
    with pytest.raises(BudgetExceeded, match="prior"):
        sf.hide(
            late(), "1 km", box="data", box_epsilon=1, prior="data", prior_epsilon=2, ledger=ledger, dataset="trips"
        )
    assert not ledger.entries()


@pytest.mark.usefixtures("no_design")
def test_formats_and_columns_are_looked_at_before_a_design(tmp_path: Path) -> None:
    source = csv_file(tmp_path / "trips.csv")
    with pytest.raises(NotSupported, match=r"an output that ends in \.csv") as told:
        sf.hide(source, "1 km", output=tmp_path / "hidden.parquet", **QUICK)
    assert "format=" not in str(told.value)
    with pytest.raises(NotSupported, match="the format of the output"):
        sf.hide(source, "1 km", output=tmp_path / "hidden.xyz", **QUICK)
    with pytest.raises(InvalidInput, match="no column 'who'"):
        sf.hide(source, "1 km", output=tmp_path / "hidden.csv", person="who", most_rows=1, **QUICK)
    far = table().set_column(1, "lat", pa.array([48.9, *points()["lat"][1:]]))
    with pytest.raises(InvalidInput, match="a larger box") as told:
        sf.hide(far, "1 km", **QUICK)
    assert "margin" not in str(told.value)
    with pytest.raises(InvalidInput, match="row 1"):
        sf.hide(far, "1 km", box=BOX, h3=7, on_unknown="error")


@pytest.mark.parametrize("kind", ["table", "csv"])
@pytest.mark.usefixtures("no_design")
def test_rows_are_not_left_out_by_the_dozen(kind: str, tmp_path: Path) -> None:
    given = table().set_column(1, "lat", pa.array([*points()["lat"][:17], None, 40.9, 40.9]))
    source, wishes = given, {**QUICK, "on_unknown": "drop"}
    if kind == "csv":
        given.to_pandas().to_csv(tmp_path / "in.csv", index=False)
        source, wishes = tmp_path / "in.csv", wishes | {"output": tmp_path / "out.csv"}
    with pytest.raises(
        InvalidInput, match=r"3 of 20 rows would be left out.* row 18: 'lat' is missing; most_dropped=1"
    ):
        sf.hide(source, "1 km", **wishes)
    with pytest.raises(AssertionError, match="looked for"):
        sf.hide(source, "1 km", most_dropped="3/20", **wishes)
    assert not list(tmp_path.glob("out*"))


@pytest.mark.usefixtures("no_design")
def test_numbers_with_decimal_commas_tell_places_too(tmp_path: Path) -> None:
    lines = [f"{lat};{lon};{lat};{lon}" for lat, lon in zip(points()["lat"], points()["lon"], strict=True)]
    (tmp_path / "in.csv").write_text("\n".join(["lat;lon;p;q", *lines, ""]).replace(".", ","))
    with pytest.raises(InvalidInput, match=r"places would stay as they are.*'p'.*'q'"):
        sf.hide(tmp_path / "in.csv", "1 km", output=tmp_path / "out.csv", **QUICK)


METRES = {"x": points()["lon"], "y": points()["lat"]}


@pytest.mark.usefixtures("no_design")
def test_degrees_are_not_taken_for_metres() -> None:
    plane = pa.table(METRES)
    for box in ("-74.02,40.70,-74.00,40.72", "583000,4500000,590000,4510000"):
        with pytest.raises(InvalidInput, match="degrees"):
            sf.hide(plane, "1 km", box=box, x="x", y="y", crs="EPSG:32618")
    shapes = [Point(*at) for at in zip(METRES["x"], METRES["y"], strict=True)]
    wrong = geopandas.GeoDataFrame({"n": range(20)}, geometry=shapes, crs="EPSG:3857")
    with pytest.raises(InvalidInput, match="the coordinates look like degrees"):
        sf.hide(wrong, "1 km", **QUICK)
    metres = geopandas.GeoDataFrame(
        {"n": range(20)}, geometry=[Point(584000 + k, 4507000) for k in range(20)], crs="EPSG:4326"
    )
    with pytest.raises(InvalidInput, match="are these metres"):
        sf.hide(metres, "1 km", **QUICK)
    areas = geopandas.GeoDataFrame({"n": [1]}, geometry=[rectangle(-74.02, 40.7, -74.01, 40.71)], crs="EPSG:4326")
    with pytest.raises(InvalidInput, match="is a polygon, not a point"):
        sf.hide(areas, "1 km", **QUICK)


@pytest.mark.usefixtures("no_design")
def test_who_has_exchanged_latitude_and_longitude() -> None:
    swapped = (-74.02, 40.70, -74.00, 40.72)
    with pytest.raises(InvalidInput, match=r"swap the numbers of the box, box='40\.7,-74\.02,40\.72,-74'"):
        sf.hide(table(), "1 km", box=swapped)
    with pytest.raises(InvalidInput, match="swap the numbers of the box"):
        sf.hide(table(), "1 km", box=swapped, h3=7)
    exchanged = pd.DataFrame({"a": points()["lon"], "b": points()["lat"]})
    with pytest.raises(InvalidInput, match="name the columns in the other order, lat='b' and lon='a'"):
        sf.hide(exchanged, "1 km", lat="a", lon="b", **QUICK)
    with pytest.raises(InvalidInput, match="'lon' is called like a longitude"):  # both, which would fit each other
        sf.hide(table(), "1 km", lat="lon", lon="lat", box=swapped)
    nowhere = pd.DataFrame(
        {"a": [-40.0, -40.01], "b": [-25.0, -25.01]}
    )  # an ocean either way: who is wrong is not known
    with pytest.raises(InvalidInput, match=r"swap the numbers of the box.*; or name the columns in the other order"):
        sf.hide(nowhere, "1 km", lat="a", lon="b", box=(-25.1, -40.1, -24.9, -39.9))
