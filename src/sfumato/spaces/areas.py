"""Areas with outlines, such as census tracts: each stands at its centroid, and people are in the area that holds them.

The centroid is that of the outline in degrees. It does not depend on how degrees of longitude are scaled, only on how
that scale changes within an area. Where it lies outside of a bent area, a point inside can be taken instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from sfumato.arguments import file_path, items, one_of, quoted
from sfumato.errors import InvalidFile, InvalidInput, counted, few, keyword, shown
from sfumato.labels import column_values
from sfumato.spaces.cells import AreaCells
from sfumato.spaces.finite import FiniteSpace, check_size, label_tuple
from sfumato.spaces.ground import EarthName, Ground, as_earth, ground_unit, places_on_ground
from sfumato.spaces.libraries import geopandas_library, pyproj_library, shapely_library

PLACES = {"centroid": "at their centroids", "inside": "at points inside"}
"""Where an area stands, and what the name of the space says of it."""

_SLIVER = 1e-5  # of the smaller area: two outlines of one border, rounded, overlap by so much at most
_WGS84 = "EPSG:4326"
_WHAT = "areas are a file, a GeoDataFrame, GeoJSON or a list of polygons"


@dataclass(frozen=True, eq=False)
class _AreaTable:
    """Geometries in degrees, columns beside them, and names of rows where there are any."""

    geometries: Any
    columns: Mapping[str, list[Any]]
    index: list[Any] | None = None

    def column(self, name: Any) -> list[Any]:
        if not isinstance(name, str) or name not in self.columns:
            raise InvalidInput(f"the areas have no column {shown(name)}: they have {few(list(self.columns))}")
        return self.columns[name]


def areas(
    shapes: Any,
    *,
    labels: str | Iterable[Any] | None = None,
    place: str = "centroid",
    overlaps: str = "refuse",
    earth: EarthName = "sphere",
    unit: str = "km",
    crs: Any = None,
) -> FiniteSpace:
    """Areas by their outlines (extra ``geo``); distances are those of their centroids on the ground.

    Points (:class:`~sfumato.release.places.Place`) are located to the area that holds them, borders included, and the
    promise is about areas. What lies in none is refused, left out, or taken for the nearest centroid, as a release is
    told.

    Parameters
    ----------
    shapes
        A file that pyogrio reads (GeoJSON, GeoPackage, Shapefile, …), a GeoDataFrame, GeoJSON as Python holds it, or a
        list of polygons of shapely.
    labels
        The column that names the areas, or their names; by default the index of a GeoDataFrame, or 0, 1, ….
    place
        ``"centroid"``, or ``"inside"`` for a point that lies inside each area, whatever its shape.
    overlaps
        ``"refuse"`` areas that overlap by more than a hundred-thousandth of the smaller one; or a point in several is
        in the ``"first"`` of them.
    earth
        ``"sphere"`` or ``"WGS84"``, as for :func:`~sfumato.spaces.constructors.geo`.
    unit
        A unit of length.
    crs
        The coordinate system, where the areas do not name theirs; lists of polygons are in degrees, longitude first.

    Examples
    --------
    >>> from shapely import box
    >>> blocks = areas([box(2.30, 48.85, 2.31, 48.86), box(2.31, 48.85, 2.33, 48.86)], labels=["west", "east"])
    >>> blocks, round(blocks.distance("west", "east"), 2)
    (FiniteSpace(2 areas at their centroids, 2 points, in km), 1.1)
    """
    one_of(place, tuple(PLACES), "place")
    one_of(overlaps, ("refuse", "first"), "overlaps")
    earth, unit, shapely = as_earth(earth), ground_unit(unit), shapely_library()
    table = _table(shapes, crs)
    names = _names(table, labels)
    outlines = _checked(shapely.force_2d(table.geometries), names)
    if overlaps == "refuse":
        _refuse_overlaps(outlines, names)
    points = shapely.centroid(outlines) if place == "centroid" else shapely.point_on_surface(outlines)
    longitude, latitude = shapely.get_coordinates(points).T
    ground = Ground(earth, AreaCells(tuple(shapely.to_wkb(outlines))))
    name = f"{counted(len(names), 'area')} {PLACES[place]}"
    return places_on_ground(names, latitude, longitude, ground, unit, name)


def area_column(shapes: Any, column: str) -> list[Any]:
    """A column beside the outlines, such as how many people live there, in the order of :func:`areas`.

    Examples
    --------
    >>> square = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}
    >>> one = {"type": "Feature", "geometry": square, "properties": {"people": 12}}
    >>> area_column({"type": "FeatureCollection", "features": [one]}, "people")
    [12]
    """
    return _table(shapes, _WGS84, convert=False).column(column)


def area_union(shapes: Any, crs: Any = None) -> Any:
    """All areas as one shape of shapely, such as a city for :func:`~sfumato.spaces.h3_cells.h3_cells`."""
    table = _table(shapes, crs)
    return shapely_library().union_all(_checked(shapely_library().force_2d(table.geometries), _names(table, None)))


def _table(shapes: Any, crs: Any, *, convert: bool = True) -> _AreaTable:
    """Geometries and columns, whatever holds them."""
    if isinstance(shapes, str | PathLike):
        shapes = _read(shapes)
    if hasattr(shapes, "geometry") and hasattr(shapes, "crs"):
        return _from_geopandas(shapes, crs, convert=convert)
    shapely = shapely_library()
    columns: dict[str, list[Any]] = {}
    if isinstance(shapes, Mapping):
        if shapes.get("type") != "FeatureCollection" or not isinstance(shapes.get("features"), list):
            raise InvalidInput(f"{_WHAT}: GeoJSON of several areas is a FeatureCollection")
        features = shapes["features"]
        if not all(isinstance(feature, Mapping) and feature.get("geometry") for feature in features):
            raise InvalidInput("every feature of GeoJSON needs a geometry")
        rows = [feature.get("properties") or {} for feature in features]
        names = dict.fromkeys(key for row in rows for key in row)
        columns = {name: items([row.get(name) for row in rows], _WHAT) for name in names}
        shapes = [feature["geometry"] for feature in features]
    try:
        found = [shapely.geometry.shape(shape) for shape in items(shapes, _WHAT)]
    except (AttributeError, LookupError, TypeError, ValueError, shapely.errors.ShapelyError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{_WHAT}: an outline could not be read ({str(error)[:120]})") from error
    geometries = np.array(found, dtype=object)
    if crs is not None and convert and str(crs).upper() != _WGS84:
        geometries = _in_degrees(geopandas_library().GeoSeries(found), crs)
    return _AreaTable(geometries, columns)


def _read(file: Any) -> Any:
    path = file_path(file, "a file of areas")
    geopandas = geopandas_library()
    try:
        return geopandas.read_file(path, engine="pyogrio")
    except Exception as error:  # whatever GDAL raises is about the file
        raise InvalidFile(f"{quoted(path)} is no file of areas that pyogrio reads: {str(error)[:200]}") from error


def _in_degrees(geometry: Any, crs: Any) -> Any:
    """Outlines in longitude and latitude, whatever system they are in."""
    pyproj = pyproj_library()
    try:
        system = pyproj.CRS.from_user_input(crs)
        series = geometry.set_crs(system, allow_override=True)
        return np.asarray((series if system.to_epsg() == 4326 else series.to_crs(_WGS84)).array)
    except (pyproj.exceptions.ProjError, TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"pyproj does not convert the areas from {shown(crs)} to degrees") from error


def _from_geopandas(frame: Any, crs: Any, *, convert: bool) -> _AreaTable:
    if frame.crs is None and crs is None:
        raise InvalidInput(f"the areas name no coordinate system: say {keyword('crs')}, for degrees 'EPSG:4326'")
    if frame.crs is not None and crs is not None and convert:
        raise InvalidInput(f"the areas are in {frame.crs.name}: leave {keyword('crs')} out")
    geometry = frame.geometry
    outlines = _in_degrees(geometry, geometry.crs or crs) if convert else np.asarray(geometry.array)
    beside = [name for name in getattr(frame, "columns", ()) if name != geometry.name]
    columns = {str(name): column_values(frame[name]) for name in beside}
    counted_rows = type(frame.index).__name__ == "RangeIndex"
    return _AreaTable(outlines, columns, None if counted_rows else column_values(frame.index))


def _names(table: _AreaTable, labels: Any) -> tuple[Any, ...]:
    count = len(table.geometries)
    if not count:
        raise InvalidInput("there are no areas: at least one is needed")
    check_size(count, "areas")
    if isinstance(labels, str):
        labels = table.column(labels)
    elif labels is None:
        labels = range(count) if table.index is None else table.index
    names = label_tuple(labels, "labels of areas")
    if len(names) != count:
        raise InvalidInput(f"{len(names)} labels for {counted(count, 'area')}")
    return names


def _checked(outlines: Any, names: tuple[Any, ...]) -> Any:
    """Outlines that are valid polygons in degrees; the first that is none is named."""
    shapely = shapely_library()
    kinds = shapely.get_type_id(outlines)
    polygons = np.isin(kinds, (int(shapely.GeometryType.POLYGON), int(shapely.GeometryType.MULTIPOLYGON)))
    valid = shapely.is_valid(outlines) & ~shapely.is_empty(outlines)
    for index in np.flatnonzero(~polygons | ~valid)[:1].tolist():
        outline = outlines[index]
        why = "is missing" if outline is None else f"is a {outline.geom_type}" if not polygons[index] else ""
        why = why or ("is empty" if outline.is_empty else f"is not valid: {shapely.is_valid_reason(outline)}")
        raise InvalidInput(
            f"the outline of {shown(names[index])} {why}; areas are polygons, and shapely.make_valid repairs many"
        )
    west, south, east, north = shapely.bounds(outlines).T
    for index in np.flatnonzero((west < -180) | (east > 180) | (south < -90) | (north > 90))[:1].tolist():
        raise InvalidInput(
            f"the outline of {shown(names[index])} reaches from {(float(south[index]), float(west[index]))} to "
            f"{(float(north[index]), float(east[index]))}, which are no latitudes and longitudes: say {keyword('crs')}"
        )
    return outlines


def _refuse_overlaps(outlines: Any, names: tuple[Any, ...]) -> None:
    shapely = shapely_library()
    first, second = shapely.STRtree(outlines).query(outlines, predicate="intersects")
    first, second = first[first < second], second[first < second]
    common = shapely.area(shapely.intersection(outlines[first], outlines[second]))
    size = shapely.area(outlines)
    broken = np.flatnonzero(common > _SLIVER * np.minimum(size[first], size[second]))
    for pair in broken[np.lexsort((second[broken], first[broken]))][:1].tolist():
        share = float(common[pair] / min(size[first[pair]], size[second[pair]]))
        raise InvalidInput(
            f"{shown(names[int(first[pair])])} and {shown(names[int(second[pair])])} overlap in {share:.2g} of the "
            f"smaller one: mend the outlines, or say {keyword('overlaps', 'first')}: a point in both is in the first"
        )
