"""The figures of the gallery: each is drawn when the pages are built, from exact answers of the package."""

from __future__ import annotations

from collections.abc import Callable

import plotly.graph_objects as go
from plotly.subplots import make_subplots

import sfumato as sf
from sfumato.design.universal import universal_design
from sfumato.report.figure import SERIES, canvas
from sfumato.report.priors import prior_map, prior_map_figure


def priors() -> go.Figure:
    """Two mechanisms of one type and the one of least regret, over all priors on three secrets."""
    privacy = sf.PrivacyType(sf.discrete(3), alpha="1/2")
    loss = sf.losses.bin(privacy.space)
    mechanisms = {
        "random response": sf.random_response(privacy),
        "closest pair": sf.closest_pair(privacy),
        "the least-regret one": universal_design(loss, privacy).mechanism,
    }
    return prior_map_figure(prior_map(mechanisms, loss, privacy))


def priors_on_a_line() -> go.Figure:
    """The same on a line, for the question whether the secret is the one in the middle."""
    privacy = sf.PrivacyType(sf.line(3), alpha="1/2")
    loss = sf.losses.member(privacy.space, [1])
    mechanisms = {
        "geometric": sf.geometric(privacy),
        "the least-regret one": universal_design(loss, privacy).mechanism,
    }
    return prior_map_figure(prior_map(mechanisms, loss, privacy))


GPU = {
    "first order, Manhattan, uneven prior, gap 1e-3": ((2500, 2.95, 0.9), (10000, 4.62, 6.7)),
    "first order, Manhattan, uneven prior, gap 1e-4": ((2500, 16.2, 1.1), (10000, 12.8, 7.2)),
    "interior point, all pairs, uniform prior, gap 1e-4": (
        (100, 1.74, 0.04),
        (400, 3.68, 0.50),
        (900, 3.98, 5.14),
        (1600, 14.8, 28.1),
    ),
    "interior point, Manhattan, uneven prior, gap 1e-4": ((400, 1.88, 0.44), (900, 5.73, 3.01), (2500, 53.9, 8.09)),
    "interior point, Manhattan, uniform prior, gap 1e-4": ((900, 0.83, 0.19), (2500, 1.49, 2.61)),
    "interior point, Manhattan, uniform prior, gap 1e-3": ((4900, 3.69, 7.41), (10000, 30.7, 24.9)),
}
"""Secrets, seconds and GiB: one run each of ``bench_gpu.py`` and ``bench_first_order.py`` on an H200."""


def growth() -> go.Figure:
    """How time and memory grow with the number of secrets, on one GPU."""
    figure = make_subplots(
        rows=1, cols=2, subplot_titles=("seconds, by secrets", "GiB, by secrets"), horizontal_spacing=0.12
    )
    for k, (name, runs) in enumerate(GPU.items()):
        secrets, seconds, memory = zip(*runs, strict=True)
        for column, values in ((1, seconds), (2, memory)):
            figure.add_scatter(x=secrets, y=values, mode="lines+markers", name=name, legendgroup=name,
                               showlegend=column == 1, marker={"color": SERIES[k]}, row=1, col=column)  # fmt: skip
    house = canvas(720, 520).layout
    figure.update_xaxes(type="log", tickvals=[100, 400, 1600, 10000])
    figure.update_yaxes(type="log", dtick=1)
    figure.update_layout(template=house.template, font=house.font, width=house.width, height=house.height,
                         paper_bgcolor=house.paper_bgcolor, plot_bgcolor=house.plot_bgcolor,
                         margin={"l": 50, "r": 20, "t": 40, "b": 40},
                         legend={"orientation": "h", "x": 0, "y": -0.14, "yanchor": "top"})  # fmt: skip
    return figure


FIGURES: dict[str, Callable[[], go.Figure]] = {
    "priors": priors,
    "priors_on_a_line": priors_on_a_line,
    "growth": growth,
}
"""Every figure by the name of its file."""
