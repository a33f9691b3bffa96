from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import NotSupported
from sfumato.numbers import common_denominator
from sfumato.theory.universal.cells import cell_vertices, extreme_rays
from sfumato.theory.universal.opponents import opposing_prior

tables = st.tuples(st.integers(1, 3), st.integers(1, 4)).flatmap(
    lambda shape: st.lists(
        st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


def by_definition(pieces: np.ndarray) -> set[tuple[int, ...]]:
    """On three secrets: priors that their zeros and ties between best actions determine."""
    unit = np.eye(3, dtype=int)
    rows = [*unit, *(p[w] - p[v] for p in pieces for w, v in combinations(range(len(p)), 2))]
    found = set()
    for first, second in combinations(rows, 2):
        point = np.cross(first, second)
        if not point.any() or ((point < 0).any() and (point > 0).any()):
            continue
        point = np.abs(point)
        active = [unit[x] for x in range(3) if point[x] == 0]
        for table in pieces:
            losses = table @ point
            best = table[losses == losses.min()]
            active += [row - best[0] for row in best[1:]]
        if np.linalg.matrix_rank(np.array(active).reshape(-1, 3)) == 2:
            found.add(tuple(int(v) // gcd(*map(int, point)) for v in point))
    return found


@given(tables)
@settings(max_examples=300)
def test_the_vertices_are_those_of_the_definition(table: list[list[list[int]]]) -> None:
    pieces = np.array(table)
    assert {tuple(map(int, row)) for row in cell_vertices(pieces)} == by_definition(pieces)


@given(tables, st.integers(2**45, 2**50))
@settings(max_examples=60)
def test_long_integers_give_the_same_vertices(table: list[list[list[int]]], factor: int) -> None:
    pieces = np.array(table, dtype=object)
    assert cell_vertices(pieces * factor).tolist() == cell_vertices(pieces).tolist()


@given(tables)
@settings(max_examples=60)
def test_numbers_that_outgrow_a_machine_word_midway(table: list[list[list[int]]]) -> None:
    """Secrets scaled by powers of a large prime: the same vertices, scaled back."""
    pieces, scale = np.array(table, dtype=object), [1, 10**9 + 7, (10**9 + 7) ** 2]
    expected = set()
    for row in cell_vertices(pieces):
        values = [Fraction(int(v), s) for v, s in zip(row, scale, strict=True)]
        expected.add(tuple(int(v) for v in common_denominator(np.array(values, dtype=object))[0]))
    found = cell_vertices(pieces * np.array(scale, dtype=object))
    assert {tuple(int(v) // gcd(*map(int, row)) for v in row) for row in found} == {
        tuple(v // gcd(*row) for v in row) for row in expected
    }


def test_counts_of_the_geometric_mechanism() -> None:
    """Vertices for guessing on a line: each count is 4 times the last minus 2 times the one before."""
    counts = []
    for n in range(2, 8):
        columns = common_denominator(sf.geometric(sf.PrivacyType(sf.line(n), alpha="1/2")).channel.matrix)[0]
        counts.append(len(cell_vertices(columns.T[:, None, :] * sf.losses.bin(sf.line(n)).matrix[None, :, :])))
    assert counts == [4, 14, 48, 164, 560, 1912]
    assert all(c == 4 * b - 2 * a for a, b, c in zip(counts, counts[1:], counts[2:], strict=False))


def test_limits_cut_the_set_of_priors() -> None:
    half = cell_vertices(np.array([[[0, 1], [1, 0]]]), np.array([[1, -2]]))
    assert half.tolist() == [[1, 0], [2, 1]]


def test_too_many_rays_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(NotSupported, match="vertices of cells"):
        cell_vertices(rng.integers(0, 50, (5, 5, 6)), most=50)


@pytest.mark.parametrize("row", [[-1, 1], [1, -1], [-3, 2], [-(2**70), 2**69 + 1]])
def test_a_half_plane_cuts_a_quadrant(row: list[int]) -> None:
    """Two rays in a plane are adjacent although no inequality is tight for both."""
    cut = (abs(row[1]) // gcd(*row), abs(row[0]) // gcd(*row))
    kept = (1, 0) if row[0] > 0 else (0, 1)
    assert {tuple(map(int, ray)) for ray in extreme_rays(np.array([row], dtype=object))} == {kept, cut}


def test_rays_of_an_orthant_cut_in_two() -> None:
    assert sorted(extreme_rays(np.array([[1, -1, 0]], dtype=object)).tolist()) == [[0, 0, 1], [1, 0, 0], [1, 1, 0]]


@given(st.integers(0, 10_000))
@settings(max_examples=80)
def test_the_worst_prior_attains_its_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, outputs, actions = rng.integers(1, 6, 3)
    pieces, spent = rng.random((outputs, actions, n)), rng.random(n)
    prior, bound = opposing_prior(pieces, spent, rng.dirichlet(np.ones(n)))
    value = (pieces @ prior).min(axis=1).sum() - spent @ prior
    assert value <= bound <= value + 1e-9
    other = rng.dirichlet(np.ones(n))
    assert (pieces @ other).min(axis=1).sum() - spent @ other <= bound
