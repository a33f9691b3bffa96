"""The first-order method on square grids with the Manhattan metric, on the CPU or on a GPU.

Unit spacing, e^ε = 2 per unit, loss = Euclidean distance. Cases are written kind:side, with kinds

- ``uniform``: a uniform prior, every column;
- ``lumpy``: a prior with five bumps, every column;
- ``symmetric``: a uniform prior, rows in classes and one column for each orbit of the square's symmetries.

    python benchmarks/bench_first_order.py                                  # small grids on the CPU
    python benchmarks/bench_first_order.py uniform:100 lumpy:100@1e-4 --limit 120   # with a GPU; a gap behind @

The table says how long it took to begin and to iterate, and how far the pairs are broken in the matrix that comes out;
without symmetries that matrix is then rounded to integers that are checked exactly (:mod:`gpu_check`). With
``--verbose`` a line for each second.
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import numpy as np
import torch

from gpu_check import checked
from sfumato.lp.cone.program import ColumnProgram, ColumnProgress, column_bound
from sfumato.lp.first_order import solve_first_order
from timing import Table

SMALL = ("uniform:10", "lumpy:10", "symmetric:20")
LARGE = ("lumpy:50", "lumpy:100", "lumpy:50@1e-4", "lumpy:100@1e-4", "uniform:100", "symmetric:100")
CHECKED = 5e8  # multipliers: the bound is computed a second time where that takes seconds


def main() -> None:
    """Run the cases given as arguments."""
    cuda = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=LARGE if cuda else SMALL)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for a case")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    began = perf_counter()
    solve_first_order(built("uniform:4"), tolerance=1e-2, device=given.device)
    print(f"torch {torch.__version__}, cuda {cuda}; a first small run took {perf_counter() - began:.1f} s", flush=True)
    table = Table("first_order", "The first-order method, the solver alone", (
        "case", "rows", "columns", "gap asked", "iterations", "seconds", "seconds to begin", "gap", "value", "bound",
        "worst pair", "integers checked", "gap in integers", "GPU, GiB", "ended",
    ), ("case", "gap asked"), "seconds")  # fmt: skip
    for case in given.cases:
        name, _, tolerance = case.partition("@")
        table.add(*measured(name, float(tolerance or given.tolerance), given))
    table.finish()


def measured(case: str, tolerance: float, given: argparse.Namespace) -> tuple[Any, ...]:
    """One run."""
    program = built(case)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    begun: list[float] = []
    last = [0.0]

    def note(state: ColumnProgress) -> None:
        begun.append(state.seconds) if not begun else None
        if given.verbose and state.seconds > last[0] + 1:
            last[0] = state.seconds
            print(f"  {state.iteration:6d} {state.value:.6f} {state.bound:.6f} {state.gap:.2e} {state.seconds:.1f} s",
                  flush=True)  # fmt: skip

    solution = solve_first_order(
        program, tolerance=tolerance, time_limit=given.limit, progress=note, device=given.device
    )
    if len(program.first) * program.shape[1] <= CHECKED:
        bound = column_bound(program, solution.multipliers)
        if abs(bound - solution.bound) > 1e-9 * abs(bound):
            raise AssertionError(f"{case}: the bound is {bound}, not {solution.bound}")
    checks: Any = "—"
    gap: Any = "—"
    if program.classes is None:
        side, device = round(program.shape[0] ** 0.5), "cuda" if torch.cuda.is_available() else "cpu"
        proof = checked(solution.matrix, side, prior_of(case), None, device)
        checks, gap = proof["integer_checks"], (proof["repaired_loss"] - solution.bound) / proof["repaired_loss"]
    return (
        case, *program.shape, tolerance, solution.iterations, solution.seconds, begun[0] if begun else "—",
        solution.gap, solution.value, solution.bound, worst_pair(program, solution.matrix), checks, gap,
        torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else "—", solution.ended.name,
    )  # fmt: skip


def worst_pair(program: ColumnProgram, matrix: np.ndarray) -> float:
    """The largest e^{−l} R_x / R_z − 1."""
    side = round(len(matrix) ** 0.5)
    cells, decay, worst = matrix.reshape(side, side, -1), float(np.exp(-program.logs[0])), -1.0
    for low, high in ((cells[:-1], cells[1:]), (cells[:, :-1], cells[:, 1:])):
        for i in range(len(low)):
            for one, other in ((low[i], high[i]), (high[i], low[i])):
                held = decay * one / np.maximum(other, 1e-300)  # unused columns are 0 / 0
                worst = max(worst, float(held.max()) - 1)
    return worst


def built(case: str) -> ColumnProgram:
    """The program of a case."""
    kind, _, size = case.partition(":")
    side = int(size)
    cells = np.arange(side * side).reshape(side, side)
    low = np.concatenate([cells[:-1].ravel(), cells[:, :-1].ravel()])
    high = np.concatenate([cells[1:].ravel(), cells[:, 1:].ravel()])
    pairs = np.concatenate([low, high]), np.concatenate([high, low]), np.full(2 * len(low), np.log(2))
    i, j = np.divmod(np.arange(side * side), side)
    if kind == "symmetric":
        a, b = np.minimum(i, side - 1 - i), np.minimum(j, side - 1 - j)
        _, chosen, classes = np.unique(
            np.maximum(a, b) * side + np.minimum(a, b), return_index=True, return_inverse=True
        )
        distances = np.hypot(i[:, None] - i[chosen], j[:, None] - j[chosen])
        return ColumnProgram(distances / side**2, *pairs, classes)
    return ColumnProgram(np.hypot(i[:, None] - i, j[:, None] - j) * prior_of(case)[:, None], *pairs)


def prior_of(case: str) -> np.ndarray:
    """Even, or with bumps."""
    kind, _, size = case.partition(":")
    side = int(size)
    i, j = np.divmod(np.arange(side * side), side)
    return bumpy(i, j, side) if kind == "lumpy" else np.full(side * side, 1 / side**2)


def bumpy(i: np.ndarray, j: np.ndarray, side: int) -> np.ndarray:
    """Five Gaussian bumps at random places, of widths between a twentieth and a fifth of the side."""
    rng = np.random.default_rng(2)
    prior = np.zeros(len(i))
    for _ in range(5):
        centre, width = rng.random(2) * (side - 1), rng.uniform(0.05, 0.2) * side
        prior += rng.random() * np.exp(-((i - centre[0]) ** 2 + (j - centre[1]) ** 2) / (2 * width**2))
    return prior / prior.sum()


if __name__ == "__main__":
    main()
