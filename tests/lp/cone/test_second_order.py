"""Laws of the algebra of second-order cones, on random vectors, and steps to the boundary by brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.lp.cone.second_order import (
    clipped,
    cone_reach,
    inner,
    inverse,
    jordan_product,
    jordan_quotient,
    scaling,
    smallest,
)


@st.composite
def vectors(draw: Any, count: int = 2, inside: bool = True) -> list[Any]:
    """Vectors of one dimension, 20 cones each: inside the cone, some of them close to its boundary, or anywhere."""
    d = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    found = []
    for _ in range(count):
        x = rng.normal(size=(d, 20)) * 10.0 ** rng.uniform(-3, 3, 20)
        if inside:
            x[0] = np.linalg.norm(x[1:], axis=0) * (1 + 10.0 ** rng.uniform(-6, 1, 20)) if d > 1 else np.abs(x[0])
        found.append(x)
    return found


@given(vectors())
def test_a_quotient_undoes_a_product(case: Any) -> None:
    x, y = case
    size = np.abs(x).max(axis=0) * np.abs(y).max(axis=0)
    assert np.allclose(jordan_product(x, jordan_quotient(x, y)), y, rtol=0, atol=1e-8 * np.abs(y).max(axis=0))
    unit = np.zeros_like(x)
    unit[0] = 1.0
    assert np.allclose(jordan_product(x, inverse(x)), unit, atol=1e-8)
    assert np.allclose(inner(x, y) / size, jordan_product(x, y)[0] / size)


@given(vectors())
def test_slacks_and_duals_are_one_point_seen_through_the_scaling(case: Any) -> None:
    s, z = case
    w = scaling(s, z)
    v = w.times(z)
    assert np.allclose(v, w.divided(s), rtol=1e-6, atol=1e-7 * np.abs(v).max(axis=0))
    assert (smallest(v) > 0).all()
    assert np.allclose(inner(v, v), inner(s, z), rtol=1e-6)
    assert np.allclose(w.divided(w.times(z)), z, rtol=1e-6, atol=1e-7 * np.abs(z).max(axis=0))


@given(vectors())
def test_the_entries_of_the_inverse_square(case: Any) -> None:
    s, z = case
    w, d = scaling(s, z), len(s)
    square = np.zeros((d, d, s.shape[1]))
    upper = [(i, j) for i in range(d) for j in range(i, d)]
    for (i, j), entry in zip(upper, w.inverse_squares(), strict=True):
        square[i, j] = square[j, i] = entry
    unit = np.eye(d)
    for j in range(d):
        column = w.divided(w.divided(np.repeat(unit[:, j : j + 1], s.shape[1], axis=1)))
        assert np.allclose(column, square[:, j], rtol=1e-6, atol=1e-9 * np.abs(square).max(axis=(0, 1)))
    assert np.allclose(np.einsum("ijk,jk->ik", square, s), z, rtol=1e-4, atol=1e-4 * np.abs(z).max(axis=0))


@given(vectors(), st.integers(0, 2**32 - 1))
def test_steps_lead_to_the_boundary_and_not_beyond(case: Any, seed: int) -> None:
    x = case[0]
    change = np.random.default_rng(seed).normal(size=x.shape) * np.abs(x).max(axis=0)
    found = cone_reach(x, change)
    for scale, stays in ((0.999, True), (1.001, False)):
        there = smallest(x + change * np.where(found > 0, scale / np.where(found > 0, found, 1.0), 1e6))
        assert ((there > 0) == stays)[found > 1e-6].all()
        assert (there > 0)[found < -1e-6].all()


@given(vectors(count=1, inside=False), st.floats(-2, 0), st.floats(0, 2))
def test_eigenvalues_come_between_bounds_and_stay_if_they_were_there(case: Any, low: float, high: float) -> None:
    x = case[0]
    least, most = np.full(x.shape[1], low), np.full(x.shape[1], high)
    there = clipped(x, least, most)
    assert (smallest(there) >= low - 1e-12).all()
    assert (-smallest(-there) <= high + 1e-12).all()
    assert np.allclose(clipped(there, least, most), there, atol=1e-12)
    wide = 1e9 * np.ones(x.shape[1])
    assert np.allclose(clipped(x, -wide, wide), x)
