"""Points on the Earth become cells, areas and crossings on release; what lies in none is refused, dropped or moved."""

from __future__ import annotations

import geopandas as gpd
import h3
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from shapely.geometry import box

import sfumato as sf
from sfumato.certify.protocol import Domain
from sfumato.errors import InvalidInput
from sfumato.release import Geometry, Place, Position
from sfumato.release.places import coordinates_of
from sfumato.release.rows import TypedValues
from sfumato.spaces import areas, h3_cells, roads, square_cells

HEXAGONS = h3_cells((48.85, 2.34, 48.86, 2.36), 9)
BLOCKS = areas([box(2.30, 48.85, 2.31, 48.86), box(2.32, 48.85, 2.33, 48.86)], labels=["w", "e"])
TOWN = roads(
    [("a", "b", 100), ("b", "c", 60), ("c", "a", 130)],
    {"a": (41.9, 12.49), "b": (41.9009, 12.49), "c": (41.9009, 12.4907)},
)


def located(space: sf.FiniteSpace, points: list[tuple[float, float]], **terms: str) -> tuple[list[int], list[float]]:
    finder = coordinates_of(Place("lat", "lon"), Domain.of(space), **{"on_unknown": "error", **terms})
    batch = [TypedValues(pa.array([float(value) for value in column])) for column in zip(*points, strict=True)]
    found = finder.locate(batch, 0)
    return found.rows.tolist(), found.moved.tolist()


def test_a_point_is_in_its_cell() -> None:
    inside = (48.8544, 2.3502)
    rows, moved = located(HEXAGONS, [inside])
    assert HEXAGONS.labels[rows[0]] == h3.latlng_to_cell(*inside, 9) and not moved
    assert located(BLOCKS, [(48.855, 2.305), (48.855, 2.325)])[0] == [0, 1]


def test_a_point_in_no_cell() -> None:
    gap, far = (48.855, 2.312), (0.0, 0.0)
    with pytest.raises(InvalidInput, match=r"row 2: .* in none of the 2 areas at their centroids"):
        located(BLOCKS, [(48.855, 2.305), gap])
    assert located(BLOCKS, [(48.855, 2.305), gap], on_unknown="drop")[0] == [0, -1]
    rows, moved = located(BLOCKS, [(48.855, 2.305), gap], on_unknown="nearest")
    assert rows == [0, 0] and moved == pytest.approx([0.512], abs=1e-3)  # km to the centroid
    assert located(BLOCKS, [gap], within="1 km")[0] == [0]
    with pytest.raises(InvalidInput, match="more than 1 km"):
        located(BLOCKS, [far], within="1 km")


def test_the_nearest_crossing() -> None:
    with pytest.raises(InvalidInput, match="say within=, a distance in m"):
        located(TOWN, [(41.9, 12.49)])
    assert located(TOWN, [(41.90001, 12.49), (41.9009, 12.4906)], within="50 m")[0] == [0, 2]
    with pytest.raises(InvalidInput, match=r"row 1: .* from the nearest secret of 3 crossings, more than 20 m"):
        located(TOWN, [(41.9005, 12.49)], within="20 m")
    rows, moved = located(TOWN, [(41.90001, 12.49), (42.0, 12.49)], on_unknown="nearest")
    assert rows == [0, 1] and moved == pytest.approx([11019.5], rel=1e-3)  # metres


def test_steps_and_minutes_are_no_lengths() -> None:
    steps = h3_cells(HEXAGONS.labels, distance="grid")
    assert located(steps, [(48.8544, 2.3502)]) == located(HEXAGONS, [(48.8544, 2.3502)])
    assert located(steps, [(48.8544, 2.3502)], within="2 km")[0] == located(HEXAGONS, [(48.8544, 2.3502)])[0]
    walk = roads([("a", "b", 2)], {"a": (41.9, 12.49), "b": (41.9009, 12.49)}, unit="minutes")
    assert located(walk, [(41.9001, 12.49)], within="100 m")[0] == [0]


