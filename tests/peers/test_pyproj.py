"""pyproj converts other coordinate systems to degrees, on the way in."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import InvalidInput
from sfumato.spaces import earth_box, to_box, to_degrees

pytestmark = pytest.mark.peers


def test_the_british_grid() -> None:
    """Caister water tower, the worked example of the Ordnance Survey, to some metres (without its grid of shifts)."""
    latitude, longitude = to_degrees([651409.903], [313177.270], "EPSG:27700")
    assert latitude[0] == pytest.approx(52.6580, abs=1e-3) and longitude[0] == pytest.approx(1.7161, abs=1e-3)
    town = earth_box(52.6, 1.6, sides=(20, 20), step=1)
    x, y = to_box(town, latitude[0], longitude[0])
    assert 0 < x < 20 and 0 < y < 20


def test_web_maps() -> None:
    """The corner of the Mercator square of web maps, and lists of any length."""
    edge = np.pi * 6378137
    latitude, longitude = to_degrees([0, edge], [0, edge], 3857)
    assert np.allclose(latitude, [0, 85.0511287798]) and np.allclose(longitude, [0, 180])


@pytest.mark.parametrize("crs", ["no such system", object(), "EPSG:0"])
def test_unknown_systems(crs: object) -> None:
    with pytest.raises(InvalidInput, match="pyproj does not convert"):
        to_degrees([0.0], [0.0], crs)


def test_points_without_a_place() -> None:
    with pytest.raises(InvalidInput, match="pyproj does not convert"):
        to_degrees([1e30], [1e30], "EPSG:27700")
    with pytest.raises(InvalidInput, match="equal length"):
        to_degrees([1.0, 2.0], [1.0], "EPSG:27700")
