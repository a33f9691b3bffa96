"""Frames of geopandas, and points in frames of pandas: read as WKB, put back as what they were.

Nothing is imported before somebody brings a frame of geopandas, or shapes of shapely: who has these has the packages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import InvalidInput, shown
from sfumato.release.batches import Added, BatchRelease
from sfumato.release.crs import system_of
from sfumato.release.formats.layouts import PointLayout, geometry_name
from sfumato.release.places import Geometry
from sfumato.spaces.libraries import shapely_library


def pandas_layout(table: Any, column: Geometry) -> PointLayout:
    """How a frame holds the points of a column: geometries with a coordinate system, shapes, WKB or WKT."""
    known = [str(name) for name, kind in table.dtypes.items() if str(kind) == "geometry"]
    active = getattr(table, "_geometry_column_name", None)
    name = geometry_name(list(table.columns), column, [active] if active is not None and active in known else known)
    series = table[name]
    if str(series.dtype) == "geometry":
        return PointLayout(name, system_of(series.crs), form="shapely")
    return PointLayout(name, form="shapely" if holds_shapes(series) else "arrow")


def holds_shapes(series: Any) -> bool:
    """Whether a column of objects holds shapes of shapely."""
    if str(series.dtype) != "object":
        return False
    place = series.first_valid_index()
    return place is not None and hasattr(series[series.notna()].iloc[0], "geom_type")


def wkb_of_series(series: Any) -> Any:
    """A column of shapes as WKB."""
    shapely = shapely_library()
    try:
        return pa.array(shapely.to_wkb(np.asarray(series, dtype=object)), pa.binary())
    except (TypeError, shapely.errors.ShapelyError, pa.ArrowException) as error:
        raise InvalidInput(f"the column {shown(series.name)} cannot be read as geometries: {error}") from error


def point_series(
    added: Added, outputs: NDArray[np.int64], before: Any, array: Callable[[Added, NDArray[np.int64], Any], Any]
) -> Any:
    """Released points as the column held them: geometries, shapes, WKB or WKT; or boxes around them, as records."""
    if added.points is not None and (str(before.dtype) == "geometry" or holds_shapes(before)):
        shapes = shapely_library().points(added.points)[outputs]
        if str(before.dtype) != "geometry":
            return type(before)(shapes, index=before.index, name=added.name, dtype=object)
        import geopandas

        return geopandas.GeoSeries(shapes, index=before.index, name=added.name, crs=before.crs)
    like = pa.Array.from_pandas(before).type
    values = array(added, outputs, like).to_pylist()
    return type(before)(values, index=before.index, name=added.name, dtype=before.dtype)


def geo_frame(done: Any, table: Any, work: BatchRelease) -> Any:
    """The released frame as one of geopandas, with its active geometry: the released one, if it was that."""
    active = getattr(table, "_geometry_column_name", None)
    if not work.terms.keep and active in work.taken and work.added:
        active = work.added[0].name
    return type(table)(done, geometry=active) if active in done.columns else type(table)(done)
