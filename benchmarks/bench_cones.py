"""Columns under second-order cones: the block interior-point method beside Clarabel on the same programs.

The programs are quadratic splines on an interval and on squares whose gradients keep a promise about coordinates
(``tests/block_programs.py``), with uniform priors folded by their symmetries and with lumpy ones; both solvers are
asked for a relative gap of 1e-6. What the gap of ours comes to is proved in floats by its duals. The last table has
programs that are too large for a general solver in the time at hand.

    python benchmarks/bench_cones.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sfumato.lp.cone.blocks import BlockProgram
from sfumato.lp.cone.general import solve_blocks
from timing import Table, measure_side_by_side

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from block_programs import by_clarabel, lumpy_prior, spline_program

TOLERANCE = 1e-6
CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("interval, 40 cells, 40 outputs", {"cells": 40, "axes": 1, "rate": 8.0, "outputs": 40}),
    ("square, 12² cells, 81 outputs, folded", {"cells": 12, "axes": 2, "rate": 8.0, "outputs": 9, "symmetric": True}),
    ("square, 16² cells, 256 outputs, folded", {"cells": 16, "axes": 2, "rate": 8.0, "outputs": 16, "symmetric": True}),
    (
        "square, 8² cells, 16 outputs, lumpy",
        {"cells": 8, "axes": 2, "rate": 5.0, "outputs": 4, "prior": lumpy_prior(8)},
    ),
)
LARGE = ((16, 6), (20, 7))


def main() -> None:
    """Measure and report."""
    beside_clarabel()
    large()


def beside_clarabel() -> None:
    """Both solvers in turns."""
    columns = ("program", "rows × columns", "cones", "sfumato, s", "Clarabel, s", "ratio", "gap", "values differ by")
    table = Table("cones", "Columns under second-order cones, to a gap of 1e-6", columns)
    for name, arguments in CASES:
        program = spline_program(**arguments)
        found: dict[str, Any] = {}
        times = measure_side_by_side(
            {
                "ours": lambda p=program, f=found: f.update(ours=solve_blocks(p, tolerance=TOLERANCE)),
                "theirs": lambda p=program, f=found: f.update(theirs=by_clarabel(p, TOLERANCE)),
            },
            repeats=1,
        )
        ours, theirs = (times[key].median for key in ("ours", "theirs"))
        apart = abs(found["ours"].value - found["theirs"].obj_val) / found["ours"].value
        table.add(name, shape(program), cones(program), ours, theirs, theirs / ours, found["ours"].gap, apart)
    table.finish()


def large() -> None:
    """Lumpy priors, a column for each output."""
    columns = ("cells", "outputs", "rows × columns", "cones", "seconds", "iterations", "value", "gap")
    table = Table("cones_large", "Larger programs, to a gap of 1e-4", columns)
    for cells, outputs in LARGE:
        program = spline_program(cells, 2, 10 * np.log(2), outputs, lumpy_prior(cells))
        start = perf_counter()
        solution = solve_blocks(program)
        seconds = perf_counter() - start
        table.add(f"{cells}²", f"{outputs}²", shape(program), cones(program), seconds, solution.iterations,
                  round(solution.value, 5), solution.gap)  # fmt: skip
    table.finish()


def shape(program: BlockProgram) -> str:
    """Rows and columns in words."""
    return "{} × {}".format(*program.shape)


def cones(program: BlockProgram) -> int:
    """The number of cones in all columns."""
    return program.shape[1] * sum(block[0].shape[0] for block in program.blocks)


if __name__ == "__main__":
    main()
