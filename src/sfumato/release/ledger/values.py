"""What a ledger gives back: entries, limits, and what was spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import Any, NamedTuple

from sfumato.certify.amounts import Amount
from sfumato.certify.charge import box_metric, metric_digest, rate_of
from sfumato.certify.coordinates import as_point
from sfumato.errors import InvalidInput, shown
from sfumato.spaces.box import Box
from sfumato.spaces.finite import FiniteSpace
from sfumato.spaces.space import Space


@dataclass(frozen=True)
class Entry:
    """One line of a ledger.

    ``charged`` says how many times the promise was added to what is spent: ``times``, or less where a keyed release
    repeated an earlier one. ``key`` and ``data`` are fingerprints; ``key`` is None for fresh noise. ``delta`` is the δ
    of a promise about events, None for one about distances.
    """

    id: int
    time: str
    dataset: str
    column: str
    scope: str
    space: str
    unit: str
    metric: str
    promise: str
    mechanism: str
    noise: str
    rows: int | None
    times: int
    charged: int
    key: str | None
    data: str | None
    token: str | None
    note: str
    delta: str | None = None

    @property
    def cost(self) -> Amount:
        """The ε that the entry added, per unit of distance or for two neighbours."""
        return rate_of(self.promise) * self.charged

    @property
    def delta_cost(self) -> Fraction:
        """The δ that the entry added."""
        return Fraction(self.delta or 0) * self.charged


@dataclass(frozen=True)
class BudgetLimit:
    """The most that may be spent: on each column of its own (``columns`` None and ``dataset`` None), on all columns of
    a dataset together (``columns`` None), or on some columns together. ``promise`` None lifts it; where ``delta`` is
    None, no δ may be spent at all.
    """

    dataset: str | None
    columns: tuple[str, ...] | None
    promise: str | None
    unit: str | None
    time: str
    delta: str | None = None

    @property
    def amount(self) -> Amount | None:
        """The most ε, as a number."""
        return None if self.promise is None else rate_of(self.promise)

    @property
    def most_delta(self) -> Fraction:
        """The most δ, as a number."""
        return Fraction(self.delta or 0)

    def __str__(self) -> str:
        if self.promise is None:
            return f"{scope_words(self.dataset, self.columns)}: no limit"
        unit = f" per {self.unit}" if self.unit else ""
        beside = f", with delta at most {self.most_delta}" if self.delta is not None else ""
        return f"{scope_words(self.dataset, self.columns)}: at most {self.amount}{unit}{beside}"


@dataclass(frozen=True)
class SpentPart:
    """What was spent of one column in one metric, on the rows of one scope ("" for all rows); ``delta`` is None where
    promises are about distances.
    """

    column: str
    scope: str
    space: str
    unit: str
    metric: str
    amount: Amount
    delta: Fraction | None = None


@dataclass(frozen=True)
class Spent:
    """What was spent of some columns: in each metric, and in all for the rows that had most."""

    dataset: str
    parts: tuple[SpentPart, ...]

    @property
    def total(self) -> Amount:
        """ε, summed over metrics and columns, for the scope where it is largest."""
        return max(self.of(scope) for scope in self.scopes)

    @property
    def delta(self) -> Fraction:
        """δ, summed in the same way; 0 where nothing was promised about events."""
        return max(self.delta_of(scope) for scope in self.scopes)

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that occur, "" first."""
        return tuple(dict.fromkeys(["", *(part.scope for part in self.parts)]))

    @property
    def units(self) -> tuple[str, ...]:
        """The units that occur."""
        return tuple(dict.fromkeys(part.unit for part in self.parts))

    def of(self, scope: str) -> Amount:
        """The sum over metrics and columns for the rows of one scope; what was spent on all rows counts there too."""
        return sum((part.amount for part in self._parts_of(scope)), Amount())

    def delta_of(self, scope: str) -> Fraction:
        """The sum of δ in the same way."""
        return sum((part.delta or Fraction(0) for part in self._parts_of(scope)), Fraction(0))

    def between(self, x: Any, z: Any, *spaces: Any, bits: int = 64) -> tuple[Fraction, Fraction]:
        """Rationals around Σ_m E_m d_m(x, z), the exponent that bounds how well two secrets are told apart.

        The spaces of all metrics that occur are needed; a ledger knows them by their digest only. For promises about
        coordinates any box of the norm and unit will do, and x and z are points. Promises about events
        hold for neighbours, with a δ, and have no distances: ``total`` and ``delta`` are what they come to.
        """
        known = {metric.digest: metric.between for metric in map(_metric_of, spaces)}
        best = Fraction(0), Fraction(0)
        for scope in self.scopes:
            low = high = Fraction(0)
            for part in self._parts_of(scope):
                if part.delta is not None:
                    raise InvalidInput(
                        f"what was told of {shown(part.column)} is a promise about events of {part.space}, which has "
                        "no distances: for neighbours it is .total and .delta, for others there is none"
                    )
                if part.metric not in known:
                    raise InvalidInput(f"{part.space} is among what was released: give that space too")
                near = known[part.metric](x, z, bits)
                rate = part.amount.bounds(bits)
                low, high = low + rate[0] * near[0], high + rate[1] * near[1]
            best = max(best[0], low), max(best[1], high)
        return best

    def _parts_of(self, scope: str) -> list[SpentPart]:
        return [part for part in self.parts if part.scope in ("", scope)]


