"""Google's dp-accounting as an oracle: it discretises privacy losses, so its answers come from above and from below."""

from __future__ import annotations

from math import exp, expm1, inf, log
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.privacy import predicates
from sfumato.privacy.predicates_satisfaction import satisfies_predicate
from sfumato.privacy.tradeoff import smallest_delta, smallest_epsilon_at

pytestmark = pytest.mark.peers

EPSILONS = ("0.01", "0.1", "0.5", "1", "2")
NEGATIVE = ("-0.01", "-0.1", "-0.5", "-1", "-2", "-5")
STEP = 1e-4  # of the privacy loss, in their tables


@pytest.fixture(scope="module")
def pld() -> Any:
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution


@pytest.fixture(scope="module")
def losses() -> Any:
    from dp_accounting.pld import privacy_loss_mechanism

    return privacy_loss_mechanism


@pytest.fixture(params=range(6))
def channel(request: pytest.FixtureRequest) -> sf.Channel:
    rng = np.random.default_rng(request.param)
    weights = rng.integers(1, 20, (2, int(rng.integers(2, 40))))
    if request.param % 2:
        weights[0, 0] = 0  # an output that only one secret has
    return sf.Channel(range(2), [[f"{v}/{row.sum()}" for v in row] for row in weights])


def tables(channel: sf.Channel) -> list[dict[int, float]]:
    return [{y: log(v) for y, v in enumerate(row) if v} for row in channel.matrix.astype(float)]


def bracket(pld: Any, channel: sf.Channel) -> list[Any]:
    """Their answer from below and from above, for both orders of the two secrets (symmetric=False)."""
    return [
        pld.from_two_probability_mass_functions(
            *tables(channel), pessimistic_estimate=up, value_discretization_interval=STEP, symmetric=False
        )
        for up in (False, True)
    ]


def test_smallest_delta(pld: Any, channel: sf.Channel) -> None:
    rough = bracket(pld, channel)
    for epsilon in EPSILONS:
        ours = float(smallest_delta(channel, epsilon=epsilon))
        low, high = (found.get_delta_for_epsilon(float(epsilon)) for found in rough)
        assert low - 1e-12 <= ours <= high + 1e-12
        assert high - low <= 2 * STEP * exp(float(epsilon))


def test_smallest_delta_at_negative_epsilon(pld: Any, channel: sf.Channel) -> None:
    rough = bracket(pld, channel)
    for epsilon in NEGATIVE:
        ours = float(smallest_delta(channel, epsilon=epsilon))
        low, high = (found.get_delta_for_epsilon(float(epsilon)) for found in rough)
        assert low - 1e-12 <= ours <= high + 1e-12 and ours >= -expm1(float(epsilon)) - 1e-15


def test_smallest_epsilon(pld: Any, channel: sf.Channel) -> None:
    rough = bracket(pld, channel)
    for delta in ("0", "0.01", "0.1", "0.3"):
        ours = float(smallest_epsilon_at(channel, delta))
        low, high = (found.get_epsilon_for_delta(float(delta)) for found in rough)
        assert (ours == high == inf) or low - 1e-9 <= ours <= high + 1e-9


@pytest.mark.parametrize("epsilon", [*EPSILONS, *NEGATIVE])
@pytest.mark.parametrize("mu", ["1/2", "1", "2"])
def test_gaussian_and_laplace_profiles(losses: Any, mu: str, epsilon: str) -> None:
    shift = float(sf.numbers.exact(mu))
    gaussian = losses.GaussianPrivacyLoss(1 / shift).get_delta_for_epsilon(float(epsilon))
    assert float(predicates.profile(predicates.gaussian(mu), epsilon=epsilon)[0]) == pytest.approx(gaussian, abs=1e-9)
    laplace = losses.LaplacePrivacyLoss(1 / shift).get_delta_for_epsilon(float(epsilon))
    ours = predicates.profile(predicates.laplace(epsilon=mu), epsilon=epsilon)[0]
    assert float(ours) == pytest.approx(laplace, abs=1e-9)


@pytest.mark.parametrize("size", [2, 5])
def test_randomised_response(pld: Any, size: int) -> None:
    truth = 0.7
    theirs = pld.from_randomized_response(1 - truth, size, value_discretization_interval=STEP)
    rest = "3/10"
    other = sf.numbers.exact(rest) / size
    rows = [[other + (1 - sf.numbers.exact(rest)) * (x == y) for y in range(size)] for x in range(size)]
    channel = sf.Channel(range(size), rows)
    for epsilon in EPSILONS:
        ours = smallest_delta(channel, epsilon=epsilon)
        assert float(ours) == pytest.approx(
            theirs.get_delta_for_epsilon(float(epsilon)), abs=2 * STEP * exp(float(epsilon))
        )
        assert satisfies_predicate(channel, predicates.epsilon_delta(epsilon=epsilon, delta=ours.high))
