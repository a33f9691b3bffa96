"""Reductions: what is left has the same optimum, its answer is one for the whole, and the house tells the chain."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.design.answer import Answer
from sfumato.design.problem import FEASIBILITY, Problem, problem
from sfumato.design.reductions import REDUCTIONS, RESTATEMENTS
from sfumato.design.simple import multipliers_bound, value_of
from sfumato.design.solvers import SOLVERS
from sfumato.design.solvers.reduced import reduced_answer
from sfumato.lp.cone.lanes import solve_columns
from sfumato.lp.cone.program import ColumnProgram
from sfumato.privacy import ratio_bounds

DOMINATED, EQUAL, ALIKE = REDUCTIONS


def questions() -> dict[str, Problem]:
    """One for each step, laid out whole."""
    four, square = sf.line(4), sf.grid(3, 3)
    useless = sf.Loss(["0", "1", "2", "3", "never"], four, [*sf.losses.absolute(four).matrix.tolist(), [9, 9, 9, 9]])
    promise = sf.PrivacyType(four, epsilon=1)
    tied = ratio_bounds([[0, 0, 2, 3], [0, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]])
    rng = np.random.default_rng(2)
    loss = sf.Loss(range(5), tied.space, rng.uniform(0, 1, (5, 4)).round(3).tolist())
    return {
        DOMINATED.name: Problem(sf.Prior.from_counts([4, 3, 2, 1], four), useless, promise),
        EQUAL.name: problem(sf.Prior.from_counts([4, 3, 2, 1], tied.space), loss, tied),
        ALIKE.name: problem(sf.Prior.uniform(square), sf.losses.distance(square), sf.PrivacyType(square, epsilon=1)),
    }


QUESTIONS = questions()


def solved(part: Any) -> Answer:
    """An answer to what is left: a problem, or a program over columns."""
    if isinstance(part, ColumnProgram):
        solution = solve_columns(part, tolerance=1e-7)
        return reduced_answer(part, solution, solution.multipliers, "columns")
    return SOLVERS["highs"](part, 1e-9)


def test_each_step_has_a_question() -> None:
    assert list(QUESTIONS) == [step.name for step in REDUCTIONS]


@pytest.mark.parametrize("step", REDUCTIONS, ids=lambda step: str(step.name))
def test_the_way_back_leads_to_an_optimum_of_the_whole(step: Any) -> None:
    whole = QUESTIONS[step.name]
    assert step.accepts(whole)
    left = step(whole)
    assert left is not None
    direct = SOLVERS["highs"](whole, 1e-9)
    best, answer = value_of(whole, np.asarray(direct.matrix, dtype=float)), left.invert(solved(left.part))
    matrix = np.zeros(whole.shape)
    matrix[:, : answer.matrix.shape[1]] = answer.matrix  # actions that are left out come last here
    assert value_of(whole, matrix) == pytest.approx(best, rel=1e-5)
    assert (matrix[whole.ordered_pairs[0]] <= np.exp(whole.logs)[:, None] * matrix[whole.ordered_pairs[1]] + 1e-9).all()
    if step is not DOMINATED:
        assert multipliers_bound(whole, answer.multipliers) == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("step", REDUCTIONS, ids=lambda step: str(step.name))
def test_what_has_nothing_to_leave_out_stays(step: Any) -> None:
    space = sf.points([[0, 0], [1, 0.3], [0.2, 2]])
    plain = problem(sf.Prior.from_counts([3, 2, 1], space), sf.losses.distance(space), sf.PrivacyType(space, epsilon=1))
    assert step(plain) is None


def test_feasibility_asks_how_well_limits_are_kept() -> None:
    space = sf.line(4)
    limits = [sf.objectives.loss_at_most("0.9")]
    asked = problem(
        sf.Prior.uniform(space), sf.losses.absolute(space), sf.PrivacyType(space, epsilon=1), None,
        sf.objectives.expected(limits=limits),
    )  # fmt: skip
    (restated,) = RESTATEMENTS
    step = restated(asked)
    assert restated is FEASIBILITY and step is not None
    matrix = np.asarray(step.invert(SOLVERS["highs"](step.part, 1e-9)).matrix, dtype=float)
    lost = (matrix * np.asarray(sf.losses.absolute(space).matrix, dtype=float).T).sum(axis=1)
    assert (lost <= 0.9).all()
    assert FEASIBILITY(QUESTIONS[ALIKE.name]) is None


def test_the_walk_of_the_house_is_the_chain() -> None:
    text = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text()
    told = re.search(r"made smaller by a chain, `design/reductions\.py`: (.*?)\. Each", re.sub(r"\s+", " ", text))
    assert told is not None and told[1].split(", ") == [step.name for step in REDUCTIONS]
