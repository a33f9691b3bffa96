"""Surfaces: where the points of a box lie, on a plane with a norm or on the Earth.

What people hold are coordinates of the box itself, or latitude and longitude in degrees, of which the box is a flat
map. ``box.surface`` has the answers to all that depends on it under the same names, so that who asks need not know
which of the two it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InvalidInput, NotSupported, short
from sfumato.numbers import Floats, Number, exact
from sfumato.spaces.foreign import LATITUDES, LONGITUDES
from sfumato.spaces.frame import FULL_TURN, EarthFrame, region, stretch
from sfumato.spaces.ground import ground_lengths

if TYPE_CHECKING:  # boxes know their surface
    from sfumato.spaces.box import Box

GREAT_CIRCLE = "great circle"
"""The distance of places on the Earth, as a promise about coordinates names it."""

_SAYS_NOTHING = 1000  # what part of 1/ε, the length of the noise, nobody sees beside it
_MOST_DECIMALS = 7

Scale = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Plane:
    """A line, a plane or space: coordinates are those of the box, and distances are measured in its norm.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> plane = box((8, 6), step=1, unit="km").surface
    >>> plane.norm, plane.columns, plane.region[2:]
    ('euclidean', (('x',), ('y',)), (Fraction(8, 1), Fraction(6, 1)))
    """

    box: Box

    aim: ClassVar[str] = ""
    """Where distances of a promise are measured, said after their unit."""
    on_the_map: ClassVar[str] = ""
    """Where expected distances are measured, if that is somewhere else."""
    precision: ClassVar[type[Any]] = object
    """Points of files are doubles, as those that are released, or what is written."""
    turns: ClassVar[tuple[int, ...]] = (0,)
    """What can be added to the first coordinate of a point, which stays the same one."""

    @property
    def norm(self) -> str:
        """The distance that a promise is about."""
        return self.box.metric

    @property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        """Usual names of columns that hold coordinates, in small letters."""
        return (("x",), ("y",), ("z",))[: self.box.dimension]

    @property
    def wanted(self) -> str:
        """What a point consists of, in words."""
        return f"{self.box.dimension} coordinates"

    @property
    def margin(self) -> Fraction | None:
        """How far outside of the box a promise about it holds; None for everywhere."""
        return None

    @property
    def beyond(self) -> str:
        """What is wrong with a point that is not accepted, after its name."""
        return (
            f"lies more than {short(self.margin or 0)} {self.box.unit} outside of {self.box.name}: nothing is promised "
            "about it, leave it out, or take a larger box"
        )

    @property
    def stretch(self) -> Scale:
        """Rationals around what distances of the box are times those that are promised about."""
        return Fraction(1), Fraction(1)

    @property
    def words(self) -> str:
        """What the map does to distances; empty where there is none."""
        return ""

    @property
    def scales(self) -> tuple[Scale, ...]:
        """For each axis the coordinate of its begin, as people hold it, and that of one unit more."""
        return tuple((start, Fraction(1)) for start in self.box.origin)

    @property
    def region(self) -> tuple[Fraction, ...]:
        """The least coordinates, as people order them, and the largest; on the Earth of all that is accepted."""
        box = self.box
        return (*box.origin, *(low + side for low, side in zip(box.origin, box.sides, strict=True)))

    @property
    def reaches(self) -> Sequence[tuple[Fraction, Fraction, int] | None]:
        """Which coordinates are accepted along each axis, and after how much they come again; None for all."""
        return [None] * self.box.dimension

    def decimals(self, rate: Fraction) -> int | None:
        """How many decimals of a coordinate say something beside noise at a rate; None for all, in anybody's unit."""
        return None

    def turned(self, columns: Any) -> Any:
        """Columns that are ordered like axes, ordered as people do, and back: they put latitude first."""
        return columns

    def coordinate(self, axis: int, at: Fraction) -> Fraction:
        """A coordinate of the box as people hold it."""
        return at

    def place(self, point: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        """A point of the box as people hold it."""
        return point

    def point(self, place: Sequence[Number], name: str) -> tuple[Fraction, ...]:
        """The point of the box that people mean, which must be accepted."""
        return self.accepted(tuple(map(exact, place)), name)

    def accepted(self, point: tuple[Fraction, ...], name: str) -> tuple[Fraction, ...]:
        """The point, if a promise about the box holds for it: anywhere on a plane, up to the margin on the Earth."""
        out, ends = self.margin, zip(point, self.box.sides, strict=True)
        if out is not None and any(not -out <= at <= side + out for at, side in ends):
            raise InvalidInput(f"{name} {self.beyond}")
        return point

    def possible(self, columns: Sequence[Floats]) -> NDArray[np.bool_]:
        """Which coordinates can be those of a point."""
        return np.ones(len(columns[0]), dtype=np.bool_)

    def near(self, columns: Sequence[Floats]) -> NDArray[np.bool_]:
        """Which points are accepted, in the box or outside, in floats: for people."""
        return self.possible(columns)

    def gaps(self, columns: Sequence[Floats]) -> Floats:
        """How far points lie outside of the box, in a straight line; 0 for those inside, in floats: for people."""
        low = np.array([float(o) for o in self.box.origin])[:, None]
        points = np.stack(columns)
        sides = np.array([float(side) for side in self.box.sides])[:, None]
        return np.asarray(np.linalg.norm(points - np.clip(points, low, low + sides), axis=0))

    def needs_a_plane(self, what: str, instead: Sequence[str]) -> None:
        """Refuse what is known of no great circles."""

    def to_json(self) -> dict[str, Any] | None:
        """What a file says of it, beside the sides of the box and its norm."""
        return None


@dataclass(frozen=True)
class Earth(Plane):
    """The Earth: people hold latitude and longitude, and a promise is about great circles, not about their map.

    Examples
    --------
    >>> from sfumato.spaces.earth import earth_box
    >>> earth = earth_box("40.70 N", "74.02 W", sides=(10, 10), step="500 m").surface
    >>> earth.norm, earth.wanted, earth.place((Fraction(0), Fraction(0)))
    ('great circle', 'latitude and longitude', (Fraction(407, 10), Fraction(-3701, 50)))
    """

    frame: EarthFrame

    aim = " on the ground"
    on_the_map = ", on the map of the box"
    precision = np.float64
    turns = (-FULL_TURN, 0, FULL_TURN)
    norm = GREAT_CIRCLE
    columns = (LATITUDES, LONGITUDES)
    wanted = "latitude and longitude"

    @property
    def margin(self) -> Fraction:
        """Places farther outside are refused."""
        return self.frame.margin

    @property
    def stretch(self) -> Scale:
        """k_min and k_max of :func:`~sfumato.spaces.frame.stretch`."""
        return stretch(self.frame, self.box.sides)

    @property
    def words(self) -> str:
        """The stretches, and the sphere."""
        least, most = (f"{float(k):g}" for k in self.stretch)
        return (
            f"distances on the map are {least} to {most} times those on the ground, a sphere of radius "
            f"{float(self.frame.radius):.9g} {self.box.unit}"
        )

    @property
    def scales(self) -> tuple[Scale, ...]:
        """Longitude and latitude of the corner, and the degrees of a unit."""
        return tuple(zip((self.frame.west, self.frame.south), self.frame.degrees, strict=True))

    @property
    def region(self) -> tuple[Fraction, ...]:
        """South, west, north and east of all that is accepted."""
        return region(self.frame, self.box.sides)

    @property
    def reaches(self) -> Sequence[tuple[Fraction, Fraction, int]]:
        """Longitudes, which come again, and latitudes."""
        south, west, north, east = self.region
        return [(west, east, FULL_TURN), (south, north, 0)]

    @property
    def inner(self) -> Earth:
        """The box without its margin."""
        return replace(self, frame=replace(self.frame, margin=Fraction(0)))

    def decimals(self, rate: Fraction) -> int:
        """Those of a degree: the last stands for at most a thousandth of 1/ε along both axes, or for a centimetre.

        Examples
        --------
        >>> from sfumato.spaces.earth import earth_box
        >>> town = earth_box(48, 2, sides=(10, 10), step=5).surface
        >>> [town.decimals(Fraction(rate)) for rate in ("0.01", "1.4", "1000")]
        [4, 6, 7]
        """
        finest = min(self.frame.degrees) / (_SAYS_NOTHING * rate)
        return next((k for k in range(_MOST_DECIMALS) if Fraction(1, 10**k) <= finest), _MOST_DECIMALS)

    def turned(self, columns: Any) -> Any:
        """Latitude and longitude as longitude and latitude, and back."""
        return columns[::-1]

    def coordinate(self, axis: int, at: Fraction) -> Fraction:
        """A longitude or latitude."""
        return self.frame.place((at, at))[1 - axis]

    def place(self, point: tuple[Fraction, ...]) -> tuple[Fraction, Fraction]:
        """Latitude and longitude."""
        return self.frame.place(point)

    def point(self, place: Sequence[Number], name: str) -> tuple[Fraction, ...]:
        """The point of the map."""
        return self.accepted(self.frame.coordinates(*place), name)

    def possible(self, columns: Sequence[Floats]) -> NDArray[np.bool_]:
        """Latitudes up to a pole, and longitudes up to a turn."""
        latitude, longitude = map(np.abs, columns)
        return np.asarray((latitude <= 90) & (longitude <= FULL_TURN))

    def near(self, columns: Sequence[Floats]) -> NDArray[np.bool_]:
        """Those of the region, the margin included."""
        latitude, longitude = columns
        south, west, north, east = map(float, self.region)
        turned = (longitude - west) % FULL_TURN
        return np.asarray((latitude >= south) & (latitude <= north) & (turned <= east - west))

    def gaps(self, columns: Sequence[Floats]) -> Floats:
        """On the ground, infinite for what is no place."""
        latitude, longitude = columns
        south, west, north, east = map(float, self.inner.region)
        beyond = (longitude - west) % FULL_TURN
        width = east - west
        nearer = np.where(beyond - width <= FULL_TURN - beyond, east, west)
        there = np.stack([np.where(beyond <= width, longitude, nearer), np.clip(latitude, south, north)], axis=1)
        here = np.stack([longitude, latitude], axis=1)
        lengths = ground_lengths(here, there, "sphere", self.box.unit)
        inside = (beyond <= width) & (latitude >= south) & (latitude <= north)
        return np.where(inside, 0.0, np.where(np.abs(latitude) <= 90, lengths, inf))

    def needs_a_plane(self, what: str, instead: Sequence[str]) -> None:
        """There is none."""
        raise NotSupported(what, instead)

    def to_json(self) -> dict[str, Any]:
        """The frame."""
        return self.frame.to_json()
