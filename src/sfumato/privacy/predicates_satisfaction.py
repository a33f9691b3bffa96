"""Does a channel keep a predicate for all events? Decided by the corners of trade-off curves, never by 2ⁿ events.

For a concave upper curve M the corners decide: between two of them the curve of a pair is a chord, and M lies above
its own chords. A line asks even less, one sum of max(0, q − s·p). Float arithmetic leaves out what is far from the
bound, by more than its own error; what is close is decided exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.channel import Channel, as_channel
from sfumato.numbers import ROUNDING, exact, float_above, float_below, told_apart
from sfumato.privacy.predicates import Predicate, as_predicate
from sfumato.privacy.predicates_curves import CurvePart, Line, Tail, rational_between
from sfumato.privacy.tradeoff import (
    best_event,
    excess_band,
    excesses,
    float_corners,
    ordered_pairs,
    pair_curve,
    rows_as_integers,
    subset_sums,
)
from sfumato.verdict import Verdict, fails, holds, undecided

# Channels with so many outputs have 16,384 events a pair, which rationals go through in a fraction of a second.
_MOST_ENUMERATED = 14
# Sums of up to a million floats are off by less than this: floats decide a corner that is farther from the curve.
_CLEAR = 1e-9
_MOST_SHOWN_BITS = 4096  # What is allowed is told apart from what is broken by so many bits at most.
_NODES = 257  # The polygon below a smooth curve has so many corners; it proves most corners of a channel at once.


@dataclass(frozen=True)
class BrokenEvent:
    """An event that a predicate forbids: its outputs, its probabilities for the two secrets, and the largest allowed.

    ``allowed`` is M(a) rounded up, None where the predicate has no curve.
    """

    pair: tuple[Any, Any]
    event: tuple[Any, ...]
    a: Fraction
    b: Fraction
    allowed: float | None


def satisfies_predicate(channel: Channel, predicate: Predicate, neighbours: Any = None) -> Verdict:
    """Whether q(P(O), Q(O)) holds for every event O and every ordered pair of neighbours with rows P and Q.

    Parameters
    ----------
    channel
        Rationals are decided exactly. Floats stand for the rationals they store, rows divided by their totals; what
        they break by no more than rounding is *undecided*.
    predicate
        One of :mod:`sfumato.privacy.predicates`.
    neighbours
        Ordered pairs of secrets, a space (its pairs at distance 1), or None for all pairs.

    Returns
    -------
    Verdict
        *fails* carries a :class:`BrokenEvent`. A predicate without a proved concave curve has all events tried for
        up to 14 outputs, and is otherwise *undecided* unless an event breaks it.

    Examples
    --------
    >>> from sfumato.privacy.predicates import epsilon_delta, pure
    >>> channel = Channel([0, 1], [["89/100", "1/10", "1/100", 0], ["79/100", "1/5", 0, "1/100"]], list("ABCD"))
    >>> bool(satisfies_predicate(channel, epsilon_delta(delta="1/100", alpha="1/2")))
    True
    >>> print(satisfies_predicate(channel, pure(alpha="1/2")))
    fails: the event D has probability 0 for 0 and 1/100 for 1, where at most 0 is allowed
    """
    channel, predicate = as_channel(channel), as_predicate(predicate)
    first, second, which = ordered_pairs(channel.secrets, neighbours)
    if not first.size:
        return holds("there is no pair of neighbours")
    if predicate.relation is not None:
        return _by_events(channel, predicate, first, second)
    for part in predicate.parts:
        for k in _suspects(channel, part, first, second):
            broken = _broken(channel, predicate, part, int(first[k]), int(second[k]))
            if broken is not None:
                return _judge(channel, predicate, part, broken)
    if not predicate.proved:
        return undecided(
            f"no event breaks {predicate.name} at {which}, but its curve is only known in floats and not proved concave"
        )
    return holds(f"every event was decided for {first.size} ordered pairs ({which})")


def _suspects(channel: Channel, part: CurvePart, first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.int64]:
    """Pairs that floats cannot clear, the worst first."""
    if isinstance(part, Line):
        factor = float(part.slope)
        if not np.isfinite(factor):
            return np.arange(first.size)
        slack = float(part.value) - factor * float(part.at) - excesses(channel, first, second, factor)
        close = np.flatnonzero(slack < 2 * excess_band(channel, factor))
        return close[np.argsort(slack[close], kind="stable")]
    # the last corner is the certain event, which every tail allows
    blocks = (corners[:, :-1] for _, corners in float_corners(channel, first, second))
    slack = np.concatenate([_clearance(part, corners).min(axis=1, initial=1) for corners in blocks])
    close = np.flatnonzero(slack < _CLEAR)
    return close[np.argsort(slack[close], kind="stable")]


def _clearance(part: CurvePart, corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far corners lie below a polygon that is itself below the curve."""
    at, value = _polygon(part)
    a, b = np.clip(corners[..., 0], 0, 1), corners[..., 1]
    return np.asarray(np.interp(a - _CLEAR, at, value) - b)


