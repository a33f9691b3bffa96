from __future__ import annotations

import importlib.util
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

import sfumato as sf
from sfumato.design.certified import certified
from sfumato.design.problem import Problem, problem
from sfumato.design.solvers.first_order import solve_first_order
from sfumato.design.solvers.first_order_kernels import FirstOrderProgress, lattice_shape, minimise_columns
from sfumato.design.solvers.linear import solve_with_highs
from sfumato.errors import InvalidInput, Mismatch, MissingExtra, NotSupported
from sfumato.lp.columns import ColumnProgram, column_bound, solve_columns

ROUNDING = 1e-9  # relative: both sides are floats


def on_grid(side: int, metric: str = "manhattan", *, bump: bool = False) -> ColumnProgram:
    space = sf.grid(side, side, metric=metric)
    places = np.array(space.labels, dtype=np.float64)
    prior = np.exp(-((places - 1) ** 2).sum(axis=1)) + 0.02 if bump else np.ones(len(places))
    table = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    first, second = (np.concatenate(ends) for ends in (space.pairs, space.pairs[::-1]))
    logs = np.log(2) * space.distances.floats[first, second]
    return ColumnProgram(prior[:, None] / prior.sum() * table, first, second, logs)


def at_random(seed: int) -> ColumnProgram:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 7)), int(rng.integers(2, 7))
    places = rng.random((n, 2))
    distances = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2)) * rng.choice([0.3, 2.0, 8.0])
    first, second = np.nonzero(~np.eye(n, dtype=bool))
    prior = rng.dirichlet(np.full(n, 0.5))
    prior[rng.integers(n)] = 0.0  # a secret that never occurs still has to be protected
    cost = prior[:, None] * rng.random((n, m)) * rng.choice([1e-3, 1.0, 50.0]) + rng.normal()
    return ColumnProgram(cost, first, second, distances[first, second])


def minimised(program: ColumnProgram, **options: Any) -> Any:
    return minimise_columns(program.cost, program.first, program.second, program.logs, **options)


def check(program: ColumnProgram, found: Any, truth: tuple[float, float], tolerance: float) -> None:
    """The two sides bracket the optimum, are what the two arrays give, and are as close as promised."""
    slack = ROUNDING * max(1.0, float(np.abs(program.cost).sum()))
    assert found.bound <= truth[1] + slack
    assert truth[0] <= found.value + slack
    assert found.ended == "reached"
    assert found.gap <= tolerance
    assert found.value == pytest.approx(float((program.cost * found.matrix).sum()), abs=slack)
    assert found.bound == pytest.approx(column_bound(program, found.multipliers), abs=slack)
    assert np.allclose(found.matrix.sum(axis=1), 1.0)
    decay = np.exp(-program.logs)[:, None]
    assert (decay * found.matrix[program.first] <= found.matrix[program.second] * (1 + 1e-7) + 1e-12).all()


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_against_the_block_method(seed: int) -> None:
    program = at_random(seed)
    exact = solve_columns(program, tolerance=1e-9)
    check(program, minimised(program, tolerance=1e-4), (exact.bound, exact.value), 1e-4)


@pytest.mark.parametrize(
    ("metric", "bump", "tolerance"), [("manhattan", False, 1e-4), ("manhattan", True, 1e-4), ("euclidean", True, 1e-3)]
)
def test_grids_against_the_block_method(metric: str, bump: bool, tolerance: float) -> None:
    program = on_grid(4, metric, bump=bump)
    exact = solve_columns(program, tolerance=1e-8)
    found = minimised(program, tolerance=tolerance, shape=(4, 4))
    check(program, found, (exact.bound, exact.value), tolerance)
    assert found.layout == "shifts"


def test_shifts_do_what_gathers_do() -> None:
    program = on_grid(5, bump=True)
    shape = lattice_shape(25, program.first, program.second)
    assert shape == (5, 5)
    shifted, gathered = (minimised(program, shape=way, most_iterations=60, tolerance=1e-9) for way in (shape, None))
    assert (shifted.layout, gathered.layout) == ("shifts", "gathers")
    assert np.allclose(shifted.matrix, gathered.matrix, atol=1e-12)
    assert np.allclose(shifted.multipliers, gathered.multipliers, atol=1e-12)
    assert shifted.bound == pytest.approx(gathered.bound, rel=1e-10)


def test_an_incomplete_lattice_is_gathered() -> None:
    program = on_grid(3)
    holes = ColumnProgram(program.cost, program.first[1:], program.second[1:], program.logs[1:])
    uneven = ColumnProgram(program.cost, program.first, program.second, program.logs * np.linspace(1, 2, 24))
    for other in (holes, uneven):
        assert minimised(other, shape=(3, 3), tolerance=1e-2).layout == "gathers"
    assert lattice_shape(9, np.array([0]), np.array([4])) is None
    assert lattice_shape(4, np.array([0, 1, 2]), np.array([1, 2, 3])) == (1, 4)


