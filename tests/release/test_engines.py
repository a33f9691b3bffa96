"""What engines say before any engine is there; the engines themselves are tested in tests/engines."""

from __future__ import annotations

import pickle
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import errors
from sfumato.release.engines import ENGINES
from sfumato.release.engines.job import CHECK_SCHEMA, Job, job_of, refuse_changed, written_once
from sfumato.release.rows import BadRow
from sfumato.release.tables import release_table
from sfumato.release.terms import Terms

KEY = bytes(range(32))
KEYED: dict[str, Any] = {"key": KEY, "row_id": "id", "secret_never_changes": True}
TABLE = pa.table({"id": [1, 2, 3, 4], "answer": [0, 1, 2, 2]})


@pytest.fixture(scope="module")
def mechanism() -> sf.Mechanism:
    return sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2"))


def job(mechanism: Any, target: str | None = "out", **terms: Any) -> Job:
    return job_of(mechanism, Terms("answer", **terms), target)


@pytest.mark.parametrize(("engine", "package"), [("spark", "pyspark.sql"), ("dask", "dask.dataframe")])
def test_an_engine_that_is_not_installed_names_its_extra(
    engine: str, package: str, mechanism: sf.Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package.split(".")[0], None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(errors.MissingExtra, match=f"sfumato\\[{engine}\\]"):
        ENGINES[engine](mechanism, TABLE, "answer", "out")


def test_a_job_travels_and_gives_the_noise_of_a_release_here(mechanism: sf.Mechanism) -> None:
    sent = pickle.loads(pickle.dumps(job(mechanism, **KEYED)))
    parts = [batch for part in (TABLE[:1], TABLE[1:]) for batch in sent.released(part.to_batches())]
    here = release_table(mechanism, TABLE, "answer", **KEYED)
    assert pa.Table.from_batches(parts).equals(here)
    (known,) = sent.identities(TABLE.to_batches())
    assert known.schema == CHECK_SCHEMA and known["secret"].to_pylist() == [0, 1, 2, 2]
    assert len(set(known["id"].to_pylist())) == 4


def test_noise_on_the_integers_travels_as_well() -> None:
    noise = sf.mechanisms.InfiniteGeometric(Fraction(1, 2))
    sent = pickle.loads(pickle.dumps(job(noise, **KEYED)))
    assert pa.Table.from_batches(sent.released(TABLE.to_batches())).equals(
        release_table(noise, TABLE, "answer", **KEYED)
    )


def test_errors_say_in_which_part_a_row_is(mechanism: sf.Mechanism) -> None:
    broken = pa.table({"id": [1, 2], "answer": [0, 9]}).to_batches()
    with pytest.raises(BadRow, match="row 2: in partition 7, 'answer' is 9") as caught:
        list(job(mechanism).released(broken, 7))
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.row == 2 and str(again) == str(caught.value)


def test_parts_that_lie_elsewhere_are_refused() -> None:
    ages = sf.geometric(sf.PrivacyType(sf.line(100), epsilon=1))
    terms = {**KEYED, "on_unknown": "nearest"}
    batch = pa.RecordBatch.from_pydict({"id": range(10), "age": [1.0] * 9 + [500.0]})
    with pytest.raises(errors.InvalidInput, match="1 of 10 rows lie outside the space"):
        list(job_of(ages, Terms("age", **terms), None).released([batch]))
    assert len(list(job_of(ages, Terms("age", most_moved="1/10", **terms), None).released([batch]))) == 1


def test_what_is_asked_is_checked_before_any_worker_hears_of_it(mechanism: sf.Mechanism) -> None:
    with pytest.raises(errors.InvalidInput, match="written once"):
        job(mechanism, target=None)
    with pytest.raises(errors.InvalidInput, match="both key= and row_id="):
        job(mechanism, key=KEY)
    with pytest.raises(errors.InvalidInput, match="an answer that changes cannot be private"):
        job(mechanism, key=KEY, row_id="id")
    with pytest.raises(errors.NotSupported, match="draws from a value of type Channel"):
        job(mechanism.channel)
    with pytest.raises(errors.InvalidInput, match="2 row ids come with"):
        refuse_changed(2)
    refuse_changed(0)


def test_a_folder_appears_whole_or_not_at_all(mechanism: sf.Mechanism, tmp_path: Path) -> None:
    def fail(folder: str) -> None:
        Path(folder).mkdir()
        (Path(folder) / "part-0.parquet").write_bytes(b"half")
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space left"):
        written_once(job(mechanism), tmp_path / "out", fail)
    assert list(tmp_path.iterdir()) == []
    written_once(job(mechanism), tmp_path / "out", lambda folder: Path(folder).mkdir())
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
