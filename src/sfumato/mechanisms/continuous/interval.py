"""Intervals [a, b] and the lattices U_N of N + 1 equally spaced points in them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import float_array
from sfumato.errors import InvalidInput, short, shown
from sfumato.numbers import Number, as_written, float_above, float_below, whole
from sfumato.spaces.constructors import check_size, line
from sfumato.spaces.finite import FiniteSpace

Floats: TypeAlias = NDArray[np.float64]

# A lattice point written as a float, times N, misses its integer by no more than a few units in
# the last place of N: within this share of N it is meant to be the point.
_SAME_POINT = 2.0**-48


@dataclass(frozen=True)
class Interval:
    """A closed interval with rational ends; a float end means the decimal that prints it."""

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        for end in ("low", "high"):
            object.__setattr__(self, end, as_written(getattr(self, end), "an end of an interval"))
        if not self.low < self.high:
            raise InvalidInput(f"an interval needs low < high, found [{short(self.low)}, {short(self.high)}]")
        if float_below(self.low) == -inf or float_above(self.high) == inf or not 0 < float_below(self.length) < inf:
            raise InvalidInput("the ends of an interval and its length lie within the range of floats")

    @property
    def length(self) -> Fraction:
        """High minus low."""
        return self.high - self.low

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends as floats."""
        return float(self.low), float(self.high)

    def __str__(self) -> str:
        return f"[{self.low}, {self.high}]"


UNIT = Interval(Fraction(0), Fraction(1))
"""The interval of the paper."""


def as_interval(value: Interval | tuple[Number, Number]) -> Interval:
    """The interval, or the one between two numbers."""
    if isinstance(value, Interval):
        return value
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InvalidInput(f"an interval is a pair (low, high), found {shown(value)}")
    return Interval(*value)  # type: ignore[arg-type]  # it reads its ends


def lattice(steps: int, interval: Interval = UNIT) -> tuple[Fraction, ...]:
    """U_N: the points a + (b − a)·n/N for n = 0, …, N.

    Examples
    --------
    >>> lattice(2)
    (Fraction(0, 1), Fraction(1, 2), Fraction(1, 1))
    """
    steps, interval = whole(steps, "steps"), as_interval(interval)
    check_size(steps + 1)
    return tuple(interval.low + interval.length * n / steps for n in range(steps + 1))


def lattice_floats(steps: int, interval: Interval = UNIT) -> Floats:
    """The points of U_N in floats."""
    return np.array([float(point) for point in lattice(steps, interval)])


def lattice_space(steps: int, interval: Interval = UNIT) -> FiniteSpace:
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


def floor_of(x: Any, steps: int, interval: Interval = UNIT) -> Floats:
    """⌊x⌋_N, the point of U_N at or left of x; the one before the last at the upper end."""
    low, high = interval.ends
    return np.asarray(low + (high - low) * cells_of(x, steps, interval) / steps)


def cells_of(x: Any, steps: int, interval: Interval = UNIT) -> NDArray[np.int64]:
    """The index n of the cell [n/N, (n+1)/N) that x lies in; the last cell is closed (B, Definitions 6 and 7).

    Examples
    --------
    >>> cells_of([0.0, 0.29, 0.3, 1.0], 10).tolist()
    [0, 2, 3, 9]
    """
    low, high = interval.ends
    scaled = (np.clip(float_array(x, "secrets"), low, high) - low) * (steps / (high - low))
    nearest = np.rint(scaled)
    cell = np.where(np.abs(scaled - nearest) <= _SAME_POINT * steps, nearest, np.floor(scaled))
    return np.clip(cell, 0, steps - 1).astype(np.int64)
