"""Boxes of coordinates in the studio: a design is drawn on cells and taken away; what is not shown is said."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.certify.coordinates import BoxMechanism
from sfumato.certify.noise import BoxNoise
from sfumato.specs.spec import spec_from_text
from sfumato.studio.tasks import do
from studio_client import Studio

WAY: dict[str, Any] = {
    "space": {"kind": "box", "sides": [4], "step": "500 m", "unit": "km"},
    "privacy": {"epsilon": "ln 2"},
    "prior": {"counts": [1, 2, 3, 4, 4, 3, 2, 1]},
    "loss": {"kind": "distance"},
    "solve": {"tolerance": "0.1"},
}
TOWN: dict[str, Any] = {
    "space": {"kind": "box", "sides": [2, "1 km"], "step": 1, "unit": "km", "origin": [3, 0]},
    "privacy": {"epsilon": 1},
    "solve": {"tolerance": "0.3"},
}
CITY: dict[str, Any] = {
    "space": {"kind": "earth_box", "south": 40.7, "west": -74.02, "sides": [2, 2], "step": 1},
    "privacy": {"epsilon": 1},
    "solve": {"tolerance": "0.3"},
}


def matrix_of(answer: dict[str, Any]) -> Any:
    flat = np.frombuffer(base64.b64decode(answer["matrix"]), dtype="<f4")
    return flat.reshape(len(answer["place"]["labels"]), len(answer["outputs"]))


@pytest.mark.parametrize("spec", [WAY, TOWN, CITY])
def test_rows_are_densities_at_the_centres_of_cells(studio: Studio, tmp_path: Path, spec: dict[str, Any]) -> None:
    answer = studio.ask("design", spec=spec)
    file = tmp_path / "mechanism.sfm"
    file.write_bytes(base64.b64decode(studio.ask("mechanism", spec=spec)["file"]))
    mechanism = sf.load(file)
    assert isinstance(mechanism, BoxMechanism) and answer["about"] == "coordinates"
    assert answer["digest"] == mechanism.proof.digest and answer["bound"] <= answer["loss"] <= answer["blind"] * 1.001
    assert answer["gap"] <= float(spec["solve"]["tolerance"])
    matrix, home = matrix_of(answer), mechanism.box
    assert matrix.shape == (len(home), len(mechanism.outputs))
    for row, centre in zip(matrix, home.centres, strict=True):
        exactly = np.array([float(share) for share in mechanism.density(tuple(centre.tolist())).weights])
        assert np.allclose(row, exactly, atol=1e-6)
    for output, cell in zip(mechanism.outputs, answer["at"], strict=True):
        point = np.array([float(at) for at in (output if isinstance(output, tuple) else (output,))])
        away = np.abs(point - home.centres[cell])
        assert (away <= np.array([float(step) / 2 for step in home.step]) + 1e-9).all()
    assert "about coordinates" in answer["words"]


def test_cells_are_drawn_as_they_lie(studio: Studio) -> None:
    place = studio.ask("look", spec=TOWN)["place"]
    assert place["ground"]["kind"] == "cells" and place["ground"]["steps"] == [1.0, 1.0]
    assert place["labels"] == ["(3.5, 0.5)", "(4.5, 0.5)"] and place["ground"]["x"] == [3.5, 4.5]
    assert studio.ask("look", spec=WAY)["place"]["ground"]["kind"] == "row"
    assert studio.ask("look", spec=CITY)["place"]["labels"][0].startswith("40.70")


def test_the_density_at_a_point_is_drawn(studio: Studio) -> None:
    drawn = studio.ask("density", spec=TOWN, cell=1)["figures"]
    assert len(drawn) == 3 and all(figure["svg"].startswith("<svg xmlns=") for figure in drawn)
    assert "What is told at the point (4.5, 0.5) km" in drawn[0]["caption"]
    assert "How much of ε is used" in drawn[2]["caption"]


def test_report_and_spec_are_taken_away(studio: Studio) -> None:
    assert "The promise is about points, not about cells" in studio.ask("report", spec=WAY)["text"]
    assert studio.ask("mechanism", spec=WAY)["file"] in studio.ask("page", spec=WAY)["text"]
    assert spec_from_text(studio.ask("spec", spec=WAY)["text"]).space.kind == "box"


def test_known_mechanisms_for_coordinates_stand_beside_the_best(studio: Studio) -> None:
    found = studio.ask("compare", spec=WAY)
    rows = {row["mechanism"]: row for row in found["rows"]}
    assert rows["optimal"]["value"] <= rows["laplace noise, remapped"]["value"] * 1.03
    assert found["heads"] == ["loss", "proved"] and rows["optimal"]["cells"][1] == "for all points"
    assert "Expected distance in km" in found["by"] and not any("matrix" in row for row in found["rows"])


def test_what_is_not_shown_is_said(studio: Studio) -> None:
    for task, more in (("kernels", {}), ("verdicts", {}), ("audit", {"matrix": "1"})):
        said = studio.refusal(task, spec=WAY, **more)
        assert re.search(r"on a box of coordinates in the studio (is|are) not supported; the map", said)
    cuboid = {**WAY, "space": {"kind": "box", "sides": [1, 1, 1], "step": 1}, "prior": {"uniform": True}}
    assert "three axes" in studio.refusal("design", spec=cuboid)
    fine = {**WAY, "space": {"kind": "box", "sides": [100, 100], "step": 1}}
    assert "a design on 10,000 cells in the studio" in studio.refusal("design", spec=fine)
    file = {**WAY, "prior": {"points": {"file": "/etc/passwd"}}}
    assert "files in a state of the studio" in studio.refusal("design", spec=file)
    uneven = {**WAY, "space": {"kind": "box", "sides": [1], "step": "0.3"}}
    assert "no whole number of cells" in studio.refusal("design", spec=uneven)
    assert "a list of secrets" in studio.refusal("density", spec={"space": {"kind": "line", "n": 3}})


LONG: dict[str, Any] = {
    "space": {"kind": "box", "sides": [2000], "step": 100, "unit": "km"},
    "privacy": {"double_at": "200 m"},
}


def test_noise_is_summed_up_in_cells_and_taken_away(studio: Studio, tmp_path: Path) -> None:
    """A box too large for a table: the outputs of a row are the cells, and the file is the noise itself."""
    answer = studio.ask("design", spec=LONG)
    assert "the same noise everywhere" in answer["method"] and answer["bound"] <= answer["loss"] < answer["blind"]
    matrix = matrix_of(answer)
    assert matrix.shape == (20, 20) and answer["at"] == list(range(20)) and answer["outputs"][0] == "50"
    assert np.allclose(matrix.sum(axis=1), 1) and (matrix.argmax(axis=1) == np.arange(20)).all()
    file = tmp_path / "mechanism.sfm"
    file.write_bytes(base64.b64decode(studio.ask("mechanism", spec=LONG)["file"]))
    assert isinstance(sf.load(file), BoxNoise) and sf.load(file).proof.digest == answer["digest"]
    drawn = [figure["caption"] for figure in studio.ask("density", spec=LONG, cell=19)["figures"]]
    assert len(drawn) == 3 and "What is told at the point 1,950 km" in drawn[0]
    assert "How much of ε is used" in drawn[1] and "of it on the border itself" in drawn[2]
    assert "The promise is about points, not about cells" in studio.ask("report", spec=LONG)["text"]


def test_a_curve_on_a_box_goes_from_tables_to_noise(studio: Studio) -> None:
    drawn = studio.ask("curve", spec={**LONG, "privacy": {"epsilon": 1}}, epsilons=["0.001", "0.01", "5"])
    losses = [point["loss"] for point in drawn["points"]]
    assert losses == sorted(losses, reverse=True) and all(point["bound"] > 0 for point in drawn["points"])
    assert all(point["gap"] <= 0.1 for point in drawn["points"]) and "ε per km" in drawn["figure"]["caption"]


def test_a_design_that_is_stopped_is_what_it_has() -> None:
    """Asked to stop before anything was found, a design is no worse than the best that tells nothing, and proved."""
    answer, kept = do("design", {"spec": WAY, "quick": False}, None, lambda said: None, lambda: True)
    assert kept is not None and answer["gap"] > 0.1 and answer["loss"] <= answer["blind"] * (1 + 1e-3)
