"""Tails of a density κe^{−c(x)} that is given as a function c, by quadrature in floats.

c is convex, so e^{−c} has one hump and tails that fall at least exponentially. The hump is found on a grid, cut where
c has risen by 60 (what lies beyond is less than 10⁻²⁵ of the rest), and integrated panel by panel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from sfumato.arguments import answer_of
from sfumato.errors import InvalidInput, shown

Floats = NDArray[np.float64]

_RISE = 60.0
_PANELS = 1024
_NODES, _WEIGHTS = leggauss(10)
_HALVINGS = 60  # After so many halvings an interval is as short as floats go.


def moved_tails(
    c: Callable[[float], float], shift: float
) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats], float]:
    """a ↦ G(G⁻¹(a) − t) and a ↦ F(F⁻¹(a) + t), and how far they may be off.

    What is left is right in a mirror. The tolerance is ten times the difference of half as many panels, at least 10⁻⁹.
    """
    height = np.vectorize(lambda x: _height(c, float(x)), otypes=[np.float64])
    low, high, peak = _hump(height)
    right, coarse = (_Table(height, low, high, peak, panels) for panels in (_PANELS, _PANELS // 2))

    @cache
    def left() -> _Table:
        return _Table(lambda x: height(-x), -high, -low, -peak, _PANELS)

    at = np.linspace(0.02, 0.98, 33)
    tolerance = max(1e-9, 10 * float(np.abs(right.moved(at, shift) - coarse.moved(at, shift)).max()))
    return (lambda a: right.moved(a, shift)), (lambda a: left().moved(a, shift)), tolerance


def _height(c: Callable[[float], float], x: float) -> float:
    value = answer_of(c, "c", x)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"c must be a number or inf everywhere, found {shown(value)} at {x:g}") from error


def _hump(height: Callable[[Floats], Floats]) -> tuple[float, float, float]:
    """Where e^{−c} lives, and its peak; an error if c is not convex where it was looked at."""
    grid = np.sinh(np.linspace(-16, 16, 4001))
    values = height(grid)
    if np.isnan(values).any() or not np.isfinite(values).any():
        raise InvalidInput("c must be a number or inf everywhere, and finite somewhere")
    for _ in range(6):
        _check_convex(grid, values)
        top = values.min()
        inside = np.flatnonzero(values <= top + _RISE)
        first, last = max(inside[0] - 1, 0), min(inside[-1] + 1, grid.size - 1)
        if (inside[0] == 0 or inside[-1] == grid.size - 1) and grid[-1] - grid[0] > 1e6:
            raise InvalidInput("κe^-c has no finite mass within ±4,000,000: c must grow on both sides")
        grid = np.linspace(grid[first], grid[last], 4001)
        values = height(grid)
    return float(grid[0]), float(grid[-1]), float(grid[np.argmin(values)])


def _check_convex(grid: Floats, values: Floats) -> None:
    """Second differences must not be negative beyond rounding, nor may c be infinite between finite values."""
    finite = np.flatnonzero(np.isfinite(values))
    gaps = np.flatnonzero(np.diff(finite) > 1)
    if gaps.size:
        raise InvalidInput(f"c is not convex: it is infinite at {grid[finite[gaps[0]] + 1]:g}, between finite values")
    x, y = grid[finite], values[finite]
    if x.size < 3:
        return
    chord = y[:-2] + (y[2:] - y[:-2]) * (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    # values of c are known up to rounding, granted 2^-40 of their size
    bad = np.flatnonzero(y[1:-1] > chord + 2.0**-40 * (1 + np.abs(y[:-2]) + np.abs(y[2:])))
    if bad.size:
        k = int(bad[0])
        raise InvalidInput(f"c is not convex: it lies above a chord at {x[k + 1]}, between {x[k]} and {x[k + 2]}")


class _Table:
    """Cumulative masses of panels, one edge at the peak, where c most often has a kink."""

    def __init__(self, height: Callable[[Floats], Floats], low: float, high: float, peak: float, panels: int) -> None:
        share = (peak - low) / (high - low)
        before = min(max(round(panels * share), 1), panels - 1) if 0 < share < 1 else panels // 2
        middle = peak if 0 < share < 1 else (low + high) / 2
        self.edges = np.concatenate(
            [np.linspace(low, middle, before + 1), np.linspace(middle, high, panels - before + 1)[1:]]
        )
        self.height, self.top = height, float(np.min(height(np.array([peak]))))
        masses = self._integral(self.edges[:-1], self.edges[1:])
        self.total = masses.sum()
        self.above = np.concatenate([np.cumsum(masses[::-1])[::-1], [0.0]]) / self.total

    def _integral(self, start: Floats, stop: Floats) -> Floats:
        half = (stop - start) / 2
        places = ((start + stop) / 2)[..., None] + half[..., None] * _NODES
        return np.asarray(half * (np.exp(self.top - self.height(places)) @ _WEIGHTS))

    def _mass(self, x: Floats) -> Floats:
        """G(x), the mass to the right."""
        at = np.clip(x, self.edges[0], self.edges[-1])
        k = np.clip(np.searchsorted(self.edges, at, side="right") - 1, 0, self.edges.size - 2)
        return np.asarray(self.above[k + 1] + self._integral(at, self.edges[k + 1]) / self.total)

    def _place(self, a: Floats) -> Floats:
        """G⁻¹(a): the panel from the table, then halving inside it."""
        k = np.clip(np.searchsorted(-self.above, -a, side="right") - 1, 0, self.edges.size - 2)
        low, high = self.edges[k], self.edges[k + 1]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            beyond = self._mass(middle) > a
            low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
        return np.asarray((low + high) / 2)

    def moved(self, a: Floats, shift: float) -> Floats:
        """G(G⁻¹(a) − t)."""
        return self._mass(self._place(np.asarray(a, dtype=np.float64)) - shift)
