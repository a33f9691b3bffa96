"""Whatever approximates a stochastic matrix comes out proved. prove() raises where it does not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import errors, losses
from sfumato.certify import closure
from strategies import exact_private_channels, privacy_types

KINDS = ("noise", "relative", "zeros", "denormals", "rows", "arbitrary")


def approximate(privacy: sf.PrivacyType, outputs: int, kind: str, error: float, seed: int) -> Any:
    """A matrix near a private one, spoiled in one of the ways solvers and people spoil them."""
    rng = np.random.default_rng(seed)
    n = len(privacy.space)
    scores = np.exp(-privacy.rate * np.minimum(privacy.space.distances.floats, 1e4)) @ rng.random((n, outputs))
    matrix = scores / scores.sum(axis=1, keepdims=True)
    if kind == "noise":
        matrix = matrix + error * rng.standard_normal(matrix.shape) / outputs
    elif kind == "relative":
        matrix = matrix * (1 + error * rng.standard_normal(matrix.shape))
    elif kind == "zeros":
        matrix = np.where(rng.random(matrix.shape) < 0.3, 0.0, matrix)
        matrix[matrix.sum(axis=1) < 0.1] = 1 / outputs
        matrix = matrix / matrix.sum(axis=1, keepdims=True)
    elif kind == "denormals":
        matrix = np.where(rng.random(matrix.shape) < 0.2, matrix * 1e-310, matrix)
        matrix[matrix.sum(axis=1) < 0.1] = 1 / outputs
        matrix = matrix / matrix.sum(axis=1, keepdims=True)
    elif kind == "rows":
        matrix = matrix * (1 + 1e-9 * rng.standard_normal((n, 1)))
    else:
        matrix = rng.random(matrix.shape) ** 4
        matrix = matrix / matrix.sum(axis=1, keepdims=True)
    return matrix


@given(
    privacy_types(smallest=-4, largest=2),
    st.integers(1, 8),
    st.sampled_from(KINDS),
    st.floats(-12, -2),
    st.integers(0, 2**32 - 1),
    st.sampled_from([12, 32, 52, 60]),
)
@settings(max_examples=600)
def test_small_matrices(
    privacy: sf.PrivacyType, outputs: int, kind: str, exponent: float, seed: int, bits: int
) -> None:
    matrix = approximate(privacy, outputs, kind, 10.0**exponent, seed)
    made = sf.quantise(matrix, privacy, bits=bits)
    assert made.mechanism.total == 2**bits
    assert made.mechanism.proof.pairs == len(privacy.space.pairs.first)
    assert 0 <= made.moved <= 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", [10, 20])
def test_large_matrices(kind: str, side: int) -> None:
    privacy = sf.PrivacyType(sf.grid(side, side), epsilon=0.7)
    matrix = approximate(privacy, side * side, kind, 1e-5, side)
    assert sf.quantise(matrix, privacy).mechanism.proof.implied > 0


@given(exact_private_channels())
@settings(max_examples=60)
def test_what_is_private_and_exact_stays_as_it_is(case: tuple[sf.Channel, sf.PrivacyType]) -> None:
    channel, privacy = case
    made = sf.repair(channel, privacy)
    assert (made.mechanism.channel.matrix == channel.matrix).all()
    assert made.moved < 1e-15


@pytest.mark.parametrize(("error", "allowed"), [(1e-4, 3e-4), (1e-6, 3e-6), (1e-8, 3e-8)])
def test_little_is_lost(error: float, allowed: float) -> None:
    """A tight mechanism with relative errors: the loss of utility is of the size of the error."""
    space = sf.grid(7, 7)
    privacy = sf.PrivacyType(space, epsilon=1)
    prior, loss = sf.Prior.uniform(space), losses.distance(space)
    scores = np.exp(-0.5 * space.distances.floats)
    matrix = scores / scores.sum(axis=1, keepdims=True)
    rate = sf.smallest_epsilon(sf.Channel(space, matrix), space)
    noisy = matrix * (1 + error * np.random.default_rng(0).standard_normal(matrix.shape))
    made = sf.repair(noisy, sf.PrivacyType(space, epsilon=rate), prior=prior, loss=loss)
    assert made.loss_before is not None
    assert made.loss_after is not None
    assert (made.loss_after - made.loss_before) / made.loss_before < allowed
    assert privacy.rate == 1


def test_missing_mass_goes_where_it_costs_least() -> None:
    space = sf.line(5)
    privacy = sf.PrivacyType(space, epsilon="1/2")
    matrix = np.eye(5) * 0.9 + 0.02
    prior, loss = sf.Prior.uniform(space), losses.absolute(space)
    with_stake = sf.repair(matrix, privacy, prior=prior, loss=loss, outputs=space.labels)
    without = sf.repair(matrix, privacy, outputs=space.labels)
    after = [float(sf.posterior_loss(prior, r.mechanism.channel, loss)) for r in (with_stake, without)]
    assert after[0] <= after[1] + 1e-12
    assert with_stake.loss_after is not None
    assert "loss" in str(with_stake)


def test_a_promise_too_small_for_the_bits_gives_a_constant() -> None:
    privacy = sf.PrivacyType(sf.line(3), epsilon="1/1000000000000000000000000000000")
    made = sf.quantise(np.eye(3) * 0.7 + 0.1, privacy, bits=30)
    assert (made.mechanism.weights == made.mechanism.weights[0]).all()


def test_one_secret_and_infinite_distances() -> None:
    assert sf.quantise([[0.2, 0.8]], sf.PrivacyType(sf.discrete(["x"]), epsilon=1)).moved < 1e-12
    apart = sf.PrivacyType(sf.graph([], labels=[0, 1]), epsilon=1)
    assert sf.quantise([[1.0, 0.0], [0.0, 1.0]], apart).moved < 1e-12


@pytest.mark.parametrize(
    "matrix",
    [
        [],
        [[0.5, 0.5]],
        [[0.5, np.nan], [0.5, 0.5]],
        [[0.5, np.inf], [0.5, 0.5]],
        [[0.0, 0.0], [0.5, 0.5]],
        [[5.0, 5.0], [0.5, 0.5]],
        [[-0.5, -0.5], [0.5, 0.5]],
        "matrix",
    ],
)
def test_what_approximates_no_distribution_is_refused(matrix: Any) -> None:
    with pytest.raises(errors.InvalidChannel):
        sf.repair(matrix, sf.PrivacyType(sf.line(2), epsilon=1))


def test_other_bad_input() -> None:
    privacy = sf.PrivacyType(sf.line(2), epsilon=1)
    with pytest.raises(errors.NotSupported, match="8 to 60"):
        sf.quantise([[0.5, 0.5]] * 2, privacy, bits=99)
    with pytest.raises(errors.InvalidInput, match="both"):
        sf.quantise([[0.5, 0.5]] * 2, privacy, prior=sf.Prior.uniform([0, 1]))
    with pytest.raises(errors.Mismatch):
        sf.repair(sf.Channel.identity(["a", "b"]), privacy)
    with pytest.raises(errors.InvalidInput, match="distinct"):
        sf.repair([[0.5, 0.5]] * 2, privacy, outputs=["same", "same"])


def test_repair_of_an_exact_channel_that_is_not_private() -> None:
    privacy = sf.PrivacyType(sf.line(2), alpha="1/2")
    made = sf.repair(sf.Channel([0, 1], [["4/5", "1/5"], ["1/5", "4/5"]]), privacy)
    assert abs(made.mechanism.channel.matrix[0, 0] - Fraction(2, 3)) < Fraction(1, 2**40)


@pytest.mark.parametrize("space", [sf.grid(3, 3), sf.line(4), sf.discrete(3)], ids=lambda s: s.name)
def test_small_columns_are_closed_alike_interpreted_and_compiled(
    space: sf.FiniteSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain Python takes over where compiling would take longer than the work."""
    bounds = closure.bounds_of(sf.PrivacyType(space, epsilon="0.9"), 1 << 40)
    rng = np.random.default_rng(4)
    integers = rng.integers(0, 1 << 38, (len(space), 5)).astype(np.uint64)
    shares = rng.random((len(space), 5))
    small = closure.close_integers(integers, bounds), closure.close_floats(shares, bounds)
    monkeypatch.setattr(closure, "_INTERPRETED_WORK", 0)
    assert (small[0] == closure.close_integers(integers, bounds)).all()
    assert np.allclose(small[1], closure.close_floats(shares, bounds), rtol=1e-14)
