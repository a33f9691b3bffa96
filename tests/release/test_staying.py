"""Columns that stay have the values of released rows, and no dictionary, view or level names any other."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.errors import NotSupported
from sfumato.release.staying import compacted, staying, staying_type
from sfumato.release.streams import release_file
from sfumato.release.tables import release_table
from table_files import FORMATS

RESPONSE = sf.random_response(sf.PrivacyType(sf.discrete(["a", "b", "c"]), epsilon=1))
LEFT_OUT = "Atlantis, where somebody lived"
UNUSED = "Lemuria, where nobody lives"
KNOWN = ["Rome, in the middle of Italy", "Oslo", LEFT_OUT, UNUSED]
CODES = [1, 0, 2, None, 1]
HOMES = ["a", "b", "elsewhere", "c", "a"]
HOMES_KEPT = [True, True, False, True, True]
STAY = ["Oslo", KNOWN[0], None, "Oslo"]


def coded(ordered: bool = False, codes: Any = CODES, values: Any = KNOWN) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(values), ordered=ordered)


def columns() -> dict[str, Any]:
    """Columns of all types that could name a row that is left out, in Arrow."""
    one = coded()
    plain = one.cast(pa.string())
    return {
        "coded": one,
        "ordered": coded(ordered=True),
        "view": plain.cast(pa.string_view()),
        "bytes": plain.cast(pa.binary()).cast(pa.binary_view()),
        "record": pa.StructArray.from_arrays([one], ["town"]),
        "list": pa.ListArray.from_arrays(pa.array([0, 1, 2, 3, 4, 5], pa.int32()), one),
        "views": pa.array([[town] for town in plain.to_pylist()], pa.list_view(pa.string())),
        "fixed": pa.FixedSizeListArray.from_arrays(one, 1),
        "map": pa.array([[("k", town)] for town in plain.to_pylist()], pa.map_(pa.string(), pa.string_view())),
        "records": pa.DictionaryArray.from_arrays(pa.array(CODES, pa.int8()), pa.array([{"t": t} for t in KNOWN])),
    }


WRITABLE = {".parquet": ["coded", "ordered", "record", "list", "fixed"],
            ".arrow": ["coded", "ordered", "view", "record", "list", "views", "fixed", "map"]}  # fmt: skip
WRITABLE[".arrows"] = WRITABLE[".arrow"]


def hidden(done: bytes) -> bool:
    return LEFT_OUT.encode() not in done and UNUSED.encode() not in done


@pytest.mark.parametrize("name", columns())
@pytest.mark.parametrize("drop", [True, False])
def test_tables_of_arrow_name_no_other_row(name: str, drop: bool) -> None:
    """Where nothing is left out, values that no row has are still gone."""
    homes = HOMES if drop else ["a"] * 5
    table = pa.table({"home": homes, "other": columns()[name]})
    done = release_table(RESPONSE, table, "home", on_unknown="drop", most_dropped=1, batch=2)
    kept = [k for k in range(5) if not drop or k != 2]
    assert done["other"].to_pylist() == [table["other"].to_pylist()[k] for k in kept]
    told = pickle.dumps(done)
    assert UNUSED.encode() not in told and (LEFT_OUT.encode() not in told) == drop
    with pa.BufferOutputStream() as sink, pa.ipc.new_stream(sink, done.schema) as writer:
        writer.write_table(done)
    assert hidden(sink.getvalue().to_pybytes()) or not drop


@pytest.mark.parametrize(("ending", "name"), [(ending, name) for ending in WRITABLE for name in WRITABLE[ending]])
def test_files_name_no_other_row(ending: str, name: str, tmp_path: Path) -> None:
    table = pa.table({"home": HOMES * 500, "other": pa.concat_arrays([columns()[name]] * 500)})
    source, target = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    FORMATS[ending][0](table, source)
    release_file(RESPONSE, source, target, "home", on_unknown="drop", most_dropped=1, batch=300)
    done = FORMATS[ending][1](target)["other"]
    values = columns()[name].to_pylist()
    expected = [value for value, kept in zip(values, HOMES_KEPT, strict=True) if kept]
    assert done.to_pylist() == expected * 500
    assert LEFT_OUT.encode() in source.read_bytes() and hidden(target.read_bytes())
    if name in ("coded", "ordered"):
        assert pa.types.is_dictionary(done.type)


def test_an_order_of_values_stays_where_a_file_can_hold_it(tmp_path: Path) -> None:
    """A file of several parts has a dictionary for each, or one that grows: a late value stands between no others."""
    grown = pa.chunked_array(
        [coded(True, [0, 2], ["low", "middle", "high"]), coded(True, [1, 2], ["low", "middle", "high"])]
    )
    table = pa.table({"home": ["a", "b"] * 2, "level": grown})
    assert release_table(RESPONSE, table, "home")["level"].type.ordered
    parts = ((".parquet", True), (".arrows", False), (".arrow", False), (".arrow", True), (".parquet", False))
    for number, (ending, ordered) in enumerate(parts):
        source, target = tmp_path / f"in{number}{ending}", tmp_path / f"out{number}{ending}"
        if number == len(parts) - 1:
            pq.write_table(table, source, row_group_size=2)
        else:
            FORMATS[ending][0](table.combine_chunks() if ordered else table, source)
        release_file(RESPONSE, source, target, "home", batch=2, overwrite=True)
        done = FORMATS[ending][1](target)["level"]
        assert done.type.ordered == ordered and done.to_pylist() == ["low", "high", "middle", "high"]
        if ordered:
            assert done.to_pandas().cat.categories.tolist() == ["low", "middle", "high"]


def test_chunks_have_one_dictionary() -> None:
    table = pa.table({"town": pa.chunked_array([coded(codes=[1, 0]), coded(codes=[None, 1])])})
    done = compacted(table, ["town"])["town"]
    assert [part.dictionary.to_pylist() for part in done.chunks] == [KNOWN[:2]] * 2
    assert done.to_pylist() == table["town"].to_pylist()
    empty = pa.table({"town": coded()}).slice(0, 0)
    assert compacted(empty, ["town"])["town"].to_pylist() == []


@pytest.mark.parametrize("seed", range(20))
def test_values_are_the_same(seed: int) -> None:
    """Whatever slices, missing values, types of indices and repeated values there are."""
    rng = np.random.default_rng(seed)
    values = pa.array([["x", "y", "z", "x", None][k] for k in rng.integers(0, 5, 5)], pa.string())
    codes = pa.array(rng.integers(0, 5, 30), [pa.int8(), pa.uint16(), pa.int64()][seed % 3], mask=rng.random(30) < 0.2)
    array = pa.DictionaryArray.from_arrays(codes, values).slice(3, 20)
    for one in (array, pa.StructArray.from_arrays([array], ["k"]), pa.chunked_array([array, array.slice(2)])):
        done = staying(one)
        assert done.to_pylist() == one.to_pylist() and done.type == staying_type(one.type)
        done.validate(full=True)
    deep = pa.array([[{"k": "a"}, None], None, [], [{"k": None}]], pa.list_(pa.struct([("k", pa.string_view())])))
    assert staying(deep.slice(1)).to_pylist() == deep.slice(1).to_pylist()


def test_extensions_and_runs() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 5]), coded(codes=[0, 1]))
    assert staying(runs).to_pylist() == [KNOWN[0]] * 2 + ["Oslo"] * 3
    opaque = pa.ExtensionArray.from_storage(pa.opaque(pa.string(), LEFT_OUT, UNUSED), pa.array(["x"]))
    assert staying(opaque).type == pa.string()
    union = pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [coded()])
    with pytest.raises(NotSupported, match="with dictionaries or notes inside"):
        staying(union)


PANDAS: dict[str, Any] = {
    "category": lambda: pd.Categorical.from_codes([1, 0, 2, -1, 1], categories=KNOWN, ordered=True),
    "Arrow": lambda: pd.array(coded(), dtype=pd.ArrowDtype(coded().type)),
    "Arrow record": lambda: pd.array(columns()["record"], dtype=pd.ArrowDtype(columns()["record"].type)),
}


@pytest.mark.parametrize("name", PANDAS)
def test_categories_of_pandas(name: str) -> None:
    frame = pd.DataFrame({"home": HOMES, "other": PANDAS[name]()})
    done = release_table(RESPONSE, frame, "home", on_unknown="drop", most_dropped=1)
    assert LEFT_OUT.encode() in pickle.dumps(frame) and hidden(pickle.dumps(done))
    told = [None if value is pd.NA or value is np.nan else value for value in done["other"].tolist()]
    assert told == ([{"town": town} for town in STAY] if name == "Arrow record" else STAY)
    if name == "category":
        assert done["other"].dtype.ordered and done["other"].cat.categories.tolist() == KNOWN[:2]


def test_row_names_of_pandas() -> None:
    towns = pd.Categorical.from_codes([1, 0, 2, -1, 1], categories=KNOWN)
    for index in (pd.CategoricalIndex(towns), pd.MultiIndex.from_arrays([towns, [*"uvwxy"]])):
        frame = pd.DataFrame({"home": HOMES}, index=index)
        done = release_table(RESPONSE, frame, "home", on_unknown="drop", most_dropped=1)
        assert hidden(pickle.dumps(done)) and str(done.index.tolist()) == str(frame[HOMES_KEPT].index.tolist())


@pytest.mark.parametrize("kind", [pl.Categorical(), pl.Enum(KNOWN), pl.List(pl.Enum(KNOWN)),
                                  pl.Array(pl.Enum(KNOWN), 1), pl.Struct({"town": pl.Enum(KNOWN)})])  # fmt: skip
def test_enumerations_of_polars(kind: Any) -> None:
    towns = [None if code is None else KNOWN[code] for code in CODES]
    values: list[Any] = towns
    if isinstance(kind, pl.List | pl.Array):
        values = [[town] for town in towns]
    elif isinstance(kind, pl.Struct):
        values = [{"town": town} for town in towns]
    frame = pl.DataFrame({"home": HOMES, "other": pl.Series(values, dtype=kind)})
    done = release_table(RESPONSE, frame, "home", on_unknown="drop", most_dropped=1)
    assert done["other"].to_list() == [value for k, value in enumerate(values) if k != 2]
    assert LEFT_OUT not in str(done.schema) + str(done.to_arrow().to_pydict()) and hidden(pickle.dumps(done))
    if isinstance(kind, pl.Enum):
        assert done.schema["other"] == pl.Enum(KNOWN[:2])


def test_enumerations_of_duckdb_and_datasets() -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE TYPE town AS ENUM ('Oslo', '{LEFT_OUT}', '{UNUSED}')")
    connection.execute("CREATE TABLE given AS SELECT 'a' AS home, 'Oslo'::town AS other")
    connection.execute(f"INSERT INTO given VALUES ('elsewhere', '{LEFT_OUT}')")
    done = release_table(RESPONSE, connection.sql("SELECT * FROM given"), "home", on_unknown="drop", most_dropped=1)
    assert [str(kind) for kind in done.types][1] in ("ENUM('Oslo')", "VARCHAR")
    table = release_table(
        RESPONSE, ds.dataset(pa.table({"home": HOMES, "other": coded()})), "home", on_unknown="drop", most_dropped=1
    )
    assert hidden(pickle.dumps(table.to_table()))
