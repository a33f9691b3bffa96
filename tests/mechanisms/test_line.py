from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import truncated_geometric
from sfumato.errors import InvalidEpsilon, InvalidInput, NotSupported
from sfumato.mechanisms.line import line_order
from strategies import alphas


@given(alphas(), st.integers(-5, 5), st.integers(0, 12))
def test_cumulative_sums_are_sums(alpha: Fraction, x: int, reach: int) -> None:
    noise = sf.mechanisms.InfiniteGeometric(alpha)
    assert noise.cumulative(x, x + reach) - noise.cumulative(x, x - reach - 1) == sum(
        noise.probability(x, y) for y in range(x - reach, x + reach + 1)
    )
    assert noise.cumulative(x, x - reach - 1) == 1 - noise.cumulative(x, x + reach)


@given(alphas(), st.integers(2, 6), st.integers(-3, 3))
def test_truncation_gathers_what_lies_beyond_the_ends(alpha: Fraction, n: int, low: int) -> None:
    noise = sf.mechanisms.InfiniteGeometric(alpha)
    made = noise.truncated(low, low + n - 1)
    assert made.secrets == tuple(range(low, low + n))
    assert (made.channel.matrix == truncated_geometric(n, alpha).matrix).all()
    assert made.channel.matrix[0, 0] == noise.cumulative(low, low)
    assert made.channel.matrix[0, -1] == 1 - noise.cumulative(low, low + n - 2)


def test_irrational_steps_are_rounded_and_proved() -> None:
    privacy = sf.PrivacyType(sf.points([[0.0, 0.0], [1.0, 0.0], [2.5, 0.0]]), epsilon="0.7")
    made = sf.geometric(privacy)
    assert sf.verify(made)
    assert made.provenance["made by"] == "geometric"
    assert sf.smallest_epsilon(made.channel, privacy.space) == pytest.approx(0.7, rel=1e-12)


def test_a_smaller_alpha_than_promised_is_refused_and_a_larger_one_proved() -> None:
    privacy = sf.PrivacyType(sf.line(3), alpha="1/3")
    assert sf.geometric(privacy, alpha="1/2").privacy is privacy
    with pytest.raises(InvalidEpsilon, match="tells more"):
        sf.geometric(privacy, alpha="1/4")


def test_what_is_no_line_and_other_bad_input() -> None:
    for space in (sf.cycle(4), sf.spaces.star(3), sf.discrete(3), sf.grid(2, 2), sf.graph([(0, 1)], labels=[0, 1, 2])):
        with pytest.raises(NotSupported, match="line"):
            sf.geometric(sf.PrivacyType(space, epsilon=1))
    assert line_order(sf.graph([("b", "a"), ("c", "a")])) in ([0, 1, 2], [2, 1, 0], [0, 2, 1], [1, 0, 2], [1, 2, 0])
    with pytest.raises(InvalidEpsilon):
        sf.mechanisms.InfiniteGeometric(Fraction(1))
    with pytest.raises(InvalidInput, match="low < high"):
        sf.mechanisms.InfiniteGeometric(Fraction(1, 2)).truncated(3, 3)
    with pytest.raises(NotSupported, match="Hamming"):
        sf.mechanisms.hamming_kernel(sf.PrivacyType(sf.line(4), epsilon=1))
    with pytest.raises(NotSupported, match="two symbols"):
        sf.mechanisms.hamming_kernel(sf.PrivacyType(sf.hamming(2).restrict(["00", "11"]), epsilon=1))
