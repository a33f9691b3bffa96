"""The one Cholesky factor: beside NumPy's, and what becomes of pivots that are too small."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.lp.cone import cholesky


def definite(n: int) -> np.ndarray:
    root = np.random.default_rng(n).normal(size=(n, n + 2))
    return root @ root.T


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13, 50])
def test_it_solves_what_numpy_solves(n: int) -> None:
    matrix, right = definite(n), np.arange(1.0, n + 1)
    root = matrix.copy()
    assert cholesky.factor(root, np.zeros(n), True) == 0
    lower = np.tril(root, -1) + np.diag(1 / np.diagonal(root))
    np.testing.assert_allclose(lower, np.linalg.cholesky(matrix), rtol=1e-9)
    np.testing.assert_allclose(cholesky.factor_solved(root, right), np.linalg.solve(matrix, right), rtol=1e-7)
    half = right.copy()
    cholesky.forward(root, half)
    np.testing.assert_allclose(half, np.linalg.solve(lower, right), rtol=1e-7)


@pytest.mark.parametrize("lost", [0, 3, 5, 6])
def test_a_row_that_repeats_another_is_left_out_or_keeps_a_least_pivot(lost: int) -> None:
    """A matrix of seven rows, one of which is the sum of the others before it and has no pivot of its own."""
    basis = np.eye(7)
    basis[lost] = basis[:lost].sum(axis=0)
    matrix = basis @ np.diag(np.arange(1.0, 8)) @ basis.T
    skipped, floored = matrix.copy(), matrix.copy()
    assert cholesky.factor(skipped, np.full(7, 1e-12), True) == 1
    right = matrix @ np.where(np.arange(7) == lost, 0.0, 1.0)
    solution = cholesky.factor_solved(skipped, right)
    assert solution[lost] == 0
    np.testing.assert_allclose(matrix @ solution, right, rtol=1e-9, atol=1e-9)
    assert cholesky.factor(floored, np.full(7, 0.25), False) == 1
    assert floored[lost, lost] == 2


def test_what_is_not_a_number_is_a_lost_pivot() -> None:
    assert cholesky.factor(np.full((3, 3), np.nan), np.zeros(3), True) == 3
