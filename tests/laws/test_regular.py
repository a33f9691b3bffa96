"""Laws of regular priors and tight constraints: paper C, sections 4 to 6, in exact rationals."""

from __future__ import annotations

from fractions import Fraction
from itertools import product as product_of
from math import log2
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.mechanisms.tight import tight_constraints
from sfumato.numbers import product
from sfumato.privacy.regular import (
    corner_priors,
    database_leakage_bound,
    has_tight_constraints,
    is_ball_size_symmetric,
    is_regular,
    leakage_bound,
    optimal_utility,
    utility_bound,
)
from sfumato.privacy.similarity import similarity
from sfumato.privacy.threshold import tight_threshold
from strategies import alphas, channels, distributions, exact_privacy_types, exact_private_channels, graphs, priors

ONE_MORE_EDGE = sf.graph([(i, j) for i in range(3) for j in range(3, 6)] + [(0, 1)], labels=range(6))
SYMMETRIC = st.one_of(
    st.integers(3, 7).map(sf.cycle),
    st.integers(1, 6).map(sf.discrete),
    st.integers(1, 4).map(sf.hamming),
    st.integers(1, 4).map(lambda n: sf.spaces.complete_bipartite(n, n)),
)


@st.composite
def regular_priors(draw: Any) -> tuple[sf.Prior, sf.PrivacyType]:
    """π = μΦ for a random μ ≥ 0."""
    privacy = draw(exact_privacy_types())
    mu = np.array(draw(distributions(len(privacy.space))), dtype=object)
    return sf.Prior.from_counts(list(mu @ similarity(privacy)), privacy.space), privacy


@given(regular_priors())
@settings(max_examples=40)
def test_proposition_1_ratios_of_regular_priors_are_bounded(case: tuple[sf.Prior, sf.PrivacyType]) -> None:
    prior, privacy = case
    table = similarity(privacy)
    for x, row in enumerate(table):
        assert all(prior.weights[x] * phi <= weight for weight, phi in zip(prior.weights, row, strict=True))


@given(regular_priors())
@settings(max_examples=40)
def test_proposition_2_weights_of_regular_priors_are_bounded(case: tuple[sf.Prior, sf.PrivacyType]) -> None:
    prior, privacy = case
    for weight, row in zip(prior.weights, similarity(privacy), strict=True):
        assert 1 / sum(1 / phi for phi in row) <= weight <= 1 / sum(row)


@given(regular_priors())
@settings(max_examples=40)
def test_proposition_3_a_regular_prior_is_a_mixture_of_corner_priors(case: tuple[sf.Prior, sf.PrivacyType]) -> None:
    prior, privacy = case
    verdict = is_regular(prior, privacy)
    assert verdict
    shares = verdict.witness.coefficients
    assert all(share >= 0 for share in shares) and sum(shares) == 1
    mixed = sum(share * corner.weights for share, corner in zip(shares, corner_priors(privacy), strict=True))
    assert (mixed == prior.weights).all()


@given(st.data(), exact_privacy_types())
@settings(max_examples=50)
def test_proposition_3_what_is_no_mixture_of_corner_priors_is_separated_from_them(
    data: Any, privacy: sf.PrivacyType
) -> None:
    prior = data.draw(priors(privacy.secrets))
    verdict = is_regular(prior, privacy)
    if verdict:
        mu = verdict.witness.multipliers.values
        assert (mu >= 0).all() and (mu @ similarity(privacy) == prior.weights).all()
    else:
        w = verdict.witness.vector
        assert (prior.weights * w).sum() == -verdict.witness.margin < 0
        assert all((corner.weights * w).sum() >= 0 for corner in corner_priors(privacy))


def _remapped(matrix: Any, remap: Any, size: int) -> Any:
    """HR: outputs moved to secrets."""
    moved = np.array([[Fraction(0)] * size for _ in range(size)], dtype=object)
    for output, secret in enumerate(remap):
        moved[:, secret] += matrix[:, output]
    return moved


