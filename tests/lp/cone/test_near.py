"""The interior-point method at peaks beside the whole program, on small metrics and on awkward ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

from sfumato.errors import InvalidInput
from sfumato.lp.cone.near import first_losses, solve_peaks
from sfumato.lp.cone.near_iterate import NearIterate
from sfumato.lp.cone.program import ColumnProgress, Ending

Floats = NDArray[np.float64]

TOLERANCE = 1e-5


def optimum(cost: Floats, logs: Floats, peaks: NDArray[np.bool_] | None = None) -> float:
    """The least cost by HiGHS, with the bounds of all pairs, or of those whose first row is a peak of the column."""
    (n, m), scale = cost.shape, float(np.abs(cost).max()) or 1.0
    asked = np.ones(cost.shape, dtype=bool) if peaks is None else peaks
    x, z, w = np.nonzero((~np.eye(n, dtype=bool) & np.isfinite(logs))[:, :, None] & asked[:, None, :])
    k = np.arange(len(x))
    sums = coo_array((np.ones(n * m), (np.repeat(np.arange(n), m), np.arange(n * m))), shape=(n, n * m))
    bounds: dict[str, Any] = {}
    if k.size:
        values = np.concatenate([np.exp(-logs[x, z]), -np.ones(len(k))])
        places = np.concatenate([k, k]), np.concatenate([x * m + w, z * m + w])
        bounds = {"A_ub": coo_array((values, places), shape=(len(k), n * m)), "b_ub": np.zeros(len(k))}
    strict = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost.ravel() / scale, A_eq=sums, b_eq=np.ones(n), options=strict, **bounds)
    return float(found.fun) * scale


def some_program(seed: int) -> tuple[Floats, Floats]:
    """Places in a plane with weights of all sizes, and what is awkward: see the comments."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.choice([1, 2, 3, 5, 8, 12])), int(rng.choice([1, 2, 3, 6, 12]))
    where, there = rng.random((n, 2)), rng.random((m, 2))
    if seed % 3 == 0:  # ties, and rows at the same place
        where, there = np.round(2 * where) / 2, np.round(2 * there) / 2
    logs = 10 ** rng.uniform(-3, 2.5) * np.linalg.norm(where[:, None] - where, axis=2)
    if seed % 5 == 1:  # rows that have nothing to do with each other
        group = rng.integers(2, size=n)
        logs = np.where(group[:, None] != group, np.inf, logs)
    weights = rng.random(n) * 10 ** rng.uniform(-6, 0, n)
    if seed % 4 == 1:
        weights[rng.integers(n)] = 0.0
    cost = weights[:, None] * np.linalg.norm(where[:, None] - there, axis=2)
    if seed % 5 == 2:
        cost = rng.normal(size=(n, m))
    if seed % 5 == 3:  # every column twice
        cost = np.concatenate([cost, cost], axis=1)
    if seed % 5 == 4:  # right or wrong
        cost = weights[:, None] * (cost > np.median(cost))
    return cost, logs


@pytest.mark.parametrize("seed", range(40))
def test_beside_the_whole_program(seed: int) -> None:
    cost, logs = some_program(seed)
    found, truth = solve_peaks(cost, logs, tolerance=TOLERANCE), optimum(cost, logs)
    # rounding errors of HiGHS and of sums of costs of very different sizes
    scale = max(abs(truth), 1e-5 * float(np.abs(cost).max(axis=1).sum()))
    assert found.bound <= truth + 1e-5 * scale
    assert found.prices.sum() == pytest.approx(found.bound, abs=1e-9 * scale)
    assert truth - found.bound <= 10 * TOLERANCE * scale
    assert (cost * found.matrix).sum() - truth <= 10 * TOLERANCE * scale
    assert np.allclose(found.matrix.sum(axis=1), 1.0, atol=1e-9)
    for x in range(len(cost)):  # nothing below what the other rows ask for, up to what small bounds are solved as
        for z in np.flatnonzero(np.isfinite(logs[x])):
            assert (found.matrix[z] >= np.exp(-logs[x, z]) * found.matrix[x] - 1e-5).all()


@pytest.mark.parametrize("seed", range(12))
def test_pairs_next_to_peaks_are_enough(seed: int) -> None:
    """Leaving out all pairs whose first row has a price below its cost changes nothing."""
    rng = np.random.default_rng(seed)
    where = rng.random((6, 2))
    far = np.linalg.norm(where[:, None] - where, axis=2)
    cost, logs = rng.random(6)[:, None] * far, far * rng.choice([1.0, 3.0, 8.0])
    prices = solve_peaks(cost, logs, tolerance=1e-7).prices
    peaks = prices[:, None] > cost - 1e-6
    assert not peaks.all()
    assert optimum(cost, logs, peaks) == pytest.approx(optimum(cost, logs), rel=1e-6)
    assert optimum(cost, logs, np.zeros_like(peaks)) < optimum(cost, logs) * 0.99


