"""Figures and examples of paper D (Kifer and Lin 2012), which draws curves and prints two examples with numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from sfumato.channels import Channel, Prior, cascade
from sfumato.losses.standard import bin as zero_one
from sfumato.measures import expected_loss
from sfumato.measures.utility import gram_determinant
from sfumato.mechanisms import geometric
from sfumato.orders import refines
from sfumato.papers.tables import PaperTable, cell, exact_cell
from sfumato.privacy import predicates
from sfumato.privacy.axioms import satisfies_axioms
from sfumato.privacy.decomposition import is_maximally_sufficient, row_graphs
from sfumato.privacy.predicates import Predicate
from sfumato.privacy.predicates_definitions import k_anonymity, probabilistic
from sfumato.privacy.tradeoff import smallest_delta
from sfumato.privacy.type import PrivacyType
from sfumato.report.figure import AXIS, ROLES, SERIES, canvas, caption, tint
from sfumato.spaces import graph, line

_PLACES = (0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1)


def _curves(key: str, title: str, predicate: Predicate, *notes: str) -> PaperTable:
    """M and m of a predicate at some places, with the verdict on its axioms."""
    rows = []
    for a in _PLACES:
        low, high = predicate.bounds(str(a))
        assert high - low < Fraction(1, 2**40)
        rows.append(
            {"a": a, "M(a)": float(low), "m(a)": float(1 - predicate.bounds(str(Fraction(1) - Fraction(str(a))))[0])}
        )
    verdict = satisfies_axioms(predicate)
    conditions = "conditions (1)–(6) of Theorems 2.1.3 and 2.1.4 hold" if verdict else str(verdict)
    return PaperTable(
        key, title, tuple(rows), (*notes, f"{predicate.name}: {conditions}."), partial(curves_figure, predicate, title)
    )


def curves_figure(predicate: Predicate, title: str = "") -> Any:
    """The upper and lower curve of a predicate, with what they allow in between.

    Examples
    --------
    >>> [trace.name for trace in curves_figure(predicates.gaussian(1)).data[:2]]
    ['m(a)', 'M(a)']
    """
    figure = canvas(width=560, height=560)
    # more points near the ends, where the curves are steep
    a = (1 - np.cos(np.linspace(0, np.pi, 401))) / 2
    upper, lower = predicate.upper(a), predicate.lower(a)
    figure.add_scatter(x=a, y=lower, name="m(a)", line={"color": SERIES[0], "width": 2, "simplify": False})
    figure.add_scatter(
        x=a,
        y=upper,
        name="M(a)",
        line={"color": SERIES[1], "width": 2, "simplify": False},
        fill="tonexty",
        fillcolor="rgba(157,183,201,0.25)",
    )
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": ROLES["faint"], "width": 1, "dash": "dot"}, showlegend=False,
        hoverinfo="skip",
    )  # fmt: skip
    plain = {**AXIS, "range": [0, 1], "mirror": True}
    figure.update_layout(
        margin={"l": 64, "r": 24, "t": 24, "b": 56},
        legend={"x": 0.97, "y": 0.08, "yanchor": "bottom"},
        xaxis={**plain, "title_text": "P(O | i₁)"},
        yaxis={**plain, "title_text": "P(O | i₂)", "scaleanchor": "x"},
    )
    text = (
        f"{title}. For an event of probability a under one secret, its probability under a neighbour lies in between."
    )
    return caption(figure, text)


def figure_1() -> PaperTable:
    """(ε, δ)-differential privacy with ε = 1 and δ = 0.1."""
    note = "M(a) = min{1, e^ε a + δ, 1 − e^−ε(1 − a − δ)}; at a = 0 both δ and m(0) = 0 can be read off."
    return _curves("D.fig1", "(1, 0.1)-differential privacy", predicates.epsilon_delta(epsilon=1, delta="0.1"), note)


_TAILS = (0.05, 0.1, 0.2, 0.5)
_DRAWN = 0.2  # the tail that is drawn
_UNSAID = "The paper names no density, p or t for its drawing; here a Gaussian one, p = 0.2 and t = 1."


def figure_2() -> PaperTable:
    """The right tail of probability p of a density, and where it begins."""
    rows = tuple({"p": p, "G⁻¹(p)": float(-ndtri(p)), "G(G⁻¹(p))": float(ndtr(ndtri(p)))} for p in _TAILS)
    return PaperTable(
        "D.fig2", "A right tail of probability p", rows, (_UNSAID,), partial(_draw_tail, 0.0, SERIES[4], "Figure 2")
    )


def figure_3() -> PaperTable:
    """The same tail with its boundary moved to the left by t = 1, beside what other sets of probability p gain."""
    curve = predicates.gaussian(1)
    rows = []
    for p in _TAILS:
        place, middle = -ndtri(p), -ndtri((1 - p) / 2)  # the middle set is [−middle, middle]
        rows.append(
            {
                "p": p,
                "G⁻¹(p) − t": float(place - 1),
                "G(G⁻¹(p) − t)": float(ndtr(1 - place)),
                "M(p)": float(curve.upper(p)),
                "an interval in the middle": float(ndtr(middle - 1) - ndtr(-middle - 1)),
                "the left tail": float(ndtr(ndtri(p) - 1)),
            }
        )
    notes = (
        _UNSAID,
        "The area after the move is M(p) of Figure 4. By Theorem 2.2.1 no other set of probability p gains more; of "
        "the last two columns the left tail even loses.",
    )
    return PaperTable("D.fig3", "The tail after its boundary has moved by t", tuple(rows), notes,
                      partial(_draw_tail, 1.0, SERIES[1], "Figure 3"))  # fmt: skip


def _draw_tail(shift: float, colour: str, name: str) -> Any:
    figure = canvas(width=620, height=420)
    start = float(-ndtri(_DRAWN)) - shift
    x, tail = np.linspace(-3.5, 3.5, 281), np.linspace(start, 3.5, 201)

    def density(x: Any) -> Any:
        return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)

    figure.add_scatter(x=tail, y=density(tail), name="the tail", fill="tozeroy", fillcolor=tint(colour, 0.45),
                       line={"color": colour, "width": 0}, showlegend=False)  # fmt: skip
    figure.add_scatter(x=x, y=density(x), name="density", line={"color": ROLES["ink"], "width": 2}, showlegend=False)
    figure.add_scatter(x=[start, start], y=[0, density(start)], mode="lines", showlegend=False, hoverinfo="skip",
                       line={"color": ROLES["ink"], "width": 1, "dash": "dot"})  # fmt: skip
    label = "G⁻¹(p) − t" if shift else "G⁻¹(p)"
    figure.add_annotation(x=start, y=0, text=label, showarrow=False, yshift=-14)
    area = float(ndtr(-start))
    figure.add_annotation(x=start + 0.55, y=density(start) / 3, text=f"{area:.3f}", showarrow=False)
    figure.update_layout(
        margin={"l": 40, "r": 24, "t": 24, "b": 40},
        xaxis={**AXIS, "range": [-3.5, 3.5], "showticklabels": False, "ticks": ""},
        yaxis={**AXIS, "range": [-0.03, 0.42], "showticklabels": False, "ticks": ""},
    )
    what = "moved to the left by t = 1" if shift else "of probability p = 0.2"
    return caption(figure, f"{name}. The right tail {what}, with its area, under a Gaussian density.")


def figure_4() -> PaperTable:
    """The Gaussian density, moved by 1."""
    note = "M(a) = Φ(Φ⁻¹(a) + 1); as a trade-off function 1 − M this is Gaussian differential privacy with μ = 1."
    return _curves("D.fig4", "Curves of a Gaussian density", predicates.gaussian(1), note)


_MOVED = "The paper does not say by how much the density is moved; 1 as in Figure 4."


def figure_5() -> PaperTable:
    """The Laplace density, moved by 1."""
    note = "Up to a = 1/(2e) and from a = 1/2 on the curve is that of 1-differential privacy; in between it is lower."
    return _curves("D.fig5", "Curves of a Laplace density", predicates.laplace(epsilon=1), _MOVED, note)


def figure_6() -> PaperTable:
    """The exponential density, moved by 1."""
    note = "M(a) = min(1, e·a): one half of 1-differential privacy, for a relation of neighbours in one direction."
    return _curves("D.fig6", "Curves of an exponential density", predicates.exponential(epsilon=1), _MOVED, note)


def figure_7() -> PaperTable:
    """The exponential density, moved by 1 and symmetrised."""
    both, pure = predicates.symmetrised(predicates.exponential(epsilon=1)), predicates.pure(epsilon=1)
    same = "the same lines as" if set(both.parts) == set(pure.parts) else "other lines than"
    note = f"Symmetrised, the predicate has {same} 1-differential privacy."
    return _curves("D.fig7", "Curves of an exponential density, symmetrised", both, _MOVED, note)


def figure_8() -> PaperTable:
    """The survey: the mechanism that tells nothing has the smaller expected loss."""
    secrets = ("Yes", "No")
    prior, loss = Prior(secrets, ["3/4", "1/4"]), zero_one(secrets)
    first = Channel(secrets, [["2/3", "1/3"], ["1/3", "2/3"]], secrets)
    second = Channel(secrets, [[1, 0], [1, 0]], secrets)
    rows = tuple(
        {"mechanism": name, "expected loss": exact_cell(printed, expected_loss(prior, channel, loss))}
        for name, channel, printed in (("M₁", first, Fraction(1, 3)), ("M₂", second, Fraction(1, 4)))
    )
    notes = (
        f"M₂ is M₁ followed by post-processing: {refines(second, first).outcome}. M₁ from M₂: "
        f"{refines(first, second).outcome}.",
        "Expected loss with outputs taken as answers prefers the mechanism that tells nothing.",
    )
    return PaperTable("D.fig8", "Two mechanisms for a survey", rows, notes)


def example_322() -> PaperTable:
    """√det(MᵀM) grows when two outputs are merged."""
    first = Channel([0, 1], [[0, "7/10", "3/10"], ["4/5", 0, "1/5"]])
    second = cascade(first, Channel([0, 1, 2], [[1, 0], [0, 1], [0, 1]]))
    rows = (
        {"mechanism": "M₁", "√det": cell("0.6251", gram_determinant(first))},
        {"mechanism": "M₂ = A·M₁", "√det": cell("0.8", gram_determinant(second))},
    )
    notes = (
        "The measure prefers the mechanism that can be simulated by the other, so it breaks the axiom of sufficiency.",
    )
    return PaperTable("D.example322", "√|det MᵀM| does not respect sufficiency", rows, notes)


def figure_9() -> PaperTable:
    """A mechanism as a matrix with a column for each input: the transpose of a channel."""
    channel = geometric(PrivacyType(line(3), alpha="1/2")).channel
    blur = Channel(range(3), [["1/2", "1/2"], [0, 1], [0, 1]])
    rows = tuple(
        {"output": f"o{y + 1}", **{f"i{x + 1}": str(channel.matrix[x, y]) for x in range(3)}} for y in range(3)
    )
    sums = {"output": "sum", **{f"i{x + 1}": str(sum(channel.matrix[x])) for x in range(3)}}
    product = blur.matrix.T @ channel.matrix.T
    same = bool((product == cascade(channel, blur).matrix.T).all())
    notes = (
        "The paper prints the form only; here the truncated geometric mechanism on three inputs with e^ε = 2.",
        "In the paper's matrices inputs are columns, which sum to 1; the rows of a channel are those columns. A∘M is "
        f"the product A·M there and the cascade of M and A here: {'equal' if same else 'not equal'}.",
    )
    return PaperTable("D.fig9", "A mechanism as a matrix", (*rows, sums), notes, partial(_draw_matrix, channel))


def _draw_matrix(channel: Channel) -> Any:
    figure = canvas(width=440, height=380)
    inputs, outputs = [f"i{x + 1}" for x in range(3)], [f"o{y + 1}" for y in range(3)]
    figure.add_heatmap(
        x=inputs, y=outputs, z=channel.matrix.T.astype(float), text=channel.matrix.T.astype(str), xgap=2, ygap=2,
        texttemplate="%{text}", colorscale=[[0, "#ffffff"], [1, tint(SERIES[1], 0.6)]], zmin=0, zmax=1, showscale=False,
    )  # fmt: skip
    figure.update_layout(
        margin={"l": 48, "r": 24, "t": 40, "b": 16},
        xaxis={"side": "top", "ticks": ""},
        yaxis={"autorange": "reversed", "ticks": ""},
    )
    return caption(figure, "Figure 9. P(o | i) with a column for each input and a row for each output.")


_INPUTS = ("i1", "i3", "i4", "i2")  # the order of the chain that Figure 10 shows for its first output


def figure_10() -> PaperTable:
    """Row graphs of a maximally sufficient mechanism on four inputs, the chain i1 → i3 → i4 → i2 among them."""
    chain = graph(list(pairwise(_INPUTS)), labels=_INPUTS)
    privacy = PrivacyType(chain, alpha="1/2")
    channel = Channel(_INPUTS, geometric(PrivacyType(line(4), alpha="1/2")).channel.matrix, ["o1", "o2", "o3", "o4"])
    graphs = row_graphs(channel, privacy)
    printed = {"o1": "i1 → i3, i3 → i4, i4 → i2"}
    rows = []
    for j, (output, pairs) in enumerate(graphs.items()):
        along = sorted(pairs, key=lambda pair: min(map(_INPUTS.index, pair)))
        rows.append({
            "output": output,
            "tight pairs": exact_cell(printed.get(output, "—"), ", ".join(f"{x} → {z}" for x, z in along)),
            **{f"P({output[0]}|{x})": str(channel.matrix[k, j]) for k, x in enumerate(_INPUTS)},
        })  # fmt: skip
    notes = (
        "An arrow x → z means P(o | x) = e^ε P(o | z). The text prints the equations of o1; the relation and the other "
        "two graphs are in the drawing only, so that here inputs are neighbours along the chain, with e^ε = 2.",
        f"Is the mechanism maximally sufficient? {is_maximally_sufficient(channel, privacy)}.",
    )
    return PaperTable("D.fig10", "Row graphs of a mechanism", tuple(rows), notes, partial(_draw_graphs, graphs))


_CORNERS = {"i1": (0.0, 1.0), "i2": (1.0, 1.0), "i3": (0.0, 0.0), "i4": (1.0, 0.0)}


def _draw_graphs(graphs: dict[str, tuple[tuple[str, str], ...]]) -> Any:
    figure = canvas(width=720, height=280)
    for k, (output, pairs) in enumerate(graphs.items()):
        at = {name: (x + 1.8 * k, y) for name, (x, y) in _CORNERS.items()}
        for x, z in pairs:
            (x0, y0), (x1, y1) = at[x], at[z]
            figure.add_annotation(x=x1, y=y1, ax=x0, ay=y0, xref="x", yref="y", axref="x", ayref="y", text="",
                                  showarrow=True, arrowhead=2, arrowwidth=1.6, standoff=15, startstandoff=15,
                                  arrowcolor=SERIES[1])  # fmt: skip
        figure.add_scatter(
            x=[x for x, _ in at.values()], y=[y for _, y in at.values()], text=list(at), mode="markers+text",
            marker={"size": 28, "color": tint(SERIES[1], 0.25), "line": {"color": ROLES["frame"], "width": 1}},
            name=output, showlegend=False, hoverinfo="skip",
        )  # fmt: skip
        figure.add_annotation(x=0.5 + 1.8 * k, y=-0.42, text=output, showarrow=False)
    blank = {"visible": False, "showgrid": False, "zeroline": False}
    figure.update_layout(xaxis={**blank, "range": [-0.4, 6.8]}, yaxis={**blank, "range": [-0.6, 1.3]})
    return caption(figure, "Figure 10. Row graphs: an arrow leads to the input at which the output is e^ε times rarer.")


def section_22() -> PaperTable:
    """ln 2-differential privacy with probability 0.99, before and after merging two outputs."""
    definition = probabilistic(delta="1/100", alpha="1/2")
    breach = satisfies_axioms(definition).witness.breach
    (before,) = breach.mechanisms
    after = breach.result
    rows = tuple(
        {
            "mechanism": name,
            "probability of ln 2-privacy": cell(printed, 1 - _bad(channel)),
            "kept": definition.keeps(channel),
            "least δ of (ln 2, δ)": str(smallest_delta(channel, alpha="1/2").high),
        }
        for name, channel, printed in (("A B C D", before, "0.99"), ("A E C, with E = B or D", after, "0.79"))
    )
    notes = (
        "Bad outputs after merging are C and E, with probability 0.11 for input 0 and 0.21 for input 1, the worst.",
        "The violated constraint is P(M(1) = E) ≤ 2 P(M(0) = E), 0.21 against 0.2; printed with the inputs exchanged.",
        "(ln 2, δ)-differential privacy, which satisfies the axioms, does not change: δ = 1/100 before and after.",
        *(
            f"Also named there: {satisfies_axioms(other).reason}."
            for other in (probabilistic(delta="1/100", alpha="1/2", slack="1/20"), k_anonymity(2))
        ),
    )
    return PaperTable("D.section22", "Privacy with high probability is not consistent", rows, notes)


def _bad(channel: Channel) -> Fraction:
    """The largest probability, over inputs, of the outputs that break ln 2-differential privacy."""
    rows = channel.matrix
    bad = [max(column) > 2 * min(column) for column in rows.T]
    return max(sum((p for p, b in zip(row, bad, strict=True) if b), Fraction(0)) for row in rows)


ITEMS: dict[str, Callable[[], PaperTable]] = {
    "D.fig1": figure_1,
    "D.fig2": figure_2,
    "D.fig3": figure_3,
    "D.fig4": figure_4,
    "D.fig5": figure_5,
    "D.fig6": figure_6,
    "D.fig7": figure_7,
    "D.fig8": figure_8,
    "D.fig9": figure_9,
    "D.fig10": figure_10,
    "D.example322": example_322,
    "D.section22": section_22,
}
"""Every item of the paper that can be rerun, by key."""
