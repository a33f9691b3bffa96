"""Points in, points out, from Python: tables of every library, files, the spec that repeats it, and refusals.

The spec beside a release repeats it: the same mechanism where its file is there, whatever ended the search.
"""

from __future__ import annotations

import re
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import geopandas
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shapely.geometry import box as rectangle

import sfumato as sf
from hide_files import BOX, QUICK, csv_file, points, table
from sfumato.certify.amounts import amount
from sfumato.errors import BudgetExceeded, InvalidFile, InvalidInput, NotSupported
from sfumato.hide import hiding
from sfumato.hide.choice import Chosen
from sfumato.hide.fields import TIME_LIMIT, TOLERANCE
from sfumato.hide.hiding import question_of
from sfumato.hide.sources import Source
from sfumato.hide.wish import Wish
from sfumato.specs.families import as_question
from sfumato.specs.schema import SolveSpec
from sfumato.specs.spec import read_spec


@pytest.fixture(scope="module")
def hidden() -> Any:
    return sf.hide(table(), "1 km", **QUICK)


def test_a_table_comes_back_as_it_came_with_its_design_and_report(hidden: Any, tmp_path: Path) -> None:
    assert hidden.table.schema == table().schema and hidden.table["id"] == table()["id"]
    assert hidden.table["lat"] != table()["lat"]
    assert hidden.mechanism is hidden.design.mechanism and hidden.mechanism.privacy.alpha == Fraction(1, 2)
    page = hidden.report(tmp_path / "page.html").read_text()
    assert "The promise is about each row" in page and "a table of its own" in page
    assert sf.load(tmp_path / "m.sfm") if hidden.save(tmp_path / "m.sfm") else False
    assert hidden.file is None and "Hidden(a table" in repr(hidden)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_of_other_libraries(library: Any, monkeypatch: pytest.MonkeyPatch, hidden: Any) -> None:
    monkeypatch.setattr("sfumato.hide.hiding.chosen", lambda *_: Chosen(hidden.design, hidden.why))
    given = library(points())
    done = sf.hide(given, "1 km", **QUICK).table
    assert type(done) is type(given) and list(done["id"]) == list(given["id"])


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:32618"])
def test_frames_of_geopandas_keep_their_system(crs: str, monkeypatch: pytest.MonkeyPatch, hidden: Any) -> None:
    monkeypatch.setattr("sfumato.hide.hiding.chosen", lambda *_: Chosen(hidden.design, hidden.why))
    columns = points()
    places = geopandas.points_from_xy(columns["lon"], columns["lat"])
    frame = geopandas.GeoDataFrame({"id": columns["id"]}, geometry=places, crs="EPSG:4326").to_crs(crs)
    done = sf.hide(frame, "1 km", **QUICK)
    assert isinstance(done.table, geopandas.GeoDataFrame) and done.table.crs == frame.crs
    released = done.table.to_crs("EPSG:4326").geometry
    assert released.x.between(-74.03, -73.99).all() and released.y.between(40.69, 40.73).all()
    assert done.spec.release is not None and done.spec.release.geometry == "geometry"


def test_a_file_has_mechanism_report_and_spec_beside_it_and_the_spec_repeats_it(tmp_path: Path) -> None:
    source, target = csv_file(tmp_path / "trips.csv"), tmp_path / "hidden.csv"
    done = sf.hide(source, "1 km", output=target, **QUICK)
    assert [file.name for file in done.files] == ["hidden.csv", "hidden.sfm", "hidden.html", "hidden.toml"]
    assert sf.load(done.files[1]).proof.digest == done.mechanism.proof.digest
    again = sf.hide(source, spec=read_spec(done.files[3]), output=tmp_path / "again.csv")
    assert again.mechanism.proof.digest == done.mechanism.proof.digest and again.spec == done.spec
    assert (tmp_path / "again.toml").read_bytes() == done.files[3].read_bytes()
    with pytest.raises(InvalidInput, match="already there"):
        sf.hide(source, "1 km", output=target, **QUICK)
    with pytest.raises(InvalidInput, match="the spec says what to hide"):
        sf.hide(source, "1 km", spec=done.spec, output=target, overwrite=True)


def test_all_files_or_none(tmp_path: Path) -> None:
    source, target = csv_file(tmp_path / "trips.csv"), tmp_path / "hidden.csv"
    source.write_text(source.read_text() + "p9,nonsense,-74.01\n")
    with pytest.raises(InvalidInput, match="nonsense"):
        sf.hide(source, "1 km", output=target, **QUICK)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["trips.csv"]


