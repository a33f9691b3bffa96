"""Places on the ground: that coordinates are degrees, how far apart they are, and which cells people fall into.

Two Earths are known. On the ``"sphere"`` of radius 6371.0088 km distances are great circles. On ``"WGS84"`` they are
geodesics of the ellipsoid, found by pyproj (extra ``geo``), whose error is 15 nm. The sphere is off by little, and by
how much is known: an ellipsoid with the radii of curvature M = a(1 − e²)/(1 − e² sin² φ)^{3/2} along meridians and
N = a/(1 − e² sin² φ)^{1/2} across measures every curve in latitude and longitude, and so every geodesic, between
min(M, N)/R = 0.9944 and max(M, N)/R = 1.0045 times as long.

A promise e^{ε·d} is kept for a true distance D when the stated one is d ≤ D: distances of the ellipsoid are stated
rounded down, by a millionth, such that they are a metric exactly (:func:`geodesics`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, floor, inf, log2
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from sfumato.arguments import one_of, text
from sfumato.errors import InvalidInput, InvalidMetric, shown
from sfumato.numbers import Floats, Integers, nearest_float
from sfumato.spaces.distances import Distances, Form
from sfumato.spaces.finite import FiniteSpace, Structure
from sfumato.spaces.lengths import METRES, in_unit
from sfumato.spaces.libraries import pyproj_library

EARTH_RADIUS_KM = 6371.0088
"""Mean radius of the Earth in km (IUGG); great-circle distances use this sphere."""

EarthName = Literal["sphere", "WGS84"]
"""The shapes of the Earth on which distances are measured."""

EARTHS: tuple[EarthName, ...] = get_args(EarthName)

# Angles below this (6 µm on the Earth) are the rounding of a sine: longitudes 180 and −180.
_SAME_PLACE = 2.0**-40

_GEODESIC_ERROR = Fraction(25, 10**9)  # metres: 15 nm of the algorithm (Karney 2013), 9 nm of four roundings
_GRAIN = Fraction(6, 10**8)  # metres; distances are multiples of the power of two just below
_SHRINK = 2.0**-20  # by which geodesics are stated shorter
_NEAREST = Fraction(1, 5)  # metres: nearer places could not be stated shorter than they are, see geodesics
_SAME_ARC, _SAME_ANGLE = 1e-6, 1e-9  # great circles are recognised up to these errors of their lengths and angles
_ELLIPTIC = 0.0057  # how far a sphere may be off
_PAIRS_AT_ONCE = 1 << 20  # of which pyproj makes some arrays of doubles


class Cells(ABC):
    """The cells of a list of places on the Earth, in its order: a person is taken for the cell that holds the point."""

    kind: str

    @abstractmethod
    def locate(self, latitude: Floats, longitude: Floats) -> Integers:
        """The index of the cell that holds each point, −1 where none does."""

    @abstractmethod
    def outlines(self) -> list[list[Floats]]:
        """For drawing: the rings of each cell, rows of longitude and latitude."""

    @abstractmethod
    def chosen(self, indices: Sequence[int]) -> Cells:
        """Some of the cells, in another order."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """What a file keeps of them, beside the labels of the space."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What a cell is, in a few words."""


@dataclass(frozen=True, eq=False)
class Ground:
    """What a space knows whose coordinates are longitude and latitude in degrees, beside its distances.

    Parameters
    ----------
    earth
        The Earth on which the nearest place is looked for, and distances between places and people are measured.
    cells
        Where people fall into cells; None where the nearest place is theirs.
    """

    earth: EarthName = "sphere"
    cells: Cells | None = None

    def chosen(self, indices: Sequence[int]) -> Ground:
        """The ground of some of the places."""
        return Ground(self.earth, None if self.cells is None else self.cells.chosen(indices))

    def to_json(self) -> dict[str, Any]:
        """What a file keeps."""
        return {"earth": self.earth, "cells": None if self.cells is None else self.cells.to_json()}


def as_earth(value: Any) -> EarthName:
    """One of the two."""
    name: EarthName = one_of(value, EARTHS, "earth")
    return name


def ground_unit(unit: Any) -> str:
    """The unit of distances on the ground: a length."""
    name: str = text(unit, "the unit of distances on the ground")
    if name not in METRES:
        raise InvalidInput(f"the unit of distances on the ground is a length such as km, m or mi, found {shown(unit)}")
    return name


def is_earth(radius: Fraction, unit: str) -> bool:
    """Whether a sphere has the radius of the Earth, in a unit of length: "on the ground" is on that one."""
    return unit in METRES and radius == in_unit(f"{EARTH_RADIUS_KM} km", unit)


def earth_radius(unit: str) -> float:
    """The radius of the sphere."""
    return nearest_float(in_unit(f"{EARTH_RADIUS_KM} km", unit))


