"""What is taken from the data and paid for: a box with noise, and counts with noise. Both are drawn in integers.

The promise of each is about one row, whatever it is replaced by: no output is more than e^ε times as likely for one
table as for another that differs in a row. How many rows there are is known, since as many come out.

*The box.* For each of its four sides a quantile is drawn from a public grid of ten-thousandths of a degree. A line t
has the distance u(t) = |#{x < t} − q·n| from the wanted number of rows, which changes by at most 1 with a row. It is
drawn with probability proportional to an integer w(u(t)), where w(0) is large and w(u + 1) = ⌈a·w(u)⌉, a rational, a ≥
e^{−ε/8}. So w(u) ≤ w(u ± 1)/a always, both in an output's weight and in the sum of all, and a side costs a^{−2} ≤
e^{ε/4}: the exponential mechanism (McSherry and Talwar 2007) in integers.

*The prior.* A row that is replaced changes two counts by 1. Each count gets two-sided geometric noise of ε/2, drawn
exactly, and what is below 0 becomes 0.

Where rows of a person are held to a number k, only the first k of each are looked at, and for a person it is k times as
much.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.certify.charge import Charge, rule_charge
from sfumato.errors import InvalidInput, keyword, shown
from sfumato.hide.extents import Extent
from sfumato.hide.sources import Source
from sfumato.numbers import Floats, Integers, as_written, exp_bounds
from sfumato.release.persons import Persons
from sfumato.release.places import Geometry, Place, Position
from sfumato.release.sampler import integer_noise
from sfumato.spaces.box import Box
from sfumato.spaces.earth import cell_counts

GRID = 10_000
"""Lines of the public grid in a degree."""

_QUANTILE = Fraction(1, 20)  # of the rows are left outside on each side, about
# A line beyond all rows is worse than the wanted one by the factor e^{−ε·n/160}, and there are 3.6 million of them.
_ROWS_TIMES_EPSILON = 4000
_LARGEST_WEIGHT = 1 << 80
_MARGIN = Fraction(1, 4)  # of the span, added on each side after the draw: for those that were left outside
_SIDES = 4


@dataclass(frozen=True, eq=False)
class Paid:
    """Something that was taken from the data with noise: what, and at which price."""

    what: str
    epsilon: Fraction
    charge: Charge
    times: int = 1

    @property
    def words(self) -> str:
        """What it cost, in a sentence."""
        how = {"box": "quantiles of the data, drawn in integers", "prior": "counts of the data with integer noise"}
        many = "" if self.times == 1 else f", and {self.times} times as much for each person"
        return (
            f"Paid beside it: the {self.what} comes from the data ({how[self.what]}), at ε = {self.epsilon} for each "
            f"row, whatever it is replaced by{many}."
        )


def price(epsilon: Any, what: str) -> Fraction:
    """ε of something that is paid for."""
    found = as_written(epsilon, keyword(f"{what}_epsilon"))
    if not Fraction(1, 1000) <= found <= 1000:
        raise InvalidInput(f"{keyword(f'{what}_epsilon')} lies between 0.001 and 1000, found {shown(epsilon)}")
    return found


@dataclass(frozen=True, eq=False)
class Looked:
    """The rows of a table that may be looked at: all, or the first of each person."""

    source: Source
    column: Position
    person: str | None = None
    most_rows: int | None = None

    @property
    def on_the_earth(self) -> bool:
        """Whether coordinates are latitudes and longitudes."""
        return isinstance(self.column.each[0], Place | Geometry) or self.column.system is not None

    def places(self) -> Iterator[tuple[Floats, Floats, int]]:
        """Latitudes and longitudes of finite places, or x and y, batch after batch, and how many rows count."""
        persons = None if self.person is None else Persons(self.person, self.most_rows or 1, "drop")
        first = 0
        for x, y, others in self.source.batches(self.column, [] if self.person is None else [self.person]):
            kept = np.isfinite(x) & np.isfinite(y)
            many = len(x)
            if persons is not None:  # rows beyond those of a person are not even counted
                within = persons.within(others[0], first)
                kept, many = kept & within, int(within.sum())
            yield x[kept], y[kept], many
            first += len(x)


# ----------------------------------------------------------------- a box


@dataclass(frozen=True, eq=False)
class Ranks:
    """How many rows have a latitude below each line of the public grid, the same for longitudes; and all rows."""

    lines: tuple[Floats, Floats]
    below: tuple[Integers, Integers]
    rows: int


def ranks_of(looked: Looked, epsilon: Fraction) -> Ranks:
    """Ranks of a table that has enough rows; nothing of them may be seen before it is paid for."""
    if not looked.on_the_earth:
        raise InvalidInput(
            f"{keyword('box', 'data')} is for latitudes and longitudes, whose range is known to everybody: give the "
            "box of other coordinates as xmin, ymin, xmax, ymax"
        )
    lines = tuple(np.arange(-reach * GRID, reach * GRID + 1) / GRID for reach in (90, 180))
    below = tuple(np.zeros(len(line), dtype=np.int64) for line in lines)
    rows = 0
    for *places, many in looked.places():
        for counts, line, values in zip(below, lines, places, strict=True):
            counts += np.bincount(np.searchsorted(line, values, side="right"), minlength=len(line) + 1)[:-1]
        rows += many
    below = tuple(np.cumsum(counts) for counts in below)
    needed = ceil(_ROWS_TIMES_EPSILON / epsilon)
    if rows < needed:
        raise InvalidInput(
            f"a box from the data at {keyword('box_epsilon')} {epsilon} needs {needed:,} rows or more, and there are "
            f"{rows:,}: noise would choose it; name the box, or pay more"
        )
    if not all(counts[-1] for counts in below):
        raise InvalidInput(f"no row of {looked.source.name} has a place")
    return Ranks((lines[0], lines[1]), (below[0], below[1]), rows)


def noisy_box(ranks: Ranks, epsilon: Fraction, unit: str) -> Extent:
    """A box around nearly all places, by noisy quantiles on a public grid and a margin."""
    return _around_most(ranks, unit, lambda below, share: noisy_quantile(below, share, ranks.rows, epsilon / _SIDES))


def true_box(ranks: Ranks, unit: str) -> Extent:
    """The same without noise, about where that will be: for whoever has the data, to be told nowhere."""
    return _around_most(ranks, unit, lambda below, share: int(np.argmin(np.abs(below - round(share * ranks.rows)))))


def _around_most(ranks: Ranks, unit: str, quantile: Callable[[Integers, Fraction], int]) -> Extent:
    ends = []
    for counts, line in zip(ranks.below, ranks.lines, strict=True):
        low, high = sorted(quantile(counts, share) for share in (_QUANTILE, 1 - _QUANTILE))
        first, last = (Fraction(round(line[at] * GRID), GRID) for at in (low, high))
        pad = Fraction(ceil(max(last - first, Fraction(2, GRID)) * _MARGIN * GRID), GRID)
        ends.append((first - pad, last + pad))
    (south, north), (west, east) = ends
    return Extent((max(south, Fraction(-89)), west, min(north, Fraction(89)), east), unit, True)


def noisy_quantile(below: Integers, share: Fraction, rows: int, epsilon: Fraction) -> int:
    """The index of a line, drawn by how near the number of rows below it is to a share of all.

    Examples
    --------
    >>> noisy_quantile(np.array([0, 0, 500, 1000]), Fraction(1, 2), 1000, Fraction(1))
    2
    """
    ladder, rungs = quantile_weights(below, share, rows, epsilon)
    lines = np.bincount(rungs, minlength=len(ladder)).tolist()  # as many have each weight
    at = secrets.randbelow(sum(weight * many for weight, many in zip(ladder, lines, strict=True)))
    for rung, (weight, many) in enumerate(zip(ladder, lines, strict=True)):
        if at < weight * many:
            return int(np.flatnonzero(rungs == rung)[at // weight])
        at -= weight * many
    raise AssertionError("a draw is below the sum of the weights")


def quantile_weights(below: Integers, share: Fraction, rows: int, epsilon: Fraction) -> tuple[list[int], Integers]:
    """Integer weights, and which of them each line has: with a row replaced, none changes by more than e^{ε/2}."""
    ratio = exp_bounds(-epsilon / 2)[1]  # rounded up, so that weights fall a little more slowly
    ladder = [_LARGEST_WEIGHT]
    while (following := ceil(ladder[-1] * ratio)) < ladder[-1]:
        ladder.append(following)
    away = np.abs(below.astype(np.int64) - round(share * rows))
    return ladder, np.minimum(away, len(ladder) - 1)


# ----------------------------------------------------------------- a prior


def noisy_counts(looked: Looked, box: Box, epsilon: Fraction) -> NDArray[np.int64]:
    """How many places lie in each cell, with noise, nothing below 0."""
    counts = np.zeros(box.shape, dtype=np.int64)
    for first, second, _ in looked.places():
        known = box.surface.possible((first, second))
        counts += cell_counts(box, (first[known], second[known]))
    drawn = np.asarray(integer_noise(epsilon / 2).draw(counts.ravel()))
    return np.maximum(drawn, 0).reshape(box.shape).astype(np.int64)


# ----------------------------------------------------------------- charges


def paid_for(what: str, epsilon: Fraction, rule: Sequence[Any], times: int) -> Paid:
    """Something with its charge: ε for a row, whatever it is replaced by."""
    charge = rule_charge(f"rows, for a {what}", ["rows"], f"epsilon {epsilon}", [what, *rule])
    return Paid(what, epsilon, charge, times)
