"""How the benchmarks measure and how they report: medians after a warm-up call, tables as text and as small files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from statistics import median
from time import perf_counter
from typing import Any

import kept

__all__ = ["Table", "Timing", "cell_text", "markdown", "measure", "measure_side_by_side"]

_BEGAN = [perf_counter()]  # when this script began, then when its last table was finished


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
    """Rows under headings; floats are shown with three digits and kept in full in the file.

    ``case`` are the headings that name a row and ``time`` is the one with its seconds: ``compare.py`` puts two runs
    beside each other by them.
    """

    name: str
    title: str
    headings: tuple[str, ...]
    case: tuple[str, ...] = ()
    time: str | None = None
    rows: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, *cells: Any) -> None:
        """Append a row and print it, so that a long run shows where it is."""
        if len(cells) != len(self.headings):
            raise ValueError(f"{len(cells)} cells for {len(self.headings)} headings")
        self.rows.append(cells)
        print("·", " | ".join(map(cell_text, cells)), flush=True)

    def finish(self) -> None:
        """Print the table in aligned columns and write it to a file; :mod:`kept` says where."""
        print(f"\n{self.title}\n\n{self.text()}\n", flush=True)
        if self.rows:
            kept.write(self.result())

    def result(self) -> kept.Result:
        """The table with where it comes from."""
        rows = tuple(tuple(_plain(cell) for cell in row) for row in self.rows)
        _BEGAN.append(perf_counter())
        return kept.Result(
            self.name, self.title, self.headings, rows, kept.here(), kept.today(), kept.commit(), kept.command(),
            round(_BEGAN[-1] - _BEGAN[-2], 1), self.case, self.time, kept.packages(),
        )  # fmt: skip

    def text(self) -> str:
        """The table in aligned columns."""
        lines = [self.headings, *(tuple(map(cell_text, row)) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def markdown(headings: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """Rows under headings in Markdown."""
    lines = [headings, ("---",) * len(headings), *(tuple(map(cell_text, row)) for row in rows)]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def cell_text(cell: Any) -> str:
    """A cell as it is shown."""
    if isinstance(cell, float):
        return f"{cell:,.0f}" if isfinite(cell) and abs(cell) >= 1000 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) and abs(cell) >= 10_000 else str(cell)


def _plain(cell: Any) -> Any:
    """A cell as JSON keeps it: numbers of NumPy are numbers, everything else is a text."""
    if isinstance(cell, bool | int | float | str):
        return cell
    return cell.item() if hasattr(cell, "item") else str(cell)
