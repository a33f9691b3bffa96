"""Files of every format that can be released: how a test writes and reads them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq

__all__ = ["FORMATS", "leftovers"]


def write_parquet(table: Any, path: Path) -> None:
    pq.write_table(table, path, row_group_size=700)


def write_arrow(table: Any, path: Path) -> None:
    with (pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file)(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=700)


def read_arrow(path: Path) -> Any:
    return (pa.ipc.open_stream if path.suffix == ".arrows" else pa.ipc.open_file)(path.read_bytes()).read_all()


def write_lines(table: Any, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


def read_lines(path: Path) -> Any:
    return pa.Table.from_pylist([json.loads(line) for line in path.read_text().splitlines()])


FORMATS: dict[str, tuple[Callable[[Any, Path], None], Callable[[Path], Any]]] = {
    ".csv": (pyarrow.csv.write_csv, pyarrow.csv.read_csv),
    ".jsonl": (write_lines, read_lines),
    ".parquet": (write_parquet, pq.read_table),
    ".arrow": (write_arrow, read_arrow),
    ".arrows": (write_arrow, read_arrow),
}


def leftovers(folder: Path) -> list[str]:
    """What an unfinished release has left in a folder."""
    return sorted(name for name in os.listdir(folder) if name.endswith(".part"))
