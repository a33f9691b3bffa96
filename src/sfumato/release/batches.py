"""The batch kernel: what every release goes through, from whatever table or file its rows come.

A batch of columns becomes secrets, secrets become outputs. With a key, row ids are hashed, a row id with two secrets is
refused, and a fingerprint of the data is kept for the ledger. Nothing may leave before :meth:`BatchRelease.finish`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import optional_function
from sfumato.certify.protocol import Domain, charge_of
from sfumato.errors import keyword
from sfumato.fields import changed
from sfumato.numbers import text_above
from sfumato.release.conversion import converted_secrets, points_out
from sfumato.release.families import release_family
from sfumato.release.formats.geo_points import box_array, geojson_points, point_array, wkt_points
from sfumato.release.formats.layouts import PointLayout
from sfumato.release.keys import Changes, Fingerprint, id_digests, salt_of
from sfumato.release.neighbourhood import lookout_of
from sfumato.release.persons import Persons
from sfumato.release.places import Geometry, Place, Position, SeveralPlaces, SeveralSecrets, renamed
from sfumato.release.rows import BadRow, ManyStrays, Secrets, Values
from sfumato.release.sampler import Sampler, sampler
from sfumato.release.terms import Terms
from sfumato.spaces.queries import names_answers

if TYPE_CHECKING:
    from sfumato.release.ledger.values import Entry

_LOG = logging.getLogger("sfumato.release")

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
    made: Callable[[Any], Any] | None = None  # makes an Arrow array of a type, where values are points
    points: NDArray[np.float64] | None = None  # x and y of each output, where values are points
    arrays: dict[Any, Any] = field(default_factory=dict, repr=False)  # the values in Arrow, by type
    place: int | None = None  # which of several places of a row it is about

    def of(self, outputs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The outputs that it is about: all, or those of its place."""
        return outputs if self.place is None or outputs.ndim == 1 else outputs[:, self.place]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Outputs for the rows of a batch that are kept, one a row or one for each place; ``kept`` is None if all are."""

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
    layout
        How the table holds a column of points; None before it is looked at, and for other columns.
    unknown
        How many rows are left out because they hold no secret; ``first_unknown`` says what is wrong with the first.
    strays
        How many were moved at each place of a row.
    decimal
        What stands before the decimals of coordinates in text.
    """

    terms: Terms
    mechanism: Any
    sampler: Sampler
    secrets: Secrets
    added: tuple[Added, ...]
    placed: bool = False
    layout: PointLayout | None = None
    progress: Callable[[Progress], None] | None = None
    total: int | None = None
    rows: int = 0
    dropped: int = 0
    moved: int = 0
    strays: tuple[int, ...] = ()
    farthest: float = 0.0
    unknown: int = 0
    first_unknown: str = ""
    decimal: str = "."
    started: float = field(default_factory=perf_counter)

    def __post_init__(self) -> None:
        self.changes = Changes()
        self.lookout = lookout_of(self.sampler.domain) if self.placed and not self.terms.keep else None
        self.salt = salt_of(self.taken)
        if self.key is not None:
            self.fingerprint = Fingerprint(self.key)
        person, most = self.terms.person, self.terms.most_rows
        self.persons = None if person is None or most is None else Persons(person, most, self.terms.beyond)

    @property
    def key(self) -> bytes | None:
        """The bytes of the key, which :class:`Terms` has read."""
        return cast(bytes | None, self.terms.key)

    @property
    def taken(self) -> tuple[str, ...]:
        """The columns that hold the secret."""
        return self.terms.taken

    @property
    def replaced(self) -> tuple[str, ...]:
        """The columns that new ones come for: those that hold the secret, and boxes around each point."""
        boxes = () if self.layout is None or self.terms.keep else self.layout.boxes
        return (*self.taken, *(name for name, _ in boxes))

    @property
    def beside(self) -> tuple[str, ...]:
        """Columns that stay although they hold geometries, because somebody said so."""
        return (*self.terms.stay, *(self.terms.column.beside if isinstance(self.terms.column, Geometry) else ()))

    def read(self, layout: PointLayout) -> None:
        """Look at how the table holds the points of its column; nothing for columns of another kind."""
        if isinstance(self.terms.column, Geometry):
            self.layout = layout
            if layout.name != self.terms.column.columns[0]:
                self.terms = replace(self.terms, column=renamed(self.terms.column, layout.name))
                self.salt = salt_of(self.taken)
            domain = self.sampler.domain
            self.secrets = _finder(self.terms, self.sampler, domain, layout)
            self.added = _added(self.terms, self.sampler, domain, layout)

    @property
    def note(self) -> str:
        """What must be said where a row is no person, or coordinates are released by a list of secrets; else empty."""
        if self.terms.ledger is None and names_answers(self.sampler.domain.name):
            return (
                "the promise is about one row, and rows are answers about people: who changes k of them, such as two "
                "counts by moving from one district to another, is told about by k times ε; a ledger adds that up"
            )
        if isinstance(self.terms.column, str) or self.secrets.about_points:
            return ""
        return (
            f"the promise is about the secrets of {self.sampler.domain.name}, not about every metre: a point is taken "
            "for its cell or its nearest secret first, and two points on the two sides of a border are told apart as "
            "well as their secrets are; design on a box promises something about all coordinates"
        )

    @property
    def beyond(self) -> int:
        """Rows that were left out because their person has others before them."""
        return 0 if self.persons is None else self.persons.left_out

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return perf_counter() - self.started

    def draw(self, secrets: Sequence[Values], ids: Sequence[Values] = ()) -> Drawn:
        """Outputs for the next rows, in the order of the table."""
        first, count = self.rows, len(secrets[0])
        rows, moved, strays = self.secrets.locate(secrets, first)
        self.moved += len(moved)
        strays = strays or (len(moved),)
        self.strays = tuple(map(sum, zip(self.strays or (0,) * len(strays), strays, strict=True)))
        self.farthest = max(self.farthest, float(moved.max(initial=0.0)))
        there = self.secrets.kept(rows)
        self._count_unknown(secrets, there)
        self.check_share(self.total)
        if self.persons is not None:
            there &= self.persons.within(ids[self.terms.ids.index(self.persons.column)], first)
        kept = None if there.all() else there
        rows = rows if kept is None else rows[kept]
        if self.key is None:
            outputs = self._drawn(rows)
        else:
            digests = id_digests(
                [column.texts(name, first) for name, column in zip(self.terms.row_ids, ids, strict=False)], self.salt
            )
            digests = digests if kept is None else digests[kept]
            marks = self.secrets.marks(rows)
            self.changes.add(digests, marks, first, None if kept is None else first + np.flatnonzero(kept))
            self.fingerprint.add(digests, marks)
            # batch_release has asked for a ledger, which is charged before the outputs leave, or for the statement
            outputs = self.sampler.draw_keyed(rows, digests, self.key, secret_never_changes=True)
        self.rows += count
        self.dropped += count - len(rows)
        if self.progress is not None:
            self.progress(Progress(self.rows, self.total, self.seconds, self.moved))
        return Drawn(outputs, kept)

    def _drawn(self, rows: Any) -> NDArray[np.int64]:
        """Outputs with fresh noise, for each place of each row where there are several."""
        several = len(self.terms.places)
        if several == 1:
            return self.sampler.draw(rows)
        return self.sampler.draw(rows.reshape(-1, *rows.shape[2:])).reshape(len(rows), several)

    def _count_unknown(self, secrets: Sequence[Values], there: NDArray[np.bool_]) -> None:
        """Count the rows of a batch that are left out, and keep what would have been said of the first of all."""
        if not self.unknown and not there.all():
            try:
                self.secrets.refusing().locate(secrets, self.rows)
            except BadRow as error:
                self.first_unknown = error.reason
        self.unknown += len(there) - int(np.count_nonzero(there))

    def check_share(self, rows: int | None) -> None:
        """Refuse as soon as too many of so many rows are known to be no secrets."""
        most = max(self.strays, default=0)
        if rows is None or most + self.unknown <= self.terms.share * rows:
            return
        if self.unknown:
            raise ManyStrays(
                f"{self.unknown:,} of {rows:,} rows would be left out, more than the share of {self.terms.share} that "
                f"is allowed; the first of them is {self.first_unknown}; {keyword('most_dropped', 1)} leaves them all "
                "out"
            )
        unit = f" {self.secrets.unit}" if self.secrets.unit else ""
        raise ManyStrays(
            f"{most:,} of {rows:,} rows lie outside the space{self._at(most)} and would be moved into it, by up to "
            f"{text_above(self.farthest, 6)}{unit}; that is more than the share of {self.terms.share} that is allowed: "
            f"are the columns, their order and their units right? {keyword('most_moved', 1)} takes them all"
        )

    def _at(self, most: int) -> str:
        """The place, of several, at which so many rows lie outside."""
        column = self.terms.column
        return f" at their {column.names[self.strays.index(most)]}" if isinstance(column, SeveralPlaces) else ""

    def finish(self) -> Entry | None:
        """The last checks, and the charge: after this, and not before, the outputs may be seen."""
        self.check_share(self.rows)
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
        charged: Entry = terms.ledger.charge(
            dataset=terms.dataset or "", column=column, mechanism=self.mechanism, times=terms.values,
            rows=rows, key=self.key, data=data,
        )  # fmt: skip
        return charged


