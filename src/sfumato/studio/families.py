"""What the page shows of each kind of question: where secrets lie, what is told for them, and which tasks it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sfumato.design import Design
from sfumato.measures import prior_loss
from sfumato.report.box_facts import blind_loss
from sfumato.specs.question import Question
from sfumato.specs.words import promised
from sfumato.studio.boxes import ON_BOXES, box_place, box_table, on_coordinates
from sfumato.studio.views import place_of, table_of

_LONGEST_EXACT = 24  # letters of a fraction that is shown whole


@dataclass(frozen=True, eq=False)
class View:
    """How the page shows a family.

    Parameters
    ----------
    tasks
        Those that it takes, by name.
    place
        Space and prior, to be drawn.
    shown
        A design: its table, and what is lost where nothing is told, if that is known.
    """

    tasks: Callable[[str], bool]
    place: Callable[[Any, Any], dict[str, Any]]
    shown: Callable[[Design, Question], dict[str, Any]]


def _places(best: Design, question: Question) -> dict[str, Any]:
    expected = question.objective.criterion == "expected"
    return {
        **table_of(best.mechanism, question.space),
        "exact": str(best.loss) if best.gap == 0 and len(str(best.loss)) <= _LONGEST_EXACT else "",
        "blind": float(prior_loss(question.prior.to_floats(), question.loss_on_outputs)) if expected else None,
    }


def _points(best: Design, question: Question) -> dict[str, Any]:
    """Rows are those of the centres of cells, and the promise is about all points."""
    return {
        "about": "coordinates", "words": promised(best.mechanism.privacy), **box_table(on_coordinates(best.mechanism)),
        "exact": "", "blind": blind_loss(question.space, question.prior.float_weights),
    }  # fmt: skip


def _shares(best: Design, question: Question) -> dict[str, Any]:
    """The loss is a variance, that of one answer, which nobody who is told nothing has."""
    return {**table_of(best.mechanism, question.space), "exact": "", "blind": None}


_ABOUT_SHARES = ("look", "design", "curve", "kernels", "mechanism", "report", "page", "spec")

VIEWS = {
    "places": View(lambda task: task != "density", place_of, _places),
    "points": View(lambda task: task in ON_BOXES, box_place, _points),
    "shares": View(lambda task: task in _ABOUT_SHARES, place_of, _shares),
}
"""A view for each family."""
