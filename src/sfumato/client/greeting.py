"""What a page says at its head where nobody gave it a title: where its visitors are, in words and in no formula."""

from __future__ import annotations

from math import ceil, cos, hypot, radians

from sfumato.certify import kernel
from sfumato.specs.cities import City, cities_around

_DEGREE = 111.2  # km of a great circle
# Larger than a town with what is around it no single city says where somebody is, and of villages the next city does.
_LOCAL, _NEAR = 60.0, 20.0  # km


def title_of(header: kernel.AnyHeader) -> str:
    """The name that somebody gave the space, or the city that people are in, or how many choices there are.

    Names that constructors give, such as ``line(3)`` or ``2 places``, are for who writes Python.

    Examples
    --------
    >>> import sfumato as sf
    >>> from sfumato.certify.file import file_of
    >>> scale = sf.geometric(sf.PrivacyType(sf.line(["never", "rarely", "often"]), alpha="1/2"))
    >>> title_of(kernel.parse(file_of(scale))[0])
    'One of 3 choices'
    """
    space = header.space
    if space.name and not ("(" in space.name or space.name[0].isdigit()):
        return space.name
    if isinstance(header, kernel.CoordinatesHeader):
        return _of_box(header.box, space.unit)
    if space.ground is not None and space.coordinates:
        longitudes, latitudes = zip(*space.coordinates, strict=True)
        ends = [(float(min(along)), float(max(along))) for along in (latitudes, longitudes)]
        place, near = _on_earth(*ends)
        return place if near else f"One of {len(header.secrets)} places"
    # along a line they are more often answers on a scale than places
    flat = space.coordinates and all(isinstance(spot, list) and len(spot) > 1 for spot in space.coordinates)
    return f"One of {len(header.secrets)} {'places' if flat else 'choices'}"


def _of_box(box: kernel.WrittenBox, unit: str) -> str:
    if box.frame is not None:
        west, south = box.frame.west, box.frame.south
        wide, high = (side * degrees for side, degrees in zip(box.sides, box.frame.degrees, strict=True))
        return _on_earth((float(south), float(south + high)), (float(west), float(west + wide)))[0]
    sides = f"{' × '.join(f'{float(side):.3g}' for side in box.sides)} {unit}".strip()
    return f"Somewhere in a box of {sides}" if len(box.sides) > 1 else f"Somewhere along {sides}"


def _on_earth(latitudes: tuple[float, float], longitudes: tuple[float, float]) -> tuple[str, bool]:
    """Where a part of the Earth lies, and whether that is no larger than a town with what is around it."""
    latitude, longitude = (sum(ends) / 2 for ends in (latitudes, longitudes))
    tall, wide = ((high - low) * _DEGREE / 2 for low, high in (latitudes, longitudes))
    reach = hypot(tall, wide * cos(radians(latitude)))
    if reach <= _LOCAL:
        middle = City("", "", (latitude, longitude), 0)
        for word, km in (("in", reach), ("near", reach + _NEAR)):
            if found := cities_around(middle, km):
                return f"Somewhere {word} {max(found, key=lambda city: city.people).name}", True
    east = (longitude + 180) % 360 - 180
    where = f"{abs(latitude):.1f}° {'S' if latitude < 0 else 'N'}, {abs(east):.1f}° {'W' if east < 0 else 'E'}"
    return f"Somewhere within {ceil(reach / 10) * 10} km of {where}", reach <= _LOCAL
