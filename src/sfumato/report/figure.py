"""The house style of figures, where their labels go, and files that appear whole or not at all.

Colours have roles, so that a notion looks the same in every figure. The series are those of Okabe and Ito and
the muted ones those of Paul Tol; both stay distinct for colour-blind readers.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from html import escape
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from textwrap import wrap

import numpy as np
import plotly.graph_objects as go
import plotly.io
from numpy.typing import NDArray

from sfumato.arguments import flag
from sfumato.errors import MissingExtra, NotSupported, expect, shown
from sfumato.files import DRAWN, GENERATOR, write_whole

WIDTH, HEIGHT = 700, 620  # pixels: a column of text in a browser, a page at 100 dots an inch
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
FONT_SIZE = 14
_BORDER = 24  # So many pixels are free to the left and right of everything.

ROLES = {
    "ink": "#222222",
    "faint": "#8a8a8a",
    "paper": "#ffffff",
    "region": "#9db7c9",
    "frame": "#555555",
    "vertex": "#222222",
    "prior": "#222222",
}
"""What each colour stands for."""

SERIES = ("#e69f00", "#0072b2", "#009e73", "#cc79a7", "#d55e00", "#56b4e9")
"""Colours of things that are compared, such as mechanisms, in this order."""

MUTED = ("#44aa99", "#cc6677", "#332288", "#999933", "#aa4499", "#88ccee", "#882255", "#117733", "#ddcc77")
"""Quieter colours for many things of one kind, such as constraints."""


AXIS = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
"""An axis as a line with marks outside and its title near it."""


def tint(colour: str, strength: float) -> str:
    """The colour mixed with white."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - strength * (255 - part)):02x}" for part in parts)


def ink(colour: str) -> str:
    """The colour dark enough to be read on white."""
    return "#" + "".join(f"{round(0.72 * int(colour[i : i + 2], 16)):02x}" for i in (1, 3, 5))


def canvas(width: int = WIDTH, height: int = HEIGHT) -> go.Figure:
    """An empty figure in the style of the house: white, without a grid, with room around it."""
    layout = go.Layout(
        width=width,
        height=height,
        margin={"l": _BORDER, "r": _BORDER, "t": 16, "b": 16},
        paper_bgcolor=ROLES["paper"],
        plot_bgcolor=ROLES["paper"],
        font={"family": FONT, "size": FONT_SIZE, "color": ROLES["ink"]},
        legend={
            "x": 1, "y": 0.97, "xanchor": "right", "yanchor": "top", "font": {"size": 13},
            "bgcolor": "rgba(255,255,255,0.85)", "tracegroupgap": 0, "itemwidth": 40,
        },
        hoverlabel={"bgcolor": "white", "bordercolor": ROLES["faint"], "align": "left",
                    "font": {"family": FONT, "size": 13, "color": ROLES["ink"]}},
        colorway=list(SERIES),
        template="none",  # the style is all above, whatever template a session has made its default
    )  # fmt: skip
    return go.Figure(layout=layout)


def caption(figure: go.Figure, text: str) -> go.Figure:
    """Put a caption under a figure, from its left border on, broken into lines that fit its width."""
    across = int(
        (figure.layout.width - 2 * _BORDER) / (0.48 * FONT_SIZE)
    )  # letters are about half as wide as they are high
    lines = [escape(line, quote=False) for line in wrap(text, across)]
    margin = figure.layout.margin.b
    figure.add_annotation(
        text="<br>".join(lines), x=0, y=0, xref="paper", yref="paper", xanchor="left", yanchor="top",
        align="left", showarrow=False, xshift=_BORDER - figure.layout.margin.l, yshift=-margin,
        font={"size": FONT_SIZE},
    )  # fmt: skip
    below = round(1.35 * FONT_SIZE * len(lines)) + 12
    return figure.update_layout(height=figure.layout.height + below, margin_b=margin + below)


def segments(lines: Iterable[Iterable[Sequence[float]]]) -> dict[str, list[float | None]]:
    """Several lines as one trace: the coordinates of their points, axis by axis, with a gap after each line.

    Examples
    --------
    >>> segments([[(0, 1), (2, 3)], [(4, 5), (6, 7)]])
    {'x': [0, 2, None, 4, 6, None], 'y': [1, 3, None, 5, 7, None]}
    """
    paths = [list(zip(*points, strict=True)) for points in lines]
    axes = "xyz"[: len(paths[0])] if paths else "xy"
    return {axis: [place for path in paths for place in (*path[k], None)] for k, axis in enumerate(axes)}


