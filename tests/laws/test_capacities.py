"""Laws of capacities: what a channel leaks at most, for one prior, to the guesser, and in bits."""

from __future__ import annotations

from fractions import Fraction
from math import log2

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.measures import (
    additive_capacity,
    bayes_risk,
    bayes_risk_capacity,
    mutual_information,
    shannon_capacity,
)
from sfumato.numbers import divide
from strategies import channels, distributions, losses, priors

SLACK = 1e-12  # of measures in bits, which are sums of floats


@given(st.data())
def test_additive_capacity_at_a_prior_is_reached_and_never_passed(data: st.DataObject) -> None:
    channel = data.draw(channels())
    prior = data.draw(priors(channel.secrets, positive=True))
    most = additive_capacity(prior, channel)
    assert most == sf.capacity(channel).additive
    n = len(channel.secrets)
    table = [[1 - int(w == x) / prior.weights[x] for x in range(n)] for w in range(n)]
    assert sf.leakage(prior, channel, sf.Gain(range(n), channel.secrets, table), kind="additive") == most
    given_gain = divide(data.draw(losses(channel.secrets)).matrix, 5)  # at most 1, and with an action that gains 0
    gain = sf.Gain(range(len(given_gain) + 1), channel.secrets, np.concatenate([given_gain, 0 * given_gain[:1]]))
    assert sf.leakage(prior, channel, gain, kind="additive") <= most


@given(st.data())
def test_only_possible_secrets_count(data: st.DataObject) -> None:
    channel = data.draw(channels())
    prior = data.draw(priors(channel.secrets))
    possible = [x for x, weight in zip(prior.secrets, prior.weights, strict=True) if weight]
    assert additive_capacity(prior, channel) == sf.capacity(sf.channels.restrict(channel, possible)).additive


@given(st.data())
def test_additive_capacity_for_gains_that_span_one(data: st.DataObject) -> None:
    channel = data.draw(channels())
    prior = data.draw(priors(channel.secrets))
    most = additive_capacity(prior, channel, spanning="gain")
    assert most <= additive_capacity(prior, channel)
    outer = sf.channels.output_distribution(prior, channel)
    above = (channel.matrix > outer).astype(np.int64).T  # where an output is likelier than on the whole
    gain = sf.Gain(channel.outputs, channel.secrets, above - (above * prior.weights).sum(axis=1)[:, None])
    assert sf.leakage(prior, channel, gain, kind="additive") == most
    table = data.draw(losses(channel.secrets)).matrix
    spans = (table.max(axis=1) - table.min(axis=1)).max()
    if spans:
        scaled = sf.Gain(range(len(table)), channel.secrets, divide(table, spans))
        assert sf.leakage(prior, channel, scaled, kind="additive") <= most


@given(st.data())
def test_bayes_risk_falls_by_no_more_than_its_capacity(data: st.DataObject) -> None:
    channel = data.draw(channels())
    found = bayes_risk_capacity(channel)
    for prior in (data.draw(priors(channel.secrets)), found.prior):
        before, after = 1 - prior.weights.max(), bayes_risk(prior, channel)
        assert before <= found.value * after or (after == 0 and (before == 0 or found.value == float("inf")))
    if len(channel.secrets) > 1:
        after = bayes_risk(found.prior, channel)
        assert found.value == (Fraction(1, 2) / after if after else float("inf"))


@given(st.data())
@settings(max_examples=60)
def test_shannon_capacity_is_the_most_mutual_information(data: st.DataObject) -> None:
    channel = data.draw(channels())
    found = shannon_capacity(channel)
    assert 0 <= found.upper - found.lower <= 1e-9
    assert mutual_information(found.prior, channel) >= found.lower - SLACK
    assert mutual_information(data.draw(priors(channel.secrets)), channel) <= found.upper + SLACK
    after = shannon_capacity(sf.cascade(channel, data.draw(channels(channel.outputs))))
    assert after.lower <= found.upper
    # no more than the capacity of guessing, nor than what secrets or outputs can hold
    assert found.lower <= log2(sf.capacity(channel).multiplicative) + SLACK
    assert found.lower <= log2(min(channel.shape)) + SLACK


@given(st.data())
@settings(max_examples=30)
def test_shannon_capacities_of_independent_channels_add_up(data: st.DataObject) -> None:
    first, second = (
        sf.Channel(range(n), [data.draw(distributions(3)) for _ in range(n)]) for n in (2, data.draw(st.integers(2, 3)))
    )
    both = sf.Channel(
        [(x, z) for x in first.secrets for z in second.secrets], np.kron(first.matrix, second.matrix).tolist()
    )
    one, other, together = map(shannon_capacity, (first, second, both))
    assert max(together.lower, one.lower + other.lower) <= min(together.upper, one.upper + other.upper) + SLACK
