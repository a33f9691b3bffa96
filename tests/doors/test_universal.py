"""``sfumato universal``: one mechanism for every prior, or the one that comes closest."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app

RUN = CliRunner()


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.toml"
    path.write_text('[space]\nkind = "discrete"\nn = 3\n[privacy]\nalpha = "1/2"\n[loss]\nkind = "bin"\n')
    return path


def test_least_regret_and_what_proves_it(spec: Path, tmp_path: Path) -> None:
    target = tmp_path / "least.sfm"
    result = RUN.invoke(app, ["universal", str(spec), "-o", str(target), "--json"])
    assert result.exit_code == 0, result.output
    said = json.loads(result.output)
    assert said["exists"] == "fails"
    assert said["lower"] == said["upper"] == str(Fraction(1, 24))
    assert len(said["priors"]) == 3
    assert sf.verify(target)
    text = RUN.invoke(app, ["universal", str(spec)]).output
    assert "least worst-case regret: 1/24" in text


def test_a_mechanism_is_judged(spec: Path, tmp_path: Path) -> None:
    path = tmp_path / "response.sfm"
    sf.save(sf.random_response(sf.PrivacyType(sf.discrete(3), alpha="1/2")), path)
    result = RUN.invoke(app, ["universal", str(spec), "-m", str(path), "--json"])
    assert result.exit_code == 1
    said = json.loads(result.output)
    assert said["universally optimal"] == "fails"
    assert Fraction(said["gap"]) > 0
    line = tmp_path / "line.toml"
    line.write_text('[space]\nkind = "line"\nn = 4\n[privacy]\nalpha = "1/2"\n[loss]\nkind = "absolute"\n')
    sf.save(sf.geometric(sf.PrivacyType(sf.line(4), alpha="1/2")), path, overwrite=True)
    result = RUN.invoke(app, ["universal", str(line), "-m", str(path)])
    assert result.exit_code == 0, result.output
    assert "holds" in result.output


def test_rounding_refutes_nothing(tmp_path: Path) -> None:
    line, made = tmp_path / "line.toml", tmp_path / "made.sfm"
    line.write_text('[space]\nkind = "line"\nn = 4\n[privacy]\nepsilon = 1\n[loss]\nkind = "distance"\n')
    result = RUN.invoke(app, ["universal", str(line), "-o", str(made)])
    assert result.exit_code == 0 and "universally optimal: holds; single crossing on a line" in result.output
    result = RUN.invoke(app, ["universal", str(line), "-m", str(made)])
    assert result.exit_code == 0, result.output
    assert "up to the rounding of the table (regret at most " in result.output
    said = json.loads(RUN.invoke(app, ["universal", str(line), "-m", str(made), "--json"]).output)
    assert said["universally optimal"] == "holds" and 0 < Fraction(said["regret_by_rounding"]) < 1e-13


def test_bad_questions(spec: Path, tmp_path: Path) -> None:
    assert "all and regular are" in _refused(["universal", str(spec), "--priors", "nice"])
    open_ended = tmp_path / "open.toml"
    open_ended.write_text('[space]\nkind = "line"\nn = 3\n[loss]\nkind = "absolute"\n')
    assert "[privacy] is missing" in _refused(["universal", str(open_ended)])


def _refused(arguments: list[str]) -> str:
    result = RUN.invoke(app, arguments)
    assert result.exit_code != 0
    return str(result.exception) + result.output
