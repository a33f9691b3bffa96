"""The commands ``estimate`` and ``plan``: what a newcomer types, and what comes back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.design.shares import SharesLost
from sfumato.release.ledger.ledger import Ledger
from shell import sfumato

ANSWERS = ["never", "rarely", "often"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    scale = sf.geometric(sf.PrivacyType(sf.line(ANSWERS), alpha="1/2"))
    response = sf.random_response(sf.PrivacyType(sf.discrete(["no", "yes"]), epsilon=1))
    sf.save(scale, tmp_path / "scale.sfm")
    sf.save(response, tmp_path / "yesno.sfm")
    rng = np.random.default_rng(7)
    first = rng.choice(3, size=600, p=np.array([0.5, 0.3, 0.2]) @ scale.channel.to_floats().matrix)
    second = rng.choice(2, size=600, p=np.array([0.6, 0.4]) @ response.channel.to_floats().matrix)
    rows = [
        f"{ANSWERS[a]},{['no', 'yes'][b]},{'north' if i % 3 else 'south'},{1 + i % 2}\n"
        for i, (a, b) in enumerate(zip(first, second, strict=True))
    ]
    (tmp_path / "released.csv").write_text("q1,q2,region,weight\n" + "".join(rows))
    return tmp_path


def test_a_table_of_shares_with_errors_and_what_noise_costs(folder: Path) -> None:
    shown = sfumato("estimate", f"{folder}/scale.sfm", f"{folder}/released.csv", "--column", "q1")
    assert shown.returncode == 0 and shown.stderr == ""
    lines = shown.stdout.splitlines()
    assert lines[0] == "shares   q1: 600 answers, unbiased" and lines[2].split()[:3] == ["answer", "share", "error"]
    assert [line.split()[0] for line in lines[3:6]] == ANSWERS
    assert "of the variance is noise of the mechanism" in shown.stdout and "times as many" in shown.stdout
    assert "promise  alpha = 1/2" in shown.stdout and "spent" not in shown.stdout


def test_records_figures_groups_weights_and_methods(folder: Path) -> None:
    page = folder / "shares.html"
    shown = sfumato(
        "estimate", f"{folder}/scale.sfm", f"{folder}/released.csv", "--column", "q1", "--by", "region", "--weights",
        "weight", "--method", "likelihood", "--simultaneous", "--level", "0.9", "--figure", str(page), "--json",
    )  # fmt: skip
    records = list(map(json.loads, shown.stdout.splitlines()))
    assert {record["group"] for record in records} == {"north", "south"} and page.stat().st_size > 100_000
    for record in records:
        assert (record["column"], record["method"], record["level"], record["simultaneous"]) == (
            "q1",
            "likelihood",
            0.9,
            True,
        )
        assert record["effective_rows"] < record["rows"] and sum(s["share"] for s in record["shares"]) == pytest.approx(
            1
        )
        assert all(0 <= s["low"] <= s["share"] <= s["high"] <= 1 for s in record["shares"])


def test_several_questions_have_a_cross_table_and_a_sum(folder: Path) -> None:
    Ledger(folder / "book.ledger").charge(dataset="people", column="q1", mechanism=sf.load(folder / "scale.sfm"))
    asked = ("estimate", f"{folder}/scale.sfm", f"{folder}/released.csv", "--column", "q1", "--with",
             f"{folder}/yesno.sfm", "--column", "q2")  # fmt: skip
    shown = sfumato(*asked, "--ledger", f"{folder}/book.ledger", "--dataset", "people")
    assert shown.returncode == 0 and "shares   q1 × q2: 600 answers, unbiased" in shown.stdout
    assert "spent    q1 ln(2), q2 1; a respondent who answers all spends 1 + ln(2)" in shown.stdout
    assert "no set of answers is more than 10.88 times as likely" in shown.stdout  # e · 2²
    assert "ledger   people / q1: ln(2) in all" in shown.stdout and "people / q2: nothing" in shown.stdout
    *marginals, cross, spent = map(json.loads, sfumato(*asked, "--json").stdout.splitlines())
    assert cross["columns"] == ["q1", "q2"] and spent["spent"]["total"] == "1 + ln(2)"
    for place, marginal in enumerate(marginals):
        for share in marginal["shares"]:
            whole = sum(c["share"] for c in cross["shares"] if c["answer"][place] == share["answer"])
            assert whole == pytest.approx(share["share"])


@pytest.mark.parametrize(("words", "complaint"), [
    (("--column", "q7"), "no column 'q7'"), (("--column", "q2"), "row 1: 'q2' is"),
    (("--column", "q1", "--method", "mle"), "unbiased or likelihood"), (("--column", "q1", "--level", "2"), "--level"),
    (("--column", "q1", "--by", "nowhere"), "no column 'nowhere'"),
    (("--column", "q1", "--weights", "region"), "row 1: the weight is"),
    (("--column", "q1", "--with", "{}/yesno.sfm"), "1 columns and 2 mechanisms"),
    (("--column", "q1", "--figure", "x.gif"), "a figure in the file"),
    (("--column", "q1", "--ledger", "x"), "go together"),
])  # fmt: skip
def test_mistakes_are_one_line(folder: Path, words: tuple[str, ...], complaint: str) -> None:
    given = [word.format(folder) for word in words]
    shown = sfumato("estimate", f"{folder}/scale.sfm", f"{folder}/released.csv", *given)
    assert shown.returncode == 2 and shown.stdout == ""
    assert complaint in shown.stderr and len(shown.stderr.strip().splitlines()) == 1


def test_levels_are_approximate_in_every_door(folder: Path) -> None:
    asked = ("estimate", f"{folder}/scale.sfm", f"{folder}/released.csv", "--column", "q1", "--simultaneous")
    assert "about 95 % for all together" in sfumato(*asked).stdout
    assert json.loads(sfumato(*asked, "--json").stdout)["coverage"] == "approximate"
    plan = sfumato("plan", f"{folder}/scale.sfm", "--error", "0.1", "--simultaneous")
    assert "half the width of 95 % intervals, about, for all together" in plan.stdout
    page = folder / "drawn.html"
    sfumato(*asked, "--figure", str(page))
    assert "that cover the truth with about 95 %" in page.read_text()


def test_rows_that_were_left_out_are_told(folder: Path) -> None:
    (folder / "gaps.csv").write_text("q1\nnever\n\nrarely\nnothing\noften\nnever\n")
    shown = sfumato("estimate", f"{folder}/scale.sfm", f"{folder}/gaps.csv", "--column", "q1", "--on-unknown", "drop")
    assert "dropped  2 of 6 rows" in shown.stdout


def test_what_the_mechanism_never_released_is_refused(folder: Path) -> None:
    """True answers, those of another mechanism, and groups that are the answers themselves."""
    (folder / "other.csv").write_text(
        "q1,q2,day\n" + "never,yes,1\n" * 500 + "often,no,1\n" * 500 + "rarely,no,2\n" * 2
    )
    asked = ("estimate", f"{folder}/scale.sfm", f"{folder}/other.csv", "--column", "q1")
    for given, where in (((), "q1: was"), (("--by", "day"), "day 1: q1: was"), (("--method", "likelihood"), "q1: was")):
        shown = sfumato(*asked, *given, "--json")
        assert shown.returncode == 2 and shown.stdout == ""
        assert f"{where} this column released by this mechanism?" in shown.stderr
    # each column alone might be released; together they leave no doubt that they are not
    (folder / "pairs.csv").write_text("q1,q2\n" + "no,yes\n" * 100 + "yes,no\n" * 100)
    asked = ("estimate", f"{folder}/yesno.sfm", f"{folder}/pairs.csv", "--column", "q1")
    assert sfumato(*asked).returncode == 0
    assert "q1 × q2: was this column" in sfumato(*asked, "--column", "q2").stderr
    for option in ("--by", "--weights"):
        assert "'q1' is released: groups and weights" in sfumato(*asked, option, "q1").stderr


def test_rows_that_fit_badly_and_intervals_that_are_cut_are_told(folder: Path) -> None:
    (folder / "odd.csv").write_text("q1\n" + "never\n" * 32 + "often\n" * 32)
    asked = ("estimate", f"{folder}/scale.sfm", f"{folder}/odd.csv", "--column", "q1")
    shown = sfumato(*asked)
    assert shown.returncode == 0 and "note     was this column released by this mechanism?" in shown.stdout
    assert "intervals are cut there" in shown.stdout and "left of the interval of rarely" in shown.stdout
    record = json.loads(sfumato(*asked, "--json").stdout)
    assert 1e-6 < record["fit"] < 1e-3
    for share in record["shares"]:
        assert share["cut"] == (not 0 <= share["share"] <= 1) == (not share["low"] <= share["share"] <= share["high"])


def test_mechanisms_that_tell_no_shares_say_what_to_ask_for(folder: Path) -> None:
    space = sf.line(ANSWERS)
    guess = sf.Prior(space, ["8/10", "1/10", "1/10"])
    with pytest.warns(SharesLost):
        few = sf.design(guess, sf.losses.distance(space), sf.PrivacyType(space, alpha="1/2")).mechanism
    assert len(few.outputs) < 3
    sf.save(few, folder / "few.sfm")
    box = sf.box((2,), step=1, unit="km")
    sf.save(sf.mechanisms.laplace_noise(sf.PrivacyType(box, epsilon=1), parts=1), folder / "box.sfm")
    for command in (
        ("estimate", "{}/{}.sfm", "{}/released.csv", "--column", "q1"),
        ("plan", "{}/{}.sfm", "--error", "0.1"),
    ):
        shown = [sfumato(*(word.format(folder, name) for word in command)) for name in ("few", "box")]
        assert [done.returncode for done in shown] == [2, 2]
        assert 'objective = "shares"' in shown[0].stderr and "is for coordinates" in shown[1].stderr


def test_plans_for_an_error_and_for_a_number(folder: Path) -> None:
    shown = sfumato("plan", f"{folder}/scale.sfm", "--error", "0.03")
    plan = sf.release.survey_plan(sf.load(folder / "scale.sfm"))
    assert (
        f"needed   {plan.respondents(0.03):,} respondents for an error of at most 0.03 on every share" in shown.stdout
    )
    assert "half the width of 95 % intervals" in shown.stdout and "uniform shares" in shown.stdout
    record = json.loads(
        sfumato("plan", f"{folder}/scale.sfm", "--respondents", "2000", "--measure", "se", "--json").stdout
    )
    assert record["error"] == pytest.approx(plan.error(2000, measure="standard error"))
    (folder / "guess.csv").write_text("answer,count\nnever,5\noften,1\nrarely,4\n")
    guesses = [
        json.loads(sfumato("plan", f"{folder}/scale.sfm", "--error", "0.1", "--guess", guess, "--json").stdout)
        for guess in (f"{folder}/guess.csv", "5,4,1")
    ]
    assert guesses[0] == guesses[1] and guesses[0]["at"] == [0.5, 0.4, 0.1]
    worst = json.loads(sfumato("plan", f"{folder}/scale.sfm", "--error", "0.1", "--worst", "--json").stdout)
    assert worst["at"] == "worst" and worst["respondents"] >= guesses[0]["respondents"]


def test_the_curve_of_a_known_mechanism_and_of_a_spec(folder: Path) -> None:
    page = folder / "curve.html"
    shown = sfumato("plan", f"{folder}/scale.sfm", "--error", "0.05", "--epsilons", "0.5,1,2", "--figure", str(page))
    assert shown.returncode == 0 and page.exists() and f"figure   {page}" in shown.stdout
    (folder / "spec.toml").write_text(
        '[space]\nkind = "line"\nn = 3\n\n[privacy]\nalpha = "1/2"\n\n[loss]\nkind = "absolute"\n'
    )
    found = sfumato("plan", f"{folder}/spec.toml", "--error", "0.05", "--epsilons", "1,2", "--json")
    assert [point["epsilon"] for point in json.loads(found.stdout)["curve"]] == [1.0, 2.0]
    (folder / "shares.toml").write_text(
        '[space]\nkind = "line"\nn = 3\n\n[privacy]\nalpha = "1/2"\n\n[objective]\nkind = "shares"\n'
    )
    needed = [
        json.loads(sfumato("plan", f"{folder}/{file}", "--error", "0.05", "--json").stdout)["respondents"]
        for file in ("shares.toml", "scale.sfm")
    ]
    assert needed[0] < needed[1]
    best = sf.design(
        sf.Prior.uniform(sf.line(3)), sf.losses.absolute(sf.line(3)), sf.PrivacyType(sf.line(3), alpha="1/2")
    )
    sf.save(best.mechanism, folder / "best.sfm")
    lost = sfumato("plan", f"{folder}/best.sfm", "--error", "0.05", "--figure", str(page), "--overwrite")
    assert lost.returncode == 2 and "give the spec that it was designed from" in lost.stderr


@pytest.mark.parametrize(("words", "complaint"), [
    ((), "one of --error"), (("--error", "0.1", "--respondents", "3"), "one of --error"),
    (("--error", "0.1", "--measure", "x"), "margin"), (("--error", "-1"), "the error must be"),
    (("--respondents", "0"), "the number of respondents"),
    (("--respondents", "5", "--epsilons", "1"), "say --error too"),
    (("--error", "0.1", "--guess", "1,2"), "--guess"),
    (("--error", "0.1", "--guess", "1,2,3", "--worst"), "one of them"),
])  # fmt: skip
def test_plans_that_cannot_be(folder: Path, words: tuple[str, ...], complaint: str) -> None:
    shown = sfumato("plan", f"{folder}/scale.sfm", *words)
    assert shown.returncode == 2 and complaint in shown.stderr and len(shown.stderr.strip().splitlines()) == 1
