"""Sparse Newton systems beside dense ones, and programs on graphs beside the same with all pairs."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.lp.cone import lanes_iterate
from sfumato.lp.cone.lanes import solve_columns
from sfumato.lp.cone.lanes_dense import DenseSystems
from sfumato.lp.cone.lanes_iterate import LanesIterate
from sfumato.lp.cone.lanes_sparse import SparseSystems
from sfumato.lp.cone.program import ColumnProgram, Ending, column_bound
from sfumato.lp.cone.registers import LANES


def on_graph(distances: np.ndarray, first: Any, second: Any, rate: float, prior: Any = None) -> ColumnProgram:
    """Distance as cost, bounds along the edges in both directions."""
    n = len(distances)
    weights = np.full(n, 1 / n) if prior is None else prior
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    return ColumnProgram(weights[:, None] * distances, *ends, rate * distances[ends])


def manhattan(side: int, rate: float = np.log(2)) -> ColumnProgram:
    cells = np.arange(side * side).reshape(side, side)
    places = np.argwhere(cells >= 0)
    distances = np.abs(places[:, None] - places[None]).sum(axis=2).astype(np.float64)
    first = np.concatenate([cells[:, :-1].ravel(), cells[:-1].ravel()])
    second = np.concatenate([cells[:, 1:].ravel(), cells[1:].ravel()])
    return on_graph(distances, first, second, rate)


def folded(program: ColumnProgram, side: int) -> ColumnProgram:
    where = np.arange(side * side).reshape(side, side)
    images = [np.rot90(flip, turns).ravel() for flip in (where, where.T) for turns in range(4)]
    leaders, orbits = np.unique(np.min(images, axis=0), return_inverse=True)
    return ColumnProgram(program.cost[:, leaders], program.first, program.second, program.logs, orbits)


def all_pairs(program: ColumnProgram, rate: float) -> ColumnProgram:
    distances = program.cost * len(program.cost)
    first, second = np.nonzero(distances)
    return ColumnProgram(program.cost, first, second, rate * distances[first, second])


@st.composite
def random_programs(draw: Any) -> ColumnProgram:
    """Random sparse graphs, connected or not, random costs and classes."""
    n, m = draw(st.integers(1, 30)), draw(st.integers(2, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    first, second = rng.integers(n, size=(2, draw(st.integers(0, 2 * n))))
    first, second = first[first != second], second[first != second]
    logs = rng.uniform(0.05, 3.0, len(first))
    classes = None
    if draw(st.booleans()):
        classes = np.unique(rng.integers(draw(st.integers(1, n)), size=n), return_inverse=True)[1]
    return ColumnProgram(rng.random((n, m)), first, second, logs, classes)


def started(program: ColumnProgram, kind: type) -> LanesIterate:
    """A run with systems of one kind."""
    with pytest.MonkeyPatch.context() as patch:
        if kind is SparseSystems:
            patch.setattr(lanes_iterate, "_SPARSE", 1.0)
            patch.setattr(lanes_iterate, "_SLOWER", 0.0)
        else:
            patch.setattr(lanes_iterate, "_SPARSE", -1.0)
        method = LanesIterate(program)
    assert isinstance(method.systems, kind)
    return method


def link_and_solution(method: LanesIterate, grouped: bool | None) -> tuple[np.ndarray, np.ndarray]:
    """Sums of inverses over classes, and Σ_y H_y⁻¹ (cost_y + row number) in the order of the program."""
    systems = method.systems
    if grouped is not None and isinstance(systems, SparseSystems):
        systems = SparseSystems(systems.shape, len(method.r), method.classes, method.first, method.second, 1, grouped)
    arrays = (method.first, method.second, method.decay, method.r, method.z, method.adjoint, method.mask)
    systems.clear()
    systems.factor(0, 0, len(method.r), *arrays)
    link = np.tril(systems.link())
    link += np.tril(link, -1).T
    leaders = np.unique(method.classes[method.places], return_index=True)[1]
    order = np.argsort(leaders)  # classes in the order of the program
    out, sums = np.zeros_like(method.r), np.zeros((method.n, LANES))
    shift = method.rows.astype(np.float64)
    systems.apply(0, 0, len(method.r), method.r, method.mask, method.cost, shift, out, sums)
    np.testing.assert_allclose((out * method.mask[:, None, :]).sum(axis=(0, 2)), sums.sum(axis=1), rtol=1e-12)
    return link[np.ix_(order, order)], sums.sum(axis=1)[method.places]


@given(random_programs(), st.booleans(), st.integers(0, 6))
@settings(max_examples=60)
def test_sparse_systems_say_what_dense_ones_say(program: ColumnProgram, grouped: bool, steps: int) -> None:
    dense, sparse = started(program, DenseSystems), started(program, SparseSystems)
    for _ in range(steps):
        if not dense.iterate():
            break
    for name in ("r", "lam", "z", "adjoint"):
        mine, other = getattr(sparse, name), getattr(dense, name)
        if name == "z":
            back, pairs = np.empty_like(other), len(dense.order)
            back[:, dense.order] = other[:, :pairs]
            mine[:, :pairs] = back[:, sparse.order]
        else:
            mine[:] = other[:, sparse.rows]
    expected, found = link_and_solution(dense, None), link_and_solution(sparse, grouped)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-7)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-7, atol=1e-7 * np.abs(expected[1]).max())


@given(random_programs())
@settings(max_examples=60)
def test_both_kinds_of_systems_enclose_the_same_optimum(program: ColumnProgram) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lanes_iterate, "_SPARSE", -1.0)
        dense = solve_columns(program, tolerance=1e-7)
        patch.setattr(lanes_iterate, "_SPARSE", 1.0)
        patch.setattr(lanes_iterate, "_SLOWER", 0.0)
        sparse = solve_columns(program, tolerance=1e-7)
    assert dense.ended is sparse.ended is Ending.REACHED
    assert max(dense.bound, sparse.bound) <= min(dense.value, sparse.value)
    assert (sparse.matrix > 0).all()
    assert (sparse.matrix[program.second] >= np.exp(-program.logs)[:, None] * sparse.matrix[program.first]).all()
    totals = np.bincount(program.row_classes, sparse.matrix.sum(axis=1))
    assert np.abs(totals / program.sizes - 1).max() < 1e-11
    assert column_bound(program, sparse.multipliers) == pytest.approx(sparse.bound, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("side", [4, 9])
def test_edges_of_a_grid_say_as_much_as_all_pairs(side: int) -> None:
    program = manhattan(side)
    found, full = (solve_columns(p, tolerance=1e-7) for p in (program, all_pairs(program, np.log(2))))
    assert found.value == pytest.approx(full.value, rel=2e-7)
    assert found.bound <= full.value
    assert full.bound <= found.value


def test_large_grids_are_sparse_and_fold_by_their_symmetries() -> None:
    program = manhattan(14)
    assert isinstance(LanesIterate(program).systems, SparseSystems)
    whole, part = solve_columns(program, tolerance=1e-6), solve_columns(folded(program, 14), tolerance=1e-6)
    method = LanesIterate(folded(program, 14))
    assert isinstance(method.systems, SparseSystems)
    assert method.systems.grouped
    assert part.matrix.shape == (196, 28)
    assert part.value == pytest.approx(whole.value, rel=2e-6)
    assert max(part.bound, whole.bound) <= min(part.value, whole.value)


def test_small_entries_of_ill_conditioned_inverses_keep_their_digits() -> None:
    """Σ H⁻¹ of one column beside 60-digit arithmetic, on a cycle, at an iterate near the optimum."""
    n, column = 12, 5
    steps = np.abs(np.arange(n)[:, None] - np.arange(n)[None])
    distances = np.minimum(steps, n - steps).astype(np.float64)
    method = started(on_graph(distances, np.arange(n), (np.arange(n) + 1) % n, np.log(2)), SparseSystems)
    for _ in range(6):
        assert method.iterate()
    method.mask[:] = 0.0
    method.mask[column // LANES, column % LANES] = 1.0
    found = link_and_solution(method, False)[0]
    r, z = (a[column // LANES, :, column % LANES] for a in (method.r, method.z))
    with flint.ctx.workdps(60):
        h = [[flint.arb(0) for _ in range(n)] for _ in range(n)]
        for k in range(len(z)):
            x, e, d = int(method.first[k]), int(method.second[k]), flint.arb(float(method.decay[k]))
            u = flint.arb(float(z[k])) / (flint.arb(float(r[e])) - d * float(r[x]))
            h[x][x] += d * d * u
            h[e][e] += u
            h[x][e] -= d * u
            h[e][x] -= d * u
        inverse = np.array([[float(v) for v in row] for row in flint.arb_mat(h).inv().tolist()])
    rounded = np.array([[float(v) for v in row] for row in h])
    assert np.linalg.cond(rounded) > 1e12
    np.testing.assert_allclose(found, inverse[np.ix_(method.places, method.places)], rtol=1e-6)
