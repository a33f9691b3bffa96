"""Boxes on the Earth: what is read, what is refused, and which places belong to which cell."""

from __future__ import annotations

import pickle
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, MissingExtra
from sfumato.spaces import box, counts_on_cells, earth_box, ground_stretch, to_box, to_degrees, to_earth
from sfumato.spaces.box import Box
from sfumato.spaces.earth import cell_counts
from sfumato.spaces.frame import EarthFrame, region


def test_new_york() -> None:
    city = earth_box("40.70 N", "74.02 W", sides=(10, 10), step="500 m")
    assert (
        city == earth_box(40.70, -74.02, sides=(10, 10), step="1/2") == earth_box("40.7", "-74.02", sides=10, step=0.5)
    )
    assert city.shape == (20, 20) and city.unit == "km" and city.name == "box(10 × 10, from 40.7° N 74.02° W)"
    least, most = ground_stretch(city)
    assert most == 1 and Fraction("0.9983") < least < Fraction("0.9984")
    assert to_earth(city, (0, 0)) == (Fraction("40.7"), Fraction("-74.02"))


def test_a_box_is_a_value() -> None:
    city = earth_box("40.70 N", "74.02 W", sides=(10, 10), step="500 m")
    plain = box((10, 10), step="1/2", unit="km")
    assert plain.frame is None and plain != city and ground_stretch(plain) == (1, 1)
    assert len({plain, city, pickle.loads(pickle.dumps(city))}) == 2


def test_an_opposite_corner_is_reached_with_whole_cells() -> None:
    town = earth_box(48, 2, "48.1 N", "2.2 E", step="500 m")
    assert town.step == (Fraction(1, 2), Fraction(1, 2)) and town.frame is not None
    north, east = to_earth(town, town.sides)
    assert 0 <= north - Fraction("48.1") < town.frame.degrees[1] / 2
    assert 0 <= east - Fraction("2.2") < town.frame.degrees[0] / 2


@pytest.mark.parametrize("unit", ["m", "mi", "nmi", "ft"])
def test_other_units(unit: str) -> None:
    """A box of the same size has the same cells and nearly the same map, whatever it is measured in."""
    metres = {"m": 1, "mi": Fraction("1609.344"), "nmi": 1852, "ft": Fraction("0.3048")}[unit]
    town = earth_box(-33, 151, sides=("10 km", "20 km"), step="1 km", unit=unit, margin="500 m")
    like = earth_box(-33, 151, sides=(10, 20), step=1, margin="1/2")
    assert town.frame is not None and like.frame is not None and town.shape == like.shape
    assert town.frame.margin * metres == 500 and town.frame.radius * metres == Fraction("6371008.8")
    assert float(town.frame.degrees[0] / metres * 1000) == pytest.approx(float(like.frame.degrees[0]), rel=1e-6)


def test_across_the_antimeridian() -> None:
    fiji = earth_box(-18, 170, -16, -170, step=40)
    assert fiji == earth_box(-18, "170 E", -16, "170 W", step=40) == earth_box(-18, -190, -16, 190, step=40)
    west, east = to_box(fiji, -17, 179.5), to_box(fiji, -17, -179.5)
    assert fiji.frame is not None and east[0] - west[0] == 1 / fiji.frame.degrees[0]
    assert to_box(fiji, -17, 180) == to_box(fiji, -17, -180) and to_box(fiji, -17, 360 - 179.5) == east
    assert to_earth(fiji, east) == (-17, Fraction("-179.5"))
    counts = counts_on_cells(fiji, [-17, -17, -17, -17], [179.5, -179.5, 180.5, 0.0])
    assert counts.sum() == 3 and counts.max() == 2


def test_places_beyond_the_margin_are_refused() -> None:
    city = earth_box("40.70 N", "74.02 W", sides=(10, 10), step="500 m", margin="1 km")
    assert city.frame is not None
    south, west, north, east = region(city.frame, city.sides)
    grain = Fraction(1, 10**12)
    for latitude, longitude in ((south, west), (north, east), (south, east), (north, west)):
        to_box(city, latitude, longitude)
    for latitude, longitude in (
        (south - grain, west),
        (north + grain, west),
        (south, west - grain),
        (south, east + grain),
    ):
        with pytest.raises(
            InvalidInput, match=r"lies more than 1 km outside of box\(10 × 10, from 40\.7° N 74\.02° W\)"
        ):
            to_box(city, latitude, longitude)


