"""Estimates as tables for people: a line a share, with as many digits as the errors leave."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log10
from typing import TYPE_CHECKING

import numpy as np

from sfumato.labels import text_of
from sfumato.numbers import Floats, Number, floats
from sfumato.release.estimation.intervals import level_of

if TYPE_CHECKING:
    from sfumato.release.estimation.estimates import EstimatedShares

_LONGEST_LABEL = 40  # letters of an answer in a table
_FEWEST, _MOST = 3, 7  # digits after the point


def share_lines(
    found: EstimatedShares, level: Number = "0.95", *, simultaneous: bool = False, most: int | None = None
) -> list[str]:
    """A heading and a line for each share: answers, share, and where there are two rows or more its error and interval.

    Numbers have as many digits as their errors leave: two digits of the smallest one that is not 0.
    """
    titles = [short_label(title) for title in found.titles]
    labels = [[short_label(text_of(label)) for label in cell] for cell in found.cells[:most]]
    shares = (floats(found.weights).ravel()[:most] + 0.0).tolist()
    if found.total < 2:
        plain = [[*cell, f"{share:.3f}"] for cell, share in zip(labels, shares, strict=True)]
        return aligned([[*titles, "share"], *plain], texts=len(titles))
    ends = found.intervals(level, simultaneous=simultaneous).reshape(-1, 2)[:most].tolist()
    errors, digits = found.standard_errors.ravel()[:most].tolist(), _digits_for(found.standard_errors)
    rows = [
        [*cell, f"{share:.{digits}f}", f"{error:.{digits}f}", f"{low:.{digits}f} – {high:.{digits}f}"]
        for cell, share, error, (low, high) in zip(labels, shares, errors, ends, strict=True)
    ]
    interval = f"about {percent(level)} for all together" if simultaneous else f"{percent(level)} interval"
    shown = aligned([[*titles, "share", "error", interval], *rows], texts=len(titles))
    left = found.weights.size - len(rows)
    return [*shown, f"… and {left} more"] if left else shown


def remarks(found: EstimatedShares, level: Number = "0.95", *, simultaneous: bool = False) -> list[str]:
    """What people must hear about a table of shares: that rows fit badly, and why intervals are cut."""
    lines = [f"note     {found.fit}"] if found.fit.doubtful else []
    shares = floats(found.weights).ravel()
    outside = (shares < 0) | (shares > 1)
    if found.total < 2 or not outside.any():
        return lines
    lines.append("note     true shares lie between 0 and 1: intervals are cut there, estimates without bias are not")
    low, high = found.intervals(level, simultaneous=simultaneous).reshape(-1, 2).T
    empty = np.flatnonzero(outside & (low == high))
    if empty.size:
        label = " · ".join(short_label(text_of(part)) for part in found.cells[int(empty[0])])
        more = f", nor of {len(empty) - 1} more" if len(empty) > 1 else ""
        lines.append(
            f"note     nothing between 0 and 1 is left of the interval of {label}{more}: its ends are the border"
        )
    return lines


def percent(level: Number) -> str:
    """A level as people write it.

    Examples
    --------
    >>> percent("0.95"), percent("0.999"), percent("2/3")
    ('95 %', '99.9 %', '66.67 %')
    """
    return f"{100 * level_of(level):.4g} %"


def _digits_for(errors: Floats) -> int:
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
