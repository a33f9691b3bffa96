"""Promises given as tables of bounds, and several promises at once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput, Mismatch

INF = float("inf")


@st.composite
def tables(draw: Any) -> np.ndarray:
    n = draw(st.integers(2, 5))
    table = np.zeros((n, n), dtype=object)
    for x in range(n):
        for z in range(x):
            bound = draw(
                st.one_of(st.just(INF), st.just(Fraction(0)), st.fractions(Fraction(1, 10), 4, max_denominator=12))
            )
            table[x, z] = table[z, x] = bound
    return table


@given(tables(), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_a_mechanism_keeps_the_table_iff_it_keeps_the_type(table: np.ndarray, seed: int) -> None:
    privacy = sf.privacy.ratio_bounds(table.tolist())
    weights = np.random.default_rng(seed).integers(1, 8, (len(table), 3))
    channel = sf.channels.normalise([[Fraction(int(v)) for v in row] for row in weights])
    logs = np.log(np.array(channel, dtype=float))
    needed = np.abs(logs[:, None, :] - logs[None, :, :]).max(axis=2)
    slack = np.array(table, dtype=float) - needed
    verdict = sf.satisfies(sf.Channel(privacy.space, channel), privacy)
    if np.abs(slack[~np.eye(len(table), dtype=bool)]).min() > 1e-9:
        assert bool(verdict) == bool((slack >= 0).all())


def test_designs_under_a_table_and_under_several() -> None:
    """Near points by their distance, far ones as in local privacy: between the two alone, and proved for both."""
    line, flat = sf.PrivacyType(sf.line(6), epsilon=1), sf.PrivacyType(sf.discrete(6), epsilon="5/2")
    prior, loss = sf.Prior.uniform(range(6)), sf.losses.absolute(sf.line(6))
    losses = [sf.design(prior, loss, privacy).loss for privacy in (line, flat, sf.privacy.together_private(line, flat))]
    assert losses[2] > max(losses[:2])
    made = sf.design(prior, loss, sf.privacy.together_private(line, flat)).mechanism.channel
    assert sf.satisfies(made, line)
    assert sf.satisfies(made, flat)


def test_nothing_promised_means_the_truth_is_told() -> None:
    privacy = sf.privacy.ratio_bounds([[0, INF], [INF, 0]])
    made = sf.design(sf.Prior.uniform(range(2)), sf.losses.bin(range(2)), privacy)
    assert made.loss == 0


def test_one_alpha_stays_exact() -> None:
    both = sf.privacy.together_private(
        sf.PrivacyType(sf.line(4), alpha="1/2"), sf.PrivacyType(sf.discrete(4, distance=2), alpha="1/2")
    )
    assert both.exact
    assert both.factor(0, 3) == (4, 4)


@pytest.mark.parametrize("step", ["0.1", "1/3"])
def test_rounding_goes_to_the_safe_side(step: str) -> None:
    strict = sf.PrivacyType(sf.grid(2, 2, step=step), epsilon="0.7")
    other = sf.PrivacyType(sf.grid(2, 2, step=step, metric="manhattan"), alpha="1/2")
    both = sf.privacy.together_private(strict, other)
    for x in strict.space.labels:
        for z in strict.space.labels:
            if x != z:
                assert both.factor(x, z)[1] <= min(strict.factor(x, z)[1], other.factor(x, z)[1])


def test_bad_tables() -> None:
    with pytest.raises(InvalidInput, match="symmetric"):
        sf.privacy.ratio_bounds([[0, 1], [2, 0]])
    with pytest.raises(InvalidInput, match="not negative"):
        sf.privacy.ratio_bounds([[0, -1], [-1, 0]])
    with pytest.raises(InvalidInput, match="square"):
        sf.privacy.ratio_bounds([[0, 1]])
    with pytest.raises(InvalidInput, match="one size"):
        sf.privacy.ratio_bounds([[0]], [[0, 1], [1, 0]])
    with pytest.raises(InvalidInput, match="at least one"):
        sf.privacy.ratio_bounds()
    with pytest.raises(InvalidInput, match="labels"):
        sf.privacy.ratio_bounds([[0, 1], [1, 0]], labels=["a"])
    with pytest.raises(Mismatch):
        sf.privacy.together_private(sf.PrivacyType(sf.line(2), epsilon=1), sf.PrivacyType(sf.line(3), epsilon=1))
    with pytest.raises(InvalidInput, match="at least one"):
        sf.privacy.together_private()
