from __future__ import annotations

from fractions import Fraction
from math import exp, inf, log, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidEpsilon, InvalidInput
from sfumato.privacy import rational_power


@pytest.mark.parametrize(
    "promise",
    [
        {},
        {"epsilon": 1, "alpha": "1/2"},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": nan},
        {"epsilon": inf},
        {"epsilon": "much"},
        {"alpha": 0},
        {"alpha": 1},
        {"alpha": "3/2"},
    ],
)
def test_bad_promises_are_refused(promise: dict[str, Any]) -> None:
    with pytest.raises(InvalidEpsilon):
        sf.PrivacyType(sf.line(2), **promise)


def test_a_promise_needs_a_space() -> None:
    with pytest.raises(InvalidInput):
        sf.PrivacyType([0, 1], epsilon=1)  # type: ignore[arg-type]


def test_alpha_keeps_everything_rational() -> None:
    privacy = sf.PrivacyType(sf.line(4), alpha="2/3")
    assert privacy.exact
    assert privacy.factor(0, 3) == (Fraction(27, 8), Fraction(27, 8))
    assert privacy.rate == pytest.approx(log(1.5))
    halves = sf.PrivacyType(sf.line(3, step="1/2"), alpha="1/4")
    assert halves.exact
    assert halves.factor(0, 1)[0] == 2
    assert not sf.PrivacyType(sf.line(3, step="1/2"), alpha="1/2").exact
    assert not sf.PrivacyType(sf.grid(2, 2), alpha="1/2").exact


@given(st.integers(8, 150), st.sampled_from(["0.7", "1/1000", "30"]))
def test_factors_are_enclosed_as_tightly_as_asked(bits: int, epsilon: str) -> None:
    privacy = sf.PrivacyType(sf.grid(3, 3), epsilon=epsilon)
    low, high = privacy.factor((0, 0), (1, 2), bits)
    assert low < high
    assert (high - low) * 2 ** (bits - 2) <= low
    sharper = privacy.factor((0, 0), (1, 2), bits + 50)
    assert low <= sharper[0] <= sharper[1] <= high
    assert float(low) == pytest.approx(exp(float(Fraction(epsilon)) * 5**0.5), rel=2.0 ** (3 - min(bits, 40)))


def test_irrational_powers_of_alpha_are_enclosed() -> None:
    low, high = sf.PrivacyType(sf.line(2, step="1/2"), alpha="1/2").factor(0, 1, 100)
    assert low**2 < 2 < high**2
    low, high = sf.PrivacyType(sf.grid(2, 2), alpha="1/2").factor((0, 0), (1, 1))
    assert float(low) <= 2 ** (2**0.5) <= float(high) * (1 + 1e-15)


def test_infinite_distances_bound_nothing() -> None:
    split = sf.graph([(0, 1)], labels=[0, 1, 2])
    with pytest.raises(InvalidInput, match="infinitely"):
        sf.PrivacyType(split, epsilon=1).factor(0, 2)


@given(st.fractions("1/50", 50, max_denominator=50), st.integers(1, 5), st.integers(1, 5))
def test_rational_powers(base: Fraction, up: int, down: int) -> None:
    assert rational_power(base**down, Fraction(up, down)) == base**up


def test_irrational_and_huge_powers_are_left_alone() -> None:
    assert rational_power(Fraction(2), Fraction(1, 2)) is None
    assert rational_power(Fraction(8, 27), Fraction(1, 3)) == Fraction(2, 3)
    assert rational_power(Fraction(3, 2), Fraction(10**9)) is None
    assert rational_power(Fraction(10**40), Fraction(1, 2)) == 10**20
    assert rational_power(Fraction(10**40 + 1), Fraction(1, 2)) is None


def test_units_are_named() -> None:
    assert "per km" in repr(sf.PrivacyType(sf.geo([(0, 0), (1, 1)]), epsilon=1))
