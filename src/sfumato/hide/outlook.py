"""What a release would meet, before there is one: how many rows have no place, or lie outside, and how far.

This is about the true points and for whoever has them: nothing of it is written, and nothing is paid for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.certify.protocol import Domain
from sfumato.hide.sources import Source
from sfumato.numbers import text_above
from sfumato.release.families import release_family
from sfumato.release.places import Geometry, Position
from sfumato.release.rows import TypedValues, Values


@dataclass(frozen=True)
class Outlook:
    """Rows that a release would meet; none of it is private.

    ``missing`` rows have no place, ``unread`` ones something that is none, ``outside`` ones lie outside, the farthest
    of them being row ``farthest_row``, ``farthest`` away. ``refused`` says why a release would be refused, if so.
    """

    rows: int = 0
    missing: int = 0
    unread: int = 0
    outside: int = 0
    farthest: float = 0.0
    farthest_row: int | None = None
    unit: str = ""
    refused: str = ""

    @property
    def words(self) -> str:
        """The counts in a sentence."""
        far = ""
        if self.farthest_row is not None:
            away = f"{text_above(self.farthest, 4)} {self.unit}".rstrip() + " away"
            where = away if isfinite(self.farthest) else "beyond all places of the map"
            far = f", the farthest being row {self.farthest_row}, {where}"
        return (
            f"of {self.rows:,} rows {self.missing:,} have no place, {self.unread:,} something that is none, and "
            f"{self.outside:,} lie outside{far}"
        )


def outlook_of(source: Source, column: Position, space: Any = None) -> Outlook:
    """The counts for a space; without one nothing lies outside."""
    found = Outlook(unit="" if space is None else space.unit)
    domain = None if space is None else Domain.of(space)
    shapes = isinstance(column, Geometry)  # what holds no point is missing, whatever it holds
    for first, second, cells in source.batches(column, [] if shapes else column.columns):
        known = np.isfinite(first) & np.isfinite(second)
        gone = ~known if shapes else ~known & np.logical_or.reduce([_missing(values) for values in cells])
        gaps = np.zeros(len(known))
        if domain is not None:
            gaps[known] = release_family(domain).gaps(domain, first[known], second[known])
        far, row = found.farthest, found.farthest_row
        if gaps.max(initial=0.0) > far:
            row = found.rows + int(np.argmax(gaps)) + 1
            far = float(gaps.max())
        found = replace(
            found, rows=found.rows + len(known), missing=found.missing + int(gone.sum()),
            unread=found.unread + int((~known & ~gone).sum()), outside=found.outside + int((gaps > 0).sum()),
            farthest=far, farthest_row=row,
        )  # fmt: skip
    return found


def _missing(values: Values) -> NDArray[np.bool_]:
    if isinstance(values, TypedValues):
        return np.asarray(pc.is_null(values.array).to_numpy(zero_copy_only=False))
    return np.asarray(values.ends <= values.starts)
