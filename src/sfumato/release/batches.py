"""The batch kernel: what every release goes through, from whatever table or file its rows come.

A batch of columns becomes secrets, secrets become outputs. With a key, row ids are hashed, a row id with two secrets is
refused, and a fingerprint of the data is kept for the ledger. Nothing may leave before :meth:`BatchRelease.finish`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import optional_function
from sfumato.certify.protocol import Domain, charge_of
from sfumato.errors import InvalidInput, advice, keyword, shown
from sfumato.release.keys import Changes, Fingerprint, id_digests, salt_of
from sfumato.release.places import Place, Position, coordinates_of
from sfumato.release.rows import Integers, Labels, Secrets, Values, line_position
from sfumato.release.sampler import Sampler, sampler
from sfumato.release.terms import Terms

if TYPE_CHECKING:
    from sfumato.release.ledger_values import Entry

BATCH = 1 << 16
"""Rows that are drawn at once, unless somebody says otherwise."""

LARGEST_BATCH = 1 << 26
"""The most rows that are drawn at once."""


@dataclass(frozen=True)
class Progress:
    """How far a release is: rows done, of how many (None: not known), in how many seconds.

    ``moved`` are those that lie outside the space and are taken for the nearest secret.
    """

    rows: int
    total: int | None
    seconds: float
    moved: int = 0

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    def __str__(self) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        moved = f", {self.moved:,} moved into the space" if self.moved else ""
        return f"{self.rows:,}{of} rows, {self.rate:,.0f} rows/s{moved}"


@dataclass(frozen=True, eq=False)
class Added:
    """A new column: its name and what stands there for each output; None where outputs are integers themselves."""

    name: str
    values: Sequence[Any] | None
    numeric: bool = False  # coordinates, which keep the type of the column they replace only if nothing is lost
    arrays: dict[Any, Any] = field(default_factory=dict, repr=False)  # the values in Arrow, by type


@dataclass(frozen=True, eq=False)
class Drawn:
    """Outputs for the rows of a batch that are kept; ``kept`` is None if all are."""

    outputs: NDArray[np.int64]
    kept: NDArray[np.bool_] | None


@dataclass(eq=False)
class BatchRelease:
    """One release in progress; made by :func:`batch_release`.

    Parameters
    ----------
    added
        The columns that come instead. The first takes the place of the first that is taken, and so on; with ``keep``
        they are put at the end and nothing is taken out.
    placed
        Whether the secret is a place, which a geometry beside it would tell.
    """

    terms: Terms
    mechanism: Any
    sampler: Sampler
    secrets: Secrets
    added: tuple[Added, ...]
    placed: bool = False
    progress: Callable[[Progress], None] | None = None
    total: int | None = None
    rows: int = 0
    dropped: int = 0
    moved: int = 0
    farthest: float = 0.0
    started: float = field(default_factory=perf_counter)

    def __post_init__(self) -> None:
        self.changes = Changes()
        self.salt = salt_of(self.taken)
        if self.key is not None:
            self.fingerprint = Fingerprint(self.key)

    @property
    def key(self) -> bytes | None:
        """The bytes of the key, which :class:`Terms` has read."""
        return cast(bytes | None, self.terms.key)

    @property
    def taken(self) -> tuple[str, ...]:
        """The columns that hold the secret."""
        return self.terms.taken

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return perf_counter() - self.started

    def draw(self, secrets: Sequence[Values], ids: Sequence[Values] = ()) -> Drawn:
        """Outputs for the next rows, in the order of the table."""
        first, count = self.rows, len(secrets[0])
        rows, moved = self.secrets.locate(secrets, first)
        self.moved += len(moved)
        self.farthest = max(self.farthest, float(moved.max(initial=0.0)))
        self._check_moved(self.total)
        there = rows != self.secrets.left_out
        kept = None if there.all() else there
        rows = rows if kept is None else rows[kept]
        if self.key is None:
            outputs = self.sampler.draw(rows)
        else:
            digests = id_digests(
                [column.texts(name, first) for name, column in zip(self.terms.ids, ids, strict=True)], self.salt
            )
            digests = digests if kept is None else digests[kept]
            self.changes.add(digests, rows, first, None if kept is None else first + np.flatnonzero(kept))
            self.fingerprint.add(digests, rows)
            # batch_release has asked for a ledger, which is charged before the outputs leave, or for the statement
            outputs = self.sampler.draw_keyed(rows, digests, self.key, secret_never_changes=True)
        self.rows += count
        self.dropped += count - len(rows)
        if self.progress is not None:
            self.progress(Progress(self.rows, self.total, self.seconds, self.moved))
        return Drawn(outputs, kept)

    def _check_moved(self, rows: int | None) -> None:
        """Refuse as soon as too many rows are known to lie outside the space."""
        if rows is None or self.moved <= self.terms.share * rows:
            return
        unit = f" {self.secrets.unit}" if self.secrets.unit else ""
        raise InvalidInput(
            f"{self.moved:,} of {rows:,} rows lie outside the space and would be moved into it, by up to "
            f"{self.farthest:.6g}{unit}; that is more than the share of {self.terms.share} that is allowed: "
            f"are the columns, their order and their units right? {keyword('most_moved', 1)} takes them all"
        )

    def finish(self) -> Entry | None:
        """The last checks, and the charge: after this, and not before, the outputs may be seen."""
        self._check_moved(self.rows)
        if self.key is not None:
            self.changes.check()
            self.changes.close()
        return self.charge(self.rows - self.dropped, None if self.key is None else self.fingerprint.hexdigest())

    def charge(self, rows: int, data: str | None) -> Entry | None:
        """Charge the ledger, if there is one, for so many rows of data with this fingerprint."""
        terms = self.terms
        if terms.ledger is None:
            return None
        column = ", ".join(sorted(self.taken))  # one name, whatever the order in which coordinates are given
        return terms.ledger.charge(
            dataset=terms.dataset or "", column=column, mechanism=self.mechanism, times=terms.times,
            rows=rows, key=self.key, data=data,
        )  # fmt: skip


def batch_release(mechanism: Any, terms: Terms, *, progress: Callable[[Progress], None] | None = None) -> BatchRelease:
    """What a release needs, checked before the first row is looked at."""
    progress = optional_function(progress, "progress")
    if terms.ledger is not None:
        charge_of(mechanism)  # what a ledger would refuse is refused before any row is drawn
    draws = sampler(mechanism)
    domain = draws.domain
    return BatchRelease(
        terms,
        mechanism,
        draws,
        secrets=_finder(terms, draws, domain),
        added=_added(terms, draws, domain),
        placed=isinstance(terms.column, Position) or domain.dimension >= 2,
        progress=progress,
    )


def _finder(terms: Terms, draws: Sampler, domain: Domain) -> Secrets:
    column, on_unknown = terms.column, terms.on_unknown
    if not isinstance(column, str):
        return coordinates_of(column, domain, on_unknown=on_unknown, within=terms.within)
    if terms.within is not None:
        raise InvalidInput(
            f"{keyword('within')} is for coordinates, and {shown(column)} is one column of labels"
            + advice(("Place", "names latitude and longitude"), ("Position", "other coordinates"))
        )
    if draws.secrets is None:
        if on_unknown == "nearest":
            raise InvalidInput(f"{keyword('on_unknown', 'nearest')}: every integer is a secret of {domain.name}")
        return Integers(column, on_unknown)
    labels = tuple(draws.secrets)
    place = line_position(labels, domain.coordinates, domain.name) if on_unknown == "nearest" else None
    return Labels(column, labels, on_unknown, place, domain.name)


def _added(terms: Terms, draws: Sampler, domain: Domain) -> tuple[Added, ...]:
    if isinstance(terms.column, str) or terms.into is not None:
        return (Added(terms.into or terms.taken[0], draws.outputs),)
    where = _output_coordinates(draws, domain)
    if where is None:
        raise InvalidInput(
            f"not every output of {domain.name} has coordinates: say {keyword('into', '…')} for a column of labels"
        )
    order = where.T[::-1] if isinstance(terms.column, Place) else where.T  # a place is latitude first
    return tuple(Added(name, values.tolist(), numeric=True) for name, values in zip(terms.taken, order, strict=True))


def _output_coordinates(draws: Sampler, domain: Domain) -> NDArray[np.float64] | None:
    outputs = draws.outputs
    if outputs is None:
        return None
    if domain.grid is not None:
        shape, _, step = domain.grid
        return np.asarray(np.indices(shape).reshape(len(shape), -1).T * step, dtype=np.float64)
    assert domain.space is not None and domain.coordinates is not None
    position = domain.space.position
    if not all(label in position for label in outputs):
        return None
    return domain.coordinates[[position[label] for label in outputs]]