def check_degrees(latitude: Floats, longitude: Floats) -> None:
    """Refuse what is no latitude and longitude; the first that is wrong is named."""
    for row in np.flatnonzero(~((np.abs(latitude) <= 90) & (np.abs(longitude) <= 360)))[:1]:
        raise InvalidInput(
            f"point {row} is at {(float(latitude[row]), float(longitude[row]))}: latitude is within ±90, "
            "longitude within ±360, latitude comes first"
        )


def places_on_ground(
    labels: Sequence[Any], latitude: Floats, longitude: Floats, ground: Ground, unit: str, name: str
) -> FiniteSpace:
    """The space of places in degrees; its table is made when it is asked for, and two that are one place are refused.

    Examples
    --------
    >>> degrees = np.array([48.8566, 51.5074]), np.array([2.3522, -0.1278])
    >>> for earth in EARTHS:
    ...     cities = places_on_ground(["Paris", "London"], *degrees, Ground(earth), "km", "two cities")
    ...     print(earth, round(cities.distance("Paris", "London"), 3))
    sphere 343.557
    WGS84 343.923
    """
    check_degrees(latitude, longitude)
    refuse_same_places(latitude, longitude, labels, ground.earth)
    distances = lazy_distances(latitude, longitude, ground.earth, earth_radius(unit), unit)
    return FiniteSpace(labels, Structure(distances, ground=ground), unit, name, np.stack([longitude, latitude], axis=1))


def lazy_distances(
    latitude: Floats, longitude: Floats, earth: EarthName, radius: float, unit: str
) -> Callable[[], Distances]:
    """The table of distances, made once."""

    @cache
    def distances() -> Distances:
        if earth == "WGS84":
            return Distances(Form.FLOAT, geodesics(latitude, longitude, unit))
        return Distances(Form.FLOAT, radius * central_angles(np.radians(latitude), np.radians(longitude)))

    return distances


def refuse_same_places(latitude: Floats, longitude: Floats, names: Sequence[Any], earth: EarthName) -> None:
    """Refuse two names of one place: on the sphere what no sine tells apart, on the ellipsoid what is 20 cm apart."""
    if len(names) < 2:
        return
    where = ground_positions(np.stack([longitude, latitude], axis=1), earth)
    apart, nearest = map(np.asarray, cKDTree(where).query(where, k=2))
    least = _SAME_PLACE if earth == "sphere" else nearest_float(_NEAREST) / (1000 * EARTH_RADIUS_KM)
    for x in np.flatnonzero(apart[:, 1] < least)[:1].tolist():
        z = int(nearest[x, 1] if nearest[x, 1] != x else nearest[x, 0])
        raise InvalidMetric(f"{shown(names[x])} and {shown(names[z])} are the same place", (names[x], names[z]))


def central_angles(latitude: Floats, longitude: Floats) -> Floats:
    """Angles at the Earth's centre by the haversine formula, accurate also for close places."""
    half_chord = (
        np.sin((latitude[:, None] - latitude[None, :]) / 2) ** 2
        + np.cos(latitude)[:, None] * np.cos(latitude)[None, :]
        * np.sin((longitude[:, None] - longitude[None, :]) / 2) ** 2
    )  # fmt: skip
    angles = 2 * np.arcsin(np.sqrt(np.clip(half_chord, 0, 1)))
    angles = np.maximum(angles, angles.T)  # the two roundings of a pair agree
    np.fill_diagonal(angles, 0.0)
    return np.asarray(angles)


