"""Releases on Dask: the batch kernel on every partition of a dataframe."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sfumato.errors import MissingExtra, expect
from sfumato.numbers import Number
from sfumato.release.batches import BATCH, Column, RowId
from sfumato.release.engines.job import (
    CHECK_SCHEMA,
    MARKS,
    Job,
    fingerprint_of,
    job,
    of_part,
    refuse_changed,
    written_once,
)
from sfumato.release.tables import order_after, released_table

if TYPE_CHECKING:
    from sfumato.release.ledger import Ledger

__all__ = ["release_dask"]


def release_dask(
    mechanism: Any,
    frame: Any,
    column: Column,
    target: str | PathLike[str] | None = None,
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
) -> Any:
    """Release a column of a Dask dataframe, and return a dataframe with the outputs.

    As on Spark (:func:`sfumato.release.engines.spark.release_spark`): without a key it is written to ``target``, a
    folder of Parquet files, once; with ``key`` and ``row_id`` it may stay lazy.
    """
    try:
        import dask.dataframe as dd
    except ImportError as error:
        raise MissingExtra("dask", "dask") from error
    frame = expect(frame, dd.DataFrame, "a dataframe of Dask")
    asked = job(
        mechanism, column, into=into, keep=keep, on_unknown=on_unknown, within=within, most_moved=most_moved, key=key,
        row_id=row_id, secret_never_changes=secret_never_changes, ledger=ledger, dataset=dataset, times=times,
        target=target,
    )  # fmt: skip
    order_after(list(frame.columns), asked.work())
    data = None if asked.key is None else _checked_rows(frame, asked)
    meta = _released(frame._meta_nonempty.iloc[:0], asked)
    lazy = frame.map_partitions(_released, asked, meta=meta, enforce_metadata=False)
    if target is None:
        return lazy
    written_once(asked, target, lambda folder: lazy.to_parquet(folder), ledger, dataset, times, data)
    return dd.read_parquet(str(target))


def _released(part: Any, asked: Job, partition_info: Any = None) -> Any:
    """One partition, a pandas dataframe, released."""
    work = asked.work()
    with of_part(None if partition_info is None else partition_info["number"]):
        return released_table(part, work, BATCH, lambda: work.finish(None, None))


def _checked_rows(frame: Any, asked: Job) -> str:
    """Group what the workers know of row ids and their secrets; the fingerprint of the table."""
    import dask
    import pandas as pd

    names = [*asked.work().taken, *asked.work().ids]

    def identities(part: Any) -> Any:
        batches = asked.identities(pa.Table.from_pandas(part[names], preserve_index=False).to_batches())
        return pa.Table.from_batches(batches, schema=CHECK_SCHEMA).to_pandas()

    whole = {name: pd.Series([], dtype="int64") for name in ("secret", *MARKS)}
    pairs = frame.map_partitions(identities, meta=pd.DataFrame({"id": pd.Series([], dtype=object), **whole}))
    grouped = pairs.groupby("id")["secret"].agg(["min", "max"])
    changed, marks = dask.compute((grouped["min"] != grouped["max"]).sum(), pairs[list(MARKS)].sum())
    refuse_changed(int(changed))
    return fingerprint_of([marks[name] for name in MARKS])
