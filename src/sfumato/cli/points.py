"""The privacy-utility curve, point by point: what has been found can be kept whenever it ends."""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

from sfumato.cli.progress import line, until_asked
from sfumato.design import Curve, curve
from sfumato.errors import MissingExtra, NotSupported
from sfumato.files import write_whole
from sfumato.specs.setup import Setup
from sfumato.watch import Watch

__all__ = ["check_ending", "listed", "points_of", "write_points"]

_PICTURES = (".svg", ".png", ".pdf")  # which a browser draws


def points_of(asked: Setup, epsilons: list[Fraction]) -> tuple[Curve, str]:
    """The designs at each ε, and a note where the work ended before the last."""
    found: list[Curve] = []
    watch = Watch(asked.time_limit)
    with until_asked() as ending, line() as say:
        for number, epsilon in enumerate(epsilons, 1):
            if ending.interrupted or (found and watch.over):
                break
            before = f"ε {number} of {len(epsilons)}  "
            found.append(
                curve(
                    asked.prior, asked.loss_on_outputs, asked.space, [epsilon], tolerance=asked.tolerance,
                    time_limit=watch.share(1 / (len(epsilons) + 1 - number)), progress=ending.progress(say, before),
                )
            )  # fmt: skip
    whole = Curve(*(tuple(x for part in found for x in getattr(part, name)) for name in ("epsilons", "designs")))
    why = "interrupted" if ending.interrupted else "the time is up"
    short = len(found) < len(epsilons) or any(made.stopped for made in whole.designs)
    note = f"{why} after {len(found)} of {len(epsilons)} points; what is shown is proved" if short else ""
    return whole, note


def listed(found: Curve, unit: str) -> list[str]:
    """The points as a table for people."""
    first = f"epsilon{f' per {unit}' if unit else ''}"
    lines = [f"{first}  {'loss':>10}  {'bound':>10}  {'gap':>8}"]
    for epsilon, made in zip(found.epsilons, found.designs, strict=True):
        shown = f"{float(epsilon):>{len(first)}.6g}  {float(made.loss):>10.6g}  {float(made.bound):>10.6g}"
        lines.append(f"{shown}  {made.gap:>8.1e}")
    return lines


def check_ending(path: Path) -> Path:
    """A file that can be written: asked before the work, not after it."""
    from sfumato.report.figure import FORMATS

    ending = path.suffix.lower()
    if ending != ".csv" and ending not in FORMATS:
        raise NotSupported(f"a curve in the file {path.name!r}", [".csv", *FORMATS])
    if ending in _PICTURES and find_spec("kaleido") is None:
        raise MissingExtra("figures", "kaleido")
    return path


def write_points(found: Curve, path: Path) -> None:
    """A table (.csv) or a figure."""
    if path.suffix.lower() != ".csv":
        from sfumato.report.curve import curve_figure
        from sfumato.report.figure import write

        write(curve_figure(found), path)
        return
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["epsilon", "loss", "bound", "gap", "method", "seconds"])
    for epsilon, made in zip(found.epsilons, found.designs, strict=True):
        numbers = [repr(float(value)) for value in (epsilon, made.loss, made.bound, made.gap)]
        table.writerow([*numbers, made.method, f"{made.seconds['total']:.4f}"])
    write_whole(path, lambda: text.getvalue().encode())
