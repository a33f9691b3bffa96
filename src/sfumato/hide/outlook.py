"""What a release would meet, before there is one: how many rows have no place, or lie outside, and how far.

This is about the true points and for whoever has them: nothing of it is written, and nothing is paid for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.certify.protocol import Domain
from sfumato.errors import keyword
from sfumato.hide.sources import Source
from sfumato.numbers import Floats, text_above
from sfumato.release.families import release_family
from sfumato.release.fields import MOST_MOVED, OUTSIDE
from sfumato.release.places import Geometry, Position
from sfumato.release.rows import TypedValues, Values


@dataclass(frozen=True, repr=False)
class Outlook:
    """Rows that a release would meet; none of it is private.

    ``missing`` rows have no place, ``unread`` ones something that is none, ``outside`` ones lie outside, half of them
    by at most ``median``, the farthest, row ``farthest_row``, by ``farthest``, and ``far`` of them too far to be moved.
    ``policy`` is what is asked to be done about them, to a ``share`` of the rows at most. Where a box is taken from the
    data, ``quantiles``, outside is counted for the one without noise. ``columns`` are those of the points,
    ``time_limit`` the seconds that a design may take, if there is a limit. ``refused`` says why a release would be
    refused, if so. Where there are places ``per_row``, each counts as a row.
    """

    rows: int = 0
    missing: int = 0
    unread: int = 0
    outside: int = 0
    far: int = 0
    median: float = 0.0
    farthest: float = 0.0
    farthest_row: int | None = None
    unit: str = ""
    policy: str = OUTSIDE
    share: Fraction = MOST_MOVED
    quantiles: bool = False
    columns: tuple[str, ...] = ()
    time_limit: float | None = None
    refused: str = ""
    per_row: int = 1

    @property
    def words(self) -> str:
        """The counts in a sentence."""
        far = ""
        if self.farthest_row is not None:
            where = f"{self._away(self.farthest)} away" if isfinite(self.farthest) else "beyond all places of the map"
            half = f", half of them by at most {self._away(self.median)}" if self.outside > 1 else ""
            far = f"{half if isfinite(self.median) else ''}, the farthest being row {self.farthest_row}, {where}"
        box = " of the box that quantiles give without noise" if self.quantiles and self.unit else ""
        return (
            f"of {self._counted} {self.missing:,} have no place, {self.unread:,} something that is none, and "
            f"{self.outside:,} lie outside{box}{far}"
        )

    @property
    def answers(self) -> tuple[str, ...]:
        """What each policy would do to how many rows; nothing where no row needs one, or all do: none of them helps."""
        gone = self.missing + self.unread
        left = gone + self.outside
        if left in (0, self.rows):
            return ()
        nearest, drop, error = (keyword("on_unknown", policy) for policy in ("nearest", "drop", "error"))
        reasons = [f"{gone:,} have no place"] * (gone > 0) + [f"{self.far:,} lie too far away"] * (self.far > 0)
        if reasons:
            moves = f"{nearest} would refuse them: {' and '.join(reasons)}"
        else:
            moves = f"{nearest} would move {left:,} rows to the border, which costs no privacy"
            moves += self._allowed("nearest", "most_moved", left)
        leaves = f"{drop} would leave out {left:,} rows ({self._part(left)} %), which tells that they were not inside"
        return moves, leaves + self._allowed("drop", "most_dropped", left), f"{error} would refuse them"

    @property
    def _rows(self) -> int:
        """Rows of the table; that each stray place is one of another row is the worst case."""
        return self.rows // self.per_row

    @property
    def _counted(self) -> str:
        if self.per_row == 1:
            return f"{self.rows:,} rows"
        return f"{self.rows:,} places in {self._rows:,} rows"

    def _allowed(self, policy: str, option: str, many: int) -> str:
        """What has to be said where so many rows are more than a policy may take."""
        share = self.share if policy == self.policy else MOST_MOVED
        if many <= share * self._rows:
            return ""
        needed = keyword(option, text_above(min(Fraction(many, self._rows), Fraction(1)), 2))
        return f", but that is more than {text_above(100 * share, 3)} % of all: add {needed}"

    def _part(self, many: int) -> str:
        """A number of rows in percent."""
        return text_above(min(Fraction(100 * many, self._rows), Fraction(100)), 3)

    def _away(self, distance: float) -> str:
        return f"{text_above(distance, 4)} {self.unit}".rstrip()

    def __repr__(self) -> str:
        refused = f"; refused: {self.refused}" if self.refused else ""
        return f"Outlook({'; '.join([self.words, *self.answers])}{refused})"


def outlook_of(source: Source, column: Position, space: Any = None) -> Outlook:
    """The counts for a space; without one nothing lies outside."""
    if len(column.each) > 1:
        return _together([outlook_of(source, place, space) for place in column.each], column.columns)
    found = Outlook(unit="" if space is None else space.unit, columns=column.columns)
    domain = None if space is None else Domain.of(space)
    shapes = isinstance(column, Geometry)  # what holds no point is missing, whatever it holds
    away: list[Floats] = []
    for first, second, cells in source.batches(column, [] if shapes else column.columns):
        known = np.isfinite(first) & np.isfinite(second)
        gone = ~known if shapes else ~known & np.logical_or.reduce([_missing(values) for values in cells])
        gaps, beyond = np.zeros(len(known)), 0
        if domain is not None:
            family, points = release_family(domain), (first[known], second[known])
            gaps[known] = family.gaps(domain, *points)
            beyond = int((~family.near(domain, *points)).sum())
            away.append(gaps[gaps > 0])
        far, row = found.farthest, found.farthest_row
        if gaps.max(initial=0.0) > far:
            row = found.rows + int(np.argmax(gaps)) + 1
            far = float(gaps.max())
        found = replace(
            found, rows=found.rows + len(known), missing=found.missing + int(gone.sum()),
            unread=found.unread + int((~known & ~gone).sum()), outside=found.outside + int((gaps > 0).sum()),
            far=found.far + beyond, farthest=far, farthest_row=row,
        )  # fmt: skip
    return replace(found, median=float(np.median(np.concatenate(away)))) if found.outside else found


def _together(each: list[Outlook], columns: tuple[str, ...]) -> Outlook:
    """The counts for all places of a row; of the medians the largest."""
    worst = max(each, key=lambda one: one.farthest)
    sums = {name: sum(getattr(one, name) for one in each) for name in ("rows", "missing", "unread", "outside", "far")}
    return replace(worst, **sums, median=max(one.median for one in each), columns=columns, per_row=len(each))


def _missing(values: Values) -> NDArray[np.bool_]:
    if isinstance(values, TypedValues):
        return np.asarray(pc.is_null(values.array).to_numpy(zero_copy_only=False))
    return np.asarray(values.ends <= values.starts)
