"""The libraries of maps, which are optional: each is loaded where it is used, or the error says how to get it."""

from __future__ import annotations

from typing import Any

from sfumato.errors import MissingExtra

EXTRA = "geo"
"""The extra that brings all of them."""


def h3_library() -> Any:
    """The package h3: hexagons."""
    try:
        import h3
    except ImportError as error:
        raise MissingExtra(EXTRA, "h3") from error
    return h3


def shapely_library() -> Any:
    """The package shapely: outlines, and what lies in them."""
    try:
        import shapely
    except ImportError as error:
        raise MissingExtra(EXTRA, "shapely") from error
    return shapely


def pyproj_library() -> Any:
    """The package pyproj: coordinate systems and geodesics."""
    try:
        import pyproj
    except ImportError as error:
        raise MissingExtra(EXTRA, "pyproj") from error
    return pyproj


def geopandas_library() -> Any:
    """The package geopandas: tables with outlines, and files of them."""
    try:
        import geopandas
    except ImportError as error:
        raise MissingExtra(EXTRA, "geopandas") from error
    return geopandas
