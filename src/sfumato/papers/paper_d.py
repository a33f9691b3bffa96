"""Figures and examples of paper D (Kifer and Lin 2012), which draws curves and prints two examples with numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from sfumato.channels import Channel, Prior, cascade
from sfumato.losses.standard import bin as zero_one
from sfumato.measures import expected_loss
from sfumato.measures.utility import gram_determinant
from sfumato.orders import refines
from sfumato.papers.tables import PaperTable, cell, exact_cell
from sfumato.privacy import predicates
from sfumato.privacy.axioms import satisfies_axioms
from sfumato.privacy.predicates import Predicate
from sfumato.privacy.predicates_definitions import probabilistic
from sfumato.privacy.tradeoff import smallest_delta
from sfumato.report.figure import AXIS, ROLES, SERIES, canvas, caption

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
    )
    return PaperTable("D.section22", "Privacy with high probability is not consistent", rows, notes)


def _bad(channel: Channel) -> Fraction:
    """The largest probability, over inputs, of the outputs that break ln 2-differential privacy."""
    rows = channel.matrix
    bad = [max(column) > 2 * min(column) for column in rows.T]
    return max(sum((p for p, b in zip(row, bad, strict=True) if b), Fraction(0)) for row in rows)


ITEMS: dict[str, Callable[[], PaperTable]] = {
    "D.fig1": figure_1,
    "D.fig4": figure_4,
    "D.fig5": figure_5,
    "D.fig6": figure_6,
    "D.fig7": figure_7,
    "D.fig8": figure_8,
    "D.example322": example_322,
    "D.section22": section_22,
}
"""Every item of the paper that can be rerun, by key."""
