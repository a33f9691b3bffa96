"""Best for every prior and every loss: on two secrets, on parts that are infinitely far apart, and nowhere else."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import PrivacyViolation
from sfumato.theory.universal import (
    UnservedConsumer,
    exists_for_all_losses,
    is_optimal_for_all_losses,
    is_universally_optimal,
)
from strategies import alphas, exact_private_channels


def served_better(consumer: Any, mechanism: Any, privacy: sf.PrivacyType) -> bool:
    """Whether the witness is one: another mechanism of the type, and losses as they are said to be."""
    assert isinstance(consumer, UnservedConsumer)
    better = consumer.better
    assert sf.satisfies(better.channel, privacy)
    assert sf.posterior_loss(better.prior, mechanism, consumer.loss) == better.loss
    assert sf.posterior_loss(better.prior, better.channel, consumer.loss) == better.better_loss
    return better.gap > 0


@given(exact_private_channels())
@settings(max_examples=60)
def test_theorem_11_every_mechanism_leaves_somebody_unserved(case: tuple[sf.Channel, sf.PrivacyType]) -> None:
    channel, privacy = case
    n = len(privacy.space)
    assume(3 <= n <= 5)
    verdict = is_optimal_for_all_losses(channel, privacy)
    assert verdict.outcome == "fails"
    assert served_better(verdict.witness, channel, privacy)
    assert exists_for_all_losses(privacy).outcome == "fails"


@pytest.mark.parametrize(
    "space",
    [sf.line(3), sf.line(4), sf.discrete(3), sf.discrete(4), sf.spaces.star(3), sf.cycle(4), sf.cycle(5)],
    ids=str,
)
def test_no_kernel_and_no_mixture_of_all_serves_everybody(space: sf.FiniteSpace) -> None:
    """The mixture has every ray among its columns: then one of its kernels serves somebody better."""
    privacy = sf.PrivacyType(space, alpha="1/2")
    found = [kernel.channel for kernel in sf.types.kernels(privacy)]
    mixed = found[0]
    for k, kernel in enumerate(found[1:40], start=2):
        mixed = sf.channels.choice(Fraction(1, k), kernel, mixed)
    for channel in (*found[:5], mixed):
        verdict = is_optimal_for_all_losses(channel, privacy)
        assert verdict.outcome == "fails"
        assert served_better(verdict.witness, channel, privacy)


@given(st.integers(1, 3), alphas(), st.fractions(0, 1, max_denominator=6))
@settings(max_examples=30)
def test_corollary_9_two_secrets(distance: int, alpha: Fraction, share: Fraction) -> None:
    privacy = sf.PrivacyType(sf.line(2, step=distance), alpha=alpha)
    best = sf.mechanisms.binary(privacy).channel
    assert is_optimal_for_all_losses(best, privacy)
    assert is_optimal_for_all_losses(sf.channels.choice("1/3", best, best), privacy)  # outputs may be split
    assert exists_for_all_losses(privacy).witness.matrix.tolist() == best.matrix.tolist()
    less = sf.channels.choice(share, sf.Channel.constant(privacy.space), best)
    verdict = is_optimal_for_all_losses(less, privacy)
    assert bool(verdict) == (share == 0)
    if share:
        assert served_better(verdict.witness, less, privacy)


def test_irrational_types() -> None:
    pair, line = (sf.PrivacyType(sf.line(n), epsilon=1) for n in (2, 5))
    verdict = is_optimal_for_all_losses(sf.geometric(pair))
    assert verdict and verdict.witness[0].name == "two secrets" and 0 < verdict.witness[0].regret < 1e-12
    assert is_optimal_for_all_losses(sf.geometric(line)).outcome == "fails"
    assert not is_optimal_for_all_losses(sf.Channel.constant(pair.space), pair)


def parted() -> sf.PrivacyType:
    """Two secrets at distance 1, two at distance 2, and one alone."""
    table = [[0 if x == z else inf for z in range(5)] for x in range(5)]
    table[0][1] = table[1][0] = 1
    table[2][3] = table[3][2] = 2
    return sf.PrivacyType(sf.FiniteSpace(list("abcde"), table), alpha="1/2")


def test_parts_that_are_infinitely_far_apart() -> None:
    """Theorem 11 is about metrics: with infinite distances more than two secrets may have one best mechanism."""
    privacy = parted()
    best = exists_for_all_losses(privacy)
    assert best
    assert [[str(p) for p in row[:2]] for row in best.witness.matrix[:2]] == [["2/3", "1/3"], ["1/3", "2/3"]]
    assert best.witness.matrix[4].tolist() == [0, 0, 0, 0, 1]
    assert is_optimal_for_all_losses(best.witness, privacy)
    alone = sf.PrivacyType(sf.FiniteSpace(list("xyz"), [[0, inf, inf], [inf, 0, inf], [inf, inf, 0]]), epsilon=1)
    assert is_optimal_for_all_losses(sf.Channel.identity(alone.space), alone)


def test_who_is_unserved_in_parts() -> None:
    privacy = parted()
    best = exists_for_all_losses(privacy).witness
    shared = sf.channels.choice("1/2", best, sf.Channel.constant(privacy.space))
    verdict = is_optimal_for_all_losses(shared, privacy)
    assert not verdict and "nothing bounds" in verdict.reason
    assert served_better(verdict.witness, shared, privacy)
    rows = best.matrix.copy()
    rows[2] = rows[3] = (rows[2] + rows[3]) / 2  # private, and less steep than allowed
    flat = sf.Channel(privacy.space, rows)
    verdict = is_optimal_for_all_losses(flat, privacy)
    assert not verdict and "steep" in verdict.reason
    assert served_better(verdict.witness, flat, privacy)


def test_what_is_not_of_the_type_is_refused() -> None:
    with pytest.raises(PrivacyViolation):
        is_optimal_for_all_losses(sf.Channel.identity(range(2)), sf.PrivacyType(sf.line(2), alpha="1/2"))
    with pytest.raises(ValueError, match="promise"):
        is_optimal_for_all_losses(sf.Channel.identity(range(2)))


def test_many_secrets_need_no_search() -> None:
    privacy = sf.PrivacyType(sf.line(60), alpha="1/2")
    verdict = is_optimal_for_all_losses(sf.geometric(privacy))
    assert verdict.outcome == "fails" and "at least 118 vertices" in verdict.reason
    assert is_universally_optimal(sf.geometric(privacy), sf.losses.bin(privacy.space))
