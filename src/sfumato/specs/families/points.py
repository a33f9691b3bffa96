"""Questions about coordinates: the secrets are all points of a box, on a plane or on the Earth."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.design import Design, objectives
from sfumato.design.boxes.optimal import TOLERANCE
from sfumato.errors import counted, short
from sfumato.losses import CoordinateLoss
from sfumato.numbers import text_above, text_below
from sfumato.report.box_facts import blind_loss
from sfumato.report.box_sections import lattice_words
from sfumato.specs.boxes import BOXES, check_spec_of_box, outputs_on, prior_on, spec_box
from sfumato.specs.families.family import Family
from sfumato.specs.question import Question, effort_of, naming_file, promise_of
from sfumato.specs.spec import Spec
from sfumato.specs.words import ground_length, loss_amount, promised


def _question(spec: Spec) -> Question:
    check_spec_of_box(spec)
    with naming_file(spec, "space"):
        space = spec_box(spec)
    with naming_file(spec, "prior"):
        prior, note = prior_on(spec.prior, spec, space)
    with naming_file(spec, "loss", "outputs"):
        outputs = outputs_on(spec.loss.outputs, spec, space)
    return Question(
        POINTS, space, prior, CoordinateLoss(space), outputs, objectives.expected(), **promise_of(spec, space),
        **effort_of(spec, TOLERANCE), note=note,
    )  # fmt: skip


def _stake(question: Question) -> str:
    return f"expected distance between what is told and the truth{question.space.surface.on_the_map}"


def _meaning(question: Question) -> str:
    blind = Fraction(blind_loss(question.space, question.prior.float_weights))
    return f", {_stake(question)}; {loss_amount(blind, question)} if nothing is disclosed"


def _record(best: Design, question: Question) -> dict[str, Any]:
    """The promise is about all points, loss and bound are on the map of the box."""
    mechanism: Any = best.mechanism
    return {
        "about": POINTS.about, "rate": str(mechanism.rate), "cells": len(question.space),
        "lattice": list(mechanism.rounding.shape), "loss_name": question.loss.name,
    }  # fmt: skip


def _summary(best: Design, question: Question) -> list[str]:
    mechanism: Any = best.mechanism
    space, tries = question.space, [counted(best.iterations, "iteration")] if best.iterations else []
    about = "all points of the box; points outside count as the nearest of it"
    margin = space.surface.margin
    if margin is not None:
        about = f"all places of the box, and up to {short(margin)} {space.unit} outside, moved into it"
    return [
        f"promise  {promised(mechanism.privacy)}",
        f"about    {about}",
        f"loss     {loss_amount(best.loss, question, text_above)}{_meaning(question)}{ground_length(best.loss, space)}",
        f"bound    {loss_amount(best.bound, question, text_below)}: no mechanism with this promise loses less, with "
        "whatever outputs",
        f"gap      {text_above(best.gap)}" if best.gap else "gap      0, the optimum exactly",
        f"method   {', '.join([best.method, *tries])}, {best.seconds['total']:.2f} s",
        f"lattice  {lattice_words(mechanism)}",
        f"outputs  {counted(len(mechanism.outputs), 'point')}; the prior is constant on {counted(len(space), 'cell')}",
    ]


POINTS = Family(
    "points", "coordinates", False,
    accepts=lambda spec: spec.space.kind in BOXES,
    question=_question,
    loss_on_outputs=lambda question: question.loss,  # it is that of any point
    stakes=lambda question: question.loss,
    searched_outputs=lambda question: question.outputs,
    stake=_stake,
    meaning=_meaning,
    lengths=lambda question: True,
    record=_record,
    summary=_summary,
    aimed=lambda question: question.space.surface.aim,
    calibrated=lambda best, design: [
        f"{design}, {best.method}", "about    all points of the box, and mechanisms with whatever outputs",
    ],
    tolerance=TOLERANCE, stuck="finest", unfinished="nothing finer fits", keeps=True, quick_gap=0.1, curve_gap=0.1,
)  # fmt: skip