def test_parquet_of_geometries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: Any) -> None:
    monkeypatch.setattr("sfumato.hide.hiding.chosen", lambda *_: Chosen(hidden.design, hidden.why))
    columns = points()
    frame = geopandas.GeoDataFrame(
        {"id": columns["id"]}, geometry=geopandas.points_from_xy(columns["lon"], columns["lat"]), crs="EPSG:4326"
    )
    frame.to_parquet(tmp_path / "trips.parquet", write_covering_bbox=True)  # boxes around points are released with them
    done = sf.hide(tmp_path / "trips.parquet", "1 km", output=tmp_path / "hidden.parquet", **QUICK)
    released = geopandas.read_parquet(done.files[0])
    assert released.crs == frame.crs and list(released["id"]) == columns["id"]
    assert not released.geometry.geom_equals(frame.geometry).any()
    assert pq.read_schema(done.files[0]).metadata[b"geo"] and done.stay == ("id",)
    boxes = pq.read_table(done.files[0])["bbox"].to_pylist()
    assert [box["xmin"] for box in boxes] == pytest.approx(released.geometry.x.tolist())


def test_a_person_has_so_many_rows_and_the_others_are_refused_or_left_out(hidden: Any) -> None:
    terms = {"person": "id", "most_rows": 2}
    place = sf.release.Place("lat", "lon")
    with pytest.raises(InvalidInput, match="who has more than 2 rows"):
        sf.release_table(hidden.mechanism, table(), place, **terms)
    done = sf.release_table(hidden.mechanism, table(), place, beyond="drop", **terms)
    assert done["id"].to_pylist() == table()["id"].to_pylist()[:6]


@pytest.mark.parametrize(
    ("how", "whole"), [({"hide": "500 m"}, {"alpha": "1/4"}), ({"epsilon": "2 per km"}, {"epsilon": 2})]
)
def test_all_rows_of_a_person_together_keep_what_was_asked_for(how: Any, whole: Any, tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "spent.ledger", limit=amount(**whole))
    terms = {"person": "id", "most_rows": 7, "per_person": True}
    done = sf.hide(table(), **how, **QUICK, **terms, ledger=ledger, dataset="trips")
    (entry,) = ledger.entries()
    assert entry.times == 7 and entry.cost <= amount(**whole)  # which is all that there is
    assert float(amount(**whole) - entry.cost) < 1e-12
    assert "of its rate: epsilon = " in done.promises[1] and done.promises[1].startswith("At most 7 rows of each")
    assert f"{next(iter(whole))} = {next(iter(whole.values()))} per km" in done.promises[0]  # by all rows together
    again = sf.hide(table(), spec=done.spec)
    assert again.promises[:2] == done.promises[:2] and again.mechanism.privacy.epsilon == done.mechanism.privacy.epsilon
    alone = sf.hide(table(), **how, **QUICK, person="id", most_rows=1, per_person=True, beyond="drop")
    assert "that keeps this promise for the person" in alone.promises[1]


def test_a_ledger_is_charged_for_every_part_and_refuses_what_is_too_much(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "spent.ledger")
    paid = {"prior": "data", "prior_epsilon": 1, "person": "id", "most_rows": 7, "ledger": ledger, "dataset": "trips"}
    done = sf.hide(table(), "1 km", **QUICK, **paid)
    assert [(entry.column, entry.times) for entry in ledger.entries()] == [("prior (lat lon)", 7), ("lat, lon", 7)]
    assert "7 times as much for each person" in done.promises[2] and "cost 7 times as much" in done.promises[1]
    ledger.set_limit(alpha="1/256", dataset="trips", column=["lat", "lon"])
    with pytest.raises(BudgetExceeded):
        sf.hide(table(), "1 km", **QUICK, **paid)
    assert len(ledger.entries()) == 2  # what a refused release would have cost beside it is not spent


def asked(**wishes: Any) -> Any:
    return question_of(Wish(**({"hide": "1 km", "box": BOX} | wishes)), Source(wishes.pop("data", None) or table()))


def test_an_error_finds_the_promise(tmp_path: Path) -> None:
    done = sf.hide(table(), error="800 m", box=BOX, cell="1 km", time_limit=3)
    assert float(done.design.loss) <= 0.8 and done.spec.privacy is not None and "no more is lost" in done.why
    assert done.spec.privacy.epsilon == done.mechanism.privacy.epsilon


