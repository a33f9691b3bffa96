"""Spaces of maps with 2,000 places: how long they take beside what h3, shapely, pyproj and networkx alone need.

A space is its labels and its table of distances. A library alone makes the same cells and distances in floats, with no
metric proved; of networkx a twentieth of the ways is asked for. Points are located as a release does it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import h3
import networkx as nx
import numpy as np
import pyproj
import shapely

import sfumato as sf
from sfumato.spaces import areas, h3_cells, roads, square_cells
from timing import Table, measure_side_by_side

PLACES = 2000
POINTS = 100_000
CORNER = (40.70, -74.02)


def main() -> None:
    """Print and write the table."""
    table = Table(
        "maps",
        f"Spaces of {PLACES} places, and {POINTS:,} points located in them",
        ("what", "places", "sfumato, s", "alone", "alone, s", "sfumato ÷ alone"),
        ("what",),
        "sfumato, s",
    )
    for what, places, ours, library, alone in _cases():
        timings = measure_side_by_side({"ours": ours, "alone": alone}, repeats=3)
        own, other = timings["ours"].median, timings["alone"].median
        table.add(what, places, own, library, other, own / other)
    table.finish()


Case = tuple[str, int, Callable[[], Any], str, Callable[[], Any]]


def _cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    latitude, longitude = (rng.uniform(at, at + 0.1, POINTS) for at in CORNER)
    box = (*CORNER, CORNER[0] + 0.14, CORNER[1] + 0.15)
    cells = h3_cells(box, 9)
    ids = list(cells.labels)[:PLACES]

    def centres() -> Any:
        return _haversines([h3.cell_to_latlng(cell) for cell in ids])

    yield "H3 cells on the sphere", len(ids), lambda: h3_cells(ids).distances, "h3, haversines of numpy", centres
    yield ("H3 cells on the ellipsoid", len(ids), lambda: h3_cells(ids, earth="WGS84").distances, "h3, pyproj.Geod",
           lambda: _geodesics(ids))  # fmt: skip
    assert cells.ground is not None and cells.ground.cells is not None
    yield ("points in H3 cells", len(cells), _located(cells, latitude, longitude), "h3, one call a point",
           lambda: [h3.latlng_to_cell(y, x, 9) for y, x in zip(latitude, longitude, strict=True)])  # fmt: skip
    squares = square_cells(*CORNER, sides=(22.5, 22.5), step=0.5)
    shapes = [shapely.Polygon(rings[0]) for rings in squares.ground.cells.outlines()]  # type: ignore[union-attr]
    tree, points = shapely.STRtree(shapes), shapely.points(longitude, latitude)
    yield ("points in square cells", len(squares), _located(squares, latitude, longitude), "shapely.STRtree",
           lambda: tree.query(points, predicate="intersects"))  # fmt: skip
    yield ("areas with outlines", len(shapes), lambda: areas(shapes, overlaps="first").distances,
           "shapely, haversines of numpy", lambda: _haversines(_centroids(shapes)))  # fmt: skip
    tracts = areas(shapes, overlaps="first")
    yield ("points in areas", len(shapes), _located(tracts, latitude, longitude), "shapely.STRtree",
           lambda: tree.query(points, predicate="intersects"))  # fmt: skip
    town = _town(rng)
    walk, some = roads(town, ways="both"), "networkx, Dijkstra from 100 crossings"
    weights = rng.uniform(0.5, 2, len(walk)).round(2)
    yield "roads, walked", len(town), lambda: roads(town, ways="both").distances, some, _ways(town.to_undirected())
    yield "roads, the longer way", len(town), lambda: roads(town, ways="longer").distances, some, _ways(town)
    yield "an elastic metric on roads", len(walk), lambda: sf.elastic(walk, weights).distances, some, _ways(town)


def _ways(town: Any) -> Callable[[], Any]:
    return lambda: [nx.single_source_dijkstra_path_length(town, x, weight="length") for x in list(town)[:100]]


def _centroids(shapes: Any) -> Any:
    return shapely.get_coordinates(shapely.centroid(shapes))[:, ::-1]


def _haversines(degrees: Any) -> Any:
    where = np.radians(degrees)
    gap = np.sin((where[:, None] - where[None]) / 2) ** 2
    return 2 * np.arcsin(np.sqrt(gap[..., 0] + np.cos(where[:, None, 0]) * np.cos(where[None, :, 0]) * gap[..., 1]))


def _located(space: sf.FiniteSpace, latitude: Any, longitude: Any) -> Callable[[], Any]:
    assert space.ground is not None and space.ground.cells is not None
    cells = space.ground.cells
    return lambda: cells.locate(latitude, longitude)


def _geodesics(ids: list[str]) -> Any:
    where = np.array([h3.cell_to_latlng(cell) for cell in ids])
    x, z = np.triu_indices(len(ids), 1)
    return pyproj.Geod(ellps="WGS84").inv(where[x, 1], where[x, 0], where[z, 1], where[z, 0])[2]


def _town(rng: np.random.Generator) -> Any:
    """Blocks of about 100 m, a fifth of the streets one-way; every crossing can be reached."""
    side = round(PLACES**0.5)
    blocks = nx.grid_2d_graph(side, side)
    town = nx.MultiDiGraph(crs="EPSG:4326")
    for row, column in blocks:
        town.add_node((row, column), y=CORNER[0] + row / 1000, x=CORNER[1] + column / 800)
    for x, z in blocks.edges:
        length = float(rng.uniform(80, 120))
        inner = 0 < x[0] < side - 1 and 0 < x[1] < side - 1
        town.add_edge(x, z, length=length)
        if not inner or rng.random() > 0.2:
            town.add_edge(z, x, length=length)
    return town.subgraph(max(nx.strongly_connected_components(town), key=len)).copy()


if __name__ == "__main__":
    main()
