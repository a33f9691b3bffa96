from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.known import compared, drawn, loss_from_text, prior_from_text, said
from sfumato.cli.main import app


def test_a_comparison_in_words(tmp_path: Path) -> None:
    privacy = sf.PrivacyType(sf.line(4), alpha="1/2")
    found = compared(privacy, "absolute", "3,1,1,1")
    assert found.prior.weights[0] == Fraction(1, 2)
    text = said(found)
    assert text[0].startswith("absolute, PrivacyType(line(4), alpha=1/2), 1 without disclosure")
    assert text[1].startswith("not for this promise: hamming_kernel, binary, planar_laplace")
    assert drawn(found, tmp_path / "known.json").exists()
    assert len(said(compared(sf.PrivacyType(sf.line(2), epsilon=1), "bin", "uniform"))) == 2


def test_the_best_is_asked_for_and_left_out_in_shell_words() -> None:
    few, many = (sf.PrivacyType(sf.line(size), alpha="1/2") for size in (3, 101))
    assert "\noptimal is a design for this loss and prior" in said(compared(few, "bin", "uniform"))[0]
    assert "optimal" not in said(compared(few, "bin", "uniform", False))[0]
    text = said(compared(many, "bin", "uniform"))
    assert text[0].endswith("here are 101; --optimum looks for it all the same")
    assert "optimal" not in text[1]
    done = CliRunner().invoke(app, ["compare-known", "line:101", "--json"])
    assert done.stderr.startswith("sfumato: no row optimal: ") and "optimal" not in done.stdout
    done = CliRunner().invoke(app, ["compare-known", "line:3", "--loss", "absolute", "--json"])
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"mechanism": "optimal", "bound": 5 / 9}.items() <= records[0].items() and done.stderr == ""


def test_losses_and_priors_in_words() -> None:
    space = sf.line(3)
    for name in ("absolute", "bin", "distance", "nib", "squared", "threshold:1"):
        assert loss_from_text(name, space).secrets == space.labels
    for bad in ("zero", "threshold", "bin:2", ""):
        with pytest.raises(sf.errors.NotSupported):
            loss_from_text(bad, space)
    assert prior_from_text("uniform", space).weights.tolist() == [Fraction(1, 3)] * 3
    for bad in ("flat", "1,2", "1,x,2", "0,0,0", "1,-1,1"):
        with pytest.raises(sf.errors.InvalidInput):
            prior_from_text(bad, space)


def test_the_default_loss_of_a_query_is_the_error_of_its_answer() -> None:
    privacy = sf.PrivacyType(sf.sum_query(3, 2), epsilon=1)
    assert compared(privacy, None, "uniform", False).loss.at(0, 6) == 6
    assert compared(privacy, "distance", "uniform", False).loss.at(0, 6) == 3
    assert compared(sf.PrivacyType(sf.grid(2, 2), epsilon=1), None, "uniform", False).loss.name == "distance"
