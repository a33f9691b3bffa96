"""The command ``sfumato``: parse, call, print. Commands load their modules when they run."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from sfumato.cli.commands import LazyGroup
from sfumato.errors import PrivacyViolation, SfumatoError, TooLarge, in_one_line
from sfumato.version import __version__

app = typer.Typer(
    cls=LazyGroup,
    help="Design, prove and apply mechanisms for metric differential privacy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


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
    """Entry point: one line on stderr and exit 2 for bad input, 3 for a privacy violation."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter shows its number
    try:
        app()
    except PrivacyViolation as error:
        _fail(error, 3)
    except (SfumatoError, OSError) as error:
        _fail(error, 2)
    except MemoryError:
        _fail(TooLarge("this", None, None, ["a smaller question"]), 2)
    except KeyboardInterrupt:
        typer.echo("sfumato: stopped", err=True)
        sys.exit(130)


def _fail(error: Exception, status: int) -> None:
    typer.echo(f"sfumato: {in_one_line(_said(error))}", err=True)
    sys.exit(status)


def _said(error: Exception) -> str:
    """What an error says, without the number that the system has for it."""
    if not isinstance(error, OSError) or isinstance(error, SfumatoError) or not error.strerror:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
