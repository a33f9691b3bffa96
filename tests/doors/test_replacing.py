"""No door replaces a file unasked, and none replaces what is no file of the kind that it writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.commands import COMMANDS
from sfumato.cli.main import app
from sfumato.client.page import write_page
from sfumato.errors import InvalidInput
from sfumato.report.figure import signed, write_figure
from sfumato.report.page import report
from sfumato.specs.spec import read_spec, write_spec

SPEC = """[space]
kind = "line"
n = 3

[privacy]
alpha = "1/2"

[loss]
kind = "absolute"
"""
PEOPLE = b"person,home\n1,0\n2,2\n"
MATRIX = "2,1,1\n1,2,1\n1,1,2\n"
DOORS = {
    "design": ("design", "spec.toml", "-o", "{target}"),
    "calibrate": ("calibrate", "spec.toml", "--target", "0.5", "--precision", "0.5", "-o", "{target}"),
    "curve": ("curve", "spec.toml", "--epsilons", "1", "-o", "{target}.csv"),
    "curve drawn": ("curve", "spec.toml", "--epsilons", "1", "-o", "{target}.html"),
    "known": ("known", "geometric", "spec.toml", "-o", "{target}"),
    "compare-known": ("compare-known", "line:3", "--no-optimum", "-o", "{target}.html"),
    "universal": ("universal", "spec.toml", "-o", "{target}"),
    "audit": ("audit", "matrix.csv", "--alpha", "1/2", "--tolerance", "4", "--repair", "{target}"),
    "report": ("report", "m.sfm", "--no-compare", "-o", "{target}.html"),
    "page": ("page", "m.sfm", "-o", "{target}.html"),
    "client": ("client", "-o", "{target}"),
    "plan": ("plan", "m.sfm", "--error", "0.1", "--epsilons", "1", "-o", "{target}.html"),
    "estimate": ("estimate", "m.sfm", "released.csv", "--column", "home", "--figure", "{target}.html"),
    "paper": ("paper", "A.fig2", "-o", "{target}.html"),
    "all papers": ("paper", "--all", "A.fig2", "-o", "{target}.html"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("spec.toml").write_text(SPEC)
    Path("matrix.csv").write_text(MATRIX)
    Path("released.csv").write_text("home\n" + "0\n1\n2\n" * 20)
    sf.save(sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2")), "m.sfm")
    return tmp_path


@pytest.mark.parametrize("door", DOORS)
def test_true_data_stay_whatever_is_said(door: str, folder: Path) -> None:
    place = next(part for part in DOORS[door] if "{target}" in part).format(target="people")
    command = [part.format(target="people") for part in DOORS[door]]
    Path(place).write_bytes(PEOPLE)
    for more in ([], ["--overwrite"]):
        done = CliRunner().invoke(app, [*command, *more])
        assert isinstance(done.exception, InvalidInput), (door, done.exception, done.output)
        assert "name another file" in str(done.exception)
        assert Path(place).read_bytes() == PEOPLE


@pytest.mark.parametrize("door", DOORS)
def test_what_a_door_wrote_it_replaces_when_asked(door: str, folder: Path) -> None:
    place = Path(next(part for part in DOORS[door] if "{target}" in part).format(target="made"))
    command = [part.format(target="made") for part in DOORS[door]]
    first = CliRunner().invoke(app, command)
    before = place.read_bytes() if place.exists() else b""
    assert before, (door, first.output, first.exception)
    again = CliRunner().invoke(app, command)
    assert isinstance(again.exception, InvalidInput)
    assert str(again.exception).endswith("replaces it"), door
    assert place.read_bytes() == before
    with place.open("ab") as old:
        old.write(b" ")
    done = CliRunner().invoke(app, [*command, "--overwrite"])
    assert isinstance(done.exception, SystemExit | None), (door, done.exception)
    assert not place.read_bytes().endswith(b" ")


def test_every_command_that_names_a_file_to_write_can_be_asked_to_replace_it() -> None:
    writing = {"--output", "--figure", "--repair", "--figures", "--out", "target"}
    found = set()
    for name, entry in COMMANDS.items():
        command: Any = entry.load(name)
        names = {spelled for param in getattr(command, "params", ()) for spelled in param.opts}
        assert not names & writing or "--overwrite" in names, name
        found |= {name} if names & writing else set()
    assert {"audit", "design", "demo", "estimate", "hide", "page", "plan", "release", "report"} <= found


def test_python_replaces_nothing_unasked_either(folder: Path) -> None:
    mechanism = sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2"))
    spec = read_spec("spec.toml")
    ways: dict[str, Callable[..., Any]] = {
        "a.sfm": lambda place, **how: sf.save(mechanism, place, **how),
        "a.toml": lambda place, **how: write_spec(spec, place, **how),
        "a.html": lambda place, **how: report(mechanism, place, compare=False, **how),
        "b.html": lambda place, **how: write_page("m.sfm", place, **how),
        "c.html": lambda place, **how: write_figure(go.Figure(), place, **how),
        "d.json": lambda place, **how: write_figure(go.Figure(), place, **how),
    }
    for name, way in ways.items():
        way(name)
        with pytest.raises(InvalidInput, match="already there: overwrite=True replaces it"):
            way(name)
        way(name, overwrite=True)
        Path(name).write_bytes(PEOPLE)
        with pytest.raises(InvalidInput, match="is not replaced"):
            way(name, overwrite=True)
        assert Path(name).read_bytes() == PEOPLE


def test_figures_beside_a_report_replace_nothing_of_others(folder: Path) -> None:
    mechanism = sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2"))
    drawn = report(mechanism, "a.html", compare=False, figures="figures").figures
    drawn[-1].write_bytes(b"<svg>mine</svg>")
    for overwrite in (False, True):
        with pytest.raises(InvalidInput, match="replace"):
            report(mechanism, "b.html", compare=False, figures="figures", overwrite=overwrite)
    assert not Path("b.html").exists()
    assert drawn[-1].read_bytes() == b"<svg>mine</svg>"


def test_the_demonstration_replaces_its_own_files_only(folder: Path) -> None:
    Path("out").mkdir()
    Path("out/people.csv").write_bytes(PEOPLE)
    for more in ([], ["--overwrite"]):
        done = CliRunner().invoke(app, ["demo", "--only", "cities", *more])
        assert isinstance(done.exception, InvalidInput)
        assert "not a table of person, city" in str(done.exception)


def test_a_picture_carries_its_signature_where_the_format_has_room() -> None:
    png = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\0IEND\xaeB`\x82"
    assert signed(png, "png").endswith(b"IEND\xaeB`\x82")
    assert b"\0\0\0\x10tEXtSoftware\0sfumato" in signed(png, "png")
    assert signed(b"%%EOF\n", "pdf") == b"%%EOF\n% made by sfumato\n"
