from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.certify.certificate import certificate
from sfumato.certify.file import to_bytes
from sfumato.cli.main import app
from sfumato.release.ledger import Ledger


def sfumato(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sfumato", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def inside(*arguments: str) -> tuple[int, str, BaseException | None]:
    """The same command in this process: status, output and the error that would be one line on stderr."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    return done.exit_code, done.output, done.exception


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    response = sf.random_response(sf.PrivacyType(sf.discrete(["a", "b", "c"]), epsilon=1))
    sf.save(response, tmp_path / "m.sfm")
    (tmp_path / "in.csv").write_text("id,home\n" + "".join(f"{i},{'abc'[i % 3]}\n" for i in range(1000)))
    return tmp_path


def test_a_file_is_released(folder: Path) -> None:
    shown = sfumato("release", f"{folder}/m.sfm", f"{folder}/in.csv", f"{folder}/out.csv", "--column", "home")
    assert shown.returncode == 0 and shown.stderr == ""
    for words in (
        "promise  epsilon = 1: at distance 1, no output is more than 2.718 times as likely",
        "column   home",
        "rows     1,000 released, ",
        "noise    fresh: another release would cost as much again",
        f"file     {folder}/out.csv",
    ):
        assert words in shown.stdout
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[0] == "id,home" and [line.split(",")[0] for line in lines[1:]] == [str(i) for i in range(1000)]
    assert {line.split(",")[1] for line in lines[1:]} == {"a", "b", "c"}
    again = sfumato("release", f"{folder}/m.sfm", f"{folder}/in.csv", f"{folder}/out.csv", "--column", "home")
    assert again.returncode == 2 and again.stdout == ""
    assert again.stderr.startswith(f"sfumato: {folder}/out.csv is already there: releasing again is another release")
    assert (folder / "out.csv").read_text().splitlines() == lines


def test_a_refuted_mechanism_exits_3(folder: Path) -> None:
    privacy = sf.PrivacyType(sf.discrete(["a", "b", "c"]), alpha="1/2")
    leaky = certificate(privacy, ("a", "b", "c"), np.array([[3, 1, 1], [1, 3, 1], [1, 1, 3]]), 5)
    (folder / "m.sfm").write_bytes(to_bytes(leaky))
    shown = sfumato("release", f"{folder}/m.sfm", f"{folder}/in.csv", f"{folder}/out.csv", "--column", "home")
    assert shown.returncode == 3 and len(shown.stderr.splitlines()) == 1 and "Traceback" not in shown.stderr
    assert not (folder / "out.csv").exists()


def test_the_record_for_a_program(folder: Path) -> None:
    status, shown, _ = inside("release", folder / "m.sfm", folder / "in.csv", folder / "out.csv", "--column", "home",
                              "--into", "noisy", "--json")  # fmt: skip
    record = json.loads(shown)
    assert status == 0 and (record["rows"], record["dropped"], record["keyed"]) == (1000, 0, False)
    assert record["promise"] == {"epsilon": "1"} and record["columns"] == ["home"] and record["rows_per_second"] > 0
    assert len(record["mechanism"]) == 64 and record["file"] == str(folder / "out.csv")
    assert (folder / "out.csv").read_text().startswith("id,noisy\n")


def test_keys_from_the_command_line(folder: Path) -> None:
    status, shown, _ = inside("release-key", folder / "rows.key")
    assert status == 0 and "Keep it" in shown and (folder / "rows.key").stat().st_mode & 0o777 == 0o600
    outputs = []
    for name in ("one.csv", "two.csv"):
        status, shown, _ = inside("release", folder / "m.sfm", folder / "in.csv", folder / name, "--column", "home",
                                  "--key-file", folder / "rows.key", "--row-id", "id",
                                  "--secret-never-changes")  # fmt: skip
        assert status == 0 and f"noise    fixed by {folder}/rows.key" in shown
        outputs.append((folder / name).read_text())
    assert outputs[0] == outputs[1] != (folder / "in.csv").read_text()
    status, _, error = inside("release-key", folder / "rows.key")
    assert status == 1 and "already there" in str(error)
    assert json.loads(inside("release-key", folder / "other.key", "--json")[1]) == {"file": str(folder / "other.key")}


def test_a_ledger_from_the_command_line(folder: Path) -> None:
    Ledger(folder / "spent.ledger", limit="3/2")
    arguments = ("release", folder / "m.sfm", folder / "in.csv")
    status, shown, _ = inside(*arguments, folder / "one.csv", "--column", "home", "--ledger", folder / "spent.ledger",
                              "--dataset", "people")  # fmt: skip
    assert status == 0 and f"charged  to {folder}/spent.ledger" in shown
    (entry,) = Ledger(folder / "spent.ledger").entries()
    assert (entry.dataset, entry.column, entry.rows) == ("people", "home", 1000)
    status, shown, _ = inside(*arguments, folder / "two.csv", "--column", "home", "--ledger", folder / "spent.ledger",
                              "--dataset", "people")  # fmt: skip
    assert status == 3 and shown.startswith("sfumato: ") and not (folder / "two.csv").exists()
    status, shown, _ = inside(*arguments, folder / "two.csv", "--column", "home", "--ledger", folder / "spent.ledger",
                              "--dataset", "other", "--json")  # fmt: skip
    assert status == 0 and json.loads(shown)["dataset"] == "other"
    _, _, error = inside(*arguments, folder / "no.csv", "--column", "home", "--ledger", folder / "none.ledger",
                         "--dataset", "people")  # fmt: skip
    assert "there is no ledger" in str(error) and not (folder / "none.ledger").exists()
    assert f"`sfumato ledger limit {folder}/none.ledger --epsilon …` creates it" in str(error)


def test_a_copy_of_a_file_is_the_same_data(folder: Path) -> None:
    """The name of a file was once the name of the data: a copy had a budget of its own."""
    Ledger(folder / "spent.ledger", limit="3/2")
    (folder / "copy.csv").write_bytes((folder / "in.csv").read_bytes())
    terms = ("--column", "home", "--ledger", str(folder / "spent.ledger"))
    _, _, error = inside("release", folder / "m.sfm", folder / "in.csv", folder / "out.csv", *terms)
    words = str(error)
    assert "say --dataset …, a name of the data that stays the same wherever they are copied to" in words
    for source, status in (("in.csv", 0), ("copy.csv", 3)):
        done = inside("release", folder / "m.sfm", folder / source, folder / f"noisy {source}", *terms,
                      "--dataset", "people")  # fmt: skip
        assert done[0] == status
    assert [entry.dataset for entry in Ledger(folder / "spent.ledger").entries()] == ["people"]


def test_changed_data_under_one_key_are_refused(folder: Path) -> None:
    keyed = ("--column", "home", "--key-file", folder / "rows.key", "--row-id", "id")
    inside("release-key", folder / "rows.key")
    _, _, error = inside("release", folder / "m.sfm", folder / "in.csv", folder / "out.csv", *keyed)
    words = str(error)
    assert "give --ledger and --dataset, which notice a changed table" in words
    assert "say --secret-never-changes if" in words and "=" not in words
    Ledger(folder / "spent.ledger", limit=9)
    keyed += ("--ledger", folder / "spent.ledger", "--dataset", "people")
    assert inside("release", folder / "m.sfm", folder / "in.csv", folder / "one.csv", *keyed)[0] == 0
    (folder / "in.csv").write_text((folder / "in.csv").read_text().replace("7,b", "7,c", 1))
    _, _, error = inside("release", folder / "m.sfm", folder / "in.csv", folder / "two.csv", *keyed)
    assert "this key was used for column 'home' of other data" in str(error) and not (folder / "two.csv").exists()


def test_a_promise_about_events_is_said_and_charged_as_one(folder: Path) -> None:
    space = sf.discrete(["a", "b", "c"])
    under = sf.predicates.epsilon_delta(epsilon=5, delta="1/2")
    best = sf.design(sf.Prior.uniform(space), sf.losses.bin(space), None, under=under)
    sf.save(best.mechanism, folder / "m.sfm")
    Ledger(folder / "spent.ledger", limit=9)
    terms = ("--column", "home", "--ledger", folder / "spent.ledger", "--dataset", "people")
    status, shown, _ = inside("release", folder / "m.sfm", folder / "in.csv", folder / "no.csv", *terms)
    assert status == 3 and "limit of delta = 0" in shown
    assert inside("ledger", "limit", folder / "spent.ledger", "--epsilon", "9", "--delta", "1/2")[0] == 0
    status, shown, _ = inside("release", folder / "m.sfm", folder / "in.csv", folder / "out.csv", *terms)
    assert status == 0 and "promise  epsilon = 5, delta = 1/2: every event, for 6 ordered pairs" in shown
    assert "alpha" not in shown
    (entry,) = Ledger(folder / "spent.ledger").entries()
    assert (entry.promise, entry.delta) == ("epsilon 5", "1/2")
    record = json.loads(inside("release", folder / "m.sfm", folder / "in.csv", folder / "o.csv", "--column", "home",
                               "--json")[1])  # fmt: skip
    assert record["promise"] is None and record["events"] == [{"epsilon": "5", "delta": "1/2", "pairs": 6}]


def test_errors_name_options_not_arguments(folder: Path) -> None:
    (folder / "in.csv").write_text("id,home\n1,a\n2,elsewhere\n")
    shown = sfumato("release", f"{folder}/m.sfm", f"{folder}/in.csv", f"{folder}/out.csv", "--column", "home")
    assert shown.returncode == 2
    assert "--on-unknown drop leaves such rows out" in shown.stderr and "on_unknown" not in shown.stderr


def test_coordinates_from_the_command_line(folder: Path) -> None:
    places = sf.geo([(48.8566, 2.3522), (51.5074, -0.1278)], labels=["Paris", "London"])
    sf.save(sf.exponential(sf.PrivacyType(places, epsilon="1/100")), folder / "m.sfm")
    table = pa.table({"lat": [48.8, 52.0], "lon": [2.3, 13.0], "k": [1, 2]})
    pq.write_table(table, folder / "in.parquet")
    arguments = (
        "release",
        folder / "m.sfm",
        folder / "in.parquet",
        folder / "out.parquet",
        "--lat",
        "lat",
        "--lon",
        "lon",
    )
    _, _, error = inside(*arguments, "--within", "20 km")
    assert "row 2: 'lat', 'lon' are (52.0, 13.0), " in str(error)
    _, _, error = inside(*arguments, "--within", "500 m")
    assert "row 1: 'lat', 'lon' are (48.8, 2.3), " in str(error) and "more than 0.5 km" in str(error)
    _, _, error = inside(*arguments, "--within", "5 minutes")
    assert "within is 5 minutes, but distances are in km: give it in km or another length" in str(error)
    status, shown, _ = inside(*arguments, "--within", "20000 m", "--on-unknown", "drop", "--into", "city")
    assert status == 0 and "1 released, 1 left out" in shown and "column   lat, lon" in shown
    assert pq.read_table(folder / "out.parquet").column_names == ["city", "k"]
    city = sf.grid(2, 2)
    sf.save(sf.exponential(sf.PrivacyType(city, epsilon=1)), folder / "m.sfm")
    (folder / "in.csv").write_text("x,y\n0.2,1.1\n")
    assert inside("release", folder / "m.sfm", folder / "in.csv", folder / "o.csv", "--x", "x", "--y", "y")[0] == 0
    sf.save(sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2")), folder / "m.sfm")
    assert inside("release", folder / "m.sfm", folder / "in.csv", folder / "p.csv", "--x", "y")[0] == 0
    assert (folder / "p.csv").read_text() in {f"x,y\n0.2,{n}\n" for n in range(3)}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "say which column holds the secret"),
        (["--column", "home", "--lat", "x", "--lon", "y"], "say which column holds the secret"),
        (["--lat", "x"], "a place has two columns"),
        (["--y", "x"], "first coordinate in --x"),
        (["--column", "hom"], "did you mean 'home'"),
        (["--column", "home", "--on-unknown", "skip"], "--on-unknown 'skip'"),
        (["--column", "home", "--keep"], "the noise needs another name"),
        (["--column", "home", "--row-id", "id"], "needs both --key-file and --row-id"),
        (["--column", "home", "--key-file", "k", "--row-id", "id"], "an answer that changes cannot be private"),
        (["--column", "home", "--secret-never-changes"], "said of noise with a key"),
        (["--column", "home", "--dataset", "people"], "--dataset and --times are for a ledger"),
        (["--column", "home", "--format", "xml"], "format 'xml'"),
        (["--column", "home", "--within", "3"], "--within is for coordinates"),
    ],
)
def test_mistakes_name_themselves(folder: Path, options: list[str], words: str) -> None:
    status, _, error = inside("release", folder / "m.sfm", folder / "in.csv", folder / "out.csv", *options)
    assert status == 1 and isinstance(error, sf.errors.SfumatoError) and words in str(error)
    assert sorted(os.listdir(folder)) == ["in.csv", "m.sfm"]


def test_points_that_lie_elsewhere_stop_a_release(tmp_path: Path) -> None:
    sf.save(sf.exponential(sf.PrivacyType(sf.grid(5, 5, unit="km"), epsilon=1)), tmp_path / "m.sfm")
    (tmp_path / "in.csv").write_text("x,y\n" + "1,1\n" * 90 + "52.5,13.4\n" * 10)
    asked = ["release", f"{tmp_path}/m.sfm", f"{tmp_path}/in.csv", f"{tmp_path}/out.csv", "--x", "x", "--y", "y"]
    refused = sfumato(*asked, "--on-unknown", "nearest")
    assert refused.returncode == 2 and refused.stdout == "" and not (tmp_path / "out.csv").exists()
    assert refused.stderr.startswith(
        "sfumato: 10 of 100 rows lie outside the space and would be moved into it, by up to"
    )
    assert refused.stderr.rstrip().endswith("units right? --most-moved 1 takes them all")
    status, shown, _ = inside(*asked, "--on-unknown", "nearest", "--most-moved", "0.1")
    assert status == 0 and "moved    10 of 100 rows lay outside the space, by up to 49.4" in shown
    assert "keep it to yourself" in shown


def test_bad_rows_are_one_line(folder: Path) -> None:
    with (folder / "in.csv").open("a") as file:
        file.write("1000,Atlantis\n")
    shown = sfumato("release", f"{folder}/m.sfm", f"{folder}/in.csv", f"{folder}/out.csv", "--column", "home", "--json")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr.startswith("sfumato: row 1001: 'home' is 'Atlantis', which is no secret of discrete(3)")
    assert len(shown.stderr.splitlines()) == 1 and sorted(os.listdir(folder)) == ["in.csv", "m.sfm"]


def test_ctrl_c_leaves_nothing(folder: Path) -> None:
    code = (
        "import os, signal, sys, time, sfumato.release.batches as b; from sfumato.cli.main import run\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell may start background jobs without it
        "draw = b.BatchRelease.draw\n"
        "def slow(*rest):\n"
        f"    open({str(folder / 'ready')!r}, 'w').close(); time.sleep(30); return draw(*rest)\n"
        "b.BatchRelease.draw = slow\n"
        "run()"
    )
    files = [f"{folder}/{name}" for name in ("m.sfm", "in.csv", "out.csv")]
    command = [sys.executable, "-c", code, "release", *files, "--column", "home"]
    worker = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not (folder / "ready").exists() and worker.poll() is None:  # one that dies must not leave us waiting
        sleep(0.05)
    worker.send_signal(signal.SIGINT)
    _, said = worker.communicate(timeout=60)
    assert worker.returncode == 130 and "Traceback" not in said
    assert sorted(os.listdir(folder)) == ["in.csv", "m.sfm", "ready"]
