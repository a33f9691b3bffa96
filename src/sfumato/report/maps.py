"""Where probability lies, drawn: a heat map on a grid, discs at places, columns along a line, bars for a list.

What is drawn follows from the coordinates of a space. Many places, and cells of a large grid, are summed up in squares;
the caption says so.

Secrets without coordinates, words of a cube, nodes of a graph, any space, are drawn too. A drawing in the plane cannot
keep all distances. Words are placed by a fixed projection of their cube, which shows its edges as parallels; anything
else by classical scaling: the two directions in which the squared distances, centred, spread most (Torgerson 1952).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil, cos, hypot, pi, radians, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import MissingExtra
from sfumato.numbers import Floats
from sfumato.report.figure import label_shifts
from sfumato.report.html import Figure, escaped, in_percent, label, near
from sfumato.report.html import share as shown
from sfumato.report.maps_drawing import LETTER, WIDTH, Drawing, nice_length, nice_ticks, text_width
from sfumato.spaces.finite import FiniteSpace
from sfumato.spaces.ground import EARTH_RADIUS_KM, distances_on_ground, earth_radius, sphere_radius
from sfumato.spaces.lengths import METRES

MARGIN = 12.0
LEGEND = 30.0  # The legend below a map is so high.
TALLEST, _LOWEST = 470.0, 150.0
_MOST_CELLS = 48  # A heat map has at most so many cells along a side; more are summed up.
_MOST_PLACES = 900  # A map has at most so many discs; more places are summed up in squares.
_MOST_BARS = 20
_MOST_COLUMNS = 200  # A line has at most so many columns; more are drawn as one outline.
_NAMED = 4  # So many places of a map have their names on it.
_WORTH_A_NAME = 1.5  # A smaller disc has no name.
_FAR_NAME = 7.0  # A name farther from its disc than this has a line leading to it.
_SAME_STEP = 1e-6  # The lines of a grid may be unequal by this share of a step.
_GREAT_CIRCLE = 1e-6  # Distances may differ from those on the Earth by this relative error.


@dataclass(frozen=True, eq=False)
class MapLayout:
    """Where to draw the secrets of a space: x to the right, y upwards, in one unit of length; None for a list.

    ``sphere`` says that distances are those on the ground, ``outlines`` has the rings of cells, rows of x and y.
    """

    kind: Literal["cells", "places", "row", "list"]
    x: Floats
    y: Floats
    unit: str = ""
    steps: tuple[float, float] = (1.0, 1.0)
    sphere: bool = False
    outlines: tuple[list[Floats], ...] | None = None


def map_layout(space: FiniteSpace) -> MapLayout:
    """How a space is drawn.

    Examples
    --------
    >>> from sfumato.spaces import discrete, geo, grid, line
    >>> places = geo([(48.86, 2.35), (51.51, -0.13), (52.52, 13.4)])
    >>> [map_layout(space).kind for space in (grid(3, 4), line(5), places, discrete(3))]
    ['cells', 'row', 'places', 'list']
    """
    where = space.coordinates
    if where is None or where.shape[1] > 2 or len(where) < 2 or not np.isfinite(where).all():
        return MapLayout("list", np.zeros(len(space)), np.zeros(len(space)))
    x = where[:, 0]
    y = where[:, 1] if where.shape[1] == 2 else np.zeros(len(x))
    if space.ground is not None or _on_sphere(space, where):
        return _on_ground(space, x, y)
    if np.ptp(y) == 0:
        return MapLayout("row", x, y, space.unit)
    lines = [_even_step(np.unique(axis)) for axis in (x, y)]
    if lines[0] and lines[1]:
        steps = lines[0], lines[1]
        cells = (np.ptp(x) / steps[0] + 1) * (np.ptp(y) / steps[1] + 1)
        if cells <= 2 * len(x):
            return MapLayout("cells", x, y, space.unit, steps)
    return MapLayout("places", x, y, space.unit)


def _on_sphere(space: FiniteSpace, where: Floats) -> bool:
    """Whether distances are those of longitude and latitude on the Earth."""
    if space.unit != "km" or where.shape[1] != 2 or np.abs(where[:, 1]).max() > 90 or np.abs(where[:, 0]).max() > 360:
        return False
    radius = sphere_radius(space) if space.edges is None else None
    return radius is not None and abs(radius / EARTH_RADIUS_KM - 1) <= _GREAT_CIRCLE


def _on_ground(space: FiniteSpace, longitude: Floats, latitude: Floats) -> MapLayout:
    """Degrees as lengths, true in the middle of the map."""
    unit = space.unit if space.unit in METRES else "km"
    turned, along = _turned(longitude), earth_radius(unit) * pi / 180
    scale = np.array([along * cos(radians(float((latitude.min() + latitude.max()) / 2))), along])
    rings, cells = None, None if space.ground is None else space.ground.cells
    if cells is not None:
        with suppress(MissingExtra):  # a map of discs needs no library
            each = zip(cells.outlines(), turned, strict=True)
            rings = tuple([scale * _near(ring, x) for ring in cell] for cell, x in each)
    plain_distances = space.ground is None or distances_on_ground(space)
    return MapLayout("places", scale[0] * turned, scale[1] * latitude, unit, sphere=plain_distances, outlines=rings)


def _near(ring: Floats, longitude: float) -> Floats:
    """A ring on the same side of the antimeridian as its place."""
    return np.asarray(ring - np.array([360 * round(float(ring[:, 0].mean() - longitude) / 360), 0]))


def _turned(longitude: Floats) -> Floats:
    """Longitudes without a jump where that makes the map narrower: a country may lie on both sides of 180°."""
    east = np.where(longitude < 0, longitude + 360, longitude)
    return east if np.ptp(east) < np.ptp(longitude) else longitude


def _even_step(marks: Floats) -> float | None:
    gaps = np.diff(marks)
    step = float(gaps.min()) if gaps.size else 0.0
    whole = gaps / step if step else gaps
    return step if step and np.abs(whole - np.round(whole)).max() <= _SAME_STEP else None


# ----------------------------------------------------------------- one distribution


def share_figure(
    name: str,
    title: str,
    words: str,
    layout: MapLayout,
    labels: Sequence[Any],
    shares: Floats,
    marked: int | None = None,
) -> Figure:
    """A distribution over labels that have a place on the map.

    Parameters
    ----------
    name
        The name of its file.
    title
        What it shows, in a few words.
    words
        The beginning of the caption.
    labels, shares
        In the order of the labels.
    marked
        The index of a label that is pointed out.
    """
    places = _squares if len(shares) > _MOST_PLACES else _discs if layout.outlines is None else _outlined
    draw = {"cells": _heat, "places": places, "row": _columns, "list": _bars}[layout.kind]
    drawing, how = draw(layout, labels, shares, marked)
    top = int(np.argmax(shares))
    most = f"The most likely is {label(labels[top])} with {shown(float(shares[top]))}."
    return Figure(name, drawing.svg(title, f"{words} {most}"), escaped(f"{words} {how} {most}"))


def _frame(x: Floats, y: Floats, around: float, below: float) -> tuple[Drawing, Floats, Floats, float]:
    """A drawing as wide as a map, and where points are on it; one unit of length is ``scale`` pixels."""
    span_x, span_y = float(np.ptp(x)) or 1.0, float(np.ptp(y)) or 1.0
    room = WIDTH - 2 * around
    scale = min(room / span_x, (TALLEST - around - below) / span_y)
    height = max(scale * span_y + around + below, _LOWEST)
    left = (WIDTH - scale * span_x) / 2
    top = around + (height - around - below - scale * span_y) / 2
    return Drawing(WIDTH, height), left + scale * (x - x.min()), top + scale * (y.max() - y), scale


def _discs(layout: MapLayout, labels: Sequence[Any], shares: Floats, marked: int | None) -> tuple[Drawing, str]:
    largest = float(np.clip(0.42 * sqrt(WIDTH * 320 / len(shares)), 7, 26))
    drawing, x, y, scale = _frame(layout.x, layout.y, largest + 6, largest + 6 + LEGEND)
    radii = largest * np.sqrt(np.maximum(shares, 0) / shares.max())
    for k in range(len(shares)):
        drawing.circle(float(x[k]), float(y[k]), 1.1, "fill:var(--soft);fill-opacity:.55")
    for k in np.argsort(-shares, kind="stable").tolist():
        if radii[k] >= 0.3:
            tip = f"{label(labels[k])}: {shown(float(shares[k]))}"
            drawing.circle(float(x[k]), float(y[k]), float(radii[k]), DISC, tip)
    order = [k for k in np.argsort(-shares, kind="stable")[:_NAMED].tolist() if radii[k] >= _WORTH_A_NAME]
    if marked is not None:
        drawing.circle(float(x[marked]), float(y[marked]), max(float(radii[marked]), 3.0) + 2.5, RING)
        order = [marked, *(k for k in order if k != marked)][:_NAMED]
    _name(drawing, x, y, radii, labels, order, marked)
    scale_bar(drawing, scale, layout.unit)
    disc_legend(drawing, largest, float(shares.max()))
    return drawing, "The area of a disc is a share; dots are all places."


def _outlined(layout: MapLayout, labels: Sequence[Any], shares: Floats, marked: int | None) -> tuple[Drawing, str]:
    """Cells by their outlines, the darker the likelier."""
    assert layout.outlines is not None
    corners = np.concatenate([ring for rings in layout.outlines for ring in rings])
    drawing, x, y, scale = _frame(corners[:, 0], corners[:, 1], MARGIN, MARGIN + LEGEND)
    drawn = np.split(np.stack([x, y], axis=1), np.cumsum([len(ring) for of in layout.outlines for ring in of])[:-1])
    ways, top = iter(drawn), float(shares.max())
    cells = [[next(ways) for _ in rings] for rings in layout.outlines]
    for k, rings in enumerate(cells):
        style = f"fill:var(--blue);fill-opacity:{opacity(shares[k] / top)};stroke:var(--rule);stroke-width:.6"
        drawing.area(rings, style, f"{label(labels[k])}: {shown(float(shares[k]))}")
    if marked is not None:
        drawing.area(cells[marked], _FRAME)
    scale_bar(drawing, scale, layout.unit)
    shade_legend(drawing, top)
    return drawing, "The darker a cell, the larger its share."


def _name(
    drawing: Drawing, x: Floats, y: Floats, radii: Floats, labels: Sequence[Any], order: list[int], marked: int | None
) -> None:
    """Names beside a few discs, where they cover least."""
    rest = [k for k in range(len(x)) if k not in set(order)]
    at = order + rest
    anchors = np.stack([x[at], drawing.height - y[at]], axis=1)
    texts = [label(labels[k], 20) for k in order]
    middle = np.array([float(x.mean()), drawing.height - float(y.mean())])
    outwards = anchors[: len(order)] - middle + np.array([1e-3, 0.0])
    frame = (2.0, LEGEND, drawing.width - 2, drawing.height - 2)
    shifts = label_shifts(anchors, np.maximum(radii[at], 1.0).tolist(), texts, outwards, frame, LETTER)
    for k, words, (right, up) in zip(order, texts, shifts, strict=True):
        colour = "orange" if k == marked else "ink"
        _lead(drawing, (float(x[k]), float(y[k])), max(float(radii[k]), 1.0), (right, -up), text_width(words) / 2)
        drawing.text(float(x[k]) + right, float(y[k]) - up, words, anchor="middle", colour=colour, halo=True)


def _lead(
    drawing: Drawing, at: tuple[float, float], radius: float, shift: tuple[float, float], half: float
) -> None:  # fmt: skip
    """A line from a disc to its name, where the name had to go far away."""
    right, down = shift
    # the nearest point of the name's box
    end = right - float(np.clip(right, -half, half)), down - float(np.clip(down, -0.5 * LETTER, 0.5 * LETTER))
    far = hypot(*end)
    if far < radius + _FAR_NAME:
        return
    start = (radius + 1) / far
    ends = [(at[0] + start * end[0], at[1] + start * end[1]), (at[0] + end[0], at[1] + end[1])]
    drawing.line(ends, "stroke:var(--soft);stroke-width:.8")


def disc_legend(drawing: Drawing, largest: float, top: float) -> None:
    """A disc of a round share."""
    share = nice_length(top)
    radius = largest * sqrt(share / top)
    words = in_percent(share)
    y = drawing.height - LEGEND / 2
    right = drawing.width - MARGIN - text_width(words)
    drawing.text(right, y, words, colour="soft")
    drawing.circle(right - radius - 6, drawing.height - max(LEGEND / 2, radius + 2), radius, DISC)


def scale_bar(drawing: Drawing, scale: float, unit: str) -> None:
    """A length that can be laid on the map."""
    length = nice_length(drawing.width / 4 / scale)
    y = drawing.height - LEGEND / 2
    end = MARGIN + scale * length
    ends = [(MARGIN, y - 4), (MARGIN, y + 4), (MARGIN, y), (end, y), (end, y + 4), (end, y - 4)]
    drawing.line(ends, "fill:none;stroke:var(--soft);stroke-width:1.2")
    drawing.text(end + 7, y, f"{near(length)} {unit}".strip(), colour="soft")


def _heat(layout: MapLayout, labels: Sequence[Any], shares: Floats, marked: int | None) -> tuple[Drawing, str]:
    """A cell for each secret, or a square for a block of them."""
    column = np.round((layout.x - layout.x.min()) / layout.steps[0]).astype(np.int64)
    row = np.round((layout.y - layout.y.min()) / layout.steps[1]).astype(np.int64)
    block = ceil((int(max(column.max(), row.max())) + 1) / _MOST_CELLS)
    steps = block * layout.steps[0], block * layout.steps[1]
    names = labels if block == 1 else None
    drawing = _cells(column // block, row // block, steps, layout.unit, shares, names, marked)
    size = f"Each square sums up {block} × {block} cells." if block > 1 else ""
    return drawing, f"The darker a square, the larger its share. {size}".strip()


def _squares(layout: MapLayout, labels: Sequence[Any], shares: Floats, marked: int | None) -> tuple[Drawing, str]:
    """Many places, summed up in squares."""
    side = max(float(np.ptp(layout.x)), float(np.ptp(layout.y))) / (_MOST_CELLS - 1)
    column, row = (np.round((axis - axis.min()) / side).astype(np.int64) for axis in (layout.x, layout.y))
    drawing = _cells(column, row, (side, side), layout.unit, shares, None, marked)
    words = f"Each square sums up the places in {near(side, 2)} × {near(side, 2)} {layout.unit}".strip()
    return drawing, f"{words}; the darker, the larger its share."


def _cells(
    column: NDArray[np.int64], row: NDArray[np.int64], steps: tuple[float, float], unit: str, shares: Floats,
    labels: Sequence[Any] | None, marked: int | None,
) -> Drawing:  # fmt: skip
    """Squares of a grid; several secrets may be in one of them, and then there are no labels."""
    _, first, which = np.unique(np.stack([column, row]), axis=1, return_index=True, return_inverse=True)
    totals = np.bincount(which.ravel(), weights=shares)
    across, up = int(column.max()) + 1, int(row.max()) + 1
    wide = min((WIDTH - 2 * MARGIN) / across, (TALLEST - LEGEND) / up * steps[0] / steps[1])
    high = wide * steps[1] / steps[0]
    left, bottom = (WIDTH - wide * across) / 2, MARGIN + high * up
    drawing = Drawing(WIDTH, bottom + 8 + LEGEND)
    lines = ";stroke:var(--rule);stroke-width:.6" if len(totals) <= 400 else ""
    top = float(totals.max())

    def square(k: int, style: str, tip: str = "") -> None:
        x, y = int(column[first[k]]), int(row[first[k]])
        drawing.box(left + wide * x, bottom - high * (y + 1), wide, high, style, tip)

    for k in range(len(totals)):
        tip = "" if labels is None else f"{label(labels[int(first[k])])}: {shown(float(totals[k]))}"
        square(k, f"fill:var(--blue);fill-opacity:{opacity(totals[k] / top)}{lines}", tip)
    if marked is not None:
        square(int(which.ravel()[marked]), _FRAME)
    scale_bar(drawing, wide / steps[0], unit)
    shade_legend(drawing, top)
    return drawing


def shade_legend(drawing: Drawing, top: float, low: float = 0.0) -> None:
    """Shades from the least to the largest share that is drawn."""
    words = in_percent(top)
    y, right = drawing.height - LEGEND / 2, drawing.width - MARGIN - text_width(words)
    drawing.text(right, y, words, colour="soft")
    for k in range(6):
        style = f"fill:var(--blue);fill-opacity:{opacity(k / 5)};stroke:var(--rule);stroke-width:.6"
        drawing.box(right - 8 - 12 * (6 - k), y - 6, 12, 12, style)
    drawing.text(right - 14 - 72, y, in_percent(low) if low else "0", anchor="end", colour="soft")


def _columns(layout: MapLayout, labels: Sequence[Any], shares: Floats, marked: int | None) -> tuple[Drawing, str]:
    """A column for each secret of a line, at its place."""
    left, top, bottom, height = 46.0, 12.0, 34.0, 230.0
    drawing = Drawing(WIDTH, height)
    order = np.argsort(layout.x, kind="stable")
    gaps = np.diff(layout.x[order])
    least = float(gaps[gaps > 0].min()) if (gaps > 0).any() else 1.0
    scale = (WIDTH - left - MARGIN) / (float(np.ptp(layout.x)) + least)
    x = left + scale * (layout.x - layout.x.min() + least / 2)
    most, base = float(shares.max()), height - bottom
    tall = (base - top) / most
    for tick in nice_ticks(0, most):
        drawing.line([(left, base - tall * tick), (WIDTH - MARGIN, base - tall * tick)], RULE)
        drawing.text(left - 6, base - tall * tick, in_percent(tick), anchor="end", colour="soft")
    if len(shares) > _MOST_COLUMNS:
        way = [(float(x[k]), base - tall * float(shares[k])) for k in order]
        drawing.line([(way[0][0], base), *way, (way[-1][0], base)], "fill:var(--blue);fill-opacity:.75;stroke:none")
        if marked is not None:
            drawing.line([(float(x[marked]), top), (float(x[marked]), base)], "stroke:var(--orange);stroke-width:1.5")
    else:
        wide = min(0.72 * scale * least, 40.0)
        for k in range(len(shares)):
            colour = "orange" if k == marked else "blue"
            high = tall * float(shares[k])
            tip = f"{label(labels[k])}: {shown(float(shares[k]))}"
            drawing.box(float(x[k]) - wide / 2, base - high, wide, high, f"fill:var(--{colour})", tip)
    _names_below(drawing, x, [label(labels[k], 12) for k in range(len(labels))], order, base + 14)
    return drawing, "The height of a column is a share."


def _names_below(drawing: Drawing, x: Floats, names: list[str], order: NDArray[np.int64], y: float) -> None:
    """As many names under an axis as have room, the first of them always."""
    widest = max(map(text_width, names)) + 10
    every = max(1, ceil(widest * len(names) / (drawing.width - 60)))
    for k in order[::every].tolist():
        half = text_width(names[k]) / 2
        drawing.text(float(np.clip(x[k], half + 2, drawing.width - half - 2)), y, names[k], anchor="middle",
                     colour="soft")  # fmt: skip


def _bars(_: MapLayout, labels: Sequence[Any], shares: Floats, marked: int | None) -> tuple[Drawing, str]:
    """A bar for each label, the likeliest first where they are many."""
    order = list(range(len(shares)))
    rest = 0
    if len(order) > _MOST_BARS:
        order = np.argsort(-shares, kind="stable")[: _MOST_BARS - 1].tolist()
        rest = len(shares) - len(order)
    rows = [(label(labels[k], 22), float(shares[k]), k == marked) for k in order]
    if rest:
        rows.append((f"{rest} others", float(np.delete(shares, order).sum()), False))
    left = max(text_width(words) for words, _, _ in rows) + 14
    right = max(text_width(shown(share)) for _, share, _ in rows) + 8
    step, most = 22.0, max(share for _, share, _ in rows) or 1.0
    drawing = Drawing(WIDTH, step * len(rows) + 12)
    for i, (words, share, pointed) in enumerate(rows):
        y = 6 + step * (i + 0.5)
        long = (WIDTH - left - right - MARGIN) * share / most
        colour = "orange" if pointed else "blue"
        drawing.text(left - 8, y, words, anchor="end", colour="orange" if pointed else "ink")
        drawing.box(left, y - 7, long, 14, f"fill:var(--{colour})")
        drawing.text(left + long + 6, y, shown(share), colour="soft")
    return drawing, f"The {len(order)} likeliest of {len(shares)}." if rest else ""


# ----------------------------------------------------------------- the whole table


def matrix_figure(secrets: Sequence[Any], outputs: Sequence[Any], matrix: Floats) -> Figure:
    """A small mechanism as a table of shades: one row a secret, one column an output."""
    names = [[label(x, 14) for x in part] for part in (secrets, outputs)]
    left = max(map(text_width, names[0])) + 12
    side = min((WIDTH - left - MARGIN) / len(outputs), 34.0)
    top = 26.0
    drawing = Drawing(WIDTH, top + side * len(secrets) + 8 + LEGEND)
    most = float(matrix.max())
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            style = f"fill:var(--blue);fill-opacity:{opacity(value / most)};stroke:var(--rule);stroke-width:.6"
            tip = f"{label(secrets[i])} → {label(outputs[j])}: {shown(float(value))}"
            drawing.box(left + side * j, top + side * i, side, side, style, tip)
    every = max(1, ceil((LETTER + 2) / side))
    for i in range(0, len(secrets), every):
        drawing.text(left - 6, top + side * (i + 0.5), names[0][i], anchor="end", colour="soft")
    across = left + side * (np.arange(len(outputs)) + 0.5)
    room = max(1, ceil((max(map(text_width, names[1])) + 8) / side))
    for j in range(0, len(outputs), room):
        drawing.text(float(across[j]), top - 11, names[1][j], anchor="middle", colour="soft")
    shade_legend(drawing, most)
    words = "The whole mechanism: one row a secret, one column an output. The darker, the likelier."
    return Figure("matrix", drawing.svg("The mechanism as a table", words), escaped(words))


DISC = "fill:var(--blue);fill-opacity:.55;stroke:var(--blue);stroke-width:.8"
RING = "fill:none;stroke:var(--orange);stroke-width:2.2"
_FRAME = "fill:none;stroke:var(--orange);stroke-width:2.4"
RULE = "stroke:var(--rule);stroke-width:.8"


def opacity(share: float) -> str:
    """How dark a mark is that shows a share of the largest value."""
    return f"{min(max(float(share), 0.0), 1.0):.3f}".rstrip("0").rstrip(".") or "0"


_MOST_SCALED = 1500  # Taking apart the distances of so many points takes about a second.
_SAME = 1e-6  # Points closer than this share of the picture are moved apart.


def drawn_places(space: FiniteSpace) -> NDArray[np.float64]:
    """A point of the plane for each secret: its coordinates where it has two, else a drawing of the space.

    Examples
    --------
    >>> from sfumato.spaces import cycle, hamming, line
    >>> [drawn_places(space).shape for space in (line(3), cycle(5), hamming(3))]
    [(3, 2), (5, 2), (8, 2)]
    """
    given = space.coordinates
    if given is not None and np.isfinite(given).all() and given.shape[1] <= 2:
        flat = np.zeros((len(space), 2))
        flat[:, : given.shape[1]] = given
        return flat
    words = _words(space)
    if words is not None:
        return _projected(words)
    if given is not None and np.isfinite(given).all():
        return _projected(given)
    if len(space) > _MOST_SCALED:
        return _on_a_circle(len(space))
    return _apart(_scaled(space.distances.floats))


def _words(space: FiniteSpace) -> NDArray[np.float64] | None:
    """The letters of words of one length, as numbers."""
    if not space.name.startswith("hamming") or not all(isinstance(label, str) for label in space.labels):
        return None
    if len({len(label) for label in space.labels}) != 1:
        return None
    return np.array([[ord(letter) for letter in label] for label in space.labels], dtype=np.float64)


def _projected(where: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each axis gets a direction of its own; later ones are shorter, so that few points meet."""
    axes = where.shape[1]
    turns = np.pi * (np.arange(axes) / max(axes, 2) + 0.08)
    lengths = 0.86 ** np.arange(axes)
    return _apart((where - where.mean(axis=0)) @ (np.stack([np.cos(turns), np.sin(turns)], axis=1) * lengths[:, None]))


