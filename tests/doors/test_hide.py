"""The command `sfumato hide`: from a CSV to a released CSV with mechanism, report and spec; refusals are one line."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import sfumato as sf
from hide_files import csv_file, table
from sfumato.cli.main import app
from sfumato.errors import InvalidInput, NotSupported
from sfumato.hide import choice, hiding
from shell import sfumato as in_this_process

BOX = ("--box", "40.70,-74.02,40.72,-74.00")
QUICK = (*BOX, "--cell", "1km", "--tolerance", "0.5")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    csv_file(tmp_path / "trips.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sfumato(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def hide(*arguments: str) -> Result:
    return sfumato("hide", "trips.csv", "-o", "hidden.csv", *arguments)


def test_a_spec_that_says_no_time_limit_has_a_minute(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Python, and as for a wish."""
    limits = []

    def looked_at(*_: Any, time_limit: Any, **__: Any) -> Any:
        limits.append(time_limit.limit)
        raise InvalidInput("that is all")

    monkeypatch.setattr("sfumato.cli.hiding.hidden_points", looked_at)
    spec = '[space]\nkind = "box"\nsides = 2\nstep = 1\n[privacy]\nepsilon = 1\n'
    for name, solve in (("plain", ""), ("said", "[solve]\ntime_limit = 5\n")):
        (folder / f"{name}.toml").write_text(spec + solve)
        with pytest.raises(InvalidInput, match="that is all"):
            hide("--spec", f"{name}.toml")
    assert limits == [60.0, 5.0]


def test_one_command_from_a_csv_to_a_proved_release(folder: Path) -> None:
    done = hide("--lat", "lat", "--lon", "lon", "--hide", "1 km", *QUICK)
    assert done.exit_code == 0, done.output
    assert "alpha = 1/2 per km on the ground" in done.stdout and "The promise is about each row" in done.stdout
    assert "a table of its own for this box" in done.stdout and "Wrote 20 rows to hidden.csv" in done.stdout
    rows = (folder / "hidden.csv").read_text().splitlines()
    assert rows[0] == "id,lat,lon" and len(rows) == 21 and rows[1] != (folder / "trips.csv").read_text().splitlines()[1]
    assert sfumato("verify", "hidden.sfm").exit_code == 0
    assert "The promise is about each row" in (folder / "hidden.html").read_text()
    # the spec beside it repeats it, in two commands or in one
    assert sfumato("design", "hidden.toml", "-o", "again.sfm").exit_code == 0
    assert (folder / "again.sfm").read_bytes() == (folder / "hidden.sfm").read_bytes()
    again = sfumato("hide", "trips.csv", "-o", "again.csv", "--spec", "hidden.toml", "--overwrite", "--json")
    record = json.loads(again.stdout)
    assert (record["mechanism"], record["promise"], record["files"][0]) == ("table", {"alpha": "1/2"}, "again.csv")
    assert "moved" not in again.stdout and "dropped" not in again.stdout


