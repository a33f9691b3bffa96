"""Measurements for figures of the gallery: rows of the tables that ``make bench`` keeps in benchmarks/results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["measured"]

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"


def measured(name: str, *columns: str) -> list[tuple[Any, ...]]:
    """The named columns of a table that is kept, as rows; rows where one of them is no number are left out."""
    result = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    where = [result["columns"].index(column) for column in columns]
    rows = [tuple(row[k] for k in where) for row in result["rows"]]
    return [row for row in rows if all(isinstance(cell, int | float) for cell in row[1:])]
