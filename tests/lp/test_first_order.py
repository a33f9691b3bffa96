"""The first-order method beside the block method on the same programs, and what it promises at any time."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import InvalidInput, Mismatch, MissingExtra, NotSupported
from sfumato.lp import first_order
from sfumato.lp.cone.arrays import solve_batched
from sfumato.lp.cone.program import ColumnProgram, ColumnProgress, ColumnSolution, Ending, Limit, column_bound
from sfumato.lp.first_order import solve_first_order
from sfumato.lp.first_order_iteration import Iteration
from sfumato.lp.first_order_start import beginning, worth_moving
from sfumato.lp.first_order_support import Closure, Support, lattice_shape

ROUNDING = 1e-9  # relative: both sides are floats


@st.composite
def programs(draw: Any) -> ColumnProgram:
    """Points in the plane with all pairs or some, rows of zeros, m ≠ n, any classes."""
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    places = rng.random((n, 2)) * draw(st.sampled_from([0.3, 2.0, 8.0]))
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    share = draw(st.sampled_from([0.0, 0.5, 1.0]))
    first, second = np.nonzero(~np.eye(n, dtype=bool) & (rng.random((n, n)) <= share))
    cost = rng.random((n, m)) * rng.dirichlet(np.full(n, 0.5))[:, None] * draw(st.sampled_from([1e-3, 50.0]))
    if draw(st.booleans()):
        cost[rng.integers(n)] = 0.0  # a secret that never occurs still has to be protected
    classes = None
    if draw(st.booleans()):
        classes = np.unique(rng.integers(draw(st.integers(1, n)), size=n), return_inverse=True)[1]
    return ColumnProgram(cost + draw(st.sampled_from([0.0, -0.1])), first, second, distances[first, second], classes)


def on_grid(side: int, *, bump: bool = False, rate: float = np.log(2)) -> ColumnProgram:
    """Neighbours of a square grid, loss = Euclidean distance."""
    cells = np.arange(side * side).reshape(side, side)
    low = np.concatenate([cells[:-1].ravel(), cells[:, :-1].ravel()])
    high = np.concatenate([cells[1:].ravel(), cells[:, 1:].ravel()])
    i, j = np.divmod(np.arange(side * side), side)
    prior = np.exp(-((i - 1) ** 2) - (j - 1) ** 2) + 0.02 if bump else np.ones(side * side)
    table = np.hypot(i[:, None] - i, j[:, None] - j) * prior[:, None] / prior.sum()
    return ColumnProgram(table, np.append(low, high), np.append(high, low), np.full(2 * len(low), rate))


def assert_near(program: ColumnProgram, found: ColumnSolution, truth: ColumnSolution, tolerance: float) -> None:
    """The two sides bracket the optimum, are what the two arrays give, and are as close as promised."""
    slack = ROUNDING * max(1.0, float(np.abs(program.cost).sum()))
    assert found.bound <= truth.value + slack
    assert truth.bound <= found.value + slack
    assert found.ended is Ending.REACHED
    assert found.gap <= tolerance
    assert found.value == pytest.approx(float((program.cost * found.matrix).sum()), abs=slack)
    assert found.bound == pytest.approx(column_bound(program, found.multipliers), abs=slack)
    sums = np.bincount(program.row_classes, found.matrix.sum(axis=1))
    assert np.allclose(sums, program.sizes, rtol=1e-12)
    assert (found.matrix >= 0).all()
    held = np.exp(-program.logs)[:, None] * found.matrix[program.first]
    assert (held <= found.matrix[program.second] * (1 + 1e-10) + 1e-300).all()


@settings(max_examples=12)
@given(programs())
def test_random_programs_beside_the_block_method(program: ColumnProgram) -> None:
    exact = solve_batched(program, tolerance=1e-8)
    assert_near(program, solve_first_order(program, tolerance=1e-3, device="cpu"), exact, 1e-3)


@pytest.mark.parametrize(("bump", "tolerance"), [(False, 1e-6), (True, 1e-3)])
def test_grids_beside_the_block_method(bump: bool, tolerance: float) -> None:
    program = on_grid(4, bump=bump)
    exact = solve_batched(program, tolerance=1e-8)
    assert_near(program, solve_first_order(program, tolerance=tolerance, device="cpu"), exact, tolerance)


def test_entries_left_out_cost_next_to_nothing() -> None:
    program = on_grid(8, rate=np.log(20))
    method = Iteration(program, 1e-3, "cpu")
    assert method.support.count < 0.8 * 64 * 64
    assert method.best_value < np.inf
    exact = solve_batched(program, tolerance=1e-7)
    assert_near(program, solve_first_order(program, tolerance=1e-3, device="cpu"), exact, 1e-3)


def test_the_beginning_is_a_point_and_nearly_optimal() -> None:
    program = on_grid(7)
    begun = beginning(program, torch.tensor(program.cost), Closure(program, "cpu"))
    matrix = begun.matrix.numpy()
    assert np.allclose(matrix.sum(axis=1), 1.0)
    assert (np.exp(-program.logs)[:, None] * matrix[program.first] <= matrix[program.second] * (1 + 1e-12)).all()
    value, best = float((program.cost * matrix).sum()), solve_batched(program, tolerance=1e-7).value
    assert best * (1 - 1e-6) <= value <= best * 1.001
    assert float(begun.prices.sum()) == pytest.approx(value)


def test_a_star_has_no_such_beginning_and_is_solved_all_the_same() -> None:
    leaves = np.arange(1, 6)
    first, second = np.append(leaves, np.zeros(5, int)), np.append(np.zeros(5, int), leaves)
    program = ColumnProgram(1.0 - np.eye(6), first, second, np.full(10, np.log(2)))
    assert beginning(program, torch.tensor(program.cost), Closure(program, "cpu")).matrix is None
    exact = solve_batched(program, tolerance=1e-8)
    assert_near(program, solve_first_order(program, tolerance=1e-4, device="cpu"), exact, 1e-4)


def test_classes_give_what_the_whole_gives() -> None:
    whole = on_grid(6)
    where = np.arange(36).reshape(6, 6)
    images = [np.rot90(flip, turns).ravel() for flip in (where, where.T) for turns in range(4)]
    leaders, orbits = np.unique(np.min(images, axis=0), return_inverse=True)
    folded = ColumnProgram(whole.cost[:, leaders], whole.first, whole.second, whole.logs, orbits)
    found, plain = (solve_first_order(program, tolerance=1e-5, device="cpu") for program in (folded, whole))
    assert_near(folded, found, plain, 1e-5)
    assert found.value == pytest.approx(plain.value, rel=2e-5)


def test_the_adjoint_is_the_transpose_of_taking_differences() -> None:
    program = on_grid(4, bump=True)
    inside = torch.tensor(np.random.default_rng(1).random((16, 16)) < 0.7)
    support = Support(program, inside)
    rng = torch.Generator().manual_seed(3)
    field = torch.rand(support.count + 1, generator=rng, dtype=torch.float64)
    z = torch.rand(support.after.shape, generator=rng, dtype=torch.float64) * support.real
    field[-1] = 0.0
    left, right = (z * support.differences(field)).sum(), (support.adjoint(z) * field).sum()
    assert float(left) == pytest.approx(float(right))
    table = support.multipliers(z, 1.0, len(program.first))
    assert np.count_nonzero(table) == int(support.real.sum())
    both = inside.numpy()[program.first] & inside.numpy()[program.second]
    assert ((table > 0) == both).all()


def test_lattices_close_like_graphs() -> None:
    program = on_grid(5)
    rough = torch.tensor(np.random.default_rng(4).random((25, 3)) ** 8)
    one, other = rough.clone(), rough.clone()
    Closure(program, "cpu").close(one)
    general = Closure(program, "cpu")
    general.lattice = None
    general.close(other)
    assert torch.allclose(one, other, rtol=1e-12)
    assert bool((one >= rough).all())


def test_what_is_no_lattice() -> None:
    program = on_grid(3)
    assert lattice_shape(program) == (3, 3)
    uneven = ColumnProgram(program.cost, program.first, program.second, program.logs * np.linspace(1, 2, 24))
    twice = ColumnProgram(program.cost, np.append(program.first[:-1], 0), np.append(program.second[:-1], 1),
                          program.logs)  # fmt: skip
    assert lattice_shape(uneven) is None
    assert lattice_shape(twice) is None
    line = ColumnProgram(np.ones((4, 2)), [0, 1, 2, 1, 2, 3], [1, 2, 3, 0, 1, 2], np.ones(6))
    assert lattice_shape(line) == (1, 4)


def test_every_row_keeps_an_entry() -> None:
    i, j = np.divmod(np.arange(81), 9)
    program = on_grid(9, rate=2.0)
    few = ColumnProgram(np.hypot(i[:, None] - [0, 8], j[:, None] - [0, 8]), program.first, program.second, program.logs)
    cost = torch.tensor(few.cost - few.cost.min(axis=1, keepdims=True))
    inside = worth_moving(few, cost, beginning(few, cost, Closure(few, "cpu")), 1e-2)
    assert bool(inside.any(1).all())
    assert_near(few, solve_first_order(few, tolerance=1e-3, device="cpu"), solve_batched(few, tolerance=1e-7), 1e-3)


def test_a_warm_start_helps() -> None:
    program = on_grid(4, bump=True)
    cold = solve_first_order(program, tolerance=1e-3, device="cpu")
    near = ColumnProgram(
        program.cost * np.linspace(0.99, 1.01, 16)[:, None], program.first, program.second, program.logs
    )
    again = solve_first_order(near, tolerance=3e-3, device="cpu", start=(cold.matrix, cold.multipliers))
    anew = solve_first_order(near, tolerance=3e-3, device="cpu")
    assert again.ended is anew.ended is Ending.REACHED
    assert 3 * again.iterations <= anew.iterations


def test_no_pairs_and_no_choice() -> None:
    free = solve_first_order(ColumnProgram([[1.0, 2.0], [3.0, 0.0]], [], [], []), device="cpu")
    assert (free.value, free.bound) == (pytest.approx(1.0), pytest.approx(1.0))
    only = solve_first_order(ColumnProgram([[1.0], [3.0]], [0, 1], [1, 0], [1.0, 1.0]), device="cpu")
    assert (only.value, only.bound, only.ended) == (4.0, 4.0, Ending.REACHED)


@pytest.mark.parametrize(("logs", "optimum"), [(800.0, 0.0), (1e-9, 2.0)])
def test_bounds_far_beyond_and_far_below(logs: float, optimum: float) -> None:
    program = ColumnProgram([[0, 1, 2], [1, 0, 1], [2, 1, 0]], [0, 1, 1, 2], [1, 0, 2, 1], np.full(4, logs))
    found = solve_first_order(program, tolerance=1e-3, time_limit=5, device="cpu")
    assert found.bound - 1e-6 <= optimum <= found.value + 1e-6
    assert found.value == pytest.approx(optimum, abs=5e-3)


def test_time_limit_and_interrupt_keep_the_best() -> None:
    program = on_grid(5, bump=True)
    short = solve_first_order(program, tolerance=1e-12, time_limit=0.2, device="cpu")
    assert short.ended is Ending.TIME
    assert short.seconds < 5
    seen: list[ColumnProgress] = []

    def stop(state: ColumnProgress) -> None:
        seen.append(state)
        if len(seen) == 8:
            raise KeyboardInterrupt

    found = solve_first_order(program, tolerance=1e-12, progress=stop, device="cpu")
    assert found.ended is Ending.INTERRUPTED
    assert len(seen) == 8
    assert seen[0].iteration == 0
    assert all(a.gap >= b.gap and a.seconds <= b.seconds for a, b in pairwise(seen))
    assert float((found.matrix * program.cost).sum()) == pytest.approx(seen[-1].value)
    assert column_bound(program, found.multipliers) == pytest.approx(seen[-1].bound)


def test_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    program = on_grid(2)
    with pytest.raises(InvalidInput, match="positive relative gap"):
        solve_first_order(program, tolerance=0.0)
    with pytest.raises(InvalidInput, match="number of seconds"):
        solve_first_order(program, time_limit=-1.0)
    with pytest.raises(NotSupported, match="device 'tpu'"):
        solve_first_order(program, device="tpu")
    with pytest.raises(Mismatch, match="4 rows and 4 columns"):
        solve_first_order(program, device="cpu", start=(np.ones((2, 2)), None))
    with pytest.raises(InvalidInput, match="finite"):
        solve_first_order(program, device="cpu", start=(np.full((4, 4), np.nan), None))
    limit = Limit(np.ones((4, 4)), np.zeros(4, dtype=np.int64), np.ones(1))
    limited = ColumnProgram(program.cost, program.first, program.second, program.logs, limits=(limit,))
    with pytest.raises(NotSupported, match="limits"):
        solve_first_order(limited)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(NotSupported, match="no GPU"):
        solve_first_order(program, device="cuda")
    monkeypatch.setattr(first_order, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"sfumato\[gpu\]"):
        solve_first_order(program)


def test_everything_loads_without_torch() -> None:
    code = (
        "import importlib.util as u, sys; real = u.find_spec;"
        "u.find_spec = lambda name, package=None: None if name == 'torch' else real(name, package);"
        "import sfumato.lp.first_order_iteration, sfumato.design.solvers.registry;"
        "assert 'torch' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
