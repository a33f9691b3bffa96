from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.certify.protocol import Domain
from sfumato.errors import InvalidInput, Mismatch
from sfumato.release.places import Place, Position, coordinates_of, distance_in
from sfumato.release.rows import BadRow, TypedValues
from sfumato.spaces.constructors import EARTH_RADIUS_KM


def found(space: sf.FiniteSpace, points: Any, asked: Any = None, on_unknown: str = "error", **more: Any) -> list[int]:
    columns = [
        TypedValues(pa.array([None if v is None else float(v) for v in column])) for column in zip(*points, strict=True)
    ]
    asked = asked or Position(*"xyz"[: len(columns)])
    return coordinates_of(asked, Domain.of(space), on_unknown=on_unknown, **more).find(columns, 0).tolist()


def saved_and_loaded(space: sf.FiniteSpace, folder: Path) -> sf.FiniteSpace:
    mechanism = sf.exponential(sf.PrivacyType(space, epsilon=1))
    sf.save(mechanism, folder / "m.sfm")
    return sf.load(folder / "m.sfm").privacy.space


METRICS = {"euclidean": 2, "manhattan": 1, "chebyshev": np.inf}


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(list(METRICS)))
def test_the_nearest_secret_in_every_metric(seed: int, metric: Any) -> None:
    rng = np.random.default_rng(seed)
    where, points = rng.normal(size=(9, 2)), rng.normal(size=(20, 2))
    space = sf.points(where, metric=metric)
    distances = np.linalg.norm(points[:, None] - where[None], ord=METRICS[metric], axis=2)
    assert found(space, points, within=100) == distances.argmin(axis=1).tolist()
    within = float(np.median(distances.min(axis=1)))
    near = found(space, points, on_unknown="drop", within=within)
    inside = distances.min(axis=1) <= within
    assert near == np.where(inside, distances.argmin(axis=1), -1).tolist()


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_the_nearest_place_by_great_circles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    where = np.column_stack([rng.uniform(-90, 90, 8), rng.uniform(-180, 180, 8)])
    points = np.column_stack([rng.uniform(-90, 90, 20), rng.uniform(-180, 360, 20)])
    space = sf.geo(where)
    expected = []
    for point in points:
        at_point = sf.geo([*where.tolist(), point.tolist()]).distances.floats[-1, :-1]
        expected.append(int(at_point.argmin()))
    asked = Place("lat", "lon")
    assert found(space, points, asked, "nearest") == expected
    assert found(space, points, asked, within=21_000) == expected


def test_within_is_in_the_unit_of_the_space() -> None:
    cities = sf.geo([(48.8566, 2.3522), (51.5074, -0.1278)], labels=["Paris", "London"])
    versailles = (48.8049, 2.1204)
    asked = Place("lat", "lon")
    assert found(cities, [versailles], asked, within="18 km") == [0]
    with pytest.raises(
        BadRow, match=r"row 1: 'lat', 'lon' are .* 17\.9\d* km from the nearest .* more than 17 km"
    ) as bad:
        found(cities, [versailles], asked, within=17)
    assert (bad.value.row, bad.value.value) == (1, versailles)
    assert found(cities, [versailles, (51.5, 0)], asked, "drop", within=17) == [-1, 1]
    with pytest.raises(BadRow, match=r"more than 17\.5 km"):
        found(cities, [versailles], asked, within="17500 m")
    assert (
        found(cities, [versailles], asked, within="18000 m")
        == found(cities, [versailles], asked, within="12 mi")
        == [0]
    )
    with pytest.raises(InvalidInput, match="within is 5 minutes, but distances are in km: give it in km"):
        found(cities, [versailles], asked, within="5 minutes")
    small = sf.geo([(48.8566, 2.3522), (51.5074, -0.1278)], radius_km=EARTH_RADIUS_KM / 2)
    assert found(small, [versailles], asked, within=9) == [0]


def test_a_place_across_the_date_line() -> None:
    fiji = sf.geo([(-17, 179.9), (-17, 170)])
    assert found(fiji, [(-17, -179.9), (-17, 180.1)], Place("lat", "lon"), within=50) == [0, 0]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("load", [False, True])
