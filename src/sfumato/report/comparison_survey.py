"""Known mechanisms beside each other for a survey, drawn: how many times as many respondents each needs."""

from __future__ import annotations

from math import log10

import plotly.graph_objects as go

from sfumato.design.comparison_shares import ComparedShares, SharesComparison
from sfumato.errors import expect
from sfumato.report.figure import AXIS, ROLES, SERIES, canvas, caption

_ROW = 30  # Two mechanisms are so many pixels apart.
_ABOVE, _BELOW = 24, 56  # pixels above the rows, and for the numbers of the axis


def survey_figure(comparison: SharesComparison) -> go.Figure:
    """A bar for each mechanism, on a logarithmic axis from one; a word where shares cannot be recovered.

    Examples
    --------
    >>> from sfumato.design.comparison import compare_known
    >>> from sfumato.privacy import PrivacyType
    >>> from sfumato.spaces import line
    >>> compared = compare_known(None, None, PrivacyType(line(4), alpha="1/2"), objective="shares")
    >>> survey_figure(compared).layout.yaxis.ticktext[0]
    'optimal'
    """
    comparison = expect(
        comparison, SharesComparison, "what is drawn", "compare_known makes one of an objective about shares"
    )
    places = list(range(len(comparison), 0, -1))
    figure = canvas(width=720, height=_ROW * (len(comparison) + 1) + _ABOVE + _BELOW)
    figure.add_bar(
        x=[row.times - 1 if row.recovered else None for row in comparison.rows], y=places, base=1, orientation="h",
        marker={"color": [SERIES[1] if row.bound is None else SERIES[2] for row in comparison.rows]}, width=0.5,
        hovertext=[_text(row) for row in comparison.rows], hoverinfo="text", showlegend=False,
    )  # fmt: skip
    most = max([1.5, *(row.times for row in comparison.rows if row.recovered)])
    for row, place in zip(comparison.rows, places, strict=True):
        figure.add_annotation(
            text=f"{row.times:.3g}" if row.recovered else "shares cannot be recovered",
            x=log10(max(row.times, 1)) if row.recovered else 0, y=place, xref="x", yref="y", xanchor="left",
            xshift=4, showarrow=False, font={"size": 12, "color": ROLES["frame"]},
        )  # fmt: skip
    figure.update_layout(
        margin={"l": 190, "r": 40, "t": _ABOVE, "b": _BELOW},
        xaxis={**AXIS, "type": "log", "range": [0, 1.06 * log10(most)], "title_text": "times as many respondents"},
        yaxis={
            "tickvals": places, "ticktext": [row.name for row in comparison.rows],
            "range": [0.4, len(comparison) + 0.6], "showgrid": False, "zeroline": False,
            "ticks": "outside", "ticklen": 6, "tickcolor": ROLES["paper"],
        },
    )  # fmt: skip
    unit = f" per {comparison.privacy.space.unit}" if comparison.privacy.space.unit else ""
    return caption(
        figure,
        f"Known mechanisms on {comparison.privacy.space.name} with ε = {comparison.privacy.rate:.4g}{unit} promised: "
        f"how many times as many respondents as the best one each needs, for the same total variance of estimated "
        f"{comparison.workload.name}.",
    )


def _text(row: ComparedShares) -> str:
    value = f"N × variance {float(row.variance):.6g}" if row.recovered else "shares cannot be recovered"
    best = "" if row.bound is None else f"<br>no mechanism is below {float(row.bound):.6g}"
    return (
        f"<b>{row.name}</b><br>{value}<br>{len(row.channel.outputs)} outputs<br>needs ε = {row.epsilon:.6g}"
        f"<br>promise {row.proved.outcome}{best}"
    )
