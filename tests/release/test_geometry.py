from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pandas.api.extensions import ExtensionArray, ExtensionDtype

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.release.batches import batch_release
from sfumato.release.geometry import geo_columns, refuse_geometry_types
from sfumato.release.places import Place, Position
from sfumato.release.streams import release_file
from sfumato.release.tables import release_table
from sfumato.release.terms import Terms

CITIES = sf.geo([(48.85, 2.35), (51.5, -0.12), (52.52, 13.4)], labels=["Paris", "London", "Berlin"])
MECHANISM = sf.exponential(sf.PrivacyType(CITIES, epsilon="1/100"))
RESPONSE = sf.random_response(sf.PrivacyType(sf.discrete(["a", "b", "c"]), epsilon=1))
WHERE = Place("lat", "lon")
WITHIN: dict[str, Any] = {"within": "50 km"}


def wkb(latitude: float, longitude: float) -> bytes:
    return b"\x01" + struct.pack("<Idd", 1, longitude, latitude)


PLACES: dict[str, Any] = {"lat": [48.85, 51.5], "lon": [2.35, -0.12]}
WKB = [wkb(*point) for point in zip(*PLACES.values(), strict=True)]
WKT = ["POINT (2.35 48.85)", "POINT (-0.12 51.5)"]
GEOJSON = [{"type": "Point", "coordinates": [2.35, 48.85]}, {"type": "Point", "coordinates": [-0.12, 51.5]}]
GEO = {b"geo": json.dumps({"version": "1.1.0", "primary_column": "geometry", "columns": {
    "geometry": {"encoding": "WKB", "bbox": [-0.12, 48.85, 2.35, 51.5],
                 "covering": {"bbox": {"xmin": ["box", "xmin"], "ymin": ["box", "ymin"]}}}}}).encode()}  # fmt: skip


class GeometryDtype(ExtensionDtype):
    """What geopandas calls its columns."""

    name = "geometry"
    type = object

    @classmethod
    def construct_array_type(cls) -> type:
        return GeometryArray


class GeometryArray(ExtensionArray):
    """As little of it as pandas needs."""

    dtype = GeometryDtype()

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values, dtype=object)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, item: Any) -> Any:
        return self.values[item] if np.isscalar(item) else GeometryArray(self.values[item])

    def isna(self) -> Any:
        return np.zeros(len(self), dtype=bool)

    def copy(self) -> GeometryArray:
        return GeometryArray(self.values)


class Point:
    """What shapely gives."""

    __geo_interface__ = GEOJSON[0]


def in_pandas(values: Any) -> Any:
    column = GeometryArray(values) if isinstance(values[0], Point) else pd.Series(values, dtype=object)
    return pd.DataFrame({**PLACES, "geometry": column})


def in_arrow(values: Any) -> Any:
    return pa.table({**PLACES, "geometry": pa.array(values)})


def extension(name: str) -> Any:
    field = pa.field("geometry", pa.binary(), metadata={"ARROW:extension:name": name})
    return pa.table([*(pa.array(column) for column in PLACES.values()), pa.array([b"", b""])],
                    schema=pa.schema([("lat", pa.float64()), ("lon", pa.float64()), field]))  # fmt: skip


def from_duckdb() -> Any:
    query = "SELECT 48.85::DOUBLE lat, 2.35::DOUBLE lon, 'POINT(2.35 48.85)'::GEOMETRY geometry"
    return duckdb.connect().sql(query)


