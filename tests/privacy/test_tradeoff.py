from __future__ import annotations

from fractions import Fraction
from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidEpsilon, InvalidInput, Mismatch
from sfumato.privacy.predicates_satisfaction import all_events
from sfumato.privacy.tradeoff import TradeOff, smallest_delta, smallest_epsilon_at, tradeoff, worst_tradeoff
from strategies import channels

HALF = Fraction(1, 2)
MIRONOV = sf.Channel([0, 1], [["89/100", "1/10", "1/100", 0], ["79/100", "1/5", 0, "1/100"]], list("ABCD"))


def brute_delta(channel: sf.Channel, factor: Fraction) -> Fraction:
    n = len(channel.secrets)
    gaps = [b - factor * a for x in range(n) for z in range(n) if x != z for _, a, b in all_events(channel, x, z)]
    return max(gaps, default=Fraction(0))


@given(channels(secrets=range(2), outputs=6), st.fractions(Fraction(1, 5), 5, max_denominator=7))
def test_delta_against_all_events(channel: sf.Channel, factor: Fraction) -> None:
    found = smallest_delta(channel, alpha=1 / factor)
    assert found.low == found.high == brute_delta(channel, factor)
    if found.pair is not None:
        x, z = found.pair
        p = sum(channel.row(x)[channel.outputs.index(y)] for y in found.event)
        q = sum(channel.row(z)[channel.outputs.index(y)] for y in found.event)
        assert q - factor * p == found.high


@given(channels(secrets=range(3), outputs=4), st.fractions(0, 1, max_denominator=12))
def test_epsilon_and_delta_are_inverse(channel: sf.Channel, delta: Fraction) -> None:
    found = smallest_epsilon_at(channel, delta)
    if found.factor is None:
        assert any(b > delta for x in range(3) for z in range(3) for _, a, b in all_events(channel, x, z) if a == 0)
        return
    assert smallest_delta(channel, alpha=1 / found.factor).high <= delta
    if found.factor > 1:
        assert smallest_delta(channel, alpha=1 / (1 + (found.factor - 1) * Fraction(99, 100))).high > delta


def test_delta_of_a_transcendental_factor_is_enclosed() -> None:
    found = smallest_delta(MIRONOV, epsilon="1/10")
    brute = max(float(b) - exp(0.1) * float(a) for x in (0, 1) for _, a, b in all_events(MIRONOV, x, 1 - x))
    assert found.low < found.high <= found.low + Fraction(1, 2**60)
    assert float(found) == pytest.approx(brute, abs=1e-15)
    below = smallest_delta(MIRONOV, epsilon="-1/10")
    assert below.low < below.high <= below.low + Fraction(1, 2**60)
    assert float(below) == pytest.approx(1 - exp(-0.1) + exp(-0.1) * float(found), abs=1e-15)


def test_epsilon_of_the_example() -> None:
    assert smallest_epsilon_at(MIRONOV, "1/100").factor == 2
    assert float(smallest_epsilon_at(MIRONOV, "1/100")) == pytest.approx(log(2))
    assert float(smallest_epsilon_at(MIRONOV, 0)) == inf
    assert smallest_epsilon_at(MIRONOV, 1).factor == 1


def test_epsilon_at_zero_is_the_smallest_epsilon() -> None:
    space = sf.discrete(3)
    channel = sf.Channel(space, [["3/5", "1/5", "1/5"], ["1/5", "3/5", "1/5"], ["1/5", "1/5", "3/5"]])
    assert float(smallest_epsilon_at(channel, 0, space)) == sf.smallest_epsilon(channel, space)


@given(channels(secrets=range(2), outputs=6))
def test_the_curve_is_the_hull_of_all_events(channel: sf.Channel) -> None:
    curve = tradeoff(channel, 0, 1)
    for _, a, b in all_events(channel, 0, 1):
        assert b <= curve.power(a)
    events = {(a, b) for _, a, b in all_events(channel, 0, 1)}
    assert set(curve.points) <= events
    assert list(curve.slopes) == sorted(set(curve.slopes), reverse=True)
    assert curve.points[0] == (0, 0) and curve.points[-1] == (1, 1)
    assert tradeoff(channel, 1, 0).points == curve.reversed().points


