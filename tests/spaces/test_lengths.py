from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.certify.certificate import certificate_of
from sfumato.design import objectives
from sfumato.errors import InvalidInput
from sfumato.spaces.lengths import METRES, Length, as_length, in_unit


@pytest.mark.parametrize(("written", "unit", "number"), [
    ("500 m", "km", "1/2"), ("500m", "km", "1/2"), (" 0.5 km ", "m", 500), ("1/2 km", "km", "1/2"),
    ("2 mi", "km", "3.218688"),
    ("3 ft", "yd", 1), ("12 inches", "feet", 1), ("1e3 m", "km", 1), ("1e3", "km", 1000), ("1e3m", "m", 1000),
    ("10 minutes", "minutes", 10), ("3 nautical miles", "km", "5.556"), (0.3, "km", "0.3"), ("7", "", 7),
    (Length(Fraction(2), "km"), "m", 2000), ("25 cm", "m", "1/4"), ("-3 km", "m", -3000),
])  # fmt: skip
def test_lengths_are_converted_exactly(written: Any, unit: str, number: Any) -> None:
    assert in_unit(written, unit) == Fraction(number)


@pytest.mark.parametrize("unit", ["", "km", "m^2/day", "nautical miles", "minutes", "mètres", "°C", "公里", "%", "µm",
                                  "km2", "Ω"])  # fmt: skip
def test_a_unit_is_a_word_or_two(unit: str) -> None:
    assert sf.line(2, unit=unit).unit == sf.box(2, step=1, unit=unit).unit == unit
    assert sf.verify(sf.geometric(sf.PrivacyType(sf.line(2, unit=unit), alpha="1/2")))


@pytest.mark.parametrize("unit", [
    " km", "km ", "km, or 1", "at no cost", "a" * 21, "km\n", "km\u2028", "<b>", "km\uff0c1", "km.", '"', "\u202ekm",
    "«km»", "000 km", "0", "-km", "/km", "*2 km", "^6 km", "'km", "+km", "³ km", "²", "×10 km", "·5 km", "±1 km",
    "½ km", "٠ km", "०० km", "\U0001d7ce km", "⁰ km", "⅓ km", "①",
])  # fmt: skip
def test_a_unit_says_nothing_else(unit: str) -> None:
    """What a file calls its unit stands in the middle of what people are promised."""
    for make in (lambda: sf.line(2, unit=unit), lambda: sf.box(2, step=1, unit=unit)):
        with pytest.raises(InvalidInput, match="is a word or two"):
            make()
    proved = certificate_of(sf.geometric(sf.PrivacyType(sf.line(2), alpha="1/2")))
    proved.header["space"]["unit"] = unit
    with pytest.raises(InvalidInput, match=r"short text|no unit"):
        sf.verify(proved)


@given(st.sampled_from(sorted(METRES)), st.sampled_from(sorted(METRES)), st.fractions())
def test_there_and_back(here: str, there: str, number: Fraction) -> None:
    assert Length(Length(number, here).into(there), there).into(here) == number


@pytest.mark.parametrize(("written", "unit", "complaint"), [
    ("500 m", "", "in no named unit: give a number, or the space a unit"),
    ("3 km", "minutes", "distances are in minutes: give it in minutes"),
    ("3 minutes", "km", "distances are in km: give it in km or another length such as m"),
    ("5 km/h", "km", "distances are in km"), ("500 M", "km", "distances are in km"),
    ("km", "km", "must be a number"), ("1/0 km", "km", "must be a length such as 0.5 or '500 m'"),
    ("1..2 km", "km", "must be a length"), ("1e999999999 km", "km", "must be a length"),
    (None, "km", "must be a number"),
    ("5 m2", "m", "must be a number"), ("9" * 10**6 + " km", "km", "must be a number"),
])  # fmt: skip
def test_other_units_are_refused_in_a_sentence(written: Any, unit: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=f"^a radius .*{complaint}") as caught:
        in_unit(written, unit, "a radius")
    assert len(str(caught.value)) < 250


CITY = sf.grid(3, 3, step="500 m", unit="km")


def test_steps_and_radii_are_lengths() -> None:
    assert CITY.distance((0, 0), (0, 1)) == 0.5
    assert sf.line(3, step="1 km", unit="m").distance(0, 1) == 1000
    assert sf.losses.threshold(CITY, "500 m").matrix.tolist() == sf.losses.threshold(CITY, 0.5).matrix.tolist()


def test_a_radius_of_a_limit_waits_for_the_space() -> None:
    privacy = sf.PrivacyType(CITY, epsilon=8)
    said = [
        sf.design(None, sf.losses.distance(CITY), privacy,
                  objective=objectives.worst_secret(limits=objectives.displacement_at_most(radius, "3/10")))
        for radius in ("500 m", 0.5, "1/2")
    ]  # fmt: skip
    assert len({made.loss for made in said}) == 1
    assert str(as_length("500 m")) == "500 m"
    late = objectives.worst_secret(limits=objectives.displacement_at_most("5 minutes", "3/10"))
    with pytest.raises(InvalidInput, match=r"the radius of a limit is 5 minutes, but distances are in km"):
        sf.design(None, sf.losses.distance(CITY), privacy, objective=late)


def test_gamma_is_a_length() -> None:
    street = sf.line(11, step="100 m", unit="km")
    assert sf.compatibility.packing_bound(street, "300 m", "1/10") == sf.compatibility.packing_bound(street, 0.3, 0.1)
