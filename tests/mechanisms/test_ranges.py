from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported
from sfumato.mechanisms import InfiniteGeometric, truncated_geometric

RANGES = [(0, 4), (-3, 8), (1, 3), (-5, -2), (7, 9), (2, 3), (-2, 2)]


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_it_is_the_infinite_one_with_ends(low: int, high: int) -> None:
    privacy, noise = sf.PrivacyType(sf.line(5), alpha="1/3"), InfiniteGeometric(Fraction(1, 3))
    mechanism = truncated_geometric(privacy, low, high)
    assert mechanism.channel.outputs == tuple(range(low, high + 1)) and sf.verify(mechanism)
    for x in range(5):
        row = mechanism.channel.row(x).tolist()
        assert row[0] == noise.cumulative(x, low) and row[-1] == 1 - noise.cumulative(x, high - 1)
        assert row[1:-1] == [noise.probability(x, y) for y in range(low + 1, high)]


def test_spacings_and_irrational_rates() -> None:
    even = sf.FiniteSpace([0, 2, 6], [[0, 1, 3], [1, 0, 2], [3, 2, 0]])  # half a unit for a difference of 1
    halves = truncated_geometric(sf.PrivacyType(even, alpha="1/4"), 0, 6)
    assert halves.channel[0, 0] == Fraction(2, 3) and halves.channel.exact
    mechanism = truncated_geometric(sf.PrivacyType(sf.line(5), epsilon=0.7), -3, 8)
    exactly = InfiniteGeometric(Fraction(np.exp(-0.7)))
    assert sf.verify(mechanism)
    assert float(mechanism.channel[2, 4]) == pytest.approx(float(exactly.probability(2, 4)), abs=1e-9)
    assert truncated_geometric(sf.PrivacyType(sf.line(1), alpha="1/2"), 0, 1).channel[0, 0] == Fraction(2, 3)


def test_what_cannot_be_made() -> None:
    privacy = sf.PrivacyType(sf.line(3), alpha="1/2")
    for low, high in ((2, 2), (3, 1)):
        with pytest.raises(InvalidInput, match="low < high"):
            truncated_geometric(privacy, low, high)
    with pytest.raises(InvalidInput, match="integer"):
        truncated_geometric(privacy, 0, 2.5)  # type: ignore[arg-type]
    for space in (sf.cycle(5), sf.hamming(2), sf.grid(2, 2), sf.points([[0.1], [0.2]])):
        with pytest.raises(NotSupported, match="proportional"):
            truncated_geometric(sf.PrivacyType(space, alpha="1/2"), 0, 3)
    with pytest.raises(NotSupported):
        truncated_geometric(privacy, 0, 10**9)