def test_points_that_look_exchanged_or_like_metres_are_told(hidden: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.hide.hiding.chosen", lambda *_: Chosen(hidden.design, hidden.why))
    columns = points()
    exchanged = pa.table({"lat": columns["lon"], "lon": columns["lat"]})
    with pytest.raises(InvalidInput, match="latitude and longitude swapped"):
        sf.hide(exchanged, "1 km", **QUICK)
    metres = pa.table({"lat": columns["lat"] * 1e5, "lon": columns["lon"] * 1e5})
    with pytest.raises(InvalidInput, match="are these metres"):
        sf.hide(metres, "1 km", **QUICK)


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"hide": None}, "say how well to hide"),
        ({"epsilon": 1}, "found hide and epsilon"),
        ({"box": None}, "say where points lie"),
        ({"box": "data"}, "say what it may cost"),
        ({"box_epsilon": 1}, "is the price of"),
        ({"prior": "data"}, "say what it may cost"),
        ({"lat": "lat"}, "given together"),
        ({"lat": "lat", "lon": "lon", "geometry": "g"}, "name different columns"),
        ({"hide": "-1 km"}, "positive distance"),
        ({"hide": "1 week"}, "give it in km"),
        ({"box": "data", "box_epsilon": 1}, "needs 4,000 rows or more"),
        ({"box": "data", "box_epsilon": 0}, "between 0.001 and 1000"),
        ({"prior": "nowhere.csv"}, "there is no file"),
        ({"prior": [[1, 2]]}, "counts of shape"),
        ({"unit": "week"}, "is a length such as km"),
        ({"x": "lat", "y": "lon"}, "say the unit of x and y"),
        ({"tolerance": 0}, "tolerance"),
        ({"per_person": True}, "say whose, person=, and how many"),
        ({"hide": None, "error": "1 km", "person": "id", "most_rows": 2, "per_person": True}, "say one of them"),
        ({"per_person": 1}, "per_person"),
    ],
)
def test_what_cannot_be_wished_is_said(wishes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        asked(**wishes)


def test_columns_are_found_by_their_names_or_asked_for() -> None:
    def column(**columns: Any) -> Any:
        return question_of(Wish(hide="1 km", box=BOX, unit="km"), Source(pa.table(columns))).column.columns

    assert column(Latitude=[40.7], LNG=[-74.0]) == ("Latitude", "LNG")
    assert column(longitude_start=[-74.0], latitude_start=[40.7]) == ("latitude_start", "longitude_start")
    with pytest.raises(InvalidInput, match="lat, lon, x, y could each be the points: say which"):
        column(lat=[40.7], lon=[-74.0], x=[1.0], y=[2.0])
    with pytest.raises(InvalidInput, match="'lat', 'latitude' could each be lat: say which"):
        column(lat=[40.7], latitude=[40.7], lon=[-74.0])
    with pytest.raises(InvalidInput, match="the columns a, b hold no coordinates"):
        column(a=[40.7], b=[-74.0])


def test_a_plane_has_a_unit_and_a_box_that_ends_with_whole_cells() -> None:
    plane = pa.table({"x": [100.0, 700.0], "y": [30.0, 900.0]})
    spec = question_of(Wish(hide="500 m", box="0,0,950,1010", unit="m"), Source(plane)).spec
    assert spec.space.kind == "box" and spec.space.sides == [Fraction(990), Fraction(1100)]
    assert sf.hide(plane, "1 km", box=(0, 0, 1000, 1000), unit="m", cell=500, tolerance=0.5).table.num_rows == 2
    with pytest.raises(InvalidInput, match="are these degrees"):
        question_of(Wish(hide="500 m", box="2.2,48.8,2.5,48.9", unit="m"), Source(plane))


def test_the_rate_is_read_with_its_unit() -> None:
    found = [asked(hide=None, epsilon=rate).spec.privacy for rate in ("0.5 per km", "ln(2) per km", "1 per mi")]
    assert [entry.epsilon for entry in found] == [Fraction(1, 2), None, Fraction(1000000, 1609344)]
    assert found[1].alpha == Fraction(1, 2)


def test_a_number_has_a_unit_on_the_earth_and_that_of_its_columns_in_a_plane() -> None:
    """A distance and a rate go by one rule."""
    for wish, what in (({"hide": 500}, "500 what"), ({"epsilon": 0.5}, "0.5 per what"), ({"epsilon": "ln 2"}, "ln 2")):
        with pytest.raises(InvalidInput, match=what):
            asked(**{"hide": None} | wish)
    plane = Source(pa.table({"x": [1.0, 7.0], "y": [3.0, 9.0]}))
    for wish, epsilon in (({"hide": 5}, None), ({"epsilon": 0.5}, Fraction(1, 2))):
        privacy = question_of(Wish(**wish, box="0,0,10,10", unit="km"), plane).spec.privacy
        assert privacy is not None and privacy.epsilon == epsilon


def test_promises_have_what_the_shell_prints_and_numbers_are_rounded_once(hidden: Any) -> None:
    (distance,) = (words for words in hidden.promises if words.startswith("Expected distance: "))
    lost, least = re.findall(r"([\d.]+) km", distance)
    assert f"points move {lost} km on average; at best {least} km" in hidden.why
    assert hidden.promises[-len(hidden.beside) :] == hidden.beside


def test_the_released_points_are_not_saved_as_a_mechanism(hidden: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"save writes the mechanism.*they stand in \.table"):
        hidden.save(tmp_path / "hidden.csv")
    assert not list(tmp_path.iterdir())


def test_noise_that_is_the_same_everywhere_is_taken_where_no_table_is_near_in_time() -> None:
    done = sf.hide(table(), "1 km", box=BOX, cell="1 km", tolerance=0.001, time_limit=0)
    assert "came within 0.1 %" in done.why
    large = sf.hide(table(), "200 m", box=(40.68, -74.06, 40.78, -73.94))
    assert "too large for a table" in large.why and np.isfinite(large.design.gap)


@pytest.mark.parametrize("ending", ["gpkg", "shp", "geojson"])
def test_files_of_maps(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: Any) -> None:
    monkeypatch.setattr("sfumato.hide.hiding.chosen", lambda *_: Chosen(hidden.design, hidden.why))
    columns = points()
    frame = geopandas.GeoDataFrame(
        {"id": columns["id"]}, geometry=geopandas.points_from_xy(columns["lon"], columns["lat"]), crs="EPSG:4326"
    )
    frame.to_file(tmp_path / f"trips.{ending}")
    done = sf.hide(tmp_path / f"trips.{ending}", "1 km", output=tmp_path / f"hidden.{ending}", **QUICK)
    released = geopandas.read_file(done.files[0])
    assert released.crs == frame.crs and list(released["id"]) == columns["id"]
    assert {file.suffix for file in tmp_path.glob("hidden.*")} >= {".sfm", ".html", ".toml", f".{ending}"}


@pytest.mark.parametrize("kind", ["table", "parquet", "gpkg", "shp", "geojson"])
def test_heights_of_points_are_left_out(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: Any
) -> None:
    """They tell places, and no option of this door speaks of them."""
    monkeypatch.setattr("sfumato.hide.hiding.chosen", lambda *_: Chosen(hidden.design, hidden.why))
    lat, lon = points()["lat"], points()["lon"]
    frame = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(lon, lat, range(20)), crs="EPSG:4326")
    source, named = tmp_path / f"trips.{kind}", {"geometry": "geometry", "output": tmp_path / f"hidden.{kind}"}
    if kind == "table":
        assert not sf.hide(frame, "1 km", **QUICK).table.has_z.any()
        return
    (frame.to_parquet if kind == "parquet" else frame.to_file)(source)
    assert sf.hide(source, "1 km", dry_run=True, **QUICK).refused == ""
    done = sf.hide(source, "1 km", **QUICK, **(named if kind == "geojson" else {"output": named["output"]}))
    again = sf.hide(source, spec=done.spec, output=tmp_path / f"again.{kind}")
    for file in (done.files[0], again.files[0]):
        released = geopandas.read_parquet(file) if kind == "parquet" else geopandas.read_file(file)
        assert len(released) == 20 and not released.has_z.any()


