"""The first-order method on cones: projections, and values and bounds on both sides of the optimum."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from block_programs import lumpy_prior, random_program, spline_program
from sfumato.errors import NotSupported, TooLarge
from sfumato.lp.cone import general_iterate
from sfumato.lp.cone.blocks import BlockProgram, BlockSolution, blocks_bound
from sfumato.lp.cone.general import solve_blocks
from sfumato.lp.cone.program import ColumnProgress, Ending
from sfumato.lp.cone.second_order import inner, smallest
from sfumato.lp.first_order_cones import project, solve_blocks_first_order

torch = pytest.importorskip("torch")


@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_a_projection_is_the_nearest_vector_of_the_cone(d: int, seed: int) -> None:
    """By Moreau: p and p − x are in the cone, and at right angles."""
    x = np.random.default_rng(seed).normal(size=(d, 30))
    x[0] += np.linspace(-3, 3, 30)
    there = torch.tensor(x)
    project(there)
    p = there.numpy()
    assert (smallest(p) >= -1e-12).all()
    assert (smallest(p - x) >= -1e-12).all()
    assert np.abs(inner(p, p - x)).max() < 1e-12


def check(program: BlockProgram, solution: BlockSolution) -> None:
    """A point and duals inside, and numbers that belong to them."""
    assert (solution.matrix >= 0).all()
    assert program.sums @ solution.matrix.sum(axis=1) == pytest.approx(program.totals, rel=1e-9)
    for block, z in zip(program.blocks, solution.duals, strict=True):
        slack = smallest(np.stack([matrix @ solution.matrix for matrix in block]))
        assert (slack > -1e-12 * np.abs(solution.matrix).max()).all()
        assert (smallest(z) >= 0).all()
    assert solution.value == pytest.approx(float((program.cost * solution.matrix).sum()))
    assert solution.bound == blocks_bound(program, solution.duals)


@pytest.mark.parametrize(
    ("program", "tolerance"),
    [
        (spline_program(6, 2, 3.0, 4), 1e-3),
        (spline_program(7, 2, 4.0, 4, lumpy_prior(7)), 1e-2),
        (spline_program(20, 1, 8.0, 15), 1e-3),
        (spline_program(6, 2, 4.0, 5, symmetric=True), 1e-3),
    ],
    ids=["square", "lumpy", "interval", "folded"],
)
def test_splines_reach_their_gap(program: BlockProgram, tolerance: float) -> None:
    seen: list[ColumnProgress] = []
    solution = solve_blocks_first_order(program, tolerance=tolerance, device="cpu", progress=seen.append)
    check(program, solution)
    best = solve_blocks(program, tolerance=1e-7)
    assert solution.ended is Ending.REACHED
    assert best.bound * (1 - 1e-9) <= solution.value <= best.value * (1 + tolerance)
    assert best.value * (1 - tolerance) <= solution.bound <= best.value * (1 + 1e-9)
    assert solution.gap <= tolerance * (1 + 1e-6)
    assert all(a.value >= b.value and a.bound <= b.bound for a, b in pairwise(seen))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_random_cones_lie_on_both_sides_of_the_optimum(seed: int) -> None:
    program = random_program(np.random.default_rng(seed))
    seen: list[ColumnProgress] = []

    def stop(state: ColumnProgress) -> None:
        seen.append(state)
        if state.iteration >= 600:
            raise KeyboardInterrupt

    solution = solve_blocks_first_order(program, tolerance=1e-3, device="cpu", progress=stop)
    check(program, solution)
    best = solve_blocks(program, tolerance=1e-8)
    size = np.abs(program.cost).sum() / program.shape[1]
    assert solution.bound <= best.value + 1e-7 * size
    assert best.bound - 1e-7 * size <= solution.value
    first, last = ((state.value - state.bound) for state in (seen[0], seen[-1]))
    assert last <= max(0.5 * first, 1e-3 * size)


def test_time_ends_with_what_there_is() -> None:
    program = spline_program(6, 2, 3.0, 4)
    solution = solve_blocks_first_order(program, time_limit=0.0, device="cpu")
    check(program, solution)
    assert solution.ended is Ending.TIME
    assert solution.iterations == 0


def test_it_is_used_where_factors_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise TooLarge("factors", 1.0, 0.0)

    program = spline_program(5, 2, 3.0, 3)
    expected = solve_blocks(program, tolerance=1e-5)
    monkeypatch.setattr(general_iterate, "check_memory", refuse)
    found = solve_blocks(program, tolerance=1e-2, device="cpu")
    check(program, found)
    assert found.iterations > 5 * expected.iterations
    assert found.value == pytest.approx(expected.value, rel=1e-2)


def test_programs_it_does_not_know() -> None:
    program = spline_program(4, 1, 3.0, 3)
    uneven = BlockProgram(program.cost, program.blocks, inside=1 + 0.1 * np.cos(np.arange(6)))
    with pytest.raises(NotSupported, match="not a multiple of the totals"):
        solve_blocks_first_order(uneven)
    with pytest.raises(NotSupported, match="device 'tpu'"):
        solve_blocks_first_order(program, device="tpu")
