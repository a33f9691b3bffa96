"""Plotly figures in sphinx-gallery: the figure itself on its page, a small picture of it on the overview.

The figures of sfumato are Plotly figures, so the gallery shows the same ones, with everything that can be pointed at.
The scrapers that are around need kaleido and a browser for the small pictures. Pages are built where neither is, so
Pillow, which sphinx-gallery brings anyway, draws lines, marks, bars and heat maps here, without letters.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import numpy as np
import plotly.graph_objects as go
import plotly.io
from PIL import Image, ImageDraw
from plotly.io.base_renderers import ExternalRenderer

__all__ = ["keep_what_is_shown", "picture", "scraped"]

SIZE = (400, 280)  # pixels of a picture, as sphinx-gallery shows it
FINER = 3  # it is drawn larger and scaled down, which smooths edges
MARGIN = 10  # pixels around and between panels
FRAME = (138, 138, 138)

Pixel = tuple[float, float]


class _Kept(ExternalRenderer):
    """What ``figure.show()`` does in the gallery: it keeps the figure for the page."""

    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []

    def render(self, fig_dict: dict[str, Any]) -> None:
        self.shown.append(fig_dict)


_KEPT = _Kept()


def keep_what_is_shown() -> None:
    """From now on ``figure.show()`` opens no browser but keeps the figure for the page."""
    plotly.io.renderers["gallery"] = _KEPT
    plotly.io.renderers.default = "gallery"


_BLOCK = """
.. raw:: html

    <div class="gallery-figure" id="{name}" role="img" aria-label="{label}"></div>
    <script>document.addEventListener("DOMContentLoaded", () => {{ const figure = {figure};
    Plotly.newPlot("{name}", figure.data, figure.layout, {{displaylogo: false, responsive: false}}); }});</script>
    <noscript>This figure is drawn by a script, which the browser does not run.</noscript>

