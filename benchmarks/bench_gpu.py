"""The interior-point method over arrays on a GPU: Euclidean and Manhattan grids, whole and up to symmetries.

Square grids with unit spacing, e^ε = 2 per unit, loss = Euclidean distance. Cases are written kind:side, with kinds

- ``uniform``: all pairs that no chain implies, uniform prior, rows in classes and one column an orbit;
- ``lumpy``: the same pairs, a prior with five bumps, every column;
- ``manhattan``: pairs of neighbours, the prior with bumps, every column;
- ``manhattan-uniform``: pairs of neighbours, uniform prior, classes and orbits.

    python benchmarks/bench_gpu.py uniform:40 lumpy:40 manhattan:50 manhattan-uniform:100@1e-3

A gap may be written behind @; the hardest case, lumpy:40, takes minutes and is left out by default.

Without a GPU the sizes are tiny and torch runs on the CPU. Each case runs once after a small one has compiled the
kernels. On Manhattan grids the matrix is then rounded to integers whose privacy is checked exactly (:mod:`gpu_check`).
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import numpy as np
import torch

from gpu_check import checked
from sfumato.lp.cone.arrays import solve_batched
from sfumato.lp.cone.program import ColumnProgram, ColumnProgress, column_bound
from timing import Table

LARGE = ("uniform:10", "uniform:20", "uniform:30", "uniform:40", "lumpy:20", "manhattan:20", "manhattan:30",
         "manhattan:50", "manhattan-uniform:30", "manhattan-uniform:50", "manhattan-uniform:70@1e-3",
         "manhattan-uniform:100@1e-3")  # fmt: skip
TINY = ("uniform:7", "lumpy:6", "manhattan:7", "manhattan-uniform:10")
CHECKED = 3e8  # numbers: column_bound takes minutes beyond


def main() -> None:
    """Run the cases given as arguments."""
    cuda = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=LARGE if cuda else TINY)
    parser.add_argument("--device", default="cuda" if cuda else "cpu")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for a case")
    parser.add_argument("--verbose", action="store_true", help="a line for each iteration")
    given = parser.parse_args()
    if not cuda:
        torch.set_num_threads(1)
    start = perf_counter()
    for case in ("uniform:5", "manhattan-uniform:10"):
        solve_batched(built(case), device=given.device)
    print(
        f"torch {torch.__version__} on {given.device}; kernels compiled in {perf_counter() - start:.1f} s", flush=True
    )
    table = Table("arrays", "The interior-point method over arrays, the solver alone", (
        "case", "rows", "columns", "pairs", "gap asked", "iterations", "seconds", "gap", "value", "bound", "GPU, GiB",
        "integers checked", "gap in integers", "ended",
    ), ("case", "gap asked"), "seconds")  # fmt: skip
    for case in given.cases:
        name, _, tolerance = case.partition("@")
        table.add(*measured(name, given.device, float(tolerance or given.tolerance), given.limit, given.verbose))
    table.finish()


def measured(case: str, device: str, tolerance: float, limit: float, verbose: bool) -> tuple[Any, ...]:
    """One run."""
    program = built(case)
    cuda = device.startswith("cuda")
    if cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()

    def show(progress: ColumnProgress) -> None:
        print(f"  {progress.iteration:4d} {progress.value:.8g} {progress.gap:.2e} {progress.seconds:.1f} s", flush=True)

    solution = solve_batched(
        program, tolerance=tolerance, time_limit=limit, device=device, progress=show if verbose else None
    )
    affordable = len(program.first) * program.shape[1] <= CHECKED
    bound = column_bound(program, solution.multipliers) if affordable else None
    if bound is not None and abs(bound - solution.bound) > 1e-9 * abs(bound):
        raise AssertionError(f"{case}: the bound is {bound}, not {solution.bound}")
    checks: Any = "—"
    gap: Any = "—"
    if case.startswith("manhattan"):
        proof = repaired(case, solution.matrix, device)
        checks, gap = proof["integer_checks"], (proof["repaired_loss"] - solution.bound) / proof["repaired_loss"]
    return (
        case, *program.shape, len(program.first), tolerance, solution.iterations, solution.seconds, solution.gap,
        solution.value, solution.bound, torch.cuda.max_memory_allocated() / 2**30 if cuda else "—", checks, gap,
        solution.ended.name,
    )  # fmt: skip


def repaired(case: str, matrix: np.ndarray, device: str) -> dict[str, float]:
    """Integer weights next to the matrix, every pair checked."""
    kind, _, size = case.partition(":")
    side = int(size)
    places = np.stack(np.divmod(np.arange(side * side), side), axis=1)
    if kind.endswith("uniform"):
        return checked(matrix, side, np.full(len(places), 1 / len(places)), orbits(side)[0], device)
    return checked(matrix, side, bumpy(places, side), None, device)


def built(case: str) -> ColumnProgram:
    """The program of a case."""
    kind, _, size = case.partition(":")
    side = int(size)
    places = np.stack(np.divmod(np.arange(side * side), side), axis=1)
    first, second = neighbours(side) if kind.startswith("manhattan") else coprime_pairs(places)
    logs = np.log(2) * np.linalg.norm(places[first] - places[second], axis=1)
    if kind.endswith("uniform"):
        representatives, classes = orbits(side)
        distances = np.linalg.norm(places[:, None] - places[None, representatives], axis=2)
        return ColumnProgram(distances / len(places), first, second, logs, classes)
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    return ColumnProgram(bumpy(places, side)[:, None] * distances, first, second, logs)


def coprime_pairs(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ordered pairs with no point of the grid between them: the others are implied."""
    x = places[:, 0].astype(np.int16)
    y = places[:, 1].astype(np.int16)
    steps = np.gcd(np.abs(x[:, None] - x[None]), np.abs(y[:, None] - y[None]))
    first, second = np.nonzero(steps == 1)
    return first, second


def neighbours(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Ordered pairs of points at distance 1."""
    numbers = np.arange(side * side).reshape(side, side)
    low = np.concatenate([numbers[:-1].ravel(), numbers[:, :-1].ravel()])
    high = np.concatenate([numbers[1:].ravel(), numbers[:, 1:].ravel()])
    return np.concatenate([low, high]), np.concatenate([high, low])


def orbits(side: int) -> tuple[np.ndarray, np.ndarray]:
    """One point of each orbit of the square's eight symmetries, and the orbit of every point.

    A symmetric prior and loss have a symmetric optimum, R_{gx,gy} = R_xy. Then one column an orbit says all, and the
    row sums are the same within an orbit of rows. The column of an orbit stands for all its members: it is the sum
    of them up to symmetry, so its entries over a class of rows, summed over all orbits, make the size of the class.
    """
    i, j = np.divmod(np.arange(side * side), side)
    a, b = np.minimum(i, side - 1 - i), np.minimum(j, side - 1 - j)
    key = np.maximum(a, b) * side + np.minimum(a, b)
    _, representatives, classes = np.unique(key, return_index=True, return_inverse=True)
    return representatives, classes


def bumpy(places: np.ndarray, side: int) -> np.ndarray:
    """Five Gaussian bumps at random places, of widths between a twentieth and a fifth of the side."""
    rng = np.random.default_rng(2)
    prior = np.zeros(len(places))
    for _ in range(5):
        centre, width = rng.random(2) * (side - 1), rng.uniform(0.05, 0.2) * side
        prior += rng.random() * np.exp(-((places - centre) ** 2).sum(axis=1) / (2 * width**2))
    return prior / prior.sum()


if __name__ == "__main__":
    main()
