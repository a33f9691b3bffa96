"""Kifer and Lin 2012: predicates, their curves, and what the axioms make of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.privacy import predicates as q
from sfumato.privacy.axioms import satisfies_axioms
from sfumato.privacy.predicates_definitions import Breach, breaks, mixture, transformed
from sfumato.privacy.predicates_satisfaction import satisfies_predicate
from sfumato.privacy.tradeoff import TradeOff, smallest_delta, tradeoff, worst_tradeoff
from strategies import channels

unit = st.fractions(0, 1, max_denominator=24)


@st.composite
def curves(draw: Any) -> TradeOff:
    """Concave curves, those of pairs of secrets among them."""
    return TradeOff.through(draw(st.lists(st.tuples(unit, unit), max_size=5)))


@st.composite
def densities(draw: Any) -> q.Predicate:
    alpha = draw(st.fractions(Fraction(1, 6), 1, max_denominator=12))
    tail = draw(st.sampled_from(["right", "left", "both"]))
    return draw(
        st.sampled_from([
            q.laplace(alpha=alpha), q.logistic(alpha=alpha), q.gumbel(alpha=alpha, tail=tail),
            q.exponential(alpha=alpha, tail=tail), q.gaussian(alpha), q.epsilon_delta(alpha=alpha, delta=1 - alpha),
        ])
    )  # fmt: skip


@given(densities(), unit, unit, unit)
@settings(max_examples=60)
def test_theorem_2_2_2(predicate: q.Predicate, a: Fraction, b: Fraction, weight: Fraction) -> None:
    """Moved tails of a log-concave density are concave, increasing and above the diagonal."""
    middle = weight * a + (1 - weight) * b
    chord = weight * predicate.bounds(a)[0] + (1 - weight) * predicate.bounds(b)[0]
    assert predicate.bounds(middle)[1] >= chord - Fraction(1, 2**60)
    assert predicate.bounds(a)[1] >= a
    if a < b and predicate.bounds(a)[1] < 1:
        assert predicate.bounds(a)[0] < predicate.bounds(b)[1]


# distribution functions of log-concave densities in the coordinate u = e^x, where they are rational
_OF_EXPONENTIALS: dict[str, Callable[[Fraction], Fraction]] = {
    "logistic": lambda u: u / (1 + u),
    "laplace": lambda u: u / 2 if u <= 1 else 1 - 1 / (2 * u),
    "exponential": lambda u: max(Fraction(0), 1 - 1 / u),
}
_PLACES = st.fractions(Fraction(1, 12), 12, max_denominator=12)


def _probability(cumulative: Callable[[Fraction], Fraction], places: list[Fraction], moved: Fraction) -> Fraction:
    """P(X + ln moved ∈ S) for the intervals S between the first and second place, the third and fourth, and so on."""
    ends = [cumulative(u / moved) for u in places]
    return sum((b - a for a, b in zip(ends[::2], ends[1::2], strict=True)), Fraction(0))


@given(st.sampled_from(sorted(_OF_EXPONENTIALS)), st.lists(_PLACES, min_size=2, max_size=8, unique=True), st.data())
@settings(max_examples=100)
def test_theorem_2_2_1(name: str, places: list[Fraction], data: st.DataObject) -> None:
    """Of all sets of probability p the right tail gains most when moved to the left: any finite union of intervals."""
    s = data.draw(st.fractions(1, 4, max_denominator=6))
    cumulative, places = _OF_EXPONENTIALS[name], sorted(places)[: len(places) // 2 * 2]
    p, gained = (_probability(cumulative, places, moved) for moved in (Fraction(1), s))
    best = getattr(q, name)(alpha=1 / s)
    assert gained <= best.bounds(p)[0] or best.allows(p, gained)
    tail = 1 - cumulative(places[0])
    assert best.bounds(tail) == (1 - cumulative(places[0] / s),) * 2  # the tail itself attains it


def test_theorem_2_2_1_needs_a_convex_c() -> None:
    """Half of the mass on [0, 1], half on [4, 5], moved by 2: another set of probability 1/2 gains more than a tail."""

    def below(x: float) -> float:
        return (min(max(x, 0.0), 1.0) + min(max(x - 4, 0.0), 1.0)) / 2

    tail, other = [(4.0, 99.0)], [(0.0, 4.0), (5.0, 99.0)]
    for chosen, gained in ((tail, 0.5), (other, 1.0)):
        assert sum(below(b) - below(a) for a, b in chosen) == 0.5
        assert sum(below(b - 2) - below(a - 2) for a, b in chosen) == gained


@given(st.one_of(densities(), curves().map(q.from_tradeoff)), unit, unit, unit)
@settings(max_examples=60)
def test_proposition_a_0_3(predicate: q.Predicate, a: Fraction, b: Fraction, share: Fraction) -> None:
    """What is allowed at (a, b) is allowed all the way to the mirrored point, by post-processing with A_{c,d}."""
    assert predicate.allows(a, a)
    if predicate.allows(a, b):
        assert predicate.allows(a, share * b + (1 - share) * _mirrored(a, b))


def _mirrored(a: Fraction, b: Fraction) -> Fraction:
    """The other end of the segment that Proposition A.0.3 allows beside (a, b)."""
    return (1 - b) * a / (1 - a) if 2 * a <= 1 else 1 - b * (1 - a) / a


def _proof_of_a_0_3(a: Fraction, b: Fraction, c: Fraction) -> Breach:
    """The channel of (a, b) and its post-processing that leaves a where it is and moves b by the share 1 − c."""
    low, other = min((a, b), (1 - a, 1 - b)), Fraction(1)
    d = (1 - c) * low[0] / (1 - low[0])
    channel = sf.Channel([0, 1], [[low[0], 1 - low[0]], [low[1], 1 - low[1]]])
    return transformed(channel, sf.Channel([0, 1], [[c, other - c], [d, other - d]]))


@given(unit, unit, unit)
def test_proposition_a_0_3_as_it_is_proved(a: Fraction, b: Fraction, c: Fraction) -> None:
    """A_{c,d} keeps the probability a and takes b to c·b + (1 − c)·(its mirrored point), or both of the complement."""
    result = _proof_of_a_0_3(a, b, c).result.matrix[:, 0]
    low = min((a, b), (1 - a, 1 - b))
    assert result[0] == low[0] <= Fraction(1, 2)
    assert result[1] == c * low[1] + (1 - c) * _mirrored(*low)


@given(unit.filter(lambda a: 0 < a < 1), unit, unit)
def test_proposition_a_0_4(a: Fraction, b: Fraction, c: Fraction) -> None:
    """A relation with a hole between (a, b) and the diagonal is broken by post-processing alone."""
    hole = c * b + (1 - c) * _mirrored(a, b)
    assume(hole not in (b, a) and (a, hole) != (1 - a, 1 - b))

    def relation(x: Fraction, y: Fraction) -> bool:
        return (x, y) not in ((a, hole), (1 - a, 1 - hole))

    assert breaks(_proof_of_a_0_3(a, b, c), q.from_function(relation))


@given(st.one_of(densities(), curves().map(q.from_tradeoff)), unit, unit)
@settings(max_examples=60)
def test_proposition_a_0_4_the_allowed_points_are_an_interval(predicate: q.Predicate, a: Fraction, b: Fraction) -> None:
    """Between m(a) and M(a) everything is allowed, beyond nothing."""
    highest, lowest = predicate.bounds(a), 1 - predicate.bounds(1 - a)[0]
    if lowest < b < highest[0]:
        assert predicate.allows(a, b)
    if b > highest[1] or b < 1 - predicate.bounds(1 - a)[1]:
        assert predicate.allows(a, b) is False


@given(channels(secrets=range(2), outputs=3), curves(), unit)
def test_proposition_a_0_5(channel: sf.Channel, curve: TradeOff, a: Fraction) -> None:
    """With its edges a predicate allows what it allowed before, and has the same edges."""
    closed = q.from_tradeoff(curve)

    def inside(a: Fraction, b: Fraction) -> bool:
        return a == b or 1 - curve.power(1 - a) < b < curve.power(a)

    if satisfies_predicate(channel, q.from_function(inside)):
        assert satisfies_predicate(channel, closed)
    top = curve.power(a)
    assert closed.allows(a, top) and (top == a or not inside(a, top))
    assert all(inside(a, a + (top - a) * Fraction(k, 8)) for k in range(8))


@given(densities(), unit, unit)
@settings(max_examples=60)
def test_theorem_a_0_6(predicate: q.Predicate, a: Fraction, b: Fraction) -> None:
    """(ii), (iii) and (v): m ≤ a ≤ M, m(a) = 1 − M(1 − a), and both curves rise; m is printed to fall."""
    low, high = min(a, b), max(a, b)
    for at in (a, b):
        assert 1 >= predicate.bounds(at)[1] >= at >= 1 - predicate.bounds(1 - at)[1] >= 0
    assert predicate.bounds(low)[0] <= predicate.bounds(high)[1]
    assert 1 - predicate.bounds(1 - low)[1] <= 1 - predicate.bounds(1 - high)[0]
    if low < high and predicate.bounds(1 - high)[1] < 1:  # m(high) > 0
        assert 1 - predicate.bounds(1 - low)[1] < 1 - predicate.bounds(1 - high)[0]


@given(channels(secrets=range(2), outputs=3), st.fractions(Fraction(1, 6), 1, max_denominator=8))
def test_theorem_b_0_7_for_the_sharpest_curve(channel: sf.Channel, weight: Fraction) -> None:
    """Any M that is concave with M(0) ≥ 0 and M(1) = 1 gives both axioms; a jump at 0 is allowed."""
    told = sf.Channel([0, 1], [[1, 0], [weight, 1 - weight]])  # the second output rules the first secret out
    curve = TradeOff.through([*worst_tradeoff(channel).points, *worst_tradeoff(told).points])
    verdict = satisfies_axioms(q.from_tradeoff(curve))
    assert verdict and all(condition.verdict for condition in verdict.witness.conditions)


@given(channels(secrets=range(3), outputs=4), channels(secrets=range(4)), densities())
@settings(max_examples=60)
def test_axiom_2_1_1(channel: sf.Channel, processing: sf.Channel, predicate: q.Predicate) -> None:
    """Post-processing keeps a predicate that satisfies the conditions; the sharpest one a channel keeps, too."""
    after = sf.cascade(channel, processing)
    for promise in (predicate, q.from_tradeoff(worst_tradeoff(channel))):
        assert satisfies_axioms(promise)
        if satisfies_predicate(channel, promise):
            assert satisfies_predicate(after, promise)


@given(channels(secrets=range(2), outputs=3), channels(secrets=range(2), outputs=3), unit)
@settings(max_examples=50)
def test_axiom_2_1_2(first: sf.Channel, second: sf.Channel, weight: Fraction) -> None:
    """A choice by chance keeps what both channels keep, told or not."""
    together = [*worst_tradeoff(first).points, *worst_tradeoff(second).points]
    promise = q.from_tradeoff(TradeOff.through(together))
    for channel in (first, second, mixture(weight, first, second), sf.channels.choice(weight, first, second)):
        assert satisfies_predicate(channel, promise)


@given(st.lists(st.tuples(unit, unit), max_size=4), unit, st.sampled_from([Fraction(1), Fraction(1), Fraction(5, 6)]))
def test_theorems_2_1_3_and_2_1_4(inner: list[tuple[Fraction, Fraction]], start: Fraction, end: Fraction) -> None:
    """A curve satisfies the axioms iff it is concave, above the diagonal and ends at 1; if not, matrices show it."""
    points = {Fraction(0): start, **{a: b for a, b in inner if 0 < a < 1}, Fraction(1): end}
    corners = sorted(points.items())
    slopes = [(b1 - b0) / (a1 - a0) for (a0, b0), (a1, b1) in pairwise(corners)]
    concave = all(s >= t for s, t in pairwise(slopes))
    predicate = q.from_points(corners)
    verdict = satisfies_axioms(predicate)
    assert bool(verdict) == (concave and end == 1)
    if not verdict:
        assert breaks(verdict.witness.breach, predicate)


@given(curves())
def test_round_trip_of_trade_off_functions(curve: TradeOff) -> None:
    """f ↦ M = 1 − f ↦ f, exactly; values and corners."""
    predicate = q.from_tradeoff(curve)
    again = q.tradeoff_of(predicate)
    assert again.points == curve.points
    for a in (Fraction(k, 12) for k in range(13)):
        assert predicate.bounds(a)[0] == curve.power(a) == 1 - curve(a)


@given(curves())
def test_round_trip_of_profiles(curve: TradeOff) -> None:
    """M ↦ δ(s) = max M(a) − s·a ↦ M = min s·a + δ(s): the slopes of the curve are enough."""
    slopes = [s for s in curve.slopes if s not in (0, inf)]
    profile = [(s, max(b - s * a for a, b in curve.points)) for s in slopes]
    predicate = q.from_profile(profile, symmetric=False)
    assert q.tradeoff_of(predicate).points == curve.points
    for s, delta in profile:
        assert q.profile(predicate, alpha=1 / s) == (delta, delta)


@given(channels(secrets=range(2), outputs=4), st.fractions(Fraction(1, 6), 6, max_denominator=8))
def test_profiles_at_both_signs_of_epsilon(channel: sf.Channel, s: Fraction) -> None:
    """δ(P, Q; ε) = 1 − e^ε + e^ε δ(Q, P; −ε): complements of events exchange the secrets."""
    there, back = (smallest_delta(channel, [pair], alpha=1 / f).high for pair, f in (((0, 1), s), ((1, 0), 1 / s)))
    assert there == 1 - s + s * back
    assert there == max(b - s * a for a, b in tradeoff(channel, 0, 1).points) >= max(0, 1 - s)
    sharpest = q.from_tradeoff(tradeoff(channel, 0, 1))
    assert q.profile(sharpest, alpha=1 / s) == (there, there)


@given(curves())
def test_reflection(curve: TradeOff) -> None:
    """Exchanging the secrets twice changes nothing, and is the inverse function of f."""
    assert curve.reversed().reversed().points == curve.points
    reflected = [part.reflected() for part in q.from_tradeoff(curve).parts]
    assert q.tradeoff_of(q.Predicate("reflected", tuple(reflected))).points == curve.reversed().points


@given(channels(secrets=range(3), outputs=4), st.fractions(Fraction(1, 6), 1, max_denominator=8), unit)
def test_least_delta_decides(channel: sf.Channel, alpha: Fraction, delta: Fraction) -> None:
    """A channel is (ε, δ)-private iff δ is at least the least one."""
    least = smallest_delta(channel, alpha=alpha).high
    assert bool(satisfies_predicate(channel, q.epsilon_delta(alpha=alpha, delta=delta))) == (delta >= least)


@given(channels(secrets=range(2), outputs=4), curves())
def test_the_sharpest_promise(channel: sf.Channel, curve: TradeOff) -> None:
    """A channel keeps an f-DP promise iff its own curve lies below."""
    own = tradeoff(channel, 0, 1)
    below = all(b <= curve.power(a) for a, b in own.points)
    assert bool(satisfies_predicate(channel, q.from_tradeoff(curve), [(0, 1)])) == below
    assert satisfies_predicate(channel, q.from_tradeoff(own), [(0, 1)])


@pytest.mark.parametrize("alpha", ["1/2", "1/3"])
def test_the_laplace_mechanism_has_the_laplace_curve(alpha: str) -> None:
    """Two-sided geometric noise keeps the Laplace curve only where its steps allow it, and the pure one always."""
    secrets = sf.line(12)
    channel = sf.geometric(sf.PrivacyType(secrets, alpha=alpha)).channel
    assert satisfies_predicate(channel, q.pure(alpha=alpha), secrets)
    worst = worst_tradeoff(channel, secrets)
    assert max(b - a / Fraction(alpha) for a, b in worst.points) == 0
