from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.numbers import TABLE_ROUNDING, fractions
from sfumato.theory.universal.ideal import rounded_by, rounding_regret
from sfumato.theory.universal.question import pose


def ideal(n: int, epsilon: str) -> list[list[Fraction]]:
    """The geometric mechanism on a line to 60 digits, by hand."""
    with localcontext() as context:
        context.prec = 80
        alpha = Fraction((-Decimal(epsilon)).exp())
    ends = [1 / (1 + alpha) if y in (0, n - 1) else (1 - alpha) / (1 + alpha) for y in range(n)]
    return [[ends[y] * alpha ** abs(x - y) for y in range(n)] for x in range(n)]


@pytest.mark.parametrize(("n", "epsilon"), [(2, "1"), (4, "1"), (6, "0.1"), (5, "8")])
def test_the_distance_to_the_mechanism_is_that_to_sixty_digits(n: int, epsilon: str) -> None:
    privacy = sf.PrivacyType(sf.line(n), epsilon=epsilon)
    made = sf.geometric(privacy).channel
    bound = rounded_by(made, privacy)
    assert bound is not None
    for row, exact, most in zip(made.matrix, ideal(n, epsilon), bound, strict=True):
        distance = sum(abs(a - b) for a, b in zip(row, exact, strict=True)) / 2
        assert distance <= most <= distance + Fraction(1, 10**40)


def test_outputs_may_be_split_shuffled_and_never_given() -> None:
    privacy = sf.PrivacyType(sf.line(4), epsilon=1)
    table = sf.geometric(privacy).channel.matrix
    split = np.concatenate([table[:, [2]] / 3, table[:, [0, 3, 1]], 2 * table[:, [2]] / 3, 0 * table[:, [0]]], axis=1)
    bound = rounded_by(sf.Channel(privacy.space, split), privacy)
    assert bound is not None and max(bound) < 1e-14


def test_what_is_farther_away_or_does_not_exist_is_nothing() -> None:
    privacy = sf.PrivacyType(sf.line(3), epsilon=1)
    table = sf.geometric(privacy).channel.matrix
    near = (1 - TABLE_ROUNDING / 2) * table + TABLE_ROUNDING / 6
    far = (1 - 4 * TABLE_ROUNDING) * table + 4 * TABLE_ROUNDING / 3
    assert rounded_by(sf.Channel(privacy.space, near), privacy) is not None
    assert rounded_by(sf.Channel(privacy.space, far), privacy) is None
    assert rounded_by(sf.Channel.constant(privacy.space), privacy) is None
    crowded = sf.PrivacyType(sf.spaces.star(4), epsilon="1/2")  # the centre would need a negative weight
    assert rounded_by(sf.exponential(crowded).channel, crowded) is None


def test_the_regret_of_rounding_is_no_less_than_what_a_prior_loses() -> None:
    """Σ_x π_x Σ_y T_xy ℓ(w_y, x) − Σ_x π_x Σ_y M_xy ℓ(w_y, x), for the identity of outputs and actions."""
    privacy = sf.PrivacyType(sf.line(4), epsilon=1)
    made, loss = sf.geometric(privacy).channel, sf.losses.squared(privacy.space)
    moved = rounded_by(made, privacy)
    assert moved is not None
    most = rounding_regret(pose(loss, privacy), moved)
    for x, exact in enumerate(ideal(4, "1")):
        costs = fractions(loss.matrix)[:, x]
        gap = sum((t - m) * c for t, m, c in zip(made.matrix[x], exact, costs, strict=True))
        assert abs(gap) <= most <= Fraction(9) * max(moved)
