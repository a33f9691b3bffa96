"""Systems with entries near the diagonal beside NumPy's dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.lp.cone.banded import Bands


@st.composite
def systems(draw: Any) -> tuple[int, Any]:
    """Bandwidth and positive definite matrices of very different sizes, one for each column."""
    n, columns = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    width = draw(st.integers(0, n - 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lower = np.tril(rng.normal(size=(columns, n, n)))
    lower[:, np.subtract.outer(np.arange(n), np.arange(n)) > width] = 0.0
    diagonal = np.arange(n)
    lower[:, diagonal, diagonal] = 1.0 + rng.random((columns, n))
    scale = 10.0 ** rng.uniform(-2, 2, (columns, n))
    return width, (lower @ lower.mT) * scale[:, None] * scale[:, :, None]


@given(systems())
def test_solutions_and_the_sum_of_inverses(case: Any) -> None:
    width, matrices = case
    columns, n, _ = matrices.shape
    rows, others = np.nonzero(np.tril(np.triu(np.ones((n, n)), -width)))
    bands, link = Bands(n, (rows, others), columns), np.zeros((n, n))
    bands.factor(matrices[:, rows, others].T, Bands.scratch(n), link)
    expected = np.linalg.inv(matrices).sum(axis=0)
    size = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.abs((link - np.triu(expected)) / size).max() < 1e-8
    right = np.random.default_rng(1).normal(size=(n, columns))
    solved = np.linalg.solve(matrices, right.T[:, :, None])[:, :, 0].T
    assert bands.solve(right) == pytest.approx(solved, rel=1e-6, abs=1e-9 * np.abs(solved).max())


def test_a_matrix_that_is_not_definite_does_not_end_in_numbers_that_are_none() -> None:
    bands, link = Bands(2, (np.array([0, 1, 1]), np.array([0, 0, 1])), 1), np.zeros((2, 2))
    bands.factor(np.array([[1.0], [1.0], [1.0]]), Bands.scratch(2), link)
    assert np.isfinite(link).all()