def test_cells_of_h3_and_areas_have_a_promise_about_cells(tmp_path: Path) -> None:
    done = sf.hide(table(), "1 km", box=BOX, h3=7, tolerance=0.2)
    assert "the promise is about these cells and not about every metre" in done.why
    assert done.table.num_rows == 20 and "about these cells" in done.report(tmp_path / "page.html").read_text()
    squares = [rectangle(-74.02 + 0.01 * k, 40.70, -74.01 + 0.01 * k, 40.72) for k in range(2)]
    areas = geopandas.GeoDataFrame({"name": ["a", "b"]}, geometry=squares, crs="EPSG:4326")
    areas.to_file(tmp_path / "areas.geojson")
    assert sf.hide(table(), "1 km", areas=tmp_path / "areas.geojson").table.num_rows == 20
    for wrong in ({"cell": "1 km"}, {"areas": "x.geojson"}, {"prior": "data"}):
        with pytest.raises(InvalidInput, match="leave it out"):
            sf.hide(table(), "1 km", box=BOX, h3=7, **wrong)


def test_what_would_give_points_away_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    spent = sf.release.Ledger(tmp_path / "ledger")
    spent.set_limit(5, dataset="trips", column="prior (lat lon)")
    paid = {"prior": "data", "prior_epsilon": 1, "ledger": spent, "dataset": "trips", "box": BOX, "cell": "1 km"}
    twice = table().append_column("latitude", table()["lat"])
    for wrong, what in (
        ((twice, "1 km", {"lat": "lat", "lon": "lon"}), r"'latitude' \(by the name\); say of it"),
        ((table(), "1 km", {"on_unknown": "typo"}), "on_unknown"),
        ((table(), "1 km", {"person": "id"}), "person='id' needs most_rows=1"),
        ((table(), 500, {}), "500 what"),
        ((table(), None, {"epsilon": 0}), "epsilon"),
    ):
        with pytest.raises((InvalidInput, NotSupported), match=what):
            sf.hide(wrong[0], wrong[1], **paid | wrong[2])
    assert not spent.entries()
    with pytest.raises(InvalidInput, match="has no width"):
        sf.hide(table(), "1 km", box=(40.7, -74, 40.8, -74))


