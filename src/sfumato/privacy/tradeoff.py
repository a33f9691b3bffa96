"""Trade-off curves of pairs of secrets: what an event can be worth to somebody who tells two secrets apart.

Among all events that have probability a for secret x, the likeliest for x′ takes outputs in the order of the
likelihood ratio (Neyman and Pearson). So the corners of the curve are n events out of 2ⁿ, and every question about
all events is one about these: the least δ at ε, the least ε at δ, and whether a predicate holds.

Rational channels are treated as they are. Float channels stand for the rationals that they store, with each row
divided by its exact total.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import inf, log
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.arguments import items, precision
from sfumato.channels.channel import Channel, as_channel
from sfumato.errors import InvalidInput, Mismatch, expect
from sfumato.numbers import (
    Array,
    Number,
    common_denominator,
    floats,
    log_bounds,
    number_pairs,
    object_array,
    printed_above,
)
from sfumato.privacy.predicates_curves import Growth, growth, probability
from sfumato.spaces.finite import FiniteSpace, label_place
from sfumato.threads import over_pairs

Point = tuple[Fraction, Fraction]


@dataclass(frozen=True, eq=False)
class TradeOff:
    """A concave polygon from (0, 0) to (1, 1): the largest Q(O) that goes with P(O) = a, randomised events included.

    ``points`` are its corners (P(O), Q(O)); ``events`` the events there, empty tuples if the curve belongs to no
    channel; ``pairs`` the secrets each corner comes from. As a trade-off function of f-DP it is f(a) = 1 − power(a).

    Examples
    --------
    >>> curve = TradeOff.through([("1/4", "1/2")])
    >>> curve.power(Fraction(1, 8)), curve(Fraction(1, 8)), curve.delta(alpha="2/3")
    (Fraction(1, 4), Fraction(3, 4), Fraction(1, 8))
    """

    points: tuple[Point, ...]
    events: tuple[tuple[Any, ...], ...] = ()
    pairs: tuple[tuple[Any, Any], ...] = ()

    @classmethod
    def through(cls, points: Iterable[tuple[Number, Number]]) -> TradeOff:
        """The least concave curve above some points of the unit square, (0, 0) and (1, 1)."""
        given = number_pairs(points, "the corners of a trade-off curve")
        if any(not (0 <= a <= 1 and 0 <= b <= 1) for a, b in given):
            raise InvalidInput("a trade-off curve has its corners in the unit square")
        return cls(tuple(point for point, _ in _hull([(point, 0) for point in given])))

    def __call__(self, a: Number) -> Fraction:
        """The trade-off function f(a) = 1 − power(a): the least error of the second kind at level a."""
        return 1 - self.power(a)

    def power(self, a: Number) -> Fraction:
        """The largest probability under the second secret of an event with probability a under the first."""
        return polygon_height(self.points, probability(a, "a probability"))

    def delta(self, *, epsilon: Number | None = None, alpha: Number | None = None) -> Fraction:
        """δ at ε of either sign: the largest Q(O) − e^ε P(O); for a rational ε ≠ 0 from above, enclosed to 64 bits."""
        return self.delta_bounds(growth(epsilon, alpha, "the least δ", signed=True))[1]

    def delta_bounds(self, factor: Growth, bits: int = 64) -> tuple[Fraction, Fraction]:
        """Rationals around δ(s) = max over corners of b − s·a, equal for a rational s."""
        expect(factor, Growth, "the factor e^ε", "delta(epsilon=…) takes ε itself")
        low, high = factor.bounds(precision(bits))
        return max(b - high * a for a, b in self.points), max(b - low * a for a, b in self.points)

    def reversed(self) -> TradeOff:
        """The curve with the two secrets exchanged; its corners are the complements, (1 − b, 1 − a)."""
        return TradeOff(tuple((1 - b, 1 - a) for a, b in self.points[::-1]))

    @cached_property
    def slopes(self) -> tuple[Fraction | float, ...]:
        """Slopes between corners, decreasing: the likelihood ratios of the outputs, inf for an upright one."""
        steps = pairwise(self.points)
        return tuple(inf if a1 == a0 else (b1 - b0) / (a1 - a0) for (a0, b0), (a1, b1) in steps)

    def floats(self) -> NDArray[np.float64]:
        """The corners as an array, for drawing."""
        return np.array([[float(a), float(b)] for a, b in self.points])


def polygon_height(points: Sequence[Point], at: Fraction) -> Fraction:
    """What a polygon of points from a = 0 to a = 1 has at a place; the upper end where it is upright."""
    at = min(max(at, Fraction(0)), Fraction(1))
    return max(
        b1 if a0 == a1 else b0 + (b1 - b0) * (at - a0) / (a1 - a0)
        for (a0, b0), (a1, b1) in pairwise(points)
        if a0 <= at <= a1
    )


@dataclass(frozen=True)
class SmallestDelta:
    """The least δ at some ε, between two rationals (equal when it is known exactly), and the event that needs it."""

    low: Fraction
    high: Fraction
    pair: tuple[Any, Any] | None
    event: tuple[Any, ...]

    def __float__(self) -> float:
        return printed_above(self.high)


@dataclass(frozen=True)
class SmallestEpsilon:
    """The least ε at some δ as e^ε, which is rational (None for ε = ∞), and the event that needs it."""

    factor: Fraction | None
    pair: tuple[Any, Any] | None
    event: tuple[Any, ...]

    def __float__(self) -> float:
        return inf if self.factor is None else printed_above(log_bounds(self.factor)[1])


def tradeoff(channel: Channel, x: Any, x2: Any) -> TradeOff:
    """The trade-off curve of two secrets, exact.

    Examples
    --------
    >>> curve = tradeoff(Channel(["x", "z"], [["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"]]), "x", "z")
    >>> [(str(a), str(b)) for a, b in curve.points], curve.events[1]
    ([('0', '0'), ('1/4', '1/2'), ('1/2', '3/4'), ('1', '1')], (2,))
    """
    channel = as_channel(channel)
    first, second, _ = ordered_pairs(channel.secrets, [(x, x2)])
    return pair_curve(channel, int(first[0]), int(second[0]))


def pair_curve(channel: Channel, x: int, z: int) -> TradeOff:
    """The trade-off curve of two rows, by their indices."""
    p, q, total = rows_as_integers(channel, x, z)
    groups = _by_likelihood(p, q)
    points = [(Fraction(0), Fraction(0))]
    events: list[tuple[Any, ...]] = [()]
    a = b = 0
    taken: tuple[Any, ...] = ()
    for group in groups:
        a, b = a + sum(p[y] for y in group), b + sum(q[y] for y in group)
        taken = taken + tuple(channel.outputs[y] for y in group)
        points.append((Fraction(a, total), Fraction(b, total)))
        events.append(taken)
    pair = (channel.secrets[x], channel.secrets[z])
    return TradeOff(tuple(points), tuple(events), (pair,) * len(points))


def rows_as_integers(channel: Channel, x: int, z: int) -> tuple[list[int], list[int], int]:
    """Two rows as integers over one total; each float row is divided by its exact sum."""
    p, _ = common_denominator(channel.matrix[x])
    q, _ = common_denominator(channel.matrix[z])
    of_p, of_q = sum(p.tolist()), sum(q.tolist())
    if of_p == of_q:
        return p.tolist(), q.tolist(), of_p
    return [v * of_q for v in p.tolist()], [v * of_p for v in q.tolist()], of_p * of_q


def _by_likelihood(p: list[int], q: list[int]) -> list[list[int]]:
    """Outputs in groups of equal q/p, largest first. Logarithms sort, integers decide what is close."""
    live = [y for y in range(len(p)) if p[y] or q[y]]
    keys = [inf if not p[y] else -inf if not q[y] else log(q[y]) - log(p[y]) for y in live]
    order = [live[k] for k in np.argsort(-np.array(keys), kind="stable")]
    if any(q[y] * p[z] < q[z] * p[y] for y, z in pairwise(order)):
        finite = [y for y in order if p[y]]
        order = [y for y in order if not p[y]] + sorted(finite, key=lambda y: Fraction(q[y], p[y]), reverse=True)
    groups = [[order[0]]]
    for y, z in pairwise(order):
        if q[y] * p[z] == q[z] * p[y]:
            groups[-1].append(z)
        else:
            groups.append([z])
    return groups


def worst_tradeoff(channel: Channel, neighbours: Any = None) -> TradeOff:
    """The least concave curve above those of all neighbours: the best f-DP promise a channel keeps, exact.

    Each corner says which pair it comes from. Pairs whose curve stays below the worst one by more than the error
    of float sums are left out before anything exact is done.

    Examples
    --------
    >>> channel = Channel(["x", "y", "z"], [["1/2", "1/2"], ["1/4", "3/4"], ["1/2", "1/2"]])
    >>> curve = worst_tradeoff(channel)
    >>> [(str(a), str(b)) for a, b in curve.points], curve.pairs[1]
    ([('0', '0'), ('1/4', '1/2'), ('1/2', '3/4'), ('1', '1')], ('y', 'z'))
    """
    channel = as_channel(channel)
    first, second, _ = ordered_pairs(channel.secrets, neighbours)
    corners: list[tuple[Point, Any]] = []
    for k in _near_the_hull(channel, first, second):
        curve = pair_curve(channel, int(first[k]), int(second[k]))
        corners += list(zip(curve.points, zip(curve.events, curve.pairs, strict=True), strict=True))
    kept = _hull(corners)
    return TradeOff(
        tuple(point for point, _ in kept), tuple(w[0] for _, w in kept), tuple(w[1] for _, w in kept)
    )  # fmt: skip


_HULL_BAND = 1e-9
"""Sums of up to 10⁶ floats are good to 10⁻¹⁰: a corner that lies this far inside the hull is inside."""


def float_corners(
    channel: Channel, first: NDArray[Any], second: NDArray[Any]
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Corners of the curves of many pairs, in floats: from some pair on, pairs × outputs × 2, so many as fit."""
    matrix = floats(channel.matrix)
    chunk = max(1, 2**20 // matrix.shape[1])
    for start in range(0, first.size, chunk):
        p, q = matrix[first[start : start + chunk]], matrix[second[start : start + chunk]]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(p > 0, q / p, np.where(q > 0, inf, -1.0))
        order = np.argsort(-ratio, axis=1)
        yield start, np.stack([np.cumsum(np.take_along_axis(row, order, axis=1), axis=1) for row in (p, q)], axis=-1)


def _near_the_hull(channel: Channel, first: NDArray[Any], second: NDArray[Any]) -> list[int]:
    """Pairs that may have a corner of the worst curve."""
    hull = np.array([[0.0, 0.0], [1.0, 1.0]])
    for _, corners in float_corners(channel, first, second):
        points = np.concatenate([hull, corners.reshape(-1, 2)])
        points = points[np.lexsort((points[:, 1], points[:, 0]))]
        hull = points[: _upper_chain(points)]
    near: list[int] = []
    for start, corners in float_corners(channel, first, second):
        a, b = corners[..., 0], corners[..., 1]
        left = a - _HULL_BAND
        bound = np.where(left < 0, 0.0, np.interp(left, hull[:, 0], hull[:, 1]))
        inside = (b + _HULL_BAND < bound) | ((a > 1 - _HULL_BAND) & (b > 1 - _HULL_BAND))
        near += (start + np.flatnonzero(~inside.all(axis=1))).tolist()
    return near or [0]


@njit(cache=True)
def _upper_chain(points):  # type: ignore[no-untyped-def]
    """Move the upper hull of sorted points to the front; returns its size."""
    size = 0
    for k in range(points.shape[0]):
        x, y = points[k, 0], points[k, 1]
        while size >= 2:
            ax, ay = points[size - 2, 0], points[size - 2, 1]
            bx, by = points[size - 1, 0], points[size - 1, 1]
            if (bx - ax) * (y - ay) >= (by - ay) * (x - ax):
                size -= 1
            else:
                break
        points[size, 0], points[size, 1] = x, y
        size += 1
    return size


def _hull(corners: Sequence[tuple[Point, Any]]) -> list[tuple[Point, Any]]:
    """The corners of the upper hull with (0, 0) and (1, 1), exact, each with what came with it."""
    zero, one = Fraction(0), Fraction(1)
    first = next((w for point, w in corners if point == (zero, zero)), None)
    last = next((w for point, w in corners if point == (one, one)), None)
    everything = [((zero, zero), first), *corners, ((one, one), last)]
    kept: list[tuple[Point, Any]] = []
    for (a, b), witness in sorted(everything, key=lambda c: c[0]):
        while kept and kept[-1][0] == (a, b):
            kept.pop()
        while len(kept) >= 2:
            (a0, b0), (a1, b1) = kept[-2][0], kept[-1][0]
            if (a1 - a0) * (b - b0) < (b1 - b0) * (a - a0):
                break
            kept.pop()
        kept.append(((a, b), witness))
    return kept


def smallest_delta(
    channel: Channel, neighbours: Any = None, *, epsilon: Number | None = None, alpha: Number | None = None
) -> SmallestDelta:
    """The least δ for which a channel is (ε, δ)-private: the largest Q(O) − e^ε P(O) over neighbours and events.

    With the rational α = e^−ε the answer is exact; with ε it is enclosed to 64 bits. Below ε = 0, that is for α > 1,
    the certain event alone needs 1 − e^ε; what lies above that comes from the pair in the other order:
    δ(P, Q; ε) = 1 − e^ε + e^ε δ(Q, P; −ε).

    Examples
    --------
    >>> channel = Channel(["x", "z"], [["89/100", "1/10", "1/100", 0], ["79/100", "1/5", 0, "1/100"]])
    >>> smallest = smallest_delta(channel, alpha="1/2")
    >>> smallest.low, smallest.high, smallest.pair, smallest.event
    (Fraction(1, 100), Fraction(1, 100), ('x', 'z'), (3,))
    >>> smallest_delta(channel, [("x", "z")], alpha=2).high, smallest_delta(channel, [("z", "x")], alpha=2).high
    (Fraction(101, 200), Fraction(101, 200))
    """
    channel = as_channel(channel)
    factor = growth(epsilon, alpha, "the least δ", signed=True)
    first, second, _ = ordered_pairs(channel.secrets, neighbours)
    searched = excesses(channel, first, second, float(factor))
    band = excess_band(channel, float(factor))
    best = SmallestDelta(Fraction(0), Fraction(0), None, ())
    seen: set[tuple[Fraction, Fraction]] = set()
    for k in np.flatnonzero(searched >= searched.max(initial=0.0) - 2 * band):
        event, a, b = best_event(channel, int(first[k]), int(second[k]), factor)
        if (a, b) in seen:
            continue
        seen.add((a, b))
        low, high = factor.bounds(64)
        if b - low * a > best.high:
            pair = (channel.secrets[first[k]], channel.secrets[second[k]])
            best = SmallestDelta(max(b - high * a, best.low), b - low * a, pair, event)
    return best


def best_event(channel: Channel, x: int, z: int, factor: Growth) -> tuple[tuple[Any, ...], Fraction, Fraction]:
    """The event with the largest Q(O) − s·P(O), and both its probabilities: the outputs with q > s·p, exactly."""
    p, q, total = rows_as_integers(channel, x, z)
    low, high = factor.bounds(64)
    u, v = np.array(p, dtype=object), np.array(q, dtype=object)
    surely = v * high.denominator > u * high.numerator
    maybe = v * low.denominator > u * low.numerator
    for y in np.flatnonzero(surely != maybe):
        surely[y] = factor.sign(Fraction(q[y]), Fraction(p[y])) > 0
    chosen = np.flatnonzero(surely)
    event = tuple(channel.outputs[y] for y in chosen)
    return event, Fraction(sum(p[y] for y in chosen), total), Fraction(sum(q[y] for y in chosen), total)


def smallest_epsilon_at(channel: Channel, delta: Number, neighbours: Any = None) -> SmallestEpsilon:
    """The least ε ≥ 0 for which a channel is (ε, δ)-private, as the rational e^ε.

    Every event asks for e^ε ≥ (Q(O) − δ) / P(O), and the corners of the curves ask for most. From e^ε = 1 on, the
    pair that exceeds δ most raises it, until none does; the last answer is checked exactly.

    Examples
    --------
    >>> channel = Channel(["x", "z"], [["89/100", "1/10", "1/100", 0], ["79/100", "1/5", 0, "1/100"]])
    >>> smallest_epsilon_at(channel, "1/100").factor, float(smallest_epsilon_at(channel, 0))
    (Fraction(2, 1), inf)
    """
    channel = as_channel(channel)
    slack = probability(delta, "delta")
    first, second, _ = ordered_pairs(channel.secrets, neighbours)
    best = SmallestEpsilon(Fraction(1), None, ())
    open_pairs = np.ones(first.size, dtype=bool)
    raised = True
    while raised:
        assert best.factor is not None
        raised = False
        searched = excesses(channel, first, second, float(best.factor))
        close = np.flatnonzero(open_pairs & (searched > float(slack) - excess_band(channel, float(best.factor))))
        for k in close[np.argsort(-searched[close])]:
            open_pairs[k] = False  # its own need is met exactly from now on
            needed = _needed(channel, int(first[k]), int(second[k]), slack)
            if needed.factor is None:
                return needed
            if needed.factor > best.factor:
                best, raised = needed, True
                break
    return best


def _needed(channel: Channel, x: int, z: int, delta: Fraction) -> SmallestEpsilon:
    curve = pair_curve(channel, x, z)
    pair = (channel.secrets[x], channel.secrets[z])
    best = SmallestEpsilon(Fraction(0), None, ())
    for (a, b), event in zip(curve.points, curve.events, strict=True):
        if a == 0 and b > delta:
            return SmallestEpsilon(None, pair, event)
        if a and best.factor is not None and (b - delta) / a > best.factor:
            best = SmallestEpsilon((b - delta) / a, pair, event)
    return best


def excess_band(channel: Channel, factor: float) -> float:
    """How far :func:`excesses` may be off: m products and sums, each rounded, and rows that sum to 1 up to that."""
    return (4 * channel.shape[1] + 16) * 2.0**-52 * (1 + factor)


def excesses(channel: Channel, first: NDArray[Any], second: NDArray[Any], factor: float) -> NDArray[np.float64]:
    """Σ_y max(0, q_y − s·p_y) for many pairs of rows, in floats."""
    return over_pairs(_sum_excesses, np.ascontiguousarray(floats(channel.matrix)), first, second, factor)


@njit(cache=True, nogil=True)
def _sum_excesses(matrix, first, second, factor, result):  # type: ignore[no-untyped-def]
    for k in range(first.size):
        p, q = matrix[first[k]], matrix[second[k]]
        total = 0.0
        for y in range(p.size):
            gap = q[y] - factor * p[y]
            total += gap if gap > 0 else 0.0
        result[k] = total


def ordered_pairs(secrets: tuple[Any, ...], neighbours: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], str]:
    """Indices of ordered pairs of neighbours, and what they are in words.

    ``None`` means all pairs of secrets, a space those at distance 1, both in both orders; a list of pairs is taken
    as it is, so that a relation need not be symmetric.
    """
    n = len(secrets)
    if neighbours is None:
        first, second = np.nonzero(~np.eye(n, dtype=bool))
        return first, second, "all ordered pairs of secrets"
    if isinstance(neighbours, FiniteSpace):
        if neighbours.labels != secrets:
            raise Mismatch("secrets of channel and space", secrets, neighbours.labels)
        first, second = np.nonzero(np.asarray(neighbours.distances.floats) == 1.0)
        if not first.size:
            raise InvalidInput(f"no two secrets of {neighbours} are at distance 1: give pairs of neighbours")
        return first, second, "pairs at distance 1"
    try:
        pairs = [(x, z) for x, z in items(neighbours, "neighbours")]
    except (TypeError, ValueError) as error:
        raise InvalidInput("neighbours are pairs of secrets, a space, or None for all pairs") from error
    if not pairs:
        raise InvalidInput("there are no neighbours: give pairs of secrets, a space, or None for all pairs")
    table: Array = np.array([[label_place(secret, secrets, "neighbours") for secret in pair] for pair in pairs])
    return table[:, 0], table[:, 1], "the given pairs"


def subset_sums(values: Sequence[Fraction]) -> Array:
    """The sums of all 2ⁿ subsets, subset k holding value i iff bit i of k is set."""
    sums = object_array([Fraction(0)])
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums
