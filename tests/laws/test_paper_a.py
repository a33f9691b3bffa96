"""Statements of paper A (Fernandes, McIver, Palamidessi, Ding 2023) as laws, with the hypotheses they need."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import losses
from sfumato.theory.universal import impossibility, is_universally_optimal, universal_design, worst_case_regret
from sfumato.theory.universal.impossibility import _served
from sfumato.theory.universal.least_loss import LeastLoss
from sfumato.theory.universal.question import pose
from strategies import alphas, channels, exact_private_channels, priors
from strategies import losses as random_losses

metrics = st.sampled_from([
    sf.line(3), sf.line(4), sf.discrete(3), sf.discrete(4), sf.spaces.star(3), sf.cycle(4), sf.cycle(5),
    sf.graph({(0, 1): 2, (1, 2): 3, (0, 2): 4}), sf.graph({(0, 1): 1, (1, 2): 3, (2, 3): 2, (0, 3): 2}),
])  # fmt: skip


@st.composite
def monotone_losses(draw: Any, space: sf.FiniteSpace, actions: int, strict: bool) -> sf.Loss:
    """m(d(x, α(w))) for a random injective α and a random m, increasing strictly or not."""
    centres = draw(st.permutations(space.labels))[:actions]
    distances = sorted({space.distance(x, z) for x in space.labels for z in space.labels})
    steps = draw(st.lists(st.integers(1 if strict else 0, 3), min_size=len(distances), max_size=len(distances)))
    m = dict(zip(distances, np.cumsum(steps).tolist(), strict=True))
    return losses.function(space, lambda w, x: m[space.distance(x, centres[w])], actions=range(actions))


@given(metrics, st.data())
@settings(max_examples=60)
def test_definition_6_strictly_monotone_losses_are_monotone(space: sf.FiniteSpace, data: st.DataObject) -> None:
    actions = data.draw(st.integers(1, len(space)))
    strict = data.draw(monotone_losses(space, actions, strict=True))
    assert sf.losses.is_strictly_monotone(strict, space)
    assert sf.losses.is_monotone(strict, space)
    assert sf.losses.is_monotone(data.draw(monotone_losses(space, actions, strict=False)), space)


@given(metrics, st.data())
@settings(max_examples=60)
def test_definition_6_trivial_losses_are_not_strictly_monotone(space: sf.FiniteSpace, data: st.DataObject) -> None:
    """With two actions or more a trivial loss is never strictly monotone; constant ones are monotone, f(x) = x is not.
    With one action f(x) = x is both.

    At α(w) alone a strictly monotone row is least, and α(w) is another secret for each action.
    """
    actions = data.draw(st.integers(2, len(space)))
    row = data.draw(st.lists(st.integers(0, 3), min_size=len(space), max_size=len(space)))
    loss = losses.matrix(space, [row] * actions, actions=range(actions))
    assert sf.losses.is_trivial(loss)
    assert not sf.losses.is_strictly_monotone(loss, space)
    assert sf.losses.is_monotone(losses.matrix(space, [[2] * len(space)] * actions, actions=range(actions)), space)
    assert not sf.losses.is_monotone(losses.matrix(space, [range(len(space))] * 2, actions="ab"), space)
    one = losses.matrix(sf.line(3), [[0, 1, 2]], actions="a")
    assert sf.losses.is_trivial(one) and sf.losses.is_strictly_monotone(one, sf.line(3))


@given(exact_private_channels(), st.data())
@settings(max_examples=40)
def test_definition_a1_a_dominating_action_is_all_that_telling_nothing_serves(
    case: tuple[sf.Channel, sf.PrivacyType], data: st.DataObject
) -> None:
    """Theorem 6(3): for "trivial" as in Definition A1, not as in Definition 6, which is narrower."""
    _, privacy = case
    assume(2 <= len(privacy.space) <= 4)
    loss = data.draw(random_losses(privacy.secrets))
    verdict = sf.losses.has_dominating_action(loss)
    nothing = sf.Channel.constant(privacy.space)
    assert bool(verdict) == bool(is_universally_optimal(nothing, loss, privacy))
    if sf.losses.is_trivial(loss):
        assert verdict
    if verdict:
        best = loss.matrix[loss.actions.index(verdict.witness)]
        assert all((best <= row).all() for row in loss.matrix)
    else:
        for action, (secret, other) in verdict.witness.items():
            assert loss.at(other, secret) < loss.at(action, secret)


def test_theorem_6_3_needs_the_wider_meaning_of_trivial() -> None:
    privacy = sf.PrivacyType(sf.line(3), alpha="1/2")
    loss = losses.matrix(privacy.space, [[0, 0, 0], [1, 2, 0]])
    assert not sf.losses.is_trivial(loss) and sf.losses.has_dominating_action(loss)
    assert is_universally_optimal(sf.Channel.constant(privacy.space), loss, privacy)


@given(metrics)
def test_lemma_a2_at_least_two_vertices_for_each_further_secret(space: sf.FiniteSpace) -> None:
    """And they come in pairs: in logarithms the region is its own mirror image, φ and −φ."""
    found = sf.types.vertices(sf.PrivacyType(space, alpha="1/2"))
    assert len(found) >= 2 * (len(space) - 1)
    heights = {tuple(np.round(row - row[0], 9) + 0.0) for row in found.heights}
    assert heights == {tuple(-np.array(row) + 0.0) for row in heights}
    assert np.linalg.matrix_rank(np.array(sorted(heights))) == len(space) - 1


@pytest.mark.parametrize(
    ("fewer", "count", "n"), [(sf.cycle(4), 6, 4), (sf.spaces.complete_bipartite(2, 3), 10, 5)], ids=str
)
def test_lemma_a2_a_line_has_not_the_fewest_vertices(fewer: sf.FiniteSpace, count: int, n: int) -> None:
    privacy, line = (sf.PrivacyType(space, alpha="1/2") for space in (fewer, sf.line(n)))
    assert len(sf.types.vertices(privacy)) == count < len(sf.types.vertices(line)) == 2 ** (n - 1)


@given(metrics, st.data())
@settings(max_examples=60)
def test_lemma_a3_needs_an_action_for_every_secret(space: sf.FiniteSpace, data: st.DataObject) -> None:
    """No pair of secrets has a dominating action iff every secret is α(w) for some action.

    A secret without an action shares its best one with the secret of that action.
    """
    actions = data.draw(st.integers(1, len(space)))
    loss = data.draw(monotone_losses(space, actions, strict=True))
    pairs = [losses.restrict_loss(loss, pair) for pair in combinations(space.labels, 2)]
    assert (not any(sf.losses.has_dominating_action(pair) for pair in pairs)) == (actions == len(space))


@given(st.integers(3, 4), st.data(), alphas())
@settings(max_examples=25, deadline=None)
def test_theorem_12_needs_three_actions(n: int, data: st.DataObject, alpha: Fraction) -> None:
    """Strictly monotone in any metric: on a discrete space none serves three actions or more, and one serves two."""
    space = data.draw(metrics.filter(lambda metric: len(metric) == n))
    actions = data.draw(st.integers(2, n))
    loss = data.draw(monotone_losses(space, actions, strict=True))
    privacy = sf.PrivacyType(sf.discrete(n), alpha=alpha)
    verdict = impossibility(losses.matrix(privacy.space, loss.matrix, actions=loss.actions), privacy)
    assert bool(verdict) == (actions > 2)
    if verdict:
        assert verdict.witness.theorem in ("Lemma A6", "Corollary 13")


@given(st.integers(2, 4), alphas(), st.data())
@settings(max_examples=40)
def test_two_actions_on_a_discrete_space_are_served_by_telling_on_which_side_the_secret_is(
    n: int, alpha: Fraction, data: st.DataObject
) -> None:
    privacy = sf.PrivacyType(sf.discrete(n), alpha=alpha)
    rows = [data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)) for _ in range(2)]
    loss = losses.matrix(privacy.space, rows, actions="ab")
    side = [x for x in range(n) if rows[0][x] < rows[1][x]]
    assume(0 < len(side) < n)
    told = sf.mechanisms.membership(privacy, side)
    assert worst_case_regret(told, loss, privacy).upper == 0
    assert is_universally_optimal(told, loss, privacy)


@given(st.integers(1, 3), st.integers(1, 2), alphas(), st.data())
@settings(max_examples=30)
def test_two_sides_at_one_distance(a: int, b: int, alpha: Fraction, data: st.DataObject) -> None:
    """On a complete bipartite graph all secrets of one side are as far from all of the other; cells agree."""
    privacy = sf.PrivacyType(sf.spaces.complete_bipartite(a, b), alpha=alpha)
    first, second = (data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)) for size in (a, b))
    loss = losses.matrix(privacy.space, [first + [0] * b, [0] * a + second], actions="ab")
    told = sf.mechanisms.membership(privacy, privacy.secrets[:a])
    assert worst_case_regret(told, loss, privacy).upper == 0
    assert is_universally_optimal(told, loss, privacy).witness.name != "cells"


@given(st.integers(3, 4), alphas(), st.data())
@settings(max_examples=30, deadline=None)
def test_lemma_a6_three_secrets_without_a_common_best_action_are_enough(
    n: int, alpha: Fraction, data: st.DataObject
) -> None:
    """For losses of any kind, on a discrete space; at a prior on two of the three every mechanism may be beaten."""
    privacy = sf.PrivacyType(sf.discrete(n), alpha=alpha)
    count = data.draw(st.integers(3, 4))
    rows = [data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)) for _ in range(count)]
    three = data.draw(st.permutations(range(n)))[:3]
    for action, secret in enumerate(three):  # this action alone is best at this secret; at a fourth one any may be
        rows[action][secret] = 0
    loss = losses.matrix(privacy.space, rows, actions=range(count))
    verdict = impossibility(loss, privacy)
    assert verdict and verdict.witness.theorem is not None
    assert len(verdict.witness.for_every_epsilon) == 3
    asked = pose(loss, privacy)
    assert _served(asked, LeastLoss(asked), list(verdict.witness.for_every_epsilon))[0] > 0


@given(metrics, alphas())
@settings(max_examples=30)
def test_theorem_10_for_a_loss_that_is_monotone(space: sf.FiniteSpace, alpha: Fraction) -> None:
    """ℓ_bin with the two closest secrets as actions: monotone in every metric, and lifted but for a function of x."""
    privacy = sf.PrivacyType(space, alpha=alpha)
    first, second = (int(end[np.argmin(space.pair_distances.floats)]) for end in space.pairs)
    loss = losses.matrix(space, losses.bin(space).matrix[[first, second]], actions="ab")
    assert sf.losses.is_monotone(loss, space)
    assert not sf.losses.has_dominating_action(loss)
    mechanism = sf.mechanisms.closest_pair(privacy)
    assert worst_case_regret(mechanism, loss, privacy).upper == 0
    assert is_universally_optimal(mechanism, loss, privacy)


@given(st.integers(3, 5), alphas(), st.data())
@settings(max_examples=20)
def test_theorem_a4_the_printed_loss_is_not_monotone_and_a_function_of_x_repairs_it(
    n: int, alpha: Fraction, data: st.DataObject
) -> None:
    """The repaired loss is even strictly monotone in the discrete metric: Theorem 12 as printed would exclude it."""
    privacy = sf.PrivacyType(sf.discrete(n), alpha=alpha)
    pair = data.draw(st.permutations(range(n)))[:2]
    printed = losses.lift(losses.bin(pair), privacy.space)
    assert not sf.losses.is_monotone(printed, privacy.space)
    beside = np.array([int(x not in pair) for x in range(n)])
    repaired = losses.matrix(privacy.space, printed.matrix + beside, actions=printed.actions)
    assert sf.losses.is_strictly_monotone(repaired, privacy.space)
    likely, unlikely = 1 / (1 + alpha), alpha / (1 + alpha)
    rows = [[likely, unlikely] if x == pair[0] else [unlikely, likely] for x in range(n)]
    mechanism = sf.Channel(privacy.space, rows)
    for loss in (printed, repaired):
        assert not sf.losses.has_dominating_action(loss)
        assert worst_case_regret(mechanism, loss, privacy).upper == 0


@given(st.integers(3, 5), alphas(), st.data())
@settings(max_examples=20)
def test_corollary_a5_every_pair_is_told_apart_by_some_mechanism(n: int, alpha: Fraction, data: st.DataObject) -> None:
    privacy = sf.PrivacyType(sf.discrete(n), alpha=alpha)
    pair = data.draw(st.permutations(range(n)))[:2]
    made = sf.mechanisms.one_against_rest(privacy, pair[0]).channel
    ends = sf.PrivacyType(privacy.space.restrict(pair), alpha=alpha)
    binary, own = sf.mechanisms.binary(ends).channel, sf.channels.restrict(made, pair)
    assert sf.refines(binary, own) and sf.refines(own, binary)


@given(channels(range(3)), alphas(), st.sampled_from([sf.line(3), sf.discrete(3)]))
@settings(max_examples=60)
def test_lemma_2_a_channel_is_private_iff_its_posteriors_are(
    channel: sf.Channel, alpha: Fraction, space: sf.FiniteSpace
) -> None:
    privacy = sf.PrivacyType(space, alpha=alpha)
    inners = sf.hyper(sf.Prior.uniform(space), channel).inners
    private = all(
        (inners[x] <= privacy.factor(x, z)[0] * inners[z]).all() for x in range(3) for z in range(3) if x != z
    )
    assert bool(sf.satisfies(channel, privacy)) == private


@given(channels(range(3), outputs=3), st.data())
@settings(max_examples=30)
def test_remark_1_and_lemma_a1_the_best_remap_is_the_best_action_at_each_output(
    channel: sf.Channel, data: st.DataObject
) -> None:
    """The minimum over all remaps, tried one by one, is the posterior loss."""
    prior, loss = data.draw(priors(range(3))), data.draw(random_losses(range(3)))
    joint = channel.matrix * prior.weights[:, None]
    actions = range(len(loss.actions))
    remaps = np.stack(np.meshgrid(actions, actions, actions), axis=-1).reshape(-1, 3)
    least = min(sum((joint[:, y] * loss.matrix[w]).sum() for y, w in enumerate(remap)) for remap in remaps)
    assert least == sf.posterior_loss(prior, channel, loss)


@given(st.sampled_from([sf.line(3), sf.discrete(3), sf.cycle(4), sf.spaces.star(3)]), alphas())
@settings(max_examples=25)
def test_corollaries_17_and_18_the_capacities_are_those_of_the_best_kernels(
    space: sf.FiniteSpace, alpha: Fraction
) -> None:
    """Two linear programs against the enumeration of all kernels (Theorem 14)."""
    privacy = sf.PrivacyType(space, alpha=alpha)
    found, each = sf.types.capacities(privacy), [sf.measures.capacity(k.channel) for k in sf.types.kernels(privacy)]
    assert found.multiplicative == max(c.multiplicative for c in each)
    assert found.additive == max(c.additive for c in each)


@given(metrics, alphas())
@settings(max_examples=15, deadline=None)
def test_theorem_15_what_is_universally_optimal_has_the_capacity(space: sf.FiniteSpace, alpha: Fraction) -> None:
    """Whichever kernels are universally optimal for ℓ_bin or ℓ_nib, on any space."""
    assume(len(space) <= 4)
    privacy = sf.PrivacyType(space, alpha=alpha)
    most = sf.types.capacities(privacy)
    for kernel in list(sf.types.kernels(privacy))[:15]:
        own = sf.measures.capacity(kernel.channel)
        if worst_case_regret(kernel.channel, losses.bin(space), privacy).upper == 0:
            assert own.multiplicative == most.multiplicative
        if worst_case_regret(kernel.channel, losses.nib(space), privacy).upper == 0:
            assert own.additive == most.additive


def test_definition_9_at_alpha_1_is_no_mechanism() -> None:
    """(1 − α)/(1 + α) · α^d is 0 at α = 1, which the range (0, 1] of the definition admits; below, rows sum to 1."""
    alpha = Fraction(1)
    assert sum((1 - alpha) / (1 + alpha) * alpha ** abs(y) for y in range(-50, 51)) == 0
    alpha = Fraction(1, 2)
    mass = sum((1 - alpha) / (1 + alpha) * alpha ** abs(y) for y in range(-50, 51))
    assert 1 - mass == 2 * alpha**51 / (1 + alpha)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        sf.PrivacyType(sf.line(3), alpha=1)


def test_classes_of_guessing() -> None:
    """After Definition 6: ℓ_bin is monotone on a line, not strictly, and strictly on a discrete space."""
    for n in (3, 4, 5):
        line, discrete = sf.line(n), sf.discrete(n)
        assert sf.losses.is_monotone(losses.bin(line), line)
        assert not sf.losses.is_strictly_monotone(losses.bin(line), line)
        assert sf.losses.is_strictly_monotone(losses.bin(discrete), discrete)
        assert sf.losses.is_strictly_monotone(losses.absolute(line), line)
        assert not sf.losses.is_monotone(losses.absolute(discrete), discrete)


def test_a_design_finds_the_mechanism_that_theorem_12_as_printed_excludes() -> None:
    space = sf.discrete(3)
    loss = losses.matrix(space, losses.distance(space).matrix[:2], actions=[0, 1])
    assert sf.losses.is_strictly_monotone(loss, space)
    for alpha in ("1/5", "1/2", "9/10"):
        assert universal_design(loss, sf.PrivacyType(space, alpha=alpha)).exists
