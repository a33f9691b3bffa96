"""Known mechanisms beside each other, drawn: what each loses, needs and tells; of a survey how many it has to ask."""

from __future__ import annotations

from math import log10
from typing import Any

import plotly.graph_objects as go

from sfumato.design.comparison_rows import Compared, Comparison
from sfumato.errors import NotSupported, expect
from sfumato.numbers import text_below
from sfumato.report.figure import AXIS, ROLES, SERIES, canvas, caption, segments

_ROW = 30  # Two mechanisms are so many pixels apart.
_ABOVE, _BELOW = 72, 56  # pixels for the legend and the numbers of the axes
_ABOVE_BARS = 24  # pixels where there is no legend
_PANELS = ((0.0, 0.52), (0.58, 0.77), (0.83, 1.0))  # The panels show losses, ε and leakage.


def comparison_figure(comparison: Comparison) -> go.Figure:
    """A row for each mechanism, the best after a remap on top; for a survey the one that needs fewest respondents.

    Left: its loss with outputs taken as actions (open) and with the best remap (filled), and the loss without
    disclosure (dashed). Middle: the ε it needs, beside the one that is promised (dashed). Right: the factor by
    which it raises the chance to guess the secret.

    Examples
    --------
    >>> import sfumato as sf
    >>> space = sf.line(5)
    >>> found = sf.compare_known(sf.Prior.uniform(space), sf.losses.absolute(space), sf.PrivacyType(space, alpha="1/2"))
    >>> len(comparison_figure(found).data)
    5
    """
    comparison = expect(comparison, Comparison, "what is drawn", "compare_known(prior, loss, privacy) makes one")
    if comparison.by not in _DRAWN:
        raise NotSupported("a figure of a comparison on a box", ["the table, or --json"])
    return _DRAWN[comparison.by](comparison)


def _loss_figure(comparison: Comparison) -> go.Figure:
    figure = canvas(width=820, height=_ROW * (len(comparison) + 1) + _ABOVE + _BELOW)
    places = list(range(len(comparison), 0, -1))
    _draw_losses(figure, comparison, places)
    _draw_bars(figure, comparison, places)
    _draw_axes(figure, comparison, places)
    unit = f" per {comparison.privacy.space.unit}" if comparison.privacy.space.unit else ""
    text = (
        f"Known mechanisms on {comparison.privacy.space.name} with ε = {comparison.privacy.rate:.4g}{unit} promised, "
        f"loss: {comparison.stake.name or 'given'}. A filled dot is the expected loss of a consumer who takes the best "
        "action for each output, an open one takes outputs as they are. Leakage × is how many times as likely as "
        "before a guess of the secret is right."
    )
    return caption(figure, text)


def _draw_losses(figure: go.Figure, comparison: Comparison, places: list[int]) -> None:
    ends = [
        ((float(row.remapped), place), (float(row.loss), place))
        for row, place in zip(comparison.rows, places, strict=True)
        if row.loss is not None
    ]
    texts = [_text(row) for row in comparison.rows]
    figure.add_scatter(**segments(ends), mode="lines", line={"color": ROLES["faint"], "width": 2}, hoverinfo="skip",
                       showlegend=False)  # fmt: skip
    figure.add_scatter(
        x=[None if row.loss is None else float(row.loss) for row in comparison.rows], y=places, mode="markers",
        name="outputs as actions", hovertext=texts, hoverinfo="text",
        marker={"size": 10, "color": ROLES["paper"], "line": {"color": SERIES[1], "width": 2}},
    )  # fmt: skip
    figure.add_scatter(
        x=[float(row.remapped) for row in comparison.rows], y=places, mode="markers", name="best remap",
        hovertext=texts, hoverinfo="text", marker={"size": 10, "color": SERIES[1]},
    )  # fmt: skip
    _dashed(figure, float(comparison.blind), "without disclosure", len(comparison), "")


def _draw_bars(figure: go.Figure, comparison: Comparison, places: list[int]) -> None:
    texts = [_text(row) for row in comparison.rows]
    numbers = ([row.epsilon for row in comparison.rows], [float(row.multiplicative) for row in comparison.rows])
    for axis, values, colour, start in (("2", numbers[0], SERIES[2], 0.0), ("3", numbers[1], SERIES[0], 1.0)):
        figure.add_bar(
            x=[value - start for value in values], y=places, base=start, orientation="h", xaxis=f"x{axis}",
            marker={"color": colour}, width=0.5, hovertext=texts, hoverinfo="text", showlegend=False,
        )  # fmt: skip
    _dashed(figure, comparison.privacy.rate, "promised", len(comparison), "2")


def _dashed(figure: go.Figure, at: float, name: str, rows: int, axis: str) -> None:
    figure.add_shape(
        type="line", x0=at, x1=at, y0=0.4, y1=rows + 0.6, xref=f"x{axis}", yref="y", layer="between",
        line={"color": ROLES["frame"], "width": 1, "dash": "dash"},
    )  # fmt: skip
    figure.add_annotation(
        text=name, x=at, y=rows + 0.6, xref=f"x{axis}", yref="y", yanchor="bottom", showarrow=False,
        font={"size": 12, "color": ROLES["frame"]},
    )  # fmt: skip