def test_points_belong_to_the_cell_they_are_in(metric: Any, load: bool, tmp_path: Path) -> None:
    city = sf.grid(4, 3, metric=metric, step="1/2", unit="km")
    if load:
        city = saved_and_loaded(city, tmp_path)
        assert city.source.lattice is None
    rng = np.random.default_rng(1)
    points = rng.uniform([-0.25, -0.25], [1.75, 1.25], size=(200, 2))
    cells = np.floor(points / 0.5 + 0.5).astype(int)
    assert [city.labels[i] for i in found(city, points)] == list(map(tuple, cells.tolist()))
    assert found(city, [(-0.25, 1.25), (1.75, 0)]) == [city.index((0, 2)), city.index((3, 0))]
    with pytest.raises(BadRow, match=r"row 2: 'x', 'y' are \(1.76, 0.0\), outside the cells of grid\(4, 3"):
        found(city, [(0, 0), (1.76, 0)])
    assert found(city, [(9, 9), (-9, 0.6)], on_unknown="nearest") == [city.index((3, 2)), city.index((0, 1))]
    # with a distance, cells do not count: the corner of a cell is 0.25·√2, 0.5 or 0.25 km from its centre
    corner = {"euclidean": 0.3536, "manhattan": 0.5, "chebyshev": 0.25}[metric]
    assert found(city, [(0.25, 0.25 - 1e-12)], within=corner + 1e-4) in ([city.index((0, 0))], [city.index((1, 0))])
    with pytest.raises(BadRow, match="km from the nearest secret"):
        found(city, [(0.25, 0.25)], within=corner - 1e-4)


def test_grids_of_one_and_three_dimensions() -> None:
    assert found(sf.line(5), [(3.4,), (0.0,)]) == [3, 0]
    cube = sf.grid(2, 2, 2)
    assert found(cube, [(0.9, 0.1, 1.2)]) == [cube.index((1, 0, 1))]
    shifted = sf.points([(10, 20), (10, 21), (12, 20), (12, 21)])
    assert found(shifted, [(12.9, 20.4)]) == [2]  # cells of 2 × 1
    row = sf.points([(0, 0), (1, 0), (2, 0)])
    assert found(row, [(1.2, 0.4)]) == [1]
    with pytest.raises(BadRow, match="outside the cells"):
        found(row, [(1.2, 0.6)])


def test_what_is_no_grid_needs_a_distance() -> None:
    for space in (sf.points([(0, 0), (1, 0), (5, 5)]), sf.points([(0, 1), (0, 0), (1, 0), (1, 1)])):
        with pytest.raises(InvalidInput, match="is no grid of cells: say within="):
            found(space, [(0, 0)])
    with pytest.raises(InvalidInput, match="a distance in km"):
        found(sf.geo([(0, 0), (0, 1)]), [(0, 0)], Place("lat", "lon"))


def test_missing_coordinates_are_named() -> None:
    city = sf.grid(2, 2)
    with pytest.raises(BadRow, match="row 2: 'y' is missing"):
        found(city, [(0, 0), (1, None)])
    with pytest.raises(BadRow, match="row 1: 'x' is nan, which is no finite number"):
        found(city, [(float("nan"), 0)], on_unknown="nearest")
    with pytest.raises(BadRow, match="row 1: 'x' is inf, which"):
        found(city, [(float("inf"), 0)])
    assert found(city, [(0, 0), (1, None), (0, 9)], on_unknown="drop") == [0, -1, -1]
    finder = coordinates_of(Position("x", "y"), Domain.of(city), on_unknown="error")
    with pytest.raises(BadRow, match="row 1: 'x' is the text 'a': make it a column of numbers"):
        finder.find([TypedValues(pa.array(["a"])), TypedValues(pa.array([0]))], 0)
    with pytest.raises(BadRow, match=r"row 8: 'lat', 'lon' are .*latitude is within ±90"):
        coordinates_of(Place("lat", "lon"), Domain.of(sf.geo([(0, 0)])), on_unknown="nearest").find(
            [TypedValues(pa.array([91.0])), TypedValues(pa.array([0.0]))], 7
        )


