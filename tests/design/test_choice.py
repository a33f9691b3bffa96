"""Which solver is chosen, who helps, and what the records say; the old names of solvers are understood."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.design import choice
from sfumato.design.choice import accepting, choose, quick_try, successor, with_less_memory
from sfumato.design.objectives import as_objective
from sfumato.design.problem import Problem, problem
from sfumato.design.solvers import SOLVERS, registry, solver_name
from sfumato.errors import NotSupported


def towns(n: int, seed: int = 0, epsilon: float = 6.0) -> tuple[sf.Prior, sf.Loss, sf.PrivacyType]:
    """Places with weights that differ by a factor of a thousand."""
    rng = np.random.default_rng(seed)
    space = sf.points(rng.random((n, 2)).tolist())
    prior = sf.Prior(space, (weights := 10 ** rng.uniform(-3, 0, n)) / weights.sum())
    return prior, sf.losses.distance(space), sf.PrivacyType(space, epsilon=epsilon)


def kinds() -> dict[str, Problem]:
    """One problem of each kind that some solver does not take."""
    prior, loss, privacy = towns(4)
    weaker = sf.predicates.epsilon_delta(alpha="1/2", delta="1/10")
    line = sf.line(3)
    return {
        "plain": problem(prior, loss, privacy),
        "limits": problem(None, loss, privacy, objective=as_objective("worst secret")),
        "events": problem(prior, loss, None, under=weaker),
        "rational": problem(sf.Prior.uniform(line), sf.losses.absolute(line), sf.PrivacyType(line, alpha="1/2")),
    }


REFUSED = {
    "plain": {"exact"},
    "limits": {"exact", "interior-near", "column-generation", "first-order"},
    "events": {*SOLVERS} - {"highs"},
    "rational": set(),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_who_accepts_what_is_asked_of_the_records(kind: str) -> None:
    question = kinds()[kind]
    refused = {name for name, solver in SOLVERS.items() if not solver.accepts(question)}
    assert refused == REFUSED[kind]
    assert choose(question).name not in refused
    for name in sorted(refused):
        with pytest.raises(NotSupported, match=f"solver '{name}' for .* is not supported; auto[, ]") as error:
            SOLVERS[name](question, 1e-3)
        assert error.value.supported == ("auto", *(other for other in SOLVERS if other not in refused))
        assert accepting(question, SOLVERS[name]).name not in refused


def test_every_record_stands_under_its_name() -> None:
    assert all(solver.name == name and solver.summary for name, solver in SOLVERS.items())


def test_a_solver_is_asked_for_by_its_name() -> None:
    assert solver_name("interior") == "interior"
    with pytest.raises(NotSupported, match=r"solver 'simplex' is not supported; auto, exact"):
        solver_name("simplex")


def test_who_helps() -> None:
    plain, limits = kinds()["plain"], kinds()["limits"]
    interior, near = SOLVERS["interior"], SOLVERS["interior-near"]
    assert with_less_memory(plain, interior) is near and with_less_memory(plain, near) is SOLVERS["first-order"]
    assert with_less_memory(limits, interior) is None and with_less_memory(plain, SOLVERS["highs"]) is None
    assert successor(plain, interior) is SOLVERS["column-generation"] and successor(limits, interior) is None
    assert successor(plain, near) is interior and successor(plain, SOLVERS["first-order"]) is None
    assert quick_try(plain, interior) is SOLVERS["highs"] and quick_try(plain, SOLVERS["highs"]) is None


def test_streams_are_preferred_on_a_gpu_and_need_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, on_a_gpu, near = kinds()["plain"], SOLVERS["interior-gpu"], SOLVERS["interior-near"]
    with monkeypatch.context() as patch:
        patch.setattr(choice, "gpu_is_there", lambda: True)
        assert with_less_memory(plain, on_a_gpu) is SOLVERS["first-order"]
    monkeypatch.setattr(registry, "find_spec", lambda _: None)
    assert [name for name, solver in SOLVERS.items() if not solver.installed] == ["first-order"]
    assert with_less_memory(plain, on_a_gpu) is near and with_less_memory(plain, near) is None


def test_ties_are_broken_by_a_solver_that_takes_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "_NEAR_SECRETS", 1)
    monkeypatch.setattr(choice, "_NEAR_SHARE", 1.0)
    prior, loss, privacy = towns(12, epsilon=20.0)
    objective = sf.objectives.expected(then="worst secret")
    assert choose(problem(prior, loss, privacy, objective=objective)) is SOLVERS["interior-near"]
    design = sf.design(prior, loss, privacy, objective=objective, tolerance=1e-2)
    assert design.second is not None and design.gap <= 1e-2


def test_near_actions_are_looked_at_where_they_are_few() -> None:
    few, many = towns(160, epsilon=60.0), towns(160, epsilon=6.0)
    assert choose(problem(*few)) is SOLVERS["interior-near"]
    assert choose(problem(*many)) is not SOLVERS["interior-near"]
    made = sf.design(*few, tolerance=1e-3)
    assert made.method.startswith("interior point at peaks")
    assert made.gap <= 1e-3


def test_symmetries_are_left_to_the_method_for_all_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    space = sf.points([[k % 13, k // 13] for k in range(169)])
    privacy, loss = sf.PrivacyType(space, epsilon=1), sf.losses.distance(space)
    uneven = sf.Prior.from_counts(range(1, 170), space)
    monkeypatch.setattr(choice, "_NEAR_SHARE", 0.0)
    assert choose(problem(uneven, loss, privacy)) is SOLVERS["interior-near"]
    assert choose(problem(sf.Prior.uniform(space), loss, privacy)) is SOLVERS["interior"]


@pytest.mark.parametrize(("outputs", "solver"), [(20, "interior-gpu"), (2025, "first-order")])
def test_a_gpu_streams_where_there_are_many_outputs(monkeypatch: pytest.MonkeyPatch, outputs: int, solver: str) -> None:
    space = sf.grid(45, 45, metric="manhattan")
    rows = np.abs(np.arange(outputs)[:, None] - np.arange(2025.0))
    asked = problem(sf.Prior.uniform(space), sf.Loss(range(outputs), space, rows), sf.PrivacyType(space, epsilon=1))
    monkeypatch.setattr(choice, "gpu_is_there", lambda: True)
    assert choose(asked) is SOLVERS[solver]


def test_all_actions_are_looked_at_where_near_ones_miss_the_aim(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = towns(30, epsilon=20.0)
    near = SOLVERS["interior-near"]
    monkeypatch.setattr(choice, "_NEAR_SECRETS", 1)
    monkeypatch.setattr(choice, "_NEAR_SHARE", 1.0)
    rough = replace(near, solve=lambda asked, target, *rest: near.solve(asked, 0.3, *rest))
    monkeypatch.setitem(SOLVERS, "interior-near", rough)
    made = sf.design(*asked)
    assert made.gap <= 1e-4
    assert made.method.startswith("block")
