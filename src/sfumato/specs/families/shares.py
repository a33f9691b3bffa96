"""Questions of surveys: which shares of a population have which answer, estimated with the least variance.

Nobody acts on a single answer, so that no loss takes part.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sfumato.design import Design, SharesDesign, objectives
from sfumato.design.optimal import TOLERANCE
from sfumato.errors import InvalidInput, counted
from sfumato.measures import mean_workload, workload
from sfumato.numbers import text_above, text_below
from sfumato.specs.boxes import BOXES
from sfumato.specs.families.family import Family
from sfumato.specs.families.places import (
    PLACES,
    calibrated_on_a_list,
    loss_of_outputs,
    record_of_a_list,
)
from sfumato.specs.lists import prior_in, space_of
from sfumato.specs.question import Question, naming_file
from sfumato.specs.spec import Spec
from sfumato.specs.words import estimates_words, loss_amount, promised

_ANSWERS = 1000  # of a survey that tells what a variance means


def _accepts(spec: Spec) -> bool:
    return spec.space.kind not in BOXES and spec.objective.kind == "shares"


def _question(spec: Spec) -> Question:
    """The question about the same list, with an objective about estimates."""
    space, given = space_of(spec), spec.objective
    with naming_file(spec, "objective"):
        if spec.loss.model_fields_set - {"kind"} or getattr(spec.loss, "kind", "") != "default":
            raise InvalidInput("there is no [loss] beside shares: nobody acts on a single answer")
        what = given.workload
        asked = mean_workload(space, given.values) if what == "mean" else workload(what, space)
        wanted = objectives.shares(asked, priors=[prior_in(prior, spec, space) for prior in given.priors or ()])
    return replace(PLACES.question(spec), family=SHARES, objective=wanted)


def _meaning(question: Question) -> str:
    return f" / N, {estimates_words(question.objective)}"


def _record(best: Design, question: Question) -> dict[str, Any]:
    found = record_of_a_list(best, question)
    if isinstance(best, SharesDesign) and best.workload is not None:
        del found["loss_name"]
        found |= {"workload": best.workload.name, "proved": best.proved}
    return found


def _summary(best: Design, question: Question) -> list[str]:
    assert isinstance(best, SharesDesign)
    method = f"{best.method}, {counted(best.iterations, 'iteration')}" if best.iterations else best.method
    rows = len(best.workload.rows) if best.workload is not None else 1
    error = (float(best.loss) / rows / _ANSWERS) ** 0.5
    why = "" if best.proved else "; by a relaxation, in floats with a margin, so that the file carries no claim"
    return [
        f"promise  {promised(best.mechanism.privacy)}",
        f"variance {loss_amount(best.loss, question, text_above)}{_meaning(question)}",
        f"         {_ANSWERS} answers give a standard error of {error:.3g}, in the root mean square of {rows}",
        f"bound    {loss_amount(best.bound, question, text_below)} / N: no mechanism with this promise has less{why}",
        f"gap      {text_above(best.gap)}" if best.gap else "gap      0, the optimum exactly",
        f"method   {method}, {best.seconds['total']:.2f} s",
        f"outputs  {len(best.mechanism.outputs)}, for {counted(len(question.space), 'secret')}",
    ]


SHARES = Family(
    "shares", "secrets", True, _accepts, _question, loss_of_outputs,
    stakes=lambda question: None,
    searched_outputs=lambda question: None,
    stake=lambda question: estimates_words(question.objective),
    meaning=_meaning,
    lengths=lambda question: False,
    record=_record,
    summary=_summary,
    aimed=lambda question: " / N",
    calibrated=calibrated_on_a_list,
    tolerance=TOLERANCE,
    lost="variance",
)  # fmt: skip
