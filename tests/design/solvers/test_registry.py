"""Designs by the first-order method: certified, with symmetry and without, and stopped early."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.certify.mechanism import Mechanism
from sfumato.design.certified import certified
from sfumato.design.objectives import Objective
from sfumato.design.problem import Problem, problem
from sfumato.design.solvers import SOLVERS
from sfumato.design.solvers.interior import solve_by_interior_point
from sfumato.design.solvers.registry import solve_by_first_order
from sfumato.errors import NotSupported
from sfumato.lp.cone.program import ColumnProgress
from sfumato.watch import Watch


def on_grid(counts: list[int] | None = None, side: int = 4) -> Problem:
    space = sf.grid(side, side, metric="manhattan")
    prior = sf.Prior.uniform(space) if counts is None else sf.Prior.from_counts(counts, space)
    return problem(prior, sf.losses.distance(space), sf.PrivacyType(space, alpha="1/2"))


def gap(made: Mechanism) -> float:
    assert made.proof.loss is not None
    assert made.proof.bound is not None
    return float((made.proof.loss - made.proof.bound) / made.proof.loss)


def test_a_symmetric_design_is_certified() -> None:
    asked = on_grid()
    answer = solve_by_first_order(asked, 1e-4, device="cpu")
    assert answer.finished
    assert answer.method == "first order, 8 symmetries"
    assert gap(certified(asked, answer, {})) <= 6e-4


def test_a_design_without_symmetry_is_certified_and_brackets_the_truth() -> None:
    asked = on_grid([*range(1, 16), 40])
    answer = solve_by_first_order(asked, 1e-4, device="cpu")
    assert answer.method == "first order"
    made = certified(asked, answer, {})
    assert gap(made) <= 6e-4
    truth = float((solve_by_interior_point(asked, 1e-7).matrix * asked.float_cost).sum())
    assert made.proof.bound is not None
    assert made.proof.loss is not None
    assert float(made.proof.bound) <= truth * (1 + 1e-6)
    assert truth <= float(made.proof.loss) * (1 + 1e-6)


def test_repair_costs_nothing() -> None:
    asked = on_grid([*range(1, 16), 40])
    answer = solve_by_first_order(asked, 1e-3, device="cpu")
    value = float((answer.matrix * asked.float_cost).sum())
    made = certified(asked, answer, {})
    assert made.proof.loss is not None
    assert float(made.proof.loss) <= value * (1 + 1e-9)


def test_stopped_early_it_is_certified_all_the_same() -> None:
    asked = on_grid([*range(1, 16), 40])
    seen: list[ColumnProgress] = []

    def stop(state: ColumnProgress) -> None:
        seen.append(state)
        if len(seen) == 5:
            raise KeyboardInterrupt

    answer = solve_by_first_order(asked, 1e-12, stop, device="cpu")
    assert not answer.finished
    made = certified(asked, answer, {})
    assert made.proof.loss is not None
    assert float(made.proof.loss) <= seen[-1].value * (1 + 1e-9)
    assert gap(made) <= seen[-1].gap + 1e-9
    now = [0.0]

    def late(state: ColumnProgress) -> None:
        now[0] = float(state.iteration > 0)

    cut = solve_by_first_order(asked, 1e-12, late, Watch(0.5, lambda: now[0]), device="cpu")
    assert cut.iterations > 0 and not cut.finished


def test_few_actions() -> None:
    space = sf.grid(5, 5, metric="manhattan")
    asked = problem(sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, alpha="1/2"),
                    outputs=[space.labels[k] for k in (0, 7, 24)])  # fmt: skip
    answer = solve_by_first_order(asked, 1e-3, device="cpu")
    assert answer.matrix.shape == (25, len(asked.loss.actions))
    assert gap(certified(asked, answer, {})) <= 6e-3
    assert np.allclose(answer.matrix.sum(axis=1), 1.0)


def test_a_worst_case_is_not_supported() -> None:
    space = sf.line(3)
    asked = problem(None, sf.losses.absolute(space), sf.PrivacyType(space, alpha="1/2"),
                    objective=Objective("worst secret"))  # fmt: skip
    with pytest.raises(NotSupported, match="first-order"):
        SOLVERS["first-order"](asked, 1e-3)
