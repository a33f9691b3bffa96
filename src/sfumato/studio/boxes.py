"""What the page shows of boxes of coordinates: cells on a map, what is told at their centres, figures of reports."""

from __future__ import annotations

from html import unescape
from typing import Any

import numpy as np

from sfumato.certify.coordinates import BoxMechanism
from sfumato.certify.noise import BoxNoise
from sfumato.channels.prior import Prior
from sfumato.numbers import Floats
from sfumato.report.box_facts import applied, lattice_table, output_coordinates, smooth_basis
from sfumato.report.box_maps import point_words
from sfumato.report.box_noise import noise_on_cells
from sfumato.report.maps_drawing import standalone
from sfumato.report.page import facts_about, figures_of
from sfumato.spaces.box import NORMS, Box
from sfumato.spaces.earth import to_earth
from sfumato.studio.views import packed_floats

_DRAWN = ("cloud", "likely", "used", "border")  # figures of a report that are about one point


def box_place(home: Box, prior: Prior) -> dict[str, Any]:
    """The cells of a box, drawn as they lie, and how likely they are."""
    where = home.centres
    flat = home.dimension == 1
    farthest = np.linalg.norm([float(side) for side in home.sides], ord=NORMS[home.metric])
    ground = {
        "kind": "row" if flat else "cells", "x": where[:, 0].tolist(),
        "y": (np.zeros(len(where)) if flat else where[:, 1]).tolist(), "unit": home.unit,
        "steps": None if flat else [float(step) for step in home.step], "edges": [],
    }  # fmt: skip
    return {
        "labels": [_named(point, home) for point in where], "ground": ground,
        "prior": [round(weight, 9) for weight in prior.float_weights.tolist()],
        "distances": [float(min(home.step)), float(farthest)],
    }  # fmt: skip


def _named(point: Floats, home: Box) -> str:
    if home.frame is None:
        return point_words([round(float(at), 9) for at in point])
    latitude, longitude = (float(angle) for angle in to_earth(home, point.tolist()))
    return f"{latitude:.5g}, {longitude:.5g}"


def on_coordinates(mechanism: Any) -> BoxMechanism | BoxNoise:
    """The mechanism of a design on a box."""
    assert mechanism.about == "coordinates"
    found: BoxMechanism | BoxNoise = mechanism
    return found


def box_view(mechanism: BoxMechanism | BoxNoise) -> dict[str, Any]:
    """What is told at the centre of each cell, and in which cell each output lies, −1 outside.

    Noise has too many outputs to list: they are summed up in cells, which then stand for them.
    """
    home = mechanism.box
    if mechanism.same_everywhere:
        cells = [_named(point, home) for point in home.centres]
        return {"outputs": cells, "at": list(range(len(cells))), "matrix": packed_floats(noise_on_cells(mechanism))}
    middles = [np.arange(0.5, n, dtype=np.float64) * float(step) for n, step in zip(home.shape, home.step, strict=True)]
    bases = [smooth_basis(axis, where)[0] for axis, where in zip(mechanism.rounding.axes, middles, strict=True)]
    table, places = applied(bases, lattice_table(mechanism)), output_coordinates(mechanism)
    inside = places - np.array([float(low) for low in home.origin])
    cells = np.floor(inside / np.array([float(step) for step in home.step])).astype(np.int64)
    cells = np.where(inside == np.array([float(side) for side in home.sides]), cells - 1, cells)
    known = ((cells >= 0) & (cells < np.array(home.shape))).all(axis=1)
    at = np.where(known, np.ravel_multi_index(np.where(known[:, None], cells, 0).T, home.shape), -1)
    return {
        "outputs": [_named(point, home) for point in places],
        "at": at.tolist(),
        "matrix": packed_floats(table.reshape(len(home), -1)),
    }


def point_figures(mechanism: BoxMechanism | BoxNoise, prior: Prior, cell: int) -> dict[str, Any]:
    """Figures of the report about the centre of a cell: what is told there, and how much privacy is used where."""
    home = mechanism.box
    place = np.unravel_index(min(cell, len(home) - 1), home.shape)
    point = tuple(low + step * (2 * int(k) + 1) / 2 for low, step, k in zip(home.origin, home.step, place, strict=True))
    drawn = figures_of(facts_about(mechanism, prior=prior, secret=point))
    return {
        "figures": [
            {"svg": standalone(figure.svg), "caption": unescape(figure.caption)}
            for figure in drawn
            if figure.name in _DRAWN
        ]
    }
