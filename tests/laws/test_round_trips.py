"""What goes out to NumPy, pandas, polars and networkx comes back as what it was."""

from __future__ import annotations

from fractions import Fraction

import networkx
import numpy as np
import pandas
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput

LABELS = st.lists(
    st.one_of(st.text(max_size=3), st.integers(-5, 5), st.tuples(st.integers(0, 3), st.integers(0, 3))),
    min_size=1, max_size=5, unique_by=repr,
)  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> sf.Channel:
    secrets, outputs = draw(LABELS), draw(LABELS)
    rows = []
    for _ in secrets:
        weights = draw(st.lists(st.integers(0, 9), min_size=len(outputs), max_size=len(outputs)).filter(any))
        rows.append([Fraction(weight, sum(weights)) for weight in weights])
    return sf.Channel(secrets, rows, outputs)


@given(tables())
def test_a_channel_goes_through_pandas_and_numpy(channel: sf.Channel) -> None:
    frame = channel.to_pandas(exact=True)
    back = sf.Channel(channel.secrets, frame.iloc[::-1, ::-1], channel.outputs)  # by label, in whatever order
    assert (back.matrix == channel.matrix).all()
    assert sf.Channel(channel.secrets, frame).outputs == channel.outputs
    assert (np.asarray(channel, dtype=object) == channel.matrix).all()
    assert (np.asarray(channel) == channel.matrix.astype(float)).all()
    assert (channel.to_pandas().to_numpy() == np.asarray(channel)).all()
    again = sf.Channel(channel.secrets, np.asarray(channel), channel.outputs)
    assert np.abs(np.asarray(again) - np.asarray(channel)).max() == 0


@given(tables())
def test_an_entry_is_found_by_its_labels(channel: sf.Channel) -> None:
    for x, secret in enumerate(channel.secrets):
        for y, output in enumerate(channel.outputs):
            if (secret, output) in channel.secrets:  # the pair is itself the label of a row
                with pytest.raises(InvalidInput, match="labels must tell these apart"):
                    channel[secret, output]
            else:
                assert channel[secret, output] == channel.matrix[x, y]


@given(LABELS, st.data())
def test_a_prior_goes_through_a_series(secrets: list[object], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(0, 9), min_size=len(secrets), max_size=len(secrets)).filter(any))
    prior = sf.Prior(secrets, [Fraction(weight, sum(weights)) for weight in weights])
    series = prior.to_pandas(exact=True)
    assert (sf.Prior(secrets, series.iloc[::-1]).weights == prior.weights).all()
    assert [prior[secret] for secret in secrets] == prior.weights.tolist()
    assert (np.asarray(prior, dtype=object) == prior.weights).all()


def test_a_loss_goes_through_a_frame() -> None:
    loss = sf.losses.absolute(sf.line(4))
    back = sf.Loss(loss.actions, loss.secrets, loss.to_pandas(exact=True).iloc[::-1])
    assert (back.matrix == loss.matrix).all()
    assert loss[3, 1] == 2


@given(st.integers(2, 7), st.data())
def test_a_graph_of_networkx_has_its_shortest_paths(size: int, data: st.DataObject) -> None:
    graph = networkx.Graph()
    graph.add_nodes_from(f"n{k}" for k in range(size))
    for first in range(size):
        for second in range(first):
            if data.draw(st.booleans()):
                graph.add_edge(f"n{first}", f"n{second}", length=data.draw(st.integers(1, 9)))
    space = sf.graph(graph, weight="length") if graph.edges else sf.graph(graph)
    lengths = dict(networkx.all_pairs_dijkstra_path_length(graph, weight="length"))
    assert space.labels == tuple(graph.nodes)
    for x in space.labels:
        for z in space.labels:
            assert space.distance(x, z) == lengths[x].get(z, np.inf)


@pytest.mark.parametrize("library", [pandas.DataFrame, polars.DataFrame])
def test_points_and_places_are_the_same_from_lists_arrays_and_dataframes(library: type) -> None:
    rows = [(41.9, 12.5), (48.9, 2.4), (52.5, 13.4)]
    names = ["Rome", "Paris", "Berlin"]
    frame = library({"city": names, "lat": [r[0] for r in rows], "lon": [r[1] for r in rows]})
    for make, other in (
        (sf.geo(rows, labels=names), sf.geo(frame, labels="city")),
        (sf.geo(np.array(rows), labels=names), sf.geo(frame, labels="city", latitude="lat", longitude="lon")),
        (sf.points(rows, labels=names), sf.points(frame, labels="city")),
        (sf.points(rows, labels=names), sf.points(frame, labels="city", columns=["lat", "lon"])),
    ):
        assert make.labels == other.labels
        assert (make.distances.values == other.distances.values).all()
        assert make.coordinates is not None and other.coordinates is not None
        assert (make.coordinates == other.coordinates).all()
