"""Kinds of questions, each a record that doors ask: :data:`FAMILIES`, and the question of a spec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.design import Design
from sfumato.design.optimal import Effort, designed
from sfumato.design.solvers import Trail
from sfumato.privacy import PrivacyType
from sfumato.specs.families.family import Family
from sfumato.specs.families.places import PLACES
from sfumato.specs.families.points import POINTS
from sfumato.specs.families.shares import SHARES
from sfumato.specs.question import Question
from sfumato.specs.spec import Spec
from sfumato.watch import Watch, watch_of

FAMILIES = {family.name: family for family in (PLACES, POINTS, SHARES)}
"""All kinds of questions, by name."""


def as_question(spec: Spec) -> Question:
    """Everything that a spec stands for.

    Examples
    --------
    >>> from sfumato.specs.spec import spec_from_values
    >>> values = {"space": {"kind": "line", "n": 3}, "privacy": {"alpha": 0.5}, "loss": {"kind": "absolute"}}
    >>> question = as_question(spec_from_values(values))
    >>> question.privacy, question.loss, question.family
    (PrivacyType(line(3), alpha=1/2), Loss(absolute, 3 actions, 3 secrets), Family(places))
    """
    return family_of(spec).question(spec)


def family_of(spec: Spec) -> Family:
    """The kind of a question, before anything is built."""
    return next(family for family in FAMILIES.values() if family.accepts(spec))


def best_for(
    question: Question,
    *,
    privacy: PrivacyType | None = None,
    tolerance: float | None = None,
    time_limit: float | Watch | None = None,
    progress: Callable[[Any], object] | None = None,
    trail: Trail | None = None,
) -> Design:
    """The best mechanism for a question: with what it says, or with another promise, tolerance or watch.

    ``trail`` is what the search before left on the same space.
    """
    effort = Effort(
        tolerance or question.tolerance, watch_of(question.time_limit if time_limit is None else time_limit),
        question.solver, progress, trail,
    )  # fmt: skip
    return designed(
        question.prior, question.family.stakes(question), privacy or question.privacy, question.outputs,
        question.objective, question.under, effort,
    )  # fmt: skip


__all__ = ["FAMILIES", "Family", "as_question", "best_for", "family_of"]
