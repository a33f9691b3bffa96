"""The command ``report``: what a mechanism promises, costs and tells, as one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.certify import load
from sfumato.cli.options import AsJson, writable
from sfumato.cli.progress import line
from sfumato.errors import InvalidInput
from sfumato.labels import text_of
from sfumato.report.page import report as write
from sfumato.specs.complaints import nearest
from sfumato.specs.setup import setup
from sfumato.specs.spec import read_spec


def report(
    mechanism: Annotated[Path, typer.Argument(metavar="MECHANISM", help="A mechanism file (.sfm).")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The page (default: named like MECHANISM, .html, here).")
    ] = None,
    spec: Annotated[Path | None, typer.Option(help="A spec, for its prior and its loss.")] = None,
    figures: Annotated[
        Path | None, typer.Option(help="A folder for the figures: SVG, and PNG where the extra `figures` is there.")
    ] = None,
    secret: Annotated[str | None, typer.Option(help="Whose outputs are drawn (default: the likeliest).")] = None,
    title: Annotated[str, typer.Option(help="The heading of the page.")] = "",
    compare: Annotated[bool, typer.Option(help="Known mechanisms beside it.")] = True,
    as_json: AsJson = False,
) -> None:
    """Write a page on a mechanism: the promise in plain words, loss and bound, maps, leakage, how to verify it.

    The page is one file that needs no network. The mechanism is proved again on the way.
    """
    target = writable(output or Path(f"{mechanism.stem}.html"))
    for given in (mechanism, spec):
        if given is not None and target.exists() and given.exists() and target.samefile(given):
            raise InvalidInput(f"{target} is {given} itself: name another file")
    with line() as say:
        if say is not None:
            say("proving the mechanism again")
        proved = load(mechanism)
        facts: dict[str, Any] = {}
        if spec is not None:
            question = setup(read_spec(spec))
            facts = {"prior": question.prior, "loss": question.loss_on_outputs}
        if secret is not None:
            facts["secret"] = _label(secret, proved.secrets)
        done = write(
            proved, target, compare=compare, title=title, file=mechanism.name, figures=figures, progress=say, **facts
        )
    if figures is not None and not any(path.suffix == ".png" for path in done.figures):
        typer.echo("sfumato: SVG only: PNG needs Chrome or Chromium and pip install 'sfumato[figures]'", err=True)
    if as_json:
        record = {"file": str(done.page), "sha256": proved.proof.digest, "figures": list(map(str, done.figures))}
        typer.echo(json.dumps(record))
        return
    typer.echo(f"report   {done.page}")
    if figures is not None:
        typer.echo(f"figures  {figures}: {', '.join(path.name for path in done.figures)}")


def _label(text: str, secrets: tuple[Any, ...]) -> Any:
    """The secret that a text spells."""
    spelled = {text_of(label): label for label in secrets}
    if text not in spelled:
        raise InvalidInput(f"--secret: {text!r} is no secret{nearest(text, spelled) if len(spelled) < 40 else ''}")
    return spelled[text]
