from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.design.problem import problem
from sfumato.design.solvers import SOLVERS
from sfumato.design.solvers.linear import linear_program
from sfumato.errors import InvalidInput, Mismatch, NotSupported
from sfumato.lp import check_optimality, solve
from strategies import alphas, losses, priors


def bracket(made: sf.Design, truth: Fraction) -> None:
    """Loss and bound on the two sides of the optimum, and everything accepted by the kernel again."""
    assert made.bound <= truth <= made.loss
    verdict = sf.verify(made.mechanism)
    assert verdict
    assert (verdict.witness.loss, verdict.witness.bound) == (made.loss, made.bound)


@pytest.mark.parametrize(("side", "loss"), [(3, 1.021871), (4, 1.256999), (5, 1.453532), (6, 1.62487)])
def test_euclidean_grids_of_the_golden_file(side: int, loss: float) -> None:
    space = sf.grid(side, side)
    made = sf.design(
        sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, alpha="1/2"), tolerance=1e-7
    )
    assert made.gap <= 1e-7
    assert float(made.loss) == pytest.approx(loss, abs=6e-7)


@given(
    st.sampled_from(
        [sf.line(2), sf.line(4), sf.discrete(3), sf.cycle(4), sf.spaces.star(3), sf.hamming(2), sf.line(1)]
    ),
    alphas(),
    st.data(),
)
@settings(max_examples=60)
def test_every_solver_brackets_the_exact_optimum(space: sf.FiniteSpace, alpha: Fraction, data: st.DataObject) -> None:
    privacy = sf.PrivacyType(space, alpha=alpha)
    prior, loss = data.draw(priors(space.labels)), data.draw(losses(space.labels))
    exact = sf.design(prior, loss, privacy, solver="exact")
    assert exact.loss == exact.bound
    bracket(exact, exact.loss)
    assert sf.posterior_loss(prior, exact.mechanism.channel, loss) == exact.loss
    for solver in ("highs", "interior"):
        made = sf.design(prior, loss, privacy, solver=solver)
        bracket(made, exact.loss)
        stake = float(sum(max(abs(v) for v in row) for row in problem(prior, loss, privacy).cost))
        assert float(made.loss - made.bound) <= 1e-4 * max(abs(float(made.loss)), 1e-2 * stake)


STORED: dict[str, tuple[Any, Any, Any]] = {
    "line": (
        sf.Prior(range(4), ["1/2", "1/4", "1/8", "1/8"]),
        sf.losses.absolute(sf.line(4)),
        sf.PrivacyType(sf.line(4), alpha="1/3"),
    ),
    "cycle": (sf.Prior.uniform(range(5)), sf.losses.distance(sf.cycle(5)), sf.PrivacyType(sf.cycle(5), alpha="1/2")),
    "zeros": (
        sf.Prior(range(3), [0, "1/2", "1/2"]),
        sf.losses.bin(range(3)),
        sf.PrivacyType(sf.discrete(3), alpha="1/2"),
    ),
}


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("exact", [True, False])
def test_the_four_conditions_of_an_optimum(name: str, exact: bool) -> None:
    program = linear_program(problem(*STORED[name]), exact=exact)
    worst = check_optimality(program, solve(program, exact=exact))
    assert all(v == 0 for v in worst.values()) if exact else max(worst.values()) < 1e-7


def test_the_registry_is_what_design_offers() -> None:
    for solver in SOLVERS:
        made = sf.design(*STORED["line"], solver=solver)
        assert made.gap <= 1e-4
        assert set(made.seconds) == {"solve", "certify", "total"}


def test_outputs_may_be_few_and_dominated_actions_are_left_out() -> None:
    space = sf.line(5)
    prior, loss, privacy = sf.Prior.uniform(space), sf.losses.absolute(space), sf.PrivacyType(space, alpha="1/2")
    few = sf.design(prior, loss, privacy, outputs=[1, 3])
    assert set(few.mechanism.outputs) <= {1, 3}
    assert few.loss > sf.design(prior, loss, privacy).loss
    worse = sf.Loss(["here", "there", "never"], range(5), [[0, 0, 1, 1, 1], [1, 1, 0, 0, 0], [1, 1, 1, 1, 1]])
    assert problem(prior, worse, privacy).loss.actions == ("here", "there")
    assert few.remap == {y: y for y in few.mechanism.outputs}


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-3", "20", "1e4"])
def test_tiny_and_huge_epsilon(epsilon: str) -> None:
    space = sf.grid(3, 2)
    prior, loss = sf.Prior.from_counts(range(1, 7), space), sf.losses.distance(space)
    made = sf.design(prior, loss, sf.PrivacyType(space, epsilon=epsilon))
    assert made.bound <= made.loss
    assert float(made.loss - made.bound) <= 1e-4 * float(sf.prior_loss(prior, loss))
    assert sf.verify(made.mechanism)


def test_secrets_apart_and_spaces_of_one() -> None:
    space = sf.graph([(0, 1), (2, 3)], labels=[0, 1, 2, 3])
    made = sf.design(sf.Prior.uniform(space), sf.losses.bin(space), sf.PrivacyType(space, alpha="1/2"))
    assert made.loss == Fraction(1, 3)  # which half is told freely
    one = sf.line(1)
    assert sf.design(sf.Prior.uniform(one), sf.losses.bin(one), sf.PrivacyType(one, epsilon=1)).loss == 0


def test_an_interrupt_and_a_time_limit_return_something_proved() -> None:
    space = sf.grid(5, 5)
    arguments = sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, epsilon=1)
    seen: list[Any] = []

    def stop(state: Any) -> None:
        if state.iteration:  # before the first one stages are told
            seen.append(state)
        if len(seen) == 3:
            raise KeyboardInterrupt

    early = sf.design(*arguments, progress=stop)
    assert len(seen) == 3
    assert sf.verify(early.mechanism)
    assert early.gap > sf.design(*arguments).gap
    assert sf.verify(sf.design(*arguments, time_limit=1e-6).mechanism)


def test_saved_designs_carry_loss_and_bound(tmp_path: Any) -> None:
    made = sf.design(*STORED["cycle"])
    path = tmp_path / "best.sfm"
    sf.save(made.mechanism, path)
    loaded = sf.load(path)
    assert (loaded.proof.loss, loaded.proof.bound) == (made.loss, made.bound)
    assert made.certificate is not None
    assert "gap 0, exact" in repr(made)


def test_bad_input() -> None:
    prior, loss, privacy = STORED["line"]
    with pytest.raises(NotSupported, match="solver"):
        sf.design(prior, loss, privacy, solver="oracle")
    with pytest.raises(InvalidInput, match="tolerance"):
        sf.design(prior, loss, privacy, tolerance=0)
    with pytest.raises(Mismatch):
        sf.design(sf.Prior.uniform(range(3)), loss, privacy)
    with pytest.raises(Mismatch):
        sf.design(prior, loss, privacy, outputs=[17])
    with pytest.raises(InvalidInput, match="at least one"):
        sf.design(prior, loss, privacy, outputs=[])
    with pytest.raises(NotSupported, match="exact"):
        sf.design(prior, loss, sf.PrivacyType(sf.line(4), epsilon=1), solver="exact")
    with pytest.raises(InvalidInput, match="a loss"):
        sf.design(prior, np.eye(4), privacy)  # type: ignore[arg-type]
