"""ε*(γ, δ): the smallest ε for which some private mechanism has (γ, δ)-utility, proved from both sides.

At a fixed ε the least chance of missing the ball, δ*(ε), is the loss of the worst secret for a loss of zeros and ones,
one design problem (:func:`sfumato.design.design`). Its mechanism shows δ*(ε) ≤ loss, its multipliers δ*(ε) ≥ bound, and
the kernel has accepted both. δ* does not grow with ε, so rungs of a ladder (:mod:`sfumato.theory.compatibility.curves`)
enclose ε*: a mechanism at the upper one and, at the lower one, multipliers that no mechanism can answer, a Farkas
certificate of "no (γ, δ)-utility at this ε". The paper is E of :data:`sfumato.papers.TITLES`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.certify.mechanism import Mechanism
from sfumato.certify.verify import prove
from sfumato.design.calibration import relative_width
from sfumato.design.result import Design
from sfumato.errors import InvalidInput, expect
from sfumato.numbers import Array, Number, bounds_text, common_denominator
from sfumato.privacy.promise import rate_bounds
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.finite import FiniteSpace
from sfumato.theory.compatibility.curves import Ladder
from sfumato.theory.compatibility.rungs import PrivacyTypes, blind, hopeless
from sfumato.theory.compatibility.utility import Ball, FiniteFunction, Utility, level, misses, utility
from sfumato.verdict import Verdict, fails, holds, undecided
from sfumato.watch import Watch

_ANY_EPSILON = Fraction(1, 10**6)  # A mechanism that ignores the secret is proved at this ε; any other would do.


@dataclass(frozen=True, eq=False)
class EpsilonStar:
    """``low`` < ε*(γ, δ) ≤ ``high``, both proved, or ε* = 0 and both are 0: no database has to be looked at.

    Parameters
    ----------
    high
        None where no ε is large enough; ``reason`` says why.
    mechanism
        Private at ``high`` (at every ε if that is 0), with (γ, δ)-utility.
    missing
        Its chance of missing the ball, exactly.
    refuted
        The design at ``low``: its ``bound``, which the kernel has accepted, is above δ.
    designs
        How many linear programs it took.
    """

    low: Fraction
    high: Fraction | None
    gamma: Fraction
    delta: Fraction
    ball: Ball
    mechanism: Mechanism | None
    missing: Fraction | None
    refuted: Design | None
    reason: str
    designs: int = 0

    @property
    def finite(self) -> bool:
        """Whether any ε is enough."""
        return self.high is not None

    def achievable(self, epsilon: Number) -> Verdict:
        """Whether an ε-private mechanism has (γ, δ)-utility; undecided inside the bracket."""
        least, most = _positive_bounds(epsilon)
        if self.high is not None and least >= self.high:
            return holds("a mechanism for a smaller ε has it", self.mechanism)
        if self.high is None or most <= self.low:
            return fails(self.reason if self.high is None else "the bound at a larger ε is above δ", self.refuted)
        low, high = bounds_text(self.low, self.high)
        return undecided(f"ε* lies between {low} and {high}", (self.low, self.high))

    def __repr__(self) -> str:
        if self.high is None:
            return f"EpsilonStar(infinite: {self.reason})"
        low, high = bounds_text(self.low, self.high)
        return f"EpsilonStar({low} … {high}, gamma={float(self.gamma):g}, delta={float(self.delta):g})"


def epsilon_star(
    target: FiniteFunction | FiniteSpace,
    gamma: Number,
    delta: Number,
    ball: Ball = "closed",
    *,
    precision: float = 1e-3,
) -> EpsilonStar:
    """The privacy–utility tradeoff ε*(γ, δ) of a finite function (E, Definition 2.3), enclosed with proofs.

    Parameters
    ----------
    target
        A space (which point of it is the secret is to be told), or :func:`finite_function`.
    gamma, delta
        The output lies within γ of f(x) with probability at least 1 − δ, for every x; 0 ≤ δ < 1.
    ball
        Whether the ball around f(x) is closed or open.
    precision
        Relative width of the bracket that is left.

    Examples
    --------
    >>> from sfumato.spaces import discrete
    >>> solution = epsilon_star(discrete(3), 0, "1/4")        # ln(2 · (1 − δ)/δ) = ln 6 = 1.7917…
    >>> solution
    EpsilonStar(1.79... … 1.79..., gamma=0, delta=0.25)
    >>> solution.missing <= solution.delta < solution.refuted.bound
    True
    >>> epsilon_star(discrete(3), 1, "1/4")                # one answer lies within 1 of all
    EpsilonStar(0 … 0, gamma=1, delta=0.25)
    """
    goal, chance = utility(target, gamma, ball), level(delta)
    width, (rows, least), watch = relative_width(precision), blind(goal), Watch()
    if least <= chance:
        mechanism = _proved_blind(goal, rows)
        explanation = "one distribution for all databases is enough"
        return EpsilonStar(Fraction(0), Fraction(0), goal.gamma, chance, ball, mechanism,
                           max(misses(goal, mechanism)), None, explanation)  # fmt: skip
    reason = hopeless(goal, chance)
    if reason is not None:
        return EpsilonStar(Fraction(0), None, goal.gamma, chance, ball, None, None, None, reason)
    ladder = Ladder(goal, least, (chance,), width, PrivacyTypes(goal.function.databases))
    low, high = ladder.bracket(chance)
    # floats said that δ* > δ at the lower rung; where the proved bound does not say so, a rung farther down has to
    while (refuted := low.design(watch)).bound <= chance:
        ladder.distrusted.add((low.epsilon, chance))
        low, high = ladder.bracket(chance)
    return EpsilonStar(low.epsilon, high.epsilon, goal.gamma, chance, ball, high.mechanism, high.missing, refuted,
                       "a bracket of designs", ladder.solved)  # fmt: skip


def _proved_blind(goal: Utility, rows: Array) -> Mechanism:
    used = np.flatnonzero((rows > 0).any(axis=0)).tolist()
    weights, _ = common_denominator(rows[:, used])
    outputs = [goal.function.answers.labels[y] for y in used]
    privacy = PrivacyType(goal.function.databases, epsilon=_ANY_EPSILON)
    return prove(weights, privacy, outputs=outputs, provenance={"made by": "epsilon_star", "method": "blind"})


@dataclass(frozen=True)
class DatabaseSize:
    """How many records are needed for ε-privacy and (γ, δ)-utility: at least ``needed``, and ``enough`` are enough."""

    needed: int
    enough: int


def database_size(star: EpsilonStar, epsilon: Number) -> DatabaseSize:
    """The number N of records for which a function of sensitivity 1/N can be disclosed (E, Remark 2.4): N ≥ ε*/ε.

    ``star`` is ε*(γ, δ) of the function rescaled to Lipschitz constant 1.

    Examples
    --------
    >>> from sfumato.spaces import discrete
    >>> database_size(epsilon_star(discrete(3), 0, "1/4"), "0.1")
    DatabaseSize(needed=18, enough=18)
    """
    lowest, highest = _positive_bounds(epsilon)
    expect(star, EpsilonStar, "the tradeoff", "epsilon_star(…)")
    if star.high is None:
        raise InvalidInput(f"no number of records is enough: {star.reason}")
    least = 1 if not star.high else int(star.low / highest) + 1  # ε* > low, so N > low/ε
    return DatabaseSize(least, max(1, -int(-star.high // lowest)))


def _positive_bounds(epsilon: Number) -> tuple[Fraction, Fraction]:
    """Rationals around an ε that a privacy type may have."""
    least, most = rate_bounds(epsilon)
    if least <= 0:
        raise InvalidInput(f"epsilon must be positive, found {epsilon}")
    return least, most
