"""Thousands of secrets and twenty outputs, from question to proof.

    python benchmarks/bench_few_outputs.py 30 50    # sides of square grids
    python benchmarks/bench_few_outputs.py 100      # 10,000 secrets: for a GPU

Manhattan grids with a prior of six bumps and a little everywhere, loss = distance, e^ε = 2 for three steps. Outputs are
chosen one after the other, each where it shortens the mean way to the nearest output most, seen from 1,500 secrets that
are drawn from the prior. Beside the design: what is lost by who tells the nearest output, without any privacy, and by
the exponential mechanism over the same outputs with the best remap.
"""

from __future__ import annotations

import resource
from argparse import ArgumentParser
from math import log
from time import perf_counter

import numpy as np

import sfumato as sf
from bench_cities import medians
from timing import Table

SEEN = 1_500  # secrets by which outputs are chosen


def main() -> None:
    """Measure and report."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("sides", type=int, nargs="*", default=[20, 30])
    parser.add_argument("--outputs", type=int, default=20)
    parser.add_argument("--tolerance", type=float, default=1e-3, help="relative gap to be reached")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--seconds", type=float, default=1200, help="after which a design has to come to an end")
    given = parser.parse_args()
    table = Table("few_outputs", f"Expected distance, {given.outputs} outputs", (
        "secrets", "no privacy", "bound", "design", "gap", "method", "solving, s", "whole, s", "peak, GB",
        "exponential remapped",
    ))  # fmt: skip
    for side in given.sides:
        space, prior, outputs, nearest = setting(side, given.outputs)
        privacy, loss = sf.PrivacyType(space, epsilon=log(2) / 3), sf.losses.distance(space)
        start = perf_counter()
        design = sf.design(
            prior, loss, privacy, outputs=outputs, tolerance=given.tolerance, solver=given.solver,
            time_limit=given.seconds,
        )  # fmt: skip
        whole, peak = perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        table.add(
            len(space), nearest, float(design.bound), float(design.loss), design.gap, design.method,
            design.seconds["solve"], whole, peak, exponential(prior, outputs, privacy.rate),
        )  # fmt: skip
    table.finish()


def setting(side: int, number: int) -> tuple[sf.FiniteSpace, sf.Prior, list[tuple[int, int]], float]:
    """The grid, the prior, the outputs, and the mean way to the nearest of them."""
    space = sf.grid(side, side, metric="manhattan")
    draws, cells = np.random.default_rng(0), np.array(list(space.labels), dtype=np.float64)
    heights, centres, widths = draws.random(6) + 0.2, draws.random((6, 2)) * side, draws.random(6) / 5 + 0.05
    weights = 0.01 * draws.random(len(cells))
    for height, centre, width in zip(heights, centres, widths, strict=True):
        weights += height * np.exp(-((cells - centre) ** 2).sum(axis=1) / (2 * (width * side) ** 2))
    weights /= weights.sum()
    seen = draws.choice(len(cells), min(SEEN, len(cells)), replace=False, p=weights)
    ways = apart(cells[seen], cells)
    chosen = medians(ways, np.ones(len(seen)), number)
    labels = list(space.labels)
    way = float(weights @ apart(cells, cells[chosen]).min(axis=1))
    return space, sf.Prior(space, weights), [labels[k] for k in chosen], way


def apart(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Manhattan distances."""
    return sum(np.abs(first[:, None, k] - second[None, :, k]) for k in range(2))


def exponential(prior: sf.Prior, outputs: list[tuple[int, int]], rate: float) -> float:
    """The expected loss of M(x)(y) ∝ e^{−εd(x, y)/2} with the best remap, in floats."""
    cells, places = np.array(list(prior.secrets), dtype=np.float64), np.array(outputs, dtype=np.float64)
    ways = apart(cells, places)
    table = np.exp(-rate * ways / 2)
    joint = prior.float_weights[:, None] * table / table.sum(axis=1, keepdims=True)
    return float((joint.T @ ways).min(axis=1).sum())


if __name__ == "__main__":
    main()
