"""A survey: known mechanisms side by side, and the least ε with which shares are estimated with a variance.

What is compared is N times the total variance of unbiased estimates (:func:`sfumato.measures.share_variance`): how many
respondents each mechanism needs for the same errors. So many times as large as another's, so many times as many
respondents. From some mechanisms shares cannot be recovered at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import inf, isinf
from typing import Any

from sfumato.channels.channel import Channel, check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.design.calibration_sought import Ends, Sought
from sfumato.design.comparison_rows import (
    Compared,
    Comparison,
    ComparisonTerms,
    compared_candidates,
    measured_row,
    sorted_rows,
)
from sfumato.design.families_places import PRECISION, ends_by
from sfumato.design.objectives import Objective
from sfumato.design.optimal import Effort, design, designed
from sfumato.design.result import Design
from sfumato.errors import InvalidInput, NotSupported
from sfumato.measures.shares import Workload, share_variance, workload
from sfumato.numbers import floats, is_exact, told_apart
from sfumato.privacy.type import PrivacyType, as_type


def compare_for_shares(
    prior: Prior | None, loss: None, privacy: PrivacyType, objective: Objective, terms: ComparisonTerms
) -> Comparison:
    """Known mechanisms by the errors of estimated shares; :func:`~sfumato.design.comparison.compare_known` calls it.

    ``prior`` is the guessed distribution, uniform if None; the workload is that of the objective. A row has
    ``variance``, N times the least total variance of unbiased estimates (infinite where what is asked for cannot be
    ``recovered``); and ``times``, how many times as many respondents it needs as the best one that keeps the promise.
    """
    if loss is not None:
        raise NotSupported("a loss beside an objective about shares", ["compare_known(prior, None, privacy, …)"])
    privacy = as_type(privacy)
    if objective.priors:
        raise NotSupported("a comparison for the worst of several distributions", ["one guess: objectives.shares(…)"])
    if len(privacy.space) < 2:
        raise InvalidInput("shares are estimated of at least two secrets")
    guess = Prior.uniform(privacy.space) if prior is None else as_prior(prior)
    check_secrets("prior and privacy type", privacy.space, guess)
    asked = workload(objective.workload, privacy.space)

    def measures(channel: Channel) -> dict[str, Any]:
        variance = share_variance(guess, channel, asked)
        return {"variance": variance, "recovered": not isinf(variance), "outputs": len(channel.outputs)}

    def row(name: str, made: Any) -> Compared:
        return measured_row(name, made, privacy, guess.exact and is_exact(asked.matrix), "variance", measures)

    best = partial(design, guess, None, privacy, objective=objective)
    rows, left_out = compared_candidates(row, best, privacy, terms)
    least = min([row.value for row in rows if row.proved.outcome == "holds"], default=inf)
    rows = [replace(row, measured={**row.measured, "times": _times(row.value, least)}) for row in rows]
    clear = {"clear": variance_in_the_clear(guess, asked)}
    return Comparison("respondents", guess, asked, privacy, sorted_rows(rows), left_out, clear)


def variance_in_the_clear(prior: Prior, asked: Workload) -> float:
    """N times the variance of shares that are counted: Σ p_x |a_x|² − |Ap|²."""
    wanted, weights = floats(asked.matrix), prior.float_weights
    return float((wanted**2).sum(axis=0) @ weights - ((wanted @ weights) ** 2).sum())


def _times(variance: Any, least: Any) -> float:
    """How many times as large a variance is; one where both are zero, as for a question with one answer."""
    if isinf(variance) or isinf(least):
        return inf
    return float(variance / least) if least else (1.0 if variance == least else inf)


def ends_on_shares(sought: Sought) -> Ends:
    """An ε on either side of the target: with more privacy the least variance grows without bound."""
    if sought.goal == "keep":
        raise NotSupported("an adversary's loss where shares are estimated", ["the smallest ε that reaches a variance"])
    if not sought.objective.priors:
        guess = Prior.uniform(sought.space) if sought.prior is None else as_prior(sought.prior)
        least = Fraction(variance_in_the_clear(guess, workload(sought.objective.workload, sought.space)))
        if sought.target <= least:
            target, clear = told_apart(sought.target, least)
            raise InvalidInput(f"the target {target} must lie above {clear}, the variance when all tell the truth")

    def design(promise: PrivacyType, tolerance: float) -> Design:
        return _best(sought.prior, sought.objective, tolerance, promise, sought.watch, sought.progress)

    return ends_by(design, sought)


def curve_on_shares(
    prior: Prior | None, loss: Any, promises: list[PrivacyType], objective: Objective, tolerance: float | None,
    in_order: bool,
) -> tuple[Callable[..., Design], list[PrivacyType]]:  # fmt: skip
    """The designs of a curve as a function, and what it is asked."""
    return partial(_best, prior, objective, PRECISION if tolerance is None else tolerance), promises


def _best(
    prior: Prior | None, objective: Objective, tolerance: float, privacy: PrivacyType, time_limit: Any = None,
    progress: Callable[[Any], object] | None = None,
) -> Design:  # fmt: skip
    return designed(prior, None, privacy, None, objective, (), Effort(tolerance, time_limit, progress=progress))
