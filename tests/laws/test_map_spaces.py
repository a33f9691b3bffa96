"""Laws of spaces of maps: what one-way streets mean, stretched metrics, and promises between neighbours."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.spaces import h3_cells, roads, square_cells

NODES = 5
arcs = st.dictionaries(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)).filter(lambda pair: pair[0] != pair[1]),
    st.integers(1, 50),
    max_size=12,
)
ring = st.lists(st.integers(1, 50), min_size=NODES, max_size=NODES)
weights = st.lists(st.fractions("1/8", 8, max_denominator=8), min_size=6, max_size=6)


def directed(lengths: dict[tuple[int, int], int]) -> list[list[float]]:
    """The shortest ways that are allowed, by Floyd and Warshall in integers."""
    way = [[0 if x == z else lengths.get((x, z), 10**6) for z in range(NODES)] for x in range(NODES)]
    for y in range(NODES):
        for x in range(NODES):
            for z in range(NODES):
                way[x][z] = min(way[x][z], way[x][y] + way[y][z])
    return way


def rows_of(lengths: dict[tuple[int, int], int]) -> list[Any]:
    return [(x, z, length, True) for (x, z), length in lengths.items()]


def assert_metric(table: Any) -> None:
    for x, y, z in permutations(range(len(table)), 3):
        assert Fraction(table[x][z]) <= Fraction(table[x][y]) + Fraction(table[y][z])
        assert table[x][z] == table[z][x] > 0


@settings(max_examples=25)
@given(arcs, ring)
def test_both_ways_is_the_largest_metric_below_the_shorter_way(
    lengths: dict[tuple[int, int], int], around: list[int]
) -> None:
    lengths = {(x, (x + 1) % NODES): length for x, length in enumerate(around)} | lengths  # each can be reached
    way = directed(lengths)
    spaces = {ways: roads(rows_of(lengths), ways=ways) for ways in ("both", "longer", "mean")}
    assert all(space.labels == tuple(range(NODES)) for space in spaces.values())
    d = {ways: space.distances.floats.tolist() for ways, space in spaces.items()}
    shorter = [[min(way[x][z], way[z][x]) for z in range(NODES)] for x in range(NODES)]
    closure = [row[:] for row in shorter]  # the largest metric below: shortest chains
    for y in range(NODES):
        closure = [[min(closure[x][z], closure[x][y] + closure[y][z]) for z in range(NODES)] for x in range(NODES)]
    for x in range(NODES):
        for z in range(NODES):
            assert d["both"][x][z] == closure[x][z]
            assert d["longer"][x][z] == max(way[x][z], way[z][x])
            assert 2 * d["mean"][x][z] == way[x][z] + way[z][x]
            assert d["both"][x][z] <= d["mean"][x][z] <= d["longer"][x][z]
    for table in d.values():
        assert_metric(table)


def test_the_shorter_way_is_no_metric() -> None:
    lengths = {(0, 2): 1, (1, 2): 1, (2, 3): 10, (3, 0): 10, (3, 1): 10, (3, 4): 1, (4, 3): 1}
    way = directed(lengths)
    shorter = [[min(way[x][z], way[z][x]) for z in range(NODES)] for x in range(NODES)]
    assert shorter[0][2] + shorter[2][1] == 2 < shorter[0][1]
    assert roads(rows_of(lengths), ways="both").distance(0, 1) == 2


BASES = {
    "a line": sf.line(6, step="1/3"),
    "a grid of blocks": sf.grid(2, 3, metric="manhattan"),
    "a euclidean grid": sf.grid(2, 3),
    "places": sf.geo([(48.8, 2.3), (48.9, 2.3), (48.85, 2.4), (48.7, 2.1), (48.95, 2.2), (48.6, 2.5)]),
    "squares": square_cells("48.8 N", "2.3 E", sides=(3, 2), step=1),
    "hexagons": h3_cells(sorted(h3_cells((48.85, 2.34, 48.86, 2.36), 9).labels)[:6]),
    "roads": roads([(0, 1, 0.1), (1, 2, 0.2), (2, 3, 0.3), (3, 4, 0.7), (4, 5, 0.1), (5, 0, 0.9)]),
}


@pytest.mark.parametrize("base", BASES)
@settings(max_examples=15)
@given(weights)
def test_a_stretched_metric_is_a_metric(base: str, weights: list[Fraction]) -> None:
    home = BASES[base]
    space = sf.elastic(home, weights)
    table = space.distances.floats
    least, most = min(weights), max(weights)
    if space.distances.form is sf.spaces.Form.FLOAT:
        assert_metric(table.tolist())  # sums of doubles are exact, and so is the metric
    else:
        assert_metric(np.asarray(space.distances.exact()).tolist())
    plain = home.distances.floats
    assert (table <= float(most) * plain * (1 + 1e-12)).all() and (table >= float(least) * plain * (1 - 1e-12)).all()


@pytest.mark.parametrize("base", BASES)
def test_weights_of_one_change_nothing(base: str) -> None:
    home = BASES[base]
    same = sf.elastic(home, [1] * len(home)).distances
    assert np.allclose(same.floats, home.distances.floats, rtol=1e-12)
    assert (same.floats <= home.distances.floats * (1 + 2**-50)).all()
    if home.distances.form is sf.spaces.Form.RATIONAL:
        assert (same.floats == home.distances.floats).all()


@settings(max_examples=10)
@given(weights)
def test_neighbours_are_promised_what_their_weights_say(weights: list[Fraction]) -> None:
    """Between neighbours at distance h of weights v and w no ratio exceeds e^{ε h (v + w)/2}."""
    home = BASES["a line"]
    mechanism = sf.exponential(sf.PrivacyType(sf.elastic(home, weights), epsilon=1))
    matrix = mechanism.channel.to_floats().matrix
    for x in range(len(home) - 1):
        limit = np.exp(float((weights[x] + weights[x + 1]) / 2) / 3)
        ratios = matrix[x] / matrix[x + 1]
        assert ratios.max() <= limit * (1 + 1e-9) and ratios.min() >= (1 - 1e-9) / limit
