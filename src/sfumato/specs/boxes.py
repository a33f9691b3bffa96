"""Boxes of coordinates out of a spec: the box, a prior on its cells, and points that may be told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.prior import Prior
from sfumato.errors import InvalidInput, NotSupported, shown
from sfumato.numbers import as_written
from sfumato.spaces.box import Box, box
from sfumato.spaces.earth import cell_counts, earth_box
from sfumato.spaces.foreign import COUNTS
from sfumato.specs import schema, schema_stakes
from sfumato.specs.spec import Spec
from sfumato.specs.tables import Columns, amounts_by_label, column_in_order, numbers_of, usual_column

BOXES: dict[str, Callable[[Any, str, str], Box]] = {
    "box": lambda given, unit, per: box(
        given.sides, given.step, unit=unit or per, metric=given.metric, origin=given.origin
    ),
    "earth_box": lambda given, unit, _: earth_box(**given.parameters, unit=unit),
}
"""Kinds of spaces whose secrets are all points, not a list of labels: how each is built."""


def spec_box(spec: Spec) -> Box:
    """The box that a spec names; where it names no unit, that of its promise.

    Examples
    --------
    >>> from sfumato.specs.spec import spec_from_values
    >>> spec_box(spec_from_values({"space": {"kind": "box", "sides": [8, 6], "step": "500 m", "unit": "km"}}))
    Box(box(8 × 6, euclidean), 192 cells, in km)
    """
    given: Any = spec.space
    per = spec.privacy.per if spec.privacy is not None else None
    unit = given.unit if "unit" in given.model_fields_set or per is None else per
    if per is not None and unit and per != unit:
        raise InvalidInput(f"the promise is per {per!r}, but the distances of the space are in {unit!r}")
    return BOXES[given.kind](given, unit, per or "")


def prior_on(given: schema.PriorSpec, spec: Spec, space: Box) -> tuple[Prior, str]:
    """How likely the cells are, and a note where points lie outside of all of them."""
    if given.points is not None:
        return _from_points(given.points, spec, space)
    amounts = given.weights if given.counts is None else given.counts
    if amounts is None:
        return Prior.uniform(space), ""
    if isinstance(amounts, str):
        if given.file is None:
            raise InvalidInput(f"{amounts!r} names a column, but [prior] has no file")
        hint = "; points = {file = …} counts points in cells"
        amounts = column_in_order(spec.columns(given.file), amounts, given.label, space.labels, "cells", hint)
    elif isinstance(amounts, dict):
        amounts = amounts_by_label(amounts, space.labels, "cell of the box")
    if given.counts is not None:
        return Prior.on_cells(amounts, space), ""
    return Prior(space, _flat(amounts, space)), ""


def _flat(amounts: list[Any], space: Box) -> list[Any]:
    """Rows of weights one after another."""
    table = np.array(amounts, dtype=object)
    if table.ndim > 1 and table.shape != space.shape:
        raise InvalidInput(f"weights of shape {table.shape} for a box with {space.shape} cells along its axes")
    return list(table.ravel().tolist())


def _from_points(given: schema.CountedPointsSpec, spec: Spec, space: Box) -> tuple[Prior, str]:
    table = spec.columns(given.file)
    names = _names_of(table, given.columns, space)
    columns = [numbers_of(table, name) for name in names]
    counted_by = _counts_of(table, given.counts, names)
    many = [Fraction(1)] * len(table) if not counted_by else numbers_of(table, counted_by)
    if min(many) < 0:
        raise InvalidInput(f"{table.file}: a count of {counted_by!r} is negative")
    axes: list[NDArray[Any]] = [np.array(column, dtype=space.surface.precision) for column in columns]
    counts = cell_counts(space, axes, np.array(many, dtype=object))
    inside, total = Fraction(sum(counts.ravel().tolist())), sum(many, Fraction(0))
    if not inside:
        raise InvalidInput(f"no point of {table.file} lies in {space.name}")
    what = "count" if counted_by else "point"
    whole = f"{float(total):.12g} {what if total == 1 else what + 's'}"
    note = f"{float(inside):.12g} of {whole} of {given.file} lie in the box, and make its prior"
    found = f"how often points of {given.file} occur is read from its column {counted_by!r}"
    said = [found] * bool(counted_by and given.counts is None) + [note] * (inside != total)
    return Prior.on_cells(counts, space), "; ".join(said)


def _counts_of(table: Columns, named: str | None, coordinates: Sequence[str]) -> str:
    """The column that says how often points occur: the one that was named (none, by an empty text), or by its name."""
    if named is not None:
        return named
    found = usual_column(table, COUNTS, "how often points occur", "say counts = …, or counts = '' for once each")
    return found if found not in coordinates else ""


def _names_of(table: Columns, named: list[str] | None, space: Box) -> list[str]:
    """The columns of coordinates, one an axis; latitude and longitude on the Earth."""
    how = "name the columns of coordinates with columns = […]"
    names = named or [usual_column(table, words, f"the {words[0]}", how) for words in space.surface.columns]
    if "" in names or len(names) != space.dimension:
        raise InvalidInput(
            f"{table.file}: name the columns of {space.surface.wanted} with columns = […] (it has "
            f"{', '.join(table.header[:8])})"
        )
    return names


def outputs_on(given: Any, spec: Spec, space: Box) -> tuple[tuple[Fraction, ...], ...] | None:
    """The points that may be told, None for any: coordinates, on the Earth latitude and longitude."""
    if given is None:
        return None
    if isinstance(given, schema_stakes.OutputsSpec):
        if given.columns is None:
            raise InvalidInput("outputs on a box are points: name the columns of their coordinates with columns = […]")
        table = spec.columns(given.file)
        names = _names_of(table, given.columns, space)
        listed: list[Any] = list(zip(*(numbers_of(table, name) for name in names), strict=True))
    else:
        listed = [point if isinstance(point, tuple) else (point,) for point in given]
    if not listed:
        raise InvalidInput("name at least one point")
    points = []
    for point in listed:
        if len(point) != space.dimension:
            raise InvalidInput(f"a point of {space.name} has {space.dimension} coordinates, found {list(point)}")
        exactly = tuple(as_written(value, "a coordinate") for value in point)
        points.append(space.surface.point(exactly, f"({', '.join(map(shown, exactly))})"))
    return tuple(points)


def check_spec_of_box(spec: Spec) -> None:
    """Refuse what a design on a box does not have."""
    loss, objective = spec.loss, spec.objective
    instead = ["space kind = 'grid', whose secrets are the centres of cells, for all others"]
    if not isinstance(loss, schema_stakes.NamedLossSpec) or loss.kind not in ("default", "distance"):
        raise NotSupported(f"{spec.source}: [loss]: kind {loss.kind!r} on a box", ["distance", *instead])
    if spec.privacy is not None and spec.privacy.delta is not None:
        raise NotSupported(f"{spec.source}: [privacy]: delta on a box", ["epsilon, alpha or double_at", *instead])
    if objective != schema_stakes.ObjectiveSpec():
        raise NotSupported(f"{spec.source}: [objective] on a box", ["the expected distance, without limits", *instead])
    if spec.solve.solver != "auto":
        raise NotSupported(f"{spec.source}: [solve]: solver {spec.solve.solver!r} on a box", ["auto", *instead])
