"""Closures in compiled code against the same in plain Python, where rows are long enough to be looked at in strips."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.certify.closure import Bounds, _closed_list, bounds_of, close_floats, close_integers

SPACES = {
    "all pairs": sf.points(np.random.default_rng(1).random((150, 2))),
    "some pairs": sf.grid(13, 13),
    "a cycle": sf.graph([(i, (i + 1) % 200) for i in range(200)]),
}


def closed(columns: np.ndarray[Any, Any], bounds: Bounds, p: np.ndarray[Any, Any], q: np.ndarray[Any, Any]) -> Any:
    """Each column closed in plain Python."""
    order = np.argsort(-columns.astype(np.float64), axis=0, kind="stable")
    return np.array([
        _closed_list(column.tolist(), first.tolist(), bounds, p.tolist(), q.tolist())
        for column, first in zip(columns.T, order.T, strict=True)
    ]).T  # fmt: skip


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("epsilon", ["1/1000", "2"])
def test_integers_are_closed_to_the_last_unit(space: str, epsilon: str) -> None:
    """A closed column with entries lowered by a unit or two is within rounding of closed: floats cannot see it."""
    rng, privacy = np.random.default_rng(2), sf.PrivacyType(SPACES[space], epsilon=epsilon)
    n, bounds = len(privacy.space), bounds_of(privacy, 1 << 60)
    rough = rng.integers(0, 2**59, (n, 3)).astype(np.uint64)
    tight = close_integers(rough, bounds)
    assert np.array_equal(tight, closed(rough, bounds, bounds.p, bounds.q))
    lowered = tight - rng.integers(0, 3, tight.shape).astype(np.uint64)
    again = close_integers(lowered, bounds)
    assert np.array_equal(again, closed(lowered, bounds, bounds.p, bounds.q))
    assert (again > lowered).any()


@pytest.mark.parametrize("space", SPACES)
def test_floats_are_closed_up_to_rounding(space: str) -> None:
    privacy = sf.PrivacyType(SPACES[space], epsilon=1)
    bounds = bounds_of(privacy, 1 << 52)
    rough = np.random.default_rng(3).random((len(privacy.space), 3))
    assert np.allclose(
        close_floats(rough, bounds), closed(rough, bounds, np.ones_like(bounds.decay), bounds.decay), rtol=1e-12, atol=0
    )
