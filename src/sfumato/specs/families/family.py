"""What a kind of question is asked: one record for each, and doors ask nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sfumato.design import Design
from sfumato.specs.question import Question
from sfumato.specs.spec import Spec


@dataclass(frozen=True, eq=False)
class Family:
    """A kind of question.

    Parameters
    ----------
    name
        As the documentation calls it.
    about
        What its promises are about, as records for programs say it: secrets, or coordinates.
    listed
        Whether its secrets are a list, which some verdicts and all releases of counts need.
    accepts, question
        Whether a spec asks a question of this kind, and the question.
    loss_on_outputs, stakes, searched_outputs
        The loss with no other actions than the outputs; the loss that a search is given; the outputs that a search over
        several promises is given beside the first of the two.
    stake, meaning
        What the loss is in words; the same, with what it would be if nothing were told.
    lengths
        Whether losses are lengths in the unit of the space.
    record, summary
        A design for programs, beside what all designs say; and line by line for people.
    tolerance
        The gap that is aimed at where nobody says another one.
    lost
        What it has least, in a word.
    stuck, unfinished
        Why a search has ended before its gap was reached, by its name; why a search for ε has.
    keeps
        Whether a search for ε that is stopped has something that is proved.
    aimed, calibrated
        A target in words, after its amount; and lines about the design at the ε that was found.
    quick_gap, curve_gap
        The gaps that are enough while somebody drags ε, and along a curve.
    """

    name: str
    about: str
    listed: bool
    accepts: Callable[[Spec], bool]
    question: Callable[[Spec], Question]
    loss_on_outputs: Callable[[Question], Any]
    stakes: Callable[[Question], Any]
    searched_outputs: Callable[[Question], Any]
    stake: Callable[[Question], str]
    meaning: Callable[[Question], str]
    lengths: Callable[[Question], bool]
    record: Callable[[Design, Question], dict[str, Any]]
    summary: Callable[[Design, Question], list[str]]
    aimed: Callable[[Question], str]
    calibrated: Callable[[Design, str], list[str]]
    tolerance: float
    lost: str = "loss"
    stuck: str = "stalled"
    unfinished: str = "the time is up"
    keeps: bool = False
    quick_gap: float = 1e-2
    curve_gap: float = 1e-3

    def __repr__(self) -> str:
        return f"Family({self.name})"
