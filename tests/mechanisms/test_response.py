from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from examples import random_response
from sfumato.errors import InvalidInput, NotSupported
from strategies import alphas, privacy_types


@given(st.integers(2, 6), alphas())
def test_response_and_its_dual_are_those_of_the_paper(n: int, alpha: Fraction) -> None:
    privacy = sf.PrivacyType(sf.discrete(n), alpha=alpha)
    assert (sf.random_response(privacy).channel.matrix == random_response(n, alpha).matrix).all()
    assert (sf.mechanisms.dual_random_response(privacy).channel.matrix == random_response(n, 1 / alpha).matrix).all()


@given(privacy_types())
@settings(max_examples=40)
def test_they_keep_any_promise(privacy: sf.PrivacyType) -> None:
    for build in (sf.random_response, sf.mechanisms.dual_random_response):
        assert sf.verify(build(privacy))
    if len(privacy.space) > 1:
        assert sf.verify(sf.mechanisms.one_against_rest(privacy, privacy.secrets[0]))


@given(st.integers(2, 5), alphas(), st.data())
def test_membership_of_every_subset_is_a_kernel_of_the_discrete_type(
    n: int, alpha: Fraction, data: st.DataObject
) -> None:
    privacy = sf.PrivacyType(sf.discrete(n), alpha=alpha)
    subset = data.draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=n - 1))
    assert sf.types.is_kernel(sf.mechanisms.membership(privacy, subset).channel, privacy)


def test_two_sides_without_a_promise_between_them_are_told_apart() -> None:
    apart = sf.PrivacyType(sf.graph([(0, 1)], labels=[0, 1, 2]), alpha="1/2")
    assert sf.mechanisms.membership(apart, [2]).channel.matrix.tolist() == [[0, 1], [0, 1], [1, 0]]


def test_bad_input() -> None:
    line = sf.PrivacyType(sf.line(3), alpha="1/2")
    with pytest.raises(NotSupported, match="2 secrets"):
        sf.mechanisms.binary(line)
    with pytest.raises(NotSupported, match="closest pair"):
        sf.mechanisms.closest_pair(sf.PrivacyType(sf.line(1), alpha="1/2"))
    for subset in ([], [0, 1, 2]):
        with pytest.raises(InvalidInput, match="some secrets"):
            sf.mechanisms.membership(line, subset)
    with pytest.raises(InvalidInput):
        sf.mechanisms.one_against_rest(line, 17)
    with pytest.raises(InvalidInput, match="promise"):
        sf.random_response("line")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="infinitely"):
        sf.mechanisms.closest_pair(sf.PrivacyType(sf.graph([], labels=[0, 1]), alpha="1/2"))
