"""Coordinates in, outputs out: a point is rounded to a lattice, smoothly and at random, and the row drawn from a table.

Along an axis with breaks t₀ < … < t_c a place of cell j goes to one of the lattice points j, …, j + degree; axes are
rounded independently. With s ∈ [0, 1] the place inside the cell, b its side and a, c those of its neighbours, a uniform
number u of [0, 1) is compared with the cumulative chances, 1 − s for degree 1, and for degree 2

    (1 − s)² b/(a + b)    and    1 − s² b/(b + c).

**What floats decide, and what they do not.** A coordinate is the dyadic rational that a double stores, cut off at the
ends of the box. Compiled code works out the chances in doubles. What it gets is at most ``margin`` away from the truth:
as functions of the place the chances are continuous across cells and change by at most 1/w for a unit of length, w the
least side of a cell; so a place that is off by e costs e/w, whichever of two neighbouring cells floats take it for. To
that come twelve roundings of numbers up to one. :func:`rounding_axis` works e out in rationals, from how far the ends
and sides of cells are from the doubles that stand for them. Where the first digits of u are not farther than that from
a chance, or from 0 and 1 (what is out of reach in one cell is hardly within reach in the next), which happens with one
point in 2^30 or so, the comparison starts again in rationals, with as many further digits of u as it takes. So no bit
is rounded away.

The digits of all axes come from one word; another one draws from the row of the lattice point.

Where noise is the same everywhere, rounding to a lattice is followed by an offset, then the box. An offset is drawn
from one table, whose last entry stands for the floor: an output of the extended lattice, the same chance for all of
them, wherever the point is. What is drawn beyond the lattice is moved to its border.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import inf, isfinite, prod
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.draws.alias import AliasTables, alias_tables
from sfumato.draws.plans import split, table_identity
from sfumato.draws.randomness import Lane, Stream, Words
from sfumato.errors import InvalidInput
from sfumato.numbers import Array, float_above, float_below, nearest_float

_WORD = 64
_MOST_DIGITS = 32  # of an axis: a comparison of so many is a comparison of doubles without rounding
_UNIT = Fraction(1, 1 << 53)  # the most by which a rounding changes a number, as a part of it
_ROUNDINGS = 12  # of numbers up to one, from the place inside a cell to the comparison with digits
_BINS_A_CELL = 32  # so that few bins have a border of cells in them, and the cell is hardly ever looked for
_MOST_BINS = 1 << 12


@dataclass(frozen=True)
class Reach:
    """Which coordinates an axis takes: those between two others, up to whole turns of a circle if it is one.

    Nothing is promised about others. Coordinates a turn away, such as −170 where an axis goes from 170 to 190 degrees,
    are brought back by rationals exactly, and by doubles with a rounding that the margin of the axis covers.
    """

    low: Fraction
    high: Fraction
    turn: int = 0

    def unturned(self, coordinate: Fraction) -> Fraction:
        """The coordinate within the first turn from the low end."""
        return coordinate - self.turn * ((coordinate - self.low) // self.turn) if self.turn else coordinate

    def turns(self, coordinates: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which doubles are taken, exactly, and what to add to each."""
        taken, added = np.zeros(coordinates.shape, dtype=np.bool_), np.zeros(coordinates.shape)
        for turn in dict.fromkeys((0, self.turn, -self.turn)):
            low, high = float_above(self.low - turn), float_below(self.high - turn)
            there = np.asarray((coordinates >= low) & (coordinates <= high))
            taken |= there
            added[there] = turn
        return taken, added


