"""libqif's Python package as an oracle, away from the inputs it gets wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato import losses, measures, orders

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
    assert sf.measures.conditional_shannon_entropy(prior, channel) == pytest.approx(
        qif.measure.shannon.posterior(pi, matrix)
    )
    assert sf.measures.conditional_guessing_entropy(prior, channel) == pytest.approx(
        qif.measure.guessing.posterior(pi, matrix)
    )
    assert sf.measures.min_mutual_information(prior, channel) == pytest.approx(
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
    assert sf.orders.kantorovich(first, second, space).cost == pytest.approx(
        metric(first.weights.copy(), second.weights.copy()),
        abs=1e-5,  # qif gives six digits here
    )


# What follows is asked of both on the same random channels; libqif works in floats, to about 1e-14.
CLOSE = 1e-9


@pytest.fixture(params=range(8))
def pair(request: pytest.FixtureRequest) -> tuple[sf.Prior, sf.Channel, sf.Channel]:
    """A prior and two channels, some of their entries 0 but no output impossible, where libqif divides by 0."""
    rng = np.random.default_rng(100 + request.param)
    n, *widths = (int(v) for v in rng.integers(2, 8, 3))
    tables = [rng.random((n, m)) ** 3 for m in widths]
    if request.param % 2:
        kept = [np.where(table < 0.02, 0.0, table) for table in tables]
        tables = [table[:, table.any(axis=0)] for table in kept]
    a, b = (sf.Channel(range(n), table / table.sum(axis=1, keepdims=True)) for table in tables)
    return sf.Prior.from_counts(rng.random(n)), a, b


def test_capacities(qif: Any, pair: Any) -> None:
    prior, channel, _ = pair
    pi, matrix = prior.weights.copy(), channel.matrix.copy()
    bits, _ = qif.measure.shannon.add_capacity(matrix, 1e-13, 1e-14)
    found = measures.shannon_capacity(channel)
    assert found.lower - CLOSE <= bits <= found.upper + CLOSE
    risk, _ = qif.measure.bayes_risk.mult_capacity(matrix)
    assert measures.bayes_risk_capacity(channel).value == pytest.approx(risk, rel=CLOSE)
    for ours, theirs in (("vulnerability", False), ("gain", True)):
        assert measures.additive_capacity(prior, channel, spanning=ours) == pytest.approx(
            qif.measure.g_vuln.add_capacity(pi, matrix, theirs), abs=CLOSE
        )


def test_refinement_distance(qif: Any, pair: Any) -> None:
    prior, a, b = pair
    theirs, _ = qif.refinement.add_metric(prior.weights.copy(), a.matrix.copy(), b.matrix.copy())
    ours = orders.refinement_distance(b, a, prior)
    if 0 <= theirs <= 1:  # no gain of this class is worth more; libqif answers 3e14 once
        assert ours.lower - CLOSE <= theirs <= ours.upper + CLOSE
    bound = qif.refinement.add_metric_bound(prior.weights.copy(), a.matrix.copy(), b.matrix.copy())
    assert ours.lower <= bound + CLOSE


def test_weaker_orders(qif: Any, pair: Any) -> None:
    _, a, b = pair
    rng = np.random.default_rng(5)
    after = sf.cascade(a, sf.Channel(a.outputs, rng.dirichlet(np.ones(4), len(a.outputs))))
    for one, other in ((b, a), (a, b), (after, a), (a, after)):
        tables = other.matrix.copy(), one.matrix.copy()
        assert bool(orders.max_refines(one, other)) == qif.refinement.max_refined_by(*tables)
        assert bool(orders.privacy_refines(one, other)) == qif.refinement.priv_refined_by(*tables)


@pytest.mark.parametrize("space", [sf.line(6), sf.grid(2, 3), sf.cycle(5)])
def test_multiplicative_kantorovich(qif: Any, space: sf.FiniteSpace) -> None:
    rng = np.random.default_rng(2)
    table = space.distances.floats
    metric = qif.metric.mult_kantorovich(lambda x, z: float(table[x, z]))
    for _ in range(5):
        first, second = (sf.Prior(space, rng.dirichlet(np.full(len(space), 0.5))) for _ in range(2))
        theirs = metric(first.weights.copy(), second.weights.copy())
        ours = orders.multiplicative_kantorovich(first, second, space)
        assert ours.lower - CLOSE <= theirs <= ours.upper + CLOSE


@pytest.mark.parametrize(("n", "low", "high"), [(4, 0, 3), (3, -2, 5), (5, 1, 3), (3, 5, 8), (3, -6, -2)])
def test_geometric_ranges(qif: Any, n: int, low: int, high: int) -> None:
    theirs = qif.mechanism.d_privacy.geometric(n, 0.7, high - low + 1, 0, low)
    ours = sf.mechanisms.truncated_geometric(sf.PrivacyType(sf.line(n), epsilon="7/10"), low, high)
    assert ours.channel.to_floats().matrix == pytest.approx(theirs, abs=CLOSE)
