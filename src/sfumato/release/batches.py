"""The batch kernel: what every release goes through, from whatever table or file its rows come.

A batch of columns becomes secrets, secrets become outputs. With a key, row ids are hashed, a row id with two secrets is
refused, and a fingerprint of the data is kept for the ledger. Nothing may leave before :meth:`BatchRelease.finish`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import flag, optional_function
from sfumato.certify.mechanism import Mechanism
from sfumato.errors import InvalidInput, advice, keyword, shown
from sfumato.mechanisms.tight import LatticeMechanism
from sfumato.numbers import Number, as_written
from sfumato.release.keys import Changes, Fingerprint, check_statement, id_digests, key_bytes, salt_of
from sfumato.release.ledger_promises import promise_of
from sfumato.release.places import Ground, Place, Position, coordinates_of
from sfumato.release.rows import Integers, Labels, Secrets, Values, check_policy, line_position
from sfumato.release.sampler import Sampler, sampler

if TYPE_CHECKING:
    from sfumato.release.ledger import Entry, Ledger

__all__ = ["BATCH", "Added", "BatchRelease", "Column", "Drawn", "Progress", "RowId", "batch_release"]

BATCH = 1 << 16
"""Rows that are drawn at once."""

MOST_MOVED = Fraction(1, 20)
"""The share of the rows that may lie outside the space where the nearest secret is taken.

A few strays are what that policy is for; a column in other units, or coordinates in another order, move nearly all."""

Column = str | Position | Place
"""A column of labels, or the columns of coordinates."""

RowId = str | Sequence[str]
"""The column that names a row, or several that name it together."""


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
    taken
        The columns that hold the secret, in the order the finder wants them.
    added
        The columns that come instead. The first takes the place of the first that is taken, and so on; with ``keep``
        they are put at the end and nothing is taken out.
    ids
        The columns that name a row.
    placed
        Whether the secret is a place, which a geometry beside it would tell.
    """

    mechanism: Any
    sampler: Sampler
    secrets: Secrets
    added: tuple[Added, ...]
    keep: bool = False
    ids: tuple[str, ...] = ()
    placed: bool = False
    key: bytes | None = field(default=None, repr=False)
    progress: Callable[[Progress], None] | None = None
    total: int | None = None
    folder: str | PathLike[str] | None = None
    most_moved: Fraction = MOST_MOVED
    rows: int = 0
    dropped: int = 0
    moved: int = 0
    farthest: float = 0.0
    started: float = field(default_factory=perf_counter)

    def __post_init__(self) -> None:
        self.changes = Changes(self.folder)
        self.salt = salt_of(self.taken)
        if self.key is not None:
            self.fingerprint = Fingerprint(self.key)

    @property
    def taken(self) -> tuple[str, ...]:
        """The columns that hold the secret."""
        return self.secrets.columns

    @property
    def entry_name(self) -> str:
        """What a ledger calls the released columns: one name, whatever the order in which coordinates are given."""
        return ", ".join(sorted(self.taken))

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return perf_counter() - self.started

    def draw(self, secrets: Sequence[Values], ids: Sequence[Values] = ()) -> Drawn:
        """Outputs for the next rows, in the order of the table."""
        first, count = self.rows, len(secrets[0])
        found, moved = self.secrets.locate(secrets, first)
        self.moved += len(moved)
        self.farthest = max(self.farthest, float(moved.max(initial=0.0)))
        self._check_moved(self.total)
        kept: NDArray[np.bool_] | None = np.asarray(found != self.secrets.left_out)
        assert kept is not None
        if kept.all():
            kept = None
        else:
            found = found[kept]
        if self.key is None:
            outputs = self.sampler.draw(found)
        else:
            digests = id_digests(
                [column.texts(name, first) for name, column in zip(self.ids, ids, strict=True)], self.salt
            )
            digests = digests if kept is None else digests[kept]
            self._remember(digests, found, first, kept)
            # batch_release has asked for a ledger, which is charged before the outputs leave, or for the statement
            outputs = self.sampler.draw_keyed(found, digests, self.key, secret_never_changes=True)
        self.rows += count
        self.dropped += count - len(found)
        if self.progress is not None:
            self.progress(Progress(self.rows, self.total, self.seconds, self.moved))
        return Drawn(outputs, kept)

    def _check_moved(self, rows: int | None) -> None:
        """Refuse as soon as too many rows are known to lie outside the space."""
        if rows is None or self.moved <= self.most_moved * rows:
            return
        unit = f" {self.secrets.unit}" if self.secrets.unit else ""
        raise InvalidInput(
            f"{self.moved:,} of {rows:,} rows lie outside the space and would be moved into it, by up to "
            f"{self.farthest:.6g}{unit}; that is more than the share of {self.most_moved} that is allowed: "
            f"are the columns, their order and their units right? {keyword('most_moved', 1)} takes them all"
        )

    def _remember(
        self,
        digests: NDArray[np.uint8],
        found: NDArray[np.int64],
        first: int,
        kept: NDArray[np.bool_] | None,
    ) -> None:
        self.changes.add(digests, found, first, None if kept is None else first + np.flatnonzero(kept))
        self.fingerprint.add(digests, found)

    def finish(self, ledger: Ledger | None, dataset: str | None, times: int = 1) -> Entry | None:
        """The last checks, and the charge: after this, and not before, the outputs may be seen."""
        self._check_moved(self.rows)
        if self.key is not None:
            self.changes.check()
            self.changes.close()
        if ledger is None:
            return None
        return ledger.charge(
            dataset=dataset or "", column=self.entry_name, mechanism=self.mechanism, times=times,
            rows=self.rows - self.dropped, key=self.key,
            data=None if self.key is None else self.fingerprint.hexdigest(),
        )  # fmt: skip


