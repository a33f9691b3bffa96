"""Releases on Apache Spark: the batch kernel in ``mapInArrow``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any, Unpack

import pyarrow as pa

from sfumato.errors import InvalidInput, NotSupported, SfumatoError, expect, needs
from sfumato.fields import with_fields
from sfumato.release.engines.job import CHECK_SCHEMA, MARKS, Job, fingerprint_of, job_of, refuse_changed, written_once
from sfumato.release.fields import TermFields
from sfumato.release.geometry import refuse_geometry_types
from sfumato.release.tables import released_schema
from sfumato.release.terms import Column, Terms, terms_of

_MARK = "sfumato refuses: "  # finds the error of a worker in what Spark makes of it


@with_fields(Terms)
def release_spark(
    mechanism: Any,
    frame: Any,
    column: Column | Terms,
    target: str | PathLike[str] | None = None,
    **keywords: Unpack[TermFields],
) -> Any:
    """Release a column of a Spark frame, and return a frame with the outputs.

    Without a key the release is written to ``target`` (a folder of Parquet files), once, and what comes back reads it:
    a frame that still had to draw would draw again at every action. With ``key`` and ``row_id`` the noise is a function
    of the row, so that a lazy frame, repeated tasks and other partitions all give the same answer; ``target`` may be
    left out then.

    Parameters are those of :class:`~sfumato.release.terms.Terms`; ``most_moved`` and ``most_dropped`` are shares of
    each partition, since a worker knows no other rows.
    """
    with needs("spark", "pyspark"):
        from pyspark.sql import DataFrame
        from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    frame = expect(frame, DataFrame, "a frame of Spark")
    job = job_of(mechanism, terms_of(column, keywords), target)
    refuse_geometry_types({field.name: field.dataType.typeName() for field in frame.schema.fields}, job.work())
    schema = from_arrow_schema(released_schema(to_arrow_schema(frame.schema), job.work()))
    with _errors_of_workers():
        data = None if job.terms.key is None else _checked_rows(frame, job, from_arrow_schema(CHECK_SCHEMA))
    lazy = frame.mapInArrow(_PartitionTask(job, "released"), schema)
    if target is None:
        return lazy
    if "://" in str(target):
        raise NotSupported(f"the target {target}", ["a folder of this machine, from which it can be moved elsewhere"])
    with _errors_of_workers():
        written_once(job, target, lazy.write.mode("error").parquet, data)
    return frame.sparkSession.read.schema(schema).parquet(str(target))


class _PartitionTask:
    """What a worker does with its partition; a value, so that it can be sent there."""

    def __init__(self, job: Job, step: str) -> None:
        self.job, self.step = job, step

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        part = None if context is None else context.partitionId()
        try:
            yield from getattr(self.job, self.step)(batches, part)
        except SfumatoError as error:
            raise ValueError(f"{_MARK}{error}") from error


def _checked_rows(frame: Any, job: Job, schema: Any) -> str:
    """Group what the workers know of row ids and their secrets; the fingerprint of the table."""
    from pyspark.sql import functions

    pairs = frame.mapInArrow(_PartitionTask(job, "identities"), schema)
    sums = [functions.sum(name).alias(name) for name in MARKS]
    grouped = pairs.groupBy("id").agg(
        functions.min("secret").alias("low"), functions.max("secret").alias("high"), *sums
    )
    changed, *marks = grouped.agg(functions.sum(functions.expr("int(low != high)")), *sums).first()
    refuse_changed(int(changed or 0))
    return fingerprint_of(marks)


@contextmanager
def _errors_of_workers() -> Iterator[None]:
    """The error of a worker, out of the pages that Spark puts around it."""
    try:
        yield
    except Exception as error:
        text = str(error)
        if _MARK not in text:
            raise
        raise InvalidInput(text.split(_MARK, 1)[1].splitlines()[0]) from error