@dataclass(frozen=True, eq=False)
class RoundingAxis:
    """One axis, exactly and in doubles; made by :func:`rounding_axis`.

    Parameters
    ----------
    origin, breaks, degree
        Where the axis begins, the ends of cells counted from there, and the degree of the B-splines.
    ends
        The last doubles not inside of the two ends of the axis: what lies beyond them is rounded as they are.
    cells
        In doubles, one row a cell: lower end, 1/side, b/(a + b), b/(b + c).
    guide, scale
        The first cell of each of some bins of equal size, and how many bins there are in a unit of length.
    margin
        How far a chance worked out in doubles may be from the truth; infinite where cells are too small for doubles.
    reach
        Which coordinates are taken, all of them unless given.
    """

    origin: Fraction
    breaks: tuple[Fraction, ...]
    degree: int
    ends: tuple[float, float]
    cells: NDArray[np.float64]
    guide: NDArray[np.int64]
    scale: float
    margin: float
    reach: Reach | None = None

    def __len__(self) -> int:
        return len(self.breaks) - 1 + self.degree

    def within_reach(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        """The coordinates with turns undone; an error for one that is not taken."""
        if self.reach is None:
            return column
        taken, added = self.reach.turns(column)
        wrong = np.isfinite(column) & ~taken  # what is no number is complained of later
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InvalidInput(
                f"point {row} has the coordinate {column[row]}, and those between {nearest_float(self.reach.low):.6g} "
                f"and {nearest_float(self.reach.high):.6g} are taken: nothing is promised about others"
            )
        return np.asarray(column + added) if added.any() else column

    def chances(self, coordinate: float) -> tuple[int, tuple[Fraction, ...]]:
        """The first lattice point that a coordinate may be rounded to, and the cumulative chances, exactly."""
        found = Fraction(coordinate) if self.reach is None else self.reach.unturned(Fraction(coordinate))
        place = min(max(found - self.origin, Fraction(0)), self.breaks[-1])
        cell = min(bisect_right(self.breaks, place), len(self.breaks) - 1) - 1
        before, here, after = _sides(self.breaks, cell)
        s = (place - self.breaks[cell]) / here
        if self.degree == 1:
            return cell, (1 - s,)
        return cell, ((1 - s) ** 2 * here / (before + here), 1 - s**2 * here / (here + after))


def rounding_axis(
    origin: Fraction, breaks: Sequence[Fraction], degree: int, reach: Reach | None = None
) -> RoundingAxis:
    """An axis with its tables of doubles, and how far these may lead from the truth.

    Examples
    --------
    >>> axis = rounding_axis(Fraction(0), [Fraction(k, 4) for k in range(5)], 2)
    >>> axis.chances(0.125), axis.margin < 1e-14
    ((0, (Fraction(1, 8), Fraction(7, 8))), True)
    """
    edges = tuple(breaks)
    if len(edges) < 2 or edges[0] != 0 or any(a >= b for a, b in pairwise(edges)) or degree not in (1, 2):
        raise InvalidInput("the breaks of an axis go up from 0, and its degree is 1 or 2")
    many = len(edges) - 1
    lower = np.array([nearest_float(origin + edge) for edge in edges])
    sides = [_sides(edges, cell) for cell in range(many)]
    cells = np.empty((many, 4))
    cells[:, 0] = lower[:-1]
    for cell, (before, here, after) in enumerate(sides):
        cells[cell, 1:] = nearest_float(1 / here), float(here / (before + here)), float(here / (here + after))
    ends = float_below(origin), float_above(origin + edges[-1])
    bins = min(_MOST_BINS, 1 << (_BINS_A_CELL * many).bit_length())
    scale = nearest_float(bins / edges[-1])
    sound = isfinite(scale) and bool(np.isfinite(cells).all()) and isfinite(ends[0]) and isfinite(ends[1])
    # guesses from where a cell is looked for, whatever they are
    starts = np.linspace(lower[0], lower[-1], bins, endpoint=False) if sound else np.full(bins, -inf)
    guide = np.searchsorted(lower[1:-1], starts, side="right")
    margin = inf
    if sound:
        turned = _UNIT * (abs(reach.low) + abs(reach.high) + 1) if reach is not None and reach.turn else Fraction(0)
        margin = _margin(origin, edges, cells, ends, turned)
    return RoundingAxis(origin, edges, degree, ends, cells, guide, scale if sound else 0.0, margin, reach)


def _sides(breaks: Sequence[Fraction], cell: int) -> tuple[Fraction, Fraction, Fraction]:
    """Those of a cell and of its neighbours; beyond the ends a cell is as wide as the last."""
    here = breaks[cell + 1] - breaks[cell]
    before = breaks[cell] - breaks[cell - 1] if cell else here
    after = breaks[cell + 2] - breaks[cell + 1] if cell + 2 < len(breaks) else here
    return before, here, after


def _margin(
    origin: Fraction,
    breaks: tuple[Fraction, ...],
    cells: NDArray[np.float64],
    ends: tuple[float, float],
    turned: Fraction,
) -> float:
    """An upper bound of what doubles do to a chance; ``turned`` is what undoing a turn does to a coordinate."""
    widths = [high - low for low, high in pairwise(breaks)]
    ends_off = max(origin - Fraction(ends[0]), Fraction(ends[1]) - origin - breaks[-1])
    lower_off = max(abs(Fraction(low) - origin - edge) for low, edge in zip(cells[:, 0].tolist(), breaks, strict=False))
    off = ends_off + lower_off + turned
    inverse_off = max(abs(Fraction(one) * width - 1) for one, width in zip(cells[:, 1].tolist(), widths, strict=True))
    # (x − lower)·(1/side): a difference, a product and the quotient that was stored
    relative = (1 + _UNIT) ** 2 * (1 + inverse_off) - 1
    place_off = 2 * off + (max(widths) + 2 * off) * relative
    # a product of doubles may vanish where it is below the least of them
    return float_above(place_off / min(widths) + _ROUNDINGS * _UNIT + Fraction(1, 1 << 1000))


@dataclass(frozen=True, eq=False)
class RoundingPlan:
    """Rounding along every axis, then a row of a table with one row for each lattice point, the last axis first.

    Secrets are points: doubles, one row an axis. ``digits`` of an axis are looked at before rationals decide; few
    leave more open, as tests want it. By default there are 32, or 21 where three axes share a word.
    """

    axes: tuple[RoundingAxis, ...]
    tables: AliasTables
    digits: int = 0
    sides: None = None

    def __post_init__(self) -> None:
        if prod(map(len, self.axes)) != len(self.tables.weights):
            raise InvalidInput(
                f"a table has a row for each lattice point: there are {prod(map(len, self.axes))}, "
                f"and {len(self.tables.weights)} rows"
            )
        room = self._room
        object.__setattr__(self, "digits", min(self.digits or room, room))

    @property
    def _room(self) -> int:
        """Digits of a word for each axis."""
        return min(_MOST_DIGITS, _WORD // len(self.axes))

    @property
    def name(self) -> str:
        """Lattice points and outputs."""
        lattice = " × ".join(str(len(axis)) for axis in self.axes)
        return f"points, rounded to {lattice} lattice points → {self.tables.weights.shape[1]} outputs"

    @property
    def dimension(self) -> int:
        """Coordinates of a point."""
        return len(self.axes)

    @property
    def output_sides(self) -> tuple[int, ...]:
        """The number of outputs."""
        return (self.tables.weights.shape[1],)

    def draw(self, columns: NDArray[Any], stream: Stream, lanes: NDArray[np.int64]) -> NDArray[np.int64]:
        """One output for each point."""
        words = stream.take(lanes, 0, 2)
        rows = self.rounded(columns, words[0], stream, lanes)
        return self.tables.draw(rows, stream, lanes, 1, words[1])[None]

    def rounded(
        self, columns: NDArray[np.float64], words: Words, stream: Stream, lanes: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The lattice point of each point, by its number; the words are number 0 of the lanes."""
        rows = np.zeros(columns.shape[1], dtype=np.int64)
        opened = np.zeros(columns.shape[1], dtype=np.bool_)
        anything = False
        for number, (axis, column) in enumerate(zip(self.axes, columns, strict=True)):
            found = _round(
                axis.within_reach(column), words,
                np.uint64(self._room * number), np.uint64(_WORD - self.digits), float(1 << self.digits),
                axis.cells, axis.guide, axis.scale, axis.ends[0], axis.ends[1], axis.margin, axis.degree, rows, opened,
            )  # fmt: skip
            if found < 0:
                raise InvalidInput(f"coordinates are finite numbers: point {-1 - found} has {column[-1 - found]}")
            anything |= found > 0
        if anything:
            for k in np.flatnonzero(opened).tolist():
                rows[k] = self._settled(columns[:, k].tolist(), int(words[k]), stream, int(lanes[k]))
        return rows

    def _settled(self, point: list[float], word: int, stream: Stream, lane: int) -> int:
        """The lattice point, decided in rationals along all axes."""
        row = 0
        for number, (axis, coordinate) in enumerate(zip(self.axes, point, strict=True)):
            first, chances = axis.chances(coordinate)
            digits = (word << self._room * number) % (1 << _WORD) >> (_WORD - self.digits)
            # words number 2 and following of a lane are nobody's, and so is what follows them
            onward = Lane(stream, lane, 2 + number)
            row = row * len(axis) + first + onward.passes(digits, self.digits, chances)
        return row

    def identity(self) -> bytes:
        """The axes and the weights in lowest terms."""
        about = [(axis.origin, axis.breaks, axis.degree) for axis in self.axes]
        return rounding_identity(about, self.tables.weights, self.tables.total)


def rounding_identity(axes: Sequence[tuple[Fraction, Sequence[Fraction], int]], weights: Array, total: int) -> bytes:
    """What a plan says of itself, without one: origin, breaks and degree of its axes, and its weights."""
    about = [(str(origin), [str(edge) for edge in breaks], degree) for origin, breaks, degree in axes]
    return f"rounding {about!r}".encode() + table_identity(weights, total)


@njit(cache=True, nogil=True)
def _round(  # type: ignore[no-untyped-def]
    places, words, shift, unused, size, cells, guide, scale, low, high, margin, degree, rows, opened
):
    """Go on with the numbers of lattice points by one axis; how many are left open, or −1 − the first wrong point."""
    last, bins, side = cells.shape[0] - 1, guide.size - 1, cells.shape[0] + degree
    start, left = cells[0, 0], np.int64(0)
    least, most = margin * size, (1.0 - margin) * size - 1.0
    for k in range(places.size):
        x = places[k]
        if x - x != 0.0:
            return -1 - k
        x = min(max(x, low), high)
        cell = guide[min(max(np.int64((x - start) * scale), 0), bins)]
        while cell < last and x >= cells[cell + 1, 0]:
            cell += 1
        while cell > 0 and x < cells[cell, 0]:
            cell -= 1
        s = min(max((x - cells[cell, 0]) * cells[cell, 1], 0.0), 1.0)
        digits = np.float64(np.int64((words[k] << shift) >> unused))
        q = 1.0 - s
        if degree == 1:
            first, second = q, 2.0
        else:
            first, second = q * q * cells[cell, 2], 1.0 - s * s * cells[cell, 3]
        above, beyond = digits >= (first + margin) * size, digits >= (second + margin) * size
        below, within = digits + 1.0 <= (first - margin) * size, digits + 1.0 <= (second - margin) * size
        # both are false where digits do not decide; what is 0 or 1 in this cell may be neither in the next one
        unclear = (above == below) | (beyond == within) | (digits < least) | (digits > most)
        rows[k] = rows[k] * side + cell + np.int64(above) + np.int64(beyond)
        opened[k] |= unclear
        left += np.int64(unclear)
    return left


_FLOOR_WORD = 8  # Words of a lane from this one on choose an extended output; rounding goes on with words before it.


@dataclass(frozen=True, eq=False)
class OffsetPlan(RoundingPlan):
    """Rounding along every axis, then an offset: ``tables`` has one row, all offsets up to ``reach`` and the floor."""

    reach: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "digits", min(self.digits or self._room, self._room))

    @property
    def name(self) -> str:
        """Lattice points and offsets."""
        lattice = " × ".join(map(str, self.output_sides))
        offsets = " × ".join(str(2 * reach + 1) for reach in self.reach)
        return f"points, rounded to {lattice} lattice points, {offsets} offsets"

    @property
    def output_sides(self) -> tuple[int, ...]:
        """Outputs along each axis: as many as lattice points."""
        return tuple(map(len, self.axes))

    @cached_property
    def floors(self) -> tuple[AliasTables, ...]:
        """One table for each axis that chooses among the places of the extended lattice."""
        sides = [n + 2 * reach for n, reach in zip(self.output_sides, self.reach, strict=True)]
        return tuple(alias_tables(np.ones((1, side), dtype=np.int64), side) for side in sides)

    def draw(self, columns: NDArray[np.float64], stream: Stream, lanes: NDArray[np.int64]) -> NDArray[np.int64]:
        """One output for each point: its place along each axis."""
        words = stream.take(lanes, 0, 2)
        places = split(self.rounded(columns, words[0], stream, lanes), self.output_sides)
        nowhere = np.zeros(places.shape[1], dtype=np.int64)
        chosen = self.tables.draw(nowhere, stream, lanes, 1, words[1])
        reach = np.array(self.reach, dtype=np.int64)[:, None]
        floor = chosen == self.tables.weights.shape[1] - 1
        found = places + split(np.where(floor, 0, chosen), [2 * r + 1 for r in self.reach]) - reach
        if floor.any():
            where = np.flatnonzero(floor)
            for axis, tables in enumerate(self.floors):
                drawn = tables.draw(nowhere[where], stream, lanes[where], _FLOOR_WORD + axis)
                found[axis, where] = drawn - self.reach[axis]
        return np.asarray(np.clip(found, 0, np.array(self.output_sides)[:, None] - 1))

    def identity(self) -> bytes:
        """The axes, the reach and the weights in lowest terms."""
        return f"offsets {self.reach!r} ".encode() + super().identity()
