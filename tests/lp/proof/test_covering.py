"""Multipliers from prices: what they prove, and that they miss nothing that could be proved."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.errors import InvalidInput
from sfumato.lp.cone.near import solve_peaks
from sfumato.lp.proof.covering import Cover, covered

Floats = NDArray[np.float64]


def places(seed: int, n: int = 25) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    where = rng.random((n, 2))
    far = np.linalg.norm(where[:, None] - where, axis=2)
    return rng.random(n)[:, None] * far / n, 5.0 * far


def reduced(cost: Floats, logs: Floats, cover: Cover) -> Floats:
    """C_xy + Σ_z Z_xz − Σ_z e^{l(z, x)} Z_zx."""
    table = cost.copy()
    np.add.at(table, (cover.first, cover.column), cover.values)
    np.subtract.at(table, (cover.second, cover.column), np.exp(logs[cover.first, cover.second]) * cover.values)
    return table


@pytest.mark.parametrize("seed", range(6))
def test_what_is_not_missing_is_proved(seed: int) -> None:
    cost, logs = places(seed)
    prices = solve_peaks(cost, logs, tolerance=1e-5).prices * (1.0 + 0.02 * (seed % 3))
    cover = covered(cost, prices, logs)
    assert (cover.values > 0).all()
    assert (reduced(cost, logs, cover) >= (prices - cover.missing)[:, None] - 1e-12).all()


def test_good_prices_are_covered_in_full() -> None:
    cost, logs = places(1)
    prices = solve_peaks(cost, logs, tolerance=1e-5).prices
    assert covered(cost, prices - 1e-9, logs).missing.sum() <= 1e-6 * prices.sum()


@pytest.mark.parametrize("seed", range(4))
def test_no_prices_prove_more_than_the_optimum(seed: int) -> None:
    cost, logs = places(seed)
    found = solve_peaks(cost, logs, tolerance=1e-6)
    for more in (1.0, 1.1, 2.0):
        wanted = found.prices * more
        assert (wanted - covered(cost, wanted, logs).missing).sum() <= found.value * (1 + 1e-6)


def test_plenty_takes_few_multipliers() -> None:
    cost, logs = places(2)
    prices = 0.3 * solve_peaks(cost, logs).prices
    cover = covered(cost, prices, logs)
    assert cover.missing.max() == 0.0
    assert np.bincount(cover.column).max() <= len(cost)


def test_rows_that_nobody_can_help() -> None:
    logs = np.where(np.eye(3, dtype=bool), 0.0, np.inf)
    cover = covered([[0.0, 1.0]] * 3, [0.5, 0.0, 1.0], logs)
    assert not cover.values.size
    assert cover.missing.tolist() == [0.5, 0.0, 1.0]
    assert cover.worst[[0, 2]].tolist() == [0, 0]


def test_shapes_are_checked() -> None:
    with pytest.raises(InvalidInput, match="as many prices"):
        covered(np.ones((3, 2)), np.ones(2), np.ones((3, 3)))


def test_a_hurried_cover_proves_less_and_nothing_wrong() -> None:
    cost, logs = places(3)
    prices = solve_peaks(cost, logs, tolerance=1e-5).prices
    whole, hurried = covered(cost, prices, logs), covered(cost, prices, logs, time_limit=0.0)
    assert (reduced(cost, logs, hurried) >= (prices - hurried.missing)[:, None] - 1e-12).all()
    assert whole.missing.sum() < hurried.missing.sum() < prices.sum()
