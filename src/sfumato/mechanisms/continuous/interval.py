"""Intervals [a, b] and the lattices U_N of N + 1 equally spaced points in them."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import float_array
from sfumato.errors import InvalidInput, short, shown
from sfumato.numbers import Floats, Number, as_written, float_above, float_below, whole_number
from sfumato.spaces.box import Box
from sfumato.spaces.constructors import line
from sfumato.spaces.finite import FiniteSpace, check_size

# A lattice point written as a float, times N, misses its integer by no more than a few units in
# the last place of N: within this share of N it is meant to be the point.
_SAME_POINT = 2.0**-48


def Interval(low: Number, high: Number) -> Box:  # noqa: N802 - a noun
    """A closed interval with rational ends, a box of one axis; a float end means the decimal that prints it.

    Examples
    --------
    >>> unit = Interval(0, 1)
    >>> print(unit, unit.low, unit.high, unit.length, unit.ends)
    [0, 1] 0 1 1 (0.0, 1.0)
    """
    low, high = (as_written(end, "an end of an interval") for end in (low, high))
    if not low < high:
        raise InvalidInput(f"an interval needs low < high, found [{short(low)}, {short(high)}]")
    if float_below(low) == -inf or float_above(high) == inf or not 0 < float_below(high - low) < inf:
        raise InvalidInput("the ends of an interval and its length lie within the range of floats")
    return Box((high - low,), (high - low,), origin=(low,))


UNIT = Interval(0, 1)
"""The interval of the paper."""

Ends: TypeAlias = Box | tuple[Number, Number]
"""What stands for an interval: a box of one axis, or two numbers."""


def as_interval(value: Ends) -> Box:
    """The interval between two numbers or the ends of a box of one axis, into however many cells that is cut."""
    if isinstance(value, Box):
        return Interval(value.low, value.high)
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InvalidInput(f"an interval is a pair (low, high), found {shown(value)}")
    return Interval(*value)


def lattice(steps: int, interval: Box = UNIT) -> tuple[Fraction, ...]:
    """U_N: the points a + (b − a)·n/N for n = 0, …, N.

    Examples
    --------
    >>> lattice(2)
    (Fraction(0, 1), Fraction(1, 2), Fraction(1, 1))
    """
    steps, interval = whole_number(steps, "steps"), as_interval(interval)
    check_size(steps + 1)
    return tuple(interval.low + interval.length * n / steps for n in range(steps + 1))


def lattice_floats(steps: int, interval: Box = UNIT) -> Floats:
    """The points of U_N in floats."""
    return np.array([float(point) for point in lattice(steps, interval)])


def lattice_space(steps: int, interval: Box = UNIT) -> FiniteSpace:
    """U_N with the distance of real numbers, a line of step (b − a)/N; labels are the points.

    Examples
    --------
    >>> lattice_space(4).distance(Fraction(1, 4), 1)
    0.75
    """
    points, interval = lattice(steps, interval), as_interval(interval)
    row = line(len(points), step=interval.length / steps)
    where = lattice_floats(steps, interval)[:, None]
    return FiniteSpace(points, row.source, name=f"{len(points)} points of {interval}", coordinates=where)


def floor_of(x: Any, steps: int, interval: Box = UNIT) -> Floats:
    """⌊x⌋_N, the point of U_N at or left of x; the one before the last at the upper end."""
    low, high = interval.ends
    return np.asarray(low + (high - low) * cell_indices(x, steps, interval) / steps)


def cell_indices(x: Any, steps: int, interval: Box = UNIT) -> NDArray[np.int64]:
    """The index n of the cell [n/N, (n+1)/N) that x lies in; the last cell is closed (B, Definitions 6 and 7).

    Examples
    --------
    >>> cell_indices([0.0, 0.29, 0.3, 1.0], 10).tolist()
    [0, 2, 3, 9]
    """
    low, high = interval.ends
    scaled = (np.clip(float_array(x, "secrets"), low, high) - low) * (steps / (high - low))
    nearest = np.rint(scaled)
    cell = np.where(np.abs(scaled - nearest) <= _SAME_POINT * steps, nearest, np.floor(scaled))
    return np.clip(cell, 0, steps - 1).astype(np.int64)
