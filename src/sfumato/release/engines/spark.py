"""Releases on Apache Spark: the batch kernel in ``mapInArrow``."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sfumato.errors import InvalidInput, MissingExtra, NotSupported, SfumatoError, expect
from sfumato.numbers import Number
from sfumato.release.batches import Column, RowId
from sfumato.release.engines.job import CHECK_SCHEMA, MARKS, Job, fingerprint_of, job, refuse_changed, written_once
from sfumato.release.geometry import refuse_geometry_types
from sfumato.release.tables import released_schema

if TYPE_CHECKING:
    from sfumato.release.ledger import Ledger

__all__ = ["release_spark"]

_MARK = "sfumato refuses: "  # finds the error of a worker in what Spark makes of it


def release_spark(
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
    """Release a column of a Spark frame, and return a frame with the outputs.

    Without a key the release is written to ``target`` (a folder of Parquet files), once, and what comes back reads it:
    a frame that still had to draw would draw again at every action. With ``key`` and ``row_id`` the noise is a function
    of the row, so that a lazy frame, repeated tasks and other partitions all give the same answer; ``target`` may be
    left out then.

    Parameters are those of :func:`sfumato.release.tables.release`; ``most_moved`` is a share of each partition, since a
    worker knows no other rows.
    """
    try:
        from pyspark.sql import DataFrame
        from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    except ImportError as error:
        raise MissingExtra("spark", "pyspark") from error
    frame = expect(frame, DataFrame, "a frame of Spark")
    asked = job(
        mechanism, column, into=into, keep=keep, on_unknown=on_unknown, within=within, most_moved=most_moved, key=key,
        row_id=row_id, secret_never_changes=secret_never_changes, ledger=ledger, dataset=dataset, times=times,
        target=target,
    )  # fmt: skip
    refuse_geometry_types({field.name: field.dataType.typeName() for field in frame.schema.fields}, asked.work())
    schema = from_arrow_schema(released_schema(to_arrow_schema(frame.schema), asked.work()))
    data = None if asked.key is None else _checked_rows(frame, asked, from_arrow_schema(CHECK_SCHEMA))
    lazy = frame.mapInArrow(_Part(asked, "released"), schema)
    if target is None:
        return lazy
    if "://" in str(target):
        raise NotSupported(f"the target {target}", ["a folder of this machine, from which it can be moved elsewhere"])
    written_once(asked, target, lambda folder: _written(lazy, folder), ledger, dataset, times, data)
    return frame.sparkSession.read.schema(schema).parquet(str(target))


class _Part:
    """What a worker does with its partition; a value, so that it can be sent there."""

    def __init__(self, asked: Job, step: str) -> None:
        self.asked, self.step = asked, step

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        part = None if context is None else context.partitionId()
        try:
            yield from getattr(self.asked, self.step)(batches, part)
        except SfumatoError as error:
            raise ValueError(f"{_MARK}{error}") from error


def _written(frame: Any, folder: str) -> None:
    try:
        frame.write.mode("error").parquet(folder)
    except Exception as error:
        raise _translated(error) from error


def _checked_rows(frame: Any, asked: Job, schema: Any) -> str:
    """Group what the workers know of row ids and their secrets; the fingerprint of the table."""
    from pyspark.sql import functions

    pairs = frame.mapInArrow(_Part(asked, "identities"), schema)
    sums = [functions.sum(name).alias(name) for name in MARKS]
    grouped = pairs.groupBy("id").agg(
        functions.min("secret").alias("low"), functions.max("secret").alias("high"), *sums
    )
    try:
        changed, *marks = grouped.agg(functions.sum(functions.expr("int(low != high)")), *sums).first()
    except Exception as error:
        raise _translated(error) from error
    refuse_changed(int(changed or 0))
    return fingerprint_of(marks)


def _translated(error: Exception) -> Exception:
    """The error of a worker, out of the pages that Spark puts around it."""
    text = str(error)
    if _MARK not in text:
        return error
    return InvalidInput(text.split(_MARK, 1)[1].splitlines()[0])
