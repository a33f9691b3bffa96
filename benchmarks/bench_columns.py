"""The block interior-point method for columns in one cone, beside HiGHS on the same linear program.

Square grids with unit spacing, e^ε = 2 per unit, loss = Euclidean distance, all pairs that no chain implies. The
prior is uniform or has five bumps. Both are asked for a relative gap of 1e-4; HiGHS runs its interior-point method
without crossover, where the number of rows leaves it a chance. The gap reported is that of our own two sides.
"""

from __future__ import annotations

import highspy
import numpy as np

import sfumato as sf
from sfumato.lp import LinearProgram
from sfumato.lp.column_program import ColumnProgram
from sfumato.lp.columns import solve_columns
from timing import Table, measure

SIDES = (7, 8, 10)
LARGEST_FOR_HIGHS = 8
TOLERANCES = (1e-4, 1e-8)


def main() -> None:
    """Print and write the table."""
    table = Table(
        "columns",
        "Optimal mechanisms on Euclidean grids: block interior-point method beside HiGHS",
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
    )
    for side in SIDES:
        for name in ("uniform", "bumps"):
            program = on_grid(side, name == "bumps")
            values: list[float] = []
            other = None
            if side <= LARGEST_FOR_HIGHS:
                other = measure(lambda program=program, values=values: values.append(by_highs(linear(program))), 0)
            for tolerance in TOLERANCES:
                timing = measure(lambda program=program, t=tolerance: solve_columns(program, tolerance=t), 5)
                found = solve_columns(program, tolerance=tolerance)
                # HiGHS stops at 1e-4 itself, from either side
                if any(not found.bound - 2e-4 <= value <= found.value + 2e-4 for value in values):
                    raise AssertionError(f"HiGHS says {values}, we say {found.bound} … {found.value}")
                table.add(
                    f"{side} × {side}", name, len(program.first) * program.shape[1], tolerance, found.gap,
                    found.iterations, timing.first, timing.median, "not run" if other is None else other.median,
                    "—" if other is None else other.median / timing.median,
                )  # fmt: skip
    table.finish()


def on_grid(side: int, bumps: bool) -> ColumnProgram:
    """Prior times distance, for all pairs of a grid that no chain implies, in both directions."""
    space = sf.grid(side, side)
    distances = space.distances.floats
    first, second = np.concatenate(space.pairs), np.concatenate(space.pairs[::-1])
    prior = bumpy(space, side) if bumps else np.full(len(space), 1 / len(space))
    return ColumnProgram(prior[:, None] * distances, first, second, np.log(2) * distances[first, second])


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


if __name__ == "__main__":
    main()
