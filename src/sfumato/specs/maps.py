"""Spaces of maps out of a spec: cells of H3, square cells, areas with outlines, roads."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sfumato.errors import InvalidInput, shown
from sfumato.numbers import as_written
from sfumato.spaces import FiniteSpace
from sfumato.spaces.areas import area_column, area_union, areas
from sfumato.spaces.foreign import LATITUDES, LONGITUDES
from sfumato.spaces.h3_cells import h3_cells
from sfumato.spaces.roads import roads
from sfumato.spaces.squares import square_cells
from sfumato.specs import schema_maps as schema
from sfumato.specs.spec import Spec
from sfumato.specs.tables import column_texts, numbers_of, rows_with, usual_column


def _h3(given: schema.H3CellsSpec, spec: Spec) -> FiniteSpace:
    area: Any = given.box if given.cells is None else given.cells
    if given.file is not None:
        if given.column is None:
            area = area_union(spec.path(given.file))
        else:
            area = column_texts(spec.columns(given.file), given.column)
    terms = {"distance": given.distance, "parts": given.parts, "earth": given.earth, "unit": given.unit}
    return h3_cells(area, given.resolution, **terms)  # type: ignore[arg-type]  # words that the schema has checked


def _areas(given: schema.AreasSpec, spec: Spec) -> FiniteSpace:
    return areas(
        spec.path(given.file), labels=given.label, place=given.place, overlaps=given.overlaps, earth=given.earth,
        unit=given.unit, crs=given.crs,
    )  # fmt: skip


def area_numbers(given: schema.AreasSpec, name: str, spec: Spec) -> list[Fraction]:
    """A column beside the outlines, such as how many people live there."""
    values = area_column(spec.path(given.file), name)
    for place, value in enumerate(values):
        if value is None or value != value:
            raise InvalidInput(f"{given.file}, area {place + 1}: {shown(name)} is missing")
    return [as_written(value, f"{shown(name)} of an area") for value in values]


def _roads(given: schema.RoadsSpec, spec: Spec) -> FiniteSpace:
    rows: list[Any] = []
    if given.file is None:
        rows = [
            [*street[:2], as_written(street[2], "the length of a street"), *street[3:]]
            for street in given.streets or ()
        ]
    else:
        table = spec.columns(given.file)
        columns: list[list[Any]] = [column_texts(table, given.first), column_texts(table, given.second)]
        columns.append(numbers_of(table, given.length))
        if given.oneway in table.header:
            columns.append(column_texts(table, given.oneway))
        elif "oneway" in given.model_fields_set:
            column_texts(table, given.oneway)  # which says what columns there are
        rows = list(zip(*columns, strict=True))
    places = None if given.crossings is None else _crossings(given.crossings, spec, given.lacking)
    return roads(rows, places, ways=given.ways, parts=given.parts, lacking=given.lacking, unit=given.unit)


def _crossings(given: schema.CrossingsSpec, spec: Spec, lacking: str) -> dict[str, tuple[float, float]]:
    table = spec.columns(given.file)
    wanted = (given.latitude, LATITUDES), (given.longitude, LONGITUDES)
    names = [
        named or usual_column(table, usual, f"the {usual[0]}", f"say {usual[0]} = … in crossings")
        for named, usual in wanted
    ]
    if "" in names:
        raise InvalidInput(f"{table.file} has no columns of latitude and longitude: name them in crossings")
    if lacking == "drop":
        table = rows_with(table, names)
    latitude, longitude = (numbers_of(table, name) for name in names)
    labels = column_texts(table, given.label)
    if len({*labels}) < len(labels):
        raise InvalidInput(f"{table.file} names a crossing twice in {given.label!r}")
    return {at: (float(y), float(x)) for at, y, x in zip(labels, latitude, longitude, strict=True)}


MAPS: dict[str, Callable[[Any, Spec], FiniteSpace]] = {
    "h3_cells": _h3,
    "square_cells": lambda given, spec: square_cells(**given.parameters, unit=given.unit),
    "areas": _areas,
    "roads": _roads,
}
"""How each kind of space that people of maps have is built."""
