"""Square cells from a corner in degrees: where points are, exactly, and how far centres are apart."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InvalidInput
from sfumato.spaces import counts_on_cells, earth_box, square_cells
from sfumato.spaces.cells import SquareCells

TOWN = square_cells("40.70 N", "74.02 W", sides=(2, 1), step="500 m")


def cells() -> SquareCells:
    assert TOWN.ground is not None and isinstance(TOWN.ground.cells, SquareCells)
    return TOWN.ground.cells


def test_labels_and_centres() -> None:
    assert TOWN.labels == tuple((column, row) for column in range(4) for row in range(2))
    assert TOWN.coordinates is not None
    longitude, latitude = TOWN.coordinates.T
    assert cells().locate(latitude, longitude).tolist() == list(range(8))
    assert TOWN.distance((0, 0), (1, 0)) == pytest.approx(0.5, rel=1e-3)
    assert TOWN.distance((0, 0), (0, 1)) == pytest.approx(0.5, rel=1e-6)


@given(st.floats(40.69, 40.72), st.floats(-74.03, -73.99))
def test_points_are_located_exactly(latitude: float, longitude: float) -> None:
    frame = cells().box.frame
    assert frame is not None
    x, y = frame.coordinates(latitude, longitude)
    inside = 0 <= x <= 2 and 0 <= y <= 1
    column, row = min(int(x // Fraction(1, 2)), 3), min(int(y // Fraction(1, 2)), 1)
    expected = column * 2 + row if inside else -1
    assert cells().locate(np.array([latitude]), np.array([longitude])).tolist() == [expected]


def test_cells_are_those_of_a_box() -> None:
    box = earth_box("40.70 N", "74.02 W", sides=(2, 1), step="500 m", margin=0)
    rng = np.random.default_rng(1)
    latitude, longitude = rng.uniform(40.69, 40.72, 500), rng.uniform(-74.03, -73.99, 500)
    found = cells().locate(latitude, longitude)
    assert (
        np.bincount(found[found >= 0], minlength=8).tolist()
        == counts_on_cells(box, latitude, longitude).ravel().tolist()
    )


def test_outlines_hold_their_centres() -> None:
    assert TOWN.coordinates is not None
    for (ring,), centre in zip(cells().outlines(), TOWN.coordinates, strict=True):
        assert np.allclose(ring.mean(axis=0), centre)


def test_across_the_antimeridian() -> None:
    fiji = square_cells(-17.9, 178, -16.1, "179.9 W", step=50)
    assert fiji.ground is not None and fiji.ground.cells is not None and fiji.coordinates is not None
    found = fiji.ground.cells.locate(np.array([-17.0, -17.0]), np.array([179.99, -179.95]))
    assert found.min() >= 0
    assert np.abs(fiji.coordinates[:, 0]).max() <= 180


def test_some_of_the_cells() -> None:
    part = TOWN.restrict([(3, 1), (0, 0)])
    assert part.ground is not None and part.ground.cells is not None and TOWN.coordinates is not None
    longitude, latitude = TOWN.coordinates.T
    assert part.ground.cells.locate(latitude, longitude).tolist() == [1, -1, -1, -1, -1, -1, -1, 0]


def test_what_is_refused() -> None:
    with pytest.raises(InvalidInput, match="opposite corner"):
        square_cells(40, -74, step=1)
    with pytest.raises(InvalidInput, match="must be positive"):
        square_cells(40, -74, sides=(1, 1), step=-1)
    with pytest.raises(InvalidInput, match="reach a pole"):
        square_cells(89, 0, sides=(200, 200), step=100)
