"""Coordinates: known mechanisms beside the best one, on one prior and one promise about all points.

New York (the box and prior of ``bench_plane.py``, odds double per km) and a uniform square with εL = 8. Rows that are
proved for all points: Laplace noise that is the same everywhere, moved into the box and remapped; the exponential
mechanism of the cells made smooth; the design. The others are floats, with the largest slope of a logarithm that was
found on a fine raster, in parts of ε:

- planar Laplace noise (Andrés et al. 2013) as it is, which needs ε and loses 2/ε, and remapped;
- the exponential mechanism on coordinates, e^{−ε‖x − y‖/2} over the centres of cells, divided by its sum;
- interpolation between anchors, 11 along an axis: the best mechanism of a coarse grid, logarithms of its rows
  interpolated between the corners of a square of four anchors and divided by their sum, as published for fine-grained
  domains, its ε lowered until the slope found is within the promise.

    python benchmarks/bench_plane_known.py                   # within fifteen minutes on two cores
    python benchmarks/bench_plane_known.py --only square --limit 30
    python benchmarks/run.py plane_known                     # keeps both tables, each when it is finished

The pickups are read when it runs, from ``shared/data`` beside the checkout or where ``--pickups`` says; without them
the square is measured alone.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

import sfumato as sf
from bench_plane import PICKUPS, pickups
from sfumato.design.boxes.anchors import interpolated
from sfumato.design.boxes.table import best_places
from sfumato.spaces.box import Box
from sfumato.watch import Watch
from timing import Table

Floats = NDArray[np.float64]
RASTER = 3  # points of a cell along an axis, for losses in floats
ANCHORS = 11  # along an axis
NEAR = 1e-4  # steps of difference quotients, in parts of a cell


def raster(box: Box, prior: sf.Prior) -> tuple[Floats, Floats]:
    """Centres of parts of cells, and their masses."""
    along = [(np.arange(RASTER * n) + 0.5) * float(step) / RASTER for n, step in zip(box.shape, box.step, strict=True)]
    points = np.stack([part.ravel() for part in np.meshgrid(*along, indexing="ij")], axis=1)
    masses = prior.float_weights.reshape(box.shape)
    for axis in range(box.dimension):
        masses = np.repeat(masses, RASTER, axis=axis) / RASTER
    return points, masses.ravel()


def losses(rows: Floats, outputs: Floats, points: Floats, masses: Floats, loss: sf.losses.CoordinateLoss) -> Floats:
    """Expected loss with outputs as they are, and moved to where they lose least."""
    joint = masses[:, None] * rows
    better = best_places(outputs, joint, points, loss)
    return np.array([(joint * loss.at(points, where)).sum() for where in (outputs, better)])


def laplace(points: Floats, outputs: Floats, rate: float) -> Floats:
    """Chances of the cells of a fine lattice of outputs under planar Laplace noise, by the density at their centres."""
    found = np.exp(-rate * np.linalg.norm(points[:, None] - outputs[None], axis=2))
    return found / found.sum(axis=1, keepdims=True)


def slope(logarithms: Floats, near: list[Floats], gap: float) -> float:
    """The largest gradient of a logarithm, from differences along the axes."""
    squares = [((other - logarithms) / gap) ** 2 for other in near]
    return float(np.sqrt(sum(squares)).max())


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="the cases whose name contains this")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for a design")
    parser.add_argument("--pickups", type=Path, default=PICKUPS)
    given = parser.parse_args()
    square = sf.box((1, 1), step="1/20")
    cases = [("square", "a uniform square with εL = 8", square, sf.Prior.uniform(square), {"epsilon": 8})]
    if given.pickups.exists():
        town, prior = pickups(given.pickups)
        cases.append(("town", "New York, odds double per km", town, prior, {"alpha": "1/2"}))
    for name, title, box, prior, promise in cases:
        if given.only in title:
            table = Table(f"plane_known_{name}", f"Coordinates: known mechanisms beside the best, {title}", (
                "mechanism", "loss", "over the bound", "slope found, of ε", "proved", "seconds",
            ), ("mechanism",), "seconds")  # fmt: skip
            measure(table, box, prior, sf.PrivacyType(box, **promise), given.limit)
            table.finish()


def _note(began: dict[str, float], stage: str) -> None:
    began[stage] = perf_counter()


def measure(table: Table, box: Box, prior: sf.Prior, privacy: sf.PrivacyType, limit: float) -> None:
    """All rows of one case."""
    loss, rate = sf.losses.distance(box), privacy.rate
    points, masses = raster(box, prior)
    rows: list[tuple[str, float, str, str, float]] = []
    sf.design(prior, loss, privacy, tolerance=0.5, time_limit=5)  # what is compiled and loaded once is not counted
    begun = perf_counter()
    design = sf.design(prior, loss, privacy, tolerance=0.03, time_limit=limit)
    rows.append(("design", float(design.loss), "–", "yes", perf_counter() - begun))
    began: dict[str, float] = {}
    found = sf.compare_known(
        prior, loss, privacy, time_limit=limit, progress=lambda stage: began.setdefault(stage, perf_counter())
    )
    ends = [*list(began.values())[1:], perf_counter()]
    took = {stage: end - start for (stage, start), end in zip(began.items(), ends, strict=True)}
    rows += [
        (row.name, float(row.loss), "–", "yes", took.get(row.name, took.get(row.name.split(",")[0], 0.0)))
        for row in found
        if row.rate is not None
    ]
    for name, why in found.left_out.items():
        print(f"left out: {name}: {why}", flush=True)
    rows.append(("planar Laplace, floats", box.dimension / rate, "1", "no", 0.0))
    begun = perf_counter()
    apart = float(box.step[0])
    reach = np.arange(-8 / rate, float(box.sides[0]) + 8 / rate, apart)
    outputs = np.stack([part.ravel() for part in np.meshgrid(reach, reach, indexing="ij")], axis=1)
    coarse = points[:: RASTER - 1]
    some = masses[:: RASTER - 1] / masses[:: RASTER - 1].sum()
    told = losses(laplace(coarse, outputs, rate), outputs, coarse, some, loss)[1]
    rows.append(("planar Laplace, floats, remapped", float(told), "1", "no", perf_counter() - begun))
    begun = perf_counter()
    centres = points.reshape(*(RASTER * n for n in box.shape), 2)[1::RASTER, 1::RASTER].reshape(-1, 2)
    beside = points + 0.1 * apart * np.array([1.0, 0.7])  # a distance has no gradient at an output itself
    gap = NEAR * apart
    logs = [np.log(laplace(beside + gap * shift, centres, rate / 2)) for shift in (np.zeros(2), *np.eye(2))]
    steep = slope(logs[0], logs[1:], gap) / rate
    plain, told = losses(laplace(points, centres, rate / 2), centres, points, masses, loss)
    seconds = perf_counter() - begun
    rows.append(("exponential, floats", float(plain), f"{steep:.3f}", "no", seconds))
    rows.append(("exponential, floats, remapped", float(told), f"{steep:.3f}", "no", seconds))
    begun = perf_counter()
    between = interpolated(prior, loss, privacy, box, Watch(limit), along=ANCHORS)
    seconds = perf_counter() - begun
    rows.append(("interpolated anchors, floats", between.loss, f"{between.slope:.3f}", "no", seconds))
    rows.append(("interpolated anchors, floats, remapped", between.remapped, f"{between.slope:.3f}", "no", seconds))
    for what, value, steepness, proved, spent in sorted(rows, key=lambda row: row[1]):
        over = value / float(design.bound) - 1
        table.add(what, f"{value:.5g}", f"{over:.1%}", steepness, proved, f"{spent:.1f}")


if __name__ == "__main__":
    main()
