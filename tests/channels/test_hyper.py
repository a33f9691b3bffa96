from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput, Mismatch
from strategies import channels, priors


def test_equal_columns_merge_and_zero_columns_vanish() -> None:
    channel = sf.Channel([0, 1], [["1/2", "1/4", 0, "1/4"], ["1/4", "1/8", 0, "5/8"]], outputs=list("abcd"))
    made = sf.hyper(sf.Prior.uniform([0, 1]), channel)
    assert made.merged == (("a", "b"), ("d",))
    assert made.outer.tolist() == [Fraction(9, 16), Fraction(7, 16)]
    assert made.inners[:, 0].tolist() == [Fraction(2, 3), Fraction(1, 3)]


def test_secrets_of_probability_zero_do_not_separate_columns() -> None:
    channel = sf.Channel([0, 1], [["1/2", "1/2"], ["1/3", "2/3"]])
    assert len(sf.hyper(sf.Prior.point([0, 1], 0), channel)) == 1


@given(st.data())
def test_floats_merge_what_rationals_merge(data: st.DataObject) -> None:
    channel = data.draw(channels())
    prior = data.draw(priors(channel.secrets, positive=True))
    exact = sf.hyper(prior, channel)
    floating = sf.hyper(prior.to_floats(), channel.to_floats())
    assert {frozenset(m) for m in exact.merged} == {frozenset(m) for m in floating.merged}
    assert np.allclose(floating.average(), prior.float_weights)


def test_posteriors() -> None:
    channel = sf.Channel([0, 1], [["2/3", "1/3", 0], ["1/3", "2/3", 0]])
    after = sf.posterior(sf.Prior(range(2), ["1/4", "3/4"]), channel, 0)
    assert after.weights.tolist() == [Fraction(2, 5), Fraction(3, 5)]
    assert sf.channels.output_distribution(sf.Prior.uniform([0, 1]), channel).tolist() == [Fraction(1, 2)] * 2 + [0]
    with pytest.raises(InvalidInput, match="probability 0"):
        sf.posterior(sf.Prior.uniform([0, 1]), channel, 2)
    with pytest.raises(InvalidInput, match="not among"):
        sf.posterior(sf.Prior.uniform([0, 1]), channel, "three")


def test_mixed_fields_give_floats_and_labels_must_agree() -> None:
    channel = sf.Channel([0, 1], [["1/2", "1/2"], [0, 1]])
    assert sf.channels.joint(sf.Prior([0, 1], [0.5, 0.5]), channel).dtype == np.float64
    with pytest.raises(Mismatch, match="unexpected 0, 1"):
        sf.channels.joint(sf.Prior.uniform(["a", "b"]), channel)