def test_decimals_and_integers_are_coordinates() -> None:
    from decimal import Decimal

    finder = coordinates_of(Position("x", "y"), Domain.of(sf.grid(3, 3)), on_unknown="error")
    assert finder.find([TypedValues(pa.array([Decimal("1.6")])), TypedValues(pa.array([2]))], 0).tolist() == [8]
    coded = TypedValues(pa.array([1.6]).dictionary_encode())
    assert finder.find([coded, coded], 0).tolist() == [8]


def test_spaces_and_columns_must_fit() -> None:
    city, flat = sf.grid(2, 2), sf.discrete(3)
    for work, words in (
        (lambda: found(flat, [(0, 0)]), "has no coordinates: release a column of labels"),
        (lambda: found(city, [(0, 0)], Place("lat", "lon"), within=1), "are no great circles"),
        (lambda: found(city, [(0, 0)], within=-1), "a positive distance"),
        (lambda: found(city, [(0, 0)], within="near"), "near"),
        (lambda: Position(), "is named by its columns"),
        (lambda: Position("x", "x"), "a column of its own"),
        (lambda: Place("lat", "lat"), "a column of its own"),
        (lambda: Position(1), "is named by its columns"),  # type: ignore[arg-type]
        (lambda: Place("lat", None), "latitude first"),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidInput, match=words):
            work()
    with pytest.raises(Mismatch, match="2 columns"):
        found(city, [(0,)], Position("x"))
    assert repr(Place("a", "b")) == "Place('a', 'b')" and repr(Position("x")) == "Position('x')"
    assert distance_in("", "1/2") == 0.5


def test_distances_that_are_not_those_of_the_coordinates() -> None:
    roads = sf.FiniteSpace(["a", "b"], [[0, 5], [5, 0]], coordinates=np.array([[0.0, 0.0], [1.0, 1.0]]))
    assert found(roads, [(0.9, 0.8)], on_unknown="nearest") == [1]
    with pytest.raises(InvalidInput, match="within= has no unit"):
        found(roads, [(0.9, 0.8)], within=1)


# ----------------------------------------------------------------- how many points were moved


def moved(space: sf.FiniteSpace, points: Any, asked: Any = None, **terms: Any) -> list[float]:
    columns = asked or Position(*"xyz"[: len(points[0])])
    finder = coordinates_of(columns, Domain.of(space), on_unknown="nearest", **terms)
    batch = [TypedValues(pa.array([float(point[k]) for point in points])) for k in range(len(points[0]))]
    return finder.locate(batch, 0).moved.tolist()


def test_points_outside_the_cells_of_a_grid_are_moved() -> None:
    city = sf.grid(4, 3, step="1/10")
    assert moved(city, [(0.0, 0.0), (0.35, 0.25), (-0.05, -0.05), (0.14, 0.11)]) == []
    assert moved(city, [(0.1, 0.1), (1.3, 0.2), (0.0, -2.0)]) == pytest.approx([1.0, 2.0])


def test_points_far_from_scattered_secrets_are_moved() -> None:
    space = sf.points([(0.0, 0.0), (3.0, 0.0), (3.5, 10.0)])  # the last is 10.0125 from its neighbour
    assert moved(space, [(1.5, 5.0), (3.0, -10.0)]) == []
    assert moved(space, [(1.5, 5.0), (3.0, -10.1), (99.0, 0.0)]) == pytest.approx([10.1, 96.0])
    assert moved(space, [(1.5, 5.0), (3.0, 0.5)], within=1) == pytest.approx([(1.5**2 + 25) ** 0.5])
    assert moved(sf.points([(0.0, 0.0)]), [(1e6, 0.0)]) == []  # one secret has no neighbour


def test_places_far_from_all_others_are_moved() -> None:
    cities = sf.geo([(48.8566, 2.3522), (51.5074, -0.1278)])
    here, there = (51.5, 0.0), (-33.9, 151.2)
    (distance,) = moved(cities, [here, there], Place("lat", "lon"))
    assert 16_000 < distance < 18_000
    assert moved(cities, [here], Place("lat", "lon"), within="5 km") == pytest.approx([8.88], abs=0.1)
