"""Symmetries of a problem on a box: reflections and exchanges of axes that change neither prior nor lattice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product

import numpy as np
from scipy.sparse import csr_array

from sfumato.numbers import Array, Floats, Integers
from sfumato.spaces.box import Box


@dataclass(frozen=True)
class Turn:
    """The axes of a box in another order, some of them reflected."""

    axes: tuple[int, ...]
    flipped: tuple[bool, ...]

    def of_table(self, table: Array) -> Array:
        """A table over cells or lattice points, as it looks after the turn."""
        turned = np.transpose(table, self.axes)
        return np.asarray(np.flip(turned, tuple(i for i, flip in enumerate(self.flipped) if flip)))

    def of_points(self, points: Floats, sides: Floats) -> Floats:
        """Points of the box, turned; whatever stands at x stands at the turned x afterwards."""
        turned = points[:, self.axes]
        return np.where(self.flipped, sides - turned, turned)


def turns(box: Box, breaks: Sequence[tuple[Fraction, ...]], density: Array) -> list[Turn]:
    """All turns that leave the box, the breaks of a lattice and a density on cells as they are, the identity first.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> square = box((2, 2), step=1)
    >>> breaks = [square.breaks(0), square.breaks(1)]
    >>> tables = [[1, 1], [1, 1]], [[1, 2], [1, 2]], [[1, 2], [3, 4]]
    >>> [len(turns(square, breaks, np.array(table))) for table in tables]
    [8, 2, 1]
    """
    found = []
    for axes in permutations(range(box.dimension)):
        for flipped in product((False, True), repeat=box.dimension):
            turn = Turn(axes, flipped)
            if (
                tuple(box.sides[a] for a in axes) == box.sides
                and tuple(box.step[a] for a in axes) == box.step
                and all(
                    _reflected(breaks[a], flip) == tuple(breaks[i])
                    for i, (a, flip) in enumerate(zip(axes, flipped, strict=True))
                )
                and np.array_equal(turn.of_table(density), density)
            ):
                found.append(turn)
    return found


def _reflected(breaks: tuple[Fraction, ...], flip: bool) -> tuple[Fraction, ...]:
    return tuple(breaks[-1] - t for t in reversed(breaks)) if flip else tuple(breaks)


@dataclass(frozen=True, eq=False)
class PointOrbits:
    """What a group of turns does to numbered points: ``images[g]`` has where each of them goes."""

    images: Integers

    @property
    def least(self) -> Integers:
        """The first point of each orbit, for every point."""
        return np.asarray(self.images.min(axis=0))

    @property
    def classes(self) -> Integers:
        """The orbit of each point, counted from 0."""
        return np.unique(self.least, return_inverse=True)[1].astype(np.int64)

    @property
    def sums(self) -> tuple[csr_array, Floats]:
        """The matrix that adds up what the points of each orbit have, and how many points that are."""
        classes, n = self.classes, self.images.shape[1]
        sizes = np.bincount(classes)
        return csr_array((np.ones(n), (classes, np.arange(n))), shape=(len(sizes), n)), sizes.astype(np.float64)

    @property
    def representatives(self) -> Integers:
        """One point for each orbit."""
        return np.unique(self.least)


def orbits_of_cells(group: Sequence[Turn], shape: tuple[int, ...]) -> PointOrbits:
    """PointOrbits of the cells, or lattice points, of a table."""
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    images = np.empty((len(group), numbers.size), dtype=np.int64)
    for g, turn in enumerate(group):
        # the turned table has at place p the number of the point that goes there
        images[g, turn.of_table(numbers).ravel()] = numbers.ravel()
    return PointOrbits(images)


def orbits_of_points(group: Sequence[Turn], points: Floats, sides: Floats) -> PointOrbits | None:
    """PointOrbits of points by their coordinates; None where a turn leads to a point that is not among them."""
    scale = 1e-9 * float(sides.max())
    keys = {tuple(key): i for i, key in enumerate(np.rint(points / scale).astype(np.int64).tolist())}
    images = np.empty((len(group), len(points)), dtype=np.int64)
    for g, turn in enumerate(group):
        where = np.rint(turn.of_points(points, sides) / scale).astype(np.int64).tolist()
        found = [keys.get(tuple(key), -1) for key in where]
        if min(found) < 0:
            return None
        images[g] = found
    return PointOrbits(images)
