"""The command ``curve``: the privacy-utility curve, point by point; the points so far can be kept whenever it ends."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.designs import TimeLimit, Tolerance, design_record, read_question, with_curve
from sfumato.cli.options import AsJson, Overwrite, SpecFile, answer_each, rate_from_text, table_kind, write_csv
from sfumato.cli.progress import progress_line, until_asked
from sfumato.design import Curve
from sfumato.design import curve as least_losses
from sfumato.errors import in_one_line
from sfumato.files import DRAWN, place_for
from sfumato.numbers import text_above, text_below
from sfumato.report.curve import curve_figure
from sfumato.report.figure import drawable, write_figure
from sfumato.specs.question import Question
from sfumato.specs.words import stake
from sfumato.watch import Watch


def curve(
    spec: SpecFile,
    epsilons: Annotated[str, typer.Option(help="Values of ε, such as 0.5,1,ln(8).")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A table (.csv) or a figure (.html, .json, .svg, .png, .pdf).")
    ] = None,
    time_limit: TimeLimit = None,
    tolerance: Tolerance = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Show the least loss for several ε, with a proved band. Ctrl-C ends with the points so far."""
    values = sorted({rate_from_text(text, "--epsilons") for text in epsilons.split(",")})
    place = None if output is None else drawable(output, "a curve", [".csv"])
    if place is not None:
        place_for(place, table_kind(_HEADS) if place.suffix.lower() == ".csv" else DRAWN, overwrite=overwrite)
    with progress_line(f"reading {spec}"):
        question = with_curve(read_question(spec, tolerance=tolerance, time_limit=time_limit), spec, "curve")
    points, note = _points_of(question, values)
    if note:
        typer.echo(f"sfumato: {note}", err=True)
    if place is not None:
        _write_points(points, place, overwrite)
    each = zip(points.epsilons, points.designs, strict=True)
    records = ({"epsilon": float(value), **design_record(best, question)} for value, best in each)
    wrote = [] if place is None else [f"Wrote {in_one_line(place)}"]
    answer_each(
        records, [*_listed(points, question.space.unit), f"{question.family.lost}: {stake(question)}", *wrote], as_json
    )


def _points_of(question: Question, epsilons: list[Fraction]) -> tuple[Curve, str]:
    """The designs at each ε, and a note where the work ended before the last."""
    parts: list[Curve] = []
    watch = Watch(question.time_limit)
    with until_asked() as ending, progress_line() as say:
        for number, epsilon in enumerate(epsilons, 1):
            if ending.interrupted or (parts and watch.over):
                break
            before = f"ε {number} of {len(epsilons)}  "
            parts.append(
                least_losses(
                    question.prior, question.searched_loss, question.space, [epsilon], tolerance=question.tolerance,
                    objective=question.objective,
                    time_limit=watch.share(1 / (len(epsilons) + 1 - number)), progress=ending.progress(say, before),
                )
            )  # fmt: skip
    whole = Curve(*(tuple(x for part in parts for x in getattr(part, name)) for name in ("epsilons", "designs")))
    why = "interrupted" if ending.interrupted else "the time is up"
    short = len(parts) < len(epsilons) or any(best.stopped for best in whole.designs)
    note = f"{why} after {len(parts)} of {len(epsilons)} points; what is shown is proved" if short else ""
    return whole, note


def _listed(points: Curve, unit: str) -> list[str]:
    """The points as a table for people."""
    first = f"epsilon{f' per {unit}' if unit else ''}"
    lines = [f"{first}  {'loss':>10}  {'bound':>10}  {'gap':>8}"]
    for epsilon, best in zip(points.epsilons, points.designs, strict=True):
        shown = f"{float(epsilon):>{len(first)}.6g}  {text_above(best.loss, 6):>10}  {text_below(best.bound, 6):>10}"
        lines.append(f"{shown}  {text_above(best.gap):>8}")
    return lines


_HEADS = ("epsilon", "loss", "bound", "gap", "method", "seconds")


def _write_points(points: Curve, path: Path, overwrite: bool) -> None:
    """A table (.csv) or a figure."""
    if path.suffix.lower() != ".csv":
        write_figure(curve_figure(points), path, overwrite=overwrite)
        return
    rows = [
        [*(repr(float(value)) for value in (epsilon, best.loss, best.bound, best.gap)), best.method,
         f"{best.seconds['total']:.4f}"]
        for epsilon, best in zip(points.epsilons, points.designs, strict=True)
    ]  # fmt: skip
    write_csv(path, _HEADS, rows, overwrite=overwrite)
