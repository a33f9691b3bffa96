"""The interior-point method for rows and cones: known optima, the linear methods, and what it promises at any time.

The block method over arrays, in NumPy and in torch on a processor: the same optima as strip by strip.
"""

from __future__ import annotations

from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

from block_programs import lumpy_prior, random_duals, random_program, spline_program
from sfumato.errors import InvalidInput, NotConverged, NotSupported, TooLarge
from sfumato.lp.cone import general
from sfumato.lp.cone.arrays_backend import arrays_on
from sfumato.lp.cone.arrays_tridiagonal import Tridiagonal, block_rows
from sfumato.lp.cone.blocks import BlockProgram, BlockSolution, blocks_bound, of_columns
from sfumato.lp.cone.general import ArraysBlockIterate, solve_blocks, solve_with
from sfumato.lp.cone.general_iterate import BlockIterate
from sfumato.lp.cone.lanes import solve_columns
from sfumato.lp.cone.program import ColumnProgram, ColumnProgress, Ending
from sfumato.lp.cone.run import Run
from sfumato.lp.cone.second_order import smallest
from sfumato.watch import Watch

DEVICES = [None, pytest.param("cpu", marks=pytest.mark.skipif(find_spec("torch") is None, reason="needs torch"))]


def solved(program: BlockProgram, device: str | None, tolerance: float, strip: int | None = None) -> BlockSolution:
    """By the method over arrays; with temporary arrays of ``strip`` bytes at most, where it is given."""
    arrays = arrays_on(device)
    arrays.chunk = strip or arrays.chunk
    return solve_with(ArraysBlockIterate(program, Watch(), arrays), program, Run(Watch(), 400), tolerance)


