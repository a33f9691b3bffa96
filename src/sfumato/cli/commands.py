"""The list of commands, and the group that loads a command's module when the command runs.

The modules of commands import what they need at their top, compilers and solvers among it; the list of commands with
a line on each is here, so that ``--help`` answers at once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from sfumato.errors import Wording, speaking


@dataclass(frozen=True)
class CommandEntry:
    """Where a command is: ``module`` has a function of its name, or a group; ``summary`` is its first line.

    ``example`` is what somebody may type after ``sfumato``; its help ends with it.
    """

    module: str
    summary: str
    example: str

    def load(self, name: str) -> Any:
        """The command itself, with its options."""
        member = getattr(import_module(f"sfumato.cli.{self.module}"), name.replace("-", "_"))
        if not isinstance(member, typer.Typer):
            member, body = typer.Typer(add_completion=False), member
            member.command(name, cls=Command)(body)
        command = typer.main.get_command(member)
        command.epilog = example(self.example)
        return command


def example(words: str) -> str:
    """What the help of a command ends with."""
    return f"Example: sfumato {words}"


COMMANDS: dict[str, CommandEntry] = {
    "design": CommandEntry(
        "designs",
        "Find the private mechanism of least loss for a spec, prove it, and write it.",
        "design spec.toml -o best.sfm --time-limit 60",
    ),
    "calibrate": CommandEntry(
        "designs",
        "Find the smallest ε that reaches a loss, or (--keep) the largest that keeps an adversary's expected loss.",
        "calibrate spec.toml --target '300 m' -o best.sfm",
    ),
    "curve": CommandEntry(
        "points",
        "Show the least loss for several ε, with a proved band. Ctrl-C ends with the points so far.",
        "curve spec.toml --epsilons 0.5,1,2 -o curve.html",
    ),
    "init": CommandEntry("questions", "Ask a few questions and write a spec.", "init spec.toml --yes"),
    "universal": CommandEntry(
        "universal",
        "Find the mechanism whose regret is least over all priors, and say whether any has none.",
        "universal spec.toml -o best.sfm",
    ),
    "hide": CommandEntry(
        "hiding",
        "Release a file of points: the best mechanism for coordinates, proved, with a report beside it.",
        "hide trips.csv -o hidden.csv --hide '500 m' --box 40.70,-74.02,40.80,-73.90",
    ),
    "release": CommandEntry(
        "releases",
        "Copy a file with the secrets of a column replaced by noise, drawn exactly as was proved.",
        "release town.sfm in.csv out.csv --column home",
    ),
    "release-key": CommandEntry(
        "releases", "Create a key for `sfumato release --key-file`, readable by its owner only.", "release-key rows.key"
    ),
    "estimate": CommandEntry(
        "estimates",
        "Estimate shares from released answers, with standard errors and intervals, and say what the noise costs.",
        "estimate scale.sfm released.csv --column q1 --by region",
    ),
    "plan": CommandEntry(
        "plans",
        "How many respondents an error needs, or which error a number of them leaves, before anybody is asked.",
        "plan scale.sfm --error 0.03",
    ),
    "studio": CommandEntry(
        "studio",
        "Design mechanisms in a browser. The page is served to this machine only, and needs no network.",
        "studio --no-open --port 8000",
    ),
    "audit": CommandEntry(
        "audits",
        "Is a matrix private, at which ε, which pair breaks it, how far is it from the best?",
        "audit matrix.csv --space line:5 --alpha 1/2 --repair out.sfm",
    ),
    "report": CommandEntry(
        "reports",
        "Write a page on a mechanism: the promise in plain words, loss and bound, maps, leakage, how to verify it.",
        "report mechanism.sfm -o report.html",
    ),
    "page": CommandEntry(
        "pages",
        "Write one offline page: a visitor's browser verifies the mechanism and hides the visitor's own choice.",
        "page mechanism.sfm -o page.html",
    ),
    "client": CommandEntry(
        "pages",
        "Write the module that verifies mechanisms and draws from them, for browsers, Node and phones of your own.",
        "client -o sfumato.mjs",
    ),
    "demo": CommandEntry(
        "demo",
        "Hide where people live: among the cities of a country, and around Paris to every metre; two pages to look at.",
        "demo --country IT --cities 100",
    ),
    "verify": CommandEntry(
        "verify", "Prove saved mechanisms again: exit status 0 proved, 3 refuted, 2 unreadable.", "verify a.sfm b.sfm"
    ),
    "kernels": CommandEntry(
        "types",
        "Count the kernel mechanisms of a privacy type, by number of outputs, or estimate how many there are.",
        "kernels line:6 --alpha 1/2",
    ),
    "capacity": CommandEntry(
        "types",
        "The most that any mechanism of a privacy type leaks, as a ratio and as a difference.",
        "capacity hamming:3 --alpha 1/2",
    ),
    "compare": CommandEntry(
        "known",
        "Which of two mechanisms tells more: refinement in both directions, and their capacities.",
        "compare a.sfm b.sfm --time-limit 60",
    ),
    "compare-known": CommandEntry(
        "known",
        "Every known mechanism for a promise: its loss with and without remap, the ε it needs, its leakage.",
        "compare-known grid:4,4 --epsilon 1 --loss distance -o known.html",
    ),
    "known": CommandEntry(
        "known",
        "Write a known mechanism for the space and promise of a spec, proved, or list them (--list).",
        "known planar-laplace spec.toml -o laplace.sfm --remap",
    ),
    "paper": CommandEntry(
        "papers",
        "Recompute a table or figure of a paper and show it beside the printed values.",
        "paper A.fig2 -o fig2.html",
    ),
    "ledger": CommandEntry(
        "ledgers",
        "What was released of which columns, and what may still be.",
        "ledger limit budget.db --epsilon 2 --dataset survey",
    ),
}
"""Every command, in the order of ``--help``."""


class _PlainFlags:
    """Help that shows a flag as a flag: ``--json``, and not ``--json <bool>``."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class Command(_PlainFlags, TyperCommand):
    """A command; while it runs, messages speak of its options and of commands."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command, whose module has loaded what is around it, the compiler among it."""
        around = import_module("sfumato.cli.progress").around_command
        with speaking(shell_wording(self.params)), around(quiet=bool(ctx.params.get("as_json"))):
            return super().invoke(ctx)