def tell(work: BatchRelease) -> BatchRelease:
    """Log what must be said of a release, once."""
    if work.note:
        _LOG.info("%s", work.note)
    return work


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


def _finder(terms: Terms, draws: Sampler, domain: Domain, layout: PointLayout | None = None) -> Secrets:
    column, on_unknown = terms.column, terms.on_unknown
    if isinstance(column, SeveralPlaces):
        each = tuple(_finder(changed(terms, column=place), draws, domain) for place in column.each)
        return SeveralSecrets(each, tuple(len(place.columns) for place in column.each))
    if isinstance(column, Position) and (isinstance(column, Geometry) or column.system is not None):
        return converted_secrets(column, layout, domain, on_unknown=on_unknown, within=terms.within)
    return release_family(domain).read(column, draws, on_unknown, terms.within)


def _added(terms: Terms, draws: Sampler, domain: Domain, layout: PointLayout | None = None) -> tuple[Added, ...]:
    column = terms.column
    if isinstance(column, SeveralPlaces):
        parts = (_added(changed(terms, column=place), draws, domain) for place in column.each)
        return tuple(replace(added, place=k) for k, part in enumerate(parts) for added in part)
    if isinstance(column, Geometry):
        return () if layout is None else _added_geometries(terms, column, layout, draws, domain)
    if isinstance(column, Position) and column.system is not None:
        x, y = points_out(column, None, domain, *release_family(domain).points(draws))
        return _added_points(terms, np.stack([y, x] if isinstance(column, Place) else [x, y], axis=1))
    where = release_family(domain).told(column, draws, terms.into is not None)
    if where is None:
        return (Added(terms.into or terms.taken[0], draws.outputs),)
    return _added_points(terms, where)


def _added_points(terms: Terms, where: NDArray[np.float64]) -> tuple[Added, ...]:
    """Columns for the coordinates of outputs; a new name is that of one column for all of them."""
    if terms.into is not None and where.shape[1] > 1:
        return (Added(terms.into, [tuple(point) for point in where.tolist()]),)
    names = terms.taken if terms.into is None else (terms.into,)
    return tuple(Added(name, values, numeric=True) for name, values in zip(names, where.T.tolist(), strict=True))


def _added_geometries(
    terms: Terms, column: Geometry, layout: PointLayout, draws: Sampler, domain: Domain
) -> tuple[Added, ...]:
    """The column of released points, and boxes around them where the table has such."""
    x, y = points_out(column, layout, domain, *release_family(domain).points(draws))
    name = terms.into or layout.name
    values: Sequence[Any] = ()
    if layout.form in ("wkt", "geojson"):
        values = wkt_points(x, y) if layout.form == "wkt" else geojson_points(x, y)
    points = np.stack([x, y], axis=1)
    first = Added(name, values, made=lambda like: point_array(x, y, like), points=points)
    boxes = () if terms.keep else layout.boxes
    return (first, *(Added(box, (), made=partial(box_array, x, y, paths)) for box, paths in boxes))
