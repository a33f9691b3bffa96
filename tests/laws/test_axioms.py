"""Kifer and Lin 2012: predicates, their curves, and what the axioms make of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.privacy import predicates as q
from sfumato.privacy.axioms import satisfies_axioms
from sfumato.privacy.predicates_definitions import breaks, mixture
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
    for channel in (first, second, mixture(weight, first, second), sf.choice(weight, first, second)):
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
