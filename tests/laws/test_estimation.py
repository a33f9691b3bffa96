"""Laws of estimation from released data: expectations by brute force in fractions, likelihoods in balls."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise, product
from math import factorial, prod
from typing import Any

import flint
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.numbers import as_ball, exact, fractions
from sfumato.release.estimation.cross import cross_table
from sfumato.release.estimation.estimates import frequencies, nearest_prior
from sfumato.release.estimation.likelihood import iterative_bayesian_update, maximum_likelihood
from sfumato.release.estimation.plan import survey_plan
from sfumato.release.estimation.rows import credible_sets, posteriors, remap_rows
from strategies import channels, distributions, losses, priors


@st.composite
def invertible(draw: Any, most: int = 3) -> sf.Channel:
    """A channel from which frequencies can be told: some identity in every row, and perhaps more outputs."""
    n = draw(st.integers(2, most))
    m = n + draw(st.integers(0, 2))
    noise = [draw(distributions(m)) for _ in range(n)]
    share = Fraction(draw(st.integers(3, 6)), 7)
    matrix = [[share * int(x == y) + (1 - share) * noise[x][y] for y in range(m)] for x in range(n)]
    channel = sf.Channel(range(n), matrix)
    assume((channel.matrix > 0).any(axis=0).all())  # an output that never comes has no count
    try:
        frequencies(channel, [0])
    except InvalidInput:
        assume(False)
    return channel


def outcomes(m: int, rows: int) -> list[tuple[int, ...]]:
    return [counts for counts in product(range(rows + 1), repeat=m) if sum(counts) == rows]


def multinomial(counts: tuple[int, ...], chances: Any) -> Fraction:
    ways = factorial(sum(counts)) // prod(map(factorial, counts))
    return ways * prod((c**k for c, k in zip(chances, counts, strict=True)), start=Fraction(1))


@settings(max_examples=30)
@given(st.data())
def test_the_estimate_and_its_covariance_are_unbiased(data: Any) -> None:
    """Over all samples of three rows: E[π̂] = π, Var[π̂] is the covariance, and so is the mean of its estimate."""
    channel = data.draw(invertible())
    prior = data.draw(priors(channel.secrets))
    reference = data.draw(priors(channel.secrets, positive=True))
    chances = prior.weights @ fractions(channel.matrix)
    mean: Any = 0
    second: Any = 0
    estimated: Any = 0
    for counts in outcomes(len(channel.outputs), 3):
        chance = multinomial(counts, chances)
        if not chance:
            continue
        found = frequencies(channel, np.array(counts), reference=reference)
        assert sum(found.weights) == 1
        mean = mean + chance * found.weights
        second = second + chance * found.weights[:, None] * found.weights
        estimated = estimated + chance * found.covariance
    assert (mean == prior.weights).all()
    assert (estimated == second - mean[:, None] * mean).all()


@settings(max_examples=30)
@given(st.data())
def test_the_noise_alone_is_unbiased_too(data: Any) -> None:
    """The rows are given, only the mechanism is random: the same for their own frequencies."""
    channel = data.draw(invertible())
    rows = data.draw(st.lists(st.sampled_from(channel.secrets), min_size=1, max_size=3))
    mean: Any = 0
    second: Any = 0
    estimated: Any = 0
    for outputs in product(channel.outputs, repeat=len(rows)):
        chance = prod((channel.matrix[x, y] for x, y in zip(rows, outputs, strict=True)), start=Fraction(1))
        if chance:
            found = frequencies(channel, outputs)
            mean, second = mean + chance * found.weights, second + chance * found.weights[:, None] * found.weights
            estimated = estimated + chance * found.noise_covariance
    assert mean.tolist() == [Fraction(rows.count(x), len(rows)) for x in channel.secrets]
    assert (estimated == second - mean[:, None] * mean).all()


@settings(max_examples=40)
@given(st.data())
def test_no_right_inverse_has_less_variance_at_the_reference(data: Any) -> None:
    """Gauss and Markov: W + K with MK = 0 has a larger variance for every secret when π is the reference."""
    channel = data.draw(invertible())
    assume(len(channel.outputs) > len(channel.secrets))
    reference = data.draw(priors(channel.secrets, positive=True))
    inverse = frequencies(channel, [0], reference=reference).inverse
    matrix = fractions(channel.matrix)
    assert (matrix @ inverse == np.eye(len(channel.secrets), dtype=int)).all()
    chances = reference.weights @ matrix
    # any K with MK = 0: a vector less what M sees of it
    kernel = np.array(
        [Fraction(k) for k in data.draw(st.lists(st.integers(-2, 2), min_size=len(chances), max_size=len(chances)))]
    )
    kernel = kernel - inverse @ (matrix @ kernel)
    assert not (matrix @ kernel).any()
    for x in range(len(channel.secrets)):
        ours, other = inverse[:, x], inverse[:, x] + kernel
        variances = [(v * v * chances).sum() - ((v * chances).sum()) ** 2 for v in (ours, other)]
        assert variances[0] <= variances[1]


@given(st.data())
def test_floats_agree_with_fractions(data: Any) -> None:
    channel = data.draw(invertible())
    counts = np.array(
        data.draw(st.lists(st.integers(1, 50), min_size=len(channel.outputs), max_size=len(channel.outputs)))
    )
    exactly, roughly = frequencies(channel, counts), frequencies(channel.to_floats(), counts)
    assert exactly.exact and not roughly.exact
    for name in ("weights", "covariance", "noise_covariance"):
        np.testing.assert_allclose(getattr(roughly, name), getattr(exactly, name).astype(float), rtol=1e-9, atol=1e-12)


def log_likelihood(weights: Any, channel: sf.Channel, counts: Any) -> flint.arb:
    total = int(sum(counts))
    value = flint.arb(0)
    for y, count in enumerate(counts):
        if count:
            fitted = sum((exact(p) * c for p, c in zip(weights, channel.matrix[:, y], strict=True)), Fraction(0))
            value += as_ball(Fraction(int(count), total)) * as_ball(fitted).log()
    return value


@settings(max_examples=60)
@given(st.data())
def test_nobody_is_likelier_by_more_than_the_gap(data: Any) -> None:
    """L(ρ) ≤ L(π) + gap for every prior ρ, whether π is the maximum or only on the way there."""
    channel = data.draw(channels())
    possible = (channel.matrix > 0).any(axis=0)
    counts = np.array([data.draw(st.integers(0, 9)) if ok else 0 for ok in possible])
    assume(counts.any())
    other = data.draw(priors(channel.secrets, positive=True))
    steps = data.draw(st.integers(0, 5))
    early = iterative_bayesian_update(channel, counts, steps=steps)
    late = [maximum_likelihood(channel, counts, method=method) for method in ("newton", "squared")]
    with flint.ctx.workprec(200):
        least = log_likelihood(other.weights, channel, counts)
        values = []
        for found in (early, *late):
            total = sum(map(exact, found.prior.weights))
            here = log_likelihood([exact(w) / total for w in found.prior.weights], channel, counts)
            assert not least > here + as_ball(exact(found.gap))
            assert abs(float(here) - found.log_likelihood) < 1e-12
            values.append(float(here))
    assert early.gap >= 0 and max(late[0].gap, late[1].gap) <= 1e-8
    assert abs(values[1] - values[2]) <= 2e-8


@settings(max_examples=60)
@given(st.data())
def test_updates_never_lose_likelihood(data: Any) -> None:
    channel = data.draw(channels())
    counts = np.array([data.draw(st.integers(0, 9)) if ok else 0 for ok in (channel.matrix > 0).any(axis=0)])
    assume(counts.any())
    path = iterative_bayesian_update(channel, counts, steps=20).path
    assert all(b >= a - 1e-14 for a, b in pairwise(path)) and len(path) == 21
    squared = maximum_likelihood(channel, counts, method="squared").path
    assert all(b >= a - 1e-14 for a, b in pairwise(squared))


@settings(max_examples=40)
@given(st.data())
def test_a_non_negative_inverse_estimate_is_the_maximum(data: Any) -> None:
    """For a square channel it fits the outputs exactly, and no fit is better than that."""
    channel = data.draw(invertible())
    assume(len(channel.secrets) == len(channel.outputs))
    counts = np.array([data.draw(st.integers(20, 40)) for _ in channel.outputs])
    inverse = frequencies(channel, counts)
    assume((inverse.weights >= 0).all())
    found = maximum_likelihood(channel, counts, tolerance=1e-10)
    saturated = float(sum((c / counts.sum()) * np.log(c / counts.sum()) for c in counts))
    assert saturated - 1e-10 <= found.log_likelihood + 1e-13 and found.log_likelihood <= saturated + 1e-13
    assert found.deviance <= 2 * counts.sum() * 1.01e-10
    # Pinsker: outputs agree to √(gap/2), and the inverse takes that back to the secrets
    moved = np.abs(floats(inverse.inverse)).sum(axis=0).max() * 2 * np.sqrt(1e-10 / 2)
    assert np.abs(found.prior.weights - floats(inverse.weights)).max() <= moved + 1e-12


def floats(values: Any) -> Any:
    return np.asarray(values, dtype=float)


@given(st.data())
def test_exact_output_frequencies_leave_the_truth_as_it_is(data: Any) -> None:
    """If the outputs have the frequencies that the prior predicts, the prior is a maximum and a fixed point."""
    channel = data.draw(channels())
    prior = data.draw(priors(channel.secrets, positive=True))
    chances, denominator = sf.numbers.common_denominator(prior.weights @ fractions(channel.matrix))
    assume(denominator < 10**6)
    counts = np.array([int(c) for c in chances])
    found = iterative_bayesian_update(channel, counts, start=prior, steps=3)
    np.testing.assert_allclose(found.prior.weights, floats(prior.weights), atol=1e-12)
    assert found.gap < 1e-12 and found.deviance < 1e-9


@given(st.lists(st.fractions(-2, 3, max_denominator=12), min_size=1, max_size=6), st.data())
def test_no_prior_is_nearer_than_the_nearest(weights: list[Fraction], data: Any) -> None:
    found = nearest_prior(range(len(weights)), sf.numbers.object_array(weights))
    other = data.draw(priors(range(len(weights))))
    distances = [sum((a - b) ** 2 for a, b in zip(prior.weights, weights, strict=True)) for prior in (found, other)]
    assert found.exact and distances[0] <= distances[1]
    if sum(weights) == 1 and min(weights) >= 0:
        assert list(found.weights) == weights


@settings(max_examples=50)
@given(st.data())
def test_credible_sets_are_the_smallest(data: Any) -> None:
    channel = data.draw(channels())
    prior = data.draw(priors(channel.secrets))
    level = data.draw(st.fractions("1/10", 1, max_denominator=10))
    sets, table = credible_sets(prior, channel, level), posteriors(prior, channel)
    for y, output in enumerate(channel.outputs):
        chosen = sets.of(output)
        if not table.table[:, y].any():
            assert chosen == ()
            continue
        belief = dict(zip(channel.secrets, table.table[:, y], strict=True))
        assert sum(belief[x] for x in chosen) >= level
        smaller = combinations(channel.secrets, len(chosen) - 1)
        assert all(sum((belief[x] for x in few), Fraction(0)) < level for few in smaller)
        assert (table.of(output).weights == sf.posterior(prior, channel, output).weights).all()


@given(st.data())
def test_rows_are_remapped_to_the_best_action(data: Any) -> None:
    channel = data.draw(channels())
    prior = data.draw(priors(channel.secrets))
    loss = data.draw(losses(channel.secrets))
    table = posteriors(prior, channel)
    possible = [y for k, y in enumerate(channel.outputs) if table.table[:, k].any()]
    actions = remap_rows(prior, channel, loss, possible * 2)
    assert actions[: len(possible)] == actions[len(possible) :]
    for output, action in zip(possible, actions, strict=False):
        costs = loss.matrix @ table.of(output).weights
        assert costs[loss.actions.index(action)] == min(costs)


@settings(max_examples=30)
@given(st.data())
def test_the_inverse_of_two_questions_is_the_product_of_their_inverses(data: Any) -> None:
    """Joint shares come back from joint outputs, and the sums of a cross table are the estimates of each question."""
    first, second = data.draw(invertible()), data.draw(invertible())
    size = len(first.secrets) * len(second.secrets)
    truth = np.array([float(p) for p in data.draw(distributions(size))]).reshape(len(first.secrets), -1)
    shape = len(first.outputs), len(second.outputs)
    counts = np.array(
        data.draw(st.lists(st.integers(1, 30), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    )
    both = cross_table([first, second], counts.reshape(shape))
    np.testing.assert_allclose(both.recovery.estimate(both.recovery.outputs(truth)), truth, atol=1e-9)
    for axis in (0, 1):
        alone = both.marginal(axis).weights.astype(float)
        np.testing.assert_allclose(both.weights.sum(axis=1 - axis), alone, atol=1e-9)


@settings(max_examples=20)
@given(st.data())
def test_the_noise_of_weighted_rows_is_unbiased(data: Any) -> None:
    """Rows and weights are given, only the mechanism is random: mean, variance, and the mean of its estimate."""
    channel = data.draw(invertible())
    rows = data.draw(st.lists(st.sampled_from(channel.secrets), min_size=2, max_size=3))
    weights = data.draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows)))
    mean, second, estimated = (np.zeros(len(channel.secrets)) for _ in range(3))
    for outputs in product(channel.outputs, repeat=len(rows)):
        chance = float(prod((channel.matrix[x, y] for x, y in zip(rows, outputs, strict=True)), start=Fraction(1)))
        found = frequencies(channel.to_floats(), outputs, weights=weights)
        mean, second = mean + chance * found.weights, second + chance * found.weights**2
        estimated = estimated + chance * np.diagonal(found.noise_covariance)
    truth = [sum(w for x, w in zip(rows, weights, strict=True) if x == z) / sum(weights) for z in channel.secrets]
    np.testing.assert_allclose(mean, truth, atol=1e-9)
    np.testing.assert_allclose(estimated, second - mean**2, atol=1e-8)


@settings(max_examples=40)
@given(st.data())
def test_no_shares_need_more_respondents_than_the_worst(data: Any) -> None:
    channel = data.draw(invertible())
    worst = survey_plan(channel, worst=True).variances
    shares = np.array([float(p) for p in data.draw(priors(channel.secrets)).weights])
    inverse = frequencies(channel, [channel.outputs[0]]).inverse.astype(float)
    variances = shares @ channel.matrix.astype(float) @ inverse**2 - shares**2
    assert (variances <= worst * (1 + 1e-9) + 1e-12).all()
