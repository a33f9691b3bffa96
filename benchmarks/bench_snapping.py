"""What snapping to cells breaks: pairs of real points for which a release promises more than it keeps, and how many.

The pickups of New York in a box of 10 × 10 km with its south-west corner at 40.70 N, 74.02 W, cells of 500 m, odds
double per km. A pair is two pickups, drawn independently, as points of the box in doubles. A release that snaps tells
each by the row of its cell, and then owes e^{ε·distance} of the two points: it breaks that where the largest ratio of
the two rows is larger. Three tables are snapped: the best one for the cells, the exponential mechanism on them, and the
smooth one itself, by its nearest row. Doubles decide where their error allows it, rationals where not.

    python benchmarks/bench_snapping.py
    python benchmarks/bench_snapping.py --pairs 100000 --file newyork.sfm     # a mechanism for coordinates in a file

``--pickups`` names a JSON list of rows [longitude, latitude, number]; by default it is looked for in ``shared/data``
beside the checkout, and without it nothing is measured.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from bench_plane import PICKUPS, pickups, placed
from sfumato.spaces.box import Box
from timing import Table

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from point_pairs import Counts, compiled_tables, put_to, row_ratios, snapped_breaks

SEED = 20
CHUNK = 1 << 16
NEAR = 0.5  # km: a side of a cell


def main() -> int:
    """Count, report, and end with status 1 where the smooth release breaks its promise."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for a design")
    parser.add_argument("--file", type=Path, help="a mechanism for coordinates of the box, instead of a design")
    parser.add_argument("--pickups", type=Path, default=PICKUPS)
    given = parser.parse_args()
    if not given.pickups.exists():
        print(f"there is no {given.pickups}: nothing is measured")
        return 0
    box, prior = pickups(given.pickups)
    smooth = sf.load(given.file) if given.file is not None else smooth_design(box, prior, given.limit)
    print(f"{smooth!r}, rate {float(smooth.rate):.6g}, seed {given.seed}", flush=True)
    cells = sf.grid(*box.shape, step=box.step[0], unit="km")
    known = sf.Prior(cells, prior.weights.ravel())
    privacy = sf.PrivacyType(cells, alpha="1/2")
    best = sf.design(known, sf.losses.distance(cells), privacy, tolerance=0.01, time_limit=given.limit)
    tables = {
        "best for cells, snapped": best.mechanism,
        "exponential on cells, snapped": sf.mechanisms.exponential(privacy),
    }
    pairs = partial(real_pairs, given.pickups, given.pairs, given.seed)
    table = Table(
        "snapping",
        f"Pairs of real points against a promise about coordinates, seed {given.seed}",
        ("release", "pairs", "decided in rationals", "break the promise", "share", "share within 500 m"),
    )
    found = both(smooth, pairs())
    table.add("smooth, for coordinates", *line(*((c.pairs, c.exact, c.violations) for c in found)))
    table.add("its table, snapped", *line(*((c.pairs, 0, c.snapped) for c in found)))
    for name, mechanism in tables.items():
        table.add(name, *line(*snapped(mechanism, box, pairs())))
    table.finish()
    return 1 if sum(c.violations for c in found) else 0


def smooth_design(box: Box, prior: sf.Prior, limit: float) -> Any:
    """The best that is found in time for all points of the box."""
    privacy = sf.PrivacyType(box, alpha="1/2")
    return sf.design(prior, sf.losses.distance(box), privacy, tolerance=0.05, time_limit=limit).mechanism


def real_pairs(path: Path, pairs: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Two pickups each, chunk by chunk: the same ones for every release."""
    places, number = placed(path)
    rng = np.random.default_rng(seed)
    people = np.repeat(np.arange(len(places)), number)
    for start in range(0, pairs, CHUNK):
        many = min(CHUNK, pairs - start)
        first, second = rng.integers(0, len(people), (2, many))
        yield places[people[first]], places[people[second]]


def both(mechanism: Any, chunks: Iterator[tuple[np.ndarray, np.ndarray]]) -> tuple[Counts, Counts]:
    """All pairs, and those that are near, against a promise about coordinates; compiled code runs on all cores."""
    tables = compiled_tables(mechanism)

    def count(chunk: tuple[np.ndarray, np.ndarray]) -> tuple[Counts, Counts]:
        close = near(*chunk)
        here, there = (put_to(mechanism, tables, *(points[part] for points in chunk)) for part in (close, ~close))
        return here + there, here

    with ThreadPoolExecutor(os.cpu_count()) as workers:
        found = list(workers.map(count, chunks))
    return sum((all_of for all_of, _ in found), Counts()), sum((close for _, close in found), Counts())


def snapped(
    mechanism: Any, box: Box, chunks: Iterator[tuple[np.ndarray, np.ndarray]]
) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """The same for a table of cells: pairs, decided in rationals, broken; of all and of the near ones."""
    ratios = row_ratios(mechanism)
    total, close = np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64)
    for first, second in chunks:
        broken, exact = snapped_breaks(mechanism, ratios, box, first, second)
        here = near(first, second)
        total += len(first), exact, int(broken.sum())
        close += int(here.sum()), 0, int(broken[here].sum())
    return tuple(total.tolist()), tuple(close.tolist())  # type: ignore[return-value]


def near(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Which pairs are no farther apart than a cell is wide, and not at one place."""
    apart = np.linalg.norm(first - second, axis=1)
    return (apart <= NEAR) & (apart > 0)


def line(total: tuple[int, int, int], close: tuple[int, int, int]) -> tuple[Any, ...]:
    """Pairs, decided in rationals, broken, and both shares."""
    return (*total, *(f"{broken / max(pairs, 1):.3%}" for pairs, _, broken in (total, close)))


if __name__ == "__main__":
    sys.exit(main())