def test_single_precision_reaches_a_thousandth() -> None:
    program = on_grid(5)
    exact = solve_columns(program, tolerance=1e-8)
    found = minimised(program, tolerance=1e-3, dtype=torch.float32, shape=(5, 5))
    assert found.matrix.dtype == np.float32
    assert found.ended == "reached"
    assert exact.value * (1 - 1e-5) <= found.value <= exact.value * (1 + 1e-3)
    assert exact.value * (1 - 1e-3) <= found.bound <= exact.value * (1 + 1e-5)


def test_a_warm_start_helps() -> None:
    program = on_grid(5, bump=True)
    cold = minimised(program, tolerance=1e-4)
    near = ColumnProgram(program.cost * np.linspace(0.99, 1.01, 25)[:, None], program.first, program.second,
                         program.logs)  # fmt: skip
    again, anew = (
        minimised(near, tolerance=1e-3, start=(cold.matrix, cold.multipliers)),
        minimised(near, tolerance=1e-3),
    )
    assert again.ended == anew.ended == "reached"
    assert 3 * again.iterations <= anew.iterations


def test_no_pairs_and_no_choice() -> None:
    free = minimise_columns(
        np.array([[1.0, 2.0], [3.0, 0.0]]), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    )
    assert (free.value, free.bound) == (pytest.approx(1.0), pytest.approx(1.0))
    only = minimise_columns(np.array([[1.0], [3.0]]), np.array([0, 1]), np.array([1, 0]), np.array([1.0, 1.0]))
    assert (only.value, only.ended) == (4.0, "reached")


def test_bounds_far_beyond_and_far_below() -> None:
    for logs in (800.0, 1e-9):
        program = ColumnProgram([[0, 1, 2], [1, 0, 1], [2, 1, 0]], [0, 1, 1, 2], [1, 0, 2, 1], np.full(4, logs))
        found = minimised(program, tolerance=1e-3, time_limit=5)
        optimum = 0.0 if logs > 1 else 2.0
        assert found.bound - 1e-6 <= optimum <= found.value + 1e-6
        assert found.value == pytest.approx(optimum, abs=5e-3)


@pytest.fixture(scope="module")
def asked() -> Problem:
    space = sf.grid(4, 4, metric="manhattan")
    return problem(sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, alpha="1/2"))


def test_the_answer_is_certified(asked: Problem) -> None:
    answer = solve_first_order(asked, 1e-4, None, device="cpu")
    assert answer.finished
    assert answer.method == "first order (cpu)"
    made = certified(asked, answer, 2e-4, {})
    assert made.proof.loss is not None
    assert made.proof.bound is not None
    assert float((made.proof.loss - made.proof.bound) / made.proof.loss) <= 2e-4
    truth = float((solve_with_highs(asked, 1e-4, None).matrix * asked.float_cost).sum())
    assert float(made.proof.bound) <= truth + ROUNDING
    assert truth <= float(made.proof.loss) + ROUNDING


def test_time_limit_and_interrupt_keep_the_best(asked: Problem) -> None:
    short = solve_first_order(asked, 1e-12, None, 0.2, device="cpu")
    assert not short.finished
    assert short.seconds < 5
    seen: list[FirstOrderProgress] = []

    def stop(state: FirstOrderProgress) -> None:
        seen.append(state)
        if len(seen) == 8:
            raise KeyboardInterrupt

    answer = solve_first_order(asked, 1e-12, stop, device="cpu")
    assert not answer.finished
    assert len(seen) == 8
    assert all(a.gap >= b.gap and a.seconds <= b.seconds for a, b in pairwise(seen))
    assert float((answer.matrix * asked.float_cost).sum()) == pytest.approx(seen[-1].value)
    mechanism = certified(asked, answer, 1e-2, {})
    assert mechanism.proof.loss is not None
    assert float(mechanism.proof.loss) == pytest.approx(seen[-1].value, rel=1e-6)


def test_bad_input(asked: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="positive relative gap"):
        solve_first_order(asked, 0.0, None)
    with pytest.raises(InvalidInput, match="number of seconds"):
        solve_first_order(asked, 1e-2, None, -1.0)
    with pytest.raises(NotSupported, match="device 'tpu'"):
        solve_first_order(asked, 1e-2, None, device="tpu")
    with pytest.raises(NotSupported, match="precision 'half'"):
        solve_first_order(asked, 1e-2, None, device="cpu", precision="half")
    with pytest.raises(Mismatch, match="16 rows and 16 columns"):
        solve_first_order(asked, 1e-2, None, device="cpu", start=(np.ones((2, 2)), None))
    with pytest.raises(InvalidInput, match="finite"):
        solve_first_order(asked, 1e-2, None, device="cpu", start=(np.full((16, 16), np.nan), None))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(NotSupported, match="no GPU"):
        solve_first_order(asked, 1e-2, None, device="cuda")
    monkeypatch.setattr("sfumato.design.solvers.first_order.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"sfumato\[gpu\]"):
        solve_first_order(asked, 1e-2, None)
    assert importlib.util.find_spec("torch") is not None
