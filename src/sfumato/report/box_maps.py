"""Where probability lies on a box of coordinates, drawn: outputs at their places, shades of a fine raster, curves.

An interval is drawn from left to right, a box in the plane as it lies, and of a box in space the first two axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from sfumato.numbers import Floats
from sfumato.report.html import Figure, escaped, in_percent, near
from sfumato.report.html import share as shown
from sfumato.report.maps import (
    DISC,
    LEGEND,
    MARGIN,
    RING,
    RULE,
    TALLEST,
    disc_legend,
    scale_bar,
    shade_legend,
)
from sfumato.report.maps_drawing import WIDTH, Drawing, nice_ticks, text_width
from sfumato.spaces.box import Box

_MOST_DISCS = 900  # More outputs are summed up in squares.
_SQUARES = 48  # So many squares along the longer side sum up many outputs.
_MOST_LINES = 40  # More cells along an axis are not drawn.
_OUTLINE = "fill:none;stroke:var(--soft);stroke-width:.9"
_FAINT = "stroke:var(--rule);stroke-width:.5"


def point_words(point: Sequence[object], unit: str = "") -> str:
    """A point as people write it.

    Examples
    --------
    >>> point_words((1.25, 3.0), "km"), point_words((0.5,))
    ('(1.25, 3) km', '0.5')
    """
    words = ", ".join(near(part, 5) for part in point)
    words = f"({words})" if len(point) > 1 else words
    return f"{words} {unit}".strip()


@dataclass(frozen=True, eq=False)
class _Ground:
    """A drawing of a box in the plane, and where its points are on it."""

    drawing: Drawing
    left: float
    bottom: float
    scale: float
    low: tuple[float, float]

    def at(self, x: float, y: float) -> tuple[float, float]:
        return self.left + self.scale * (x - self.low[0]), self.bottom - self.scale * (y - self.low[1])


def _ground(box: Box) -> _Ground:
    wide, high = (float(side) for side in box.sides[:2])
    scale = min((WIDTH - 2 * MARGIN) / wide, (TALLEST - LEGEND) / high)
    drawing = Drawing(WIDTH, MARGIN + scale * high + 8 + LEGEND)
    low = float(box.origin[0]), float(box.origin[1])
    return _Ground(drawing, (WIDTH - scale * wide) / 2, MARGIN + scale * high, scale, low)


def _border(ground: _Ground, box: Box, lines: bool = False) -> None:
    (x0, y0), (wide, high) = ground.low, (float(side) for side in box.sides[:2])
    if lines and max(box.shape[:2]) <= _MOST_LINES:
        for k in range(1, box.shape[0]):
            x = x0 + k * float(box.step[0])
            ground.drawing.line([ground.at(x, y0), ground.at(x, y0 + high)], _FAINT)
        for k in range(1, box.shape[1]):
            y = y0 + k * float(box.step[1])
            ground.drawing.line([ground.at(x0, y), ground.at(x0 + wide, y)], _FAINT)
    left, top = ground.at(x0, y0 + high)
    ground.drawing.box(left, top, ground.scale * wide, ground.scale * high, _OUTLINE)


def _point_out(ground: _Ground, point: Sequence[object], words: str) -> None:
    """A ring around a point, and its coordinates beside it."""
    x, y = ground.at(float(point[0]), float(point[1]))  # type: ignore[arg-type]
    ground.drawing.circle(x, y, 6, RING, words)
    ground.drawing.circle(x, y, 1.6, "fill:var(--orange)")
    half = text_width(words) / 2
    above = y - 15 if y > 34 else y + 16
    middle = float(np.clip(x, half + 4, WIDTH - half - 4))
    ground.drawing.text(middle, above, words, anchor="middle", colour="orange", halo=True)


def _shades(ground: _Ground, name: str, values: Floats, box: Box, low: float, top: float) -> None:
    """A raster that fills the box, from the least value that is drawn to the largest."""
    wide, high = (ground.scale * float(side) for side in box.sides[:2])
    shares = (values - low) / ((top - low) or 1.0)
    ground.drawing.shades(name, ground.left, ground.bottom - high, wide, high, shares.T[::-1], "blue")


def flattened(box: Box, places: Floats, shares: Floats) -> tuple[Floats, Floats, str]:
    """Places and shares on a map, those above each other in space summed up, and words that say so."""
    if box.dimension < 3:
        return places, shares, ""
    flat, which = np.unique(places[:, :2], axis=0, return_inverse=True)
    summed = np.asarray(np.bincount(which.ravel(), weights=shares), dtype=np.float64)
    return np.asarray(flat), summed, " Outputs above each other, along the third axis, are summed up."


# ----------------------------------------------------------------- figures


def outputs_figure(
    name: str, title: str, words: str, box: Box, places: Floats, shares: Floats, secret: Sequence[object] | None = None
) -> Figure:
    """A distribution over outputs at their places; a ring points a secret out."""
    where = point_words(secret, box.unit) if secret is not None else ""
    top = int(np.argmax(shares))
    most = f"The likeliest is {point_words(places[top].tolist(), box.unit)} with {shown(float(shares[top]))}."
    if box.dimension == 1:
        drawing = _along(box, places[:, 0], shares, float(shares.max()), secret, bars=True)
        how = "The height of a bar is a share."
    else:
        places, shares, above = flattened(box, places, shares)
        ground = _ground(box)
        drawing = ground.drawing
        if len(shares) > _MOST_DISCS:
            how = _summed_up(ground, name, box, places, shares)
        else:
            how = _discs(ground, box, places, shares)
        if secret is not None:
            _point_out(ground, secret, where)
        scale_bar(drawing, ground.scale, box.unit)
        how += above
    if secret is not None:
        how += " The ring is where the secret is." if box.dimension > 1 else " The line is where the secret is."
    return Figure(name, drawing.svg(title, f"{words} {most}"), escaped(f"{words} {how} {most}"))


def _discs(ground: _Ground, box: Box, places: Floats, shares: Floats) -> str:
    _border(ground, box, lines=True)
    largest = float(np.clip(0.42 * sqrt(WIDTH * 320 / len(shares)), 4, 14))
    radii = largest * np.sqrt(np.maximum(shares, 0) / (shares.max() or 1.0))
    for k in np.argsort(-shares, kind="stable").tolist():
        x, y = ground.at(float(places[k, 0]), float(places[k, 1]))
        ground.drawing.circle(x, y, 1.0, "fill:var(--soft);fill-opacity:.55")
        if radii[k] >= 0.3:
            tip = f"{point_words(places[k].tolist(), box.unit)}: {shown(float(shares[k]))}"
            ground.drawing.circle(x, y, float(radii[k]), DISC, tip)
    disc_legend(ground.drawing, largest, float(shares.max()))
    return "The area of a disc is a share; dots are all outputs."


def _summed_up(ground: _Ground, name: str, box: Box, places: Floats, shares: Floats) -> str:
    wide, high = (float(side) for side in box.sides[:2])
    side = max(wide, high) / _SQUARES
    counts = [max(1, round(length / side)) for length in (wide, high)]
    cells = [
        np.clip(((places[:, i] - ground.low[i]) / length * count).astype(np.int64), 0, count - 1)
        for i, (length, count) in enumerate(zip((wide, high), counts, strict=True))
    ]
    totals = np.zeros(counts)
    np.add.at(totals, tuple(cells), shares)
    _shades(ground, name, totals, box, 0.0, float(totals.max()))
    _border(ground, box)
    shade_legend(ground.drawing, float(totals.max()))
    return f"Each square sums up the outputs in {near(side, 2)} × {near(side, 2)} {box.unit}".rstrip() + "."


def raster_figure(
    name: str, title: str, words: str, box: Box, marks: Sequence[Floats], values: Floats, *,
    low: float = 0.0, top: float | None = None, point: tuple[Sequence[object], str] | None = None,
) -> Figure:  # fmt: skip
    """A share for each point of a fine raster: shades in the plane, a curve along an interval."""
    highest = float(values.max()) if top is None else top
    if box.dimension == 1:
        drawing = _along(box, marks[0], values, highest, None if point is None else point[0], bars=False)
        how = "The curve is drawn over the interval."
    else:
        ground = _ground(box)
        _shades(ground, name, values, box, low, highest)
        _border(ground, box)
        if point is not None:
            _point_out(ground, *point)
        scale_bar(ground.drawing, ground.scale, box.unit)
        shade_legend(ground.drawing, highest, low)
        drawing, how = ground.drawing, "The darker, the more."
    return Figure(name, drawing.svg(title, words), escaped(f"{words} {how}"))


# ----------------------------------------------------------------- along an interval


def _along(
    box: Box, where: Floats, values: Floats, most: float, secret: Sequence[object] | None, *, bars: bool
) -> Drawing:
    """Values over an interval as bars or as a curve, between ticks; a line stands where the secret is."""
    left, top, bottom, height = 50.0, 12.0, 34.0, 230.0
    drawing, base = Drawing(WIDTH, height), height - bottom
    low, side = float(box.origin[0]), float(box.sides[0])
    scale, tall = (WIDTH - left - MARGIN) / side, (base - top) / (most or 1.0)
    for tick in nice_ticks(0, most):
        drawing.line([(left, base - tall * tick), (WIDTH - MARGIN, base - tall * tick)], RULE)
        drawing.text(left - 6, base - tall * tick, in_percent(tick), anchor="end", colour="soft")
    for tick in nice_ticks(low, low + side, 5):
        x = left + scale * (tick - low)
        drawing.line([(x, base), (x, base + 4)], RULE)
        words = near(tick)
        half = text_width(words) / 2
        drawing.text(float(np.clip(x, half + 2, WIDTH - half - 2)), base + 15, words, anchor="middle", colour="soft")
    if box.unit:
        drawing.text(WIDTH - MARGIN, base + 28, box.unit, anchor="end", colour="soft")
    way = [(left + scale * (float(x) - low), base - tall * float(v)) for x, v in zip(where, values, strict=True)]
    if bars:
        wide = float(np.clip(0.7 * (WIDTH - left) / len(values), 1.2, 16))
        for (x, y), place, value in zip(way, where.tolist(), values.tolist(), strict=True):
            x = float(np.clip(x, left + wide / 2, WIDTH - MARGIN - wide / 2))
            tip = f"{point_words([place], box.unit)}: {shown(value)}"
            drawing.box(x - wide / 2, y, wide, base - y, "fill:var(--blue)", tip)
    else:
        drawing.line([(way[0][0], base), *way, (way[-1][0], base)], "fill:var(--blue);fill-opacity:.25;stroke:none")
        drawing.line(way, "fill:none;stroke:var(--blue);stroke-width:1.6")
    if secret is not None:
        x = left + scale * (float(secret[0]) - low)  # type: ignore[arg-type]
        drawing.line([(x, 8.0), (x, base)], "stroke:var(--orange);stroke-width:1.6;stroke-dasharray:4 3")
    return drawing
