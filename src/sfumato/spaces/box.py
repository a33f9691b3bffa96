"""Boxes: secrets that are coordinates, in one, two or three dimensions.

A box is cut into equal cells. They are what a prior knows: within a cell all points are equally likely. What is
promised is about points, not about cells: e^{ε‖x − x′‖} for any two of the box, in one of three norms.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import inf, prod
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import integer, items, one_of
from sfumato.errors import InvalidInput, NotSupported, expect, short, shown
from sfumato.numbers import Floats, Number, exact, whole_number
from sfumato.spaces.finite import FiniteSpace, check_size
from sfumato.spaces.frame import EarthFrame
from sfumato.spaces.ground import EARTH_RADIUS_KM, is_earth
from sfumato.spaces.lengths import as_length, as_unit, in_unit
from sfumato.spaces.space import Space
from sfumato.spaces.surface import Earth, Plane

MetricName = Literal["euclidean", "manhattan", "chebyshev"]
NORMS: dict[str, float] = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": inf}
"""The p of each norm ‖x‖_p, by its name."""
METRICS = tuple(NORMS)

_SAME_STEP = 1e-9  # The lines of a grid may be unequal by this share of a step: the rounding of its coordinates.

MOST_AXES = 3
"""Dimensions of a box: the theorem holds in all, but tables do not fit."""


@dataclass(frozen=True)
class Box(Space):
    """The points origin_i ≤ x_i ≤ origin_i + sides_i, and the cells of sides ``step`` that they are cut into.

    Made by :func:`box`. ``metric`` is the norm of the promise, ``"euclidean"``, ``"manhattan"`` or ``"chebyshev"``.
    ``frame`` says where a box lies on the Earth (:func:`sfumato.spaces.earth.earth_box`); distances are then those on
    the ground.

    Examples
    --------
    >>> town = box((8, 6), step="1/2", unit="km")
    >>> town.shape, len(town), town.name
    ((16, 12), 192, 'box(8 × 6, euclidean)')
    """

    about: ClassVar[Literal["coordinates"]] = "coordinates"

    sides: tuple[Fraction, ...]
    step: tuple[Fraction, ...]
    metric: str = "euclidean"
    unit: str = ""
    origin: tuple[Fraction, ...] = ()
    frame: EarthFrame | None = None

    def __post_init__(self) -> None:
        for values in (self.sides, self.step, self.origin):
            if not isinstance(values, tuple) or not all(isinstance(v, Fraction) for v in values):
                raise InvalidInput(f"a box is made by box(sides, step): {shown(values)} is no tuple of fractions")
        for name in ("sides", "step", "origin"):
            object.__setattr__(self, name, tuple(map(exact, getattr(self, name))))
        if not self.origin:
            object.__setattr__(self, "origin", (Fraction(0),) * len(self.sides))
        if not len(self.sides) == len(self.step) == len(self.origin):
            raise InvalidInput("a box has one side, one step and one coordinate of its corner for each axis")
        one_of(self.metric, METRICS, "metric")
        as_unit(self.unit, "the unit of a box")
        if self.frame is not None and (self.dimension != 2 or self.metric != "euclidean" or any(self.origin)):
            raise InvalidInput("a box on the Earth has two sides, begins at 0 and measures straight lines (euclidean)")
        if self.frame is not None and not is_earth(self.frame.radius, self.unit):
            raise InvalidInput(
                f"a box with a frame is on the Earth, of radius {EARTH_RADIUS_KM} km, found a sphere of radius "
                f"{short(self.frame.radius)} {self.unit or 'without a unit of length'}"
            )
        if all(self.step) and prod(self.shape) > sys.maxsize:  # which is the largest length that Python knows
            check_size(prod(self.shape), "cells")

    def __len__(self) -> int:
        return prod(self.shape)

    def __repr__(self) -> str:
        return f"Box({self.name}, {len(self)} cells{f', in {self.unit}' if self.unit else ''})"

    def __str__(self) -> str:
        return " × ".join(f"[{low}, {low + side}]" for low, side in zip(self.origin, self.sides, strict=True))

    @property
    def dimension(self) -> int:
        """The number of coordinates of a point."""
        return len(self.sides)

    @property
    def surface(self) -> Plane:
        """Where its points lie, on a plane or on the Earth, and all that depends on that."""
        return Plane(self) if self.frame is None else Earth(self, self.frame)

    @property
    def low(self) -> Fraction:
        """The lower end of an interval, which is a box of one axis; others are refused."""
        if self.dimension != 1:
            raise InvalidInput(f"an interval has one axis, {self.name} has {self.dimension}")
        return self.origin[0]

    @property
    def high(self) -> Fraction:
        """The upper end of an interval."""
        return self.low + self.sides[0]

    @property
    def length(self) -> Fraction:
        """The length of an interval."""
        return self.high - self.low

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends of an interval as floats."""
        return float(self.low), float(self.high)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis."""
        return tuple((side / step).numerator for side, step in zip(self.sides, self.step, strict=True))

    @property
    def name(self) -> str:
        """How the box is called in print."""
        where = self.metric if self.frame is None else f"from {self.frame}"
        return f"box({' × '.join(map(str, self.sides))}, {where})"

    @property
    def per(self) -> str:
        """What ε is per: a unit of the box, or of the ground that it lies on."""
        return super().per + self.surface.aim

    def as_list(self) -> FiniteSpace:
        """Refused: all points are secrets."""
        raise NotSupported(
            f"a promise about all points of {self.name} where a finite list of secrets is needed",
            ["PrivacyType(grid(…), …) on the centres of cells", "design, smooth and release for coordinates"],
        )

    @cached_property
    def labels(self) -> tuple[Any, ...]:
        """The cells by their places along the axes, the last axis first: integers, or tuples of them."""
        check_size(len(self))
        if self.dimension == 1:
            return tuple(range(self.shape[0]))
        return tuple(product(*map(range, self.shape)))

    @property
    def spacing(self) -> tuple[Floats, Floats]:
        """The centre of the first cell and the sides of a cell, in floats."""
        first = [float(low + step / 2) for low, step in zip(self.origin, self.step, strict=True)]
        return np.array(first), np.array([float(step) for step in self.step])

    @property
    def centres(self) -> Floats:
        """The middle of every cell, in the order of the labels, in floats."""
        first, step = self.spacing
        return np.asarray(first + np.indices(self.shape).reshape(self.dimension, -1).T * step)

    def breaks(self, axis: int, parts: int = 1) -> tuple[Fraction, ...]:
        """The borders of cells along an axis, counted from the origin, each cell cut into so many parts."""
        axis, parts = integer(axis, "an axis", 0, self.dimension - 1), whole_number(parts, "parts")
        check_size(self.shape[axis] * parts + 1, "borders of cells")
        width = self.step[axis] / parts
        return tuple(Fraction(width.numerator * k, width.denominator) for k in range(self.shape[axis] * parts + 1))


def box(
    sides: Number | str | Sequence[Number | str],
    step: Number | str | Sequence[Number | str],
    *,
    unit: str = "",
    metric: MetricName = "euclidean",
    origin: Number | Sequence[Number] | None = None,
) -> Box:
    """The box [0, sides₁] × [0, sides₂] × … with cells of side ``step``, on which a prior is constant.

    Parameters
    ----------
    sides
        One to three lengths; a single number is an interval. ``"500 m"`` where the unit is a length.
    step
        The side of a cell, or one for each axis; sides are whole multiples of it.
    unit
        Name of the unit of coordinates, such as ``"km"``; ε is then "per km".
    metric
        The norm of distances.
    origin
        The corner of least coordinates, 0 by default.

    Examples
    --------
    >>> box((1,), step="1/20")
    Box(box(1, euclidean), 20 cells)
    >>> box((8, 6), step="500 m", unit="km").step
    (Fraction(1, 2), Fraction(1, 2))
    """
    unit = as_unit(unit, "the unit of a box")
    lengths = tuple(in_unit(side, unit, "a side of a box") for side in listed_lengths(sides, "the sides of a box"))
    if not 1 <= len(lengths) <= MOST_AXES:
        raise InvalidInput(f"a box has one to {MOST_AXES} sides, found {len(lengths)}")
    cells = tuple(in_unit(s, unit, "the step of a box") for s in _for_axes(step, len(lengths), "the step of a box"))
    corner = (0,) * len(lengths) if origin is None else _for_axes(origin, len(lengths), "the origin of a box")
    for side, cell in zip(lengths, cells, strict=True):
        if side <= 0 or cell <= 0:
            raise InvalidInput(f"sides and step of a box are positive, found {short(side)} and {short(cell)}")
        if (side / cell).denominator != 1:
            raise InvalidInput(
                f"a side of {short(side)} is no whole number of cells of {short(cell)}: take a step of "
                f"{short(side / max(1, round(side / cell)))}"
            )
    start = tuple(as_length(o, "the origin of a box").into(unit, "the origin of a box") for o in corner)
    return Box(lengths, cells, one_of(metric, METRICS, "metric"), unit, start)


def listed_lengths(values: Any, what: str) -> list[Any]:
    """One length, or one for each axis."""
    alone = isinstance(values, str) or not hasattr(values, "__iter__") or getattr(values, "ndim", 1) == 0
    return [values] if alone else items(values, what)


def _for_axes(values: Any, axes: int, what: str) -> list[Any]:
    found = listed_lengths(values, what)
    if len(found) == 1:
        return found * axes
    if len(found) != axes:
        raise InvalidInput(f"{what} is one number, or {axes}, one for each axis; found {shown(values)}")
    return found


def as_box(value: Any) -> Box:
    """The box; an error for anything else."""
    return expect(value, Box, "a box", "box((8, 6), '1/2') makes one")


def box_of_grid(shape: Sequence[int], metric: str, step: Fraction) -> Box:
    """The box with a cell around each point of a grid, the first of which is 0.

    Examples
    --------
    >>> print(box_of_grid((3, 2), "euclidean", Fraction(1)))
    [-1/2, 5/2] × [-1/2, 3/2]
    """
    axes = len(shape)
    return Box(tuple(step * side for side in shape), (step,) * axes, metric, origin=(-step / 2,) * axes)


def box_of_points(where: Floats) -> tuple[Box, NDArray[np.int64]] | None:
    """The box whose cells have these points as their centres, and the cell of each; None if they are no full grid.

    Along an axis on which all have one place, a cell is as long as the longest side of cells.

    Examples
    --------
    >>> city, cells = box_of_points(np.array([[10.0, 2.0], [12.0, 2.0], [12.0, 1.0], [10.0, 1.0]]))
    >>> print(city, city.shape, cells.tolist())
    [9, 13] × [1/2, 5/2] (2, 2) [1, 3, 2, 0]
    """
    axes = [np.unique(column, return_inverse=True) for column in where.T]
    shape = tuple(len(marks) for marks, _ in axes)
    if prod(shape) != len(where) or not np.isfinite(where).all():
        return None
    cells = np.ravel_multi_index([places for _, places in axes], shape)
    gaps = [np.diff(marks) for marks, _ in axes]
    longest = max((float(gap.mean()) for gap in gaps if gap.size), default=1.0)
    steps = [float(gap.mean()) if gap.size else longest for gap in gaps]
    even = all((np.abs(gap - step) <= _SAME_STEP * step).all() for gap, step in zip(gaps, steps, strict=True))
    if not even or len(np.unique(cells)) != len(where):
        return None
    sides = tuple(map(exact, steps))
    corner = tuple(exact(float(marks[0])) - side / 2 for (marks, _), side in zip(axes, sides, strict=True))
    lengths = tuple(side * count for side, count in zip(sides, shape, strict=True))
    return Box(lengths, sides, origin=corner), cells.astype(np.int64)
