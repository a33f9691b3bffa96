"""The Hasse diagram of some mechanisms in the sufficiency order."""

from __future__ import annotations

import plotly.graph_objects as go

from sfumato.errors import expect
from sfumato.orders.maximal import Hasse
from sfumato.report.figure import ROLES, SERIES, canvas, caption

__all__ = ["hasse_figure"]

_LAYER = 110  # pixels between two layers
_SWEEPS = 4  # times that the places in each layer follow their neighbours


def hasse_figure(order: Hasse) -> go.Figure:
    """Channels as dots, a line from each to those that it covers; maximal ones are filled.

    Whoever is higher on a line can simulate whoever is lower. Names on one dot tell the same.

    Examples
    --------
    >>> from sfumato.channels import Channel
    >>> from sfumato.orders.maximal import hasse
    >>> figure = hasse_figure(hasse({"all": Channel.identity((0, 1)), "nothing": Channel.constant((0, 1))}))
    >>> [text.strip() for text in figure.data[1].text]
    ['all', 'nothing']
    """
    order = expect(order, Hasse, "what is drawn", "hasse(channels) makes one")
    layers = order.layers
    height = max(layers)
    figure = canvas(height=_LAYER * (height + 1) + 60)
    places = _places(order)
    x = [places[k] for k in range(len(order.classes))]
    ends: dict[str, list[float | None]] = {"x": [], "y": []}
    for low, high in order.covers:
        ends["x"] += [x[low], x[high], None]
        ends["y"] += [layers[low], layers[high], None]
    figure.add_scatter(**ends, mode="lines", line={"color": ROLES["faint"], "width": 1.5}, hoverinfo="skip",
                       showlegend=False)  # fmt: skip
    colours = [SERIES[1] if k in order.maximal else ROLES["paper"] for k in range(len(x))]
    figure.add_scatter(
        x=x, y=list(layers), mode="markers+text", text=[f"\u2002{' = '.join(names)}" for names in order.classes],
        textposition="middle right", showlegend=False, hoverinfo="text", cliponaxis=False,
        marker={"size": 12, "color": colours, "line": {"color": SERIES[1], "width": 2}},
    )  # fmt: skip
    blank = {"visible": False, "zeroline": False}
    widest = max(max(x) - min(x), 1.0)
    figure.update_layout(
        xaxis={**blank, "range": [min(x) - 0.35 * widest, max(x) + 0.55 * widest]},
        yaxis={**blank, "range": [-0.4, height + 0.4]},
    )
    open_pairs = f" {len(order.unclear)} comparisons could not be decided." if order.unclear else ""
    return caption(
        figure,
        "A mechanism that is higher on a line can simulate the lower one by post-processing. Filled: maximal, no other "
        f"one here can simulate it.{open_pairs}",
    )


def _places(order: Hasse) -> dict[int, float]:
    """Places from left to right: each layer in the order of the means of what it is joined to; few lines cross then."""
    layers = order.layers
    rows = [[k for k in range(len(layers)) if layers[k] == depth] for depth in range(max(layers) + 1)]
    joined: dict[int, list[int]] = {k: [] for k in range(len(layers))}
    for low, high in order.covers:
        joined[low].append(high)
        joined[high].append(low)
    x = {k: i - (len(row) - 1) / 2 for row in rows for i, k in enumerate(row)}
    for _ in range(_SWEEPS):
        for row in rows:
            row.sort(key=lambda k: sum(x[j] for j in joined[k]) / len(joined[k]) if joined[k] else x[k])
            x.update({k: i - (len(row) - 1) / 2 for i, k in enumerate(row)})
    return x
