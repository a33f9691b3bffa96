from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli import demo, demo_points
from sfumato.cli.demo_points import invented
from sfumato.cli.main import app
from sfumato.errors import InvalidInput, NotSupported
from sfumato.specs.cities import cities_around, cities_of, city_of


def told(*arguments: Any) -> str:
    half = [] if "--only" in arguments else ["--only", "cities"]
    done = CliRunner().invoke(app, ["demo", *map(str, arguments), *half])
    if done.exception is not None:
        raise done.exception
    return done.stdout


def test_the_demonstration_ends_in_a_proof_and_a_page(tmp_path: Path) -> None:
    out = tmp_path / "out"
    text = told("--country", "nl", "--cities", "12", "--epsilon", "1/20", "--people", "300", "--out", out)
    assert "The Netherlands: its 12 largest cities" in text or "Netherlands: its 12 largest cities" in text
    assert "PROVED private with epsilon = 1/20 per 'km'" in text
    for peer in ("planar laplace", "exponential", "permute and flip", "nothing told"):
        assert peer in text
    assert f"Open {out / 'report.html'} in a browser." in text
    assert sf.verify(out / "mechanism.sfm")
    page = (out / "report.html").read_text()
    assert "What 300 releases told." in page
    assert sf.load(out / "mechanism.sfm").proof.digest in page
    people, released = (
        list(csv.reader((out / name).read_text().splitlines())) for name in ("people.csv", "released.csv")
    )
    assert people[0] == released[0] == ["person", "city"]
    assert len(people) == len(released) == 301
    names = set(cities_of("NL", 12).names)
    assert {city for _, city in [*people[1:], *released[1:]]} <= names
    assert people != released


def test_points_around_a_city_are_hidden_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few cells and little to be designed; what snapping breaks is on the page and on the screen."""
    monkeypatch.setattr(demo_points, "_CELL", "50 km")
    monkeypatch.setattr(demo_points, "_TOLERANCE", 0.5)
    out = tmp_path / "out"
    text = told("--only", "points", "--points", "300", "--hide", "60 km", "--out", out)
    assert "Around Paris: 300 invented points near" in text and "within 50 km" in text
    assert "PROVED private for all points of the box" in text
    assert "would break that promise for" in text and "this release breaks it for none" in text
    assert f"Open {out / 'points.html'} in a browser." in text
    assert sf.verify(out / "hidden.sfm")
    page = (out / "points.html").read_text()
    assert page.count("<svg") > 3 and "broken if snapped" in page and "What was hidden" in page
    assert "Could be saved" in page and "http://" not in page.replace("http://www.w3.org", "")
    files = [(out / name).read_text().split() for name in ("points.csv", "hidden.csv")]
    true, hidden = ([row.split(",") for row in rows] for rows in files)
    assert true[0] == hidden[0] == ["person", "lat", "lon"] and len(true) == len(hidden) == 301
    assert all(47.5 < float(lat) < 50.2 and 0.5 < float(lon) < 4.2 for _, lat, lon in [*true[1:], *hidden[1:]])


def test_invented_points_are_the_same_every_time_and_lie_around_towns() -> None:
    towns = cities_around(city_of("Paris", "FR"), 50)
    places = invented(towns, 1000)
    assert (places == invented(towns, 1000)).all()
    nearest = min(np.abs(places[0] - town.place).max() for town in towns)
    assert nearest < 0.2 and np.abs(places.mean(axis=0) - [48.86, 2.35]).max() < 0.1


def test_both_halves_follow_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a word on halves both are told; here each is one sentence."""

    def told_by(half: str) -> Any:
        def run(self: Any, *_: Any) -> Iterator[str]:
            self.record = {"half": half}
            yield f"This is about {half}."

        return run

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo._Story, "run", told_by("cities"))
    monkeypatch.setattr(demo.PointsStory, "run", told_by("points"))
    lines = CliRunner().invoke(app, ["demo", "--out", "there"], catch_exceptions=False).stdout.splitlines()
    assert lines[:3] == ["This is about cities.", "", "This is about points."]
    assert lines[3].endswith(f"Open {Path('there/report.html')} and {Path('there/points.html')} in a browser.")
    found = json.loads(CliRunner().invoke(app, ["demo", "--json"], catch_exceptions=False).stdout)
    assert (found["half"], found["points"]) == ("cities", {"half": "points"})


def test_numbers_for_programs(tmp_path: Path) -> None:
    found = json.loads(told("--country", "PT", "--cities", "8", "--people", "50", "--out", tmp_path, "--json"))
    assert found["kernel_exit_status"] == 0
    assert found["bound_km"] <= found["loss_km"] <= found["told_nothing_km"]
    assert all(peer["remapped_km"] >= found["bound_km"] for peer in found["peers"])
    assert {"planar_laplace", "exponential"} <= {peer["mechanism"] for peer in found["peers"]}
    assert Path(found["report"]).exists()


def test_cities_are_distinct_and_the_largest_come_first() -> None:
    found = cities_of("US", 400)
    assert len(set(found.names)) == len(set(found.places)) == 400
    assert list(found.people) == sorted(found.people, reverse=True)
    assert found.names[0] == "New York City"
    assert any(name.endswith("(2)") for name in found.names)


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(NotSupported, match="two letters"):
        cities_of("XX", 5)
    with pytest.raises(NotSupported, match="country 'Italy'"):
        cities_of("Italy", 5)
    with pytest.raises(InvalidInput, match="Iceland has"):
        told("--country", "IS", "--cities", "900", "--out", tmp_path)
    with pytest.raises(InvalidInput, match="must be positive"):
        told("--epsilon", "0", "--out", tmp_path)
    with pytest.raises(InvalidInput, match="--only: 'point' is no half, did you mean 'points'"):
        told("--only", "point", "--out", tmp_path)
    with pytest.raises(InvalidInput, match="hide"):
        told("--only", "points", "--hide", "0 km", "--out", tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with pytest.raises(InvalidInput, match="--epsilon"):
        told("--epsilon", "lots", "--out", tmp_path)
    assert not list(tmp_path.iterdir())


def test_make_demo_may_follow_itself() -> None:
    """The folder of the checkout has the files of the time before; a command asks before it replaces any."""
    makefile = (Path(__file__).resolve().parents[2] / "Makefile").read_text()
    assert "\t$(BIN)/sfumato demo --overwrite\n" in makefile
