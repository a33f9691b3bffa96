"""Coordinates in New York on a GPU: the conic program of a fine lattice, and the finite problem below it.

The box has 10 × 10 km with its south-west corner at 40.70 N, 74.02 W and cells of 500 m, on which the prior counts
pickups; odds double per km. The first row is the conic program of quadratic splines on a lattice (cells halved once),
the others are finite problems: secrets at the corners of cells cut into parts, outputs at these secrets or, halved, at
points between them too, linear rows between secrets at most three steps apart.

    python benchmarks/bench_plane_gpu.py --pickups nyc-pickups.json
    python benchmarks/bench_plane_gpu.py --device cpu --cells 10 --outputs 8 --finite 1:0

``--pickups`` names a JSON list of rows [longitude, latitude, number]; by default it is looked for in ``shared/data``
beside the checkout. A finite problem is written PARTS:HALVINGS. A small program is solved first, so that compiling and
loading are not measured.
"""

from __future__ import annotations

import argparse
import json
import os
from fractions import Fraction
from math import gcd
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sfumato import losses
from sfumato.design.boxes.finite import FiniteProblem
from sfumato.design.boxes.moments import density_moments
from sfumato.design.boxes.program import box_program
from sfumato.design.boxes.symmetry import turns
from sfumato.lp.cone.blocks import BlockProgram
from sfumato.lp.cone.general import solve_blocks
from sfumato.lp.cone.program import ColumnProgress
from sfumato.spaces.box import Box, box
from sfumato.spaces.splines import rounding_of
from timing import Table

PICKUPS = Path(__file__).resolve().parents[2] / "shared" / "data" / "nyc-pickups.json"
SIDE, CELLS, REACH = 10, 20, 3
WEST, SOUTH, RADIUS = -74.02, 40.70, 6371.0088
INTEGRATED = 4  # points for the loss along each side of a cell of the box, about


