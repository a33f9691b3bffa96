"""Estimation from released data: what goes in, what is refused, and how it does on a city."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, Mismatch, NotConverged, NotSupported
from sfumato.release.estimation.counts import output_counts
from sfumato.release.estimation.cross import cross_table
from sfumato.release.estimation.estimates import frequencies
from sfumato.release.estimation.likelihood import iterative_bayesian_update, maximum_likelihood
from sfumato.release.sampler import sampler

RESPONSE = sf.random_response(sf.PrivacyType(sf.discrete(["a", "b", "c"]), alpha="1/4"))


def blurred(side: int, epsilon: float) -> sf.Channel:
    """The exponential mechanism on a grid, in floats."""
    space = sf.grid(side, side)
    matrix = np.exp(-epsilon / 2 * space.distances.floats)
    return sf.Channel(space, matrix / matrix.sum(axis=1, keepdims=True), space.labels)


def city(channel: sf.Channel, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two hills, and what is released of so many people who live on them."""
    rng = np.random.default_rng(seed)
    places = np.array(channel.secrets, dtype=float)
    side = places.max()
    height = np.exp(-((places - side / 3) ** 2).sum(axis=1) / side) + np.exp(
        -((places - [side, 0]) ** 2).sum(axis=1) / 9
    )
    people = rng.multinomial(rows, height / height.sum())
    return people / rows, sum(rng.multinomial(k, row) for k, row in zip(people, channel.matrix, strict=True))


@pytest.mark.parametrize(
    "released",
    [["a", "c", "c", "b", "c"], {"a": 1, "b": 1, "c": 3}, np.array([1, 1, 3]), {"a": Fraction(1), "b": 1.0, "c": 3},
     iter("cbacc")],
)  # fmt: skip
def test_released_rows_are_counted(released: Any) -> None:
    assert output_counts(RESPONSE, released).tolist() == [1, 1, 3]


@pytest.mark.parametrize(("released", "words"), [
    (["a", "d"], "'d' is not among 'a', 'b', 'c'"), ({"d": 3}, "not among"), (np.array([1, 2]), "3 outputs need"),
    ({"a": -1}, "must not be negative"), ([], "at least one row"), ({"a": 0.5}, "no integer"),
])  # fmt: skip
def test_rows_that_cannot_be(released: Any, words: str) -> None:
    with pytest.raises((InvalidInput, Mismatch), match=words):
        frequencies(RESPONSE, released)


def test_the_survey_of_warner() -> None:
    """Random response with two answers: (c/N − p)/(1 − 2p), and its textbook variance."""
    p = Fraction(1, 5)
    response = sf.random_response(sf.PrivacyType(sf.discrete(["no", "yes"]), alpha="1/4"))
    found = frequencies(response, {"no": 620, "yes": 380})
    share = Fraction(380, 1000)
    assert found.weights[1] == (share - p) / (1 - 2 * p)
    assert found.covariance[1, 1] == share * (1 - share) / (999 * (1 - 2 * p) ** 2)
    assert found.standard_errors[1] == pytest.approx(float(found.covariance[1, 1]) ** 0.5)
    assert found.total == 1000 and found.exact and found.secrets == ("no", "yes")
    # the noise does not depend on the truth here
    assert found.noise_covariance[1, 1] == p * (1 - p) / (1000 * (1 - 2 * p) ** 2)


def test_samples_of_the_exact_sampler_are_recovered() -> None:
    truth = np.array([6000, 3000, 1000])
    drawn = sampler(RESPONSE).draw(np.repeat(np.arange(3), truth))
    found = frequencies(RESPONSE, np.bincount(drawn, minlength=3))
    spread = np.sqrt(np.diagonal(found.noise_covariance).astype(float))
    # six standard deviations for three numbers: a false alarm once in 10⁸ runs
    assert (np.abs(found.weights.astype(float) - truth / 10_000) < 6 * spread).all()


def test_channels_that_do_not_tell_frequencies() -> None:
    hidden = sf.Channel(range(3), [["1/2", "1/2"], ["1/4", "3/4"], ["3/4", "1/4"]])
    singular = sf.Channel(range(2), [["1/2", "1/2"], ["1/2", "1/2"]])
    wide = sf.Channel(range(2), [["1/2", "1/4", "1/4"], ["1/2", "1/4", "1/4"]])
    for channel in (hidden, singular, wide, hidden.to_floats(), singular.to_floats(), wide.to_floats()):
        with pytest.raises(InvalidInput, match="does not determine the frequencies"):
            frequencies(channel, [0, 1])
        assert maximum_likelihood(channel, [0, 1]).gap <= 1e-8


def test_a_covariance_needs_two_rows() -> None:
    with pytest.raises(InvalidInput, match="two rows"):
        _ = frequencies(RESPONSE, ["a"]).covariance


def test_large_exact_channels_become_floats() -> None:
    mechanism = sf.geometric(sf.PrivacyType(sf.line(80), alpha="1/2"))
    found = frequencies(mechanism, np.arange(1, 81))
    assert mechanism.channel.exact and not found.exact
    np.testing.assert_allclose(
        found.weights @ mechanism.channel.matrix.astype(float), np.arange(1, 81) / 3240, atol=1e-12
    )


