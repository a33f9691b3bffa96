from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported, PrivacyViolation
from sfumato.privacy.decomposition import is_maximally_sufficient, more_sufficient
from sfumato.privacy.predicates_definitions import mixture
from strategies import exact_private_channels


@given(exact_private_channels())
@settings(max_examples=80)
def test_theorem_3_kernels_shares_and_post_processing_give_the_channel_back(case: Any) -> None:
    channel, privacy = case
    parts = sf.types.decompose(channel, privacy)
    assert sum(parts.shares) == 1
    assert all(share > 0 for share in parts.shares)
    mixture = parts.mixture.matrix * 0
    for share, kernel in zip(parts.shares, parts.kernels, strict=True):
        assert sf.types.is_kernel(kernel, privacy)
        for column, output in zip(kernel.matrix.T, kernel.outputs, strict=True):
            mixture[:, output] += share * column
    assert (mixture == parts.mixture.matrix).all()
    assert (sf.cascade(parts.mixture, parts.post_processing).matrix == channel.matrix).all()


@given(exact_private_channels())
@settings(max_examples=80)
def test_theorem_332_splitting_is_maximal_and_gives_the_channel_back(case: Any) -> None:
    channel, privacy = case
    split = sf.types.maximally_sufficient(channel, privacy)
    assert sf.types.is_vertex_mechanism(split.channel, privacy)
    assert (sf.cascade(split.channel, split.post_processing).matrix == channel.matrix).all()
    again = sf.types.maximally_sufficient(split.channel, privacy)
    assert again.channel.shape == split.channel.shape
    assert sf.refines(channel, split.channel)


@given(exact_private_channels())
@settings(max_examples=30)
def test_pieces_are_vertices_of_the_list(case: Any) -> None:
    _, privacy = case
    split = sf.types.maximally_sufficient(sf.Channel.constant(privacy.space), privacy)
    listed = {tuple(vertex.posterior.weights) for vertex in sf.types.vertices(privacy)}
    for column in split.channel.matrix.T:
        assert tuple(column / column.sum()) in listed


def test_every_listed_kernel_is_one() -> None:
    privacy = sf.PrivacyType(sf.line(4), alpha="1/2")
    for kernel in sf.types.kernels(privacy):
        assert sf.types.is_kernel(kernel.channel, privacy)
        parts = sf.types.decompose(kernel.channel, privacy)
        assert parts.shares == (1,)


def test_what_is_no_kernel() -> None:
    privacy = sf.PrivacyType(sf.line(2), alpha="1/2")
    binary = sf.Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    assert sf.types.is_kernel(binary, privacy)
    assert not sf.types.is_vertex_mechanism(sf.Channel.constant([0, 1]), privacy)
    doubled = sf.channels.choice("1/2", binary, binary)
    assert sf.types.is_kernel(doubled, privacy)  # proportional outputs count once
    leaky = sf.types.is_vertex_mechanism(sf.Channel.identity([0, 1]), privacy)
    assert not leaky
    assert "not in the type" in leaky.reason
    line = sf.PrivacyType(sf.line(3), alpha="1/2")
    all_vertices = sf.types.kernels(line)
    mixed = sf.channels.choice("1/2", all_vertices[0].channel, all_vertices[1].channel)
    assert sf.types.is_vertex_mechanism(mixed, line)
    verdict = sf.types.is_kernel(mixed, line)
    assert not verdict
    assert verdict.witness == 3


def test_row_graphs_of_the_truncated_geometric() -> None:
    space = sf.line(3)
    geometric = sf.Channel(space, [["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]])
    graphs = sf.types.row_graphs(geometric, sf.PrivacyType(space, alpha="1/2"))
    assert graphs == {0: ((0, 1), (1, 2)), 1: ((1, 0), (1, 2)), 2: ((1, 0), (2, 1))}
    assert not any(sf.types.row_graphs(geometric, sf.PrivacyType(space, alpha="1/3")).values())


def test_bad_input() -> None:
    privacy = sf.PrivacyType(sf.line(2), alpha="1/2")
    with pytest.raises(PrivacyViolation):
        sf.types.decompose(sf.Channel.identity([0, 1]), privacy)
    with pytest.raises(NotSupported, match="float"):
        sf.types.decompose(sf.Channel([0, 1], [[0.5, 0.5]] * 2), privacy)
    with pytest.raises(NotSupported):
        sf.types.row_graphs(sf.Channel.constant([0, 1]), sf.PrivacyType(sf.line(2), epsilon=1))
    apart = sf.PrivacyType(sf.graph([], labels=[0, 1]), alpha="1/2")
    with pytest.raises(InvalidInput, match="finite distance"):
        more_sufficient(sf.Channel.constant([0, 1]), apart)
    with pytest.raises(InvalidInput, match="strictly"):
        more_sufficient(sf.Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]]), privacy)
    halves = sf.PrivacyType(sf.line(2, step="1/2"), alpha="1/4")
    with pytest.raises(NotSupported, match="whole distances"):
        more_sufficient(sf.Channel.constant(halves.space), halves)


def test_equality_of_floats_is_undecided() -> None:
    privacy = sf.PrivacyType(sf.line(2), epsilon=1)
    for question in (sf.types.is_vertex_mechanism, sf.types.is_kernel, is_maximally_sufficient):
        verdict = question(sf.mechanisms.binary(privacy).channel, privacy)
        assert verdict.outcome == "undecided" and "finite" not in verdict.reason


# ----------------------------------------------------------------- secrets that are infinitely far apart


