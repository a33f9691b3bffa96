"""Theorems about known mechanisms."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.measures.shares import share_variance
from sfumato.mechanisms.exponential import as_score, exponential, needed_epsilon
from sfumato.mechanisms.line import geometric
from sfumato.mechanisms.local import subset_selection
from sfumato.mechanisms.registry import pixelated_laplace
from sfumato.mechanisms.selection import permute_and_flip
from sfumato.mechanisms.staircase import Staircase, staircase, stretched_geometric
from strategies import alphas, distributions, integer_spaces, losses, priors


@st.composite
def scored(draw: Any) -> tuple[sf.PrivacyType, list[list[int]]]:
    """Scores that change by at most the distance, and α = 1/q², so that e^{−β} = 1/q is rational."""
    space = draw(integer_spaces())
    centres = draw(st.lists(st.integers(0, len(space) - 1), min_size=1, max_size=4))
    shifts = draw(st.lists(st.integers(-2, 2), min_size=len(centres), max_size=len(centres)))
    table = space.distances.values
    score = [[int(table[x, c]) + s for c, s in zip(centres, shifts, strict=True)] for x in range(len(space))]
    return sf.PrivacyType(space, alpha=Fraction(1, draw(st.integers(2, 4)) ** 2)), score


@given(scored(), st.data())
@settings(max_examples=60)
def test_exponential_mechanisms_keep_2c_beta_for_every_base(given_: Any, data: Any) -> None:
    """Kleinberg and Ligett 2010, Theorem 2.7; nothing is repaired, the formula itself is proved in rationals."""
    privacy, score = given_
    base = data.draw(st.lists(st.integers(1, 9), min_size=len(score[0]), max_size=len(score[0])))
    mechanism = exponential(privacy, score=score, base=base)
    constant = as_score(privacy, score).lipschitz
    assert constant in (0, 1)
    if constant:
        root = Fraction(1, round(float(1 / privacy.alpha) ** 0.5))  # type: ignore[operator]
        rows = [[b * root ** (s - min(row)) for b, s in zip(base, row, strict=True)] for row in score]
        assert mechanism.channel.matrix.tolist() == [[w / sum(row) for w in row] for row in rows]
    assert mechanism.provenance["smallest epsilon"] <= privacy.rate * (1 + 1e-14)


@given(scored(), st.floats(0.05, 3))
@settings(max_examples=60)
def test_what_an_exponential_mechanism_needs_lies_between_half_its_spread_and_its_spread(
    given_: Any, beta: float
) -> None:
    privacy, score = given_
    found = as_score(privacy, score)
    table = np.exp(-beta * np.array(score, dtype=float))
    needed = needed_epsilon(table / table.sum(axis=1, keepdims=True), privacy.space)
    assert beta * found.spread / 2 * (1 - 1e-9) - 1e-12 <= needed <= beta * found.spread * (1 + 1e-9) + 1e-12
    assert found.spread <= 2 * float(found.lipschitz) + 1e-12


@given(scored())
@settings(max_examples=60)
def test_permute_and_flip_is_private_and_never_worse_than_exponential(given_: Any) -> None:
    """McKenna and Sheldon 2020: for each secret, scores beyond any number are no likelier; so the mean is no larger."""
    privacy, score = given_
    ours, theirs = permute_and_flip(privacy, score=score), exponential(privacy, score=score)
    assert ours.channel.exact and theirs.channel.exact
    assert ours.provenance["smallest epsilon"] <= privacy.rate * (1 + 1e-14)
    for row, p, q in zip(score, ours.channel.matrix, theirs.channel.matrix, strict=True):
        for least in set(row):
            beyond = [s >= least for s in row]
            assert sum(v for v, b in zip(p, beyond, strict=True) if b) <= sum(
                v for v, b in zip(q, beyond, strict=True) if b
            )
        assert sum(s * v for s, v in zip(row, p, strict=True)) <= sum(s * v for s, v in zip(row, q, strict=True))


@given(alphas(), st.integers(1, 9), st.data())
def test_staircases_are_private_distributions(decay: Fraction, width: int, data: Any) -> None:
    noise = Staircase(decay, width, data.draw(st.integers(1, width)))
    reach = 3 * width
    values = [noise.probability(i) for i in range(-reach, reach + 1)]
    assert sum(values) + 2 * noise.beyond(reach + 1) == 1
    assert noise.beyond(width) == sum(values[reach + width :]) + noise.beyond(reach + 1)
    for gap in range(1, width + 1):
        assert all(a <= b / decay and b <= a / decay for a, b in zip(values, values[gap:], strict=False))
    tail = noise.beyond(reach + 1)
    partial = 2 * sum(i * noise.probability(i) for i in range(reach + 1))
    assert (
        partial + 2 * (reach + 1) * tail
        <= noise.mean_size
        <= partial + 2 * tail * (reach + 1 + 2 * width / (1 - decay))
    )


@given(st.fractions("1/9", "9/10", max_denominator=10), st.integers(1, 6))
def test_the_best_staircase_adds_no_more_noise_than_geometric_noise(root: Fraction, width: int) -> None:
    """Geometric noise that keeps the same promise has the ratio q = e^{−ε/Δ} and the mean size 2q/(1 − q²)."""
    best = min(Staircase(root**width, width, r).mean_size for r in range(1, width + 1))
    assert best <= 2 * root / (1 - root**2)
    if width == 1:
        assert best == 2 * root / (1 - root**2)


@given(st.integers(1, 3), st.integers(1, 4), st.data())
@settings(max_examples=30)
def test_noise_on_sums_is_private_in_rationals(individuals: int, largest: int, data: Any) -> None:
    space = sf.sum_query(individuals, largest)
    root = data.draw(st.sampled_from(["1/2", "2/3"]))
    privacy = sf.PrivacyType(space, alpha=Fraction(root) ** largest)
    for mechanism in (staircase(privacy), stretched_geometric(privacy)):
        assert mechanism.channel.exact
        assert sf.satisfies(mechanism.channel, privacy)


@given(st.integers(2, 5), st.data())
@settings(max_examples=25)
def test_on_a_line_the_geometric_mechanism_is_refined_by_what_else_is_known(size: int, data: Any) -> None:
    """Laplace pixels and staircases with Δ = 1 are post-processings, so no prior and no loss prefers them."""
    space = sf.line(size)
    privacy = sf.PrivacyType(space, alpha=data.draw(st.sampled_from(["1/16", "16/81"])))
    best = geometric(privacy).channel
    prior, loss = data.draw(priors(space.labels)), data.draw(losses(space.labels))
    for other in (pixelated_laplace(privacy), staircase(privacy)):
        assert other.channel.exact
        assert sf.posterior_loss(prior, other.channel, loss) >= sf.posterior_loss(prior, best, loss)
    assert (staircase(privacy).channel.matrix == best.matrix).all()


@given(st.integers(2, 5), alphas(), st.data())
@settings(max_examples=30)
def test_membership_is_optimal_for_membership_on_discrete_spaces(size: int, alpha: Fraction, data: Any) -> None:
    """Averages of rows inside and outside differ by at most e^ε, so it is a problem with two secrets."""
    space = sf.discrete(size)
    privacy = sf.PrivacyType(space, alpha=alpha)
    inside = space.labels[: max(1, size // 2)]
    prior = sf.Prior(space, data.draw(distributions(size)))
    best = sf.mechanisms.membership(privacy, inside)
    asked = sf.losses.member(space, inside)
    for other in (
        sf.random_response(privacy),
        sf.mechanisms.dual_random_response(privacy),
        sf.mechanisms.closest_pair(privacy),
    ):
        assert sf.posterior_loss(prior, best.channel, asked) <= sf.posterior_loss(prior, other.channel, asked)


@pytest.mark.parametrize("factor", [2, 3])
@pytest.mark.parametrize("n", range(3, 9))
def test_nothing_estimates_shares_better_than_subset_selection_on_a_discrete_space(n: int, factor: int) -> None:
    """The theorem of docs/theory/mechanisms.md: the design knows nothing of sets and finds the same number."""
    privacy = sf.PrivacyType(sf.discrete(n), alpha=Fraction(1, factor))
    best = sf.design(None, None, privacy, objective="shares")
    value = share_variance(sf.Prior.uniform(privacy.space), subset_selection(privacy).channel)
    assert abs(value - best.loss) <= 1e-9 * value
    assert abs(value - best.bound) <= 1e-9 * value and value >= best.bound