def test_the_guide_can_be_followed_from_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "hide.md").read_text()
    monkeypatch.chdir(tmp_path)
    script = re.search(r"<<'END'\n(.*?)END\n", guide, re.DOTALL)
    assert script is not None
    rows = subprocess.run([sys.executable, "-c", script[1]], capture_output=True, text=True, check=True).stdout
    Path("trips.csv").write_text(rows)
    command = next(line for line in guide.splitlines() if line.startswith("sfumato hide trips.csv"))
    assert command == (
        'sfumato hide trips.csv -o hidden.csv --lat lat --lon lon --hide "500 m" --box 40.70,-74.02,40.80,-73.90'
    )
    done = sfumato(
        *shlex.split(command)[1:], "--time-limit", "1"
    )  # with the cells of the rule, and what is found so far
    assert done.exit_code == 0, done.output
    assert "odds between two places 500 m apart at most double" in done.stdout and "Wrote 1,000 rows" in done.stdout
    assert sorted(file.name for file in tmp_path.glob("hidden.*")) == [
        "hidden.csv", "hidden.html", "hidden.sfm", "hidden.toml",
    ]  # fmt: skip
    released = Path("hidden.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in released] == [row.split(",")[0] for row in rows.splitlines()]
    assert sfumato("verify", "hidden.sfm").exit_code == 0


def test_what_is_known_of_the_true_points_is_told_on_the_screen_alone(folder: Path) -> None:
    with (folder / "trips.csv").open("a") as file:
        file.write("p9,40.7285,-74.01\n")
    kept = ("--person", "id", "--most-rows", "5", "--beyond", "drop")
    done = hide("--hide", "1 km", *QUICK, *kept, "--most-moved", "1")
    assert done.exit_code == 0, done.output
    assert "1 of 21 rows lay outside of the box" in done.stderr and "5 rows were left out because" in done.stderr
    for name in ("hidden.html", "hidden.toml"):
        text = (folder / name).read_text()
        assert "outside of the box, by" not in text and "left out because" not in text
    assert "At most 5 rows of each person" in done.stdout


def test_both_ends_of_a_trip_are_hidden_in_one_command(folder: Path) -> None:
    head, *rows = (folder / "trips.csv").read_text().splitlines()
    ends = ["40.7285,-74.01", *(["40.71,-74.01"] * (len(rows) - 1))]
    lines = [f"{head},end_lat,end_lon", *(f"{row},{end}" for row, end in zip(rows, ends, strict=True)), ""]
    (folder / "trips.csv").write_text("\n".join(lines))
    places = ("--place", "start=lat,lon", "--place", "end=end_lat,end_lon")
    whose = ("--person", "id", "--most-rows", "7", "--per-person")
    done = hide("--hide", "1 km", *QUICK, *places, *whose)
    assert done.exit_code == 0, done.output
    assert "each at 1/14 of its rate" in done.stdout
    assert f"1 place in {len(rows)} rows (0 of start, 1 of end) lay outside" in done.stderr
    assert "places = {start" in (folder / "hidden.toml").read_text()


def test_decimal_commas_are_found_said_and_written(folder: Path) -> None:
    rows = (folder / "trips.csv").read_text().replace(",", ";").replace(".", ",")
    (folder / "trips.csv").write_text(rows)
    done = hide("--hide", "1 km", *QUICK, "--on-unknown", "drop")
    assert done.exit_code == 0, done.output
    assert "Wrote 20 rows" in done.stdout and "Coordinates have decimal commas" in done.stdout
    released = (folder / "hidden.csv").read_text().splitlines()
    assert all(re.fullmatch(r"p\d;40,7\d*;-74,0\d*", row) for row in released[1:])
    again = sfumato("hide", "trips.csv", "-o", "again.csv", "--spec", "hidden.toml", "--decimal", ",")
    assert again.exit_code == 0 and "Wrote 20 rows" in again.stdout
    asked = ("hide", "trips.csv", "-o", "none.csv", "--hide", "1 km", *QUICK, "--on-unknown", "drop", "--decimal", ".")
    refused = in_this_process(*asked)
    assert refused.returncode == 2 and not (folder / "none.csv").exists()
    assert "20 of 20 rows would be left out" in refused.stderr and "--decimal , if it stands" in refused.stderr


def test_degrees_have_no_thousands(folder: Path) -> None:
    rows = ["id;lat;lon", *(f"{row.id};{row.lat:.3f};{row.lon:.3f}" for row in table().to_pandas().itertuples())]
    (folder / "trips.csv").write_text("\n".join([*rows, ""]).replace(".", ","))
    done = hide("--hide", "1 km", *QUICK)
    assert done.exit_code == 0 and "Coordinates have decimal commas" in done.stdout
    released = (folder / "hidden.csv").read_text().splitlines()
    assert all(re.fullmatch(r"p\d;4\d(,\d+)?;-7\d(,\d+)?", row) for row in released[1:])


def test_columns_are_found_by_words_in_their_names_and_said(folder: Path) -> None:
    rows = (folder / "trips.csv").read_text().replace("id,lat,lon", "id,latitude_start,longitude_start")
    (folder / "trips.csv").write_text(rows)
    done = hide("--hide", "1 km", *QUICK)
    assert done.exit_code == 0, done.output
    assert "Columns of the points: latitude_start, longitude_start." in done.stdout


def test_columns_of_names_are_told_to_be_looked_up(folder: Path) -> None:
    rows = (folder / "trips.csv").read_text().splitlines()
    named = [f"{row},{42_000_000 + k if k else 'osm_id'}" for k, row in enumerate(rows)]
    (folder / "trips.csv").write_text("\n".join([*named, ""]))
    done = hide("--hide", "1 km", *QUICK)
    assert "Columns that stay as they are: id, osm_id." in done.stdout
    assert "No value occurs twice in the first rows of osm_id: such values are names" in done.stdout
    assert "--drop leaves columns out" in done.stdout


def test_a_bit_outside_is_no_distance(folder: Path) -> None:
    far = hiding.release_file

    def barely(*terms: Any, **more: Any) -> Any:
        return dataclasses.replace(far(*terms, **more), moved=1, farthest=1e-15)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hiding, "release_file", barely)
        done = hide("--hide", "1 km", *QUICK)
    assert "by less than a millimetre, and were moved" in done.stderr


def test_errors_of_the_system_are_sentences(folder: Path) -> None:
    ended = in_this_process("hide", "trips.csv", "-o", "/proc/o.csv", "--hide", "1 km", *QUICK)
    assert ended.returncode == 2 and "Errno" not in ended.stderr and "/proc/o.csv cannot be written" in ended.stderr


