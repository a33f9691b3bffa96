from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.cli.options import loss_from_text, prior_from_text


def known(*arguments: str) -> str:
    """What ``sfumato compare-known`` prints."""
    done = CliRunner().invoke(app, ["compare-known", *arguments])
    assert done.exit_code == 0
    return done.stdout.rstrip()


def test_a_comparison_in_words(tmp_path: Path) -> None:
    drawn = tmp_path / "known.json"
    text = known("line:4", "--loss", "absolute", "--prior", "3,1,1,1", "-o", str(drawn))
    assert text.startswith("absolute, PrivacyType(line(4), alpha=1/2), 1 without disclosure")
    assert "\nnot for this promise: hamming_kernel, binary, planar_laplace" in text
    assert text.endswith(f"Drawn: {drawn}") and drawn.exists()


def test_the_best_is_asked_for_and_left_out_in_shell_words() -> None:
    assert "\noptimal is a design for this loss and prior" in known("line:3", "--loss", "bin")
    assert "optimal" not in known("line:3", "--loss", "bin", "--no-optimum")
    assert "here are 101; --optimum looks for it all the same\nnot for" in known("line:101", "--loss", "bin")
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
    assert known("sum_query:3,2", "--no-optimum").startswith("absolute, ")
    assert known("sum_query:3,2", "--no-optimum", "--loss", "distance").startswith("distance, ")
    assert known("grid:2,2", "--no-optimum").startswith("distance, ")
