from __future__ import annotations

import re
from fractions import Fraction
from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from examples import truncated_geometric
from sfumato.errors import Mismatch
from sfumato.numbers import exp_bounds
from sfumato.verdict import Outcome
from strategies import channels, exact_private_channels, privacy_types


@given(exact_private_channels())
@settings(max_examples=100)
def test_channels_private_by_construction_are_accepted(case: tuple[sf.Channel, sf.PrivacyType]) -> None:
    channel, privacy = case
    assert sf.satisfies(channel, privacy)


@given(st.data())
@settings(max_examples=200)
def test_the_verdict_is_that_of_all_pairs(data: st.DataObject) -> None:
    privacy = data.draw(privacy_types())
    channel = data.draw(channels(privacy.secrets))
    table, n = privacy.space.distances, len(privacy.space)
    broken = any(
        channel.matrix[x, y] > privacy.factor_bounds(table.values[x, z], 200)[1] * channel.matrix[z, y]
        for x in range(n)
        for z in range(n)
        for y in range(len(channel.outputs))
        if x != z and not table.infinite[x, z]
    )
    verdict = sf.satisfies(channel, privacy)
    assert bool(verdict) != broken
    if broken:
        (x, z), output = verdict.witness.pair, verdict.witness.output
        i, j, y = channel.secrets.index(x), channel.secrets.index(z), channel.outputs.index(output)
        assert channel.matrix[i, y] > privacy.factor(x, z, 200)[1] * channel.matrix[j, y]


def test_the_geometric_sits_on_the_border() -> None:
    space = sf.line(7)
    exact = truncated_geometric(7, Fraction(2, 5))
    privacy = sf.PrivacyType(space, alpha="2/5")
    assert sf.satisfies(exact, privacy)
    assert not sf.satisfies(exact, sf.PrivacyType(space, alpha="41/100"))
    assert sf.satisfies(exact.to_floats(), privacy).outcome is Outcome.UNDECIDED
    assert sf.satisfies(exact.to_floats(), sf.PrivacyType(space, alpha="39/100"))
    assert not sf.satisfies(exact.to_floats(), sf.PrivacyType(space, alpha="4000001/10000000"))


def test_zero_facing_a_positive_entry() -> None:
    channel = sf.Channel([0, 1], [[1, 0], ["1/2", "1/2"]])
    verdict = sf.satisfies(channel, sf.PrivacyType(sf.line(2), epsilon=1000))
    assert not verdict
    assert verdict.witness.ratio == inf
    assert sf.smallest_epsilon(channel, sf.line(2)) == inf
    assert sf.privacy.row_distance(channel, 0, 1) == inf
    apart = sf.graph([], labels=[0, 1])
    assert sf.satisfies(channel, sf.PrivacyType(apart, epsilon=1))
    assert sf.smallest_epsilon(channel, apart) == 0


def test_columns_of_zeros_do_not_count() -> None:
    channel = sf.Channel([0, 1], [[1, 0], [1, 0]])
    assert sf.satisfies(channel, sf.PrivacyType(sf.line(2), epsilon="1/1000"))
    assert sf.smallest_epsilon(channel, sf.line(2)) == 0
    assert sf.privacy.row_distance(channel, 0, 1) == 0


@given(exact_private_channels())
@settings(max_examples=100)
def test_smallest_epsilon_is_safe_and_sharp(case: tuple[sf.Channel, sf.PrivacyType]) -> None:
    channel, privacy = case
    epsilon = sf.smallest_epsilon(channel, privacy.space)
    assert epsilon <= privacy.rate * (1 + 1e-12)
    if epsilon > 0:
        assert sf.satisfies(channel, sf.PrivacyType(privacy.space, epsilon=epsilon))
        assert not sf.satisfies(channel, sf.PrivacyType(privacy.space, epsilon=epsilon * (1 - 1e-12)))
        assert sf.smallest_epsilon(channel.to_floats(), privacy.space) == pytest.approx(epsilon, rel=1e-9)


def test_tightest_pair_is_where_it_should_be() -> None:
    channel = sf.Channel([0, 1, 2], [["1/2", "1/2"], ["1/4", "3/4"], ["1/5", "4/5"]])
    tightest = sf.tightest_pair(channel, sf.line(3))
    assert tightest is not None
    assert tightest.pair == (0, 1)
    assert tightest.ratio == 2
    assert tightest.epsilon == pytest.approx(log(2))
    assert sf.tightest_pair(sf.Channel.constant(["x"]), sf.discrete(["x"])) is None


def test_entries_far_outside_the_range_of_floats() -> None:
    tiny = Fraction(1, 10**400)
    channel = sf.Channel([0, 1], [[tiny, 1 - tiny], [tiny * 3, 1 - tiny * 3]])
    assert sf.satisfies(channel, sf.PrivacyType(sf.line(2), alpha="1/3"))
    assert not sf.satisfies(channel, sf.PrivacyType(sf.line(2), alpha="1/2"))


