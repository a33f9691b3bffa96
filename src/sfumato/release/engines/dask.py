"""Releases on Dask: the batch kernel on every partition of a dataframe."""

from __future__ import annotations

from os import PathLike
from typing import Any, Unpack

import pyarrow as pa

from sfumato.errors import expect, needs
from sfumato.fields import with_fields
from sfumato.release.batches import BATCH
from sfumato.release.engines.job import (
    CHECK_SCHEMA,
    MARKS,
    Job,
    fingerprint_of,
    job_of,
    of_part,
    refuse_changed,
    written_once,
)
from sfumato.release.fields import TermFields
from sfumato.release.tables import order_after, released_table
from sfumato.release.terms import Column, Terms, terms_of


@with_fields(Terms)
def release_dask(
    mechanism: Any,
    frame: Any,
    column: Column | Terms,
    target: str | PathLike[str] | None = None,
    **keywords: Unpack[TermFields],
) -> Any:
    """Release a column of a Dask dataframe, and return a dataframe with the outputs.

    As on Spark (:func:`sfumato.release.engines.spark.release_spark`): without a key it is written to ``target``, a
    folder of Parquet files, once; with ``key`` and ``row_id`` it may stay lazy.
    """
    with needs("dask", "dask"):
        import dask.dataframe as dd
    frame = expect(frame, dd.DataFrame, "a dataframe of Dask")
    job = job_of(mechanism, terms_of(column, keywords), target)
    order_after(list(frame.columns), job.work())
    data = None if job.terms.key is None else _checked_rows(frame, job)
    meta = _released(frame._meta_nonempty.iloc[:0], job)
    lazy = frame.map_partitions(_released, job, meta=meta, enforce_metadata=False)
    if target is None:
        return lazy
    written_once(job, target, lambda folder: lazy.to_parquet(folder), data)
    return dd.read_parquet(str(target))


def _released(part: Any, job: Job, partition_info: Any = None) -> Any:
    """One partition, a pandas dataframe, released."""
    work = job.work()
    with of_part(None if partition_info is None else partition_info["number"]):
        return released_table(part, work, BATCH)


def _checked_rows(frame: Any, job: Job) -> str:
    """Group what the workers know of row ids and their secrets; the fingerprint of the table."""
    import dask
    import pandas as pd

    names = [*job.terms.taken, *job.terms.ids]

    def identities(part: Any) -> Any:
        batches = job.identities(pa.Table.from_pandas(part[names], preserve_index=False).to_batches())
        return pa.Table.from_batches(batches, schema=CHECK_SCHEMA).to_pandas()

    whole = {name: pd.Series([], dtype="int64") for name in ("secret", *MARKS)}
    pairs = frame.map_partitions(identities, meta=pd.DataFrame({"id": pd.Series([], dtype=object), **whole}))
    grouped = pairs.groupby("id")["secret"].agg(["min", "max"])
    changed, marks = dask.compute((grouped["min"] != grouped["max"]).sum(), pairs[list(MARKS)].sum())
    refuse_changed(int(changed))
    return fingerprint_of([marks[name] for name in MARKS])
