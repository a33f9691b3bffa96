from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import NotSupported
from sfumato.privacy.similarity import (
    ball_powers,
    exact_powers,
    float_powers,
    inverse_of,
    quotient,
    signed_solution,
    similarity,
    solve_balls,
    solve_signs,
    symmetry_classes,
    verified_solve,
)
from sfumato.privacy.type import ball_rate
from strategies import alphas, distributions, graphs, spaces


@given(graphs(), alphas(), st.data())
@settings(max_examples=60)
def test_the_quotient_solves_the_whole_system(space: sf.FiniteSpace, alpha: Fraction, data: st.DataObject) -> None:
    privacy = sf.PrivacyType(space, alpha=alpha)
    rhs = data.draw(distributions(len(space), positive=True))
    system = quotient(space, rhs)
    powers = exact_powers(privacy, system.values)
    assert powers is not None
    found = signed_solution(system, powers, [rhs[x] for x in system.representatives])
    if found is not None:
        assert (similarity(privacy) @ found.values[system.classes] == np.array(rhs, dtype=object)).all()


@given(graphs(), alphas())
@settings(max_examples=60)
def test_balls_and_floats_agree_with_rationals(space: sf.FiniteSpace, alpha: Fraction) -> None:
    privacy = sf.PrivacyType(space, alpha=alpha)
    system = quotient(space)
    powers, one = exact_powers(privacy, system.values), [Fraction(1)] * len(system)
    assert powers is not None
    truth = signed_solution(system, powers, one)
    with flint.ctx.workprec(128):
        balls = solve_balls(system, ball_powers(space, system.values, ball_rate(privacy)), one)
    matrix = system.floats(float_powers(privacy, system.values))
    enclosed = verified_solve(matrix, 2.0**-48 * matrix, np.ones(len(system)), np.zeros(len(system)))
    by_floats = enclosed if np.isfinite(enclosed[1]).all() else None
    for found in filter(None, (by_floats, balls and (balls.values, balls.error))):
        assert truth is not None, "a singular matrix was inverted"
        assert all(
            abs(exact - Fraction(value)) <= Fraction(error)
            for exact, value, error in zip(truth.values, *found, strict=True)
        )
    if balls is not None and truth is not None:
        assert all(sign in (None, exact) for sign, exact in zip(balls.signs, truth.signs, strict=True))


@given(spaces())
@settings(max_examples=40)
def test_classes_are_equitable(space: sf.FiniteSpace) -> None:
    classes = symmetry_classes(space)
    table = space.distances.values
    for c in range(classes.max() + 1):
        members = np.flatnonzero(classes == c)
        for other in range(classes.max() + 1):
            seen = np.sort(table[np.ix_(members, classes == other)], axis=1)
            assert (seen == seen[0]).all()


def test_colours_keep_secrets_apart() -> None:
    assert symmetry_classes(sf.line(5)).tolist() == [0, 1, 2, 1, 0]
    assert symmetry_classes(sf.line(5), [0, 0, 0, 0, 1]).tolist() == [0, 1, 2, 3, 4]
    assert symmetry_classes(sf.cycle(6)).tolist() == [0] * 6


def test_large_systems_take_the_float_path_and_small_gaps_the_balls() -> None:
    space = sf.sum_query(20, 3)
    system = quotient(space)
    assert len(system) >= 24
    privacy = sf.PrivacyType(space, epsilon="0.9")
    by_floats = solve_signs(system, privacy, [Fraction(1)] * len(system))
    with flint.ctx.workprec(200):
        by_balls = solve_balls(
            system, ball_powers(space, system.values, ball_rate(privacy)), [Fraction(1)] * len(system)
        )
    assert by_floats is not None and by_balls is not None
    assert by_floats.decided and by_floats.signs == by_balls.signs
    assert (np.abs(by_floats.values - by_balls.values) <= by_floats.error + by_balls.error).all()
    assert by_floats.error.max() < 1e-11


def test_an_uncertain_right_hand_side_leaves_signs_open() -> None:
    system = quotient(sf.discrete(3), [0, 1, 2])
    privacy = sf.PrivacyType(sf.discrete(3), alpha="1/2")
    corner = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    exact = solve_signs(system, privacy, corner)
    loose = solve_signs(system, privacy, corner, Fraction(1, 2**50))
    assert exact is not None and exact.signs == (1, 0, 0)
    assert loose is not None and loose.signs == (1, None, None)


def test_a_singular_matrix_is_refused() -> None:
    table = np.array([[1.0, 2.0], [2.0, 4.0]])
    exactly, about = np.zeros((2, 2)), np.full((2, 2), 2.0**-30)
    assert np.isinf(verified_solve(table, exactly, np.ones(2), np.zeros(2))[1]).all()
    assert not np.isfinite(inverse_of(table)).all()
    nearly = np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-40]])
    assert np.isinf(verified_solve(nearly, about, np.ones(2), np.zeros(2))[1]).all()


def test_elimination_exchanges_rows() -> None:
    table = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 0.0], [3.0, 1.0, 5.0]])
    assert np.allclose(inverse_of(table), np.linalg.inv(table))


def test_infinite_distances_have_similarity_zero() -> None:
    space = sf.graph([("a", "b")], labels=["a", "b", "c"])
    assert similarity(sf.PrivacyType(space, alpha="1/2")).tolist()[2] == [0, 0, 1]
    assert similarity(sf.PrivacyType(space, epsilon=1))[2].tolist() == [0, 0, 1]


def test_float_powers_are_correctly_rounded_up_to_a_unit() -> None:
    privacy = sf.PrivacyType(sf.grid(3, 3), epsilon="0.7")
    values = np.array([0, 1, 2, 5, 8])
    found = float_powers(privacy, values)
    assert np.allclose(found, np.exp(-0.7 * np.sqrt(values)), rtol=4e-16, atol=0)
    assert float_powers(sf.PrivacyType(sf.grid(3, 3), epsilon=1000), values)[1] == 0.0


def test_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(NotSupported, match="Lattice"):
        symmetry_classes(sf.grid(80, 80))
