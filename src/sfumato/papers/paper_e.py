"""Paper E (Kleinberg and Ligett 2010): uniformly positive measures, and which families are privacy-compatible."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from scipy.stats import norm, uniform

from sfumato.numbers import text_above, text_below
from sfumato.papers.tables import PaperTable, exact_cell
from sfumato.spaces import FiniteSpace, discrete, hamming, line
from sfumato.theory.compatibility import (
    Answers,
    ball,
    countable_discrete,
    cube,
    epsilon_star,
    finite,
    interval,
    is_uniformly_positive,
    least_exponential,
    packing_bound,
    privacy_compatible,
    ranges,
    real_line,
    sup_ball,
    theorem_34,
    thresholds,
)
from sfumato.verdict import Verdict

_GAMMA, _DELTA = Fraction(1, 4), Fraction(1, 10)
_SCALES = (Fraction(1, 4), Fraction(1, 8))
_SIZES = (5, 9, 17)


def _points(count: int) -> FiniteSpace:
    """Evenly spaced points of [0, 1]."""
    return line(count, step=Fraction(1, count - 1))


def _families() -> list[tuple[Answers, str, Callable[[int], FiniteSpace] | None]]:
    """A family, what the paper says of it, and finite parts of it that grow."""
    return [
        (interval(), "holds", _points),
        (cube(2), "—", None),
        (ball(2), "—", None),
        (finite(hamming(3)), "—", None),
        (countable_discrete(), "—", discrete),
        (real_line(), "—", discrete),
        (real_line(None), "—", None),
        (sup_ball(), "—", discrete),
        (thresholds(), "—", discrete),
        (ranges(), "fails", discrete),
    ]


def theorem_3_4() -> PaperTable:
    """Compatible if and only if the completion of the answers is compact."""
    known: dict[tuple[Any, int], str] = {}
    rows = []
    for family, printed, part in _families():
        verdict = privacy_compatible(family, scales=_SCALES)
        row: dict[str, Any] = {
            "family": family.name,
            "compatible": exact_cell(printed, str(verdict.outcome)),
            "witness": _witness(verdict),
        }
        for n in _SIZES:
            if part is not None and (part, n) not in known:
                known[part, n] = _enclosed(part(n))
            row[f"ε* of {n} of its points"] = "—" if part is None else known[part, n]
        rows.append(row)
    return PaperTable("E.theorem34", "Theorem 3.4: which families are privacy-compatible", tuple(rows), _notes())


def example_3_3() -> PaperTable:
    """The uniform measure on [0, 1] is uniformly positive, the Gaussian measure on the line is not."""
    radii = [Fraction(1, 2**i) for i in range(1, 5)]
    even, normal = (is_uniformly_positive(law, scales=radii) for law in (uniform(), norm()))
    rows = [
        {"measure": name, "uniformly positive": exact_cell(printed, str(verdict.outcome))}
        for name, printed, verdict in (("uniform on [0, 1]", "holds", even), ("Gaussian on ℝ", "fails", normal))
    ]
    for ball_ in even.witness:
        rows[0][f"least mass, r = {ball_.radius}"] = round(ball_.mass, 6)
        thin = is_uniformly_positive(norm(), scales=[ball_.radius]).witness
        rows[1][f"least mass, r = {ball_.radius}"] = f"{thin.mass:.1e} around {thin.centre:.2f}, and less beyond"
    notes = (
        "A ball around an end of [0, 1] has half of the interval that one in the middle has: the least mass is r.",
        "A measure is uniformly positive on its support exactly when that is totally bounded: balls that do not meet "
        "share a mass of 1, and of infinitely many some have as little as one likes.",
    )
    return PaperTable("E.example33", "Example 3.3: uniformly positive measures", tuple(rows), notes)


def _witness(verdict: Verdict) -> str:
    if isinstance(verdict.witness, tuple):
        return ", ".join(f"{net.size} balls of radius {net.radius}" for net in verdict.witness)
    if isinstance(verdict.witness, str):
        return f"ε = {verdict.witness}"
    packing = verdict.witness.packing
    return f"{packing.text}: pairwise {packing.separation} apart"


def _enclosed(space: FiniteSpace) -> str:
    star = epsilon_star(space, _GAMMA, _DELTA)
    assert star.high is not None
    return f"{float(star.high):.3f}"


def _notes() -> tuple[str, ...]:
    space = _points(_SIZES[-1])
    packed = float(packing_bound(space, _GAMMA, _DELTA).epsilon)
    best, uniform = (least_exponential(space, _GAMMA, _DELTA, base=base).epsilon for base in ("best", "uniform"))
    bound = theorem_34(space, _GAMMA, _DELTA, base="uniform")
    return (
        f"ε* is for γ = {_GAMMA}, δ = {_DELTA}, closed balls; upper ends of brackets of relative width 0.001, proved. "
        "Where answers stay 1 apart, n of them need ln((n − 1)(1 − δ)/δ): no ε is enough for all.",
        f"{_SIZES[-1]} points of [0, 1]: a packing gives {text_below(packed, 4)}, ε* = {_enclosed(space)}, the "
        f"exponential mechanism needs {best:.3f} with the best base measure that was found and {uniform:.3f} with the "
        f"uniform one; the proof of the theorem promises {text_above(bound.epsilon, 4)}, and its mechanism really "
        f"needs {text_above(bound.really.epsilon, 4)}.",
        "The theorem is about bounded sets of databases. The real line at distance |x − y| is not one, and Laplace "
        "noise makes it compatible; at distance min(1, |x − y|) it is not.",
        "Small slips in the paper: a base measure lives on answers, not on databases (Definition 2.6); (6) holds with "
        "≥; in (4) ⇒ (3) the index i is at least 1; Remark 2.4 means ε*(γ, δ); second lines in Lemma A.1 mean f(z).",
    )


ITEMS: dict[str, Callable[[], PaperTable]] = {"E.example33": example_3_3, "E.theorem34": theorem_3_4}
"""Items of paper E, by key."""
