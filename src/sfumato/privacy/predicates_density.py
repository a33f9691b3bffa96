"""Tails of a density κe^{−c(x)} that is given as a function c, by quadrature in floats.

c is convex, so e^{−c} has one hump, tails that fall at least exponentially, and jumps nowhere but at the ends of its
support. The hump is found on a grid; ends where c becomes infinite are located to the last bit, and elsewhere it is cut
where c has risen by 60 (what lies beyond is less than 10⁻²⁵ of the rest). Panels are halved until halving changes
nothing any more, which puts short ones where c has a kink.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.polynomial.legendre import leggauss

from sfumato.arguments import answer_of
from sfumato.errors import InvalidInput, shown
from sfumato.numbers import Floats

_RISE = 60.0
_PANELS = 64  # So many panels are tried first.
_SETTLED = 1e-15  # A panel is halved as long as its mass changes by more than this share of the whole.
_MOST_PANELS = 8192  # Beyond so many panels it is the rounding of c that changes masses, not its shape.
_NODES, _WEIGHTS = leggauss(10)
_HALVINGS = 60  # After so many halvings an interval is as short as floats go.
_LEAST = 1e-12  # No smaller error is claimed: sums of a few thousand floats are good to this.


def moved_tails(
    c: Callable[[float], float], shift: float
) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats], float]:
    """a ↦ G(G⁻¹(a) − t) and a ↦ F(F⁻¹(a) + t), and how far a and the result may each be off.

    What is left is right in a mirror. Both masses that go into a value, the one that is a and the one that results, are
    off by no more than the tolerance as far as floats can tell: what halving panels last changed, the rounding of c and
    of places, at least 10⁻¹². Where M is steep the value at a is off by as much as M changes within the tolerance.
    """
    height = np.vectorize(lambda x: _height(c, float(x)), otypes=[np.float64])
    low, high, peak = _hump(height)
    right = _Table(height, low, high, peak)

    @cache
    def left() -> _Table:
        return _Table(lambda x: height(-x), -high, -low, -peak)

    return (lambda a: right.moved(a, shift)), (lambda a: left().moved(a, shift)), right.error(shift)


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
    if np.isnan(values).any():
        raise InvalidInput("c must be a number or inf everywhere")
    if not np.isfinite(values).any():
        raise InvalidInput("c is finite nowhere, or its support is too narrow to be found: rescale it, or put 0 inside")
    for _ in range(6):
        _check_convex(grid, values)
        top = values.min()
        inside = np.flatnonzero(values <= top + _RISE)
        first, last = max(inside[0] - 1, 0), min(inside[-1] + 1, grid.size - 1)
        if (inside[0] == 0 or inside[-1] == grid.size - 1) and grid[-1] - grid[0] > 1e6:
            raise InvalidInput("κe^-c has no finite mass within ±4,000,000: c must grow on both sides")
        grid = np.linspace(grid[first], grid[last], 4001)
        values = height(grid)
    finite = np.flatnonzero(np.isfinite(values))
    low, high = (
        float(grid[k]) if k in (0, grid.size - 1) else _end(height, float(grid[k]), float(grid[k + beyond]))
        for k, beyond in ((int(finite[0]), -1), (int(finite[-1]), 1))
    )
    return low, high, float(grid[np.argmin(values)])


def _end(height: Callable[[Floats], Floats], inside: float, outside: float) -> float:
    """The last number next to ``outside`` at which c is finite: a density may jump there."""
    while (middle := (inside + outside) / 2) not in (inside, outside):
        if np.isfinite(height(np.array([middle]))[0]):
            inside = middle
        else:
            outside = middle
    return inside


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
    """Cumulative masses of panels, one edge at the lowest point of c that was found."""

    def __init__(self, height: Callable[[Floats], Floats], low: float, high: float, peak: float) -> None:
        self.height, self.top = height, float(height(np.array([peak]))[0])
        ends = sorted({low, min(max(peak, low), high), high})
        edges = np.unique(np.concatenate([np.linspace(a, b, _PANELS) for a, b in pairwise(ends)]))
        self.change = np.inf
        for _ in range(_HALVINGS):
            halves, changes = self._halved(edges)
            masses, total = halves.sum(axis=1), float(halves.sum())
            # places are rounded, and so is what a panel holds: halving does not get below that
            split = changes > max(_SETTLED * total, 0.01 * float(np.spacing(np.abs(edges).max())))
            self.change = float(changes.sum()) / total
            if not split.any() or edges.size > _MOST_PANELS:
                break
            edges = np.sort(np.concatenate([edges, (edges[:-1] + edges[1:])[split] / 2]))
        self.edges, self.total = edges, float(masses.sum())
        self.above = np.concatenate([np.cumsum(masses[::-1])[::-1], [0.0]]) / self.total

    def _halved(self, edges: Floats) -> tuple[Floats, Floats]:
        """The masses of both halves of each panel, and by how much panels that overlap them disagree.

        A rule has few places near the ends of its panel, so a kink there goes unseen. Panels from middle to middle have
        their middles where the others end, and see it.
        """
        middle = (edges[:-1] + edges[1:]) / 2
        halves = np.stack([self._integral(edges[:-1], middle), self._integral(middle, edges[1:])], axis=1)
        changes = np.abs(halves.sum(axis=1) - self._integral(edges[:-1], edges[1:]))
        across = np.abs(halves[:-1, 1] + halves[1:, 0] - self._integral(middle[:-1], middle[1:]))
        changes[:-1] += across
        changes[1:] += across
        return halves, changes

    def error(self, shift: float) -> float:
        """How far a mass may be off: by quadrature, by the rounding of c, and by that of places on the line."""
        places = (self.edges[:-1] + self.edges[1:]) / 2
        weights = np.diff(-self.above)
        of_c = float((weights * np.abs(self.height(places))).sum()) * 2.0**-50
        farthest = float(np.abs(self.edges).max()) + shift
        of_places = 4 * float(np.spacing(farthest)) / self.total
        return max(_LEAST, 10 * self.change + of_c + of_places)

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
        """G⁻¹(a): the panel from the table, then steps of Newton's inside it, or halving where they lead out."""
        k = np.clip(np.searchsorted(-self.above, -a, side="right") - 1, 0, self.edges.size - 2)
        low, high = self.edges[k], self.edges[k + 1]
        at = (low + high) / 2
        for _ in range(_HALVINGS):
            excess = self._mass(at) - a
            low, high = np.where(excess > 0, at, low), np.where(excess > 0, high, at)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = at + excess * self.total * np.exp(self.height(at) - self.top)
            following = np.where((step > low) & (step < high), step, (low + high) / 2)
            if (np.abs(following - at) <= np.spacing(np.abs(at))).all():
                break
            at = following
        return np.asarray(at)

    def moved(self, a: Floats, shift: float) -> Floats:
        """G(G⁻¹(a) − t)."""
        return self._mass(self._place(np.asarray(a, dtype=np.float64)) - shift)
