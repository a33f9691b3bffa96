"""The interior-point method for columns in one cone, beside HiGHS on the same linear program.

    python benchmarks/bench_columns.py --sides 7 10 --no-peers --only "orbits|roads"

Square grids with unit spacing, e^ε = 2 per unit, loss = Euclidean distance, all pairs that no chain implies. The
prior is uniform or has five bumps. Both are asked for a relative gap of 1e-4; HiGHS runs its interior-point method
without crossover, where the number of rows leaves it a chance. The gap reported is that of our own two sides.

A second table has larger programs and what structure is worth: one column for each orbit of a symmetric grid, and
bounds along the edges of a sparse graph: grids with L1 distances and planar graphs that look like roads.
``--only`` leaves those of its programs whose name matches.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from time import process_time

import highspy
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path
from scipy.spatial import Delaunay

import sfumato as sf
from sfumato.lp import LinearProgram
from sfumato.lp.cone.lanes import solve_columns
from sfumato.lp.cone.program import ColumnProgram
from timing import Table, measure

SIDES = (7, 8, 10)
LARGEST_FOR_HIGHS = 8
TOLERANCES = (1e-4, 1e-8)


def main() -> None:
    """Measure and report."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--sides", type=int, nargs="*", default=SIDES, help="of the square grids")
    parser.add_argument("--no-peers", action="store_true", help="leave out HiGHS")
    parser.add_argument("--only", default="", help="a pattern for the names of the larger programs")
    given = parser.parse_args()
    grids(given.sides, 0 if given.no_peers else LARGEST_FOR_HIGHS)
    larger(given.only)


def grids(sides: list[int], highs_up_to: int) -> None:
    """Square grids, two priors, two gaps."""
    table = Table(
        "columns",
        "Optimal mechanisms on Euclidean grids: interior-point method beside HiGHS",
        (
            "grid",
            "prior",
            "pairs × columns",
            "gap asked",
            "gap",
            "iterations",
            "first, s",
            "ours, s",
            "HiGHS, s",
            "ratio",
        ),
        ("grid", "prior", "gap asked"),
        "ours, s",
    )
    for side in sides:
        for name in ("uniform", "bumps"):
            program = on_grid(side, name == "bumps")
            values: list[float] = []
            other = None
            if side <= highs_up_to:
                other = measure(lambda program=program, values=values: values.append(by_highs(linear(program))), 0)
            for tolerance in TOLERANCES:
                timing = measure(lambda program=program, t=tolerance: solve_columns(program, tolerance=t), 5)
                solution = solve_columns(program, tolerance=tolerance)
                # HiGHS stops at 1e-4 itself, from either side
                if any(not solution.bound - 2e-4 <= value <= solution.value + 2e-4 for value in values):
                    raise AssertionError(f"HiGHS says {values}, we say {solution.bound} … {solution.value}")
                table.add(
                    f"{side} × {side}", name, len(program.first) * program.shape[1], tolerance, solution.gap,
                    solution.iterations, timing.first, timing.median, "not run" if other is None else other.median,
                    "—" if other is None else other.median / timing.median,
                )  # fmt: skip
    table.finish()


def larger(only: str) -> None:
    """Larger programs, and what structure is worth."""
    table = Table(
        "columns_structure",
        "Optimal mechanisms to a gap of 1e-4: symmetry and sparse graphs",
        ("program", "rows", "columns", "pairs", "gap", "iterations", "CPU, s", "seconds"),
        ("program",),
        "seconds",
    )
    for name, build in PROGRAMS.items():
        if not re.search(only, name):
            continue
        program = build()
        start = process_time()
        solution = solve_columns(program, tolerance=1e-4)
        used = process_time() - start
        table.add(name, *program.shape, len(program.first), solution.gap, solution.iterations, used, solution.seconds)
    table.finish()


def orbits_of(build: Callable[[int], ColumnProgram], side: int) -> ColumnProgram:
    """A program on a square grid up to its symmetries."""
    return by_orbits(build(side), side)


def on_grid(side: int, bumps: bool = False) -> ColumnProgram:
    """Prior times distance, for all pairs of a grid that no chain implies, in both directions."""
    space = sf.grid(side, side)
    distances = space.distances.floats
    first, second = np.concatenate(space.pairs), np.concatenate(space.pairs[::-1])
    prior = bumpy(space, side) if bumps else np.full(len(space), 1 / len(space))
    return ColumnProgram(prior[:, None] * distances, first, second, np.log(2) * distances[first, second])


def by_orbits(program: ColumnProgram, side: int) -> ColumnProgram:
    """The same with one column for each orbit of turns and reflections, and one class of rows."""
    cells = np.arange(side * side).reshape(side, side)
    images = [np.rot90(flip, turns).ravel() for flip in (cells, cells.T) for turns in range(4)]
    leaders, orbits = np.unique(np.min(images, axis=0), return_inverse=True)
    return ColumnProgram(program.cost[:, leaders], program.first, program.second, program.logs, orbits)


