"""The command ``sfumato``.

Heavy rooms are imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.errors import PrivacyViolation, SfumatoError
from sfumato.version import __version__

__all__ = ["app", "run"]

app = typer.Typer(
    help="Design, prove and apply mechanisms for metric differential privacy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="A mechanism file (.sfm).")],
    checker: Annotated[str, typer.Option(help="auto, kernel or twin.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Prove a saved mechanism again: exit status 0 proved, 3 refuted, 2 unreadable."""
    from sfumato import certify

    verdict = certify.verify(file, checker=checker)  # type: ignore[arg-type]
    _print(
        {"file": str(file), "outcome": str(verdict.outcome), "reason": verdict.reason},
        f"{file}: {verdict}",
        as_json,
    )
    if not verdict:
        raise typer.Exit(3)


@app.command()
def demo(
    directory: Annotated[Path, typer.Option(help="Where to write the mechanism file.")] = Path("out"),
    as_json: AsJson = False,
) -> None:
    """Build a mechanism on a small city grid, prove it, measure its leakage, save and verify it."""
    from sfumato.cli.demo import city

    for line in city(directory, as_json):
        typer.echo(line)


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(__version__)


def run() -> None:
    """Entry point: one line on stderr and exit 2 for bad input, 3 for a privacy violation."""
    try:
        app()
    except PrivacyViolation as error:
        _fail(error, 3)
    except (SfumatoError, OSError) as error:
        _fail(error, 2)


def _print(record: dict[str, Any], text: str, as_json: bool) -> None:
    typer.echo(json.dumps(record, ensure_ascii=False) if as_json else text)


def _fail(error: Exception, status: int) -> None:
    typer.echo(f"sfumato: {error}", err=True)
    sys.exit(status)


if __name__ == "__main__":
    run()
