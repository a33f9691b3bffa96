"""The commands ``design``, ``calibrate``, ``curve`` and ``init`` as a user calls them."""

from __future__ import annotations

import io
import json
import math
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import sfumato as sf
from sfumato.certify.bundle import kernel_file
from sfumato.cli import designs, points, progress, types
from sfumato.cli.main import app, run
from sfumato.cli.progress import Interruption, progress_line, standing, until_asked
from sfumato.errors import InvalidInput
from sfumato.lp.cone.program import ColumnProgress
from sfumato.specs.spec import read_spec
from sfumato.threads import StopAtOnce

SURVEY = """
[space]
kind = "line"
labels = ["never", "rarely", "often", "always"]
unit = "answer"
[privacy]
alpha = 0.5
"""

TOWN = """
[space]
kind = "grid"
shape = [4, 4]
step = 0.5
unit = "km"
[privacy]
epsilon = 2
[prior]
counts = [1, 2, 2, 1, 3, 8, 6, 2, 2, 7, 9, 3, 1, 2, 3, 1]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "survey.toml").write_text(SURVEY)
    (tmp_path / "town.toml").write_text(TOWN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sfumato(*arguments: str, answers: str = "") -> Result:
    return CliRunner().invoke(app, arguments, input=answers, catch_exceptions=False)


Failing = Callable[..., tuple[Any, str]]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Failing:
    """Exit status and the one line on stderr of a command that is refused."""

    def call(*arguments: str) -> tuple[Any, str]:
        monkeypatch.setattr(sys, "argv", ["sfumato", *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
        shown = capsys.readouterr()
        assert shown.out == ""
        assert len(shown.err.strip().splitlines()) == 1
        return ended.value.code, shown.err.strip()

    return call


def test_from_a_spec_to_a_file_that_the_bare_kernel_accepts(folder: Path) -> None:
    command = [sys.executable, "-m", "sfumato", "design", "town.toml", "-o", "best.sfm"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert shown.stderr == ""
    assert [text.split()[0] for text in shown.stdout.splitlines()] == (
        ["promise", "loss", "bound", "gap", "method", "outputs", "file"]
    )
    assert "epsilon = 2 per km: at 1 km, no output is more than 7.39 times as likely" in shown.stdout
    assert "km if nothing is disclosed" in shown.stdout
    verified = sfumato("verify", "best.sfm")
    assert verified.exit_code == 0
    assert "PROVED private with epsilon = 2 per 'km'" in verified.stdout
    bare = [sys.executable, "-I", "-S", str(kernel_file()), "best.sfm"]
    proved = subprocess.run(bare, capture_output=True, text=True, check=True)
    assert "no mechanism with this promise has less than" in proved.stdout
    assert sorted(path.name for path in folder.iterdir()) == ["best.sfm", "survey.toml", "town.toml"]


def test_a_design_as_a_record(folder: Path) -> None:
    record = json.loads(sfumato("design", "survey.toml", "--json").stdout)
    assert sf.verify("survey.sfm")
    assert sf.load("survey.sfm").secrets == ("never", "rarely", "often", "always")
    assert record["promise"] == {"alpha": "1/2"}
    assert (record["loss_exact"], record["bound_exact"], record["gap"]) == ("17/24", "17/24", 0.0)
    assert (record["ended"], record["objective"], record["unit"]) == ("reached", "expected", "answer")
    assert (record["file"], len(record["sha256"])) == ("survey.sfm", 64)


def test_options_come_before_the_spec(folder: Path) -> None:
    Path("survey.toml").write_text(SURVEY + "[solve]\nsolver = 'highs'\ntolerance = 0.5\n")
    assert json.loads(sfumato("design", "survey.toml", "--json").stdout)["method"] == "HiGHS"
    other = sfumato("design", "survey.toml", "--solver", "interior", "--tolerance", "1e-6", "--overwrite", "--json")
    record = json.loads(other.stdout)
    assert record["method"].startswith("block interior point")
    assert record["gap"] <= 1e-6


def test_an_epsilon_in_the_command_stands_in_place_of_the_specs(folder: Path, failing: Failing) -> None:
    shown = sfumato("design", "survey.toml", "--epsilon", "ln(3)", "--json")
    assert json.loads(shown.stdout)["promise"] == {"alpha": "1/3"}
    assert shown.stderr.startswith("sfumato: --epsilon ln(3) stands in place of what survey.toml says\n")
    (folder / "open.toml").write_text(SURVEY.partition("[privacy]")[0])
    alone = sfumato("design", "open.toml", "--epsilon", "0.5")
    assert alone.stdout.startswith("promise  epsilon = 0.5 per answer") and "--epsilon" not in alone.stderr
    (folder / "events.toml").write_text(SURVEY + "delta = 0.1\n")
    assert "(0.5, 1/10)-privacy" in sfumato("design", "events.toml", "--epsilon", "0.5").stdout
    zero = failing("design", "survey.toml", "--overwrite", "--epsilon", "0")
    assert zero == (2, "sfumato: --epsilon: ε must be positive, found 0")
    assert "--epsilon: " in failing("design", "survey.toml", "--overwrite", "--epsilon", "much")[1]


def test_objectives(folder: Path) -> None:
    space = sf.line(4)
    privacy = sf.PrivacyType(space, alpha="1/2")
    worst = sf.design(None, sf.losses.distance(space), privacy, objective="worst secret")  # type: ignore[arg-type]
    Path("worst.toml").write_text(SURVEY + "[objective]\nkind = 'worst secret'\n")
    shown = sfumato("design", "worst.toml")
    assert f"{worst.loss} = " in shown.stdout
    assert "of the worst secret" in shown.stdout
    Path("limited.toml").write_text(SURVEY + f"[objective]\nworst_loss = '{worst.loss + Fraction(1, 100)}'\n")
    limited = json.loads(sfumato("design", "limited.toml", "--json").stdout)
    assert 17 / 24 < limited["loss"] <= float(worst.loss) + 0.01
    Path("ties.toml").write_text(SURVEY + "[objective]\nthen = 'entropy'\n[loss]\nkind = 'bin'\n")
    assert "ties     broken by entropy, which is" in sfumato("design", "ties.toml").stdout
    Path("priors.toml").write_text(
        SURVEY + "[objective]\nkind = 'worst prior'\npriors = [{uniform = true}, {counts = [1, 0, 0, 1]}]\n"
    )
    assert json.loads(sfumato("design", "priors.toml", "--json").stdout)["objective"] == "worst prior"


def test_outputs_are_some_of_the_actions(folder: Path) -> None:
    Path("few.toml").write_text(SURVEY + "[loss]\noutputs = ['never', 'always']\n")
    assert "outputs  2 of 2 actions, for 4 secrets" in sfumato("design", "few.toml").stdout
    loss = json.loads(sfumato("design", "few.toml", "--overwrite", "--json").stdout)["loss"]
    at_that = json.loads(sfumato("curve", "few.toml", "--epsilons", "0.6931", "--json").stdout)
    assert at_that["loss"] == pytest.approx(loss, rel=1e-3)


def test_which_epsilon(folder: Path) -> None:
    found = json.loads(sfumato("calibrate", "survey.toml", "--target", "17/24", "--json").stdout)
    assert found["low"] < 0.693147 < found["high"] == found["epsilon"]
    assert found["loss"] <= 17 / 24
    kept = json.loads(sfumato("calibrate", "survey.toml", "--target", "17/24", "--keep", "--json").stdout)
    assert kept["epsilon"] == kept["low"] < 0.693147
    assert kept["bound"] > 17 / 24
    shown = sfumato("calibrate", "survey.toml", "--target", "0.5", "-o", "found.sfm").stdout
    assert "per answer is enough for a loss of 0.5 answer" in shown
    assert sf.verify("found.sfm")
    assert "keeps it" in sfumato("calibrate", "survey.toml", "--target", "0.5", "--keep").stdout


def test_the_error_of_a_sum_is_not_counted_in_people(folder: Path) -> None:
    Path("sum.toml").write_text('[space]\nkind = "sum_query"\nindividuals = 4\nlargest = 3\n[privacy]\nepsilon = 1\n')
    shown = sfumato("calibrate", "sum.toml", "--target", "2").stdout
    assert "loss     expected absolute error of the answer" in shown
    at = float(shown.split()[1])
    best = sf.design(sf.Prior.uniform(range(13)), sf.losses.absolute(sf.sum_query(4, 3)),
                     sf.PrivacyType(sf.sum_query(4, 3), epsilon=at))  # fmt: skip
    assert float(best.loss) == pytest.approx(2, rel=1e-2)
    curve = sfumato("curve", "sum.toml", "--epsilons", "1").stdout
    assert curve.splitlines()[-1] == "loss: expected absolute error of the answer"


def test_a_curve_as_text_records_table_and_figure(folder: Path) -> None:
    shown = sfumato("curve", "survey.toml", "--epsilons", "2,0.5,1,0.5", "-o", "curve.csv").stdout
    assert [row.split()[0] for row in shown.splitlines()[1:4]] == ["0.5", "1", "2"]
    rows = Path("curve.csv").read_text().splitlines()
    assert rows[0] == "epsilon,loss,bound,gap,method,seconds"
    assert [float(row.split(",")[1]) for row in rows[1:]] == pytest.approx([0.8032, 0.5205, 0.1960], abs=1e-3)
    records = sfumato("curve", "survey.toml", "--epsilons", "1,2", "--json").stdout.splitlines()
    assert [json.loads(record)["epsilon"] for record in records] == [1.0, 2.0]
    assert "Wrote curve.html" in sfumato("curve", "survey.toml", "--epsilons", "1", "-o", "curve.html").stdout
    assert "<script" in Path("curve.html").read_text()


def test_refusals_are_one_line_and_leave_nothing(folder: Path, failing: Failing) -> None:
    Path("typo.toml").write_text(SURVEY.replace("alpha", "alfa"))
    assert failing("design", "typo.toml") == (
        2,
        "sfumato: typo.toml: unknown key 'alfa' in [privacy], did you mean 'alpha'?",
    )
    Path("open.toml").write_text(SURVEY.split("[privacy]")[0])
    assert "open.toml: table [privacy] is missing" in failing("design", "open.toml")[1]
    assert "no folder nowhere" in failing("design", "survey.toml", "-o", "nowhere/best.sfm")[1]
    assert (
        "survey.toml is there and is not a mechanism file" in failing("design", "survey.toml", "-o", "./survey.toml")[1]
    )
    assert "it is a folder" in failing("design", "survey.toml", "-o", str(folder))[1]
    assert "solver 'magic' is not supported; auto" in failing("design", "survey.toml", "--solver", "magic")[1]
    assert "must be a finite number above 0, found -1" in failing("design", "survey.toml", "--tolerance", "-1")[1]
    assert "--target: the target must be a number" in failing("calibrate", "survey.toml", "--target", "little")[1]
    assert "must lie between 0" in failing("calibrate", "survey.toml", "--target", "7")[1]
    assert "--epsilons: epsilon must be a number" in failing("curve", "survey.toml", "--epsilons", "1,,2")[1]
    assert "ε must be positive" in failing("curve", "survey.toml", "--epsilons", "0,1")[1]
    assert "is not supported; .csv, .html" in failing("curve", "survey.toml", "--epsilons", "1", "-o", "curve.txt")[1]
    Path("worst.toml").write_text(SURVEY + "[objective]\nkind = 'worst secret'\n")
    for command in (("calibrate", "--target", "1"), ("curve", "--epsilons", "1")):
        assert "worst.toml: [objective]" in failing(*command, "worst.toml")[1]
    impossible = SURVEY + "[objective]\nworst_loss = 0.01\n"
    Path("impossible.toml").write_text(impossible)
    assert failing("design", "impossible.toml")[0] == 2
    assert not [*folder.glob("*.sfm")]


def test_a_figure_that_cannot_be_drawn_is_refused_before_the_work(
    folder: Path, failing: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.report.figure.find_spec", lambda name: None)
    status, said = failing("curve", "survey.toml", "--epsilons", "1", "-o", "curve.png")
    assert (status, said) == (2, "sfumato: kaleido is not installed: pip install 'sfumato[figures]'")


def test_help_names_the_commands() -> None:
    shown = sfumato("--help").stdout
    assert all(command in shown for command in ("design", "calibrate", "curve", "init"))
    code = "import sys, sfumato.cli.main; print([m for m in ('numpy', 'pydantic', 'plotly') if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_questions_end_in_a_spec_that_can_be_designed(folder: Path, failing: Failing) -> None:
    said = sfumato("init", answers="gird\ngrid\n3x3\nkm\n0\n500 m\n-1\n2\n1,2\nuniform\nsquared\nbin\n")
    assert "did you mean 'grid'?" in said.output
    for words in ("positive", "epsilon must be positive", "2 counts for 9 secrets", "labels that are numbers"):
        assert words in said.output
    assert "Next: `sfumato design spec.toml`" in said.output
    spec = read_spec("spec.toml")
    assert (spec.space.kind, str(spec.space.step), spec.loss.kind) == ("grid", "1/2", "bin")
    assert sfumato("design", "spec.toml").exit_code == 0
    assert "already there" in failing("init")[1]
    assert sfumato("init", "other.toml", answers="grid\n").exit_code == 1  # the answers end too soon
    assert not Path("other.toml").exists()


FILES = {
    "places": (
        "places\nnone.csv\nrows.csv\nname\n\n\n0.01\npeple\npeople\nthreshold\n100\n",
        {"kind": "geo", "file": "rows.csv", "latitude": "lat", "longitude": "lng", "label": "name"},
    ),
    "points": (
        "points\nrows.csv\nnone\nlat,lng\nnone\nln 2\nuniform\n\n",
        {"kind": "points", "file": "rows.csv", "columns": ["lat", "lng"]},
    ),
    "graph": (
        "graph\nrows.csv\nname\nnext\npeople\nm\n1\n3,1,1\n\n",
        {"kind": "graph", "file": "rows.csv", "first": "name", "second": "next", "length": "people", "unit": "m"},
    ),
    "line": ("line\nten\n10\nanswer\n1\n\n\n", {"kind": "line", "n": 10, "unit": "answer"}),
}


@pytest.mark.parametrize("kind", FILES)
def test_questions_about_files(folder: Path, kind: str) -> None:
    answers, space = FILES[kind]
    Path("rows.csv").write_text("name,next,lat,lng,people\nParis,Lyon,48.9,2.4,6\nLyon,Lille,45.8,4.8,3\n")
    if kind != "graph":
        Path("rows.csv").write_text(Path("rows.csv").read_text() + "Lille,Paris,50.6,3.1,1\n")
    shown = sfumato("init", "made.toml", "--json", answers=answers)
    assert json.loads(shown.stdout.splitlines()[-1]) == {"file": "made.toml"}
    made = read_spec("made.toml")
    assert {name: getattr(made.space, name) for name in made.space.model_fields_set} == space
    assert sfumato("design", "made.toml", "--json").exit_code == 0


@pytest.fixture
def hearing() -> Iterator[None]:
    """Tests may have been started deaf to Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def third(hearing: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody presses Ctrl-C at the third iteration."""
    plain = Interruption.progress

    def noisy(self: Interruption, *arguments: Any, **options: Any) -> Callable[[Any], None]:
        told = plain(self, *arguments, **options)

        def pressed(state: Any) -> None:
            if state.iteration == 3 and not self.interrupted:
                signal.raise_signal(signal.SIGINT)
            told(state)

        return pressed

    monkeypatch.setattr(Interruption, "progress", noisy)


def test_ctrl_c_ends_a_design_with_a_proof(folder: Path, third: None) -> None:
    shown = sfumato("design", "town.toml", "--json")
    assert shown.exit_code == 0
    assert "interrupted; this is the best mechanism so far" in shown.stderr
    record = json.loads(shown.stdout)
    assert (record["ended"], record["iterations"]) == ("interrupted", 3)
    assert record["gap"] > 1e-4
    assert sf.verify("town.sfm")


def test_ctrl_c_keeps_the_points_of_a_curve(folder: Path, third: None) -> None:
    shown = sfumato("curve", "town.toml", "--epsilons", "1,2,3", "--json")
    assert shown.exit_code == 0
    assert "interrupted after 1 of 3 points; what is shown is proved" in shown.stderr
    (record,) = shown.stdout.splitlines()
    assert json.loads(record)["bound"] < json.loads(record)["loss"]


def test_ctrl_c_ends_a_calibration(folder: Path, third: None) -> None:
    shown = sfumato("calibrate", "town.toml", "--target", "0.3")
    assert shown.exit_code == 130
    assert "stopped before ε was found" in shown.stderr


def test_time_limits(folder: Path, failing: Failing) -> None:
    shown = sfumato("design", "town.toml", "--time-limit", "0.001", "--json")
    assert json.loads(shown.stdout)["ended"] == "time limit"
    assert "the time is up" in shown.stderr
    assert failing("calibrate", "town.toml", "--target", "0.3", "--time-limit", "0.001")[0] == 2
    cut = sfumato("curve", "town.toml", "--epsilons", "1,2", "--time-limit", "0.001")
    assert "the time is up after 1 of 2 points" in cut.stderr


def test_before_the_first_iteration_and_the_second_time_ctrl_c_stops(hearing: None) -> None:
    with until_asked() as ending:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert not ending.interrupted
    with until_asked() as ending:
        told = ending.progress(None)
        told("something")
        signal.raise_signal(signal.SIGINT)
        assert ending.interrupted
        with pytest.raises(KeyboardInterrupt):
            told("something else")
        with pytest.raises(StopAtOnce):  # which no search takes for a wish to return what it has
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("options", "seconds", "screen", "told"),
    [
        ([], 12.4, Terminal(), "Compiling for this machine took 12 s, the first time only.\n"),
        ([], 0.9, Terminal(), ""),  # too little to wonder about
        (["--json"], 12.4, Terminal(), ""),  # for a program
        ([], 12.4, io.StringIO(), ""),  # nobody looks
    ],
)
def test_people_are_told_at_the_end_how_long_compiling_took(
    options: list[str], seconds: float, screen: io.StringIO, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([3.0, 3.0 + seconds])
    monkeypatch.setattr(progress, "compiling_time", lambda: next(times))
    monkeypatch.setattr(sys, "argv", ["sfumato", "capacity", "line:2", *options])
    monkeypatch.setattr(sys, "stderr", screen)
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == 0 and screen.getvalue().replace("loading …\r\x1b[K", "") == told


def test_an_interrupt_in_compiled_code_ends_a_command_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:  # what a compiled call makes of a Ctrl-C
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr(types, "capacities", interrupted)
    assert sfumato("capacity", "line:2").exit_code == 130


def test_the_line_goes_on_while_nothing_new_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.02)
    monkeypatch.setattr(progress, "_EVERY", 0.02)
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress_line() as say:
        say(standing(ColumnProgress(7, 0.5, 0.25, 0.5, 1.0)))
        started = perf_counter()
        while screen.getvalue().count("gap 0.5") < 3 and perf_counter() - started < 10:
            sleep(0.01)
    assert screen.getvalue().count(" s  iteration 7  loss 0.5  bound 0.25  gap 0.5") >= 3
    assert screen.getvalue().endswith("\r\x1b[K")
    with suppress(KeyboardInterrupt), progress_line() as say:
        say("nearly there")
        raise KeyboardInterrupt
    assert screen.getvalue().endswith(" s  nearly there\n")


def test_off_a_terminal_a_line_is_written_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    with progress_line("reading"):  # what is over within seconds leaves no line
        pass
    assert log.getvalue() == ""
    monkeypatch.setattr(progress, "_EVERY_LINE", 0.02)
    with progress_line("reading") as say:
        started = perf_counter()
        while log.getvalue().count("\n") < 2 and perf_counter() - started < 10:
            sleep(0.01)
        say("nearly there")
        sleep(0.1)
    lines = log.getvalue().splitlines()
    assert len(lines) >= 3 and all(re.fullmatch(r"sfumato: \d+\.\d s  (reading|nearly there)", line) for line in lines)
    assert lines[0].endswith("reading") and "\r" not in log.getvalue()


def test_a_state_says_what_is_known_of_it() -> None:
    assert standing(ColumnProgress.beginning("looking for symmetries", 0.0)) == "looking for symmetries"
    assert standing(ColumnProgress(3, 0.5, 0.25, 0.5, 1.0)) == "iteration 3  loss 0.5  bound 0.25  gap 0.5"
    among = ColumnProgress(3, math.inf, 0.25, math.inf, 1.0, "8 of 9 outputs")
    assert standing(among) == "iteration 3  bound 0.25  8 of 9 outputs"


def test_stages_are_nothing_to_keep_yet(hearing: None) -> None:
    with until_asked() as ending:
        told = ending.progress(None)
        told(ColumnProgress.beginning("laying out the problem", 0.0))
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_space_of_far_too_many_points_is_refused_at_once(folder: Path) -> None:
    path = folder / "huge.toml"
    path.write_text('[space]\nkind = "line"\nn = 100000000\n[privacy]\nepsilon = 1\n')
    with pytest.raises(InvalidInput, match=r"\[space\]: a space of 100000000 points is not supported; at most"):
        CliRunner().invoke(app, ["design", str(path)], catch_exceptions=False)


def test_delta_makes_a_design_under_events(folder: Path) -> None:
    (folder / "events.toml").write_text(SURVEY.replace("alpha = 0.5", "alpha = 0.5\ndelta = 0.1"))
    made = sfumato("design", "events.toml")
    assert made.exit_code == 0 and "(ln 2, 1/10)-privacy: every event, for 6 ordered pairs" in made.stdout
    record = json.loads(sfumato("design", "events.toml", "--overwrite", "--json").stdout)
    assert record["promise"] == {"events": "(ln 2, 1/10)-privacy", "pairs": "6"} and record["gap"] == 0
    everyone = SURVEY.replace("alpha = 0.5", 'alpha = 0.5\ndelta = 0.1\nneighbours = "all"')
    (folder / "all.toml").write_text(everyone)
    assert json.loads(sfumato("design", "all.toml", "--json").stdout)["loss"] > record["loss"]
    proved = sfumato("verify", "events.sfm")
    assert proved.exit_code == 0 and "for 6 ordered pairs" in proved.stdout


@pytest.mark.parametrize(
    ("line", "command", "said"),
    [
        ("alpha = 0.5\ndelta = 1.5", "design", "delta lies in [0, 1)"),
        ('alpha = 0.5\nneighbours = "all"', "design", "neighbours go with delta"),
        ("alpha = 0.5\ndelta = 0.1", "curve", "delta with `sfumato curve`"),
        ("alpha = 0.5\ndelta = 0.1", "universal", "without delta"),
    ],
)
def test_delta_is_refused_where_it_has_no_meaning(
    folder: Path, line: str, command: str, said: str, failing: Failing
) -> None:
    (folder / "wrong.toml").write_text(SURVEY.replace("alpha = 0.5", line))
    arguments = {"curve": ["--epsilons", "1,2"]}.get(command, [])
    status, error = failing(command, "wrong.toml", *arguments)
    assert status == 2 and said in error


@pytest.mark.parametrize(
    "command", [("design",), ("curve", "--epsilons", "1"), ("calibrate", "--target", "0.3", "--precision", "0.5")]
)
def test_the_line_stands_before_the_spec_is_read(
    command: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Laying out a large space takes longer than anybody waits without a word."""
    said: list[str] = []

    @contextmanager
    def listening(first: str = "starting") -> Iterator[Callable[[Any], None]]:
        said.append(first)
        yield said.append

    original = designs.as_question
    monkeypatch.setattr(designs, "as_question", lambda spec: said.append("laid out") or original(spec))
    monkeypatch.setattr(designs, "progress_line", listening)
    monkeypatch.setattr(points, "progress_line", listening)
    assert sfumato(command[0], "town.toml", *command[1:]).exit_code == 0
    assert said[:2] == ["reading town.toml", "laid out"]
    assert any("repairing and proving" in words for words in said)
