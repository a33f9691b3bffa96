"""Time limits and what calls really take: every solver at several limits, and a count with its closed form.

A call is to end within 1.2 times its limit and five seconds. Each case runs in a process of its own, once with a small
problem of the same kind, so that everything is compiled, and then with the limit. Wall-clock time depends on what else
the machine does, so the processor time of the call stands beside it; it counts both cores. The last columns say how far
the result is from the optimum at most, by which method, and how long the first word took.

    python benchmarks/bench_limits.py [LIMIT …]
"""

from __future__ import annotations

import resource
import sys
from time import perf_counter, process_time
from typing import Any

import numpy as np

import sfumato as sf
from isolation import NoResult, isolated
from sfumato.errors import TooLarge
from timing import Table

LIMITS = (3.0, 10.0)
MOST = 300.0  # seconds, after which a case is given up
CASES = (
    ("interior", "grid", 15), ("interior", "places", 300), ("interior-near", "places", 300),
    ("interior-near", "places", 1000), ("column-generation", "grid", 8), ("column-generation", "manhattan", 12),
    ("highs", "grid", 10), ("highs", "grid", 22), ("first-order", "manhattan", 30), ("interior-gpu", "grid", 15),
    ("exact", "manhattan", 5), ("exact", "manhattan", 8), ("auto", "places", 700), ("auto", "count", 2000),
)  # fmt: skip


def main() -> None:
    """Measure and report; limits may be given as arguments."""
    limits = [float(limit) for limit in sys.argv[1:]] or LIMITS
    columns = ("solver", "problem", "limit, s", "wall, s", "processor, s", "allowed, s", "peak, MiB", "gap", "method",
               "first word, s")  # fmt: skip
    table = Table("limits", "Whole calls with a time limit", columns)
    for solver, kind, size in CASES:
        for limit in limits:
            outcome = isolated(timed, solver, kind, size, limit, seconds=MOST)
            cells = (outcome.reason, *[""] * 5) if isinstance(outcome, NoResult) else outcome
            wall, processor, *rest = cells
            table.add(solver, f"{kind} {size}", limit, wall, processor, 1.2 * limit + 5, *rest)
    table.finish()


def timed(solver: str, kind: str, size: int, limit: float) -> tuple[Any, ...]:
    """Seconds by the wall and by the processor, memory, gap, method, and seconds to the first word."""
    warm(solver, kind)
    setting, words = question(kind, size), []
    begun, worked = perf_counter(), process_time()
    try:
        design = sf.design(
            *setting,
            solver=solver,
            time_limit=limit,
            progress=lambda _: words or words.append(perf_counter() - begun),
        )
        gap, method = design.gap, design.method
    except TooLarge as error:
        gap, method = "", f"refused: {str(error)[:120]}"
    wall, processor = perf_counter() - begun, process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return wall, processor, peak, gap, method, words[0] if words else ""


def warm(solver: str, kind: str) -> None:
    """Compile, or load what was compiled before: what is measured is a second call."""
    small = {"places": 30, "count": 150}.get(kind, 5)
    for size in (small, 2 * small if kind == "places" else small + 2):
        if solver != "exact":
            sf.design(*question(kind, size), solver=solver, time_limit=30)


def question(kind: str, size: int) -> tuple[sf.Prior, sf.Loss, sf.PrivacyType]:
    """Prior, loss and promise of a problem of some kind: lumpy priors, so that there are no symmetries."""
    rng = np.random.default_rng(3)
    if kind == "count":
        space = sf.count_query(size)
        return sf.Prior.uniform(space), sf.losses.absolute(space), sf.PrivacyType(space, epsilon=1)
    if kind == "places":
        space = sf.points(rng.uniform(0, 10, (size, 2)))
    else:
        space = sf.grid(size, size, metric="manhattan" if kind == "manhattan" else "euclidean")
    counts = 1 + (1000 * rng.exponential(size=len(space)) ** 2).astype(int)
    return (
        sf.Prior.from_counts(counts.tolist(), space),
        sf.losses.distance(space),
        sf.PrivacyType(space, alpha="1/2"),
    )


if __name__ == "__main__":
    main()
