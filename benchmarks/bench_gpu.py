"""The batched interior-point method on a GPU: Euclidean and Manhattan grids, whole and up to the square's symmetries.

Square grids with unit spacing, e^ε = 2 per unit, loss = Euclidean distance. Cases are written kind:side, with kinds

- ``uniform``: all pairs that no chain implies, uniform prior, rows in classes and one column an orbit;
- ``lumpy``: the same pairs, a prior with five bumps, every column;
- ``manhattan``: pairs of neighbours, the prior with bumps, every column;
- ``manhattan-uniform``: pairs of neighbours, uniform prior, classes and orbits.

    python benchmarks/bench_gpu.py uniform:40 lumpy:40 manhattan:50 manhattan-uniform:100

Without a GPU the sizes are tiny and torch runs on the CPU. Each case runs once after a small one has compiled the
kernels; a table and one line of JSON a case are printed, with the seconds of each stage of the method. On Manhattan
grids the matrix is then rounded to integers whose privacy is checked exactly (:mod:`gpu_check`).
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import torch

from gpu_check import checked
from sfumato.lp.cone.arrays import solve_batched
from sfumato.lp.cone.arrays_iterate import ArraysIterate
from sfumato.lp.cone.program import ColumnProgram, ColumnProgress, column_bound

LARGE = ("uniform:20", "uniform:40", "lumpy:20", "lumpy:40", "manhattan:50", "manhattan-uniform:50",
         "manhattan-uniform:100")  # fmt: skip
TINY = ("uniform:7", "lumpy:6", "manhattan:7", "manhattan-uniform:10")
STAGES = ("factor", "_direct", "predicted", "aim", "_reach", "recentre", "advance")
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
    results = []
    for case in given.cases:
        name, _, tolerance = case.partition("@")
        found = measured(name, given.device, float(tolerance or given.tolerance), given.limit, given.verbose)
        print(json.dumps(found), flush=True)
        results.append(found)
    headings = ("case", "rows", "columns", "iterations", "seconds", "gap", "peak_gib", "ended")
    print(" | ".join(headings))
    for found in results:
        print(" | ".join(f"{found[key]:.3g}" if isinstance(found[key], float) else str(found[key]) for key in headings))


def measured(case: str, device: str, tolerance: float, limit: float, verbose: bool) -> dict[str, Any]:
    """One run, with the seconds of each stage."""
    start = perf_counter()
    program = built(case)
    build = perf_counter() - start
    cuda = device.startswith("cuda")
    if cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()

    def show(progress: ColumnProgress) -> None:
        print(f"  {progress.iteration:4d} {progress.value:.8g} {progress.gap:.2e} {progress.seconds:.1f} s", flush=True)

    with stage_clock(cuda) as seconds:
        found = solve_batched(
            program, tolerance=tolerance, time_limit=limit, device=device, progress=show if verbose else None
        )
    affordable = len(program.first) * program.shape[1] <= CHECKED
    bound = column_bound(program, found.multipliers) if affordable else None
    if bound is not None and abs(bound - found.bound) > 1e-9 * abs(bound):
        raise AssertionError(f"{case}: the bound is {bound}, not {found.bound}")
    sums = np.bincount(program.row_classes, found.matrix.sum(axis=1)) / program.sizes
    proof = {}
    if case.startswith("manhattan"):
        proof = repaired(case, found.matrix, device)
        proof["gap_after_repair"] = (proof["repaired_loss"] - found.bound) / proof["repaired_loss"]
    return {
        **proof,
        "case": case, "rows": program.shape[0], "columns": program.shape[1], "pairs": len(program.first),
        "tolerance": tolerance, "iterations": found.iterations, "seconds": found.seconds, "gap": found.gap,
        "value": found.value, "bound": found.bound, "bound_checked": affordable, "ended": str(found.ended),
        "worst_row_sum": float(np.abs(sums - 1).max()), "build_seconds": build,
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30 if cuda else 0.0,
        "stages": {name.strip("_"): round(value, 3) for name, value in seconds.items()},
    }  # fmt: skip


def repaired(case: str, matrix: np.ndarray, device: str) -> dict[str, float]:
    """Integer weights next to the matrix, every pair checked."""
    kind, _, size = case.partition(":")
    side = int(size)
    places = np.stack(np.divmod(np.arange(side * side), side), axis=1)
    if kind.endswith("uniform"):
        return checked(matrix, side, np.full(len(places), 1 / len(places)), orbits(side)[0], device)
    return checked(matrix, side, bumpy(places, side), None, device)


class stage_clock:  # noqa: N801
    """Seconds spent in each stage of the method, without those of stages called from it."""

    def __init__(self, cuda: bool) -> None:
        self.cuda = cuda
        self.seconds: dict[str, float] = defaultdict(float)
        self.inner = [0.0]

    def __enter__(self) -> dict[str, float]:
        self.kept = {name: getattr(ArraysIterate, name) for name in STAGES}
        for name, function in self.kept.items():
            setattr(ArraysIterate, name, self._timed(name, function))
        return self.seconds

    def __exit__(self, *_: object) -> None:
        for name, function in self.kept.items():
            setattr(ArraysIterate, name, function)

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            start = self._now()
            self.inner.append(0.0)
            try:
                return function(*arguments)
            finally:
                spent = self._now() - start
                self.seconds[name] += spent - self.inner.pop()
                self.inner[-1] += spent

        return timed

    def _now(self) -> float:
        if self.cuda:
            torch.cuda.synchronize()
        return perf_counter()


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
