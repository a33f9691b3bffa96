"""A release as a value that can travel: what every worker needs to know, and what it does with its part of a table.

A worker gets a part of the rows and knows nothing of the others. Three things are therefore done for the whole table:
the question whether one row id comes with two secrets (each worker sends id digests and secrets, the engine groups
them), the charge of the ledger, and putting the output in place, once, after everything else has gone well.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset

from sfumato.errors import InvalidInput, NotSupported
from sfumato.files import writable
from sfumato.release.batches import BatchRelease, batch_release, tell
from sfumato.release.keys import Fingerprint, id_digests
from sfumato.release.rows import BadRow, TypedValues
from sfumato.release.tables import read_schema, release_batch, released_schema
from sfumato.release.terms import Terms

MARKS = ("mark0", "mark1", "mark2", "mark3")
"""Columns of CHECK_SCHEMA whose sums are the fingerprint of the table, in quarters of 32 bits."""

CHECK_SCHEMA = pa.schema([("id", pa.binary()), ("secret", pa.int64()), *((name, pa.int64()) for name in MARKS)])
"""What a worker sends to find out whether one row id comes with two secrets, and which data it was."""

_PREPARED: dict[str, BatchRelease] = {}  # in a worker: tables of a sampler are built once for all its parts
_MOST_PREPARED = 4
_QUARTER = 2**32 - 1


@dataclass(frozen=True, eq=False)
class Job:
    """A mechanism and the terms of a release; ``name`` is new for each, so that workers can keep what they built."""

    name: str
    mechanism: Any
    terms: Terms

    def work(self) -> BatchRelease:
        """The batch kernel for one part of the table."""
        prepared = _PREPARED.get(self.name)
        if prepared is None:
            prepared = batch_release(self.mechanism, self.terms.for_worker())
            for name in list(_PREPARED)[: 1 - _MOST_PREPARED]:
                _PREPARED.pop(name, None)  # threads of Dask may do so at the same time
            _PREPARED[self.name] = prepared
        return replace(prepared)

    def released(self, batches: Iterable[pa.RecordBatch], part: int | None = None) -> Iterator[pa.RecordBatch]:
        """The batches of one part of the table, released."""
        work, schema = self.work(), None
        for batch in batches:
            schema = schema or released_schema(batch.schema, work)
            with of_part(part):
                yield release_batch(batch, work, schema)
        with of_part(part):
            work.finish()

    def identities(self, batches: Iterable[pa.RecordBatch], part: int | None = None) -> Iterator[pa.RecordBatch]:
        """Digests of row ids, and the secret that comes with each."""
        work, first = self.work(), 0
        for batch in batches:
            read_schema(batch.schema, work)
            with of_part(part):
                rows = work.secrets.find([TypedValues(batch.column(name)) for name in work.taken], first)
                texts = [TypedValues(batch.column(name)).texts(name, first) for name in work.terms.row_ids]
            kept = work.secrets.kept(rows)
            marked = work.secrets.marks(rows[kept])
            digests = id_digests(texts, work.salt)[kept]
            column = pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(16), len(digests), [None, pa.py_buffer(np.ascontiguousarray(digests))]
            )
            marks = np.zeros((len(MARKS), len(digests)), dtype=np.int64)
            if len(digests):  # those of the batch, in its first row
                assert work.key is not None
                fingerprint = Fingerprint(work.key)
                fingerprint.add(digests, marked)
                marks[:, 0] = [int(half) >> shift & _QUARTER for half in fingerprint.sums for shift in (0, 32)]
            columns = [column.cast(pa.binary()), pa.array(marked), *map(pa.array, marks)]
            yield pa.RecordBatch.from_arrays(columns, schema=CHECK_SCHEMA)
            first += len(batch)


@contextmanager
def of_part(part: int | None) -> Iterator[None]:
    """Rows are counted within a part of the table; an error says within which."""
    try:
        yield
    except BadRow as error:
        if part is None:
            raise
        raise BadRow(f"in partition {part}, {str(error).split(': ', 1)[-1]}", error.row, error.value) from error


def job_of(mechanism: Any, terms: Terms, target: Any) -> Job:
    """What every worker gets, checked before the first of them hears of it."""
    if target is None and terms.key is None:
        raise InvalidInput(
            "a release without a key is written once: name a target; a lazy frame would draw fresh noise "
            "whenever it is evaluated (key= and row_id= make the noise a function of the row)"
        )
    if target is None and terms.ledger is not None:
        raise InvalidInput("a ledger is charged when a release is written: name a target")
    if terms.person is not None:
        raise NotSupported("counting the rows of a person on many machines", ["release_file, which sees them in order"])
    tell(batch_release(mechanism, terms))
    return Job(token_hex(16), mechanism, terms)


def written_once(job: Job, target: Any, write: Callable[[str], object], data: str | None = None) -> None:
    """Write Parquet files to a hidden folder, charge for their rows, move it into place: all appears, or nothing."""
    place = Path(target)
    if place.exists():
        raise InvalidInput(f"{place} is already there: a release is written once, name another target")
    writable(place)
    hidden = place.with_name(f".{place.name}.{token_hex(8)}.part")
    try:
        write(str(hidden))
        if job.terms.ledger is not None:
            rows = pyarrow.dataset.dataset(hidden, format="parquet").count_rows()
            replace(job.work(), terms=job.terms).charge(rows, data)
        hidden.rename(place)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise


def fingerprint_of(marks: Sequence[Any]) -> str:
    """The fingerprint of a table, as :class:`~sfumato.release.keys.Fingerprint` writes it, from the sums of MARKS."""
    quarters = [int(mark or 0) for mark in marks]
    halves = (low + (high << 32) & (1 << 64) - 1 for low, high in zip(quarters[::2], quarters[1::2], strict=True))
    return "".join(f"{half:016x}" for half in halves)


def refuse_changed(ids: int) -> None:
    """One id with two secrets would get two answers from the same randomness."""
    if ids:
        raise InvalidInput(
            f"{ids} row id{'s come' if ids > 1 else ' comes'} with more than one secret: the answers would share their "
            "randomness; a row id names a row and its secret"
        )
