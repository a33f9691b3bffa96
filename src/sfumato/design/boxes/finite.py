"""The finite problem whose optimum no mechanism on a box goes below, in floats, and windows of it.

Secrets are the lower corners of cells: shifted by any one vector they have the same masses, so that the loss of every
mechanism on the box is at least the best of one finite problem with outputs anywhere. Outputs are rounded at random to
the corners of cubes, which costs at most what the loss bends in a cube (:mod:`sfumato.certify.box_bounds`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from sfumato.design.boxes.symmetry import PointOrbits, Turn, orbits_of_cells
from sfumato.numbers import Floats, Integers, exact
from sfumato.spaces.box import NORMS, Box


def bends(low: Floats, sides: Floats, metric: str) -> Floats:
    """How much ‖·‖ bends at most in boxes: what is interpolated between their corners exceeds it by no more.

    Parameters
    ----------
    low
        The lowest corner of each box, coordinates last; no coordinate changes its sign within one.
    sides
        Their sides along the axes.

    Examples
    --------
    >>> bends(np.array([[3.0, 0.0], [0.0, 0.0]]), np.array([1.0, 1.0]), "euclidean").round(3).tolist()
    [0.051, 0.293]
    >>> bends(np.array([[3.0, 0.0], [0.0, 0.0]]), np.array([1.0, 1.0]), "manhattan").tolist()
    [0.0, 0.0]
    """
    corners = np.stack([low + sides * np.array(c) for c in product((0.0, 1.0), repeat=len(sides))], axis=-2)
    lengths = np.linalg.norm(corners, ord=NORMS[metric], axis=-1)
    centre = low + sides / 2
    if metric == "euclidean":
        support = centre / np.linalg.norm(centre, axis=-1, keepdims=True)
    elif metric == "manhattan":
        support = np.sign(centre)
    else:
        size = np.abs(centre)
        largest = size >= size.max(axis=-1, keepdims=True) * (1 - 1e-12)
        support = np.sign(centre) * largest / largest.sum(axis=-1, keepdims=True)
    found = (lengths - (corners * support[..., None, :]).sum(axis=-1)).max(axis=-1)
    if metric == "euclidean" and len(sides) > 1:
        ends = np.stack([np.abs(low), np.abs(low + sides)])
        nearest, farthest = np.where(low * (low + sides) <= 0, 0.0, ends.min(axis=0)), ends.max(axis=0) ** 2
        others = farthest.sum(axis=-1, keepdims=True) - farthest
        with np.errstate(divide="ignore"):
            curved = (sides**2 * others).sum(axis=-1) / (8 * np.linalg.norm(nearest, axis=-1) ** 3)
        found = np.minimum(found, curved)
    return np.asarray(np.maximum(found, 0.0))


@dataclass(frozen=True, eq=False)
class FiniteProblem:
    """Secrets at the lower corners of cells, their masses, and ε: what every mechanism on the box is restricted to."""

    box: Box
    parts: tuple[int, ...]
    density: Floats
    rate: float
    group: list[Turn]

    @property
    def shape(self) -> tuple[int, ...]:
        """Secrets along each axis."""
        return tuple(cells * part for cells, part in zip(self.box.shape, self.parts, strict=True))

    @cached_property
    def step(self) -> Floats:
        """The distance of neighbouring secrets along each axis."""
        return np.array([float(step / part) for step, part in zip(self.box.step, self.parts, strict=True)])

    @property
    def extent(self) -> Floats:
        """How many steps the last secret is from the first, along each axis."""
        return np.array(self.shape, dtype=np.float64) - 1

    @cached_property
    def places(self) -> Integers:
        """The place of each secret, in steps."""
        return np.stack(np.meshgrid(*map(np.arange, self.shape), indexing="ij"), axis=-1).reshape(-1, len(self.shape))

    @cached_property
    def masses(self) -> Floats:
        """The prior of the secrets: that of their cells in equal parts."""
        table = self.density.reshape(self.box.shape)
        for axis, part in enumerate(self.parts):
            table = np.repeat(table, part, axis=axis) / part
        return np.asarray(table.ravel())

    @cached_property
    def logs(self) -> Floats:
        """ε‖x − x′‖ for all pairs."""
        return self.logs_among(np.arange(len(self.places)))

    def logs_among(self, secrets: Integers) -> Floats:
        """ε‖x − x′‖ for all pairs of some secrets."""
        where = self.places[secrets] * self.step
        return np.asarray(self.rate * np.linalg.norm(where[:, None] - where[None], ord=NORMS[self.box.metric], axis=2))

    def window(self, low: tuple[int, ...], high: tuple[int, ...]) -> FiniteProblem:
        """The secrets from one place to another, which is not among them; without symmetries."""
        axes, shape = len(low), tuple(end - start for start, end in zip(low, high, strict=True))
        step = tuple(exact(float(length)) for length in self.step)
        sides = tuple(length * many for length, many in zip(step, shape, strict=True))
        box = replace(self.box, sides=sides, step=step, origin=(), frame=None)
        part = self.masses.reshape(self.shape)[tuple(map(slice, low, high))]
        same = Turn(tuple(range(axes)), (False,) * axes)
        return FiniteProblem(box, (1,) * axes, part.ravel(), self.rate, [same])

    @cached_property
    def secrets(self) -> PointOrbits:
        """PointOrbits of the secrets."""
        return orbits_of_cells(self.group, self.shape)

    def lowered(self, corners: Integers, level: int, secrets: Integers | slice = slice(None)) -> Floats:
        """What corners lose at secrets, less what the loss bends in the cubes around them, all of one level.

        Corners are given in units of the sides of these cubes, which are steps halved ``level`` times.
        """
        scale = 1 << level
        offsets = corners[None, :, :] - scale * self.places[secrets][:, None, :]
        reach = np.array(self.shape) * scale + 1
        if level not in self._bends:
            self._bends[level] = self._bends_around(level)
        table = self._bends[level]
        lengths = np.linalg.norm(offsets * (self.step / scale), ord=NORMS[self.box.metric], axis=2)
        return np.asarray(lengths - table[tuple(np.moveaxis(offsets + reach, -1, 0))])

    @cached_property
    def _bends(self) -> dict[int, Floats]:
        """What :meth:`_bends_around` has found, by level."""
        return {}

    def _bends_around(self, level: int) -> Floats:
        """For each offset of a corner from a secret the most that the loss bends in a cube with that corner."""
        scale = 1 << level
        reach = np.array(self.shape) * scale + 1
        axes = [np.arange(-r - 1, r + 1) for r in reach]
        low = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1) * (self.step / scale)
        cubes = bends(low, self.step / scale, self.box.metric)
        # cube number t along an axis lies between offsets t and t + 1, the first one below the least offset
        for axis in range(cubes.ndim):
            first, last = (np.take(cubes, range(k, cubes.shape[axis] - 1 + k), axis=axis) for k in (0, 1))
            cubes = np.maximum(first, last)
        return cubes