def batch_release(
    mechanism: Any,
    column: Column,
    *,
    into: str | None = None,
    keep: bool = False,
    on_unknown: str = "error",
    within: Any = None,
    most_moved: Number | None = None,
    key: bytes | str | PathLike[str] | None = None,
    row_id: RowId | None = None,
    secret_never_changes: bool = False,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    times: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> BatchRelease:
    """What a release needs, checked before the first row is looked at."""
    check_policy(on_unknown)
    share = _share(most_moved, on_unknown)
    keep, progress = flag(keep, "keep"), optional_function(progress, "progress")
    if (key is None) != (row_id is None):
        raise InvalidInput(
            f"keyed noise needs both {keyword('key')} and {keyword('row_id')}: the key alone names no row, the id "
            "alone hides none"
        )
    check_statement(secret_never_changes, keyed=key is not None, ledger=ledger is not None)
    _check_account(mechanism, ledger, dataset, times)
    if keep and into is None:
        raise InvalidInput(
            f"{keyword('keep', True)} leaves the true column in the table: the noise needs another name, "
            f"{keyword('into', '…')}"
        )
    draws = sampler(mechanism)
    ground = _ground(draws)
    ids = (row_id,) if isinstance(row_id, str) else tuple(row_id or ())
    if row_id is not None and not (ids and all(isinstance(name, str) for name in ids)):
        raise InvalidInput(f"row_id is the name of a column or a list of names, found {shown(row_id)}")
    finder = _finder(column, draws, ground, on_unknown, within)
    for name in finder.columns:
        if name in ids:
            raise InvalidInput(f"{shown(name)} is released and cannot be the row id, which stays as it is")
    return BatchRelease(
        mechanism=mechanism,
        sampler=draws,
        secrets=finder,
        added=_added(column, finder.columns, into, draws, ground),
        keep=keep,
        ids=ids,
        placed=isinstance(column, Position | Place) or ground.dimension >= 2,
        key=None if key is None else key_bytes(key),
        most_moved=share,
        progress=progress,
    )


def _share(most_moved: Number | None, on_unknown: str) -> Fraction:
    """A share as people write it: 0.3 is three tenths."""
    if most_moved is None:
        return MOST_MOVED
    if on_unknown != "nearest":
        raise InvalidInput(
            f"{keyword('most_moved')} goes with {keyword('on_unknown', 'nearest')}: otherwise nothing is moved"
        )
    share = as_written(most_moved, "most_moved")
    if not 0 <= share <= 1:
        raise InvalidInput(f"most_moved is a share of the rows, between 0 and 1, found {shown(most_moved)}")
    return share


def _check_account(mechanism: Any, ledger: Ledger | None, dataset: Any, times: Any) -> None:
    """What a ledger would refuse is refused before any row is drawn."""
    if ledger is None:
        if dataset is not None or not isinstance(times, int) or times != 1:
            raise InvalidInput(
                f"{keyword('dataset')} and {keyword('times')} are for a ledger: give {keyword('ledger')} too"
            )
        return
    if not callable(getattr(ledger, "charge", None)):
        raise InvalidInput(
            f"ledger= is a Ledger, found a value of type {type(ledger).__name__}: Ledger(path) opens one"
        )
    if not isinstance(dataset, str) or not dataset:
        raise InvalidInput(
            f"a ledger adds up what is released of one dataset: say {keyword('dataset', '…')}, a name of the data that "
            "stays the same wherever they are copied to (the name of a file does not: each copy would start with "
            "nothing spent)"
        )
    promise_of(mechanism)


def _ground(draws: Sampler) -> Ground:
    mechanism = draws.source
    if isinstance(mechanism, Mechanism):
        space = mechanism.privacy.space
        return Ground(space.name, space.unit, space.coordinates, space)
    if isinstance(mechanism, LatticeMechanism):
        lattice = mechanism.lattice
        name = f"grid({', '.join(map(str, lattice.shape))})"
        return Ground(name, "", None, lattice=(lattice.shape, lattice.metric, float(lattice.step)))
    return Ground(repr(draws), "", None)


def _finder(column: Column, draws: Sampler, ground: Ground, on_unknown: str, within: Any) -> Secrets:
    if isinstance(column, Position | Place):
        return coordinates_of(column, ground, on_unknown=on_unknown, within=within)
    if not isinstance(column, str):
        raise InvalidInput(
            "a column is named by a text; coordinates are Position('x', 'y') or Place('lat', 'lon'), "
            f"found {shown(column)}"
        )
    if within is not None:
        raise InvalidInput(
            f"{keyword('within')} is for coordinates, and {shown(column)} is one column of labels"
            + advice(("Place", "names latitude and longitude"), ("Position", "other coordinates"))
        )
    if draws.secrets is None:
        if on_unknown == "nearest":
            raise InvalidInput(f"{keyword('on_unknown', 'nearest')}: every integer is a secret of {ground.name}")
        return Integers(column, on_unknown)
    labels = tuple(draws.secrets)
    place = line_position(labels, ground.coordinates, ground.name) if on_unknown == "nearest" else None
    return Labels(column, labels, on_unknown, place, ground.name)


def _added(
    column: Column, taken: tuple[str, ...], into: str | None, draws: Sampler, ground: Ground
) -> tuple[Added, ...]:
    if into is not None and (not isinstance(into, str) or not into):
        raise InvalidInput(f"into is the name of a column, found {shown(into)}")
    if isinstance(column, str) or into is not None:
        return (Added(into or taken[0], draws.outputs),)
    where = _output_coordinates(draws, ground)
    if where is None:
        raise InvalidInput(
            f"not every output of {ground.name} has coordinates: say {keyword('into', '…')} for a column of labels"
        )
    order = where.T[::-1] if isinstance(column, Place) else where.T  # a place is latitude first
    return tuple(Added(name, values.tolist(), numeric=True) for name, values in zip(taken, order, strict=True))


def _output_coordinates(draws: Sampler, ground: Ground) -> NDArray[np.float64] | None:
    outputs = draws.outputs
    if outputs is None:
        return None
    if ground.lattice is not None:
        shape, _, step = ground.lattice
        return np.asarray(np.indices(shape).reshape(len(shape), -1).T * step, dtype=np.float64)
    assert ground.space is not None and ground.coordinates is not None
    position = ground.space.position
    if not all(label in position for label in outputs):
        return None
    return ground.coordinates[[position[label] for label in outputs]]
