"""Files of people of maps: each format goes in and comes out, and nothing of the true points is in what is written."""

from __future__ import annotations

import gzip
import json
import sqlite3
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import pytest
import shapely

from box_tables import box_mechanism
from sfumato.errors import InvalidFile, InvalidInput, MissingExtra, NotSupported
from sfumato.release import release_file
from sfumato.release.places import Geometry, Place
from sfumato.release.points import output_points
from sfumato.release.rows import BadRow
from sfumato.spaces import earth_box, from_degrees

TOWN = earth_box(48, 2, sides=(10, 10), step=5)
HIDE = box_mechanism(TOWN, outputs=6)
ROWS = 40
_RNG = np.random.default_rng(7)
LATITUDES, LONGITUDES = 48.001 + 0.08 * _RNG.random(ROWS), 2.001 + 0.12 * _RNG.random(ROWS)
OUTPUTS = output_points(HIDE.outputs, TOWN, TOWN.surface.decimals(HIDE.rate))[:, ::-1]
FORMATS = ["gpkg", "shp", "shp.zip", "geojson", "geojsonl", "geojson.gz", "parquet", "csv"]
DEGREES_ALONE = ("geojsonl", 2154)  # by their standard


def people(crs: int) -> Any:
    points = geopandas.points_from_xy(LONGITUDES, LATITUDES, crs=4326)
    frame = geopandas.GeoDataFrame({"id": range(ROWS), "name": ['a "b", ä'] * ROWS, "geometry": points})
    return frame.to_crs(crs)


def write(frame: Any, place: Path) -> None:
    kind = place.name.split(".", 1)[1]
    if kind == "csv":
        frame.to_wkt(rounding_precision=-1).to_csv(place, index=False)
    elif kind == "parquet":
        frame.to_parquet(place, write_covering_bbox=True, compression=None)
    elif kind == "geojson.gz":
        frame.to_file(place.with_name("plain.geojson"), COORDINATE_PRECISION=15, WRITE_BBOX="YES")
        place.write_bytes(gzip.compress(place.with_name("plain.geojson").read_bytes()))
    else:
        options = {"COORDINATE_PRECISION": 15, "WRITE_BBOX": "YES"} if kind.startswith("geojson") else {}
        frame.to_file(place, driver="GeoJSONSeq" if kind == "geojsonl" else None, **options)


def read(place: Path, crs: int) -> Any:
    if place.name.endswith(".csv"):
        frame = pd.read_csv(place)
        return geopandas.GeoDataFrame(frame, geometry=geopandas.GeoSeries.from_wkt(frame["geometry"], crs=crs))
    if place.name.endswith(".parquet"):
        return geopandas.read_parquet(place)
    return geopandas.read_file(f"/vsigzip/{place}" if place.suffix == ".gz" else place)


def contents(place: Path) -> bytes:
    """All that was written: the files beside a Shapefile, what is packed in archives, the bytes themselves."""
    if place.suffix == ".zip":
        with zipfile.ZipFile(place) as archive:
            return b"".join(archive.read(name) for name in archive.namelist())
    if place.suffix == ".gz":
        return gzip.decompress(place.read_bytes())
    if place.suffix == ".parquet":
        table, metadata = pq.read_table(place), pq.read_metadata(place)
        assert all(str(metadata.row_group(0).column(k).compression) == "UNCOMPRESSED" for k in range(2))
        return place.read_bytes() + str(table.schema.metadata).encode() + str(table.to_pylist()).encode()
    return b"".join(path.read_bytes() for path in place.parent.glob(f"{place.stem}.*"))


def traces(x: np.ndarray, y: np.ndarray) -> list[bytes]:
    """How true coordinates, and thus boxes around them, are spelled in files: in both orders of bytes, in digits."""
    numbers = [*x.tolist(), *y.tolist()]
    return [form for at in numbers for form in (struct.pack("<d", at), struct.pack(">d", at), repr(at)[:10].encode())]


