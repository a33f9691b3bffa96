"""Mechanisms inside OpenDP: maps that are never too small, composition, conversion, chaining, amplification."""

from __future__ import annotations

import doctest
from collections import Counter
from fractions import Fraction
from math import exp, log
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from box_tables import box_mechanism
from sfumato.errors import InvalidInput, NotSupported
from sfumato.release.opendp import local_factor, opendp_measurement, opendp_rows

pytestmark = pytest.mark.peers

GRID = sf.mechanisms.planar_geometric(sf.PrivacyType(sf.grid(3, 3, unit="km"), epsilon="7/10"))
LINE = sf.geometric(sf.PrivacyType(sf.line(5), alpha="1/2"))
FLAT = sf.random_response(sf.PrivacyType(sf.discrete(["a", "b", "c"]), epsilon="1/3"))


@pytest.fixture(scope="module")
def dp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    return dp


def refusal() -> type[Exception]:
    from opendp.mod import OpenDPException

    return OpenDPException


def test_a_user_distance_where_opendp_has_none(dp: Any) -> None:
    measurement = opendp_measurement(GRID)
    assert measurement((1, 1)) in GRID.outputs
    for distance in (0, 1, 2.5, Fraction(1, 3), "1/7"):
        assert Fraction(measurement.map(distance)) >= Fraction(7, 10) * Fraction(distance)
    assert measurement.map(1) == 0.7000000000000001  # the double 0.7 is below 7/10
    assert measurement.map(3) == pytest.approx(2.1, rel=1e-15)
    assert measurement.check(2, 1.4000000001) and not measurement.check(2, 1.3999999)
    with pytest.raises(refusal()):
        measurement.map(-1)


def test_integers_have_the_absolute_distance(dp: Any) -> None:
    measurement = opendp_measurement(LINE)
    assert measurement.input_metric == dp.absolute_distance(T=int)
    assert measurement.input_domain == dp.atom_domain(T=int, bounds=(0, 4))
    low = sf.numbers.log_bounds(Fraction(2), 200)[0]
    for distance in range(5):
        assert low * distance <= Fraction(measurement.map(distance)) <= low * distance * (1 + Fraction(1, 2**51))
    assert opendp_measurement(LINE, metric="user").input_metric != measurement.input_metric
    far = sf.geometric(sf.PrivacyType(sf.line(5, step=2), alpha="1/2"))
    assert "DistanceOn" in str(opendp_measurement(far).input_metric)


def test_discrete_spaces_have_the_discrete_distance(dp: Any) -> None:
    measurement = opendp_measurement(FLAT)
    assert measurement.input_metric == dp.discrete_distance()
    assert Fraction(measurement.map(1)) >= Fraction(1, 3) and measurement.map(0) == 0


def test_composition_adds_and_never_loses(dp: Any) -> None:
    measurement = opendp_measurement(GRID)
    thrice = dp.c.make_composition([measurement] * 3)
    assert Fraction(21, 10) <= Fraction(thrice.map(1)) <= Fraction(21, 10) * (1 + Fraction(1, 2**49))
    assert len(thrice((0, 0))) == 3
    adaptive = dp.c.make_adaptive_composition(
        input_domain=measurement.input_domain,
        input_metric=measurement.input_metric,
        output_measure=dp.max_divergence(),
        d_in=1,
        d_mids=[measurement.map(1)] * 2,
    )
    queries = adaptive((2, 2))
    assert {queries(measurement), queries(measurement)} <= set(GRID.outputs)
    with pytest.raises(refusal()):
        queries(measurement)


def test_other_spaces_do_not_compose(dp: Any) -> None:
    with pytest.raises(refusal()):
        dp.c.make_composition([opendp_measurement(GRID), opendp_measurement(LINE, metric="user")])


def test_conversions(dp: Any) -> None:
    measurement = opendp_measurement(GRID)
    assert dp.c.make_approximate(measurement).map(1) == (measurement.map(1), 0.0)
    concentrated = dp.c.make_pureDP_to_zCDP(measurement)
    assert concentrated.map(1) >= 0.7**2 / 2 * (1 - 1e-12)
    profile = dp.c.make_zCDP_to_approxDP(concentrated).map(1)
    assert profile.epsilon(1e-6) > 0.7