def geodesics(latitude: Floats, longitude: Floats, unit: str) -> Floats:
    """Geodesics on the WGS 84 ellipsoid, stated at most a millionth shorter than they are, and never longer.

    What pyproj finds is g, at most δ off the true length D, and need not be a metric. Stated is d = ⌈(g + 3δ)(1 −
    2⁻²⁰)⌉, a multiple of a grain u. Since g + 3δ satisfies the triangle inequality (each side of it is off by δ at
    most), and to multiply and to round up keep it, d is a metric, exactly; sums of such doubles are not rounded. And d
    ≤ (D + 4δ)(1 − 2⁻²⁰) + u ≤ D wherever 2⁻²⁰·D ≥ 4δ + u, that is, from 17 cm on.

    Examples
    --------
    >>> equator = geodesics(np.zeros(3), np.array([0.0, 1.0, 3.0]), "km")
    >>> bool(equator[0, 2] <= equator[0, 1] + equator[1, 2]), round(float(equator[0, 1]), 2)
    (True, 111.32)
    """
    per_unit = METRES[unit]
    grain = 2.0 ** floor(log2(_GRAIN / per_unit))
    slack = nearest_float(3 * _GEODESIC_ERROR / per_unit)
    geod, n = _geod(), len(latitude)
    table = np.zeros((n, n))
    rows = max(1, _PAIRS_AT_ONCE // n)
    for start in range(0, n, rows):
        x, z = (index.ravel() for index in np.mgrid[start : min(start + rows, n), 0:n])
        x, z = x[x < z], z[x < z]
        metres = geod.inv(longitude[x], latitude[x], longitude[z], latitude[z])[2]
        found = (np.asarray(metres) / nearest_float(per_unit) + slack) * (1 - _SHRINK)
        table[x, z] = table[z, x] = np.ceil(found / grain) * grain
    return table


@cache
def _geod() -> Any:
    return pyproj_library().Geod(ellps="WGS84")


def ground_lengths(here: NDArray[Any], there: NDArray[Any], earth: EarthName, unit: str) -> Floats:
    """How far points are from others, pair by pair, rows of longitude and latitude; in floats, for people."""
    if earth == "WGS84":
        metres = np.asarray(_geod().inv(*here.T, *there.T)[2])
        return np.asarray(metres / nearest_float(METRES[unit]))
    chords = np.linalg.norm(unit_vectors(*here.T) - unit_vectors(*there.T), axis=1)
    return earth_radius(unit) * arcs(chords)


def ground_positions(where: Floats, earth: EarthName) -> Floats:
    """Places, rows of longitude and latitude, as points in space: the nearest there is the nearest on the ground.

    On the ellipsoid that is so up to a ten-millionth of the distance for places up to 100 km away.
    """
    up = unit_vectors(where[:, 0], where[:, 1])
    if earth == "sphere":
        return up
    geod = _geod()
    across = 1 / np.sqrt(1 - geod.es * up[:, 2] ** 2)
    return np.asarray(up * np.stack([across, across, (1 - geod.es) * across], axis=1))


def unit_vectors(longitude: Floats, latitude: Floats) -> Floats:
    """Points of the unit sphere, given in degrees: the nearest of them is the nearest by great circles."""
    east, north = np.radians(longitude), np.radians(latitude)
    return np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=1)


def arcs(chords: Floats) -> Floats:
    """Angles at the centre of the unit sphere between points that are so far apart in a straight line."""
    return np.asarray(2 * np.arcsin(np.clip(chords / 2, 0, 1)))


def whole_grains(lengths: Floats, places: int) -> Floats:
    """Positive lengths rounded down to multiples of a power of two so small that sums along paths are not rounded.

    Lengths of streets are measured in floats. Rounded down like this, by less than 2⁻⁵¹ of the longest path, they have
    shortest paths that are exact, so that these are a metric; and what is promised for shorter ways is promised for
    longer ones. A path visits each of so many places once.

    Examples
    --------
    >>> lengths = whole_grains(np.array([0.1, 0.2, 0.3]), 4)
    >>> bool(lengths[0] + lengths[1] <= 0.1 + 0.2), bool((lengths > 0.0999).all())
    (True, True)
    """
    if not lengths.size:
        return lengths
    longest = min(float(np.sum(lengths)), places * float(np.max(lengths)))
    grain = 2.0 ** (ceil(log2(longest)) - 52)
    found = np.floor(lengths / grain) * grain
    if not (found > 0).all():
        raise InvalidInput(
            f"a length of {float(lengths.min()):g} is nothing beside ways of {longest:g}: merge its ends"
        )
    return np.asarray(found)


def sample_pairs(space: FiniteSpace) -> tuple[Integers, Integers, Floats]:
    """Some pairs of secrets and their distances: the edges of a graph, or three rows of the table."""
    if space.edges is not None:
        return space.edges.pairs.first, space.edges.pairs.second, space.edges.lengths.floats
    n = len(space)
    some = np.unique([0, n // 2, n - 1])
    return np.repeat(some, n), np.tile(np.arange(n), len(some)), space.distances.floats[some].ravel()


def sphere_radius(space: FiniteSpace) -> float | None:
    """The radius of the sphere on which the distances of a space are great circles, None if they are not."""
    assert space.coordinates is not None
    if len(space) == 1:
        return EARTH_RADIUS_KM
    first, second, lengths = sample_pairs(space)
    there = unit_vectors(*space.coordinates.T)
    angles = arcs(np.linalg.norm(there[first] - there[second], axis=1))
    radius = float(lengths.max() / max(float(angles[np.argmax(lengths)]), 1e-300))
    # the distances of secrets a few metres apart are rounded by some 1e-9 of a radian in the coordinates' sines
    if radius == inf or not np.allclose(angles * radius, lengths, rtol=_SAME_ARC, atol=_SAME_ANGLE * radius):
        return None
    return radius


def distances_on_ground(space: FiniteSpace) -> bool:
    """Whether the distances of a space on the ground are those on it, as far as a sphere and an ellipsoid are one."""
    if space.coordinates is None or space.edges is not None or space.unit not in METRES:
        return False
    first, second, lengths = sample_pairs(space)
    great = ground_lengths(space.coordinates[first], space.coordinates[second], "sphere", space.unit)
    return bool(np.allclose(lengths, great, rtol=_ELLIPTIC, atol=0.0))
