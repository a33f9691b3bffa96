"""Rational rates on boxes, flat ones and those on the Earth."""

from __future__ import annotations

from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.numbers import log_bounds
from sfumato.privacy.rates import bound_promise, box_rate, simplest
from sfumato.spaces import box, earth_box, ground_stretch

FLAT = box((8, 6), step="1/2", unit="km")
CITY = earth_box("40.70 N", "74.02 W", sides=(10, 10), step="500 m")


def test_a_rational_rate_is_kept() -> None:
    privacy = sf.PrivacyType(FLAT, epsilon="0.7")
    assert box_rate(privacy) == Fraction(7, 10) and bound_promise(privacy) == {"epsilon": Fraction(7, 10)}


@pytest.mark.parametrize("alpha", ["1/2", "1/1000000", "999999/1000000"])
@pytest.mark.parametrize("where", [FLAT, CITY])
def test_an_irrational_rate_has_rationals_beside_it(alpha: str, where: sf.spaces.Box) -> None:
    privacy = sf.PrivacyType(where, alpha=alpha)
    low, high = log_bounds(1 / Fraction(alpha), 100)
    least, most = ground_stretch(where)
    assert low / most * (1 - Fraction(1, 2**57)) < box_rate(privacy) < high / most
    if where is FLAT:
        assert bound_promise(privacy) == {"alpha": Fraction(alpha)}
    else:
        assert low / least < bound_promise(privacy)["epsilon"] < high / least * (1 + Fraction(1, 2**57))


def test_on_the_earth_the_rate_is_kept_and_the_bound_has_a_larger_one() -> None:
    privacy = sf.PrivacyType(CITY, epsilon=2)
    least, _ = ground_stretch(CITY)
    assert box_rate(privacy) == 2  # the map makes nothing longer
    assert bound_promise(privacy) == {"epsilon": 2 / least}


def test_a_finite_space_has_no_such_rate() -> None:
    with pytest.raises(InvalidInput, match="a box"):
        box_rate(sf.PrivacyType(sf.line(3), epsilon=1))


@pytest.mark.parametrize("low", [Fraction(1, 3), Fraction(22, 7), Fraction(999, 1000), Fraction(5)])
def test_the_simplest_rational_of_an_interval(low: Fraction) -> None:
    high = low + Fraction(1, 997)
    found = simplest(low, high)
    assert low <= found <= high
    smaller = [d for d in range(1, found.denominator) if -(-low * d // 1) <= high * d]
    assert smaller == []
