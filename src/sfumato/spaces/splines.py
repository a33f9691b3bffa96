"""Smooth random rounding: a point of a box becomes a point of a lattice, with B-splines as probabilities.

Along an axis the lattice has breaks t₀ < … < t_c. Of degree 1 there is a lattice point at every break, and a point
between two of them is rounded to either, linearly. Of degree 2 there is one for every cell and one more on either side
(c + 2), and a point is rounded to the three around it. Axes round independently.

For a function f on the lattice, f̃ = Σ_v f(v) B_v is a polynomial on every cell. In Bernstein's basis its coefficients
and those of its partial derivatives, raised to the same degree, are linear in f: :func:`bernstein_rows` has both. What
holds for all of them and is convex holds for all points (``docs/theory/coordinates.md``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import items
from sfumato.errors import InvalidInput
from sfumato.numbers import exact
from sfumato.spaces.box import Box

Row = dict[int, Fraction]
"""A linear form of the lattice points of an axis: its coefficients by index."""


@dataclass(frozen=True)
class Axis:
    """The lattice along one axis: ``breaks`` counted from the origin of the box, and the degree of its B-splines.

    ``even`` is the side of all cells where :func:`rounding_of` has made them of one side: lattices of noise have so
    many that looking at each of them takes seconds.
    """

    breaks: tuple[Fraction, ...]
    degree: int = 2
    even: Fraction | None = field(default=None, init=False, compare=False, repr=False)

    def __len__(self) -> int:
        return self.cells + self.degree

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.breaks) - 1

    @cached_property
    def widths(self) -> tuple[Fraction, ...]:
        """The sides of cells, with one more on either side that is as wide as its neighbour: cell j is number j + 1."""
        if self.even is not None:
            return (self.even,) * (self.cells + 2)
        inside = [high - low for low, high in pairwise(self.breaks)]
        return inside[0], *inside, inside[-1]

    @cached_property
    def points(self) -> tuple[Fraction, ...]:
        """Where lattice points lie: a linear function is rounded without a bias."""
        if self.degree == 1:
            return self.breaks
        first = self.breaks[0] - self.widths[0] / 2
        centres = [(low + high) / 2 for low, high in pairwise(self.breaks)]
        return first, *centres, self.breaks[-1] + self.widths[-1] / 2

    def cell_of(self, place: Fraction) -> int:
        """The cell that contains a place, the last one its upper end too."""
        low, high = 0, self.cells - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.breaks[middle] <= place else (low, middle - 1)
        return low

    def rounding(self, place: Fraction) -> Row:
        """The probability of each lattice point that a place of the axis is rounded to."""
        j = self.cell_of(place)
        s = (place - self.breaks[j]) / self.widths[j + 1]
        coefficients = self._bernstein(j)[0]
        powers = [(1 - s), s] if self.degree == 1 else [(1 - s) ** 2, 2 * s * (1 - s), s**2]
        result: Row = {}
        for power, row in zip(powers, coefficients, strict=True):
            for v, weight in row.items():
                result[v] = result.get(v, Fraction(0)) + power * weight
        return result

    def _bernstein(self, j: int) -> tuple[list[Row], list[Row]]:
        """Bernstein coefficients of values and of derivatives on cell j."""
        before, here, after = self.widths[j : j + 3]
        if self.degree == 1:
            slope = {j: -1 / here, j + 1: 1 / here}
            return [{j: Fraction(1)}, {j + 1: Fraction(1)}], [slope, slope]
        low, high = before + here, here + after
        values = [{j: here / low, j + 1: before / low}, {j + 1: Fraction(1)}, {j + 1: after / high, j + 2: here / high}]
        left, right = {j: -2 / low, j + 1: 2 / low}, {j + 1: -2 / high, j + 2: 2 / high}
        return values, [left, _mean(left, right), right]


def _mean(first: Row, second: Row) -> Row:
    keys = sorted({*first, *second})
    return {v: (first.get(v, Fraction(0)) + second.get(v, Fraction(0))) / 2 for v in keys}


def bernstein_rows(axis: Axis, halvings: int = 0) -> tuple[list[Row], list[Row]]:
    """The distinct pairs of Bernstein coefficients of values and derivatives along an axis, cell after cell.

    Each cell may be halved so many times first (de Casteljau): there are more coefficients then, and they lie closer
    around the polynomial.

    Examples
    --------
    >>> axis = Axis((Fraction(0), Fraction(1), Fraction(2)))
    >>> values, slopes = bernstein_rows(axis)
    >>> len(values), values[0], slopes[0]
    (5, {0: Fraction(1, 2), 1: Fraction(1, 2)}, {0: Fraction(-1, 1), 1: Fraction(1, 1)})
    """
    values: list[Row] = []
    slopes: list[Row] = []
    for j in range(axis.cells):
        parts = [axis._bernstein(j)]
        for _ in range(halvings):
            parts = [half for part in parts for half in zip(*map(_halves, part), strict=True)]
        for value, slope in parts:
            for one, other in zip(value, slope, strict=True):
                # where two cells meet both are the same for degree 2; for degree 1 slopes jump
                if not values or (values[-1], slopes[-1]) != (one, other):
                    values.append(one)
                    slopes.append(other)
    return values, slopes


def _halves(coefficients: list[Row]) -> tuple[list[Row], list[Row]]:
    """Bernstein coefficients on the two halves of a cell."""
    levels = [coefficients]
    while len(levels[-1]) > 1:
        levels.append([_mean(a, b) for a, b in pairwise(levels[-1])])
    return [level[0] for level in levels], [level[-1] for level in reversed(levels)]


def dense(rows: Sequence[Row], width: int) -> NDArray[np.float64]:
    """Linear forms as a matrix of floats."""
    table = np.zeros((len(rows), width))
    for i, row in enumerate(rows):
        for v, weight in row.items():
            table[i, v] = float(weight)
    return table


@dataclass(frozen=True)
class Rounding:
    """Random rounding of the points of a box to a lattice: one :class:`Axis` for each of its axes.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> rounding = rounding_of(box((1,), step="1/4"))
    >>> rounding.shape, rounding.weights((Fraction(1, 8),))
    ((6,), {0: Fraction(1, 8), 1: Fraction(3, 4), 2: Fraction(1, 8)})
    """

    box: Box
    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Lattice points along each axis."""
        return tuple(map(len, self.axes))

    def __len__(self) -> int:
        return prod(self.shape)

    @property
    def degree(self) -> int:
        """Of the B-splines."""
        return self.axes[0].degree

    def clamped(self, point: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """The nearest point of the box, counted from its origin."""
        corner, sides = self.box.origin, self.box.sides
        return tuple(min(max(x - o, Fraction(0)), s) for x, o, s in zip(point, corner, sides, strict=True))

    def weights(self, point: Sequence[Fraction]) -> dict[int, Fraction]:
        """The probability of each lattice point, by its number (the last axis first), for a point; exactly."""
        places = self.clamped(point)
        along = [axis.rounding(place) for axis, place in zip(self.axes, places, strict=True)]
        result: dict[int, Fraction] = {}
        for chosen in product(*(row.items() for row in along)):
            number = 0
            for (v, _), side in zip(chosen, self.shape, strict=True):
                number = number * side + v
            weight = prod((w for _, w in chosen), start=Fraction(1))
            if weight:
                result[number] = weight
        return result


def rounding_of(box: Box, parts: int | Sequence[int] = 1, degree: int = 2, breaks: Any = None) -> Rounding:
    """Rounding to a lattice that has so many cells in each cell of the box, or the given breaks along each axis."""
    if degree not in (1, 2):
        raise InvalidInput(f"rounding is of degree 1 or 2, found {degree}")
    if breaks is None:
        counts = [parts] * box.dimension if isinstance(parts, int | np.integer) else items(parts, "parts")
        return Rounding(box, _even_axes(box, counts, degree))
    axes = tuple(Axis(tuple(map(exact, along)), degree) for along in breaks)
    for axis, side in zip(axes, box.sides, strict=True):
        if axis.breaks[0] != 0 or axis.breaks[-1] != side or any(a >= b for a, b in pairwise(axis.breaks)):
            raise InvalidInput("the breaks of a lattice go up from 0 to the side of the box")
    return Rounding(box, axes)


def _even_axes(box: Box, parts: Sequence[int], degree: int) -> tuple[Axis, ...]:
    """Cells of the box in equal parts; axes that are alike are one value."""
    made: dict[tuple[Fraction, Fraction, int], Axis] = {}
    for i, (side, step, many) in enumerate(zip(box.sides, box.step, parts, strict=True)):
        if (side, step, many) not in made:
            made[side, step, many] = axis = Axis(box.breaks(i, many), degree)
            object.__setattr__(axis, "even", step / many)
    return tuple(made[alike] for alike in zip(box.sides, box.step, parts, strict=True))
