"""The libraries of maps, which are optional: each is loaded where it is used, or the error says how to get it."""

from __future__ import annotations

from typing import Any

from sfumato.errors import needs

EXTRA = "geo"
"""The extra that brings all of them."""


def h3_library() -> Any:
    """The package h3: hexagons."""
    with needs(EXTRA, "h3"):
        import h3
    return h3


def shapely_library() -> Any:
    """The package shapely: outlines, and what lies in them."""
    with needs(EXTRA, "shapely"):
        import shapely
    return shapely


def pyproj_library() -> Any:
    """The package pyproj: coordinate systems and geodesics."""
    with needs(EXTRA, "pyproj"):
        import pyproj
    return pyproj


def geopandas_library() -> Any:
    """The package geopandas: tables with outlines, and files of them."""
    with needs(EXTRA, "geopandas"):
        import geopandas
    return geopandas


def pyogrio_library() -> Any:
    """The package pyogrio: files of layers."""
    with needs(EXTRA, "pyogrio"):
        import pyogrio
    return pyogrio
