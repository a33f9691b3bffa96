"""Weighted rows and groups: what they come to, and what is refused with its row."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.release.estimation.counts import weighted_counts
from sfumato.release.estimation.estimates import frequencies, frequencies_by

RESPONSE = sf.random_response(sf.PrivacyType(sf.discrete(["a", "b", "c"]), alpha="1/4"))


def test_a_weight_of_two_is_a_row_twice_for_shares_and_not_for_errors() -> None:
    rows = ["a", "b", "c", "a", "b", "a"]
    twice = frequencies(RESPONSE, rows, weights=[2, 1, 1, 2, 1, 1])
    plain = frequencies(RESPONSE, [*rows, "a", "a"])
    np.testing.assert_allclose(twice.weights, plain.weights.astype(float))
    assert twice.total == 6 and (twice.standard_errors > plain.standard_errors).all()
    even = frequencies(RESPONSE, rows, weights=[3] * 6)
    np.testing.assert_allclose(even.covariance, frequencies(RESPONSE, rows).covariance.astype(float))
    np.testing.assert_allclose(even.noise_covariance, frequencies(RESPONSE, rows).noise_covariance.astype(float))


def test_rows_of_weight_0_are_not_there() -> None:
    with_them = frequencies(RESPONSE, ["a", "b", "c", "a"], weights=[1, 1, 0, 2])
    without = frequencies(RESPONSE, ["a", "b", "a"], weights=[1, 1, 2])
    np.testing.assert_allclose(with_them.covariance, without.covariance)
    assert with_them.total == without.total == 3


@pytest.mark.parametrize(("weights", "words"), [
    ([1, -1, 1], "row 2: the weight is -1"), ([1, 1, float("nan")], "row 3: the weight is missing or NaN"),
    ([1, 1], "3 rows need as many weights"), (["x", 1, 1], "row 1: the weight is 'x', no number"),
    ([0, 0, 0], "no row of positive weight"), ([1, None, 1], "row 2"), ([1, float("inf"), 1], "row 2"),
])  # fmt: skip
def test_weights_that_cannot_be(weights: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        frequencies(RESPONSE, ["a", "b", "c"], weights=weights)


def test_counts_have_no_weights_of_their_own() -> None:
    with pytest.raises(InvalidInput, match="not counts"):
        weighted_counts(RESPONSE, {"a": 3}, [1])
    with pytest.raises(InvalidInput, match="shape"):
        frequencies(sf.Channel.identity(["a", "b"]), weighted_counts(RESPONSE, ["a"], [1]))


def test_groups_are_estimated_each_for_itself() -> None:
    rows, groups = ["a", "b", "c", "a"], ["north", "south", "north", "north"]
    found = frequencies_by(RESPONSE, rows, groups)
    assert list(found) == ["north", "south"]
    assert found["north"].weights.tolist() == frequencies(RESPONSE, ["a", "c", "a"]).weights.tolist()
    assert isinstance(found["south"].weights[0], Fraction)
    likely = frequencies_by(RESPONSE, rows, groups, weights=[1, 2, 1, 2], method="likelihood")
    assert all((part.weights >= 0).all() for part in likely.values())


@pytest.mark.parametrize(("groups", "words"), [
    ([1, None, 2], "row 2: the group is missing"), ([1, 2], "3 rows need as many groups"),
    ([1, float("nan"), 2], "row 2"),
])  # fmt: skip
def test_groups_that_cannot_be(groups: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        frequencies_by(RESPONSE, ["a", "b", "c"], groups)


def test_a_group_without_weight_is_named() -> None:
    with pytest.raises(InvalidInput, match="group 'south': there is no row of positive weight"):
        frequencies_by(RESPONSE, ["a", "b", "c"], ["north", "south", "north"], weights=[1, 0, 1])


def test_an_unknown_output_is_named_with_its_row() -> None:
    with pytest.raises(InvalidInput, match="row 2: 'd' is not among 'a', 'b', 'c'"):
        frequencies(RESPONSE, ["a", "d"])
