"""The Hasse diagram of some mechanisms in the sufficiency order.

Maximal mechanisms stand in the first row, every other one a row below the lowest of those that cover it. Lines that
pass a row are given a place there, like a name, so that no line runs behind a name. Names in a row are then ordered by
the means of what they are joined to, in sweeps of which the one with the fewest crossings is kept, and moved towards
these means as far as their widths allow.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape
from itertools import pairwise
from textwrap import wrap

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from sfumato.errors import expect
from sfumato.orders.maximal import Hasse
from sfumato.report.figure import FONT_SIZE, ROLES, SERIES, canvas, caption, segments, tint

_ROW = 104  # Rows are so many pixels apart.
_ACROSS = 17  # A name with blanks is broken into lines of so many letters.
_LETTER = 0.56 * FONT_SIZE  # This is the mean width of a letter in pixels.
_PADDING = 6  # So many pixels are free around a name.
_APART = 18  # Two names, or a name and a line, are at least so many pixels apart.
_NARROWEST = 700  # A figure is at least as wide as a column of text, in pixels.
_SWEEPS = 12  # Rows follow their neighbours so many times, downwards and upwards in turn.


def hasse_figure(order: Hasse) -> go.Figure:
    """Channels as names in boxes, a line from each to those that it covers; the boxes of maximal ones are filled.

    Whoever is higher on a line can simulate whoever is lower. Names in one box tell the same.

    Examples
    --------
    >>> from sfumato.channels import Channel
    >>> from sfumato.orders.maximal import hasse
    >>> figure = hasse_figure(hasse({"all": Channel.identity((0, 1)), "nothing": Channel.constant((0, 1))}))
    >>> list(figure.data[1].text), [round(y) for y in figure.data[1].y]
    (['all', 'nothing'], [0, -104])
    """
    order = expect(order, Hasse, "what is drawn", "hasse(channels) makes one")
    names = [" = ".join(members) for members in order.classes]
    lines = [wrap(name, _ACROSS, break_long_words=False) or [""] for name in names]
    drawing = _Drawing(order, [_LETTER * max(map(len, text)) + 2 * _PADDING for text in lines])
    x, y = drawing.x, -float(_ROW) * np.array(drawing.rows)
    count = len(names)
    half = np.array([width / 2 for width in drawing.widths])
    left, right = float((x - half).min()) - 24, float((x + half).max()) + 24
    width = max(_NARROWEST, right - left)
    middle = (left + right) / 2
    tall = max(len(text) for text in lines) * FONT_SIZE
    figure = canvas(round(width), round(-y.min()) + 2 * tall + 60)
    beside = np.where(np.arange(len(x)) < count, 0.0, tall / 2 + 2 * _PADDING)  # lines pass names upright
    ways = (
        [(x[high], y[high]), (x[high], y[high] - beside[high]), (x[low], y[low] + beside[low]), (x[low], y[low])]
        for high, low in drawing.edges
    )
    figure.add_scatter(**segments(ways), mode="lines", line={"color": ROLES["faint"], "width": 1.5}, hoverinfo="skip",
                       showlegend=False)  # fmt: skip
    hover = [f"{name}<br>maximal" if k in order.maximal else name for k, name in enumerate(names)]
    figure.add_scatter(x=x[:count], y=y[:count], mode="markers", text=names, hovertext=hover, hoverinfo="text",
                       marker={"size": 20, "opacity": 0}, showlegend=False)  # fmt: skip
    for k, text in enumerate(lines):
        top = k in order.maximal
        figure.add_annotation(
            x=float(x[k]), y=float(y[k]), text="<br>".join(escape(line, quote=False) for line in text),
            showarrow=False, borderpad=_PADDING, borderwidth=1.5, bordercolor=SERIES[1], captureevents=False,
            bgcolor=tint(SERIES[1], 0.22) if top else ROLES["paper"],
        )  # fmt: skip
    blank = {"visible": False, "zeroline": False}
    margins = figure.layout.margin
    inside = (width - margins.l - margins.r) / 2, figure.layout.height - margins.t - margins.b
    figure.update_layout(
        xaxis={**blank, "range": [middle - inside[0], middle + inside[0]]},
        yaxis={**blank, "range": [float(y.min()) / 2 - inside[1] / 2, float(y.min()) / 2 + inside[1] / 2]},
    )
    open_pairs = f" {len(order.unclear)} comparisons could not be decided." if order.unclear else ""
    return caption(
        figure,
        "A mechanism that is higher on a line can simulate the lower one by post-processing. Filled: maximal, no other "
        f"one here can simulate it.{open_pairs}",
    )


class _Drawing:
    """Where names and the bends of lines go: indices beyond the names are bends, which have no width."""

    def __init__(self, order: Hasse, widths: list[float]) -> None:
        turned = tuple((high, low) for low, high in order.covers)  # upside down, the way down is the way up
        self.rows = list(replace(order, covers=turned).layers)
        self.widths = list(widths)
        self.edges: list[tuple[int, int]] = []
        for low, high in order.covers:
            above = high
            for row in range(self.rows[high] + 1, self.rows[low]):
                self.rows.append(row)
                self.widths.append(0.0)
                self.edges.append((above, len(self.rows) - 1))
                above = len(self.rows) - 1
            self.edges.append((above, low))
        count = len(self.rows)
        self.joined: list[list[int]] = [[] for _ in range(count)]
        for one, other in self.edges:
            self.joined[one].append(other)
            self.joined[other].append(one)
        self.layers = [[k for k in range(count) if self.rows[k] == row] for row in range(max(self.rows) + 1)]
        self._sort()
        self.x = self._places()

    def _sort(self) -> None:
        """The order in each row with the fewest crossings that the sweeps meet."""
        best, fewest = [list(layer) for layer in self.layers], self._crossings()
        for sweep in range(_SWEEPS):
            place = {k: float(i) for layer in self.layers for i, k in enumerate(layer)}
            rows = range(1, len(self.layers)) if sweep % 2 == 0 else range(len(self.layers) - 2, -1, -1)
            for row in rows:
                beside = row - 1 if sweep % 2 == 0 else row + 1
                near = {k: [place[j] for j in self.joined[k] if self.rows[j] == beside] for k in self.layers[row]}
                means = {k: sum(places) / len(places) if places else place[k] for k, places in near.items()}
                self.layers[row].sort(key=means.__getitem__)
                place.update({k: float(i) for i, k in enumerate(self.layers[row])})
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(layer) for layer in self.layers], crossings
        self.layers = best

    def _crossings(self) -> int:
        place = {k: i for layer in self.layers for i, k in enumerate(layer)}
        ends = [(self.rows[high], place[high], place[low]) for high, low in self.edges]
        return sum(
            a[0] == b[0] and (a[1] - b[1]) * (a[2] - b[2]) < 0 for i, a in enumerate(ends) for b in ends[:i]
        )  # fmt: skip

    def _places(self) -> NDArray[np.float64]:
        """Each row moves to the means of what its members are joined to, as near as their widths allow."""
        x = np.zeros(len(self.rows))
        offsets = []
        for layer in self.layers:
            half = [self.widths[k] / 2 for k in layer]
            steps = [a + b + _APART for a, b in pairwise(half)]
            offset = np.concatenate([[0.0], np.cumsum(steps)])
            offsets.append(offset)
            x[layer] = offset - offset[-1] / 2
        for sweep in range(_SWEEPS):
            for layer, offset in list(zip(self.layers, offsets, strict=True))[:: 1 if sweep % 2 else -1]:
                wanted = np.array([np.mean(x[self.joined[k]]) if self.joined[k] else x[k] for k in layer])
                # the nearest places in this order and at these distances: a regression on what is beyond the distances
                x[layer] = isotonic_regression(wanted - offset).x + offset
        return x
