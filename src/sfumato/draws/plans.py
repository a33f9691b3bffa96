"""Plans: what turns random words into outputs. Tables, products, noise on the integers, pixels.

A plan has *axes*: secrets and outputs are tuples of indices, one column of an array for each axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, lcm, prod
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from sfumato.draws.alias import AliasTables, limbs_of
from sfumato.draws.noise import Noise, StaircaseNoise
from sfumato.draws.randomness import Stream
from sfumato.errors import InvalidInput, Mismatch, shown
from sfumato.numbers import Array

Columns = NDArray[np.int64]

LARGEST_SECRET = 1 << 61
"""Integers up to this size get noise on the integers; the sum then fits 64 bits."""


def split(flat: NDArray[np.int64], sides: Sequence[int]) -> Columns:
    """Indices along each axis, one row an axis, of indices that count all tuples, the last axis first."""
    result = np.empty((len(sides), len(flat)), dtype=np.int64)
    for axis in range(len(sides) - 1, 0, -1):
        over = flat // sides[axis]
        result[axis] = flat - over * sides[axis]
        flat = over
    result[0] = flat
    return result


def join(columns: Columns, sides: Sequence[int]) -> NDArray[np.int64]:
    """The inverse of :func:`split`."""
    place: NDArray[np.int64] = columns[0]
    for column, side in zip(columns[1:], sides[1:], strict=True):
        place = place * side + column
    return place


class Tuples(Sequence[tuple[Any, ...]]):
    """All tuples of labels, one label from each axis, the last axis first: a sequence that is never listed.

    Examples
    --------
    >>> labels = Tuples((range(1000), range(1000)))
    >>> len(labels), labels[1_999], labels.index((1, 999))
    (1000000, (1, 999), 1999)
    """

    def __init__(self, axes: Sequence[Sequence[Any]]) -> None:
        self.axes = tuple(axes)
        self._numbers = tuple(
            axis if isinstance(axis, range) else {label: i for i, label in enumerate(axis)} for axis in self.axes
        )

    def __len__(self) -> int:
        return prod(len(axis) for axis in self.axes)

    @overload
    def __getitem__(self, index: int) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[Any, ...]]: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        size = prod(map(len, self.axes))  # len(self) has 63 bits at most
        place = int(index) + (size if index < 0 else 0)
        if not 0 <= place < size:
            raise IndexError(f"label number {index} of {size}")
        parts = []
        for axis in reversed(self.axes):
            place, i = divmod(place, len(axis))
            parts.append(axis[i])
        return tuple(reversed(parts))

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """The number of a tuple, without a search."""
        parts = value if isinstance(value, tuple) else (value,)
        place = 0
        try:
            for axis, numbers, part in zip(self.axes, self._numbers, parts, strict=True):
                place = place * len(axis) + (numbers.index(part) if isinstance(numbers, range) else numbers[part])
        except (KeyError, ValueError, TypeError) as error:
            raise Mismatch("labels", self[:20], (value,), f"{shown(value)} is not among {shown(self)}") from error
        return place

    def __contains__(self, value: object) -> bool:
        try:
            self.index(value)
        except Mismatch:
            return False
        return True

    def __repr__(self) -> str:
        return f"Tuples({' × '.join(str(len(axis)) for axis in self.axes)})"


# ----------------------------------------------------------------- tables and products


class Plan(Protocol):
    """What turns random words into outputs."""

    @property
    def name(self) -> str:
        """How many secrets and outputs there are, in words."""
        ...

    @property
    def sides(self) -> tuple[int, ...] | None:
        """The number of secrets along each axis, None where they are all integers or all points of a box."""
        ...

    @property
    def output_sides(self) -> tuple[int, ...] | None:
        """The same for outputs."""
        ...

    def draw(self, columns: Columns, stream: Stream, lanes: NDArray[np.int64]) -> Columns:
        """One output for each secret: arrays with one row an axis, one column a secret."""
        ...

    def identity(self) -> bytes:
        """Bytes that two plans share only if they draw from one distribution for each secret."""
        ...


@dataclass(frozen=True, eq=False)
class TablePlan:
    """The rows of one table."""

    tables: AliasTables

    @property
    def name(self) -> str:
        """Rows and columns."""
        return "{} secrets → {} outputs".format(*self.tables.weights.shape)

    @property
    def sides(self) -> tuple[int, ...]:
        """The number of rows."""
        return (len(self.tables.weights),)

    @property
    def output_sides(self) -> tuple[int, ...]:
        """The number of columns."""
        return (self.tables.weights.shape[1],)

    def draw(self, columns: Columns, stream: Stream, lanes: NDArray[np.int64]) -> Columns:
        """One output for each row."""
        return self.tables.draw(columns[0], stream, lanes)[None]

    def identity(self) -> bytes:
        """The weights in lowest terms."""
        return table_identity(self.tables.weights, self.tables.total)


def table_identity(weights: Array, total: int) -> bytes:
    """The weights of a table in lowest terms."""
    shared = gcd(int(np.gcd.reduce(weights, axis=None)), total)
    lowest = weights // shared if shared > 1 else weights
    size = -(-int(lowest.max()).bit_length() // 64)
    return b"table %d" % size + limbs_of(lowest, size).astype("<u8", copy=False).tobytes()


@dataclass(frozen=True, eq=False)
class Product:
    """Mechanisms side by side, drawn one after another: one word of a lane for each."""

    factors: tuple[AliasTables, ...]
    digests: tuple[bytes, ...]
    """The digest of each factor."""

    @property
    def name(self) -> str:
        """Secrets of each factor."""
        return f"{' × '.join(map(str, self.sides))} secrets"

    @property
    def sides(self) -> tuple[int, ...]:
        """Secrets of each factor."""
        return tuple(factor.weights.shape[0] for factor in self.factors)

    @property
    def output_sides(self) -> tuple[int, ...]:
        """Outputs of each factor."""
        return tuple(factor.weights.shape[1] for factor in self.factors)

    def draw(self, columns: Columns, stream: Stream, lanes: NDArray[np.int64]) -> Columns:
        """One output for each column."""
        sides = enumerate(zip(self.factors, columns, strict=True))
        return np.stack([tables.draw(rows, stream, lanes, k) for k, (tables, rows) in sides])

    def identity(self) -> bytes:
        """The factors in their order."""
        return b"product" + b"".join(self.digests)


# ----------------------------------------------------------------- noise on integers


@dataclass(frozen=True, eq=False)
class AddedNoise:
    """An integer plus noise."""

    noise: Noise | StaircaseNoise
    sides: None = None
    output_sides: None = None

    @property
    def name(self) -> str:
        """Which noise."""
        return f"integers, noise with {self.noise.name}"

    def draw(self, columns: Columns, stream: Stream, lanes: NDArray[np.int64]) -> Columns:
        """One integer for each."""
        if columns.size and max(-int(columns.min()), int(columns.max())) > LARGEST_SECRET:
            raise InvalidInput(f"integers that get noise lie within ±2^61, found {columns.min()} to {columns.max()}")
        return columns + self.noise.draw(stream, lanes)

    def identity(self) -> bytes:
        """The rate, which is all there is."""
        return b"integers " + self.noise.identity()


# ----------------------------------------------------------------- pixels


@dataclass(frozen=True, eq=False)
class Pixels:
    """The truncated Laplace mechanism on a lattice of secrets, told by pixels.

    Secrets and edges of pixels lie on a common lattice of ``cells`` cells. From a secret, which lies on an edge, noise
    reaches a cell of that lattice, g cells to the right or g + 1 to the left, with the chance (1 − β)β^g/2 on either
    side; what leaves the interval counts for the cell at the end, and a pixel is some cells in a row.
    """

    noise: Noise
    steps: int
    pixels: int
    interval: str = ""
    """Where the points lie, in words."""

    @property
    def name(self) -> str:
        """Points and pixels."""
        return f"{self.steps + 1} points of {self.interval} → {self.pixels} pixels"

    @property
    def cells(self) -> int:
        """Cells of the common lattice."""
        return lcm(self.steps, self.pixels)

    @property
    def sides(self) -> tuple[int, ...]:
        """N + 1 secrets."""
        return (self.steps + 1,)

    @property
    def output_sides(self) -> tuple[int, ...]:
        """T pixels."""
        return (self.pixels,)

    def draw(self, columns: Columns, stream: Stream, lanes: NDArray[np.int64]) -> Columns:
        """One pixel for each secret."""
        cells = columns * (self.cells // self.steps) + self.noise.draw(stream, lanes)
        return np.asarray(np.clip(cells, 0, self.cells - 1) // (self.cells // self.pixels))

    def identity(self) -> bytes:
        """The rate of a cell and the two lattices."""
        return f"pixels {self.noise.rate!r} {self.steps} {self.pixels}".encode()
