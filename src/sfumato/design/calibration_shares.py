"""Which ε for a survey: the least with which shares are estimated with a variance, times the number of answers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from sfumato.channels.prior import Prior, as_prior
from sfumato.design.calibration_places import PRECISION, ends_by
from sfumato.design.calibration_sought import Ends, Sought
from sfumato.design.comparison_shares import variance_in_the_clear
from sfumato.design.objectives import Objective
from sfumato.design.optimal import Effort, designed
from sfumato.design.result import Design
from sfumato.errors import InvalidInput, NotSupported
from sfumato.measures import workload
from sfumato.numbers import told_apart
from sfumato.privacy.type import PrivacyType


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
