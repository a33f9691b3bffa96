"""Estimated shares with their intervals, drawn; and how many respondents a promise asks for.

A dot is a share, the thin bar its interval. The broad bar behind it is as wide as the interval would be if everybody
had answered in the clear: what is left of the thin one is the price of the noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sfumato.arguments import text
from sfumato.errors import InvalidInput, NotSupported, expect
from sfumato.labels import text_of
from sfumato.numbers import Floats, Number, as_written, floats
from sfumato.release.estimation.cross import CrossTable
from sfumato.release.estimation.estimates import Frequencies
from sfumato.release.estimation.plan import PlanCurve, inflation_words
from sfumato.release.estimation.words import percent, short_label
from sfumato.report.figure import AXIS, ROLES, SERIES, canvas, caption, segments, tint

_MOST_ROWS = 400  # bars one below the other; more cannot be told apart on any page
_MOST_GROUPS = len(SERIES)
_ROW = 26  # pixels for each bar, and for the space between two answers
_LEGEND_ROW = 22  # pixels


def shares_figure(
    found: Frequencies | CrossTable | Mapping[Any, Frequencies],
    *,
    level: Number = "0.95",
    simultaneous: bool = False,
    title: str = "",
) -> go.Figure:
    """Shares with intervals, one below the other; of several groups beside each other in colours.

    Parameters
    ----------
    found
        What :func:`~sfumato.release.estimation.estimates.frequencies`,
        :func:`~sfumato.release.estimation.estimates.frequencies_by` or
        :func:`~sfumato.release.estimation.cross.cross_table` returned.
    level, simultaneous
        Of the intervals.
    title
        What is estimated, such as the name of a question.

    Examples
    --------
    >>> import sfumato as sf
    >>> response = sf.random_response(sf.PrivacyType(sf.discrete(["no", "yes"]), alpha="1/3"))
    >>> figure = shares_figure(sf.frequencies(response, {"no": 60, "yes": 40}))
    >>> [trace.name for trace in figure.data]
    ['in the clear', '95 % interval']
    """
    title = text(title, "the title")
    groups = dict(found) if isinstance(found, Mapping) else {None: found}
    if not groups or not all(isinstance(part, Frequencies | CrossTable) for part in groups.values()):
        raise InvalidInput("what is drawn are estimates: frequencies(…), frequencies_by(…) or cross_table(…) make some")
    if len(groups) > _MOST_GROUPS:
        raise NotSupported(f"{len(groups)} groups in one figure", [f"at most {_MOST_GROUPS}: draw them in parts"])
    labels = [_labels(part) for part in groups.values()]
    if any(other != labels[0] for other in labels):
        raise InvalidInput("groups in one figure have the same answers")
    if len(labels[0]) * len(groups) > _MOST_ROWS:
        raise NotSupported(f"{len(labels[0]) * len(groups)} intervals in one figure", [f"at most {_MOST_ROWS}"])
    many, answers = len(groups), len(labels[0])
    figure = canvas(height=90 + answers * (_ROW * many + 10) + (_LEGEND_ROW * (many + 1)))
    ends = [part.intervals(level, simultaneous=simultaneous).reshape(-1, 2) for part in groups.values()]
    for number, (name, part) in enumerate(groups.items()):
        rows = np.arange(answers, dtype=np.float64) + ((number + 0.5) / many - 0.5) * 0.8
        _draw(figure, part, ends[number], rows, SERIES[(number + 1) % len(SERIES)],
              percent(level) + " interval" if name is None else text_of(name), number == 0)  # fmt: skip
    _axes(figure, labels[0], max(float(part[:, 1].max()) for part in ends), title, groups)
    return caption(figure, _words(groups, level, simultaneous))


def _labels(part: Frequencies | CrossTable) -> list[str]:
    return [" · ".join(short_label(text_of(label)) for label in cell) for cell in part.cells]


def _draw(
    figure: go.Figure, part: Frequencies | CrossTable, ends: Floats, rows: Floats, colour: str, name: str, first: bool
) -> None:
    """The bars of one group."""
    shares = np.clip(floats(part.weights).ravel(), 0.0, 1.0)
    # as wide as a share of that size would have it without noise, and the errors in proportion
    narrow = np.sqrt(shares * (1 - shares) / part.counted.effective_rows)
    errors = np.maximum(part.standard_errors.ravel(), 1e-300)
    scale = np.minimum(narrow / errors, 1.0)[:, None]
    clear = shares[:, None] + (ends - shares[:, None]) * scale
    bars = (((low, row), (high, row)) for (low, high), row in zip(clear.tolist(), rows.tolist(), strict=True))
    figure.add_scatter(**segments(bars), mode="lines", line={"color": tint(colour, 0.4), "width": 9},
                       name="in the clear", legendgroup="clear", showlegend=first, hoverinfo="skip")  # fmt: skip
    figure.add_scatter(
        x=shares, y=rows, mode="markers", name=name, marker={"size": 8, "color": colour},
        error_x={"type": "data", "symmetric": False, "array": ends[:, 1] - shares, "arrayminus": shares - ends[:, 0],
                 "thickness": 1.5, "width": 4, "color": colour},
        hoverinfo="text", hovertext=[_hover(*line) for line in zip(_labels(part), floats(part.weights).ravel(), errors,
                                                                   ends, strict=True)],
    )  # fmt: skip


def _hover(label: str, share: float, error: float, ends: Floats) -> str:
    return f"<b>{escape(label)}</b><br>share {share:.4g}, error {error:.2g}<br>{ends[0]:.4g} – {ends[1]:.4g}"


def _axes(figure: go.Figure, labels: list[str], most: float, title: str, groups: Mapping[Any, Any]) -> None:
    longest = max(map(len, labels))
    heading = f"share of {title}" if title else "share"
    figure.update_layout(
        margin={"l": 40 + 8 * longest, "r": 24, "t": 24 + _LEGEND_ROW * (len(groups) + 1), "b": 56},
        legend={"x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "traceorder": "normal"},
        xaxis={**AXIS, "title_text": escape(heading), "range": [0, min(1.05 * most, 1.02)], "tickformat": ".0%"},
        yaxis={**AXIS, "showline": False, "ticks": "", "tickvals": list(range(len(labels))),
               "ticktext": list(map(escape, labels)), "range": [len(labels) - 0.5, -0.5]},
    )  # fmt: skip
    for row in range(1, len(labels)):
        figure.add_hline(y=row - 0.5, line={"color": tint(ROLES["faint"], 0.3), "width": 1}, layer="below")


def _words(groups: Mapping[Any, Frequencies | CrossTable], level: Number, simultaneous: bool) -> str:
    rows = sum(part.total for part in groups.values())
    several = "each" if not simultaneous else "all together" + (" in each group" if len(groups) > 1 else "")
    noise = [part.noise_share for part in groups.values()]
    least, most = f"{100 * min(noise):.0f} %", f"{100 * max(noise):.0f} %"
    part = most if least == most else f"{least} to {most}"
    outside = any(((floats(found.weights) < 0) | (floats(found.weights) > 1)).any() for found in groups.values())
    border = " Estimates below 0 or above 1 stand at the border, where intervals are cut." if outside else ""
    doubts = "".join(f" {found.fit}." for found in groups.values() if found.fit.doubtful)
    return (
        f"Shares estimated from {rows:,} released answers, with intervals that cover the truth with about "
        f"{percent(level)}, {several}. {part} of the variance is noise of the mechanism; the broad bars are what "
        f"answers in the clear would have left.{border}{doubts}"
    )


def respondents_figure(
    curve: PlanCurve,
    error: Number,
    *,
    level: Number = "0.95",
    measure: str = "margin",
    unit: str = "",
    title: str = "",
) -> go.Figure:
    """How many respondents an error needs, against ε; the dashed line is what would do in the clear.

    Parameters
    ----------
    curve
        What :func:`~sfumato.release.estimation.plan.plan_curve` returned.
    error, level, measure
        As :meth:`SurveyPlan.respondents <sfumato.release.estimation.plan.SurveyPlan.respondents>` takes them.
    unit
        The unit of distance that ε is for.
    title
        What the mechanisms are called.

    Examples
    --------
    >>> import sfumato as sf
    >>> curve = sf.release.plan_curve(lambda e: sf.geometric(sf.PrivacyType(sf.line(4), epsilon=e)), [0.5, 1, 2])
    >>> [trace.name for trace in respondents_figure(curve, 0.05).data]
    ['respondents']
    """
    curve = expect(curve, PlanCurve, "what is drawn", "plan_curve(build, epsilons) makes one")
    unit, title, error = text(unit, "the unit of distance"), text(title, "the title"), as_written(error, "the error")
    needed = [plan.respondents(error, level=level, measure=measure) for plan in curve.plans]
    clear = max(plan.respondents_in_the_clear(error, level=level, measure=measure) for plan in curve.plans)
    figure = canvas(height=460)
    figure.add_scatter(
        x=curve.epsilons, y=needed, mode="lines+markers", name="respondents", showlegend=False,
        line={"color": SERIES[1], "width": 2}, marker={"size": 8, "color": SERIES[1]}, hoverinfo="text",
        hovertext=[f"<b>ε = {epsilon:.4g}</b><br>{count:,} respondents<br>{inflation_words(plan.inflation)} times as "
                   "many as in the clear"
                   for epsilon, count, plan in zip(curve.epsilons, needed, curve.plans, strict=True)],
    )  # fmt: skip
    figure.add_hline(y=clear, line={"color": ROLES["frame"], "width": 1, "dash": "dash"}, layer="below")
    figure.add_annotation(text=f"in the clear: {clear:,}", x=0.01, xref="x domain", xanchor="left",
                          y=float(np.log10(clear)), yanchor="bottom", showarrow=False,
                          font={"size": 12, "color": ROLES["frame"]})  # fmt: skip
    ticks = _ticks([clear, *needed])
    figure.update_layout(
        margin={"l": 84, "r": 24, "t": 24, "b": 56},
        xaxis={**AXIS, "type": "log", "title_text": f"ε per {unit}" if unit else "ε",
               "tickvals": list(curve.epsilons), "ticktext": [f"{epsilon:.3g}" for epsilon in curve.epsilons]},
        yaxis={**AXIS, "type": "log", "title_text": "respondents", "tickvals": ticks,
               "ticktext": [f"{tick:,}" for tick in ticks]},
    )  # fmt: skip
    half = "a standard error of " if measure == "standard error" else f"{percent(level)} intervals of ±"
    return caption(
        figure,
        f"How many respondents it takes until {half}{float(error):g} on every share "
        f"{'is' if measure == 'standard error' else 'are'} reached{f', by {title}' if title else ''}, at "
        f"{'the worst shares' if curve.plans[0].guess is None else 'the guessed shares'}.",
    )


def _ticks(values: Sequence[int]) -> list[int]:
    """1, 2 and 5 of each power of ten around the values; the powers alone where that is many."""
    low, high = int(np.floor(np.log10(min(values)))), int(np.ceil(np.log10(max(values))))
    steps = (1, 2, 5) if high - low <= 3 else (1,)
    return [step * 10**power for power in range(low, high + 1) for step in steps]
