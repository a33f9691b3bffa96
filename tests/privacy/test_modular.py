"""Elimination modulo primes agrees with exact arithmetic."""

from __future__ import annotations

from itertools import combinations

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import sfumato as sf
from sfumato.privacy.modular import MOST_ROWS, eliminate, remainder, residues_of, substitute_back

PRIMES = (2, 3, 7, 101, 2**29 - 3)


@st.composite
def tables(draw: st.DrawFn) -> NDArray[np.int64]:
    """Small integer tables, some with rows and columns that depend on each other."""
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    rank = draw(st.integers(1, 6))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    left, right = (random.integers(-4, 5, shape) for shape in ((rows, rank), (rank, columns)))
    return np.asarray(left @ right)


def columns_of(table: NDArray[np.int64], prime: int) -> NDArray[np.int64]:
    """A table as the compiled functions take it: one row for each column, and one place more."""
    work = np.zeros((table.shape[1], len(table) + 1), dtype=np.int64)
    work[:, : len(table)] = np.mod(table, prime).T
    return work


@given(st.data(), st.sampled_from(PRIMES))
def test_remainders_are_those_of_division(data: st.DataObject, prime: int) -> None:
    value = data.draw(st.integers(0, 16 * prime**2))
    assert remainder(np.int64(value), np.int64(prime), 1.0 / prime) == value % prime


@given(tables(), st.sampled_from(PRIMES))
def test_columns_are_independent_exactly_if_the_rank_says_so(table: NDArray[np.int64], prime: int) -> None:
    rows, columns = table.shape
    rank = flint.nmod_mat(rows, columns, np.mod(table, prime).ravel().tolist(), prime).rank()
    assert eliminate(columns_of(table, prime), rows, columns, columns, prime) == (rank == columns)


@given(st.integers(1, 7), st.integers(0, 2**32 - 1), st.sampled_from(PRIMES))
def test_solutions_solve(size: int, seed: int, prime: int) -> None:
    random = np.random.default_rng(seed)
    table, right = random.integers(0, prime, (size, size)), random.integers(0, prime, (size, 3))
    work = columns_of(np.concatenate([table, right], axis=1), prime)
    if not eliminate(work, size, size, size + 3, prime):
        assert flint.nmod_mat(size, size, table.ravel().tolist(), prime).rank() < size
        return
    substitute_back(work, size, size + 3, prime)
    solution = work[size:, :size].T.astype(object)
    assert (np.mod(table.astype(object) @ solution - right, prime) == 0).all()


@given(tables())
def test_a_minor_is_zero_exactly_if_it_is_modulo_all_primes(table: NDArray[np.int64]) -> None:
    residues = residues_of(table.astype(object))
    rows, columns = table.shape
    for chosen in combinations(range(columns), min(rows, columns, 3)):
        size = len(chosen)
        minor = table[:size][:, chosen]
        determinant = int(flint.fmpz_mat(minor.tolist()).det())
        regular = [
            eliminate(columns_of(entries[:size][:, chosen], int(prime)), size, size, size, int(prime))
            for entries, prime in zip(residues.tables, residues.primes, strict=True)
        ]
        assert any(regular) == (determinant != 0)


def test_the_product_of_the_primes_exceeds_twice_every_minor() -> None:
    table = np.array([[2**70, 1, 0], [3, 2**65, 5], [7, -(2**60), 2**68]], dtype=object)
    determinant = abs(int(flint.fmpz_mat([[int(v) for v in row] for row in table]).det()))
    product = 1
    for prime in residues_of(table).primes:
        product *= int(prime)
    assert product > 2 * determinant > 2**200


def test_more_rows_than_a_machine_word_holds_products_of_are_refused() -> None:
    with pytest.raises(sf.errors.NotSupported, match="fewer secrets"):
        residues_of(np.ones((MOST_ROWS + 1, 2), dtype=object))
