"""The interior-point method for rows and cones: known optima, the linear methods, and what it promises at any time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

from block_programs import lumpy_prior, random_duals, random_program, spline_program
from sfumato.errors import InvalidInput, NotConverged
from sfumato.lp.cone.blocks import BlockProgram, blocks_bound, of_columns
from sfumato.lp.cone.general import solve_blocks
from sfumato.lp.cone.general_iterate import BlockIterate
from sfumato.lp.cone.lanes import solve_columns
from sfumato.lp.cone.program import ColumnProgram, ColumnProgress, Ending
from sfumato.lp.cone.second_order import smallest
from sfumato.watch import Watch


@st.composite
def pairs(draw: Any) -> ColumnProgram:
    """Points in the plane with all pairs or some, rows of zeros, m ≠ n, any classes."""
    n, m = draw(st.integers(1, 7)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    places = rng.random((n, 2)) * 10.0 ** draw(st.floats(-1, 1))
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    share = draw(st.sampled_from([0.0, 0.3, 1.0]))
    first, second = np.nonzero(~np.eye(n, dtype=bool) & (rng.random((n, n)) <= share))
    cost = rng.normal(size=(n, m))
    cost[0] *= draw(st.sampled_from([0.0, 1.0]))
    classes = None
    if draw(st.booleans()):
        classes = np.unique(rng.integers(draw(st.integers(1, n)), size=n), return_inverse=True)[1]
    return ColumnProgram(cost, first, second, np.maximum(distances[first, second], 1e-3), classes)


@given(pairs())
@settings(max_examples=60)
def test_on_pairs_it_agrees_with_the_linear_method(program: ColumnProgram) -> None:
    solution = solve_blocks(of_columns(program), tolerance=1e-8)
    expected = solve_columns(program, tolerance=1e-8)
    size = np.abs(program.cost).sum() / program.shape[1]
    assert solution.value == pytest.approx(expected.value, rel=1e-6, abs=1e-6 * size)
    assert solution.bound == pytest.approx(expected.value, rel=1e-6, abs=1e-6 * size)


@given(pairs())
@settings(max_examples=60)
def test_columns_that_vanish_are_left_out_and_the_others_are_best(program: ColumnProgram) -> None:
    blocks = of_columns(program)
    solution = solve_blocks(blocks, tolerance=1e-8, vanishing=0.5)
    left = blocks.restricted(solution.columns)
    check(left, solution)
    expected = solve_blocks(left, tolerance=1e-8)
    size = np.abs(program.cost).sum() / program.shape[1]
    assert solution.value == pytest.approx(expected.value, rel=1e-6, abs=1e-6 * size)
    assert solution.bound == pytest.approx(expected.value, rel=1e-6, abs=1e-6 * size)


def test_where_people_live_in_a_few_places_most_columns_vanish() -> None:
    places = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    masses = np.exp(-3 * apart[:, [20, 60]]).sum(axis=1)
    one, other = np.nonzero((apart > 0) & (apart < 1.5))
    program = ColumnProgram((masses / masses.sum())[:, None] * apart, one, other, 0.8 * apart[one, other])
    every = solve_blocks(of_columns(program), tolerance=1e-4)
    some = solve_blocks(of_columns(program), tolerance=1e-4, vanishing=0.5)
    assert len(every.columns) == 81 and len(some.columns) < 40
    assert some.value == pytest.approx(every.value, rel=1e-3)


def check(program: BlockProgram, solution: Any) -> None:
    """A point inside, duals inside, and numbers that belong to them."""
    for block, z in zip(program.blocks, solution.duals, strict=True):
        slack = smallest(np.stack([matrix @ solution.matrix for matrix in block]))
        assert (slack > -1e-15 * np.abs(solution.matrix).max()).all()
        assert (smallest(z) >= 0).all()
    assert (solution.matrix > 0).all()
    assert program.sums @ solution.matrix.sum(axis=1) == pytest.approx(program.totals, rel=1e-9)
    assert solution.value == pytest.approx(float((program.cost * solution.matrix).sum()))
    assert solution.bound == pytest.approx(blocks_bound(program, solution.duals), rel=1e-9, abs=1e-12)


def test_two_secrets_in_a_cone_have_a_closed_form() -> None:
    """|r₀ − r₁| ≤ a (r₀ + r₁) allows a likelihood of (1 + a)/(1 − a) to one."""
    for a in (0.1, 0.5, 0.9):
        program = BlockProgram([[0, 1], [1, 0]], [([[a, a]], [[1, -1]])])
        solution = solve_blocks(program, tolerance=1e-9)
        check(program, solution)
        assert solution.value == pytest.approx(1 - a, rel=1e-7)
        assert solution.ended is Ending.REACHED


def test_three_forms_have_a_closed_form() -> None:
    """One column with entries on a disc around the third: the least of a linear form is known."""
    rng = np.random.default_rng(2)
    cost = rng.normal(size=(3, 1))
    # ‖(r₀ − r₂, r₁ − r₂)‖ ≤ r₂/2 and r₀ + r₁ + r₂ = 3 in one class
    block = ([[0, 0, 0.5]], [[1, 0, -1]], [[0, 1, -1]])
    program = BlockProgram(cost, [block], [[1, 1, 1]], [3])
    solution = solve_blocks(program, tolerance=1e-9)
    check(program, solution)
    angles = np.linspace(0, 2 * np.pi, 100_001)
    rays = np.stack([1 + np.cos(angles) / 2, 1 + np.sin(angles) / 2, np.ones_like(angles)])
    assert solution.value == pytest.approx((3 * (cost[:, 0] @ rays) / rays.sum(axis=0)).min(), rel=1e-6)


@pytest.mark.parametrize("axes", [1, 2])
def test_a_spline_reaches_its_gap_with_sums_kept(axes: int) -> None:
    program = spline_program(6, axes, 3.0, 4)
    seen: list[ColumnProgress] = []
    solution = solve_blocks(program, tolerance=1e-7, progress=seen.append)
    check(program, solution)
    assert solution.gap <= 1e-7
    assert solution.ended is Ending.REACHED
    assert [each.iteration for each in seen] == list(range(1, solution.iterations + 1))
    assert all(a.bound <= b.bound and a.value >= b.value for a, b in pairwise(seen))
    assert solution.iterations <= 30


@pytest.mark.parametrize(
    ("rate", "cells", "outputs", "value"),
    [(8.0, 8, 8, 0.20750), (8.0, 12, 9, 0.20048), (8.0, 16, 9, 0.19722), (4.0, 8, 8, 0.29157), (4.0, 12, 9, 0.28838)],
)
def test_uniform_squares_lose_what_a_general_solver_found(rate: float, cells: int, outputs: int, value: float) -> None:
    program = spline_program(cells, 2, rate, outputs, symmetric=True)
    solution = solve_blocks(program, tolerance=1e-5)
    check(program, solution)
    assert solution.bound - 1e-5 <= value <= solution.value + 1e-5
    assert solution.gap <= 1e-5


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_random_cones_and_duals(seed: int) -> None:
    """The optimum lies between all bounds and all points, and the run brings the two together."""
    rng = np.random.default_rng(seed)
    program = random_program(rng)
    solution = solve_blocks(program, tolerance=1e-7)
    check(program, solution)
    assert solution.gap <= 1e-6
    assert blocks_bound(program, random_duals(program, rng)) <= solution.value + 1e-9
    assert solution.value <= float((program.cost @ rng.dirichlet(np.ones(program.shape[1]))).sum()) + 1e-9


def test_symmetry_changes_nothing() -> None:
    full, folded = (solve_blocks(spline_program(6, 2, 4.0, 5, symmetric=s), tolerance=1e-7) for s in (False, True))
    assert folded.matrix.shape[1] == 6
    assert folded.value == pytest.approx(full.value, rel=1e-6)


def test_many_columns_on_threads_give_what_few_do() -> None:
    """Columns that are there twice cost the same; the larger program has several strips."""
    program = spline_program(9, 2, 4.0, 6, lumpy_prior(9))
    twice = BlockProgram(np.tile(program.cost, 2), program.blocks)
    assert len(BlockIterate(twice, Watch()).strips) > 1
    one, other = (solve_blocks(each, tolerance=1e-6).value for each in (program, twice))
    assert one == pytest.approx(other, rel=1e-5)


def test_a_start_that_does_not_have_the_sums_gets_there() -> None:
    program = spline_program(5, 1, 2.0, 4)
    inside = 1 + 0.1 * np.cos(np.arange(7))
    other = BlockProgram(program.cost, program.blocks, inside=inside)
    assert solve_blocks(other, tolerance=1e-7).value == pytest.approx(solve_blocks(program, tolerance=1e-7).value)


def test_sums_that_no_point_has_are_not_called_solved() -> None:
    program = BlockProgram([[0, 1], [1, 0]], [([[0.5, 0.5]], [[1, -1]])], totals=[1, 9])
    with pytest.raises(NotConverged, match="sums are still off"):
        solve_blocks(program)


def test_time_and_interrupts_end_with_what_there_is() -> None:
    program = spline_program(6, 2, 3.0, 4)
    none = solve_blocks(program, time_limit=0.0)
    assert none.ended is Ending.TIME
    assert none.iterations == 0
    check(program, none)

    def stop(progress: ColumnProgress) -> None:
        if progress.iteration == 4:
            raise KeyboardInterrupt

    some = solve_blocks(program, tolerance=1e-9, progress=stop)
    assert some.ended is Ending.INTERRUPTED
    assert some.iterations == 4
    check(program, some)
    assert some.bound < some.value < none.value


def test_costs_without_a_choice() -> None:
    solution = solve_blocks(BlockProgram(np.zeros((3, 2)), []))
    assert abs(solution.value) < 1e-12
    assert -1e-3 < solution.bound <= 0
    single = solve_blocks(BlockProgram(np.array([[1.0], [2.0]]), [([[3, -1], [-1, 3]],)]), tolerance=1e-8)
    assert single.value == pytest.approx(3)


def test_scale_of_costs_and_order_of_rows_do_not_matter() -> None:
    program = spline_program(6, 1, 3.0, 4, prior=np.arange(1, 7) / 21)
    base = solve_blocks(program, tolerance=1e-8).value
    order = np.random.default_rng(1).permutation(8)
    blocks = [tuple(csr_array(matrix[:, order]) for matrix in block) for block in program.blocks]
    moved = BlockProgram(1e6 * program.cost[order] - 5.0, blocks)
    assert solve_blocks(moved, tolerance=1e-8).value == pytest.approx(1e6 * base - 5.0 * 8, rel=1e-6)


def test_bad_arguments() -> None:
    with pytest.raises(InvalidInput, match="tolerance"):
        solve_blocks(BlockProgram([[0, 1], [1, 0]], []), tolerance=0)
    with pytest.raises(InvalidInput, match="BlockProgram"):
        solve_blocks([[0, 1]])  # type: ignore[arg-type]


def test_offsets_move_the_cones_of_each_column() -> None:
    """Linear rows with numbers added to them, different ones for each column, beside a general solver."""
    rng = np.random.default_rng(3)
    cost, rows, start = rng.random((4, 5)), rng.normal(size=(6, 4)), np.full((4, 5), 0.2)
    offsets = 0.05 + rng.random((1, 6, 5)) - (rows @ start)[None]
    program = BlockProgram(cost, ((rows,),), inside=start, offsets=(offsets,))
    solution = solve_blocks(program, tolerance=1e-7)
    kept = np.kron(rows, np.eye(5))
    best = linprog(cost.ravel(), -kept, offsets.ravel(), np.kron(np.eye(4), np.ones(5)), np.ones(4)).fun
    assert solution.value == pytest.approx(best, abs=1e-6) and solution.bound <= best + 1e-9
    assert ((rows @ solution.matrix + offsets[0]) >= 0).all()
    with pytest.raises(InvalidInput, match="offsets have the shapes"):
        BlockProgram(cost, ((rows,),), inside=start, offsets=(offsets[:, 1:],))
    with pytest.raises(InvalidInput, match="each need one to start with"):
        BlockProgram(cost, ((rows,),), offsets=(offsets,))
