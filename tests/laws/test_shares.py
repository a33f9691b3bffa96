"""Theorems on designs for estimates: columns may be rays, certificates bound every mechanism, values are concave."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.design.shares.relaxation import relaxed_bound
from sfumato.design.shares.unordered import balanced_sets
from sfumato.measures import recoverable, share_variance
from sfumato.privacy.vertices import vertices
from sfumato.watch import Watch

SPACES = [sf.line(3), sf.line(4, step="1/2"), sf.discrete(4), sf.cycle(4), sf.grid(2, 2), sf.hamming(2)]
spaces = st.sampled_from(SPACES)


def private_columns(privacy: sf.PrivacyType, generator: np.random.Generator, count: int) -> np.ndarray:
    """A random mechanism: mixtures of rays, and what is missing to 1 as a constant."""
    rays = np.asarray(vertices(privacy).rays, dtype=float)
    columns = generator.dirichlet(np.full(len(rays), 0.3), size=count) @ rays
    columns *= 0.9 / columns.sum(axis=0).max()
    rest = 1 - columns.sum(axis=0)
    small = np.concatenate([columns, [rest]])
    ratio = np.log(rest[:, None] / rest)
    if (np.abs(ratio) <= privacy.log_bounds + 1e-12).all():
        return small
    top = rest.max()  # a constant large enough keeps any column private
    raised = rest + 20 * top
    return np.concatenate([columns, [raised]]) / (1 + 20 * top)


@settings(max_examples=40, deadline=None)
@given(space=spaces, seed=st.integers(0, 10**6))
def test_no_mechanism_goes_below_the_bound(space: sf.FiniteSpace, seed: int) -> None:
    privacy, generator = sf.PrivacyType(space, epsilon="0.7"), np.random.default_rng(seed)
    weights = generator.dirichlet(np.full(len(space), 2.0))
    prior = sf.Prior(space, weights / weights.sum())
    best = sf.design(prior, None, privacy, objective="shares")
    channel = sf.Channel(space, private_columns(privacy, generator, 6).T)
    assert share_variance(prior, channel) >= float(best.bound) * (1 - 1e-9)
    assert float(best.bound) <= float(best.loss) <= float(best.bound) * (1 + 1e-6)
    again = share_variance(prior, sf.Channel(space, best.mechanism.channel.matrix.astype(float)))
    assert again == pytest.approx(float(best.loss), rel=1e-7)


@settings(max_examples=40, deadline=None)
@given(space=spaces, seed=st.integers(0, 10**6))
def test_a_column_may_be_spread_over_rays(space: sf.FiniteSpace, seed: int) -> None:
    """A column that is a mean of rays, replaced by these, never has a larger variance."""
    privacy, generator = sf.PrivacyType(space, alpha="1/2"), np.random.default_rng(seed)
    rays = np.asarray(vertices(privacy).rays, dtype=float)
    shares = generator.dirichlet(np.full(len(rays), 0.5), size=5) * generator.random((5, 1))
    rest = np.ones(len(space)) - (shares @ rays).sum(axis=0) / (2 * (shares @ rays).sum(axis=0).max())
    scale = 1 / (2 * (shares @ rays).sum(axis=0).max())
    merged = np.concatenate([scale * shares @ rays, [rest]]).T
    spread = np.concatenate([scale * (row[:, None] * rays) for row in shares] + [rest[None, :]]).T
    prior = sf.Prior.uniform(space)
    fine = share_variance(prior, sf.Channel(space, spread))
    coarse = share_variance(prior, sf.Channel(space, merged))
    assert fine <= coarse * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(space=spaces, seed=st.integers(0, 10**6), share=st.floats(0.1, 0.9))
def test_the_variance_is_concave_in_the_distribution(space: sf.FiniteSpace, seed: int, share: float) -> None:
    generator = np.random.default_rng(seed)
    channel = sf.Channel(space, generator.dirichlet(np.ones(len(space) + 2), size=len(space)))
    first, second = (generator.dirichlet(np.ones(len(space))) for _ in range(2))
    one, two, both = (
        share_variance(sf.Prior(space, w / w.sum()), channel)
        for w in (first, second, share * first + (1 - share) * second)
    )
    assert both >= (share * one + (1 - share) * two) * (1 - 1e-9)


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
@pytest.mark.parametrize("what", ["shares", "cumulative"])
def test_the_relaxation_lies_below_the_optimum(space: sf.FiniteSpace, what: str) -> None:
    privacy, n = sf.PrivacyType(space, epsilon="0.7"), len(space)
    best = sf.design(None, None, privacy, objective=sf.objectives.shares(what))
    wanted = np.asarray(best.workload.matrix, dtype=float)
    mean = wanted.mean(axis=1)
    bound = relaxed_bound(privacy, np.full(n, 1 / n), wanted, Watch()) - float(mean @ mean)
    assert 0.7 * float(best.loss) < bound <= float(best.loss)


@pytest.mark.parametrize("space", [sf.line(4), sf.line(7)], ids=["4", "7"])
def test_the_relaxation_is_tight_on_lines(space: sf.FiniteSpace) -> None:
    privacy, n = sf.PrivacyType(space, alpha="1/2"), len(space)
    best = sf.design(None, None, privacy, objective="shares")
    assert relaxed_bound(privacy, np.full(n, 1 / n), np.eye(n), Watch()) - 1 / n > float(best.loss) * (1 - 1e-4)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_worst_distribution_is_no_better_than_any(seed: int) -> None:
    space = sf.line(4)
    privacy, generator = sf.PrivacyType(space, alpha="1/2"), np.random.default_rng(seed)
    priors = [sf.Prior.from_counts(generator.integers(1, 20, 4).tolist(), space) for _ in range(3)]
    best = sf.design(None, None, privacy, objective=sf.objectives.shares(priors=priors), tolerance=1e-4)
    assert best.gap < 1e-2
    for _ in range(20):
        mixed = sf.objectives.weighted(priors, generator.integers(1, 50, 3).tolist())
        assert float(share_variance(mixed, best.mechanism.channel)) <= float(best.loss) * (1 + 1e-9)


def test_what_is_lost_is_shown_by_two_distributions() -> None:
    space = sf.line(["never", "rarely", "sometimes", "often"])
    channel = sf.Channel(space, [["1/2", "1/2", 0], ["1/4", "1/2", "1/4"], ["1/4", "1/2", "1/4"], [0, 0, 1]])
    verdict = recoverable(channel)
    one, two = verdict.witness
    assert not verdict and (one.weights @ channel.matrix == two.weights @ channel.matrix).all()
    assert (one.weights != two.weights).any()
    assert recoverable(channel, [[0, 1, 1, 0]])


@pytest.mark.parametrize(("n", "epsilon"), [(3, "1"), (4, "3/10"), (5, "2"), (6, "1/2"), (7, "1"), (8, "1/10")])
def test_for_unordered_answers_the_search_finds_nothing_better_than_sets_of_one_size(n: int, epsilon: str) -> None:
    """Twice the shares are searched for, and come to the same."""
    privacy = sf.PrivacyType(sf.discrete(n), epsilon=epsilon)
    written = sf.design(None, None, privacy, objective="shares")
    twice = sf.objectives.shares((2 * np.eye(n, dtype=int)).tolist())
    searched = sf.design(None, None, privacy, objective=twice)
    assert written.proved and written.iterations == 0 < searched.iterations
    assert float(searched.loss) / 4 == pytest.approx(float(written.loss), rel=1e-6)
    assert float(searched.bound) / 4 <= float(written.loss) * (1 + 1e-9)
    assert float(written.bound) >= float(written.loss) * (1 - 1e-9)


@pytest.mark.parametrize("n", range(3, 65))
def test_few_sets_meet_all_pairs_equally_often(n: int) -> None:
    for size in {3, n // 5, n // 4, n // 3, n // 2} - {0, 1, 2}:
        balanced = balanced_sets(n, size)
        if balanced is None:
            assert size == 3 and n > 24  # all sets of three are few enough up to 31 secrets
            continue
        high, shares = balanced
        assert high.shape[1] <= n * (n // 2) and (high.sum(axis=0) == size).all()
        pairs = (high * shares) @ high.T
        assert np.ptp(pairs[~np.eye(n, dtype=bool)]) < 1e-9 and np.ptp(np.diag(pairs)) < 1e-9
