from __future__ import annotations

import io
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from effort import tried
from sfumato.cli.commands import COMMANDS, CommandEntry
from sfumato.cli.main import app
from shell import sfumato
from wrong_files import MATRIX, TABLE, prepared, wrong_command

LINES = [[], *([name] for name in COMMANDS), ["ledger", "show"], ["ledger", "limit"]]


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_flags_are_shown_without_a_value(words: list[str]) -> None:
    shown = CliRunner().invoke(app, [*words, "--help"])
    assert shown.exit_code == 0
    assert "--help" in shown.output and "Show this" in shown.output
    assert "<bool>" not in shown.output and "BOOLEAN" not in shown.output


def test_options_with_a_value_still_say_which_and_flags_that_can_be_denied_say_so() -> None:
    shown = CliRunner().invoke(app, ["report", "--help"], env={"COLUMNS": "120"}).output
    assert "<path>" in shown
    assert "--compare" in shown and "--no-compare" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says_of_itself(name: str) -> None:
    """The list is written without loading the command: both must begin with the same sentence."""
    command = COMMANDS[name].load(name)
    assert command.help.partition("\n\n")[0].replace("\n", " ") == COMMANDS[name].summary
    assert name in ("ledger", command.name)


WRONG_FILES = tried(150)


def test_whatever_files_and_options_hold_a_command_answers_or_refuses_in_a_sentence(tmp_path: Path) -> None:
    prepared(tmp_path)
    found: Counter[tuple[str, int]] = Counter()
    for seed in range(WRONG_FILES):
        typed = wrong_command(seed, tmp_path)
        done = sfumato(*typed)
        assert done.returncode in (0, 2, 3), f"command {seed}: {typed}, {done.stderr}"
        assert done.returncode != 2 or (done.stderr and "Traceback" not in done.stderr), f"command {seed}: {typed}"
        found[typed[0], done.returncode] += 1
    assert {command for command, _ in found} == {"audit", "design", "estimate", "release"}
    assert {status for command, status in found if command == "estimate"} == {0, 2}


def test_a_level_that_is_a_fraction_and_a_ratio_that_no_float_holds_are_told(tmp_path: Path) -> None:
    """Found among wrong files."""
    prepared(tmp_path)
    (tmp_path / "table.csv").write_text(TABLE)
    shown = sfumato("estimate", f"{tmp_path}/scale.sfm", f"{tmp_path}/table.csv", "--column", "q1", "--level", "2/3")
    assert shown.returncode == 0 and "66.67 % interval" in shown.stdout
    (tmp_path / "matrix.csv").write_text(MATRIX.replace("0.25", "1e-320"))
    shown = sfumato("audit", f"{tmp_path}/matrix.csv", "--alpha", "1/2", "--tolerance", "0.5")
    assert "is 3.75e+319 times as likely for the first" in shown.stdout


def test_a_misspelt_command_gets_a_hint() -> None:
    done = CliRunner().invoke(app, ["desgn"])
    assert done.exit_code == 2 and "design" in done.stderr


def test_a_terminal_gets_a_sign_of_life_before_modules_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown, seen = Terminal(), []
    group: Any = typer.main.get_command(app)
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(CommandEntry, "load", lambda self, name: seen.append(shown.getvalue()))
    context = group.make_context("sfumato", ["verify"], resilient_parsing=True)
    group.resolve_command(context, ["verify"])
    assert seen == ["loading …"] and shown.getvalue().endswith("\r\x1b[K")
