"""Privacy-loss distributions composed by dp-accounting are never below the truth, found by brute force in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, inf, prod
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.numbers import exp_bounds
from sfumato.release.accounting import privacy_loss, worst_privacy_loss

pytestmark = pytest.mark.peers

EPSILONS = (0.0, 0.01, 0.3, 1.0, 2.5, 7.0, 20.0)


def composed_delta(rows: list[tuple[list[Fraction], list[Fraction]]], epsilon: float) -> Fraction:
    """A rational not above δ(ε) = max over both directions of Σ_y (P(y) − e^ε Q(y))₊, over all tuples of outputs."""
    factor = exp_bounds(Fraction(epsilon), 128)[1]
    best = Fraction(0)
    for there in (0, 1):
        total = Fraction(0)
        for ys in product(*(range(len(pair[0])) for pair in rows)):
            p = prod((pair[there][y] for pair, y in zip(rows, ys, strict=True)), start=Fraction(1))
            q = prod((pair[1 - there][y] for pair, y in zip(rows, ys, strict=True)), start=Fraction(1))
            total += max(Fraction(0), p - factor * q)
        best = max(best, total)
    return best


def random_channel(seed: int) -> sf.Channel:
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 10, (2, int(rng.integers(2, 5)))) ** int(rng.integers(1, 4))
    if seed % 3 == 0:
        weights[seed % 2, 0] = 0
    return sf.Channel(range(2), [[f"{v}/{row.sum()}" for v in row] for row in weights])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("interval", [2.0**-13, 1e-2])
def test_never_below_after_composition(seed: int, interval: float) -> None:
    first, second = random_channel(seed), random_channel(seed + 100)
    a, b = (privacy_loss(channel, 0, 1, interval=interval) for channel in (first, second))
    pairs = [(list(channel.matrix[0]), list(channel.matrix[1])) for channel in (first, second)]
    cases = {
        "alone": (a, pairs[:1]),
        "together": (a.compose(b), pairs),
        "three times": (a.self_compose(3), pairs[:1] * 3),
        "five of two": (a.self_compose(3).compose(b.self_compose(2)), pairs[:1] * 3 + pairs[1:] * 2),
    }
    for name, (found, rows) in cases.items():
        for epsilon in EPSILONS:
            said, truth = Fraction(float(found.get_delta_for_epsilon(epsilon))), composed_delta(rows, epsilon)
            assert said >= truth, (name, epsilon)
            # and not far above: each loss is too large by less than a step
            assert said <= truth + Fraction(len(rows) * interval) + Fraction(1, 10**9), (name, epsilon)


def test_many_compositions_stay_above() -> None:
    """Randomised response 40 times over: binomials are the exact answer."""
    response = sf.random_response(sf.PrivacyType(sf.discrete(2), alpha="2/3"))
    loss = privacy_loss(response, 0, 1).self_compose(40)
    p, q = Fraction(3, 5), Fraction(2, 5)
    for epsilon in (0.0, 1.0, 3.0, 8.0, 15.0):
        factor = exp_bounds(Fraction(epsilon), 128)[1]
        truth = sum(
            (comb(40, k) * max(Fraction(0), p**k * q ** (40 - k) - factor * q**k * p ** (40 - k)) for k in range(41)),
            Fraction(0),
        )
        assert truth <= Fraction(float(loss.get_delta_for_epsilon(epsilon))) <= truth + Fraction(1, 100)


def test_the_worst_loss_is_above_every_pair() -> None:
    mechanism = sf.geometric(sf.PrivacyType(sf.line(4), alpha="1/2"))
    worst = worst_privacy_loss(mechanism)
    twice = worst.self_compose(2)
    for x, z in product(range(4), repeat=2):
        rows = [(list(mechanism.channel.matrix[x]), list(mechanism.channel.matrix[z]))]
        for epsilon in EPSILONS:
            assert Fraction(float(worst.get_delta_for_epsilon(epsilon))) >= composed_delta(rows, epsilon)
            assert Fraction(float(twice.get_delta_for_epsilon(epsilon))) >= composed_delta(rows * 2, epsilon)
    near = worst_privacy_loss(mechanism, sf.line(4))
    assert near.get_delta_for_epsilon(0.5) < worst.get_delta_for_epsilon(0.5)


def test_outputs_of_one_secret_only_are_infinite_losses() -> None:
    channel = sf.Channel(["a", "b"], [["1/2", "1/2", 0], ["1/2", 0, "1/2"]])
    assert privacy_loss(channel, "a", "b", slack=0).get_delta_for_epsilon(50.0) == pytest.approx(0.5)
    assert privacy_loss(channel, "a", "b").get_epsilon_for_delta(0.1) == inf


def test_parameters_that_make_no_sense() -> None:
    channel = random_channel(1)
    for wrong in ({"interval": 0}, {"interval": inf}, {"interval": "small"}, {"slack": -1}, {"slack": 1.0}):
        parameters: dict[str, Any] = wrong
        with pytest.raises(InvalidInput):
            privacy_loss(channel, 0, 1, **parameters)
