"""Every solver on the same problems: the four conditions of an optimum, before anything is repaired or proved."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.design.problem import Problem, problem
from sfumato.design.solvers import SOLVERS, Answer

TOLERANCE = 1e-6  # asked of the solvers; relative to the largest cost
ROUNDING = 1e-9  # feasibility of floats


def stored() -> dict[str, Problem]:
    """Spaces of every kind, priors with zeros, losses with ties and negative entries, few actions or many."""
    line, cycle, star, grid = sf.line(4), sf.cycle(5), sf.spaces.star(3), sf.grid(3, 3)
    flat, cube, lone = sf.grid(2, 3, metric="manhattan"), sf.hamming(3), sf.line(1)
    half = {"alpha": "1/2"}
    return {
        "line": problem(sf.Prior.uniform(line), sf.losses.absolute(line), sf.PrivacyType(line, **half)),
        "line, zeros": problem(
            sf.Prior(line, ["1/2", 0, 0, "1/2"]), sf.losses.squared(line), sf.PrivacyType(line, **half)
        ),
        "cycle": problem(
            sf.Prior.from_counts([5, 1, 1, 2, 1], cycle), sf.losses.bin(cycle), sf.PrivacyType(cycle, alpha="2/3")
        ),
        "star": problem(
            sf.Prior.from_counts([1, 2, 3, 4], star),
            sf.Loss(range(3), star, [[-1, 4, 0, 2], [0, 0, 1, 1], [3, -2, 2, 0]]),
            sf.PrivacyType(star, alpha="1/10"),
        ),
        "ties": problem(sf.Prior.uniform(cube), sf.losses.bin(cube), sf.PrivacyType(cube, **half)),
        "manhattan": problem(sf.Prior.uniform(flat), sf.losses.distance(flat), sf.PrivacyType(flat, alpha="9/10")),
        "euclidean": problem(sf.Prior.uniform(grid), sf.losses.distance(grid), sf.PrivacyType(grid, **half)),
        "strict": problem(sf.Prior.uniform(grid), sf.losses.distance(grid), sf.PrivacyType(grid, epsilon="0.01")),
        "loose": problem(sf.Prior.uniform(grid), sf.losses.distance(grid), sf.PrivacyType(grid, epsilon=9)),
        "one secret": problem(sf.Prior.uniform(lone), sf.losses.absolute(lone), sf.PrivacyType(lone, **half)),
    }


PROBLEMS = stored()
CASES = [(s, p) for s in sorted(SOLVERS) for p in sorted(PROBLEMS) if s != "exact" or PROBLEMS[p].exact]


@dataclass(frozen=True)
class Conditions:
    """The worst violation of each, relative to the largest cost where it is a cost."""

    primal: float
    dual: float
    complementarity: float
    gap: float


def conditions(asked: Problem, answer: Answer) -> Conditions:
    matrix = np.asarray(answer.matrix, dtype=np.float64)
    first, second = asked.ordered_pairs
    broken = (np.exp(-asked.logs)[:, None] * matrix[first] - matrix[second]).max(initial=0.0)
    primal = max(broken, -matrix.min(), np.abs(matrix.sum(axis=1) - 1).max())
    given = answer.multipliers
    values = given.values.astype(np.float64)
    factors = np.exp(asked.privacy.rate * asked.privacy.space.distances.floats[given.first, given.second])
    reduced = asked.float_cost.copy()
    np.add.at(reduced, (given.first, given.action), values)
    np.subtract.at(reduced, (given.second, given.action), values * factors)
    prices = reduced.min(axis=1)
    slack = factors * matrix[given.second, given.action] - matrix[given.first, given.action]
    scale = max(float(np.abs(asked.float_cost).max()), 1e-300)
    complementarity = max(float((values * slack).sum()), float(((reduced - prices[:, None]) * matrix).sum())) / scale
    gap = (float((asked.float_cost * matrix).sum()) - float(prices.sum())) / scale
    return Conditions(primal, float(-values.min(initial=0.0)), complementarity, gap)


@pytest.mark.parametrize(("solver", "name"), CASES)
def test_the_four_conditions(solver: str, name: str) -> None:
    asked = PROBLEMS[name]
    answer = SOLVERS[solver](asked, TOLERANCE)
    found = conditions(asked, answer)
    total = asked.shape[0] * 10 * TOLERANCE  # multipliers may cost some tolerances when small ones are left out
    assert found.primal <= ROUNDING
    assert found.dual == 0
    assert found.complementarity <= total
    assert -ROUNDING <= found.gap <= total


@pytest.mark.parametrize("name", [name for name in sorted(PROBLEMS) if PROBLEMS[name].exact])
@pytest.mark.parametrize("solver", ["exact", "column-generation"])
def test_exact_solvers_agree_to_the_last_digit(solver: str, name: str) -> None:
    asked = PROBLEMS[name]
    answers = [SOLVERS[s](asked, TOLERANCE) for s in (solver, "exact")]
    values = [(np.asarray(asked.cost, dtype=object) * answer.matrix).sum() for answer in answers]
    assert all(isinstance(value, int | Fraction) for value in values)
    assert values[0] == values[1]
