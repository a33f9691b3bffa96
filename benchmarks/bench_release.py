"""Rows a second of a release: every format of files, every table library, with fresh and with keyed noise; and one
large Parquet file into another, with peak memory and the distribution of what came out.

    python benchmarks/bench_release.py                     # 2,000,000 rows in every format and library
    python benchmarks/bench_release.py --rows 100000000    # only Parquet to Parquet, 2 GB of disk for each file

The mechanism is the exponential one on 20 × 20 cells (400 secrets, 400 outputs). Seconds are processor time of the
process, the least of three calls; the large file is timed once, by the clock and by the processor.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from subprocess import run
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from scipy.stats import chi2

import sfumato as sf
from sfumato.release.streams import release_file
from sfumato.release.tables import release_table
from timing import Table

SIDE = 20
KEY = bytes(range(32))
REPEATS = 3
CHUNK = 1 << 20
SPARSE = 10.0  # expected rows below which cells are counted together


def mechanism(labels: list[Any]) -> Any:
    city = sf.grid(SIDE, SIDE, unit="km")
    weights = sf.exponential(sf.PrivacyType(city, epsilon=1)).weights
    named = sf.points(city.coordinates, labels=labels, unit="km")
    return sf.prove(weights, sf.PrivacyType(named, epsilon=1), outputs=labels)


def people(rows: int, first: int, texts: Any) -> Any:
    """Rows of a table: an id, a home (uneven: cells in the middle are likelier) and an amount."""
    rng = np.random.default_rng(first)
    homes = np.clip(rng.normal(SIDE / 2, SIDE / 4, (2, rows)), 0, SIDE - 1).astype(np.int64)
    index = homes[0] * SIDE + homes[1]
    home = pa.array(index) if texts is None else texts.take(pa.array(index))
    return pa.table({"id": np.arange(first, first + rows), "home": home, "amount": rng.normal(size=rows).round(4)})


def least_seconds(work: Callable[[], Any]) -> tuple[float, float]:
    """Processor time and the clock."""
    work()
    best = (float("inf"), float("inf"))
    for _ in range(REPEATS):
        clock, processor = perf_counter(), process_time()
        work()
        best = min(best, (process_time() - processor, perf_counter() - clock))
    return best


# ----------------------------------------------------------------- formats and libraries


def write_lines(table: Any, path: Path) -> None:
    with path.open("w") as file:
        for batch in table.to_batches(max_chunksize=100_000):
            file.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())


def write_arrow(table: Any, path: Path) -> None:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=1 << 16)


FORMATS: dict[str, Callable[[Any, Path], None]] = {
    "csv": pyarrow.csv.write_csv,
    "jsonl": write_lines,
    "parquet": pq.write_table,
    "arrow": write_arrow,
}


def libraries(table: Any) -> dict[str, Any]:
    import duckdb
    import polars as pl

    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("CREATE TABLE people AS SELECT * FROM given")
    frame: Any = pl.from_arrow(table)
    return {
        "pandas": table.to_pandas(),
        "polars": frame,
        "polars, lazy": frame.lazy(),
        "pyarrow": table,
        "DuckDB": connection.sql("SELECT * FROM people"),
    }


def formats_and_libraries(rows: int) -> None:
    texts = [f"cell {k:03d}" for k in range(SIDE * SIDE)]
    city = mechanism(texts)
    table = people(rows, 0, pa.array(texts))
    report = Table(
        "release",
        f"Millions of rows a second of a release, {rows:,} rows, 400 secrets",
        ("from", "fresh", "fresh, by the clock", "keyed", "keyed, by the clock"),
    )
    keyed = {"key": KEY, "row_id": "id"}

    def add(name: str, work: Callable[[dict[str, Any]], Any], count: int = rows) -> None:
        seconds = (*least_seconds(lambda: work({})), *least_seconds(lambda: work(keyed)))
        report.add(name, *(count / second / 1e6 for second in seconds))

    for name, given in libraries(table).items():
        add(name, lambda options, given=given: release_table(city, given, "home", **options))
    with TemporaryDirectory(dir=".") as folder:
        for name, write in FORMATS.items():
            source, target = Path(folder) / f"in.{name}", Path(folder) / f"out.{name}"
            write(table, source)
            add(name, lambda o, s=source, t=target: release_file(city, s, t, "home", overwrite=True, **o))
    report.finish()


# ----------------------------------------------------------------- one large file


WORKER = """
import json, sys
from resource import RUSAGE_SELF, getrusage
from time import perf_counter, process_time
from sfumato.release.streams import release_file
file, source, target, keyed = sys.argv[1:]
options = {"key": bytes(range(32)), "row_id": "id"} if keyed == "keyed" else {}
clock, processor = perf_counter(), process_time()
done = release_file(file, source, target, "home", overwrite=True, **options)
print(json.dumps({"rows": done.rows, "clock": perf_counter() - clock, "processor": process_time() - processor,
                  "megabytes": getrusage(RUSAGE_SELF).ru_maxrss / 1024}))
