"""The batched interior-point method beside HiGHS: classes, limits, the smallest largest excess, and no point at all."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import Infeasible, InvalidInput, MissingExtra, NotConverged, TooLarge
from sfumato.lp import LinearProgram, Status, solve
from sfumato.lp.cone.arrays import solve_batched
from sfumato.lp.cone.arrays_links import normalised_prices
from sfumato.lp.cone.lanes import solve_columns
from sfumato.lp.cone.program import ColumnProgram, ColumnProgress, Ending, Limit, column_bound


@st.composite
def programs(draw: Any) -> ColumnProgram:
    """Points in the plane with all pairs or some, rows in classes or not, up to two limits of any kind."""
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    places = rng.random((n, 2)) * 10.0 ** draw(st.floats(-1, 0.7))
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    share = draw(st.sampled_from([0.0, 0.3, 1.0]))
    first, second = np.nonzero(~np.eye(n, dtype=bool) & (rng.random((n, n)) <= share))
    cost = rng.normal(size=(n, m)) * 10.0 ** rng.uniform(-draw(st.integers(0, 3)), 0, (n, 1))
    if draw(st.booleans()):
        cost[rng.integers(n)] = 0.0
    classes = np.unique(rng.integers(0, n, n), return_inverse=True)[1] if draw(st.booleans()) else None
    limits = []
    for kind in draw(st.lists(st.sampled_from(["relative", "loose", "tight"]), max_size=2)):
        count = draw(st.integers(1, n))
        group = np.concatenate([np.arange(count), rng.integers(-1, count, n - count)])
        table = rng.normal(size=(n, m))
        middle = np.bincount(group + 1, table.mean(axis=1), count + 1)[1:]
        step = {"relative": rng.normal(size=count), "loose": 1.0, "tight": 0.01}[kind]
        limits.append(Limit(table, group, middle + step, kind == "relative"))
    if draw(st.integers(0, 4)) == 0:
        cost *= 0.0
    return ColumnProgram(cost, first, second, np.maximum(distances[first, second], 1e-3), classes, tuple(limits))


def linear(program: ColumnProgram) -> LinearProgram:
    """The program for HiGHS; the last variable is τ."""
    (n, m), pairs = program.shape, len(program.first)
    k, y = np.repeat(np.arange(pairs), m), np.tile(np.arange(m), pairs)
    classes, counts = program.row_classes, len(program.sizes)
    rows = [k * m + y, k * m + y, pairs * m + np.repeat(classes, m)]
    columns = [program.first[k] * m + y, program.second[k] * m + y, np.arange(n * m)]
    values = [np.exp(-program.logs)[k], -np.ones(pairs * m), np.ones(n * m)]
    rhs, at = [np.zeros(pairs * m), program.sizes.astype(float)], pairs * m + counts
    for limit in program.limits:
        x = np.flatnonzero(limit.group >= 0)
        rows.append(at + np.repeat(limit.group[x], m))
        columns.append((x[:, None] * m + np.arange(m)).ravel())
        values.append(limit.table[x].ravel())
        if limit.relative:
            rows.append(at + np.arange(len(limit.level)))
            columns.append(np.full(len(limit.level), n * m))
            values.append(-np.ones(len(limit.level)))
        rhs.append(limit.level)
        at += len(limit.level)
    senses = "<" * (pairs * m) + "=" * counts + "<" * (at - pairs * m - counts)
    relative = float(any(limit.relative for limit in program.limits))
    cost = np.append(program.cost.ravel(), relative)
    parts = (np.concatenate(part) for part in (rows, columns, values, rhs))
    row, column, value, right = parts
    return LinearProgram(cost, row, column, value, senses, right, frozenset([n * m] if relative else []))


def by_highs(program: ColumnProgram) -> float | None:
    found = solve(linear(program))
    if found.status is Status.INFEASIBLE:
        return None
    assert found.value is not None
    return float(found.value)


def excesses(program: ColumnProgram, matrix: np.ndarray, limit: Limit) -> np.ndarray:
    sums = np.bincount(limit.group + 1, (limit.table * matrix).sum(axis=1), len(limit.level) + 1)[1:]
    return sums - limit.level


def check_point(program: ColumnProgram, matrix: np.ndarray) -> None:
    assert matrix.shape == program.shape
    assert (matrix > 0).all()
    slacks = matrix[program.second] - np.exp(-program.logs)[:, None] * matrix[program.first]
    assert (slacks >= -1e-15 * matrix[program.second]).all()
    sums = np.bincount(program.row_classes, matrix.sum(axis=1))
    np.testing.assert_allclose(sums, program.sizes, rtol=1e-9)
    for limit in program.limits:
        if not limit.relative:
            sizes = np.bincount(limit.group + 1, np.abs(limit.table).mean(axis=1), len(limit.level) + 1)[1:]
            assert (excesses(program, matrix, limit) <= 1.1e-9 * np.maximum(sizes, np.abs(limit.level))).all()


def value_of(program: ColumnProgram, matrix: np.ndarray) -> float:
    over = [excesses(program, matrix, limit) for limit in program.limits if limit.relative]
    return float((program.cost * matrix).sum() + (np.concatenate(over).max() if over else 0.0))


@given(programs())
@settings(max_examples=150)
def test_value_and_bound_enclose_what_highs_finds(program: ColumnProgram) -> None:
    reference = by_highs(program)
    if reference is None:
        with pytest.raises(Infeasible):
            solve_batched(program)
        return
    found = solve_batched(program, tolerance=1e-6)
    size = np.abs(program.cost).max(axis=1).sum() + sum(np.abs(limit.table).sum() for limit in program.limits)
    # HiGHS keeps its rows to 1e-7 only
    slack = 1e-6 * max(size, 1.0)
    assert found.bound - slack <= reference <= found.value + slack
    assert found.ended is Ending.REACHED
    check_point(program, found.matrix)
    assert value_of(program, found.matrix) == pytest.approx(found.value, rel=1e-9, abs=1e-12 * size)
    bound = column_bound(program, found.multipliers, found.prices)
    assert bound == pytest.approx(found.bound, rel=1e-9, abs=1e-11 * size)
    assert found.bound <= found.value
    relative = [p for p, limit in zip(found.prices, program.limits, strict=True) if limit.relative]
    assert not relative or np.concatenate(relative).sum() == 1.0


def grid(side: int, lumpy: bool = False, norm: float = 2.0) -> ColumnProgram:
    """Distance to the output on a square grid, all pairs (neighbours for the 1-norm), e^l = 2 a step."""
    places = np.array([(i, j) for i in range(side) for j in range(side)], dtype=np.float64)
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    first, second = np.nonzero(distances if norm == 2 else distances == 1)
    prior = 1.0 + lumpy * 30 * np.exp(-((places - [1.0, 2.0]) ** 2).sum(axis=1))
    cost = (prior / prior.sum())[:, None] * distances
    return ColumnProgram(cost, first, second, np.log(2) * distances[first, second])


def folded(program: ColumnProgram, side: int) -> ColumnProgram:
    """The same program up to the symmetries of the square: classes of rows, one column an orbit."""
    i, j = np.divmod(np.arange(side * side), side)
    a, b = np.minimum(i, side - 1 - i), np.minimum(j, side - 1 - j)
    key = np.maximum(a, b) * side + np.minimum(a, b)
    _, representatives, classes = np.unique(key, return_index=True, return_inverse=True)
    return ColumnProgram(program.cost[:, representatives], program.first, program.second, program.logs, classes)


@pytest.mark.parametrize("lumpy", [False, True])
def test_the_value_is_that_of_the_compiled_method_in_no_more_iterations(lumpy: bool) -> None:
    program = grid(5, lumpy)
    ours, theirs = solve_batched(program, tolerance=1e-8), solve_columns(program, tolerance=1e-8)
    assert ours.ended is Ending.REACHED
    assert ours.iterations <= theirs.iterations + 2
    assert ours.value == pytest.approx(theirs.value, rel=2e-8)
    check_point(program, ours.matrix)


@pytest.mark.parametrize("norm", [1.0, 2.0])
def test_a_symmetric_program_has_the_value_of_its_folded_form(norm: float) -> None:
    program = grid(5, norm=norm)
    small = folded(program, 5)
    assert small.shape == (25, 6)
    whole, part = solve_batched(program, tolerance=1e-7), solve_batched(small, tolerance=1e-7)
    assert part.bound <= whole.value and whole.bound <= part.value
    assert part.value == pytest.approx(whole.value, rel=2e-7)
    check_point(small, part.matrix)
    assert column_bound(small, part.multipliers) == pytest.approx(part.bound, rel=1e-12)


def test_a_limit_moves_the_optimum_along_its_price() -> None:
    """Loss under a bound on the probability of a displacement beyond 1: the price is minus the slope of the value."""
    free = grid(4, lumpy=True)
    n = free.shape[0]
    table = (free.cost > 1.5 * free.cost[free.cost > 0].min(axis=0)) / n
    plain = solve_batched(free, tolerance=1e-8)
    level = 0.97 * float((table * plain.matrix).sum())

    def limited(level: float) -> Any:
        limit = Limit(table, np.zeros(n, dtype=np.int64), np.array([level]))
        return solve_batched(
            ColumnProgram(free.cost, free.first, free.second, free.logs, limits=(limit,)), tolerance=1e-8
        )

    found = limited(level)
    assert found.value > plain.value
    assert (table * found.matrix).sum() <= level * (1 + 1e-9)
    slope = (limited(level * 1.001).value - limited(level * 0.999).value) / (0.002 * level)
    assert found.prices[0][0] == pytest.approx(-slope, rel=1e-2)
    assert limited(2.0).value == pytest.approx(plain.value, rel=2e-8)
    with pytest.raises(Infeasible, match="raise the levels") as caught:
        limited(0.01 * level)
    multipliers, (price,) = caught.value.ray
    assert (multipliers >= 0).all() and price[0] > 0


def test_the_best_for_the_worst_secret_makes_everybody_equal_who_has_a_price() -> None:
    """Minimax on a path: prices are the least favourable prior, and a row with a price attains the value."""
    n = 6
    distances = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(np.float64)
    first, second = np.nonzero(distances == 1)
    worst = Limit(distances**2, np.arange(n), np.zeros(n), relative=True)
    program = ColumnProgram(np.zeros((n, n)), first, second, np.log(2.0) * np.ones(len(first)), limits=(worst,))
    found = solve_batched(program, tolerance=1e-8)
    assert found.value == pytest.approx(by_highs(program), rel=1e-6)
    losses = (distances**2 * found.matrix).sum(axis=1)
    assert losses.max() == pytest.approx(found.value, rel=1e-12)
    assert (losses[found.prices[0] > 1e-4] > found.value * (1 - 1e-4)).all()
    bayes = ColumnProgram(found.prices[0][:, None] * distances**2, first, second, program.logs)
    assert solve_batched(bayes, tolerance=1e-7).value == pytest.approx(found.value, rel=1e-5)


@pytest.mark.parametrize("rate", [1e-6, 1e-3, 1.0, 50.0, 1000.0])
def test_from_nearly_equal_rows_to_bounds_beyond_floats(rate: float) -> None:
    shape = grid(3)
    program = ColumnProgram(shape.cost, shape.first, shape.second, shape.logs * rate)
    found = solve_batched(program, tolerance=1e-6)
    assert found.ended is Ending.REACHED
    assert found.value == pytest.approx(solve_columns(program, tolerance=1e-7).value, rel=2e-6, abs=1e-12)
    check_point(program, found.matrix)


def test_of_pairs_listed_twice_the_tighter_counts() -> None:
    once = grid(3)
    twice = ColumnProgram(
        once.cost,
        np.append(once.first, once.first),
        np.append(once.second, once.second),
        np.append(once.logs * 2, once.logs),
    )
    found = solve_batched(twice, tolerance=1e-7)
    assert found.value == pytest.approx(solve_batched(once, tolerance=1e-7).value, rel=1e-10)
    assert not found.multipliers[: len(once.first)].any()
    assert column_bound(twice, found.multipliers) == pytest.approx(found.bound, rel=1e-12)


@pytest.mark.parametrize("stop_after", [1, 4])
def test_an_interrupt_returns_the_best_so_far(stop_after: int) -> None:
    seen: list[ColumnProgress] = []

    def watch(progress: ColumnProgress) -> None:
        seen.append(progress)
        if len(seen) == stop_after:
            raise KeyboardInterrupt

    program = grid(5, True)
    found = solve_batched(program, progress=watch)
    assert found.ended is Ending.INTERRUPTED
    assert found.iterations == stop_after == seen[-1].iteration
    assert found.value == pytest.approx(min(p.value for p in seen))
    assert found.bound == pytest.approx(seen[-1].bound)
    check_point(program, found.matrix)
    assert column_bound(program, found.multipliers) == pytest.approx(found.bound)


def test_a_time_limit_ends_a_run_and_other_errors_pass_through() -> None:
    program = grid(4)
    found = solve_batched(program, tolerance=1e-12, time_limit=1e-9)
    assert found.ended is Ending.TIME
    assert found.iterations == 0
    check_point(program, found.matrix)

    def broken(progress: ColumnProgress) -> None:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        solve_batched(program, progress=broken)


def test_a_run_that_ends_before_the_limits_hold_has_no_answer() -> None:
    free = grid(4)
    limit = Limit(free.cost, np.zeros(16, dtype=np.int64), np.array([1.3]))
    program = ColumnProgram(np.zeros((16, 16)), free.first, free.second, free.logs, limits=(limit,))
    with pytest.raises(NotConverged, match="still exceeded"):
        solve_batched(program, time_limit=1e-9)
    assert solve_batched(program).value == 0.0


def test_progress_counts_and_its_gap_closes() -> None:
    seen: list[ColumnProgress] = []
    found = solve_batched(grid(4), progress=seen.append)
    assert [p.iteration for p in seen] == list(range(1, found.iterations + 1))
    assert seen[-1].gap <= 1e-4 < seen[0].gap
    assert all(a.seconds <= b.seconds for a, b in pairwise(seen))
    assert found.seconds >= seen[-1].seconds


def test_what_cannot_be_improved_by_rounding_stops() -> None:
    found = solve_batched(grid(3), tolerance=1e-17)
    assert found.ended is Ending.STALLED
    assert 0 <= found.gap < 1e-8
    check_point(grid(3), found.matrix)


def test_columns_in_chunks_give_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    program = folded(grid(5, norm=1.0), 5)
    whole = solve_batched(program, tolerance=1e-7)
    monkeypatch.setattr("sfumato.lp.cone.arrays_backend.Arrays.chunk", 2 * 8 * 25 * 25)
    parts = solve_batched(program, tolerance=1e-7)
    assert parts.value == pytest.approx(whole.value, rel=1e-10)
    assert parts.bound == pytest.approx(whole.bound, rel=1e-10)


def test_programs_without_anything_to_decide() -> None:
    pair = ([0, 1], [1, 0], [1.0, 1.0])
    constant = solve_batched(ColumnProgram([[2.0, 2.0], [3.0, 3.0]], *pair))
    assert (constant.value, constant.bound, constant.gap, constant.iterations) == (5.0, 5.0, 0.0, 0)
    one = solve_batched(ColumnProgram([[2.0], [3.0]], *pair), tolerance=1e-8)
    np.testing.assert_allclose(one.matrix, 1.0, rtol=1e-11)
    free = solve_batched(ColumnProgram([[1.0, 0.0], [0.0, 1.0]], [], [], []), tolerance=1e-7)
    assert free.value == pytest.approx(0.0, abs=1e-12)
    assert free.multipliers.shape == (0, 2)


def test_prices_of_relative_limits_sum_to_one_in_any_order() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        prices, relative = rng.random(30) ** 5, (rng.random(30) < 0.7).astype(np.float64)
        found = normalised_prices(prices, relative)
        chosen = found[relative > 0]
        assert all(sum(rng.permutation(chosen).tolist()) == 1.0 for _ in range(5))
        np.testing.assert_allclose(chosen, prices[relative > 0] / prices[relative > 0].sum(), rtol=1e-9, atol=1e-15)
        np.testing.assert_array_equal(found[relative == 0], prices[relative == 0])


def test_bad_calls_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    program = grid(2)
    with pytest.raises(InvalidInput, match="positive relative gap"):
        solve_batched(program, tolerance=0)
    with pytest.raises(InvalidInput, match="a number of seconds, 0 or more"):
        solve_batched(program, time_limit=-1)
    with pytest.raises(InvalidInput, match="a program over columns"):
        solve_batched([[1.0]])  # type: ignore[arg-type]
    monkeypatch.setattr("sfumato.memory.free_memory", lambda: 2**10)
    with pytest.raises(TooLarge, match="needs about"):
        solve_batched(grid(4))


def test_without_torch_a_device_asks_for_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[gpu\]"):
        solve_batched(grid(2), device="cpu")