class _Metric(NamedTuple):
    """How a ledger knows a metric, and rationals around the distance of two secrets, or of two points."""

    digest: str
    between: Callable[[Any, Any, int], tuple[Fraction, Fraction]]


def _metric_of(space: Space) -> _Metric:
    digest, distance = _METRICS[space.about]
    return _Metric(digest(space), partial(distance, space))


def _distance_of_secrets(space: FiniteSpace, x: Any, z: Any, bits: int) -> tuple[Fraction, Fraction]:
    where = space.index(x), space.index(z)
    if space.distances.infinite[where]:
        raise InvalidInput(f"{shown(x)} and {shown(z)} are infinitely far apart in {space.name}: nothing is promised")
    near: tuple[Fraction, Fraction] = space.distances.bounds(space.distances.values[where], bits)
    return near


def _distance_of_points(box: Box, x: Any, z: Any, bits: int) -> tuple[Fraction, Fraction]:
    instead = ["the total, an ε for a unit of distance"]
    box.surface.needs_a_plane(f"great circles of {box.name} in rationals", instead)
    gaps = [abs(a - b) for a, b in zip(as_point(x, box), as_point(z, box), strict=True)]
    if box.metric != "euclidean" or len(gaps) == 1:
        total = max(gaps) if box.metric == "chebyshev" else sum(gaps, Fraction(0))
        return total, total
    square = sum((gap**2 for gap in gaps), Fraction(0))
    scale = square.denominator << bits  # √(p/q) = √(p q)/q, and digits after the point
    root = isqrt(square.numerator * square.denominator << 2 * bits)
    exactly = root * root == square.numerator * square.denominator << 2 * bits
    return Fraction(root, scale), Fraction(root if exactly else root + 1, scale)


def scope_words(dataset: str | None, columns: tuple[str, ...] | None) -> str:
    """Some columns, in words."""
    if dataset is None:
        return "each column"
    if columns is None:
        return f"{dataset!r}, all columns together"
    if len(columns) == 1:
        return f"column {columns[0]!r} of {dataset!r}"
    return f"columns {', '.join(map(repr, columns))} of {dataset!r} together"


_METRICS: dict[str, tuple[Callable[[Any], str], Callable[..., tuple[Fraction, Fraction]]]] = {
    "secrets": (metric_digest, _distance_of_secrets), "coordinates": (box_metric, _distance_of_points),
}  # fmt: skip
"""How the metric of a space is known, and its distances."""
