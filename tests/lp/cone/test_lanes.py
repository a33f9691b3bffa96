"""The block interior-point method beside HiGHS on the same programs, and what it promises at any time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import InvalidInput, NotSupported, TooLarge
from sfumato.lp import LinearProgram, solve
from sfumato.lp.cone.lanes import solve_columns
from sfumato.lp.cone.lanes_dense import DenseSystems
from sfumato.lp.cone.lanes_iterate import LanesIterate
from sfumato.lp.cone.program import ColumnProgram, ColumnProgress, Ending, Limit, column_bound
from sfumato.lp.cone.registers import LANES


@st.composite
def programs(draw: Any) -> ColumnProgram:
    """Points in the plane with all pairs or some, costs of very different sizes, rows of zeros, m ≠ n, any classes."""
    n, m = draw(st.integers(1, 7)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    places = rng.random((n, 2)) * 10.0 ** draw(st.floats(-2, 1))
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    share = draw(st.sampled_from([0.0, 0.3, 1.0]))
    first, second = np.nonzero(~np.eye(n, dtype=bool) & (rng.random((n, n)) <= share))
    cost = rng.normal(size=(n, m)) * 10.0 ** rng.uniform(-draw(st.integers(0, 5)), 0, (n, 1))
    if draw(st.booleans()):
        cost[rng.integers(n)] = 0.0
    classes = None
    if draw(st.booleans()):
        classes = np.unique(rng.integers(draw(st.integers(1, n)), size=n), return_inverse=True)[1]
    return ColumnProgram(cost, first, second, np.maximum(distances[first, second], 1e-6), classes)


def grid(side: int, lumpy: bool = False, rate: float = np.log(2)) -> ColumnProgram:
    """Distance to the output on a square grid, all pairs, a uniform prior or one with bumps."""
    places = np.array([(i, j) for i in range(side) for j in range(side)], dtype=np.float64)
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    first, second = np.nonzero(distances)
    prior = np.ones(len(places))
    if lumpy:
        rng = np.random.default_rng(3)
        centres, widths = rng.uniform(0, side - 1, (5, 2)), rng.uniform(0.05, 0.2, 5) * side
        near = np.linalg.norm(places[:, None] - centres[None], axis=2) / widths
        prior = np.exp(-(near**2) / 2).sum(axis=1)
    return ColumnProgram((prior / prior.sum())[:, None] * distances, first, second, rate * distances[first, second])


def folded(program: ColumnProgram, side: int) -> ColumnProgram:
    """The same for a program on a square grid that no turn or reflection changes: a column and a class an orbit."""
    where = np.arange(side * side).reshape(side, side)
    images = [np.rot90(flip, turns).ravel() for flip in (where, where.T) for turns in range(4)]
    leaders, orbits = np.unique(np.min(images, axis=0), return_inverse=True)
    return ColumnProgram(program.cost[:, leaders], program.first, program.second, program.logs, orbits)


def started(program: ColumnProgram) -> LanesIterate:
    return LanesIterate(program)


def by_highs(program: ColumnProgram) -> float:
    n, m = program.shape
    pairs = len(program.first)
    k, y = np.repeat(np.arange(pairs), m), np.tile(np.arange(m), pairs)
    decay = np.exp(-program.logs)
    rows = np.concatenate([k * m + y, k * m + y, pairs * m + np.repeat(program.row_classes, m)])
    columns = np.concatenate([program.first[k] * m + y, program.second[k] * m + y, np.arange(n * m)])
    values = np.concatenate([decay[k], -np.ones(pairs * m), np.ones(n * m)])
    rhs = np.concatenate([np.zeros(pairs * m), program.sizes])
    senses = "<" * (pairs * m) + "=" * len(program.sizes)
    found = solve(LinearProgram(program.cost.ravel(), rows, columns, values, senses, rhs))
    assert found.value is not None
    return float(found.value)


def check_feasible(program: ColumnProgram, matrix: np.ndarray) -> None:
    assert matrix.shape == program.shape
    assert (matrix > 0).all()
    assert (matrix[program.second] >= np.exp(-program.logs)[:, None] * matrix[program.first]).all()
    assert np.abs(np.bincount(program.row_classes, matrix.sum(axis=1)) / program.sizes - 1).max() < 1e-11


@given(programs())
@settings(max_examples=200)
def test_value_and_bound_enclose_what_highs_finds(program: ColumnProgram) -> None:
    found, reference = solve_columns(program, tolerance=1e-7), by_highs(program)
    scale = max(abs(reference), 1e-6 * np.abs(program.cost).max(axis=1).sum(), 1e-300)
    # HiGHS is feasible to 1e-7 itself; beyond that the two sides must hold without any slack of ours
    slack = 1e-7 * max(scale, 1.0)
    assert found.bound - slack <= reference <= found.value + slack
    assert found.ended is Ending.REACHED
    assert found.value - found.bound <= 1e-7 * scale * 1.000001
    check_feasible(program, found.matrix)
    assert (found.multipliers >= 0).all()
    assert column_bound(program, found.multipliers) == pytest.approx(found.bound, rel=1e-12, abs=1e-12 * scale)
    assert (program.cost * found.matrix).sum() == pytest.approx(found.value, rel=1e-12)


@pytest.mark.parametrize(("side", "loss"), [(3, 1.021871), (4, 1.256999), (5, 1.453532), (6, 1.62487)])
def test_expected_distance_on_grids(side: int, loss: float) -> None:
    found = solve_columns(grid(side), tolerance=1e-8)
    assert found.bound <= found.value
    assert found.value == pytest.approx(loss, abs=6e-7 if side < 6 else 6e-6)


@pytest.mark.parametrize("side", [3, 5, 8])
def test_one_column_and_one_sum_for_each_orbit_say_the_same(side: int) -> None:
    program = grid(side)
    whole, part = solve_columns(program, tolerance=1e-7), solve_columns(folded(program, side), tolerance=1e-7)
    assert part.matrix.shape == (side * side, (side + 1) // 2 * ((side + 1) // 2 + 1) // 2)
    assert part.ended is Ending.REACHED
    check_feasible(folded(program, side), part.matrix)
    assert part.bound <= whole.value
    assert whole.bound <= part.value
    assert part.value == pytest.approx(whole.value, rel=2e-7)


def test_many_classes_and_few_take_different_paths_to_one_answer() -> None:
    """Sums over classes are taken of the linking matrix, or of the factors before they are multiplied."""
    program = folded(grid(6), 6)
    method = LanesIterate(program)
    grouped = method.systems
    assert isinstance(grouped, DenseSystems)
    assert grouped.grouped
    plain = DenseSystems(36, len(method.r), method.classes, grouped=False)
    arrays = (method.first, method.second, method.decay, method.r, method.z, method.adjoint, method.mask)
    links = []
    for systems in (grouped, plain):
        systems.factor(0, 0, len(method.r), *arrays)
        links.append(np.tril(systems.link()))
        out, sums = np.zeros_like(method.r), np.zeros((36, LANES))
        systems.apply(0, 0, len(method.r), method.r, method.mask, method.cost, np.arange(36.0), out, sums)
        links.append(sums)
    np.testing.assert_allclose(links[0], links[2], rtol=1e-12)
    np.testing.assert_allclose(links[1], links[3], rtol=1e-12)


@pytest.mark.parametrize("lumpy", [False, True])
def test_gaps_far_below_what_rounding_would_leave_a_plain_factorisation(lumpy: bool) -> None:
    found = solve_columns(grid(6, lumpy), tolerance=1e-9)
    assert found.ended is Ending.REACHED
    assert 0 <= found.gap <= 1e-9
    check_feasible(grid(6, lumpy), found.matrix)


def test_a_stated_gap_is_kept_and_a_smaller_one_takes_longer() -> None:
    rough, fine = (solve_columns(grid(5, True), tolerance=tolerance) for tolerance in (1e-2, 1e-8))
    assert rough.gap <= 1e-2
    assert rough.iterations < fine.iterations
    assert rough.bound <= fine.bound <= fine.value <= rough.value


def test_the_start_is_strictly_inside_on_both_sides() -> None:
    program = grid(4, True)
    method = started(program)
    check_feasible(program, method.matrix())
    value, bound = method.standing()
    assert bound < value
    assert column_bound(program, method.multipliers()) == pytest.approx(bound)
    # prices p with λ = C − Gᵀz − p > 0 in every entry, exactly what the stored λ says
    reduced = method.cost - method.adjoint - method.price[None, :, None]
    assert (method.lam > 0).all()
    np.testing.assert_allclose(reduced, method.lam, atol=1e-14)


def test_newton_systems_are_inverted_where_a_plain_factorisation_has_no_digit_left() -> None:
    """H⁻¹ = U Uᵀ beside 60-digit arithmetic, at an iterate where H has a condition number of 1e20."""
    method = started(grid(3))
    for _ in range(11):
        assert method.iterate()
    method.factor()
    n, column = 9, 5
    r, z = (a[column // 4, :, column % 4] for a in (method.r, method.z))
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
    assert np.abs(inverse).sum(axis=1).max() * np.abs(rounded).sum(axis=1).max() > 1e20
    assert np.abs(np.linalg.inv(rounded) / inverse - 1).max() > 0.5
    upper = np.zeros((n, n))
    upper[np.triu_indices(n)] = method.systems.roots[column // 4, :, column % 4]
    np.testing.assert_allclose(upper @ upper.T, inverse, rtol=3e-5)


@pytest.mark.parametrize("stop_after", [1, 4])
def test_an_interrupt_returns_the_best_so_far(stop_after: int) -> None:
    seen: list[ColumnProgress] = []

    def watch(progress: ColumnProgress) -> None:
        seen.append(progress)
        if len(seen) == stop_after:
            raise KeyboardInterrupt

    program = grid(5, True)
    found = solve_columns(program, progress=watch)
    assert found.ended is Ending.INTERRUPTED
    assert found.iterations == stop_after == seen[-1].iteration
    assert found.value == pytest.approx(min(p.value for p in seen))
    assert found.bound == pytest.approx(seen[-1].bound)
    assert found.bound <= found.value
    check_feasible(program, found.matrix)
    assert column_bound(program, found.multipliers) == pytest.approx(found.bound)


def test_a_time_limit_ends_a_run_and_other_errors_pass_through() -> None:
    program = grid(5)
    found = solve_columns(program, tolerance=1e-12, time_limit=1e-9)
    assert found.ended is Ending.TIME
    assert found.iterations == 0
    check_feasible(program, found.matrix)

    def broken(progress: ColumnProgress) -> None:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        solve_columns(program, progress=broken)


def test_progress_counts_and_its_gap_closes() -> None:
    seen: list[ColumnProgress] = []
    found = solve_columns(grid(4), progress=seen.append)
    assert [p.iteration for p in seen] == list(range(1, found.iterations + 1))
    assert seen[-1].gap <= 1e-4 < seen[0].gap
    assert all(a.seconds <= b.seconds for a, b in pairwise(seen))
    assert found.seconds >= seen[-1].seconds


def test_threads_give_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    program = grid(6, True)
    alone = solve_columns(program, tolerance=1e-7)
    monkeypatch.setattr("sfumato.lp.cone.lanes_iterate._WORTH_A_THREAD", 1)
    monkeypatch.setattr("sfumato.lp.cone.lanes_iterate.cores", lambda: 3)
    together = solve_columns(program, tolerance=1e-7)
    assert together.value == pytest.approx(alone.value, rel=2e-7)
    assert together.bound == pytest.approx(alone.bound, rel=2e-7)


def test_programs_without_anything_to_decide() -> None:
    pair = ([0, 1], [1, 0], [1.0, 1.0])
    constant = solve_columns(ColumnProgram([[2.0, 2.0], [3.0, 3.0]], *pair))
    assert (constant.value, constant.bound, constant.gap, constant.iterations) == (5.0, 5.0, 0.0, 0)
    assert solve_columns(ColumnProgram([[2.0], [3.0]], *pair)).matrix.tolist() == [[1.0], [1.0]]
    free = solve_columns(ColumnProgram([[1.0, 0.0], [0.0, 1.0]], [], [], []), tolerance=1e-7)
    assert free.value == pytest.approx(0.0, abs=1e-12)
    assert free.multipliers.shape == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([[1.0, np.inf]], [], [], []), "finite"),
        (([1.0, 2.0], [], [], []), "the cost of columns"),
        (([[1e251, 0.0]], [], [], []), "scale them down"),
        (([[1.0], [2.0]], [0], [1], [0.0]), "at least 1e-09"),
        (([[1.0], [2.0]], [0], [1], [np.inf]), "must be finite"),
        (([[1.0], [2.0]], [0], [2], [1.0]), "between 0 and 1"),
        (([[1.0], [2.0]], [-1], [1], [1.0]), "between 0 and 1"),
        (([[1.0], [2.0]], [0.5], [1], [1.0]), "row numbers"),
        (([[1.0], [2.0]], [1], [1], [1.0]), "to itself"),
        (([[1.0], [2.0]], [0, 1], [1], [1.0]), "one length"),
    ],
)
def test_bad_programs_are_refused(arguments: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        ColumnProgram(*arguments)


def test_bad_calls_are_refused() -> None:
    program = grid(2)
    limit = Limit(np.ones((4, 4)), np.zeros(4, dtype=np.int64), np.ones(1))
    with pytest.raises(NotSupported, match="limits"):
        solve_columns(ColumnProgram(program.cost, program.first, program.second, program.logs, limits=(limit,)))
    with pytest.raises(InvalidInput, match="positive relative gap"):
        solve_columns(program, tolerance=0)
    with pytest.raises(InvalidInput, match="a number of seconds, 0 or more"):
        solve_columns(program, time_limit=-1)
    with pytest.raises(InvalidInput, match="a program over columns"):
        solve_columns([[1.0]])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="must not be negative"):
        column_bound(program, -np.ones((12, 4)))
    with pytest.raises(InvalidInput, match="shape"):
        column_bound(program, np.ones((3, 4)))


def test_programs_beyond_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.memory.free_memory", lambda: 2**16)
    with pytest.raises(TooLarge, match=r"needs about .* MiB of memory, and 0.05 MiB can be used; try fewer"):
        solve_columns(grid(4))


@pytest.mark.parametrize("lumpy", [False, True])
def test_a_start_from_a_similar_program_saves_iterations(lumpy: bool) -> None:
    before = solve_columns(grid(5, lumpy, 0.6), tolerance=1e-5, keep_midway=True)
    assert before.midway is not None
    cold = solve_columns(grid(5, lumpy, 0.7), tolerance=1e-5)
    warm = solve_columns(grid(5, lumpy, 0.7), tolerance=1e-5, start=before.midway)
    assert warm.iterations < cold.iterations
    assert warm.gap <= 1e-5
    assert warm.bound <= cold.value
    assert cold.bound <= warm.value
    check_feasible(grid(5, lumpy, 0.7), warm.matrix)


def test_a_start_outside_the_cones_is_left_alone() -> None:
    """From a loose promise to a strict one: the columns of the first are not private for the second."""
    before = solve_columns(grid(4, False, 3.0), tolerance=1e-4, keep_midway=True)
    assert before.midway is not None
    found = solve_columns(grid(4, False, 0.05), tolerance=1e-4, start=before.midway)
    assert found.gap <= 1e-4
    check_feasible(grid(4, False, 0.05), found.matrix)
