"""The privacy-utility curve, drawn: the least loss at each ε, and where it must lie in between."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from sfumato.design import Curve, Design
from sfumato.errors import InvalidInput, expect
from sfumato.measures import prior_loss
from sfumato.numbers import text_above, text_below
from sfumato.report.box_facts import blind_loss
from sfumato.report.figure import AXIS, ROLES, SERIES, canvas, caption, segments, tint

_MOST_TICKS = 12
_LOGARITHMIC = 20.0  # From this ratio of the largest to the smallest ε on the axis is logarithmic.


def curve_figure(curve: Curve) -> go.Figure:
    """Loss against ε: a dot for each design, an interval down to its bound, and the region between designs.

    The least loss L does not grow with ε. So between two designs at ε₁ < ε₂ it lies in the shaded box,
    bound(ε₂) ≤ L(ε) ≤ loss(ε₁), whatever the curve does there. The dashed line is the loss when nothing is disclosed.

    Examples
    --------
    >>> import sfumato as sf
    >>> losses = sf.curve(sf.Prior.uniform(sf.line(4)), sf.losses.absolute(sf.line(4)), sf.line(4), ["0.5", 1, 2])
    >>> [trace.name for trace in curve_figure(losses).data]
    ['where the optimum must lie', 'designs']
    """
    curve = expect(curve, Curve, "what is drawn", "curve(prior, loss, space, epsilons) makes one")
    if not curve.designs:
        raise InvalidInput("a curve without points cannot be drawn")
    points = sorted(zip(map(float, curve.epsilons), curve.designs, strict=True), key=lambda point: point[0])
    space = points[0][1].mechanism.privacy.space
    figure = canvas(height=460)
    _draw_region(figure, points)
    _draw_designs(figure, points)
    about = _AT_STAKE[points[0][1].family](points[0][1])
    if about.blind is not None:
        figure.add_hline(y=about.blind, line={"color": ROLES["frame"], "width": 1, "dash": "dash"}, layer="below")
        figure.add_annotation(text="nothing disclosed", x=1, xref="x domain", xanchor="right", y=about.blind,
                              yanchor="bottom", showarrow=False,
                              font={"size": 12, "color": ROLES["frame"]})  # fmt: skip
    _draw_axes(figure, points, about, space.unit)
    worst = max(design.gap for _, design in points)
    less = f" by more than {text_above(100 * worst)} %" if worst else ""
    per = f" per {space.unit}" if space.unit else ""
    text = (
        f"The least {about.words} of any mechanism on {space.name} that promises ε{per}. A dot is that of a proved "
        f"mechanism, and no other has less{less}. In between, the least lies in the shaded boxes, because it does not "
        "grow with ε."
    )
    return caption(figure, text)


class _AtStake(NamedTuple):
    """What is small on a curve: its title, how the caption calls it, and what it is where nothing is disclosed."""

    title: str
    words: str
    blind: float | None


def _variance(_: Design) -> _AtStake:
    """A variance of estimates, of which who is told nothing has none."""
    return _AtStake("variance, times N", "total variance of unbiased estimates, times the number of answers,", None)


def _expected(design: Design, told_nothing: Callable[[Any], float]) -> _AtStake:
    """An expected loss, of which who is told nothing has most."""
    claim: Any = design.mechanism.claim
    unit = design.mechanism.privacy.space.unit
    unit = f" in {unit}" if unit and claim.loss.name == "distance" else ""
    return _AtStake(f"expected loss{unit}", f"expected loss ({claim.loss.name or 'given'})", told_nothing(claim))


_AT_STAKE: dict[str, Callable[[Design], _AtStake]] = {
    "places": lambda design: _expected(design, lambda claim: float(prior_loss(claim.prior.to_floats(), claim.loss))),
    "points": lambda design: _expected(
        design, lambda claim: blind_loss(claim.loss.box, np.asarray(claim.prior.float_weights))
    ),
    "shares": _variance,
}
"""What designs of a curve have least, by the family of the question."""


def _draw_region(figure: go.Figure, points: list[tuple[float, Design]]) -> None:
    """A box between each two neighbours."""
    boxes = []
    for (left, first), (right, second) in pairwise(points):
        low, high = float(second.bound), float(first.loss)
        boxes.append([(left, low), (right, low), (right, high), (left, high), (left, low)])
    figure.add_scatter(
        **segments(boxes), mode="lines", fill="toself", fillcolor=tint(ROLES["region"], 0.35), line={"width": 0},
        name="where the optimum must lie", hoverinfo="skip", showlegend=len(points) > 1,
    )  # fmt: skip


def _draw_designs(figure: go.Figure, points: list[tuple[float, Design]]) -> None:
    losses = [float(design.loss) for _, design in points]
    below = [float(design.loss - design.bound) for _, design in points]
    figure.add_scatter(
        x=[epsilon for epsilon, _ in points], y=losses, mode="lines+markers", name="designs",
        line={"color": SERIES[1], "width": 2}, marker={"size": 8, "color": SERIES[1]}, hoverinfo="text",
        hovertext=[_text(epsilon, design) for epsilon, design in points],
        error_y={"type": "data", "symmetric": False, "array": [0] * len(points), "arrayminus": below, "thickness": 1.5,
                 "width": 4, "color": SERIES[1]},
    )  # fmt: skip


def _text(epsilon: float, design: Design) -> str:
    return (
        f"<b>ε = {epsilon:.6g}</b><br>loss {text_above(design.loss, 6)}<br>bound {text_below(design.bound, 6)}"
        f"<br>gap {text_above(design.gap)}<br>{len(design.mechanism.outputs)} outputs, {design.method}"
    )


def _draw_axes(figure: go.Figure, points: list[tuple[float, Design]], about: _AtStake, per: str) -> None:
    least, most = points[0][0], points[-1][0]
    lows = [float(design.bound) for _, design in points]
    bottom = min([0.0, *lows])
    tops = [float(design.loss) for _, design in points] + [about.blind or 0.0]
    wide = least * _LOGARITHMIC <= most
    ticks = [epsilon for epsilon, _ in points][:: 1 + len(points) // _MOST_TICKS]
    figure.update_layout(
        margin={"l": 72, "r": 24, "t": 24, "b": 56},
        legend={"x": 1, "y": 0.84},
        xaxis={
            **AXIS, "title_text": f"ε per {per}" if per else "ε",
            **({"type": "log", "tickvals": ticks, "ticktext": [f"{tick:.3g}" for tick in ticks]} if wide
               else {"range": [0, 1.05 * most]}),
        },
        yaxis={
            **AXIS, "title_text": about.title,
            "range": [bottom, bottom + (1.12 * (max(tops) - bottom) or 1.0)],
        },
    )  # fmt: skip