def test_large_and_tiny_epsilon() -> None:
    space = sf.line(2)
    channel = sf.Channel(space, [["1/2", "1/2"], ["1/3", "2/3"]])
    assert sf.satisfies(channel, sf.PrivacyType(space, epsilon=10**6))
    assert not sf.satisfies(channel, sf.PrivacyType(space, epsilon="1/1000000000000000000000000"))
    low, high = exp_bounds(Fraction(1, 10**24), 120)
    close = Fraction(1, 2) * (low + high) / 2
    near = sf.Channel(space, [[close, 1 - close], ["1/2", "1/2"]])
    assert not sf.satisfies(near, sf.PrivacyType(space, epsilon="9/10000000000000000000000000"))


def test_float_channels_clearly_inside_and_outside() -> None:
    space = sf.grid(5, 5)
    scores = np.exp(-0.4 * space.distances.floats)
    channel = sf.Channel(space, scores / scores.sum(axis=1, keepdims=True))
    assert sf.satisfies(channel, sf.PrivacyType(space, epsilon=0.8))
    verdict = sf.satisfies(channel, sf.PrivacyType(space, epsilon=0.4))
    assert not verdict
    assert verdict.witness.ratio > exp(0.4)


def test_labels_are_checked() -> None:
    with pytest.raises(Mismatch):
        sf.satisfies(sf.Channel.identity(["ab"]), sf.PrivacyType(sf.line(2), epsilon=1))
    with pytest.raises(ValueError, match="9 is not among 0, 1"):
        sf.privacy.row_distance(sf.Channel.identity([0, 1]), 0, 9)


def test_pairs_that_nothing_is_promised_about_are_named() -> None:
    islands = sf.graph([], labels=[0, 1, 2])
    identity = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    verdict = sf.satisfies(sf.Channel(islands, identity), sf.PrivacyType(islands, epsilon=1))
    assert verdict
    assert verdict.reason == "nothing is promised about any of 3 pairs: no two secrets have a finite distance"
    bridge = sf.graph([(0, 1)], labels=[0, 1, 2])
    rows = [["2/3", "1/3", 0], ["1/3", "2/3", 0], [0, 0, 1]]
    verdict = sf.satisfies(sf.Channel(bridge, rows), sf.PrivacyType(bridge, alpha="1/2"))
    assert verdict
    assert verdict.reason.endswith("nothing is promised about 2 pairs")
    assert "tell apart" in sf.satisfies(sf.Channel([0], [[1]]), sf.PrivacyType(sf.line(1), epsilon=1)).reason


@pytest.mark.parametrize("power", [8, 16, 20, 40, 100])
@pytest.mark.parametrize("promise", [{"alpha": "1/2"}, {"epsilon": 1}])
def test_a_broken_promise_never_reads_as_if_it_were_kept(promise: dict[str, object], power: int) -> None:
    privacy = sf.PrivacyType(sf.line(2), **promise)
    above = privacy.factor(0, 1, 600)[1] * (1 + Fraction(1, 10**power))
    broken = sf.satisfies(sf.Channel([0, 1], [[above / 4, 1 - above / 4], ["1/4", "3/4"]]), privacy)
    times, allowed = re.search("is (.*) times as likely .* more than the (.*) allowed", broken.reason).groups()  # type: ignore[union-attr]
    assert times != allowed and (" + " in times or Fraction(times) > Fraction(allowed))
    assert 0 < broken.witness.excess < Fraction(2, 10**power)


def test_nor_does_a_broken_event() -> None:
    tiny = Fraction(1, 10**30)
    channel = sf.Channel([0, 1], [[Fraction(1, 4), Fraction(3, 4)], [Fraction(1, 2) + tiny, Fraction(1, 2) - tiny]])
    reason = sf.satisfies(channel, sf.predicates.pure(alpha="1/2")).reason
    much, most = re.search("and (.*) for 1, where at most (.*) is allowed", reason).groups()  # type: ignore[union-attr]
    assert Fraction(much) > Fraction(most)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_the_smallest_epsilon_is_enough_when_it_is_typed_again(a: int, b: int) -> None:
    """An ε that is rounded up to a double must also be so as the decimal that prints it, which is what is read."""
    total = a + b
    channel = sf.Channel([0, 1], [[Fraction(a, total), Fraction(b, total)], [Fraction(b, total), Fraction(a, total)]])
    found = sf.smallest_epsilon(channel, sf.line(2))
    if found:
        assert sf.satisfies(channel, sf.PrivacyType(sf.line(2), epsilon=found)).outcome is Outcome.HOLDS
        assert sf.satisfies(channel, sf.PrivacyType(sf.line(2), epsilon=repr(found))).outcome is Outcome.HOLDS


@pytest.mark.parametrize("epsilon", [1000, 1e8, 1e300])
def test_promises_that_allow_nearly_everything_take_no_time(epsilon: float) -> None:
    """e^{10^300} is never written down, neither to decide nor to say what was allowed."""
    privacy = sf.PrivacyType(sf.line(3), epsilon=epsilon)
    told = sf.satisfies(sf.Channel.identity(sf.line(3)), privacy)
    assert told.outcome is Outcome.FAILS and told.witness.bound == inf
    tiny = Fraction(1, 10**400)
    rows = [[1 - tiny, tiny], [tiny, 1 - tiny], [tiny, 1 - tiny]]
    assert sf.satisfies(sf.Channel(sf.line(3), rows), privacy).outcome is Outcome.HOLDS
