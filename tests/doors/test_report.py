from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.errors import InvalidInput, SfumatoError
from sfumato.report import page

space = sf.grid(2, 3, unit="km")
SPEC = """
[space]
kind = "grid"
shape = [2, 3]
unit = "km"

[privacy]
epsilon = 1

[loss]
kind = "distance"
"""


@pytest.fixture
def mechanism(tmp_path: Path) -> Path:
    best = sf.design(sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, epsilon=1))
    sf.save(best.mechanism, tmp_path / "town.sfm")
    return tmp_path / "town.sfm"


def told(*arguments: Any) -> tuple[str, str]:
    done = CliRunner().invoke(app, ["report", *map(str, arguments)])
    if done.exception is not None:
        raise done.exception
    return done.stdout, done.stderr


def test_a_page_is_written_beside_nothing_else(mechanism: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    said, _ = told(mechanism, "-o", target, "--title", "Town & land", "--secret", "1,2")
    assert said == f"report   {target}\n"
    text = target.read_text()
    assert "<h1>Town &amp; land</h1>" in text
    assert "sfumato verify town.sfm" in text
    assert "What is told when the secret is (1, 2)" in text
    assert "of it could be saved" in text  # the bound is in the file
    assert sorted(p.name for p in tmp_path.iterdir()) == ["page.html", "town.sfm"]


def test_a_page_for_visitors_does_not_take_the_place_of_the_report(
    mechanism: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told(mechanism)
    done = CliRunner().invoke(app, ["page", "town.sfm", "--overwrite"])
    assert done.exit_code == 0, done.output
    assert sorted(p.name for p in tmp_path.iterdir()) == ["town-page.html", "town.html", "town.sfm"]


def test_a_spec_gives_prior_and_loss(mechanism: Path, tmp_path: Path) -> None:
    target, spec = tmp_path / "page.html", tmp_path / "spec.toml"
    spec.write_text(SPEC)
    told(mechanism, "-o", target, "--spec", spec, "--no-compare")
    text = target.read_text()
    assert "within" in text and 'id="comparison"' not in text
    spec.write_text(SPEC + "[prior]\ncounts = [9, 1, 1, 1, 1, 1]\n")
    told(mechanism, "-o", target, "--spec", spec, "--no-compare", "--overwrite")
    assert "No mechanism with this promise loses less" not in target.read_text()  # for another prior nobody proved it


def test_figures_and_json(mechanism: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "find_spec", lambda _: None)
    monkeypatch.chdir(tmp_path)
    said, noted = told(mechanism, "--figures", "drawn", "--json", "--no-compare")
    found = json.loads(said)
    assert found["file"] == "town.html" and (tmp_path / "town.html").exists()
    assert found["sha256"] == sf.load(mechanism).proof.digest
    assert {Path(p).name for p in found["figures"]} == {p.name for p in (tmp_path / "drawn").iterdir()}
    assert "PNG needs" in noted
    said, _ = told(mechanism, "--figures", "drawn", "--no-compare", "--overwrite")
    assert "figures  drawn: prior.svg, released.svg, cloud.svg" in said


def test_mistakes_are_told(mechanism: Path, tmp_path: Path) -> None:
    for options, words in (
        (["--secret", "nowhere"], "is no secret"),
        (["-o", mechanism], "is not a page or figure of sfumato"),
        (["-o", tmp_path / "report.pdf"], ".html"),
        (["-o", tmp_path / "no" / "report.html"], "no folder"),
        (["--spec", tmp_path / "none.toml"], "cannot be read"),
    ):
        with pytest.raises(SfumatoError, match=words):
            told(mechanism, *options)
    with pytest.raises(InvalidInput, match=r"nothing\.sfm"):
        told(tmp_path / "nothing.sfm")