@pytest.mark.parametrize(
    ("ending", "crs"), [(ending, crs) for ending in FORMATS for crs in (4326, 2154) if (ending, crs) != DEGREES_ALONE]
)
def test_a_file_comes_out_as_it_went_in(ending: str, crs: int, tmp_path: Path) -> None:
    """Rows, columns and system stay; each point is one of the outputs; no true point, box or extent is left."""
    source, target = tmp_path / f"true.{ending}", tmp_path / f"noisy.{ending}"
    frame = people(crs)
    write(frame, source)
    done = release_file(HIDE, source, target, Geometry(crs=crs if ending == "csv" else None))
    assert done.rows == ROWS and done.note == ""
    found = read(target, crs)
    assert found["id"].tolist() == list(range(ROWS)) and set(found["name"]) == {'a "b", ä'}
    assert found.crs.to_epsg() == crs and [*found.columns] == ["id", "name", "geometry"]
    x, y = OUTPUTS.T if crs == 4326 else from_degrees(OUTPUTS[:, 1], OUTPUTS[:, 0], crs)
    distances = np.hypot(found.geometry.x.to_numpy()[:, None] - x, found.geometry.y.to_numpy()[:, None] - y)
    assert distances.min(axis=1).max() <= 1e-9 * max(1, np.abs(x).max())
    old, new = contents(source), contents(target)
    left = traces(frame.geometry.x.to_numpy(), frame.geometry.y.to_numpy())
    assert sum(trace in old for trace in left) >= 2 * ROWS  # so that the search would find them
    assert not [trace for trace in left if trace in new]
    assert not [*tmp_path.glob(".*")]


def test_extents_of_a_geopackage_are_those_of_released_points(tmp_path: Path) -> None:
    write(people(4326), tmp_path / "a.gpkg")
    release_file(HIDE, tmp_path / "a.gpkg", tmp_path / "b.gpkg", Geometry())
    with sqlite3.connect(tmp_path / "b.gpkg") as database:
        row = database.execute("SELECT min_x, min_y, max_x, max_y, table_name FROM gpkg_contents").fetchone()
        trees = database.execute("SELECT count(*) FROM rtree_a_geom").fetchone()
    assert row[4] == "a" and trees == (ROWS,)
    assert row[0] in OUTPUTS[:, 0] and row[1] in OUTPUTS[:, 1] and row[2] in OUTPUTS[:, 0] and row[3] in OUTPUTS[:, 1]


def test_layers_of_a_geopackage(tmp_path: Path) -> None:
    source, target = tmp_path / "a.gpkg", tmp_path / "b.gpkg"
    for layer in ("homes", "offices"):
        people(4326).to_file(source, layer=layer)
    with pytest.raises(InvalidInput, match=r"2 layers: 'homes', 'offices'; layer='…' names one"):
        release_file(HIDE, source, target, Geometry())
    with pytest.raises(InvalidInput, match="no layer 'home'"):
        release_file(HIDE, source, target, Geometry(), layer="home")
    release_file(HIDE, source, target, Geometry("geom"), layer="offices")
    assert pyogrio.list_layers(target)[:, 0].tolist() == ["offices"]
    with pytest.raises(InvalidInput, match="layer= is for a GeoPackage"):
        release_file(HIDE, _written(tmp_path / "a.parquet"), tmp_path / "b.parquet", Geometry(), layer="x")


def _written(place: Path) -> Path:
    write(people(4326), place)
    return place


@pytest.mark.parametrize("ending", ["gpkg", "geojson", "parquet", "csv"])
def test_rows_without_a_point(ending: str, tmp_path: Path) -> None:
    """Missing, empty and other shapes are refused by their row, or left out; what fails leaves nothing behind."""
    frame = people(4326)
    frame.loc[3, "geometry"] = None
    frame.loc[5, "geometry"] = shapely.LineString([(2, 48), (2.1, 48)])
    source, target = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    write(frame, source)
    column = Geometry(crs=4326 if ending == "csv" else None)
    with pytest.raises(BadRow, match=r"row 4: 'geom.*' is missing; on_unknown='drop' leaves such rows out"):
        release_file(HIDE, source, target, column)
    assert [path.name for path in tmp_path.iterdir()] == [source.name]
    done = release_file(HIDE, source, target, column, on_unknown="drop", most_dropped=1)
    assert (done.rows, done.dropped) == (ROWS, 2)
    assert read(target, 4326)["id"].tolist() == [k for k in range(ROWS) if k not in (3, 5)]