"""


def scraped(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """The figures that a block of code has shown, as reStructuredText, and a picture of each."""
    text = ""
    figures, _KEPT.shown = _KEPT.shown, []
    for figure, path in zip(figures, variables["image_path_iterator"], strict=False):
        picture(figure).save(path)
        name = re.sub(r"\W", "-", re.sub(r".*sphx_glr_plot_|\.png$", "", str(path)))
        label = html.escape(f"Figure: {name.rsplit('-', 1)[0].replace('_', ' ')}")
        script = plotly.io.to_json(figure, validate=False).replace("</", "<\\/")
        text += _BLOCK.format(name=name, label=label, figure=script)
    return text


def picture(figure: go.Figure | dict[str, Any]) -> Image.Image:
    """A small picture of a figure of lines, marks, bars and heat maps, without letters."""
    drawn = _decoded(go.Figure(figure).to_dict())
    image = Image.new("RGB", (SIZE[0] * FINER, SIZE[1] * FINER), "white")
    pen = ImageDraw.Draw(image, "RGBA")
    layout = drawn["layout"]
    traces = [trace for trace in drawn["data"] if trace.get("visible", True) is True]
    for trace in traces:
        if trace["type"] not in ("bar", "heatmap", "scatter"):
            raise ValueError(f"no small picture of {trace['type']} is known")
    for (x, y), members in groupby(sorted(traces, key=_axes), key=_axes):
        panel = _Panel(layout, x, y, list(members))
        panel.draw(pen)
    return image.resize(SIZE, Image.Resampling.LANCZOS)


def _decoded(value: Any) -> Any:
    """A figure with its arrays; plotly keeps them as text in base 64."""
    if isinstance(value, dict):
        if "bdata" in value:
            numbers = np.frombuffer(base64.b64decode(value["bdata"]), dtype=np.dtype(value["dtype"]))
            return numbers.reshape([int(n) for n in value["shape"].split(",")]) if "shape" in value else numbers
        return {key: _decoded(inner) for key, inner in value.items()}
    return [_decoded(inner) for inner in value] if isinstance(value, list | tuple) else value


def _axes(trace: dict[str, Any]) -> tuple[str, str]:
    return trace.get("xaxis", "x"), trace.get("yaxis", "y")


class _Panel:
    """One pair of axes and what is drawn there."""

    def __init__(self, layout: dict[str, Any], x: str, y: str, traces: list[dict[str, Any]]) -> None:
        self.traces, self.layout = traces, layout
        self.settings = [layout.get(f"{name[0]}axis{name[1:]}") or {} for name in (x, y)]
        self.names: list[dict[Any, int]] = [{}, {}]
        self.bars = [trace for trace in traces if trace["type"] == "bar"]
        self.ranges = [self._range(axis) for axis in (0, 1)]
        self.box = [self._extent(axis) for axis in (0, 1)]
        if "scaleanchor" in self.settings[1] or "scaleanchor" in self.settings[0]:
            self._make_square()

    def _values(self, axis: int, values: Iterable[Any]) -> np.ndarray:
        """Numbers on an axis: logarithms where it has them, places in a list of names."""
        names = self.names[axis]
        given = [names.setdefault(v, len(names)) if isinstance(v, str) else v for v in values]
        numbers = np.array([np.nan if v is None else float(v) for v in given])
        if self.settings[axis].get("type") == "log":
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.log10(numbers)
        return numbers

    def _along(self, trace: dict[str, Any], axis: int) -> np.ndarray:
        values = trace.get("xy"[axis])
        if values is None:
            shape = np.shape(trace["z"]) if "z" in trace else (len(trace["xy"[1 - axis]]),) * 2
            values = range(shape[1 - axis])
        return self._values(axis, values)

    def _range(self, axis: int) -> tuple[float, float]:
        settings = self.settings[axis]
        along = [self._along(trace, axis) for trace in self.traces]
        for trace in self.bars:
            flat = trace.get("orientation") == "h"
            along.append(np.array([0.0]) if flat == (axis == 0) else along[0][[0, -1]] + [-0.6, 0.6])
        if settings.get("range") is not None:
            low, high = map(float, settings["range"])
            return low, high
        numbers = np.concatenate(along)
        numbers = numbers[np.isfinite(numbers)]
        low, high = float(numbers.min()), float(numbers.max())
        if any(trace["type"] == "heatmap" for trace in self.traces):
            return (high + 0.5, low - 0.5) if settings.get("autorange") == "reversed" else (low - 0.5, high + 0.5)
        pad = 0.05 * (high - low) or 0.5
        low = low if self.bars and low == 0 else low - pad
        return (high + pad, low) if settings.get("autorange") == "reversed" else (low, high + pad)

    def _extent(self, axis: int) -> tuple[float, float]:
        low, high = self.settings[axis].get("domain") or (0.0, 1.0)
        if axis:
            low, high = 1 - high, 1 - low
        size = SIZE[axis] - 2 * MARGIN
        gap = MARGIN / 4
        return FINER * (MARGIN + low * size + gap), FINER * (MARGIN + high * size - gap)

    def _make_square(self) -> None:
        scale = min((b - a) / abs(high - low) for (a, b), (low, high) in zip(self.box, self.ranges, strict=True))
        for axis in (0, 1):
            (a, b), (low, high) = self.box[axis], self.ranges[axis]
            half = scale * abs(high - low) / 2
            self.box[axis] = ((a + b) / 2 - half, (a + b) / 2 + half)

    def at(self, axis: int, values: np.ndarray) -> np.ndarray:
        """Pixels of numbers on an axis."""
        (start, end), (low, high) = self.box[axis], self.ranges[axis]
        share = (values - low) / (high - low)
        return end - share * (end - start) if axis else start + share * (end - start)

    def draw(self, pen: ImageDraw.ImageDraw) -> None:
        (left, right), (top, bottom) = self.box
        before: list[Pixel] = []
        for trace in self.traces:
            if trace["type"] == "heatmap":
                self._heatmap(pen, trace)
            elif trace["type"] == "bar":
                self._bar(pen, trace)
            else:
                before = self._scatter(pen, trace, before)
        for note in self.layout.get("annotations", ()):
            if "bordercolor" in note:
                self._framed(pen, note)
        if self.settings[0].get("visible", True):
            pen.line([(left, bottom), (right, bottom)], fill=FRAME, width=FINER)
        if self.settings[1].get("visible", True):
            pen.line([(left, top), (left, bottom)], fill=FRAME, width=FINER)

    def _scatter(self, pen: ImageDraw.ImageDraw, trace: dict[str, Any], before: list[Pixel]) -> list[Pixel]:
        mode = trace.get("mode", "lines")
        x, y = self.at(0, self._along(trace, 0)), self.at(1, self._along(trace, 1))
        line, shape = trace.get("line") or {}, (trace.get("line") or {}).get("shape")
        if shape == "hv":
            x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
        elif shape == "hvh":
            middles = (x[1:] + x[:-1]) / 2
            x, y = np.concatenate([x[:1], np.repeat(middles, 2), x[-1:]]), np.repeat(y, 2)
        pieces = list(_pieces(x, y))
        fill = trace.get("fill", "none")
        if fill != "none":
            colour = _colour(trace.get("fillcolor") or line.get("color"), 0.5 if "fillcolor" not in trace else 1.0)
            for piece in pieces:
                floor = float(self.at(1, np.array([max(0.0, self.ranges[1][0])]))[0])
                base = {"tozeroy": [(piece[-1][0], floor), (piece[0][0], floor)], "tonexty": before[::-1]}.get(fill, [])
                pen.polygon([*piece, *base], fill=colour)
        if "lines" in mode and line.get("width", 2):
            colour = _colour(line.get("color") or (trace.get("marker") or {}).get("color"), trace.get("opacity", 1.0))
            for piece in pieces:
                _stroke(pen, piece, colour, line.get("width", 2), line.get("dash", "solid"))
        if "markers" in mode:
            self._marks(pen, trace, x, y)
        return [point for piece in pieces for point in piece]

    def _marks(self, pen: ImageDraw.ImageDraw, trace: dict[str, Any], x: np.ndarray, y: np.ndarray) -> None:
        marker = trace.get("marker") or {}
        if not marker.get("opacity", 1):  # there only to be pointed at
            return
        sizes = np.broadcast_to(np.asarray(marker.get("size", 6), dtype=float), x.shape)
        if marker.get("sizemode") == "area":
            sizes = np.sqrt(sizes / marker.get("sizeref", 1))
        colours = _colours(marker, len(x), trace)
        shrink = 0.75 * FINER / 2  # a picture is about half as wide as the figure, and marks should be seen
        for u, v, size, colour in zip(x, y, sizes, colours, strict=True):
            if np.isfinite(u) and np.isfinite(v):
                r = max(size * shrink, 0.6 * FINER)
                if str(marker.get("symbol", "")).endswith("-open"):
                    pen.ellipse((u - r, v - r, u + r, v + r), outline=colour, width=FINER)
                else:
                    pen.ellipse((u - r, v - r, u + r, v + r), fill=colour)

    def _framed(self, pen: ImageDraw.ImageDraw, note: dict[str, Any]) -> None:
        """A text in a frame becomes the frame."""
        shrink = FINER * SIZE[0] / self.layout["width"]
        lines = [re.sub(r"<[^>]*>", "", line) for line in note["text"].split("<br>")]
        across, up = shrink * (4 * max(map(len, lines)) + 6), shrink * (9 * len(lines) + 6)
        u, v = (float(self.at(axis, np.array([note["xy"[axis]]]))[0]) for axis in (0, 1))
        colours = {"fill": _colour(note["bgcolor"]), "outline": _colour(note["bordercolor"])}
        pen.rectangle((u - across, v - up, u + across, v + up), width=FINER, **colours)

    def _heatmap(self, pen: ImageDraw.ImageDraw, trace: dict[str, Any]) -> None:
        z = np.array([[np.nan if v is None else float(v) for v in row] for row in trace["z"]])
        low, high = trace.get("zmin"), trace.get("zmax")
        low = float(np.nanmin(z)) if low is None else float(low)
        high = float(np.nanmax(z)) if high is None else float(high)
        x, y = self._along(trace, 0), self._along(trace, 1)
        dx, dy = (abs(float(v[1] - v[0])) / 2 if len(v) > 1 else 0.5 for v in (x, y))
        for i, j in np.argwhere(np.isfinite(z)):
            u, v = self.at(0, x[j] + np.array([-dx, dx])), self.at(1, y[i] + np.array([-dy, dy]))
            colour = _shade(trace["colorscale"], (z[i, j] - low) / ((high - low) or 1.0))
            pen.rectangle((min(u), min(v), max(u), max(v)), fill=colour)

    def _bar(self, pen: ImageDraw.ImageDraw, trace: dict[str, Any]) -> None:
        flat = trace.get("orientation") == "h"
        along, across = (1, 0) if flat else (0, 1)
        stacked = self.layout.get("barmode", "group") in ("overlay", "stack")
        count, k = (1, 0) if stacked else (len(self.bars), self.bars.index(trace))
        width = (1 - self.layout.get("bargap", 0.2)) / count
        places, heights = self._along(trace, along), self._along(trace, across)
        step = float(np.diff(np.sort(places)).min()) if len(places) > 1 else 1.0
        colours = _colours(trace.get("marker") or {}, len(places), trace)
        for place, height, colour in zip(places, heights, colours, strict=True):
            sides = place + step * (np.array([k, k + 1]) * width - width * count / 2)
            ends = np.array([max(0.0, self.ranges[across][0]), height])
            corners = {along: self.at(along, sides), across: self.at(across, ends)}
            u, v = corners[0], corners[1]
            pen.rectangle((min(u), min(v), max(u), max(v)), fill=colour)


def _pieces(x: np.ndarray, y: np.ndarray) -> Iterator[list[Pixel]]:
    """The parts of a line between gaps."""
    for solid, part in groupby(zip(x.tolist(), y.tolist(), strict=True), key=lambda p: bool(np.isfinite(p).all())):
        if solid:
            yield list(part)


def _stroke(pen: ImageDraw.ImageDraw, points: list[Pixel], colour: Any, width: float, dash: str) -> None:
    thick = max(round(FINER * 1.3 * width), FINER)  # wider than to scale: overviews show it at half its size
    if dash == "solid" or len(points) < 2:
        pen.line(points, fill=colour, width=thick, joint="curve")
        return
    on, off = {"dot": (2, 4), "dash": (8, 5)}.get(dash, (6, 5))
    knots = np.array(points)
    lengths = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(knots, axis=0), axis=1))])
    for start in np.arange(0, lengths[-1], FINER * (on + off)):
        here = np.linspace(start, min(start + FINER * on, lengths[-1]), 5)
        piece = [tuple(np.interp(t, lengths, knots[:, k]) for k in (0, 1)) for t in here]
        pen.line(piece, fill=colour, width=thick)


def _colours(marker: dict[str, Any], count: int, trace: dict[str, Any]) -> list[Any]:
    outer = (marker.get("line") or trace.get("line") or {}).get("color")
    colour = marker["color"] if marker.get("color") is not None else outer
    opacity = marker.get("opacity", trace.get("opacity", 1.0))
    if colour is None or isinstance(colour, str):
        return [_colour(colour, opacity)] * count
    if all(isinstance(c, str) for c in colour):
        return [_colour(c, opacity) for c in colour]
    numbers = np.asarray(colour, dtype=float)
    low, high = marker.get("cmin", numbers.min()), marker.get("cmax", numbers.max())
    return [_shade(marker["colorscale"], (v - low) / ((high - low) or 1.0)) for v in numbers]


def _colour(text: str | None, opacity: float = 1.0) -> tuple[int, int, int, int]:
    text = text or "#222222"
    parts = re.fullmatch(r"rgba?\(([^)]*)\)", text)
    if parts:
        numbers = [float(part) for part in parts[1].split(",")]
        opacity *= numbers[3] if len(numbers) == 4 else 1.0
        red, green, blue = (round(n) for n in numbers[:3])
    else:
        red, green, blue = (int(text[i : i + 2], 16) for i in (1, 3, 5))
    return red, green, blue, round(255 * opacity)


def _shade(scale: Any, share: float) -> tuple[int, int, int, int]:
    stops = np.array([stop for stop, _ in scale], dtype=float)
    colours = np.array([_colour(colour) for _, colour in scale], dtype=float)
    red, green, blue, alpha = (round(float(np.interp(share, stops, colours[:, k]))) for k in range(4))
    return red, green, blue, alpha
