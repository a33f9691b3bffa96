from __future__ import annotations

from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato import losses
from sfumato.errors import InvalidInput, InvalidLoss, Mismatch


@pytest.mark.parametrize(
    "table", [[], [[1, 2]], [[1, 2], [3]], [[nan, 1.0], [0.0, 1.0]], [[inf, 1.0], [0.0, 1.0]], "x", None]
)
def test_bad_tables_are_refused(table: Any) -> None:
    with pytest.raises(InvalidLoss):
        sf.Loss(["w", "v"], ["x", "z"], table)


def test_values_by_label() -> None:
    loss = sf.Loss(["w"], ["x", "z"], [[1, "5/2"]])
    assert loss.at("w", "z") == Fraction(5, 2)
    with pytest.raises(InvalidInput):
        loss.at("v", "z")
    with pytest.raises(InvalidInput):
        loss.at("w", "y")
    assert "1 actions, 2 secrets" in repr(loss)


def test_sum_plays_both_games() -> None:
    both = losses.add(losses.bin([0, 1]), losses.nib([0, 1]))
    assert both.actions == ((0, 0), (0, 1), (1, 0), (1, 1))
    assert both.at((0, 1), 0) == 0
    assert both.at((1, 0), 0) == 2
    with pytest.raises(Mismatch):
        losses.add(losses.bin([0, 1]), losses.bin([0, 2]))


def test_scaling_restriction_and_lifting() -> None:
    scaled = losses.scale(losses.bin([0, 1]), ["1/2", 0])
    assert scaled.matrix.tolist() == [[0, 0], [Fraction(1, 2), 0]]
    assert losses.scale(losses.bin([0, 1]), 3).at(0, 1) == 3
    for bad in ([1], [-1, 1]):
        with pytest.raises(InvalidLoss):
            losses.scale(losses.bin([0, 1]), bad)
    part = losses.restrict_loss(losses.absolute(range(4)), [3, 0])
    assert part.secrets == (3, 0)
    assert part.at(1, 3) == 2
    lifted = losses.lift(part, range(4))
    assert lifted.at(1, 3) == 2
    assert lifted.at(1, 2) == 0
    with pytest.raises(Mismatch):
        losses.restrict_loss(part, [9])
    with pytest.raises(Mismatch):
        losses.lift(part, [0, 1])


def test_gains_are_losses_with_the_other_sign() -> None:
    gain = sf.Gain(["w"], ["x"], [[3]])
    assert gain.as_loss().at("w", "x") == -3
    assert gain.kind == "gain"


def test_mixed_fields_become_floats() -> None:
    mixed = losses.add(losses.matrix([0, 1], [["1/3", 1]]), losses.matrix([0, 1], [[0.5, 1.0]]))
    assert mixed.matrix.dtype == np.float64
