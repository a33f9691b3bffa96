"""Ten million pairs of coordinates against a promise: none breaks it, by intervals, or in rationals where these touch.

    python benchmarks/bench_plane_pairs.py                                   # 2,000,000 pairs of each of five kinds
    python benchmarks/bench_plane_pairs.py --of design --pairs 10000         # of a design alone
    python benchmarks/bench_plane_pairs.py --pairs 10000 --file town.sfm     # of a mechanism for coordinates in a file

Far and near pairs (down to 6e-14 of the side of the box), pairs across a border of cells, inside of one cell, and at
corners of cells; one far pair in fifty has a point outside of the box. ``tests/point_pairs.py`` draws and decides them.
Without a file there are two mechanisms for 10 × 10 km and odds that double per km: planar Laplace noise on a lattice
with cells of 500 m, proved with the least ε that its coefficients allow, and a design for a town with a centre and a
suburb, whose lattice is finer where people are. "Snapped" takes the row of the cell that a point is in, of the same
table, under the same ε; what is counted there breaks the promise for certain.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato.certify.coordinates import BoxMechanism, prove_on_box
from sfumato.spaces.box import box
from sfumato.spaces.splines import rounding_of
from timing import Table

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from box_tables import TOTAL, kept_rate
from point_pairs import KINDS, checked_pairs

SEED = 19


def main() -> int:
    """Count, report, and end with status 1 where a pair breaks the promise."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--pairs", type=int, default=2_000_000, help="of each of the five kinds")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--file", type=Path, help="a mechanism for coordinates")
    parser.add_argument("--of", choices=("noise", "design", "both"), default="both", help="without a file")
    given = parser.parse_args()
    if given.file is not None:
        return counted("plane_pairs", "a proved promise", sf.load(given.file), given.pairs, given.seed)
    status = 0
    if given.of != "design":
        status += counted("plane_pairs", "the promise of noise", laplace_on_a_lattice(), given.pairs, given.seed)
    if given.of != "noise":
        status += counted("plane_pairs_design", "the promise of a design", design_of_a_town(), given.pairs, given.seed)
    return min(status, 1)


def counted(name: str, whose: str, mechanism: BoxMechanism, pairs: int, seed: int) -> int:
    """A table of what breaks a promise; 1 where a pair does."""
    print(f"{mechanism!r}, rate {float(mechanism.rate):.6g}, seed {seed}", flush=True)
    counts = checked_pairs(mechanism, pairs, seed)
    table = Table(
        name,
        f"Pairs of coordinates against {whose}, seed {seed}",
        ("pairs of points", "pairs", "decided in rationals", "break the promise", "break it if snapped"),
    )
    for kind in KINDS:
        found = counts[kind]
        table.add(kind, found.pairs, found.exact, found.violations, found.snapped)
    everything = [sum(getattr(found, name) for found in counts.values()) for name in
                  ("pairs", "exact", "violations", "snapped")]  # fmt: skip
    table.add("all", *everything)
    table.finish()
    return 1 if everything[2] else 0


def laplace_on_a_lattice() -> BoxMechanism:
    """Planar Laplace noise at lattice points, told by a hundred outputs, and the ε that it keeps between all points."""
    town = box((10, 10), step="1/2", unit="km")
    rounding = rounding_of(town)
    outputs = tuple(product([Fraction(k) + Fraction(1, 2) for k in range(10)], repeat=2))
    points = np.array(list(product(*([float(p) for p in axis.points] for axis in rounding.axes))))
    far = np.linalg.norm(points[:, None] - np.array(outputs, dtype=float)[None], axis=2)
    masses = np.exp(-np.log(2) * far)
    weights = np.floor(masses / masses.sum(axis=1, keepdims=True) * TOTAL).astype(np.int64)
    weights[np.arange(len(weights)), weights.argmax(axis=1)] += TOTAL - weights.sum(axis=1)
    return prove_on_box(weights, sf.PrivacyType(town, epsilon=kept_rate(rounding, weights, 1)), rounding, outputs)


def design_of_a_town() -> BoxMechanism:
    """The best mechanism for a centre, a suburb and few people elsewhere, to a tenth."""
    town = box((10, 10), step=1, unit="km")
    centres = (np.arange(10) + 0.5)[:, None], (np.arange(10) + 0.5)[None]
    counts = sum(
        top * np.exp(-((centres[0] - x) ** 2 + (centres[1] - y) ** 2) / wide)
        for x, y, wide, top in ((3, 4, 4, 1000), (8, 8, 2, 400), (5, 5, 1e9, 5))
    )
    prior = sf.Prior.on_cells(np.rint(counts).astype(np.int64).tolist(), town)
    design = sf.design(prior, sf.losses.distance(town), sf.PrivacyType(town, alpha="1/2"), tolerance=0.1)
    print(f"a design with a gap of {design.gap:.2%} in {design.seconds['total']:.1f} s", flush=True)
    return design.mechanism


if __name__ == "__main__":
    sys.exit(main())
