from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.spaces.axioms import FLOAT, RATIONAL, ROOT, chain_fits, midpoints, triangle_violation
from strategies import spaces

fits = chain_fits.py_func


@given(st.integers(0, 2**40), st.integers(0, 2**40), st.integers(0, 2**41))
def test_rational_chains(a: int, b: int, c: int) -> None:
    assert fits(RATIONAL, a, b, c) == (a + b <= c)


@given(st.integers(0, 2**15), st.integers(0, 2**15), st.integers(0, 2**16))
def test_square_root_chains(a: int, b: int, c: int) -> None:
    # at 2^80 the rounded roots tell √a + √b from √c unless they are equal
    a_root, b_root, c_root = (isqrt(v << 160) for v in (a, b, c))
    equal = c - a - b >= 0 and (c - a - b) ** 2 == 4 * a * b
    assert fits(ROOT, a, b, c) == (equal or a_root + b_root < c_root)


@given(st.floats(0, 1e300), st.floats(0, 1e300))
def test_float_chains_are_decided_by_the_exact_sum(a: float, b: float) -> None:
    for c in (a + b, np.nextafter(a + b, 0), np.nextafter(a + b, np.inf)):
        assert fits(FLOAT, a, b, c) == (Fraction(a) + Fraction(b) <= Fraction(float(c)))


def test_collinear_grid_points_are_found_where_rounded_roots_would_not() -> None:
    assert fits(ROOT, 2, 8, 18)  # √2 + √8 = √18
    assert not fits(ROOT, 2, 8, 17)
    assert np.sqrt(2.0) + np.sqrt(8.0) != np.sqrt(18.0)
    assert fits(ROOT, 2, 8, 18)


def brute_force(space: sf.FiniteSpace) -> set[tuple[int, int]]:
    """Pairs without a point between them, from exact enclosures alone."""
    table, n = space.distances, len(space)

    def between(x: int, y: int, z: int) -> bool:
        legs = [table.bounds(table.values[pair], 200) for pair in ((x, y), (y, z), (x, z))]
        return legs[0][0] + legs[1][0] <= legs[2][1]

    return {
        (x, z)
        for x in range(n)
        for z in range(x + 1, n)
        if not table.infinite[x, z] and not any(between(x, y, z) for y in range(n) if y not in (x, z))
    }


@given(spaces())
@settings(max_examples=150)
def test_implied_pairs_are_exactly_those_with_a_point_between(space: sf.FiniteSpace) -> None:
    found = {(min(x, z), max(x, z)) for x, z in zip(*space.pairs, strict=True)}
    assert found == brute_force(space)


@given(spaces())
@settings(max_examples=60)
def test_general_search_agrees_with_what_constructors_know(space: sf.FiniteSpace) -> None:
    table = space.distances
    searched = midpoints(table.form.code, table.values, table.floats)
    assert {(x, z) for x, z in np.argwhere((searched < 0) & ~table.infinite).tolist() if x < z} == brute_force(space)


def test_blocks_of_many_points() -> None:
    # 400 points make several blocks; the coprime offsets are the answer in closed form
    space = sf.grid(20, 20)
    searched = midpoints(ROOT, space.distances.values, space.distances.floats)
    assert np.array_equal(searched < 0, space.midpoints < 0)
    line = sf.line(300)
    assert (midpoints(RATIONAL, line.distances.values, line.distances.floats) < 0).sum() == 300 + 2 * 299


def test_triangle_violations_are_found_anywhere() -> None:
    rng = np.random.default_rng(0)
    table = sf.points(rng.random((150, 2))).distances.values.copy()
    assert triangle_violation(table, 0.0 + 2**-44) is None
    for _ in range(20):
        x, z = rng.choice(150, 2, replace=False)
        broken = table.copy()
        broken[x, z] = broken[z, x] = table[x, z] * 4 + 3
        found = triangle_violation(broken, 0.0)
        assert found is not None
        assert {found[0], found[2]} == {x, z}
