from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from scipy.stats import chisquare

import sfumato as sf
from sfumato.errors import BudgetExceeded, InvalidInput, NotSupported
from sfumato.mechanisms.lattice import Lattice
from sfumato.mechanisms.line import InfiniteGeometric
from sfumato.release.batches import Progress
from sfumato.release.ledger.ledger import Ledger
from sfumato.release.places import Place, Position
from sfumato.release.rows import BadRow
from sfumato.release.streams import release_file
from sfumato.release.tables import release_table

RESPONSE = sf.random_response(sf.PrivacyType(sf.discrete(["a", "b", "c"]), epsilon=1))
KEY = bytes(range(32))
STATED: dict[str, Any] = {"secret_never_changes": True}
KEYED: dict[str, Any] = {"key": KEY, "row_id": "id", **STATED}


class Streamed:
    """A table of a library that nobody knows."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


def relation(table: Any) -> Any:
    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("CREATE TABLE stored AS SELECT * FROM given")
    return connection.sql("SELECT * FROM stored ORDER BY id")


ENGINES: dict[str, tuple[Callable[[Any], Any], type]] = {
    "pandas": (lambda t: t.to_pandas(), pd.DataFrame),
    "pandas on Arrow": (lambda t: t.to_pandas(types_mapper=pd.ArrowDtype), pd.DataFrame),
    "polars": (pl.from_arrow, pl.DataFrame),
    "polars lazy": (lambda t: pl.from_arrow(t).lazy(), pl.DataFrame),  # type: ignore[union-attr]
    "pyarrow": (lambda t: t, pa.Table),
    "pyarrow batch": (lambda t: t.combine_chunks().to_batches()[0], pa.RecordBatch),
    "pyarrow reader": (lambda t: t.to_reader(max_chunksize=1000), pa.RecordBatchReader),
    "pyarrow dataset": (ds.dataset, ds.Dataset),
    "duckdb": (relation, duckdb.DuckDBPyRelation),
    "any stream": (Streamed, pa.Table),
    "narwhals": (lambda t: nw.from_native(pl.from_arrow(t)), nw.DataFrame),
}


def as_arrow(table: Any) -> Any:
    if isinstance(table, nw.DataFrame):
        return table.to_arrow()
    if isinstance(table, pd.DataFrame):
        return pa.Table.from_pandas(table, preserve_index=False)
    if isinstance(table, ds.Dataset):
        return table.to_table()
    if isinstance(table, duckdb.DuckDBPyRelation):
        return table.to_arrow_table()
    if isinstance(table, pa.RecordBatchReader):
        return table.read_all()
    return pa.table(table)


def example(rows: int = 5000, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    return pa.table({
        "id": pa.array(rng.permutation(rows)),
        "home": pa.array(np.array(["a", "b", "c"])[rng.integers(0, 3, rows)]),
        "amount": pa.array(rng.normal(size=rows)),
        "note": pa.array([None if i % 7 == 0 else f"n{i}" for i in range(rows)]),
    }).sort_by("id")  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gets_its_own_kind_back(engine: str) -> None:
    given, kind = ENGINES[engine]
    table = example()
    noisy = release_table(RESPONSE, given(table), "home", batch=700)
    assert isinstance(noisy, kind)
    done = as_arrow(noisy)
    assert done.column_names == table.column_names
    for name in ("id", "amount", "note"):
        assert done[name].to_pylist() == table[name].to_pylist()
    assert {str(v) for v in done["home"].to_pylist()} == {"a", "b", "c"}
    assert done["home"].to_pylist() != table["home"].to_pylist()


@pytest.mark.parametrize("engine", ENGINES)
def test_noise_is_drawn_once_and_for_each_row(engine: str) -> None:
    """The two accidents: noise drawn again when a table is looked at again, and one noise value for many rows."""
    given, kind = ENGINES[engine]
    rows = 4000
    table = example(rows).set_column(1, "home", pa.array(["a"] * rows))
    noisy = release_table(RESPONSE, given(table), "home", batch=512)
    first = as_arrow(noisy)["home"].to_pylist()
    if kind is not pa.RecordBatchReader:  # which can be read once only
        assert as_arrow(noisy)["home"].to_pylist() == first
    # e/(e + 2) of the rows stay: with probability below 1e-12 the count is outside these
    assert 2000 < first.count("a") < 2650 and {"b", "c"} <= set(first)
    again = as_arrow(release_table(RESPONSE, given(table), "home", batch=512))["home"].to_pylist()
    assert again != first  # without a key another call is another release


@pytest.mark.parametrize("engine", ENGINES)
def test_with_a_key_a_row_is_answered_once(engine: str) -> None:
    given, _ = ENGINES[engine]
    table = example()
    whole = release_table(RESPONSE, table, "home", **KEYED)
    answers = dict(zip(whole["id"].to_pylist(), whole["home"].to_pylist(), strict=True))
    some = table.take(pa.array(np.random.default_rng(3).permutation(len(table))[:999]))
    done = as_arrow(release_table(RESPONSE, given(some.sort_by("id")), "home", **KEYED, batch=100))
    assert [answers[i] for i in done["id"].to_pylist()] == [str(v) for v in done["home"].to_pylist()]
    other = as_arrow(release_table(RESPONSE, given(some), "home", key=bytes(32), row_id="id", **STATED))
    assert [answers[i] for i in other["id"].to_pylist()] != [str(v) for v in other["home"].to_pylist()]


def test_lazy_tables_are_evaluated_once() -> None:
    calls = []

    def counted(frame: pl.DataFrame) -> pl.DataFrame:
        calls.append(len(frame))
        return frame

    frame = pl.LazyFrame({"home": ["a", "b"] * 50}).map_batches(counted)
    noisy = release_table(RESPONSE, frame, "home", batch=10)
    assert calls == [100] and noisy.height == 100
    connection = duckdb.connect()
    connection.execute("CREATE SEQUENCE counter")
    source = connection.sql("SELECT nextval('counter') AS id, 'a' AS home FROM range(1000)")
    done = release_table(RESPONSE, source, "home")
    assert len(done.fetchall()) == len(done.fetchall()) == 1000
    assert connection.sql("SELECT nextval('counter')").fetchall() == [(1001,)]


def test_a_released_relation_lives_on_its_connection() -> None:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE people AS SELECT range AS id, ['a','b','c'][1 + range % 3] AS home FROM range(100)"
    )
    noisy = release_table(RESPONSE, connection.sql("SELECT * FROM people"), "home")  # noqa: F841 - DuckDB finds it
    joined = connection.sql("SELECT count(*) FROM noisy JOIN people USING (id)").fetchall()
    assert joined == [(100,)]
    assert connection.sql("SHOW TABLES").fetchall() == [("people",)]


def test_the_distribution_is_that_of_the_channel() -> None:
    """False alarm: 1e-9 for each of the three secrets."""
    space = sf.line(4)
    mechanism = sf.geometric(sf.PrivacyType(space, alpha="1/2"))
    rows = 120_000
    for secret in range(3):
        noisy = release_table(mechanism, pa.table({"n": pa.array(np.full(rows, secret))}), "n")["n"].to_numpy()
        expected = [float(p) * rows for p in mechanism.channel.matrix[secret]]
        assert chisquare(np.bincount(noisy, minlength=4), expected).pvalue > 1e-9
        keyed = release_table(
            mechanism, pa.table({"n": np.full(rows, secret), "i": np.arange(rows)}), "n", key=KEY, row_id="i", **STATED
        )
        assert chisquare(np.bincount(keyed["n"].to_numpy(), minlength=4), expected).pvalue > 1e-9


# ----------------------------------------------------------------- columns


def test_the_true_column_does_not_stay_by_itself() -> None:
    table = example(50)
    assert release_table(RESPONSE, table, "home", into="noisy").column_names == ["id", "noisy", "amount", "note"]
    kept = release_table(RESPONSE, table, "home", into="noisy", keep=True)
    assert kept.column_names == ["id", "home", "amount", "note", "noisy"] and kept["home"] == table["home"]
    for engine in ("pandas", "polars", "duckdb"):
        given, _ = ENGINES[engine]
        done = as_arrow(release_table(RESPONSE, given(table), "home", into="noisy", **KEYED))
        assert done.column_names == ["id", "noisy", "amount", "note"]
        done = as_arrow(release_table(RESPONSE, given(table), "home", into="noisy", keep=True, **KEYED))
        assert done.column_names == kept.column_names


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.uint16(), pa.int64(), pa.dictionary(pa.int8(), pa.int64()), pa.dictionary(pa.int32(), pa.int16())],
    ids=str,
)
def test_types_stay(kind: Any) -> None:
    mechanism = sf.geometric(sf.PrivacyType(sf.line(4), alpha="1/2"))
    table = pa.table({"n": pa.array([0, 1, 2, 3] * 10, kind)})
    after = release_table(mechanism, table, "n").schema.field("n").type
    assert after == (kind if not pa.types.is_dictionary(kind) else pa.dictionary(pa.int32(), kind.value_type))
    wide = sf.prove([[1, 1]] * 4, sf.PrivacyType(sf.line(4), epsilon=1), outputs=[0, 1000])
    if kind == pa.int8():
        assert release_table(wide, table, "n").schema.field("n").type == pa.int64()


def test_types_of_pandas_and_polars_stay() -> None:
    mechanism = sf.geometric(sf.PrivacyType(sf.line(4), alpha="1/2"))
    for kind in ("int8", "int64", "Int64", "uint8", "category", "int64[pyarrow]"):
        frame = pd.DataFrame({"n": pd.Series([0, 1, 2, 3], dtype=kind)})
        frame.index = pd.Index([3, 3, "x", 0])
        noisy = release_table(mechanism, frame, "n")
        assert str(noisy["n"].dtype) == kind and noisy.index.tolist() == [3, 3, "x", 0]
    texts = pd.DataFrame({"s": pd.Series(["a", "b"], dtype=object), "t": ["x", "y"]})
    noisy = release_table(RESPONSE, texts, "s")
    assert noisy["s"].dtype == object
    for dtype in (pl.Int16, pl.UInt64):
        assert release_table(mechanism, pl.DataFrame({"n": [0, 1]}, schema={"n": dtype}), "n").schema["n"] == dtype
    for coded in (pl.Categorical(), pl.Enum(["c", "b", "a"])):
        frame = pl.DataFrame({"s": ["a", "b"]}, schema={"s": coded})
        assert release_table(RESPONSE, frame, "s").schema["s"] == coded
    narrow = pl.DataFrame({"s": ["a", "b"]}, schema={"s": pl.Enum(["a", "b"])})
    assert release_table(RESPONSE, narrow, "s").schema["s"] == pl.Enum(["a", "b", "c"])


def test_cells_of_a_grid_are_lists_and_tuples() -> None:
    city = sf.exponential(sf.PrivacyType(sf.grid(2, 2), epsilon=1))
    cells = [(0, 0), (1, 1), (0, 1)]
    assert set(release_table(city, pd.DataFrame({"c": cells}), "c")["c"]) <= set(city.outputs)
    done = release_table(city, pa.table({"c": [list(c) for c in cells]}), "c")
    assert done.schema.field("c").type == pa.list_(pa.int64())
    assert release_table(city, pl.DataFrame({"c": [list(c) for c in cells]}), "c").schema["c"] == pl.List(pl.Int64)
    mixed = sf.prove([[1, 1]] * 2, sf.PrivacyType(sf.line(2), epsilon=1), outputs=[0, "many"])
    assert set(release_table(mixed, pa.table({"n": [0, 1] * 20}), "n")["n"].to_pylist()) == {"0", "many"}


def test_coordinates_become_those_of_the_output() -> None:
    city = sf.grid(3, 3, step="1/2", unit="km")
    mechanism = sf.exponential(sf.PrivacyType(city, epsilon=1))
    table = pa.table({"x": [0.1, 0.9], "k": [1, 2], "y": pa.array([1.0, 0.0], pa.float32())})
    done = release_table(mechanism, table, Position("x", "y"))
    assert done.schema == table.schema
    assert set(zip(done["x"].to_pylist(), done["y"].to_pylist(), strict=True)) <= set(
        map(tuple, city.coordinates.tolist())
    )  # type: ignore[union-attr]
    assert release_table(mechanism, table, Position("x", "y"), into="cell").column_names == ["cell", "k"]
    assert release_table(mechanism, table, Position("y", "x"), into="cell").column_names == ["k", "cell"]
    places = sf.geo([(48.8566, 2.3522), (51.5074, -0.1278)], labels=["Paris", "London"])
    away = sf.exponential(sf.PrivacyType(places, epsilon="1/100"))
    frame = pl.DataFrame({"lat": [48.8] * 60, "lon": [2.3] * 60})
    noisy = release_table(away, frame, Place("lat", "lon"), within="20 km")
    assert set(noisy.rows()) == {(48.8566, 2.3522), (51.5074, -0.1278)}
    assert set(release_table(away, frame, Place("lat", "lon"), within=20, into="city")["city"]) == {"Paris", "London"}
    blind = sf.prove([[1, 1]] * 2, sf.PrivacyType(places, epsilon=1), outputs=["x", "y"])
    with pytest.raises(InvalidInput, match=r"not every output of .* has coordinates: say into="):
        release_table(blind, frame, Place("lat", "lon"), within=20)


def test_mechanisms_that_are_never_a_table(tmp_path: Path) -> None:
    counts = InfiniteGeometric(Fraction(1, 2))
    table = pa.table({"n": pa.array([100, -7, 0] * 50, pa.int8())})
    noisy = release_table(counts, table, "n")["n"]
    assert noisy.type == pa.int64() and noisy != table["n"]
    assert np.abs(noisy.to_numpy() - table["n"].to_numpy()).max() < 60  # beyond with probability 2^-59 a row
    assert release_table(counts, table.to_pandas(), "n")["n"].dtype == np.int64
    with pytest.raises(BadRow, match=r"row 1: 'n' is 1.5, but an integer of 64 bits is needed"):
        release_table(counts, pa.table({"n": [1.5]}), "n")
    for name, text in (("in.csv", "n,k\n5,a\n-7,b\n"), ("in.jsonl", '{"n":5,"k":"a"}\n{"n":-7,"k":"b"}\n')):
        (tmp_path / name).write_text(text)
        target = tmp_path / f"out{name[2:]}"
        release_file(counts, tmp_path / name, target, "n", into="m")
        done = target.read_text()
        assert "m" in done and "a" in done and "b" in done and "n" not in done
    city = sf.mechanisms.lattice_tight_constraints(Lattice((60, 60)), epsilon=2)
    points = pa.table({"x": [0.2, 30.4], "y": [0.0, 59.4]})
    moved = release_table(city, points, Position("x", "y"))
    assert set(moved["x"].to_pylist()) <= set(range(60)) and moved.schema == points.schema
    assert release_table(city, pa.table({"c": [[0, 0], [59, 3]]}), "c")["c"].type == pa.list_(pa.int64())
    with pytest.raises(BadRow, match=r"row 1: 'x', 'y' are \(60.0, 0.0\), outside the cells of grid\(60, 60\)"):
        release_table(city, pa.table({"x": [60.0], "y": [0.0]}), Position("x", "y"))


def test_a_mechanism_has_the_method() -> None:
    noisy = RESPONSE.release(example(50), "home", into="noisy", **KEYED)
    assert noisy == release_table(RESPONSE, example(50), "home", into="noisy", **KEYED)


def test_what_a_schema_tells_of_the_true_column_is_gone() -> None:
    frame = pd.DataFrame({"id": [1, 2, 3], "home": pd.Categorical(["a", "b", "a"])})
    table = pa.Table.from_pandas(frame)
    table = table.cast(
        table.schema.set(1, table.schema.field(1).with_metadata({"top": "a"})).with_metadata(
            {**(table.schema.metadata or {}), b"owner": b"me"}
        )
    )
    done = release_table(RESPONSE, table, "home")
    assert done.schema.field("home").metadata is None
    assert b"owner" not in done.schema.metadata
    assert [c["name"] for c in json.loads(done.schema.metadata[b"pandas"])["columns"]] == ["id"]
    assert done["home"].chunk(0).dictionary.to_pylist() == ["a", "b", "c"]
    assert done.to_pandas()["id"].tolist() == [1, 2, 3]
    broken = table.replace_schema_metadata({b"pandas": b"{", b"owner": b"me"})
    assert release_table(RESPONSE, broken, "home").schema.metadata is None


# ----------------------------------------------------------------- policies and mistakes


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_can_be_left_out(engine: str) -> None:
    given, _ = ENGINES[engine]
    table = pa.table({"id": [1, 2, 3, 4], "home": pa.array(["a", "Atlantis", None, "c"])})
    done = as_arrow(release_table(RESPONSE, given(table), "home", on_unknown="drop", most_dropped=1, batch=3))
    assert done["id"].to_pylist() == [1, 4]
    with pytest.raises(BadRow, match="row 2: 'home' is 'Atlantis'") as caught:
        release_table(RESPONSE, given(table), "home", batch=1)
    assert caught.value.row == 2
    with pytest.raises(BadRow, match="row 3: 'home' is missing"):
        release_table(RESPONSE, given(table.set_column(1, "home", pa.array(["a", "a", None, "c"]))), "home", batch=2)


def test_mixed_columns_of_pandas_are_refused_with_the_row() -> None:
    for values, row in ((["a", 1, "b"], 2), (["a", None, 2.5], 3)):
        with pytest.raises(BadRow, match="of another type than the values before") as caught:
            release_table(RESPONSE, pd.DataFrame({"home": pd.Series(values, dtype=object)}), "home")
        assert caught.value.row == row
    with pytest.raises(BadRow, match="row 2: 'home' is missing"):
        release_table(RESPONSE, pd.DataFrame({"home": pd.Series(["a", np.nan], dtype=object)}), "home")
    geometric = sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2"))
    with pytest.raises(BadRow, match=r"row 1: 'n' is 0.0, a float, but"):
        release_table(geometric, pd.DataFrame({"n": [0, None, 1]}), "n")  # pandas makes floats of these


CITY = sf.exponential(sf.PrivacyType(sf.grid(5, 5), epsilon=1))


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow"])
def test_a_table_that_lies_elsewhere_is_not_moved_into_a_corner(engine: str) -> None:
    given, _ = ENGINES[engine]
    where = pa.table({"x": np.full(5000, 52.5), "y": np.full(5000, 13.4)})  # degrees, where cells are wanted
    with pytest.raises(
        InvalidInput, match=r"^5,000 of 5,000 rows lie outside the space .* share of 1/20 .*units right"
    ):
        release_table(CITY, given(where), Position("x", "y"), on_unknown="nearest", batch=5000)
    with pytest.raises(InvalidInput, match=r"^1,000 of 5,000"):  # as soon as it is known
        release_table(CITY, given(where), Position("x", "y"), on_unknown="nearest", batch=1000)
    assert len(release_table(CITY, given(where), Position("x", "y"), on_unknown="nearest", most_moved=1)) == 5000


def test_a_few_strays_are_moved() -> None:
    for outside, most in ((5, None), (30, 0.3), (100, 1), (0, 0)):
        x = [9.0] * outside + [1.0] * (100 - outside)
        table = pa.table({"x": x, "y": [0.0] * 100})
        seen: list[Progress] = []
        release_table(CITY, table, Position("x", "y"), on_unknown="nearest", most_moved=most, progress=seen.append)
        assert seen[-1].moved == outside and str(seen[-1]).endswith("moved into the space") is bool(outside)
        if outside and outside < 100:
            more = pa.concat_tables([table, table.slice(0, 1)])
            with pytest.raises(InvalidInput, match=f"^{outside + 1} of 101 rows"):
                release_table(CITY, more, Position("x", "y"), on_unknown="nearest", most_moved=most)


def test_numbers_beyond_a_line_are_moved() -> None:
    ages = sf.geometric(sf.PrivacyType(sf.line(100), epsilon=1))
    inside = [0.4, 99.5, -0.5, 50.2] * 20
    assert len(release_table(ages, pa.table({"age": inside}), "age", on_unknown="nearest", most_moved=0)) == 80
    with pytest.raises(InvalidInput, match=r"^80 of 80 rows .* by up to 1900;"):
        release_table(ages, pa.table({"age": [1999.0] * 80}), "age", on_unknown="nearest")
    for wrong, words in (({"most_moved": 2}, "between 0 and 1"), ({"most_moved": "x"}, "x")):
        with pytest.raises(InvalidInput, match=words):
            release_table(ages, pa.table({"age": inside}), "age", on_unknown="nearest", **wrong)
    with pytest.raises(InvalidInput, match="goes with on_unknown='nearest'"):
        release_table(ages, pa.table({"age": [1]}), "age", most_moved=1)


def test_categories_are_those_of_the_outputs() -> None:
    """Categories that nobody has, or that are missing, may tell what the true column holds."""
    for categories in (["b", "a"], ["c", "b", "a"], ["a", "b", "Atlantis", "c"]):
        noisy = release_table(RESPONSE, pd.DataFrame({"s": pd.Categorical(["a", "b"], categories)}), "s")["s"]
        assert noisy.cat.categories.tolist() == ["a", "b", "c"]
        coded = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(categories))
        done = release_table(RESPONSE, pa.table({"s": coded}), "s")["s"]
        assert done.combine_chunks().dictionary.to_pylist() == ["a", "b", "c"]
        kind = release_table(RESPONSE, pl.DataFrame({"s": pl.Series(["a", "b"], dtype=pl.Enum(categories))}), "s")[
            "s"
        ].dtype
        assert isinstance(kind, pl.Enum) and set(kind.categories) == {"a", "b", "c"}
    flagged = release_table(RESPONSE, pl.DataFrame({"s": ["a"] * 9 + ["b"] * 9}).sort("s"), "s")["s"].flags
    assert not flagged["SORTED_ASC"]


class Level(IntEnum):
    HIGH = 1


class Name(StrEnum):
    A = "a"


def as_object(*values: Any) -> Any:
    return pd.DataFrame({"n": pd.Series(values, dtype=object)})


STANDS_FOR_SOMETHING_ELSE: dict[str, Any] = {
    "period": pd.DataFrame({"n": pd.period_range("1971", "1972", freq="Y")}),  # stored as 1 and 2
    "categorical of periods": pd.DataFrame({"n": pd.Categorical(pd.period_range("1971", "1972", freq="Y"))}),
    "period objects": as_object(pd.Period("1971", freq="Y")),
    "interval": pd.DataFrame({"n": pd.IntervalIndex.from_breaks([0, 1, 2])}),
    "timestamp": pd.DataFrame({"n": pd.to_datetime([1, 2], unit="ns")}),
    "timedelta": pd.DataFrame({"n": pd.to_timedelta([1, 2], unit="ns")}),
    "datetime64": as_object(np.datetime64(1, "ns")),
    "timedelta64": as_object(np.timedelta64(1, "s")),
    "truth values": pd.DataFrame({"n": [True, False]}),
    "masked truth values": pd.DataFrame({"n": pd.array([True, False], dtype="boolean")}),
    "categorical truth values": pd.DataFrame({"n": pd.Categorical([True, False])}),
    "codes of a categorical": pd.DataFrame({"n": pd.Categorical(["b", "a"])}),
    "texts": pd.DataFrame({"n": ["1", "2"]}),
    "floats": pd.DataFrame({"n": [1.0, -0.0]}),
    "decimals": as_object(Decimal(1)),
    "fractions": as_object(Fraction(1)),
    "an enumeration of integers": as_object(Level.HIGH),
    "its categorical": pd.DataFrame({"n": pd.Categorical(pd.Series([Level.HIGH], dtype=object))}),
    "integers and truth values": as_object(1, True),
    "integers and floats": as_object(1, 2.0),
    "polars objects": pl.DataFrame({"n": pl.Series([Level.HIGH], dtype=pl.Object)}),
    "polars durations": pl.DataFrame({"n": pl.Series([1], dtype=pl.Duration("us"))}),
    "polars truth values": pl.DataFrame({"n": [True]}),
    "polars enumerations": pl.DataFrame({"n": pl.Series(["1"], dtype=pl.Enum(["0", "1"]))}),
}


@pytest.mark.parametrize("case", STANDS_FOR_SOMETHING_ELSE)
def test_values_that_are_stored_as_integers_are_no_integers(case: str) -> None:
    table = STANDS_FOR_SOMETHING_ELSE[case]
    geometric = sf.geometric(sf.PrivacyType(sf.line(4), alpha="1/2"))
    for mechanism, policy in ((geometric, "error"), (geometric, "drop"), (InfiniteGeometric("1/2"), "error")):
        with pytest.raises(InvalidInput, match=r"not guessed|of another type|cannot be read|integer of 64 bits"):
            release_table(mechanism, table, "n", on_unknown=policy)


def test_enumerations_of_texts_are_no_texts() -> None:
    with pytest.raises(BadRow, match=r"row 1: 'n' is <Name.A: 'a'>, Name: types are not guessed"):
        release_table(RESPONSE, as_object(Name.A), "n")
    assert len(release_table(RESPONSE, as_object(np.str_("a"), "b"), "n")) == 2


def test_intervals_are_no_cells_of_a_grid() -> None:
    mechanism = sf.random_response(sf.PrivacyType(sf.discrete([(0, 1), (1, 2)]), epsilon=1))
    with pytest.raises(BadRow, match=r"pandas.interval, but a secret of .* is a tuple"):
        release_table(mechanism, pd.DataFrame({"n": pd.IntervalIndex.from_breaks([0, 1, 2])}), "n")


def test_empty_tables_stay_empty() -> None:
    table = example(10).slice(0, 0)
    for engine in ("pandas", "polars", "pyarrow", "duckdb", "pyarrow reader"):
        given, _ = ENGINES[engine]
        done = as_arrow(release_table(RESPONSE, given(table), "home"))
        assert len(done) == 0 and done.column_names == table.column_names
    batch = pa.RecordBatch.from_pylist([], schema=table.schema)
    assert release_table(RESPONSE, batch, "home").schema == table.schema


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "no such column": ({"column": "hom"}, "there is no column 'hom', did you mean 'home'"),
    "a far column": ({"column": "zzzz"}, "there is no column 'zzzz': there are 'id', 'home'"),
    "a list": ({"column": ["x", "y"]}, r"Position\('x', 'y'\) or Place"),
    "a taken name": ({"into": "amount"}, "there is a column 'amount' already"),
    "an empty name": ({"into": ""}, "into is the name of a column"),
    "keep without into": ({"keep": True}, "the noise needs another name"),
    "keep under the same name": ({"keep": True, "into": "home"}, "there is a column 'home' already"),
    "a key without ids": ({"key": KEY}, "needs both key= and row_id="),
    "ids without a key": ({"row_id": "id"}, "needs both key= and row_id="),
    "a missing id": ({"key": KEY, "row_id": "person", **STATED}, "there is no column 'person'"),
    "a float id": ({"key": KEY, "row_id": "amount", **STATED}, "the row id 'amount' holds double"),
    "the secret as id": ({"key": KEY, "row_id": "home", **STATED}, "is released and cannot be the row id"),
    "no ids": ({"key": KEY, "row_id": [], **STATED}, "row_id is the name of a column"),
    "a short key": ({"key": b"x", "row_id": "id", **STATED}, "a key has 32 bytes"),
    "within a label": ({"within": 3}, "within= is for coordinates"),
    "nearest without a line": ({"on_unknown": "nearest"}, "needs a line: discrete.* has no coordinates"),
    "an empty batch": ({"batch": 0}, "batch, a number of rows,"),
    "a missing id in a row": ({"key": KEY, "row_id": "note", **STATED}, "row 1: the row id 'note' is missing"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    options, words = MISTAKES[name]
    with pytest.raises(InvalidInput, match=words):
        release_table(RESPONSE, example(20), **{"column": "home", **options})


def test_tables_that_are_none() -> None:
    for wrong in ([1, 2], {"home": ["a"]}, "home.csv", np.array(["a"])):
        with pytest.raises(NotSupported, match="not supported; pandas, polars, pyarrow, DuckDB relations"):
            release_table(RESPONSE, wrong, "home")
    with pytest.raises(NotSupported, match="on_unknown='skip'"):
        release_table(RESPONSE, example(3), "home", on_unknown="skip")
    with pytest.raises(InvalidInput, match="several columns 'a'"):
        release_table(RESPONSE, pa.Table.from_arrays([pa.array(["a"])] * 2, names=["a", "a"]), "a")
    with pytest.raises(InvalidInput, match="rename the columns first"):
        release_table(RESPONSE, pd.DataFrame({0: ["a"]}), "home")
    with pytest.raises(NotSupported):
        release_table("mechanism", example(3), "home")


# ----------------------------------------------------------------- keys, ledgers, progress


def test_one_id_with_two_secrets_is_refused() -> None:
    table = pa.table({"id": [1, 2, 1, 2], "home": ["a", "b", "a", "b"]})
    done = release_table(RESPONSE, table, "home", **KEYED)["home"].to_pylist()
    assert done[:2] == done[2:]  # a repeated row gets the same answer
    moved = table.set_column(1, "home", pa.array(["a", "b", "a", "c"]))
    with pytest.raises(InvalidInput, match="rows 2 and 4 have one row id and two secrets"):
        release_table(RESPONSE, moved, "home", **KEYED, batch=2)
    dated = moved.append_column("day", pa.array([1, 1, 2, 2]))
    assert len(release_table(RESPONSE, dated, "home", key=KEY, row_id=["id", "day"], **STATED)) == 4
    # rows that are left out have no secret
    unknown = table.set_column(1, "home", pa.array(["a", "b", "a", "z"]))
    assert len(release_table(RESPONSE, unknown, "home", **KEYED, on_unknown="drop", most_dropped=1)) == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_a_key_needs_a_ledger_or_a_statement(engine: str) -> None:
    for released in (lambda table: release_table(RESPONSE, table, "home", key=KEY, row_id="id"),
                     lambda table: RESPONSE.release(table, "home", key=KEY, row_id="id")):  # fmt: skip
        with pytest.raises(InvalidInput, match="an answer that changes cannot be private"):
            released(ENGINES[engine][0](example(3)))


def test_columns_of_one_person_get_independent_noise() -> None:
    rows = 3000
    table = pa.table({"id": np.arange(rows), "home": ["a"] * rows, "work": ["a"] * rows})
    done = release_table(RESPONSE, release_table(RESPONSE, table, "home", **KEYED), "work", **KEYED)
    same = sum(h == w for h, w in zip(done["home"].to_pylist(), done["work"].to_pylist(), strict=True)) / rows
    stays = float(RESPONSE.channel.matrix[0, 0])
    # equal with probability p² + 2((1 − p)/2)², give or take seven standard deviations
    assert abs(same - (stays**2 + (1 - stays) ** 2 / 2)) < 7 * 0.5 / rows**0.5


class Account:
    def __init__(self, refuses: bool = False) -> None:
        self.charges: list[dict[str, Any]] = []
        self.refuses = refuses

    def charge(self, **charge: Any) -> None:
        self.charges.append(charge)
        if self.refuses:
            raise BudgetExceeded("too much")


def test_a_release_is_charged_once_before_it_is_seen() -> None:
    account: Any = Account()
    release_table(RESPONSE, example(300), "home", ledger=account, dataset="people", times=3, batch=100)
    (charge,) = account.charges
    assert charge["mechanism"] is RESPONSE
    assert (charge["dataset"], charge["column"], charge["times"], charge["rows"]) == ("people", "home", 3, 300)
    with pytest.raises(BadRow):
        release_table(RESPONSE, pa.table({"home": ["z"]}), "home", ledger=account, dataset="people")
    assert len(account.charges) == 1  # what was not released costs nothing
    refusing: Any = Account(refuses=True)
    for engine in ENGINES:
        with pytest.raises(BudgetExceeded):
            release_table(RESPONSE, ENGINES[engine][0](example(10)), "home", ledger=refusing, dataset="people")
    with pytest.raises(InvalidInput, match="say dataset="):
        release_table(RESPONSE, example(10), "home", ledger=account)


def test_a_ledger_knows_a_repeated_release(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "spent.ledger", limit="3/2")
    table = example(100)

    def again(rows: Any = table) -> Any:
        return release_table(RESPONSE, rows, "home", key=KEY, row_id="id", ledger=ledger, dataset="people", batch=30)

    first = again()
    assert again() == first  # the same rows again cost nothing
    with pytest.raises(InvalidInput, match="this key was used for column 'home' of other data"):
        again(example(100, seed=9))
    with pytest.raises(BudgetExceeded):
        release_table(RESPONSE, table, "home", ledger=ledger, dataset="people")


def test_progress_counts_rows() -> None:
    seen: list[Progress] = []
    release_table(RESPONSE, example(1000), "home", batch=400, progress=seen.append)
    assert [(p.rows, p.total) for p in seen] == [(400, 1000), (800, 1000), (1000, 1000)]
    assert seen[-1].rate > 0 and "1,000 of 1,000 rows, " in str(seen[-1]) and "rows/s" in str(seen[-1])
    assert str(Progress(5, None, 0.0)) == "5 rows, 0 rows/s"


def test_a_mechanism_releases_a_table_by_the_verb_of_the_front_door() -> None:
    privacy = sf.PrivacyType(sf.line(3), alpha="1/2")
    released = sf.geometric(privacy).release(pd.DataFrame({"x": [0, 1, 2, 1]}), "x")
    assert list(released.columns) == ["x"] and set(released["x"]) <= {0, 1, 2}
