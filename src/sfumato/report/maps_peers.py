"""Mechanisms beside each other, drawn for a page: what each loses, the bound, and what who is told nothing loses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from sfumato.report.html import Figure, escaped, near
from sfumato.report.maps_drawing import WIDTH, Drawing, nice_ticks, text_width

_STEP = 30.0  # Two mechanisms are so far apart.
_TOP, _BOTTOM = 44.0, 46.0
_FAR = 1.5  # The loss without disclosure is drawn up to so many times the largest loss that is drawn.
_USELESS = 0.95  # Who loses this share of the loss without disclosure would only stretch the scale.


@dataclass(frozen=True)
class Peer:
    """A mechanism beside others with the same promise; ``own`` is the one that a report is about.

    ``loss`` takes outputs as actions (None where they are none), ``remapped`` the best action for each output,
    ``guessed`` is the chance to guess the secret. Without a proof, ``epsilon`` is None.
    """

    name: str
    loss: float | None
    remapped: float
    guessed: float
    epsilon: float | None = None
    own: bool = False


def peers_figure(rows: Sequence[Peer], bound: float | None, blind: float | None, unit: str, words: str) -> Figure:
    """Dots on one scale, the best mechanism on top."""
    limit = float("inf") if blind is None else _USELESS * blind
    useful = [row for row in rows if row.own or row.remapped < limit]
    values = [value for row in useful for value in (row.remapped, row.loss) if value is not None]
    dashed = blind if blind is not None and blind <= _FAR * max(values) else None
    most = max([*values, dashed or 0.0]) or 1.0
    least = min(0.0, *values)
    left = max(text_width(row.name) for row in rows) + 16
    drawing = Drawing(WIDTH, _TOP + _STEP * len(rows) + _BOTTOM)
    base = drawing.height - _BOTTOM

    def at(value: float) -> float:
        """Across; what is beyond the scale has no place."""
        return left + (WIDTH - left - 22) * (value - least) / ((most - least) or 1.0) if value <= most else inf

    for tick in nice_ticks(least, most):
        drawing.line([(at(tick), _TOP - 6), (at(tick), base)], "stroke:var(--rule);stroke-width:.8")
        drawing.text(at(tick), base + 13, near(tick), anchor="middle", colour="soft")
    drawing.text((left + WIDTH) / 2, base + 33, f"expected loss{f' in {unit}' if unit else ''}", anchor="middle",
                 colour="soft")  # fmt: skip
    if dashed is not None:
        _dashed(drawing, at(dashed), base, "nothing told", "soft")
    if bound is not None:
        beside = dashed is not None and at(dashed) - at(bound) < text_width("nothing told")
        _dashed(drawing, at(bound), base, "bound", "orange", aside=beside)
    for i, row in enumerate(rows):
        _row(drawing, row, _TOP + _STEP * (i + 0.5), left, at)
    _legend(drawing)
    sentences = [words, "A filled dot takes the best action for each output, an open one takes outputs as they are."]
    if bound is not None:
        sentences.append("No mechanism with this promise is left of the dashed bound.")
    if blind is not None and dashed is None:
        sentences.append(f"Somebody who is told nothing loses {near(blind)} {unit}".rstrip() + ", far to the right.")
    caption = " ".join(sentences)
    return Figure(
        "comparison", drawing.svg("Losses of mechanisms with the same promise", words), escaped(caption), True
    )


def _row(drawing: Drawing, row: Peer, y: float, left: float, at: Callable[[float], float]) -> None:
    colour = "orange" if row.own else "blue"
    drawing.text(left - 12, y, row.name, anchor="end", colour="orange" if row.own else "ink", bold=row.own)
    if at(row.remapped) == inf:
        drawing.text(WIDTH - 10, y, f"{near(row.remapped)} →", anchor="end", colour="soft", halo=True)
        return
    tip = f"{row.name}: {near(row.remapped)} after the best remap"
    if row.loss is not None and at(row.loss) < inf:
        tip += f", {near(row.loss)} as it is"
        drawing.line([(at(row.remapped), y), (at(row.loss), y)], "stroke:var(--soft);stroke-width:1.5")
        style = f"fill:var(--paper);stroke:var(--{colour});stroke-width:2"
        drawing.circle(at(row.loss), y, 5.2, style, tip)
    drawing.circle(at(row.remapped), y, 5.2, f"fill:var(--{colour})", tip)


def _dashed(drawing: Drawing, x: float, base: float, name: str, colour: str, aside: bool = False) -> None:
    """A dashed line with its name above, or ``aside`` of another name."""
    style = f"stroke:var(--{colour});stroke-width:1.2;stroke-dasharray:4 3"
    drawing.line([(x, _TOP - 10), (x, base)], style)
    half = text_width(name) / 2
    if aside:
        drawing.text(x + 2, _TOP - 18, name, anchor="end", colour=colour)
        return
    drawing.text(min(max(x, half + 2), WIDTH - half - 2), _TOP - 18, name, anchor="middle", colour=colour)


def _legend(drawing: Drawing) -> None:
    y = 10.0
    drawing.circle(10, y, 5.2, "fill:var(--blue)")
    drawing.text(20, y, "best remap", colour="soft")
    second = 20 + text_width("best remap") + 22
    drawing.circle(second, y, 5.2, "fill:var(--paper);stroke:var(--blue);stroke-width:2")
    drawing.text(second + 10, y, "outputs as they are", colour="soft")
