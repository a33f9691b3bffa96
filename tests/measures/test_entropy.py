from __future__ import annotations

from fractions import Fraction
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from strategies import channels, priors

flip = sf.Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
fair = sf.Prior.uniform([0, 1])


def test_entropies_of_known_distributions() -> None:
    prior = sf.Prior(range(4), ["1/2", "1/4", "1/8", "1/8"])
    assert sf.measures.shannon_entropy(prior) == pytest.approx(1.75)
    assert sf.measures.min_entropy(prior) == 1
    assert sf.measures.guessing_entropy(prior) == Fraction(1 * 4 + 2 * 2 + 3 + 4, 8)
    point, told = sf.Prior.point(range(4), 2), sf.Channel(range(4), np.eye(4))
    nothing = [sf.measures.shannon_entropy(point), sf.measures.min_entropy(point)]
    nothing += [measure(sf.Prior.uniform(range(4)), told) for measure in
                (sf.measures.conditional_min_entropy, sf.measures.conditional_shannon_entropy)]  # fmt: skip
    assert list(map(str, nothing)) == ["0.0"] * 4
    assert sf.measures.conditional_guessing_entropy(fair, flip) == Fraction(4, 3)
    assert sf.measures.conditional_min_entropy(fair, flip) == pytest.approx(-log2(2 / 3))
    assert sf.measures.min_mutual_information(fair, flip) == pytest.approx(log2(4 / 3))
    binary = -(2 / 3) * log2(2 / 3) - (1 / 3) * log2(1 / 3)
    assert sf.measures.mutual_information(fair, flip) == pytest.approx(1 - binary)
    assert sf.measures.conditional_shannon_entropy(fair, flip) == pytest.approx(binary)


@given(st.data())
def test_observation_never_raises_an_entropy(data: st.DataObject) -> None:
    channel = data.draw(channels())
    prior = data.draw(priors(channel.secrets))
    assert sf.measures.conditional_shannon_entropy(prior, channel) <= sf.measures.shannon_entropy(prior) + 1e-12
    assert sf.measures.conditional_min_entropy(prior, channel) <= sf.measures.min_entropy(prior) + 1e-12
    assert sf.measures.conditional_guessing_entropy(prior, channel) <= sf.measures.guessing_entropy(prior)
    assert sf.measures.min_mutual_information(prior, channel) >= 0
    assert sf.measures.mutual_information(prior, channel) >= 0
