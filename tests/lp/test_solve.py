"""Both backends on the same programs, judged by the four conditions of an optimum."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import InvalidInput
from sfumato.lp import LinearProgram, Status, check_optimality, solve
from sfumato.lp.exact import _StandardForm


@st.composite
def programs(draw: Any) -> LinearProgram:
    m, n = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    entry = st.integers(-3, 3)
    matrix = np.array(draw(st.lists(st.lists(entry, min_size=n, max_size=n), min_size=m, max_size=m)))
    cost = np.array(draw(st.lists(st.integers(-3, 4), min_size=n, max_size=n)))
    rhs = np.array(draw(st.lists(st.integers(-4, 4), min_size=m, max_size=m)))
    senses = "".join(draw(st.lists(st.sampled_from("<=>"), min_size=m, max_size=m)))
    free = frozenset(draw(st.sets(st.integers(0, n - 1), max_size=2)))
    return LinearProgram.dense(cost, matrix, senses, rhs, free)


def is_farkas_ray(program: LinearProgram, ray: Any, tolerance: float = 0) -> bool:
    columns = np.zeros(program.shape[1], dtype=object)
    for i, j, a in zip(program.rows, program.columns, program.values, strict=True):
        columns[j] += a * ray[i]
    signs = all(
        {"<": y <= tolerance, ">": y >= -tolerance, "=": True}[s] for s, y in zip(program.senses, ray, strict=True)
    )
    below = all(abs(c) <= tolerance if j in program.free else c <= tolerance for j, c in enumerate(columns))
    return bool(signs and below and sum(b * y for b, y in zip(program.rhs, ray, strict=True)) > 10 * tolerance)


@given(programs())
@settings(max_examples=300)
def test_exact_and_float_agree_and_prove_their_answers(program: LinearProgram) -> None:
    exact, scratch, floating = solve(program), _StandardForm(program).two_phases(), solve(program, exact=False)
    assert exact.status == scratch.status == floating.status
    if exact.status is Status.OPTIMAL:
        assert exact.value == scratch.value
        assert not any(check_optimality(program, exact).values())
        assert not any(check_optimality(program, scratch).values())
        assert max(check_optimality(program, floating).values()) < 1e-7
    elif exact.status is Status.INFEASIBLE:
        assert is_farkas_ray(program, exact.ray)
        assert is_farkas_ray(program, scratch.ray)
        assert is_farkas_ray(program, floating.ray, 1e-9)


def test_a_program_that_floats_cannot_decide() -> None:
    # x ≥ 1 and x ≤ 1 - 10^-30: infeasible, by less than any float tolerance
    tiny = Fraction(1, 10**30)
    program = LinearProgram.dense(
        np.array([0]), np.array([[1], [1]], dtype=object), "><", np.array([Fraction(1), 1 - tiny], dtype=object)
    )
    solution = solve(program)
    assert solution.status is Status.INFEASIBLE
    assert is_farkas_ray(program, solution.ray)
    assert solve(program, exact=False).status is Status.OPTIMAL


def test_lists_and_strings_are_numbers_too() -> None:
    assert solve(LinearProgram.dense(["1/2", 1], [[1, 1]], ">", ["1/3"])).value == Fraction(1, 6)


def test_redundant_and_empty_rows() -> None:
    program = LinearProgram.dense(np.array([1, 1]), np.array([[1, 1], [2, 2], [0, 0]]), "===", np.array([1, 2, 0]))
    assert solve(program).value == 1
    broken = LinearProgram.dense(np.array([1]), np.array([[0]]), ">", np.array([4]))
    assert is_farkas_ray(broken, solve(broken).ray)
    assert is_farkas_ray(broken, solve(broken, exact=False).ray, 1e-9)


def test_bad_programs_are_refused() -> None:
    with pytest.raises(InvalidInput, match="senses"):
        LinearProgram.dense(np.array([1]), np.array([[1]]), "!", np.array([1]))
    with pytest.raises(InvalidInput, match="right-hand"):
        LinearProgram.dense(np.array([1]), np.array([[1]]), "<<", np.array([1]))
    with pytest.raises(InvalidInput, match="differ in length"):
        LinearProgram(np.array([1]), np.array([0]), np.array([]), np.array([1]), "<", np.array([1]))
    for cost, matrix, rhs in (
        ([np.nan], [[1.0]], [1.0]),
        ([1.0], [[np.inf]], [1.0]),
        ([1, 2], [[1]], [1]),
        ([1], [[1, 2]], [1]),
        (["x"], [[1]], [1]),
    ):
        with pytest.raises(InvalidInput):
            LinearProgram.dense(cost, matrix, "<", rhs)
    with pytest.raises(InvalidInput, match="larger than"):
        LinearProgram(np.array([1]), np.array([0]), np.array([5]), np.array([1]), "<", np.array([1]))
    floats = LinearProgram.dense(np.array([1.0]), np.array([[1.0]]), ">", np.array([1.0]))
    with pytest.raises(InvalidInput, match="rationals"):
        solve(floats, exact=True)
    with pytest.raises(InvalidInput, match="no optimum"):
        check_optimality(floats, solve(LinearProgram.dense(np.array([-1.0]), np.array([[1.0]]), ">", np.array([1.0]))))


@pytest.mark.parametrize("unit", [2.0**-60, 2.0**-20, 1.0, 2.0**10])
def test_small_numbers_are_not_taken_for_zeros(unit: float) -> None:
    """The same program in other units, of which HiGHS only knows an absolute tolerance."""
    matrix, senses = np.array([[1.0, 2.0, 1.0], [3.0, 1.0, 0.0]]), ">>"
    cost, rhs = np.array([2.0, 3.0, 7.0]), np.array([4.0, 6.0])
    plain = solve(LinearProgram.dense(cost, matrix, senses, rhs))
    small = solve(LinearProgram.dense(cost * unit, matrix, senses, rhs * unit))
    assert plain.primal is not None and small.primal is not None
    assert small.value == pytest.approx(plain.value * unit**2, rel=1e-9)
    assert np.allclose(small.primal, plain.primal * unit, rtol=1e-9, atol=0)
    assert np.allclose(small.dual, plain.dual * unit, rtol=1e-9, atol=0)