"""


def large_file(rows: int, folder: Path, *, keyed: bool) -> None:
    labels = list(range(SIDE * SIDE))
    city = mechanism(labels)
    sf.save(city, folder / "city.sfm", overwrite=True)
    source, target = folder / "in.parquet", folder / "out.parquet"
    with pq.ParquetWriter(source, people(1, 0, None).schema) as writer:
        for first in range(0, rows, CHUNK):
            writer.write_table(people(min(CHUNK, rows - first), first, None))
    report = Table(
        f"release_{rows}",
        f"Parquet to Parquet, {rows:,} rows, 400 secrets",
        ("noise", "millions of rows a second", "of processor time", "peak memory, MB", "chi-squared p", "cells"),
    )
    for noise in ("fresh", "keyed") if keyed else ("fresh",):
        command = [sys.executable, "-c", WORKER, str(folder / "city.sfm"), str(source), str(target), noise]
        done = json.loads(run(command, check=True, capture_output=True, text=True).stdout)
        assert done["rows"] == rows
        p, cells = goodness(city, source, target)
        rates = (rows / done[name] / 1e6 for name in ("clock", "processor"))
        report.add(noise, *rates, done["megabytes"], p, cells)
    report.finish()
    print(f"this process: {getrusage(RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def columns(path: Path) -> Iterator[Any]:
    for batch in pq.ParquetFile(path).iter_batches(columns=["id", "home"], batch_size=CHUNK):
        yield batch["id"].to_numpy(), batch["home"].to_numpy()


def goodness(city: Any, source: Path, target: Path) -> tuple[float, int]:
    """The p-value of the counts of (secret, output), given the secrets; rare outputs of a secret count together."""
    n = SIDE * SIDE
    joint = np.zeros(n * n, dtype=np.int64)
    for (ids, truth), (same, noise) in zip(columns(source), columns(target), strict=True):
        assert (ids == same).all()
        joint += np.bincount(truth * n + noise, minlength=n * n)
    counted = joint.reshape(n, n)
    weights = np.asarray(city.weights, dtype=np.float64)
    expected = counted.sum(axis=1, keepdims=True) * weights / weights.sum(axis=1, keepdims=True)
    statistic, freedom = 0.0, 0
    for counts, mean in zip(counted, expected, strict=True):
        rare = mean < SPARSE
        together = np.append(counts[~rare], counts[rare].sum()), np.append(mean[~rare], mean[rare].sum())
        keep = together[1] > 0
        statistic += float(((together[0] - together[1]) ** 2 / np.where(keep, together[1], 1.0))[keep].sum())
        freedom += int(keep.sum()) - 1
    return float(chi2.sf(statistic, freedom)), freedom


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=0, help="release one Parquet file of so many rows")
    parser.add_argument("--keyed", action="store_true", help="with keyed noise as well")
    parser.add_argument("--table-rows", type=int, default=2_000_000)
    given = parser.parse_args()
    if given.rows:
        with TemporaryDirectory(dir=".") as folder:
            large_file(given.rows, Path(folder), keyed=given.keyed)
        return
    formats_and_libraries(given.table_rows)


if __name__ == "__main__":
    main()
