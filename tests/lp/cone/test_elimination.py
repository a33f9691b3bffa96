"""The symbolic analysis beside a plain elimination of the pattern."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.lp.cone.elimination import Elimination, elimination


@st.composite
def graphs(draw: Any) -> tuple[int, np.ndarray, np.ndarray]:
    """Sparse and dense, connected or not, pairs listed more than once and in either direction."""
    n = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(0, 3 * n))
    first, second = rng.integers(n, size=(2, count))
    return n, first[first != second], second[first != second]


def pattern(n: int, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    full = np.zeros((n, n), dtype=bool)
    full[first, second] = full[second, first] = True
    return full


def edges_of_grid(side: int) -> tuple[np.ndarray, np.ndarray]:
    cells = np.arange(side * side).reshape(side, side)
    return (np.concatenate([cells[:, :-1].ravel(), cells[:-1].ravel()]),
            np.concatenate([cells[:, 1:].ravel(), cells[1:].ravel()]))  # fmt: skip


@given(graphs())
def test_entries_are_those_of_a_plain_elimination(graph: tuple[int, np.ndarray, np.ndarray]) -> None:
    n, first, second = graph
    found = elimination(n, first, second)
    assert sorted(found.order.tolist()) == list(range(n))
    left = pattern(n, first, second)[np.ix_(found.order, found.order)]
    for j in range(n):
        rows = j + 1 + np.flatnonzero(left[j + 1 :, j])
        assert found.rows[found.starts[j] : found.starts[j + 1]].tolist() == rows.tolist()
        left[np.ix_(rows, rows)] = True


@given(graphs())
def test_rows_before_one_and_its_ancestors_need_no_others(graph: tuple[int, np.ndarray, np.ndarray]) -> None:
    found = elimination(*graph)
    n, parents = graph[0], found.parents
    for i in range(n):
        closed = set(range(i + 1))
        j = i
        while parents[j] < n:
            j = int(parents[j])
            closed.add(j)
        for j in closed:
            assert closed.issuperset(found.rows[found.starts[j] : found.starts[j + 1]].tolist())


@pytest.mark.parametrize(("side", "most"), [(10, 700), (20, 3700), (30, 10000)])
def test_grids_fill_up_little(side: int, most: int) -> None:
    found = elimination(side * side, *edges_of_grid(side))
    assert found.entries < most  # row after row it would be about side³


def test_trees_do_not_fill_up_at_all() -> None:
    rng = np.random.default_rng(4)
    ends = np.array([rng.integers(i) for i in range(1, 200)])
    found = elimination(200, np.arange(1, 200), ends)
    assert found.entries == 199
    assert found.products == 199


def test_without_pairs_nothing_is_eliminated() -> None:
    empty = np.empty(0, dtype=np.int64)
    found = elimination(3, empty, empty)
    assert isinstance(found, Elimination)
    assert (found.entries, found.products, found.parents.tolist()) == (0, 0, [3, 3, 3])