@given(st.data(), exact_private_channels())
@settings(max_examples=60)
def test_lemma_1_utility_is_what_the_multipliers_promise_less_their_slack(
    data: Any, case: tuple[sf.Channel, sf.PrivacyType]
) -> None:
    """U = μ1 − μs for every μ with μΦ = π, negative entries or not, every remap, and slacks s between 0 and 1."""
    channel, privacy = case
    size = len(privacy.space)
    table = similarity(privacy)
    mu = np.array(data.draw(st.lists(st.integers(-1, 5), min_size=size, max_size=size)), dtype=object)
    weights = mu @ table
    assume(min(weights) >= 0 and sum(weights) > 0)
    mu, prior = mu * Fraction(1) / sum(weights), weights / sum(weights)
    remap = data.draw(st.lists(st.integers(0, size - 1), min_size=len(channel.outputs), max_size=len(channel.outputs)))
    diagonal = np.diagonal(_remapped(channel.matrix, remap, size))
    slack = 1 - table @ diagonal
    assert all(0 <= s <= 1 for s in slack)
    assert prior @ diagonal == mu.sum() - mu @ slack


@st.composite
def mechanisms_near_the_tight_one(draw: Any) -> tuple[Any, sf.PrivacyType, Any]:
    """A private matrix that may or may not be remapped to the tight-constraints mechanism, and that one's diagonal."""
    channel, privacy = draw(exact_private_channels())
    exists = has_tight_constraints(privacy)
    assume(exists)
    tight = tight_constraints(privacy).channel.matrix
    split = draw(st.fractions(0, 1, max_denominator=4))
    kinds = [channel.matrix, np.hstack([split * tight, (1 - split) * tight]),
             np.hstack([split * tight, (1 - split) * channel.matrix])]  # fmt: skip
    return draw(st.sampled_from(kinds)), privacy, exists.witness.values


def _best_remap(prior: Any, matrix: Any) -> list[int]:
    return [int(np.argmax(prior * column)) for column in matrix.T]


@given(mechanisms_near_the_tight_one(), st.data())
@settings(max_examples=60)
def test_theorems_2_and_4_best_for_every_regular_prior_iff_some_remap_is_tight(
    case: tuple[Any, sf.PrivacyType, Any], data: Any
) -> None:
    """The mean of the corner priors has μ > 0 everywhere, so the bound there is reached by tight mechanisms alone."""
    matrix, privacy, _ = case
    table = similarity(privacy)
    mu = np.array([Fraction(1, len(table))] * len(table), dtype=object) / table.sum(axis=1)
    prior = mu @ table
    moved = _remapped(matrix, _best_remap(prior, matrix), len(table))
    diagonal = np.diagonal(moved)
    tight = bool((table @ diagonal == 1).all())
    assert (prior @ diagonal == mu.sum()) == tight
    if tight:
        assert (moved == table * diagonal[None, :]).all()
        other = np.array(data.draw(distributions(len(table))), dtype=object)
        assert (other @ table) @ diagonal == other.sum()


@given(mechanisms_near_the_tight_one())
@settings(max_examples=60)
def test_corollary_3_best_for_the_uniform_prior_iff_some_remap_is_tight_if_no_multiplier_is_zero(
    case: tuple[Any, sf.PrivacyType, Any],
) -> None:
    """Or if Φ is positive definite, which eigenvalues far enough from zero show."""
    matrix, privacy, z = case
    table, size = similarity(privacy), len(privacy.space)
    assume((z > 0).all() or np.linalg.eigvalsh(table.astype(np.float64))[0] > 1e-9)
    diagonal = np.diagonal(_remapped(matrix, _best_remap(np.ones(size, dtype=object), matrix), size))
    assert (diagonal.sum() == z.sum()) == bool((table @ diagonal == 1).all())
    assert diagonal.sum() <= z.sum()


def test_corollary_3_with_a_multiplier_of_zero_where_similarity_is_positive_definite() -> None:
    """The star with three leaves at e^{−ε} = 1/2: z is 0 in the middle, and what a program finds is tight."""
    privacy = sf.PrivacyType(sf.spaces.star(3), alpha="1/2")
    assert has_tight_constraints(privacy).witness.values.tolist() == [0, *[Fraction(2, 3)] * 3]
    value, best = optimal_utility(sf.Prior.uniform(privacy.space), privacy)
    diagonal = np.diagonal(_remapped(best.matrix, _best_remap(np.ones(4, dtype=object), best.matrix), 4))
    assert value == Fraction(1, 2) == diagonal.sum() / 4
    assert (similarity(privacy) @ diagonal == 1).all()


