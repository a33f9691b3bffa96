"""Three kinds of cells on the Earth: hexagons of H3, squares from a corner in degrees, areas with outlines.

A person is released as the cell that holds the point, so that whatever is promised is promised about cells. Nothing is
imported before a point is located or an outline drawn: a file can be read and proved without the extra ``geo``.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from sfumato.numbers import Floats, Integers
from sfumato.spaces.box import Box
from sfumato.spaces.earth import cells_at, on_the_earth
from sfumato.spaces.frame import EarthFrame
from sfumato.spaces.ground import EARTHS, Cells, Ground
from sfumato.spaces.libraries import h3_library, shapely_library

_RATIONAL = re.compile(r"-?\d{1,100}(/\d{1,100})?")
_MOST_CELLS = 2_000_000  # of a file's squares
_LARGEST_OUTLINES = 1 << 30  # bytes of a file's areas, unpacked


@dataclass(frozen=True, eq=False)
class HexagonCells(Cells):
    """Cells of H3 by their ids, all of one resolution."""

    ids: tuple[str, ...]
    resolution: int
    kind = "h3"

    def locate(self, latitude: Floats, longitude: Floats) -> Integers:
        """Every point of the Earth lies in one cell; −1 for those that are not listed."""
        cell, place, resolution = h3_library().latlng_to_cell, self._place, self.resolution
        points = zip(latitude.tolist(), longitude.tolist(), strict=True)
        found = (place.get(cell(y, x, resolution), -1) for y, x in points)
        return np.fromiter(found, dtype=np.int64, count=len(latitude))

    @cached_property
    def _place(self) -> dict[str, int]:
        return {cell: index for index, cell in enumerate(self.ids)}

    def outlines(self) -> list[list[Floats]]:
        """Hexagons, and pentagons where an icosahedron has its corners."""
        rings = (np.array(h3_library().cell_to_boundary(cell))[:, ::-1] for cell in self.ids)
        return [[_in_one_piece(ring)] for ring in rings]

    def chosen(self, indices: Sequence[int]) -> HexagonCells:
        """Some of them."""
        return HexagonCells(tuple(self.ids[index] for index in indices), self.resolution)

    def to_json(self) -> dict[str, Any]:
        """The resolution; ids are the labels, or listed where the space has others."""
        return {"kind": self.kind, "resolution": self.resolution, "ids": list(self.ids)}

    @property
    def words(self) -> str:
        """What a cell is."""
        return f"H3 cells of resolution {self.resolution}"


@dataclass(frozen=True, eq=False)
class SquareCells(Cells):
    """Cells of a box on the Earth, all or some of them: ``places`` are those of the space, counted in the box."""

    box: Box
    places: Integers
    kind = "squares"

    def locate(self, latitude: Floats, longitude: Floats) -> Integers:
        """Doubles are compared with rational borders, exactly; a cell has its southern and western ones."""
        index = np.full(len(self.box) + 1, -1, dtype=np.int64)
        index[self.places] = np.arange(len(self.places))
        return index[cells_at(self.box, (latitude, longitude))]  # outside of the box is −1, the last of the index

    def outlines(self) -> list[list[Floats]]:
        """Four corners each."""
        west, south = (np.array([float(at) for at in self.box.breaks(axis)]) for axis in (0, 1))
        column, row = np.divmod(self.places, self.box.shape[1])
        (first, wide), (up, high) = (map(float, scale) for scale in self.box.surface.scales)
        corners = np.stack([column, row], axis=1)[:, None] + np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
        x, y = first + wide * west[corners[..., 0]], up + high * south[corners[..., 1]]
        return [[ring] for ring in np.stack([x, y], axis=2)]

    def chosen(self, indices: Sequence[int]) -> SquareCells:
        """Some of them."""
        return SquareCells(self.box, self.places[np.asarray(indices, dtype=np.int64)])

    def to_json(self) -> dict[str, Any]:
        """The map and the cells of the box, as texts."""
        box = self.box
        sides = [str(side) for side in box.sides]
        whole = len(self.places) == len(box) and bool((np.diff(self.places) == 1).all())
        places = None if whole else self.places.tolist()
        about = on_the_earth(box).to_json() | {"sides": sides, "shape": list(box.shape), "unit": box.unit}
        return {"kind": self.kind, **about, "places": places}

    @property
    def words(self) -> str:
        """What a cell is."""
        sides = " × ".join(str(Fraction(step)) for step in dict.fromkeys(self.box.step))
        return f"square cells with sides of {sides} {self.box.unit} on their map"


@dataclass(frozen=True, eq=False)
class AreaCells(Cells):
    """Areas by their outlines, WKB in degrees of longitude and latitude."""

    shapes: tuple[bytes, ...]
    kind = "areas"

    def locate(self, latitude: Floats, longitude: Floats) -> Integers:
        """The first area that holds a point, borders included."""
        shapely = shapely_library()
        turned = np.where(np.abs(longitude) <= 180, longitude, (longitude + 180) % 360 - 180)
        which, area = self._tree.query(shapely.points(turned, latitude), predicate="intersects")
        found = np.full(len(latitude), len(self.shapes), dtype=np.int64)
        np.minimum.at(found, which, area)
        return np.where(found == len(self.shapes), -1, found)

    @cached_property
    def _tree(self) -> Any:
        shapely = shapely_library()
        return shapely.STRtree(shapely.from_wkb(list(self.shapes)))

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """The tree is grown again in another process."""
        return AreaCells, (self.shapes,)

    def outlines(self) -> list[list[Floats]]:
        """Outer borders and holes."""
        shapely = shapely_library()
        parts = (shapely.get_parts(shape) for shape in shapely.from_wkb(list(self.shapes)))
        return [[shapely.get_coordinates(ring) for part in polygons for ring in shapely.get_rings(part)]
                for polygons in parts]  # fmt: skip

    def chosen(self, indices: Sequence[int]) -> AreaCells:
        """Some of them."""
        return AreaCells(tuple(self.shapes[index] for index in indices))

    def to_json(self) -> dict[str, Any]:
        """All outlines, compressed."""
        packed = b64encode(zlib.compress(b"".join(self.shapes), 9)).decode("ascii")
        return {"kind": self.kind, "sizes": [len(shape) for shape in self.shapes], "wkb": packed}

    @property
    def words(self) -> str:
        """What a cell is."""
        return "areas with outlines"


def _in_one_piece(ring: Floats) -> Floats:
    """Longitudes without a jump at the antimeridian."""
    turns = np.round((ring[:, 0] - ring[0, 0]) / 360)
    return np.stack([ring[:, 0] - 360 * turns, ring[:, 1]], axis=1)


# ----------------------------------------------------------------- out of a file


def ground_from_json(about: Any, count: int, dimension: int) -> Ground | None:
    """The inverse of :meth:`~sfumato.spaces.ground.Ground.to_json`; raises ValueError for what it never writes.

    Parameters
    ----------
    count, dimension
        How many places the space has, and how many coordinates each of them.
    """
    if about is None:
        return None
    if not isinstance(about, dict) or about.keys() != {"earth", "cells"} or about["earth"] not in EARTHS:
        raise ValueError("the ground of the space is not understood")
    if dimension != 2:
        raise ValueError("a space on the ground has no longitudes and latitudes")
    cells = about["cells"]
    if cells is None:
        return Ground(about["earth"])
    if not isinstance(cells, dict) or cells.get("kind") not in _READERS:
        raise ValueError("the cells of the space are of an unknown kind")
    found = _READERS[cells["kind"]](cells, count)
    return Ground(about["earth"], found)


def _hexagons(about: dict[str, Any], count: int) -> HexagonCells:
    ids, resolution = about["ids"], about["resolution"]
    listed = isinstance(ids, list) and len(ids) == count and all(isinstance(cell, str) and cell for cell in ids)
    if not listed or type(resolution) is not int or not 0 <= resolution <= 15:
        raise ValueError("there is no H3 cell for each secret")
    return HexagonCells(tuple(ids), resolution)


def _squares(about: dict[str, Any], count: int) -> SquareCells:
    shape, unit = about["shape"], about["unit"]
    if not isinstance(shape, list) or len(shape) != 2 or any(type(n) is not int or n < 1 for n in shape):
        raise ValueError("squares have rows and columns")
    places = range(prod(shape)) if about["places"] is None else about["places"]
    if prod(shape) > _MOST_CELLS or len(places) != count or not isinstance(unit, str):
        raise ValueError("there is no square for each secret")
    chosen = np.array(list(places))
    inside = chosen.dtype.kind == "i" and ((chosen >= 0) & (chosen < prod(shape))).all()
    if not inside or len({*chosen.tolist()}) < count:
        raise ValueError("the squares of the secrets are not those of the box")
    south, west, radius, margin = (_rational(about[name]) for name in ("south", "west", "radius", "margin"))
    degrees, sides = ((_rational(about[name][0]), _rational(about[name][1])) for name in ("degrees", "sides"))
    if min(*degrees, *sides, radius) <= 0:
        raise ValueError("the sides of squares are positive")
    frame = EarthFrame(south, west, degrees, radius, margin)
    step = sides[0] / shape[0], sides[1] / shape[1]
    return SquareCells(Box(sides, step, "euclidean", unit, (Fraction(0), Fraction(0)), frame), chosen.astype(np.int64))


def _areas(about: dict[str, Any], count: int) -> AreaCells:
    sizes, packed = about["sizes"], about["wkb"]
    if not isinstance(sizes, list) or len(sizes) != count or any(type(size) is not int or size < 1 for size in sizes):
        raise ValueError("there is no outline for each secret")
    if sum(sizes) > _LARGEST_OUTLINES:
        raise ValueError("the outlines are larger than the limit")
    data = zlib.decompressobj().decompress(b64decode(packed, validate=True), sum(sizes) + 1)
    if len(data) != sum(sizes):
        raise ValueError("the outlines are damaged")
    ends = np.cumsum([0, *sizes]).tolist()
    return AreaCells(tuple(data[first:last] for first, last in pairwise(ends)))


_READERS = {"h3": _hexagons, "squares": _squares, "areas": _areas}


def _rational(value: Any) -> Fraction:
    if not isinstance(value, str) or not _RATIONAL.fullmatch(value):
        raise ValueError("a number of the ground is no fraction")
    return Fraction(value)
