"""Where points lie: a box that somebody names, a city, the extent of a public file.

None of these looks at the data. A file that is the data itself is refused: a box that ends at their extreme points
tells these for certain.

How large its cells are, where nobody says, follows from a rule that looks at the promise and the box alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, cos, floor, log10, prod, radians
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.arguments import items
from sfumato.errors import InvalidInput, NotSupported, keyword, shown
from sfumato.numbers import as_written
from sfumato.release.streams import FORMATS
from sfumato.spaces.axes import look_swapped, swap_box, swapped_axes
from sfumato.spaces.box import Box
from sfumato.spaces.earth import to_degrees
from sfumato.spaces.foreign import LATITUDES, LONGITUDES
from sfumato.spaces.lengths import METRES, as_length
from sfumato.spaces.libraries import geopandas_library, h3_library
from sfumato.specs.cities import city_of
from sfumato.specs.tables import column_texts, numbers_of, read_columns, usual_column

_DEGREE = Fraction("111195.08")  # metres of a degree of latitude on the sphere
_PLACES = 5  # decimals of degrees that a corner gets where it is worked out: a metre
_EDGE = 33  # points along the edge of a box in another system, whose extent in degrees is that of the box
_SMALLEST = 5  # metres: a shorter box in metres, with coordinates like degrees, is one in degrees
_IN_DEGREES = 360
_RIGHT_ANGLE = 90

H3_CELLS = ("h3", "h3_cell", "h3_index", "h3index", "h3_id", "hex_id", "cell")
"""Names of columns that hold cells of H3, in small letters."""


@dataclass(frozen=True)
class Extent:
    """Least and largest coordinates: south, west, north, east in degrees, or xmin, ymin, xmax, ymax in a unit."""

    corners: tuple[Fraction, Fraction, Fraction, Fraction]
    unit: str
    earth: bool

    @property
    def floats(self) -> tuple[float, float, float, float]:
        """The corners as floats."""
        one, two, three, four = map(float, self.corners)
        return one, two, three, four

    @property
    def sides(self) -> tuple[Fraction, Fraction]:
        """About how long the sides are, first to the east and then to the north."""
        if not self.earth:
            return self.corners[2] - self.corners[0], self.corners[3] - self.corners[1]
        south, west, north, east = self.corners
        degree = _DEGREE / METRES[self.unit]
        nearest = 0.0 if south < 0 < north else float(min(abs(south), abs(north)))
        return (east - west) % 360 * degree * Fraction(cos(radians(nearest))), (north - south) * degree

    def table(self, cell: Fraction | str) -> dict[str, Any]:
        """The table ``[space]`` of a spec, with cells of that side."""
        if self.earth:
            corners = dict(zip(("south", "west", "north", "east"), self.corners, strict=True))
            return {"kind": "earth_box", **corners, "step": cell, "unit": self.unit}
        side = as_length(cell).into(self.unit, keyword("cell"))
        if side <= 0:
            raise InvalidInput(f"{keyword('cell')} is a positive length, found {shown(cell)}")
        sides = [ceil(length / side) * side for length in self.sides]
        return {"kind": "box", "sides": sides, "step": side, "origin": list(self.corners[:2]), "unit": self.unit}


def box_table(box: Box) -> dict[str, Any]:
    """The table ``[space]`` for a box that somebody made."""
    frame = box.frame
    if box.dimension != 2:
        raise NotSupported(f"hiding points of {box.name}", ["a box of two sides"])
    both: dict[str, Any] = {"sides": list(box.sides), "step": list(box.step), "unit": box.unit}
    if frame is None:
        return {"kind": "box", **both, "metric": box.metric, "origin": list(box.origin)}
    return {"kind": "earth_box", "south": frame.south, "west": frame.west, **both, "margin": frame.margin}


def extent_of(given: Any, *, earth: bool, unit: str, crs: Any = None, data: Path | None = None) -> Extent:
    """The extent that a text, four numbers or a file stand for; ``data`` is the file that it must not be.

    Examples
    --------
    >>> extent_of("40.70,-74.02,40.80,-73.90", earth=True, unit="km").corners[0]
    Fraction(407, 10)
    >>> [float(c) for c in extent_of("Reykjavík, 5 km", earth=True, unit="km").corners]
    [64.090..., -21.99..., 64.180..., -21.79...]
    """
    if isinstance(given, PathLike) or (isinstance(given, str) and _names_a_file(given)):
        return _of_file(Path(given), unit, data, earth)
    if isinstance(given, str) and re.fullmatch(r"\s*[\[(].*[\])]\s*", given):  # as in JSON
        given = given.strip()[1:-1]
    if not isinstance(given, str):
        numbers = items(given, keyword("box"))
    elif _looks_like_numbers(given):
        numbers = [part.strip() for part in given.split(",")]
    else:
        return _around(given, unit, earth)
    return _of_numbers(numbers, given, earth, unit, crs)


def _looks_like_numbers(text: str) -> bool:
    return re.fullmatch(r"[\s\d.,+\-eENSWEnsw°/]*", text) is not None


def _names_a_file(text: str) -> bool:
    return bool(re.search(r"\.[A-Za-z]\w{1,8}$", text.strip())) and not _looks_like_numbers(text)


def _of_numbers(numbers: list[Any], given: Any, earth: bool, unit: str, crs: Any) -> Extent:
    order = "south, west, north, east" if earth and crs is None else "xmin, ymin, xmax, ymax"
    if len(numbers) != 4:
        raise InvalidInput(f"{keyword('box')} has four numbers, {order}, found {shown(given)}")
    if earth and crs is None:
        return _in_degrees(numbers, given, unit)
    low_x, low_y, high_x, high_y = (as_written(number, f"{keyword('box')} ({order})") for number in numbers)
    if high_x <= low_x or high_y <= low_y:
        raise InvalidInput(f"{keyword('box')} is {order}, and the last two are larger, found {shown(given)}")
    if crs is not None:
        return _converted((low_x, low_y, high_x, high_y), crs, unit)
    extent = Extent((low_x, low_y, high_x, high_y), unit, False)
    if unit in METRES and max(map(abs, extent.corners)) <= _IN_DEGREES:
        longest = max(extent.sides) * METRES[unit]
        if longest < _SMALLEST:
            raise InvalidInput(
                f"the box is {float(longest):.3g} m wide, from ({float(low_x):g}, {float(low_y):g}): are these "
                f"degrees? Name the columns with {keyword('lat')} and {keyword('lon')}, and give the box as south, "
                "west, north, east"
            )
    return extent


def _in_degrees(numbers: list[Any], given: Any, unit: str) -> Extent:
    """South, west, north and east; what is in another order is said to be."""
    values = [_angle(number, sides) for number, sides in zip(numbers, ("NS", "EW", "NS", "EW"), strict=True)]
    south, west, north, east = values
    order = f"{keyword('box')} is south, west, north, east in degrees"
    if max(map(abs, values)) > _IN_DEGREES:
        raise InvalidInput(
            f"{order}, found {shown(given)}: are these metres? Name the columns with {keyword('x')} and "
            f"{keyword('y')}, and their coordinate system with {keyword('crs')}"
        )
    if look_swapped(_is_box, (south, north), (west, east)):
        raise swapped_axes(f"{order}, found {shown(given)}, which would be one", swap_box(values))
    if max(abs(south), abs(north)) > _RIGHT_ANGLE:
        raise InvalidInput(f"{order}, and latitudes lie within 90 degrees, found {shown(given)}")
    if north <= south:
        raise InvalidInput(f"{order}: north is larger than south, found {shown(given)}")
    return Extent((south, west, north, east), unit, True)


def _is_box(latitudes: Any, longitudes: Any) -> bool:
    """Whether two corners are those of a box, the lower ones first."""
    return bool(max(abs(latitudes)) <= _RIGHT_ANGLE and latitudes[0] < latitudes[1] and longitudes[0] < longitudes[1])


def _angle(value: Any, sides: str) -> Fraction:
    match = re.fullmatch(r"\s*([\d.]+)\s*°?\s*([NSEWnsew])\s*", value) if isinstance(value, str) else None
    if match is None:
        return as_written(value, f"a number of {keyword('box')}")
    if match[2].upper() not in sides:
        raise InvalidInput(f"{keyword('box')} is south, west, north, east, found {shown(value)} out of order")
    size = as_written(match[1], f"a number of {keyword('box')}")
    return size if match[2].upper() == sides[0] else -size


def _converted(corners: tuple[Fraction, ...], crs: Any, unit: str) -> Extent:
    """The extent in degrees of a box in another coordinate system: of its edge, rounded outwards."""
    low_x, low_y, high_x, high_y = map(float, corners)
    along = np.linspace(0.0, 1.0, _EDGE)
    xs, ys = low_x + along * (high_x - low_x), low_y + along * (high_y - low_y)
    edge = [(xs, np.full(_EDGE, y)) for y in (low_y, high_y)] + [(np.full(_EDGE, x), ys) for x in (low_x, high_x)]
    x, y = (np.concatenate(parts) for parts in zip(*edge, strict=True))
    latitude, longitude = to_degrees(x, y, crs)
    return _outwards(latitude.min(), longitude.min(), latitude.max(), longitude.max(), unit)


def _outwards(south: float, west: float, north: float, east: float, unit: str) -> Extent:
    scale = 10**_PLACES
    low = [Fraction(int(np.floor(value * scale)), scale) for value in (south, west)]
    high = [Fraction(int(np.ceil(value * scale)), scale) for value in (north, east)]
    return Extent((low[0], low[1], high[0], high[1]), unit, True)


def _around(given: str, unit: str, earth: bool) -> Extent:
    """The square around a city: ``"Paris, 20 km"``, or with a country, ``"Paris, US, 20 km"``."""
    parts = [part.strip() for part in given.split(",")]
    if not earth or len(parts) not in (2, 3) or not re.match(r"[\d.]", parts[-1]):
        raise InvalidInput(
            f"{keyword('box')} is four numbers, a city with half a side such as 'Paris, 20 km', or a file, found "
            f"{shown(given)}"
        )
    half = as_length(parts[-1], keyword("box"))
    metres = float(half.into("m", f"the distance from {parts[0]}")) if half.unit else float(half.number * METRES[unit])
    if metres <= 0:
        raise InvalidInput(f"{keyword('box')}: half a side is a positive length, found {shown(given)}")
    latitude, longitude = city_of(parts[0], parts[1] if len(parts) == 3 else "").place
    up = metres / float(_DEGREE)
    across = up / max(cos(radians(min(abs(latitude) + up, 89.0))), 1e-3)
    return _outwards(latitude - up, longitude - across, latitude + up, longitude + across, unit)


# ----------------------------------------------------------------- files


def _of_file(file: Path, unit: str, data: Path | None, earth: bool) -> Extent:
    """The extent of a public file in degrees."""
    if not earth:
        raise NotSupported(
            f"the extent of {file} for columns of x and y without a coordinate system",
            ["xmin, ymin, xmax, ymax", f"{keyword('crs')} of the columns"],
        )
    if not file.is_file():
        raise InvalidInput(f"{keyword('box')}: there is no file {file}")
    refuse_data(file, data, "box")
    latitude, longitude = file_places(file, corners=True)[:2]
    if not len(latitude):
        raise InvalidInput(f"{file} has no points")
    return _outwards(latitude.min(), longitude.min(), latitude.max(), longitude.max(), unit)


def refuse_data(file: Path, data: Path | None, what: str) -> None:
    """Raise where a file that should be public is that of the data."""
    if data is not None and data.exists() and file.samefile(data):
        told = "a box that ends at their extreme points" if what == "box" else "counts of them"
        raise InvalidInput(
            f"{file} is the file of the data, and {told} would tell them as they are: {keyword(what, 'data')} with "
            f"{keyword(f'{what}_epsilon', 1)} adds noise, at that price"
        )


def file_places(file: Path, corners: bool = False) -> tuple[Any, Any, Any]:
    """Latitudes, longitudes and the table of a public file: CSV, or what geopandas reads, as corners of shapes.

    A CSV file has columns of latitude and longitude, or one of cells of H3, which stand for their middles, or for all
    their ``corners``.
    """
    if file.suffix.lower() in FORMATS["csv"]:
        table = read_columns(file)
        how = "leave one of them out"
        names = [usual_column(table, words, f"the {words[0]}", how) for words in (LATITUDES, LONGITUDES)]
        if names == ["", ""] and (cells := usual_column(table, H3_CELLS, "the cells of H3", how)):
            return *_of_cells(column_texts(table, cells), file, corners), table
        if "" in names:
            raise InvalidInput(
                f"{file} has no columns lat and lon, and none of cells called h3 (it has {', '.join(table.header[:8])})"
            )
        latitude, longitude = (np.array([float(value) for value in numbers_of(table, name)]) for name in names)
        return latitude, longitude, table
    frame = shapes_frame(file)
    bounds = frame.bounds.to_numpy(dtype=float)
    bounds = bounds[np.isfinite(bounds).all(axis=1)]
    return bounds[:, [1, 3]].ravel(), bounds[:, [0, 2]].ravel(), frame


def _of_cells(cells: list[str], file: Path, corners: bool) -> tuple[Any, Any]:
    """Middles of cells of H3, or all their corners."""
    h3 = h3_library()
    wrong = next((cell for cell in cells if not h3.is_valid_cell(cell)), None)
    if wrong is not None:
        raise InvalidInput(f"{file}: {shown(wrong)} is no cell of H3")
    found = [at for cell in cells for at in (h3.cell_to_boundary(cell) if corners else [h3.cell_to_latlng(cell)])]
    places = np.array(found, dtype=float).reshape(-1, 2)
    return places[:, 0], places[:, 1]


def shapes_frame(file: Path) -> Any:
    """A file of shapes in degrees, by geopandas (extra ``geo``)."""
    geopandas = geopandas_library()
    try:
        parquet = file.suffix.lower() in FORMATS["parquet"]
        frame = geopandas.read_parquet(file) if parquet else geopandas.read_file(file)
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidInput(
            f"{file} cannot be read as a file of shapes: {' '.join(str(error).split())[:200]}"
        ) from error
    if frame.crs is None:
        raise InvalidInput(f"{file} does not say its coordinate system: give one that does")
    return frame.to_crs("EPSG:4326")


MOST_CELLS = 900
"""With more of them the bound of a table is not worked out in a minute."""

WIDEST = 0.7
"""ε times the side of a cell, at most: what a bound loses by them is of second order in it."""

FEWEST = 8
"""Cells along the shorter side, at least."""


def cell_side(rate: float, sides: Sequence[Fraction], unit: str) -> Fraction:
    """The side of a cell in the unit of a box, for ε in the same unit and the sides of the box.

    The largest length of two digits that is at most 0.7/ε and an eighth of the shorter side, or the next larger ones
    until there are at most 900 cells. Digits are those of metres, or of the unit where that is no length.

    Examples
    --------
    >>> str(cell_side(1.386, [Fraction(10), Fraction(10)], "km"))
    '1/2'
    >>> str(cell_side(1.386, [Fraction(100), Fraction(40)], "km"))
    '11/5'
    """
    if min(sides) <= 0 or not rate > 0:
        raise InvalidInput(f"{keyword('box')} has no width, or goes once around; {keyword('epsilon')} is above 0")
    grain = 1 / METRES[unit] if unit in METRES else Fraction(1)
    most = min(WIDEST / rate, float(min(sides)) / FEWEST) / float(grain)
    for side in _round_lengths(most):
        if prod(ceil(length / (side * grain)) for length in sides) <= MOST_CELLS:
            return side * grain
    raise AssertionError("lengths grow until a box is one cell")


def _round_lengths(most: float) -> Iterator[Fraction]:
    """Lengths of two digits, from the largest that is not above a number."""
    power = floor(log10(most)) - 1
    digits = floor(most / 10.0**power)
    while True:
        for first in range(max(digits, 10), 100):
            yield first * Fraction(10) ** power
        power, digits = power + 1, 10