def test_corollary_3_fails_where_a_multiplier_is_zero() -> None:
    """K_{3,4} at e^{−ε} = 1/2: another mechanism is best for the uniform prior, and no remap of it is tight.

    The tight one reports the side of three, z = 2/3 and 0. The other reports the side of four; for it the three others
    are one and the same, so nothing that is made of it can tell them apart, as the tight one does.
    """
    space = sf.spaces.complete_bipartite(3, 4)
    privacy, uniform = sf.PrivacyType(space, alpha="1/2"), sf.Prior.uniform(space)
    assert has_tight_constraints(privacy).witness.values.tolist() == [Fraction(2, 3)] * 3 + [0] * 4
    near, far, even = Fraction(1, 2), Fraction(1, 6), Fraction(1, 4)
    rival = sf.Channel(space, [[even] * 4] * 3 + [[near if x == y else far for y in range(4)] for x in range(4)])
    tight = tight_constraints(privacy).channel
    assert sf.satisfies(rival, privacy)
    assert sf.bayes_vulnerability(uniform, rival) == sf.bayes_vulnerability(uniform, tight) == Fraction(2, 7)
    assert optimal_utility(uniform, privacy)[0] == Fraction(2, 7)
    assert not sf.refines(tight, rival)
    # for the mean of the corner priors, which is regular too, the rival is not best, as Theorem 4 says
    mean = sf.Prior(space, sum(corner.weights for corner in corner_priors(privacy)) / 7)
    assert sf.bayes_vulnerability(mean, rival) < sf.bayes_vulnerability(mean, tight)


@given(st.data())
@settings(max_examples=40)
def test_proposition_4_bits_leaked_are_utility_with_the_best_remap(data: Any) -> None:
    """The best remap is found by trying all of them."""
    channel = data.draw(channels(outputs=data.draw(st.integers(1, 3))))
    prior = data.draw(priors(channel.secrets))
    size = len(channel.secrets)
    utility = max(
        prior.weights @ np.diagonal(_remapped(channel.matrix, remap, size))
        for remap in product_of(range(size), repeat=len(channel.outputs))
    )
    best = sf.optimal_remap(prior, channel, sf.losses.bin(channel.secrets))
    chosen = [channel.secrets.index(best[output]) if output in best else 0 for output in channel.outputs]
    assert prior.weights @ np.diagonal(_remapped(channel.matrix, chosen, size)) == utility
    bits = sf.measures.min_entropy(prior) - sf.measures.conditional_min_entropy(prior, channel)
    assert bits == pytest.approx(log2(utility / prior.weights.max()), abs=1e-12)
    assert sf.measures.min_mutual_information(prior, channel) == pytest.approx(bits, abs=1e-12)


@given(st.data(), exact_private_channels())
@settings(max_examples=40)
def test_theorem_2_no_private_mechanism_beats_the_multipliers(
    data: Any, case: tuple[sf.Channel, sf.PrivacyType]
) -> None:
    channel, privacy = case
    mu = np.array(data.draw(distributions(len(privacy.space))), dtype=object)
    weights = mu @ similarity(privacy)
    prior = sf.Prior.from_counts(list(weights), privacy.space)
    assert sf.bayes_vulnerability(prior, channel) <= sum(mu) / sum(weights)
    assert utility_bound(prior, privacy).value <= sum(mu) / sum(weights)


@given(regular_priors())
@settings(max_examples=40)
def test_theorem_2_the_tight_mechanism_reaches_the_bound_for_every_regular_prior(
    case: tuple[sf.Prior, sf.PrivacyType],
) -> None:
    prior, privacy = case
    assume(has_tight_constraints(privacy))
    bound = utility_bound(prior, privacy)
    assert bound.attained
    assert sf.bayes_vulnerability(prior, tight_constraints(privacy).channel) == bound.value


@given(st.data(), exact_private_channels())
@settings(max_examples=40)
def test_the_bound_is_valid_for_priors_that_are_not_regular(data: Any, case: tuple[sf.Channel, sf.PrivacyType]) -> None:
    channel, privacy = case
    prior = data.draw(priors(privacy.secrets))
    bound = utility_bound(prior, privacy)
    assert (bound.multipliers >= 0).all() and bound.value == bound.multipliers.sum()
    assert (bound.multipliers @ similarity(privacy) >= prior.weights).all()
    assert sf.bayes_vulnerability(prior, channel) <= bound.value