@st.composite
def systems(draw: Any) -> tuple[Any, Any, Any]:
    """Where lower triangles have entries, and positive definite matrices of very different sizes, one a column."""
    n, columns = draw(st.integers(1, 70)), draw(st.integers(1, 4))
    width = draw(st.integers(0, n - 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, others = np.nonzero(np.tril(np.triu(np.ones((n, n)), -width)))
    lower = np.zeros((columns, n, n))
    lower[:, rows, others] = rng.normal(size=(columns, len(rows))) / (1 + width) ** 0.5
    lower[:, np.arange(n), np.arange(n)] = 1.0 + rng.random((columns, n))
    scale = 10.0 ** rng.uniform(-2, 2, (columns, n))
    return rows, others, (lower @ lower.mT) * scale[:, None] * scale[:, :, None]


@pytest.mark.parametrize("device", DEVICES)
@given(case=systems())
@settings(max_examples=25)
def test_solutions_and_the_sum_of_inverses(device: str | None, case: Any) -> None:
    rows, others, matrices = case
    columns, n, _ = matrices.shape
    arrays = arrays_on(device)
    system, link = Tridiagonal(arrays, n, (rows, others), columns), arrays.zeros(n, n)
    system.factor(arrays.given(matrices[:, rows, others].T), None, link)
    expected = np.linalg.inv(matrices).sum(axis=0)
    size = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.abs(np.triu(arrays.numpy(link) - expected) / size).max() < 1e-7
    right = np.random.default_rng(1).normal(size=(n, columns))
    answer = arrays.numpy(system.solve(arrays.given(right)))
    error = np.einsum("cij,jc->ic", matrices, answer) - right
    assert np.abs(error).max() < 1e-6 * np.abs(np.einsum("cij,jc->ic", np.abs(matrices), np.abs(answer))).max()


@pytest.mark.parametrize("device", DEVICES)
def test_matrices_that_are_not_definite_do_not_end_in_numbers_that_are_none(device: str | None) -> None:
    arrays, places = arrays_on(device), (np.array([0, 1, 1]), np.array([0, 0, 1]))
    system, link = Tridiagonal(arrays, 2, places, 2), arrays.zeros(2, 2)
    system.factor(arrays.given([[1.0, 2.0], [1.0, 1.0], [1.0, 2.0]]), None, link)
    assert np.isfinite(arrays.numpy(link)).all()
    alone = arrays.numpy(system.solve(arrays.given([[1.0, 1.0], [1.0, 0.0]])))[:, 1]
    assert alone == pytest.approx([2 / 3, -1 / 3])


def test_blocks_are_as_small_as_the_coupling_allows() -> None:
    for size, reach in ((7, 1), (30, 2), (40, 3)):
        points = np.arange(size * size).reshape(size, size)
        rows = np.concatenate([points[reach:].ravel(), points[:, 1:].ravel()])
        others = np.concatenate([points[:-reach].ravel(), points[:, :-1].ravel()])
        assert block_rows(size * size, rows, others) == max(size * reach, 16)


@pytest.mark.parametrize("device", DEVICES)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_random_cones(device: str | None, seed: int) -> None:
    program = random_program(np.random.default_rng(seed))
    expected, found = solve_blocks(program, tolerance=1e-8), solved(program, device, 1e-8)
    size = np.abs(program.cost).sum() / program.shape[1]
    assert found.value == pytest.approx(expected.value, rel=1e-6, abs=1e-6 * size)
    assert found.bound == pytest.approx(expected.value, rel=1e-6, abs=1e-6 * size)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("strip", [None, 300_000])
def test_splines_in_one_strip_or_many(device: str | None, strip: int | None) -> None:
    program = spline_program(7, 2, 4.0, 5, lumpy_prior(7))
    solution = solved(program, device, 1e-7, strip)
    assert solution.ended is Ending.REACHED
    assert solution.value == pytest.approx(solve_blocks(program, tolerance=1e-7).value, rel=2e-7)
    for block, z in zip(program.blocks, solution.duals, strict=True):
        assert (smallest(np.stack([matrix @ solution.matrix for matrix in block])) > 0).all()
        assert (smallest(z) >= 0).all()
    assert solution.matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    assert solution.bound == pytest.approx(blocks_bound(program, solution.duals), rel=1e-9)


@pytest.mark.parametrize("device", DEVICES)
def test_classes_and_linear_rows(device: str | None) -> None:
    folded = spline_program(6, 2, 4.0, 5, symmetric=True)
    assert solved(folded, device, 1e-7).value == pytest.approx(solve_blocks(folded, tolerance=1e-7).value, rel=1e-6)
    places = np.random.default_rng(4).random((12, 2))
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    first, second = np.nonzero(~np.eye(12, dtype=bool))
    program = of_columns(ColumnProgram(distances, first, second, 3 * distances[first, second]))
    assert solved(program, device, 1e-7).value == pytest.approx(solve_blocks(program, tolerance=1e-7).value, rel=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_time_ends_with_what_there_is(device: str | None) -> None:
    program = spline_program(6, 1, 3.0, 4)
    watch = Watch(0.0)
    method = ArraysBlockIterate(program, watch, arrays_on(device))
    assert solve_with(method, program, Run(watch, 400), 1e-6).ended is Ending.TIME


def test_room_is_looked_at_before_it_is_taken() -> None:
    arrays = arrays_on(None)
    arrays.memory = 1_000_000
    with pytest.raises(TooLarge, match="over arrays for 49 rows"):
        ArraysBlockIterate(spline_program(5, 2, 3.0, 6), Watch(), arrays)


def test_which_device_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def instead(device: str) -> Any:
        asked.append(device)
        return arrays_on(None)

    monkeypatch.setattr(general, "gpu_is_there", lambda: True)
    monkeypatch.setattr(general, "arrays_on", instead)
    program = spline_program(4, 1, 3.0, 4)
    values = [solve_blocks(program, tolerance=1e-6, device=device).value for device in ("cpu", "auto", "cuda")]
    assert values == pytest.approx([values[0]] * 3, rel=1e-5)
    assert asked == ["cuda"]  # too small for a GPU unless it is asked for
    monkeypatch.setattr(general, "_WORTH_A_GPU", 10)
    solve_blocks(program)
    assert asked == ["cuda", "cuda"]


def test_wrong_devices() -> None:
    program = spline_program(4, 1, 3.0, 4)
    with pytest.raises(NotSupported, match="device 'tpu'"):
        solve_blocks(program, device="tpu")
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        with pytest.raises(InvalidInput, match="finds no CUDA"):
            solve_blocks(program, device="cuda")


def test_sparse_products_where_torch_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    program = spline_program(5, 1, 3.0, 4)
    expected = solved(program, "cpu", 1e-7).value
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: False)
    assert solved(program, "cpu", 1e-7).value == pytest.approx(expected, rel=1e-6)


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
