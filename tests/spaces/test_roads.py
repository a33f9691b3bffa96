"""Road networks: graphs of networkx, rows and tables; one-way streets, parts, lengths that are none."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, InvalidMetric, NotSupported
from sfumato.spaces import Form, roads

ROWS: list[Any] = [("a", "b", 100), ("b", "c", 50, True), ("c", "a", 120)]
PLACES = {"a": (41.9, 12.49), "b": (41.9009, 12.49), "c": (41.9009, 12.4906), "nowhere": (0.0, 0.0)}


def town(**crs: Any) -> nx.MultiDiGraph:
    """A graph as osmnx makes it: two arcs for a street, one for a one-way street, a loop, a second street."""
    graph = nx.MultiDiGraph(**crs)
    for name in "abc":
        graph.add_node(name, y=PLACES[name][0], x=PLACES[name][1], street_count=3)
    for x, z, length in (("a", "b", 100.5), ("c", "a", 120.25)):
        graph.add_edge(x, z, length=length, oneway=False)
        graph.add_edge(z, x, length=length, oneway=False)
    graph.add_edge("b", "c", length=50.125, oneway=True)
    graph.add_edge("b", "c", length=300.0, oneway=True)
    graph.add_edge("a", "a", length=20.0, oneway=False)
    return graph


def test_a_graph_of_osmnx() -> None:
    space = roads(town(crs="epsg:4326"), ways="both")
    assert space.labels == ("a", "b", "c") and space.unit == "m"
    assert space.name == "3 crossings, one-way streets walked both ways"
    assert space.distance("c", "b") == 50.125 and space.distance("a", "c") == 120.25
    assert space.coordinates is not None and space.coordinates[0].tolist() == [12.49, 41.9]
    assert space.ground is not None and space.ground.cells is None
    assert roads(town(crs="epsg:4326"), ways="longer").distance("b", "c") == 100.5 + 120.25
    assert roads(town(crs="epsg:4326"), ways="mean").distance("b", "c") == (50.125 + 220.75) / 2


def test_an_undirected_graph_has_no_one_way_streets() -> None:
    graph = nx.Graph()
    graph.add_edge(1, 2, length=5)
    graph.add_edge(2, 3, length=7)
    space = roads(graph)
    assert space.distance(1, 3) == 12 and space.coordinates is None and space.name == "3 crossings"
    assert roads(nx.MultiDiGraph(graph)).distance(1, 3) == 12  # every street there and back


def test_a_projected_graph_becomes_degrees() -> None:
    graph = nx.Graph(crs="EPSG:32633")
    graph.add_node(1, x=290000.0, y=4640000.0)
    graph.add_node(2, x=290100.0, y=4640000.0)
    graph.add_edge(1, 2, length=100)
    space = roads(graph)
    assert space.coordinates is not None
    assert space.coordinates[0] == pytest.approx((12.46899, 41.88405), abs=1e-4)
    del graph.graph["crs"]
    with pytest.raises(InvalidInput, match="latitude is within ±90"):
        roads(graph)  # metres, taken for degrees
    assert roads(graph, crs="EPSG:32633").coordinates == pytest.approx(space.coordinates)


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda rows: pl.DataFrame(rows)])
def test_rows_of_a_table(frame: Any) -> None:
    table = frame({"u": ["a", "b"], "v": ["b", "c"], "metres": [100, 50], "oneway": [False, True]})
    with pytest.raises(InvalidInput, match="no column 'from'"):
        roads(table)
    with pytest.raises(InvalidMetric, match="the street from 'b' to 'c' is one-way"):
        roads(table, first="u", second="v", length="metres")
    assert roads(table, first="u", second="v", length="metres", ways="both").distance("a", "c") == 150
    places = frame({"id": list(PLACES), "lat": [p[0] for p in PLACES.values()], "lon": [p[1] for p in PLACES.values()]})
    space = roads(table, places, labels="id", first="u", second="v", length="metres", ways="both")
    assert space.coordinates is not None and space.coordinates[2].tolist() == [12.4906, 41.9009]


def test_lengths_stay_exact() -> None:
    space = roads([("a", "b", "1/3"), ("b", "c", Fraction(1, 6))], unit="km")
    assert space.distances.form is Form.RATIONAL and space.distances.exact() is not None
    assert space.distance("a", "c") == 0.5
    driven = roads([("a", "b", 1, True), ("b", "a", 2, True)], ways="mean")
    assert driven.distances.form is Form.RATIONAL and driven.distance("a", "b") == 1.5
    floats = roads([("a", "b", 0.1), ("b", "c", 0.2)])
    assert floats.distances.form is Form.FLOAT
    assert Fraction(floats.distance("a", "c")) == Fraction(floats.distance("a", "b")) + Fraction(
        floats.distance("b", "c")
    )


def test_parts_are_refused_or_left_out_aloud() -> None:
    rows = [("a", "b", 1), ("c", "d", 1), ("d", "e", 1)]
    with pytest.raises(
        InvalidMetric, match="no way joins 'c' and 'a': the crossings are in 2 parts, the largest has 3 of 5"
    ):
        roads(rows)
    space = roads(rows, parts="largest")
    assert space.labels == ("c", "d", "e")
    assert space.name == "3 crossings, the largest of 2 parts, without 2 crossings"
    with pytest.raises(InvalidMetric, match="no way there and back joins"):
        roads([("a", "b", 1), ("b", "c", 1, True)], ways="longer")
    kept = roads([("a", "b", 1), ("b", "c", 1, True)], ways="longer", parts="largest")
    assert kept.labels == ("a", "b")


def test_loops_make_nothing_shorter() -> None:
    assert roads([("a", "a", 5), ("a", "b", 2)]).distance("a", "b") == 2
    with pytest.raises(InvalidInput, match="no street from one crossing to another"):
        roads([("a", "a", 5)])


@pytest.mark.parametrize("length", [0, -1, float("nan"), float("inf"), -2.5, None, "long", True])
def test_lengths_that_are_none(length: Any) -> None:
    with pytest.raises(InvalidMetric, match="the street from 'a' to 'b' has"):
        roads([("a", "b", length), ("b", "c", 1)])


def test_other_mistakes() -> None:
    with pytest.raises(NotSupported, match="ways 'shorter'"):
        roads(ROWS, ways="shorter")
    with pytest.raises(NotSupported, match="parts 'all'"):
        roads(ROWS, ways="both", parts="all")
    with pytest.raises(InvalidInput, match="a street is"):
        roads([("a", "b")])
    with pytest.raises(InvalidInput, match="true or false"):
        roads([("a", "b", 1, "perhaps")])
    with pytest.raises(InvalidInput, match="hashable"):
        roads([(["a"], "b", 1)])
    with pytest.raises(InvalidInput, match="'c' of the crossings have no latitude"):
        roads(ROWS, {"a": (41.9, 12.49), "b": (41.9, 12.5)}, ways="both")
    with pytest.raises(InvalidInput, match="latitude is within"):
        roads(ROWS, {"a": (141.9, 12.49), "b": (41.9, 12.5), "c": (41.8, 12.5)}, ways="both")
    with pytest.raises(InvalidInput, match="the crossing 'a' has no latitude and longitude"):
        roads(ROWS, {"a": (float("nan"), 12.49), "b": (41.9, 12.5), "c": (41.8, 12.5)}, ways="both")
    with pytest.raises(InvalidInput, match="crossings are a mapping"):
        roads(ROWS, [(41.9, 12.49)], ways="both")
    with pytest.raises(InvalidInput, match="leave crossings out"):
        roads(town(), PLACES)
    with pytest.raises(InvalidInput, match="crs= is for networkx"):
        roads(ROWS, PLACES, crs="EPSG:4326", ways="both")
    with pytest.raises(InvalidInput, match="no street has an attribute 'metres'"):
        roads(town(), length="metres")
    graph = town()
    graph.add_edge("c", "new", length=1.0)
    with pytest.raises(InvalidInput, match="have no x and y"):
        roads(graph, ways="both")
    with pytest.raises(InvalidInput, match="see roads"):
        sf.graph(town(), weight="length")
    with pytest.raises(ValueError, match="empty"):
        roads([])


def test_distances_are_those_of_networkx() -> None:
    rng = np.random.default_rng(5)
    graph = nx.gnm_random_graph(30, 90, seed=5, directed=True)
    for x, z in graph.edges:
        graph.edges[x, z]["length"] = int(rng.integers(1, 100))
    graph = graph.subgraph(max(nx.strongly_connected_components(graph), key=len)).copy()
    there = dict(nx.all_pairs_dijkstra_path_length(graph, weight="length"))
    walked = nx.Graph()
    for x, z, data in graph.edges(data=True):
        shortest = min(data["length"], walked.edges[x, z]["length"] if walked.has_edge(x, z) else np.inf)
        walked.add_edge(x, z, length=shortest)
    both = dict(nx.all_pairs_dijkstra_path_length(walked, weight="length"))
    for ways, expected in (
        ("both", lambda x, z: both[x][z]),
        ("longer", lambda x, z: max(there[x][z], there[z][x])),
        ("mean", lambda x, z: (there[x][z] + there[z][x]) / 2),
    ):
        space = roads(graph, ways=ways)
        assert all(space.distance(x, z) == expected(x, z) for x in graph for z in graph)


def test_streets_whose_crossings_lack_coordinates_are_left_out_and_counted() -> None:
    rows = [*ROWS, ("c", "d", 7), ("d", "c", 7), ("d", "e", 5)]
    with pytest.raises(InvalidInput, match="lacking='drop' leaves their streets out"):
        roads(rows, PLACES, ways="both")
    space = roads(rows, {**PLACES, "d": (None, None)}, ways="both", lacking="drop")
    assert space.labels == ("a", "b", "c") and space.coordinates is not None and len(space.coordinates) == 3
    gone = "2 crossings without coordinates and 2 streets left out"
    assert space.name == f"3 crossings, one-way streets walked both ways, {gone}"
    frame = pd.DataFrame([(*at, name) for name, at in PLACES.items()], columns=["lat", "lon", "id"])
    frame.loc[len(frame)] = [float("nan"), 12.5, "d"]
    assert roads(rows, frame, labels="id", ways="longer", lacking="drop").name.endswith(gone)
    assert roads(ROWS, PLACES, ways="both", lacking="drop").name == "3 crossings, one-way streets walked both ways"
    with pytest.raises(InvalidInput, match="no crossing has coordinates"):
        roads(rows, lacking="drop")
    with pytest.raises(NotSupported, match="lacking 'skip'"):
        roads(rows, lacking="skip")


def test_a_graph_some_of_whose_nodes_have_no_coordinates() -> None:
    graph = town()
    graph.add_edge("c", "d", length=9.0)
    graph.add_edge("d", "c", length=9.0)
    with pytest.raises(InvalidInput, match="have no x and y"):
        roads(graph, ways="both")
    space = roads(graph, ways="both", lacking="drop")
    assert space.name.endswith(", 1 crossing without coordinates and 1 street left out")
    assert space.labels == ("a", "b", "c") and space.distance("c", "b") == 50.125


def test_what_is_left_alone_without_its_streets_is_a_part_of_its_own() -> None:
    rows = [("a", "b", 100), ("b", "d", 50), ("d", "c", 20)]
    with pytest.raises(InvalidMetric, match="largest"):
        roads(rows, PLACES, lacking="drop")
    assert roads(rows, PLACES, lacking="drop", parts="largest").labels == ("a", "b")
