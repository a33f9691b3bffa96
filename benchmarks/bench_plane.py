"""Coordinates: loss, bound and gap of designs on boxes, in seconds, with what covering all outputs costs.

An interval and a uniform square with εL = 8, and New York: a box of 10 × 10 km with its south-west corner at 40.70 N,
74.02 W and cells of 500 m, on which the prior counts pickups; odds double per km. The bound is about all mechanisms on
the box, with whatever outputs. "Covering" is what that costs: the bound beside the best of its finite problem with
outputs at its secrets alone, which is what a grid program would report, in parts of the loss.

    python benchmarks/bench_plane.py
    python benchmarks/bench_plane.py --only "New York" --limit 300

``--pickups`` names a JSON list of rows [longitude, latitude, number]; by default it is looked for in ``shared/data``
beside the checkout. Compiling is not counted.
"""

from __future__ import annotations

import argparse
import json
from fractions import Fraction
from pathlib import Path
from time import perf_counter

import numpy as np

import sfumato as sf
from sfumato.design.boxes.finite import FiniteProblem
from sfumato.design.boxes.prices import prices
from sfumato.design.boxes.symmetry import turns
from sfumato.spaces.box import Box
from sfumato.watch import Watch
from timing import Table

PICKUPS = Path(__file__).resolve().parents[2] / "shared" / "data" / "nyc-pickups.json"
WEST, SOUTH, RADIUS = -74.02, 40.70, 6371.0088
NEARLY_FLAT = (0, 5, 2)  # by dimension: cubes halved so often bend little, and fit into memory


def placed(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The pickups that lie in the box in New York, as points of it in km, and how many each stands for."""
    east, north, number = np.array(json.loads(path.read_text()), dtype=np.float64).T
    degree = np.pi / 180 * RADIUS
    places = np.stack([(east - WEST) * degree * np.cos(np.radians(SOUTH + 0.045)), (north - SOUTH) * degree])
    inside = ((places >= 0) & (places < 10)).all(axis=0)
    return places[:, inside].T, number[inside].astype(np.int64)


def pickups(path: Path) -> tuple[Box, sf.Prior]:
    """The box in New York and the counts of its cells."""
    box = sf.box((10, 10), step=Fraction(1, 2), unit="km")
    places, number = placed(path)
    counts = np.zeros(box.shape, dtype=np.int64)
    np.add.at(counts, tuple((places.T * 2).astype(np.int64)), number)
    return box, sf.Prior.on_cells(counts, box)


def covering_cost(design: sf.Design, prior: sf.Prior) -> float:
    """What is lost of the bound by outputs that are not in a list, as a part of the loss."""
    mechanism = design.mechanism
    bound, box, rate = mechanism.claim.bound, mechanism.box, mechanism.privacy.rate
    density = prior.float_weights
    group = turns(box, [box.breaks(i) for i in range(box.dimension)], density.reshape(box.shape))
    problem = FiniteProblem(box, bound.parts, density, rate, group)
    plain = float(prices(problem, NEARLY_FLAT[box.dimension - 1], 0, 1e-3, Watch()).sum())
    return (plain - float(bound.value)) / float(design.loss)


def main() -> None:
    """Design, measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="the cases whose name contains this")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for a design")
    parser.add_argument("--tolerance", type=float, help="instead of the gap of each case")
    parser.add_argument("--pickups", type=Path, default=PICKUPS)
    parser.add_argument("--uncovered", action="store_true", help="leave the column on covering out")
    given = parser.parse_args()
    table = Table("plane", "Coordinates: the best mechanism on a box", (
        "box", "gap asked", "lattice", "outputs", "loss", "bound", "gap", "covering", "seconds", "solving", "bounding",
        "proving",
    ), ("box", "gap asked"), "seconds")  # fmt: skip
    interval = sf.box((1,), step="1/20")
    cases = [("interval, εL = 8", interval, sf.Prior.uniform(interval), {"epsilon": 8}, 0.005)]
    for metric in ("euclidean", "manhattan", "chebyshev"):
        square = sf.box((1, 1), step="1/20", metric=metric)
        # the maximum of coordinates bends along diagonals, however far away, which makes covering dear
        aim = 0.08 if metric == "chebyshev" else 0.03
        cases.append((f"{metric} square, εL = 8", square, sf.Prior.uniform(square), {"epsilon": 8}, aim))
    cube = sf.box((1, 1, 1), step="1/6")
    cases.append(("cube, εL = 3", cube, sf.Prior.uniform(cube), {"epsilon": 3}, 0.06))
    if given.pickups.exists():
        town, prior = pickups(given.pickups)
        cases.append(("New York, odds double per km", town, prior, {"alpha": "1/2"}, 0.03))
    for name, box, prior, promise, tolerance in cases:
        if given.only not in name:
            continue
        privacy, loss = sf.PrivacyType(box, **promise), sf.losses.distance(box)
        sf.design(prior, loss, privacy, tolerance=0.5, time_limit=5)  # what is compiled and loaded once is not counted
        begun = perf_counter()
        aim = given.tolerance or tolerance
        design = sf.design(prior, loss, privacy, tolerance=aim, time_limit=given.limit)
        seconds = perf_counter() - begun
        cost = float("nan") if given.uncovered else covering_cost(design, prior)
        shape = " × ".join(map(str, design.mechanism.rounding.shape))
        table.add(
            name, f"{aim:.2%}", shape, len(design.mechanism.outputs), f"{float(design.loss):.5g}",
            f"{float(design.bound):.5g}", f"{design.gap:.2%}", f"{cost:.2%}", f"{seconds:.1f}",
            *(f"{design.seconds[part]:.1f}" for part in ("solve", "bound", "certify")),
        )  # fmt: skip
    table.finish()


if __name__ == "__main__":
    main()
