"""What the page draws, as JSON: where secrets lie, tables of probabilities, figures in the style of reports.

Of boxes of coordinates it shows cells on a map, what is told at their centres, and figures of reports.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from html import unescape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sfumato.certify import Mechanism
from sfumato.certify.coordinates import BoxMechanism
from sfumato.certify.noise import BoxNoise
from sfumato.channels import Channel, Prior
from sfumato.numbers import Floats, floats
from sfumato.report.box_facts import applied, lattice_table, output_coordinates, smooth_basis
from sfumato.report.box_maps import point_words
from sfumato.report.box_noise import noise_on_cells
from sfumato.report.html import label
from sfumato.report.maps import drawn_places, map_layout
from sfumato.report.maps_drawing import standalone
from sfumato.report.page import facts_about, figures_of
from sfumato.report.page_facts import float_matrix
from sfumato.spaces import FiniteSpace
from sfumato.spaces.box import NORMS, Box
from sfumato.spaces.earth import to_earth

_MOST_EDGES = 2500  # lines that can still be told apart
_MOST_BY_DISTANCE = 40  # secrets without edges of their own whose nearest neighbours are joined


def space_view(space: FiniteSpace, prior: Prior) -> dict[str, Any]:
    """A space and how likely its secrets are."""
    return {
        "labels": [label(secret) for secret in space.labels],
        "ground": ground(space),
        "prior": [round(weight, 9) for weight in prior.float_weights.tolist()],
        "distances": _distances(space),
    }


def _distances(space: FiniteSpace) -> list[float]:
    """The smallest and the largest distance: they say which ε are of interest."""
    nearest = space.pair_distances.floats
    if not nearest.size:
        return [1.0, 1.0]
    table = space.distances.floats
    return [float(nearest.min()), float(table[np.isfinite(table)].max())]


def ground(space: FiniteSpace) -> dict[str, Any]:
    """Where secrets are drawn: in cells, at places, in a row, or as nodes with edges."""
    drawn = map_layout(space)
    kind = "nodes" if drawn.kind == "list" else drawn.kind
    x, y = drawn_places(space).T if kind == "nodes" else (drawn.x, drawn.y)
    edges = _edges(space) if kind in ("nodes", "places") else []
    return {"kind": kind, "x": _short(x), "y": _short(y), "unit": drawn.unit, "steps": drawn.steps, "edges": edges}


def _short(values: Any) -> list[float]:
    return [float(f"{value:.6g}") for value in values.tolist()]


def _edges(space: FiniteSpace) -> list[list[int]]:
    """The edges that define the metric; for a few secrets without, the pairs that imply all others."""
    if space.edges is not None:
        pairs = space.edges.pairs
    elif len(space) <= _MOST_BY_DISTANCE and space.coordinates is None:
        pairs = space.pairs
    else:
        return []
    if len(pairs.first) > _MOST_EDGES:
        return []
    return [[int(x), int(z)] for x, z in zip(pairs.first, pairs.second, strict=True)]


def packed_floats(matrix: Any) -> str:
    """A table as 32-bit floats, in base64: a picture needs no more, and a page reads it at once."""
    return b64encode(np.ascontiguousarray(matrix, dtype="<f4").tobytes()).decode()


def table_view(mechanism: Mechanism | Channel, space: FiniteSpace) -> dict[str, Any]:
    """Probabilities, and which outputs are secrets of the space (−1 for those that are not)."""
    matrix = float_matrix(mechanism) if isinstance(mechanism, Mechanism) else floats(mechanism.matrix)
    outputs = mechanism.outputs
    position = space.position
    return {
        "outputs": [label(output) for output in outputs],
        "at": [position.get(output, -1) for output in outputs],
        "matrix": packed_floats(matrix),
    }


def figure_of(figure: go.Figure) -> dict[str, Any]:
    """A figure for a page, which gives it its width; its caption is a text of its own."""
    content = json.loads(figure.to_json())
    layout = content["layout"]
    caption = ""
    notes = layout.get("annotations", [])
    if notes and notes[-1].get("yref") == "paper" and notes[-1].get("yanchor") == "top":
        caption = notes.pop()["text"].replace("<br>", " ")
        layout.get("margin", {})["b"] = 56
    return {"data": content["data"], "layout": layout, "caption": caption, "height": min(layout["height"], 560)}


_DRAWN = ("cloud", "likely", "used", "border")  # figures of a report that are about one point


def box_place(space: Box, prior: Prior) -> dict[str, Any]:
    """The cells of a box, drawn as they lie, and how likely they are."""
    where = space.centres
    flat = space.dimension == 1
    farthest = np.linalg.norm([float(side) for side in space.sides], ord=NORMS[space.metric])
    ground = {
        "kind": "row" if flat else "cells", "x": where[:, 0].tolist(),
        "y": (np.zeros(len(where)) if flat else where[:, 1]).tolist(), "unit": space.unit,
        "steps": None if flat else [float(step) for step in space.step], "edges": [],
    }  # fmt: skip
    return {
        "labels": [_named(point, space) for point in where], "ground": ground,
        "prior": [round(weight, 9) for weight in prior.float_weights.tolist()],
        "distances": [float(min(space.step)), float(farthest)],
    }  # fmt: skip


def _named(point: Floats, space: Box) -> str:
    if space.frame is None:
        return point_words([round(float(at), 9) for at in point])
    latitude, longitude = (float(angle) for angle in to_earth(space, point.tolist()))
    return f"{latitude:.5g}, {longitude:.5g}"


def box_view(mechanism: BoxMechanism | BoxNoise) -> dict[str, Any]:
    """What is told at the centre of each cell, and in which cell each output lies, −1 outside."""
    return _SHOWN[mechanism.drawn_as](mechanism)


def _noise_view(noise: BoxNoise) -> dict[str, Any]:
    """Noise has too many outputs to list: they are summed up in cells, which then stand for them."""
    cells = [_named(point, noise.box) for point in noise.box.centres]
    return {"outputs": cells, "at": list(range(len(cells))), "matrix": packed_floats(noise_on_cells(noise))}


def _table_view(mechanism: BoxMechanism) -> dict[str, Any]:
    """Rows of the centres of cells."""
    space = mechanism.box
    middles = [
        np.arange(0.5, n, dtype=np.float64) * float(step) for n, step in zip(space.shape, space.step, strict=True)
    ]
    bases = [smooth_basis(axis, where)[0] for axis, where in zip(mechanism.rounding.axes, middles, strict=True)]
    table, places = applied(bases, lattice_table(mechanism)), output_coordinates(mechanism)
    inside = places - np.array([float(low) for low in space.origin])
    cells = np.floor(inside / np.array([float(step) for step in space.step])).astype(np.int64)
    cells = np.where(inside == np.array([float(side) for side in space.sides]), cells - 1, cells)
    known = ((cells >= 0) & (cells < np.array(space.shape))).all(axis=1)
    at = np.where(known, np.ravel_multi_index(np.where(known[:, None], cells, 0).T, space.shape), -1)
    return {
        "outputs": [_named(point, space) for point in places],
        "at": at.tolist(),
        "matrix": packed_floats(table.reshape(len(space), -1)),
    }


_SHOWN: dict[str, Callable[[Any], dict[str, Any]]] = {"table": _table_view, "noise": _noise_view}


def point_figures(mechanism: BoxMechanism | BoxNoise, prior: Prior, cell: int) -> dict[str, Any]:
    """Figures of the report about the centre of a cell: what is told there, and how much privacy is used where."""
    space = mechanism.box
    place = np.unravel_index(min(cell, len(space) - 1), space.shape)
    point = tuple(
        low + step * (2 * int(k) + 1) / 2 for low, step, k in zip(space.origin, space.step, place, strict=True)
    )
    drawn = figures_of(facts_about(mechanism, prior=prior, secret=point))
    return {
        "figures": [
            {"svg": standalone(figure.svg), "caption": unescape(figure.caption)}
            for figure in drawn
            if figure.name in _DRAWN
        ]
    }
