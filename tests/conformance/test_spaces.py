"""Every constructor of SPACES: the metric axioms, exact implied pairs, a name, bad input refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from shapely.geometry import box

import sfumato as sf
from sfumato import memory
from sfumato.errors import TooLarge
from sfumato.spaces import SPACES
from sfumato.spaces.axioms import midpoints

EXAMPLES: dict[str, sf.FiniteSpace] = {
    "line": sf.line(5, step="1/2"),
    "grid": sf.grid(3, 4),
    "discrete": sf.discrete(["a", "b", "c"]),
    "hamming": sf.hamming(3),
    "cycle": sf.cycle(6),
    "star": sf.spaces.star(4),
    "complete_bipartite": sf.spaces.complete_bipartite(2, 3),
    "graph": sf.graph([("a", "b", "0.3"), ("b", "c", "0.4"), ("c", "d", "1.5"), ("a", "d", "0.9")]),
    "points": sf.points([[0.1, 0.7], [0.3, 0.2], [0.9, 0.9], [0.5, 0.45]]),
    "geo": sf.geo([(48.9, 2.4), (51.5, -0.1), (40.4, -3.7), (41.9, 12.5)]),
    "square_cells": sf.spaces.square_cells(48, 2, sides=(3, 2), step=1),
    "h3_cells": sf.spaces.h3_cells((48.85, 2.34, 48.86, 2.36), 8),
    "areas": sf.spaces.areas([box(2, 48, 2.1, 48.1), box(2.1, 48, 2.3, 48.1), box(2, 48.1, 2.3, 48.2)]),
    "roads": sf.spaces.roads([("a", "b", 0.3, True), ("b", "c", 0.4), ("c", "a", 1.5)], ways="longer"),
    "elastic": sf.elastic(sf.grid(2, 3), [1, 2, 1, 2, 3, 1]),
    "count_query": sf.count_query(4),
    "sum_query": sf.sum_query(3, 2),
    "k_count_query": sf.spaces.k_count_query(2, 2),
    "query": sf.query(max, values=[0, 1, 2], individuals=2),
    "induced": sf.spaces.induced(len, sf.graph([("a", "bb"), ("bb", "ccc")])),
}


def test_every_space_is_exercised() -> None:
    assert EXAMPLES.keys() == SPACES.keys()


@pytest.mark.parametrize("name", SPACES)
def test_metric_axioms(name: str) -> None:
    space = EXAMPLES[name]
    sf.FiniteSpace(space.labels, space.distances.floats)  # raises where an axiom fails
    assert np.isfinite(space.distances.floats).all()
    assert space.name
    assert repr(space).startswith("FiniteSpace(")


@pytest.mark.parametrize(
    "make",
    [
        lambda k: sf.sum_query(k, 4),
        lambda k: sf.sum_query(2, k),
        lambda k: sf.hamming(k, symbols=3),
        lambda k: sf.discrete(k),
        lambda k: sf.line(k),
        lambda k: sf.spaces.k_count_query(k, 2),
        lambda k: sf.spaces.k_count_query(1, k),
        lambda k: sf.grid(k, 1, 3, metric="manhattan"),
        lambda k: sf.grid(k, 1, 3, metric="chebyshev"),
    ],
)
def test_neighbours_are_counted_before_they_are_listed_and_need_no_table(
    make: Callable[[int], sf.FiniteSpace], monkeypatch: pytest.MonkeyPatch
) -> None:
    for size in (1, 2, 3, 4):
        space = make(size)
        nearest = np.argwhere(np.triu(space.distances.values == 1)).tolist()
        without = replace(space.source, distances=pytest.fail)
        edges = sf.FiniteSpace(space.labels, without).edges
        assert edges is not None and sorted(zip(*(ends.tolist() for ends in edges.pairs), strict=True)) == [
            tuple(pair) for pair in nearest
        ]
        assert without.number_of_edges == len(nearest)
    monkeypatch.setattr(memory, "free_memory", lambda: 80 * len(nearest) - 1)
    with pytest.raises(TooLarge, match="pairs of neighbours in"):
        _ = make(4).edges
    monkeypatch.setattr(memory, "free_memory", lambda: 80 * len(nearest))
    assert make(4).edges is not None


@pytest.mark.parametrize("space", [sf.grid(3, 3), sf.points([[0.1, 0.7], [0.3, 0.2]])], ids=repr)
def test_pairs_that_count_are_looked_for_where_there_is_room(
    space: sf.FiniteSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the end points of a table of pairs stand tables of its size, which are counted as well."""
    again = sf.FiniteSpace(space.labels, space.source)
    assert again.distances.values.size
    monkeypatch.setattr(memory, "free_memory", lambda: 48 * len(space) ** 2)
    with pytest.raises(TooLarge, match="the pairs that count of"):
        _ = again.pairs


@pytest.mark.parametrize("name", SPACES)
def test_pairs_imply_all_distances(name: str) -> None:
    space = EXAMPLES[name]
    lengths = {(int(x), int(z)): space.distances.floats[x, z] for x, z in zip(*space.pairs, strict=True)}
    rebuilt = sf.graph(lengths, labels=range(len(space)))
    assert np.allclose(rebuilt.distances.floats, space.distances.floats, rtol=1e-12)


@pytest.mark.parametrize("name", SPACES)
def test_pairs_are_the_unimplied_ones(name: str) -> None:
    space = EXAMPLES[name]
    searched = midpoints(space.distances.form.code, space.distances.values, space.distances.floats)
    expected = {(x, z) for x, z in np.argwhere(searched < 0).tolist() if x < z}
    assert {(min(x, z), max(x, z)) for x, z in zip(*space.pairs, strict=True)} == expected


@pytest.mark.parametrize(("name", "nothing"), [(n, x) for n, x in product(SPACES, (None, -1, "")) if n != "discrete"])
def test_nonsense_is_refused(name: str, nothing: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        SPACES[name](nothing, *([[1]] if name == "elastic" else []))
