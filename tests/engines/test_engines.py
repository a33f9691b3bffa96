"""One suite for every engine: what is released there is what a release on one machine would give."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import sfumato as sf
from box_tables import box_mechanism
from sfumato import errors
from sfumato.mechanisms.box_noise import laplace_noise
from sfumato.release.engines import ENGINES, release_dask, release_spark
from sfumato.release.ledger.ledger import Ledger
from sfumato.release.places import Position
from sfumato.release.tables import release_table

pytestmark = [
    pytest.mark.engines,
    # pyspark says so of every pandas from 3.0 on; the adapter hands it Arrow batches and no pandas frames
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning"),  # Dask, writing Parquet
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of the gateway to Java, closed with the session
]

KEY = bytes(range(32))
KEYED: dict[str, Any] = {"key": KEY, "row_id": "id", "secret_never_changes": True}
ROWS = 20_000
FALSE_ALARM = 1e-9


class Engine(Protocol):
    name: str

    def frame(self, table: pa.Table, parts: int = 3) -> Any: ...
    def table(self, frame: Any) -> pa.Table: ...
    def release(self, *arguments: Any, **terms: Any) -> Any: ...


class Spark:
    name = "spark"

    def __init__(self, session: Any) -> None:
        self.session = session

    def frame(self, table: pa.Table, parts: int = 3) -> Any:
        return self.session.createDataFrame(table).repartition(parts)

    def table(self, frame: Any) -> pa.Table:
        return frame.toArrow()

    def release(self, *arguments: Any, **terms: Any) -> Any:
        return release_spark(*arguments, **terms)


class Dask:
    name = "dask"

    def frame(self, table: pa.Table, parts: int = 3) -> Any:
        import dask.dataframe as dd

        return dd.from_pandas(table.to_pandas(), npartitions=parts)

    def table(self, frame: Any) -> pa.Table:
        return pa.Table.from_pandas(frame.compute(), preserve_index=False)

    def release(self, *arguments: Any, **terms: Any) -> Any:
        return release_dask(*arguments, **terms)


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers need the packages of this interpreter
    built = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    made = built.config("spark.sql.shuffle.partitions", "2").config("spark.log.level", "OFF").getOrCreate()
    yield made
    made.stop()


@pytest.fixture(params=sorted(ENGINES))
def engine(request: pytest.FixtureRequest) -> Engine:
    return Dask() if request.param == "dask" else Spark(request.getfixturevalue("session"))


@pytest.fixture(scope="module")
def mechanism() -> sf.Mechanism:
    return sf.geometric(sf.PrivacyType(sf.line(5), alpha="1/2"))


@pytest.fixture(scope="module")
def survey() -> pa.Table:
    answers = np.random.default_rng(1).integers(0, 5, ROWS)
    return pa.table({"id": np.arange(ROWS), "answer": answers, "age": (7 * np.arange(ROWS)) % 90})


def by_id(table: pa.Table) -> pa.Table:
    return table.sort_by("id")


def test_every_engine_is_in_the_list() -> None:
    assert set(ENGINES) == {"dask", "spark"}


def test_fresh_noise_has_the_proved_distribution(
    engine: Engine, mechanism: sf.Mechanism, survey: pa.Table, tmp_path: Path
) -> None:
    made = by_id(engine.table(engine.release(mechanism, engine.frame(survey), "answer", tmp_path / "out")))
    assert made.column_names == survey.column_names and made["age"].to_pylist() == survey["age"].to_pylist()
    pairs = np.zeros((5, 5))
    np.add.at(pairs, (survey["answer"].to_numpy(), made["answer"].to_numpy()), 1)
    expected = pairs.sum(axis=1, keepdims=True) * mechanism.weights / mechanism.total
    assert chi2.sf(((pairs - expected) ** 2 / expected).sum(), 20) > FALSE_ALARM


def test_a_release_is_written_once(engine: Engine, mechanism: sf.Mechanism, survey: pa.Table, tmp_path: Path) -> None:
    made = engine.release(mechanism, engine.frame(survey), "answer", tmp_path / "out")
    assert by_id(engine.table(made)).equals(by_id(engine.table(made)))
    with pytest.raises(errors.InvalidInput, match="already there"):
        engine.release(mechanism, engine.frame(survey), "answer", tmp_path / "out")
    with pytest.raises(errors.InvalidInput, match="written once: name a target"):
        engine.release(mechanism, engine.frame(survey), "answer")
    with pytest.raises(errors.InvalidInput, match="there is no folder"):
        engine.release(mechanism, engine.frame(survey), "answer", tmp_path / "no" / "out")


def test_keyed_noise_is_that_of_one_machine_however_the_rows_are_dealt(
    engine: Engine, mechanism: sf.Mechanism, survey: pa.Table, tmp_path: Path
) -> None:
    here = release_table(mechanism, survey, "answer", **KEYED)
    lazy = engine.release(mechanism, engine.frame(survey), "answer", **KEYED)
    written = engine.release(mechanism, engine.frame(survey, 5), "answer", tmp_path / "out", **KEYED)
    for made in (lazy, lazy, written):
        assert by_id(engine.table(made))["answer"].to_pylist() == here["answer"].to_pylist()


def test_coordinates_get_the_noise_of_one_machine(engine: Engine, tmp_path: Path) -> None:
    """A mechanism for points travels too; what lies outside is moved, and one id with two points is refused."""
    hide = box_mechanism(sf.box((4, 3), step=1, unit="km"))
    rng = np.random.default_rng(5)
    points = pa.table({"id": np.arange(900), "x": rng.uniform(-0.01, 4, 900), "y": rng.uniform(0, 3, 900)})
    terms: dict[str, Any] = KEYED | {"on_unknown": "nearest"}
    here = release_table(hide, points, Position("x", "y"), **terms)
    lazy = engine.release(hide, engine.frame(points), Position("x", "y"), **terms)
    ledger = Ledger(tmp_path / "spent.ledger")
    account: dict[str, Any] = {"ledger": ledger, "dataset": "people"}
    for made in (
        lazy,
        engine.release(hide, engine.frame(points), Position("x", "y"), tmp_path / "out", **terms, **account),
    ):
        told = by_id(engine.table(made))
        assert told["x"].to_pylist() == here["x"].to_pylist() and told["y"].to_pylist() == here["y"].to_pylist()
    release_table(hide, points, Position("x", "y"), **terms, **account)
    assert [entry.charged for entry in ledger.entries()] == [1, 0]  # the fingerprint is that of one machine
    twice = pa.concat_tables([points, points.slice(0, 1).set_column(1, "x", pa.array([1.25]))])
    with pytest.raises(errors.InvalidInput, match="1 row id comes with more than one secret"):
        engine.release(hide, engine.frame(twice), Position("x", "y"), tmp_path / "more", **terms)


@pytest.mark.parametrize("kind", ["table", "noise"])
def test_fresh_noise_on_coordinates_has_the_density_of_each_point(engine: Engine, kind: str, tmp_path: Path) -> None:
    """Inside of cells, on their borders, at a corner and outside; every part of a frame draws for itself."""
    town = sf.box((4, 3), step=1, unit="km")
    hide: Any = box_mechanism(town) if kind == "table" else laplace_noise(sf.PrivacyType(town, epsilon=1), parts=1)
    places = np.array([(0.3, 2.6), (2.0, 1.0), (4.0, 3.0), (5.0, -1.0)])
    which = np.arange(ROWS) % len(places)
    points = pa.table({"id": np.arange(ROWS), "x": places[which, 0], "y": places[which, 1]})
    made = by_id(engine.table(engine.release(
        hide, engine.frame(points), Position("x", "y"), tmp_path / "out", on_unknown="nearest", most_moved=1
    )))  # fmt: skip
    told = np.stack([made["x"].to_numpy(), made["y"].to_numpy()], axis=1)
    outputs = np.array([[float(c) for c in output] for output in hide.outputs])
    number = np.abs(told[:, None] - outputs[None]).max(axis=2).argmin(axis=1)
    assert np.abs(told - outputs[number]).max() < 1e-9
    statistic, free = 0.0, 0
    for place, point in enumerate(places):
        chances = np.array([float(chance) for chance in hide.density(tuple(point.tolist())).weights])
        found, expected = np.bincount(number[which == place], minlength=len(outputs)), (which == place).sum() * chances
        rare = expected < 5  # these are counted together, as the test asks for
        pairs = [*zip(found[~rare], expected[~rare], strict=True), (found[rare].sum(), expected[rare].sum())]
        statistic += sum((a - b) ** 2 / b for a, b in pairs if b)
        free += sum(b > 0 for _, b in pairs) - 1
    assert chi2.sf(statistic, free) > FALSE_ALARM
    assert len({*number[which == 0].tolist()}) > 3  # parts do not all draw the same


def test_bad_rows_leave_nothing_behind(
    engine: Engine, mechanism: sf.Mechanism, survey: pa.Table, tmp_path: Path
) -> None:
    answers = survey["answer"].to_numpy().copy()
    answers[-1] = 77
    broken = survey.set_column(1, "answer", pa.array(answers))
    with pytest.raises(errors.InvalidInput, match=r"row \d+: in partition \d+, 'answer' is 77"):
        engine.release(mechanism, engine.frame(broken), "answer", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    made = engine.release(
        mechanism, engine.frame(broken), "answer", tmp_path / "out", on_unknown="drop", most_dropped=1
    )
    assert engine.table(made).num_rows == ROWS - 1


def test_geometries_and_rows_that_lie_elsewhere_leave_nothing_behind(engine: Engine, tmp_path: Path) -> None:
    city = sf.exponential(sf.PrivacyType(sf.grid(3, 3), epsilon=1))
    places = pa.table({"x": [0.0, 1.0, 2.0] * 20, "y": [0.0] * 60})
    terms = {"target": tmp_path / "out", "on_unknown": "nearest"}
    shapes = places.append_column("shape", pa.array(["POINT (0 0)", "POINT (1 0)", "POINT (2 0)"] * 20))
    with pytest.raises(errors.InvalidInput, match="the column 'shape' holds geometries"):
        engine.release(city, engine.frame(shapes), Position("x", "y"), **terms)
    degrees = places.set_column(0, "x", pa.array([52.5] * 60))
    with pytest.raises(errors.InvalidInput, match=r"(\d+) of \1 rows lie outside the space"):
        engine.release(city, engine.frame(degrees), Position("x", "y"), **terms)
    assert list(tmp_path.iterdir()) == []
    assert engine.table(engine.release(city, engine.frame(places), Position("x", "y"), **terms)).num_rows == 60


def test_an_id_with_two_secrets_is_refused_even_in_different_parts(
    engine: Engine, mechanism: sf.Mechanism, survey: pa.Table, tmp_path: Path
) -> None:
    ids = survey["id"].to_numpy().copy()
    answers = survey["answer"].to_numpy().copy()
    ids[-1], answers[-1], answers[0] = 0, 3, 2
    changed = survey.set_column(0, "id", pa.array(ids)).set_column(1, "answer", pa.array(answers))
    with pytest.raises(errors.InvalidInput, match="1 row id comes with more than one secret"):
        engine.release(mechanism, engine.frame(changed), "answer", tmp_path / "out", **KEYED)
    assert list(tmp_path.iterdir()) == []


def test_a_key_needs_a_ledger_or_a_statement(
    engine: Engine, mechanism: sf.Mechanism, survey: pa.Table, tmp_path: Path
) -> None:
    for target in (None, tmp_path / "out"):
        with pytest.raises(errors.InvalidInput, match="an answer that changes cannot be private"):
            engine.release(mechanism, engine.frame(survey), "answer", target, key=KEY, row_id="id")


def test_the_ledger_is_charged_once_and_refuses_before_anything_appears(
    engine: Engine, mechanism: sf.Mechanism, survey: pa.Table, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "budget.db")
    engine.release(mechanism, engine.frame(survey), "answer", tmp_path / "one", ledger=ledger, dataset="survey")
    (entry,) = ledger.entries()
    assert entry.rows == ROWS and entry.column == "answer"
    with pytest.raises(errors.InvalidInput, match="dataset="):
        engine.release(mechanism, engine.frame(survey), "answer", tmp_path / "two", ledger=ledger)
    ledger.set_limit(1, dataset="survey", column="answer")
    with pytest.raises(errors.BudgetExceeded):
        engine.release(mechanism, engine.frame(survey), "answer", tmp_path / "two", ledger=ledger, dataset="survey")
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("budget")) == ["one"]


def test_a_ledger_knows_the_data_of_a_keyed_release_on_whatever_engine(
    engine: Engine, mechanism: sf.Mechanism, survey: pa.Table, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "budget.db", limit=1)
    terms = {"key": KEY, "row_id": "id", "ledger": ledger, "dataset": "survey"}
    release_table(mechanism, survey, "answer", **terms)
    engine.release(mechanism, engine.frame(survey, 4), "answer", tmp_path / "again", **terms)
    assert [entry.charged for entry in ledger.entries()] == [1, 0]
    other = survey.set_column(1, "answer", pa.array((survey["answer"].to_numpy() + 1) % 5))
    with pytest.raises(errors.InvalidInput, match="this key was used for column 'answer' of other data"):
        engine.release(mechanism, engine.frame(other), "answer", tmp_path / "other", **terms)
    assert not (tmp_path / "other").exists()


def test_new_columns_stand_beside_or_instead(
    engine: Engine, mechanism: sf.Mechanism, survey: pa.Table, tmp_path: Path
) -> None:
    beside = engine.release(mechanism, engine.frame(survey), "answer", tmp_path / "a", into="noisy", keep=True)
    assert engine.table(beside).column_names == ["id", "answer", "age", "noisy"]
    instead = engine.release(mechanism, engine.frame(survey), "answer", tmp_path / "b", into="noisy")
    assert engine.table(instead).column_names == ["id", "noisy", "age"]
    with pytest.raises(errors.InvalidInput, match="no column 'anwser', did you mean 'answer'"):
        engine.release(mechanism, engine.frame(survey), "anwser", tmp_path / "c")


def test_frames_of_another_engine_are_refused(engine: Engine, mechanism: sf.Mechanism, survey: pa.Table) -> None:
    with pytest.raises(errors.InvalidInput):
        engine.release(mechanism, survey, "answer", "out")


def test_geometries_of_spark_name_themselves() -> None:
    from pyspark.sql import types

    from sfumato.release.batches import batch_release
    from sfumato.release.geometry import refuse_geometry_types
    from sfumato.release.terms import Terms

    places = sf.mechanisms.planar_geometric(sf.PrivacyType(sf.grid(3, 3), epsilon=1))
    work = batch_release(places, Terms(Position("lat", "lon"), on_unknown="nearest"))
    for kind in (types.GeometryType(4326), types.GeographyType(4326)):
        with pytest.raises(errors.InvalidInput, match="the column 'shape' holds geometries"):
            refuse_geometry_types({"lat": "double", "shape": kind.typeName()}, work)
    refuse_geometry_types({"lat": "double", "shape": types.StringType().typeName()}, work)