_TURNS = np.radians([0, 25, -25, 50, -50, 75, -75, 100, -100, 130, -130, 160, -160, 180])
_GAPS = (4.0, 10.0, 18.0)  # Labels are tried at these distances from their mark, in pixels.


def label_shifts(
    anchors: NDArray[np.float64],
    radii: Sequence[float],
    texts: Sequence[str],
    directions: NDArray[np.float64],
    frame: Sequence[float] = (-np.inf, -np.inf, np.inf, np.inf),
    size: float = FONT_SIZE,
) -> list[tuple[float, float]]:
    """Where to put labels, as pixels from their anchors, so that they cover no mark and no other label.

    Each label tries places around its mark, its own direction first, and takes the one that covers least.

    Parameters
    ----------
    anchors
        Centres of the marks in pixels, y upwards; the first ``len(texts)`` of them have labels.
    radii
        Radii of all marks in pixels.
    texts
        The labels, tags of markup allowed.
    directions
        Where each label would like to be, as vectors.
    frame
        Left, bottom, right and top of where labels may be.
    size
        The height of a letter in pixels.

    Examples
    --------
    >>> (x, y), = label_shifts(np.zeros((1, 2)), [5.0], ["A"], np.array([[0.0, 1.0]]))
    >>> abs(x) < 1e-9, y > 5
    (True, True)
    """
    marks = np.asarray(radii, dtype=np.float64)
    low, high = np.reshape(frame, (2, 2))
    placed: list[NDArray[np.float64]] = []
    shifts = []
    for anchor, text, direction in zip(anchors, texts, directions, strict=False):
        half = _half_extent(text, size)
        apart = np.linalg.norm(anchors - anchor, axis=1)
        radius = (marks + apart)[apart < np.maximum(marks, 1e-9)].max(initial=0)  # of all marks that lie over it
        turns = np.arctan2(direction[1], direction[0]) + _TURNS
        rays = np.stack([np.cos(turns), np.sin(turns)], axis=1)
        best, cost = np.zeros(2), np.inf
        for gap in _GAPS:
            reach = radius + gap + np.abs(rays) @ half - 0.3 * half.min()
            centres = np.clip(anchor + reach[:, None] * rays, low + half, high - half)
            for rank, centre in enumerate(centres):
                box = np.array([*(centre - half), *(centre + half)])
                covered = sum(_overlap(box, other) for other in placed) + _marks_under(box, anchors, marks)
                trial = 50 * covered + rank + gap  # a covered mark weighs more than any detour
                if trial < cost:
                    best, cost = centre, trial
        placed.append(np.array([*(best - half), *(best + half)]))
        shifts.append((float(best[0] - anchor[0]), float(best[1] - anchor[1])))
    return shifts


def _half_extent(text: str, size: float) -> NDArray[np.float64]:
    lines = [re.sub(r"<[^>]*>", "", line) for line in text.split("<br>")]
    return np.array([0.3 * size * max(map(len, lines)) + 2, 0.6 * size * len(lines) + 1])


