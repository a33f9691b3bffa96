"""Dataframes and networkx graphs: nothing is guessed where two things could be meant, nothing is left out."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import pandas
import polars
import pyarrow
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, InvalidMetric
from sfumato.spaces.foreign import columns_named

TOWNS = pandas.DataFrame({"town": ["A", "B"], "lat": [45.0, 46.0], "lon": [7.0, 8.0], "people": [3, 4]})


def test_an_index_names_the_points_unless_it_is_row_numbers() -> None:
    frame = pandas.DataFrame({"x": [0, 3], "y": [0, 4]})
    assert sf.points(frame).labels == (0, 1)
    assert sf.points(frame.set_index(pandas.Index(["a", "b"]))).labels == ("a", "b")
    assert sf.points(frame, labels=["p", "q"]).labels == ("p", "q")
    assert sf.points(polars.from_pandas(frame)).distance(0, 1) == 5.0
    assert sf.points(pyarrow.Table.from_pandas(frame)).distance(0, 1) == 5.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sf.geo(TOWNS), "nothing is done with 'town', 'people'"),
        (lambda: sf.geo(TOWNS, labels="town"), "nothing is done with 'people'"),
        (lambda: sf.geo(TOWNS.assign(latitude=1.0), labels="town"), "'lat', 'latitude' could each be the latitude"),
        (lambda: sf.geo(TOWNS.drop(columns="lon"), labels="town"), "no column is called longitude or lon"),
        (lambda: sf.geo(TOWNS, latitude="lat", longitude="east"), "no column 'east'"),
        (lambda: sf.geo([(45.0, 7.0)], latitude="lat"), "name columns of a dataframe, found places of type list"),
        (lambda: sf.points(TOWNS), "column 'town' holds no numbers: labels='town' takes names from it"),
        (lambda: sf.points(TOWNS, columns="lat"), "must be a sequence"),
        (lambda: sf.points(TOWNS, columns=["lat", "nowhere"]), "no column 'nowhere'"),
        (lambda: sf.points([[0, 1]], columns=["x"]), "found points of type list"),
        (lambda: sf.points(TOWNS.assign(lat=[1.0, None]), columns=["lat"]), "not finite|numbers"),
        (lambda: sf.graph(networkx.DiGraph([(0, 1)])), "make it undirected"),
        (lambda: sf.graph(networkx.Graph([(0, 1)]), weight="km"), "has no attribute 'km'"),
        (lambda: sf.graph(networkx.Graph([(0, 1, {"weight": 2}), (1, 2)])), "has no attribute 'weight'"),
        (lambda: sf.graph([(0, 1)], weight="km"), "attribute of networkx edges, found edges of type list"),
    ],
)
def test_what_could_be_meant_otherwise_is_refused(call: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        call()


def test_columns_that_are_named_leave_the_others_out() -> None:
    space = sf.geo(TOWNS, latitude="lat", longitude="lon", labels="town")
    assert space.labels == ("A", "B")
    assert sf.points(TOWNS, columns=["people"]).labels == (0, 1)


def test_lengths_of_parallel_edges_and_isolated_nodes() -> None:
    graph = networkx.MultiGraph([("a", "b", {"length": 5}), ("a", "b", {"length": 2}), ("b", "c", {"length": 1})])
    graph.add_node("alone")
    space = sf.graph(graph, weight="length")
    assert space.labels == ("a", "b", "c", "alone")
    assert (space.distance("a", "c"), space.distance("a", "alone")) == (3.0, np.inf)
    assert sf.graph(networkx.path_graph(4)).distance(0, 3) == 3.0
    graph.add_edge("a", "a", length=1)
    with pytest.raises(InvalidMetric, match="itself"):
        sf.graph(graph, weight="length")


def test_columns_of_usual_names_come_before_those_that_contain_one() -> None:
    usual = ("latitude", "lat")
    assert columns_named(["Lat", "end_lat", "plate", "dropoffLatitude"], usual) == ["Lat"]
    assert columns_named(["end_lat", "plate", "dropoffLatitude"], usual) == ["end_lat", "dropoffLatitude"]
    assert columns_named(["lat_s", "latitude_start", "lat1", "lat_lon", "flat"], usual) == [
        "lat_s", "latitude_start", "lat1",
    ]  # fmt: skip
    assert columns_named(["x_start", "y_start", "x_ray"], ("x", "easting")) == ["x_start"]
    assert columns_named(["lat_s", "x_start", "y_start"], usual, inside=False) == []
