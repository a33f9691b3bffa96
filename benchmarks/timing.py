"""How the benchmarks measure and how they report: medians after a warm-up call, tables as text, Markdown and JSON."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from os import cpu_count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

__all__ = ["Table", "Timing", "measure", "measure_side_by_side"]

RESULTS = Path(__file__).resolve().parents[1] / "out" / "benchmarks"


@dataclass(frozen=True)
class Timing:
    """Seconds of the first call (with compilation, or loading of compiled code) and the median of later ones."""

    first: float
    median: float


def measure(function: Callable[[], Any], repeats: int) -> Timing:
    """Time one warm-up call and ``repeats`` more; with no repeats the first call is the median."""
    return measure_side_by_side({"only": function}, repeats)["only"]


def measure_side_by_side(functions: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, Timing]:
    """Time several functions in turns, so that a busy moment of the machine strikes all of them alike."""
    first = {name: _seconds(function) for name, function in functions.items()}
    later: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            later[name].append(_seconds(function))
    return {name: Timing(first[name], median(later[name] or [first[name]])) for name in functions}


def _seconds(function: Callable[[], Any]) -> float:
    start = perf_counter()
    function()
    return perf_counter() - start


@dataclass
class Table:
    """Rows under headings; floats are shown with three digits and kept in full in the JSON file."""

    name: str
    title: str
    headings: tuple[str, ...]
    rows: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, *cells: Any) -> None:
        """Append a row and print it, so that a long run shows where it is."""
        if len(cells) != len(self.headings):
            raise ValueError(f"{len(cells)} cells for {len(self.headings)} headings")
        self.rows.append(cells)
        print("·", " | ".join(map(_shown, cells)), flush=True)

    def finish(self) -> None:
        """Print the table in aligned columns; write NAME.md and NAME.json to out/benchmarks."""
        print(f"\n{self.title}\n\n{self.text()}\n", flush=True)
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / f"{self.name}.md").write_text(f"# {self.title}\n\n{self.markdown()}\n", encoding="utf-8")
        content = {"title": self.title, "machine": _machine(), "headings": self.headings, "rows": self.rows}
        (RESULTS / f"{self.name}.json").write_text(json.dumps(content, indent=1, default=str), encoding="utf-8")

    def text(self) -> str:
        """The table in aligned columns."""
        lines = [self.headings, *(tuple(map(_shown, row)) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)

    def markdown(self) -> str:
        """The table in Markdown."""
        lines = [self.headings, ("---",) * len(self.headings), *(tuple(map(_shown, row)) for row in self.rows)]
        return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _shown(cell: Any) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)


def _machine() -> dict[str, Any]:
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": cpu_count(),
        "python": platform.python_version(),
        **{package: _version(package) for package in ("sfumato", "qif", "numpy", "scipy", "numba")},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
