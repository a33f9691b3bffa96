from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import asin, cos, hypot, radians, sin, sqrt
from time import process_time
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, InvalidMetric, NotSupported
from sfumato.spaces import EARTH_RADIUS_KM, Form


def test_grids_of_any_dimension_and_metric() -> None:
    cells = list(product(range(2), range(3), range(2)))
    rules = {
        "euclidean": lambda a, b: sqrt(sum((i - j) ** 2 for i, j in zip(a, b, strict=True))),
        "manhattan": lambda a, b: sum(abs(i - j) for i, j in zip(a, b, strict=True)),
        "chebyshev": lambda a, b: max(abs(i - j) for i, j in zip(a, b, strict=True)),
    }
    for metric, rule in rules.items():
        space = sf.grid(2, 3, 2, metric=metric, step="1/2")  # type: ignore[arg-type]
        assert space.labels == tuple(cells)
        for a, b in product(cells, cells):
            assert space.distance(a, b) == pytest.approx(rule(a, b) / 2)


def test_hamming_words() -> None:
    space = sf.hamming(2, symbols=3)
    assert len(space) == 9
    assert space.distance("00", "12") == 2
    assert space.distance("00", "02") == 1
    assert len(sf.hamming(4).pairs.first) == 32


def test_small_graphs() -> None:
    assert sf.cycle(5).distance(0, 3) == 2
    assert sf.spaces.star(3).distance(1, 2) == 2
    assert sf.spaces.complete_bipartite(2, 2).distance(("left", 0), ("left", 1)) == 2
    assert sf.discrete(["u", "v", "w"], distance="1/3").distance("u", "w") == pytest.approx(1 / 3)


def test_graph_takes_shortest_paths_and_the_shorter_of_two_edges() -> None:
    space = sf.graph({("a", "b"): 3, ("b", "a"): 2, ("b", "c"): "1/2", ("a", "c"): 9})
    assert space.distance("a", "c") == 2.5
    assert space.distances.unit == Fraction(1, 2)


def test_rational_points_are_exact_and_floats_are_not() -> None:
    exact = sf.points([("1/2", 0), (0, "1/3")])
    assert exact.distances.form is Form.ROOT
    assert exact.distance(0, 1) == pytest.approx(hypot(1 / 2, 1 / 3))
    assert sf.points([0.5, 2.25]).distances.form is Form.FLOAT
    assert sf.points(np.array([[0.0, 1.0], [3.0, 5.0]])).distances.form is Form.RATIONAL  # 3, 4, 5
    huge = sf.points([(0, 0), (10**6, 10**6)])
    assert huge.distances.form is Form.FLOAT
    assert huge.distance(0, 1) == pytest.approx(sqrt(2) * 1e6)


def test_tiny_point_distances_do_not_underflow() -> None:
    assert sf.points([[0.0, 1e-200], [1e-200, 0.0]]).distance(0, 1) == pytest.approx(sqrt(2) * 1e-200)


def test_great_circles() -> None:
    places = {"pole": (90, 0), "equator": (0, 17), "west": (0.0, -163), "near": (0.0, 17.0001)}
    space = sf.geo(list(places.values()), labels=list(places))
    assert space.unit == "km"
    assert space.distance("pole", "equator") == pytest.approx(EARTH_RADIUS_KM * np.pi / 2)
    assert space.distance("equator", "west") == pytest.approx(EARTH_RADIUS_KM * np.pi)
    assert space.distance("equator", "near") == pytest.approx(EARTH_RADIUS_KM * radians(0.0001), rel=1e-9)
    (a, b), (c, d) = (48.8566, 2.3522), (51.5074, -0.1278)
    half = sin(radians(c - a) / 2) ** 2 + cos(radians(a)) * cos(radians(c)) * sin(radians(d - b) / 2) ** 2
    assert sf.geo([(a, b), (c, d)]).distance(0, 1) == pytest.approx(2 * EARTH_RADIUS_KM * asin(sqrt(half)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: sf.line(0),
        lambda: sf.line(2.5),  # type: ignore[arg-type]
        lambda: sf.grid(),
        lambda: sf.grid(3, 0),
        lambda: sf.grid(2, 2, step=0),
        lambda: sf.grid(2, 2, step=-1),
        lambda: sf.hamming(0),
        lambda: sf.cycle(2),
        lambda: sf.discrete([]),
        lambda: sf.discrete(["a", "a"]),
        lambda: sf.graph([("a",)]),
        lambda: sf.graph([("a", "b")], labels=["a"]),
        lambda: sf.points([]),
        lambda: sf.points([[1, 2], [3]]),
        lambda: sf.points([[0.0, float("nan")], [1.0, 1.0]]),
        lambda: sf.points([[0, 1], [1, 1]], labels=["one"]),
        lambda: sf.geo([(91, 0), (0, 0)]),
        lambda: sf.geo([(1, 2, 3)]),
        lambda: sf.geo([(0, 0), (1, 1)], labels=["one"]),
    ],
)
def test_bad_spaces_are_refused(make: Any) -> None:
    with pytest.raises(InvalidInput):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: sf.points([[1, 1], [2, 2], [1, 1]]),
        lambda: sf.points([[0.5], [0.5]]),
        lambda: sf.geo([(0, 180), (0, -180)]),
        lambda: sf.graph([("a", "a")]),
        lambda: sf.graph([("a", "b", 0)]),
    ],
)
def test_points_that_coincide_are_no_metric(make: Any) -> None:
    with pytest.raises(InvalidMetric):
        make()


@pytest.mark.parametrize("wrong", [2.5, 3.0, True, np.float64(3), Fraction(7, 2)])
def test_sizes_are_whole_numbers(wrong: Any) -> None:
    for make in (
        sf.line,
        sf.grid,
        sf.discrete,
        sf.hamming,
        sf.cycle,
        sf.spaces.star,
        lambda n: sf.spaces.complete_bipartite(2, n),
    ):
        with pytest.raises(InvalidInput, match=r"^the number of .* must be .*integer"):
            make(wrong)


def test_unknown_metrics_list_the_known_ones() -> None:
    with pytest.raises(NotSupported, match="manhattan"):
        sf.grid(2, 2, metric="taxi")  # type: ignore[arg-type]
    with pytest.raises(NotSupported):
        sf.points([[1], [2]], metric="taxi")  # type: ignore[arg-type]
    with pytest.raises(NotSupported):
        sf.hamming(2, symbols=99)
    with pytest.raises(NotSupported, match="a grid with 33 sides is not supported; at most 32 are"):
        sf.grid(*[1] * 33)


@pytest.mark.parametrize(
    "build",
    [
        lambda: sf.line(100_000_000),
        lambda: sf.discrete(10**12),
        lambda: sf.grid(10**6, 10**6),
        lambda: sf.grid(10**30, 2),
        lambda: sf.hamming(10**9),
        lambda: sf.hamming(10**12, symbols=1),
        lambda: sf.hamming(21, symbols=3),
        lambda: sf.cycle(10**9),
        lambda: sf.sum_query(10**6, 10**6),
        lambda: sf.spaces.k_count_query(1, 70),
        lambda: sf.spaces.star(10**9),
        lambda: sf.spaces.complete_bipartite(10**9, 1),
        lambda: sf.spaces.complete_bipartite(10**4, 10**4),
    ],
)
def test_too_many_points_are_refused_before_labels_are_built(build: Callable[[], object]) -> None:
    begun = process_time()
    with pytest.raises(NotSupported, match=r"a space of .* is not supported; at most 2000000 "):
        build()
    assert process_time() - begun < 1
