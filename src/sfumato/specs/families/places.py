"""Questions about a list of secrets: places, answers, cells, crossings; somebody acts on what is told."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.design import Design
from sfumato.design.optimal import TOLERANCE
from sfumato.errors import counted
from sfumato.losses import Loss
from sfumato.measures import prior_loss
from sfumato.numbers import text_above, text_below
from sfumato.specs.boxes import BOXES
from sfumato.specs.families.family import Family
from sfumato.specs.lists import loss_of, objective_of, outputs_of, prior_of, space_of
from sfumato.specs.question import Question, effort_of, promise_of
from sfumato.specs.spec import Spec
from sfumato.specs.words import loss_amount, on_events, promised

_MEANINGS = {
    "distance": "expected distance between action and secret",
    "absolute": "expected absolute error",
    "squared": "expected squared error",
    "bin": "probability of a wrong guess",
    "nib": "probability of naming the secret",
    "member": "probability of a wrong answer",
}


def _accepts(spec: Spec) -> bool:
    return spec.space.kind not in BOXES and spec.objective.kind != "shares"


def _question(spec: Spec) -> Question:
    space = space_of(spec)
    loss = loss_of(spec, space)
    return Question(
        PLACES, space, prior_of(spec, space), loss, outputs_of(spec, loss), objective_of(spec, space),
        **promise_of(spec, space), **effort_of(spec, PLACES.tolerance),
    )  # fmt: skip


def loss_of_outputs(question: Question) -> Loss:
    """The loss with the rows of the outputs."""
    loss: Loss = question.loss
    if question.outputs is None:
        return loss
    rows = [loss.actions.index(w) for w in question.outputs]
    return Loss(question.outputs, loss.secrets, loss.matrix[rows], loss.name)


def stake_on_a_list(question: Question) -> str:
    """What a loss is, and in which unit where a query has two: that of its answer, or people."""
    name = question.loss.name
    if name.startswith("threshold("):
        return f"probability of an action farther away than {name[10:-1]}"
    of_answers = {"absolute": " of the answer", "squared": " of the answer", "distance": ", in people who must change"}
    more = of_answers.get(name, "") if question.space.answers else ""
    return _MEANINGS.get(name, f"expected loss, {name}") + more


def _meaning(question: Question) -> str:
    words = stake_on_a_list(question)
    if question.objective.criterion != "expected":
        return f", {words}, of the {question.objective.criterion}"
    told_nothing = prior_loss(question.prior.to_floats(), question.loss_on_outputs)
    return f", {words}; {loss_amount(Fraction(float(told_nothing)), question)} if nothing is disclosed"


def record_of_a_list(best: Design, question: Question) -> dict[str, Any]:
    """What a design on a list of secrets has beside all others."""
    found: dict[str, Any] = {
        "loss_name": question.loss.name, "secrets": len(question.space), "second": best.second,
    }  # fmt: skip
    if best.mechanism.events:
        found["promise"] = {"events": question.under[0].name, "pairs": str(best.mechanism.proof.events)}
    return found


def _summary(best: Design, question: Question) -> list[str]:
    method = f"{best.method}, {counted(best.iterations, 'iteration')}" if best.iterations else best.method
    actions = counted(len(question.loss_on_outputs.actions), "action")
    ties = [] if best.second is None else [f"ties     broken by {question.objective.then}, which is {best.second:.6g}"]
    mechanism = best.mechanism
    return [
        f"promise  {on_events(mechanism, question) if mechanism.events else promised(mechanism.privacy)}",
        f"loss     {loss_amount(best.loss, question, text_above)}{_meaning(question)}",
        f"bound    {loss_amount(best.bound, question, text_below)}: no mechanism with this promise loses less",
        f"gap      {text_above(best.gap)}" if best.gap else "gap      0, the optimum exactly",
        *ties,
        f"method   {method}, {best.seconds['total']:.2f} s",
        f"outputs  {len(mechanism.outputs)} of {actions}, for {counted(len(question.space), 'secret')}",
    ]


def calibrated_on_a_list(best: Design, design: str) -> list[str]:
    """About the design at an ε that was looked for: the list is known, and so is what may be told."""
    return [f"{design} at the first of the two"]


PLACES = Family(
    "places", "secrets", True, _accepts, _question, loss_of_outputs,
    stakes=lambda question: question.loss,
    searched_outputs=lambda question: None,
    stake=stake_on_a_list,
    meaning=_meaning,
    lengths=lambda question: bool(question.loss.name == "distance"),
    record=record_of_a_list,
    summary=_summary,
    aimed=lambda question: "",
    calibrated=calibrated_on_a_list,
    tolerance=TOLERANCE,
)  # fmt: skip