def _scaled(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    finite = np.isfinite(distances)
    table = np.where(finite, distances, 2 * distances[finite].max(initial=1.0)) ** 2
    table -= table.mean(axis=0)
    table -= table.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(-table / 2)
    largest = np.maximum(values[-2:], 0) if len(values) > 1 else np.zeros(2)
    flat = np.zeros((len(distances), 2))
    flat[:, : len(values[-2:])] = (vectors[:, -2:] * np.sqrt(largest))[:, ::-1]
    for axis in range(2):  # the sign of a direction is nobody's choice: make it the first large entry's
        k = int(np.argmax(np.abs(flat[:, axis]) > 0.5 * np.abs(flat[:, axis]).max(initial=0)))
        if flat[k, axis] < 0:
            flat[:, axis] *= -1
    return flat


def _apart(where: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same drawing, on a circle where points lie on each other."""
    size = float(np.ptp(where, axis=0).max(initial=0.0))
    gaps = np.linalg.norm(where[:, None] - where[None], axis=2)
    np.fill_diagonal(gaps, np.inf)
    return where if len(where) < 2 or gaps.min() > _SAME * size else _on_a_circle(len(where))


def _on_a_circle(n: int) -> NDArray[np.float64]:
    turns = 2 * np.pi * np.arange(n) / n
    return np.stack([np.sin(turns), np.cos(turns)], axis=1)
