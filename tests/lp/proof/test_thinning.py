"""Few multipliers prove nearly what all prove: whatever the program, and however the multipliers came about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.lp import ColumnProgram, ColumnSolution, Ending, Limit, column_bound, solve_columns
from sfumato.lp.first_order import solve_first_order
from sfumato.lp.proof.thinning import Kept, listed_multipliers, thinned


def dense(kept: Kept, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    table = np.zeros(shape)
    table[kept.pair, kept.column] = kept.values
    return table


def as_solution(program: ColumnProgram, multipliers: np.ndarray[Any, Any], prices: Any = ()) -> ColumnSolution:
    return ColumnSolution(np.zeros(program.shape), multipliers, 1.0, 0.0, 1.0, 1, 0.0, Ending.REACHED, prices)


@st.composite
def programs(draw: Any) -> tuple[ColumnProgram, np.ndarray[Any, Any]]:
    """Any pairs, some one way only, some twice; any multipliers, many of them tiny or zero."""
    n, m = draw(st.integers(2, 7)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pairs = draw(st.integers(0, 3 * n))
    first = rng.integers(0, n, pairs)
    second = (first + rng.integers(1, n, pairs)) % n
    if draw(st.booleans()):
        first, second = np.concatenate([first, second]), np.concatenate([second, first])
    classes = rng.permutation(np.arange(n) % draw(st.integers(1, n)))
    program = ColumnProgram(rng.random((n, m)), first, second, rng.uniform(1e-3, 4, len(first)), classes)
    size = np.exp(rng.normal(-3, 3, (len(first), m)))
    return program, np.where(rng.random(size.shape) < 0.7, size, 0.0)


@given(programs(), st.sampled_from([0.0, 1e-3, 0.1, 10.0]))
@settings(max_examples=300)
def test_the_bound_falls_by_no_more_than_is_spared(
    case: tuple[ColumnProgram, np.ndarray[Any, Any]], spare: float
) -> None:
    program, multipliers = case
    kept = thinned(program, as_solution(program, multipliers), spare)
    assert (kept.values > 0).all()
    before = column_bound(program, multipliers)
    after = column_bound(program, dense(kept, multipliers.shape))
    assert after >= before - spare - 1e-9 * (1 + multipliers.sum())
    assert len(kept) <= np.count_nonzero(multipliers)


@given(programs())
@settings(max_examples=100)
def test_limits_that_are_paid_for_count(case: tuple[ColumnProgram, np.ndarray[Any, Any]]) -> None:
    program, multipliers = case
    n, m = program.shape
    limit = Limit(np.arange(n * m).reshape(n, m) / (n * m), np.arange(n), np.full(n, 0.3))
    limited = ColumnProgram(program.cost, program.first, program.second, program.logs, program.classes, (limit,))
    prices = (np.linspace(0, 2, n),)
    kept = thinned(limited, as_solution(limited, multipliers, prices), 0.05)
    before = column_bound(limited, multipliers, prices)
    after = column_bound(limited, dense(kept, multipliers.shape), prices)
    assert after >= before - 0.05 - 1e-9 * (1 + multipliers.sum())


def test_a_pair_is_used_one_way_only() -> None:
    program = ColumnProgram(np.eye(3), [0, 1, 1, 2], [1, 0, 2, 1], [1.0, 1.0, 0.5, 0.5])
    kept = dense(thinned(program, as_solution(program, np.full((4, 3), 0.2)), 0.0), (4, 3))
    assert not ((kept[0] > 0) & (kept[1] > 0)).any()
    assert not ((kept[2] > 0) & (kept[3] > 0)).any()


def on_grid(side: int) -> ColumnProgram:
    """All pairs of a grid; rows of very different stakes."""
    places = np.argwhere(np.ones((side, side)))
    far = np.linalg.norm(places[:, None] - places[None], axis=2)
    first, second = np.nonzero(far)
    stakes = np.exp(-((places - 1) ** 2).sum(axis=1) / 4)
    return ColumnProgram(stakes[:, None] * far, first, second, np.log(2) * far[first, second])


@pytest.mark.parametrize("solver", [solve_columns, lambda p, tolerance: solve_first_order(p, tolerance=tolerance)])
def test_about_one_a_row_is_left_in_each_column(solver: Any) -> None:
    program = on_grid(6)
    found = solver(program, tolerance=1e-3)
    spare = 5e-3 * found.value
    kept = thinned(program, found, spare)
    assert len(kept) <= 2 * program.shape[0] * program.shape[1]
    assert len(kept) < np.count_nonzero(found.multipliers) / 5
    assert column_bound(program, dense(kept, found.multipliers.shape)) >= found.bound - spare - 1e-9


def test_many_columns_on_threads_are_the_same_columns() -> None:
    program = on_grid(7)
    rng = np.random.default_rng(0)
    multipliers = np.exp(rng.normal(-8, 3, (len(program.first), 49)))
    assert multipliers.size > 100_000
    together = dense(thinned(program, as_solution(program, multipliers), 1.0), multipliers.shape)
    floor = column_bound(program, multipliers)
    assert column_bound(program, together) >= floor - 1.0 - 1e-9 * multipliers.sum()
    assert {int(w) for w in np.flatnonzero(together.any(axis=0))} <= set(range(49))


def test_nothing_is_left_of_nothing() -> None:
    empty = ColumnProgram([[1.0, 2.0], [3.0, 0.0]], [], [], [])
    assert len(thinned(empty, as_solution(empty, np.zeros((0, 2))), 0.0)) == 0
    assert len(listed_multipliers(np.zeros((3, 2)))) == 0
