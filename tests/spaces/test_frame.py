"""The affine map of a frame, and the rationals around its stretch."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato.errors import InvalidInput
from sfumato.spaces.frame import EarthFrame, cosine_of_top, degrees_of_arc, stretch

RADIUS = Fraction("6371.0088")
DEGREE = Fraction(1, 100)


def frame(south: int, margin: int = 10) -> EarthFrame:
    return EarthFrame(Fraction(south), Fraction(0), (DEGREE, DEGREE), RADIUS, Fraction(margin))


def test_longitudes_are_counted_from_the_margin() -> None:
    assert frame(0).coordinates(0, "-0.1") == (-10, 0)
    assert frame(0).coordinates(0, "-0.2") == (Fraction(35980), 0)
    assert frame(0).coordinates(0, "359.9") == (-10, 0)


@pytest.mark.parametrize("south", [0, 30, 60, -61, 75])
def test_stretches_are_in_millionths_and_in_order(south: int) -> None:
    least, most = stretch(frame(south), (Fraction(100), Fraction(100)))
    assert 0 < least < most and (least * 10**6).denominator == (most * 10**6).denominator == 1
    mirrored = stretch(frame(-south - 1), (Fraction(100), Fraction(100)))
    assert mirrored == (least, most)


@pytest.mark.parametrize("south", [89, -90])
def test_poles_are_refused(south: int) -> None:
    with pytest.raises(InvalidInput, match="must end before the poles"):
        stretch(frame(south), (Fraction(100), Fraction(100)))


def test_cosines_are_on_the_safe_side() -> None:
    assert 0 <= Fraction(1, 2) - cosine_of_top(Fraction(60), Fraction(0)) < Fraction(1, 2**80)
    found = cosine_of_top(Fraction(60), Fraction(90))
    assert found**2 < Fraction(1, 7) < (found + Fraction(1, 2**80)) ** 2
    assert float(degrees_of_arc(RADIUS)) == pytest.approx(0.00899320363)
