"""Designs on Euclidean grids, certified to a gap of 1e-4, beside the linear programs of qif and of HiGHS.

    python benchmarks/bench_design.py 5 7 10 --parts priors graphs --graphs 2

The peers get the same problem: least expected distance under a uniform prior, all pairs of cells, e^ε = 2 for a step.
What they return is put before the exact check, so the table also says whether it is private at all.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from argparse import ArgumentParser
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import Delaunay

import sfumato as sf
from isolation import NoResult, isolated
from sfumato.design.problem import problem
from sfumato.design.solvers import SOLVERS
from timing import Table, measure

REPEATS = 3
SECONDS = 60.0
PEERS_UP_TO = 7  # cells a side: beyond, both take minutes
QUICK = 10  # cells a side up to which calls are repeated

GOALS = {7: "0.1", 8: "0.2", 10: "0.5 / 1", 15: "6 / 15", 20: "40 / 100, symmetric 6"}  # seconds, uniform / lumpy


def main() -> None:
    """Measure and report."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("sides", type=int, nargs="*", default=[3, 5, 7, 8, 10, 15, 20], help="of the square grids")
    parser.add_argument("--parts", nargs="+", choices=("peers", "priors", "graphs", "cold"), help="all by default")
    parser.add_argument("--graphs", type=int, default=4, help="how many of the four graphs, the quickest first")
    given = parser.parse_args()
    parts = {
        "peers": lambda: beside_peers([side for side in given.sides if side <= PEERS_UP_TO]),
        "priors": lambda: kinds_of_priors(given.sides),
        "graphs": lambda: graphs(given.graphs),
        "cold": cold_start,
    }
    for name, part in parts.items():
        if not given.parts or name in given.parts:
            part()


def beside_peers(sides: list[int]) -> None:
    """Uniform priors, where qif and HiGHS finish within a minute; what they return goes before the exact check."""
    columns = ("grid", "sfumato, s", "of it solving, s", "gap", "HiGHS, s", "HiGHS private", "qif, s", "qif private",
               "loss, sfumato", "loss, qif")  # fmt: skip
    table = Table("design", "Least expected distance, uniform prior, e^ε = 2", columns, ("grid",), "sfumato, s")
    for side in sides:
        space = sf.grid(side, side)
        privacy = sf.PrivacyType(space, alpha="1/2")
        seconds, design = timed(uniform(space), sf.losses.distance(space), privacy, REPEATS)
        highs, qif = isolated(with_highs, side, seconds=SECONDS), isolated(with_qif, side, seconds=SECONDS)
        table.add(f"{side} × {side}", seconds, design.seconds["solve"], design.gap, *checked(highs, space, privacy),
                  *checked(qif, space, privacy), float(design.loss), loss_of(qif, space))  # fmt: skip
    table.finish()


def kinds_of_priors(sides: list[int]) -> None:
    """The whole time from the question to the proof, with symmetries, without, and where there are none."""
    columns = ("grid", "prior", "seconds", "of it solving", "iterations", "gap", "peak MB", "goal, s")
    table = Table("design_priors", "Least expected distance, Euclidean, all pairs, gap 1e-4", columns,
                  ("grid", "prior"), "seconds")  # fmt: skip
    for side in sides:
        space = sf.grid(side, side)
        for name, prior in (("uniform", uniform(space)), ("lumpy", lumpy(space, side))):
            seconds, design = timed(
                prior, sf.losses.distance(space), sf.PrivacyType(space, alpha="1/2"), REPEATS if side <= QUICK else 0
            )
            table.add(f"{side} × {side}", name, seconds, design.seconds["solve"], design.iterations, design.gap, peak(),
                      GOALS.get(side, "—"))  # fmt: skip
    table.finish()


def graphs(most: int) -> None:
    """Sparse graphs: Manhattan grids and roads."""
    columns = ("graph", "prior", "seconds", "of it solving", "gap", "peak MB", "goal, s")
    table = Table("design_graphs", "Graph metrics, gap 1e-4", columns, ("graph", "prior"), "seconds")
    square, large, town = sf.grid(30, 30, metric="manhattan"), sf.grid(50, 50, metric="manhattan"), roads(1000)
    for space, loss, name, prior, rate, goal in (
        (square, euclidean(square), "uniform", uniform(square), np.log(2), 15),
        (square, euclidean(square), "lumpy", lumpy(square, 30), np.log(2), "—"),
        (town, sf.losses.distance(town), "uniform", uniform(town), 20.0, 90),
        (large, euclidean(large), "uniform", uniform(large), np.log(2), "—"),
    )[:most]:
        seconds, design = timed(prior, loss, sf.PrivacyType(space, epsilon=float(rate)), 0)
        table.add(space.name, name, seconds, design.seconds["solve"], design.gap, peak(), goal)
    table.finish()


