"""What the page shows of each kind of question: where secrets lie, what is told for them, and which tasks it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sfumato.design import Design
from sfumato.measures import prior_loss
from sfumato.report.box_facts import blind_loss
from sfumato.specs.question import Question
from sfumato.specs.spec import Spec
from sfumato.specs.words import promised
from sfumato.studio.boxes import box_place, box_view, on_coordinates
from sfumato.studio.sizes import cells_in, secrets_in
from sfumato.studio.views import space_view, table_view

MOST_SECRETS = 1024
"""Secrets, or cells of a box, that are drawn and designed for; tasks that take longer are for fewer."""

_LONGEST_EXACT = 24  # letters of a fraction that is shown whole


@dataclass(frozen=True, eq=False)
class View:
    """How the page shows a family.

    Parameters
    ----------
    takes
        Whether it takes a task, by its name.
    lost
        What the loss of a design is called.
    about, instead
        What these questions are about, where a task is refused, and what to do then.
    size, many, most
        How many secrets a spec has, what they are called, and how many there may be for any task; None where a task
        says it: how long a design on a box takes is not a matter of its cells.
    place
        Space and prior, to be drawn.
    shown
        A design: its table, and what is lost where nothing is told, if that is known.
    """

    takes: Callable[[str], bool]
    lost: str
    about: str
    instead: str
    size: Callable[[Spec], int]
    many: str
    most: int | None
    place: Callable[[Any, Any], dict[str, Any]]
    shown: Callable[[Design, Question], dict[str, Any]]


def _places(best: Design, question: Question) -> dict[str, Any]:
    expected = question.objective.criterion == "expected"
    return {
        **table_view(best.mechanism, question.space),
        "exact": str(best.loss) if best.gap == 0 and len(str(best.loss)) <= _LONGEST_EXACT else "",
        "blind": float(prior_loss(question.prior.to_floats(), question.loss_on_outputs)) if expected else None,
    }


def _points(best: Design, question: Question) -> dict[str, Any]:
    """Rows are those of the centres of cells, and the promise is about all points."""
    return {
        "about": "coordinates", "words": promised(best.mechanism.privacy), **box_view(on_coordinates(best.mechanism)),
        "exact": "", "blind": blind_loss(question.space, question.prior.float_weights),
    }  # fmt: skip


def _shares(best: Design, question: Question) -> dict[str, Any]:
    """The loss is a variance, that of one answer, which nobody who is told nothing has."""
    return {**table_view(best.mechanism, question.space), "exact": "", "blind": None, "loss_name": "variance"}


_ON_BOXES = ("look", "design", "density", "curve", "calibrate", "release", "mechanism", "report", "page", "spec")
_ABOUT_SHARES = ("look", "design", "curve", "calibrate", "release", "mechanism", "report", "page", "spec")

VIEWS = {
    "places": View(
        lambda task: task != "density", "Expected loss", "at a point of a list of secrets",
        "a space of kind box or earth_box", secrets_in, "secrets", None, space_view, _places,
    ),
    "points": View(
        lambda task: task in _ON_BOXES, "Expected loss", "on a box of coordinates",
        "the map, the matrix, the curve, the report, the page and the mechanism", cells_in, "cells", MOST_SECRETS,
        box_place, _points,
    ),
    "shares": View(
        lambda task: task in _ABOUT_SHARES, "Variance of all estimates, times N", "for shares of a population",
        "the design, the curve, the report, the page and the mechanism; `sfumato compare-known` and `plan`", secrets_in,
        "secrets", None, space_view, _shares,
    ),
}  # fmt: skip
"""A view for each family."""