@st.composite
def in_parts(draw: Any) -> tuple[sf.Channel, sf.PrivacyType]:
    """A channel on a space of several parts, private in each: outputs of one that tells all it may, merged at will."""
    privacies = [draw(exact_private_channels())[1].space for _ in range(draw(st.integers(1, 2)))]
    edges, labels = [], []
    for k, space in enumerate([*privacies, sf.line(1)]):
        labels += [(k, x) for x in space.labels]
        edges += [((k, x), (k, z)) for x in space.labels for z in space.labels if space.distance(x, z) == 1]
    whole = sf.PrivacyType(sf.graph(edges, labels=labels), alpha=draw(st.sampled_from(["1/2", "1/3", "2/3"])))
    least = sf.types.maximally_sufficient(sf.Channel.constant(whole.space), whole).channel
    width = draw(st.integers(1, 4))
    images = {y: draw(st.integers(0, width - 1)) for y in least.outputs}
    return sf.remap(least, images), whole


@given(in_parts())
@settings(max_examples=15, deadline=None)
def test_theorem_332_holds_for_each_part_of_a_relation(case: Any) -> None:
    """Each output of a maximally sufficient mechanism occurs in one part, and its row graph connects that part."""
    channel, privacy = case
    split = sf.types.maximally_sufficient(channel, privacy)
    assert sf.satisfies(split.channel, privacy) and is_maximally_sufficient(split.channel, privacy)
    assert (sf.cascade(split.channel, split.post_processing).matrix == channel.matrix).all()
    graphs = sf.types.row_graphs(split.channel, privacy)
    for output, column in zip(split.channel.outputs, split.channel.matrix.T, strict=True):
        occurs = {x for x, p in zip(split.channel.secrets, column, strict=True) if p}
        assert len({part for part, _ in occurs}) == 1
        reached = {min(occurs)}
        while more := {end for pair in graphs[output] if reached & set(pair) for end in pair} - reached:
            reached |= more
        assert reached == occurs
    parts = sf.types.decompose(channel, privacy)
    assert sum(parts.shares) == 1 and all(sf.types.is_kernel(kernel, privacy) for kernel in parts.kernels)


@given(in_parts())
@settings(max_examples=15, deadline=None)
def test_what_is_not_maximally_sufficient_is_shown_by_a_better_one(case: Any) -> None:
    channel, privacy = case
    verdict = is_maximally_sufficient(channel, privacy)
    if not verdict:
        better = verdict.witness.channel
        assert sf.satisfies(better, privacy)
        assert sf.refines(channel, better) and not sf.refines(better, channel)


def test_a_relation_without_pairs() -> None:
    """As printed, Theorem 3.3.2 leaves nothing maximally sufficient here; the identity is."""
    nothing = sf.PrivacyType(sf.graph([], labels=["a", "b"]), alpha="1/2")
    assert is_maximally_sufficient(sf.Channel.identity(["a", "b"]), nothing)
    verdict = is_maximally_sufficient(sf.Channel.constant(["a", "b"]), nothing)
    assert not verdict and "nothing is promised" in verdict.reason
    assert verdict.witness.channel.matrix.tolist() == [[1, 0], [0, 1]]
    leaky = is_maximally_sufficient(sf.Channel.identity([0, 1]), sf.PrivacyType(sf.line(2), alpha="1/2"))
    assert not leaky and "not in the type" in leaky.reason


# ----------------------------------------------------------------- Definition 3.1.3, and the strict inequality


@given(exact_private_channels(), st.data())
@settings(max_examples=25, deadline=None)
def test_definition_313_what_simulates_a_maximal_mechanism_is_simulated_by_it(case: Any, data: st.DataObject) -> None:
    """M = A∘M′ with both in the type: if M is maximally sufficient then M′ is a post-processing of M."""
    above, privacy = case
    if data.draw(st.booleans()):
        above = sf.types.maximally_sufficient(above, privacy).channel
    images = data.draw(st.permutations(above.outputs))
    width = data.draw(st.sampled_from([1, 2, len(images), len(images)]))
    below = sf.remap(above, {y: min(k, width - 1) for k, y in enumerate(images)})
    verdict = is_maximally_sufficient(below, privacy)
    if verdict:
        assert sf.refines(above, below)
    else:
        assert sf.refines(below, verdict.witness.channel) and not sf.refines(verdict.witness.channel, below)


@given(exact_private_channels())
@settings(max_examples=12, deadline=None)
def test_strict_inequalities_have_no_maximally_sufficient_mechanism(case: Any) -> None:
    """Section 3.1: above every mechanism with < in place of ≤ there is another, again strict."""
    channel, privacy = case
    assume(len(channel.secrets) > 1)
    constant = sf.Channel(channel.secrets, channel.matrix[:1].repeat(len(channel.secrets), axis=0))
    strictly = mixture("1/2", channel, constant)
    for _ in range(2):
        more = more_sufficient(strictly, privacy)
        assert (sf.cascade(more.channel, more.post_processing).matrix == strictly.matrix).all()
        assert sf.satisfies(more.channel, privacy) and not any(sf.types.row_graphs(more.channel, privacy).values())
        assert not sf.refines(more.channel, strictly)
        strictly = more.channel


def test_zero_columns_vanish() -> None:
    privacy = sf.PrivacyType(sf.line(2), alpha="1/2")
    channel = sf.Channel([0, 1], [["1/2", 0, "1/2"], ["1/2", 0, "1/2"]])
    split = sf.types.maximally_sufficient(channel, privacy)
    assert split.channel.shape == (2, 2)
    assert split.post_processing.matrix.tolist() == [[Fraction(1, 2), 0, Fraction(1, 2)]] * 2
