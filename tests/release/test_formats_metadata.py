"""What a schema or a frame says beside names, types and values is made anew, in every engine and format."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from box_tables import box_mechanism
from sfumato.release.formats.layouts import extension_name
from sfumato.release.formats.metadata import pandas_anew
from sfumato.release.places import Geometry
from sfumato.release.streams import release_file
from sfumato.release.tables import release_table
from sfumato.spaces import earth_box
from table_files import FORMATS

RESPONSE = sf.random_response(sf.PrivacyType(sf.discrete(["a", "b", "c"]), epsilon=1))
PLANTED = "Atlantis"
NOTE = {"note": PLANTED}
GEO = {
    "version": PLANTED,
    "primary_column": "shape",
    "columns": {
        "shape": {"encoding": "WKB", "geometry_types": [PLANTED], "bbox": [1.0, 2.0, 3.0, 4.0], "orientation": PLANTED,
                  "edges": PLANTED, "epoch": PLANTED, "note": PLANTED, "covering": {PLANTED: {}}},
    },
    "note": PLANTED,
}  # fmt: skip


def noted() -> pa.Table:
    """A table with a note in each place where Arrow has one, at any depth."""
    inner = pa.field("k", pa.int64(), metadata=NOTE)
    frame = pd.DataFrame({"home": ["a", "b"], "age": pd.array([1, None], dtype="Int64")}, index=["x", "y"])
    frame.attrs, frame.columns.name, frame.index.name = NOTE, PLANTED, "row"
    table = pa.Table.from_pandas(frame)
    about = json.loads(table.schema.metadata[b"pandas"])
    for entry in about["columns"]:
        entry["metadata"] = NOTE
    about["columns"].append({"name": "age", "field_name": "age", "pandas_type": PLANTED, "numpy_type": PLANTED})
    columns: dict[str, tuple[Any, Any]] = {
        "record": (pa.struct([inner]), [{"k": 1}, None]),
        "list": (pa.list_(inner), [[1, 2], None]),
        "large": (pa.large_list(inner), [[1], []]),
        "fixed": (pa.list_(inner, 1), [[1], None]),
        "map": (pa.map_(pa.string(), inner), [[("one", 1)], None]),
        "deep": (pa.list_(pa.struct([pa.field("l", pa.list_(inner))])), [[{"l": [1]}], None]),
        "shape": (pa.binary(), [None, None]),
        "period": (pa.int64(), [1, 2]),
        "unknown": (pa.int64(), [1, 2]),
    }
    extensions = {"period": ("pandas.period", {"freq": "M", **NOTE}), "unknown": (PLANTED, NOTE)}
    for name, (kind, values) in columns.items():
        more: dict[str, Any] = dict(NOTE)
        if name in extensions:
            called, parameters = extensions[name]
            more |= {"ARROW:extension:name": called, "ARROW:extension:metadata": json.dumps(parameters)}
        table = table.append_column(pa.field(name, kind, metadata=more), pa.array(values, kind))
    table = table.cast(table.schema.set(0, table.schema.field(0).with_metadata(NOTE)))
    return table.replace_schema_metadata(
        {"owner": PLANTED, "pandas": json.dumps(about), "geo": json.dumps(GEO), PLANTED: "yes"}
    )


TABLES = {
    "table": lambda t: t,
    "batch": lambda t: t.combine_chunks().to_batches()[0],
    "reader": lambda t: t.to_reader(),
    "dataset": ds.dataset,
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_arrow_have_the_values_and_no_notes(kind: str) -> None:
    table = noted()
    done = release_table(RESPONSE, TABLES[kind](table), "home")
    done = done.read_all() if kind == "reader" else done.to_table() if kind == "dataset" else pa.table(done)
    assert PLANTED.encode() in pickle.dumps(table) and PLANTED.encode() not in pickle.dumps(done)
    nested = [column.type.field(0) for column in done.columns if column.type.num_fields]
    assert len(nested) == 6 and all(field.metadata is None for field in nested)
    others = [name for name in table.column_names if name != "home"]
    assert done.select(others).to_pydict() == table.select(others).to_pydict()
    assert (
        extension_name(done.schema.field("period")) == "pandas.period"
    )  # whether pandas made it known to Arrow or not


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".arrows"])
def test_files_have_the_values_and_no_notes(ending: str, tmp_path: Path) -> None:
    source, target = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    FORMATS[ending][0](noted(), source)
    release_file(RESPONSE, source, target, "home")
    assert PLANTED.encode() in source.read_bytes() and PLANTED.encode() not in target.read_bytes()
    done = FORMATS[ending][1](target)
    assert done["deep"].to_pylist() == [[{"l": [1]}], None] and b"owner" not in done.schema.metadata


def test_pandas_finds_its_types_and_its_index_again(tmp_path: Path) -> None:
    frame = pd.DataFrame({"home": ["a", "b", "c"], "age": pd.array([1, None, 3], dtype="Int64")}, index=["x", "y", "z"])
    frame.to_parquet(tmp_path / "in.parquet")
    release_file(RESPONSE, tmp_path / "in.parquet", tmp_path / "out.parquet", "home")
    done = pd.read_parquet(tmp_path / "out.parquet")
    assert done["age"].dtype == "Int64" and done.index.tolist() == ["x", "y", "z"]


def test_how_many_rows_there_were_is_not_said() -> None:
    """The index of pandas is a range that ends where the true table ended."""
    frame = pd.DataFrame({"home": ["a", "Atlantis", "c"], "age": [1, 2, 3]})
    done = release_table(RESPONSE, pa.Table.from_pandas(frame), "home", on_unknown="drop", most_dropped=1)
    assert json.loads(done.schema.metadata[b"pandas"])["index_columns"] == []
    assert done.to_pandas().index.tolist() == [0, 1]


def test_attributes_of_frames_are_gone() -> None:
    frame = pd.DataFrame({"home": ["a", "b"], "age": [1, 2]})
    frame.attrs, frame.columns.name = {"extent": [1.0, 2.0], "note": PLANTED}, PLANTED
    done = release_table(RESPONSE, frame, "home")
    assert done.attrs == {} and done.columns.name is None
    assert PLANTED.encode() in pickle.dumps(frame) and PLANTED.encode() not in pickle.dumps(done)


def test_polars_and_duckdb_say_nothing_else() -> None:
    plain = noted().select(["home", "age"])
    made: list[Any] = [pl.from_arrow(plain), duckdb.connect().from_arrow(plain)]
    for table in made:
        done = release_table(RESPONSE, table, "home")
        assert PLANTED not in str(getattr(done, "to_arrow_table", getattr(done, "to_arrow", None))().schema.metadata)


def test_a_system_is_written_anew(tmp_path: Path) -> None:
    """A system of its own may have remarks, and an area of use that is that of the data."""
    pyproj = pytest.importorskip("pyproj")
    system = pyproj.CRS.from_user_input("+proj=tmerc +lat_0=10 +lon_0=20 +type=crs").to_json_dict()
    system |= {"remarks": PLANTED, "area": PLANTED}
    known = pyproj.CRS.from_epsg(2154).to_json_dict() | {"name": PLANTED, "scope": PLANTED}
    for crs in (system, known):
        about = {"columns": {"shape": {"encoding": "WKB", "crs": crs, "geometry_types": []}}, "primary_column": "shape"}
        field = pa.field("shape", pa.binary(), metadata={
            "ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": json.dumps({"crs": crs, **NOTE}),
        })  # fmt: skip
        table = pa.table([pa.array(["a"]), pa.array([b"x"])], schema=pa.schema([pa.field("home", pa.string()), field]))
        done = release_table(RESPONSE, table.replace_schema_metadata({"geo": json.dumps(about)}), "home")
        assert PLANTED.encode() not in pickle.dumps(done)
        again = json.loads(done.schema.metadata[b"geo"])["columns"]["shape"]["crs"]
        assert pyproj.CRS.from_json_dict(again) == pyproj.CRS.from_json_dict(crs)
        in_field = json.loads(done.schema.field("shape").metadata[b"ARROW:extension:metadata"])
        assert in_field["crs"] == again and in_field["crs_type"] == "projjson"


def test_layers_have_no_notes(tmp_path: Path) -> None:
    geopandas = pytest.importorskip("geopandas")
    town = earth_box(48, 2, sides=(10, 10), step=5)
    points = geopandas.points_from_xy([2.01, 2.02], [48.01, 48.02], crs=4326)
    frame, source = geopandas.GeoDataFrame({"id": [1, 2], "geometry": points}), tmp_path / "in.gpkg"
    frame.to_file(source, layer="homes", layer_metadata=NOTE, DESCRIPTION=PLANTED, IDENTIFIER=PLANTED)
    release_file(box_mechanism(town, outputs=6), source, tmp_path / "out.gpkg", Geometry())
    assert PLANTED.encode() in source.read_bytes() and PLANTED.encode() not in (tmp_path / "out.gpkg").read_bytes()


@pytest.mark.parametrize("about", [b"{", b"[]", b'{"columns": 5, "index_columns": []}', b'{"columns": [1]}', None])
def test_what_cannot_be_read_is_gone(about: bytes | None) -> None:
    assert pandas_anew({b"pandas": about} if about else {}, ["a"], []) == {}


def test_field_numbers_of_parquet_are_no_part_of_the_type(tmp_path: Path) -> None:
    table = pa.table({"home": ["a"], "n": [1]})
    schema = table.schema.set(1, table.schema.field(1).with_metadata({"PARQUET:field_id": "1973"}))
    pq.write_table(table.cast(schema), tmp_path / "in.parquet")
    release_file(RESPONSE, tmp_path / "in.parquet", tmp_path / "out.parquet", "home")
    assert b"1973" not in str(pq.read_schema(tmp_path / "out.parquet").field("n").metadata).encode()
