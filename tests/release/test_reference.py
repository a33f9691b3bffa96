"""What a file says of its points before any of them is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from sfumato.errors import InvalidInput, NotSupported
from sfumato.release import coordinate_reference
from sfumato.release.places import Geometry, Place, Position

FRAME = geopandas.GeoDataFrame({"id": [1], "geometry": geopandas.points_from_xy([2.35], [48.85], crs=4326)})


@pytest.mark.parametrize("crs", [4326, 2154])
@pytest.mark.parametrize("ending", ["gpkg", "shp", "shp.zip", "geojson", "geojsonl", "parquet"])
def test_files_that_say_it(ending: str, crs: int, tmp_path: Path) -> None:
    place = tmp_path / f"a.{ending}"
    frame = FRAME if ending == "geojsonl" else FRAME.to_crs(crs)
    if ending == "parquet":
        frame.to_parquet(place)
    else:
        frame.to_file(place, driver="GeoJSONSeq" if ending == "geojsonl" else None)
    found = coordinate_reference(place)
    told = 4326 if ending == "geojsonl" else crs
    assert found.crs == f"EPSG:{told}" and found.geographic is (told == 4326)
    assert found.unit == ("degree" if told == 4326 else "m")
    assert isinstance(found.column, Geometry) and found.column.columns == found.geometries
    assert found.left == ("id",) and found.why == ""
    with pytest.raises(InvalidInput, match="but crs='EPSG:3857' was given"):
        coordinate_reference(place, crs=3857)


CSV: dict[str, tuple[str, Any, str]] = {
    "places": ("id,Lat,lng", Place, "EPSG:4326"), "positions": ("x;y;n", Position, ""),
    "texts": ("id,WKT", Geometry, ""), "none": ("a,b", None, ""), "two latitudes": ("lat,latitude,lon", None, ""),
    "two kinds": ("lat,lon,x,y", None, ""), "words": ("id,longitude_start,latitude_start", Place, "EPSG:4326"),
    "axes": ("x_s,y_s,x_ray", Position, ""), "two ends": ("lat_s,lon_s,lat_e,lon_e", None, ""),
    "a shape first": ("lat_err,lon_err,geom", Geometry, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", CSV)
def test_files_with_columns_by_name(name: str, tmp_path: Path) -> None:
    header, kind, crs = CSV[name]
    (tmp_path / "a.csv").write_text(header + "\n")
    found = coordinate_reference(tmp_path / "a.csv")
    assert found.crs == crs and (found.column is None if kind is None else type(found.column) is kind)
    assert bool(found.why) is (kind is None)
    if name == "two latitudes":
        assert "'lat', 'latitude' could each be the latitude" in found.why
    if name == "positions":
        known = coordinate_reference(tmp_path / "a.csv", crs="EPSG:2154")
        assert known.crs == "EPSG:2154" and repr(known.column) == "Position('x', 'y', crs='EPSG:2154')"
        assert known.left == ("n",)


def test_other_files(tmp_path: Path) -> None:
    table = pa.table({"lat": [48.85], "lon": [2.35]})
    pq.write_table(table, tmp_path / "a.parquet")
    pa.feather.write_feather(table, tmp_path / "a.arrow")
    (tmp_path / "a.jsonl").write_text('{"lat": 48.85, "lon": 2.35}\n')
    for ending in ("parquet", "arrow", "jsonl"):
        assert type(coordinate_reference(tmp_path / f"a.{ending}").column) is Place
    (tmp_path / "b.jsonl").write_text("[1]\n")
    with pytest.raises(InvalidInput, match="no file of JSON objects"):
        coordinate_reference(tmp_path / "b.jsonl")
    with pytest.raises(InvalidInput, match="there is no file"):
        coordinate_reference(tmp_path / "missing.csv")
    (tmp_path / "a.docx").write_text("")
    with pytest.raises(NotSupported, match="the format of"):
        coordinate_reference(tmp_path / "a.docx")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InvalidInput):
        coordinate_reference(tmp_path / "empty.csv")