def main() -> None:
    """Solve and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--cells", type=int, default=40, help="cells of the lattice along a side")
    parser.add_argument("--outputs", type=int, default=20, help="outputs along a side")
    parser.add_argument("--halvings", type=int, default=1, help="halvings of cells before coefficients are compared")
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--finite", nargs="*", default=["2:0", "2:1"], help="finite problems, PARTS:HALVINGS")
    parser.add_argument("--finite-tolerance", type=float, default=2e-3)
    parser.add_argument("--limit", type=float, default=150.0, help="seconds for a program")
    parser.add_argument("--pickups", type=Path, default=PICKUPS)
    parser.add_argument("--verbose", action="store_true", help="a line for each iteration")
    given = parser.parse_args()
    # blocks of many sizes would leave holes between segments of fixed size
    os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    plane, counts = box((SIDE, SIDE), step=Fraction(SIDE, CELLS), unit="km"), pickups(given.pickups)
    solve_blocks(lattice_program(plane, counts, 4, 3, 0), device=given.device, tolerance=1e-2)
    table = Table("plane_gpu", "Coordinates in New York: the solver alone", (
        "program", "rows", "columns", "forms", "gap asked", "iterations", "laid out, s", "seconds", "gap", "value",
        "bound", "GPU, GiB", "ended",
    ), ("program", "gap asked"), "seconds")  # fmt: skip
    name = f"lattice {given.cells}², {given.outputs}² outputs"
    begun = perf_counter()
    program = lattice_program(plane, counts, given.cells, given.outputs, given.halvings)
    table.add(*measured(name, program, given.tolerance, perf_counter() - begun, given))
    for case in given.finite:
        parts, _, halvings = case.partition(":")
        begun = perf_counter()
        program = finite_program(plane, counts, int(parts), int(halvings or 0))
        took = perf_counter() - begun
        table.add(*measured(f"finite, {parts} parts, outputs halved {halvings}", program, given.finite_tolerance, took,
                            given))  # fmt: skip
    table.finish()


def pickups(path: Path) -> Any:
    """Pickups in each cell of the box."""
    rows = np.array(json.loads(path.read_text()))
    north = np.pi / 180 * RADIUS
    east = north * np.cos(np.radians(SOUTH + SIDE / 2 / north))
    places = np.stack([(rows[:, 0] - WEST) * east, (rows[:, 1] - SOUTH) * north], axis=1) * CELLS / SIDE
    inside = ((places >= 0) & (places < CELLS)).all(axis=1)
    counts = np.zeros((CELLS, CELLS))
    np.add.at(counts, tuple(places[inside].astype(int).T), rows[inside, 2])
    return counts / counts.sum()


def lattice_program(plane: Box, density: Any, cells: int, outputs: int, halvings: int) -> BlockProgram:
    """The conic program of a lattice, every column on its own."""
    breaks = [[Fraction(SIDE * k, cells) for k in range(cells + 1)]] * 2
    rounding = rounding_of(plane, breaks=breaks)
    along = (np.arange(outputs) + 0.5) * SIDE / outputs
    where = np.stack(np.meshgrid(along, along, indexing="ij"), axis=-1).reshape(-1, 2)
    group = turns(plane, [axis.breaks for axis in rounding.axes], density)[:1]
    weighed = density_moments(rounding, density, max(1, INTEGRATED * CELLS // cells // 2))
    return box_program(rounding, weighed, losses.distance(plane), where, float(np.log(2)), halvings, group).program


def finite_program(plane: Box, density: Any, parts: int, halvings: int) -> BlockProgram:
    """The finite problem with outputs at secrets and, halved so often, between them."""
    group = turns(plane, [plane.breaks(0), plane.breaks(1)], density)[:1]
    problem = FiniteProblem(plane, (parts, parts), density, float(np.log(2)), group)
    n, side = len(problem.places), problem.shape[0]
    outputs = (side - 1 << halvings) + 1
    where = np.stack(np.unravel_index(np.arange(outputs**2), (outputs, outputs)), axis=-1)
    cost = problem.masses[:, None] * problem.lowered(where, halvings)
    numbers = np.arange(n).reshape(side, side)
    first, second, logs = [], [], []
    for a, b in np.ndindex(2 * REACH + 1, 2 * REACH + 1):
        across, up = a - REACH, b - REACH
        if gcd(across, up) != 1:
            continue
        here, there = (
            numbers[max(0, -i) : side - max(0, i), max(0, -j) : side - max(0, j)]
            for i, j in ((across, up), (-across, -up))
        )
        first.append(here.ravel())
        second.append(there.ravel())
        logs.append(np.full(here.size, problem.rate * float(np.hypot(across, up) * problem.step[0])))
    one, other, bounds = (np.concatenate(part) for part in (first, second, logs))
    pairs = np.arange(len(one))
    entries = np.concatenate([-np.exp(-bounds), np.ones(len(pairs))])
    rows = csr_array((entries, (np.tile(pairs, 2), np.concatenate([one, other]))), shape=(len(pairs), n))
    return BlockProgram(cost, [(rows,)])


def measured(name: str, program: BlockProgram, tolerance: float, laid_out: float, given: Any) -> tuple[Any, ...]:
    """One run."""
    cuda = None
    if given.device != "cpu":
        import torch

        cuda = torch.cuda if torch.cuda.is_available() else None
    if cuda is not None:
        cuda.empty_cache()
        cuda.reset_peak_memory_stats()

    def show(state: ColumnProgress) -> None:
        print(f"  {state.iteration:4d} {state.value:.6g} {state.bound:.6g} {state.gap:.2e} {state.seconds:.1f} s",
              flush=True)  # fmt: skip

    begun = perf_counter()
    solution = solve_blocks(
        program, tolerance=tolerance, time_limit=given.limit, device=given.device,
        progress=show if given.verbose else None,
    )  # fmt: skip
    seconds = perf_counter() - begun
    forms = sum(len(block) * block[0].shape[0] for block in program.blocks)
    used = "—" if cuda is None else cuda.max_memory_allocated() / 2**30
    print(f"{name}: {seconds:.1f} s, gap {solution.gap:.2e}", flush=True)
    return (
        name, *program.shape, forms, tolerance, solution.iterations, laid_out, seconds, solution.gap, solution.value,
        solution.bound, used, solution.ended.name,
    )  # fmt: skip


if __name__ == "__main__":
    main()
