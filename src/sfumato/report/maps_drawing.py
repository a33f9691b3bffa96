"""Drawings as SVG: marks, texts and axes, in colours that a page can make light or dark.

Colours are named (``var(--ink)``), and values are shown by opacity, which works on any paper. In a file of its own a
drawing has the colours of light paper.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil, floor, log10
from struct import pack
from zlib import compress, crc32

import numpy as np
from numpy.typing import NDArray

from sfumato.numbers import Floats
from sfumato.report.figure import FONT
from sfumato.report.html import COLOURS, escaped

WIDTH = 440
"""Units across: half a page of a browser, a whole telephone."""

LETTER = 12.5
"""The height of a letter, in the same units."""

_FINEST = 0.5  # Corners of an outline are so many units apart.
_WIDE = frozenset("mwMWQOGNDHU%—")  # These letters need more room than others.


@dataclass
class Drawing:
    """Marks one after the other; later ones lie over earlier ones."""

    width: float
    height: float
    marks: list[str] = field(default_factory=list)

    def svg(self, title: str, described: str = "") -> str:
        """The drawing, with what it shows in words for who cannot see it."""
        about = f"<title>{escaped(title)}</title>" + (f"<desc>{escaped(described)}</desc>" if described else "")
        return (
            f'<svg viewBox="0 0 {_n(self.width)} {_n(self.height)}" role="img" '
            f'font-family="{FONT}" font-size="{LETTER}">{about}<g>{"".join(self.marks)}</g></svg>'
        )

    def circle(self, x: float, y: float, r: float, style: str, tip: str = "") -> None:
        """A disc; ``tip`` shows when somebody points at it."""
        self.marks.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(r)}" style="{style}"{_tip("circle", tip)}')

    def box(self, x: float, y: float, width: float, height: float, style: str, tip: str = "") -> None:
        """A rectangle."""
        sides = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
        self.marks.append(f'<rect {sides} style="{style}"{_tip("rect", tip)}')

    def area(self, rings: Iterable[Floats], style: str, tip: str = "") -> None:
        """An area by its rings, rows of x and y, holes among them; corners that no eye tells apart are one."""
        ways = (" ".join(f"{_n(x)},{_n(y)}" for x, y in _coarser(ring).tolist()) for ring in rings)
        way = " ".join(f"M{corners}Z" for corners in ways)
        self.marks.append(f'<path d="{way}" fill-rule="evenodd" style="{style}"{_tip("path", tip)}')

    def shades(self, name: str, x: float, y: float, width: float, height: float, values: Floats, colour: str) -> None:
        """A raster of opacities from 0 to 1 in one colour, the first row on top; ``name`` is its own on a page."""
        picture = b64encode(_grey_png(np.rint(255 * np.clip(values, 0, 1)).astype(np.uint8))).decode()
        sides = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
        self.marks.append(
            f'<mask id="shades-{name}" maskUnits="userSpaceOnUse" {sides}><image {sides} preserveAspectRatio="none" '
            f'style="image-rendering:pixelated" href="data:image/png;base64,{picture}"/></mask>'
            f'<rect {sides} style="fill:var(--{colour})" mask="url(#shades-{name})"/>'
        )

    def line(self, points: Iterable[tuple[float, float]], style: str) -> None:
        """A polygon that is open, or filled by its style."""
        way = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self.marks.append(f'<polyline points="{way}" style="{style}"/>')

    def text(self, x: float, y: float, words: str, *, anchor: str = "start", colour: str = "ink", halo: bool = False,
             bold: bool = False) -> None:  # fmt: skip
        """Words whose middle height is y; a ``halo`` keeps them readable over marks."""
        style = f"fill:var(--{colour})"
        if halo:
            style += ";paint-order:stroke;stroke:var(--paper);stroke-width:3;stroke-linejoin:round"
        weight = ' font-weight="600"' if bold else ""
        self.marks.append(
            f'<text x="{_n(x)}" y="{_n(y + 0.35 * LETTER)}" text-anchor="{anchor}"{weight} style="{style}">'
            f"{escaped(words)}</text>"
        )


def _coarser(ring: Floats) -> Floats:
    """Corners at least half a pixel apart along the way; three of them at least."""
    along = np.cumsum(np.append(0.0, np.hypot(*np.diff(ring, axis=0).T)))
    kept = np.unique(np.floor(along / _FINEST), return_index=True)[1]
    return ring[kept] if len(kept) >= 3 else ring[:3]


def standalone(svg: str) -> str:
    """The drawing as a file of its own, in the colours of light paper."""
    coloured = re.sub(r"var\(--(\w+)\)", lambda variable: COLOURS[variable[1]][0], svg)
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', coloured)[0]
    paper = f'<rect width="{width}" height="{height}" style="fill:{COLOURS["paper"][0]}"/>'
    named = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
    return coloured.replace("<svg ", named, 1).replace("<g>", f"{paper}<g>", 1) + "\n"


def text_width(words: str) -> float:
    """About how wide words are."""
    return sum((0.82 if c in _WIDE else 0.3 if c in "ijlI.,;:!|'()[] " else 0.56) for c in words) * LETTER


def nice_length(most: float) -> float:
    """The largest of 1, 2, 5, 10, … that is not longer.

    Examples
    --------
    >>> nice_length(37.0), nice_length(0.6)
    (20.0, 0.5)
    """
    power = 10.0 ** floor(log10(most))
    return next(float(f"{step * power:.12g}") for step in (5, 2, 1) if step * power <= most * (1 + 1e-12))


def nice_ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers between two, about as many as asked for.

    Examples
    --------
    >>> nice_ticks(0, 0.37)
    [0.0, 0.1, 0.2, 0.3]
    """
    if not high > low:
        return [low]
    power = 10.0 ** floor(log10((high - low) / about))
    step = min((m * power for m in (1, 2, 5, 10)), key=lambda s: abs((high - low) / s - about))
    return [float(f"{k * step:.12g}") for k in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def _grey_png(pixels: NDArray[np.uint8]) -> bytes:
    """A picture in shades of grey, as the PNG standard has it: signature, header, compressed rows, end."""
    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels))
    chunks = ((b"IHDR", pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)), (b"IDAT", compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data)) for kind, data in chunks
    )


def _tip(kind: str, tip: str) -> str:
    return f"><title>{escaped(tip)}</title></{kind}>" if tip else "/>"


def _n(value: float) -> str:
    """A number with two digits after the point: a hundredth of a pixel."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value else "0"
