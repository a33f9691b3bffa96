"""Kinds of questions as records: each spec has one, and what it says of effort and promise is the same for all."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import sfumato as sf
from sfumato.specs.families import FAMILIES, as_question, best_for
from sfumato.specs.spec import spec_from_values
from sfumato.specs.words import loss_amount, meaning, stake

SPECS: dict[str, dict[str, Any]] = {
    "places": {"space": {"kind": "line", "n": 4, "unit": "km"}, "privacy": {"epsilon": "ln 2"}},
    "points": {"space": {"kind": "box", "sides": [3], "step": 1, "unit": "km"}, "privacy": {"epsilon": 1}},
    "shares": {"space": {"kind": "discrete", "n": 3}, "privacy": {"epsilon": 1}, "objective": "shares"},
}
"""A question of each family."""


def test_every_family_is_here() -> None:
    assert SPECS.keys() == FAMILIES.keys()


@pytest.mark.parametrize("name", FAMILIES)
def test_a_spec_has_one_family(name: str) -> None:
    spec = spec_from_values(SPECS[name])
    assert [family.name for family in FAMILIES.values() if family.accepts(spec)] == [name]
    assert as_question(spec).family is FAMILIES[name]


@pytest.mark.parametrize("name", FAMILIES)
def test_effort_and_promise_are_read_alike(name: str) -> None:
    family, values = FAMILIES[name], SPECS[name]
    usual = as_question(spec_from_values(values))
    assert (usual.tolerance, usual.time_limit, usual.solver) == (family.tolerance, None, "auto")
    said = as_question(spec_from_values({**values, "solve": {"tolerance": 0.25, "time_limit": 9}}))
    assert (said.tolerance, said.time_limit) == (0.25, 9.0)
    silent = as_question(spec_from_values({key: part for key, part in values.items() if key != "privacy"}))
    assert silent.privacy is None and silent.under == ()


@pytest.mark.parametrize("name", FAMILIES)
def test_the_best_for_a_question_is_the_design_of_its_parts(name: str) -> None:
    question = as_question(spec_from_values(SPECS[name]))
    best = best_for(question, tolerance=0.05)
    same = sf.design(
        question.prior, question.family.stakes(question), question.privacy, objective=question.objective, tolerance=0.05
    )
    assert (best.loss, best.bound) == (same.loss, same.bound)
    other = sf.PrivacyType(question.space, epsilon=2)
    assert best_for(question, privacy=other, tolerance=0.05).loss < best.loss


@pytest.mark.parametrize("name", FAMILIES)
def test_a_design_is_told_to_people_and_to_programs(name: str) -> None:
    question = as_question(spec_from_values(SPECS[name]))
    best = best_for(question, tolerance=0.05)
    lines, record = question.family.summary(best, question), question.family.record(best, question)
    assert next(line.split()[0] for line in lines if not line.startswith(" ")) == "promise"
    assert any(line.startswith("bound ") and "no mechanism with this promise" in line for line in lines)
    assert record.get("about", "secrets") == question.family.about
    assert stake(question) in meaning(question) or name == "shares"


def test_losses_that_are_lengths_have_a_unit() -> None:
    shown = {name: loss_amount(Fraction(3, 2), as_question(spec_from_values(values))) for name, values in SPECS.items()}
    assert shown == {"places": "1.5 km", "points": "1.5 km", "shares": "1.5"}
