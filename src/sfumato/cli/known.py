"""The commands that set mechanisms beside each other: ``compare`` two files, ``compare-known`` for a promise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.certify import load
from sfumato.cli.options import (
    Alpha,
    AsJson,
    Epsilon,
    FigureFile,
    Space,
    answer,
    loss_from_text,
    prior_from_text,
    privacy_from_texts,
    promise_record,
)
from sfumato.cli.progress import line
from sfumato.design.comparison import OPTIMAL
from sfumato.design.comparison import compare_known as known_mechanisms
from sfumato.losses import default
from sfumato.measures import capacity
from sfumato.orders import refines
from sfumato.report.comparison import comparison_figure
from sfumato.report.figure import write


def compare(
    first: Annotated[Path, typer.Argument(help="A mechanism file.")],
    second: Annotated[Path, typer.Argument(help="Another on the same secrets.")],
    as_json: AsJson = False,
) -> None:
    """Which of two mechanisms tells more: refinement in both directions, and their capacities."""
    a, b = (load(path).channel for path in (first, second))
    verdicts = {"second refines first": refines(b, a), "first refines second": refines(a, b)}
    record: dict[str, Any] = {name: str(verdict.outcome) for name, verdict in verdicts.items()}
    lines = [f"{name}: {verdict}" for name, verdict in verdicts.items()]
    for name, channel in (("first", a), ("second", b)):
        most = capacity(channel)
        sizes = f"{float(most.multiplicative):.6g} multiplicative, {float(most.additive):.6g} additive"
        lines.append(f"{name} capacity: {sizes}")
        record[f"{name} capacity"] = {"multiplicative": str(most.multiplicative), "additive": str(most.additive)}
    answer(record, lines, as_json)


def compare_known(
    space: Space,
    alpha: Alpha = None,
    epsilon: Epsilon = None,
    loss: Annotated[
        str | None,
        typer.Option(help="absolute (default for queries), bin, distance (default), nib, squared or threshold:RADIUS."),
    ] = None,
    prior: Annotated[str, typer.Option(help="uniform, or counts such as 3,0,1, one for each secret.")] = "uniform",
    figure: FigureFile = None,
    optimal: Annotated[
        bool | None,
        typer.Option("--optimum/--no-optimum", help="The best mechanism too (default: on at most 100 secrets)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Every known mechanism for a promise: its loss with and without remap, the ε it needs, its leakage.

    The best one for the loss and the prior is beside them, with the bound that no mechanism goes below.
    """
    privacy = privacy_from_texts(space, epsilon, alpha)
    home = privacy.space
    chosen = default(home) if loss is None else loss_from_text(loss, home)
    with line() as say:
        comparison = known_mechanisms(prior_from_text(prior, home), chosen, privacy, optimal=optimal, progress=say)
    if figure is not None:
        write(comparison_figure(comparison), figure)
    if as_json:
        for record in comparison.records():
            answer({"space": space, **promise_record(privacy), **record}, (), as_json)
        if OPTIMAL in comparison.left_out:
            typer.echo(f"sfumato: no row optimal: {comparison.left_out[OPTIMAL]}", err=True)
        return
    typer.echo(str(comparison))
    names = [name for name in comparison.left_out if name != OPTIMAL]
    if names:
        typer.echo(f"not for this promise: {', '.join(names)}")
    if figure is not None:
        typer.echo(f"Drawn: {figure}")
