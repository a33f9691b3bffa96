"""Estimates as tables for people: a line a share, with as many digits as the errors leave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, log10
from typing import TYPE_CHECKING

import numpy as np

from sfumato.labels import text_of
from sfumato.numbers import Floats, Number, floats

if TYPE_CHECKING:
    from sfumato.release.estimation import Frequencies
    from sfumato.release.estimation_cross import CrossTable

_LONGEST_LABEL = 40  # letters of an answer in a table
_FEWEST, _MOST = 3, 7  # digits after the point


def share_lines(
    found: Frequencies, level: Number = "0.95", *, simultaneous: bool = False, most: int | None = None
) -> list[str]:
    """A heading and a line for each share: answer, share, standard error, interval."""
    labels = list(map(text_of, found.secrets))
    if found.total < 2:
        plain = [(label, f"{float(share):.3f}") for label, share in zip(labels, found.weights, strict=True)]
        return aligned([("answer", "share"), *plain[:most]])
    cells = share_cells(
        labels, floats(found.weights), found.standard_errors, found.intervals(level, simultaneous=simultaneous)
    )
    shown = aligned([("answer", "share", "error", interval_heading(level, simultaneous)), *cells[:most]])
    return [*shown, f"… and {len(cells) - most} more"] if most is not None and len(cells) > most else shown


def interval_heading(level: Number, simultaneous: bool) -> str:
    """What an interval is called over its column."""
    return f"{percent(level)} interval{', all together' if simultaneous else ''}"


def percent(level: Number) -> str:
    """A level as people write it.

    Examples
    --------
    >>> percent("0.95"), percent("0.999")
    ('95 %', '99.9 %')
    """
    return f"{100 * float(level):.4g} %"


def share_cells(labels: Iterable[str], shares: Floats, errors: Floats, ends: Floats) -> list[tuple[str, ...]]:
    """Numbers with as many digits as their errors leave: two digits of the smallest one that is not 0."""
    digits = digits_for(errors)
    return [
        (short_label(label), f"{share:.{digits}f}", f"{error:.{digits}f}", f"{low:.{digits}f} – {high:.{digits}f}")
        for label, share, error, (low, high) in zip(
            labels, (shares + 0.0).tolist(), errors.tolist(), ends.tolist(), strict=True
        )
    ]


def digits_for(errors: Floats) -> int:
    """How many digits after the point are worth writing."""
    there = errors[errors > 0]
    return min(max(_FEWEST, 1 + ceil(-log10(float(np.min(there))))), _MOST) if there.size else _FEWEST


def short_label(label: str) -> str:
    """An answer as it fits into a column."""
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"


def aligned(rows: Sequence[Sequence[str]], texts: int = 1) -> list[str]:
    """Cells in columns: ``texts`` and intervals to the left, a share and its error to the right under their heading.

    Examples
    --------
    >>> aligned([("answer", "share"), ("no", "-0.1")])
    ['answer  share', 'no       -0.1']
    """
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.rjust(width) if texts <= k < texts + 2 else cell.ljust(width)
                 for k, (cell, width) in enumerate(zip(row, widths, strict=True))]  # fmt: skip
        lines.append("  ".join(cells).rstrip())
    return lines


def cross_lines(
    found: CrossTable, level: Number = "0.95", *, simultaneous: bool = False, most: int | None = None
) -> list[str]:
    """A heading and a line for each combination of answers."""
    labels = [[short_label(text_of(label)) for label in cell] for cell in found.cells[:most]]
    titles = [*map(short_label, found.titles)]
    shares = found.weights.ravel()[:most]
    if found.total < 2:
        rows = [[*cell, f"{share:.3f}"] for cell, share in zip(labels, shares.tolist(), strict=True)]
        return aligned([[*titles, "share"], *rows], texts=len(titles))
    ends = found.intervals(level, simultaneous=simultaneous).reshape(-1, 2)[:most]
    numbers = share_cells([""] * len(labels), shares, found.standard_errors.ravel()[:most], ends)
    rows = [[*cell, *line[1:]] for cell, line in zip(labels, numbers, strict=True)]
    heading = [*titles, "share", "error", interval_heading(level, simultaneous)]
    shown = aligned([heading, *rows], texts=len(titles))
    left = found.weights.size - len(labels)
    return [*shown, f"… and {left} more"] if left else shown