def test_parquet_and_a_ledger(folder: Path) -> None:
    pq.write_table(table(), "trips.parquet")
    assert sfumato("ledger", "limit", "spent.ledger", "--epsilon", "2").exit_code == 0
    charged = ("--ledger", "spent.ledger", "--dataset", "trips", "--prior", "data", "--prior-epsilon", "1")
    arguments = ("hide", "trips.parquet", "-o", "hidden.parquet", "--epsilon", "1.5 per km", *QUICK, *charged)
    done = sfumato(*arguments)
    assert done.exit_code == 0 and "Paid beside it: the prior comes from the data" in done.stdout
    assert pq.read_table("hidden.parquet").schema.equals(table().schema)
    refused = in_this_process(*arguments, "--overwrite")
    assert refused.returncode == 3 and "nothing was charged" in refused.stderr
    assert len(sf.Ledger("spent.ledger").entries()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*QUICK,), "--hide 500 m, --epsilon 0.5 per km and --error 300 m"),
        (("--hide", "1 km"), "say where points lie with --box"),
        (("--hide", "500", *QUICK), "--hide: '500' what? Write '500 m' or '500 km'"),
        (("--epsilon", "0.5", *QUICK), "--epsilon: '0.5' per what? Write '0.5 per km' or '0.5 per mi'"),
        (("--hide", "1 km", "--box", "data"), "--box-epsilon 1"),
        (("--hide", "1 km", "--box", "trips.csv"), "is the file of the data"),
        (("--hide", "1 km", *BOX, "--prior", "trips.csv"), "--prior data with --prior-epsilon 1"),
        (("--hide", "1 km", *QUICK, "--person", "id"), "--person id needs --most-rows 1"),
        (("--hide", "1 km", *QUICK, "--ledger", "none.ledger"), "there is no ledger"),
        (("--hide", "1 km", *QUICK, "--lat", "a", "--lon", "b"), "no column 'a'"),
        (("--hide", "1 km", "--box", "-74.02,40.70,-73.90,40.80"), "swap the numbers of the box, --box 40.7,-74.02,"),
        (("--hide", "1 km", "--box", "NYC, 20 km"), "did you mean 'New York City' (US)"),
        (("--hide", "1 km", *BOX, "--lat", "lon", "--lon", "lat"), "--lat lat and --lon lon"),
        (("--hide", "1 km", *QUICK, "--on-unknown", "whatever"), "--on-unknown 'whatever'"),
    ],
)
def test_refusals_say_what_to_do_and_write_nothing(folder: Path, arguments: Any, message: str) -> None:
    with pytest.raises((InvalidInput, NotSupported), match=re.escape(message)):
        hide(*arguments)
    assert [file.name for file in folder.iterdir()] == ["trips.csv"]


def test_a_file_that_is_there_stays(folder: Path) -> None:
    (folder / "hidden.html").write_text("mine")
    for more in ((), ("--overwrite",)):
        with pytest.raises(InvalidInput, match=r"hidden\.html is there and is not a page or figure of sfumato"):
            hide("--hide", "1 km", *QUICK, *more)
    assert (folder / "hidden.html").read_text() == "mine" and not (folder / "hidden.csv").exists()


def test_a_second_interrupt_stops_at_once_wherever_the_search_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    best, heard = choice.best_for, []

    def interrupting(*terms: Any, progress: Any, **more: Any) -> Any:
        def tell(state: Any) -> None:
            if heard:
                heard.append(state)
                signal.raise_signal(signal.SIGINT)  # the second one
            progress(state)
            if getattr(state, "iteration", 0):
                heard.append(state)
                signal.raise_signal(signal.SIGINT)

        return best(*terms, progress=tell, **more)

    monkeypatch.setattr(choice, "best_for", interrupting)
    done = hide("--hide", "1 km", *BOX, "--cell", "1km", "--tolerance", "0.0001")
    assert len(heard) == 2 and done.exit_code != 0, done.output
    assert sorted(file.name for file in folder.iterdir()) == ["trips.csv"]


def test_an_interrupted_search_goes_on_with_what_it_has_and_an_interrupted_release_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    best, signals = choice.best_for, iter([signal.SIGINT])

    def interrupting(*terms: Any, progress: Any, **more: Any) -> Any:
        def tell(state: Any) -> None:
            for one in signals if getattr(state, "iteration", 0) else ():
                signal.raise_signal(one)
            progress(state)

        return best(*terms, progress=tell, **more)

    monkeypatch.setattr(choice, "best_for", interrupting)
    done = hide("--hide", "1 km", *BOX, "--cell", "1km", "--tolerance", "0.0001")
    assert done.exit_code == 0 and "in time" in done.stdout, done.output
    assert sfumato("verify", "hidden.sfm").exit_code == 0
    released = hiding.release_file

    def stopped(*terms: Any, progress: Any, **more: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return released(*terms, progress=progress, **more)

    monkeypatch.setattr(hiding, "release_file", stopped)
    ended = sfumato("hide", "trips.csv", "-o", "b.csv", "--hide", "1 km", *QUICK)
    assert ended.exit_code != 0
    assert not list(folder.glob("b.*")) and not list(folder.glob(".*part*"))
