"""Prices window by window: what they are beside those of the whole, which corners concern whom, and what is proved."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.design.boxes import bound, optimal, patches
from sfumato.design.boxes.bound import box_bound, splits_of
from sfumato.design.boxes.finite import FiniteProblem
from sfumato.design.boxes.prices import _within_reach, prices, window_prices
from sfumato.design.boxes.symmetry import Turn
from sfumato.watch import Watch

SAME = [Turn((0, 1), (False, False))]


@cache
def town() -> tuple[sf.Prior, FiniteProblem]:
    """Two places far from each other where people live, nobody in between, and one who lives alone."""
    box = sf.box((18, 9), step=1, unit="km")
    x, y = np.meshgrid(np.arange(18) + 0.5, np.arange(9) + 0.5, indexing="ij")
    counts = np.rint(60 * np.exp(-((x - 4) ** 2 + (y - 4) ** 2) / 5) + 40 * np.exp(-((x - 14) ** 2 + (y - 5) ** 2) / 4))
    counts[9, 0] = 3
    prior = sf.Prior.on_cells(counts.astype(int).tolist(), box)
    return prior, FiniteProblem(box, (1, 1), prior.float_weights, 1.0, SAME)


def test_a_window_has_the_masses_and_distances_of_its_secrets() -> None:
    problem = town()[1]
    window = problem.window((3, 2), (9, 8))
    number = np.arange(18 * 9).reshape(18, 9)[3:9, 2:8].ravel()
    assert np.array_equal(window.masses, problem.masses[number])
    assert window.logs == pytest.approx(problem.logs[np.ix_(number, number)])
    assert problem.logs_among(number) == pytest.approx(window.logs)
    corner = np.array([[5, 5]])  # in steps from the first secret of either
    inside = window.lowered(corner - [3, 2], 0)[:, 0]
    assert inside == pytest.approx(problem.lowered(corner, 0, number)[:, 0], abs=1e-9)


def test_prices_of_windows_are_nearly_those_of_the_whole() -> None:
    problem = town()[1]
    whole, parts = prices(problem, 1, 0, 1e-3, Watch()), window_prices(problem, 1, 1e-3, Watch())
    assert 0.85 * whole.sum() < parts.sum() < 1.01 * whole.sum()
    assert not parts[problem.masses == 0].any()
    assert window_prices(problem, 1, 1e-3, Watch(0.0)).sum() == 0


def test_who_is_covered_by_neighbours_is_covered_as_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = town()[1]
    price = window_prices(problem, 1, 1e-3, Watch())
    splits, slack = splits_of(problem, price, 1, Watch(), 2e-3)
    whole = box_bound(problem, price, splits, slack, Watch())
    monkeypatch.setattr(bound, "MOST_AT_ONCE", 0)
    same, again = splits_of(problem, price, 1, Watch(), 2e-3)
    assert again == slack and abs(len(same) - len(splits)) <= 0.1 * len(splits)
    parts = box_bound(problem, price, splits, slack, Watch())
    assert 0.99 * whole.value < parts.value < 1.01 * whole.value
    assert 0 < parts.value < price.sum()


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_neighbours_take_over_no_more_than_what_every_column_pays_for(seed: int) -> None:
    """Theorem: Σ p f does not grow for any column f that keeps the promise."""
    problem = town()[1]
    rng = np.random.default_rng(seed)
    price = problem.masses * rng.exponential(3, len(problem.masses)) + 0.01 * (rng.random(len(problem.masses)) < 0.05)
    after = _within_reach(problem, price)
    assert (after <= np.maximum(price, 5.0 * problem.masses) * (1 + 1e-12)).all() and after.sum() <= price.sum()
    for _ in range(20):
        tips = np.exp(rng.normal(scale=3, size=len(price)))
        column = (tips[None] * np.exp(-problem.logs)).max(axis=1)  # the largest below which no tip lies
        assert after @ column <= price @ column * (1 + 1e-12)


def test_a_bound_by_windows_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    prior, problem = town()
    monkeypatch.setattr(patches, "SWEEPS", 1)
    monkeypatch.delattr(optimal, "prices")  # the program of all secrets is not asked for
    monkeypatch.setattr(bound, "MOST_AT_ONCE", 50)
    monkeypatch.setattr(optimal, "MOST_AT_ONCE", 50)
    monkeypatch.setattr(optimal, "_LARGEST_FINITE", 50)
    box = problem.box
    design = sf.design(prior, sf.losses.distance(box), sf.PrivacyType(box, epsilon=1), tolerance=0.3)
    assert sf.verify(design.mechanism)
    assert 0 < design.gap < 0.4
    assert prices(problem, 1, 0, 1e-3, Watch()).sum() > 0.98 * float(design.bound)
