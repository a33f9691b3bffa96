"""Coordinates in, outputs out, where noise is the same everywhere: rounding to a lattice, then an offset, then the box.

An offset is drawn from one table, whose last entry stands for the floor: an output of the extended lattice, the same
chance for all of them, wherever the point is. What is drawn beyond the lattice is moved to its border.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.draws.alias import AliasTables, alias_tables
from sfumato.draws.plans import split
from sfumato.draws.randomness import Stream
from sfumato.draws.rounding import RoundingPlan

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