TABLES: dict[str, Callable[[], Any]] = {
    "geopandas": lambda: in_pandas([Point(), Point()]),
    "shapely objects": lambda: pd.DataFrame({**PLACES, "geometry": pd.Series([None, Point()], dtype=object)}),
    "pandas, WKB": lambda: in_pandas(WKB),
    "pandas, WKT": lambda: pd.DataFrame({**PLACES, "geometry": WKT}),
    "pandas, GeoJSON": lambda: in_pandas(GEOJSON),
    "pandas, attrs": lambda: _with_attrs(pd.DataFrame({**PLACES, "geometry": [1, 2]})),
    "polars, WKB": lambda: pl.DataFrame({**PLACES, "geometry": WKB}),
    "polars, WKT": lambda: pl.DataFrame({**PLACES, "geometry": [None, WKT[1]]}),
    "polars lazy": lambda: pl.LazyFrame({**PLACES, "geometry": WKB}),
    "polars, GeoJSON": lambda: pl.DataFrame({**PLACES, "geometry": GEOJSON}),
    "narwhals": lambda: nw.from_native(pl.DataFrame({**PLACES, "geometry": WKB})),
    "pyarrow, WKB": lambda: in_arrow(WKB),
    "pyarrow, big-endian WKB": lambda: in_arrow([b"\x00" + struct.pack(">Idd", 1, 2.35, 48.85)] * 2),
    "pyarrow, EWKB": lambda: in_arrow([b"\x01" + struct.pack("<IIdd", 0x20000001, 4326, 2.35, 48.85)] * 2),
    "pyarrow, hexadecimal": lambda: in_arrow([value.hex() for value in WKB]),
    "pyarrow, dictionary": lambda: in_arrow(pa.array(WKT).dictionary_encode()),
    "pyarrow, late": lambda: pa.concat_tables([in_arrow(pa.nulls(2, pa.binary()))] * 3000 + [in_arrow(WKB)]),
    "pyarrow, reader": lambda: in_arrow(WKT).to_reader(),
    "GeoArrow": lambda: extension("geoarrow.wkb"),
    "OGC": lambda: extension("ogc.wkb"),
    "GeoParquet in memory": lambda: in_arrow([b"", b""]).replace_schema_metadata(GEO),
    "DuckDB": from_duckdb,
}


def _with_attrs(table: Any) -> Any:
    table.attrs["geo"] = json.loads(GEO[b"geo"])
    return table


@pytest.mark.parametrize("case", TABLES)
def test_a_geometry_beside_a_released_place_is_refused(case: str) -> None:
    with pytest.raises(InvalidInput, match=r"^the column 'geometry' holds geometries.*: drop the column first$"):
        release_table(MECHANISM, TABLES[case](), WHERE, **WITHIN)


def test_what_is_no_geometry_stays() -> None:
    others = {
        "note": ["the POINT (see below)", "Polygon"], "raw": [b"\x01\x02", b"\x00" * 40], "parts": [[1, 2], [3]],
        "kind": [{"type": "Point"}, {"type": "Line"}], "digits": ["01" * 20, "00" * 20], "none": pa.nulls(2),
    }  # fmt: skip
    done = release_table(MECHANISM, pa.table({**PLACES, **others}), WHERE, **WITHIN)
    assert done.column_names == ["lat", "lon", *others] and done["note"].to_pylist() == others["note"]


def test_labels_of_places_count_as_places() -> None:
    table = pa.table({"city": ["Paris", "London"], "geometry": WKB})
    with pytest.raises(InvalidInput, match="drop the column first"):
        release_table(MECHANISM, table, "city")
    assert (
        release_table(MECHANISM, table, "city", into="noisy", keep=True)["geometry"].to_pylist() == WKB
    )  # the truth stays
    grid = sf.exponential(sf.PrivacyType(sf.grid(2, 2), epsilon=1))
    with pytest.raises(InvalidInput, match="drop the column first"):
        release_table(grid, pa.table({"x": [0.0], "y": [0.0], "shape": WKT[:1]}), Position("x", "y"))


def test_a_geometry_says_nothing_about_other_secrets() -> None:
    table = pa.table({"answer": ["a", "b"], "geometry": WKB}).replace_schema_metadata(GEO)
    done = release_table(RESPONSE, table, "answer")
    assert done["geometry"].to_pylist() == WKB and b"bbox" not in done.schema.metadata[b"geo"]


def test_the_box_around_the_true_places_goes(tmp_path: Path) -> None:
    """A table whose geometry was dropped may still have GeoParquet's metadata, with the box."""
    table = pa.table(PLACES).replace_schema_metadata({**GEO, b"owner": b"me"})
    assert release_table(MECHANISM, table, WHERE, **WITHIN).schema.metadata is None
    assert "geo" not in release_table(MECHANISM, _with_attrs(pd.DataFrame(PLACES)), WHERE, **WITHIN).attrs
    pq.write_table(table, tmp_path / "in.parquet")
    release_file(MECHANISM, tmp_path / "in.parquet", tmp_path / "out.parquet", WHERE, **WITHIN)
    assert pq.read_schema(tmp_path / "out.parquet").metadata is None