@given(
    st.data(), st.sampled_from([sf.line(3), sf.spaces.star(3), sf.cycle(5), sf.discrete(4), ONE_MORE_EDGE]), alphas()
)
@settings(max_examples=25)
def test_theorem_4_the_true_optimum_lies_below_the_bound_and_meets_it_where_it_is_attained(
    data: Any, space: sf.FiniteSpace, alpha: Fraction
) -> None:
    privacy = sf.PrivacyType(space, alpha=alpha)
    prior = data.draw(priors(space.labels))
    value, channel = optimal_utility(prior, privacy)
    bound = utility_bound(prior, privacy)
    assert sf.satisfies(channel, privacy)
    assert sf.bayes_vulnerability(prior, channel) == value <= bound.value
    if bound.attained.decided:
        assert value == bound.value


@given(st.data(), exact_private_channels())
@settings(max_examples=40)
def test_proposition_5_and_corollary_2_bound_the_leakage(data: Any, case: tuple[sf.Channel, sf.PrivacyType]) -> None:
    channel, privacy = case
    prior = data.draw(priors(privacy.secrets))
    leaked = log2(sf.bayes_vulnerability(prior, channel) / prior.weights.max())
    assert leaked <= leakage_bound(prior, privacy) + 1e-12  # the logarithm here is rounded
    assert leaked <= leakage_bound(privacy) + 1e-12


@given(st.integers(1, 4), st.integers(2, 3), alphas())
@settings(max_examples=30)
def test_theorem_3_is_the_closed_form_on_databases(individuals: int, values: int, alpha: Fraction) -> None:
    privacy = sf.PrivacyType(sf.hamming(individuals, symbols=values), alpha=alpha)
    assert leakage_bound(privacy) == pytest.approx(database_leakage_bound(individuals, values, alpha=alpha), rel=1e-14)
    mechanism = tight_constraints(privacy)
    leaked = log2(sf.leakage(sf.Prior.uniform(privacy.space), mechanism.channel))
    assert leaked == pytest.approx(database_leakage_bound(individuals, values, alpha=alpha), rel=1e-12)


@given(exact_privacy_types())
@settings(max_examples=40)
def test_propositions_6_and_7_the_tight_mechanism_is_private_and_known_by_its_diagonal(
    privacy: sf.PrivacyType,
) -> None:
    assume(has_tight_constraints(privacy))
    channel = tight_constraints(privacy).channel
    assert sf.satisfies(channel, privacy)
    diagonal = np.diagonal(channel.matrix)
    assert (similarity(privacy) @ diagonal == 1).all()
    assert (channel.matrix == similarity(privacy) * diagonal[None, :]).all()


@given(exact_privacy_types(), st.fractions("1/10", "9/10", max_denominator=10))
@settings(max_examples=40)
def test_proposition_7_a_mechanism_that_is_not_tight_has_another_diagonal(
    privacy: sf.PrivacyType, share: Fraction
) -> None:
    assume(len(privacy.space) > 1 and has_tight_constraints(privacy))
    tight, constant = tight_constraints(privacy).channel.matrix, Fraction(1, len(privacy.space))
    mixed = share * tight + (1 - share) * constant
    assert sf.satisfies(sf.Channel(privacy.space, mixed), privacy)
    assert not (similarity(privacy) @ np.diagonal(mixed) == 1).all()


@given(exact_privacy_types())
@settings(max_examples=40)
def test_proposition_8_it_exists_exactly_when_the_uniform_prior_is_regular(privacy: sf.PrivacyType) -> None:
    exists, regular = has_tight_constraints(privacy), is_regular(sf.Prior.uniform(privacy.space), privacy)
    assert exists.outcome == regular.outcome
    if exists:
        z = exists.witness.values
        assert (z >= 0).all() and (similarity(privacy) @ z == 1).all()


