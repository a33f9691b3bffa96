"""Grids, intervals and lattices are boxes: one value says which sides, which step and which norm."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported
from sfumato.mechanisms.continuous.interval import UNIT, Interval, as_interval
from sfumato.mechanisms.lattice import Lattice
from sfumato.release.places import Position
from sfumato.release.tables import release_table
from sfumato.spaces.box import Box, box_of_grid, box_of_points

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=3)


@given(SHAPES, st.randoms(use_true_random=False), st.fractions("1/9", 9, max_denominator=9))
def test_points_of_a_grid_find_their_box_in_any_order(shape: list[int], random: object, step: Fraction) -> None:
    city = box_of_grid(shape, "euclidean", step)
    order = list(range(len(city)))
    random.shuffle(order)  # type: ignore[attr-defined]
    found = box_of_points(city.centres[order])
    assert found is not None
    box, cells = found
    assert box.shape == city.shape and cells.tolist() == order
    assert np.allclose(box.centres, city.centres, atol=1e-12)
    if len(city) > 1:
        assert [float(s) for s in box.step] == pytest.approx([float(step)] * len(shape))


@given(SHAPES, st.data())
def test_a_grid_with_a_point_missing_or_moved_is_none(shape: list[int], data: st.DataObject) -> None:
    where = box_of_grid(shape, "euclidean", Fraction(1)).centres
    some = data.draw(st.integers(0, len(where) - 1))
    if sum(side > 1 for side in shape) > 1:
        assert box_of_points(np.delete(where, some, axis=0)) is None
    if max(shape) > 2 or sum(side > 1 for side in shape) > 1:
        moved = where.copy()
        moved[some, int(np.argmax(shape))] += 0.3
        assert box_of_points(moved) is None


def test_cells_lie_around_the_points_of_a_grid() -> None:
    space = sf.grid(3, 2, step="1/2", metric="manhattan")
    city = space.source.lattice
    assert city == Lattice((3, 2), "manhattan", "1/2") and isinstance(city, Box)
    assert (city.centres == space.coordinates).all() and city.labels == space.labels
    assert str(city) == "[-1/4, 5/4] × [-1/4, 3/4]"


def test_an_interval_is_a_box_of_one_axis() -> None:
    assert UNIT == Interval(0, 1) == as_interval((0, "1")) and hash(UNIT) == hash(Interval(0, 1))
    assert Interval(0.1, 1) != UNIT and str(Interval(0.1, 1)) == "[1/10, 1]"
    fine = sf.box(1, step="1/20", unit="km")
    assert as_interval(fine) == UNIT and fine.ends == (0.0, 1.0)
    loss = sf.continuous.absolute_error(fine)
    assert (
        sf.continuous.posterior_loss(
            sf.continuous.Density.uniform(fine), sf.continuous.truncated_laplace(1), loss
        ).value
        > 0.2
    )
    with pytest.raises(InvalidInput, match=r"an interval has one axis, .* has 2"):
        as_interval(sf.box((1, 1), step=1))


def test_lattices_are_drawn_at_their_points_and_boxes_of_coordinates_are_none() -> None:
    city = sf.mechanisms.lattice_tight_constraints(Lattice((8, 6), step="1/2"), epsilon=3)
    noisy = release_table(city, pa.table({"x": [1.1, 3.7], "y": [0.2, 2.7]}), Position("x", "y"))
    assert {k / 2 for k in range(8)} >= set(noisy["x"].to_pylist())
    assert {k / 2 for k in range(6)} >= set(noisy["y"].to_pylist())
    for other in (sf.box((4, 3), step="1/2"), sf.box((4, 3), step=(1, "1/2"), origin=("-1/2", "-1/4"))):
        with pytest.raises(InvalidInput, match="no lattice, whose first point is 0"):
            sf.mechanisms.lattice_tight_constraints(other, epsilon=3)


def test_boxes_of_more_cells_than_can_be_counted_are_refused() -> None:
    """Where the step is no length that anybody meant, such as 1e-308."""
    for step in ("1e-308", "1e-19"):
        with pytest.raises(NotSupported, match=r"more than 2\^63 cells"):
            sf.box(1, step=step)
        with pytest.raises(NotSupported, match=r"more than 2\^63 cells"):
            sf.spaces.earth_box(48, 2, sides=(10, 10), step=step)
    assert len(sf.box(1, step="1e-18")) == 10**18
