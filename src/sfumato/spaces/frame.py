"""Frames: how the coordinates of a box lie on the Earth.

A frame is an affine map with rational coefficients, x = (longitude − west) / degrees₁ and y = (latitude − south) /
degrees₂, so that a place in degrees becomes a point of the box exactly. Distances d on the ground are great circles on
a sphere. The map stretches them by something between two rationals, k_min·d ≤ ‖Δ‖ ≤ k_max·d, which :func:`stretch`
gives and ``docs/theory/coordinates_on_the_earth.md`` proves.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import Any

import flint

from sfumato.errors import InvalidInput, short
from sfumato.numbers import as_ball, dyadic, exact, fmpq

FULL_TURN = 360
"""Degrees of longitude after which a place comes again."""

_MILLION = 10**6  # stretches are stated in millionths, the largest rounded up and the smallest down
_PRECISION = 96  # bits of cosines: their error is far below a millionth

Sides = tuple[Fraction, ...]


@dataclass(frozen=True)
class EarthFrame:
    """Where the coordinates of a box lie on the Earth.

    Parameters
    ----------
    south, west
        Latitude and longitude of the point (0, 0), in degrees.
    degrees
        Degrees of longitude, and of latitude, for one unit of the box.
    radius
        Of the sphere on which distances are great circles, in units of the box.
    margin
        How far outside of the box points may lie along either axis, in its units: they count as the nearest point of
        the box. What lies farther out is refused, since nothing would be promised about it.

    Examples
    --------
    >>> cent = Fraction(1, 100)
    >>> frame = EarthFrame(Fraction(0), Fraction(170), (cent, cent), Fraction("6371.0088"), Fraction(1))
    >>> frame.coordinates("0.05", "170.02")
    (Fraction(2, 1), Fraction(5, 1))
    >>> frame.coordinates(1, -180), frame.place((Fraction(1000), Fraction(100)))
    ((Fraction(1000, 1), Fraction(100, 1)), (Fraction(1, 1), Fraction(-180, 1)))
    """

    south: Fraction
    west: Fraction
    degrees: tuple[Fraction, Fraction]
    radius: Fraction
    margin: Fraction

    def __str__(self) -> str:
        return f"{_degrees(self.south, 'NS')} {_degrees(_around(self.west, Fraction(-180)), 'EW')}"

    def coordinates(self, latitude: Any, longitude: Any) -> tuple[Fraction, Fraction]:
        """The point of the box for a place in degrees, exactly; longitudes are counted eastwards from the margin."""
        first = self.west - self.margin * self.degrees[0]
        x = _around(exact(longitude), first) - self.west
        return x / self.degrees[0], (exact(latitude) - self.south) / self.degrees[1]

    def to_json(self) -> dict[str, Any]:
        """What a file keeps, as texts."""
        single = {name: str(getattr(self, name)) for name in ("south", "west", "radius", "margin")}
        return {**single, "degrees": [str(scale) for scale in self.degrees]}

    def place(self, point: tuple[Fraction, ...]) -> tuple[Fraction, Fraction]:
        """Latitude, and longitude from −180 up to 180, of a point of the box."""
        east = _around(self.west + point[0] * self.degrees[0], Fraction(-180))
        return self.south + point[1] * self.degrees[1], east


def _around(longitude: Fraction, first: Fraction) -> Fraction:
    """The same meridian between ``first`` and once around from there."""
    return longitude - FULL_TURN * floor((longitude - first) / FULL_TURN)


def _degrees(angle: Fraction, sides: str) -> str:
    return f"{float(abs(angle)):g}° {sides[0] if angle >= 0 else sides[1]}"


def region(frame: EarthFrame, sides: Sides) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """What is accepted: the least latitude and longitude, and the largest; longitudes may go beyond 180."""
    low, high = ([end * scale for scale in frame.degrees] for end in (-frame.margin, frame.margin))
    width, height = (side * scale for side, scale in zip(sides, frame.degrees, strict=True))
    return (frame.south + low[1], frame.west + low[0], frame.south + height + high[1], frame.west + width + high[0])


@lru_cache(maxsize=64)
def stretch(frame: EarthFrame, sides: Sides) -> tuple[Fraction, Fraction]:
    """Rationals k_min, k_max: ‖Δ‖ ≤ k_max·d for accepted points, moved into the box or not; ‖Δ‖ ≥ k_min·d in the box.

    The largest is that at the highest latitude that a great circle between accepted points reaches, the smallest that
    at the lowest latitude of the box. Both are within two millionths of the truth.
    """
    south, west, north, east = region(frame, sides)
    highest, wide = max(abs(south), abs(north)), east - west
    if highest >= 90 or wide >= 180:
        raise InvalidInput(
            f"with its margin of {short(frame.margin)} the box reaches {short(highest)}° from the equator and is "
            f"{short(wide)}° wide: it must end before the poles and span less than half of the globe"
        )
    bottom, top = frame.south, frame.south + sides[1] * frame.degrees[1]
    lowest = Fraction(0) if bottom < 0 < top else min(abs(bottom), abs(top))
    with flint.ctx.workprec(_PRECISION):
        unit = 180 / (flint.arb.pi() * as_ball(frame.radius))  # degrees of a great circle for one unit of length
        along = [unit / as_ball(scale) for scale in frame.degrees]
        ratios = along[0] / _cosine_of_top(highest, wide), along[0] / _cosine(lowest)
        most = max(dyadic(k.upper()) for k in (along[1], ratios[0]))
        least = min(dyadic(k.lower()) for k in (along[1], ratios[1]))
    return Fraction(floor(least * _MILLION), _MILLION), Fraction(ceil(most * _MILLION), _MILLION)


def _cosine(degrees: Fraction) -> flint.arb:
    return flint.arb.cos_pi_fmpq(fmpq(degrees / 180))


def _cosine_of_top(latitude: Fraction, wide: Fraction) -> flint.arb:
    """The cosine of the highest latitude of a great circle between two places up to a latitude, so far apart.

    tan φ_top = tan φ / cos(Λ/2).
    """
    c, k = _cosine(latitude), _cosine(wide / 2)
    return c * k / (1 - c * c * (1 - k * k)).sqrt()


def cosine_of_top(latitude: Fraction, wide: Fraction) -> Fraction:
    """A rational just below the cosine of the highest latitude that a great circle reaches.

    Examples
    --------
    >>> round(float(cosine_of_top(Fraction(60), Fraction(90))), 6)      # arctan(√3 · √2)
    0.377964
    """
    with flint.ctx.workprec(_PRECISION):
        return dyadic(_cosine_of_top(latitude, wide).lower())


def degrees_of_arc(radius: Fraction) -> Fraction:
    """A rational just above the degrees of a great circle that is one unit long."""
    with flint.ctx.workprec(_PRECISION):
        return dyadic((180 / (flint.arb.pi() * as_ball(radius))).upper())
