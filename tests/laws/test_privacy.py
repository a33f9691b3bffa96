"""Laws of promises: papers A (Lemma 2), C (Theorem 1, Corollary 1), E (Remark 2.4)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import losses as L
from strategies import channels, exact_private_channels


@given(exact_private_channels(), st.data())
@settings(max_examples=60)
def test_post_processing_mixing_and_restricting_keep_a_promise(case: Any, data: st.DataObject) -> None:
    channel, privacy = case
    assert sf.satisfies(sf.cascade(channel, data.draw(channels(channel.outputs))), privacy)
    assert sf.satisfies(sf.channels.choice("1/3", channel, sf.Channel.constant(channel)), privacy)
    part = channel.secrets[: max(1, len(channel.secrets) // 2)]
    smaller = sf.PrivacyType(privacy.space.restrict(part), alpha=privacy.alpha)
    assert sf.satisfies(sf.channels.restrict(channel, part), smaller)


@given(exact_private_channels())
@settings(max_examples=40)
def test_parallel_composition_adds_epsilons(case: Any) -> None:
    channel, privacy = case
    assert sf.satisfies(sf.parallel(channel, channel), sf.PrivacyType(privacy.space, alpha=privacy.alpha**2))


@given(exact_private_channels())
@settings(max_examples=60)
def test_lemma_2_posteriors_of_the_uniform_prior_have_bounded_ratios(case: Any) -> None:
    channel, privacy = case
    hyper = sf.hyper(sf.Prior.uniform(privacy.space), channel)
    table = privacy.space.distances.values
    for inner in hyper.inners.T:
        for x in range(len(inner)):
            for z in range(len(inner)):
                assert inner[x] <= inner[z] / privacy.alpha ** int(table[x, z])


@st.composite
def queries(draw: Any) -> tuple[Any, sf.FiniteSpace, sf.FiniteSpace]:
    databases = sf.hamming(draw(st.integers(1, 3)))
    answers = draw(st.lists(st.integers(0, 3), min_size=len(databases), max_size=len(databases)))
    function = dict(zip(databases.labels, answers, strict=True)).__getitem__
    return function, databases, sf.spaces.induced(function, databases)


@given(queries(), st.data())
@settings(max_examples=100)
def test_theorem_1_and_corollary_1(query: Any, data: st.DataObject) -> None:
    """Any query is uniformly 1-sensitive to its induced metric, and then H is private iff H ∘ f is."""
    function, databases, answers = query
    assert sf.spaces.is_uniformly_sensitive(function, databases, answers)
    mechanism = data.draw(channels(answers.labels))
    alpha = data.draw(st.fractions("1/8", "7/8", max_denominator=8))
    inside = sf.satisfies(mechanism, sf.PrivacyType(answers, alpha=alpha))
    outside = sf.satisfies(
        sf.channels.oblivious(mechanism, function, databases), sf.PrivacyType(databases, alpha=alpha)
    )
    assert bool(inside) == bool(outside)


@given(queries())
@settings(max_examples=60)
def test_sensitivity_to_the_induced_metric_is_at_most_one(query: Any) -> None:
    function, databases, answers = query
    assert sf.spaces.lipschitz_constant(function, databases, answers) <= 1


@given(exact_private_channels())
@settings(max_examples=40)
def test_row_distance_is_a_metric_below_the_promise(case: Any) -> None:
    """d_P of two rows: symmetric, triangle inequality, at most ε·d (C, Definition 1)."""
    channel, privacy = case
    labels = privacy.secrets[:4]
    for x in labels:
        for z in labels:
            here = sf.privacy.row_distance(channel, x, z)
            assert here == sf.privacy.row_distance(channel, z, x)
            assert here <= privacy.rate * privacy.space.distance(x, z) * (1 + 1e-12) + 1e-12
            for y in labels:
                assert here <= sf.privacy.row_distance(channel, x, y) + sf.privacy.row_distance(channel, y, z) + 1e-12


def test_the_survey_paradox() -> None:
    """Kifer and Lin, Fig. 8: expected loss prefers a mechanism that says nothing."""
    answers = ("yes", "no")
    prior = sf.Prior(answers, ["3/4", "1/4"])
    truthful_mostly = sf.Channel(answers, [["2/3", "1/3"], ["1/3", "2/3"]], answers)
    always_yes = sf.Channel(answers, [[1, 0], [1, 0]], answers)
    lie = L.bin(answers)
    assert sf.expected_loss(prior, truthful_mostly, lie) == Fraction(1, 3)
    assert sf.expected_loss(prior, always_yes, lie) == Fraction(1, 4)
    assert sf.refines(always_yes, truthful_mostly)
    assert not sf.refines(truthful_mostly, always_yes)
    assert sf.posterior_loss(prior, truthful_mostly, lie) <= sf.posterior_loss(prior, always_yes, lie)
