"""Laws of ε*(γ, δ) and of Theorem 3.4 of E (Kleinberg and Ligett 2010)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.design.compatibility import (
    chance_of_missing,
    epsilon_star,
    finite_function,
    least_exponential,
    normalised,
    packing_bound,
    theorem_34,
    tradeoff_grid,
)
from sfumato.mechanisms import exponential
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
