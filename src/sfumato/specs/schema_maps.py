"""The tables of a spec for spaces of maps: cells, areas, roads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from sfumato.specs.schema_base import (
    KIND,
    OF_THE_SPACE,
    EarthShape,
    FromFileSpec,
    KeyWords,
    Label,
    MapUnit,
    PartOfEarthSpec,
    Parts,
    Quantity,
    TableSpec,
)

ConnectedParts = Annotated[
    Parts,
    KeyWords("What is done where not all places are connected.", options={
        "refuse": "they are refused", "largest": "the largest part is taken",
    }),
]  # fmt: skip


class H3CellsSpec(TableSpec):
    """Cells of H3: those that overlap a box or the outlines of a file, listed ones, or a column of a CSV file."""

    kind: Annotated[Literal["h3_cells"], KeyWords(KIND, options={"h3_cells": "cells of H3"})]
    box: Annotated[
        Annotated[list[Quantity], Field(min_length=4, max_length=4)] | None,
        KeyWords("South, west, north and east: all cells that overlap it.", unit="degrees"),
    ] = None
    cells: Annotated[list[str] | None, KeyWords("The cells, by their ids.")] = None
    file: Annotated[str | None, KeyWords("Outlines that cells overlap, or a CSV file with a column of cells.")] = None
    column: Annotated[str | None, KeyWords("The column of cells.")] = None
    resolution: Annotated[Annotated[int, Field(ge=0, le=15)] | None, KeyWords("The resolution of cells, 0 to 15.")] = (
        None
    )
    distance: Annotated[
        Literal["ground", "grid"],
        KeyWords("How far apart cells are.", options={"ground": "between their centres", "grid": "in steps of cells"}),
    ] = "ground"
    parts: ConnectedParts = "refuse"
    earth: EarthShape = "sphere"
    unit: MapUnit = "km"

    def _wrong(self) -> Iterator[str]:
        if [self.box, self.cells, self.file].count(None) != 2:
            yield "give box = [south, west, north, east], cells, or file: outlines, or a CSV whose column lists cells"
        if self.column is not None and self.file is None:
            yield "column goes with file"


class SquareCellsSpec(PartOfEarthSpec):
    """Square cells of a part of the Earth, from its south-western corner to the opposite one, or with two sides."""

    kind: Annotated[
        Literal["square_cells"], KeyWords(KIND, options={"square_cells": "square cells of a part of the Earth"})
    ]
    earth: EarthShape = "sphere"
    unit: MapUnit = "km"


class AreasSpec(TableSpec):
    """Areas by their outlines in a file of GeoJSON, a GeoPackage, a Shapefile."""

    kind: Annotated[Literal["areas"], KeyWords(KIND, options={"areas": "areas by their outlines, such as districts"})]
    file: Annotated[str, KeyWords("The file of outlines.")]
    label: Annotated[str | None, KeyWords("The attribute that names the areas.")] = None
    place: Annotated[
        Literal["centroid", "inside"],
        KeyWords("Where an area is, for distances.", options={
            "centroid": "at its centroid", "inside": "at a point that lies in it",
        }),
    ] = "centroid"  # fmt: skip
    overlaps: Annotated[
        Literal["refuse", "first"],
        KeyWords("What is done where areas overlap.", options={
            "refuse": "the file is refused", "first": "a point is of the first",
        }),
    ] = "refuse"  # fmt: skip
    earth: EarthShape = "sphere"
    unit: MapUnit = "km"
    crs: Annotated[str | None, KeyWords("The coordinate system, where the file does not say it.")] = None


class CrossingsSpec(TableSpec):
    """Latitude and longitude of crossings in a CSV file."""

    file: Annotated[str, KeyWords("The CSV file of crossings.")]
    label: Annotated[str, KeyWords("The column of their names.")]
    latitude: Annotated[str | None, KeyWords("The column of the latitude.")] = None
    longitude: Annotated[str | None, KeyWords("The column of the longitude.")] = None


class RoadsSpec(FromFileSpec):
    """Crossings, and shortest ways along streets."""

    inline = "streets"
    kind: Annotated[
        Literal["roads"], KeyWords(KIND, options={"roads": "crossings of streets, and shortest ways along them"})
    ]
    streets: Annotated[
        list[Annotated[list[Label], Field(min_length=3, max_length=4)]] | None,
        KeyWords("Streets, as two crossings, a length and, where it is one-way, true.", unit=OF_THE_SPACE),
    ] = None
    first: Annotated[str, KeyWords("The column of the crossing where a street begins.")] = "from"
    second: Annotated[str, KeyWords("The column of the crossing where it ends.")] = "to"
    length: Annotated[str, KeyWords("The column of its length.")] = "length"
    oneway: Annotated[str, KeyWords("The column that says whether it is one-way.")] = "oneway"
    crossings: Annotated[CrossingsSpec | None, KeyWords("Where crossings are: file, label, latitude, longitude.")] = (
        None
    )
    ways: Annotated[
        Literal["refuse", "both", "longer", "mean"],
        KeyWords("What a distance is where ways there and back differ.", options={
            "refuse": "the file is refused", "both": "one-way streets may be walked both ways",
            "longer": "the longer way", "mean": "the mean of both",
        }),
    ] = "refuse"  # fmt: skip
    parts: ConnectedParts = "refuse"
    lacking: Annotated[
        Literal["refuse", "drop"],
        KeyWords("What is done where crossings have no coordinates.", options={
            "refuse": "the file is refused", "drop": "their streets are left out, and counted",
        }),
    ] = "refuse"  # fmt: skip
    unit: MapUnit = "m"

    def _wrong(self) -> Iterator[str]:
        yield from super()._wrong()
        if self.lacking == "drop" and self.crossings is None:
            yield "lacking goes with crossings"
