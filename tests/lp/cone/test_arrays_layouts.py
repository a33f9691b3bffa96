"""Both layouts of the batched method and every device at hand: one answer, and the algebra they share."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import flint
import numpy as np
import pytest

from sfumato.errors import InvalidInput, MissingExtra
from sfumato.lp.cone.arrays import solve_batched
from sfumato.lp.cone.arrays_backend import Arrays, arrays_on
from sfumato.lp.cone.arrays_band import BandedCone, band, cone_for
from sfumato.lp.cone.arrays_links import device_parts, scaled_links
from sfumato.lp.cone.arrays_pairs import Cone, DenseCone
from sfumato.lp.cone.arrays_roots import inverse_roots
from sfumato.lp.cone.program import ColumnProgram, Ending, Limit, column_bound


def devices() -> list[str | None]:
    """NumPy always, torch where it is installed, a GPU where there is one."""
    if not find_spec("torch"):
        return [None]
    torch = import_module("torch")
    torch.set_num_threads(1)  # tests run beside each other
    return [None, "cpu", "cuda"] if torch.cuda.is_available() else [None, "cpu"]


DEVICES = devices()
TORCH = DEVICES[1:]


def walk(n: int, extra: int = 0, classes: bool = False, limits: bool = False) -> ColumnProgram:
    """A path with some chords, prior times squared distance; rows in pairs, one limit relative and one not."""
    rng = np.random.default_rng(n)
    low = np.concatenate([np.arange(n - 1), rng.integers(0, n - 3, extra)])
    high = np.concatenate([np.arange(1, n), low[n - 1 :] + 2])
    first, second = np.concatenate([low, high]), np.concatenate([high, low])
    x = np.arange(n)
    cost = (0.2 + rng.random(n))[:, None] * np.subtract.outer(x, x) ** 2.0 / n
    chosen: tuple[Limit, ...] = ()
    if limits:
        far = (np.abs(np.subtract.outer(x, x)) > 4).astype(np.float64)
        chosen = (
            Limit(cost, x, np.zeros(n), relative=True),
            Limit(far, np.where(x < n // 2, 0, -1), np.array([0.2 * n])),
        )
    return ColumnProgram(cost, first, second, np.full(len(first), 0.7), x // 2 if classes else None, chosen)


def state(cone: Cone, n: int, m: int) -> tuple[Any, ...]:
    """r near constant, so that all slacks are positive, a step, λ, z of the pairs and Gᵀz."""
    rng = np.random.default_rng(5)
    given = cone.arrays.given
    z = rng.random((m, len(cone.kept)))
    laid = cone.arrays.module.stack([cone.laid_out(row) for row in z])
    r, dr, lam = 1 + 0.2 * rng.random((m, n)), rng.normal(size=(m, n)), 0.1 + rng.random((m, n))
    return given(r), given(dr), given(lam), laid, cone.adjoint(laid)


def cones(program: ColumnProgram, arrays: Arrays) -> list[Cone]:
    weight = np.linspace(0.5, 1.0, len(program.first))
    order, width = band(program)
    kinds: list[Cone] = [DenseCone(arrays, program, weight), BandedCone(arrays, program, weight, order, width)]
    if arrays.fused:
        kinds.append(import_module("sfumato.lp.cone.arrays_triton").FusedCone(arrays, program, weight))
    return kinds


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("n", "extra"), [(7, 2), (41, 5)])
def test_every_layout_does_the_same_algebra(device: str | None, n: int, extra: int) -> None:
    program, arrays = walk(n, extra, limits=True), arrays_on(device)
    parts, m = device_parts(program, scaled_links(program), arrays), 3
    found = []
    for cone in cones(program, arrays):
        r, dr, lam, z, pull = state(cone, n, m)
        factor = cone.factor(r, lam, pull, z)
        columns = arrays.given(np.linspace(0.5, 1, m))
        target, new = cone.slacks(r) * 0, cone.slacks(r) * 0
        found.append([
            cone.listed(cone.slacks(r)), pull, cone.solve(factor, dr), cone.gram(factor, r, parts, 0, m),
            cone.predicted(r, 0.1 * dr, z)[2:], cone.aim(r, dr, z, target, columns, 0.1, -0.5, 2.0),
            cone.listed(target), cone.move(r, 0.5 * dr, dr, z, target, new, columns, 0.4, 0.5, 0.01, 0.3),
            cone.listed(new), cone.reach(r, 0.5 * dr, dr, lam, z, target, new, (1.0, 0.3, 0.0)),
            cone.advance(r, dr, z, target, 0.3, trial=True), cone.listed(z + 0.0),
            cone.advance(r, dr, z, target, 0.3), cone.listed(z),
        ])  # fmt: skip
    assert len(found) == 2 + arrays.fused
    for others in found[1:]:
        for mine, other in zip(found[0], others, strict=True):
            np.testing.assert_allclose(arrays.numpy(other), arrays.numpy(mine), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("device", DEVICES)
def test_newton_systems_are_solved(device: str | None) -> None:
    """H⁻¹ and Σ Bᵀ H⁻¹ B beside matrices written out."""
    n, m = 12, 12
    program, arrays = walk(n, 3, classes=True, limits=True), arrays_on(device)
    links = scaled_links(program)
    parts = device_parts(program, links, arrays)
    for cone in cones(program, arrays):
        r, dr, lam, z, pull = state(cone, n, m)
        factor = cone.factor(r, lam, pull, z)
        solved, gram = (arrays.numpy(a) for a in (cone.solve(factor, dr), cone.gram(factor, r, parts, 0, m)))
        right, row, mate = (arrays.numpy(a) for a in (dr, r, lam))
        multipliers, total = arrays.numpy(cone.listed(z)), np.zeros(gram.shape)
        d = np.exp(-program.logs)
        for y in range(m):
            h = np.diag(mate[y] / row[y])
            for k, (x, e) in enumerate(zip(program.first, program.second, strict=True)):
                g = np.zeros(n)
                g[e], g[x] = 1.0, -d[k]
                h += multipliers[y, k] / (g @ row[y]) * np.outer(g, g)
            assert np.abs(h @ solved[y] - right[y]).max() < 1e-9
            b = np.concatenate([np.eye(6)[np.arange(n) // 2].T, np.eye(n), [np.arange(n) < n // 2]]).T.astype(float)
            b[:, 6:18] *= program.limits[0].table[:, [y]] / links.scale
            b[:, 18] *= program.limits[1].table[:, y] / links.units[-1]
            total += b.T @ np.linalg.inv(h) @ b
        np.testing.assert_allclose(gram, total, rtol=1e-8, atol=1e-10 * np.abs(total).max())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [1, 5, 33, 70])
def test_inverse_roots_keep_their_digits_in_nearly_singular_matrices(device: str | None, size: int) -> None:
    """Entries of the inverse beside 80 digits, with row sums of 1e-18 of the couplings."""
    rng, arrays = np.random.default_rng(size), arrays_on(device)
    w = 10.0 ** rng.uniform(-6, 0, (2, size, size))
    w = w + w.transpose(0, 2, 1)
    excess = 1e-18 * rng.random((2, size)) + 1e-20
    found = arrays.numpy(inverse_roots(arrays, arrays.given(w), arrays.given(excess), arrays.given(excess * 0)))
    assert (found >= 0).all() and not np.tril(found, -1).any()
    with flint.ctx.workdps(80):
        for c in range(2):
            h = [[-flint.arb(float(v)) for v in row] for row in w[c]]
            for i in range(size):
                h[i][i] = flint.arb(float(excess[c, i])) - sum((h[i][j] for j in range(size) if j != i), flint.arb(0))
            inverse = np.array([[float(v) for v in row] for row in flint.arb_mat(h).inv().tolist()])
            np.testing.assert_allclose(found[c] @ found[c].T, inverse, rtol=1e-11)


@pytest.mark.parametrize(("classes", "limits"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("device", DEVICES)
def test_layouts_and_devices_give_one_answer(
    device: str | None, classes: bool, limits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = walk(24, 4, classes, limits)
    reference = solve_batched(program, tolerance=1e-7)
    for narrow in (0.0, 1.0):
        monkeypatch.setattr("sfumato.lp.cone.arrays_band._NARROW", narrow)
        found = solve_batched(program, tolerance=1e-7, device=device)
        assert found.ended is Ending.REACHED
        assert found.value == pytest.approx(reference.value, rel=2e-7)
        assert found.bound == pytest.approx(reference.bound, rel=2e-7)
        assert column_bound(program, found.multipliers, found.prices) == pytest.approx(found.bound, rel=1e-11)
        assert type(found.matrix) is np.ndarray and type(found.multipliers) is np.ndarray


def test_targets_in_single_precision_reach_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    program = walk(24, 4)
    monkeypatch.setattr("sfumato.lp.cone.arrays_band._NARROW", 0.0)
    reference = solve_batched(program, tolerance=1e-6)
    monkeypatch.setattr("sfumato.lp.cone.arrays_iterate._DOUBLE_TARGETS", False)
    found = solve_batched(program, tolerance=1e-6)
    assert found.ended is Ending.REACHED
    assert found.value == pytest.approx(reference.value, rel=2e-6)


def test_sparse_graphs_get_a_band_and_others_a_table() -> None:
    arrays = arrays_on(None)
    path, full = walk(30), walk(5, 3)
    assert isinstance(cone_for(path, np.ones(len(path.first)), arrays), BandedCone)
    assert isinstance(cone_for(full, np.ones(len(full.first)), arrays), DenseCone)
    assert band(walk(30))[1] == 1
    assert band(ColumnProgram(np.eye(3), [], [], []))[1] == 0


@pytest.mark.parametrize("device", ["nowhere", "meta"])
def test_devices_that_cannot_be_used_are_refused(device: str) -> None:
    with pytest.raises(InvalidInput if TORCH else MissingExtra, match="device" if TORCH else "gpu"):
        solve_batched(walk(5), device=device)
