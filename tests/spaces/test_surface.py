"""Surfaces: a plane and the Earth answer the same questions, each in its own way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import InvalidInput, NotSupported
from sfumato.spaces.box import Box, box
from sfumato.spaces.earth import earth_box, ground_stretch, to_earth
from sfumato.spaces.ground import ground_lengths
from sfumato.spaces.surface import GREAT_CIRCLE, Earth, Plane

TOWN = box((8, 6), step="1/2", unit="km", metric="manhattan", origin=(-1, 2))
CITY = earth_box("40.70 N", "74.02 W", sides=(10, 8), step=1, margin=2)
FIJI = earth_box(-17, 179, sides=(200, 100), step=20)  # across the antimeridian
BOXES = [TOWN, CITY, FIJI, box(1, step="1/4"), box((1, 2, 3), step=1)]


def named(home: Box) -> str:
    return home.name


@pytest.mark.parametrize("home", BOXES, ids=named)
def test_a_point_goes_to_where_people_hold_it_and_comes_back(home: Box) -> None:
    surface = home.surface
    point = tuple(low + side / 3 for low, side in zip(home.origin, home.sides, strict=True))
    place = surface.place(point)
    assert surface.point(place, "the point") == point == surface.accepted(point, "the point")
    assert surface.turned([surface.coordinate(axis, at) for axis, at in enumerate(point)]) == [*place]


@pytest.mark.parametrize("home", BOXES, ids=named)
def test_scales_region_and_reaches_are_about_the_same_coordinates(home: Box) -> None:
    surface, axes = home.surface, home.dimension
    assert len(surface.scales) == len(surface.columns) == len(surface.reaches) == axes
    out = surface.margin or 0
    low, high = surface.region[:axes], surface.region[axes:]
    ends = [
        (corner - out * unit, corner + (side + out) * unit)
        for (corner, unit), side in zip(surface.scales, home.sides, strict=True)
    ]
    assert list(zip(surface.turned(low), surface.turned(high), strict=True)) == ends
    for reach, end in zip(surface.reaches, ends, strict=True):
        assert reach is None or reach[:2] == end


def test_a_plane_measures_in_its_norm_and_takes_all_points() -> None:
    surface = TOWN.surface
    assert isinstance(surface, Plane) and not isinstance(surface, Earth)
    assert (surface.norm, surface.aim, surface.words, surface.margin) == ("manhattan", "", "", None)
    assert surface.stretch == (1, 1) and surface.to_json() is None
    surface.needs_a_plane("what only a plane has", [])
    assert surface.possible((np.array([1e9]), np.array([-1e9]))).all()
    assert surface.gaps((np.array([0.0, 10.0, -4.0]), np.array([2.0, 12.0, 2.0]))).tolist() == [0, 5, 3]


def test_the_earth_measures_great_circles_and_takes_places_up_to_its_margin() -> None:
    surface = CITY.surface
    assert isinstance(surface, Earth)
    assert (surface.norm, surface.aim, surface.margin) == (GREAT_CIRCLE, " on the ground", 2)
    assert surface.stretch == ground_stretch(CITY) != (1, 1)
    assert surface.to_json() == {
        "south": "407/10", "west": "-3701/50", "radius": "7963761/1250",
        "margin": "2", "degrees": [str(scale) for scale in surface.frame.degrees],
    }  # fmt: skip
    with pytest.raises(NotSupported, match="only a plane"):
        surface.needs_a_plane("what only a plane has", [])
    with pytest.raises(InvalidInput, match="it lies more than 2 km outside"):
        surface.accepted((Fraction(13), Fraction(0)), "it")
    assert surface.possible((np.array([90.0, 91.0, 0.0]), np.array([360.0, 0.0, 361.0]))).tolist() == [
        True,
        False,
        False,
    ]
    assert surface.inner.region == (*to_earth(CITY, (0, 0)), *to_earth(CITY, (10, 8)))


@pytest.mark.parametrize("home", [CITY, FIJI], ids=named)
def test_gaps_on_the_earth_are_on_the_ground_whatever_the_turn(home: Box) -> None:
    surface = home.surface
    assert isinstance(surface, Earth)
    south, west, north, east = map(float, surface.inner.region)
    latitude = np.array([(south + north) / 2, south - 0.5, north + 0.5, 91.0])
    longitude = np.array([(west + east) / 2, west, east, west])
    below = ground_lengths(np.array([[west, south - 0.5]]), np.array([[west, south]]), "sphere", "km")[0]
    for turn in (0.0, 360.0):
        gaps = surface.gaps((latitude, longitude + turn))
        assert gaps[0] == 0 and gaps[3] == np.inf
        assert gaps[1:3] == pytest.approx([below, below], rel=1e-9)
