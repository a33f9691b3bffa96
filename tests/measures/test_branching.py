from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported
from sfumato.measures.branching import branching, divergence, exceeds, is_convex_homogeneous, polygon
from sfumato.numbers import Array

WRONG: dict[str, tuple[Callable[[Array], Any], str]] = {
    "squares": (lambda column: sum(v * v for v in column), "homogeneous"),
    "a constant": (lambda column: 1, "homogeneous"),
    "roots": (lambda column: float(sum(column)) ** 0.5, "homogeneous"),
    "a product": (lambda column: column[0] * column[1], "homogeneous"),
    "minus the largest": (lambda column: -max(column), "convex"),
    "the middle one": (lambda column: sorted(column)[1], "convex"),
    "the smallest": (min, "convex"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_violation_breaks_sufficiency(name: str) -> None:
    function, condition = WRONG[name]
    verdict = is_convex_homogeneous(function)
    assert not verdict
    found = verdict.witness
    assert found.condition == condition and condition in verdict.reason
    v, w = found.columns
    values = [function(v) + function(w), function(v + w)]
    assert sorted(values) == sorted([found.before, found.after]) and exceeds(found.after, found.before)
    before = branching(found.channel, function)
    after = branching(sf.cascade(found.channel, found.processing), function)
    assert after - before == pytest.approx(float(found.after - found.before))
    assert exceeds(after, before)


@pytest.mark.parametrize("function", [max, lambda v: max(v) - min(v), lambda v: abs(v[0] - 2 * v[1]), sum])
def test_what_is_convex_and_homogeneous_stays_undecided(function: Callable[[Array], Any]) -> None:
    verdict = is_convex_homogeneous(function, tries=300)
    assert not verdict.decided
    assert "black box" in verdict.reason and str(verdict.witness) in verdict.reason
    assert not is_convex_homogeneous(function, ("a", "b"), tries=10).decided


def test_a_form_is_a_proof() -> None:
    verdict = is_convex_homogeneous(divergence("entropy"))
    assert verdict and "perspectives" in verdict.reason


def test_bad_functions_and_generators() -> None:
    for value in (None, float("nan"), "much"):
        with pytest.raises(InvalidInput, match="a number for every column"):
            is_convex_homogeneous(lambda column, value=value: value)  # type: ignore[misc]
    with pytest.raises(InvalidInput, match="function of a column"):
        is_convex_homogeneous(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="secrets must be an integer of at least 1"):
        is_convex_homogeneous(max, 0)
    with pytest.raises(NotSupported, match="hellinger"):
        divergence("hellinger")
    with pytest.raises(InvalidInput, match="Generator"):
        divergence(3)  # type: ignore[arg-type]


def test_polygons_are_checked() -> None:
    with pytest.raises(InvalidInput, match="not convex at t = 1: its slope falls from 1 to 1/2"):
        polygon([(0, 0), (1, 1), (3, 2)])
    for corners in ([(0, 0)], [(1, 0), (2, 0)], [(0, 0), (0, 1)]):
        with pytest.raises(InvalidInput, match="growing t"):
            polygon(corners)
    wedge = polygon([(0, "1/2"), (1, 0), (2, "1/2")])  # |t − 1| / 2
    channel = sf.Channel([0, 1, 2], [["1/2", "1/2"], ["1/4", "3/4"], [0, 1]])
    assert branching(channel, divergence(wedge)) == branching(channel, divergence("absolute"))
    assert branching(channel.to_floats(), divergence(wedge)) == pytest.approx(
        float(branching(channel, divergence("absolute")))
    )


def test_secrets_without_weight_do_not_count() -> None:
    prior = sf.Prior([0, 1, 2], ["1/2", "1/2", 0])
    channel = sf.Channel([0, 1, 2], [["1/2", "1/2", 0], ["1/2", "1/2", 0], [0, 0, 1]])
    assert branching(channel, divergence("square", prior)) == 0
    assert branching(channel, divergence("square")) > 0


def test_floats_must_differ_by_more_than_rounding() -> None:
    assert not exceeds(1 + 1e-12, 1.0) and exceeds(1 + 1e-6, 1.0)
    assert exceeds(Fraction(1) + Fraction(1, 10**30), Fraction(1))
    assert not exceeds(1e-16, 0) and not exceeds(Fraction(1, 3), 1 / 3)
    assert not is_convex_homogeneous(lambda column: float(np.max(column.astype(float))) / 3, tries=50).decided
