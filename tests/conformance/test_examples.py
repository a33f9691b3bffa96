"""Every command shows an example in its help, and the parser takes each: none names an option that does not exist."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from sfumato.cli.commands import COMMANDS
from sfumato.cli.main import app

PATHS = [*([name] for name in COMMANDS), ["ledger", "show"], ["ledger", "limit"]]


def found(words: list[str]) -> tuple[Any, list[str]]:
    """The command that the words begin with, and the words after its name."""
    command: Any = COMMANDS[words[0]].load(words[0])
    below = getattr(command, "commands", {})
    return (below[words[1]], words[2:]) if below and len(words) > 1 else (command, words[1:])


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_the_help_of_a_command_ends_with_an_example_that_the_parser_takes(path: list[str]) -> None:
    command, _ = found(path)
    said, _, line = command.epilog.partition(": sfumato ")
    assert said == "Example"
    named, words = found(shlex.split(line))
    assert named.name == command.name or path == ["ledger"]
    named.make_context(named.name, list(words))
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "150"}).output
    assert f"Example: sfumato {line}" in shown


def test_an_example_with_an_option_that_does_not_exist_would_be_found() -> None:
    command, _ = found(["design"])
    with pytest.raises(typer.BadParameter.__mro__[1]):
        command.make_context("design", ["spec.toml", "--epsilom", "1"])
