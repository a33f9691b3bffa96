"""Boxes on the Earth: people hold latitudes and longitudes, and a promise is about metres on the ground.

The map from degrees to the box is affine and rational (:class:`~sfumato.spaces.frame.EarthFrame`), chosen so that it
makes no distance longer: what is promised for a rate on the box is promised for the same rate on the ground. How much
shorter it makes some is what the box costs, a few thousandths for a city (``docs/theory/coordinates_on_the_earth.md``).

The ground is a sphere of radius 6371.0088 km, as for :func:`~sfumato.spaces.constructors.geo`. Along every geodesic the
WGS 84 ellipsoid measures between 0.9944 and 1.0045 times as much.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import float_array, items, text
from sfumato.errors import InvalidInput, short, shown
from sfumato.numbers import Floats, Integers, Number, as_written, exact, float_above, float_below, text_above
from sfumato.spaces.box import Box, as_box, listed_lengths
from sfumato.spaces.box import box as plain_box
from sfumato.spaces.constructors import EARTH_RADIUS_KM
from sfumato.spaces.frame import EarthFrame, Sides, cosine_of_top, degrees_of_arc, region, stretch
from sfumato.spaces.lengths import METRES, in_unit
from sfumato.spaces.libraries import pyproj_library
from sfumato.spaces.surface import Earth

__all__ = [
    "counts_on_cells",
    "earth_box",
    "from_degrees",
    "ground_range",
    "ground_stretch",
    "ground_words",
    "to_box",
    "to_degrees",
    "to_earth",
]

MOST_STRETCH = Fraction(3, 2)
"""Beyond this quotient of largest and smallest stretch a box is refused: it would cost half of ε."""

_DEGREES = "EPSG:4326"
_DIGITS = 7  # of degrees for a unit of length: few, and no stretch is off by more than a millionth
_MARGIN = Fraction(1, 4)  # of the longer side, where no margin is given
_ROUNDS = 100  # of the search for degrees of longitude; it takes three or four
_LONGEST_ANGLE = 1000  # characters of a text
_WITH_SIDE = re.compile(r"\s*(?P<number>[\d.]+)\s*°?\s*(?P<side>[NSEWnsew])\s*")


def earth_box(
    south: Number,
    west: Number,
    north: Number | None = None,
    east: Number | None = None,
    *,
    step: Number | str | Sequence[Number | str],
    sides: Sequence[Number | str] | None = None,
    unit: str = "km",
    margin: Number | str | None = None,
) -> Box:
    """The box on the Earth with a south-west corner in degrees, and the opposite corner or two sides.

    The first axis goes east, the second north. Cells have sides ``step`` exactly, in the unit of the map; where an
    opposite corner is given, the box reaches at least to it and ends with a whole cell.

    Parameters
    ----------
    south, west, north, east
        Degrees: numbers, south and west of zero negative, or texts such as ``"74.02 W"``. A box whose east side has a
        smaller longitude than its west side goes across the antimeridian.
    step
        The side of a cell, or one for each axis; ``"500 m"`` where the unit is another length.
    sides
        Instead of a corner: the sides from west to east and from south to north.
    unit
        A unit of length; ε is then for one of them on the ground.
    margin
        How far outside of the box places may lie that are moved to its border, a quarter of its longer side by
        default. What lies farther out is refused, also where points are to be moved into the box: the promise holds
        for all that is accepted, and places near a pole would be moved apart.

    Examples
    --------
    >>> city = earth_box("40.70 N", "74.02 W", sides=(10, 10), step="500 m")
    >>> city
    Box(box(10 × 10, from 40.7° N 74.02° W), 400 cells, in km)
    >>> [float(k) for k in ground_stretch(city)]
    [0.998..., 1.0]
    >>> earth_box(-17.9, 178, -16.1, "179.9 W", step=10).shape                 # Fiji lies across the antimeridian
    (23, 21)
    """
    unit = text(unit, "the unit of a box on the Earth")
    if unit not in METRES:
        raise InvalidInput(f"the unit of a box on the Earth is a length such as km, m or mi, found {shown(unit)}")
    if (sides is None) == (north is None and east is None) or (north is None) != (east is None):
        raise InvalidInput("a box on the Earth has an opposite corner, north and east, or two sides: give one of these")
    radius = in_unit(f"{EARTH_RADIUS_KM} km", unit)
    bottom, left = _latitude(south, "south"), _longitude(west, "west")
    cells = _lengths(step, unit, "the step of a box")
    lengths = None if sides is None else _lengths(sides, unit, "the sides of a box on the Earth")
    span = () if lengths else _span(bottom, left, _latitude(north, "north"), _longitude(east, "east"))
    outside = None if margin is None else in_unit(margin, unit, "the margin of a box")
    if outside is not None and outside < 0:
        raise InvalidInput(f"the margin of a box is not negative, found {shown(margin)}")
    arc = degrees_of_arc(radius)
    upright = level = _few_digits(arc)
    for _ in range(_ROUNDS):  # wider degrees reach farther, to higher latitudes, where they must be wider still
        size = lengths or _whole_cells(span, (level, upright), cells)
        frame = EarthFrame(bottom, left, (level, upright), radius, _MARGIN * max(size) if outside is None else outside)
        highest, wide = _extent(frame, size)
        needed = _few_digits(arc / cosine_of_top(highest, wide))
        if needed <= level:
            break
        level = needed
    plain = plain_box(size, cells, unit=unit)
    least, most = stretch(frame, size)
    if most > MOST_STRETCH * least:
        raise _badly_placed(
            frame,
            size,
            f"its map would stretch distances {text_above(most / least, 3)} times as much in one place as in another, "
            f"more than {float(MOST_STRETCH)} times",
        )
    return Box(plain.sides, plain.step, plain.metric, unit, plain.origin, frame)


def _latitude(value: Any, what: str) -> Fraction:
    found = _angle(value, what, "NS", "a latitude such as 40.7 or '40.7 N'")
    if abs(found) > 90:
        raise InvalidInput(f"{what} is a latitude from −90 to 90 degrees, found {shown(value)}: latitudes come first")
    return found


def _longitude(value: Any, what: str) -> Fraction:
    found = _angle(value, what, "EW", "a longitude such as −74.02 or '74.02 W'")
    if abs(found) > 360:
        raise InvalidInput(f"{what} is a longitude from −180 to 180 degrees, found {shown(value)}")
    return (found + 180) % 360 - 180


def _angle(value: Any, what: str, sides: str, expected: str) -> Fraction:
    match = _WITH_SIDE.fullmatch(value) if isinstance(value, str) and len(value) < _LONGEST_ANGLE else None
    if match is None:
        return as_written(value, what, expected=expected)
    if match["side"].upper() not in sides:
        raise InvalidInput(f"{what} must be {expected}, found {shown(value)}")
    size = as_written(match["number"], what, expected=expected)
    return size if match["side"].upper() == sides[0] else -size


def _lengths(values: Any, unit: str, what: str) -> Sides:
    """Two positive lengths; one stands for both."""
    listed = listed_lengths(values, what)
    if len(listed) not in (1, 2):
        raise InvalidInput(f"{what} are two lengths, to the east and to the north, found {shown(values)}")
    found = tuple(in_unit(value, unit, what) for value in listed)
    if min(found) <= 0:
        raise InvalidInput(f"{what} must be positive, found {shown(values)}")
    return found * 2 if len(found) == 1 else found


def _span(south: Fraction, west: Fraction, north: Fraction, east: Fraction) -> Sides:
    """Degrees from west to east and from south to north."""
    if north <= south:
        raise InvalidInput(f"north must be larger than south, found {short(north)} and {short(south)}")
    if east == west:
        raise InvalidInput(f"east and west must differ, found {short(west)} twice")
    return (east - west) % 360, north - south


def _whole_cells(span: Sides, degrees: Sides, cells: Sides) -> Sides:
    """The sides that reach so many degrees with whole cells."""
    return tuple(ceil(wide / scale / cell) * cell for wide, scale, cell in zip(span, degrees, cells, strict=True))


def _extent(frame: EarthFrame, sides: Sides) -> tuple[Fraction, Fraction]:
    """The latitude that is farthest from the equator among accepted places, and how many degrees they are apart."""
    south, west, north, east = region(frame, sides)
    highest, wide = max(abs(south), abs(north)), east - west
    if highest >= 90:
        raise _badly_placed(frame, sides, "it would reach a pole, where meridians meet")
    if wide >= 180:
        raise _badly_placed(frame, sides, "it would span half of the globe")
    return highest, wide


def _badly_placed(frame: EarthFrame, sides: Sides, why: str) -> InvalidInput:
    south, _, north, _ = (float(angle) for angle in region(frame, sides))
    return InvalidInput(
        f"a box from {frame} with sides {' × '.join(map(short, sides))} and a margin of {short(frame.margin)} lies "
        f"between the latitudes {south:.4g} and {north:.4g}, and {why}: take a smaller box or margin, or one that is "
        "farther from the poles"
    )


def _few_digits(value: Fraction) -> Fraction:
    """The next larger number with seven significant digits."""
    grain = Fraction(10) ** (floor(log10(value)) + 1 - _DIGITS)
    return ceil(value / grain) * grain


def ground_stretch(box: Box) -> tuple[Fraction, Fraction]:
    """Rationals k_min, k_max around what distances on the map are times those on the ground; 1, 1 without a frame.

    ‖Δ‖ ≤ k_max·d for all places that are accepted, those outside of the box as the nearest point of it, and
    ‖Δ‖ ≥ k_min·d for all places of the box. So a mean distance L on the map is one between L / k_max and L / k_min on
    the ground.
    """
    return as_box(box).surface.stretch


def ground_range(length: Number, box: Box) -> tuple[Fraction, Fraction]:
    """What a length on the map, such as an expected loss, can be on the ground; the same twice without a frame.

    Examples
    --------
    >>> city = earth_box("40.70 N", "74.02 W", sides=(10, 10), step="500 m")
    >>> [round(float(end), 4) for end in ground_range("1.85", city)]
    [1.85, 1.8531]
    """
    least, most = ground_stretch(box)
    size = as_written(length, "a length on the map")
    if size < 0:
        raise InvalidInput(f"a length on the map is not negative, found {shown(length)}")
    return size / most, size / least


def ground_words(box: Box) -> str:
    """What the map of a box on the Earth does to distances, in words; empty without a frame.

    Examples
    --------
    >>> ground_words(earth_box("40.70 N", "74.02 W", sides=(10, 10), step="500 m"))
    'distances on the map are 0.998309 to 1 times those on the ground, a sphere of radius 6371.0088 km'
    """
    return as_box(box).surface.words


def on_the_earth(box: Box) -> Earth:
    """The surface of a box on the Earth; an error for a box that is not there."""
    surface = as_box(box).surface
    if not isinstance(surface, Earth):
        raise InvalidInput(f"{box.name} is not on the Earth: earth_box(south, west, …) makes one that is")
    return surface


def to_box(box: Box, latitude: Number, longitude: Number) -> tuple[Fraction, ...]:
    """The coordinates of a place on the map of a box, exactly; a float is the dyadic number it stores.

    A place in the margin has coordinates outside of the box. One beyond it is refused.

    Examples
    --------
    >>> city = earth_box("40.70 N", "74.02 W", sides=(10, 10), step="500 m")
    >>> x, y = to_box(city, "40.7484", "-73.9857")
    >>> round(float(x), 3), round(float(y), 3)
    (2.88..., 5.38...)
    """
    return on_the_earth(box).point((latitude, longitude), f"({shown(latitude)}, {shown(longitude)})")


def to_earth(box: Box, point: Sequence[Number]) -> tuple[Fraction, Fraction]:
    """Latitude and longitude of a point of the map, exactly.

    Examples
    --------
    >>> city = earth_box("40.70 N", "74.02 W", sides=(10, 10), step="500 m")
    >>> to_earth(city, (0, 0))
    (Fraction(407, 10), Fraction(-3701, 50))
    """
    coordinates = tuple(exact(at) for at in items(point, "a point of a box"))
    if len(coordinates) != 2:
        raise InvalidInput(f"a point of {as_box(box).name} has 2 coordinates, found {shown(point)}")
    return on_the_earth(box).place(coordinates)


def counts_on_cells(box: Box, latitude: Any, longitude: Any, counts: Any = None) -> Integers:
    """How many places lie in each cell of a box on the Earth, for :meth:`sfumato.channels.prior.Prior.on_cells`.

    Places outside of the box are not counted. A cell has its western and southern borders; those of the box belong to
    it on all sides.

    Parameters
    ----------
    latitude, longitude
        Degrees, one of each for a place.
    counts
        How often each place occurs, once by default.

    Examples
    --------
    >>> city = earth_box(0, 0, sides=(2, 2), step=1)
    >>> counts_on_cells(city, [0.001, 0.001, 0.017, 7], [0.001, 0.012, 0.001, 7]).tolist()
    [[1, 1], [1, 0]]
    """
    on_the_earth(box)
    degrees = [float_array(angle, what) for angle, what in ((longitude, "longitudes"), (latitude, "latitudes"))]
    if degrees[0].ndim != 1 or degrees[0].shape != degrees[1].shape:
        raise InvalidInput("latitudes and longitudes are two lists of equal length")
    if not all(np.isfinite(angle).all() for angle in degrees):
        raise InvalidInput("a latitude or longitude is not finite")
    many = np.ones(len(degrees[0])) if counts is None else float_array(counts, "counts")
    if many.shape != degrees[0].shape or not ((many >= 0) & (many < 2.0**53) & (many == np.floor(many))).all():
        raise InvalidInput("counts are whole numbers, one for each place")
    return cell_counts(box, degrees[::-1], many.astype(np.int64))


def cell_counts(box: Box, columns: Sequence[NDArray[Any]], counts: NDArray[Any] | None = None) -> NDArray[Any]:
    """How many points lie in each cell of a box, on the Earth or not, or how many their counts make together.

    Columns are those of a point: one an axis, latitude and longitude on the Earth. Those outside do not count.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> cell_counts(box((2,), step=1), [np.array([0.0, 1.0, 2.0, 2.5, -0.1])])
    array([1, 2])
    """
    many = np.ones(len(columns[0]), dtype=np.int64) if counts is None else counts
    cells = cells_at(box, columns)
    table = np.zeros(len(box), dtype=many.dtype)
    np.add.at(table, cells[cells >= 0], many[cells >= 0])
    return table.reshape(box.shape)


def cells_at(box: Box, columns: Sequence[NDArray[Any]]) -> Integers:
    """The index of the cell of a box that each point lies in, −1 outside; nothing is rounded.

    Coordinates are doubles, each the rational that it stores, or rationals (objects), as they are written. A cell has
    its lower borders, and the box all of its own.
    """
    surface = box.surface
    values = surface.turned(columns)
    borders = [[low + unit * at for at in box.breaks(axis)] for axis, (low, unit) in enumerate(surface.scales)]
    others = [_cells(along, ends) for along, ends in zip(values[1:], borders[1:], strict=True)]
    turned = ([turn + end for end in borders[0]] for turn in surface.turns)  # a longitude is compared as it is
    found = [_index([_cells(values[0], ends), *others], box) for ends in turned]
    return np.asarray(np.max(found, axis=0))


def _index(places: Sequence[Integers], box: Box) -> Integers:
    """One index for the places along the axes, −1 where one of them is outside."""
    inside = np.all([along >= 0 for along in places], axis=0)
    index = np.ravel_multi_index([np.where(inside, along, 0) for along in places], box.shape)
    return np.where(inside, index, -1).astype(np.int64)


def _cells(values: NDArray[Any], borders: Sequence[Fraction]) -> Integers:
    """The cell along an axis that each value lies in, −1 outside of the box: compared with rationals, exactly."""
    written = values.dtype == object
    marks = np.array(borders if written else [float_above(border) for border in borders])
    last = np.asarray(values <= (borders[-1] if written else float_below(borders[-1])), dtype=bool)
    found = np.searchsorted(marks, values, side="right") - 1
    found = np.where((found == len(borders) - 1) & last, len(borders) - 2, found)
    return np.where(found == len(borders) - 1, -1, found).astype(np.int64)


def to_degrees(x: Any, y: Any, crs: Any) -> tuple[Floats, Floats]:
    """Latitudes and longitudes of points in another coordinate system, such as ``"EPSG:27700"``.

    pyproj converts to WGS 84, in floats: this is a way in, and what is released and promised is about the degrees that
    come out.

    Parameters
    ----------
    x, y
        Coordinates to the east and to the north, numbers or lists of them.
    crs
        What pyproj takes for a coordinate system.

    Raises
    ------
    MissingExtra
        Where pyproj is not installed (extra ``geo``).
    """
    longitude, latitude = converted(x, y, crs, _DEGREES, f"these points from {shown(crs)} to degrees")
    return latitude, longitude


def from_degrees(latitude: Any, longitude: Any, crs: Any) -> tuple[Floats, Floats]:
    """Coordinates to the east and to the north of places in degrees, in another coordinate system: the way back.

    Parameters
    ----------
    latitude, longitude
        Degrees of WGS 84, numbers or lists of them.
    crs
        What pyproj takes for a coordinate system.

    Raises
    ------
    MissingExtra
        Where pyproj is not installed (extra ``geo``).
    """
    return converted(longitude, latitude, _DEGREES, crs, f"these places from degrees to {shown(crs)}")


def converted(
    x: Any, y: Any, source: Any, target: Any, what: str = "these points", *, strict: bool = True
) -> tuple[Floats, Floats]:
    """Points in another system, x before y in both; those that have no place there are refused, or infinite."""
    east, north = float_array(x, "x"), float_array(y, "y")
    if east.shape != north.shape:
        raise InvalidInput("x and y are two lists of equal length")
    pyproj = pyproj_library()
    try:
        known = isinstance(source, str | int) and isinstance(target, str | int)
        transformer = (_kept_transformer if known else _transformer)(source, target)
        first, second = transformer.transform(east, north, errcheck=strict)
    except (pyproj.exceptions.ProjError, TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"pyproj does not convert {what}") from error
    return np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)


def _transformer(source: Any, target: Any) -> Any:
    return pyproj_library().Transformer.from_crs(source, target, always_xy=True)


_kept_transformer = lru_cache(maxsize=16)(_transformer)  # files come in batches
