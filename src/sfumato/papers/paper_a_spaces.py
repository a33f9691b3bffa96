"""The spaces that paper A draws: a grid with the pairs that bound each other (Figure 6b), and a cube (Figure 7b)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from sfumato.papers.tables import PaperTable
from sfumato.privacy import PrivacyType
from sfumato.report.figure import ROLES, SERIES, canvas, caption, segments
from sfumato.report.layout import drawn_places
from sfumato.spaces import FiniteSpace, grid, hamming

_PATH = ("000", "100", "110", "111")


def figure_6b() -> PaperTable:
    """The 2 × 2 grid with its 3 × 3 points: which pairs bound each other, and which bounds follow from others."""
    space = grid(3, 3)
    privacy = PrivacyType(space, alpha="1/2")
    assert space.coordinates is not None
    where = np.rint(space.coordinates).astype(int)
    steps: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for x, z in combinations(range(len(space)), 2):
        across, along = sorted(np.abs(where[x] - where[z]).tolist(), reverse=True)
        steps.setdefault((across, along), []).append((x, z))
    kept = {(int(x), int(z)) for x, z in zip(*space.pairs, strict=True)}
    rows, families = [], {}
    for (across, along), pairs in sorted(steps.items(), key=lambda item: item[0][0] ** 2 + item[0][1] ** 2):
        square = across**2 + along**2
        distance = str(across) if not along else f"√{square}"
        needed = sum(pair in kept for pair in pairs)
        factor = privacy.factor(*(space.labels[x] for x in pairs[0]))[0]
        rows.append({
            "step": f"{across}, {along}", "distance": distance, "pairs": len(pairs), "bound e^{εd}": float(factor),
            "implied by shorter steps": {0: "yes", len(pairs): "no"}[needed],
        })  # fmt: skip
        if needed:
            families[f"distance {distance}"] = pairs
    notes = (
        "Sizes count cells: a 2 × 2 grid has 3 × 3 points.",
        f"{len(kept)} of {len(space) * (len(space) - 1) // 2} pairs bound each other; a step that is a multiple of a "
        "shorter one adds nothing.",
    )
    text = "The 3 × 3 points of a 2 × 2 grid and the pairs whose bounds do not follow from others, by distance."
    names = [""] * len(space)
    return PaperTable(
        "A.fig6b", "The Euclidean type on a 2 × 2 grid, ε = ln 2", tuple(rows), notes,
        lambda: caption(_drawn(space, families, names), text),
    )  # fmt: skip


def figure_7b() -> PaperTable:
    """The cube of three bits, and a path along which its distance is that of a line."""
    cube = hamming(3)
    rows = []
    for (i, first), (j, second) in combinations(enumerate(_PATH), 2):
        rows.append({
            "from": first, "to": second, "steps along the path": j - i,
            "Hamming distance": int(cube.distance(first, second)),
        })  # fmt: skip
    edges = [(int(x), int(z)) for x, z in zip(*cube.pairs, strict=True)]
    path = [(cube.index(a), cube.index(b)) for a, b in pairwise(_PATH)]
    notes = (
        f"{len(edges)} pairs bound each other: words that differ in one bit. The path is one of the six shortest ones "
        "from 000 to 111, and all of them are lines.",
        "The mechanism of Figure 8 is the truncated geometric one along this path.",
    )
    text = "Words of three bits and the pairs that differ in one of them; in colour, a path on which distances add up."
    families = {"one bit differs": edges, "the path": path}
    return PaperTable(
        "A.fig7b", "The Hamming type on three bits, and a line in it", tuple(rows), notes,
        lambda: caption(_drawn(cube, families, [str(label) for label in cube.labels], faint=1), text),
    )  # fmt: skip


def _drawn(
    space: FiniteSpace, families: Mapping[str, Sequence[tuple[int, int]]], names: Sequence[str], faint: int = 0
) -> go.Figure:
    """Points of a space with the pairs of each family as lines; so many of the first families in grey, and thin."""
    figure = canvas(width=560, height=500)
    where = drawn_places(space)
    colours = [ROLES["faint"]] * faint + [SERIES[k] for k in (4, 1, 2)]
    for (name, pairs), colour, k in zip(families.items(), colours, range(len(families)), strict=False):
        figure.add_scatter(
            **segments(where[list(pair)].tolist() for pair in pairs), mode="lines", name=name, hoverinfo="skip",
            line={"color": colour, "width": 1.5 if k < faint else 4 - k},
        )  # fmt: skip
    figure.add_scatter(
        x=where[:, 0], y=where[:, 1], mode="markers+text", text=list(names), textposition=_outwards(where),
        marker={"size": 11, "color": ROLES["ink"]}, showlegend=False,
        hovertext=[str(label) for label in space.labels], hoverinfo="text",
    )  # fmt: skip
    figure.update_layout(legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"})
    figure.update_layout(margin={"t": 48})
    figure.update_xaxes(visible=False)
    return figure.update_yaxes(visible=False, scaleanchor="x")


def _outwards(where: NDArray[np.float64]) -> list[str]:
    """Where names go so that lines to the middle do not cross them."""
    across, up = (where - where.mean(axis=0)).T
    return [f"{'top' if u > 0 else 'bottom'} {'right' if a > 0 else 'left'}" for a, u in zip(across, up, strict=True)]


SPACES: dict[str, Callable[[], PaperTable]] = {"A.fig6b": figure_6b, "A.fig7b": figure_7b}
"""Figures of spaces, by key."""