@pytest.mark.parametrize("epsilon", [0.7, 2.0])
def test_a_blurred_city_comes_back(epsilon: float) -> None:
    channel = blurred(15, epsilon)
    truth, counts = city(channel, 100_000, seed=3)
    stopped, best = iterative_bayesian_update(channel, counts), maximum_likelihood(channel, counts)
    raw = counts / counts.sum()
    error = {name: np.abs(weights - truth).sum() / 2 for name, weights in
             {"raw": raw, "stopped": stopped.prior.weights, "best": best.prior.weights}.items()}  # fmt: skip
    assert error["stopped"] < error["raw"] / 2 and error["stopped"] < error["best"]
    assert stopped.deviance <= np.count_nonzero(counts) - 1 and best.deviance < stopped.deviance
    assert best.gap <= 1e-8 < stopped.gap and best.log_likelihood <= stopped.log_likelihood + stopped.gap
    assert best.method == "Newton" and best.steps < 40


def test_squared_steps_and_newton_agree() -> None:
    channel = blurred(8, 2.0)
    _, counts = city(channel, 20_000, seed=5)
    lines: list[str] = []
    newton = maximum_likelihood(channel, counts, progress=lines.append)
    squared = maximum_likelihood(channel, counts, method="squared", tolerance=1e-6)
    assert abs(newton.log_likelihood - squared.log_likelihood) <= 1e-6 and lines
    with pytest.raises(NotConverged, match="the gap is") as caught:
        maximum_likelihood(channel, counts, method="squared", tolerance=1e-12, most_steps=10)
    assert caught.value.best.gap == caught.value.gap > 1e-12


def test_secrets_that_a_start_excludes_stay_excluded() -> None:
    start = sf.Prior(["a", "b", "c"], ["1/2", "1/2", 0])
    found = iterative_bayesian_update(RESPONSE, {"a": 60, "b": 30, "c": 10}, start=start, steps=50)
    assert found.prior.weights[2] == 0
    with pytest.raises(NotConverged):
        maximum_likelihood(RESPONSE, {"a": 10, "b": 10, "c": 80}, start=start)
    identity = sf.Channel.identity(["a", "b", "c"])
    with pytest.raises(InvalidInput, match="excludes an output"):
        iterative_bayesian_update(identity, ["c"], start=start)


def test_outputs_that_cannot_be() -> None:
    channel = sf.Channel(range(2), [[1, 0], [1, 0]])
    wide = sf.Channel(range(2), [["3/4", "1/4", 0], ["1/4", "3/4", 0]])
    for method in ("unbiased", "likelihood"):
        with pytest.raises(InvalidInput, match="output 2 was released, but no secret ever gives it"):
            frequencies(wide, [0, 1, 2], method=method)
    with pytest.raises(InvalidInput, match="no secret ever gives it"):
        cross_table([wide, wide], [[0, 1], [1, 2]])
    with pytest.raises(InvalidInput, match="no secret ever gives it"):
        maximum_likelihood(channel, [0, 1])
    assert iterative_bayesian_update(channel, [0]).steps == 0  # one output says nothing and fits at once


@pytest.mark.parametrize("wrong", [{"tolerance": 0}, {"tolerance": float("nan")}])
def test_tolerances_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        maximum_likelihood(RESPONSE, ["a"], **wrong)


def test_methods_and_steps_that_make_no_sense() -> None:
    with pytest.raises(NotSupported):
        maximum_likelihood(RESPONSE, ["a"], method="gradient")  # type: ignore[arg-type]
    for steps in (-1, 1.5, True):
        with pytest.raises(InvalidInput, match="number of updates"):
            iterative_bayesian_update(RESPONSE, ["a"], steps=steps)  # type: ignore[arg-type]


def test_shares_for_people() -> None:
    found = frequencies(RESPONSE, {"a": 60, "b": 30, "c": 10})
    frame = found.to_pandas()
    assert frame.columns.tolist() == ["share", "standard error", "low", "high"] and frame.index.tolist() == [
        "a",
        "b",
        "c",
    ]
    # a share may be negative, and its interval begins at 0
    assert frame["share"].iloc[2] < 0 == frame["low"].iloc[2] and (frame["share"] <= frame["high"]).all()
    lines = str(found).splitlines()
    assert lines[0].split() == ["answer", "share", "error", "95", "%", "interval"]
    assert lines[-1] == repr(found) == "Frequencies(3 shares of 100 rows, unbiased)"
    many = frequencies(sf.Channel.identity(range(50)).to_floats(), np.arange(1, 51))
    assert "… and 20 more" in str(many) and len(str(many).splitlines()) == 33
    weighted = frequencies(RESPONSE, ["a", "b"], weights=[1, 2], method="likelihood")
    assert repr(weighted) == "Frequencies(3 shares of 2 rows, likelihood, weighted)"
