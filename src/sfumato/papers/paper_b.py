"""Figures and theorems of paper B (Fernandes, McIver and Morgan 2021), recomputed.

It prints two figures and no table; its theorems are shown as tables of their numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from sfumato.channels import Prior, hyper
from sfumato.mechanisms.continuous import (
    Climb,
    Density,
    Gap,
    absolute_error,
    climb,
    geometric_refinement,
    laplace_gap,
    lattice_geometric,
    lattice_loss,
    lattice_space,
    on_lattice,
    pixelate,
    smear,
    smear_bound,
    squared_error,
    truncated_laplace,
)
from sfumato.numbers import text_above
from sfumato.papers.tables import PaperTable, exact_cell
from sfumato.report.figure import AXIS, ROLES, SERIES, canvas, caption
from sfumato.report.simplex import simplex

_EXAMPLE = "1/16"  # This is e^−ε in the paper's example of section VII, where ε = 2 ln 4.
_PIXELS = 8
_SECRETS = (Fraction(0), Fraction(1, 2), Fraction(1))
_STEPS = (1, 2, 4, 8, 16, 32, 64)
_FINE = Fraction(63, 64)  # This is e^{−ε/64}, rational on all these lattices, with ε = 1.0079.


def figure_1a() -> PaperTable:
    """The pixels of the truncated Laplace mechanism for three secrets."""
    coarse = pixelate(truncated_laplace(alpha=_EXAMPLE), _PIXELS)
    rows: list[dict[str, Any]] = []
    for index, left in enumerate(coarse.outputs):
        close = "]" if index == _PIXELS - 1 else ")"
        row: dict[str, Any] = {"output": f"[{left}, {left + Fraction(1, _PIXELS)}{close}"}
        rows.append(row | {f"x = {x}": float(coarse.mass(float(x), index)) for x in _SECRETS})
    for end in (0, 1):
        rows.append({"output": f"{end} alone"} | {f"x = {x}": _atom(abs(x - end)) for x in _SECRETS})
    notes = (
        "Eight pixels, ε = 2 ln 4 as in the example of section VII; the figure does not say its ε.",
        "Definition 4 prints e^{εx}/2 and e^{ε(1 − x)}/2 for the ends alone. The integrals it gives for them are "
        "e^{−εx}/2 and e^{−ε(1 − x)}/2; with the printed ones rows would sum to more than 1.",
        "Equation 12 lets y range over the T + 1 points of U_T. There are T pixels, and the last one is closed.",
    )
    return PaperTable("B.fig1a", "Pixels of the truncated Laplace mechanism", tuple(rows), notes, _draw_1a)


def _atom(distance: Fraction) -> dict[str, Any]:
    """An end at some distance from x: e^{−εd}/2, printed with the other sign; at ε = 2 ln 4, e^{εd} = 4^{2d}."""
    growth = Fraction(4) ** int(2 * distance)
    printed, ours = growth / 2, 1 / (2 * growth)
    return exact_cell(printed, ours)


def _draw_1a() -> Any:
    mechanism = truncated_laplace(alpha=_EXAMPLE)
    figure = canvas(height=460)
    y = np.linspace(0, 1, 401)
    for edge in range(1, _PIXELS):
        figure.add_vline(x=edge / _PIXELS, line={"color": ROLES["faint"], "width": 1, "dash": "dot"})
    figure.add_vrect(x0=0.5, x1=0.625, fillcolor=ROLES["region"], opacity=0.4, line_width=0)
    for x, colour in zip(_SECRETS, SERIES, strict=False):
        at = float(x)
        ends = mechanism.mass(at, [0, 1])
        figure.add_scatter(x=y, y=mechanism.density(at, y), name=f"x = {x}", line={"color": colour, "width": 2})
        figure.add_scatter(
            x=[0, 1], y=mechanism.density(at, [0, 1]), mode="markers", showlegend=False,
            marker={"color": colour, "size": 4 + 26 * np.sqrt(ends)}, cliponaxis=False,
            hovertemplate=[f"all of {p:.4f} at {e}" for e, p in enumerate(ends)],
        )  # fmt: skip
    _axes(figure, {"title_text": "output y", "range": [0, 1]}, {"title_text": "density", "range": [0, 1.5]})
    return caption(
        figure,
        "The truncated Laplace mechanism for three secrets, ε = 2 ln 4, cut into eight pixels. The probability of a "
        "pixel is the area under a curve. Discs at the ends: what has a probability there, by area.",
    )


def figure_1b() -> PaperTable:
    """Posteriors of G_2 and of the pixelated Laplace mechanism: the second lie between the first."""
    source = truncated_laplace(alpha=_EXAMPLE)
    prior = Prior.uniform(lattice_space(2))
    geometric, coarse = lattice_geometric(source, 2), on_lattice(pixelate(source, _PIXELS), 2)
    rows = [_posterior_row(f"G₂: {y}", p, inner, {}) for y, p, inner in _posteriors(prior, geometric)]
    factor = smear(source, 2).pixelated(_PIXELS)
    weights = prior.float_weights @ np.asarray(geometric.matrix, dtype=np.float64)
    for y, p, inner in _posteriors(prior, coarse):
        shares = weights * factor.matrix[:, coarse.outputs.index(y)] / float(p)
        mixture = {f"of G₂: {z}": float(s) for z, s in zip(geometric.outputs, shares, strict=True)}
        rows.append(_posterior_row(f"⁸L: pixel from {y}", p, inner, mixture))
    exactly = geometric_refinement(truncated_laplace(alpha="1/256"), 2, _PIXELS)
    roughly = geometric_refinement(source, 2, _PIXELS)
    notes = (
        "Uniform prior on 0, 1/2, 1 and ε = 2 ln 4. Each posterior of the Laplace mechanism is a mixture of two "
        "neighbouring ones of G₂, with the weights shown, so all lie on two sides of a triangle: Lemma 11.",
        f"Is ⁸L a post-processing of G₂? At ε = 2 ln 4, where masses hold √2: {roughly}. At ε = 8 ln 2, where they "
        f"are rational: {exactly}.",
    )
    title = "Posteriors of the geometric and the pixelated Laplace mechanism"
    channels = {"geometric, N = 2": geometric, "Laplace, T = 8 pixels": coarse.to_floats()}
    return PaperTable("B.fig1b", title, tuple(rows), notes, partial(simplex, source.promise_on(2), channels))


def _posteriors(prior: Prior, channel: Any) -> list[tuple[Any, Any, Any]]:
    posteriors = hyper(prior, channel)
    return [(posteriors.merged[k][0], posteriors.outer[k], posteriors.inners[:, k]) for k in range(len(posteriors))]


def _posterior_row(name: str, probability: Any, inner: Any, mixture: dict[str, Any]) -> dict[str, Any]:
    coordinates = {f"x = {x}": value for x, value in zip(_SECRETS, inner, strict=True)}
    shares: dict[str, Any] = mixture or {f"of G₂: {x}": "" for x in _SECRETS}
    return {"posterior": name, "probability": probability} | coordinates | shares


def theorem_13() -> PaperTable:
    """The gap between Laplace and geometric on U_N, beside the bound cκ/N and the distance of hypers."""
    source = truncated_laplace(alpha=_FINE**64)
    priors = {n: Prior.uniform(lattice_space(n)) for n in _STEPS}
    gaps = [laplace_gap(prior, source, lattice_loss(absolute_error(), n)) for n, prior in priors.items()]
    squares = [laplace_gap(prior, source, squared_error()) for prior in priors.values()]
    rows = tuple(
        {
            "N": absolute.steps,
            "gap, len": absolute.gap,
            "N²·gap, len": absolute.scaled,
            "κ·distance of hypers": absolute.earth_move,
            "our bound": float(smear_bound(source, absolute.steps)),
            "cκ/N": absolute.bound,
            "gap ÷ bound": absolute.ratio,
            "0 ≤ gap ≤ bound": str(absolute.within.outcome),
            "gap, len²": squared.gap,
            "N²·gap, len²": squared.scaled,
        }
        for absolute, squared in zip(gaps, squares, strict=True)
    )
    notes = (
        "Uniform prior on the N + 1 points, e^{−ε} = (63/64)^64, so ε = 1.0079 and all lattices are rational. For "
        "len = |w − x| the gap is enclosed between rationals and the verdict is proved; len² is by quadrature.",
        "The bound falls like 1/N; the gap like 1/N². The distance of hypers also falls like 1/N and is far below "
        "the bound: most of the constant c = 3/(1 − e^{−ε})² is slack.",
        "Our bound is about κε²/(2N²) for large N and holds for every prior. So does cκ/N, as Theorem 14 says; but its "
        "printed proof uses a loss that is not κ-Lipschitz.",
    )
    draw = partial(_draw_13, gaps, squares, [float(smear_bound(source, n)) for n in _STEPS])
    return PaperTable("B.theorem13", "Laplace minus geometric on U_N, and the bound", rows, notes, draw)


def _draw_13(gaps: list[Gap], squares: list[Gap], ours: list[float]) -> Any:
    figure = canvas(height=480)
    curves = [
        ("cκ/N, the bound for len", [g.bound for g in gaps], SERIES[4], "dash"),
        ("our bound for every prior", ours, SERIES[3], "dash"),
        ("κ × distance of hypers", [g.earth_move for g in gaps], SERIES[1], "dot"),
        ("gap, len", [g.gap for g in gaps], SERIES[0], "solid"),
        ("gap, len²", [g.gap for g in squares], SERIES[2], "solid"),
    ]
    for name, values, colour, dash in curves:
        figure.add_scatter(x=_STEPS, y=values, name=name, mode="lines+markers", line={"color": colour, "dash": dash})
    powers = {"title_text": "loss", "type": "log", "exponentformat": "power", "dtick": 1}
    _axes(figure, {"title_text": "N", "type": "log", "tickvals": _STEPS}, powers)
    return caption(
        figure,
        "How much more the truncated Laplace mechanism loses than the geometric one for secrets on N + 1 points, "
        "ε = 1.0079, uniform prior. The bound of Theorem 13 falls like 1/N, ours and the gap like 1/N².",
    )


_RUNGS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def theorem_5() -> PaperTable:
    """The geometric mechanism's loss on finer lattices, and the Laplace mechanism's, to which it climbs."""
    losses = {"len": absolute_error(), "len²": squared_error()}
    climbs = {
        f"{name}, ε = {epsilon}": climb(Density.uniform(), truncated_laplace(epsilon), loss, _RUNGS)
        for epsilon in (1, 5)
        for name, loss in losses.items()
    }
    rows: list[dict[str, Any]] = []
    for place, steps in enumerate(_RUNGS):
        row: dict[str, Any] = {"N": steps}
        for name, climbed in climbs.items():
            rung = climbed.rungs[place]
            row |= {f"G_N, {name}": rung.geometric, f"no less, {name}": rung.floor}
        rows.append(row)
    last: dict[str, Any] = {"N": "Laplace"}
    for name, climbed in climbs.items():
        last |= {f"G_N, {name}": climbed.limit.value, f"no less, {name}": climbed.limit.value}
    worst = max(climbed.limit.error for climbed in climbs.values())
    notes = (
        "Uniform density on [0, 1], gathered onto N cells; len = |w − x| and len² are the losses of Corollary 17.",
        "“No less”: e^{−ε/N}·$(π_N, G_N, ℓ) − κ/N, below which no ε-private mechanism on [0, 1] can come.",
        "The last row is the truncated Laplace mechanism, by quadrature; its estimated error is at most "
        f"{text_above(worst, 1)}.",
    )
    draw = partial(_draw_5, climbs)
    return PaperTable("B.theorem5", "The geometric's loss climbs to the Laplace's", (*rows, last), notes, draw)


def _draw_5(climbs: dict[str, Climb]) -> Any:
    figure = canvas(height=480)
    figure.add_hline(y=1, line={"color": ROLES["ink"], "width": 1})
    for (name, climbed), colour in zip(climbs.items(), SERIES, strict=False):
        limit = climbed.limit.value
        geometric, floor = ([getattr(rung, part) / limit for rung in climbed.rungs] for part in ("geometric", "floor"))
        figure.add_scatter(x=_RUNGS, y=geometric, name=name, mode="lines+markers", line={"color": colour})
        dotted = {"color": colour, "dash": "dot"}
        figure.add_scatter(x=_RUNGS, y=floor, name=name, mode="lines", showlegend=False, line=dotted)
    share = {"title_text": "loss ÷ loss of the Laplace mechanism", "range": [0, 1.08]}
    _axes(figure, {"title_text": "N", "type": "log", "tickvals": _RUNGS}, share)
    return caption(
        figure,
        "The loss of the geometric mechanism on N + 1 points climbs to that of the truncated Laplace mechanism "
        "(line at 1). Dotted: what no private mechanism on [0, 1] can beat, by Lemma 9.",
    )


def _axes(figure: Any, across: dict[str, Any], up: dict[str, Any]) -> None:
    """Two lines with their titles near them, and the legend above the plot, where no curve runs."""
    figure.update_xaxes(**AXIS, **across)
    figure.update_yaxes(**AXIS, **up)
    legend = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
    figure.update_layout(margin={"l": 72, "r": 24, "t": 56, "b": 60}, legend=legend)


_PRINTED = {  # the rows of G_2 and G_4 in section VII
    2: ("4/5 3/20 1/20", "1/5 3/5 1/5", "1/20 3/20 4/5"),
    4: ("2/3 1/6 1/12 1/24 1/24", "1/3 1/3 1/6 1/12 1/12", "1/6 1/6 1/3 1/6 1/6", "1/12 1/12 1/6 1/3 1/3",
        "1/24 1/24 1/12 1/6 2/3"),
}  # fmt: skip


def section_7() -> PaperTable:
    """The matrices of the geometric mechanism on two lattices, at one ε."""
    rows: list[dict[str, Any]] = []
    for steps, printed in _PRINTED.items():
        matrix = lattice_geometric(truncated_laplace(alpha=_EXAMPLE), steps).matrix
        for k, (line, ours) in enumerate(zip(printed, matrix, strict=True)):
            cells = {f"y = {y}": exact_cell(p, q) for y, (p, q) in enumerate(zip(line.split(), ours, strict=True))}
            rows.append({"N": steps, "x": str(Fraction(k, steps)), **cells})
    notes = ("ε = 2 ln 4 = 4 ln 2; y counts the points of the lattice. For Lemma 10 these are the best of their type.",)
    return PaperTable("B.section7", "Geometric mechanisms on two and on four steps", tuple(rows), notes, _draw_7)


def _draw_7() -> Any:
    figure = canvas(height=420)
    source = truncated_laplace(alpha=_EXAMPLE)
    for colour, steps in zip(SERIES, _PRINTED, strict=False):
        row = [float(p) for p in lattice_geometric(source, steps).matrix[0]]
        figure.add_bar(x=[k / steps for k in range(steps + 1)], y=row, name=f"N = {steps}", marker={"color": colour})
    figure.update_layout(barmode="group", xaxis={**AXIS, "title": "output"}, yaxis={**AXIS, "title": "chance, x = 0"})
    return figure


ITEMS: dict[str, Callable[[], PaperTable]] = {
    "B.fig1a": figure_1a,
    "B.fig1b": figure_1b,
    "B.theorem5": theorem_5,
    "B.theorem13": theorem_13,
    "B.section7": section_7,
}
"""Items of paper B by key."""