def on_l1_grid(side: int) -> ColumnProgram:
    """Expected L1 distance, e^ε = 2 along the edges of a grid, uniform prior."""
    cells = np.arange(side * side).reshape(side, side)
    places = np.argwhere(cells >= 0)
    distances = np.abs(places[:, None] - places[None]).sum(axis=2) / side**2
    first, second = edges_both_ways(cells[:, :-1].ravel(), cells[:, 1:].ravel(), cells[:-1].ravel(), cells[1:].ravel())
    return ColumnProgram(distances, first, second, np.full(len(first), np.log(2)))


def on_roads(n: int, factor: float) -> ColumnProgram:
    """Expected length of the way on a thinned triangulation of random points, uniform prior.

    A shortest spanning tree stays, of the other edges the shorter ones more likely.
    """
    rng = np.random.default_rng(0)
    places = rng.random((n, 2))
    corners = Delaunay(places).simplices
    sides = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
    edges = np.unique(np.sort(sides, axis=1), axis=0)
    lengths = np.linalg.norm(places[edges[:, 0]] - places[edges[:, 1]], axis=1)
    tree = minimum_spanning_tree(coo_array((lengths, edges.T), shape=(n, n))).toarray()
    in_tree = (tree + tree.T)[edges[:, 0], edges[:, 1]] > 0
    kept = in_tree | (rng.random(len(edges)) < np.exp(-((lengths / np.median(lengths)) ** 2) / 4) / 2)
    edges, lengths = edges[kept], lengths[kept]
    ways = shortest_path(coo_array((lengths, edges.T), shape=(n, n)), directed=False)
    first, second = edges_both_ways(edges[:, 0], edges[:, 1])
    return ColumnProgram(ways / n, first, second, np.log(factor) / np.median(lengths) * np.tile(lengths, 2))


def edges_both_ways(*ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ordered pairs from lists of first and second ends."""
    first, second = np.concatenate(ends[::2]), np.concatenate(ends[1::2])
    return np.concatenate([first, second]), np.concatenate([second, first])


def bumpy(space: sf.FiniteSpace, side: int) -> np.ndarray:
    """Five Gaussian bumps at random places, of widths between a twentieth and a fifth of the side."""
    rng = np.random.default_rng(2)
    places = np.array(space.labels, dtype=np.float64)
    prior = np.zeros(len(places))
    for _ in range(5):
        centre, width = rng.random(2) * (side - 1), rng.uniform(0.05, 0.2) * side
        prior += rng.random() * np.exp(-((places - centre) ** 2).sum(axis=1) / (2 * width**2))
    return prior / prior.sum()


def linear(program: ColumnProgram) -> LinearProgram:
    """The same program with one row for each pair and column."""
    (n, m), pairs = program.shape, len(program.first)
    k, y = np.repeat(np.arange(pairs), m), np.tile(np.arange(m), pairs)
    rows = np.concatenate([k * m + y, k * m + y, pairs * m + np.repeat(np.arange(n), m)])
    columns = np.concatenate([program.first[k] * m + y, program.second[k] * m + y, np.arange(n * m)])
    values = np.concatenate([np.exp(-program.logs)[k], -np.ones(pairs * m), np.ones(n * m)])
    rhs = np.concatenate([np.zeros(pairs * m), np.ones(n)])
    return LinearProgram(program.cost.ravel(), rows, columns, values, "<" * (pairs * m) + "=" * n, rhs)


def by_highs(program: LinearProgram) -> float:
    """The value HiGHS' interior-point method finds, to a relative gap of 1e-4, without crossover."""
    matrix = program.sparse()
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = program.shape
    lp.col_cost_, lp.col_lower_ = program.cost, np.zeros(lp.num_col_)
    lp.col_upper_ = np.full(lp.num_col_, highspy.kHighsInf)
    equal = np.array([sense == "=" for sense in program.senses])
    lp.row_lower_, lp.row_upper_ = np.where(equal, program.rhs, -highspy.kHighsInf), program.rhs
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    solver = highspy.Highs()
    for option, value in (
        ("output_flag", False),
        ("solver", "ipm"),
        ("run_crossover", "off"),
        ("ipm_optimality_tolerance", 1e-4),
    ):
        solver.setOptionValue(option, value)
    solver.passModel(lp)
    solver.run()
    return float(solver.getInfo().objective_function_value)


PROGRAMS: dict[str, Callable[[], ColumnProgram]] = {
    "Euclidean 15 × 15, uniform": partial(on_grid, 15),
    "Euclidean 15 × 15, uniform, by orbits": partial(orbits_of, on_grid, 15),
    "Euclidean 15 × 15, bumps": partial(on_grid, 15, True),
    "Euclidean 20 × 20, uniform, by orbits": partial(orbits_of, on_grid, 20),
    "L1 20 × 20, uniform": partial(on_l1_grid, 20),
    "L1 30 × 30, uniform": partial(on_l1_grid, 30),
    "L1 30 × 30, uniform, by orbits": partial(orbits_of, on_l1_grid, 30),
    "500 roads, e^ε = 1.5 for a typical edge": partial(on_roads, 500, 1.5),
    "1000 roads, e^ε = 1.5 for a typical edge": partial(on_roads, 1000, 1.5),
    "1000 roads, e^ε = 2 for a typical edge": partial(on_roads, 1000, 2.0),
}


if __name__ == "__main__":
    main()
