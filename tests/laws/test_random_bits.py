"""Laws of draws from bits that are only nearly uniform: what an advantage does to promises, what blocks give away."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.draws.randomness import KeyedBits
from sfumato.numbers import fractions
from strategies import distributions, exact_private_channels


@settings(max_examples=10)
@given(exact_private_channels(), st.data())
def test_an_advantage_of_bits_adds_itself_and_a_factor_of_itself(
    drawn: tuple[sf.Channel, sf.PrivacyType], data: Any
) -> None:
    """P_x(E) ≤ e^{εd} P_x′(E) + (1 + e^{εd}) Adv for all E, if none tells P from a private M by more than Adv."""
    channel, privacy = drawn
    proved, steps = fractions(channel.matrix), privacy.space.distances.values
    assert privacy.alpha is not None
    share = data.draw(st.fractions(0, Fraction(1, 4), max_denominator=40))
    other = [data.draw(distributions(proved.shape[1])) for _ in proved]
    real = (1 - share) * proved + share * np.array(other, dtype=object)
    advantage = max(sum(max(entry, 0) for entry in row) for row in real - proved)
    for x, z in product(range(len(proved)), repeat=2):
        factor = privacy.alpha ** -int(steps[x, z])
        worst = sum(max(a - factor * b, 0) for a, b in zip(real[x], real[z], strict=True))  # the worst event for x
        assert worst <= (1 + factor) * advantage


@given(st.integers(2, 5), st.integers(1, 4))
def test_permutations_are_told_from_functions_by_n_of_n_less_one_over_twice_the_blocks(blocks: int, ids: int) -> None:
    """The total variation between the answers of both to n questions, over all answers, is what a repetition has."""
    ids = min(ids, blocks)
    alike, apart = Fraction(1, blocks**ids), 1 / Fraction(prod(range(blocks - ids + 1, blocks + 1)))
    answers = product(range(blocks), repeat=ids)
    told = sum(max(alike - (apart if len(set(given)) == ids else 0), Fraction(0)) for given in answers)
    assert told == 1 - prod(1 - Fraction(k, blocks) for k in range(ids)) <= Fraction(ids * (ids - 1), 2 * blocks)


def test_blocks_of_different_ids_are_never_alike() -> None:
    """That is how a cipher differs from a random function: 2^16 ids, all of whose blocks are different."""
    ids = np.arange(2**16, dtype=np.uint64).view(np.uint8).reshape(-1, 8)
    words = KeyedBits(bytes(range(32)), b"context", np.pad(ids, ((0, 0), (0, 8)))).take(np.arange(2**16), 0, 2)
    assert len(np.unique(words, axis=1).T) == 2**16
