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
    is_legal,
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
        found = sf.orders.loss_lipschitz(lattice_loss(loss, 6), lattice_space(6))
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


def test_legal_losses_have_places_and_others_a_reason() -> None:
    """Equal rows share a place; a loss that falls with the distance is not legal, nor one that alternates."""
    twice = is_legal(sf.Loss(["a", "b", "c"], [0, 1], [[0, 1], [1, 0], [0, 1]]))
    places = twice.witness.places
    assert places["a"] == places["c"] < places["b"]
    assert is_legal(sf.Loss([0], range(3), [[1, 5, 2]])).witness.places.keys() == {0}
    alternate = is_legal(sf.losses.member(sf.line(3), [1]))
    assert not alternate and "more than once" in alternate.reason
    assert "no places" in is_legal(sf.losses.nib(range(3))).reason


def test_legal_losses_of_a_dominated_action_are_decided() -> None:
    """A worse action may stand on either side, and both are tried; at both ends at once it cannot be further away."""
    assert is_legal(sf.Loss(range(2), range(3), [[0, 0, 0], [0, 1, 3]]))
    assert is_legal(sf.Loss(range(2), range(3), [[0, 0, 0], [3, 1, 0]]))
    assert not is_legal(sf.Loss(range(2), range(3), [[0, 0, 0], [1, 1, 1]]))


def test_secrets_of_a_legal_loss_are_numbers() -> None:
    with pytest.raises(InvalidLoss, match="numbers on a line"):
        is_legal(sf.losses.bin(["a", "b", "c"]))


def test_legal_losses_on_secrets_that_are_floats() -> None:
    """0.1 is a fraction with a large denominator; whole numbers of its parts do not fit into 64 bits."""
    secrets = [0.1, 0.25, 0.7, 1.3]
    rows = [[abs(w - x) * (1 + x) for x in secrets] for w in secrets]
    places = is_legal(sf.Loss(range(4), secrets, rows)).witness.places
    assert [places[k] for k in range(4)] == sorted(places.values())
    assert not is_legal(sf.losses.nib(secrets))
