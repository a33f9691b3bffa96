from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli import audits
from sfumato.cli.main import app
from sfumato.errors import InvalidInput, NotSupported
from shell import sfumato

ROUNDED = "0.667,0.167,0.083,0.083\n0.333,0.333,0.167,0.167\n0.167,0.167,0.333,0.333\n0.083,0.083,0.167,0.667\n"
EXACT = "secret;0;1;2\n0;2/3;1/6;1/6\n1;1/3;1/3;1/3\n2;1/6;1/6;2/3\n"


def told(*arguments: Any) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["audit", *map(str, arguments)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


def record(*arguments: Any) -> tuple[int, dict[str, Any]]:
    status, text = told(*arguments, "--json")
    return status, json.loads(text)


def file(tmp_path: Path, text: str, name: str = "m.csv") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_a_broken_promise_exits_3_and_is_repaired(tmp_path: Path) -> None:
    fixed = tmp_path / "fixed.sfm"
    path = file(tmp_path, ROUNDED)
    status, text = told(path, "--space", "line:4", "--alpha", "1/2", "--loss", "absolute", "--repair", fixed, "--exact")
    assert status == 3
    assert "NOT KEPT: output 2 is 2.01205 times as likely for 1 as for 0, more than the 2 allowed" in text
    assert "epsilon  0.699153 is the least it needs (alpha = 83/167), on line(4)" in text
    assert "this matrix loses 0.047 % less, because it breaks the promise" in text
    assert "repair   moved at most 0.000892" in text
    made = sf.load(fixed)
    assert str(made.privacy.alpha) == "1/2"
    again, found = record(fixed)
    assert (again, found["outcome"], found["promise"]) == (0, "holds", {"alpha": "1/2"})


def test_a_kept_promise_exits_0(tmp_path: Path) -> None:
    path = file(tmp_path, EXACT)
    status, found = record(path, "--space", "line:3", "--alpha", "1/2", "--prior", "1,2,1")
    assert (status, found["outcome"], found["exact"], found["alpha"]) == (0, "holds", True, "1/2")
    assert found["pair"] == ["0", "1"]
    assert found["above_best"][0] >= -1e-12
    _, text = told(path, "--space", "line:3", "--alpha", "1/2")
    assert "KEPT: all 2 pairs" in text
    assert "this matrix loses no more" in text


def test_without_a_space_or_promise_it_says_which_epsilon(tmp_path: Path) -> None:
    status, text = told(file(tmp_path, "yes\tno\n0.75\t0.25\n0.25\t0.75\n", "rr.tsv"))
    assert status == 0
    assert "private for every ε from 1.09862 on" in text
    assert "on discrete(2)" in text
    status, found = record(file(tmp_path, '{"a": {"x": 0.5, "y": 0.5}, "b": {"x": 0.25, "y": 0.75}}', "m.json"))
    assert (status, found["alpha"], found["pair"]) == (0, "1/2", ["a", "b"])
    path = tmp_path / "zero.npy"
    np.save(path, np.array([[1.0, 0.0], [0.5, 0.5]]))
    status, text = told(path)
    assert status == 3
    assert "output 1 is possible for 1 and not for 0" in text
    assert "say --epsilon" in text
    status, found = record(path)
    assert (status, found["epsilon"], found["ratio"]) == (3, None, "inf")


def test_what_cannot_be_repaired_is_told_after_the_audit(tmp_path: Path) -> None:
    path, fixed = file(tmp_path, "1,0\n0.5,0.5\n"), tmp_path / "fixed.sfm"
    status, text = told(path, "--repair", fixed)
    assert status == 3
    assert "no ε is enough" in text
    assert "repair   none, and nothing was written: no epsilon is enough for this matrix" in text
    status, found = record(path, "--repair", fixed)
    assert (status, found["repaired"]) == (3, None)
    assert "no epsilon is enough" in found["not_repaired"] and "say with --epsilon" in found["not_repaired"]
    with pytest.raises(InvalidInput, match="all rows are the same"):
        told(file(tmp_path, "0.5,0.5\n0.5,0.5\n", "same.csv"), "--repair", fixed)
    assert not fixed.exists()
    assert told(path, "--epsilon", "1", "--repair", fixed)[0] == 3
    assert sf.verify(fixed)


def test_a_slip_in_the_first_row_is_not_a_header(tmp_path: Path) -> None:
    for text, words in (("0.99,O.01\n0.5,0.5\n0.4,0.6\n", "'O.01'"), ("0.5,nan\n0.5,0.5\n", "'nan'")):
        done = subprocess.run(
            [sys.executable, "-m", "sfumato", "audit", str(file(tmp_path, text))], capture_output=True, text=True
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert f"row 1, column 2: {words} is no number" in done.stderr


def test_names_from_the_file_are_told(tmp_path: Path) -> None:
    _, text = told(file(tmp_path, "secret,yes,no\na,0.5,0.5\nb,0.4,0.6\n"))
    assert "outputs named by the first row: yes, no" in text
    assert "secrets named by the first column: a, b" in text
    assert "named by" not in told(file(tmp_path, "0.5,0.5\n0.4,0.6\n"))[1]
    assert record(file(tmp_path, "yes,no\n0.5,0.5\n0.4,0.6\n"))[1]["named_by_file"] == ["outputs"]


def test_one_of_a_thing_is_said_so(tmp_path: Path) -> None:
    assert "1 secret, 2 outputs" in told(file(tmp_path, "0.5,0.5\n"))[1]
    text = told(file(tmp_path, "0.5,0.5\n0.4,0.6\n"), "--epsilon", "1", "--no-optimum")[1]
    assert "KEPT: all 1 pair " in text


def test_floats_on_the_border_exit_1(tmp_path: Path) -> None:
    table = np.array([[2 / 3, 1 / 3], [1 / 3, 2 / 3]])
    table[0, 1] = table[1, 0] = np.nextafter(1 / 3, 0)
    np.save(tmp_path / "m.npy", table)
    status, text = told(tmp_path / "m.npy", "--alpha", "1/2", "--no-optimum")
    assert status == 1
    assert "KEPT UP TO THE ROUNDING OF THE FILE" in text
    assert "best     not looked for" in text


STYLES = ["%.17g", "%.16g", "%.18e", "%.20f", "%.15f", "%.9f", "%.3f", "%.2f"]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("renormalised", [False, True])
def test_digits_of_a_private_matrix_are_kept_up_to_rounding(tmp_path: Path, style: str, renormalised: bool) -> None:
    """However it was written, the geometric mechanism is not called broken, and comes back exactly."""
    exact = sf.geometric(sf.PrivacyType(sf.line(4), alpha="1/2")).channel
    table = exact.to_floats().matrix if renormalised else exact.matrix.astype(float)
    np.savetxt(tmp_path / "m.csv", table, fmt=style, delimiter=",")
    fixed = tmp_path / "fixed.sfm"
    options = ("--space", "line:4", "--alpha", "1/2", "--no-optimum")
    status, text = told(tmp_path / "m.csv", *options, "--repair", fixed)
    assert status in (0, 1)
    if status == 1:
        assert "KEPT UP TO THE ROUNDING OF THE FILE: as written" in text
        assert "NOT KEPT" not in text and " is 2 times as likely for 1 as for 0, more" not in text
        assert (sf.load(fixed).channel.matrix == exact.matrix).all()
        _, found = record(tmp_path / "m.csv", *options)
        assert found["outcome"] == "kept up to rounding" and 0 < found["excess"] < 0.1
        assert 0 <= found["nearest_distance"] <= found["known_to"]
        assert found["nearest_epsilon"] == pytest.approx(np.log(2))
        assert told(tmp_path / "m.csv", *options, "--exact")[0] == 3
    np.save(tmp_path / "m.npy", table)
    assert told(tmp_path / "m.npy", *options)[0] in (0, 1)


@pytest.mark.parametrize("renormalised", [False, True])
def test_seventeen_digits_are_the_doubles_that_they_print(tmp_path: Path, renormalised: bool) -> None:
    """The same numbers have the same answer, and only who says that digits are meant as they stand has another one."""
    exact = sf.geometric(sf.PrivacyType(sf.line(4), alpha="1/2")).channel
    table = exact.to_floats().matrix if renormalised else exact.matrix.astype(float)
    np.savetxt(tmp_path / "m.csv", table, fmt="%.17g", delimiter=",")
    np.save(tmp_path / "m.npy", table)
    options = ("--space", "line:4", "--alpha", "1/2", "--no-optimum")
    assert told(tmp_path / "m.csv", *options)[0] == told(tmp_path / "m.npy", *options)[0] == int(renormalised)
    status, text = told(tmp_path / "m.csv", *options, "--exact")
    assert status == 3
    needed = next(line for line in text.splitlines() if line.startswith("epsilon  "))
    assert "epsilon  0.693147 " not in needed  # that would be the promise


def test_rounding_explains_no_more_than_half_a_unit(tmp_path: Path) -> None:
    wrong = ROUNDED.replace("0.667,0.167,0.083,0.083", "0.669,0.165,0.083,0.083")
    status, text = told(file(tmp_path, wrong), "--space", "line:4", "--alpha", "1/2", "--no-optimum")
    assert status == 3
    assert "NOT KEPT: " in text and "and not by rounding: " in text
    status, text = told(file(tmp_path, ROUNDED), "--space", "line:4", "--epsilon", "0.68", "--no-optimum")
    assert status == 3


def test_zeros_that_may_be_rounded(tmp_path: Path) -> None:
    rows = "0.99,0.01,0.00\n0.98,0.01,0.01\n"
    status, text = told(file(tmp_path, rows))
    assert status == 1 and "private  UNDECIDED: as written output 2 is possible for 1 and not for 0" in text
    assert "say with --epsilon" in text
    assert told(file(tmp_path, rows), "--epsilon", "1", "--no-optimum")[0] == 1
    assert told(file(tmp_path, rows.replace("0.00", "0")))[0] == 3  # a zero that is written as a whole number is one


def test_spaces_from_specs_and_tables(tmp_path: Path) -> None:
    spec = '[space]\nkind = "grid"\nshape = [1, 3]\nunit = "km"\n[privacy]\nepsilon = 1\n[prior]\ncounts = [1, 2, 3]\n'
    rows = 'cell,"0,2","0,0"\n"0,1",0.5,0.5\n"0,0",0.4,0.6\n"0,2",0.6,0.4\n'
    status, text = told(file(tmp_path, rows), "--spec", file(tmp_path, spec, "spec.toml"))
    assert status == 0
    assert "promise  epsilon = 1 per km" in text
    assert "km after the best remap (distance, for the given prior)" in text
    distances = file(tmp_path, ",a,b\na,0,2\nb,2,0\n", "d.csv")
    status, found = record(file(tmp_path, "a,0.8,0.2\nb,0.2,0.8\n"), "--distances", distances)
    assert (status, found["distance"], found["alpha"]) == (0, 2.0, "1/2")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (["--space", "line:5"], InvalidInput, "4 rows for 5 secrets"),
        (["--space", "line:4", "--distances", "x.csv"], InvalidInput, "give one"),
        (["--space", "moebius:4"], NotSupported, "moebius"),
        (["--tolerance", "lots"], InvalidInput, "--tolerance"),
        (["--repair", "nowhere/x.sfm"], InvalidInput, "there is no folder"),
        (["--loss", "regret"], NotSupported, "regret"),
        (["--epsilon", "-1"], InvalidInput, "positive"),
    ],
)
def test_mistakes(options: list[str], error: type[Exception], words: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=words):
        told(file(tmp_path, ROUNDED), *options)


