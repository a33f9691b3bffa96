"""What the page draws, as JSON: where secrets lie, tables of probabilities, figures in the style of reports."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sfumato.certify import Mechanism
from sfumato.channels import Channel, Prior
from sfumato.numbers import floats
from sfumato.report.html import label
from sfumato.report.layout import drawn_places
from sfumato.report.maps import map_layout
from sfumato.report.page_facts import float_matrix
from sfumato.spaces import FiniteSpace

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