def test_few_peaks_on_a_line() -> None:
    far = np.abs(np.arange(60)[:, None] - np.arange(60.0))
    found = solve_peaks(far / 60, far, tolerance=1e-4)
    assert found.gap <= 1.5e-4
    assert found.ended is Ending.REACHED
    assert found.peaks < 600  # of 3600


def test_reaches_of_a_similar_program_save_a_run() -> None:
    far = np.abs(np.arange(40)[:, None] - np.arange(40.0))
    alone = solve_peaks(far / 40, far / 2)
    again = solve_peaks(far / 40, far / 2, reach=alone.reach)
    assert again.iterations < alone.iterations
    assert again.bound == pytest.approx(alone.bound, rel=1e-3)


def test_a_start_strictly_inside() -> None:
    cost, logs = some_program(12)
    logs = np.maximum(logs, 1e-6)
    method = NearIterate(cost, logs, np.ones(cost.shape, dtype=bool))
    assert np.allclose(method.layout.sums(method.r, len(cost)), 1.0)
    for w in range(method.m):
        column = method.layout.dense(method.r, len(cost))[w]
        slack = column - np.exp(-logs) * column[:, None]
        assert (slack[~np.eye(len(cost), dtype=bool)] > 0).all()


def test_columns_that_cost_the_same() -> None:
    found = solve_peaks(np.full((4, 3), 0.5), np.ones((4, 4)) - np.eye(4))
    assert (found.value, found.bound, found.gap) == (2.0, 2.0, 0.0)


def test_time_and_interrupts_leave_an_answer() -> None:
    far = np.abs(np.arange(30)[:, None] - np.arange(30.0))
    short = solve_peaks(far, far, time_limit=0.0)
    assert short.ended is Ending.TIME
    assert short.bound <= short.value

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    stopped = solve_peaks(far, far, progress=stop)
    assert stopped.ended is Ending.INTERRUPTED
    assert np.allclose(stopped.matrix.sum(axis=1), 1.0)


def test_a_run_that_is_cut_short_leaves_the_one_before() -> None:
    """Rough prices come first; a few steps into the next run, they and their matrix are still the better ones."""
    rng = np.random.default_rng(2)
    where = rng.random((60, 2))
    far = np.linalg.norm(where[:, None] - where, axis=2)
    cost, logs = rng.random(60)[:, None] * far, 15.0 * far
    best, gaps = solve_peaks(cost, logs, tolerance=1e-4), []

    def stop_early_in_the_second_run(step: ColumnProgress) -> None:
        gaps.append(step.gap)
        if len(gaps) > 3 and min(gaps) < 3e-2 < gaps[-1]:
            raise KeyboardInterrupt

    stopped = solve_peaks(cost, logs, tolerance=1e-4, progress=stop_early_in_the_second_run)
    assert stopped.ended is Ending.INTERRUPTED and gaps[-1] > 1.0
    assert stopped.value <= 1.2 * best.value
    assert stopped.bound >= 0.9 * best.bound


def test_first_losses_are_what_a_mechanism_loses() -> None:
    cost, logs = some_program(15)
    lost = first_losses(cost, np.maximum(logs, 1e-9))
    assert lost.sum() >= optimum(cost, logs) - 1e-12


def test_what_cannot_be_solved_is_refused() -> None:
    with pytest.raises(InvalidInput, match="square table"):
        solve_peaks(np.ones((3, 2)), np.ones((2, 2)))
    with pytest.raises(InvalidInput, match="finite costs"):
        solve_peaks(np.array([[np.inf, 0.0]]), np.zeros((1, 1)))
    with pytest.raises(InvalidInput, match="positive relative gap"):
        solve_peaks(np.ones((1, 1)), np.zeros((1, 1)), tolerance=0.0)


def test_a_rough_run_returns_a_matrix_that_keeps_all_bounds() -> None:
    """Whoever has no time for more makes do with it."""
    rng = np.random.default_rng(5)
    places = rng.random((40, 2))
    far = np.linalg.norm(places[:, None] - places, axis=2)
    weights = 10 ** rng.uniform(-3, 0, 40)
    cost = (weights / weights.sum())[:, None] * far
    rough = solve_peaks(cost, 15 * far, tolerance=0.1, settle=False)
    held = np.exp(-15 * far)[:, :, None] * rough.matrix[:, None, :] - rough.matrix[None]
    assert held.max() <= 1e-7
    assert np.abs(rough.matrix.sum(axis=1) - 1).max() <= 1e-9
    assert (cost * rough.matrix).sum() <= 1.5 * rough.bound