def test_a_delta_is_refused(tmp_path: Path) -> None:
    spec = '[space]\nkind = "line"\nn = 4\n[privacy]\nepsilon = 1\ndelta = 0.1\n'
    with pytest.raises(NotSupported, match="delta"):
        told(file(tmp_path, ROUNDED), "--spec", file(tmp_path, spec, "spec.toml"))


def test_unreadable_files_exit_2_with_one_line(tmp_path: Path) -> None:
    path = file(tmp_path, "66.7,33.3\n50,50\n")
    command = [sys.executable, "-m", "sfumato", "audit", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip().endswith("these are percentages; divide them by 100")
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("options", [["--alpha", "1e-400"], ["--prior", "1e-400,1"], ["--prior", "1e309,1"]])
def test_numbers_beyond_floats_are_told_of_all_the_same(options: list[str], tmp_path: Path) -> None:
    shown = sfumato("audit", str(file(tmp_path, "0.6,0.4\n0.4,0.6\n")), *options)
    assert shown.returncode == 0 and "best " in shown.stdout and shown.stderr == ""


def test_memory_that_does_not_suffice_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(audits, "look_at", full)
    shown = sfumato("audit", str(file(tmp_path, ROUNDED)))
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr == "sfumato: this needs more memory than there is; try a smaller question\n"
