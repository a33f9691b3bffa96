"""ε*(γ, δ) on one core: single values, the grid of 20 × 20 values at 50 points, and the bounds around it.

"goal" is the time that was asked for, where one was; "CPU" counts all cores and is what to compare on a busy machine.
The answer of a grid is the number of programs that were solved and the widest bracket as a ratio. ``--only PATTERN``
runs the cases whose name matches.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.theory.compatibility import epsilon_star, least_exponential, packing_bound, tradeoff_grid
from timing import Table, measure

DELTAS = np.geomspace(0.01, 0.5, 20).tolist()
RADII = np.linspace(0.02, 0.6, 20).round(3).tolist()  # from next neighbours to half of the square


def main() -> None:
    """Print and write the table."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--only", default="", help="a pattern for the names of cases")
    only = parser.parse_args().only
    table = Table("compatibility", "Privacy-compatibility", ("case", "answer", "seconds", "CPU, s", "goal, s"),
                  ("case",), "seconds")  # fmt: skip
    for case, goal, repeats, work in _cases():
        if not re.search(only, case):
            continue
        kept: list[Any] = []
        spent: list[float] = []

        def watched(work: Callable[[], Any] = work, kept: list[Any] = kept, spent: list[float] = spent) -> None:
            began = process_time()
            kept.append(work())
            spent.append(process_time() - began)

        timing = measure(watched, repeats)
        table.add(case, _shown(kept[-1]), timing.median, min(spent), goal)
    table.finish()


def _shown(result: Any) -> str:
    """A grid of values, one value between its two sides, or a bound."""
    if hasattr(result, "solved"):
        positive = result.low > 0
        return f"{result.solved} programs, width {(result.high[positive] / result.low[positive]).max():.3f}"
    if hasattr(result, "low"):
        return f"{float(result.low):.5g} … {float(result.high or 0):.5g}"
    return f"{float(result.epsilon):.5g}"


def _cases() -> Iterator[tuple[str, float | str, int, Callable[[], Any]]]:
    for n in (10, 50, 100):
        space = sf.line(n)
        yield f"ε*(n/10, 1/10), line of {n}", "—", 2, lambda s=space, n=n: epsilon_star(s, n // 10, "1/10")
    fifty = sf.line(50)
    yield "packing bound, line of 50", "—", 2, lambda: packing_bound(fifty, 5, "1/10")
    yield "best base measure, line of 50", "—", 1, lambda: least_exponential(fifty, 5, "1/10", base="best")
    yield "20 × 20 values, line of 50, to 5 %", 60.0, 0, lambda: tradeoff_grid(fifty, range(20), DELTAS)
    scattered = sf.points(np.random.default_rng(0).random((50, 2)).round(4).tolist())
    yield "20 × 20 values, 50 points in a square, to 5 %", 60.0, 0, lambda: tradeoff_grid(scattered, RADII, DELTAS)


if __name__ == "__main__":
    main()
