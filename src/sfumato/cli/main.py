"""The command ``sfumato``.

Heavy rooms are imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.errors import InvalidFile, PrivacyViolation, SfumatoError
from sfumato.version import __version__

__all__ = ["app", "run"]

app = typer.Typer(
    help="Design, prove and apply mechanisms for metric differential privacy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object a line instead of text.")]


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Design, prove and apply mechanisms for metric differential privacy."""


@app.command()
def verify(
    files: Annotated[list[Path], typer.Argument(help="Mechanism files (.sfm).")],
    checker: Annotated[str, typer.Option(help="auto, kernel or twin.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Prove saved mechanisms again: exit status 0 proved, 3 refuted, 2 unreadable."""
    worst = 0
    for file in files:
        try:
            record = _verified(file, checker)
        except InvalidFile as error:
            if not as_json:
                typer.echo(f"sfumato: {error}", err=True)
                worst = max(worst, 2)
                continue
            record = {"file": str(file), "outcome": "unreadable", "reason": str(error)}
        worst = max(worst, {"holds": 0, "unreadable": 2}.get(record["outcome"], 3))
        text = record.pop("text", "")
        typer.echo(json.dumps(record, ensure_ascii=False) if as_json else f"{file}: {text}")
    raise typer.Exit(worst)


def _verified(file: Path, checker: str) -> dict[str, Any]:
    """What the checker says of a file, as a record with a text for people."""
    from sfumato.certify import kernel
    from sfumato.certify.verify import verify_file

    verdict, header, digest = verify_file(file, checker=checker)  # type: ignore[arg-type]
    promise = {name: str(value) for name, value in header["promise"].items() if value is not None and name != "step"}
    record: dict[str, Any] = {
        "file": str(file), "outcome": str(verdict.outcome), "promise": promise, "unit": header["space"]["unit"],
        "secrets": len(header["secrets"]), "outputs": len(header["outputs"]), "sha256": digest,
    }  # fmt: skip
    if not verdict:
        found = verdict.witness
        if found is not None:
            record |= {"pair": [str(s) for s in found.pair], "output": str(found.output), "bound": found.bound}
            record["ratio"] = str(found.ratio)
        return record | {"reason": verdict.reason, "text": f"REFUTED: {verdict.reason}"}
    proof = verdict.witness
    proved = {"secrets": record["secrets"], "outputs": record["outputs"], "total": header["total"],
              "pairs": proof.pairs, "implied": proof.implied}  # fmt: skip
    for claim in ("loss", "bound"):
        value = getattr(proof, claim)
        if value is not None:
            proved[claim] = value
            record[claim] = float(value)
    record |= {"checker": proof.checker, "pairs": proof.pairs, "implied": proof.implied}
    return record | {"text": "\n".join([*kernel.report(header, proved, digest), f"  by the {proof.checker}"])}


@app.command()
def demo(
    directory: Annotated[Path, typer.Option(help="Where to write the mechanism file.")] = Path("out"),
    as_json: AsJson = False,
) -> None:
    """Build a mechanism on a small city grid, prove it, measure its leakage, save and verify it."""
    from sfumato.cli.demo import city

    for line in city(directory, as_json):
        typer.echo(line)


def run() -> None:
    """Entry point: one line on stderr and exit 2 for bad input, 3 for a privacy violation."""
    try:
        app()
    except PrivacyViolation as error:
        _fail(error, 3)
    except (SfumatoError, OSError) as error:
        _fail(error, 2)


def _fail(error: Exception, status: int) -> None:
    typer.echo(f"sfumato: {error}", err=True)
    sys.exit(status)


if __name__ == "__main__":
    run()