def test_the_ellipsoid() -> None:
    cities = sf.geo([(48.86, 2.35), (51.51, -0.13)], labels=["Paris", "London"], earth="WGS84")
    assert located(cities, [(48.9, 2.4), (51.5, 0.0)], within="20 km")[0] == [0, 1]
    rows, moved = located(cities, [(48.9, 2.4), (0.0, 0.0)], on_unknown="nearest")
    assert rows == [0, 0] and moved == pytest.approx([5418.77], abs=1)
    alone = sf.geo([(48.86, 2.35)], earth="WGS84")
    assert located(alone, [(0.0, 0.0)], on_unknown="nearest") == ([0], [])


def test_degrees_are_a_place_not_a_position() -> None:
    with pytest.raises(InvalidInput, match=r"are on the Earth: name latitude and longitude"):
        coordinates_of(Position("lon", "lat"), Domain.of(HEXAGONS), on_unknown="nearest")


def test_a_stretched_space_of_places() -> None:
    cities = sf.elastic(sf.geo([(48.86, 2.35), (51.51, -0.13)]), [1, 3])
    assert located(cities, [(48.9, 2.4), (51.5, 0.0)], within="20 km")[0] == [0, 1]


@pytest.mark.parametrize("space", [HEXAGONS, BLOCKS, square_cells("48.85 N", "2.30 E", sides=(3, 1), step=1)])
def test_a_table_is_released(space: sf.FiniteSpace) -> None:
    mechanism = sf.exponential(sf.PrivacyType(space, epsilon=2))
    assert space.coordinates is not None
    table = pd.DataFrame({"lat": space.coordinates[:2, 1], "lon": space.coordinates[:2, 0], "id": [1, 2]})
    noisy = mechanism.release(table, Place("lat", "lon"))
    places = {(y, x) for x, y in space.coordinates.tolist()}
    assert noisy.columns.tolist() == ["lat", "lon", "id"]
    assert set(zip(noisy["lat"], noisy["lon"], strict=True)) <= places
    cells = mechanism.release(table, Place("lat", "lon"), into="cell")["cell"]
    assert set(cells) <= set(space.labels)


def test_a_column_of_points_is_released() -> None:
    mechanism = sf.exponential(sf.PrivacyType(HEXAGONS, epsilon=2))
    people = gpd.GeoDataFrame(
        {"id": [1, 2]}, geometry=gpd.points_from_xy([2.3502, 2.3449], [48.8544, 48.8571]), crs=4326
    )
    for table in (people, people.to_crs("EPSG:2154")):
        noisy = mechanism.release(table, Geometry())
        assert noisy.crs == table.crs and HEXAGONS.coordinates is not None
        back = noisy.to_crs(4326).geometry
        apart = np.abs(HEXAGONS.coordinates[:, None] - np.column_stack([back.x, back.y])[None]).max(axis=2)
        assert apart.min(axis=0).max() < 1e-6  # at centres of cells


def test_swapped_axes_are_told() -> None:
    with pytest.raises(InvalidInput, match="with latitude and longitude swapped"):
        located(HEXAGONS, [(2.3502, 48.8544)])


def test_the_note_says_that_the_promise_is_about_cells(caplog: pytest.LogCaptureFixture) -> None:
    mechanism = sf.exponential(sf.PrivacyType(HEXAGONS, epsilon=2))
    with caplog.at_level("INFO", logger="sfumato.release"):
        mechanism.release(pd.DataFrame({"lat": [48.8544], "lon": [2.3502]}), Place("lat", "lon"))
    assert "the promise is about the secrets of 27 H3 cells of resolution 9, not about every metre" in caplog.text


def test_many_points_at_once() -> None:
    rng = np.random.default_rng(0)
    points = list(zip(rng.uniform(48.85, 48.86, 3000), rng.uniform(2.34, 2.36, 3000), strict=True))
    rows, _ = located(HEXAGONS, points)
    assert [HEXAGONS.labels[k] for k in rows[:20]] == [h3.latlng_to_cell(*point, 9) for point in points[:20]]
