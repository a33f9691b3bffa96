"""Designs with the solver at peaks: proved, near the optimum, and with few outputs looked at where there are many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.design.objectives import as_objective
from sfumato.design.problem import problem
from sfumato.design.solvers import SOLVERS, interior_near
from sfumato.design.solvers.interior_near import first_outputs
from sfumato.errors import NotSupported
from sfumato.lp.cone.near import PeakSolution
from sfumato.lp.cone.program import Ending


def towns(n: int, seed: int = 0, epsilon: float = 6.0) -> tuple[sf.Prior, sf.Loss, sf.PrivacyType]:
    """Places with weights that differ by a factor of a thousand."""
    rng = np.random.default_rng(seed)
    space = sf.points(rng.random((n, 2)).tolist())
    weights = 10 ** rng.uniform(-3, 0, n)
    return sf.Prior(space, weights / weights.sum()), sf.losses.distance(space), sf.PrivacyType(space, epsilon=epsilon)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 6.0, 40.0])
def test_beside_blocks(epsilon: float) -> None:
    asked = towns(18, seed=3, epsilon=epsilon)
    ours = sf.design(*asked, solver="interior-near", tolerance=1e-3)
    theirs = sf.design(*asked, solver="interior", tolerance=1e-4)
    assert ours.gap <= 1e-3
    assert ours.bound <= theirs.loss
    assert theirs.bound <= ours.loss


def test_outputs_are_brought_in_as_needed() -> None:
    prior, loss, privacy = towns(80, epsilon=20.0)
    seen = []
    made = sf.design(prior, loss, privacy, solver="interior-near", tolerance=5e-3, progress=seen.append)
    assert made.gap <= 5e-3
    assert "of 80 outputs" in made.method
    assert len(seen) > made.iterations  # every iteration and every round
    chosen = first_outputs(problem(prior, loss, privacy).float_cost, privacy.log_bounds)
    assert 64 <= len(chosen) < 80


def test_few_outputs_and_a_secret_without_weight() -> None:
    space = sf.points([[k % 6, k // 6] for k in range(36)])
    prior = sf.Prior(space, [0.0] + [1 / 35] * 35)
    privacy = sf.PrivacyType(space, epsilon=1.0)
    outputs = list(space.labels)[::9]
    made = sf.design(prior, sf.losses.distance(space), privacy, outputs=outputs, solver="interior-near", tolerance=1e-3)
    again = sf.design(prior, sf.losses.distance(space), privacy, outputs=outputs, solver="interior", tolerance=1e-3)
    assert made.gap <= 1e-3
    assert float(made.loss) == pytest.approx(float(again.loss), rel=2e-3)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tiny_spaces(n: int) -> None:
    asked = towns(n, seed=n)
    assert sf.design(*asked, solver="interior-near", tolerance=1e-3).gap <= 1e-3


def test_time_that_is_up_leaves_a_proved_mechanism() -> None:
    made = sf.design(*towns(90), solver="interior-near", time_limit=0.0)
    assert made.mechanism.proof.loss == made.loss
    assert made.bound <= made.loss


def test_a_round_that_is_cut_short_leaves_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new round begins further from the optimum than the last one ended."""
    question = towns(90, epsilon=20.0)
    best = sf.design(*question, solver="interior-near", tolerance=1e-3)
    original, rounds = interior_near.solve_peaks, []

    def three_steps(*given: Any, **options: Any) -> PeakSolution:
        if not options["settle"]:
            found = original(*given, **options)
            rounds.append(found)
            return found
        steps = iter(range(3))

        def stop(_: object) -> None:
            if next(steps, None) is None:
                raise KeyboardInterrupt

        cut = original(*given, **{**options, "progress": stop})
        assert cut.ended is Ending.INTERRUPTED and cut.cost > 1.2 * float(best.loss)
        return cut

    monkeypatch.setattr(interior_near, "solve_peaks", three_steps)
    made = sf.design(*question, solver="interior-near", tolerance=1e-3)
    assert rounds
    assert sf.verify(made.mechanism)
    assert float(made.loss) <= 1.1 * float(best.loss)
    assert float(made.bound) >= 0.9 * float(best.bound)


def test_a_graph_has_its_multipliers_along_edges() -> None:
    space = sf.grid(6, 6, metric="manhattan")
    prior = sf.Prior.from_counts([1 + (k * k) % 7 for k in range(36)], space)
    made = sf.design(prior, sf.losses.distance(space), sf.PrivacyType(space, alpha="1/2"), solver="interior-near")
    assert made.gap <= 1e-3
    assert sf.verify(made.mechanism, checker="kernel")


def test_what_it_does_not_solve() -> None:
    _, loss, privacy = towns(5)
    with pytest.raises(NotSupported, match="worst cases"):
        SOLVERS["interior-near"](problem(None, loss, privacy, objective=as_objective("worst secret")), 1e-3)
