"""Bounds that need no solver: taken where a solver's multipliers prove less."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.design.bounds import rounded_bound
from sfumato.design.problem import problem
from sfumato.design.routes import along_edges, along_trees
from sfumato.design.solvers import Answer, Multipliers

NOTHING = np.zeros(0, dtype=np.int64)


def town(metric: str, epsilon: str) -> tuple[sf.Prior, sf.Loss, sf.PrivacyType]:
    space = sf.grid(6, 6, step="0.5", metric=metric)
    prior = sf.Prior.from_counts([1 + (k * k) % 7 for k in range(36)], space)
    return prior, sf.losses.distance(space), sf.PrivacyType(space, epsilon=epsilon)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("epsilon", ["1e-12", "1e-9", "1e-7"])
def test_a_tiny_epsilon_tells_nothing(metric: str, epsilon: str) -> None:
    """The optimum lies within e^(-epsilon·D) of what is lost by telling nothing, and the kernel accepts that."""
    prior, loss, privacy = town(metric, epsilon)
    made = sf.design(prior, loss, privacy)
    assert made.gap <= 10 * float(epsilon) + 1e-10
    assert float(made.loss) == pytest.approx(float(sf.prior_loss(prior, loss)), rel=1e-5)
    assert sf.verify(made.mechanism, checker="kernel")


@pytest.mark.parametrize("epsilon", ["100", "1e4"])
def test_no_bound_is_negative_where_nothing_can_be_gained(epsilon: str) -> None:
    made = sf.design(*town("euclidean", epsilon))
    assert made.bound >= 0
    assert float(made.loss) < 1e-9


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_multipliers_that_prove_nothing_are_replaced(metric: str) -> None:
    asked = problem(*town(metric, "1/4"))
    n = asked.shape[0]
    wild = Multipliers(np.array([0]), np.array([1]), np.array([3]), np.array([1e6]))
    for given in (wild, Multipliers(NOTHING, NOTHING, NOTHING, np.zeros(0))):
        found = rounded_bound(asked, Answer(np.full(asked.shape, 1 / n), given, "none", 0, 0.0))
        assert 0.3 < float(found.value) < float(sf.design(*town(metric, "1/4")).loss)


def test_a_design_that_is_stopped_at_once_has_a_bound_worth_having() -> None:
    prior, loss, privacy = town("euclidean", "1/4")
    made = sf.design(prior, loss, privacy, time_limit=1e-9)
    assert made.bound > 0.3
    assert sf.verify(made.mechanism, checker="kernel")


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_carries_what_paths_do(seed: int) -> None:
    """Multipliers from one secret to all have the same reduced costs, whichever way they come to the edges."""
    rng = np.random.default_rng(seed)
    edges = [(k, int(rng.integers(0, k)), int(rng.integers(1, 5))) for k in range(1, 12)]
    edges += [(a, b, 3) for a, b in ((0, 11), (3, 9), (5, 10)) if not {(a, b), (b, a)} & {e[:2] for e in edges}]
    privacy = sf.PrivacyType(sf.graph(edges), epsilon="0.3")
    n, root = len(privacy.space), seed
    amount = rng.exponential(size=(n, 4)) * (rng.random((n, 4)) < 0.7)
    amount[root] = 0.0
    second, action = np.nonzero(amount)
    paths = along_edges(privacy, Multipliers(np.full(len(second), root), second, action, amount[second, action]))
    tree = along_trees(privacy, np.full(4, root), amount.T)
    far = privacy.space.distances.floats
    reduced = [
        given.reduced(np.zeros((n, 4)), np.exp(privacy.rate * far[given.first, given.second]))
        for given in (paths, tree)
    ]
    np.testing.assert_allclose(reduced[0], reduced[1], rtol=1e-9, atol=1e-9)
    assert len(tree) <= 4 * (n - 1)
