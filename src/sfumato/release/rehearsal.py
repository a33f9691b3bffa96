"""A release before there is a mechanism: everything that the real one would refuse is refused, and nothing is told.

Rows go the whole way, from the file or table through all checks to an output that is the same for everybody, and what
comes out is thrown away. So a column that is not there, a missing value, a format that cannot be written or a point far
away are known before a design is looked for, and before anything is paid.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from sfumato.certify.protocol import Domain
from sfumato.draws.plans import Plan
from sfumato.fields import changed
from sfumato.release.batches import BATCH, BatchRelease, Progress, batch_release
from sfumato.release.families import release_family
from sfumato.release.formats.geo_files import DRIVERS, released_layer
from sfumato.release.sampler import Sampler
from sfumato.release.streams import common_format, release_rows
from sfumato.release.tables import released_table
from sfumato.release.terms import Terms


class _Enough(Exception):
    """Raised when the first rows have gone the whole way."""


@dataclass(frozen=True, eq=False, repr=False)
class StandIn(Sampler):
    """In the place of a mechanism that is still to be found: everybody is told the same, so that nothing is told."""

    where: Domain | None = None

    @property
    def domain(self) -> Domain:
        """Where the secrets lie."""
        assert self.where is not None
        return self.where

    def draw(self, rows: Any, *, bits: Any = None) -> NDArray[np.int64]:
        """The one output for each row."""
        return np.zeros(len(rows), dtype=np.int64)


def rehearsed(domain: Domain, terms: Terms, *, whole: bool) -> BatchRelease:
    """A release of points of a domain that charges nothing; of the first rows alone, how many of them lie outside
    says nothing about all.
    """
    secrets, output = release_family(domain).example(domain)
    draws = StandIn(secrets, (output,), cast(Plan, None), domain.name, where=domain)
    free = changed(terms, ledger=None, dataset=None, times=None)
    if not whole:
        free = _all_taken(free)
    return batch_release(draws, free, progress=None if whole else _stop)


def _all_taken(terms: Terms) -> Terms:
    """The same for whatever share of the rows is no secret."""
    if terms.on_unknown == "nearest":
        return changed(terms, most_moved=1)
    return changed(terms, most_dropped=1) if terms.on_unknown == "drop" else terms


def _stop(state: Progress) -> None:
    if state.rows >= BATCH:
        raise _Enough


def _judged(work: BatchRelease, terms: Terms) -> BatchRelease:
    """All rows have been seen: so many of them may be no secrets as the terms say."""
    work.terms = changed(work.terms, most_moved=terms.most_moved, most_dropped=terms.most_dropped)
    work.check_share(work.rows)
    return work


def rehearse_file(
    source: Path, target: Path, domain: Domain, terms: Terms, *, layer: str | None = None,
    decimal: str | None = None, whole: bool = False,
) -> BatchRelease:  # fmt: skip
    """Release the first rows of a file, or all of them, into nothing."""
    kind = common_format(source, target)
    work = rehearsed(domain, terms, whole=whole)
    try:
        if kind in DRIVERS:
            for _ in released_layer(source, kind, work, BATCH, layer):
                pass
        else:
            release_rows(source, None, kind, work, decimal=decimal)
    except _Enough:
        return work
    work.finish()
    return _judged(work, terms)


def rehearse_table(table: Any, domain: Domain, terms: Terms, *, whole: bool = False) -> BatchRelease:
    """Release the first rows of a table, or all of them, and throw the result away."""
    work = rehearsed(domain, terms, whole=whole)
    try:
        released_table(table if whole else _first_rows(table), work, BATCH)
    except _Enough:
        return work
    return _judged(work, terms)


def _first_rows(table: Any) -> Any:
    if hasattr(table, "iloc"):
        return table.iloc[:BATCH]
    try:
        return nw.from_native(table).head(BATCH).to_native()
    except TypeError:
        return table
