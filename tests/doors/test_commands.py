from __future__ import annotations

import io
import sys
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from sfumato.cli.commands import COMMANDS, CommandEntry
from sfumato.cli.main import app

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
