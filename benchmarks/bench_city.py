"""A city with a real prior, from points to four files: what points move on average, at best, by noise; seconds; size.

    python benchmarks/bench_city.py                                  # a made town, odds double at 250 m to 2 km
    python benchmarks/bench_city.py --prior census.csv               # people of a public file of points with weights
    python benchmarks/bench_city.py --hide "500 m" --limit 300 --large

The box is that of the README, some 10.5 × 11.5 km, or with ``--large`` one of 34 × 39 km around it with three times the
limit; by default one row of that follows the others. Without a file people are a stated sum of bumps, seed fixed, on
points 400 m apart; ``none`` is no prior. Beside the design stand the bound that no mechanism goes below, planar Laplace
noise (2/ε), and what who tells nothing loses. Each question is asked in a process of its own after one that compiles.
"""

from __future__ import annotations

import csv
import json
import sys
from argparse import ArgumentParser
from math import log
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

import sfumato as sf
from timing import Table

BOX = (40.70, -74.02, 40.80, -73.90)
LARGE = (40.55, -74.10, 40.90, -73.70)
SEED, BUMPS = 7, {BOX: 40, LARGE: 460}  # as many for each km²


def written_town(path: Path, box: tuple[float, float, float, float]) -> None:
    """People on a grid of points: bumps of many sizes, and a few everywhere."""
    rng = np.random.default_rng(SEED)
    south, west, north, east = box
    lat, lon = np.meshgrid(np.arange(south, north, 0.0036), np.arange(west, east, 0.0047), indexing="ij")
    people = np.full(lat.shape, 20.0)
    for _ in range(BUMPS[box]):
        y, x = rng.uniform(south, north), rng.uniform(west, east)
        size, width = rng.lognormal(6.0, 1.0), rng.uniform(0.004, 0.015)
        people += size * np.exp(-((lat - y) ** 2 + (0.76 * (lon - x)) ** 2) / (2 * width**2))
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("lat", "lon", "population"))
        writer.writerows(zip(lat.ravel(), lon.ravel(), np.rint(people).astype(int).ravel(), strict=True))


def written_points(path: Path) -> None:
    """A thousand points, evenly in the box."""
    rng = np.random.default_rng(SEED)
    south, west, north, east = BOX
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("lat", "lon"))
        writer.writerows(zip(rng.uniform(south, north, 1000), rng.uniform(west, east, 1000), strict=True))


def once(source: Path, prior: str, distance: str, limit: float, large: bool) -> dict[str, Any]:
    """One call in this process, measured."""
    started = perf_counter()
    known = {} if prior == "none" else {"prior": prior}
    box = LARGE if large else BOX
    done = sf.hide(source, distance, box=box, output=source.with_name("hidden.csv"), overwrite=True,
                   time_limit=limit, **known)  # fmt: skip
    return {
        "seconds": perf_counter() - started, "loss": float(done.design.loss), "bound": float(done.design.bound),
        "gap": done.design.gap, "bytes": done.files[1].stat().st_size, "method": done.design.method,
    }  # fmt: skip


def apart(source: Path, prior: str, distance: str, limit: float, large: bool = False) -> dict[str, Any]:
    """The same in a process of its own."""
    words = [sys.executable, __file__, "--once", str(source), prior, distance, str(limit), *(["--large"] * large)]
    found: dict[str, Any] = json.loads(run(words, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure and report."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--prior", default="", help="a file of points with weights, or none; a made town by default")
    parser.add_argument("--hide", nargs="+", default=["250 m", "500 m", "1 km", "2 km"], help="where odds double")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for the search, on the smaller box")
    parser.add_argument("--large", action="store_true", help="the larger box only")
    parser.add_argument("--once", nargs=4, metavar=("FILE", "PRIOR", "HIDE", "LIMIT"))
    given = parser.parse_args()
    if given.once:
        source, prior, distance, limit = given.once
        print(json.dumps(once(Path(source), prior, distance, float(limit), given.large)))
        return
    table = Table(
        "city", "A city with a prior", ("prior", "box", "hide", "km moved", "at best", "noise", "gap", "seconds", "MB"),
        ("prior", "box", "hide"), "seconds",
    )  # fmt: skip
    few = [] if given.large else [(distance, False) for distance in given.hide]
    many = [(distance, True) for distance in given.hide if given.large or distance == "500 m"]
    with TemporaryDirectory() as folder:
        source, towns = Path(folder) / "points.csv", [Path(folder) / "town.csv", Path(folder) / "large town.csv"]
        written_points(source)
        for path, box in zip(towns, (BOX, LARGE), strict=True):
            written_town(path, box)
        name = Path(given.prior).stem if given.prior else "made town"
        told = str(Path(given.prior).resolve()) if given.prior not in ("", "none") else given.prior
        apart(source, told or str(towns[0]), "2 km", 5.0)  # what is compiled is compiled once on a machine
        for distance, large in few + many:
            limit = given.limit * (3 if large else 1)
            found = apart(source, told or str(towns[large]), distance, limit, large)
            number, unit = distance.split()
            noise = 2 / log(2) * float(number) / (1000 if unit == "m" else 1)
            extent = "34 × 39 km" if large else "10 × 12 km"
            table.add(name, extent, distance, found["loss"], found["bound"], noise, found["gap"], found["seconds"],
                      found["bytes"] / 1e6)  # fmt: skip
    table.finish()


if __name__ == "__main__":
    main()
