"""The figures of the gallery: each is drawn when the pages are built, from exact answers of the package."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

import sfumato as sf
from sfumato.design.universal import universal_design
from sfumato.release.estimation import frequencies
from sfumato.release.estimation_likelihood import iterative_bayesian_update, maximum_likelihood
from sfumato.report.figure import SERIES, canvas
from sfumato.report.hasse import hasse_figure
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


def recovered_density() -> go.Figure:
    """A city before it is released, what leaves the house, and four ways to recover it."""
    side, rows = 24, 60_000
    space = sf.grid(side, side, metric="manhattan", step="1/4", unit="km")
    channel = sf.tight_constraints(sf.PrivacyType(space, epsilon=2)).channel.to_floats()
    y, x = np.mgrid[0:side, 0:side] / side
    hills = ((1.0, 0.3, 0.35, 0.01), (0.6, 0.25, 0.75, 0.02), (0.9, 0.75, 0.7, 0.006), (0.1, 0.5, 0.5, 0.5))
    height = sum(h * np.exp(-((x - u) ** 2 + (y - v) ** 2) / width) for h, u, v, width in hills)
    height = np.where(np.abs(x - 0.55 - 0.1 * np.sin(6 * y)) < 0.05, 0.0, height).ravel()  # nobody lives in the river
    rng = np.random.default_rng(3)  # for a picture that stays the same; a release draws with the exact sampler
    people = rng.multinomial(rows, height / height.sum())
    released = sum(rng.multinomial(k, row) for k, row in zip(people, channel.matrix, strict=True))
    unbiased = frequencies(channel, released)
    panels = {
        "the truth": people / rows,
        "as released": released / rows,
        "unbiased": unbiased.weights,
        "prior nearest to that": unbiased.nearest_prior().float_weights,
        "maximum likelihood": maximum_likelihood(channel, released).prior.float_weights,
        "Bayesian updates, stopped": iterative_bayesian_update(channel, released).prior.float_weights,
    }
    figure = make_subplots(rows=2, cols=3, subplot_titles=list(panels), horizontal_spacing=0.03, vertical_spacing=0.08)
    most = float(panels["the truth"].max())
    for k, values in enumerate(panels.values()):
        figure.add_heatmap(z=values.reshape(side, side), zmin=-most, zmax=most, colorscale=DENSITY, showscale=False,
                           hovertemplate="%{z:.3%}<extra></extra>", row=1 + k // 3, col=1 + k % 3)  # fmt: skip
    house = canvas(720, 520).layout
    figure.update_xaxes(visible=False, constrain="domain")
    figure.update_yaxes(visible=False, scaleanchor="x", constrain="domain")
    figure.update_layout(template=house.template, font=house.font, width=house.width, height=house.height,
                         paper_bgcolor=house.paper_bgcolor, plot_bgcolor=house.plot_bgcolor,
                         margin={"l": 10, "r": 10, "t": 40, "b": 10})  # fmt: skip
    return figure


DENSITY = [[0, SERIES[4]], [0.5, "#ffffff"], [0.75, SERIES[1]], [1, "#222222"]]
"""Negative densities are orange, positive ones blue to black."""


def order() -> go.Figure:
    """Which mechanisms on a line of four secrets can simulate which, by post-processing what they give out."""
    strict, loose = (sf.PrivacyType(sf.line(4), alpha=alpha) for alpha in ("1/2", "2/3"))
    known = {
        "geometric": sf.geometric(strict), "staircase": sf.staircase(strict), "exponential": sf.exponential(strict),
        "permute and flip": sf.permute_and_flip(strict), "random response": sf.random_response(strict),
        "closest pair": sf.closest_pair(strict),
    }  # fmt: skip
    halves = {
        f"{name}, which\u00a0half?": sf.remap(known[name].channel, lambda y: "low" if y < 2 else "high")
        for name in ("geometric", "exponential", "random response")
    }
    weaker = {"geometric, e^ε\u00a0=\u00a03/2": sf.geometric(loose)}
    return hasse_figure(sf.hasse({**known, **weaker, **halves, "nothing": sf.Channel.constant(strict.space)}))


FIGURES: dict[str, Callable[[], go.Figure]] = {
    "priors": priors,
    "priors_on_a_line": priors_on_a_line,
    "growth": growth,
    "order": order,
    "recovered_density": recovered_density,
}
"""Every figure by the name of its file."""
