"""Whatever a family of questions can do, every door can do: Python, the shell and the studio answer the same question.

Asked, designed, compared, calibrated, reported, released, verified and paged; a family that is added gets a line in
``ASKED`` and goes through all of them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.csv
import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli import known
from sfumato.cli.main import app as commands
from sfumato.design import families as design_families
from sfumato.specs.families import FAMILIES, as_question, best_for
from sfumato.specs.question import Question
from sfumato.specs.spec import spec_from_values, write_spec
from sfumato.studio.families import VIEWS
from sfumato.studio.server import app
from studio_client import KEY, PORT, Studio


class Asked(NamedTuple):
    """A question of a family, a target for its ε, and rows that its mechanism releases, by their column."""

    values: dict[str, Any]
    target: str
    rows: str
    column: str


ASKED = {
    "places": Asked(
        {"space": {"kind": "line", "n": 4, "unit": "km"}, "privacy": {"epsilon": "1"},
         "prior": {"counts": [4, 3, 2, 1]}, "solve": {"tolerance": "0.001"}},
        "0.5 km", "id,home\na,0\nb,3\nc,1\n", "home",
    ),
    "points": Asked(
        {"space": {"kind": "box", "sides": ["3"], "step": "1", "unit": "km"}, "privacy": {"epsilon": "2"},
         "prior": {"counts": [4, 3, 1]}, "solve": {"tolerance": "0.05"}},
        "0.4 km", "id,home\na,0.25\nb,2.5\nc,1\n", "home",
    ),
    "shares": Asked(
        {"space": {"kind": "discrete", "n": 3}, "privacy": {"epsilon": "1"}, "objective": "shares",
         "solve": {"tolerance": "0.001"}},
        "4", "id,home\na,0\nb,2\nc,1\n", "home",
    ),
}  # fmt: skip


def test_every_family_goes_through_the_doors() -> None:
    assert ASKED.keys() == FAMILIES.keys()


def test_rooms_have_their_parts_of_the_records() -> None:
    below = {family.name for family in (design_families.PLACES, design_families.POINTS, design_families.SHARES)}
    assert FAMILIES.keys() == below == VIEWS.keys() == known._DOORS.keys()


@pytest.fixture(params=FAMILIES)
def asked(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """A question, with its spec and its rows in the folder where commands run."""
    found = ASKED[request.param]
    monkeypatch.chdir(tmp_path)
    write_spec(spec_from_values(found.values), "asked.toml")
    Path("rows.csv").write_text(found.rows)
    return found


@pytest.fixture
def studio() -> Iterator[Studio]:
    with TestClient(app(PORT, KEY, warm=False), base_url=f"http://127.0.0.1:{PORT}") as client:
        yield Studio(client)


def shell(*words: str) -> dict[str, Any]:
    """What a command says to programs."""
    done = CliRunner().invoke(commands, list(words))
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    return dict(json.loads(lines[0] if len(lines) > 1 and lines[0].startswith("{") else done.stdout))


def posed(asked: Asked) -> Question:
    return as_question(spec_from_values(asked.values))


def test_it_is_designed_alike(asked: Asked, studio: Studio) -> None:
    best, page = best_for(posed(asked)), studio.ask("design", spec=asked.values)
    told = shell("design", "asked.toml", "--json")
    gap = float(asked.values["solve"]["tolerance"])
    for loss, bound in ((told["loss"], told["bound"]), (page["loss"], page["bound"])):
        assert (1 - gap) * loss <= bound * (1 + 1e-9) and bound <= float(best.loss) * (1 + 1e-9)
    assert page["unit"] == told["unit"] == best.mechanism.privacy.space.unit


def test_it_is_verified_saved_and_loaded_alike(asked: Asked, studio: Studio) -> None:
    digest = shell("design", "asked.toml", "--json")["sha256"]
    assert sf.load("asked.sfm").proof.digest == digest
    assert shell("verify", "asked.sfm", "--json")["outcome"] == "holds"
    file = studio.ask("mechanism", spec=asked.values)
    Path("page.sfm").write_bytes(base64.b64decode(file["file"]))
    assert (
        shell("verify", "page.sfm", "--json")["outcome"] == "holds"
        and sf.load("page.sfm").proof.digest == file["sha256"]
    )


def test_it_is_calibrated_alike(asked: Asked, studio: Studio) -> None:
    question = posed(asked)
    loss = None if question.family.stakes(question) is None else question.loss_on_outputs
    found = sf.calibrate(question.prior, loss, question.space, target=asked.target, objective=question.objective)
    told = shell("calibrate", "asked.toml", "--target", asked.target, "--json")
    page = studio.ask("calibrate", spec=asked.values, target=asked.target)
    for low, high in ((told["low"], told["high"]), (float(page["low"]), float(page["epsilon"]))):
        assert low * (1 - 1e-6) <= float(found.high) and float(found.low) <= high * (1 + 1e-6)


def test_it_is_drawn_along_epsilon_alike(asked: Asked, studio: Studio) -> None:
    CliRunner().invoke(commands, ["curve", "asked.toml", "--epsilons", "0.5,2", "-o", "curve.csv"])
    table = pyarrow.csv.read_csv("curve.csv").to_pydict()
    page = studio.ask("curve", spec=asked.values, epsilons=["0.5", "2"])
    for loss, bound, point in zip(table["loss"], table["bound"], page["points"], strict=True):
        assert point["bound"] <= loss * (1 + 1e-9) and bound <= point["loss"] * (1 + 1e-9)
    assert table["loss"][1] < table["loss"][0]


def test_it_is_compared_with_what_is_known(asked: Asked) -> None:
    question = posed(asked)
    loss = None if question.family.stakes(question) is None else question.loss_on_outputs
    rows = sf.compare_known(question.prior, loss, question.privacy, objective=question.objective)
    done = CliRunner().invoke(commands, ["compare-known", "asked.toml"])
    assert done.exit_code == 0 and all(row.name in done.stdout for row in rows)


def test_it_is_reported_and_made_a_page_for_visitors(asked: Asked, studio: Studio) -> None:
    shell("design", "asked.toml", "--json")
    shell("report", "asked.sfm", "-o", "report.html", "--json")
    shell("page", "asked.sfm", "-o", "page.html", "--json")
    for task, file in (("report", "report.html"), ("page", "page.html")):
        page = studio.ask(task, spec=asked.values)["text"]
        for text in (page, Path(file).read_text()):
            assert text.lower().startswith("<!doctype html>") and "sfumato" in text


def test_rows_are_released_alike(asked: Asked, studio: Studio) -> None:
    shell("design", "asked.toml", "--json")
    shell("release", "asked.sfm", "rows.csv", "told.csv", "--column", asked.column, "--json")
    page = studio.ask("release", spec=asked.values, text=asked.rows, name="rows.csv", column=asked.column)["text"]
    told = sf.load("asked.sfm").release(pyarrow.csv.read_csv("rows.csv"), asked.column)
    assert told.column_names == ["id", "home"]
    for text in (page, Path("told.csv").read_text()):
        head, *rows = text.splitlines()
        assert head == "id,home" and [row[:2] for row in rows] == ["a,", "b,", "c,"]


def test_a_spec_says_it_again(asked: Asked, studio: Studio) -> None:
    """What the page gives as a spec asks the same question."""
    text = studio.ask("spec", spec=asked.values)["text"]
    Path("again.toml").write_text(text)
    again, first = shell("design", "again.toml", "--json"), shell("design", "asked.toml", "--json")
    assert again["sha256"] == first["sha256"]
