from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings

import sfumato as sf
from sfumato.errors import NotSupported, PrivacyViolation
from strategies import exact_private_channels


@given(exact_private_channels())
@settings(max_examples=80)
def test_theorem_3_kernels_shares_and_post_processing_give_the_channel_back(case: Any) -> None:
    channel, privacy = case
    parts = sf.decompose(channel, privacy)
    assert sum(parts.shares) == 1
    assert all(share > 0 for share in parts.shares)
    mixture = parts.mixture.matrix * 0
    for share, kernel in zip(parts.shares, parts.kernels, strict=True):
        assert sf.is_kernel(kernel, privacy)
        for column, output in zip(kernel.matrix.T, kernel.outputs, strict=True):
            mixture[:, output] += share * column
    assert (mixture == parts.mixture.matrix).all()
    assert (sf.cascade(parts.mixture, parts.post_processing).matrix == channel.matrix).all()


@given(exact_private_channels())
@settings(max_examples=80)
def test_theorem_332_splitting_is_maximal_and_gives_the_channel_back(case: Any) -> None:
    channel, privacy = case
    split = sf.maximally_sufficient(channel, privacy)
    assert sf.is_vertex_mechanism(split.channel, privacy)
    assert (sf.cascade(split.channel, split.post_processing).matrix == channel.matrix).all()
    again = sf.maximally_sufficient(split.channel, privacy)
    assert again.channel.shape == split.channel.shape
    assert sf.refines(channel, split.channel)


@given(exact_private_channels())
@settings(max_examples=30)
def test_pieces_are_vertices_of_the_list(case: Any) -> None:
    _, privacy = case
    split = sf.maximally_sufficient(sf.Channel.constant(privacy.space), privacy)
    listed = {tuple(vertex.posterior.weights) for vertex in sf.vertices(privacy)}
    for column in split.channel.matrix.T:
        assert tuple(column / column.sum()) in listed


def test_every_listed_kernel_is_one() -> None:
    privacy = sf.PrivacyType(sf.line(4), alpha="1/2")
    for kernel in sf.kernels(privacy):
        assert sf.is_kernel(kernel.channel, privacy)
        parts = sf.decompose(kernel.channel, privacy)
        assert parts.shares == (1,)


def test_what_is_no_kernel() -> None:
    privacy = sf.PrivacyType(sf.line(2), alpha="1/2")
    binary = sf.Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    assert sf.is_kernel(binary, privacy)
    assert not sf.is_vertex_mechanism(sf.Channel.constant([0, 1]), privacy)
    doubled = sf.choice("1/2", binary, binary)
    assert sf.is_kernel(doubled, privacy)  # proportional outputs count once
    leaky = sf.is_vertex_mechanism(sf.Channel.identity([0, 1]), privacy)
    assert not leaky
    assert "not in the type" in leaky.reason
    line = sf.PrivacyType(sf.line(3), alpha="1/2")
    all_vertices = sf.kernels(line)
    mixed = sf.choice("1/2", all_vertices[0].channel, all_vertices[1].channel)
    assert sf.is_vertex_mechanism(mixed, line)
    verdict = sf.is_kernel(mixed, line)
    assert not verdict
    assert verdict.witness == 3


def test_row_graphs_of_the_truncated_geometric() -> None:
    space = sf.line(3)
    geometric = sf.Channel(space, [["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]])
    graphs = sf.row_graphs(geometric, sf.PrivacyType(space, alpha="1/2"))
    assert graphs == {0: ((0, 1), (1, 2)), 1: ((1, 0), (1, 2)), 2: ((1, 0), (2, 1))}
    assert not any(sf.row_graphs(geometric, sf.PrivacyType(space, alpha="1/3")).values())


def test_bad_input() -> None:
    privacy = sf.PrivacyType(sf.line(2), alpha="1/2")
    with pytest.raises(PrivacyViolation):
        sf.decompose(sf.Channel.identity([0, 1]), privacy)
    with pytest.raises(NotSupported, match="float"):
        sf.decompose(sf.Channel([0, 1], [[0.5, 0.5]] * 2), privacy)
    with pytest.raises(NotSupported):
        sf.row_graphs(sf.Channel.constant([0, 1]), sf.PrivacyType(sf.line(2), epsilon=1))
    apart = sf.PrivacyType(sf.graph([(0, 1)], labels=[0, 1, 2]), alpha="1/2")
    with pytest.raises(NotSupported, match="finite"):
        sf.row_graphs(sf.Channel.constant([0, 1, 2]), apart)


def test_equality_of_floats_is_undecided() -> None:
    privacy = sf.PrivacyType(sf.line(2), epsilon=1)
    for question in (sf.is_vertex_mechanism, sf.is_kernel):
        assert question(sf.binary(privacy).channel, privacy).outcome == "undecided"


def test_zero_columns_vanish() -> None:
    privacy = sf.PrivacyType(sf.line(2), alpha="1/2")
    channel = sf.Channel([0, 1], [["1/2", 0, "1/2"], ["1/2", 0, "1/2"]])
    split = sf.maximally_sufficient(channel, privacy)
    assert split.channel.shape == (2, 2)
    assert split.post_processing.matrix.tolist() == [[Fraction(1, 2), 0, Fraction(1, 2)]] * 2
