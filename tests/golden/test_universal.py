"""Universal optimality: numbers known from exact arithmetic with several programs, and errata of paper A."""

from __future__ import annotations

from fractions import Fraction

import pytest

import sfumato as sf
from sfumato import losses
from sfumato.theory.universal import is_universally_optimal, universal_design, utility_set, worst_case_regret

LEAST = [
    (sf.discrete(3), "1/2", "bin", "1/24"),
    (sf.discrete(4), "1/2", "bin", "2/35"),
    (sf.discrete(3), "1/4", "bin", "1/20"),
    (sf.line(4), "1/2", "odd", "1/15"),
    (sf.cycle(4), "1/2", "bin", "1/12"),
    (sf.cycle(4), "1/2", "distance", "1/6"),
    (sf.spaces.star(3), "2/3", "bin", "1/36"),
    (sf.spaces.star(3), "1/2", "bin", "0"),
    (sf.line(5), "1/2", "nib", "0"),
]


@pytest.mark.parametrize(("space", "alpha", "name", "regret"), LEAST)
def test_least_worst_case_regret(space: sf.FiniteSpace, alpha: str, name: str, regret: str) -> None:
    loss = losses.member(space, [0, 2]) if name == "odd" else losses.LOSSES[name](space)
    found = universal_design(loss, sf.PrivacyType(space, alpha=alpha))
    assert found.lower == found.upper == Fraction(regret)
    assert bool(found.exists) == (regret == "0")


def test_one_kernel_of_the_line_serves_guessing() -> None:
    """Of the 187 kernels of five secrets on a line, the geometric mechanism alone."""
    privacy = sf.PrivacyType(sf.line(5), alpha="1/2")
    loss = losses.bin(privacy.space)
    found = [k for k in sf.types.kernels(privacy) if is_universally_optimal(k.channel, loss, privacy)]
    assert len(found) == 1
    geometric = sf.geometric(privacy).channel
    assert sf.refines(geometric, found[0].channel) and sf.refines(found[0].channel, geometric)


def test_the_converse_of_theorem_6_5_is_false() -> None:
    """The paper says "if and only if"; only the way up holds."""
    privacy = sf.PrivacyType(sf.line(3), alpha="1/2")
    served, ends = utility_set(sf.geometric(privacy)), losses.bin([0, 2])
    assert served.lifted(ends)
    restricted = served.restricted([0, 2])
    verdict = restricted.contains(ends)
    assert not verdict and verdict.witness.gap == Fraction(1, 20)
    assert worst_case_regret(restricted.channel, ends, restricted.privacy).lower == Fraction(1, 20)


def test_guessing_outside_lines() -> None:
    """The introduction of paper A says never; the star with three leaves has a mechanism for e^ε ≥ 2, and not below."""
    star = sf.spaces.star(3)
    for alpha, exists in (("1/2", True), ("1/3", True), ("3/5", False), ("9/10", False)):
        assert bool(universal_design(losses.bin(star), sf.PrivacyType(star, alpha=alpha)).exists) == exists


def test_the_geometric_mechanism_for_seven_secrets_by_enumeration() -> None:
    privacy = sf.PrivacyType(sf.line(7), alpha="1/2")
    found = worst_case_regret(sf.geometric(privacy), losses.bin(privacy.space))
    assert found.upper == 0 and found.vertices == 1912