@lru_cache(maxsize=32)
def _polygon(part: CurvePart) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Chords of a concave curve between values that were rounded down."""
    at = (1 - np.cos(np.linspace(0, np.pi, _NODES))) / 2
    if isinstance(part, Tail) and not part.proved:
        return at, part.floats(np.maximum(at - part.tolerance, 0)) - part.tolerance
    return at, np.array([float_below(part.bounds(exact(float(a)))[0]) for a in at])


def _broken(channel: Channel, predicate: Predicate, part: CurvePart, x: int, z: int) -> BrokenEvent | None:
    """An event of one pair that a part forbids, decided exactly; the one that exceeds it most."""
    if isinstance(part, Line):
        event, a, b = best_event(channel, x, z, part.slope)
        return None if part.allows(a, b) else _event(channel, predicate, x, z, event, a, b)
    curve = pair_curve(channel, x, z)
    slack = _clearance(part, curve.floats())
    unclear = None
    for k in np.argsort(slack, kind="stable"):
        if slack[k] >= _CLEAR:
            break
        answer = part.allows(*curve.points[k])
        if answer is False:
            return _event(channel, predicate, x, z, curve.events[k], *curve.points[k])
        if answer is None and part.proved:
            unclear = _event(channel, predicate, x, z, curve.events[k], *curve.points[k])
    return unclear


def _event(
    channel: Channel, predicate: Predicate, x: int, z: int, event: tuple[Any, ...], a: Fraction, b: Fraction
) -> BrokenEvent:
    allowed = float_above(predicate.bounds(a)[1]) if predicate.has_curve else None
    return BrokenEvent((channel.secrets[x], channel.secrets[z]), event, a, b, allowed)


def _judge(channel: Channel, predicate: Predicate, part: CurvePart, broken: BrokenEvent) -> Verdict:
    reason = _in_words(channel, predicate, broken)
    if part.allows(broken.a, broken.b) is None:
        return undecided(f"{reason}: equal to within all precision", broken)
    if channel.exact:
        return fails(reason, broken)
    # each entry is known up to ROUNDING of its size, and so are sums of entries
    a, b = min(broken.a * (1 + exact(ROUNDING)), Fraction(1)), broken.b * (1 - exact(ROUNDING))
    if part.allows(a, b) is False:
        return fails(reason, broken)
    return undecided(f"{reason}, but only by the rounding of float64: exact numbers give a definite answer", broken)


def _in_words(channel: Channel, predicate: Predicate, broken: BrokenEvent) -> str:
    names = [str(y) for y in broken.event]
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    x, z = broken.pair
    short = channel.exact and len(str(broken.b)) < 24
    a, b = (str(v) if short else f"{float(v)}" for v in (broken.a, broken.b))
    limit = ""
    if broken.allowed is not None:
        end = rational_between(broken.b, lambda bits: predicate.bounds(broken.a, bits), _MOST_SHOWN_BITS)
        bound = predicate.bounds(broken.a)[1] if end is None else end
        much, most = told_apart(broken.b, bound, 10)
        b = b if short or much == most else told_apart(broken.b, bound, 17)[0]
        limit = f", where at most {most} is allowed"
    return f"the event {shown or '∅'} has probability {a} for {x!r} and {b} for {z!r}{limit}"


def _by_events(channel: Channel, predicate: Predicate, first: NDArray[Any], second: NDArray[Any]) -> Verdict:
    """A relation without a concave curve: all events of small channels, likely ones of large ones."""
    whole = channel.shape[1] <= _MOST_ENUMERATED
    tried = 0
    for x, z in zip(first.tolist(), second.tolist(), strict=True):
        candidates = all_events(channel, x, z) if whole else _likely_events(channel, x, z)
        for event, a, b in candidates:
            tried += 1
            if predicate.allows(a, b) is False:
                broken = _event(channel, predicate, x, z, event, a, b)
                sure = channel.exact
                return (fails if sure else undecided)(_in_words(channel, predicate, broken), broken)
    if whole:
        return holds(f"all {tried} events of {first.size} ordered pairs were tried")
    return undecided(
        f"{tried} likely events do not break {predicate.name}; it has no concave curve, and the channel has more "
        f"than {_MOST_ENUMERATED} outputs to try all events of"
    )


def all_events(channel: Channel, x: int, z: int) -> list[tuple[tuple[Any, ...], Fraction, Fraction]]:
    """Every event with its probabilities for two secrets, 2ⁿ of them."""
    p, q, total = rows_as_integers(channel, x, z)
    of_x, of_z = (subset_sums([Fraction(v, total) for v in row]) for row in (p, q))
    size = len(p)
    return [(tuple(channel.outputs[y] for y in range(size) if k >> y & 1), of_x[k], of_z[k]) for k in range(2**size)]


def _likely_events(channel: Channel, x: int, z: int) -> list[tuple[tuple[Any, ...], Fraction, Fraction]]:
    """Single outputs and the corners of the curve of a pair, with their complements."""
    p, q, total = rows_as_integers(channel, x, z)
    events = [((y,), Fraction(p[k], total), Fraction(q[k], total)) for k, y in enumerate(channel.outputs)]
    curve = pair_curve(channel, x, z)
    events += [(event, a, b) for (a, b), event in zip(curve.points, curve.events, strict=True)]
    others = [(tuple(y for y in channel.outputs if y not in set(event)), 1 - a, 1 - b) for event, a, b in events]
    return [*events, *others]
