"""Proving that a mechanism is private: kernel and compiled twin beside float checks, and the metric axioms.

A verification lays out the certificate, hashes it, checks the chains of implied pairs and compares
integers for every other pair and output. The float checks compare rounded logarithms and prove
nothing; they show what looking at the same numbers costs. qif looks at all pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import qif

import sfumato as sf
from isolation import NoResult, isolated
from timing import Table, measure

GRID_SIDES = (10, 15, 20)
RANDOM_POINTS = 2_000
SPARSE_SIDE = 100
AXIOM_SIZES = (2_000, 5_000)
QIF_SECONDS = 60
TOTAL = 1 << 52
NOT_RUN = "not run"


def main() -> None:
    """Print and write both tables."""
    verification()
    axioms()


def verification() -> None:
    """Euclidean grids, random points with all pairs, and a large sparse graph."""
    table = Table(
        "verification",
        "Verification of mechanisms",
        ("mechanism", "pairs", "comparisons", "kernel, s", "twin first, s", "twin, s", "numpy floats, s", "qif, s"),
    )
    for side in GRID_SIDES:
        space = sf.grid(side, side)
        table.add(f"{side} × {side} Euclidean grid", *_verify_exponential(space, 0.5, kernel=True))
    scattered = np.random.default_rng(3).random((RANDOM_POINTS, 2))
    table.add(f"{RANDOM_POINTS} random points", *_verify_exponential(sf.points(scattered), 2.0, kernel=False))
    table.add(f"{SPARSE_SIDE} × {SPARSE_SIDE} Manhattan grid, sparse", *_verify_sparse())
    table.finish()


def _verify_exponential(space: sf.FiniteSpace, epsilon: float, *, kernel: bool) -> tuple[Any, ...]:
    """The exponential mechanism at half the rate, in integers; half the rate leaves room for the rounding."""
    privacy = sf.PrivacyType(space, epsilon=epsilon)
    distances = space.distances.floats
    weights = _integer_rows(np.exp(-epsilon / 2 * distances))
    mechanism = sf.prove(weights, privacy, checker="twin")
    slow = len(space) >= RANDOM_POINTS
    by_kernel = measure(lambda: sf.verify(mechanism, checker="kernel"), repeats=1).median if kernel else NOT_RUN
    by_twin = measure(lambda: sf.verify(mechanism, checker="twin"), repeats=1 if slow else 5)
    in_floats = measure(lambda: _float_check(weights / TOTAL, space.pairs, epsilon * distances), repeats=0)
    peer = isolated(_time_qif, weights / TOTAL, epsilon * distances, seconds=QIF_SECONDS)
    proof = mechanism.proof
    return proof.pairs, proof.comparisons, by_kernel, by_twin.first, by_twin.median, in_floats.median, peer


def _integer_rows(matrix: np.ndarray) -> np.ndarray:
    """Rows proportional to the given ones, in integers that sum to TOTAL; what is missing goes to the diagonal."""
    weights = np.floor(matrix / matrix.sum(axis=1, keepdims=True) * TOTAL).astype(np.int64)
    weights[np.diag_indices_from(weights)] += TOTAL - weights.sum(axis=1)
    return weights


def _verify_sparse() -> tuple[Any, ...]:
    """The product of two truncated geometric mechanisms with α = 1/2, each first quantised to 30 bits."""
    line = sf.line(SPARSE_SIDE)
    geometric = 0.5 ** np.abs(np.subtract.outer(np.arange(SPARSE_SIDE), np.arange(SPARSE_SIDE)))
    geometric[:, [0, -1]] *= 2  # the ends take over what would fall beyond them
    geometric /= geometric.sum(axis=1, keepdims=True)
    factor = sf.quantise(geometric, sf.PrivacyType(line, alpha="1/2"), bits=30).mechanism.weights
    space = sf.grid(SPARSE_SIDE, SPARSE_SIDE, metric="manhattan")
    mechanism = sf.prove(np.kron(factor, factor), sf.PrivacyType(space, alpha="1/2"), checker="twin")
    by_twin = measure(lambda: sf.verify(mechanism, checker="twin"), repeats=1)
    proof = mechanism.proof
    bounds = np.full(len(space.pairs.first), np.log(2))
    in_floats = measure(lambda: _float_check(mechanism.weights, space.pairs, bounds), repeats=0)
    return proof.pairs, proof.comparisons, NOT_RUN, by_twin.first, by_twin.median, in_floats.median, NOT_RUN


def _float_check(matrix: np.ndarray, pairs: Any, bounds: np.ndarray) -> bool:
    """Compare log-ratios with bounds, a table of all pairs or one for each pair; up to rounding."""
    logs = np.log(matrix)
    allowed = bounds[pairs.first, pairs.second] if bounds.ndim == 2 else bounds
    ends = np.searchsorted(pairs.first, np.arange(len(matrix) + 1)) if (np.diff(pairs.first) >= 0).all() else None
    if ends is None:
        gaps = (np.abs(logs[x] - logs[z]).max() for x, z in zip(*pairs, strict=True))
        return all(gap <= bound + 1e-12 for gap, bound in zip(gaps, allowed, strict=True))
    return all(
        (np.abs(logs[pairs.second[start:stop]] - logs[x]).max(axis=1) <= allowed[start:stop] + 1e-12).all()
        for x, (start, stop) in enumerate(zip(ends[:-1], ends[1:], strict=True))
    )


def _time_qif(matrix: np.ndarray, bounds: np.ndarray) -> float | NoResult:
    distance = qif.metric.from_distance_matrix(bounds)
    return measure(lambda: qif.measure.d_privacy.is_private(matrix, distance), repeats=0).median


def axioms() -> None:
    """The triangle inequality of a table, and the pairs of random points that no chain implies."""
    table = Table(
        "axioms",
        "Metric axioms and implied pairs",
        ("what", "first call, s", "median, s", "numpy, s", "numpy ÷ sfumato"),
    )
    rng = np.random.default_rng(4)
    n = AXIOM_SIZES[0]
    for kind, distances in (
        ("float", sf.points(rng.random((n, 2))).distances.floats),
        ("integer", sf.points(rng.permutation(10**6)[:n, None], metric="manhattan").distances.values),
    ):
        own = measure(lambda distances=distances: sf.FiniteSpace(range(n), distances), repeats=3)
        plain = measure(lambda distances=distances: _triangles_hold(distances), repeats=0)
        table.add(
            f"triangle inequality, n = {n}, {kind}", own.first, own.median, plain.median, plain.median / own.median
        )
    for n in AXIOM_SIZES:
        scattered = rng.random((n, 2))
        own = measure(lambda scattered=scattered: sf.points(scattered).pairs, repeats=1)
        table.add(f"implied pairs, {n} random points", own.first, own.median, NOT_RUN, "—")
    table.finish()


def _triangles_hold(distances: np.ndarray) -> bool:
    slack = 1e-12 * distances.max()
    return not any((distances > distances[:, [y]] + distances[y] + slack).any() for y in range(len(distances)))


if __name__ == "__main__":
    main()
