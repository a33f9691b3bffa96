"""Spaces on their way to another process: what defines the metric travels, tables that follow from it do not."""

from __future__ import annotations

import copyreg
from dataclasses import dataclass, replace
from typing import Any

from sfumato.spaces.constructors import path_metric
from sfumato.spaces.finite import Edges, FiniteSpace, Structure


@dataclass(frozen=True, eq=False)
class Known:
    """A table that is there already, where a structure expects a function that makes it."""

    table: Any

    def __call__(self) -> Any:
        """The table."""
        return self.table


def _reduced(space: FiniteSpace) -> tuple[Any, tuple[Any, ...]]:
    kept = {"lattice": space.source.lattice, "answers": space.source.answers}
    about = (space.labels, space.unit, space.name, space.coordinates, kept)
    if space.edges is not None:
        return _from_edges, (space.edges, *about)
    return _from_table, (space.distances, space.midpoints, *about)


def _from_edges(edges: Edges, labels: Any, unit: str, name: str, coordinates: Any, kept: Any) -> FiniteSpace:
    structure = replace(path_metric(len(labels), edges), **kept)
    return FiniteSpace(labels, structure, unit, name, coordinates)


def _from_table(
    distances: Any, midpoints: Any, labels: Any, unit: str, name: str, coordinates: Any, kept: Any
) -> FiniteSpace:
    structure = Structure(Known(distances), midpoints=Known(midpoints), **kept)
    return FiniteSpace(labels, structure, unit, name, coordinates)


copyreg.pickle(FiniteSpace, _reduced)
