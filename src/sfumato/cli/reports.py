"""The command ``report``: what a mechanism promises, costs and tells, as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.certify import load
from sfumato.cli.options import AsJson, MechanismFile, Overwrite, PageFile, Title, answer, of_option, page_beside
from sfumato.cli.progress import progress_line
from sfumato.errors import in_one_line
from sfumato.report.page import report as write
from sfumato.specs.families import as_question
from sfumato.specs.spec import read_spec
from sfumato.specs.tables import spelled_labels


def report(
    mechanism: MechanismFile,
    output: PageFile = None,
    spec: Annotated[Path | None, typer.Option(help="A spec, for its prior and its loss.")] = None,
    figures: Annotated[
        Path | None, typer.Option(help="A folder for the figures: SVG, and PNG where the extra `figures` is there.")
    ] = None,
    secret: Annotated[
        str | None, typer.Option(help="Whose outputs are drawn (default: the likeliest); a point is X,Y.")
    ] = None,
    title: Title = "",
    compare: Annotated[bool, typer.Option(help="Known mechanisms beside it.")] = True,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write a page on a mechanism: the promise in plain words, loss and bound, maps, leakage, how to verify it.

    The page is one file that needs no network. The mechanism is proved again on the way.
    """
    target = page_beside(mechanism, output, overwrite)
    with progress_line("proving the mechanism again") as say:
        proved = load(mechanism)
        facts: dict[str, Any] = {}
        if spec is not None:
            question = as_question(read_spec(spec))
            facts = {"prior": question.prior, "loss": question.loss_on_outputs}
        if secret is not None and proved.about == "coordinates":
            facts["secret"] = secret.split(",")
        elif secret is not None:
            (facts["secret"],) = of_option("--secret", spelled_labels, [secret], proved.secrets, "secret")
        done = write(
            proved,
            target,
            compare=compare,
            title=title,
            file=mechanism.name,
            figures=figures,
            overwrite=overwrite,
            progress=say,
            **facts,
        )
    if figures is not None and not any(path.suffix == ".png" for path in done.figures):
        typer.echo("sfumato: SVG only: PNG needs Chrome or Chromium and pip install 'sfumato[figures]'", err=True)
    record = {"file": str(done.page), "sha256": proved.proof.digest, "figures": list(map(str, done.figures))}
    drawn = (
        []
        if figures is None
        else [f"figures  {in_one_line(figures)}: {in_one_line(', '.join(path.name for path in done.figures))}"]
    )
    answer(record, [f"report   {in_one_line(done.page)}", *drawn], as_json)
