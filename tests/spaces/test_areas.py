"""Areas by their outlines: files and tables, centroids, which area holds a point, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
from shapely.geometry import LineString, MultiPolygon, Polygon, box

import sfumato as sf
from sfumato.errors import InvalidFile, InvalidInput, InvalidMetric, NotSupported
from sfumato.spaces import area_column, areas

WEST, EAST, NORTH = box(2.30, 48.85, 2.31, 48.86), box(2.31, 48.85, 2.33, 48.86), box(2.30, 48.86, 2.33, 48.87)
TABLE = gpd.GeoDataFrame({"tract": ["w", "e", "n"], "people": [10, 20, 30]}, geometry=[WEST, EAST, NORTH], crs=4326)


def located(space: sf.FiniteSpace, points: list[tuple[float, float]]) -> list[int]:
    assert space.ground is not None and space.ground.cells is not None
    latitude, longitude = np.array(points).T
    return space.ground.cells.locate(latitude, longitude).tolist()


def test_areas_of_a_geodataframe() -> None:
    space = areas(TABLE, labels="tract")
    assert space.labels == ("w", "e", "n") and space.name == "3 areas at their centroids"
    assert space.coordinates is not None
    assert np.allclose(space.coordinates, [(2.305, 48.855), (2.32, 48.855), (2.315, 48.865)])
    expected = sf.geo([(48.855, 2.305), (48.855, 2.32), (48.865, 2.315)])
    assert np.allclose(space.distances.floats, expected.distances.floats, rtol=1e-9)
    assert located(space, [(48.851, 2.301), (48.851, 2.32), (48.869, 2.31), (48.5, 2.3)]) == [0, 1, 2, -1]
    assert located(space, [(48.855, 2.31), (48.86, 2.305), (48.855, 362.305)]) == [0, 0, 0]  # borders are the first's


def test_weights_beside_the_outlines() -> None:
    space = areas(TABLE, labels="tract")
    assert area_column(TABLE, "people") == [10, 20, 30]
    prior = sf.Prior.from_counts(TABLE.set_index("tract")["people"], space)
    assert prior.weights.tolist() == sf.Prior.from_counts(area_column(TABLE, "people"), space).weights.tolist()


@pytest.mark.parametrize("ending", [".geojson", ".gpkg", ".shp"])
def test_areas_of_a_file(ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"tracts{ending}"
    TABLE.to_file(file)
    space = areas(file, labels="tract")
    assert space.labels == ("w", "e", "n")
    assert np.allclose(space.distances.floats, areas(TABLE).distances.floats, rtol=1e-6)
    assert area_column(str(file), "people") == [10, 20, 30]


def test_areas_in_another_system() -> None:
    there = areas(TABLE.to_crs("EPSG:2154"), labels="tract")
    assert np.allclose(there.distances.floats, areas(TABLE).distances.floats, rtol=1e-4)
    bare = TABLE.to_crs("EPSG:2154").set_crs(None, allow_override=True)
    assert np.allclose(areas(bare, crs="EPSG:2154").distances.floats, there.distances.floats)
    shapes = list(TABLE.to_crs("EPSG:2154").geometry)
    assert np.allclose(areas(shapes, crs="EPSG:2154").distances.floats, there.distances.floats)
    with pytest.raises(InvalidInput, match="name no coordinate system"):
        areas(bare)
    with pytest.raises(InvalidInput, match="leave crs= out"):
        areas(TABLE, crs="EPSG:4326")
    with pytest.raises(InvalidInput, match=r"no latitudes and longitudes: say crs"):
        areas(shapes)


def test_geojson_as_python_holds_it() -> None:
    about = json.loads(TABLE.to_json())
    space = areas(about, labels="tract")
    assert space.labels == ("w", "e", "n")
    assert area_column(about, "people") == [10, 20, 30]
    assert areas([WEST.__geo_interface__, EAST], labels=["a", "b"]).labels == ("a", "b")
    assert areas(TABLE.set_index("tract")).labels == ("w", "e", "n")


def test_an_area_with_a_hole_and_one_of_two_parts() -> None:
    ring = box(0, 0, 3, 3).difference(box(1, 1, 2, 2))
    two = MultiPolygon([box(5, 0, 6, 1), box(7, 0, 8, 1)])
    with pytest.raises(InvalidMetric, match="are the same place"):
        areas([ring, box(1, 1, 2, 2)])  # both have their centroid in the middle of the hole
    space = areas([ring, box(1, 1, 2, 2), two], place="inside")
    assert space.name == "3 areas at points inside"
    assert located(space, [(0.5, 0.5), (1.5, 1.5), (0.5, 7.5), (0.5, 6.5)]) == [0, 1, 2, -1]
    assert space.coordinates is not None
    assert located(space, [(y, x) for x, y in space.coordinates]) == [0, 1, 2]
    assert space.ground is not None and space.ground.cells is not None
    assert [len(rings) for rings in space.ground.cells.outlines()] == [2, 1, 2]


def test_overlaps() -> None:
    wide = box(2.30, 48.85, 2.315, 48.86)
    with pytest.raises(InvalidInput, match=r"'a' and 'b' overlap in 0.33 of the smaller one: .*overlaps='first'"):
        areas([wide, EAST], labels=["a", "b"])
    space = areas([wide, EAST], labels=["a", "b"], overlaps="first")
    assert located(space, [(48.855, 2.312), (48.855, 2.316)]) == [0, 1]
    sliver = box(2.30, 48.85, 2.31 + 1e-10, 48.86)
    assert len(areas([sliver, EAST])) == 2  # one border, rounded in two ways


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ([], "no areas"),
        ([Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])], "not valid: Self-intersection"),
        ([Polygon()], "is empty"),
        ([LineString([(0, 0), (1, 1)])], "is a LineString"),
        ([{"type": "Polygon"}], "could not be read"),
        ([None], "could not be read"),
        ({"type": "Polygon", "coordinates": []}, "FeatureCollection"),
        ({"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": None}]}, "needs a geometry"),
        (7, "areas are a file"),
        (gpd.GeoDataFrame({"a": [1]}, geometry=[None], crs=4326), "is missing"),
    ],
)
def test_what_is_no_area(shapes: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        areas(shapes)


def test_wrong_names_and_words(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no column 'tracts': they have 'tract', 'people'"):
        areas(TABLE, labels="tracts")
    with pytest.raises(InvalidInput, match="occurs twice"):
        areas(TABLE, labels=["a", "a", "b"])
    with pytest.raises(InvalidInput, match="2 labels for 3 areas"):
        areas(TABLE, labels=["a", "b"])
    with pytest.raises(NotSupported, match="place 'middle'"):
        areas(TABLE, place="middle")
    (tmp_path / "tracts.geojson").write_text("nothing")
    with pytest.raises(InvalidFile, match="is no file of areas"):
        areas(tmp_path / "tracts.geojson")
