from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import InvalidInput
from sfumato.spaces.box import box
from sfumato.spaces.splines import Axis, bernstein_rows, dense, rounding_of

interval = box((2,), step=1)


def test_lattices_have_a_point_a_break_or_a_cell_and_one_on_either_side() -> None:
    assert rounding_of(box((3, 2), step=1), degree=1).shape == (4, 3)
    assert rounding_of(box((3, 2), step=1)).shape == (5, 4)
    assert rounding_of(box((3, 2), step=1), parts=(2, 1)).shape == (8, 4)
    assert len(rounding_of(box((3, 2), step=1))) == 20


def test_a_place_is_in_the_cell_that_begins_there_and_the_last_end_in_the_last_cell() -> None:
    axis = Axis(tuple(map(Fraction, (0, 1, 3, 4))))
    places = ["0", "1/2", "1", "5/2", "3", "4"]
    assert [axis.cell_of(Fraction(place)) for place in places] == [0, 0, 1, 1, 2, 2]


def test_lattice_points_are_numbered_with_the_last_axis_first() -> None:
    rounding = rounding_of(box((2, 1), step=1), degree=1)
    assert rounding.weights((Fraction(1), Fraction(1))) == {3: 1}
    assert rounding.weights((Fraction(2), Fraction(0))) == {4: 1}


def test_points_outside_have_the_weights_of_the_nearest_point() -> None:
    rounding = rounding_of(box((2, 1), step=1, origin=(10, 20)))
    assert rounding.weights((Fraction(0), Fraction(100))) == rounding.weights((Fraction(10), Fraction(21)))
    assert rounding.clamped((Fraction(11), Fraction(41, 2))) == (1, Fraction(1, 2))


def test_rows_are_few_where_cells_meet() -> None:
    """Of degree 2 neighbouring cells share a pair of rows; of degree 1 slopes jump, and both sides are there."""
    assert len(bernstein_rows(rounding_of(interval).axes[0])[0]) == 5
    assert len(bernstein_rows(rounding_of(interval).axes[0], 1)[0]) == 9
    assert len(bernstein_rows(rounding_of(interval, degree=1).axes[0])[0]) == 4
    assert dense([{0: Fraction(1, 2), 2: Fraction(1)}], 3).tolist() == [[0.5, 0, 1]]


def test_slopes_are_differences_over_widths() -> None:
    values, slopes = bernstein_rows(Axis(tuple(map(Fraction, (0, 1, 4)))))
    column = np.array([1, 2, 5, 9], dtype=object)
    found = [[sum(w * column[v] for v, w in row.items()) for row in rows] for rows in (values, slopes)]
    assert found[0] == [Fraction(3, 2), 2, Fraction(11, 4), 5, 7]
    assert found[1] == [1, Fraction(5, 4), Fraction(3, 2), Fraction(17, 12), Fraction(4, 3)]


@pytest.mark.parametrize("breaks", [[[0, 2, 1]], [[0, 1]], [["1/2", 2]], [[0, 0, 2]]])
def test_breaks_go_up_from_nought_to_the_side(breaks: list[list[object]]) -> None:
    with pytest.raises(InvalidInput, match="go up from 0 to the side"):
        rounding_of(interval, breaks=breaks)


def test_other_degrees_are_refused() -> None:
    with pytest.raises(InvalidInput, match="degree 1 or 2"):
        rounding_of(interval, degree=3)
