"""Theorems on universal optimality against the enumeration of all cells, which knows none of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import losses
from sfumato.channels.channel import Channel
from sfumato.losses.classes import is_monotone, is_single_crossing
from sfumato.privacy.similarity import similarity
from sfumato.theory.universal import is_universally_optimal, worst_case_regret
from strategies import alphas, trees


def regret(mechanism: Any, loss: sf.Loss, privacy: sf.PrivacyType) -> Fraction:
    found = worst_case_regret(mechanism, loss, privacy)
    assert found.exact and found.lower is not None
    return found.lower


def tight(privacy: sf.PrivacyType) -> Channel | None:
    """w_y Φ_y with w_y = 1 − Σ 1/(1 + b_e), if all are ≥ 0: on a tree the rows sum to 1."""
    phi = similarity(privacy)
    first, second = privacy.space.pairs
    weights = np.array([Fraction(1)] * len(phi), dtype=object)
    for x, z in zip(first, second, strict=True):
        share = 1 / (1 + 1 / phi[x, z])
        weights[x] -= share
        weights[z] -= share
    if weights.min() < 0:
        return None
    return Channel(privacy.space, phi * weights[None, :])


@given(trees(7), alphas())
@settings(max_examples=60)
def test_rays_of_a_tree_in_the_basis_of_similarities(space: sf.FiniteSpace, alpha: Fraction) -> None:
    """v = Σ_y v_y (1 − k_y) Φ_y, k_y the number of neighbours at which v is higher."""
    privacy = sf.PrivacyType(space, alpha=alpha)
    phi = similarity(privacy)
    first, second = space.pairs
    for ray in sf.types.vertices(privacy).rays:
        higher = [0] * len(ray)
        for x, z in zip(first, second, strict=True):
            assert ray[x] != ray[z]
            higher[int(x) if ray[x] < ray[z] else int(z)] += 1
        coefficients = np.array([v * (1 - k) for v, k in zip(ray, higher, strict=True)], dtype=object)
        assert (phi @ coefficients == ray).all()


@given(trees(5), alphas(), st.data())
@settings(max_examples=500)
def test_guessing_and_excluding_on_trees(space: sf.FiniteSpace, alpha: Fraction, data: st.DataObject) -> None:
    privacy = sf.PrivacyType(space, alpha=alpha)
    channel = tight(privacy)
    assume(channel is not None)
    scale = data.draw(st.lists(st.integers(0, 3), min_size=len(space), max_size=len(space)))
    for loss in (losses.bin(space), losses.nib(space)):
        for each in (loss, losses.scale(loss, scale)):
            assert regret(channel, each, privacy) == 0
            assert is_universally_optimal(channel, each, privacy).witness.name != "cells"
    few = losses.nib(space).matrix[: data.draw(st.integers(1, len(space)))]
    assert regret(channel, losses.matrix(space, few), privacy) == 0


@st.composite
def single_crossing_tables(draw: Any, n: int) -> list[list[int]]:
    """Rows whose differences change their sign once, drawn without the structure of a supermodular table."""
    actions = draw(st.integers(2, 3))
    rows = draw(st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=actions, max_size=actions))
    return [list(row) for row in rows]


@given(st.lists(st.integers(1, 2), min_size=1, max_size=4), alphas(), st.data())
@settings(max_examples=1500)
def test_single_crossing_on_a_line(steps: list[int], alpha: Fraction, data: st.DataObject) -> None:
    space = sf.graph([(i, i + 1, step) for i, step in enumerate(steps)])
    privacy = sf.PrivacyType(space, alpha=alpha)
    loss = losses.matrix(space, data.draw(single_crossing_tables(len(space))))
    verdict = is_single_crossing(loss, space)
    if verdict:
        order = [loss.actions.index(w) for w in verdict.witness.actions]
        for w, v in combinations(order, 2):
            signs = [s for s in np.sign(loss.matrix[w] - loss.matrix[v]) if s]
            assert signs == sorted(signs)
        assert regret(sf.geometric(privacy), loss, privacy) == 0


@given(st.lists(st.integers(0, 1), min_size=2, max_size=6), alphas())
@settings(max_examples=60)
def test_two_actions_on_a_line_cross_once_or_the_geometric_mechanism_is_not_best(
    pattern: list[int], alpha: Fraction
) -> None:
    """Observed: for a property of the secret, single crossing is also necessary."""
    space = sf.line(len(pattern))
    privacy = sf.PrivacyType(space, alpha=alpha)
    loss = losses.member(space, [x for x, inside in enumerate(pattern) if inside])
    crosses = bool(is_single_crossing(loss, space))
    assert (regret(sf.geometric(privacy), loss, privacy) == 0) == crosses


@given(st.permutations(range(4)), st.lists(st.integers(0, 4), min_size=4, max_size=4))
@settings(max_examples=60)
def test_monotone_losses_cross_once(order: list[int], steps: list[int]) -> None:
    space = sf.line(4)
    values = np.cumsum(steps)
    loss = losses.function(space, lambda w, x: int(values[abs(order[w] - x)]))
    assert is_monotone(loss, space)
    assert is_single_crossing(loss, space)
