"""Before anybody is asked: how many respondents an error needs, and which error a number of respondents leaves.

One respondent adds a row of the right inverse W to the estimate, so that with guessed shares p the share of x has the
variance V_x(p)/N with

    V_x(p) = Σ_z p_z m_z(x) − p_x²,   m_z(x) = Σ_y M_zy W_yx²,

and p_x (1 − p_x)/N if everybody answered in the clear. V_x is concave in p. At the worst p all of 1 − p_x lies on the
z ≠ x with the largest m_z(x), and p_x = (m_x(x) − m_z(x))/2, moved into [0, 1]: no guess is needed, and no shares are
worse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, isfinite
from typing import Any

import numpy as np
from scipy.special import ndtri

from sfumato.arguments import answer_of, callable_argument, flag, integer, items, one_of, positive
from sfumato.channels.channel import as_channel, check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import InvalidInput, keyword
from sfumato.numbers import Floats, Number, as_written, floats
from sfumato.privacy.promise import rate
from sfumato.release.estimation.estimates import right_inverse
from sfumato.release.estimation.intervals import Recovery, level_of

MEASURES = ("margin", "standard error")
"""What an error is: half the width of an interval, or the standard error."""

_LARGEST_EPSILON = 10**6  # beyond which nothing is hidden that a float could tell
MOST_RESPONDENTS = 10**15
"""More than there are people, and few enough for floats to count."""


@dataclass(frozen=True, eq=False)
class SurveyPlan:
    """What to expect of a survey; made by :func:`survey_plan`.

    ``variances`` are N times the variance of each share, ``clear`` the same if everybody answered in the clear. Where
    ``guess`` is None, each is the largest over all shares that the population may have.
    """

    secrets: tuple[Any, ...]
    guess: Prior | None
    variances: Floats = field(repr=False)
    clear: Floats = field(repr=False)

    @property
    def inflation(self) -> float:
        """How many times as many respondents are needed as in the clear; infinite if one would do there."""
        most, without = float(self.variances.max()), float(self.clear.max())
        return most / without if without else float("inf") if most else 1.0

    def errors(
        self, respondents: int, *, level: Number = "0.95", measure: str = "margin", simultaneous: bool = False
    ) -> Floats:
        """The error of each share with so many respondents."""
        asked = integer(respondents, "the number of respondents", 1, MOST_RESPONDENTS)
        return np.sqrt(self.variances / asked) * self._width(level, measure, simultaneous)

    def error(
        self, respondents: int, *, level: Number = "0.95", measure: str = "margin", simultaneous: bool = False
    ) -> float:
        """The largest error of any share with so many respondents."""
        return float(self.errors(respondents, level=level, measure=measure, simultaneous=simultaneous).max())

    def respondents(
        self, error: Number, *, level: Number = "0.95", measure: str = "margin", simultaneous: bool = False
    ) -> int:
        """How many respondents bring the error of every share down to this.

        Parameters
        ----------
        error
            As a share: 0.03 is three percentage points.
        level, simultaneous
            Of the intervals whose half width is meant, which hold about as often; normal quantiles, Bonferroni's for
            all shares together.
        measure
            ``"margin"``, half the width of an interval, or ``"standard error"``.
        """
        return self._needed(self.variances, error, self._width(level, measure, simultaneous))

    def respondents_in_the_clear(
        self, error: Number, *, level: Number = "0.95", measure: str = "margin", simultaneous: bool = False
    ) -> int:
        """How many would do without any noise."""
        return self._needed(self.clear, error, self._width(level, measure, simultaneous))

    def _needed(self, variances: Floats, error: Number, width: float) -> int:
        wanted = positive(float(as_written(error, "the error")), "the error")
        if wanted >= 1:  # such an error says nothing of a share
            meant = f"{wanted:g} % is {wanted / 100:g}"
            raise InvalidInput(f"an error of a share is less than 1, found {wanted:g}: {meant}")
        ratio = width / wanted
        needed = float(variances.max()) * ratio * ratio  # infinite beyond the floats, where a power would be an error
        if not isfinite(needed) or needed > MOST_RESPONDENTS:
            raise InvalidInput(f"an error of {wanted:g} needs more respondents than there are people: ask for less")
        return max(ceil(needed * (1 - 1e-12)), 1)  # a product that is whole may come out above itself

    def _width(self, level: Number, measure: str, simultaneous: bool) -> float:
        """How many standard errors are one error."""
        wanted, many = level_of(level), len(self.secrets) if flag(simultaneous, "simultaneous") else 1
        if one_of(measure, MEASURES, keyword("measure")) == "standard error":
            return 1.0
        return float(ndtri(1 - (1 - wanted) / (2 * many)))


def survey_plan(channel: Any, *, guess: Prior | None = None, worst: bool = False) -> SurveyPlan:
    """What to expect of shares that are estimated from answers released by a mechanism.

    Parameters
    ----------
    channel
        The mechanism, or its channel.
    guess
        Shares that the population may have: the prior of the mechanism's claim if it has one, else uniform ones.
    worst
        The shares for which each error is largest, instead of a guess.

    Examples
    --------
    >>> import sfumato as sf
    >>> response = sf.random_response(sf.PrivacyType(sf.discrete(["no", "yes"]), alpha="1/3"))
    >>> plan = survey_plan(response)
    >>> plan.respondents(0.03), plan.respondents_in_the_clear(0.03), round(plan.error(4269), 4)
    (4269, 1068, 0.03)
    """
    table, claimed = as_channel(channel), getattr(getattr(channel, "claim", None), "prior", None)
    if flag(worst, "worst"):
        if guess is not None:
            raise InvalidInput("a plan is made for guessed shares or for the worst ones, not for both")
        return _worst(_recovery(table, Prior.uniform(table.secrets)), table.secrets)
    guessed = as_prior(guess) if guess is not None else claimed or Prior.uniform(table.secrets)
    check_secrets("channel and guess", table, guessed)
    shares = np.asarray(guessed.float_weights)
    # outputs of answers that nobody is guessed to give have to be told apart all the same
    reference = guessed if (shares > 0).all() else Prior.uniform(table.secrets)
    recovery = _recovery(table, reference)
    variances = recovery.seconds(recovery.outputs(shares)) - shares**2
    return SurveyPlan(table.secrets, guessed, np.maximum(variances, 0.0), shares * (1 - shares))


def _recovery(table: Any, reference: Prior) -> Recovery:
    plain = table.to_floats()
    return Recovery((floats(plain.matrix),), (floats(right_inverse(plain, reference)),))


def _worst(recovery: Recovery, secrets: tuple[Any, ...]) -> SurveyPlan:
    """Each share at the shares for which its variance is largest."""
    ((matrix,), (inverse,)) = recovery.matrices, recovery.inverses
    seconds = matrix @ inverse**2  # m_z(x): rows z, columns x
    own = np.diagonal(seconds).copy()
    np.fill_diagonal(seconds, -np.inf)
    others = seconds.max(axis=0) if len(secrets) > 1 else own
    share = np.clip((own - others) / 2, 0.0, 1.0)
    variances = share * own + (1 - share) * others - share**2
    return SurveyPlan(secrets, None, np.maximum(variances, 0.0), np.full(len(secrets), 0.25 if len(secrets) > 1 else 0))


@dataclass(frozen=True, eq=False)
class PlanCurve:
    """Plans for several ε; made by :func:`plan_curve`."""

    epsilons: tuple[float, ...]
    plans: tuple[SurveyPlan, ...]


def plan_curve(
    build: Callable[[Any], Any], epsilons: Sequence[Number], *, guess: Prior | None = None, worst: bool = False
) -> PlanCurve:
    """Plans for the mechanisms that a function builds for several ε.

    Parameters
    ----------
    build
        From ε to a mechanism or a channel, such as a design or a known mechanism.
    epsilons
        Positive; the plans are in rising order of ε, one for each.
    guess, worst
        As for :func:`survey_plan`, at every ε.

    Examples
    --------
    >>> import sfumato as sf
    >>> scale = sf.line(4)
    >>> curve = plan_curve(lambda e: sf.geometric(sf.PrivacyType(scale, epsilon=e)), [0.5, 1, 2])
    >>> [plan.respondents(0.05) for plan in curve.plans]
    [23836, 3015, 626]
    """
    callable_argument(build, "what builds a mechanism")
    values = sorted({rate(epsilon) for epsilon in items(epsilons, "the values of ε")})
    if not values or not all(0 < value <= _LARGEST_EPSILON for value in values):
        raise InvalidInput(f"a curve needs values of ε, each above 0 and at most {_LARGEST_EPSILON}")
    plans = [
        survey_plan(answer_of(build, "what builds a mechanism", value), guess=guess, worst=worst) for value in values
    ]
    return PlanCurve(tuple(map(float, values)), tuple(plans))


def inflation_words(inflation: float) -> str:
    """How many times as many respondents are needed, in few digits.

    Examples
    --------
    >>> inflation_words(3.98), inflation_words(41.2), inflation_words(1.4142)
    ('4', '41', '1.4')
    """
    return f"{inflation:,.0f}" if inflation >= 10 else f"{inflation:.2g}"
