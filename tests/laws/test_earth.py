"""Boxes on the Earth: what their maps do to distances on the ground, by ball arithmetic."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import cos, hypot, radians, sin

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from box_tables import box_mechanism
from sfumato.privacy.rates import box_rate
from sfumato.spaces.box import Box
from sfumato.spaces.constructors import EARTH_RADIUS_KM
from sfumato.spaces.earth import MOST_STRETCH, earth_box, ground_stretch, to_box, to_earth
from sfumato.spaces.frame import cosine_of_top, region, stretch

RADIUS = Fraction(str(EARTH_RADIUS_KM))

BOXES = {
    "New York": lambda: earth_box("40.70 N", "74.02 W", sides=(10, 10), step="500 m"),
    "across the equator": lambda: earth_box(-5, 30, 4, 42, step=100),
    "on the equator": lambda: earth_box(0, 30, 1, 31, step=10),
    "40 degrees, wide": lambda: earth_box(40, -120, sides=(2000, 300), step=100, margin=50),
    "60 degrees": lambda: earth_box(60, 10, sides=(200, 100), step=10),
    "75 degrees": lambda: earth_box(75, 20, sides=(100, 100), step=10),
    "the south": lambda: earth_box("46 S", 166, -43, 171, step=20),
    "across the antimeridian": lambda: earth_box(-18, 170, -16, -170, step=40),
    "no margin": lambda: earth_box(52, 13, sides=(30, 20), step=1, margin=0),
}

Place = tuple[Fraction, Fraction]


def great_circle(first: Place, second: Place) -> flint.arb:
    """The distance on the ground in km, as a ball: haversines of exact degrees."""
    (a, b), (c, d) = first, second

    def angle(degrees: Fraction) -> flint.fmpq:
        return flint.fmpq(degrees.numerator, degrees.denominator * 180)

    cosines = flint.arb.cos_pi_fmpq(angle(a)) * flint.arb.cos_pi_fmpq(angle(c))
    half = flint.arb.sin_pi_fmpq(angle((a - c) / 2)) ** 2 + cosines * flint.arb.sin_pi_fmpq(angle((b - d) / 2)) ** 2
    return 2 * flint.arb(flint.fmpq(RADIUS.numerator, RADIUS.denominator)) * half.sqrt().asin()


def straight(first: tuple[Fraction, ...], second: tuple[Fraction, ...]) -> flint.arb:
    square = sum(((a - b) ** 2 for a, b in zip(first, second, strict=True)), Fraction(0))
    return flint.arb(flint.fmpq(square.numerator, square.denominator)).sqrt()


def ball(value: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def places(box: Box, rng: np.random.Generator, count: int, margin: Fraction) -> list[Place]:
    """Places on a fine lattice of the box and its margin, with corners, and others metres apart."""
    assert box.frame is not None
    grain = 10**6
    spread = [[Fraction(int(k), grain) for k in rng.integers(0, grain + 1, count)] for _ in range(2)]
    shares = [*zip(*spread, strict=True), *itertools.product((Fraction(0), Fraction(1)), repeat=2)]
    shares += [(a, min(b + Fraction(1, grain), Fraction(1))) for a, b in shares[: count // 4]]
    points = [
        tuple(share * (side + 2 * margin) - margin for share, side in zip(both, box.sides, strict=True))
        for both in shares
    ]
    return [box.frame.place(point) for point in points]


def clamped(box: Box, point: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    return tuple(min(max(at, Fraction(0)), side) for at, side in zip(point, box.sides, strict=True))


@pytest.mark.parametrize("name", BOXES)
def test_no_two_accepted_places_are_farther_apart_on_the_map_than_the_largest_stretch_says(name: str) -> None:
    """Also where those outside of the box count as its nearest point."""
    box = BOXES[name]()
    assert box.frame is not None
    most = ball(ground_stretch(box)[1])
    accepted = places(box, np.random.default_rng(1), 60, box.frame.margin)
    points = [to_box(box, *place) for place in accepted]
    moved = [clamped(box, point) for point in points]
    with flint.ctx.workprec(160):
        for i, j in itertools.combinations(range(len(points)), 2):
            reach = most * great_circle(accepted[i], accepted[j])
            for first, second in ((points[i], points[j]), (moved[i], moved[j])):
                if first != second:
                    assert straight(first, second) <= reach, (accepted[i], accepted[j])


@pytest.mark.parametrize("name", BOXES)
def test_no_two_places_of_the_box_are_closer_on_the_map_than_the_smallest_stretch_says(name: str) -> None:
    box = BOXES[name]()
    least = ball(ground_stretch(box)[0])
    inside = places(box, np.random.default_rng(2), 60, Fraction(0))
    points = [to_box(box, *place) for place in inside]
    with flint.ctx.workprec(160):
        for i, j in itertools.combinations(range(len(points)), 2):
            if points[i] != points[j]:
                assert straight(points[i], points[j]) >= least * great_circle(inside[i], inside[j])


@pytest.mark.parametrize("name", BOXES)
def test_both_stretches_are_nearly_reached(name: str) -> None:
    """Short steps along a parallel at the lowest latitude, and around the top of a great circle, come close to both."""
    box = BOXES[name]()
    frame = box.frame
    assert frame is not None
    least, most = ground_stretch(box)
    south, west, north, east = region(frame, box.sides)
    highest = max((south, north), key=abs)
    ends = (highest, west), (highest, east)
    bottom, top = frame.south, frame.south + box.sides[1] * frame.degrees[1]
    lowest = Fraction(0) if bottom < 0 < top else min((bottom, top), key=abs)
    step = Fraction(1, 1000)
    with flint.ctx.workprec(160):
        along = straight(frame.coordinates(lowest, frame.west), frame.coordinates(lowest, frame.west + step))
        assert float(along / great_circle((lowest, frame.west), (lowest, frame.west + step))) < float(least) * (
            1 + 1e-5
        )
        # the largest stretch is that of a point on a great circle: a whole one between the upper corners has less
        whole = float(straight(*(frame.coordinates(*end) for end in ends)) / great_circle(*ends))
    summit = np.degrees(np.arccos(float(cosine_of_top(abs(highest), east - west))))
    there = 180 / np.pi / EARTH_RADIUS_KM / float(frame.degrees[0]) / cos(radians(summit))
    upright = 180 / np.pi / EARTH_RADIUS_KM / float(frame.degrees[1])
    assert whole <= max(there, upright) * (1 + 1e-12)
    assert max(there, upright) == pytest.approx(float(most), rel=3e-6)
    assert most == 1  # digits of degrees are rounded so that nothing becomes longer


@settings(deadline=None, max_examples=200)
@given(
    st.floats(0.001, 89), st.floats(-89, 89), st.floats(-89, 89), st.floats(0.001, 179), st.floats(0, 1),
)  # fmt: skip
def test_great_circles_stay_below_the_top(
    highest: float, first: float, second: float, wide: float, share: float
) -> None:
    """tan φ_top = tan φ_max / cos(Λ/2) for all great circles between two places up to a latitude."""
    a, b = (radians(min(max(angle, -highest), highest)) for angle in (first, second))
    one = np.array([cos(a), 0.0, sin(a)])
    other = np.array([cos(b) * cos(radians(wide)), cos(b) * sin(radians(wide)), sin(b)])
    between = (1 - share) * one + share * other  # on the chord, below a point of the great circle
    reached = hypot(between[0], between[1]) / float(np.linalg.norm(between))
    assert reached >= float(cosine_of_top(Fraction(highest), Fraction(wide))) * (1 - 1e-9)


@settings(deadline=None, max_examples=60)
@given(
    st.decimals(-70, 70, places=3), st.decimals(-180, 180, places=3), st.integers(1, 40), st.integers(1, 40),
    st.sampled_from(["km", "m", "mi", "ft"]), st.floats(0, 1), st.floats(0, 1),
)  # fmt: skip
def test_the_map_and_its_inverse_are_exact(
    south: object, west: object, width: int, height: int, unit: str, across: float, along: float
) -> None:
    """Doubles as they are stored go to the map and come back the same."""
    box = earth_box(str(south), str(west), sides=(width, height), step=1, unit=unit)
    assert box.frame is not None
    latitude = float(box.frame.south) + along * float(box.frame.degrees[1]) * height
    longitude = float(box.frame.west) + across * float(box.frame.degrees[0]) * width
    point = to_box(box, latitude, longitude)
    back = to_earth(box, point)
    assert back[0] == Fraction(latitude) and (back[1] - Fraction(longitude)) % 360 == 0
    assert box.frame.coordinates(*back) == point
    least, most = ground_stretch(box)
    assert most == 1 and least * MOST_STRETCH >= 1
    assert ground_stretch(box) == stretch(box.frame, box.sides)


@pytest.mark.parametrize("name", BOXES)
def test_the_margin_holds_all_great_circles_between_places_of_the_box(name: str) -> None:
    """Outputs anywhere on the Earth may then be moved into what is accepted, without a loss: none does better there."""
    box = BOXES[name]()
    frame = box.frame
    assert frame is not None
    top = max(abs(frame.south), abs(frame.south + box.sides[1] * frame.degrees[1]))
    reach = float(cosine_of_top(top, box.sides[0] * frame.degrees[0]))
    south, _, north, _ = region(frame, box.sides)
    inside = reach >= cos(radians(float(max(abs(south), abs(north)))))
    assert inside == (name not in ("no margin", "40 degrees, wide"))


def test_the_ellipsoid_measures_nearly_the_same() -> None:
    """Its radii of curvature, along meridians and across, lie within 0.9944 and 1.0045 of the sphere's radius."""
    major, flattening = 6378.137, 1 / 298.257223563
    square = flattening * (2 - flattening)
    sine = np.sin(np.radians(np.linspace(0, 90, 1001)))
    across = major / np.sqrt(1 - square * sine**2)
    along = major * (1 - square) / (1 - square * sine**2) ** 1.5
    assert min(across.min(), along.min()) / EARTH_RADIUS_KM > 0.9944
    assert max(across.max(), along.max()) / EARTH_RADIUS_KM < 1.0045


@pytest.mark.parametrize("name", ["New York", "60 degrees", "across the antimeridian"])
def test_what_keeps_a_rate_on_the_map_keeps_it_on_the_ground(name: str) -> None:
    """Densities at accepted places, in the box and in the margin, near and far, beside e^{ε d} for great circles."""
    box = BOXES[name]()
    frame = box.frame
    assert frame is not None
    mechanism = box_mechanism(box, outputs=4, spread=0.2)
    assert box_rate(mechanism.privacy) == mechanism.rate
    there = places(box, np.random.default_rng(3), 12, frame.margin)
    densities = [mechanism.density(to_box(box, *place)).weights for place in there]
    with flint.ctx.workprec(160):
        for i, j in itertools.permutations(range(len(there)), 2):
            if there[i] == there[j]:
                continue
            factor = (ball(mechanism.rate) * great_circle(there[i], there[j])).exp()
            for p, q in zip(densities[i], densities[j], strict=True):
                assert ball(p) <= factor * ball(q)
