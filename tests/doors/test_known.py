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


def test_two_files_are_compared_within_the_time_that_is_allowed(tmp_path: Path) -> None:
    promise = sf.PrivacyType(sf.line(2), alpha="1/2")
    for name, table in (("wide", [[5, 4, 3], [3, 4, 5]]), ("near", [[13, 11], [11, 13]])):
        sf.save(sf.prove(table, promise), tmp_path / f"{name}.sfm")
    wide, near = str(tmp_path / "wide.sfm"), str(tmp_path / "near.sfm")

    def verdicts(*arguments: str) -> list[str]:
        done = CliRunner().invoke(app, ["compare", *arguments, "--json"])
        return [said for name, said in json.loads(done.stdout).items() if "refines" in name]

    assert verdicts(wide, wide, "--time-limit", "0") == ["holds", "holds"]
    assert verdicts(near, wide) == ["fails", "holds"]
    assert verdicts(near, wide, "--time-limit", "0") == ["undecided", "undecided"]


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


SURVEY = """
[space]
kind = "discrete"
labels = ["red", "green", "blue", "grey"]
[privacy]
alpha = "1/3"
"""


def test_a_survey_is_compared_by_respondents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(SURVEY)
    text = known("survey.toml", "--objective", "shares", "-o", "known.json")
    assert text.startswith("shares, PrivacyType(discrete(4), alpha=1/3), 0.75 in the clear\nmechanism")
    rows = [line.split() for line in text.splitlines()]
    assert rows[2][:2] == ["optimal", "6.75"] and ["subset_selection", "6.75", "1", "×", "yes", "4"] in [
        row[:6] for row in rows
    ]
    assert "no mechanism with this promise has N × variance below 6.7" in text
    assert "not for this promise: geometric" in text and text.endswith("Drawn: known.json")
    asked = ["compare-known", "line:4", "--objective", "shares", "--workload", "cumulative", "--json"]
    done = CliRunner().invoke(app, asked)
    first, *others = [json.loads(line) for line in done.stdout.splitlines()]
    assert first["mechanism"] == "optimal" and first["times"] == 1 and first["workload"] == "cumulative shares"
    assert others[-1]["recovered"] is False and others[-1]["variance"] is None
    # a spec that asks for shares is compared by them, and known mechanisms are written for it without a loss
    Path("asks.toml").write_text(SURVEY + '[objective]\nkind = "shares"\nworkload = "cumulative"\n')
    assert known("asks.toml", "--no-optimum").startswith("cumulative shares, ")
    assert known("asks.toml", "--no-optimum", "--objective", "loss").startswith("distance, ")
    assert "loss " not in run("known", "subset-selection", "asks.toml", "-o", "sets.sfm")
    assert sf.load("sets.sfm").outputs == ("red", "green", "blue", "grey")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("line:3", "--objective", "share"), "--objective share is not supported; loss and shares are"),
        (
            ("line:3", "--objective", "shares", "--workload", "total"),
            "--workload total is not supported; shares, cumulative",
        ),
        (("line:3", "--workload", "mean"), "say --objective shares too"),
        (("line:3", "--objective", "shares", "--loss", "bin"), "--loss bin: shares are estimated"),
        (("line:1", "--objective", "shares"), "at least two secrets"),
        (("box.toml", "--objective", "shares"), "shares on a box of coordinates"),
    ],
)
def test_surveys_that_cannot_be_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("box.toml").write_text('[space]\nkind = "box"\nsides = [2, 2]\nstep = 1\n[privacy]\nepsilon = 1\n')
    with pytest.raises(sf.errors.SfumatoError, match=said):
        run("compare-known", *words)


TOWNS = """
[space]
kind = "geo"
coordinates = [[48.85, 2.35], [48.80, 2.13], [48.95, 2.50], [48.89, 2.21]]
labels = ["a", "b", "c", "d"]
[privacy]
epsilon = 0.2
[prior]
counts = [4, 1, 1, 2]
"""


@pytest.fixture
def towns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "towns.toml").write_text(TOWNS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_known_mechanisms_of_a_spec_of_places_beside_each_other(towns: Path) -> None:
    text = known("towns.toml", "--no-optimum")
    assert text.startswith("distance, PrivacyType(4 places, epsilon=0.2 per km)")
    assert "\nplanar_laplace " in text and "\nexponential " in text and "not for this promise: geometric" in text
    with pytest.raises(sf.errors.InvalidInput, match=r"--prior uniform: towns\.toml says it"):
        run("compare-known", "towns.toml", "--prior", "uniform")
    (towns / "bare.toml").write_text(TOWNS.replace("[privacy]\nepsilon = 0.2\n", ""))
    with pytest.raises(sf.errors.InvalidInput, match=r"table \[privacy\] is missing"):
        run("compare-known", "bare.toml")


def test_a_known_mechanism_is_written_and_verified(towns: Path) -> None:
    text = run("known", "planar-laplace", "towns.toml", "-o", "laplace.sfm")
    assert "optimal for: none that is known" in text and "expected distance" in text
    mechanism = sf.load("laplace.sfm")
    assert mechanism.secrets == ("a", "b", "c", "d") and mechanism.privacy.rate <= 0.2
    assert "PROVED" in run("verify", "laplace.sfm")
    record = json.loads(run("known", "dual random response", "towns.toml", "--remap", "--json"))
    told = sf.load("dual-random-response.sfm")
    assert record["remapped"] and record["outputs"] == len(told.outputs) < 4 and told.provenance["remapped"]
    assert record["loss"] == pytest.approx(float(told.proof.loss or 0))


def test_shares_of_places_are_compared_like_those_of_answers(towns: Path) -> None:
    text = known("towns.toml", "--objective", "shares", "--no-optimum")
    assert text.startswith("shares, PrivacyType(4 places, epsilon=0.2 per km)") and "\nplanar_laplace " in text


def test_the_list_of_known_mechanisms(towns: Path) -> None:
    names = [line.split()[0] for line in run("known", "--list").splitlines()]
    assert [name.replace("-", "_") for name in names] == list(sf.mechanisms.MECHANISMS)
    records = {row["name"]: row for row in map(json.loads, run("known", "--list", "towns.toml", "--json").splitlines())}
    assert records["planar-laplace"]["applies"] and not records["geometric"]["applies"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("known", "geometric", "towns.toml"), "geometric on 4 places .*a line"),
        (("known", "laplas", "towns.toml"), "known mechanism 'laplas' is not supported; geometric"),
        (("known", "geometric"), "name a mechanism and a spec"),
        (("known",), "name a mechanism and a spec"),
    ],
)
def test_refusals_of_known_say_why(towns: Path, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(sf.errors.SfumatoError, match=said) as error:
        run(*words)
    assert "\n" not in str(error.value)
