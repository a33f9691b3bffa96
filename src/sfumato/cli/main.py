"""The command ``sfumato``: parse, call, print. Commands load their modules when they run."""

from __future__ import annotations

import io
import json
import sys
from typing import Annotated, Any

import typer

from sfumato.cli.commands import LazyGroup
from sfumato.errors import BudgetExceeded, PrivacyViolation, SfumatoError, TooLarge, in_one_line
from sfumato.version import __version__

app = typer.Typer(
    cls=LazyGroup,
    help="Design, prove and apply mechanisms for metric differential privacy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

_Usage: Any = typer.BadParameter.__mro__[2]  # a mistake in the command line itself, whose class has no public name


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Design, prove and apply mechanisms for metric differential privacy."""


def run() -> None:
    """Entry point: one line on stderr, with --json one JSON object; exit 2 for bad input, 3 for what is not kept."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter shows its number
    as_json = "--json" in sys.argv  # mistakes in the command line itself are found before any option is read
    try:
        sys.exit(app(standalone_mode=not as_json) or 0)
    except _Usage as error:
        _fail(error, error.exit_code, as_json)
    except (PrivacyViolation, BudgetExceeded) as error:
        _fail(error, 3, as_json)
    except (SfumatoError, OSError) as error:
        _fail(error, 2, as_json)
    except MemoryError:
        _fail(TooLarge("this", None, None, ["a smaller question"]), 2, as_json)
    except KeyboardInterrupt:
        typer.echo("sfumato: stopped", err=True)
        sys.exit(130)


def _fail(error: Exception, status: int, as_json: bool) -> None:
    """What is wrong, for people or for a program; the answer's stream has nothing of it."""
    said = _said(error)
    record = {"error": type(error).__name__, "message": said, "status": status}
    typer.echo(json.dumps(record) if as_json else f"sfumato: {in_one_line(said)}", err=True)
    sys.exit(status)


def _said(error: Exception) -> str:
    """What an error says, without the number that the system has for it."""
    if isinstance(error, _Usage):
        return str(error.format_message())
    if not isinstance(error, OSError) or isinstance(error, SfumatoError) or not error.strerror:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
