"""Cities of a country, as real secrets."""

from __future__ import annotations

import pytest

from sfumato.errors import NotSupported, SfumatoError
from sfumato.specs.cities import cities_of, city_of, countries


def test_the_largest_come_first_with_different_names_and_places() -> None:
    cities = cities_of("US", 300)
    assert cities.people == tuple(sorted(cities.people, reverse=True))
    assert len(cities.names) == len(set(cities.names)) == len(set(cities.places)) == 300
    assert all(-90 <= latitude <= 90 and -180 <= longitude <= 180 for latitude, longitude in cities.places)


def test_every_country_has_a_code_and_others_are_refused() -> None:
    assert countries()["IT"] == "Italy"
    with pytest.raises(SfumatoError, match="two letters"):
        cities_of("QQ", 3)


@pytest.mark.parametrize(
    ("called", "hint"),
    [
        ("New York", "did you mean 'New York City' (US)?"),
        ("nyc", "did you mean 'New York City' (US)?"),
        ("Cologne", "did you mean 'Köln' (DE)?"),
        ("Pariss", "did you mean 'Paris'?"),
        ("Xanaduville", "the city 'Xanaduville' is not supported; a city of"),
    ],
)
def test_what_a_city_is_also_called_leads_to_its_name(called: str, hint: str) -> None:
    with pytest.raises(NotSupported) as refused:
        city_of(called)
    assert hint in str(refused.value)
