"""Draw from a proved mechanism: exactly the distribution that was proved, without a float on the way.

A :class:`Sampler` takes secrets by index, or points where these are the secrets, and gives outputs by index, in
batches. What it draws with:

====================================  =====================================================================
a mechanism that is a table           integer alias tables (:mod:`sfumato.draws.alias`)
a product of tables                   the tables of the factors (:mod:`sfumato.draws.plans`)
tight constraints on a large grid     rejection from proved bounds (:mod:`sfumato.mechanisms.lattice_draws`)
noise on all integers, pixels of
the truncated Laplace mechanism       tables of digits, enclosed by balls (:mod:`sfumato.draws.noise`)
a mechanism for coordinates           random rounding to a lattice, then its table (:mod:`sfumato.draws.rounding`)
====================================  =====================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import items
from sfumato.certify.charge import Charge
from sfumato.certify.protocol import Domain, ProvedMechanism, draw_digest, drawn
from sfumato.draws.noise import Rate
from sfumato.draws.plans import Plan, join, split
from sfumato.draws.randomness import Bits, FreshStream, KeyedBits, Stream, checked_ids, checked_key, system_bits
from sfumato.draws.rounding import RoundingPlan
from sfumato.errors import InvalidEpsilon, InvalidInput, NotSupported, short, shown
from sfumato.mechanisms.continuous.pixelation import pixels_on
from sfumato.mechanisms.line import GeometricNoise
from sfumato.numbers import Floats, Integers, Number
from sfumato.privacy.promise import promise
from sfumato.release.keys import check_statement

CHUNK = 1 << 16
"""Rows drawn at once: their random words stay in the cache."""

_LARGEST_FLAT = 1 << 62  # More tuples than this cannot be counted by one index.


@dataclass(frozen=True, eq=False, repr=False)
class Sampler:
    """A proved mechanism, ready to be drawn from; made by :func:`sampler`.

    ``source`` is that mechanism. ``secrets`` and ``outputs`` are the labels, by index. They are None for mechanisms on
    all integers, where an index is the integer itself; ``secrets`` is None on a box, whose points are never listed.
    Labels of grids and products are tuples, and their sequences are never listed.
    """

    secrets: Sequence[Any] | None
    outputs: Sequence[Any] | None
    plan: Plan
    name: str
    source: ProvedMechanism | None = None

    def __repr__(self) -> str:
        return f"Sampler({self.name})"

    @cached_property
    def digest(self) -> bytes:
        """What names the distribution that is drawn: labels and weights, not claims, nor how they came about."""
        return draw_digest(self.secrets, self.outputs, self.plan)

    @property
    def domain(self) -> Domain:
        """Where the secrets lie."""
        return self._mechanism().domain

    def as_charge(self) -> Charge:
        """What the mechanism is charged for."""
        return self._mechanism().as_charge()

    def _mechanism(self) -> ProvedMechanism:
        if self.source is None:
            raise InvalidInput(
                f"{shown(self)} does not say which mechanism it draws from: sampler(mechanism) makes one that does"
            )
        return self.source

    def draw(self, rows: Any, *, bits: Bits | None = None) -> Integers:
        """One output for each secret, by index, with fresh noise.

        Parameters
        ----------
        rows
            Indices of secrets, a one-dimensional array. For grids and products also a table with one row a secret and
            one column an axis; outputs then come in the same form. On a box: points, an array of floats with one row a
            point and one column a coordinate (on an interval also of one dimension), outputs by index.
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
        given = self._given(rows)
        if given.ndim and len(given) != len(names):
            raise InvalidInput(f"each row has an id: found {len(given)} rows and {len(names)} ids")
        return self._drawn(given, lambda first, last: KeyedBits(secret, self.digest, names[first:last]))

    def _given(self, rows: Any) -> NDArray[Any]:
        """Indices of secrets as an array, or points."""
        return _points(rows, self.plan.dimension) if isinstance(self.plan, RoundingPlan) else _array(rows)

    def _drawn(self, rows: Any, stream: Callable[[int, int], Stream]) -> Integers:
        points, secrets = isinstance(self.plan, RoundingPlan), self._given(rows)
        secrets = secrets if points else _checked(secrets, self.plan.sides)
        sides, output_sides = self.plan.sides or (0,), self.plan.output_sides or (0,)
        wide = secrets.ndim == 2 and not points
        result = np.empty((len(secrets), len(output_sides)) if wide else len(secrets), dtype=np.int64)
        for first in range(0, len(secrets), CHUNK):
            part = secrets[first : first + CHUNK]
            # a copy in either case: writeable, so that code is compiled for one kind of array
            columns = np.array(part.T, order="C") if wide or points else split(part, sides)
            drawn = self.plan.draw(columns, stream(first, first + CHUNK), np.arange(len(part)))
            result[first : first + CHUNK] = drawn.T if wide else join(drawn, output_sides)
        return result


