"""Roads of a town in little time: few outputs, spread over where people are, beside noise that is far worse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.design import few_actions as room
from sfumato.design.few_actions import few_actions
from sfumato.design.problem import Problem, problem
from sfumato.design.simple import simple_answer, spread_out, value_of
from sfumato.watch import Watch


def streets(side: int) -> Any:
    """A grid of streets, one in ten of them closed."""
    rng = np.random.default_rng(4)
    edges = []
    for i in range(side):
        for j in range(side):
            edges += [((i, j), (i + 1, j)), ((i, j), (i, j + 1))]
    inside = [(a, b) for a, b in edges if max(b) < side]
    kept = [(f"{a}", f"{b}", 0.1) for a, b in inside if a == (0, 0) or b[0] == 0 or b[1] == 0 or rng.random() > 0.1]
    return sf.graph(kept, unit="km")


def asked(side: int = 14) -> Problem:
    space = streets(side)
    return problem(sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, epsilon=3))


def test_actions_are_spread_over_the_places() -> None:
    question = asked()
    chosen = spread_out(question, 12)
    assert len(set(chosen.tolist())) == 12
    farthest = question.float_cost[:, chosen].min(axis=1).max()
    one = question.float_cost[:, chosen[:1]].min(axis=1).max()
    assert farthest < 0.5 * one


def test_few_actions_are_private_and_better_than_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_LARGE", 10_000)
    monkeypatch.setattr(room, "_MOST", 25)
    question = asked()
    found, noise = few_actions(question, Watch(60.0), None), simple_answer(question)
    assert found is not None and noise is not None and not found.finished and len(found.multipliers) == 0
    assert found.method.endswith("25 outputs") and (found.matrix.max(axis=0) > 0).sum() <= 25
    assert value_of(question, found.matrix) < 0.95 * value_of(question, noise.matrix)
    best = sf.design(question.prior, question.loss, question.privacy, time_limit=60, tolerance=1e-2)
    assert sf.verify(best.mechanism)
    assert float(best.loss) <= value_of(question, found.matrix) * (1 + 1e-6)


@pytest.mark.parametrize("limit", [None, 60.0])
def test_small_problems_and_those_with_time_have_all_actions(limit: float | None) -> None:
    assert few_actions(asked(5), Watch(limit), None) is None
    assert few_actions(asked(5), Watch(0.0), None) is None


def test_all_pairs_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_LARGE", 100)
    space = sf.discrete(30)
    question = problem(sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, epsilon=1))
    assert few_actions(question, Watch(60.0), None) is None
