"""Transports with losses on the way: beside HiGHS, and what is left out afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sfumato.lp.proof.transport import missing, prune, thin, transported

Floats = NDArray[np.float64]


def places(seed: int) -> tuple[Floats, Floats, Floats]:
    """A few rows in need among others that have something, some far away; needs sum to 1."""
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(1, 9)), int(rng.integers(1, 40))
    far = np.linalg.norm(rng.random((k, 1, 2)) - rng.random((1, n, 2)), axis=2) * rng.choice([0.1, 1.0, 5.0, 30.0])
    need, spare = rng.random(k) ** 3 + 1e-6, rng.random(n) ** 3 + 1e-9
    need /= need.sum()
    return np.exp(-np.maximum(far, 1e-9)), need, spare / spare.sum() * rng.choice([0.5, 1.0, 3.0, 30.0])


def least_missing(share: Floats, need: Floats, spare: Floats) -> float:
    """The optimum, by HiGHS: variables are what goes each way, then what is missing."""
    k, n = share.shape
    arrives = np.zeros((k, k * n + k))
    for i in range(k):
        arrives[i, i * n : (i + 1) * n], arrives[i, k * n + i] = -share[i], -1.0
    sent = np.hstack([np.tile(np.eye(n), k), np.zeros((n, k))])
    found = linprog(
        np.concatenate([np.zeros(k * n), np.ones(k)]), np.vstack([arrives, sent]), np.concatenate([-need, spare]),
        method="highs",
    )  # fmt: skip
    return float(found.fun)


@pytest.mark.parametrize("seed", range(40))
def test_as_little_is_missing_as_must_be(seed: int) -> None:
    share, need, spare = places(seed)
    sent = transported(share, need, spare, 1e-7)
    assert (sent > 0).all()
    thin(share, need, spare, sent, 1e-7)
    assert (sent.sum(axis=0) <= spare).all()
    left = missing(share, need, sent).sum()
    least = least_missing(share, need, spare)
    assert least - 1e-7 <= left <= least + 1e-6  # HiGHS itself is good to 1e-7


@pytest.mark.parametrize("seed", range(40))
def test_a_forest_carries_as_much(seed: int) -> None:
    share, need, spare = places(seed)
    before = transported(share, need, spare, 1e-6)
    thin(share, need, spare, before, 0.0)
    after = before.copy()
    prune(share, after)
    assert (after >= 0).all()
    assert (after.sum(axis=0) <= before.sum(axis=0) * (1 + 1e-12)).all()
    assert ((share * after).sum(axis=1) >= (share * before).sum(axis=1) * (1 - 1e-9)).all()
    k, n = after.shape
    first, second = np.nonzero(after)
    parts = connected_components(coo_array((np.ones(len(first)), (first, k + second)), (k + n, k + n)), False)[0]
    assert len(first) == k + n - parts  # edges of a graph without cycles


def test_pruning_has_something_to_prune() -> None:
    share, need, spare = places(3)
    sent = transported(share, need, spare, 1e-6)
    ways = np.count_nonzero(sent)
    prune(share, sent)
    assert np.count_nonzero(sent) < ways


def test_tiny_parts_are_left_out_within_what_may_be_spent() -> None:
    share, need, spare = np.ones((1, 3)), np.array([1.0]), np.array([0.7, 0.4, 0.001])
    sent = np.array([[0.6, 0.4, 0.001]])
    thin(share, need, spare, sent, 0.01)
    assert sent.tolist() == [[0.6, 0.4, 0.0]]
    thin(share, need, spare, sent, 0.5)
    assert sent.tolist() == [[0.6, 0.0, 0.0]]


def test_nobody_sends_more_than_it_has() -> None:
    share, need, spare = np.full((2, 1), 0.5), np.ones(2), np.array([1.0])
    sent = np.full((2, 1), 2.0)
    thin(share, need, spare, sent, 0.0)
    assert sent.sum() <= 1.0
    assert missing(share, need, sent) == pytest.approx([0.75, 0.75])


def test_rows_next_to_nothing_away() -> None:
    """All that is sent arrives, so that the smallest slack is a rounding error of one."""
    share = np.full((3, 4), 1.0 - 1e-9)
    need, spare = np.full(3, 1.0 / 3.0), np.full(4, 0.3)
    sent = transported(share, need, spare, 1e-6)
    assert np.isfinite(sent).all()
    thin(share, need, spare, sent, 0.0)
    assert missing(share, need, sent).sum() <= 1e-5
