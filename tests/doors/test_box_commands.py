"""Boxes of coordinates on the command line: design, verify, curve, report and release; refusals are one line."""

from __future__ import annotations

import json
import signal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import sfumato as sf
from sfumato.certify.coordinates import BoxMechanism
from sfumato.cli import designs
from sfumato.cli.main import app
from sfumato.design.boxes import optimal
from sfumato.errors import InvalidInput, NotSupported

WAY = """
[space]
kind = "box"
sides = 4
step = "500 m"
unit = "km"
[privacy]
double_at = "1 km"
[prior]
counts = [1, 2, 3, 4, 4, 3, 2, 1]
"""

PLACE = """
[space]
kind = "earth_box"
south = "40.70 N"
west = "74.02 W"
sides = [2, 2]
step = 1
[privacy]
double_at = "1 km"
[prior]
points = {file = "places.csv"}
[solve]
tolerance = 0.2
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "way.toml").write_text(WAY)
    (tmp_path / "place.toml").write_text(PLACE)
    (tmp_path / "places.csv").write_text("lat,lon\n40.705,-74.015\n40.71,-74.01\n41,-74\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sfumato(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_a_design_is_told_verified_drawn_and_released(folder: Path) -> None:
    done = sfumato("design", "way.toml")
    assert done.exit_code == 0, done.output
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert "about coordinates: at 1 km (euclidean), no output is more than 2 times" in lines["promise"]
    assert lines["about"].startswith("all points of the box")
    assert lines["bound"].endswith("with whatever outputs")
    assert "0.75 km if nothing is disclosed" in lines["loss"]
    assert "lattice points, rounding of degree 2" in lines["lattice"]
    assert lines["outputs"].endswith("constant on 8 cells")

    mechanism = sf.load("way.sfm")
    assert isinstance(mechanism, BoxMechanism) and mechanism.box == sf.box(4, step="1/2", unit="km")
    verified = sfumato("verify", "way.sfm")
    assert verified.exit_code == 0
    assert "PROVED private for all points of the box, with alpha = 1/2 per 'km'" in verified.stdout
    record = json.loads(sfumato("verify", "way.sfm", "--json").stdout)
    assert record["promise"]["kind"] == "coordinates" and record["about"] == "coordinates"
    assert record["lattice"] == list(mechanism.rounding.shape) and "secrets" not in record

    assert sfumato("report", "way.sfm", "--spec", "way.toml").exit_code == 0
    assert "The promise is about points, not about cells" in Path("way.html").read_text()
    Path("homes.csv").write_text("at\n0.1\n3.99\n2\n")
    assert sfumato("release", "way.sfm", "homes.csv", "noisy.csv", "--x", "at").exit_code == 0
    told = [float(line) for line in Path("noisy.csv").read_text().split()[1:]]
    assert len(told) == 3
    assert all(any(abs(t - float(y)) < 1e-9 for y in mechanism.outputs) for t in told)


def test_the_gap_that_is_aimed_at_on_a_box_is_in_the_help() -> None:
    assert "on a box 0.03" in " ".join(sfumato("design", "--help").stdout.replace("│", " ").split())
    assert optimal.TOLERANCE == 0.03


def test_a_design_as_json(folder: Path) -> None:
    record = json.loads(sfumato("design", "way.toml", "--json", "--tolerance", "0.1", "-o", "a.sfm").stdout)
    best = sf.load("a.sfm")
    assert record["about"] == "coordinates" and record["promise"] == {"alpha": "1/2"}
    assert record["lattice"] == list(best.rounding.shape) and record["outputs"] == len(best.outputs)
    assert record["cells"] == 8 and record["ended"] == "reached" and record["gap"] <= 0.1
    assert 0 < record["bound"] < record["loss"] and record["rate"] == str(best.rate)
    assert Fraction(record["bound"]) <= Fraction(record["bound_exact"]) and Fraction(record["loss"]) >= best.proof.loss


def test_on_the_earth_points_are_counted_and_losses_are_those_of_the_map(folder: Path) -> None:
    done = sfumato("design", "place.toml")
    assert done.exit_code == 0
    assert "2 of 3 points of places.csv lie in the box" in done.stderr
    assert "km on the ground" in done.stdout and "(great circle)" in done.stdout
    assert "up to 1/2 km outside" in done.stdout
    Path("trips.csv").write_text("lat,lon\n40.705,-74.015\n")
    assert sfumato("release", "place.sfm", "trips.csv", "noisy.csv", "--lat", "lat", "--lon", "lon").exit_code == 0
    latitude, longitude = map(float, Path("noisy.csv").read_text().split()[1].split(","))
    assert 40.69 < latitude < 40.73 and -74.03 < longitude < -73.99


def test_a_curve_on_a_box(folder: Path) -> None:
    done = sfumato("curve", "way.toml", "--epsilons", "0.5,1", "--tolerance", "0.1")
    assert done.exit_code == 0
    first, second = (line.split() for line in done.stdout.splitlines()[1:3])
    assert (first[0], second[0]) == ("0.5", "1") and float(first[1]) > float(second[2])
    rows = [json.loads(line) for line in sfumato("curve", "way.toml", "--epsilons", "1", "--json").stdout.splitlines()]
    assert rows[0]["about"] == "coordinates" and rows[0]["epsilon"] == 1.0


def test_an_error_that_is_wanted_finds_its_epsilon(folder: Path) -> None:
    done = sfumato("calibrate", "way.toml", "--target", "600 m", "--precision", "0.4", "-o", "found.sfm")
    assert done.exit_code == 0, done.output
    enough, too_small, *rest = done.stdout.splitlines()
    assert enough.endswith("per km is enough for a loss of 0.6 km") and "too small for any mechanism" in too_small
    assert any(line.startswith("about    all points of the box") for line in rest)
    best = sf.load("found.sfm")
    assert best.proof.loss <= Fraction(3, 5) and str(float(best.privacy.epsilon)) in enough
    with pytest.raises(InvalidInput, match=r"the target 0\.8 must lie between 0"):
        sfumato("calibrate", "way.toml", "--target", "800 m")
    with pytest.raises(InvalidInput, match="--target: the target is 3 h"):
        sfumato("calibrate", "way.toml", "--target", "3 h")


def test_ctrl_c_keeps_the_epsilon_that_is_proved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search, signals = designs.epsilon_for, iter([signal.SIGINT])

    def interrupting(*terms: Any, progress: Any, **more: Any) -> Any:
        def tell(state: Any) -> None:
            for one in signals if "lattice" in state.stage else ():
                signal.raise_signal(one)
            progress(state)

        return search(*terms, progress=tell, **more)

    monkeypatch.setattr(designs, "epsilon_for", interrupting)
    ended = sfumato("calibrate", "way.toml", "--target", "0.6", "--json")
    assert ended.exit_code == 0, ended.output
    record = json.loads(ended.stdout)
    assert record["loss"] <= 0.6 and record["low"] == 0 and record["method"] == "the same noise everywhere"
    assert "interrupted; what is shown of ε is proved" in ended.stderr


def test_known_mechanisms_on_a_box(folder: Path) -> None:
    done = sfumato("compare-known", "way.toml")
    assert done.exit_code == 0, done.output
    rows = {line.split("  ")[0]: line for line in done.stdout.splitlines()}
    assert rows["laplace noise, remapped"].endswith("for all points")
    assert rows["laplace noise in floats"].endswith("no, by rounding")
    assert "on a raster" in rows["21 interpolated anchors in floats"] and "smooth exponential, remapped" in rows
    with pytest.raises(NotSupported, match="a figure of a comparison on a box"):
        sfumato("compare-known", "way.toml", "-o", "a.html")
    short = sfumato("compare-known", "way.toml", "--json", "--time-limit", "0")
    assert "left out: smooth exponential: the time is up" in short.stderr
    assert [json.loads(line)["mechanism"] for line in short.stdout.splitlines()] == ["laplace noise in floats"]


def test_a_known_mechanism_for_coordinates_is_written(folder: Path) -> None:
    done = sfumato("known", "planar-laplace", "way.toml", "-o", "noise.sfm")
    assert done.exit_code == 0 and "about coordinates" in done.stdout
    # what leaves the box is moved into it, and comes nearer than is proved
    assert dict(line.split(maxsplit=1) for line in done.stdout.splitlines())["loss"].startswith("at most 1.4")
    assert "noise that is the same everywhere" in sfumato("verify", "noise.sfm").stdout
    record = json.loads(sfumato("known", "exponential", "way.toml", "--remap", "--json").stdout)
    assert record["about"] == "coordinates" and record["loss"] < 0.75 and sf.load("exponential.sfm").proof.loss
    listed = [line.split(maxsplit=2) for line in sfumato("known", "--list", "way.toml").stdout.splitlines()]
    assert {name for name, applies, _ in listed if applies == "no"} >= {"hamming-kernel", "membership", "binary"}
    with pytest.raises(NotSupported, match="its outputs are no points of the box"):
        sfumato("known", "membership", "way.toml")


def test_what_has_no_time_or_is_interrupted_is_proved_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = sfumato("design", "way.toml", "--time-limit", "0", "--json")
    assert short.exit_code == 0 and json.loads(short.stdout)["ended"] == "time limit"
    assert "the time is up; this is the best mechanism so far" in short.stderr
    assert sfumato("verify", "way.sfm").exit_code == 0
    best, signals = designs.best_for, iter([signal.SIGINT])

    def interrupting(*terms: Any, progress: Any, **more: Any) -> Any:
        def tell(state: Any) -> None:
            for one in signals if getattr(state, "iteration", 0) else ():
                signal.raise_signal(one)
            progress(state)

        return best(*terms, progress=tell, **more)

    monkeypatch.setattr(designs, "best_for", interrupting)
    ended = sfumato("design", "way.toml", "--tolerance", "0.0001", "--overwrite", "--json")
    assert ended.exit_code == 0, ended.output
    assert json.loads(ended.stdout)["ended"] == "interrupted"
    assert sfumato("verify", "way.sfm").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("universal", "way.toml"), "a box of coordinates with `sfumato universal`"),
        (("audit", "places.csv", "--spec", "way.toml"), "a box of coordinates with `sfumato audit`"),
        (("compare-known", "box:4"), "space 'box'"),
        (("design", "way.toml", "--solver", "exact"), "a solver by name on a box"),
    ],
)
def test_what_needs_a_list_of_secrets_says_so(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(NotSupported) as error:
        sfumato(*arguments)
    assert words in str(error.value) and "\n" not in str(error.value)


def test_files_for_coordinates_are_no_tables(folder: Path) -> None:
    assert sfumato("design", "way.toml", "--tolerance", "0.2").exit_code == 0
    with pytest.raises(NotSupported, match="as a table"):
        sfumato("audit", "way.sfm")


def test_two_files_for_coordinates_are_compared_by_what_they_lose(folder: Path) -> None:
    assert sfumato("design", "way.toml", "--tolerance", "0.2").exit_code == 0
    assert sfumato("known", "planar-laplace", "way.toml", "-o", "noise.sfm").exit_code == 0
    done = sfumato("compare", "way.sfm", "noise.sfm")
    rows = [line.split("  ")[0] for line in done.stdout.splitlines()]
    assert done.exit_code == 0 and rows[1:4] == ["mechanism", "way.sfm", "noise.sfm"]
    assert "way.sfm: no mechanism with its promise loses less than" in done.stdout
    best, noise = (
        json.loads(line) for line in sfumato("compare", "noise.sfm", "way.sfm", "--json").stdout.splitlines()
    )
    assert best["mechanism"] == "way.sfm" and best["loss"] < noise["loss"]
    assert float(best["bound"]) < best["loss"]
    sf.save(sf.mechanisms.laplace_noise(sf.load("way.sfm").privacy), "bare.sfm")
    with pytest.raises(InvalidInput, match="neither file says for which people"):
        sfumato("compare", "bare.sfm", "./bare.sfm")
    with pytest.raises(InvalidInput, match=r"bare\.sfm does not say what its noise loses"):
        sfumato("compare", "way.sfm", "bare.sfm")
    assert "way.sfm, again" in sfumato("compare", "way.sfm", "way.sfm").stdout


def test_a_file_is_a_row_among_known_mechanisms(folder: Path) -> None:
    """On a box and on a list: for the prior and the loss that it was made for."""
    assert sfumato("design", "way.toml", "--tolerance", "0.2").exit_code == 0
    rows = [line.split("  ")[0] for line in sfumato("compare-known", "way.sfm").stdout.splitlines()]
    assert rows[2] == "way.sfm" and "laplace noise, remapped" in rows
    Path("line.toml").write_text('[space]\nkind = "line"\nn = 5\n[privacy]\nalpha = "1/2"\n')
    assert sfumato("design", "line.toml").exit_code == 0
    rows = [line.split("  ")[0] for line in sfumato("compare-known", "line.sfm").stdout.splitlines()]
    assert {"line.sfm", "optimal", "geometric"} <= set(rows)
    with pytest.raises(InvalidInput, match=r"--epsilon 1: line\.sfm says it"):
        sfumato("compare-known", "line.sfm", "--epsilon", "1")
    sf.save(sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2")), "bare.sfm")
    with pytest.raises(InvalidInput, match="does not say what it loses"):
        sfumato("compare-known", "bare.sfm")


def test_a_box_that_is_too_large_for_a_table(folder: Path) -> None:
    Path("long.toml").write_text("[space]\nkind = 'box'\nsides = 2000\nstep = 100\n[privacy]\ndouble_at = 1\n")
    done = sfumato("design", "long.toml")
    assert done.exit_code == 0 and "the same noise everywhere, since the box is too large for a table" in done.stdout
    assert "noise that is the same everywhere" in sfumato("verify", "long.sfm").stdout
    Path("in.csv").write_text("a\n5\n")
    released = sfumato("release", "long.sfm", "in.csv", "out.csv", "--x", "a", "--json")
    assert json.loads(released.stdout)["about"] == "coordinates"
    assert sfumato("report", "long.sfm").exit_code == 0
    assert "What would leave the box is told as the nearest point of its border" in Path("long.html").read_text()


def test_a_curve_on_a_box_is_drawn(folder: Path) -> None:
    """The smallest ε take a table, the largest noise that is the same everywhere."""
    Path("long.toml").write_text("[space]\nkind = 'box'\nsides = 2000\nstep = 100\n[solve]\ntolerance = 0.2\n")
    assert sfumato("curve", "long.toml", "--epsilons", "0.001,1", "-o", "curve.html").exit_code == 0
    assert "nothing disclosed" in Path("curve.html").read_text()
