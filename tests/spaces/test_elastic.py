"""Elastic metrics: what weights do, on graphs, grids and places, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.spaces import Form, h3_cells

TOWN = (48.85, 2.34, 48.86, 2.36)


def test_the_front_door_has_it() -> None:
    assert sf.elastic is sf.spaces.elastic


def test_an_edge_has_the_mean_weight_of_its_ends() -> None:
    space = sf.elastic(sf.graph([("a", "b", 2), ("b", "c", 2), ("a", "c", 5)]), {"a": 1, "b": "1/2", "c": 3})
    assert space.distances.exact() is not None and space.distances.form is Form.RATIONAL
    assert space.distance("a", "b") == 1.5 and space.distance("b", "c") == 3.5
    assert space.distance("a", "c") == 5  # the straight edge has become 10
    assert space.name == "graph of 3 nodes, elastic"


def test_weights_by_label_and_in_order() -> None:
    line = sf.line(["x", "y"], unit="km")
    by_label = sf.elastic(line, pd.Series({"y": 3, "x": 1}))
    assert by_label.distance("x", "y") == sf.elastic(line, [1, 3]).distance("x", "y") == 2 and by_label.unit == "km"


def test_a_graph_of_networkx() -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", length=10)
    assert sf.elastic(graph, [2, 2]).distance("a", "b") == 20


def test_places_and_cells_stay_on_the_ground() -> None:
    cities = sf.geo([(48.9, 2.4), (51.5, -0.1), (40.4, -3.7)])
    stretched = sf.elastic(cities, [2, 2, 2])
    assert stretched.ground is not None and stretched.ground.earth == "sphere"
    assert np.allclose(stretched.distances.floats, 2 * cities.distances.floats, rtol=1e-12)
    town = h3_cells(TOWN, 9)
    assert sf.elastic(town, np.ones(len(town))).ground is town.ground
    assert sf.elastic(sf.geo([(1, 2), (3, 4)], radius_km=3389), [1, 1]).ground is None


def test_longer_ways_count_what_lies_between() -> None:
    road = sf.points([[0.0], [1.0], [2.0]])
    heavy = [1, 10, 1]
    assert sf.elastic(road, heavy).distance(0, 2) == pytest.approx(11)  # no pair joins the ends: a chain implies it
    bent = sf.points([[0.0, 0.0], [1.0, 0.1], [2.0, 0.0]])
    assert sf.elastic(bent, heavy).distance(0, 2) == pytest.approx(2)  # all places are joined
    assert sf.elastic(bent, heavy, within=1.5).distance(0, 2) == pytest.approx(11 * np.hypot(1, 0.1))
    with pytest.raises(InvalidInput, match="no chain joins all places"):
        sf.elastic(bent, heavy, within=0.5)


def test_a_euclidean_grid() -> None:
    grid = sf.grid(3, 3, step="1/2", unit="km")
    same = sf.elastic(grid, [1] * 9)
    assert np.allclose(same.distances.floats, grid.distances.floats, rtol=1e-12)
    assert (same.distances.floats <= grid.distances.floats).all()


def test_a_design_and_its_proof() -> None:
    space = sf.elastic(sf.line(4), ["1/2", "1/2", 1, 1])
    best = sf.design(sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, alpha="1/2"))
    assert best.gap < 1e-3
    matrix = best.mechanism.channel.matrix
    for x in range(3):
        apart = Fraction(space.distance(x, x + 1))
        for y in range(matrix.shape[1]):
            assert float(matrix[x, y]) <= 2 ** float(apart) * float(matrix[x + 1, y]) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, 1, 0], "weights are positive, that of 2 is 0"),
        ([1, -1, 1], "that of 1 is -1"),
        ([1, float("nan"), 1], "a weight must be"),
        ([1, float("inf"), 1], "a weight must be"),
        ([1, 1], "2 weights for 3 places"),
        ({0: 1, 1: 1}, "2"),
        ({0: 1, 1: 1, 2: 1, 7: 1}, "7"),
        ("heavy", "weights"),
        (None, "weights"),
        ([1, 1, 1e308], "range of floats"),
    ],
)
def test_what_are_no_weights(weights: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        sf.elastic(sf.points([[0.0], [1.5], [1e10]]), weights)


def test_what_is_no_space() -> None:
    with pytest.raises(InvalidInput, match="a space"):
        sf.elastic([1, 2, 3], [1, 1, 1])
    with pytest.raises(InvalidInput, match="is a graph, whose edges join its places"):
        sf.elastic(sf.cycle(4), [1, 1, 1, 1], within=1)