def test_places_near_a_pole_would_be_moved_apart() -> None:
    """Why what lies beyond the margin is refused: metres there are whole sides of the box."""
    city = earth_box(60, 10, sides=(100, 100), step=10)
    frame = city.frame
    assert frame is not None
    first, second = (frame.coordinates("89.9999", longitude)[0] for longitude in (10, 20))
    assert first == 0 and second > city.sides[0]  # two metres apart on the ground, and a whole side when moved
    with pytest.raises(InvalidInput, match="nothing is promised"):
        to_box(city, "89.9999", 10)


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((85, 0, 89, 10), {"step": 10}, "it would reach a pole, where meridians meet: take a smaller box or margin"),
        ((70, 0, 84, 10), {"step": 10, "margin": 0}, "times as much in one place as in another, more than 1.5 times"),
        ((-60, 0, 60, 10), {"step": 100, "margin": 0}, "times as much in one place as in another"),
        ((0, 0, 1, 175), {"step": 10}, "it would span half of the globe"),
        ((-1, 10, 1, 5), {"step": 10}, "it would span half of the globe"),
        ((40, 0, 39, 1), {"step": 1}, "north must be larger than south, found 39 and 40"),
        ((40, 180, 41, -180), {"step": 1}, "east and west must differ"),
        ((40, 0), {"step": 1}, "an opposite corner, north and east, or two sides"),
        ((40, 0, 41), {"step": 1}, "an opposite corner, north and east, or two sides"),
        ((40, 0, 41, 1), {"step": 1, "sides": (10, 10)}, "an opposite corner, north and east, or two sides"),
        ((-74.02, 40.7), {"step": "300 m", "sides": (10, 10)}, "a side of 10 is no whole number of cells of 3/10"),
        ((140.7, 7), {"step": 1, "sides": (10, 10)}, "south is a latitude from −90 to 90 degrees, found 140.7"),
        ((40, 740), {"step": 1, "sides": (10, 10)}, "west is a longitude from −180 to 180 degrees"),
        (
            ("40 E", 7),
            {"step": 1, "sides": (10, 10)},
            "south must be a latitude such as 40.7 or '40.7 N', found '40 E'",
        ),
        (("1.2.3 N", 7), {"step": 1, "sides": (10, 10)}, "south must be a latitude such as"),
        ((float("nan"), 7), {"step": 1, "sides": (10, 10)}, "south must be a latitude such as"),
        ((40, 7), {"step": 1, "sides": (10, 10, 10)}, "two lengths, to the east and to the north"),
        ((40, 7), {"step": 0, "sides": (10, 10)}, "the step of a box must be positive"),
        ((40, 7), {"step": 1, "sides": (10, -1)}, "the sides of a box on the Earth must be positive"),
        (
            (40, 7),
            {"step": 1, "sides": (10, 10), "unit": "minutes"},
            "is a length such as km, m or mi, found 'minutes'",
        ),
        ((40, 7), {"step": 1, "sides": (10, 10), "unit": ""}, "is a length such as km, m or mi"),
        ((40, 7), {"step": 1, "sides": (10, 10), "margin": -1}, "the margin of a box is not negative"),
    ],
)
def test_what_is_refused(arguments: tuple[Any, ...], named: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        earth_box(*arguments, **named)
    assert message in str(error.value)


def test_a_frame_is_for_two_euclidean_axes() -> None:
    frame = EarthFrame(
        Fraction(0), Fraction(0), (Fraction(1, 100), Fraction(1, 100)), Fraction("6371.0088"), Fraction(1)
    )
    two, one = (Fraction(2), Fraction(2)), (Fraction(1), Fraction(1))
    for sides, step, metric, origin in (
        (two[:1], one[:1], "euclidean", ()),
        (two, one, "manhattan", ()),
        (two, one, "euclidean", one),
    ):
        with pytest.raises(InvalidInput, match="a box on the Earth has two sides"):
            Box(sides, step, metric, "km", origin, frame)
    with pytest.raises(InvalidInput, match="is not on the Earth"):
        to_box(box((2, 2), step=1), 0, 0)


def test_places_are_counted_exactly_at_the_borders_of_cells() -> None:
    town = earth_box(0, 0, sides=(2, 2), step=1)
    assert town.frame is not None
    border = float(town.frame.degrees[1])  # the double nearest to the border between the cells
    near = [np.nextafter(border, 0), border, np.nextafter(border, 1)]
    counts = counts_on_cells(town, near, [0.001] * 3)
    below = sum(Fraction(angle) < town.frame.degrees[1] for angle in near)
    assert counts.tolist() == [[below, 3 - below], [0, 0]] and 0 < below < 3
    edges = counts_on_cells(town, [0.0, -0.0, 0.0, -1e-300], [0.0, -0.0, 360.0, 0.0], [1, 2, 4, 8])
    assert edges.tolist() == [[7, 0], [0, 0]]


def test_doubles_and_what_is_written_are_counted_exactly_on_a_plain_box() -> None:
    """The double 0.3 is less than 3/10, which it is as it is written; what is missing counts nowhere."""
    strip = box((1,), step="1/10", origin=["-1/10"])
    doubles = np.array([0.3, 0.25, -0.1, 0.9, np.nan])  # the third and fourth are outside, by less than a double tells
    assert cell_counts(strip, [doubles]).tolist() == [0, 0, 0, 2, 0, 0, 0, 0, 0, 0]
    written = np.array([Fraction(3, 10), Fraction(9, 10), Fraction(-1, 10)], dtype=object)
    made = cell_counts(strip, [written], np.array([Fraction(1, 2), Fraction(1, 3), Fraction(1)], dtype=object))
    assert made.tolist() == [1, 0, 0, 0, Fraction(1, 2), 0, 0, 0, 0, Fraction(1, 3)]


@pytest.mark.parametrize(
    "arguments",
    [
        ([0.0], [0.0, 1.0]),
        ([float("inf")], [0.0]),
        ([float("nan")], [0.0]),
        ([0.0], [0.0], [0.5]),
        ([0.0], [0.0], [-1]),
    ],
)
def test_what_cannot_be_counted(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidInput):
        counts_on_cells(earth_box(0, 0, sides=(2, 2), step=1), *arguments)


def test_other_coordinate_systems_need_pyproj(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyproj", None)
    with pytest.raises(MissingExtra, match=r"pyproj is not installed: pip install 'sfumato\[geo\]'"):
        to_degrees([530000.0], [180000.0], "EPSG:27700")


def test_a_prior_of_places() -> None:
    town = earth_box(0, 0, sides=(2, 2), step=1)
    prior = sf.Prior.on_cells(counts_on_cells(town, [0.001, 0.001, 0.012], [0.001, 0.012, 0.001]), town)
    assert prior[(0, 0)] == prior[(0, 1)] == prior[(1, 0)] == Fraction(1, 3)
