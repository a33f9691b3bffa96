"""Cells of H3, the hexagons in which people of maps count: their centres, or steps from one to the next.

A person is located to the cell that holds the point, and the promise is about cells: on the two sides of a border an
output may be as much likelier for one as between the two centres. :func:`sfumato.spaces.earth.earth_box` is for
promises about every metre.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from sfumato.arguments import integer, items, one_of
from sfumato.errors import InvalidInput, counted, few, shown
from sfumato.numbers import Integers, as_written
from sfumato.spaces.cells import HexagonCells
from sfumato.spaces.distances import Distances, Form
from sfumato.spaces.finite import FiniteSpace, check_size, label_tuple
from sfumato.spaces.ground import EarthName, Ground, as_earth, ground_unit, places_on_ground
from sfumato.spaces.libraries import h3_library
from sfumato.spaces.networks import Network, as_parts, network_space

_BOX_WORDS = "an area is a box (south, west, north, east), a polygon of shapely or GeoJSON, or a list of cells"


def h3_cells(
    area: Any,
    resolution: int | None = None,
    *,
    distance: str = "ground",
    parts: str = "refuse",
    earth: EarthName = "sphere",
    unit: str = "km",
) -> FiniteSpace:
    """Cells of H3 (extra ``geo``): labels are their ids, distances those of their centres on the ground.

    Points (:class:`~sfumato.release.places.Place`) are located to their cell by h3, and the promise is about cells.

    Parameters
    ----------
    area
        A box (south, west, north, east) in degrees, or a polygon (of shapely, GeoJSON, whatever has
        ``__geo_interface__``) in longitude and latitude: all cells that overlap it. Or a list of cells.
    resolution
        From 0 (continents) to 15 (a square metre); 8 are cells of 0.7 km². That of the cells where these are listed.
    distance
        ``"ground"`` between centres; or ``"grid"``, the steps from a cell to a neighbour inside the space, which
        does not need a unit.
    parts
        With ``"grid"``, what to do where no steps lead from some cells to others: ``"refuse"``, or keep the
        ``"largest"`` part.
    earth
        ``"sphere"`` or ``"WGS84"``, as for :func:`~sfumato.spaces.constructors.geo`.
    unit
        A unit of length.

    Examples
    --------
    >>> town = h3_cells((48.85, 2.34, 48.86, 2.36), 9)
    >>> town
    FiniteSpace(27 H3 cells of resolution 9, 27 points, in km)
    >>> town.labels[0], round(town.distance(*town.labels[:2]), 2)
    ('891fb466203ffff', 0.33)
    >>> h3_cells(town.labels, distance="grid").distance(*town.labels[:2])
    1.0
    """
    one_of(distance, ("ground", "grid"), "distance")
    earth, unit, h3 = as_earth(earth), ground_unit(unit), h3_library()
    ids, resolution = _ids(h3, area, resolution)
    degrees = np.array([h3.cell_to_latlng(cell) for cell in ids])
    ground = Ground(earth, HexagonCells(ids, resolution))
    about = f" of resolution {resolution}"
    if distance == "grid":
        links = _neighbours(h3, ids)
        steps = Distances(Form.RATIONAL, np.ones(len(links), dtype=np.int64))
        network = Network(ids, links, steps, "H3 cell", about, degrees[:, ::-1].copy(), ground)
        return network_space(network, as_parts(parts), "")
    as_parts(parts)
    return places_on_ground(ids, degrees[:, 0], degrees[:, 1], ground, unit, f"{counted(len(ids), 'H3 cell')}{about}")


def _ids(h3: Any, area: Any, resolution: Any) -> tuple[tuple[str, ...], int]:
    """The cells in the order of their ids, or as they are listed."""
    shape = _shape(h3, area)
    if shape is None:
        cells = _listed(h3, area)
        found = h3.get_resolution(cells[0])
        for cell in cells:
            if h3.get_resolution(cell) != found:
                raise InvalidInput(
                    f"cells have one resolution: {cells[0]} has {found}, {cell} has {h3.get_resolution(cell)}"
                )
        if resolution is not None and integer(resolution, "the resolution of H3 cells", 0, 15) != found:
            raise InvalidInput(f"the cells have resolution {found}, not {resolution}: leave the resolution out")
        return cells, found
    if resolution is None:
        raise InvalidInput("say the resolution of H3 cells, from 0 to 15: 8 are cells of 0.7 km²")
    fine = integer(resolution, "the resolution of H3 cells", 0, 15)
    try:
        west, south, east, north = _bounds(shape)
        # about as many as the box around holds, before they are listed
        size = (north - south) * (east - west) * 12_364 * abs(np.cos(np.radians((north + south) / 2)))
        check_size(int(size / h3.average_hexagon_area(fine, unit="km^2")), "cells")
        found_cells = sorted(h3.h3shape_to_cells_experimental(shape, fine, contain="overlap"))
    except (h3.H3BaseException, ValueError, TypeError) as error:
        raise InvalidInput(f"h3 finds no cells of this area: {str(error)[:200] or type(error).__name__}") from error
    if not found_cells:
        raise InvalidInput("h3 finds no cells of this area: its corners are (latitude, longitude) in degrees")
    return tuple(found_cells), fine


def _bounds(shape: Any) -> tuple[float, float, float, float]:
    """The box around a shape of h3: west, south, east, north."""
    outer = [shape.outer] if hasattr(shape, "outer") else [part.outer for part in shape]
    corners = np.array([corner for ring in outer for corner in ring])
    (south, west), (north, east) = corners.min(axis=0), corners.max(axis=0)
    return float(west), float(south), float(east), float(north)


def _shape(h3: Any, area: Any) -> Any:
    """An area as a shape of h3, None for a list of cells."""
    if isinstance(area, Mapping) or hasattr(area, "__geo_interface__"):
        about = area if isinstance(area, Mapping) else area.__geo_interface__
        about = about.get("geometry", about) if about.get("type") == "Feature" else about
        if about.get("type") not in ("Polygon", "MultiPolygon"):
            raise InvalidInput(f"{_BOX_WORDS}, found {shown(about.get('type'))}")
        try:
            return h3.geo_to_h3shape(about)
        except (LookupError, TypeError, ValueError) as error:
            raise InvalidInput(f"h3 does not read this polygon: {str(error)[:200]}") from error
    if _is_box(area):
        south, west, north, east = (float(as_written(angle, "a corner of a box")) for angle in area)
        if not -90 <= south < north <= 90 or not -180 <= west < east <= 180:
            raise InvalidInput(
                f"a box is (south, west, north, east) in degrees, latitude first, found {shown(tuple(area))}; across "
                "the antimeridian it is a polygon, or a list of cells"
            )
        return h3.LatLngPoly([(south, west), (south, east), (north, east), (north, west)])
    return None


def _is_box(area: Any) -> bool:
    if not isinstance(area, Sequence | np.ndarray) or isinstance(area, str) or len(area) != 4:
        return False
    ids = all(isinstance(value, Integral) and int(value) > 360 for value in area)
    return not ids and all(isinstance(value, Real) and not isinstance(value, bool) for value in area)


def _listed(h3: Any, cells: Any) -> tuple[str, ...]:
    """Ids that are texts or integers of 64 bits."""
    given = items(cells, f"{_BOX_WORDS}: these")
    named = [
        h3.int_to_str(int(cell)) if isinstance(cell, Integral) and 0 < int(cell) < 2**64 else cell for cell in given
    ]
    wrong = [cell for cell in named if not isinstance(cell, str) or not h3.is_valid_cell(cell)]
    if wrong:
        raise InvalidInput(f"{few(wrong)} is no H3 cell: {_BOX_WORDS}")
    return label_tuple([cell.lower() for cell in named], "H3 cells")


def _neighbours(h3: Any, ids: tuple[str, ...]) -> Integers:
    """Pairs of cells that share a side."""
    place = {cell: index for index, cell in enumerate(ids)}
    around = ((index, place.get(other, -1)) for cell, index in place.items() for other in h3.grid_disk(cell, 1))
    return np.array([(x, z) for x, z in around if x < z], dtype=np.int64).reshape(-1, 2)