@pytest.mark.parametrize("ending", ["gpkg", "shp", "geojson", "parquet", "csv"])
def test_heights_are_refused_or_dropped(ending: str, tmp_path: Path) -> None:
    frame = people(4326)
    frame.geometry = geopandas.points_from_xy(LONGITUDES, LATITUDES, 123.456789 + np.arange(ROWS), crs=4326)
    source, target = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    write(frame, source)
    crs = 4326 if ending == "csv" else None
    with pytest.raises(BadRow, match=r"row 1: .* has a height or measure .* drop_z=True leaves heights"):
        release_file(HIDE, source, target, Geometry(crs=crs), on_unknown="drop", most_dropped=1)
    release_file(HIDE, source, target, Geometry(crs=crs, drop_z=True))
    assert not read(target, 4326).geometry.has_z.any()
    assert b"23.45678" not in contents(target) and struct.pack("<d", 123.456789) not in contents(target)


def collection(features: list[dict[str, Any]], **members: Any) -> str:
    return json.dumps({"type": "FeatureCollection", **members, "features": features}, indent=2)


def feature(x: float, y: float, **more: Any) -> dict[str, Any]:
    where = {"type": "Point", "coordinates": [x, y]}
    return {
        "type": "Feature",
        "properties": {"a": [1, {"b": "]}{"}], "text": 'he said "}],["\n'},
        "geometry": where,
    } | more


def test_geojson_as_people_write_it(tmp_path: Path) -> None:
    """Line breaks anywhere, boxes, brackets in texts, no features at all; everything else stays as it is."""
    source, target = tmp_path / "a.geojson", tmp_path / "b.geojson"
    box = [2.0712345, 48.05, 2.0712345, 48.05]
    features = [feature(2.0712345, 48.05, bbox=box, id=k) for k in range(5)]
    first = {"bbox": box, **features[0]}
    for many in ([], features, [first]):
        source.write_text(collection(many, name="true", bbox=box))
        release_file(HIDE, source, target, Geometry(), overwrite=True, batch=2)
        made = json.loads(target.read_text())
        assert set(made) == {"type", "features"} and len(made["features"]) == len(many)
        assert "2.0712" not in target.read_text()
        for new, old in zip(made["features"], many, strict=True):
            assert new["properties"] == old["properties"] and new.get("bbox") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (collection([], metadata={"extent": 1}), "'metadata' beside its features"),
        ('{"type": "Feature"}', "no list of features"), ("[1]", "does not begin"), ("", "no list of features"),
        (collection([feature(2.05, 48.05)])[:-9], "cut off|JSON"), (collection([feature(1, 1, lat=3)]), "'lat' beside"),
        (collection([feature(2.05, 48.05, properties={"Longitude": 2.05})]), "'Longitude' holds coordinates"),
        (collection([feature(2.05, 48.05, properties={"was": {"type": "Point", "coordinates": [1, 2]}})]), "geometry"),
        (collection([feature(2.05, 48.05)], crs={"type": "name"}), "has no name"),
        (collection([feature(2.05, 48.05)], crs={"properties": {"name": "EPSG:77"}}), "no coordinate system"),
        (collection([{"type": "Feature", "properties": {}}]), "'geometry' is missing"),
    ],
)  # fmt: skip
def test_geojson_that_is_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "a.geojson").write_text(text)
    with pytest.raises(InvalidInput, match=words):
        release_file(HIDE, tmp_path / "a.geojson", tmp_path / "b.geojson", Geometry())
    assert not (tmp_path / "b.geojson").exists()


def test_what_a_format_has_no_place_for(tmp_path: Path) -> None:
    for ending in ("geojson", "gpkg", "shp"):
        source, target = _written(tmp_path / f"a.{ending}"), tmp_path / f"b.{ending}"
        with pytest.raises(NotSupported):
            release_file(HIDE, source, target, Geometry(), into="other", keep=True)
        with pytest.raises((NotSupported, InvalidInput)):
            release_file(HIDE, source, target, Place("lat", "lon"))
    (tmp_path / "c.gpkg").write_text("no file of this kind")
    with pytest.raises(InvalidFile, match="cannot be read"):
        release_file(HIDE, tmp_path / "c.gpkg", tmp_path / "b.gpkg", Geometry())
    with pytest.raises(NotSupported, match="releasing gpkg into parquet"):
        release_file(HIDE, tmp_path / "a.gpkg", tmp_path / "b.parquet", Geometry())


