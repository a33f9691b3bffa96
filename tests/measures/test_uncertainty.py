from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import losses as L
from sfumato.errors import Mismatch
from strategies import channels, losses, priors


@given(st.data())
def test_posterior_loss_is_the_best_over_all_remaps(data: st.DataObject) -> None:
    """Paper A, Lemma A1: the sum of minima is the minimum over remaps."""
    channel = data.draw(channels(outputs=3))
    prior, loss = data.draw(priors(channel.secrets)), data.draw(losses(channel.secrets))
    joint = sf.channels.joint(prior, channel)
    by_hand = min(
        sum(joint[x, y] * loss.matrix[remap[y], x] for x in range(len(channel.secrets)) for y in range(3))
        for remap in product(range(len(loss.actions)), repeat=3)
    )
    assert sf.posterior_loss(prior, channel, loss) == by_hand
    remapped = sf.remap(channel, sf.optimal_remap(prior, channel, loss))
    assert sf.expected_loss(prior, remapped, loss) == by_hand
    assert sf.posterior_loss(prior.to_floats(), channel.to_floats(), loss) == pytest.approx(float(by_hand))


@given(st.data())
def test_bin_takes_the_short_way_to_the_same_value(data: st.DataObject) -> None:
    channel = data.draw(channels())
    prior = data.draw(priors(channel.secrets))
    long_way = L.matrix(
        channel.secrets, [[Fraction(int(w != x)) / 1 for x in channel.secrets] for w in channel.secrets]
    )
    doubled = L.scale(long_way, "2")
    assert 2 * sf.posterior_loss(prior, channel, L.bin(prior)) == sf.posterior_loss(prior, channel, doubled)
    assert sf.measures.posterior_vulnerability(prior, channel, L.guess(prior)) == sf.bayes_vulnerability(prior, channel)
    floating = sf.bayes_vulnerability(prior.to_floats(), channel.to_floats())
    assert floating == pytest.approx(float(sf.bayes_vulnerability(prior, channel)))
    assert sf.measures.bayes_risk(prior, channel) == 1 - sf.bayes_vulnerability(prior, channel)


def test_prior_loss_and_action() -> None:
    prior = sf.Prior([0, 1, 2], ["1/2", "1/4", "1/4"])
    loss = L.absolute([0, 1, 2])
    assert sf.prior_loss(prior, loss) == Fraction(3, 4)
    assert sf.measures.optimal_action(prior, loss) == 0
    assert sf.measures.prior_vulnerability(prior, L.guess(prior)) == Fraction(1, 2)
    assert sf.prior_loss(prior.to_floats(), loss) == 0.75


def test_labels_are_checked() -> None:
    channel = sf.Channel.identity([0, 1])
    with pytest.raises(Mismatch):
        sf.posterior_loss(sf.Prior.uniform([0, 1]), channel, L.bin(["a", "b"]))
    with pytest.raises(Mismatch):
        sf.bayes_vulnerability(sf.Prior.uniform(["a", "b"]), channel)
    with pytest.raises(Mismatch, match="outputs taken as actions"):
        sf.expected_loss(sf.Prior.uniform([0, 1]), sf.Channel.constant([0, 1], "y"), L.bin([0, 1]))


def test_large_float_channels_agree_with_numpy() -> None:
    rng = np.random.default_rng(1)
    table = rng.random((60, 70))
    channel = sf.Channel(range(60), table / table.sum(axis=1, keepdims=True))
    prior = sf.Prior.from_counts(rng.random(60))
    loss = L.matrix(range(60), rng.random((50, 60)))
    joint = prior.weights[:, None] * channel.matrix
    assert sf.bayes_vulnerability(prior, channel) == pytest.approx(joint.max(axis=0).sum())
    assert sf.posterior_loss(prior, channel, loss) == pytest.approx((loss.matrix @ joint).min(axis=0).sum())
