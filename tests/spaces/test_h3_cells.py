"""Cells of H3: which ones an area has, distances of centres and of steps, where points are, what is refused."""

from __future__ import annotations

from typing import Any

import h3
import numpy as np
import pytest
from shapely.geometry import Point, Polygon, box

import sfumato as sf
from sfumato.errors import InvalidInput, InvalidMetric, NotSupported
from sfumato.spaces import h3_cells

TOWN = (48.85, 2.34, 48.86, 2.36)
CELL = h3.latlng_to_cell(48.85, 2.34, 8)


def test_every_point_of_a_box_has_a_cell() -> None:
    space = h3_cells(TOWN, 9)
    rng = np.random.default_rng(0)
    latitude, longitude = rng.uniform(48.85, 48.86, 2000), rng.uniform(2.34, 2.36, 2000)
    assert space.ground is not None and space.ground.cells is not None
    found = space.ground.cells.locate(latitude, longitude)
    assert found.min() >= 0
    expected = [h3.latlng_to_cell(y, x, 9) for y, x in zip(latitude[:50], longitude[:50], strict=True)]
    assert [space.labels[k] for k in found[:50]] == expected
    assert space.ground.cells.locate(np.array([0.0]), np.array([0.0])).tolist() == [-1]


def test_a_box_is_a_polygon() -> None:
    cells = h3_cells(TOWN, 9).labels
    shape = box(2.34, 48.85, 2.36, 48.86)
    feature = {"type": "Feature", "properties": {}, "geometry": shape.__geo_interface__}
    assert h3_cells(shape, 9).labels == h3_cells(shape.__geo_interface__, 9).labels == cells
    assert h3_cells(feature, 9).labels == cells
    assert list(cells) == sorted(cells)


def test_distances_are_those_of_centres() -> None:
    space = h3_cells([CELL, *h3.grid_ring(CELL, 1)], unit="m")
    for a, b in ((0, 1), (2, 5)):
        one, other = (h3.cell_to_latlng(space.labels[k]) for k in (a, b))
        expected = h3.great_circle_distance(one, other, unit="m")
        assert space.distance(space.labels[a], space.labels[b]) == pytest.approx(expected, rel=1e-5)
    assert h3_cells(space.labels, earth="WGS84").distance(*space.labels[:2]) == pytest.approx(
        space.distance(*space.labels[:2]) / 1000, rel=0.006
    )


def test_steps_between_neighbours() -> None:
    disk = sorted(h3.grid_disk(CELL, 3))
    space = h3_cells(disk, 8, distance="grid")
    for cell in disk[::5]:
        assert space.distance(CELL, cell) == h3.grid_distance(CELL, cell)
    assert space.unit == "" and space.distances.form is sf.spaces.Form.RATIONAL


def test_cells_that_no_steps_join() -> None:
    far = sorted(h3.grid_ring(CELL, 9))[0]
    disk = [*h3.grid_disk(CELL, 1), far]
    with pytest.raises(InvalidMetric, match=r"are in 2 parts, the largest has 7 of 8; parts='largest' keeps that one"):
        h3_cells(disk, distance="grid")
    space = h3_cells(disk, distance="grid", parts="largest")
    assert space.name == "7 H3 cells of resolution 8, the largest of 2 parts, without 1 H3 cell"
    assert far not in space.labels and space.ground is not None and space.ground.cells is not None
    latitude, longitude = h3.cell_to_latlng(far)
    assert space.ground.cells.locate(np.array([latitude]), np.array([longitude])).tolist() == [-1]
    assert len(h3_cells(disk)) == 8  # by distances of centres they are one space


def test_cells_by_their_numbers() -> None:
    assert h3_cells([h3.str_to_int(CELL)]).labels == (CELL,)
    assert h3_cells(np.array([h3.str_to_int(cell) for cell in sorted(h3.grid_disk(CELL, 1))[:4]])).labels[0] < CELL
    assert h3_cells([CELL.upper()]).labels == (CELL,)


@pytest.mark.parametrize(
    ("area", "resolution", "words"),
    [
        ([], None, "empty"),
        ([CELL, CELL], None, "occurs twice"),
        ([CELL, h3.cell_to_parent(CELL, 7)], None, "cells have one resolution"),
        ([CELL], 9, "the cells have resolution 8, not 9"),
        (["8a2a", CELL], None, "'8a2a' is no H3 cell"),
        ([None], None, "is no H3 cell"),
        (TOWN, None, "say the resolution"),
        (TOWN, 16, "at most 15"),
        (TOWN, "9", "must be an integer"),
        ((2.34, 48.85, 2.30, 48.86), 9, "latitude first"),
        ((48.85, 179, 48.86, -179), 9, "antimeridian"),
        (Point(2, 48), 9, "'Point'"),
        ({"type": "Polygon", "coordinates": "here"}, 9, "h3 does not read"),
        (Polygon(), 9, "h3 "),
        ((-90.0, -180.0, 90.0, 180.0), 9, "cells"),
        (None, 9, "an area is a box"),
    ],
)
def test_what_is_no_area(area: Any, resolution: Any, words: str) -> None:
    with pytest.raises((InvalidInput, NotSupported), match=words):
        h3_cells(area, resolution)


def test_words_that_are_not_known() -> None:
    with pytest.raises(NotSupported, match="distance 'steps'"):
        h3_cells(TOWN, 9, distance="steps")
    with pytest.raises(NotSupported, match="parts 'all'"):
        h3_cells(TOWN, 9, parts="all")
    with pytest.raises(InvalidInput, match="a length such as km"):
        h3_cells(TOWN, 9, unit="cells")