def _overlap(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    common = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    return float(np.prod(np.maximum(common, 0)))


def _marks_under(box: NDArray[np.float64], centres: NDArray[np.float64], radii: NDArray[np.float64]) -> float:
    """How deep marks reach into a box, in pixels, over all of them."""
    nearest = np.clip(centres, box[:2], box[2:])
    return float(np.maximum(radii + 1 - np.linalg.norm(centres - nearest, axis=1), 0).sum())


def sphere(around: int = 24, up: int = 12) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points and triangles of a unit sphere: rings of points between two poles."""
    height, turn = np.meshgrid(np.pi * np.arange(up + 1) / up, 2 * np.pi * np.arange(around) / around, indexing="ij")
    points = np.stack([np.sin(height) * np.cos(turn), np.sin(height) * np.sin(turn), np.cos(height)], axis=-1)
    ring, place = np.meshgrid(np.arange(up), np.arange(around), indexing="ij")
    here, beside = ring * around + place, ring * around + (place + 1) % around
    upper = np.stack([here, beside, here + around], axis=-1)
    lower = np.stack([beside, beside + around, here + around], axis=-1)
    return points.reshape(-1, 3), np.concatenate([upper.reshape(-1, 3), lower.reshape(-1, 3)])


def drawable(path: Path, what: str = "a figure", tables: Sequence[str] = ()) -> Path:
    """A path whose ending a figure can have here: a question before the work, not after it.

    Errors say ``what`` is to be drawn; ``tables`` are endings of what can be written beside figures.

    Raises
    ------
    NotSupported
        For another ending.
    MissingExtra
        If a picture is asked for and the extra that draws it is not installed.

    Examples
    --------
    >>> drawable(Path("shares.html")).name
    'shares.html'
    """
    ending = path.suffix.lower()
    if ending not in (*tables, *FORMATS):
        raise NotSupported(f"{what} in the file {shown(path.name)}", [*tables, *FORMATS])
    if ending not in (*tables, ".html", ".json") and find_spec("kaleido") is None:
        raise MissingExtra("figures", "kaleido")
    return path


def write_figure(figure: go.Figure, path: str | PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a figure to one file, in the format its name ends in, whole or not at all.

    A figure or page of ours that is already there is replaced with ``overwrite``, any other file never.

    ``.html`` is a page that needs nothing else, not even a network; ``.json`` is what plotly reads back.
    ``.svg``, ``.png`` and ``.pdf`` need the extra ``figures`` and a Chrome or Chromium browser, which draws them.

    Raises
    ------
    NotSupported
        For another ending, or where no browser is found.
    MissingExtra
        If the extra is needed and not installed.
    InvalidInput
        If there is no such folder.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_figure(canvas(), f"{folder}/empty.json").name
    'empty.json'
    """
    figure = expect(figure, go.Figure, "what is drawn", "simplex(privacy) makes one")
    target = drawable(Path(path))
    write_whole(target, lambda: FORMATS[target.suffix.lower()](figure), DRAWN, overwrite=flag(overwrite, "overwrite"))
    return target


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="{generator}">
<title>{title}</title>
<style>body {{ margin: 0; background: white; }} body > div {{ width: fit-content; margin: 0 auto; }}</style>
</head>
<body>
{body}
</body>
</html>
"""


def _json(figure: go.Figure) -> bytes:
    marked = go.Figure(figure)
    marked.update_layout(meta={"generator": GENERATOR})
    return str(marked.to_json()).encode()


def _html(figure: go.Figure) -> bytes:
    body = plotly.io.to_html(
        figure,
        config={"displaylogo": False, "toImageButtonOptions": {"format": "svg"}},
        include_plotlyjs=True,
        full_html=False,
        div_id="figure",  # a name of its own choice would make every file different
    )
    title = re.sub(r"<[^>]*>", "", figure.layout.title.text or "") or "Figure"
    return _PAGE.format(title=title, body=body, generator=GENERATOR).encode()


def _image(form: str, figure: go.Figure) -> bytes:
    still = go.Figure(figure)  # in a picture nobody can switch on what the legend only offers
    still.update_traces(visible=False, selector={"visible": "legendonly"})
    try:
        return signed(bytes(still.to_image(format=form, scale=2 if form == "png" else 1)), form)
    except RuntimeError as error:
        raise NotSupported(
            f"a .{form} without a browser that can draw it ({str(error).strip().splitlines()[0]})",
            ["Chrome or Chromium on the path or named by BROWSER_PATH", ".html and .json without"],
        ) from error


def signed(picture: bytes, form: str) -> bytes:
    """A picture that says what has made it, in a comment where its format ends.

    Examples
    --------
    >>> signed(b"<svg/>", "svg")
    b'<svg/><!-- made by sfumato -->'
    """
    if form != "png":
        return picture + (f"<!-- made by {GENERATOR} -->" if form == "svg" else f"% made by {GENERATOR}\n").encode()
    text = f"tEXtSoftware\0{GENERATOR}".encode()
    chunk = (len(text) - 4).to_bytes(4, "big") + text + zlib.crc32(text).to_bytes(4, "big")
    return picture[:-_LAST_CHUNK] + chunk + picture[-_LAST_CHUNK:]


_LAST_CHUNK = 12  # bytes of the chunk IEND that ends a PNG


FORMATS: dict[str, Callable[[go.Figure], bytes]] = {
    ".html": _html,
    ".json": _json,
    **{f".{form}": partial(_image, form) for form in ("svg", "png", "pdf")},
}
"""Endings of files and how their bytes are made."""