@given(channels(secrets=range(3), outputs=4))
def test_the_worst_curve_is_the_hull_of_all_pairs(channel: sf.Channel) -> None:
    worst = worst_tradeoff(channel)
    curves = {(x, z): tradeoff(channel, x, z) for x in range(3) for z in range(3) if x != z}
    assert worst.points == TradeOff.through([p for curve in curves.values() for p in curve.points]).points
    for point, event, pair in zip(worst.points[1:-1], worst.events[1:-1], worst.pairs[1:-1], strict=True):
        assert point in curves[pair].points and event in curves[pair].events


def test_a_row_that_is_told_apart() -> None:
    curve = tradeoff(sf.Channel.identity(range(2)), 0, 1)
    assert curve.points == ((0, 0), (0, 1), (1, 1))
    assert curve.slopes == (inf, 0)
    assert curve.power(0) == 1 and curve(0) == 0
    assert tradeoff(sf.Channel.constant(range(2)), 0, 1).points == ((0, 0), (1, 1))


def test_ratios_too_close_for_logarithms_are_sorted_exactly() -> None:
    tiny = Fraction(1, 10**20)
    p = [Fraction(1, 4)] * 4
    q = [Fraction(1, 4) + k * tiny for k in (-1, 2, -2, 1)]
    curve = tradeoff(sf.Channel([0, 1], [p, q]), 0, 1)
    assert curve.events[-2] == (1, 3, 0)
    assert len(curve.points) == 5


def test_numbers_beyond_floats() -> None:
    tiny = Fraction(1, 10**400)
    channel = sf.Channel([0, 1], [[tiny, 1 - tiny], [3 * tiny, 1 - 3 * tiny]])
    assert tradeoff(channel, 0, 1).points[1] == (tiny, 3 * tiny)


def test_floats_stand_for_their_rationals() -> None:
    table = np.array([[0.1, 0.2, 0.7], [0.7, 0.2, 0.1]])
    channel = sf.Channel([0, 1], table)
    exact = channel.to_rationals()
    assert tradeoff(channel, 0, 1).points == tradeoff(exact, 0, 1).points
    assert smallest_delta(channel, alpha="1/2").high == smallest_delta(exact, alpha="1/2").high


def test_neighbours() -> None:
    channel = sf.Channel(range(3), [[1, 0], ["1/2", "1/2"], [0, 1]])
    assert smallest_delta(channel, alpha=1).high == 1
    assert smallest_delta(channel, sf.line(3), alpha=1).high == HALF
    assert smallest_delta(channel, [(0, 1)], alpha="1/2").high == HALF
    assert smallest_delta(channel, [(1, 0)], alpha="1/2").high == 0
    with pytest.raises(Mismatch, match="9 is not among"):
        smallest_delta(channel, [(0, 9)], alpha=1)
    with pytest.raises(InvalidInput, match="pairs of secrets"):
        smallest_delta(channel, 3, alpha=1)
    with pytest.raises(InvalidInput, match="at distance 1"):
        smallest_delta(channel, sf.FiniteSpace(range(3), [[0, 2, 2], [2, 0, 2], [2, 2, 0]]), alpha=1)
    with pytest.raises(Mismatch, match="secrets of channel and space"):
        smallest_delta(channel, sf.line(4), alpha=1)


def test_mistakes() -> None:
    with pytest.raises(InvalidInput, match=r"\[0, 1\]"):
        smallest_epsilon_at(MIRONOV, 2)
    with pytest.raises(InvalidEpsilon, match="either epsilon or alpha"):
        smallest_delta(MIRONOV)
    for wrong in ({"alpha": 0}, {"alpha": -1}, {"epsilon": -(10**7)}):
        with pytest.raises(InvalidEpsilon):
            smallest_delta(MIRONOV, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="probability"):
        tradeoff(MIRONOV, 0, 1).power(2)
    with pytest.raises(InvalidInput, match="unit square"):
        TradeOff.through([(2, 0)])