def test_cells_of_h3_do_not_come_from_the_data(tmp_path: Path) -> None:
    file = tmp_path / "trips.csv"
    file.write_text("lat,lon\n40.71,-74.01\n40.72,-74.0\n")
    with pytest.raises(InvalidInput, match="the data"):
        sf.hide(file, "1 km", output=tmp_path / "hidden.csv", h3=7, box=str(file))
    with pytest.raises(InvalidInput, match="is a file to write"):
        sf.hide(file, "1 km", output=".", box=BOX)


def test_lazy_tables_come_back_as_they_came(hidden: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.hide.hiding.chosen", lambda *_: Chosen(hidden.design, hidden.why))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lazy = sf.hide(pl.DataFrame(points()).lazy(), "1 km", **QUICK).table
        reader = sf.hide(table().to_reader(), "1 km", **QUICK).table
    assert isinstance(lazy, pl.LazyFrame) and lazy.collect()["id"].to_list() == points()["id"]
    assert isinstance(reader, pa.RecordBatchReader) and reader.read_all()["id"] == table()["id"]
    done = sf.hide(duckdb.from_arrow(table()), "1 km", **QUICK).table
    assert isinstance(done, duckdb.DuckDBPyRelation) and done.to_arrow_table()["id"].to_pylist() == points()["id"]
    assert done.to_arrow_table()["lat"] == done.to_arrow_table()["lat"] != table()["lat"]  # drawn once


def test_arguments_that_are_none_are_said() -> None:
    with pytest.raises(InvalidInput, match="hide has no argument bx=, did you mean 'box'"):
        sf.hide(table(), "1 km", bx=1)


def test_a_report_has_a_place_of_its_own(hidden: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert hidden.report() == Path("hidden.html") and (tmp_path / "hidden.html").exists()


def test_a_place_that_cannot_be_written_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sfumato.files.tempfile.mkstemp", full)
    with pytest.raises(InvalidInput, match=r"hidden\.csv cannot be written: No space left on device"):
        sf.hide(csv_file(tmp_path / "trips.csv"), "1 km", output=tmp_path / "hidden.csv", **QUICK)


def test_it_is_said_what_points_lose_beside_the_least_noise_and_silence(hidden: Any) -> None:
    found = re.fullmatch(
        r"a table of its own for this box: points move ([\d.]+) km on average; at best ([\d.]+) km; "
        r"Laplace noise ([\d.]+) km; nothing told ([\d.]+) km", hidden.why.split(": no table")[0],
    )  # fmt: skip
    assert found is not None, hidden.why
    lost, least, noise, silent = map(float, found.groups())
    assert least <= hidden.design.bound <= hidden.design.loss <= lost <= 1.01 * silent
    assert noise == pytest.approx(2 / np.log(2), rel=1e-2)


def test_a_spec_without_effort_has_that_of_a_wish(hidden: Any) -> None:
    """Without a table [solve] the tolerance and the time limit of ``hide`` are meant, not those of a design."""
    plain = hidden.spec.model_copy(update={"solve": SolveSpec()})
    question = hiding._with_effort(as_question(plain), plain)
    assert (question.tolerance, question.time_limit) == (TOLERANCE, TIME_LIMIT)
    question = hiding._with_effort(as_question(hidden.spec), hidden.spec)
    assert question.tolerance == float(hidden.spec.solve.tolerance)


CUT_OFF: dict[str, Any] = {"box": BOX, "cell": "500 m", "tolerance": 0.0001, "time_limit": 0.5}

ROADS = """[space]
kind = 'roads'
unit = 'km'
ways = 'both'
file = 'streets.csv'
first = 'a'
second = 'b'
length = 'km'
crossings = {file = 'crossings.csv', label = 'id'}

[privacy]
double_at = '500 m'

[release]
latitude = 'lat'
longitude = 'lon'
"""


def test_a_search_that_was_cut_off_is_repeated_exactly(tmp_path: Path) -> None:
    source = csv_file(tmp_path / "trips.csv")
    done = sf.hide(source, "1 km", output=tmp_path / "hidden.csv", **CUT_OFF)
    again = sf.hide(source, spec=read_spec(done.files[3]), output=tmp_path / "again.csv")
    assert again.files[1].read_bytes() == done.files[1].read_bytes()
    assert again.files[3].read_bytes() == done.files[3].read_bytes()
    assert (again.design.loss, again.design.bound) == (done.design.loss, done.design.bound)
    assert "that of hidden.sfm, which the spec names" in again.why and again.spec == done.spec
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "hidden.toml").write_bytes(done.files[3].read_bytes())
    (elsewhere / "hidden.sfm").write_bytes(done.files[1].read_bytes())
    third = sf.hide(source, spec=read_spec(elsewhere / "hidden.toml"), output=elsewhere / "third.csv")
    assert third.mechanism.proof.digest == done.mechanism.proof.digest


def test_another_question_is_answered_anew_and_another_mechanism_refused(tmp_path: Path) -> None:
    source = csv_file(tmp_path / "trips.csv")
    quick = {"box": BOX, "cell": "1 km", "tolerance": 0.5}
    done = sf.hide(source, "1 km", output=tmp_path / "hidden.csv", **quick)
    spec = done.files[3]
    assert (
        "which the spec names" not in sf.hide(source, spec=read_spec(spec), output=tmp_path / "b.csv", time_limit=9).why
    )
    spec.write_text(spec.read_text().replace('"1 km"', '"2 km"', 1))  # the promise was edited
    edited = sf.hide(source, spec=read_spec(spec), output=tmp_path / "c.csv")
    assert "which the spec names" not in edited.why and edited.mechanism.proof.digest != done.mechanism.proof.digest
    other = sf.hide(table(), "3 km", **quick)
    fresh = tmp_path / "b.toml"
    other.save(tmp_path / "b.sfm", overwrite=True)
    with pytest.raises(InvalidFile, match="is not the mechanism that"):
        sf.hide(source, spec=read_spec(fresh), output=tmp_path / "d.csv")


def test_files_of_a_spec_are_found_from_another_folder(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (here / "town.toml").write_text(ROADS)
    (here / "streets.csv").write_text("a,b,km\na,b,0.5\nb,c,0.6\n")
    (here / "crossings.csv").write_text("id,lat,lon\na,48.851,2.341\nb,48.855,2.345\nc,48.859,2.350\n")
    source = here / "trips.csv"
    source.write_text("id,lat,lon\n1,48.851,2.342\n2,48.855,2.3445\n")
    done = sf.hide(source, spec=read_spec(here / "town.toml"), output=there / "hidden.csv")
    assert 'file = "../here/streets.csv"' in done.files[3].read_text()
    assert "odds between two crossings that are by road 500 m apart" in done.promises[0]
    assert "the promise is about these crossings" in done.why and "cells" not in " ".join(done.promises)
    again = sf.hide(source, spec=read_spec(done.files[3]), output=there / "again.csv")
    assert again.mechanism.proof.digest == done.mechanism.proof.digest and "which the spec names" in again.why
    (here / "streets.csv").write_text("a,b,km\na,b,0.5\nb,c,0.7\n")  # another map, another question
    assert "which the spec names" not in sf.hide(source, spec=read_spec(done.files[3]), output=there / "c.csv").why
