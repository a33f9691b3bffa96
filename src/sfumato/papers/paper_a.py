"""Figures of paper A (Fernandes, McIver, Palamidessi and Ding 2023), recomputed and drawn.

All but the first are at e^ε = 2, where every number is a fraction and every comparison exact. Beside them stand the
spaces that the paper draws, a grid with the pairs that bound each other and a cube, and what it says of universal
optimality: existence, impossibility, Figure 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from sfumato.channels import Channel, Hyper, Prior, hyper, restrict
from sfumato.losses import Loss, absolute, bin, has_dominating_action, is_monotone, is_trivial, matrix, nib
from sfumato.mechanisms import closest_pair, dual_random_response, geometric, random_response
from sfumato.numbers import Array
from sfumato.papers.tables import PaperTable, exact_cell
from sfumato.privacy import PrivacyType, Vertices, count_kernels, is_kernel, kernels, satisfies, vertices
from sfumato.report.figure import ROLES, SERIES, canvas, caption, segments
from sfumato.report.maps import drawn_places
from sfumato.report.priors import entropy_surface
from sfumato.report.simplex import simplex
from sfumato.spaces import FiniteSpace, cycle, discrete, grid, hamming, line, star
from sfumato.theory.universal import impossibility, is_universally_optimal, universal_design

_ALPHA = Fraction(1, 2)


def _outer_at(corners: Vertices, channel: Channel) -> list[Fraction]:
    """The outer weight that a mechanism puts on each vertex, under the uniform prior."""
    result = hyper(Prior.uniform(corners.privacy.space), channel)
    weights = {tuple(inner): weight for inner, weight in zip(result.inners.T, result.outer, strict=True)}
    return [weights.get(tuple(vertex.posterior.weights), Fraction(0)) for vertex in corners]


_PRINTED_1 = (("4/7", "1/4", "1/7"), ("2/7", "1/2", "2/7"), ("1/7", "1/4", "4/7"))
_OUTER_1 = ("7/18", "2/9", "7/18")


def figure_1() -> PaperTable:
    """A channel, and the hyper that it makes of the even prior; posteriors average to that prior (Lemma 1)."""
    secrets, outputs = ("x₀", "x₁", "x₂"), ("y₀", "y₁", "y₂")
    channel = Channel(secrets, [["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]], outputs)
    result = hyper(Prior.uniform(secrets), channel)
    rows: list[dict[str, Any]] = []
    for secret, printed, inner in zip(secrets, _PRINTED_1, result.inners, strict=True):
        row: dict[str, Any] = {"secret": secret}
        row |= {f"C({output})": value for output, value in zip(outputs, channel.row(secret), strict=True)}
        beside = zip(outputs, printed, inner, strict=True)
        rows.append(row | {f"δ({output})": exact_cell(text, ours) for output, text, ours in beside})
    outer = zip(outputs, _OUTER_1, result.outer, strict=True)
    rows.append({"secret": "outer"} | {f"δ({output})": exact_cell(text, ours) for output, text, ours in outer})
    mean = ", ".join(str(weight) for weight in result.inners @ result.outer)
    notes = (f"The posteriors, weighed with the outer distribution, average to the prior they came from: {mean}.",)
    text = "A channel C, and the posteriors and outer weights that it makes of the even prior."
    panels = {"C": channel.matrix, "Δ<sub>C</sub>": result.inners}
    return PaperTable(
        "A.fig1", "A channel and its hyper under the uniform prior", tuple(rows), notes,
        lambda: caption(_beside_each_other(panels, secrets, outputs, "Δ<sub>C</sub>", result.outer), text),
    )  # fmt: skip


def figure_2() -> PaperTable:
    """The region of private posteriors of three points on a line, and its constraints."""
    space = FiniteSpace(["x₁", "x₂", "x₃"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    privacy = PrivacyType(space, alpha=_ALPHA)
    corners = [vertex.posterior.weights for vertex in vertices(privacy)]
    kept = {(int(x), int(z)) for x, z in zip(*space.pairs, strict=True)}
    rows = []
    for x, z in ((x, z) for x in range(3) for z in range(3) if x != z):
        factor = privacy.factor(space.labels[x], space.labels[z])[0]
        on_line = [corner for corner in corners if corner[x] == factor * corner[z]]
        rows.append({
            "constraint": f"δ({space.labels[x]}) ≤ {factor} δ({space.labels[z]})",
            "implied by the others": "no" if (min(x, z), max(x, z)) in kept else "yes",
            "vertices on its line": "; ".join(" ".join(map(str, corner)) for corner in on_line),
        })  # fmt: skip
    notes = (
        f"The region has {len(corners)} vertices and {2 * len(kept)} sides; the pair at distance 2 adds none, its "
        "lines only touch a vertex.",
    )
    text = "The posteriors that ln 2·d₂-private mechanisms on x₁, x₂, x₃ can make of the uniform prior."
    return PaperTable(
        "A.fig2", "Private posteriors on three points of a line, ε = ln 2", tuple(rows), notes,
        partial(simplex, privacy, show=("region", "constraints", "prior"), caption=text),
    )  # fmt: skip


def figure_4b() -> PaperTable:
    """The vertices of the line of three, the geometric mechanism, and the only other kernel."""
    privacy = PrivacyType(line(3), alpha=_ALPHA)
    corners = vertices(privacy)
    truncated = geometric(privacy).channel
    other = next(kernel for kernel in kernels(privacy) if len(kernel.support) == 2)
    weights, weights_of_other = _outer_at(corners, truncated), _outer_at(corners, other.channel)
    falling = sorted(range(len(corners)), key=lambda k: -corners[k].posterior.weights[0])
    order = [k for k in falling if not weights[k]] + [k for k in falling if weights[k]]
    names = ["ABCD"[order.index(k)] for k in range(len(corners))]
    rows = []
    for k in order:
        ours = "yes" if weights[k] else "no"
        rows.append({
            "vertex": names[k],
            **dict(zip("012", corners[k].posterior.weights, strict=True)),
            "of the geometric mechanism": exact_cell("yes" if names[k] in "BCD" else "no", ours),
            "its outer weight": weights[k],
            "weight in the other kernel": weights_of_other[k],
        })  # fmt: skip
    notes = (
        "The paper names the vertices of the geometric mechanism B, C and D; which is which is our choice.",
        f"The geometric mechanism is a kernel: {is_kernel(truncated, privacy)}. "
        f"The type has {count_kernels(privacy)} kernels; the other one tells the middle from the ends.",
    )
    text = "The truncated geometric mechanism (B, C, D) and the other kernel on 0, 1, 2; areas are outer weights."
    mechanisms = {"truncated geometric": truncated, "the other kernel": other.channel}
    return PaperTable(
        "A.fig4b", "Kernels in the space of d₂-private posteriors on 0, 1, 2, ε = ln 2", tuple(rows), notes,
        partial(simplex, privacy, mechanisms, labels=names, caption=text),
    )  # fmt: skip


def figure_5b() -> PaperTable:
    """The vertices of the discrete type on three secrets, random response and its dual."""
    privacy = PrivacyType(discrete(3), alpha=_ALPHA)
    corners = vertices(privacy)
    response, dual = (known(privacy).channel for known in (random_response, dual_random_response))
    weights, weights_of_dual = _outer_at(corners, response), _outer_at(corners, dual)
    peaks = [int(np.argmax(vertex.posterior.weights)) for vertex in corners]
    dips = [int(np.argmin(vertex.posterior.weights)) for vertex in corners]
    order = sorted(range(len(corners)), key=lambda k: (not weights[k], peaks[k] if weights[k] else dips[k]))
    names = ["ABCDEF"[order.index(k)] for k in range(len(corners))]
    rows = []
    for k in order:
        rows.append({
            "vertex": names[k],
            **dict(zip("012", corners[k].posterior.weights, strict=True)),
            "of random response": exact_cell("yes" if names[k] in "ABC" else "no", "yes" if weights[k] else "no"),
            "of its dual": exact_cell("no" if names[k] in "ABC" else "yes", "yes" if weights_of_dual[k] else "no"),
            "outer weight": weights[k] + weights_of_dual[k],
        })  # fmt: skip
    notes = (
        f"Random response is a kernel: {is_kernel(response, privacy)}. Its dual is one: {is_kernel(dual, privacy)}. "
        f"The type has {count_kernels(privacy)} kernels.",
    )
    text = "Random response (A, B, C) and its dual (D, E, F) on three secrets at distance 1; areas are outer weights."
    return PaperTable(
        "A.fig5b", "Kernels in the space of discretely private posteriors on three secrets, ε = ln 2",
        tuple(rows), notes,
        partial(simplex, privacy, {"random response": response, "its dual": dual}, labels=names, caption=text),
    )  # fmt: skip


_PATH = ("000", "100", "110", "111")
_SECRETS_8 = (*_PATH, "101", "011", "010", "001")  # the order of the paper's rows, but for two that are too many
_OUTPUTS_8 = ("y₁", "y₂", "y₃", "y₄")
_TOTALS_8 = (27, 21, 21, 27)
_PRINTED_8 = (
    (8, 2, 1, 1), (4, 4, 2, 2), (2, 2, 4, 4), (1, 1, 2, 8),
    (2, 2, 4, 4), (2, 2, 4, 4), (4, 4, 2, 2), (4, 4, 2, 2),
)  # fmt: skip
_TOO_MANY_8 = ((2, 2, 4, 2), (2, 2, 4, 2))
_OUTER_8 = ("9/32", "7/32", "7/32", "9/32")


def _on_the_path() -> Channel:
    return geometric(PrivacyType(line(len(_PATH)), alpha=_ALPHA)).channel


def _hamming_kernel(privacy: PrivacyType) -> Channel:
    """The geometric mechanism on a path, extended to the cube: M(x)(y) = min over the path of e^{ε d(x, p)} G(p)(y).

    No private mechanism that agrees with G on the path can be larger anywhere. These rows sum to 1 (or the channel
    would be refused), so there is no other.
    """
    along = dict(zip(_PATH, _on_the_path().matrix, strict=True))
    rows = [
        np.min([privacy.factor(secret, point)[0] * row for point, row in along.items()], axis=0)
        for secret in privacy.space.labels
    ]
    return Channel(privacy.space, rows, _OUTPUTS_8)


def figure_8() -> PaperTable:
    """The kernel on three bits that is the geometric mechanism along a path, with its hyper."""
    privacy = PrivacyType(hamming(3), alpha=_ALPHA)
    kernel = _hamming_kernel(privacy)
    result = hyper(Prior.uniform(privacy.space), kernel)
    rows: list[dict[str, Any]] = []
    for secret, printed in zip(_SECRETS_8, _PRINTED_8, strict=True):
        row: dict[str, Any] = {"secret": secret}
        inner = result.inners[privacy.space.index(secret)]
        for output, value, total, ours in zip(_OUTPUTS_8, printed, _TOTALS_8, inner, strict=True):
            row[f"δ({output})"] = exact_cell(f"{value}/{total}", ours)
        row |= {f"K({output})": value for output, value in zip(_OUTPUTS_8, kernel.row(secret), strict=True)}
        rows.append(row)
    for printed in _TOO_MANY_8:
        beside = zip(_OUTPUTS_8, printed, _TOTALS_8, strict=True)
        nothing = {f"δ({y})": {"printed": f"{v}/{total}", "ours": "–", "agree": False} for y, v, total in beside}
        rows.append({"secret": "no secret"} | nothing)
    outer = zip(_OUTPUTS_8, _OUTER_8, result.outer, strict=True)
    rows.append({"secret": "outer"} | {f"δ({output})": exact_cell(printed, ours) for output, printed, ours in outer})
    return PaperTable(
        "A.fig8", "A kernel on three bits for the Hamming distance, ε = ln 2", tuple(rows),
        _notes_8(privacy, kernel), lambda: _draw_8(kernel, result),
    )  # fmt: skip


def _notes_8(privacy: PrivacyType, kernel: Channel) -> tuple[str, ...]:
    columns = zip(*_PRINTED_8, *_TOO_MANY_8, strict=True)
    sums = [Fraction(sum(column), total) for column, total in zip(columns, _TOTALS_8, strict=True)]
    same = (restrict(kernel, _PATH).matrix == _on_the_path().matrix).all()
    return (
        "The paper prints ten rows for eight secrets. Two of them, 2/27 2/21 4/21 2/27 twice, belong to no secret: "
        f"with them the four posteriors sum to {', '.join(map(str, sums))}, without them to 1.",
        f"The eight rows make a private mechanism ({satisfies(kernel, privacy)}) and a kernel "
        f"({is_kernel(kernel, privacy)}).",
        f"Restricted to {', '.join(_PATH)} it is{'' if same else ' not'} the truncated geometric mechanism on four "
        "points. It is the only private extension of it: the largest values that privacy leaves to the other "
        "secrets already sum to 1.",
    )


def _draw_8(kernel: Channel, result: Hyper) -> go.Figure:
    """Posteriors with their outer weights, and the mechanism; the path in colour."""
    order = [kernel.secrets.index(secret) for secret in _SECRETS_8]
    names = [f'<span style="color:{SERIES[4]}"><b>{s}</b></span>' if s in _PATH else s for s in _SECRETS_8]
    panels = {"Δ<sub>K</sub>": result.inners[order], "K": kernel.matrix[order]}
    text = (
        "The posteriors of K with their outer weights, and K itself. The eight rows are ours; the paper prints two "
        "more. In colour, the path along which K is the truncated geometric mechanism."
    )
    return caption(_beside_each_other(panels, names, _OUTPUTS_8, "Δ<sub>K</sub>", result.outer), text)


def _beside_each_other(
    panels: dict[str, Array], names: Sequence[str], outputs: Sequence[str], weighed: str, outer: Array
) -> go.Figure:
    """Two tables over the same secrets and outputs, the outer weights below the one whose name is given."""
    figure = canvas(width=700, height=114 + 44 * len(names)).update_layout(margin={"l": 70, "r": 16, "t": 62, "b": 52})
    for n, (name, table) in enumerate(panels.items(), 1):
        axis, domain = f"x{n}" if n > 1 else "x", [(0, 0.47), (0.53, 1)][n - 1]
        figure.add_heatmap(
            z=table.astype(np.float64).tolist(), x=list(outputs), y=list(range(len(names))), xaxis=axis,
            text=[[str(value) for value in row] for row in table], texttemplate="%{text}", showscale=False,
            colorscale=[[0, "#ffffff"], [1, SERIES[0]]], zmin=0, zmax=float(table.max()) * 1.4, xgap=2, ygap=2,
            hovertemplate="%{text}<extra></extra>",
        )  # fmt: skip
        figure.update_layout({f"xaxis{n}": {"domain": domain, "side": "top", "ticks": "", "showline": False,
                                            "showgrid": False, "zeroline": False, "fixedrange": True}})  # fmt: skip
        figure.add_annotation(
            text=f"<b>{name}</b>", x=sum(domain) / 2, y=1, xref="paper", yref="paper", yshift=42, showarrow=False,
            font={"size": 16},
        )  # fmt: skip
        if name == weighed:
            for output, weight in zip(outputs, outer, strict=True):
                figure.add_annotation(
                    text=str(weight), x=output, xref=axis, y=0, yref="paper", yshift=-18, showarrow=False
                )
            figure.add_annotation(
                text="outer", x=domain[0], xref="paper", y=0, yref="paper", xanchor="right", xshift=-6, yshift=-18,
                showarrow=False, font={"color": ROLES["faint"]},
            )  # fmt: skip
    return figure.update_yaxes(
        tickvals=list(range(len(names))), ticktext=list(names), autorange="reversed", ticks="", showgrid=False,
        zeroline=False, fixedrange=True, showline=False, ticklabelstandoff=4,
    )  # fmt: skip


FIGURES: dict[str, Callable[[], PaperTable]] = {
    "A.fig1": figure_1,
    "A.fig2": figure_2,
    "A.fig4b": figure_4b,
    "A.fig5b": figure_5b,
    "A.fig8": figure_8,
}
"""The figures of the paper that can be redrawn, by key."""


def figure_6b() -> PaperTable:
    """The 2 × 2 grid with its 3 × 3 points: which pairs bound each other, and which bounds follow from others."""
    space = grid(3, 3)
    privacy = PrivacyType(space, alpha="1/2")
    assert space.coordinates is not None
    where = np.rint(space.coordinates).astype(int)
    steps: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for x, z in combinations(range(len(space)), 2):
        across, along = sorted(np.abs(where[x] - where[z]).tolist(), reverse=True)
        steps.setdefault((across, along), []).append((x, z))
    kept = {(int(x), int(z)) for x, z in zip(*space.pairs, strict=True)}
    rows, families = [], {}
    for (across, along), pairs in sorted(steps.items(), key=lambda item: item[0][0] ** 2 + item[0][1] ** 2):
        square = across**2 + along**2
        distance = str(across) if not along else f"√{square}"
        needed = sum(pair in kept for pair in pairs)
        factor = privacy.factor(*(space.labels[x] for x in pairs[0]))[0]
        rows.append({
            "step": f"{across}, {along}", "distance": distance, "pairs": len(pairs), "bound e^{εd}": float(factor),
            "implied by shorter steps": {0: "yes", len(pairs): "no"}[needed],
        })  # fmt: skip
        if needed:
            families[f"distance {distance}"] = pairs
    notes = (
        "Sizes count cells: a 2 × 2 grid has 3 × 3 points.",
        f"{len(kept)} of {len(space) * (len(space) - 1) // 2} pairs bound each other; a step that is a multiple of a "
        "shorter one adds nothing.",
    )
    text = "The 3 × 3 points of a 2 × 2 grid and the pairs whose bounds do not follow from others, by distance."
    names = [""] * len(space)
    return PaperTable(
        "A.fig6b", "The Euclidean type on a 2 × 2 grid, ε = ln 2", tuple(rows), notes,
        lambda: caption(_drawn(space, families, names), text),
    )  # fmt: skip


def figure_7b() -> PaperTable:
    """The cube of three bits, and a path along which its distance is that of a line."""
    cube = hamming(3)
    rows = []
    for (i, first), (j, second) in combinations(enumerate(_PATH), 2):
        rows.append({
            "from": first, "to": second, "steps along the path": j - i,
            "Hamming distance": int(cube.distance(first, second)),
        })  # fmt: skip
    edges = [(int(x), int(z)) for x, z in zip(*cube.pairs, strict=True)]
    path = [(cube.index(a), cube.index(b)) for a, b in pairwise(_PATH)]
    notes = (
        f"{len(edges)} pairs bound each other: words that differ in one bit. The path is one of the six shortest ones "
        "from 000 to 111, and all of them are lines.",
        "The mechanism of Figure 8 is the truncated geometric one along this path.",
    )
    text = "Words of three bits and the pairs that differ in one of them; in colour, a path on which distances add up."
    families = {"one bit differs": edges, "the path": path}
    return PaperTable(
        "A.fig7b", "The Hamming type on three bits, and a line in it", tuple(rows), notes,
        lambda: caption(_drawn(cube, families, [str(label) for label in cube.labels], faint=1), text),
    )  # fmt: skip


def _drawn(
    space: FiniteSpace, families: Mapping[str, Sequence[tuple[int, int]]], names: Sequence[str], faint: int = 0
) -> go.Figure:
    """Points of a space with the pairs of each family as lines; so many of the first families in grey, and thin."""
    figure = canvas(width=560, height=500)
    where = drawn_places(space)
    colours = [ROLES["faint"]] * faint + [SERIES[k] for k in (4, 1, 2)]
    for (name, pairs), colour, k in zip(families.items(), colours, range(len(families)), strict=False):
        figure.add_scatter(
            **segments(where[list(pair)].tolist() for pair in pairs), mode="lines", name=name, hoverinfo="skip",
            line={"color": colour, "width": 1.5 if k < faint else 4 - k},
        )  # fmt: skip
    figure.add_scatter(
        x=where[:, 0], y=where[:, 1], mode="markers+text", text=list(names), textposition=_outwards(where),
        marker={"size": 11, "color": ROLES["ink"]}, showlegend=False,
        hovertext=[str(label) for label in space.labels], hoverinfo="text",
    )  # fmt: skip
    figure.update_layout(legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"})
    figure.update_layout(margin={"t": 48})
    figure.update_xaxes(visible=False)
    return figure.update_yaxes(visible=False, scaleanchor="x")


def _outwards(where: NDArray[np.float64]) -> list[str]:
    """Where names go so that lines to the middle do not cross them."""
    across, up = (where - where.mean(axis=0)).T
    return [f"{'top' if u > 0 else 'bottom'} {'right' if a > 0 else 'left'}" for a, u in zip(across, up, strict=True)]


SPACES: dict[str, Callable[[], PaperTable]] = {"A.fig6b": figure_6b, "A.fig7b": figure_7b}
"""Figures of spaces, by key."""


def theorem_10() -> PaperTable:
    """On every space the closest-pair mechanism is universally optimal for some monotone loss that is not trivial."""
    rows = []
    for space in (line(4), discrete(4), star(3), cycle(5), hamming(2), grid(2, 2, metric="manhattan")):
        for alpha in ("1/2", "1/5"):
            privacy = PrivacyType(space, alpha=alpha)
            mechanism, loss = closest_pair(privacy), _on_the_closest_pair(space)
            verdict = is_universally_optimal(mechanism, loss)
            rows.append({
                "space": space.name, "alpha": alpha,
                "loss is monotone": exact_cell("holds", str(is_monotone(loss, space).outcome)),
                "loss is trivial": exact_cell("fails", str(has_dominating_action(loss).outcome)),
                "universally optimal": exact_cell("holds", str(verdict.outcome)), "ground": verdict.reason,
            })  # fmt: skip
    notes = (
        "The loss is ℓ_bin with the two closest secrets as its only actions, which is monotone in every metric. The "
        "paper takes 0 at all other secrets instead of 1, which is as good, and not monotone on lines and on discrete "
        "spaces of three or more.",
    )
    return PaperTable(
        "A.theorem10", "Theorem 10: a universally optimal mechanism exists for some monotone loss", tuple(rows), notes
    )


def _on_the_closest_pair(space: FiniteSpace) -> Loss:
    """0 for naming the secret, 1 otherwise, where only the two closest secrets can be named."""
    nearest = int(space.pair_distances.floats.argmin())
    pair = [int(end[nearest]) for end in space.pairs]
    return matrix(space, bin(space).matrix[pair], actions=[space.labels[x] for x in pair])


def theorem_12() -> PaperTable:
    """On discrete spaces none is universally optimal for a strictly monotone loss with three actions or more."""
    rows = []
    for n in (3, 4):
        space = discrete(n)
        two = matrix(space, bin(space).matrix[:2], actions=space.labels[:2])
        for name, loss in (("bin", bin(space)), ("absolute", absolute(line(n))), ("bin, two actions", two)):
            for alpha in ("1/2", "1/5"):
                least = universal_design(loss, PrivacyType(space, alpha=alpha))
                rows.append({
                    "case": f"{space.name}, {name}, α = {alpha}", "actions": len(loss.actions),
                    "exists": exact_cell("fails", str(least.exists.outcome)), "least regret": least.lower,
                    "priors that prove it": 0 if least.certificate is None else len(least.certificate.priors),
                })  # fmt: skip
    notes = (
        "All of these losses are strictly monotone. With two actions a mechanism serves them, against the theorem.",
    )
    return PaperTable(
        "A.theorem12", "Theorem 12: none for strictly monotone losses on discrete spaces, true from three actions on",
        tuple(rows), notes,
    )  # fmt: skip


def corollary_13() -> PaperTable:
    """ℓ_bin on discrete spaces: two priors that no mechanism serves, whatever ε is."""
    rows = []
    for n in (3, 4, 5):
        space = discrete(n)
        for alpha in ("9/10", "1/2", "1/10"):
            verdict = impossibility(bin(space), PrivacyType(space, alpha=alpha))
            priors = verdict.witness.priors if verdict else ()
            rows.append({
                "n": n, "alpha": alpha, "impossible": exact_cell("holds", str(verdict.outcome)),
                "priors": "; ".join("(" + ", ".join(map(str, prior.weights)) + ")" for prior in priors),
                "regret at one of them": verdict.witness.regret if verdict else "—",
            })  # fmt: skip
    return PaperTable("A.corollary13", "Corollary 13: ℓ_bin on discrete spaces with more than two secrets", tuple(rows))


def figure_3() -> PaperTable:
    """U of ℓ_nib on three secrets: not a plane, so the loss is not trivial."""
    loss = nib(["x₁", "x₂", "x₃"])

    trivial = exact_cell("fails", str(is_trivial(loss).outcome))
    row = {"loss": loss.name, "trivial": trivial, "planes": len(loss.actions)}
    return PaperTable(
        "A.fig3", "Figure 3: the least expected loss of ℓ_nib", (row,), figure=partial(entropy_surface, loss)
    )


UNIVERSAL: dict[str, Callable[[], PaperTable]] = {
    "A.fig3": figure_3,
    "A.theorem10": theorem_10,
    "A.theorem12": theorem_12,
    "A.corollary13": corollary_13,
}
"""Items about universal optimality, by key."""
