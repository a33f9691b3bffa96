"""Square cells on the Earth: rows and columns of a given side from a south-western corner in degrees."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sfumato.errors import counted, short
from sfumato.numbers import Number
from sfumato.spaces.cells import SquareCells
from sfumato.spaces.earth import earth_box
from sfumato.spaces.finite import FiniteSpace, check_size
from sfumato.spaces.ground import EarthName, Ground, as_earth, places_on_ground


def square_cells(
    south: Number,
    west: Number,
    north: Number | None = None,
    east: Number | None = None,
    *,
    step: Number | str | Sequence[Number | str],
    sides: Sequence[Number | str] | None = None,
    earth: EarthName = "sphere",
    unit: str = "km",
) -> FiniteSpace:
    """The cells of a part of the Earth; distances are those of their centres on the ground, labels (column, row).

    Cells have the same width in degrees everywhere, that of ``step`` at the latitude farthest from the equator; towards
    the equator they are a little wider. Points (:class:`~sfumato.release.places.Place`) are located exactly: their
    doubles are compared with rational borders, and a cell has its southern and western ones. The promise is about
    cells; :func:`~sfumato.spaces.earth.earth_box`, which takes the same corners and sides, is for promises about every
    metre.

    Parameters
    ----------
    south, west, north, east, step, sides
        As for :func:`~sfumato.spaces.earth.earth_box`: the opposite corner, or two sides to the east and to the north.
    earth
        ``"sphere"`` or ``"WGS84"``, as for :func:`~sfumato.spaces.constructors.geo`.
    unit
        A unit of length.

    Examples
    --------
    >>> town = square_cells("40.70 N", "74.02 W", sides=(2, 1), step="500 m")
    >>> town
    FiniteSpace(8 cells of 1/2 km from 40.7° N 74.02° W, 8 points, in km)
    >>> town.labels[:3], round(town.distance((0, 0), (3, 0)), 3)
    (((0, 0), (0, 1), (1, 0)), 1.5)
    """
    as_earth(earth)
    box = earth_box(south, west, north, east, step=step, sides=sides, unit=unit, margin=0)
    check_size(prod(box.shape), "cells")
    labels = box.labels
    (west, wide), (up, high) = (map(float, scale) for scale in box.surface.scales)
    east_of, north_of = box.centres.T
    longitude = (west + wide * east_of + 180) % 360 - 180
    latitude = up + high * north_of
    ground = Ground(earth, SquareCells(box, np.arange(len(box))))
    size = " × ".join(short(length) for length in dict.fromkeys(box.step))
    name = f"{counted(len(labels), 'cell')} of {size} {unit} from {box.frame}"
    return places_on_ground(labels, latitude, longitude, ground, unit, name)
