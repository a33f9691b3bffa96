"""libqif's Python package as an oracle, away from the inputs it gets wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato import losses

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def qif() -> Any:
    import qif

    return qif


@pytest.fixture(params=range(8))
def case(request: pytest.FixtureRequest) -> tuple[sf.Prior, sf.Channel, sf.Loss]:
    rng = np.random.default_rng(request.param)
    n, m, actions = rng.integers(2, 12, 3)
    table = rng.random((n, m)) ** 3
    channel = sf.Channel(range(n), table / table.sum(axis=1, keepdims=True))
    return (
        sf.Prior.from_counts(rng.random(n)),
        channel,
        losses.matrix(range(n), rng.random((actions, n)), range(actions)),
    )


def test_measures(qif: Any, case: Any) -> None:
    prior, channel, loss = case
    pi, matrix = prior.weights.copy(), channel.matrix.copy()
    assert sf.bayes_vulnerability(prior, channel) == pytest.approx(qif.measure.bayes_vuln.posterior(pi, matrix))
    assert sf.leakage(prior, channel) == pytest.approx(qif.measure.bayes_vuln.mult_leakage(pi, matrix))
    assert sf.capacity(channel).multiplicative == pytest.approx(qif.measure.bayes_vuln.mult_capacity(matrix))
    table = loss.matrix.copy()
    assert sf.prior_loss(prior, loss) == pytest.approx(qif.measure.l_risk.prior(table, pi))
    assert sf.posterior_loss(prior, channel, loss) == pytest.approx(qif.measure.l_risk.posterior(table, pi, matrix))
    assert sf.conditional_shannon_entropy(prior, channel) == pytest.approx(qif.measure.shannon.posterior(pi, matrix))
    assert sf.conditional_guessing_entropy(prior, channel) == pytest.approx(qif.measure.guessing.posterior(pi, matrix))
    assert sf.min_mutual_information(prior, channel) == pytest.approx(
        qif.measure.bayes_vuln.min_entropy_leakage(pi, matrix)
    )


def test_refinement_away_from_the_boundary(qif: Any, case: Any) -> None:
    _, channel, _ = case
    rng = np.random.default_rng(5)
    mix = rng.random((len(channel.outputs), 3))
    after = sf.cascade(channel, sf.Channel(channel.outputs, mix / mix.sum(axis=1, keepdims=True)))
    assert sf.refines(after, channel)
    assert qif.refinement.refined_by(channel.matrix.copy(), after.matrix.copy())
    assert not sf.refines(channel, sf.Channel.constant(channel))
    assert not qif.refinement.refined_by(np.ones((len(channel.secrets), 1)), channel.matrix.copy())


def test_smallest_epsilon(qif: Any) -> None:
    space = sf.grid(4, 4)
    table = space.distances.floats
    scores = np.exp(-0.3 * table)
    matrix = scores / scores.sum(axis=1, keepdims=True)
    theirs = qif.measure.d_privacy.smallest_epsilon(matrix.copy(), lambda x, z: float(table[x, z]))
    assert sf.smallest_epsilon(sf.Channel(space, matrix), space) == pytest.approx(theirs, rel=1e-9)


def test_kantorovich(qif: Any) -> None:
    space = sf.line(6)
    rng = np.random.default_rng(2)
    first, second = (sf.Prior.from_counts(rng.random(6)) for _ in range(2))
    metric = qif.metric.kantorovich(lambda x, z: abs(float(x) - float(z)))
    assert sf.kantorovich(first, second, space).cost == pytest.approx(
        metric(first.weights.copy(), second.weights.copy()),
        abs=1e-5,  # qif gives six digits here
    )
