from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato import errors, losses
from sfumato.certify.certificate import certificate

privacy = sf.PrivacyType(sf.line(2), alpha="1/2")


def test_a_mechanism_carries_its_promise_and_its_proof() -> None:
    mechanism = sf.prove([[2, 1], [1, 2]], privacy, outputs=["low", "high"])
    assert mechanism.outputs == ("low", "high")
    assert mechanism.total == 3
    assert mechanism.channel.matrix.tolist() == [[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]]
    assert "1 pairs and 4 comparisons" in str(mechanism.proof)
    assert sf.verify(mechanism)
    assert sf.verify(certificate(privacy, (0, 1), np.array([[2, 1], [1, 2]]), 3))
    with pytest.raises(ValueError, match="read-only"):
        mechanism.weights[0, 0] = 5


def test_zero_probability_secrets_still_count() -> None:
    """A prior does not weaken a promise: secrets it excludes are protected all the same."""
    mechanism = sf.prove([[2, 1], [1, 2]], privacy)
    made = sf.certify.claim(sf.Prior.point([0, 1], 0), mechanism, losses.bin([0, 1]))
    assert made.proof.loss == 0
    assert made.proof.pairs == 1


def test_large_channels_are_floats() -> None:
    weights = np.tile(np.arange(1, 601), (600, 1))
    mechanism = sf.prove(weights, sf.PrivacyType(sf.line(600), epsilon=1))
    assert not mechanism.channel.exact


@pytest.mark.parametrize(
    "weights",
    [[[2, 1]], [[2, -1], [1, 0]], [[0.5, 0.5], [0.5, 0.5]], [[1, 2], [3]], "weights", [[[1]]], None],
)
def test_bad_weights_are_refused(weights: Any) -> None:
    with pytest.raises((errors.InvalidInput, ValueError)):
        sf.prove(weights, privacy)


def test_other_bad_input() -> None:
    with pytest.raises(errors.InvalidInput, match="repair"):
        sf.prove(sf.Channel([0, 1], [[0.5, 0.5]] * 2), privacy)
    with pytest.raises(errors.Mismatch):
        sf.prove(sf.Channel([0, 1], [["1/2", "1/2"]] * 2), privacy, outputs=["a", "b"])
    with pytest.raises(errors.InvalidChannel):
        sf.prove([[2, 1], [1, 2]], privacy, outputs=["a"])
    with pytest.raises(errors.NotSupported, match="kernel"):
        sf.prove([[2, 1], [1, 2]], privacy, checker="oracle")  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidChannel, match="sum to 0"):
        sf.prove([[0, 0], [0, 0]], privacy)


def test_claims_of_weights_beyond_the_floats() -> None:
    huge = 10**400
    weights = np.array([[2 * huge, huge], [huge, 2 * huge]], dtype=object)
    made = sf.certify.claim(sf.Prior.uniform([0, 1]), sf.prove(weights, privacy), losses.bin([0, 1]))
    assert made.proof.loss == Fraction(1, 3)


def test_claims_of_fractional_and_float_losses() -> None:
    space = sf.line(3)
    mechanism = sf.prove([[4, 1, 1], [2, 2, 2], [1, 1, 4]], sf.PrivacyType(space, alpha="1/2"))
    prior = sf.Prior.uniform(space)
    for loss in (losses.scale(losses.absolute(space), "1/3"), losses.scale(losses.absolute(space), 0.1)):
        made = sf.certify.claim(prior, mechanism, loss)
        assert made.proof.loss is not None
        assert float(made.proof.loss) == pytest.approx(float(sf.posterior_loss(prior, mechanism.channel, loss)))
