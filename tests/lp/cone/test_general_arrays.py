"""The block method over arrays, in NumPy and in torch on a processor: the same optima as strip by strip."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from block_programs import lumpy_prior, random_program, spline_program
from sfumato.errors import InvalidInput, NotSupported, TooLarge
from sfumato.lp.cone import general
from sfumato.lp.cone.arrays_backend import arrays_on
from sfumato.lp.cone.arrays_tridiagonal import Tridiagonal, block_rows
from sfumato.lp.cone.blocks import BlockProgram, BlockSolution, blocks_bound, of_columns
from sfumato.lp.cone.general import solve_blocks, solve_with
from sfumato.lp.cone.general_arrays import ArraysBlockIterate
from sfumato.lp.cone.program import ColumnProgram, Ending
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
