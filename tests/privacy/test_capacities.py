from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings

import sfumato as sf
from strategies import exact_private_channels


@pytest.mark.parametrize(
    ("space", "multiplicative", "additive"),
    [
        (sf.line(2), Fraction(4, 3), Fraction(1, 3)),
        (sf.line(3), Fraction(5, 3), Fraction(1, 2)),
        (sf.line(4), Fraction(2), Fraction(2, 3)),
        (sf.line(5), Fraction(7, 3), Fraction(3, 4)),
        (sf.line(6), Fraction(8, 3), Fraction(5, 6)),
        # Corollary 22 of paper A prints 1 − 1/(1+(n−1)e^ε) for the additive one; its Table 5a has this
        *((sf.discrete(n), Fraction(2 * n, n + 1), 1 - Fraction(n, 2 * n - 1)) for n in range(2, 6)),
        (sf.hamming(2), Fraction(16, 9), Fraction(5, 9)),
        (sf.hamming(3), Fraction(64, 27), Fraction(19, 27)),
        (sf.hamming(4), Fraction(256, 81), Fraction(65, 81)),
    ],
    ids=lambda v: getattr(v, "name", str(v)),
)  # fmt: skip
def test_tables_of_paper_a(space: sf.FiniteSpace, multiplicative: Fraction, additive: Fraction) -> None:
    privacy = sf.PrivacyType(space, alpha="1/2")
    found = sf.capacities(privacy)
    assert found.multiplicative == multiplicative
    assert found.additive == additive
    assert sf.capacity(found.most_multiplicative).multiplicative == multiplicative
    assert sf.capacity(found.most_additive).additive == additive
    assert sf.satisfies(found.most_multiplicative, privacy)
    assert sf.satisfies(found.most_additive, privacy)


@pytest.mark.parametrize(("side", "multiplicative", "additive"), [(2, 1.6840586, 0.4781572), (3, 2.5023666, 0.6247858)])
def test_euclidean_grids(side: int, multiplicative: float, additive: float) -> None:
    found = sf.capacities(sf.PrivacyType(sf.grid(side, side), alpha="1/2"))
    assert found.multiplicative == pytest.approx(multiplicative, abs=5e-8)
    assert found.additive == pytest.approx(additive, abs=5e-8)


@given(exact_private_channels())
@settings(max_examples=40)
def test_no_mechanism_of_the_type_exceeds_them(case: Any) -> None:
    channel, privacy = case
    own, largest = sf.capacity(channel), sf.capacities(privacy)
    assert own.multiplicative <= largest.multiplicative
    assert own.additive <= largest.additive
