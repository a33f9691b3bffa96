"""``sfumato ledger``: what was spent, said on the command line."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.certify.charge import Charge
from sfumato.cli.main import app
from sfumato.errors import BudgetExceeded, InvalidInput
from sfumato.release.ledger.ledger import Ledger
from shell import sfumato

runner = CliRunner()
KM = sf.geometric(sf.PrivacyType(sf.line(3, unit="km"), alpha="1/2"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    ledger = Ledger(tmp_path / "spent.ledger", limit=3)
    ledger.charge(dataset="trips", column="home", mechanism=KM, times=2, rows=1000, note="first wave")
    ledger.charge(dataset="trips", column="home", mechanism=KM, scope="May", key=b"0123456789abcdef", data="v1")
    ledger.charge(dataset="other", column="work", mechanism=KM)
    return ledger.path


def said(*words: str) -> str:
    result = runner.invoke(app, ["ledger", *words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_show_says_what_a_column_was_released_with(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "spent.ledger", limit=3)
    ledger.charge(dataset="trips", column="x", mechanism=KM)
    ledger.charge(dataset="trips", column="x, y", mechanism=KM)
    text = said("show", str(ledger.path))
    assert "spent    trips / x: 2·ln(2) = 1.38629, 1.6137 left" in text
    assert "         ln(2) = 0.693147 per km on line(3), released as x, y\n" in text
    records = [json.loads(line) for line in said("show", str(ledger.path), "--json").splitlines()]
    assert [part["column"] for part in records[1]["parts"]] == ["x", "x, y"]


def test_show_says_what_was_spent_and_what_is_left(file: Path) -> None:
    text = said("show", str(file))
    assert "limit    each column: at most 3" in text
    assert "spent    trips / home: 3·ln(2) = 2.07944, 0.920558 left" in text
    assert "         ln(2) = 0.693147 per km on line(3), rows 'May'" in text
    assert "other" in text and "other" not in said("show", str(file), "--dataset", "trips")
    text = said("show", str(file), "--entries")
    assert "trips / home: alpha 1/2, 2 of 2 times charged, 1000 rows, fresh noise" in text and "first wave" in text
    assert "trips / home / May: alpha 1/2, 1 of 1 times charged, keyed noise (" in text


def test_a_limit_for_a_dataset_is_said_without_a_stray_comma(file: Path) -> None:
    assert "'trips', all columns together: at most 9" in said(
        "limit", str(file), "--epsilon", "9", "--dataset", "trips"
    )
    assert "limit    'trips', all columns together: at most 9" in said("show", str(file))


def test_show_for_programs(file: Path) -> None:
    records = [json.loads(line) for line in said("show", str(file), "--json", "--entries").splitlines()]
    assert [record["kind"] for record in records] == ["limit", "column", "column", "entry", "entry", "entry"]
    assert records[1]["spent"] == "3·ln(2)" and len(records[1]["parts"]) == 2
    assert records[1]["epsilon"] == pytest.approx(2.0794415416798357, abs=1e-15)
    assert records[3]["mechanism"] == KM.proof.digest and records[3]["rows"] == 1000


def test_an_empty_ledger_is_shown(tmp_path: Path) -> None:
    Ledger(tmp_path / "x.ledger")
    assert said("show", str(tmp_path / "x.ledger")) == "limit    none\nspent    nothing\n"


def test_limits_are_set_changed_and_lifted(tmp_path: Path) -> None:
    path = str(tmp_path / "x.ledger")
    assert said("limit", path, "--alpha", "1/4") == "each column: at most ln(4)\n"
    assert "columns 'home', 'work' of 'd' together: at most 2 per km" in said(
        "limit", path, "--epsilon", "2", "--dataset", "d", "--column", "work", "--column", "home", "--unit", "km"
    )
    ledger = Ledger(path)
    ledger.charge(dataset="d", column="home", mechanism=KM, times=2)
    with pytest.raises(BudgetExceeded):
        ledger.charge(dataset="d", column="home", mechanism=KM)
    assert json.loads(said("limit", path, "--epsilon", "1", "--json"))["limit"] == "epsilon 1"
    assert "386295 beyond the limit" in said("show", path)
    assert said("limit", path, "--lift") == "each column: no limit\n"
    ledger.charge(dataset="e", column="home", mechanism=KM, times=100)


def test_delta_is_limited_and_shown(tmp_path: Path) -> None:
    path = str(tmp_path / "x.ledger")
    assert (
        said("limit", path, "--epsilon", "2", "--delta", "1e-3")
        == "each column: at most 2, with delta at most 1/1000\n"
    )
    events = Charge("3 secrets, 6 ordered pairs of neighbours", "", "m", "epsilon 1/2", "m", "n", Fraction(1, 4000))
    ledger = Ledger(path)
    ledger.charge(dataset="d", column="c", mechanism=events, times=3)
    ledger.charge(dataset="d", column="e", mechanism=KM)
    text = said("show", path, "--entries")
    assert "limit    each column: at most 2, with delta at most 1/1000" in text
    assert "spent    d / c: 3/2 = 1.5, 0.5 left\n         delta 3/4000, 1/4000 left\n" in text
    assert "d / c: epsilon 1/2 with delta 1/4000, 3 of 3 times charged" in text
    assert "d / e: alpha 1/2, 1 of 1 times charged" in text and text.count("delta 3/4000") == 1
    records = [json.loads(line) for line in said("show", path, "--json", "--entries").splitlines()]
    assert records[0]["delta"] == "1/1000" and (records[1]["delta"], records[1]["left_delta"]) == ("3/4000", "1/4000")
    assert records[1]["parts"][0]["delta"] == "3/4000" and records[2]["parts"][0]["delta"] is None
    assert records[3]["delta"] == "1/4000" and records[3]["delta_cost"] == pytest.approx(3 / 4000, abs=1e-18)


@pytest.mark.parametrize("words", [["show", "nowhere.ledger"],
                                   ["limit", "x.ledger", "--delta", "1/10"],
                                   ["limit", "x.ledger", "--epsilon", "1", "--delta", "2"],
                                   ["limit", "x.ledger", "--lift", "--delta", "1/10"], ["limit", "x.ledger"],
                                   ["limit", "x.ledger", "--lift", "--epsilon", "1"],
                                   ["limit", "x.ledger", "--epsilon", "much"],
                                   ["limit", "x.ledger", "--epsilon", "1", "--column", "c"]])  # fmt: skip
def test_mistakes(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput):
        runner.invoke(app, ["ledger", *words], catch_exceptions=False)


def test_a_new_name_says_which_names_there_are(file: Path, tmp_path: Path) -> None:
    source, mechanism = tmp_path / "people.csv", tmp_path / "km.sfm"
    source.write_text("home\n0\n1\n")
    sf.save(KM, mechanism)
    words = ["release", *map(str, (mechanism, source, tmp_path / "out.csv")), "--column", "home", "--ledger", str(file)]
    done = sfumato(*words, "--dataset", "tripz")
    assert (done.returncode, done.stderr) == (0, f"sfumato: 'tripz' is new in {file}, which has 'trips', 'other'\n")
    done = sfumato(*words, "--dataset", "Trips", "--overwrite")
    assert done.returncode == 2 and "the dataset 'Trips' looks like 'trips', which the ledger has" in done.stderr
    assert sfumato(*words, "--dataset", "tripz", "--overwrite").stderr == ""
    shown = sfumato("ledger", "show", str(file), "--dataset", "people")
    assert shown.returncode == 2 and "no dataset 'people': there are 'trips'" in shown.stderr
