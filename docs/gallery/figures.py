"""The figures of the gallery: each is drawn when the pages are built, from exact answers of the package."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

import sfumato as sf
from sfumato.design.compatibility import least_exponential, theorem_34
from sfumato.design.universal import universal_design
from sfumato.release.estimation import frequencies
from sfumato.release.estimation_likelihood import iterative_bayesian_update, maximum_likelihood
from sfumato.report.figure import ROLES, SERIES, canvas
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


def survey() -> go.Figure:
    """Expected loss of the two mechanisms of the survey, and of the first one with the best remap, for every belief."""
    answers = ("Yes", "No")
    truthful = sf.Channel(answers, [["2/3", "1/3"], ["1/3", "2/3"]], answers)
    silent = sf.Channel(answers, [[1, 0], [1, 0]], answers)
    lie = sf.losses.bin(answers)
    beliefs = [sf.Prior(answers, [Fraction(k, 48), 1 - Fraction(k, 48)]) for k in range(49)]
    lines = {
        "M₁, answers taken as they are": [sf.expected_loss(belief, truthful, lie) for belief in beliefs],
        "M₂, always “Yes”": [sf.expected_loss(belief, silent, lie) for belief in beliefs],
        "M₁, answers read by somebody who knows the prior": [sf.posterior_loss(b, truthful, lie) for b in beliefs],
    }
    figure = canvas(700, 420)
    styles = ((SERIES[0], 2.5, "solid"), (SERIES[1], 2.5, "solid"), (ROLES["ink"], 2, "dot"))
    for (name, losses), (colour, width, dash) in zip(lines.items(), styles, strict=True):
        figure.add_scatter(x=[float(b.weights[0]) for b in beliefs], y=[float(v) for v in losses], mode="lines",
                           name=name, line={"color": colour, "width": width, "dash": dash})  # fmt: skip
    figure.add_vline(x=0.75, line={"color": ROLES["faint"], "width": 1, "dash": "dash"}, layer="below")
    figure.add_annotation(x=0.75, y=0.95, text="the belief of the example", xanchor="right", yanchor="top",
                          showarrow=False, xshift=-6, font={"color": ROLES["frame"], "size": 13})  # fmt: skip
    plain = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
    figure.update_layout(
        margin={"l": 64, "r": 24, "t": 96, "b": 56},
        legend={"orientation": "v", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom"},
        xaxis={**plain, "title_text": "believed probability that the true answer is “Yes”", "range": [0, 1],
               "dtick": 0.25},
        yaxis={**plain, "title_text": "expected loss", "range": [0, 1], "tickvals": [0, 0.25, 1 / 3, 0.5, 1],
               "ticktext": ["0", "1/4", "1/3", "1/2", "1"]},
    )  # fmt: skip
    return figure


def accuracy() -> go.Figure:
    """ε* for every radius at two chances of missing, between packings and exponential mechanisms, on a line."""
    space, gammas, deltas = sf.line(13), range(1, 6), ("1/20", "1/5")
    found = sf.tradeoff_grid(space, gammas, deltas, precision=0.02)
    figure = make_subplots(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.04,
                           subplot_titles=[f"δ = {delta}" for delta in deltas])  # fmt: skip
    for j, delta in enumerate(deltas):
        curves = {
            "Theorem 3.4, uniform base": [float(theorem_34(space, g, delta, base="uniform").epsilon) for g in gammas],
            "exponential, uniform base": [least_exponential(space, g, delta).epsilon for g in gammas],
            "exponential, best base found": [
                least_exponential(space, g, delta, base="best").epsilon for g in gammas
            ],
            "ε*, proved from both sides": found.high[:, j].tolist(),
            "packing": [float(sf.packing_bound(space, g, delta).epsilon) for g in gammas],
        }  # fmt: skip
        styles = ((ROLES["faint"], "dash"), (SERIES[0], "solid"), (SERIES[4], "solid"), (SERIES[1], "solid"),
                  (SERIES[2], "solid"))  # fmt: skip
        for (name, values), (colour, dash) in zip(curves.items(), styles, strict=True):
            shown = [value or None for value in values]  # a packing of one ball says nothing
            figure.add_scatter(x=list(gammas), y=shown, name=name, legendgroup=name, showlegend=j == 0,
                               mode="lines+markers", line={"color": colour, "dash": dash, "width": 2},
                               marker={"size": 6}, row=1, col=j + 1)  # fmt: skip
    house = canvas(700, 480).layout
    plain = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
    figure.update_xaxes(**plain, title_text="radius γ", dtick=1)
    figure.update_yaxes(**plain, type="log", tickvals=[0.1, 0.2, 0.5, 1, 2, 5, 10, 20])
    figure.update_yaxes(title_text="ε", col=1)
    figure.update_layout(template=house.template, font=house.font, width=house.width, height=house.height,
                         paper_bgcolor=house.paper_bgcolor, plot_bgcolor=house.plot_bgcolor,
                         hoverlabel=house.hoverlabel, margin={"l": 64, "r": 16, "t": 36, "b": 130},
                         legend={"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"})  # fmt: skip
    return figure


FIGURES: dict[str, Callable[[], go.Figure]] = {
    "priors": priors,
    "priors_on_a_line": priors_on_a_line,
    "growth": growth,
    "order": order,
    "survey": survey,
    "accuracy": accuracy,
    "recovered_density": recovered_density,
}
"""Every figure by the name of its file."""