class Group(_PlainFlags, TyperGroup):
    """What has commands below it."""


class LazyGroup(Group):
    """The commands of :data:`COMMANDS`; what is listed is a name and a line, what runs is loaded first."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: Command(name=name, help=entry.summary) for name, entry in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first word names, loaded."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is None:
            return name, command, rest
        with _sign_of_life():
            return name, COMMANDS[name].load(name), rest


@contextmanager
def _sign_of_life() -> Iterator[None]:
    """A word on the terminal while modules load, which takes a second or two; it is gone afterwards."""
    if not sys.stderr.isatty():
        yield
        return
    sys.stderr.write("loading …")
    sys.stderr.flush()
    try:
        yield
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


_INSTEAD_OF_FUNCTIONS = {
    "capacities": "`sfumato capacity`",
    "claim": "`sfumato design`",
    "design": "`sfumato design`",
    "earth_box": 'kind = "earth_box" in the spec',
    "frequencies": "`sfumato estimate`",
    "estimate_kernels": "`sfumato kernels --estimate`",
    "repair": "`sfumato audit --repair`",
    "set_limit": "`sfumato ledger limit`",
}
"""Commands that do what functions of the front door do."""


def shell_wording(params: list[Any]) -> Wording:
    """How messages are worded while a command with these parameters runs; what is no option is a key of the spec.

    Examples
    --------
    >>> shell_wording([]).keyword("solver", "exact"), shell_wording([]).function("set_limit")
    ('solver = "exact"', '`sfumato ledger limit`')
    """
    options = {param.name: (param.opts[0], getattr(param, "is_flag", False)) for param in params}

    def keyword(name: str, value: Any) -> str:
        if name not in options:
            return name if value is None else f"{name} = {json.dumps(value, ensure_ascii=False)}"
        option, flag = options[name]
        return option if flag or value is None else f"{option} {value}"

    def named(names: Sequence[str]) -> str:
        spelled = [options[name][0] if name in options else _INSTEAD_OF_FUNCTIONS.get(name, "") for name in names]
        return " and ".join(filter(None, [", ".join(spelled[:-1]), spelled[-1]])) if all(spelled) else ""

    return Wording(keyword, lambda name: _INSTEAD_OF_FUNCTIONS.get(name, ""), named)
