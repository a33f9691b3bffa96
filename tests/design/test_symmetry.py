"""Symmetries found, and designs that use them beside designs that do not."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.design import objectives
from sfumato.design.answer import Answer
from sfumato.design.problem import Problem, problem
from sfumato.design.solvers import interior, reduced
from sfumato.design.symmetry import symmetry


def asked(
    space: sf.FiniteSpace, prior: sf.Prior | None = None, objective: objectives.Objective | None = None
) -> Problem:
    return problem(
        prior or sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, alpha="1/2"), None,
        objective or objectives.expected(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("space", "elements"),
    [(sf.grid(4, 4), 8), (sf.grid(3, 5), 4), (sf.line(6), 2), (sf.cycle(7), 14), (sf.hamming(3), 48),
     (sf.discrete(4), 24), (sf.grid(5, 5, metric="manhattan"), 8)],
)  # fmt: skip
def test_the_whole_group_is_found(space: sf.FiniteSpace, elements: int) -> None:
    found = symmetry(asked(space))
    assert found is not None
    assert len(found) == elements
    assert {tuple(row) for row in found.secrets} == {tuple(row) for row in sf.spaces.isometries(space)}
    np.testing.assert_array_equal(found.secrets, found.actions)  # an action is a secret here


def test_prior_and_loss_must_stay() -> None:
    space = sf.line(4)
    assert symmetry(asked(space, sf.Prior.from_counts([1, 2, 3, 4], space))) is None
    mirrored = symmetry(asked(space, sf.Prior.from_counts([1, 2, 2, 1], space)))
    assert mirrored is not None
    assert mirrored.secrets.tolist() == [[0, 1, 2, 3], [3, 2, 1, 0]]
    lopsided = problem(sf.Prior.uniform(space), sf.losses.member(space, [0]), sf.PrivacyType(space, alpha="1/2"))
    assert symmetry(lopsided) is None
    halves = problem(sf.Prior.uniform(space), sf.losses.member(space, [0, 1]), sf.PrivacyType(space, alpha="1/2"))
    swapped = symmetry(halves)
    assert swapped is not None
    assert swapped.actions.tolist() == [[0, 1], [1, 0]]


def test_a_discrete_space_of_many_points_is_left_alone() -> None:
    assert symmetry(asked(sf.discrete(9))) is None


OBJECTIVES = {
    "expected": objectives.expected(),
    "worst secret": objectives.worst_secret(),
    "limited": objectives.expected(limits=objectives.displacement_at_most(2, "1/4")),
}


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
@pytest.mark.parametrize("space", [sf.grid(4, 4), sf.cycle(6), sf.line(5)], ids=lambda s: s.name)
def test_the_same_optimum_with_and_without(space: sf.FiniteSpace, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    question = asked(space, objective=OBJECTIVES[name])
    using = interior.solve_by_interior_point(question, 1e-7)
    monkeypatch.setattr(reduced, "SYMMETRIES", lambda *_: None)
    plain = interior.solve_by_interior_point(question, 1e-7)
    assert "symmetries" in using.method
    assert "symmetries" not in plain.method
    values = [value(question, answer) for answer in (using, plain)]
    assert values[0] == pytest.approx(values[1], rel=1e-5)
    np.testing.assert_allclose(np.asarray(using.matrix, dtype=float).sum(axis=1), 1.0, atol=1e-9)
    made = sf.design(question.prior, question.loss, question.privacy, objective=question.objective, solver="interior")
    assert made.gap <= 1e-4


def value(question: Problem, answer: Answer) -> float:
    lost = np.asarray(answer.matrix, dtype=float) * np.asarray(question.loss.matrix, dtype=float).T
    worst = question.objective.criterion == "worst secret"
    return float(lost.sum(axis=1).max() if worst else (question.prior.float_weights * lost.sum(axis=1)).sum())