def _points(given: Any, dimension: int) -> Floats:
    """Points as doubles, one row a point; that they are finite is looked at where they are drawn for."""
    try:
        table = np.asarray(given)
    except (ValueError, TypeError, OverflowError):
        table = np.empty(0, dtype=object)
    if table.ndim == 1 and dimension == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[1] != dimension or table.dtype.kind not in "iuf":
        form = "an array of numbers" if dimension == 1 else f"an array of numbers with {dimension} columns"
        raise InvalidInput(f"points are {form}, one row a point; found {shown(given)}")
    points = table.astype(np.float64, copy=False)
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InvalidInput(f"coordinates are finite numbers: point {row} is {tuple(points[row].tolist())}")
    return points


def _array(rows: Any) -> Any:
    try:
        return np.asarray(items(rows, "rows") if isinstance(rows, range) else rows)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInput(f"rows are integer indices of secrets, found {shown(rows)}") from error


def _checked(given: NDArray[Any], sides: tuple[int, ...] | None) -> Integers:
    """Indices that exist, in int64."""
    axes = 1 if sides is None else len(sides)
    wide = given.ndim == 2 and axes > 1 and given.shape[1] == axes
    if (given.ndim != 1 and not wide) or (given.size and given.dtype.kind not in "iu"):
        also = f", or a table with {axes} columns" if axes > 1 else ""
        raise InvalidInput(
            f"rows are integer indices of secrets in one dimension{also}; found {given.dtype} of shape {given.shape}"
        )
    if given.dtype.kind == "u" and given.size and int(given.max()) >= 1 << 63:
        raise InvalidInput(f"rows are indices below 2^63, found {given.max()}")
    if sides is not None and given.size:
        limits = sides if wide else (prod(sides),)
        if limits[0] > _LARGEST_FLAT:
            raise NotSupported("one index for so many secrets", [f"a table of indices with {axes} columns"])
        for axis, (column, limit) in enumerate(zip(given.T if wide else given[None], limits, strict=True)):
            if int(column.min()) < 0 or int(column.max()) >= limit:
                wrong = int(np.argmax((column < 0) | (column >= limit)))
                where = f" along axis {axis}" if wide else ""
                raise InvalidInput(
                    f"row {wrong} asks for secret number {column[wrong]}{where}; there are {limit}, counted from 0"
                )
    return np.ascontiguousarray(given, dtype=np.int64)


# ----------------------------------------------------------------- from a mechanism


def sampler(mechanism: Any, *, steps: int | None = None, pixels: int | None = None) -> Sampler:
    """What draws outputs of a mechanism: exactly its distribution, at millions of rows a second.

    Parameters
    ----------
    mechanism
        Whatever meets :class:`~sfumato.certify.protocol.ProvedMechanism`: a :class:`Mechanism`,
        :class:`ProductMechanism` or :class:`LatticeMechanism`, :class:`InfiniteGeometric` or :class:`Staircase` noise,
        a truncated Laplace mechanism with or without pixels, or a :class:`BoxMechanism` for coordinates. A sampler is
        itself.
    steps
        For the truncated Laplace mechanism: secrets are the points of the lattice U_N with this N.
    pixels
        For the truncated Laplace mechanism without pixels: how many its outputs are cut into.

    Examples
    --------
    >>> import sfumato as sf
    >>> noisy = sampler(sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2")))
    >>> noisy
    Sampler(3 secrets → 3 outputs)
    >>> outputs = noisy.draw([0, 0, 1, 2])
    >>> len(outputs), set(outputs.tolist()) <= {0, 1, 2}
    (4, True)
    """
    if steps is not None or pixels is not None:
        mechanism = pixels_on(mechanism, steps=steps, pixels=pixels)
    if isinstance(mechanism, Sampler):
        return mechanism
    source = drawn(mechanism)
    plan = source.as_plan()
    return Sampler(source.secrets, source.outputs, plan, plan.name, source)


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
    return sampler(GeometricNoise(rate))
