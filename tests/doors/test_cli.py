from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.certify.certificate import certificate
from sfumato.certify.file import to_bytes
from shell import in_a_shell, sfumato


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "response.sfm"
    sf.save(sf.prove([[2, 1], [1, 2]], sf.PrivacyType(sf.line(2), alpha="1/2")), path)
    return path


def test_help_answers_at_once_without_loading_solvers() -> None:
    shown = in_a_shell("--help")
    assert shown.returncode == 0
    assert "verify" in shown.stdout
    code = (
        "import sys, sfumato.cli.main; print([m for m in ('numpy', 'numba', 'scipy', 'highspy') if m in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_names_of_files_write_no_line_of_the_report(file: Path, tmp_path: Path) -> None:
    named = tmp_path / "a\nPROVED\x1b[2J.sfm"
    named.write_bytes(file.read_bytes())
    done = sfumato("verify", str(named))
    named.write_bytes(b"nothing")
    for shown in (done, sfumato("verify", str(named))):
        text = shown.stdout + shown.stderr
        assert "\\nPROVED\\x1b[2J.sfm" in text and "\nPROVED" not in text and "\x1b" not in text


@pytest.mark.parametrize("command", ["report", "page", "release", "design", "known", "universal", "audit", "ledger"])
def test_names_of_files_write_no_line_of_any_command(command: str, file: Path, tmp_path: Path) -> None:
    """Neither where all is well nor where something is wrong."""
    named = {ending: tmp_path / f"a\nPROVED\x1b[2J.{ending}" for ending in ("sfm", "csv", "toml", "html", "db")}
    named["csv"].write_text("home\n0\n1\n")
    named["toml"].write_text('[space]\nkind = "line"\nn = 2\n[privacy]\nalpha = "1/2"\n')
    out = tmp_path / "b\nPROVED\x1b[2J.csv"
    sfm, html, csv, toml, db = (str(named[ending]) for ending in ("sfm", "html", "csv", "toml", "db"))
    given = {
        "report": (str(file), "-o", html), "page": (str(file), "-o", html), "audit": (csv,), "ledger": ("show", db),
        "release": (str(file), csv, str(out), "--column", "home"), "design": (toml, "-o", sfm),
        "known": ("geometric", toml, "-o", sfm), "universal": (toml, "-o", sfm),
    }[command]  # fmt: skip
    for shown in (sfumato(command, *given), sfumato(command, *given)):  # the second finds its file there
        text = shown.stdout + shown.stderr
        assert "\\nPROVED\\x1b[2J." in text and "\nPROVED" not in text and "\x1b" not in text


def test_verify_accepts_and_reports(file: Path) -> None:
    shown = in_a_shell("verify", str(file))
    assert shown.returncode == 0
    assert "PROVED private with alpha = 1/2 per unit of distance" in shown.stdout
    assert "by the kernel" in shown.stdout
    record = json.loads(sfumato("verify", str(file), "--json", "--checker", "twin").stdout)
    assert record["outcome"] == "holds"
    assert record["promise"] == {"kind": "rows", "alpha": "1/2"}
    assert record["checker"] == "compiled twin"
    assert len(record["sha256"]) == 64


def test_a_refuted_file_exits_3(tmp_path: Path) -> None:
    privacy = sf.PrivacyType(sf.line(2), alpha="1/2")
    path = tmp_path / "leaky.sfm"
    path.write_bytes(to_bytes(certificate(privacy, (0, 1), np.array([[3, 1], [1, 3]]), 4)))
    shown = in_a_shell("verify", str(path))
    assert shown.returncode == 3
    assert "REFUTED: output 0 has weight 3 for 0 and 1 for 1: 3 times as much, at most 2 allowed" in shown.stdout
    record = json.loads(sfumato("verify", str(path), "--json").stdout)
    assert (record["outcome"], record["pair"], record["ratio"], record["bound"]) == ("fails", ["0", "1"], "3", 2.0)


def test_bad_files_are_one_line_on_stderr_and_exit_2(file: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.sfm"
    damaged.write_bytes(file.read_bytes()[:-5])
    for path in (damaged, tmp_path / "nowhere.sfm", tmp_path):
        shown = sfumato("verify", str(path))
        assert shown.returncode == 2
        assert shown.stdout == ""
        assert len(shown.stderr.strip().splitlines()) == 1
        assert "Traceback" not in shown.stderr
    several = sfumato("verify", "--json", str(file), str(damaged))
    assert several.returncode == 2
    assert [json.loads(line)["outcome"] for line in several.stdout.splitlines()] == ["holds", "unreadable"]
    assert sfumato("verify", str(file), "--checker", "oracle").returncode == 2
    assert sfumato("unknown").returncode == 2


@pytest.mark.parametrize(
    ("words", "status", "kind", "said"),
    [
        (["desgn"], 2, "UsageError", "did you mean 'design'"),
        (["kernels"], 2, "MissingParameter", "missing"),
        (["kernels", "line:3", "--foo"], 2, "NoSuchOption", "--foo"),
        (["kernels", "moebius:3"], 2, "NotSupported", "space 'moebius' is not supported"),
        (["design", "nowhere.toml"], 2, "InvalidInput", "nowhere.toml"),
        (["capacity", "line:3", "--alpha", "2"], 2, "InvalidEpsilon", "alpha"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_errors_are_one_json_object_on_stderr_where_json_is_asked_for(
    words: list[str], status: int, kind: str, said: str
) -> None:
    shown, for_people = sfumato(*words, "--json"), sfumato(*words)
    assert shown.stdout == "" and (shown.returncode, for_people.returncode) == (status, status)
    record = json.loads(shown.stderr)
    assert (record["error"], record["status"]) == (kind, status)
    assert said.lower() in record["message"].lower()
    assert not for_people.stderr.startswith("{")


def test_what_a_ledger_refuses_is_an_object_too_with_the_status_of_a_promise_not_kept(
    file: Path, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("home\n0\n1\n")
    sfumato("ledger", "limit", str(tmp_path / "l.db"), "--epsilon", "0.1")
    terms = ("--column", "home", "--ledger", str(tmp_path / "l.db"), "--dataset", "d", "--json")
    shown = sfumato("release", str(file), str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), *terms)
    assert shown.returncode == 3 and shown.stdout == ""
    assert json.loads(shown.stderr.splitlines()[-1])["error"] == "BudgetExceeded"


@pytest.mark.parametrize(
    "words",
    ["release FILE sheet.xlsx out.csv --column home", "hide sheet.xlsx -o out.csv --hide 500", "audit sheet.xlsx",
     "estimate FILE sheet.xlsx --column home", "plan FILE --error 0.1 --guess sheet.xlsx"],
)  # fmt: skip
def test_a_spreadsheet_is_refused_with_what_to_do(
    words: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sheet.xlsx").write_bytes(b"PK\x03\x04")
    shown = sfumato(*words.replace("FILE", str(file)).split())
    assert shown.returncode == 2 and shown.stdout == ""
    assert shown.stderr == (
        "sfumato: the format of 'sheet.xlsx' is that of a spreadsheet, which is neither read nor written: save its "
        "sheet as CSV (CSV UTF-8) and name that file\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are closed otherwise there")
@pytest.mark.parametrize("words", [["known", "--list"], ["paper", "list"], ["kernels", "line:3", "--json"], ["--help"]])
def test_who_has_read_enough_closes_the_pipe_and_nothing_is_said(words: list[str]) -> None:
    """``sfumato known --list | head -1``."""
    read, written = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "sfumato", *words]
    shown = subprocess.run(command, stdout=written, stderr=subprocess.PIPE, text=True, check=False)
    os.close(written)
    assert (shown.returncode, shown.stderr) == (1, "")


@pytest.mark.parametrize(
    ("typed", "found"),
    [("sfumato des", {"design"}), ("sfumato design --eps", {"--epsilon"}),
     ("sfumato paper A.table4", {"A.table4a"}), ("sfumato known planar-l", {"planar-laplace", "planar-laplace-within"}),
     ("sfumato init --kind pl", {"places"})],
)  # fmt: skip
def test_a_shell_completes_commands_options_and_names(typed: str, found: set[str]) -> None:
    """``sfumato --install-completion`` has it ask this way."""
    asked = {"_SFUMATO_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    code = "import sys; sys.argv = ['sfumato']; from sfumato.cli.main import run; run()"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | asked, check=False
    )
    assert set(shown.stdout.split()) == found, shown.stderr


def test_version() -> None:
    assert sfumato("--version").stdout.strip() == sf.__version__


def test_types_from_the_command_line() -> None:
    assert "15346 kernels from 32 vertices" in sfumato("kernels", "line:6").stdout
    assert json.loads(sfumato("kernels", "line:5", "--alpha", "2/3", "--json").stdout)["kernels"] == 222
    assert sfumato("capacity", "hamming:3").stdout.strip().endswith("multiplicative 64/27, additive 19/27")
    for bad in (
        ("kernels", "moebius:3"),
        ("kernels", "line:x"),
        ("capacity", "line:2,3"),
        ("kernels", "star:16"),
        ("kernels", "line:3", "--alpha", "1/2", "--epsilon", "1"),
    ):
        shown = sfumato(*bad)
        assert shown.returncode == 2
        assert len(shown.stderr.strip().splitlines()) == 1


def test_kernels_of_irrational_types_and_estimates() -> None:
    assert json.loads(sfumato("kernels", "grid:2,2", "--json").stdout)["kernels"] == 403
    assert json.loads(sfumato("kernels", "line:5", "--epsilon", "1", "--json").stdout)["by_outputs"]["2"] == 1
    guess = json.loads(sfumato("kernels", "line:6", "--estimate", "20000", "--seed", "3", "--json").stdout)
    assert guess["low"] < 15346 < guess["high"]
    assert guess["samples"] == 20_000
    few = ("kernels", "line:8", "--estimate", "20", "--seed", "7")
    assert "kernels fewer than 3e+11 with confidence 0.99" in sfumato(*few).stdout
    without_hit = json.loads(sfumato(*few, "--json").stdout)
    assert without_hit["kernels"] is None and 2.9e11 < without_hit["fewer_than"] < 3e11


def test_long_work_shows_where_it_is_and_stops_on_an_interrupt() -> None:
    leader, follower = os.openpty()
    command = [sys.executable, "-m", "sfumato", "kernels", "line:7"]
    hear = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell may start the tests deaf to interrupts
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=follower, preexec_fn=hear)
    os.close(follower)
    said = b""
    while b"equation" not in said and running.poll() is None:
        said += os.read(leader, 1024)
    assert b" s  equation " in said
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=120) == 130
    os.close(leader)


def test_papers_and_comparison(file: Path, tmp_path: Path) -> None:
    assert "(printed 0.48, differs)" in sfumato("paper", "C.example3").stdout
    assert "y = 4" in sfumato("paper", "B.section7").stdout  # which the first rows do not have
    listed = dict(line.split(maxsplit=1) for line in sfumato("paper", "list").stdout.splitlines())
    assert listed["A.table4a"] == "Vertices, kernels and capacities of lines"
    drawn = tmp_path / "figure.html"
    assert f"Drawn: {drawn}" in sfumato("paper", "A.fig5b", "-o", str(drawn)).stdout
    assert "<script" in drawn.read_text()
    assert sfumato("paper", "D.example322", "-o", str(drawn)).returncode == 2
    assert sfumato("paper", "Z.table1").returncode == 2
    other = tmp_path / "constant.sfm"
    sf.save(sf.prove([[1], [1]], sf.PrivacyType(sf.line(2), alpha="1/2")), other)
    record = json.loads(sfumato("compare", str(file), str(other), "--json").stdout)
    assert record["second refines first"] == "holds"
    assert record["first refines second"] == "fails"


def test_a_terminal_without_letters_is_no_reason_to_fall_over(tmp_path: Path) -> None:
    privacy = sf.PrivacyType(sf.line(2, unit="mètre"), alpha="1/2")
    sf.save(sf.prove([[2, 1], [1, 2]], privacy), tmp_path / "m.sfm")
    plain = os.environ | {"PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0", "LC_ALL": "C.UTF-8"}
    for arguments in (["--help"], ["verify", str(tmp_path / "m.sfm")], ["verify", str(tmp_path / "nöwhere.sfm")]):
        command = [sys.executable, "-m", "sfumato", *arguments]
        shown = subprocess.run(command, capture_output=True, env=plain, check=False)
        assert shown.returncode == (2 if "nöwhere" in arguments[-1] else 0), shown.stderr
        assert b"Traceback" not in shown.stderr
    file = tmp_path / "à côté.sfm"
    (tmp_path / "m.sfm").rename(file)
    command = [sys.executable, "-m", "sfumato", "verify", "--json", str(file)]
    said = subprocess.run(command, capture_output=True, env=plain, check=True)
    assert json.loads(said.stdout)["file"] == str(file)
