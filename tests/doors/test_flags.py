from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from sfumato.cli.main import app

COMMANDS = [
    [], *([name] for name in typer.main.get_command(app).commands), ["ledger", "show"], ["ledger", "limit"],  # type: ignore[attr-defined]
]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_flags_are_shown_without_a_value(words: list[str]) -> None:
    shown = CliRunner().invoke(app, [*words, "--help"])
    assert shown.exit_code == 0
    assert "--help" in shown.output and "Show this" in shown.output
    assert "<bool>" not in shown.output and "BOOLEAN" not in shown.output


def test_options_with_a_value_still_say_which_and_flags_that_can_be_denied_say_so() -> None:
    shown = CliRunner().invoke(app, ["report", "--help"], env={"COLUMNS": "120"}).output
    assert "<path>" in shown
    assert "--compare" in shown and "--no-compare" in shown
