from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, InvalidLoss
from sfumato.mechanisms.continuous import (
    Density,
    IntervalLoss,
    absolute_error,
    lattice_loss,
    lattice_space,
    posterior_loss,
    squared_error,
    step_loss,
    truncated_laplace,
)


def test_tables_on_a_lattice_are_exact_where_the_function_is() -> None:
    table = lattice_loss(squared_error((0, 3)), 3, actions=["1/2", 2])
    assert table.exact and table.actions == (Fraction(1, 2), 2)
    assert table.matrix[0].tolist() == [Fraction(1, 4), Fraction(1, 4), Fraction(9, 4), Fraction(25, 4)]
    rough = lattice_loss(IntervalLoss(lambda w, x: np.sqrt(abs(w - x))), 4)
    assert not rough.exact
    assert rough.matrix[0, 1] == pytest.approx(0.5)


def test_lipschitz_constants_are_those_of_the_tables() -> None:
    for loss in (absolute_error(), squared_error()):
        found = sf.loss_lipschitz(lattice_loss(loss, 6), lattice_space(6))
        assert found <= loss.lipschitz  # type: ignore[operator]


def test_steps_are_constant_on_cells() -> None:
    stairs = step_loss(absolute_error((0, 2)), 4)
    assert stairs(1.0, np.array([0.0, 0.49, 0.5, 1.99, 2.0])).tolist() == [1, 1, 0.5, 0.5, 0.5]
    assert stairs.breaks.tolist() == [0.5, 1.0, 1.5]


def test_functions_of_two_numbers_will_do() -> None:
    scalar = IntervalLoss(lambda w, x: math.sin(abs(w - x)) if w > x else 0.0)
    assert scalar(np.array([[1.0]]), np.array([0.0, 1.0])) == pytest.approx(np.array([[math.sin(1), 0]]))
    assert posterior_loss(Density.uniform(), truncated_laplace(1), scalar).value == pytest.approx(0, abs=1e-12)


def test_what_is_no_loss() -> None:
    with pytest.raises(InvalidLoss, match="not finite"):
        IntervalLoss(lambda w, x: np.where(x > 0.4, np.inf, w))
    with pytest.raises(InvalidLoss, match="cannot be evaluated"):
        IntervalLoss(lambda w: w)  # type: ignore[arg-type,misc]
    with pytest.raises(InvalidLoss, match="function of w and x"):
        IntervalLoss([[0, 1], [1, 0]])  # type: ignore[arg-type]
    with pytest.raises(InvalidLoss, match="empty"):
        IntervalLoss(lambda w, x: w * x, actions=[])
    with pytest.raises(InvalidLoss, match="negative"):
        IntervalLoss(lambda w, x: w * x, lipschitz=-1)
    with pytest.raises(InvalidInput, match="absolute_error"):
        step_loss(sf.losses.absolute(range(3)), 2)  # type: ignore[arg-type]
