"""Laws of privacy types: paper A, sections III, V and VI."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from examples import random_response, truncated_geometric
from sfumato.lp import LinearProgram, solve
from strategies import alphas, exact_private_channels, losses, priors


@given(st.integers(2, 7), alphas())
@settings(max_examples=40)
def test_lemma_19_the_truncated_geometric_is_a_kernel(n: int, alpha: Fraction) -> None:
    assert sf.types.is_kernel(truncated_geometric(n, alpha), sf.PrivacyType(sf.line(n), alpha=alpha))


@given(st.integers(2, 7), alphas())
@settings(max_examples=40)
def test_lemma_21_random_response_is_a_kernel_and_so_is_its_dual(n: int, alpha: Fraction) -> None:
    privacy = sf.PrivacyType(sf.discrete(n), alpha=alpha)
    assert sf.types.is_kernel(random_response(n, alpha), privacy)
    assert sf.types.is_kernel(random_response(n, 1 / alpha), privacy)


@given(st.integers(2, 6), alphas())
@settings(max_examples=30)
def test_corollary_20_capacity_of_the_line(n: int, alpha: Fraction) -> None:
    found = sf.types.capacities(sf.PrivacyType(sf.line(n), alpha=alpha))
    assert found.multiplicative == (n * (1 - alpha) + 2 * alpha) / (1 + alpha)
    assert found.multiplicative == sf.capacity(truncated_geometric(n, alpha)).multiplicative


@given(st.integers(2, 5), alphas())
@settings(max_examples=30)
def test_corollary_22_capacities_of_discrete_spaces(n: int, alpha: Fraction) -> None:
    """The additive one as Table 5a has it, 1 − n/(1 + (n − 1)e^ε); the printed formula lacks the n."""
    found = sf.types.capacities(sf.PrivacyType(sf.discrete(n), alpha=alpha))
    assert found.multiplicative == n / (1 + (n - 1) * alpha)
    assert found.additive == 1 - n / (1 + (n - 1) / alpha)
    assert sf.capacity(random_response(n, 1 / alpha)).additive == found.additive


@pytest.mark.parametrize("space", [sf.line(4), sf.cycle(5), sf.hamming(3), sf.grid(2, 2)], ids=str)
def test_lemma_16_no_more_columns_than_secrets_attain_the_capacities(space: sf.FiniteSpace) -> None:
    found = sf.types.capacities(sf.PrivacyType(space, alpha="1/2"))
    assert len(found.most_multiplicative.outputs) <= len(space)
    assert len(found.most_additive.outputs) <= len(space)


@given(alphas())
@settings(max_examples=20)
def test_vertices_do_not_depend_on_epsilon(alpha: Fraction) -> None:
    one, other = (sf.types.vertices(sf.PrivacyType(sf.cycle(5), alpha=a)) for a in (alpha, Fraction(1, 2)))
    assert np.array_equal(one.coefficients, other.coefficients)


def test_figure_8_the_hamming_kernel_that_is_geometric_along_a_path() -> None:
    """With the eight rows it should have; the printed hyper has ten."""
    rows = {
        "000": (8, 2, 1, 1), "001": (4, 4, 2, 2), "010": (4, 4, 2, 2), "011": (2, 2, 4, 4),
        "100": (4, 4, 2, 2), "101": (2, 2, 4, 4), "110": (2, 2, 4, 4), "111": (1, 1, 2, 8),
    }  # fmt: skip
    cube = sf.hamming(3)
    outer = (Fraction(9, 32), Fraction(7, 32), Fraction(7, 32), Fraction(9, 32))
    inner = [[Fraction(v, t) for v, t in zip(rows[word], (27, 21, 21, 27), strict=True)] for word in cube.labels]
    mechanism = sf.Channel(cube, [[8 * w * v for w, v in zip(outer, row, strict=True)] for row in inner])
    assert sf.types.is_kernel(mechanism, sf.PrivacyType(cube, alpha="1/2"))
    path = sf.channels.restrict(mechanism, ["000", "100", "110", "111"])
    assert (path.matrix == truncated_geometric(4, Fraction(1, 2)).matrix).all()


small_spaces = st.sampled_from([sf.line(3), sf.line(4), sf.discrete(3), sf.discrete(4), sf.cycle(4), sf.spaces.star(3)])


@given(small_spaces, alphas())
@settings(max_examples=25)
def test_property_1_no_kernel_lies_inside_another(space: sf.FiniteSpace, alpha: Fraction) -> None:
    supports = [set(kernel.support) for kernel in sf.types.kernels(sf.PrivacyType(space, alpha=alpha))]
    assert not any(a < b for a in supports for b in supports)


@given(small_spaces, alphas(), st.data())
@settings(max_examples=25)
def test_property_2_sums_of_kernels_are_the_vertex_mechanisms(
    space: sf.FiniteSpace, alpha: Fraction, data: st.DataObject
) -> None:
    privacy = sf.PrivacyType(space, alpha=alpha)
    found = sf.types.kernels(privacy)
    picked = [found[i] for i in data.draw(st.lists(st.integers(0, len(found) - 1), min_size=1, max_size=3))]
    mixed = picked[0].channel
    for k, kernel in enumerate(picked[1:], start=2):
        mixed = sf.channels.choice(Fraction(1, k), kernel.channel, mixed)
    assert sf.types.is_vertex_mechanism(mixed, privacy)
    parts = sf.types.decompose(mixed, privacy)
    assert sum(parts.shares) == 1
    assert all(sf.types.is_kernel(kernel, privacy) for kernel in parts.kernels)
    assert sf.refines(mixed, parts.mixture)
    assert sf.refines(parts.mixture, mixed)  # a vertex mechanism is not split further


@given(small_spaces, alphas(), st.data())
@settings(max_examples=40)
def test_property_3_no_kernel_refines_another(space: sf.FiniteSpace, alpha: Fraction, data: st.DataObject) -> None:
    found = sf.types.kernels(sf.PrivacyType(space, alpha=alpha))
    i, j = (data.draw(st.integers(0, len(found) - 1)) for _ in range(2))
    assert bool(sf.refines(found[i].channel, found[j].channel)) == (i == j)


@given(small_spaces, alphas(), st.data())
@settings(max_examples=30)
def test_corollary_7_some_kernel_is_optimal(space: sf.FiniteSpace, alpha: Fraction, data: st.DataObject) -> None:
    """The optimum over the type is a kernel's, and all kernels that an optimal mechanism is made of have it.

    So a mechanism that is optimal for every prior is made of kernels that are.
    """
    privacy = sf.PrivacyType(space, alpha=alpha)
    prior, loss = data.draw(priors(space.labels)), data.draw(losses(space.labels))
    corner = sf.types.vertices(privacy)
    rays = np.stack([vertex.ray for vertex in corner], axis=1)
    cost = np.array([min((prior.weights * row * ray).sum() for row in loss.matrix) for ray in rays.T], dtype=object)
    best = solve(LinearProgram.dense(cost, rays, "=" * len(space), np.ones(len(space), dtype=np.int64)))
    assert best.primal is not None
    assert best.value == min(sf.posterior_loss(prior, kernel.channel, loss) for kernel in sf.types.kernels(privacy))
    used = [i for i, a in enumerate(best.primal) if a > 0]
    optimal = sf.Channel(space, rays[:, used] * best.primal[used])
    for kernel in sf.types.decompose(optimal, privacy).kernels:
        assert sf.posterior_loss(prior, kernel, loss) == best.value


@given(alphas(), st.integers(1, 5), st.data())
@settings(max_examples=30)
def test_theorem_8_and_corollary_9_the_only_kernel_is_universally_optimal(
    alpha: Fraction, distance: int, data: st.DataObject
) -> None:
    privacy = sf.PrivacyType(sf.line(2, step=distance), alpha=alpha)
    (only,) = sf.types.kernels(privacy)
    assert sf.refines(sf.mechanisms.binary(privacy).channel, only.channel)
    rows = [[data.draw(st.integers(1, 9)) for _ in range(3)] for _ in range(2)]
    given_one = sf.repair(np.array(rows) / np.sum(rows, axis=1, keepdims=True), privacy).mechanism.channel
    prior, loss = data.draw(priors(privacy.secrets)), data.draw(losses(privacy.secrets))
    assert sf.refines(given_one, only.channel)
    assert sf.posterior_loss(prior, only.channel, loss) <= sf.posterior_loss(prior, given_one, loss)


def test_two_secrets_are_the_only_space_with_one_kernel() -> None:
    for space in (sf.line(3), sf.discrete(3), sf.spaces.star(3), sf.cycle(4), sf.line(4)):
        assert sf.types.count_kernels(sf.PrivacyType(space, alpha="1/2")) > 1


@given(exact_private_channels())
@settings(max_examples=40)
def test_theorem_14_capacities_are_attained_and_never_exceeded(case: tuple[sf.Channel, sf.PrivacyType]) -> None:
    channel, privacy = case
    most, mine = sf.types.capacities(privacy), sf.capacity(channel)
    assert mine.multiplicative <= most.multiplicative
    assert mine.additive <= most.additive
    for kind in ("multiplicative", "additive"):
        attaining = getattr(most, f"most_{kind}")
        assert sf.satisfies(attaining, privacy)
        assert getattr(sf.capacity(attaining), kind) == getattr(most, kind)


@given(st.integers(2, 6), alphas())
@settings(max_examples=30)
def test_theorem_15_universally_optimal_mechanisms_have_the_capacity(n: int, alpha: Fraction) -> None:
    """On a line the geometric mechanism is universally optimal for ℓ_bin and for ℓ_nib."""
    privacy = sf.PrivacyType(sf.line(n), alpha=alpha)
    most, mine = sf.types.capacities(privacy), sf.capacity(sf.geometric(privacy).channel)
    assert (mine.multiplicative, mine.additive) == (most.multiplicative, most.additive)


@given(st.integers(2, 5), alphas())
@settings(max_examples=20)
def test_k_a_and_k_b_are_optimal_for_the_two_secrets_they_part(n: int, alpha: Fraction) -> None:
    """Paper A, VI-B: restricted to the first and the last secret both are the binary mechanism."""
    privacy = sf.PrivacyType(sf.discrete(n), alpha=alpha)
    k_a, k_b = (sf.mechanisms.one_against_rest(privacy, secret).channel for secret in (n - 1, 0))
    ends = sf.PrivacyType(privacy.space.restrict([0, n - 1]), alpha=alpha)
    for kernel in (k_a, k_b):
        assert sf.types.is_kernel(kernel, privacy)
        assert sf.refines(sf.mechanisms.binary(ends).channel, sf.channels.restrict(kernel, [0, n - 1]))
        assert sf.refines(sf.channels.restrict(kernel, [0, n - 1]), sf.mechanisms.binary(ends).channel)


@given(small_spaces, alphas(), st.data())
@settings(max_examples=25)
def test_theorem_10_the_closest_pair_is_served_as_well_as_can_be(
    space: sf.FiniteSpace, alpha: Fraction, data: st.DataObject
) -> None:
    privacy = sf.PrivacyType(space, alpha=alpha)
    made = sf.mechanisms.closest_pair(privacy)
    pair = [label for label in space.labels if str(label) in made.provenance["pair"]]
    loss = sf.losses.lift(data.draw(losses(pair)), space)
    prior = data.draw(priors(space.labels))
    best = min(sf.posterior_loss(prior, kernel.channel, loss) for kernel in sf.types.kernels(privacy))
    assert sf.posterior_loss(prior, made.channel, loss) == best


@given(st.integers(1, 4), alphas())
@settings(max_examples=12)
def test_figure_8_in_every_dimension(bits: int, alpha: Fraction) -> None:
    privacy = sf.PrivacyType(sf.hamming(bits), alpha=alpha)
    kernel = sf.mechanisms.hamming_kernel(privacy).channel
    assert sf.types.is_kernel(kernel, privacy)
    path = ["1" * k + "0" * (bits - k) for k in range(bits + 1)]
    assert (sf.channels.restrict(kernel, path).matrix == truncated_geometric(bits + 1, alpha).matrix).all()