def test_geometries_that_stay_in_text_are_named(tmp_path: Path) -> None:
    rows = {
        "csv": "geometry,depot\nPOINT (2.0712345 48.02),POINT (2.06 48.03)\n",
        "jsonl": '{"geometry": {"type": "Point", "coordinates": [2.0712345, 48.02]}, "depot": "POINT (2.06 48.03)"}\n',
    }
    for ending, text in rows.items():
        source, target = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
        source.write_text(text)
        with pytest.raises(InvalidInput, match="a geometry beside the released columns"):
            release_file(HIDE, source, target, Geometry(crs=4326))
        release_file(HIDE, source, target, Geometry(crs=4326, beside=["depot"]))
        assert "POINT (2.06 48.03)" in target.read_text() and "2.0712" not in target.read_text()


def test_files_beside_a_shapefile_are_never_replaced_by_accident(tmp_path: Path) -> None:
    source, target = _written(tmp_path / "a.shp"), tmp_path / "b.shp"
    (tmp_path / "b.dbf").write_text("mine")
    with pytest.raises(InvalidInput, match=r"b\.dbf is already there"):
        release_file(HIDE, source, target, Geometry())
    assert (tmp_path / "b.dbf").read_text() == "mine" and not target.exists()
    release_file(HIDE, source, target, Geometry(), overwrite=True)
    assert len(geopandas.read_file(target)) == ROWS


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    source = _written(tmp_path / "a.gpkg")

    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release_file(HIDE, source, tmp_path / "b.gpkg", Geometry(), progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["a.gpkg"]


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GeoParquet and GeoJSON in degrees need no other package; the others name the extra."""
    for ending in ("gpkg", "parquet", "geojson"):
        _written(tmp_path / f"a.{ending}")
    people(2154).to_parquet(tmp_path / "far.parquet")
    for package in ("geopandas", "shapely", "pyogrio", "pyproj"):
        monkeypatch.setitem(sys.modules, package, None)
    for ending in ("parquet", "geojson"):
        assert release_file(HIDE, tmp_path / f"a.{ending}", tmp_path / f"b.{ending}", Geometry()).rows == ROWS
    for source, package in (("a.gpkg", "pyogrio"), ("far.parquet", "pyproj")):
        with pytest.raises(MissingExtra, match=rf"{package} is not installed: pip install 'sfumato\[geo\]'"):
            release_file(HIDE, tmp_path / source, tmp_path / f"c{Path(source).suffix}", Geometry())


METADATA: dict[str, Callable[[dict[str, Any]], object]] = {
    "a polygon": lambda geo: geo["columns"]["geometry"].update(encoding="polygon"),
    "another box": lambda geo: geo["columns"]["geometry"].update(covering={"bbox": {"xmin": "bbox"}}),
    "a list": lambda geo: geo.update(columns=[]),
}


@pytest.mark.parametrize("name", METADATA)
def test_metadata_of_geoparquet_that_is_refused(name: str, tmp_path: Path) -> None:
    table = pq.read_table(_written(tmp_path / "a.parquet"))
    geo = json.loads(table.schema.metadata[b"geo"])
    METADATA[name](geo)
    pq.write_table(table.replace_schema_metadata({b"geo": json.dumps(geo)}), tmp_path / "a.parquet")
    with pytest.raises(InvalidInput):
        release_file(HIDE, tmp_path / "a.parquet", tmp_path / "b.parquet", Geometry())


def test_geoparquet_keeps_what_says_nothing_of_points(tmp_path: Path) -> None:
    """System, encoding, row groups and other columns stay; the box goes; statistics are of released points."""
    source, target = tmp_path / "a.parquet", tmp_path / "b.parquet"
    people(2154).to_parquet(source, geometry_encoding="geoarrow", row_group_size=25)
    release_file(HIDE, source, target, Geometry(), batch=7)
    before, after = (json.loads(pq.read_schema(file).metadata[b"geo"]) for file in (source, target))
    assert after["columns"]["geometry"]["crs"] == before["columns"]["geometry"]["crs"]
    assert "bbox" in before["columns"]["geometry"] and "bbox" not in after["columns"]["geometry"]
    metadata = pq.read_metadata(target)
    assert metadata.num_row_groups == 2 and after["columns"]["geometry"]["encoding"] == "point"
    east, _ = from_degrees(OUTPUTS[:, 1], OUTPUTS[:, 0], 2154)
    (x,) = (k for k in range(metadata.num_columns) if metadata.row_group(0).column(k).path_in_schema == "geometry.x")
    assert metadata.row_group(0).column(x).statistics.min in east.tolist()
    assert pa.types.is_struct(pq.read_schema(target).field("geometry").type)