def test_post_processing_and_transformations_chain(dp: Any) -> None:
    measurement = opendp_measurement(LINE)
    assert (measurement >> (lambda y: y >= 2))(4) in (True, False)
    rounded = dp.t.make_user_transformation(
        dp.vector_domain(dp.atom_domain(T=int)),
        dp.symmetric_distance(),
        measurement.input_domain,
        measurement.input_metric,
        lambda rows: min(len(rows), 4),
        lambda changed: changed,
    )
    chained = rounded >> measurement
    assert chained([7, 7]) in range(5) and chained.map(1) == measurement.map(1)


def test_noise_on_all_integers_follows_a_count(dp: Any) -> None:
    measurement = opendp_measurement(sf.mechanisms.InfiniteGeometric(Fraction(1, 2)))
    count = dp.t.make_count(dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance(), TO=int)
    noisy = count >> measurement
    assert isinstance(noisy([1, 2, 3]), int)
    assert log(2) <= noisy.map(1) <= log(2) * (1 + 1e-15)


def test_rows_are_released_each_by_itself(dp: Any) -> None:
    measurement = opendp_rows(FLAT, 3000)
    outputs = Counter(measurement(["a"] * 3000))
    # 3000 draws with probability e^(1/3)/(e^(1/3) + 2) = 0.411: six standard deviations are 162
    assert abs(outputs["a"] - 3000 * exp(1 / 3) / (exp(1 / 3) + 2)) < 162
    assert Fraction(measurement.map(2)) >= Fraction(2, 3) * (1 - Fraction(1, 10**9))
    ratio = local_factor(FLAT)
    assert Fraction(measurement.map(2)) >= 2 * sf.numbers.log_bounds(ratio, 200)[1]
    with pytest.raises(refusal()):
        measurement(["a"] * 7)
    assert measurement.map(0) == 0.0


def test_a_sample_of_a_population_is_amplified(dp: Any) -> None:
    rows = opendp_rows(sf.geometric(sf.PrivacyType(sf.line(2), alpha="1/4")), 100)
    amplified = dp.c.make_population_amplification(rows, population_size=1000)
    assert amplified.map(1) == pytest.approx(log(1 + 0.1 * 3), rel=1e-9)
    assert amplified.map(1) < rows.map(1)


def test_strangers_are_refused(dp: Any) -> None:
    measurement = opendp_measurement(GRID)
    for stranger in ((9, 9), "home", [1, 2]):
        with pytest.raises(refusal()):
            measurement(stranger)
    with pytest.raises(InvalidInput, match="must be a Mechanism"):
        opendp_measurement(GRID.channel)
    with pytest.raises(NotSupported):
        opendp_measurement(GRID, metric="manhattan")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="number of rows"):
        opendp_rows(GRID, 0)


def test_the_guide(dp: Any) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "guides" / "opendp.md"
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert tried > 10 and failed == 0


def test_no_measurement_of_pure_privacy_is_made_of_a_promise_about_events() -> None:
    three = sf.discrete(3)
    near = sf.predicates.epsilon_delta(epsilon=5, delta="1/2")
    best = sf.design(sf.Prior.uniform(three), sf.losses.bin(three), None, under=near).mechanism
    with pytest.raises(NotSupported, match="a promise about events"):
        opendp_measurement(best)


def test_places_on_the_earth_are_refused(dp: Any) -> None:
    """OpenDP has no distance for them, and what lies beyond the margin has no promise."""
    town = box_mechanism(sf.spaces.earth_box(48, 2, sides=(10, 10), step=5), outputs=4)
    with pytest.raises(NotSupported, match=r"places of box.* as inputs of OpenDP"):
        opendp_measurement(town)


def test_points_of_a_box(dp: Any) -> None:
    town, line = box_mechanism(sf.box((2, 1), step="1/2", unit="km"), outputs=6), box_mechanism(sf.box(2, step="1/2"))
    one = opendp_measurement(town)
    assert one((1.0, 0.5)) in town.outputs and one.map("1/2") >= town.rate / 2
    with pytest.raises(Exception, match="coordinates are finite numbers"):
        one((1.0, float("nan")))
    assert opendp_measurement(line)(0.25) in line.outputs
    rows = opendp_rows(town, 3)
    assert set(rows([(1.0, 0.5)] * 3)) <= set(town.outputs)
    largest = float((town.weights.max(axis=0) / town.weights.min(axis=0)).max())
    assert float(local_factor(town) or 0) == pytest.approx(largest)
    assert rows.map(1) >= log(largest) * (1 - 1e-12)