def cold_start() -> None:
    """A first small design in a new process whose compiled functions are all still to be design."""
    table = Table("design_cold", "A first design on a 3 × 3 grid, from the start of Python",
                  ("compiled functions", "seconds", "goal, s"))  # fmt: skip
    code = ("import sfumato as sf; s = sf.grid(3, 3); "
            "sf.design(sf.Prior.uniform(s), sf.losses.distance(s), sf.PrivacyType(s, epsilon=1))")  # fmt: skip
    with TemporaryDirectory() as empty:
        for kept in ("none", "cached"):
            start = perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "NUMBA_CACHE_DIR": empty})
            table.add(kept, perf_counter() - start, 3)
    table.finish()


def timed(prior: sf.Prior, loss: sf.Loss, privacy: sf.PrivacyType, repeats: int) -> tuple[float, sf.Design]:
    """Median seconds of a design, after one that loads compiled code, and the last one."""
    designs: list[sf.Design] = []
    timing = measure(lambda: designs.append(sf.design(prior, loss, privacy)), repeats)
    return timing.median, designs[-1]


def peak() -> float:
    """The most megabytes that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def euclidean(space: sf.FiniteSpace) -> sf.Loss:
    """The Euclidean distance as a loss, whatever the metric."""
    assert space.coordinates is not None
    apart = np.linalg.norm(space.coordinates[:, None] - space.coordinates[None], axis=2)
    return sf.Loss(space.labels, space, apart)


def uniform(space: sf.FiniteSpace) -> sf.Prior:
    return sf.Prior.uniform(space)


def lumpy(space: sf.FiniteSpace, side: int) -> sf.Prior:
    """A mixture of five bumps: no symmetry, and very unlikely secrets."""
    draws = np.random.default_rng(3)
    centres, widths = draws.uniform(0, side - 1, (5, 2)), draws.uniform(0.05, 0.2, 5) * side
    near = np.linalg.norm(space.coordinates[:, None] - centres[None], axis=2) / widths
    return sf.Prior.from_counts(np.exp(-(near**2) / 2).sum(axis=1).tolist(), space)


def roads(nodes: int) -> sf.FiniteSpace:
    """Crossings at random places in a unit square, joined like roads: a planar graph, a third of its edges left out."""
    draws = np.random.default_rng(7)
    places = draws.random((nodes, 2))
    corners = Delaunay(places).simplices
    joined = np.unique(np.sort(np.vstack([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]), axis=1), axis=0)
    lengths = np.linalg.norm(places[joined[:, 0]] - places[joined[:, 1]], axis=1)
    tree = minimum_spanning_tree(csr_array((lengths, joined.T), shape=(nodes, nodes))).tocoo()
    needed = {(min(a, b), max(a, b)) for a, b in zip(tree.row.tolist(), tree.col.tolist(), strict=True)}
    kept = [k for k, pair in enumerate(map(tuple, joined.tolist())) if pair in needed or draws.random() < 0.5]
    edges = [(int(joined[k, 0]), int(joined[k, 1]), float(lengths[k])) for k in kept]
    return sf.graph(edges, labels=range(nodes), name=f"{nodes} crossings")


def checked(answer: Any, space: sf.FiniteSpace, privacy: sf.PrivacyType) -> tuple[Any, Any]:
    """Seconds, and what the exact check says of the matrix."""
    if isinstance(answer, NoResult):
        return str(answer), "—"
    seconds, matrix = answer
    channel = sf.channels.normalise(np.maximum(matrix, 0.0))
    verdict = sf.satisfies(sf.Channel(space, channel), privacy)
    return seconds, f"{verdict.outcome}, needs ε = {sf.smallest_epsilon(sf.Channel(space, channel), space):.3g}"


def loss_of(answer: Any, space: sf.FiniteSpace) -> Any:
    """Expected distance of a peer's matrix."""
    if isinstance(answer, NoResult):
        return "—"
    return float((answer[1] * space.distances.floats).sum() / len(space))


def with_highs(side: int) -> tuple[float, np.ndarray]:
    """The whole program by HiGHS."""
    space = sf.grid(side, side)
    question = problem(sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, alpha="1/2"))
    start = perf_counter()
    solution = SOLVERS["highs"](question, 1e-4)
    return perf_counter() - start, np.asarray(solution.matrix, dtype=np.float64)


def with_qif(side: int) -> tuple[float, np.ndarray]:
    """The same program in qif."""
    import qif

    distances = sf.grid(side, side).distances.floats
    n = len(distances)
    allowed, loss = (lambda x, z: np.log(2) * distances[x, z]), (lambda w, x: distances[w, x])
    start = perf_counter()
    matrix = qif.mechanism.d_privacy.min_loss_given_d(np.full(n, 1 / n), n, allowed, loss)
    return perf_counter() - start, np.asarray(matrix)


if __name__ == "__main__":
    main()
