"""Noise that is the same everywhere, told as the best action: private by itself, no worse than what is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.design.problem import problem
from sfumato.design.same_noise import same_noise
from sfumato.design.simple import simple_answer, value_of
from sfumato.mechanisms.registry import MECHANISMS

RNG = np.random.default_rng(11)
PLACES = RNG.uniform(0, 6, (70, 2))
SPACES = {
    "a line": sf.line(30),
    "uneven": sf.points(np.sort(PLACES[:, 0]).round(3).tolist()),
    "steps": sf.grid(8, 7, step="1/2", metric="manhattan", unit="km"),
    "kings": sf.grid(8, 7, step="1/2", metric="chebyshev", unit="km"),
    "rooms": sf.points(RNG.uniform(0, 3, (40, 3)).round(3).tolist()),
    "points": sf.points(PLACES.round(3).tolist(), unit="km"),
    "grid": sf.grid(8, 7, unit="km"),
    "towns": sf.geo([(48 + a / 60, 11 + b / 40) for a, b in PLACES.tolist()]),
}


def asked(name: str, epsilon: float = 1.5) -> Any:
    space = SPACES[name]
    counts = RNG.integers(1, 50, len(space)).tolist()
    return sf.Prior.from_counts(counts, space), sf.losses.distance(space), sf.PrivacyType(space, epsilon=epsilon)


@pytest.mark.parametrize("name", SPACES)
def test_noise_keeps_the_promise_by_itself(name: str) -> None:
    question = problem(*asked(name))
    matrix = same_noise(question)
    assert matrix is not None
    bounds = question.privacy.log_bounds
    told = matrix[:, matrix.max(axis=0) > 0]
    logs = np.log(told)
    assert np.abs(matrix.sum(axis=1) - 1).max() < 1e-12
    assert (logs[:, None] - logs[None] <= bounds[:, :, None] + 1e-9).all()


@pytest.mark.parametrize("name", SPACES)
def test_without_time_a_design_is_no_worse_than_what_is_known(name: str) -> None:
    prior, loss, privacy = asked(name)
    names = ["exponential_exact", "geometric", "planar_laplace", "planar_geometric"]
    there = [key for key in names if MECHANISMS[key].applies(privacy).outcome == "holds"]
    known = sf.compare_known(prior, loss, privacy, mechanisms=there, optimal=False)
    best = sf.design(prior, loss, privacy, time_limit=1e-3)
    assert sf.verify(best.mechanism)
    assert float(best.loss) <= 1.002 * min(float(row.remapped) for row in known)


def test_noise_has_half_as_much_to_hide_as_the_exponential_mechanism() -> None:
    question = problem(*asked("towns"))
    noise, simple = same_noise(question), simple_answer(question)
    assert noise is not None and simple is not None and simple.method.startswith("the same noise everywhere")
    assert value_of(question, simple.matrix) <= value_of(question, noise)


@pytest.mark.parametrize(
    "space", [sf.discrete(5), sf.hamming(3), sf.points([[0.0, 0.0]]), sf.points(np.eye(4).tolist())], ids=repr
)
def test_what_has_no_places_has_no_such_noise(space: Any) -> None:
    question = problem(sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, epsilon=1))
    assert same_noise(question) is None
