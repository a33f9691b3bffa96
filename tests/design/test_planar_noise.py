"""Noise in the plane between places of a list: private by itself, and no worse than what is known of such places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.design.planar_noise import planar_noise
from sfumato.design.problem import problem
from sfumato.design.simple import simple_answer, value_of

RNG = np.random.default_rng(11)
PLACES = RNG.uniform(0, 6, (70, 2))
SPACES = {
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
    matrix = planar_noise(question)
    assert matrix is not None
    bounds = question.privacy.log_bounds
    told = matrix[:, matrix.max(axis=0) > 0]
    logs = np.log(told)
    assert np.abs(matrix.sum(axis=1) - 1).max() < 1e-12
    assert (logs[:, None] - logs[None] <= bounds[:, :, None] + 1e-9).all()


@pytest.mark.parametrize("name", SPACES)
def test_without_time_a_design_is_no_worse_than_what_is_known(name: str) -> None:
    prior, loss, privacy = asked(name)
    known = sf.compare_known(prior, loss, privacy, mechanisms=["exponential", "planar_laplace"], optimal=False)
    best = sf.design(prior, loss, privacy, time_limit=1e-3)
    assert sf.verify(best.mechanism)
    assert float(best.loss) <= 1.002 * min(float(row.remapped) for row in known)


def test_noise_has_half_as_much_to_hide_as_the_exponential_mechanism() -> None:
    question = problem(*asked("towns"))
    noise, simple = planar_noise(question), simple_answer(question)
    assert noise is not None and simple is not None and simple.method.startswith("planar Laplace noise")
    assert value_of(question, simple.matrix) <= value_of(question, noise)


@pytest.mark.parametrize(
    "space", [sf.line(9), sf.discrete(5), sf.cycle(12), sf.points([[0.0, 0.0]]), sf.points([[0, 0, 1], [1, 0, 0]])]
)
def test_what_has_no_places_in_a_plane_has_no_such_noise(space: Any) -> None:
    question = problem(sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, epsilon=1))
    assert planar_noise(question) is None