@given(SYMMETRIC, alphas())
@settings(max_examples=40)
def test_proposition_9_ball_size_symmetry_gives_a_constant_diagonal(space: sf.FiniteSpace, alpha: Fraction) -> None:
    """With e^{−d} where the paper prints e^{d}; with its sign rows do not sum to 1."""
    counts = is_ball_size_symmetric(space).witness
    total = sum(n * alpha ** int(r) for r, n in counts.items())
    matrix = tight_constraints(sf.PrivacyType(space, alpha=alpha)).channel.matrix
    distances = space.distances.values
    assert all(
        matrix[x, y] == alpha ** int(distances[x, y]) / total for x in range(len(space)) for y in range(len(space))
    )
    printed = sum(alpha ** -int(d) / total for d in distances[0])
    assert (printed == 1) == (len(space) == 1)


def test_the_printed_claim_that_it_exists_for_every_larger_epsilon_is_false() -> None:
    """Section 7.1, and the claim of Example 1 that regions expand with ε: K_{3,3} with one more edge."""
    found = {
        alpha: bool(has_tight_constraints(sf.PrivacyType(ONE_MORE_EDGE, alpha=alpha)))
        for alpha in ("3/4", "7/10", "2/3", "3/5", "1/2")
    }
    assert found == {"3/4": True, "7/10": False, "2/3": False, "3/5": False, "1/2": True}


@given(graphs(), alphas())
@settings(max_examples=40)
def test_the_set_of_epsilon_says_where_the_mechanism_exists(space: sf.FiniteSpace, alpha: Fraction) -> None:
    threshold = tight_threshold(space, digits=8)
    epsilon = -np.log(float(alpha))
    ends = [float(e) for s in threshold.exists for e in (s.low, s.high) if e is not None]
    assume(all(abs(epsilon - end) > 1e-7 for end in ends))
    inside = any(float(s.low) < epsilon and (s.high is None or epsilon < float(s.high)) for s in threshold.exists)
    assert threshold.complete
    assert bool(has_tight_constraints(sf.PrivacyType(space, alpha=alpha))) == inside


@st.composite
def trees(draw: Any) -> sf.FiniteSpace:
    n = draw(st.integers(2, 8))
    return sf.graph({(i, draw(st.integers(0, i - 1))): draw(st.integers(1, 3)) for i in range(1, n)}, labels=range(n))


@given(trees(), alphas())
@settings(max_examples=40)
def test_trees_have_a_closed_form(tree: sf.FiniteSpace, alpha: Fraction) -> None:
    """z_y = 1 − Σ_e 1/(1 + e^{ε d_e}) over the edges at y solves Φz = 1, whatever its sign."""
    privacy = sf.PrivacyType(tree, alpha=alpha)
    z = np.array([Fraction(1)] * len(tree), dtype=object)
    assert tree.edges is not None
    for x, y, d in zip(*tree.edges.pairs, tree.edges.lengths.values, strict=True):
        z[[x, y]] -= 1 / (1 + alpha ** -int(d))
    assert (similarity(privacy) @ z == 1).all()
    assert bool(has_tight_constraints(privacy)) == bool((z >= 0).all())


@given(exact_privacy_types())
@settings(max_examples=40)
def test_row_sums_up_to_two_are_enough(privacy: sf.PrivacyType) -> None:
    """With E = Φ − I and E1 ≤ 1, z = Σ E^{2k} (1 − E1) ≥ 0."""
    assume((similarity(privacy).sum(axis=1) <= 2).all())
    assert has_tight_constraints(privacy)


@given(st.lists(exact_privacy_types().filter(lambda p: len(p.space) <= 4), min_size=2, max_size=2), st.data())
@settings(max_examples=40)
def test_products_of_regular_priors_are_regular_and_bounds_multiply(pair: list[sf.PrivacyType], data: Any) -> None:
    """Φ of a product with sums of promises is a Kronecker product."""
    one, two = pair
    table = np.kron(similarity(one), similarity(two))
    first, second = (data.draw(priors(p.secrets, positive=True)) for p in pair)
    bounds = [utility_bound(p, q) for p, q in ((first, one), (second, two))]
    both = np.kron(bounds[0].multipliers, bounds[1].multipliers)
    assert (both @ table >= np.kron(first.weights, second.weights)).all()
    assert both.sum() == bounds[0].value * bounds[1].value
    tight = [has_tight_constraints(p) for p in pair]
    if all(tight):
        z = np.kron(*(v.witness.values for v in tight))
        assert (product(table, z[:, None]) == 1).all()
