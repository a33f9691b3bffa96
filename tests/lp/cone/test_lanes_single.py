"""Newton systems in single precision beside doubles: the same up to rounding, and runs that begin with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfumato.lp.cone import lanes_iterate
from sfumato.lp.cone.lanes import solve_columns
from sfumato.lp.cone.lanes_dense import DenseSystems
from sfumato.lp.cone.lanes_iterate import LanesIterate
from sfumato.lp.cone.program import ColumnProgram, Ending, column_bound
from sfumato.lp.cone.registers import LANES


def grid(side: int, columns: int | None = None, rate: float = np.log(2)) -> ColumnProgram:
    """Distance to the output on a square grid, all pairs, one corner much more likely than the others."""
    places = np.argwhere(np.ones((side, side))).astype(np.float64)
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    first, second = np.nonzero(distances)
    prior = np.exp(-(places**2).sum(axis=1) / side)
    cost = (prior / prior.sum())[:, None] * distances
    return ColumnProgram(cost[:, :columns], first, second, rate * distances[first, second])


@pytest.mark.parametrize("columns", [3, 4, 5, 8, 13])
@pytest.mark.parametrize("grouped", [False, True])
def test_both_precisions_say_the_same(columns: int, grouped: bool) -> None:
    """Any number of columns: blocks are joined in twos, and the last may be alone or hold columns that do not count."""
    method = LanesIterate(grid(5, columns))
    for _ in range(3):
        method.iterate()
    blocks, classes = len(method.r), np.arange(25) % 7 if grouped else np.arange(25)
    doubles = DenseSystems(25, blocks, classes, grouped=grouped)
    singles = DenseSystems(25, blocks, classes, grouped=grouped, single=True)
    arrays = (method.first, method.second, method.decay, method.r, method.z, method.adjoint, method.mask)
    found: list[Any] = []
    for systems in (doubles, singles):
        systems.factor(0, 0, blocks, *arrays)
        out, sums = np.zeros_like(method.r), np.zeros((25, LANES))
        systems.apply(0, 0, blocks, method.r, method.mask, method.cost, np.ones(25), out, sums)
        found.append((np.tril(systems.link()), out * method.mask[:, None, :], sums))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * np.abs(one).max())


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Single precision for small programs too."""
    monkeypatch.setattr(lanes_iterate, "_SINGLE_ROWS", 4)


@pytest.mark.usefixtures("early")
@pytest.mark.parametrize("rate", [0.1, np.log(2), 3.0])
def test_a_run_that_begins_in_single_precision_ends_in_doubles(rate: float) -> None:
    program = grid(6, rate=rate)
    method = LanesIterate(program)
    assert method.systems is not method.doubles
    # far below what single precision resolves; doubles come to rest near 1e-8 at the largest rate
    found = solve_columns(program, tolerance=1e-7)
    assert found.ended is Ending.REACHED
    assert 0 <= found.gap <= 1e-7
    assert found.bound == pytest.approx(column_bound(program, found.multipliers), abs=1e-12)
    np.testing.assert_allclose(found.matrix.sum(axis=1), 1.0, atol=1e-12)
    slack = found.matrix[program.second] - np.exp(-program.logs)[:, None] * found.matrix[program.first]
    assert slack.min() > 0


@pytest.mark.usefixtures("early")
def test_doubles_take_over_where_single_precision_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    program = grid(5)
    link = DenseSystems.link
    monkeypatch.setattr(DenseSystems, "link", lambda one: np.full((25, 25), np.nan) if one.single else link(one))
    with np.errstate(invalid="ignore"):
        found = solve_columns(program, tolerance=1e-6)
    assert found.ended is Ending.REACHED


@pytest.mark.usefixtures("early")
def test_tiny_bounds_are_left_to_doubles() -> None:
    """Slacks are differences of nearly equal entries there."""
    method = LanesIterate(grid(4, rate=1e-3))
    assert method.systems is method.doubles


def test_small_programs_are_left_to_doubles() -> None:
    method = LanesIterate(grid(6))
    assert method.systems is method.doubles
