"""A list of secrets: known mechanisms by what each costs, needs and tells, each by itself, and which ε reaches a loss.

The search for an ε is a bisection, each design beginning where the one before ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from sfumato.certify.mechanism import Mechanism
from sfumato.certify.verify import claim, prove
from sfumato.channels.channel import Channel, check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.design.calibration_sought import Ends, Sought, short_epsilon
from sfumato.design.comparison_rows import (
    Compared,
    Comparison,
    ComparisonTerms,
    compared_candidates,
    measured_row,
    sorted_rows,
)
from sfumato.design.objectives import Objective
from sfumato.design.optimal import Effort, best_of, design
from sfumato.design.problem import Problem, problem
from sfumato.design.result import Design
from sfumato.design.solvers import Trail
from sfumato.errors import InvalidInput, NotConverged, NotSupported, expect
from sfumato.losses.loss import Loss, as_loss
from sfumato.measures.leakage import leakage
from sfumato.measures.uncertainty import expected_loss, posterior_loss, prior_loss
from sfumato.mechanisms.registry import KnownMechanism
from sfumato.numbers import fractions, told_apart
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.watch import TimeIsUp


def compare_for_loss(
    prior: Prior | None, loss: Any, privacy: PrivacyType, objective: Objective, terms: ComparisonTerms
) -> Comparison:
    """Known mechanisms by what they lose; :func:`~sfumato.design.comparison.compare_known` calls it.

    A row has ``loss``, the expected loss with outputs taken as actions (None where some output is no action);
    ``remapped``, that of a consumer who takes the best action for each output; and how much it raises the chance to
    guess the secret, as a ratio (``multiplicative``) and as a difference (``additive``).
    """
    if not objective.plain:
        raise NotSupported("a comparison under limits or for the worst", ["the expected loss", "shares"])
    prior, privacy = as_prior(prior), as_type(privacy)
    loss = expect(loss, Loss, "a loss", "losses.absolute(space) makes one")
    check_secrets("prior, loss and privacy type", privacy.space, prior, loss)

    def measures(channel: Channel) -> dict[str, Any]:
        return {
            "loss": expected_loss(prior, channel, loss) if set(channel.outputs) <= set(loss.actions) else None,
            "remapped": posterior_loss(prior, channel, loss),
            "multiplicative": leakage(prior, channel),
            "additive": leakage(prior, channel, kind="additive"),
        }

    def row(name: str, made: Any) -> Compared:
        return measured_row(name, made, privacy, prior.exact and loss.exact, "remapped", measures)

    rows, left_out = compared_candidates(row, partial(design, prior, loss, privacy), privacy, terms)
    return Comparison("loss", prior, loss, privacy, sorted_rows(rows), left_out, {"blind": prior_loss(prior, loss)})


def known_for_places(
    known: KnownMechanism, privacy: PrivacyType, prior: Prior | None, loss: Any, remap: bool
) -> Mechanism:
    """A known mechanism on a list of secrets; with a prior and a loss, what it loses is proved too."""
    verdict = known.applies(privacy)
    if verdict.outcome != "holds":
        raise NotSupported(f"{known.name} on {privacy.space.name} ({verdict.reason})")
    made: Mechanism = known(privacy)
    if prior is None or loss is None:
        return made
    stake = expect(loss, Loss, "a loss", "losses.distance(space) makes one")
    made = claim(as_prior(prior), made, stake)
    return _remapped(made, stake) if remap else made


def _remapped(mechanism: Mechanism, loss: Loss) -> Mechanism:
    """Outputs replaced by the best actions, those of one action added up."""
    claimed = mechanism.loss_claim
    assert claimed is not None
    told = [loss.actions[w] for w in claimed.remap]
    actions = tuple(dict.fromkeys(told))
    weights = np.stack(
        [sum(mechanism.weights[:, y] for y, action in enumerate(told) if action == one) for one in actions], axis=1
    )
    notes = mechanism.provenance | {"remapped": "to the best actions for its prior and loss"}
    made = prove(weights, mechanism.privacy, outputs=actions, provenance=notes)
    check_secrets("remapped mechanism", mechanism.privacy.space, made)
    return claim(claimed.prior, made, loss)


PRECISION = 1e-3
"""The relative width of ε, and of losses along a curve, that is left open where nobody asks for another."""

_FIRST_EXPONENT = 3.0  # The search for an upper ε begins where the smallest distance gets this exponent of e.
_MOST_DOUBLINGS = 40
_TIGHTEST = 1e-9  # No design is asked for a smaller relative gap; closer to the target than that stays open.


def ends_on_list(sought: Sought) -> Ends:
    """An ε on either side of the target, both proved."""
    if sought.objective.plain and sought.outputs is None:
        _check_target(sought.target, as_prior(sought.prior), sought.loss)
    trail = Trail()

    def designed(promise: PrivacyType, tolerance: float) -> Design:
        question = problem(sought.prior, sought.loss, promise, sought.outputs, sought.objective)
        return best_of(question, Effort(tolerance, sought.watch, progress=sought.progress, trail=trail))

    return ends_by(designed, sought)


def ends_by(designed: Callable[[PrivacyType, float], Design], sought: Sought) -> Ends:
    """The same by designs for a promise to a gap, whatever it is that they have least."""
    aim, watch, distances = sought.target, sought.watch, sought.space.pair_distances.floats
    if not distances.size:
        raise InvalidInput("calibration needs a space with more than one secret")

    def reached(epsilon: Fraction) -> tuple[bool, Design]:
        """Whether L(ε) ≤ target, and the design that shows it."""
        tolerance = sought.width / 4
        while True:
            watch.check()
            design = designed(PrivacyType(sought.space, epsilon=epsilon), tolerance)
            if design.loss <= aim or design.bound > aim:
                return design.loss <= aim, design
            tolerance = min(tolerance, design.gap) / 30
            if tolerance < _TIGHTEST:
                raise NotConverged(
                    f"at epsilon = {float(epsilon):g} the optimum is too close to the target", design, design.gap
                )

    ends = _enclosed(reached, Fraction(_FIRST_EXPONENT) / Fraction(float(distances.min())), sought.width)
    if len(ends) < 2:
        raise NotConverged(f"no epsilon was found within {watch.limit or watch.spent:g} s: give it more time")
    return ends


def _check_target(aim: Fraction, prior: Prior, loss: Loss) -> None:
    check_secrets("prior and loss", prior, loss)
    least = sum((fractions(prior.weights) * fractions(loss.matrix).min(axis=0)).tolist(), Fraction(0))
    most = Fraction(prior_loss(prior, loss))
    if not least < aim < most:
        target, end = told_apart(aim, least if aim <= least else most)
        other = told_apart(most if aim <= least else least, aim)[0]
        low, high = (end, other) if aim <= least else (other, end)
        raise InvalidInput(
            f"the target {target} must lie between {low}, the loss when the secret is told, and "
            f"{high}, the loss when nothing is"
        )


def _enclosed(reached: Callable[[Fraction], tuple[bool, Design]], start: Fraction, precision: float) -> Ends:
    """An ε that is enough and one that is not, with designs, as near as was asked for or as there was time for."""
    ends: dict[bool, tuple[Fraction, Design]] = {}
    epsilon, tried = short_epsilon(start), 0
    while True:
        try:
            enough, design = reached(epsilon)
        except TimeIsUp:
            return ends
        ends[enough] = epsilon, design
        tried += 1
        if len(ends) == 2:
            low, high = ends[False][0], ends[True][0]
            if high - low <= precision * high:
                return ends
            epsilon = short_epsilon((low + high) / 2)
        elif tried > _MOST_DOUBLINGS:
            raise InvalidInput("no epsilon of a sensible size meets this target")
        else:
            epsilon = epsilon / 2 if enough else 2 * epsilon


def curve_on_list(
    prior: Prior | None, loss: Any, promises: list[PrivacyType], objective: Objective, tolerance: float | None,
    in_order: bool,
) -> tuple[Callable[..., Design], list[Problem]]:  # fmt: skip
    """The designs of a curve as a function, and what it is asked; in order each begins where the last one ended."""
    effort = Effort(PRECISION if tolerance is None else tolerance, trail=Trail() if in_order else None)
    questions = [problem(prior, as_loss(loss), promise, None, objective) for promise in promises]
    return partial(_best_of, effort), questions


def _best_of(effort: Effort, question: Problem, **more: Any) -> Design:
    """What an executor can send to another process."""
    return best_of(question, replace(effort, **more))
