"""Laws of ε*(γ, δ) and of Theorem 3.4 of E (Kleinberg and Ligett 2010)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.mechanisms import exponential
from sfumato.theory.compatibility import (
    ball,
    chance_of_missing,
    countable_discrete,
    cube,
    epsilon_star,
    finite,
    finite_function,
    interval,
    is_uniformly_positive,
    least_exponential,
    net_measure,
    normalised,
    packing_bound,
    ranges,
    real_line,
    sup_ball,
    theorem_34,
    thresholds,
    tradeoff_grid,
)
from sfumato.theory.compatibility.utility import utility
from strategies import spaces

CHANCES = st.sampled_from([Fraction(1, 20), Fraction(1, 8), Fraction(1, 4), Fraction(2, 5)])
PRECISION = 0.01


@given(spaces(), st.integers(0, 2), CHANCES)
@settings(max_examples=25, deadline=None)
def test_the_bounds_enclose_epsilon_star(space: sf.FiniteSpace, gamma: int, delta: Fraction) -> None:
    """Packing ≤ ε* ≤ exponential mechanism ≤ Theorem 3.4."""
    star = epsilon_star(space, gamma, delta, precision=PRECISION)
    assert star.high is not None
    assert packing_bound(space, gamma, delta).epsilon <= star.high
    made = least_exponential(space, gamma, delta)
    assert star.low <= made.epsilon
    assert made.missing <= delta
    if gamma:
        assert made.epsilon <= float(theorem_34(space, gamma, delta, base="uniform").epsilon) * (1 + 1e-8)


@given(spaces(), CHANCES, CHANCES, st.integers(0, 2), st.integers(0, 2))
@settings(max_examples=20, deadline=None)
def test_epsilon_star_falls_with_both(
    space: sf.FiniteSpace, delta: Fraction, other: Fraction, gamma: int, more: int
) -> None:
    """A larger ball and a larger chance of missing cost no more; an open ball costs no less than a closed one."""
    hard = epsilon_star(space, gamma, min(delta, other), precision=PRECISION)
    easy = epsilon_star(space, gamma + more, max(delta, other), precision=PRECISION)
    assert hard.high is not None and easy.high is not None
    assert easy.low <= hard.high
    opened = epsilon_star(space, gamma, min(delta, other), "open", precision=PRECISION)
    assert opened.high is None or hard.low <= opened.high


@given(spaces(), st.lists(st.integers(0, 3), min_size=1, max_size=3), st.lists(CHANCES, min_size=1, max_size=3))
@settings(max_examples=20, deadline=None)
def test_a_grid_falls_with_both_and_encloses_single_values(
    space: sf.FiniteSpace, gammas: list[int], deltas: list[Fraction]
) -> None:
    """Brackets of a grid are proved, no wider than asked, fall with γ and δ, and meet those of single values."""
    found = tradeoff_grid(space, sorted(gammas), sorted(deltas))
    assert (np.diff(found.low, axis=0) <= 0).all() and (np.diff(found.high, axis=1) <= 0).all()
    for gamma, row in zip(found.gammas, found.cells, strict=True):
        for delta, cell in zip(found.deltas, row, strict=True):
            single = epsilon_star(space, gamma, delta, precision=PRECISION)
            assert single.high is not None and cell.high is not None
            assert cell.low <= single.high and single.low <= cell.high
            assert cell.high - cell.low <= Fraction("0.05") * cell.high
            if cell.high:
                assert cell.mechanism is not None and cell.refuted is not None
                assert sf.verify(cell.mechanism) and sf.verify(cell.refuted)
                assert chance_of_missing(cell.mechanism, space, gamma) == cell.missing
                assert cell.missing <= delta < (cell.refuted.proof.bound or 0)


@given(spaces(), st.integers(0, 1), CHANCES, st.sampled_from(["1/2", "1/4", "1/9"]))
@settings(max_examples=25, deadline=None)
def test_no_mechanism_beats_epsilon_star(space: sf.FiniteSpace, gamma: int, delta: Fraction, alpha: str) -> None:
    """A mechanism with (γ, δ)-utility and promise ε shows ε* ≤ ε."""
    privacy = sf.PrivacyType(space, alpha=alpha)
    if chance_of_missing(exponential(privacy), space, gamma) <= delta:
        assert float(epsilon_star(space, gamma, delta, precision=PRECISION).low) <= privacy.rate


@st.composite
def steep_functions(draw: Any) -> Any:
    """From a short line to multiples on a longer one, in any order."""
    n = draw(st.integers(2, 4))
    values = draw(st.lists(st.integers(0, 6), min_size=n, max_size=n).filter(lambda v: len(set(v)) > 1))
    return finite_function(lambda x: values[x], sf.line(n), sf.line(7))


@given(steep_functions(), st.integers(0, 2), CHANCES)
@settings(max_examples=20, deadline=None)
def test_remark_2_4_rescaling(function: Any, gamma: int, delta: Fraction) -> None:
    """ε* of f is C times ε* of f after ρ is replaced by Cρ."""
    rescaled, constant = normalised(function)
    whole = epsilon_star(function, gamma, delta, precision=PRECISION)
    part = epsilon_star(rescaled, gamma, delta, precision=PRECISION)
    assert whole.high is not None and part.high is not None
    assert whole.low <= constant * part.high
    assert constant * part.low <= whole.high


@given(spaces(), st.integers(1, 2), CHANCES, st.data())
@settings(max_examples=25, deadline=None)
def test_theorem_3_4_for_any_base_measure(
    space: sf.FiniteSpace, gamma: int, delta: Fraction, data: st.DataObject
) -> None:
    """Whatever positive measure: β = (2/γ) ln(1/(δm)) has (γ, δ)-utility and needs 2β at most."""
    base = data.draw(st.lists(st.integers(1, 9), min_size=len(space), max_size=len(space)))
    bound = theorem_34(space, gamma, delta, base=base)
    assert bound.really.missing <= delta
    assert bound.really.epsilon <= float(bound.epsilon) * (1 + 1e-8)
    assert chance_of_missing(bound.really.mechanism, space, gamma) == bound.really.missing


# ----------------------------------------------------------------- Remark 2.5: what the distance of answers covers


@given(st.integers(2, 4), st.integers(1, 3), st.integers(0, 4), st.sampled_from(["1/2", "1/4"]), st.data())
@settings(max_examples=40, deadline=None)
def test_remark_2_5_a_class_of_queries_is_the_largest_difference(
    size: int, queries: int, quarters: int, alpha: str, data: st.DataObject
) -> None:
    """Utility for a class of queries, max_h |h(x) − h(y)| ≤ γ, is utility in the sup distance of the vectors (h(x))."""
    answers = st.lists(st.integers(0, 4), min_size=queries, max_size=queries)
    vectors = data.draw(st.lists(answers, min_size=size, max_size=size, unique_by=tuple))
    labels = [tuple(vector) for vector in vectors]
    space = sf.points([[Fraction(v, 4) for v in vector] for vector in vectors], metric="chebyshev", labels=labels)
    mechanism = exponential(sf.PrivacyType(space, alpha=alpha))
    gamma = Fraction(quarters, 4)
    missed = [
        sum((p for y, p in zip(mechanism.outputs, row, strict=True)
             if max(abs(Fraction(a - b, 4)) for a, b in zip(x, y, strict=True)) > gamma), Fraction(0))
        for x, row in zip(mechanism.secrets, mechanism.channel.matrix, strict=True)
    ]  # fmt: skip
    assert chance_of_missing(mechanism, space, gamma) == max(missed)


@given(spaces(), st.sampled_from(["1/2", "1/4"]), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_remark_2_5_moments_bound_the_chance_of_missing(space: sf.FiniteSpace, alpha: str, gamma: int) -> None:
    """Where others take a mean square, the chance of missing by more than γ is at most that over γ² (Markov)."""
    mechanism = exponential(sf.PrivacyType(space, alpha=alpha))
    table = space.distances.floats**2
    columns = [space.index(y) for y in mechanism.outputs]
    squares = (mechanism.channel.matrix.astype(float) * table[:, columns]).sum(axis=1).max()
    assert float(chance_of_missing(mechanism, space, gamma)) <= squares / gamma**2 * (1 + 1e-9)


# ----------------------------------------------------------------- Definition 3.2, Lemma A.1, Theorem A.2


@given(spaces(), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_theorem_3_4_the_measure_of_nets_is_uniformly_positive(space: sf.FiniteSpace, i: int) -> None:
    """(4) ⇒ (3): a ball of radius 2^−i diameters has mass 2^−i / n(i) at least, n(i) ≤ |Y| being the size of a net."""
    table = space.distances
    across = max(table.bounds(v)[1] for v in np.unique(table.values))
    if not across:
        return
    verdict = is_uniformly_positive(net_measure(space), space, scales=[across / 2**i])
    assert verdict
    (least,) = verdict.witness
    assert least.least == least.mass >= Fraction(1, 2**i * len(space))


@given(spaces(), st.fractions(Fraction(1, 4), 4, max_denominator=4))
@settings(max_examples=60, deadline=None)
def test_theorem_a_2_packings_and_nets(space: sf.FiniteSpace, radius: Fraction) -> None:
    """(3) ⇒ (2): a maximal family of disjoint balls of radius r/2 gives balls of radius r that cover; and of r-balls
    that cover none holds two centres of disjoint balls of radius 2r, so one number bounds the other."""
    near = {r: ~utility(space, r).far for r in (radius / 2, radius, 2 * radius)}

    def disjoint(r: Fraction) -> list[int]:
        chosen: list[int] = []
        for x in range(len(space)):
            if not any((near[r][x] & near[r][z]).any() for z in chosen):
                chosen.append(x)
        return chosen

    centres = disjoint(radius / 2)
    assert near[radius][centres].any(axis=0).all()
    net = finite(space).net
    assert net is not None
    assert len(disjoint(2 * radius)) <= net(radius).size <= len(space)


def test_theorem_a_2_for_described_families() -> None:
    """A family has finite nets of all scales or infinitely many answers that stay apart, and no family both."""
    families = [interval(), cube(2), ball(2), countable_discrete(), sup_ball(), thresholds(), ranges(), real_line()]
    for family in families:
        assert (family.net is None) != (family.packing is None)
        if family.net is not None:
            assert all(family.net(Fraction(1, 2**i)).size < 10**6 for i in range(1, 6))
        else:
            assert family.packing is not None and family.packing.check(40)


@given(spaces(), st.integers(2, 4), st.data())
@settings(max_examples=60, deadline=None)
def test_lemma_a_1(space: sf.FiniteSpace, q: int, data: st.DataObject) -> None:
    """Both integrals of the quotient change by e^{βρ} at most, e^{−β} = 1/q; second lines are printed with f(x)."""
    base = data.draw(st.lists(st.integers(1, 9), min_size=len(space), max_size=len(space)))
    event = data.draw(st.lists(st.booleans(), min_size=len(space), max_size=len(space)))
    table = space.distances.floats
    x, z = (data.draw(st.integers(0, len(space) - 1)) for _ in range(2))
    weights = np.array(base) * float(q) ** -table
    inside = weights[:, event].sum(axis=1)
    change = float(q) ** table[x, z]
    assert inside[x] <= change * inside[z] * (1 + 1e-12)
    assert weights[x].sum() >= weights[z].sum() / change * (1 - 1e-12)
    if any(event):
        chances = inside / weights.sum(axis=1)
        assert chances[x] <= change**2 * chances[z] * (1 + 1e-12)
