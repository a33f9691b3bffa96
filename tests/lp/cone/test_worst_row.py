"""The compiled method for the worst row, beside the one over arrays."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.design.objectives import worst_secret
from sfumato.design.problem import problem
from sfumato.design.symmetry import by_group, symmetry
from sfumato.errors import NotSupported
from sfumato.lp.cone.arrays import solve_batched
from sfumato.lp.cone.program import ColumnProgram, Ending, Limit, column_bound
from sfumato.lp.cone.worst_row import solve_worst_row
from sfumato.theory.compatibility.utility import utility

POINTS = sf.points(np.random.default_rng(4).random((14, 2)).round(3).tolist())


def program(space: sf.FiniteSpace, gamma: float, epsilon: float, reduced: bool = True) -> ColumnProgram:
    promise = sf.PrivacyType(space, epsilon=Fraction(epsilon))
    asked = problem(None, utility(space, gamma).loss, promise, None, worst_secret())
    return by_group(asked, symmetry(asked) if reduced else None).part


@pytest.mark.parametrize(
    ("space", "gamma", "epsilon"),
    [(sf.line(9), 1, 0.7), (sf.grid(3, 3), 1, 1.0), (sf.cycle(7), 1, 2.0), (POINTS, 0.2, 5.0), (POINTS, 0.4, 40.0)],
    ids=str,
)
@pytest.mark.parametrize("reduced", [True, False], ids=["orbits", "whole"])
def test_it_agrees_with_the_other_method(space: sf.FiniteSpace, gamma: float, epsilon: float, reduced: bool) -> None:
    given = program(space, gamma, epsilon, reduced)
    found, other = solve_worst_row(given, tolerance=1e-5), solve_batched(given, tolerance=1e-5)
    assert found.ended is Ending.REACHED
    assert found.bound <= found.value <= other.value * (1 + 3e-5)
    assert other.bound <= other.value <= found.value * (1 + 3e-5)
    # what it says of itself is so: the columns are in their cones, rows sum to 1, and the multipliers prove the bound
    assert np.isclose(np.bincount(given.row_classes, found.matrix.sum(axis=1)), given.sizes).all()
    slack = found.matrix[given.second] - np.exp(-given.logs)[:, None] * found.matrix[given.first]
    assert (slack > 0).all()
    sums = np.bincount(given.limits[0].group, (given.limits[0].table * found.matrix).sum(axis=1))
    assert sums.max() == pytest.approx(found.value, rel=1e-9)
    assert column_bound(given, found.multipliers, found.prices) == pytest.approx(found.bound, rel=1e-6)
    assert found.prices[0].sum() == pytest.approx(1)


def test_loose_and_tight() -> None:
    given = program(POINTS, 0.3, 8.0)
    loose, tight = (solve_worst_row(given, tolerance=tolerance) for tolerance in (1e-1, 1e-7))
    assert loose.iterations < tight.iterations
    assert loose.gap <= 1e-1 and tight.gap <= 1e-7
    assert loose.bound <= tight.bound <= tight.value <= loose.value


def test_it_stops_when_the_levels_are_told_apart() -> None:
    given = program(POINTS, 0.3, 8.0)
    whole = solve_worst_row(given, tolerance=1e-6)
    levels = [whole.value * factor for factor in (0.5, 0.8, 1.3)]
    early = solve_worst_row(given, tolerance=1e-6, levels=levels)
    assert early.iterations < whole.iterations and early.gap > 1e-6 and early.ended is Ending.REACHED
    assert levels[1] < early.bound <= whole.value <= early.value < levels[2]
    assert solve_worst_row(given, tolerance=1e-6, levels=[whole.value]).gap <= 1e-6  # a level that cannot be told apart


def test_programs_of_another_kind_are_refused() -> None:
    table, pairs = np.array([[0.0, 1], [2, 0]]), ([0, 1], [1, 0], np.log([3.0, 3.0]))
    each, nothing = np.arange(2), np.zeros(2)
    limit = Limit(table, each, nothing, relative=True)
    for cost, limits in (
        (np.ones((2, 2)), (limit,)),
        (np.zeros((2, 2)), (limit, limit)),
        (np.zeros((2, 2)), (Limit(table, each, nothing),)),
        (np.zeros((2, 2)), (Limit(table + 1, each, nothing, relative=True),)),
        (np.zeros((2, 2)), (Limit(table, np.zeros(2, dtype=np.int64), np.zeros(1), relative=True),)),
    ):
        with pytest.raises(NotSupported):
            solve_worst_row(ColumnProgram(cost, *pairs, limits=limits))
