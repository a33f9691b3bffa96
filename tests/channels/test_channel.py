from __future__ import annotations

from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels import check_secrets, normalise
from sfumato.errors import InvalidChannel, InvalidInput, Mismatch


@pytest.mark.parametrize(
    "matrix",
    [
        [],
        [[]],
        [[1, 0]],
        [[1, 0], [1]],
        [[1, 0], ["1/2", "1/3"]],
        [[1.0, 0.0], [0.5, 0.4]],
        [[2, -1], [0, 1]],
        [[1.0, nan], [0.5, 0.5]],
        [[1.0, inf], [0.5, 0.5]],
        [["a", "b"], [0, 1]],
        None,
        5,
    ],
)
def test_what_is_not_stochastic_is_refused(matrix: Any) -> None:
    with pytest.raises(InvalidChannel):
        sf.Channel(["x", "z"], matrix)


def test_the_error_names_row_and_total() -> None:
    with pytest.raises(InvalidChannel, match="row of 'z' sums to 5/6") as caught:
        sf.Channel(["x", "z"], [[1, 0], ["1/2", "1/3"]])
    assert caught.value.row == "z"
    assert caught.value.total == Fraction(5, 6)


def test_outputs_default_to_numbers_and_must_fit() -> None:
    assert sf.Channel(["x"], [[0.25, 0.75]]).outputs == (0, 1)
    for outputs in (["only"], ["same", "same"], []):
        with pytest.raises(InvalidInput):
            sf.Channel(["x"], [[0.25, 0.75]], outputs)


def test_special_channels() -> None:
    space = sf.line(3)
    assert (sf.Channel.identity(space).matrix == np.eye(3)).all()
    assert sf.Channel.constant(space, "nothing").outputs == ("nothing",)
    parity = sf.Channel.deterministic(space, lambda x: x % 2)
    assert parity.matrix.tolist() == [[1, 0], [0, 1], [1, 0]]


def test_rows_by_label() -> None:
    channel = sf.Channel(["x", "z"], [[1, 0], ["1/2", "1/2"]])
    assert channel.row("z").tolist() == [Fraction(1, 2)] * 2
    with pytest.raises(Mismatch):
        channel.row("y")


def test_fields_convert_both_ways() -> None:
    exact = sf.Channel([0, 1], [["1/3", "2/3"], ["1/7", "6/7"]])
    back = exact.to_floats().to_rationals()
    assert back.exact
    assert not exact.to_floats().exact
    assert np.abs((back.matrix - exact.matrix).astype(float)).max() < 1e-16


def test_normalise() -> None:
    assert normalise([[1, 3], [2, 2]]).tolist() == [[Fraction(1, 4), Fraction(3, 4)], [Fraction(1, 2)] * 2]
    assert normalise([[0.5, 0.5 + 1e-9]]).sum() == pytest.approx(1, abs=1e-15)
    for bad in ([[0, 0]], [[1, -1]], [[inf, 1.0]]):
        with pytest.raises(InvalidChannel):
            normalise(bad)


def test_secrets_that_differ_are_named() -> None:
    with pytest.raises(Mismatch, match="'c'"):
        check_secrets("things", sf.Prior.uniform(["a", "b"]), sf.Prior.uniform(["a", "c"]))