def _draw_axes(figure: go.Figure, comparison: Comparison, places: list[int]) -> None:
    plain = {**AXIS, "nticks": 6}
    values = [row.remapped for row in comparison.rows] + [row.loss for row in comparison.rows if row.loss is not None]
    low, high = (float(f([*values, comparison.blind])) for f in (min, max))
    room = 0.05 * (high - low) or 0.5
    most = max([1.1, *(float(row.multiplicative) for row in comparison.rows)])
    needed = max([comparison.privacy.rate, *(row.epsilon for row in comparison.rows)])
    figure.update_layout(
        margin={"l": 190, "r": 24, "t": _ABOVE, "b": _BELOW},
        legend={
            "orientation": "h", "x": 0, "xanchor": "left", "y": 1 + 24 / (_ROW * (len(comparison) + 1)),
            "yanchor": "bottom",
        },
        bargap=0,
        xaxis={**plain, "domain": _PANELS[0], "title_text": "expected loss", "range": [low - room, high + room]},
        xaxis2={**plain, "domain": _PANELS[1], "title_text": "ε needed", "range": [0, 1.08 * needed], "nticks": 4},
        xaxis3={
            **plain, "domain": _PANELS[2], "title_text": "leakage ×", "range": [1, most + 0.08 * (most - 1)],
            "tickvals": [1, most], "ticktext": ["1", f"{most:.3g}"],
        },
        yaxis={**_names(comparison, places), "showgrid": True, "gridcolor": "#eeeeee"},
    )  # fmt: skip


def _text(row: Compared) -> str:
    best = "" if row.bound is None else "<br>the best for this loss and prior"
    loss = "outputs are no actions" if row.loss is None else f"loss {float(row.loss):.6g}"
    return (
        f"<b>{row.name}</b><br>{loss}<br>after remap {float(row.remapped):.6g}<br>needs ε = {row.epsilon:.6g}"
        f"<br>leaks × {float(row.multiplicative):.6g}, + {float(row.additive):.6g}"
        f"<br>promise {row.proved.outcome}{best}"
    )


def _names(comparison: Comparison, places: list[int]) -> dict[str, Any]:
    """The axis with a name for each row."""
    return {
        "tickvals": places, "ticktext": [row.name for row in comparison.rows], "range": [0.4, len(comparison) + 0.6],
        "zeroline": False, "ticks": "outside", "ticklen": 6, "tickcolor": ROLES["paper"],
    }  # fmt: skip


# ----------------------------------------------------------------- for a survey


def _survey_figure(comparison: Comparison) -> go.Figure:
    """A bar for each mechanism, on a logarithmic axis from one; a word where shares cannot be recovered."""
    places = list(range(len(comparison), 0, -1))
    figure = canvas(width=720, height=_ROW * (len(comparison) + 1) + _ABOVE_BARS + _BELOW)
    figure.add_bar(
        x=[row.times - 1 if row.recovered else None for row in comparison.rows], y=places, base=1, orientation="h",
        marker={"color": [SERIES[1] if row.bound is None else SERIES[2] for row in comparison.rows]}, width=0.5,
        hovertext=[_survey_text(row) for row in comparison.rows], hoverinfo="text", showlegend=False,
    )  # fmt: skip
    most = max([1.5, *(row.times for row in comparison.rows if row.recovered)])
    for row, place in zip(comparison.rows, places, strict=True):
        figure.add_annotation(
            text=f"{row.times:.3g}" if row.recovered else "shares cannot be recovered",
            x=log10(max(row.times, 1)) if row.recovered else 0, y=place, xref="x", yref="y", xanchor="left",
            xshift=4, showarrow=False, font={"size": 12, "color": ROLES["frame"]},
        )  # fmt: skip
    figure.update_layout(
        margin={"l": 190, "r": 40, "t": _ABOVE_BARS, "b": _BELOW},
        xaxis={**AXIS, "type": "log", "range": [0, 1.06 * log10(most)], "title_text": "times as many respondents"},
        yaxis={**_names(comparison, places), "showgrid": False},
    )  # fmt: skip
    unit = f" per {comparison.privacy.space.unit}" if comparison.privacy.space.unit else ""
    return caption(
        figure,
        f"Known mechanisms on {comparison.privacy.space.name} with ε = {comparison.privacy.rate:.4g}{unit} promised: "
        f"how many times as many respondents as the best one each needs, for the same total variance of estimated "
        f"{comparison.stake.name}.",
    )


def _survey_text(row: Compared) -> str:
    value = f"N × variance {float(row.variance):.6g}" if row.recovered else "shares cannot be recovered"
    best = "" if row.bound is None else f"<br>no mechanism is below {text_below(row.bound, 6)}"
    return (
        f"<b>{row.name}</b><br>{value}<br>{len(row.channel.outputs)} outputs<br>needs ε = {row.epsilon:.6g}"
        f"<br>promise {row.proved.outcome}{best}"
    )


_DRAWN = {"loss": _loss_figure, "respondents": _survey_figure}
