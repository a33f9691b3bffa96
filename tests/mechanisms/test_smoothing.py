"""Tables made smooth: the ε that is kept between any two points, and what tables cannot be made smooth."""

from __future__ import annotations

from fractions import Fraction
from math import exp, sinh

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput, Mismatch, NotSupported
from sfumato.mechanisms.smoothing import smooth
from sfumato.numbers import exp_bounds
from sfumato.spaces.box import box

SQUARE = box((2, 2), step="1/2")
TABLE = sf.planar_laplace(sf.PrivacyType(sf.grid(4, 4, step="1/2"), epsilon=2))


@settings(max_examples=30, deadline=None)
@given(st.tuples(*[st.fractions(0, 2, max_denominator=64)] * 4))
def test_the_promise_holds_between_any_two_points_exactly(places: tuple[Fraction, ...]) -> None:
    found = smooth(TABLE, SQUARE)
    first, second = places[:2], places[2:]
    square = sum((a - b) ** 2 for a, b in zip(first, second, strict=True))
    apart = Fraction(int(float(square) ** 0.5 * 2**40), 2**40)  # a little below the distance
    assert apart**2 <= square or apart == 0 or float(apart**2 - square) < 1e-9
    factor = exp_bounds(found.rate * (apart + Fraction(1, 2**38)))[1]
    for one, other in zip(found.density(first).weights, found.density(second).weights, strict=True):
        assert one <= factor * other


def test_centres_cost_second_order_and_corners_first_order() -> None:
    step, rate = 0.1, 2.0
    line = sf.PrivacyType(sf.line(20, step="1/10"), epsilon=2)
    centres = smooth(sf.geometric(line), box((2,), step="1/10"), halvings=0)
    assert centres.rounding.degree == 2
    assert centres.privacy.rate == pytest.approx(sinh(step * rate) / step, rel=1e-5)
    corners = smooth(sf.geometric(line), box((Fraction(19, 10),), step="1/10"))
    assert corners.rounding.degree == 1
    assert corners.privacy.rate == pytest.approx((exp(step * rate) - 1) / step, rel=1e-5)


def test_halving_cells_gives_a_smaller_rate() -> None:
    rates = [smooth(TABLE, SQUARE, halvings=n).rate for n in range(3)]
    assert rates == sorted(rates, reverse=True) and rates[0] > rates[2]


def test_what_it_costs_is_in_the_provenance() -> None:
    found = smooth(TABLE, SQUARE)
    assert float(found.provenance["epsilon of the table"]) == pytest.approx(TABLE.privacy.rate)
    assert float(found.provenance["epsilon"]) == pytest.approx(found.privacy.rate)


def test_rates_are_short_and_not_a_digit_too_large() -> None:
    found = smooth(TABLE, SQUARE)
    assert found.rate.denominator <= 10**6
    with pytest.raises(sf.errors.PrivacyViolation):
        sf.certify.coordinates.prove_on_box(
            found.weights, sf.PrivacyType(SQUARE, epsilon=found.rate - Fraction(2, 10**5)), found.rounding,
            found.outputs,
        )  # fmt: skip


def test_outputs_are_centres_or_what_is_said() -> None:
    assert smooth(TABLE, SQUARE).outputs[0] == (Fraction(1, 4), Fraction(1, 4))
    corner = smooth(TABLE, SQUARE, outputs=[(0, 0)] * 8 + [(1, 1)] * 8)
    assert len(corner.outputs) == 2  # columns of one point are one column
    assert sum(corner.density((1, 1)).weights) == 1


@pytest.mark.parametrize(
    ("there", "says"),
    [
        (box((3, 2), step="1/2"), "neither the centres nor the corners"),
        (box((4, 4), step=1), "neither the centres nor the corners"),
        (box((2,), step="1/2"), "neither the centres nor the corners"),
    ],
)
def test_a_table_that_is_no_lattice_of_the_box(there: sf.spaces.Box, says: str) -> None:
    with pytest.raises(Mismatch, match=says):
        smooth(TABLE, there)


def test_other_units() -> None:
    table = sf.planar_laplace(sf.PrivacyType(sf.grid(4, 4, step="1/2", unit="km"), epsilon=2))
    with pytest.raises(InvalidInput, match=r"'km'.*'m'"):
        smooth(table, box((2, 2), step="1/2", unit="m"))
    with pytest.raises(InvalidInput, match=r"'km'.*no unit.*one unit"):
        smooth(table, SQUARE)
    with pytest.raises(InvalidInput, match=r"no unit.*'km'.*one unit"):
        smooth(TABLE, box((2, 2), step="1/2", unit="km"))


@pytest.mark.parametrize("epsilon", [40, 200, 10**6])
def test_a_table_too_coarse_for_its_epsilon_says_what_to_change(epsilon: int) -> None:
    table = sf.planar_laplace(sf.PrivacyType(sf.grid(4, 4, step="1/2"), epsilon=epsilon))
    with pytest.raises(NotSupported, match=r"keeps an epsilon of .* for a cell.*at most 30 for a cell.*finer cells"):
        smooth(table, SQUARE)


def test_chances_of_zero() -> None:
    table = sf.prove([[1, 0], [1, 0]], sf.PrivacyType(sf.line(2), epsilon=1))
    assert smooth(table, box((2,), step=1)).privacy.rate <= 1e-6  # nothing varies
    far = sf.PrivacyType(sf.graph([("a", "b", 1)]), epsilon=1)
    with pytest.raises(Mismatch):
        smooth(sf.prove([[1, 1], [1, 1]], far), box((2,), step=1))


def test_outputs_that_are_no_points() -> None:
    table = sf.prove([[2, 1], [1, 2]], sf.PrivacyType(sf.line(2), alpha="1/2"), outputs=["low", "high"])
    with pytest.raises(InvalidInput, match="outputs="):
        smooth(table, box((2,), step=1))
    assert smooth(table, box((2,), step=1), outputs=[0, 2]).outputs == (0, 2)
    with pytest.raises(InvalidInput, match="3 points for the 2 outputs"):
        smooth(table, box((2,), step=1), outputs=[0, 1, 2])
