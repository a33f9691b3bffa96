from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.mechanisms.exponential import as_score, exponential, largest_scale, needed_epsilon, true_epsilon
from sfumato.mechanisms.tight import tight_constraints


def test_the_formula_in_fractions() -> None:
    """α = 1/4 makes e^{−β} = 1/2, and every number rational."""
    privacy = sf.PrivacyType(sf.line(4), alpha="1/4")
    mechanism = exponential(privacy)
    weights = [[Fraction(1, 2) ** abs(x - y) for y in range(4)] for x in range(4)]
    expected = [[w / sum(row) for w in row] for row in weights]
    assert mechanism.channel.exact
    assert mechanism.channel.matrix.tolist() == expected
    assert mechanism.outputs == privacy.secrets
    assert mechanism.provenance["beta"] == pytest.approx(np.log(2))
    assert mechanism.provenance["bound"] == pytest.approx(np.log(4))
    assert mechanism.provenance["smallest epsilon"] == sf.smallest_epsilon(mechanism.channel, privacy.space)


def test_the_formula_in_floats_with_score_and_base() -> None:
    privacy = sf.PrivacyType(sf.line(4), epsilon="0.8")
    score = np.array([[0.0, 1.0, 3.0], [0.5, 0.5, 2.0], [1.0, 0.0, 1.0], [2.0, 0.5, 0.0]])
    base = [1, "1/2", 3]
    mechanism = exponential(privacy, score=score, outputs=["low", "middle", "high"], base=base)
    constant = 1.0  # the largest step between neighbours
    table = np.array([1, 0.5, 3]) * np.exp(-0.8 / (2 * constant) * score)
    table /= table.sum(axis=1, keepdims=True)
    assert np.abs(mechanism.weights / mechanism.total - table).max() < 1e-13
    assert mechanism.outputs == ("low", "middle", "high")
    assert float(mechanism.provenance["Lipschitz constant"]) == pytest.approx(constant, rel=1e-12)


def test_a_loss_is_a_score() -> None:
    space = sf.line(3)
    privacy = sf.PrivacyType(space, alpha="1/64")  # squared loss has C = 3
    mechanism = exponential(privacy, score=sf.losses.squared(space))
    assert mechanism.channel.matrix[0].tolist() == [Fraction(16, 25), Fraction(8, 25), Fraction(1, 25)]
    assert as_score(privacy, sf.losses.squared(space)).lipschitz == 3
    members = sf.losses.member(space, [0])
    assert exponential(privacy, score=members).outputs == (True, False)


@pytest.mark.parametrize(
    "space", [sf.line(5), sf.grid(3, 3), sf.spaces.star(4), sf.points([[0.1, 0.7], [0.3, 0.2], [0.9, 0.9]])]
)
def test_the_exact_calibration_uses_the_promise_up(space: sf.FiniteSpace) -> None:
    privacy = sf.PrivacyType(space, epsilon=1)
    loose, sharp = exponential(privacy), exponential(privacy, calibration="exact")
    assert loose.provenance["smallest epsilon"] < 0.99
    assert 1 - 1e-9 < sharp.provenance["smallest epsilon"] <= 1
    assert sharp.provenance["beta"] > 1.05 * loose.provenance["beta"]
    assert sharp.provenance["bound"] > 1
    more = sharp.provenance["beta"] * 1.0001
    table = np.exp(-more * space.distances.floats)
    assert needed_epsilon(table / table.sum(axis=1, keepdims=True), space) > 1


@pytest.mark.parametrize("space", [sf.cycle(5), sf.discrete(4), sf.hamming(3)])
def test_where_all_secrets_see_the_same_it_is_the_tight_mechanism(space: sf.FiniteSpace) -> None:
    privacy = sf.PrivacyType(space, alpha="1/3")
    found = exponential(privacy, calibration="exact")
    assert found.channel.exact
    assert (found.channel.matrix == tight_constraints(privacy).channel.matrix).all()
    assert found.provenance["smallest epsilon"] == pytest.approx(privacy.rate, rel=1e-14)


def test_what_is_needed_can_fall_while_the_score_counts_more() -> None:
    """A base measure e^80 in favour of bad outputs: the mechanism turns to the good ones around β = 8."""
    score = np.array([[10.0, 10.0, 0.0, 0.0], [9.0, 11.0, -1.0, 1.0]])
    base = np.array([np.exp(80.0), 1e-6 * np.exp(80.0), 1e-6, 1.0])

    def needed(beta: float) -> float:
        table = np.log(base) - beta * score
        table -= np.logaddexp.reduce(table, axis=1, keepdims=True)
        return float(np.abs(table[0] - table[1]).max())

    values = [needed(beta) for beta in np.linspace(7, 9, 60)]
    assert any(b < a - 0.1 for a, b in pairwise(values))
    promise = values[0]
    found = largest_scale(needed, promise, promise / 2, 2 * promise / 2)
    assert needed(found) <= promise
    assert found > 1.01 * 7


def test_true_epsilon_is_the_smallest_of_the_integers() -> None:
    for space, epsilon in ((sf.grid(3, 3), 1), (sf.cycle(6), "0.3"), (sf.line(7), 2)):
        mechanism = exponential(sf.PrivacyType(space, epsilon=epsilon))
        assert true_epsilon(mechanism) == sf.smallest_epsilon(mechanism.channel, space)
    zero = sf.prove([[1, 1], [1, 1]], sf.PrivacyType(sf.line(2), epsilon=1))
    assert true_epsilon(zero) == 0
    far = sf.FiniteSpace(["a", "b"], [[0, np.inf], [np.inf, 0]])
    assert true_epsilon(sf.prove([[1, 0], [0, 1]], sf.PrivacyType(far, epsilon=1))) == 0
    large = sf.prove([[2**60, 2**61], [2**61, 2**60]], sf.PrivacyType(sf.line(2), alpha="1/2"))
    assert true_epsilon(large) == pytest.approx(np.log(2), rel=1e-14)


def test_one_secret_and_infinite_distances() -> None:
    assert exponential(sf.PrivacyType(sf.line(1), epsilon=1)).weights.tolist() == [[2**52]]
    apart = sf.graph([("a", "b")], labels=["a", "b", "c"])
    mechanism = exponential(sf.PrivacyType(apart, epsilon=1), calibration="exact")
    assert mechanism.weights[2].tolist() == [0, 0, mechanism.total]
    same = exponential(sf.PrivacyType(sf.line(3), alpha="1/4"), score=[[0, 1]] * 3, calibration="exact")
    assert len({tuple(row) for row in same.weights.tolist()}) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"score": [[0, 1]]},
        {"score": np.array([[0.0, np.inf], [0.0, 0.0], [0.0, 0.0]])},
        {"score": [[0, 1], [1, 0], [0, 0]], "outputs": ["one"]},
        {"outputs": [1, 2, 3]},
        {"base": [1, 1]},
        {"base": [1, 0, 1]},
        {"base": [1, -1, 1]},
        {"score": sf.losses.bin(sf.line(4))},
        {"calibration": "hopeful"},
    ],
)
def test_nonsense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises((sf.errors.InvalidInput, sf.errors.NotSupported)):
        exponential(sf.PrivacyType(sf.line(3), epsilon=1), **options)
    with pytest.raises(sf.errors.InvalidInput):
        exponential(sf.line(3))  # type: ignore[arg-type]
