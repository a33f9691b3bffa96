from __future__ import annotations

from fractions import Fraction
from math import nan
from typing import Any

import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, InvalidPrior, Mismatch


def test_uniform_point_and_counts() -> None:
    space = sf.line(4)
    assert set(sf.Prior.uniform(space).weights) == {Fraction(1, 4)}
    assert sf.Prior.point(space, 2).support == (2,)
    assert sf.Prior.from_counts({1: 3, 0: 1}, space).weights.tolist() == [Fraction(1, 4), Fraction(3, 4), 0, 0]
    assert sf.Prior.from_counts([1, 1, 2, 0], space).support == (0, 1, 2)
    assert sf.Prior.from_counts([0.5, 1.5]).weights.tolist() == [0.25, 0.75]


def test_float_priors_allow_for_rounding_only() -> None:
    sf.Prior(range(10), [0.1] * 10)
    with pytest.raises(InvalidPrior, match="sum to"):
        sf.Prior(range(2), [0.5, 0.5 + 1e-9])
    with pytest.raises(InvalidPrior):
        sf.Prior(range(2), ["1/2", "500000001/1000000000"])


@pytest.mark.parametrize(
    "weights", [[], [1, 0], [nan, 1.0, 0.0], ["-1", 1, 1], [[1, 0, 0]], "abc", None, [0.5, 0.6, 0.1]]
)
def test_bad_weights_are_refused(weights: Any) -> None:
    with pytest.raises(InvalidPrior):
        sf.Prior(range(3), weights)


def test_labels_and_counts_must_fit() -> None:
    with pytest.raises(Mismatch, match="'mars'"):
        sf.Prior.from_counts({"mars": 1}, ["earth"])
    with pytest.raises(Mismatch):
        sf.Prior.point([0, 1], 2)
    with pytest.raises(InvalidInput):
        sf.Prior(["a", "a"], [0.5, 0.5])
    for counts in ([0, 0], [-1, 2], [1, 2, 3]):
        with pytest.raises(InvalidPrior):
            sf.Prior.from_counts(counts, [0, 1])


def test_to_floats_keeps_the_secrets() -> None:
    prior = sf.Prior(["a", "b", "c"], ["1/3"] * 3).to_floats()
    assert not prior.exact
    assert prior.secrets == ("a", "b", "c")
