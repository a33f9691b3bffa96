from __future__ import annotations

from fractions import Fraction
from math import inf, log

import pytest

import sfumato as sf
from sfumato.errors import InvalidEpsilon, Mismatch
from sfumato.orders import multiplicative_kantorovich


def test_between_points_it_is_the_distance() -> None:
    for space in (sf.line(4), sf.grid(2, 3), sf.cycle(5), sf.points([[0.1, 0.7], [0.3, 0.2], [0.9, 0.4]])):
        for x in space.labels:
            for z in space.labels:
                found = multiplicative_kantorovich(sf.Prior.point(space, x), sf.Prior.point(space, z), space)
                assert found.lower == pytest.approx(space.distance(x, z), abs=1e-14)
                assert 0 <= found.upper - found.lower <= 1e-14


def test_rational_factors_are_exact() -> None:
    space = sf.line(3)
    first, second = sf.Prior(space, ["1/2", "1/2", 0]), sf.Prior(space, [0, "1/2", "1/2"])
    found = multiplicative_kantorovich(first, second, space, alpha="1/3")
    assert found.ratio == 3 and found.lower <= log(3) <= found.upper
    even = multiplicative_kantorovich(first, first, space, alpha="1/3")
    assert (even.ratio, even.lower, even.upper) == (1, 0, 0)
    half = multiplicative_kantorovich(first, second, sf.graph([(0, 1, "1/2"), (1, 2, "1/2")]), alpha="1/9")
    assert half.ratio is None and half.lower == pytest.approx(log(3), abs=1e-14)


def test_the_function_attains_it() -> None:
    space = sf.grid(2, 2)
    first, second = sf.Prior(space, ["1/8", "3/8", "1/4", "1/4"]), sf.Prior(space, ["1/2", "1/4", 0, "1/4"])
    found = multiplicative_kantorovich(first, second, space)
    over, under = (first, second) if found.forwards else (second, first)
    ratio = (over.weights * found.function).sum() / (under.weights * found.function).sum()
    assert log(ratio) == pytest.approx(found.lower, abs=1e-14)
    for x in range(4):
        for z in range(4):
            assert (
                found.function[x]
                <= Fraction(2**60 + 1, 2**60)
                * found.function[z]
                * sf.PrivacyType(space, epsilon=1).factor(space.labels[x], space.labels[z])[1]
            )


def test_infinitely_far_apart() -> None:
    space = sf.FiniteSpace(["a", "b", "c"], [[0, 1, inf], [1, 0, inf], [inf, inf, 0]])
    apart = multiplicative_kantorovich(sf.Prior.point(space, "a"), sf.Prior.point(space, "c"), space)
    assert (apart.lower, apart.upper, apart.function) == (inf, inf, None)
    both = multiplicative_kantorovich(sf.Prior(space, ["1/2", 0, "1/2"]), sf.Prior(space, [0, "3/4", "1/4"]), space)
    assert both.lower == pytest.approx(max(log(2), 1 - log(2 / 3)), abs=1e-12)


def test_what_cannot_be_asked() -> None:
    space = sf.line(2)
    prior = sf.Prior.uniform(space)
    with pytest.raises(InvalidEpsilon, match="alpha"):
        multiplicative_kantorovich(prior, prior, space, alpha=2)
    with pytest.raises(Mismatch):
        multiplicative_kantorovich(prior, sf.Prior.uniform(["a", "b"]), space)
