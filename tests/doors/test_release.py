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
from box_tables import box_mechanism
from sfumato.certify.certificate import certificate
from sfumato.certify.file import to_bytes
from sfumato.cli.main import app
from sfumato.mechanisms.box_noise import noise_on_box
from sfumato.release.ledger.ledger import Ledger
from sfumato.spaces import earth_box
from shell import in_a_shell, sfumato


def inside(*arguments: str) -> tuple[int, str, BaseException | None]:
    """The same command in this process: status, output and the error that would be one line on stderr."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    return done.exit_code, done.output, done.exception


def refused(*arguments: object) -> tuple[int, str]:
    """The same with the entry point around it, which says what was refused: status, and what is on stderr."""
    done = sfumato(*map(str, arguments))
    return done.returncode, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    response = sf.random_response(sf.PrivacyType(sf.discrete(["a", "b", "c"]), epsilon=1))
    sf.save(response, tmp_path / "m.sfm")
    (tmp_path / "in.csv").write_text("id,home\n" + "".join(f"{i},{'abc'[i % 3]}\n" for i in range(1000)))
    return tmp_path


def test_a_table_of_counts_is_charged_for_what_one_person_changes(folder: Path) -> None:
    sf.save(sf.geometric(sf.PrivacyType(sf.count_query(9), epsilon=1)), folder / "counts.sfm")
    (folder / "districts.csv").write_text("district,ill\nnorth,3\nsouth,0\neast,9\n")
    asked = ("release", f"{folder}/counts.sfm", f"{folder}/districts.csv", f"{folder}/noisy.csv", "--column", "ill")
    account = ("--ledger", f"{folder}/x.ledger", "--dataset", "clinic")
    Ledger(folder / "x.ledger")
    refused = sfumato(*asked, *account)
    assert refused.returncode == 2 and not (folder / "noisy.csv").exists()
    assert "one person may change several: say how many at most, --times 2 for counts by district" in refused.stderr
    assert sfumato(*asked, *account, "--times", "2").returncode == 0
    assert str(Ledger(folder / "x.ledger").spent("clinic").total) == "2"
    told = json.loads(sfumato(*asked, "--overwrite", "--json").stdout)
    assert "who changes k of them" in told["note"]  # where nobody adds up


def test_a_file_is_released(folder: Path) -> None:
    shown = in_a_shell("release", f"{folder}/m.sfm", f"{folder}/in.csv", f"{folder}/out.csv", "--column", "home")
    assert shown.returncode == 0 and shown.stderr == ""
    for words in (
        "promise  epsilon = 1: at distance 1, no output is more than 2.719 times as likely",
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


def test_a_column_that_tells_places_goes_or_stays_by_name(tmp_path: Path) -> None:
    response = sf.random_response(sf.PrivacyType(sf.geo([(40.70, -74.02), (40.72, -74.00)]), epsilon=1))
    sf.save(response, tmp_path / "m.sfm")
    (tmp_path / "in.csv").write_text("note,lat,lon\n,40.71,-74.01\ngeo:40.71;-74.01,40.71,-74.01\n")
    release = ("release", tmp_path / "m.sfm", tmp_path / "in.csv", tmp_path / "out.csv", "--lat", "lat", "--lon", "lon",
               "--within", "50 km", "--overwrite")  # fmt: skip
    status, _, error = inside(*release)
    assert status != 0 and "the column 'note' tells places where the released ones lie" in str(error)
    assert not (tmp_path / "out.csv").exists()
    assert inside(*release, "--drop", "note")[0] == 0
    assert (tmp_path / "out.csv").read_text().startswith("lat,lon\n")
    assert inside(*release, "--stay", "note")[0] == 0
    assert (tmp_path / "out.csv").read_text().splitlines()[2].startswith("geo:40.71;-74.01,")


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
    status, shown = refused(*arguments, folder / "two.csv", "--column", "home", "--ledger", folder / "spent.ledger",
                            "--dataset", "people")  # fmt: skip
    assert status == 3 and shown.startswith("sfumato: ") and not (folder / "two.csv").exists()
    status, shown, _ = inside(*arguments, folder / "two.csv", "--column", "home", "--ledger", folder / "spent.ledger",
                              "--dataset", "other", "--json")  # fmt: skip
    new, shown = shown.splitlines()  # the first of them to stderr
    assert new.startswith("sfumato: 'other' is new in ") and new.endswith(", which has 'people'")
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
        done = refused("release", folder / "m.sfm", folder / source, folder / f"noisy {source}", *terms,
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
    sf.save(best.mechanism, folder / "m.sfm", overwrite=True)
    Ledger(folder / "spent.ledger", limit=9)
    terms = ("--column", "home", "--ledger", folder / "spent.ledger", "--dataset", "people")
    status, shown = refused("release", folder / "m.sfm", folder / "in.csv", folder / "no.csv", *terms)
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
    sf.save(sf.exponential(sf.PrivacyType(places, epsilon="1/100")), folder / "m.sfm", overwrite=True)
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
    status, shown, _ = inside(
        *arguments, "--within", "20000 m", "--on-unknown", "drop", "--most-dropped", "1", "--into", "city"
    )
    assert status == 0 and "1 released, 1 left out" in shown and "column   lat, lon" in shown
    assert pq.read_table(folder / "out.parquet").column_names == ["city", "k"]
    city = sf.grid(2, 2)
    sf.save(sf.exponential(sf.PrivacyType(city, epsilon=1)), folder / "m.sfm", overwrite=True)
    (folder / "in.csv").write_text("x,y\n0.2,1.1\n")
    assert inside("release", folder / "m.sfm", folder / "in.csv", folder / "o.csv", "--x", "x", "--y", "y")[0] == 0
    sf.save(sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2")), folder / "m.sfm", overwrite=True)
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
    record = json.loads(shown.stderr)
    assert record["message"].startswith("row 1001: 'home' is 'Atlantis', which is no secret of discrete(3)")
    assert (record["error"], record["status"]) == ("BadRow", 2)
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
    _, said = worker.communicate(timeout=240)
    assert worker.returncode == 130 and "Traceback" not in said
    assert sorted(os.listdir(folder)) == ["in.csv", "m.sfm", "ready"]


def test_points_of_a_box_from_the_command_line(tmp_path: Path) -> None:
    """A mechanism for points says what its promise is about, and cells say what theirs is not about."""
    sf.save(box_mechanism(sf.box((4, 3), step=1, unit="km")), tmp_path / "points.sfm")
    sf.save(sf.exponential(sf.PrivacyType(sf.grid(5, 4, unit="km"), epsilon=1)), tmp_path / "cells.sfm")
    (tmp_path / "in.csv").write_text("x,y\n" + "1.25,0.5\n" * 60 + "4.5,3\n")
    asked = ("--x", "x", "--y", "y", "--on-unknown", "nearest")
    status, shown, _ = inside("release", tmp_path / "points.sfm", tmp_path / "in.csv", tmp_path / "one.csv", *asked)
    assert status == 0 and ", about coordinates: at 1 km (euclidean), no output is more than" in shown
    assert "moved    1 of 61 rows lay outside the space, by up to 0.5 km" in shown and "note" not in shown
    status, shown, _ = inside("release", tmp_path / "cells.sfm", tmp_path / "in.csv", tmp_path / "two.csv", *asked)
    assert status == 0 and shown.count("note     the promise is about the secrets of grid(5, 4, euclidean)") == 1
    for name, about in (("points", "coordinates"), ("cells", "secrets")):
        status, shown, _ = inside("release", tmp_path / f"{name}.sfm", tmp_path / "in.csv", tmp_path / f"{name}.csv",
                                  *asked, "--json")  # fmt: skip
        record = json.loads(shown)
        assert record["about"] == about and bool(record["note"]) == (about == "secrets") and record["unit"] == "km"
    status, _, error = inside("release", tmp_path / "points.sfm", tmp_path / "in.csv", tmp_path / "no.csv", "--x", "x")
    assert status == 1 and "has 2 coordinates, found the column 'x'" in str(error)
    for wrong in (("--y", "y"), ("--x", "x", "--z", "y")):
        status, _, error = inside("release", tmp_path / "points.sfm", tmp_path / "in.csv", tmp_path / "no.csv", *wrong)
        assert status == 1 and "its first coordinate in --x, then --y, then --z" in str(error)
    status, _, error = inside("release", tmp_path / "points.sfm", tmp_path / "in.csv", tmp_path / "no.csv",
                              "--lat", "y", "--lon", "x")  # fmt: skip
    assert status == 1 and "latitudes and longitudes on box(4 × 3, euclidean)" in str(error)


def test_noise_that_is_the_same_everywhere_is_released_like_a_table_of_points(tmp_path: Path) -> None:
    strip = sf.box((30,), step=2, unit="km")
    prior, loss = sf.Prior.uniform(strip), sf.losses.distance(strip)
    sf.save(noise_on_box(prior, loss, sf.PrivacyType(strip, epsilon=1)), tmp_path / "noise.sfm")
    (tmp_path / "in.csv").write_text("x\n0\n-0.0\n30\n7.25\n")
    status, shown, error = inside("release", tmp_path / "noise.sfm", tmp_path / "in.csv", tmp_path / "out.csv", "--x=x")
    assert (status, error) == (0, None)
    assert "promise  epsilon = 1 per km, about coordinates" in shown
    status, shown, error = inside(
        "release", tmp_path / "noise.sfm", tmp_path / "in.csv", tmp_path / "more.csv", "--x=x", "--json"
    )
    assert status == 0 and json.loads(shown)["about"] == "coordinates"
    status, shown, error = inside(
        "report", tmp_path / "noise.sfm", "--output", tmp_path / "noise.html", "--secret", "7.25"
    )
    page = (tmp_path / "noise.html").read_text()
    assert (status, error) == (0, None) and "What is told at the point 7.25 km" in page
    assert "the same noise at every point of a box of 30" in page and "sfumato verify noise.sfm" in page


def test_files_of_maps(tmp_path: Path) -> None:
    """Points of a geometry, and projected columns with their system; what is wrong is one line."""
    sf.save(box_mechanism(earth_box(48, 2, sides=(10, 10), step=5), outputs=4), tmp_path / "m.sfm")
    points = [{"type": "Point", "coordinates": [2.05, 48.02]}, {"type": "Point", "coordinates": [2.1, 48.05, 7]}]
    features = [{"type": "Feature", "properties": {"id": k}, "geometry": point} for k, point in enumerate(points)]
    (tmp_path / "in.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    files = (tmp_path / "m.sfm", tmp_path / "in.geojson", tmp_path / "out.geojson")
    status, _, error = inside("release", *files, "--geometry", "geometry")
    assert status != 0 and "--drop-z leaves heights" in str(error)
    status, shown, _ = inside("release", *files, "--geometry", "geometry", "--drop-z", "--json")
    assert status == 0 and json.loads(shown)["columns"] == ["geometry"] and json.loads(shown)["about"] == "coordinates"
    assert len(json.loads((tmp_path / "out.geojson").read_text())["features"]) == 2
    (tmp_path / "in.csv").write_text("id,x,y\n1,629300,6772400\n")
    columns = (tmp_path / "m.sfm", tmp_path / "in.csv", tmp_path / "out.csv", "--x", "x", "--y", "y")
    assert inside("release", *columns, "--crs", "EPSG:2154", "--on-unknown", "nearest", "--most-moved", "1")[0] == 0
    assert (tmp_path / "out.csv").read_text().startswith("id,x,y\n1,6")
    for wrong, words in (
        (("--drop-z",), "--drop-z goes with --geometry"),
        (("--crs", "EPSG:1"), "no coordinate system"),
    ):
        status, _, error = inside("release", *columns, *wrong, "--overwrite")
        assert status != 0 and words in str(error)
