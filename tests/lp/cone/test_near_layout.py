"""Near rows of columns, and sums over them beside the same sums over tables."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.lp.cone.near import solve_peaks
from sfumato.lp.cone.near_iterate import NearIterate
from sfumato.lp.cone.near_layout import Layout, laid_out, sum_of_squares

Floats = NDArray[np.float64]


def towns(seed: int, n: int = 40, m: int = 25) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Log bounds, costs and peaks of places on a map, the first few of which are outputs."""
    rng = np.random.default_rng(seed)
    where = rng.random((n, 2))
    far = 20.0 * np.linalg.norm(where[:, None] - where, axis=2)
    cost = rng.random(n)[:, None] * far[:, :m]
    return far, cost, cost < 0.15 * cost.max(axis=1, keepdims=True)


def blocks(layout: Layout, values: Floats) -> list[Floats]:
    """One table a column, a line a peak and one more in which every row stands beside itself."""
    return [
        values[layout.blocks[w] : layout.blocks[w + 1]].reshape(layout.starts[w + 1] - layout.starts[w], -1)
        for w in range(len(layout.starts) - 1)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_near_rows_are_those_within_reach_of_a_peak_and_no_row_is_left_out(seed: int) -> None:
    logs, cost, peaks = towns(seed)
    layout = laid_out(peaks, logs, cost, 6.0)
    cheapest = np.argsort(cost, axis=1)[:, :4]
    for y in range(cost.shape[1]):
        near = layout.near[layout.places[y] : layout.places[y + 1]]
        tops = np.flatnonzero(peaks[:, y])
        assert layout.rows[layout.starts[y] - y : layout.starts[y + 1] - y - 1].tolist() == tops.tolist()
        assert near[layout.at[layout.starts[y] : layout.starts[y + 1] - 1]].tolist() == tops.tolist()
        expected = (logs[tops] <= 6.0).any(axis=0) | (cheapest == y).any(axis=1)
        assert near.tolist() == np.flatnonzero(expected).tolist()
    assert len(layout.near) < cost.size
    assert set(layout.near) == set(range(len(logs)))


def test_without_a_limit_all_rows_are_near() -> None:
    logs, cost, peaks = towns(1)
    assert len(laid_out(peaks, logs, cost, np.inf).near) == peaks.any(axis=0).sum() * len(logs)


@pytest.mark.parametrize("seed", range(4))
def test_sums_and_squares_are_those_of_tables(seed: int) -> None:
    logs, cost, peaks = towns(seed, 60, 60)
    n, layout = len(logs), laid_out(peaks, logs, cost, 5.0)
    rng = np.random.default_rng(seed)
    entries, pairs = rng.random(len(layout.near)), rng.random(layout.pairs)
    dense = layout.dense(entries, n)
    assert dense[layout.columns, layout.near].tolist() == entries.tolist()
    assert np.allclose(layout.sums(entries, n), dense.sum(axis=0))
    assert (
        layout.least(entries, np.full(n, 0.3)).tolist() == np.where(dense > 0, dense, 0.3).min(0).clip(max=0.3).tolist()
    )
    total = np.zeros((n, n))
    for w, table in enumerate(blocks(layout, pairs)):
        near = layout.near[layout.places[w] : layout.places[w + 1]]
        total[np.ix_(near, near)] += table[:-1].T @ table[:-1]
    assert np.allclose(np.triu(sum_of_squares(layout, pairs, n)), np.triu(total))
    assert sorted(np.concatenate([columns for columns, _ in layout.groups])) == np.flatnonzero(peaks.any(0)).tolist()


def test_pairs_of_a_table() -> None:
    logs, cost, peaks = towns(2)
    layout = laid_out(peaks, logs, cost, 5.0)
    for w, table in enumerate(blocks(layout, layout.of_pairs(logs))):
        near = layout.near[layout.places[w] : layout.places[w + 1]]
        assert table[:-1].tolist() == logs[np.ix_(peaks[:, w], near)].tolist()
        assert table[-1].tolist() == logs[near, near].tolist()


def test_a_column_that_no_row_looks_at_has_one_entry() -> None:
    cost = np.array([[0.0, 1, 2, 3, 9], [1.0, 0, 2, 3, 8]])
    layout = laid_out(cost < 0.5, np.ones((2, 2)), cost, 0.5)
    assert layout.near[layout.places[4] :].tolist() == [1]
    assert np.diff(layout.starts).tolist() == [2, 2, 1, 1, 1]


def test_rows_left_out_because_they_are_far_cost_nothing() -> None:
    """A run that looks at near rows only comes to the value of one that looks at all."""
    rng = np.random.default_rng(5)
    where = rng.random((60, 2))
    far = np.linalg.norm(where[:, None] - where, axis=2)
    cost, logs = rng.random(60)[:, None] * far / 60, 60.0 * far
    found = solve_peaks(cost, logs, tolerance=1e-3)
    peaks = cost < found.reach[:, None]
    few, all_rows = NearIterate(cost, logs, peaks, -np.log(1e-8)), NearIterate(cost, logs, peaks)
    assert few.layout.pairs < 0.7 * all_rows.layout.pairs
    for method in (few, all_rows):
        while method.iterate() and method.relative(*method.standing()) > 1e-5:
            pass
    assert few.settled().value == pytest.approx(all_rows.settled().value, rel=2e-5)
    table = few.settled().matrix
    assert (np.exp(-logs)[:, :, None] * table[:, None] <= table + 1e-5).all()
