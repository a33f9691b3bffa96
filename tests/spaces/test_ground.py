"""Distances on the ground: sphere and ellipsoid, what is refused, roundings whose sums are exact."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput, InvalidMetric, NotSupported
from sfumato.spaces.ground import (
    EARTH_RADIUS_KM,
    Ground,
    distances_on_ground,
    geodesics,
    ground_lengths,
    ground_positions,
    places_on_ground,
    sphere_radius,
    whole_grains,
)

CITIES = [(48.8566, 2.3522), (51.5074, -0.1278), (40.4168, -3.7038), (-33.8688, 151.2093)]

angles = st.tuples(st.floats(-89, 89), st.floats(-180, 180))


def test_the_ellipsoid_measures_what_is_known_of_it() -> None:
    quarter = geodesics(np.array([0.0, 90.0]), np.zeros(2), "km")[0, 1]
    degree = geodesics(np.zeros(2), np.array([0.0, 1.0]), "km")[0, 1]
    assert quarter == pytest.approx(10001.965729, rel=1e-6)  # the meridian from equator to pole
    assert degree == pytest.approx(6378.137 * np.pi / 180, rel=1e-6)


def test_other_units() -> None:
    latitude, longitude = np.array(CITIES).T
    metres, miles = (geodesics(latitude, longitude, unit) for unit in ("m", "mi"))
    assert np.allclose(metres, 1609.344 * miles, rtol=1e-9)
    on_sphere = places_on_ground(range(4), latitude, longitude, Ground(), "m", "cities")
    assert np.allclose(on_sphere.distances.floats, 1000 * sf.geo(CITIES).distances.floats)


@settings(max_examples=40)
@given(st.lists(angles, min_size=3, max_size=5, unique=True))
def test_geodesics_are_a_metric_exactly(places: list[tuple[float, float]]) -> None:
    latitude, longitude = np.array(places).T
    table = geodesics(latitude, longitude, "km")
    assert (table == table.T).all() and (np.diag(table) == 0).all()
    for x, y, z in permutations(range(len(places)), 3):
        assert Fraction(table[x, z]) <= Fraction(table[x, y]) + Fraction(table[y, z])


@settings(max_examples=60)
@given(angles, st.floats(-60, 60), st.floats(-60, 60))
def test_geodesics_are_stated_shorter_by_a_millionth_at_most(
    place: tuple[float, float], up: float, east: float
) -> None:
    other = (float(np.clip(place[0] + up, -90, 90)), place[1] + east)
    here, there = np.array([place[::-1]]), np.array([other[::-1]])
    found = float(ground_lengths(here, there, "WGS84", "m")[0])
    stated = float(geodesics(np.array([place[0], other[0]]), np.array([place[1], other[1]]), "m")[0, 1])
    if found > 0.2:  # nearer places are refused
        assert found * (1 - 1.1e-6) <= stated <= found - 15e-9


@settings(max_examples=60)
@given(angles, angles)
def test_sphere_and_ellipsoid_differ_by_what_is_stated(one: tuple[float, float], other: tuple[float, float]) -> None:
    here, there = np.array([one[::-1]]), np.array([other[::-1]])
    great, geodesic = (float(ground_lengths(here, there, earth, "km")[0]) for earth in ("sphere", "WGS84"))
    assert 0.9944 * great - 1e-9 <= geodesic <= 1.0045 * great + 1e-9


def test_the_nearest_on_the_ellipsoid() -> None:
    rng = np.random.default_rng(3)
    places, points = (np.column_stack([rng.uniform(10, 11, n), rng.uniform(50, 51, n)]) for n in (40, 25))
    where, at = ground_positions(places, "WGS84"), ground_positions(points, "WGS84")
    nearest = np.linalg.norm(at[:, None] - where[None], axis=2).argmin(axis=1)
    for k, point in enumerate(points):
        lengths = ground_lengths(np.tile(point, (40, 1)), places, "WGS84", "km")
        assert lengths[nearest[k]] <= lengths.min() * (1 + 1e-7)


def test_geo_on_the_ellipsoid() -> None:
    space = sf.geo(CITIES, earth="WGS84")
    assert space.distance(0, 1) == pytest.approx(343.923, abs=1e-3)  # Paris and London
    assert space.ground is not None and space.ground.earth == "WGS84"
    assert sphere_radius(space) is None and distances_on_ground(space)
    sf.FiniteSpace(space.labels, space.distances.floats)  # raises where an axiom fails
    assert sf.geo(CITIES).ground is None


def test_what_is_refused() -> None:
    with pytest.raises(NotSupported, match="earth 'flat'"):
        sf.geo(CITIES, earth="flat")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="radius_km is that of a sphere"):
        sf.geo(CITIES, earth="WGS84", radius_km=3389.5)
    with pytest.raises(InvalidMetric, match="the same place"):
        sf.geo([(10, 20), (10.0000001, 20)], earth="WGS84")  # one centimetre
    with pytest.raises(InvalidMetric, match="'a' and 'b' are the same place"):
        sf.geo([(10, 180), (0, 0), (10, -180)], labels=["a", "c", "b"])
    with pytest.raises(InvalidInput, match="latitude is within ±90"):
        sf.geo([(100, 20), (10, 20)], earth="WGS84")


def test_a_restricted_space_stays_on_the_ground() -> None:
    part = sf.geo(CITIES, labels=list("abcd"), earth="WGS84").restrict(["d", "a"])
    assert part.ground is not None and part.ground.earth == "WGS84"


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=30))
def test_sums_of_whole_grains_are_exact(lengths: list[float]) -> None:
    found = whole_grains(np.array(lengths), len(lengths) + 1)
    assert (found <= lengths).all() and (found >= np.array(lengths) - sum(lengths) * 2.0**-51).all()
    total = np.float64(0)
    for length in found:
        total += length
    assert Fraction(float(total)) == sum(map(Fraction, found.tolist()))


def test_a_length_that_vanishes_beside_others() -> None:
    with pytest.raises(InvalidInput, match="merge its ends"):
        whole_grains(np.array([1e-20, 1e6]), 3)


def test_the_earth_is_that_of_the_boxes() -> None:
    assert sf.spaces.EARTH_RADIUS_KM == EARTH_RADIUS_KM == 6371.0088
