from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.errors import InvalidInput, NotSupported
from sfumato.specs.cities import cities_of


def told(*arguments: Any) -> str:
    done = CliRunner().invoke(app, ["demo", *map(str, arguments)])
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
    with pytest.raises(InvalidInput, match="--epsilon"):
        told("--epsilon", "lots", "--out", tmp_path)
    assert not list(tmp_path.iterdir())