def test_columns_that_geoparquet_names() -> None:
    assert geo_columns(GEO[b"geo"]) == {"geometry", "box"}
    for wrong in (b"{", b"[]", b'{"columns": 5}', b'{"columns": {"a": 1}}'):
        with pytest.raises(InvalidInput, match="'geo' cannot be read"):
            geo_columns(wrong)
    boxed = pa.table({**PLACES, "box": [{"xmin": 2.35}, {"xmin": -0.12}]}).replace_schema_metadata(GEO)
    with pytest.raises(InvalidInput, match="the column 'box' holds geometries"):
        release_table(MECHANISM, boxed, WHERE, **WITHIN)


FILES: dict[str, Callable[[Path], object]] = {
    "a.parquet": lambda path: pq.write_table(in_arrow(WKB), path),
    "geo.parquet": lambda path: pq.write_table(in_arrow([b"", b""]).replace_schema_metadata(GEO), path),
    "extension.parquet": lambda path: pq.write_table(extension("geoarrow.wkb"), path),
    "a.arrow": lambda path: _write_arrow(in_arrow(WKB), path),
    "a.jsonl": lambda path: _write_lines([{"geometry": shape} for shape in GEOJSON], path),
    "spaced.jsonl": lambda path: _write_lines(
        [{"properties": {"geometry": dict(reversed(shape.items()))}} for shape in GEOJSON], path
    ),
    "text.jsonl": lambda path: _write_lines([{"shape": shape} for shape in WKT], path),
    "wkt.csv": lambda path: path.write_text(f'lat,lon,shape\n48.85,2.35,\n51.5,-0.12,"{WKT[1]}"\n'),
    "hex.csv": lambda path: path.write_text(f"lat,lon,shape\n48.85,2.35,\n51.5,-0.12,{WKB[1].hex()}\n"),
    "geojson.csv": lambda path: path.write_text(
        'lat,lon,shape\n48.85,2.35,"{""type"": ""Point"", ""coordinates"": [2.35, 48.85]}"\n'
    ),
}


def _write_arrow(table: Any, path: Path) -> None:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def _write_lines(more: list[dict[str, Any]], path: Path) -> None:
    rows = [dict(zip(PLACES, point, strict=True)) for point in zip(*PLACES.values(), strict=True)]
    path.write_text("".join(json.dumps(row | extra) + "\n" for row, extra in zip(rows, more, strict=True)))


@pytest.mark.parametrize("name", FILES)
def test_files_with_geometries_are_refused_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    source, target = tmp_path / name, tmp_path / f"out{Path(name).suffix}"
    FILES[name](source)
    with pytest.raises(InvalidInput, match=r"drop (it|the column) first"):
        release_file(MECHANISM, source, target, WHERE, **WITHIN)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_rows_that_are_sorted_by_the_secret(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2, 3], "home": ["a", "b", "c"]})
    pq.write_table(table, tmp_path / "in.parquet", sorting_columns=[pq.SortingColumn(1)])
    with pytest.raises(InvalidInput, match="sorted by 'home', so that their order tells the secrets"):
        release_file(RESPONSE, tmp_path / "in.parquet", tmp_path / "out.parquet", "home")
    pq.write_table(table, tmp_path / "by id.parquet", sorting_columns=[pq.SortingColumn(0)])
    release_file(RESPONSE, tmp_path / "by id.parquet", tmp_path / "out.parquet", "home")
    assert pq.read_table(tmp_path / "out.parquet")["id"].to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["geometry(4326)", "geometry", "geography(4326)", "geography(any)"])
def test_types_that_name_themselves_geometries(kind: str) -> None:
    """As Spark writes them; ``tests/engines`` asks Spark itself."""
    work = batch_release(MECHANISM, Terms(WHERE, on_unknown="nearest"))
    with pytest.raises(InvalidInput, match="the column 'shape' holds geometries"):
        refuse_geometry_types({"lat": "double", "shape": kind}, work)
    refuse_geometry_types({"lat": "double", "shape": "string"}, work)
