"""Which mechanism: a table that is near to the best, or the same noise everywhere; and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.design.boxes.choice import noise_design, too_large
from sfumato.design.boxes.optimal import silent_loss
from sfumato.design.calibration import calibrate
from sfumato.design.result import SAME_NOISE, BoxDesign, Design
from sfumato.errors import NotConverged, NotSupported, SolverError, keyword
from sfumato.hide.remedies import more_time, patches_on, room_words, time_words
from sfumato.measures.uncertainty import prior_loss
from sfumato.numbers import bounds_text, text_above, text_below
from sfumato.privacy.rates import box_rate
from sfumato.spaces.lengths import in_unit
from sfumato.specs.boxes import BOXES
from sfumato.specs.families import best_for
from sfumato.specs.question import Question
from sfumato.specs.spec import Spec
from sfumato.watch import Watch

_OWN = "a table of its own for this box"
_KINDS = {"noise": SAME_NOISE, "table": _OWN}
_AS_NOISE = {"noise": SAME_NOISE, "table": f"{SAME_NOISE}, moved to where it loses least"}
"""What is found on a box, and what stands in for a table that is too large, in words."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """A design, and in words which kind of mechanism it is and why."""

    design: Design
    why: str

    @property
    def kind(self) -> str:
        """``"table"`` or ``"noise"``."""
        return self.design.mechanism.drawn_as


@dataclass(frozen=True)
class Named:
    """What a promise is about, in words; for points of a box only the first two are said.

    Parameters
    ----------
    many
        "a table for 9 **cells**", "the promise is about these **cells**".
    apart
        "odds between two **cells whose middles are** 500 m apart at most double".
    between
        "500 m **between middles of cells**", after a distance.
    taken
        "the promise is about these cells and not about every metre: **two points on the two sides …**".
    """

    many: str
    apart: str
    between: str
    taken: str


NAMED = {
    "cells": Named("cells", "cells whose middles are", "between middles of cells",
                   "two points on the two sides of a border are told apart as cells are"),
    "areas": Named("areas", "areas whose places on the map are", "between areas",
                   "two points on the two sides of a border are told apart as areas are"),
    "roads": Named("crossings", "crossings that are by road", "between crossings, by road",
                   "a point is taken for the crossing that is nearest to it"),
    "places": Named("places", "places", "between places of the list",
                    "a point is taken for the place that is nearest to it"),
    **dict.fromkeys(BOXES, Named("coordinates", "places", "", "")),
}  # fmt: skip
"""Words for the secrets that people of maps have."""


def words_of_secrets(spec: Spec) -> Named:
    """The words for the secrets of a spec."""
    space: Any = spec.space
    while space.kind == "elastic" and hasattr(space, "of"):
        space = space.of
    return NAMED.get(space.kind, NAMED["cells" if space.kind in ("h3_cells", "square_cells", "grid") else "places"])


def chosen_cells(
    question: Question, watch: Watch, progress: Callable[[Any], object] | None = None, words: Named = NAMED["cells"]
) -> Chosen:
    """The best table for a list of cells or other places, whose promise is about these."""
    best = best_for(question, time_limit=watch, progress=progress)
    about = f"the promise is about these {words.many} and not about every metre: {words.taken}"
    standing = ""
    if question.objective.plain and question.prior is not None and question.loss is not None:
        silent = float(prior_loss(question.prior, question.loss))
        standing = _standing(best, question.space.unit, silent, None, question.loss.name or "the loss")
    return Chosen(best, f"a table for {len(question.space)} {words.many}{standing}; {about}")


def chosen(question: Question, watch: Watch, progress: Callable[[Any], object] | None = None) -> Chosen:
    """A table where one comes within the tolerance in time; else what loses less, that table or noise."""
    assert question.privacy is not None
    best = best_for(question, time_limit=watch, progress=progress)
    silent = silent_loss(question.prior, question.loss, question.privacy, question.outputs)
    usual = question.space.dimension / float(box_rate(question.privacy))

    def beside(design: Design) -> str:
        return _standing(design, question.space.unit, silent, usual)

    same = _AS_NOISE[best.mechanism.drawn_as]
    if best.method.startswith(SAME_NOISE) and too_large(question.privacy):
        if patches_on(question, question.space, question.prior.float_weights) is None:
            return Chosen(best, f"{same}, since the box is too large for a table{beside(best)}{room_words(question)}")
        longer = f"; {more_time(watch)} may find one" if watch.over else ""
        return Chosen(best, f"{same}, since no table was found that loses less{beside(best)}{longer}")
    if best.gap <= question.tolerance:
        return Chosen(best, f"{_OWN}{beside(best)}")
    noise, wanted = _noise(question), time_words(question, best, watch)
    if noise is None or best.loss <= noise.loss:
        return Chosen(best, f"{_OWN}{beside(best)}; {wanted}")
    return Chosen(noise, f"{SAME_NOISE}{beside(noise)}; {wanted}")


def calibrated(
    question: Question, target: Any, watch: Watch, progress: Callable[[Any], object] | None = None
) -> tuple[Chosen, Fraction]:
    """The strictest promise that was found with which no more than the target is lost, and its ε."""
    aim = in_unit(target, question.space.unit, keyword("error"))
    result = calibrate(
        question.prior, question.loss, question.space, target=aim, outputs=question.outputs, time_limit=watch,
        progress=progress,
    )  # fmt: skip
    kind = _KINDS[result.design.mechanism.drawn_as]
    low, high = bounds_text(result.low, result.high)
    words = f"{kind}, at ε = {high} per {question.space.unit}, with which no more is lost than was asked for"
    return Chosen(
        result.design, f"{words} ({low} is too small for any mechanism)" if result.low else words
    ), result.epsilon


def _noise(question: Question) -> BoxDesign | None:
    """Noise with its loss and bound, whatever time is left, so that there is something beside the table; None where a
    box is too small for it.
    """
    assert question.privacy is not None
    try:
        return noise_design(question.prior, question.loss, question.privacy, Watch(None), None)
    except (NotConverged, NotSupported, SolverError):
        return None


def _standing(best: Design, unit: str, silent: float, usual: float | None, name: str = "distance") -> str:
    """What is lost, the least that is possible, what Laplace noise loses, and who tells nothing: in this order."""
    moved = name == "distance"

    def shown(number: str) -> str:
        return f"{number} {unit}".rstrip() if moved else number

    words = [
        f"{'points move' if moved else name} {shown(text_above(best.loss, 4))} on average",
        f"at best {shown(text_below(best.bound, 4))}" if best.bound > 0 else "how little is possible is not known",
    ]
    if usual is not None:
        words.append(f"Laplace noise {shown(f'{usual:.4g}')}")
    words.append(f"nothing told {shown(f'{silent:.4g}')}")
    return ": " + "; ".join(words)
