"""Columns of points in tables of any library, in any coordinate system, and mistakes that are told as such."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import shapely
from scipy.stats import chi2

import sfumato as sf
from box_mechanisms import doubling
from box_tables import box_mechanism
from sfumato.errors import InvalidInput, Mismatch
from sfumato.release.formats.geo_points import point_array
from sfumato.release.ledger.ledger import Ledger
from sfumato.release.places import Geometry, Place, Position
from sfumato.release.points import output_points
from sfumato.release.rows import BadRow
from sfumato.release.terms import Terms
from sfumato.spaces import box, earth_box, from_degrees, to_box, to_degrees

TOWN = earth_box(48, 2, sides=(10, 10), step=5)
HIDE = box_mechanism(TOWN, outputs=6)
TOLD = [(lon, lat) for lat, lon in output_points(HIDE.outputs, TOWN, TOWN.surface.decimals(HIDE.rate)).tolist()]
"""Outputs as they are written, rounded."""
OUTPUTS = set(TOLD)
PLAIN = box_mechanism(box((10, 10), step=5, unit="m", origin=(650000, 6860000)), outputs=4)
CITIES = sf.exponential(sf.PrivacyType(sf.geo([(48.05, 2.05), (51.5, -0.12)], labels=["a", "b"]), epsilon="1/100"))
X, Y = np.array([2.05, 2.1, 2.02]), np.array([48.02, 48.08, 48.05])
FALSE_ALARM = 1e-9


def frame(crs: Any = 4326, **columns: Any) -> Any:
    points = geopandas.points_from_xy(X, Y, crs=4326)
    made = geopandas.GeoDataFrame({"id": [7, 8, 9], **columns, "geometry": points}, index=["u", "v", "w"])
    return made if crs is None else made.to_crs(crs)


def where(points: Any) -> set[tuple[float, ...]]:
    return {tuple(point) for point in shapely.get_coordinates(np.asarray(points, dtype=object)).tolist()}


def test_a_frame_of_geopandas_stays_one() -> None:
    made = HIDE.release(frame(note=list("abc")), Geometry())
    assert isinstance(made, geopandas.GeoDataFrame) and made.crs == 4326 and [*made.index] == ["u", "v", "w"]
    assert [*made.columns] == ["id", "note", "geometry"] and where(made.geometry) <= OUTPUTS
    named = HIDE.release(frame().rename_geometry("home"), Geometry())
    assert named.geometry.name == "home" and where(named.geometry) <= OUTPUTS
    into = HIDE.release(frame(), Geometry(), into="noisy")
    assert into.geometry.name == "noisy" and [*into.columns] == ["id", "noisy"]
    both = HIDE.release(frame(), Geometry(), into="noisy", keep=True)
    assert both.geometry.name == "geometry" and where(both["noisy"]) <= OUTPUTS
    empty = HIDE.release(frame().iloc[:0], Geometry())
    assert len(empty) == 0 and empty.crs == 4326


@pytest.mark.parametrize("crs", [2154, 3857, 4258, "EPSG:32631"])
def test_released_points_come_back_in_the_system_of_the_table(crs: Any) -> None:
    made = HIDE.release(frame(crs), Geometry())
    assert made.crs == frame(crs).crs
    back = shapely.get_coordinates(made.to_crs(4326).geometry.to_numpy())
    assert np.abs(back[:, None] - np.array(sorted(OUTPUTS))).max(axis=2).min(axis=1).max() < 1e-7


def test_columns_in_another_system() -> None:
    """Both columns are those of an output, in the system in which they were given; a datum is converted as well."""
    table = pd.DataFrame({"x": frame(2154).geometry.x, "y": frame(2154).geometry.y})
    made = HIDE.release(table, Position("x", "y", crs=2154))
    x, y = from_degrees(*np.array(sorted(OUTPUTS)).T[::-1], "EPSG:2154")
    assert {*zip(made["x"], made["y"], strict=True)} <= {*zip(x.tolist(), y.tolist(), strict=True)}
    again = HIDE.release(table, Position("x", "y"), crs="EPSG:2154")
    assert {*again["x"]} <= {*x.tolist()}
    places = HIDE.release(pd.DataFrame({"lat": Y, "lon": X}), Place("lat", "lon"), crs=4258)
    assert np.abs(places["lon"].to_numpy()[:, None] - np.array(sorted(OUTPUTS))[:, 0]).min(axis=1).max() < 1e-6


TABLES = {
    "pyarrow, WKB": lambda: pa.table({"geometry": point_array(X, Y)}),
    "pyarrow, large WKB": lambda: pa.table({"geometry": point_array(X, Y, pa.large_binary())}),
    "pyarrow, WKT": lambda: pa.table({"geometry": point_array(X, Y, pa.string())}),
    "pyarrow, records": lambda: pa.table({"geometry": [{"x": x, "y": y} for x, y in zip(X, Y, strict=True)]}),
    "pyarrow, lists": lambda: pa.table({"geometry": point_array(X, Y, pa.list_(pa.float64(), 2))}),
    "polars, WKB": lambda: pl.DataFrame({"geometry": point_array(X, Y).to_pylist()}),
    "polars, lazy": lambda: pl.LazyFrame({"geometry": point_array(X, Y).to_pylist()}),
    "polars, WKT": lambda: pl.DataFrame({"geometry": point_array(X, Y, pa.string()).to_pylist()}),
    "pandas, WKB": lambda: pd.DataFrame({"geometry": point_array(X, Y).to_pylist()}),
    "pandas, WKT": lambda: pd.DataFrame({"geometry": point_array(X, Y, pa.string()).to_pylist()}),
    "pandas, shapely": lambda: pd.DataFrame({"geometry": pd.Series(shapely.points(X, Y).tolist(), dtype=object)}),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_any_library(name: str) -> None:
    """A column keeps its form; without a system nothing is guessed."""
    table = TABLES[name]()
    with pytest.raises(InvalidInput, match=r"nothing says in which coordinate system .* crs='EPSG:4326'"):
        HIDE.release(table, Geometry())
    made = HIDE.release(table, Geometry(), crs="EPSG:4326")
    values = list(made["geometry"].to_pylist() if isinstance(made, pa.Table) else made["geometry"])
    if isinstance(values[0], dict):
        assert {(at["x"], at["y"]) for at in values} <= OUTPUTS
    elif isinstance(values[0], list):
        assert {tuple(at) for at in values} <= OUTPUTS
    else:
        read = {bytes: shapely.from_wkb, str: shapely.from_wkt}.get(type(values[0]), np.asarray)
        assert where(read(values)) <= OUTPUTS
    kind = table.collect() if isinstance(table, pl.LazyFrame) else table
    assert type(made) is type(kind)
    if isinstance(made, pa.Table):
        assert made.schema == kind.schema


def test_points_of_geoarrow_keep_their_type() -> None:
    made = HIDE.release(pa.table(frame(2154).to_arrow(geometry_encoding="geoarrow", index=False)), Geometry())
    field = made.schema.field("geometry")
    assert field.metadata[b"ARROW:extension:name"] == b"geoarrow.point"
    assert json.loads(field.metadata[b"ARROW:extension:metadata"])["crs"]["id"]["code"] == 2154
    assert geopandas.GeoDataFrame.from_arrow(made).crs.to_epsg() == 2154


def test_a_geometry_gets_the_density_of_its_place() -> None:
    """What is drawn for a point of a geometry is what was proved for it."""
    rows, place = 20_000, (48.03, 2.05)
    table = pa.table({"geometry": point_array(np.full(rows, place[1]), np.full(rows, place[0]))})
    made = HIDE.release(table, Geometry(crs=4326))["geometry"].to_pylist()
    found = np.array([made.count(point_array(np.array([x]), np.array([y]))[0].as_py()) for x, y in TOLD])
    expected = rows * np.array([float(share) for share in HIDE.density(to_box(TOWN, *place)).weights])
    assert chi2.sf(((found - expected) ** 2 / expected).sum(), len(TOLD) - 1) > FALSE_ALARM


def test_plain_boxes_and_lists_of_places() -> None:
    points = point_array(np.array([650001.0]), np.array([6860009.0]))
    made = PLAIN.release(pa.table({"geometry": points}), Geometry(crs="EPSG:2154"))
    assert made["geometry"][0].as_py() in point_array(*np.array(PLAIN.outputs, dtype=float).T).to_pylist()
    with pytest.raises(InvalidInput, match="degrees would be taken for m; make a box on the Earth"):
        PLAIN.release(frame(), Geometry())
    town = box_mechanism(box((10, 10), step=5, unit="km"), outputs=4)
    with pytest.raises(InvalidInput, match=r"the coordinates of EPSG:2154 are in m, but .* has coordinates in km"):
        town.release(frame(2154), Geometry())
    with pytest.raises(InvalidInput, match="degrees would be taken for m"):
        PLAIN.release(pa.table({"x": [1.0], "y": [1.0]}), Position("x", "y", crs=4326))
    near = CITIES.release(frame(3857), Geometry(), within="100 km")
    assert np.isin(near.to_crs(4326).geometry.x.round(6), [2.05, -0.12]).all()
    with pytest.raises(Mismatch, match="two coordinates, but a secret of"):
        doubling(1).release(pa.table({"geometry": points}), Geometry())


def swapped(crs: Any = 4326) -> Any:
    return geopandas.GeoDataFrame({"geometry": geopandas.points_from_xy(Y, X, crs=crs)})


MISTAKES: dict[str, tuple[Any, Any, str]] = {
    "swapped axes": (swapped, Geometry(), "no point lies in .*, but nearly all would with latitude and"),
    "swapped columns": (lambda: pa.table({"lat": X, "lon": Y}), Place("lat", "lon"), "name the columns in the other"),
    "degrees in metres": (lambda: frame(None).set_crs(2154, allow_override=True), Geometry(), "look like degrees"),
    "metres in degrees": (lambda: frame(2154).set_crs(4326, allow_override=True), Geometry(), "are no degrees"),
    "no system": (lambda: frame(None).set_crs(None, allow_override=True), Geometry(), "nothing says in which"),
    "unknown system": (frame, lambda: Geometry(crs="EPSG:1"), "no coordinate system that pyproj knows"),
    "another system": (lambda: frame(2154), Geometry(crs=4326), "is in EPSG:2154, but crs='EPSG:4326' was given"),
    "no column": (frame, Geometry("home"), "there is no column 'home'; geometries are in 'geometry'"),
    "columns beside": (lambda: frame(Lat=[1.0, 2, 3]), Geometry(), "'Lat' holds coordinates, by its name"),
    "a second geometry": (lambda: frame(old=frame().geometry), Geometry(), r"'old' holds geometries.*beside="),
    "no points": (lambda: pa.table({"geometry": [1.5]}), Geometry(crs=4326), "points are geometries, WKB, WKT"),
    "several numbers": (
        lambda: pa.table({"geometry": ["SRID=4326;POINT (2.05 48.02)", "SRID=2154;POINT (1 2)"]}),
        Geometry(crs=4326), "in several systems .SRID 2154 and 4326"),
    "another number": (lambda: pa.table({"geometry": ["SRID=2154;POINT (1 2)"]}), Geometry(crs=4326), "EPSG:2154, not"),
    "a number alone": (lambda: pa.table({"geometry": ["SRID=4326;POINT (2 48)"]}), Geometry(), "nothing says"),
    "a polygon": (lambda: frame().set_geometry(frame(3857).buffer(9).to_crs(4326)), Geometry(), "row 1: .* a polygon"),
    "a projected place": (
        lambda: pa.table({"lat": Y, "lon": X}), lambda: Terms(Place("lat", "lon"), crs=2154), "coordinates in m: name"),
    "labels": (frame, lambda: Terms("id", crs=2154), "crs= is for coordinates"),
    "beside itself": (frame, lambda: Geometry("a", beside=["a"]), "cannot stay beside itself"),
    "three columns": (frame, lambda: Position("x", "y", "z", crs=2154), "crs= is for two columns"),
    "no crs": (frame, lambda: Geometry(crs=1.5), "crs is a coordinate system such as"),
    "a broken crs": (frame, lambda: Geometry(crs="{]"), "PROJJSON"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.parametrize("policy", ["error", "drop"])
def test_mistakes_are_told_as_such(name: str, policy: str) -> None:
    table, column, words = MISTAKES[name]
    if name == "a polygon" and policy == "drop":
        assert len(HIDE.release(table(), column, on_unknown=policy, most_dropped=1)) == 0
    with pytest.raises(InvalidInput, match=words):
        HIDE.release(table(), column if isinstance(column, Position) else column(), on_unknown=policy)


def test_swapped_places_of_a_list() -> None:
    with pytest.raises(InvalidInput, match=r"is near to a secret of .* swapped"):
        CITIES.release(
            pa.table({"lat": X, "lon": Y}), Place("lat", "lon"), within="50 km", on_unknown="drop", most_dropped=1
        )


def test_columns_stay_that_are_named() -> None:
    table = frame(lat=[1.0, 2, 3], old=frame().geometry)
    made = HIDE.release(table, Geometry(beside=["lat", "old"]))
    assert made["lat"].tolist() == [1, 2, 3] and where(made["old"]) == {*zip(X.tolist(), Y.tolist(), strict=True)}


def test_heights_missing_and_far_points() -> None:
    high = geopandas.GeoDataFrame({"geometry": [shapely.Point(2.05, 48.02, 9), None, shapely.Point(9, 9)]}, crs=4326)
    with pytest.raises(BadRow, match="row 1: 'geometry' has a height"):
        HIDE.release(high, Geometry(), on_unknown="drop", most_dropped=1)
    assert len(HIDE.release(high, Geometry(drop_z=True), on_unknown="drop", most_dropped=1)) == 1
    with pytest.raises(BadRow, match="row 2: 'geometry' is missing"):
        HIDE.release(high, Geometry(drop_z=True))
    with pytest.raises(BadRow, match=r"row 2: \(.*\) in EPSG:3857: 'y of geometry', 'x of geometry' are"):
        HIDE.release(high[["geometry"]].iloc[[0, 2]].to_crs(3857), Geometry(drop_z=True))


def test_keys_and_ledgers_name_the_column(tmp_path: Path) -> None:
    """The same row gets the same point under a key; a ledger is charged for the column, with its promise on points."""
    account = Ledger(tmp_path / "l.sqlite")
    terms: dict[str, Any] = {"key": bytes(range(32)), "row_id": "id", "ledger": account, "dataset": "people"}
    first, second = (HIDE.release(frame(), Geometry(), **terms) for _ in range(2))
    assert first.geometry.tolist() == second.geometry.tolist()
    assert {entry.column for entry in account.entries()} == {"geometry"}


def test_degrees_and_back() -> None:
    x, y = from_degrees([48.5], [2.5], "EPSG:2154")
    latitude, longitude = to_degrees(x, y, "EPSG:2154")
    assert abs(latitude[0] - 48.5) < 1e-9 and abs(longitude[0] - 2.5) < 1e-9
    with pytest.raises(InvalidInput, match="pyproj does not convert"):
        from_degrees([48.5], [2.5], "EPSG:0")
