from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InvalidInput
from sfumato.mechanisms.continuous import Interval, lattice, lattice_space
from sfumato.mechanisms.continuous.interval import as_interval, cell_indices


@given(st.integers(1, 400), st.data())
def test_a_lattice_point_lies_in_the_cell_to_its_right(steps: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(0, steps))
    low, length = (
        data.draw(st.fractions(-3, 3, max_denominator=7)),
        data.draw(st.fractions("1/9", 5, max_denominator=9)),
    )
    interval = Interval(low, low + length)
    point = float(lattice(steps, interval)[n])
    assert cell_indices(point, steps, interval) == min(n, steps - 1)


def test_points_between_lattice_points() -> None:
    x = np.array([0.0, 0.2499, 0.25, 0.9999, 1.0])
    assert cell_indices(x, 4).tolist() == [0, 0, 1, 3, 3]


def test_distances_are_those_of_the_numbers() -> None:
    space = lattice_space(4, Interval(Fraction(-1), Fraction(1)))
    assert space.labels[1] == Fraction(-1, 2)
    assert space.distance(Fraction(-1, 2), 1) == 1.5


@pytest.mark.parametrize("wrong", [(1, 0), (0, 0), 3, (0, 1, 2), ("a", 1)])
def test_what_is_no_interval(wrong: object) -> None:
    with pytest.raises(InvalidInput):
        as_interval(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "2"])
def test_what_is_no_number_of_steps(wrong: object) -> None:
    with pytest.raises(InvalidInput, match="positive integer"):
        lattice(wrong)  # type: ignore[arg-type]
