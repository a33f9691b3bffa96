"""Proving that a mechanism is private: kernel and compiled twin beside float checks, bounds of e^x, the metric axioms.

A proof lays out the certificate, hashes it, checks the chains of implied pairs and compares
integers for every other pair and output. The float checks compare rounded logarithms and prove
nothing; they show what looking at the same numbers costs. qif looks at all pairs. Bounds of e^x are
those of all pairs of 2,000 places; the kernel computes one at a time, so it is given some of them.

The small grids come first, so everything is compiled when the large cases run; those run once.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import qif

import sfumato as sf
from isolation import isolated
from sfumato.certify import kernel
from sfumato.certify.exponentials import factors_above, factors_below
from timing import Table, Timing, measure, measure_side_by_side

GRID_SIDES = (10, 15, 20)
RANDOM_POINTS = 2_000
SPARSE_SIDE = 100
TRIANGLE_SIZES = (500, 2_000)
PAIR_SIZES = (2_000, 5_000)
BOUNDS = 2_000 * 1_999 // 2
BOUNDS_BY_KERNEL = 20_000
QIF_SECONDS = 60
TOTAL = 1 << 52
NOT_RUN = "not run"


def main() -> None:
    """Print and write the tables."""
    exponentials()
    verification()
    axioms()


def exponentials() -> None:
    """Bounds of e^(epsilon·d) from below for weights, from above for dual numbers, each distance another one."""
    table = Table(
        "exponentials",
        "Bounds of e^x for the pairs of 2,000 places",
        ("distances", "bound", "first call, s", "median, s", "kernel, s", "kernel ÷ compiled, for each"),
    )
    rng = np.random.default_rng(6)
    terms = {
        "floats": (kernel.Metric("float", Fraction(1)), 10 * rng.random(BOUNDS)),
        "roots": (
            kernel.Metric("root", Fraction(1, 1000)),
            rng.choice(kernel.LARGEST["root"], BOUNDS).astype(np.uint64) + np.uint64(1),
        ),
    }
    promise = kernel.Promise("rows", Fraction(7, 10), None)
    for name, (metric, distances) in terms.items():
        few = distances[:BOUNDS_BY_KERNEL]
        both = {
            "below": (
                lambda metric=metric, distances=distances: factors_below(promise, metric, distances, TOTAL),
                lambda metric=metric, few=few: [kernel.factor_below(promise, metric, d, TOTAL) for d in few.tolist()],
            ),
            "above": (
                lambda metric=metric, distances=distances: factors_above(promise, metric, distances, 60),
                lambda metric=metric, few=few: [kernel.factor_above(promise, metric, d) for d in few.tolist()],
            ),
        }
        for bound, (compiled, interpreted) in both.items():
            timings = measure_side_by_side({"compiled": compiled, "kernel": interpreted}, repeats=3)
            own, peer = timings["compiled"], timings["kernel"].median
            ratio = peer / len(few) / (own.median / len(distances))
            table.add(f"{len(distances)} {name}", bound, own.first, own.median, f"{peer:.3g} for {len(few)}", ratio)
    table.finish()


def verification() -> None:
    """Euclidean grids, random points with all pairs, and a large sparse graph."""
    table = Table(
        "verification",
        "Verification of mechanisms",
        ("mechanism", "pairs", "comparisons", "kernel, s", "twin first, s", "twin, s", "numpy floats, s", "qif, s"),
    )
    for side in GRID_SIDES:
        table.add(f"{side} × {side} Euclidean grid", *_exponential(sf.grid(side, side), 0.5, large=False))
    scattered = np.random.default_rng(3).random((RANDOM_POINTS, 2))
    table.add(f"{RANDOM_POINTS} random points", *_exponential(sf.points(scattered), 2.0, large=True))
    table.add(f"{SPARSE_SIDE} × {SPARSE_SIDE} Manhattan grid", *_product_of_geometrics())
    table.finish()


def _exponential(space: sf.FiniteSpace, epsilon: float, *, large: bool) -> tuple[Any, ...]:
    """The exponential mechanism at half the rate, in integers; half the rate leaves room for the rounding."""
    privacy = sf.PrivacyType(space, epsilon=epsilon)
    bounds = epsilon * space.distances.floats
    weights = _integer_rows(np.exp(-bounds / 2))
    pairs = space.pairs  # kept by the space, and timed with the axioms
    if large:
        mechanism, by_twin = _timed_proof(weights, privacy)
        by_kernel: float | str = NOT_RUN
    else:
        by_twin = measure(lambda: sf.prove(weights, privacy, checker="twin"), repeats=5)
        mechanism = sf.prove(weights, privacy, checker="twin")
        by_kernel = measure(lambda: sf.verify(mechanism, checker="kernel"), repeats=1).median
    allowed = bounds[pairs.first, pairs.second]
    in_floats = measure(lambda: _holds_in_floats(weights / TOTAL, pairs, allowed), repeats=0).median
    peer = isolated(_seconds_of_qif, weights / TOTAL, bounds, seconds=QIF_SECONDS)
    return *_size(mechanism), by_kernel, by_twin.first, by_twin.median, in_floats, peer


def _product_of_geometrics() -> tuple[Any, ...]:
    """Two truncated geometric mechanisms with α = 1/2, each quantised to 30 bits and proved, then multiplied."""
    steps = np.arange(SPARSE_SIDE)
    geometric = 0.5 ** np.abs(steps[:, None] - steps)
    geometric[:, [0, -1]] *= 2  # the ends take over what would fall beyond them
    geometric /= geometric.sum(axis=1, keepdims=True)
    factor = sf.quantise(geometric, sf.PrivacyType(sf.line(SPARSE_SIDE), alpha="1/2"), bits=30).mechanism.weights
    space = sf.grid(SPARSE_SIDE, SPARSE_SIDE, metric="manhattan")
    mechanism, by_twin = _timed_proof(np.kron(factor, factor), sf.PrivacyType(space, alpha="1/2"))
    allowed = np.full(len(space.pairs.first), np.log(2))
    in_floats = measure(lambda: _holds_in_floats(mechanism.weights, space.pairs, allowed), repeats=0).median
    return *_size(mechanism), NOT_RUN, by_twin.first, by_twin.median, in_floats, NOT_RUN


def _timed_proof(weights: np.ndarray, privacy: sf.PrivacyType) -> tuple[sf.Mechanism, Timing]:
    proved: list[sf.Mechanism] = []
    timing = measure(lambda: proved.append(sf.prove(weights, privacy, checker="twin")), repeats=0)
    return proved[0], timing


def _size(mechanism: sf.Mechanism) -> tuple[int, int]:
    return mechanism.proof.pairs, mechanism.proof.comparisons


def _integer_rows(matrix: np.ndarray) -> np.ndarray:
    """Rows proportional to the given ones, in integers that sum to TOTAL; what is missing goes to the diagonal."""
    weights = np.floor(matrix / matrix.sum(axis=1, keepdims=True) * TOTAL).astype(np.int64)
    weights[np.diag_indices_from(weights)] += TOTAL - weights.sum(axis=1)
    return weights


def _holds_in_floats(matrix: np.ndarray, pairs: Any, allowed: np.ndarray) -> bool:
    """Whether the log-ratios of all pairs stay within what is allowed, up to rounding."""
    logs = np.log(matrix)
    chunk = max(1, 10**6 // matrix.shape[1])  # pairs at a time: a few MB of differences
    return all(
        (
            np.abs(logs[pairs.first[start : start + chunk]] - logs[pairs.second[start : start + chunk]]).max(axis=1)
            <= allowed[start : start + chunk] + 1e-12
        ).all()
        for start in range(0, len(allowed), chunk)
    )


def _seconds_of_qif(matrix: np.ndarray, bounds: np.ndarray) -> float:
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
    for n in TRIANGLE_SIZES:
        distances = sf.points(rng.random((n, 2))).distances.floats
        own = measure(lambda n=n, distances=distances: sf.FiniteSpace(range(n), distances), repeats=3)
        plain: float | str = NOT_RUN
        if n == TRIANGLE_SIZES[0]:
            plain = measure(lambda distances=distances: _triangles_hold(distances), repeats=1).median
        ratio = plain / own.median if isinstance(plain, float) else "—"
        table.add(f"triangle inequality, n = {n}", own.first, own.median, plain, ratio)
    for n in PAIR_SIZES:
        scattered = rng.random((n, 2))
        own = measure(lambda scattered=scattered: sf.points(scattered).pairs, repeats=1)
        table.add(f"implied pairs, {n} random points", own.first, own.median, NOT_RUN, "—")
    table.finish()


def _triangles_hold(distances: np.ndarray) -> bool:
    slack = 1e-12 * distances.max()
    return not any((distances > distances[:, [y]] + distances[y] + slack).any() for y in range(len(distances)))


if __name__ == "__main__":
    main()
