"""The tables of a spec for spaces of maps: cells, areas, roads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from sfumato.specs.schema_base import Earth, FromFileSpec, Label, PartOfEarthSpec, Parts, Quantity, TableSpec


class H3CellsSpec(TableSpec):
    """Cells of H3: those that overlap a box or the outlines of a file, listed ones, or a column of a CSV file."""

    kind: Literal["h3_cells"]
    box: Annotated[list[Quantity], Field(min_length=4, max_length=4)] | None = None
    cells: list[str] | None = None
    file: str | None = None
    column: str | None = None
    resolution: Annotated[int, Field(ge=0, le=15)] | None = None
    distance: Literal["ground", "grid"] = "ground"
    parts: Parts = "refuse"
    earth: Earth = "sphere"
    unit: str = "km"

    def _wrong(self) -> Iterator[str]:
        if [self.box, self.cells, self.file].count(None) != 2:
            yield "give box = [south, west, north, east], cells, or file: outlines, or a CSV whose column lists cells"
        if self.column is not None and self.file is None:
            yield "column goes with file"


class SquareCellsSpec(PartOfEarthSpec):
    """Square cells of a part of the Earth, from its south-western corner to the opposite one, or with two sides."""

    kind: Literal["square_cells"]
    earth: Earth = "sphere"
    unit: str = "km"


class AreasSpec(TableSpec):
    """Areas by their outlines in a file of GeoJSON, a GeoPackage, a Shapefile."""

    kind: Literal["areas"]
    file: str
    label: str | None = None
    place: Literal["centroid", "inside"] = "centroid"
    overlaps: Literal["refuse", "first"] = "refuse"
    earth: Earth = "sphere"
    unit: str = "km"
    crs: str | None = None


class CrossingsSpec(TableSpec):
    """Latitude and longitude of crossings in a CSV file."""

    file: str
    label: str
    latitude: str | None = None
    longitude: str | None = None


class RoadsSpec(FromFileSpec):
    """Crossings, and shortest ways along streets."""

    inline = "streets"
    kind: Literal["roads"]
    streets: list[Annotated[list[Label], Field(min_length=3, max_length=4)]] | None = None
    first: str = "from"
    second: str = "to"
    length: str = "length"
    oneway: str = "oneway"
    crossings: CrossingsSpec | None = None
    ways: Literal["refuse", "both", "longer", "mean"] = "refuse"
    parts: Parts = "refuse"
    unit: str = "m"
