"""Draw from a proved mechanism: exactly the distribution that was proved, without a float on the way.

A :class:`Sampler` takes secrets by index and gives outputs by index, in batches. What it draws with:

====================================  =====================================================================
a mechanism that is a table           integer alias tables (:mod:`sfumato.release.alias`)
a product of tables                   the tables of the factors (:mod:`sfumato.release.implicit`)
tight constraints on a large grid     rejection from proved bounds (:mod:`sfumato.release.implicit_lattice`)
geometric noise on all integers,
pixels of the truncated Laplace       tables of digits, enclosed by balls (:mod:`sfumato.release.implicit_noise`)
====================================  =====================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import blake2b
from json import dumps
from math import gcd, prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import items
from sfumato.certify.certificate import label_to_json
from sfumato.certify.mechanism import Mechanism
from sfumato.errors import InvalidEpsilon, InvalidInput, NotSupported, short, shown
from sfumato.mechanisms.continuous.interval import lattice
from sfumato.mechanisms.continuous.laplace import TruncatedLaplace
from sfumato.mechanisms.continuous.pixelation import Pixelated, pixelate
from sfumato.mechanisms.line import InfiniteGeometric
from sfumato.mechanisms.tight import LatticeMechanism, ProductMechanism
from sfumato.numbers import Number, whole
from sfumato.privacy.promise import promise
from sfumato.release.alias import AliasTables, alias_tables
from sfumato.release.implicit import IntegerNoise, Product, Tuples, join, pixels_of, split
from sfumato.release.implicit_lattice import cells_of
from sfumato.release.implicit_noise import Rate, noise
from sfumato.release.keys import check_statement
from sfumato.release.randomness import Bits, FreshStream, KeyedBits, Stream, checked_ids, checked_key, system_bits

__all__ = ["CHUNK", "Plan", "Sampler", "integer_noise", "sampler"]

CHUNK = 1 << 16
"""Rows drawn at once: their random words stay in the cache."""

_LARGEST_FLAT = 1 << 62  # tuples that can be counted by one index

Integers = NDArray[np.int64]


class Plan(Protocol):
    """What turns random words into outputs."""

    @property
    def sides(self) -> tuple[int, ...] | None:
        """The number of secrets along each axis, None where they are all integers."""
        ...

    @property
    def output_sides(self) -> tuple[int, ...] | None:
        """The same for outputs."""
        ...

    def draw(self, columns: Integers, stream: Stream, lanes: Integers) -> Integers:
        """One output for each secret: arrays with one row an axis, one column a secret."""
        ...

    def identity(self) -> bytes:
        """Bytes that two plans share only if they draw from one distribution for each secret."""
        ...


@dataclass(frozen=True, eq=False)
class Table:
    """A mechanism that is a table."""

    tables: AliasTables

    @property
    def sides(self) -> tuple[int, ...]:
        """The number of rows."""
        return (len(self.tables.weights),)

    @property
    def output_sides(self) -> tuple[int, ...]:
        """The number of columns."""
        return (self.tables.weights.shape[1],)

    def draw(self, columns: Integers, stream: Stream, lanes: Integers) -> Integers:
        """One output for each row."""
        return self.tables.draw(columns[0], stream, lanes)[None]

    def identity(self) -> bytes:
        """The weights in lowest terms."""
        weights = self.tables.weights
        shared = gcd(int(np.gcd.reduce(weights, axis=None)), self.tables.total)
        lowest = weights // shared if shared > 1 else weights
        size = -(-int(lowest.max()).bit_length() // 64)
        if size <= 1:
            return b"table 1" + lowest.astype("<u8").tobytes()
        return b"table %d" % size + b"".join(int(w).to_bytes(8 * size, "little") for w in lowest.ravel())


@dataclass(frozen=True, eq=False, repr=False)
class Sampler:
    """A proved mechanism, ready to be drawn from; made by :func:`sampler`.

    ``source`` is that mechanism, None for noise on the integers, which is its rate and nothing else. ``secrets`` and
    ``outputs`` are the labels, by index. They are None for mechanisms on all integers, where an index is the integer
    itself. Labels of grids and products are tuples, and their sequences are never listed.
    """

    secrets: Sequence[Any] | None
    outputs: Sequence[Any] | None
    plan: Plan
    name: str
    source: Any = None

    def __repr__(self) -> str:
        return f"Sampler({self.name})"

    @cached_property
    def digest(self) -> bytes:
        """What names the distribution that is drawn: labels and weights, not claims, nor how they came about."""
        labels = [_written(self.secrets), _written(self.outputs)]
        state = blake2b(dumps(labels).encode(), digest_size=32, person=b"sfumato sampler")
        state.update(self.plan.identity())
        return state.digest()

    def draw(self, rows: Any, *, bits: Bits | None = None) -> Integers:
        """One output for each secret, by index, with fresh noise.

        Parameters
        ----------
        rows
            Indices of secrets, a one-dimensional array. For grids and products also a table with one row a secret and
            one column an axis; outputs then come in the same form.
        bits
            A source of random bits; the system's unless given.
        """
        source = system_bits() if bits is None else bits
        if not isinstance(source, Bits):
            raise InvalidInput(f"a source of bits has a method words(count), found {type(source).__name__}")
        return self._drawn(rows, lambda _first, _last: FreshStream(source))

    def draw_keyed(self, rows: Any, ids: Any, key: bytes, *, secret_never_changes: bool = False) -> Integers:
        """One output for each secret, its noise a function of key, row id and mechanism: the same whenever asked.

        Parameters
        ----------
        rows
            As for :meth:`draw`.
        ids
            A 128-bit id for each row, an array of uint8 with 16 columns. An id belongs to one row for ever: what two
            secrets under one id are told is drawn with the same random bits.
        key
            32 bytes, as secret as the data.
        secret_never_changes
            Must be said: here nobody looks whether the secret of an id is the one that it had before, and under one key
            a changed answer tells for certain that it is not.
        """
        check_statement(secret_never_changes, keyed=True)
        names, secret = checked_ids(ids), checked_key(key)
        given = _array(rows)
        if given.ndim and len(given) != len(names):
            raise InvalidInput(f"each row has an id: found {len(given)} rows and {len(names)} ids")
        return self._drawn(given, lambda first, last: KeyedBits(secret, self.digest, names[first:last]))

    def _drawn(self, rows: Any, stream: Callable[[int, int], Stream]) -> Integers:
        found = _checked(rows, self.plan.sides)
        sides, output_sides = self.plan.sides or (0,), self.plan.output_sides or (0,)
        wide = found.ndim == 2
        result = np.empty((len(found), len(output_sides)) if wide else len(found), dtype=np.int64)
        for first in range(0, len(found), CHUNK):
            part = np.array(found[first : first + CHUNK])  # writeable, so that code is compiled for one kind of array
            columns = np.ascontiguousarray(part.T) if wide else _columns(part, sides)
            drawn = self.plan.draw(columns, stream(first, first + CHUNK), np.arange(len(part)))
            result[first : first + CHUNK] = drawn.T if wide else _flat(drawn, output_sides)
        return result


def _columns(flat: Integers, sides: tuple[int, ...]) -> Integers:
    return split(flat, sides) if len(sides) > 1 else flat[None]


def _flat(columns: Integers, sides: tuple[int, ...]) -> Integers:
    return join(columns, sides) if len(sides) > 1 else np.asarray(columns[0])


def _written(labels: Sequence[Any] | None) -> Any:
    """Labels for the digest; those that are never listed are part of what the plan says of itself."""
    return None if labels is None or isinstance(labels, Tuples) else [label_to_json(label) for label in labels]


def _array(rows: Any) -> Any:
    try:
        return np.asarray(items(rows, "rows") if isinstance(rows, range) else rows)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInput(f"rows are integer indices of secrets, found {shown(rows)}") from error


def _checked(rows: Any, sides: tuple[int, ...] | None) -> Integers:
    """Indices that exist, in int64."""
    found = _array(rows)
    axes = 1 if sides is None else len(sides)
    wide = found.ndim == 2 and axes > 1 and found.shape[1] == axes
    if (found.ndim != 1 and not wide) or (found.size and found.dtype.kind not in "iu"):
        also = f", or a table with {axes} columns" if axes > 1 else ""
        raise InvalidInput(
            f"rows are integer indices of secrets in one dimension{also}; found {found.dtype} of shape {found.shape}"
        )
    if found.dtype.kind == "u" and found.size and int(found.max()) >= 1 << 63:
        raise InvalidInput(f"rows are indices below 2^63, found {found.max()}")
    if sides is not None and found.size:
        limits = sides if wide else (prod(sides),)
        if limits[0] > _LARGEST_FLAT:
            raise NotSupported("one index for so many secrets", [f"a table of indices with {axes} columns"])
        for axis, (column, limit) in enumerate(zip(found.T if wide else found[None], limits, strict=True)):
            if int(column.min()) < 0 or int(column.max()) >= limit:
                wrong = int(np.argmax((column < 0) | (column >= limit)))
                where = f" along axis {axis}" if wide else ""
                raise InvalidInput(
                    f"row {wrong} asks for secret number {column[wrong]}{where}; there are {limit}, counted from 0"
                )
    return np.ascontiguousarray(found, dtype=np.int64)


# ----------------------------------------------------------------- from a mechanism


def sampler(mechanism: Any, *, steps: int | None = None, pixels: int | None = None) -> Sampler:
    """What draws outputs of a mechanism: exactly its distribution, at millions of rows a second.

    Parameters
    ----------
    mechanism
        A proved :class:`Mechanism`, :class:`ProductMechanism` or :class:`LatticeMechanism`, an
        :class:`InfiniteGeometric`, or a truncated Laplace mechanism with or without pixels. A sampler is itself.
    steps
        For the truncated Laplace mechanism: secrets are the points of the lattice U_N with this N.
    pixels
        For the truncated Laplace mechanism without pixels: how many its outputs are cut into.

    Examples
    --------
    >>> from sfumato.mechanisms import geometric
    >>> from sfumato.privacy import PrivacyType
    >>> from sfumato.spaces import line
    >>> noisy = sampler(geometric(PrivacyType(line(3), alpha="1/2")))
    >>> noisy
    Sampler(3 secrets → 3 outputs)
    >>> outputs = noisy.draw([0, 0, 1, 2])
    >>> len(outputs), set(outputs.tolist()) <= {0, 1, 2}
    (4, True)
    """
    if isinstance(mechanism, TruncatedLaplace):
        if pixels is None:
            raise InvalidInput("outputs are told by pixels: say how many, sampler(mechanism, pixels=…, steps=…)")
        mechanism, pixels = pixelate(mechanism, pixels), None
    if pixels is not None or (steps is not None and not isinstance(mechanism, Pixelated)):
        raise InvalidInput("steps and pixels are for the truncated Laplace mechanism; others know their secrets")
    if isinstance(mechanism, Sampler):
        return mechanism
    if isinstance(mechanism, Mechanism):
        return _of_table(mechanism)
    if isinstance(mechanism, ProductMechanism):
        return _of_product(mechanism)
    if isinstance(mechanism, LatticeMechanism):
        labels = Tuples([range(side) for side in mechanism.lattice.shape])
        name = f"{' × '.join(map(str, mechanism.lattice.shape))} cells"
        return Sampler(labels, labels, cells_of(mechanism), name, mechanism)
    if isinstance(mechanism, InfiniteGeometric):
        return integer_noise(alpha=mechanism.alpha)
    if isinstance(mechanism, Pixelated):
        if steps is None:
            raise InvalidInput("secrets are points of a lattice: say how many steps, sampler(mechanism, steps=…)")
        steps = whole(steps, "steps")
        name = f"{steps + 1} points of {mechanism.interval} → {mechanism.pixels} pixels"
        points = lattice(steps, mechanism.interval)
        return Sampler(points, mechanism.outputs, pixels_of(mechanism, steps), name, mechanism)
    raise NotSupported(
        f"draws from a value of type {type(mechanism).__name__}",
        ["Mechanism", "ProductMechanism", "LatticeMechanism", "InfiniteGeometric", "TruncatedLaplace", "Pixelated"],
    )


def integer_noise(epsilon: Number | None = None, *, alpha: Number | None = None) -> Sampler:
    """Two-sided geometric noise for any integers: P(x + k) = (1 − α)/(1 + α)·α^|k|, exactly.

    Parameters
    ----------
    epsilon
        ε > 0 for each step; α = e^{−ε} is irrational for a rational ε, and drawn from all the same.
    alpha
        Instead of ε: α itself.

    Examples
    --------
    >>> integer_noise("1/10")
    Sampler(integers, noise with epsilon=1/10)
    """
    rate = Rate(*promise(epsilon, alpha))
    if rate.alpha is not None and not 0 < rate.alpha < 1:
        raise InvalidEpsilon(f"alpha lies strictly between 0 and 1, found {short(rate.alpha)}")
    if rate.epsilon is not None and rate.epsilon <= 0:
        raise InvalidEpsilon(f"epsilon must be positive, found {short(rate.epsilon)}")
    said = f"epsilon={_short(rate.epsilon)}" if rate.epsilon is not None else f"alpha={_short(rate.alpha)}"
    return Sampler(None, None, IntegerNoise(noise(rate, fair=False)), f"integers, noise with {said}")


def _short(value: Fraction | None) -> str:
    text = str(value)
    return text if len(text) <= 24 or value is None else f"{float(value):.12g}"


def _of_table(mechanism: Mechanism) -> Sampler:
    name = f"{len(mechanism.secrets)} secrets → {len(mechanism.outputs)} outputs"
    tables = alias_tables(mechanism.weights, mechanism.total)
    return Sampler(mechanism.secrets, mechanism.outputs, Table(tables), name, mechanism)


def _of_product(mechanism: ProductMechanism) -> Sampler:
    made: dict[int, Sampler] = {}
    for factor in mechanism.factors:  # often one mechanism many times
        if id(factor) not in made:
            made[id(factor)] = _of_table(factor)
    parts = [made[id(factor)] for factor in mechanism.factors]
    secrets, outputs = (Tuples([getattr(part, which) for part in parts]) for which in ("secrets", "outputs"))
    tables = tuple(part.plan.tables for part in parts if isinstance(part.plan, Table))
    name = f"{' × '.join(str(len(f.secrets)) for f in mechanism.factors)} secrets"
    return Sampler(secrets, outputs, Product(tables, tuple(part.digest for part in parts)), name, mechanism)
