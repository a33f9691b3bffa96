"""ε*(γ, δ): the smallest ε for which some private mechanism has (γ, δ)-utility, proved from both sides.

At a fixed ε the least chance of missing the ball, δ*(ε), is the loss of the worst secret for a loss of zeros and ones,
one design problem (:func:`sfumato.design.design`). Its mechanism shows δ*(ε) ≤ loss, its multipliers δ*(ε) ≥ bound, and
the kernel has accepted both. δ* does not grow with ε, so bisection ends with a mechanism at the upper end and, at the
lower end, multipliers that no mechanism can answer: a Farkas certificate of "no (γ, δ)-utility at this ε".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, log
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sfumato.arguments import positive
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.verify import prove
from sfumato.design.compatibility.utility import (
    Ball,
    FiniteFunction,
    Utility,
    misses,
    utility,
)
from sfumato.design.optimal import design
from sfumato.design.result import Design
from sfumato.errors import InvalidInput, NotConverged, SolverError, expect, shown
from sfumato.lp import LinearProgram, solve
from sfumato.numbers import Array, Number, as_written, common_denominator, fractions, object_array, told_apart
from sfumato.privacy.promise import rate_bounds
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.finite import FiniteSpace
from sfumato.verdict import Verdict, fails, holds, undecided

_MOST_STEPS = 60  # Bisection gives up after so many designs; a dozen are usual.
_TIGHTEST = 1e-8  # No design is asked for a smaller relative gap: closer to δ than that, another ε is tried.
_ANY_EPSILON = Fraction(1, 10**6)  # A mechanism that ignores the secret is proved at this ε; any other would do.
_EDGE = 1e-6  # Nearer to an end than this share of the width of a bracket, its middle is tried.


@dataclass(frozen=True, eq=False)
class EpsilonStar:
    """``low`` < ε*(γ, δ) ≤ ``high``, both proved; 0 and 0 if no secret has to be looked at.

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
        least, most = rate_bounds(epsilon)
        if self.high is not None and least >= self.high and least > 0:
            return holds("a mechanism for a smaller ε has it", self.mechanism)
        if self.high is None or most <= self.low:
            return fails(self.reason if self.high is None else "the bound at a larger ε is above δ", self.refuted)
        low, high = told_apart(self.low, self.high)
        return undecided(f"ε* lies between {low} and {high}", (self.low, self.high))

    def __repr__(self) -> str:
        if self.high is None:
            return f"EpsilonStar(infinite: {self.reason})"
        low, high = told_apart(self.low, self.high)
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
    if not positive(precision, "the precision") < 1:
        raise InvalidInput(f"the precision is a relative width between 0 and 1, found {shown(precision)}")
    rows, least = blind(goal)
    if least <= chance:
        mechanism = _proved_blind(goal, rows)
        explanation = "one distribution for all databases is enough"
        return EpsilonStar(Fraction(0), Fraction(0), goal.gamma, chance, ball, mechanism,
                           max(misses(goal, mechanism)), None, explanation)  # fmt: skip
    reason = hopeless(goal, chance)
    if reason is not None:
        return EpsilonStar(Fraction(0), None, goal.gamma, chance, ball, None, None, None, reason)
    search = _Bisection(goal, chance, least, precision)
    search.run()
    assert search.met is not None and search.refuted is not None
    high, design_met = search.met
    return EpsilonStar(search.refuted[0], high, goal.gamma, chance, ball, design_met.mechanism,
                       max(misses(goal, design_met.mechanism)), search.refuted[1],
                       "bisection over designs", search.designs)  # fmt: skip


def level(delta: Number) -> Fraction:
    """δ as a rational in [0, 1)."""
    chance = as_written(delta, "delta")
    if not 0 <= chance < 1:
        raise InvalidInput(f"delta is a probability below 1, found {shown(delta)}")
    return chance


def hopeless(goal: Utility, chance: Fraction) -> str | None:
    """Why no ε is enough, for δ that no mechanism reaches without looking at the secret; None if some ε is."""
    empty = np.flatnonzero(goal.far.all(axis=1))
    if empty.size:
        return f"no answer lies in the {goal.ball} ball around f({goal.function.databases.labels[empty[0]]!r})"
    if not chance:
        # M_x(y) > 0 and a finite distance imply M_z(y) > 0: what is never missed lies in the balls of all databases
        return "δ = 0: databases at finite distances have the same possible outputs, and no output suits them all"
    return None


def blind(goal: Utility) -> tuple[Array, Fraction]:
    """The best mechanism that ignores the secret, as rows of rationals, and its chance of missing: δ*(0), exactly.

    Databases that are infinitely far apart promise each other nothing: each component has its own distribution.
    """
    space, far = goal.function.databases, goal.far
    first, second = space.pairs
    graph = coo_array((np.ones(len(first)), (first, second)), shape=(len(space), len(space)))
    count, component = connected_components(graph, directed=False)
    rows, worst = fractions(np.zeros(far.shape, dtype=np.int64)).copy(), Fraction(0)
    for k in range(count):
        members = np.flatnonzero(component == k)
        row, chance = _least_chance(np.unique(far[members], axis=0))
        rows[members] = row
        worst = max(worst, chance)
    return rows, worst


def _least_chance(far: Any) -> tuple[Array, Fraction]:
    """min_q max_x Σ_{y far from x} q_y over distributions q, in rationals."""
    n, m = far.shape
    zero, one = Fraction(0), Fraction(1)
    entries = [[one if far[x, y] else zero for y in range(m)] + [-one] for x in range(n)]
    matrix = object_array([v for row in [[one] * m + [zero], *entries] for v in row], (n + 1, m + 1))
    cost = object_array([zero] * m + [one])
    program = LinearProgram.dense(cost, matrix, "=" + "<" * n, object_array([one] + [zero] * n))
    solution = solve(program, exact=True)
    if solution.primal is None:
        raise SolverError(f"the program of a blind mechanism ended as {solution.status}: it always has an optimum")
    return solution.primal[:m], Fraction(solution.primal[m])


def _proved_blind(goal: Utility, rows: Array) -> Mechanism:
    used = np.flatnonzero((rows > 0).any(axis=0)).tolist()
    weights, _ = common_denominator(rows[:, used])
    outputs = [goal.function.answers.labels[y] for y in used]
    privacy = PrivacyType(goal.function.databases, epsilon=_ANY_EPSILON)
    return prove(weights, privacy, outputs=outputs, provenance={"made by": "epsilon_star", "method": "blind"})


class _Bisection:
    """Bisection with designs; ln δ*(ε) is nearly straight, so the next ε comes from interpolation."""

    def __init__(self, goal: Utility, chance: Fraction, blind_chance: Fraction, precision: float) -> None:
        self.goal, self.chance, self.precision = goal, chance, precision
        self.designs = 0
        self.met: tuple[Fraction, Design] | None = None
        self.refuted: tuple[Fraction, Design] | None = None
        # ε and ln δ* at the ends, as far as known; ε = 0 is known exactly
        self.start = log(blind_chance)
        self.below = (0.0, self.start)
        self.above: tuple[float, float] | None = None

    def run(self) -> None:
        """Shrink the bracket to the precision."""
        guess = first_guess(self.goal, self.chance, exp(self.below[1]))
        for step in range(_MOST_STEPS):
            self._decide(short(Fraction(guess)))
            if self.met is None or self.above is None:
                guess = max(2 * self.below[0], min(self._line(), 8 * self.below[0]))
                continue
            if self.refuted is not None and self.met[0] - self.refuted[0] <= Fraction(self.precision) * self.met[0]:
                return
            guess = self._next(step)
        raise NotConverged(f"no bracket of relative width {self.precision:g} after {self.designs} designs", self.met)

    def _line(self) -> float:
        """Where ln δ* would reach ln δ if it went on as from ε = 0."""
        slope = (self.below[1] - self.start) / self.below[0]
        return self.below[0] + (log(self.chance) - self.below[1]) / slope if slope < 0 else 2 * self.below[0]

    def _next(self, step: int) -> float:
        """A little above the estimated root while the upper end is far from it, else a little below."""
        assert self.above is not None
        (low, high_value), (high, low_value) = self.below, self.above
        share = (high_value - log(self.chance)) / max(high_value - low_value, 1e-300)
        root = low + (high - low) * min(max(share, 0.0), 1.0)
        upper_is_far = high > root * (1 + self.precision / 2)
        aim = root * (1 + self.precision / 3) if upper_is_far else root * (1 - self.precision / 3)
        inside = low + _EDGE * (high - low) < aim < high - _EDGE * (high - low)
        return aim if inside and step % 4 != 3 else (low + high) / 2

    def _decide(self, epsilon: Fraction) -> None:
        """What designs say of one ε, closer ones while they cannot tell; then the ε on both sides of it."""
        tolerance = min(self.precision / 4, 1e-3)
        while (unclear := self._undecided(epsilon, tolerance)) is not None:
            if tolerance <= _TIGHTEST or unclear.gap > tolerance:
                break
            tolerance = max(min(tolerance, unclear.gap) / 30, _TIGHTEST)
        else:
            return
        # δ*(ε) is δ as far as floats can tell: the two ε beside it settle the bracket
        width = Fraction(self.precision) / 3
        for beside in (short(epsilon * (1 + width)), short(epsilon * (1 - width))):
            unclear = self._undecided(beside, _TIGHTEST)
            if unclear is not None:
                raise NotConverged(
                    f"at epsilon = {float(beside):g} the optimum is too close to delta", unclear, unclear.gap
                )

    def _undecided(self, epsilon: Fraction, tolerance: float) -> Design | None:
        """A design at ε where δ lies between its bound and its loss; otherwise it is an end of the bracket."""
        privacy = PrivacyType(self.goal.function.databases, epsilon=epsilon)
        best = design(None, self.goal.loss, privacy, objective="worst secret", tolerance=tolerance)
        self.designs += 1
        value = (float(epsilon), log(max(float(best.loss), 1e-300)))
        if best.loss <= self.chance:
            self.met, self.above = (epsilon, best), value
        elif best.bound > self.chance:
            self.refuted, self.below = (epsilon, best), value
        else:
            return best
        return None


def first_guess(goal: Utility, chance: Fraction, blind_chance: float) -> float:
    """Some ε > 0 of the right size: far from the ball by about γ, ln δ falls by about εγ."""
    distances = goal.function.databases.pair_distances.floats
    reach = max(float(goal.gamma), float(np.median(distances)))
    return max(log(blind_chance / float(chance)), 1e-3) / reach


def short(epsilon: Fraction) -> Fraction:
    """A nearby ε of nine digits, so that proofs stay short."""
    return Fraction(f"{float(epsilon):.9g}")


@dataclass(frozen=True)
class DatabaseSize:
    """How many records are needed for ε-privacy and (γ, δ)-utility: at least ``needed``, and ``enough`` are enough."""

    needed: int
    enough: int | None


def database_size(star: EpsilonStar, epsilon: Number) -> DatabaseSize:
    """The number N of records for which a function of sensitivity 1/N can be disclosed (E, Remark 2.4): N ≥ ε*/ε.

    ``star`` is ε*(γ, δ) of the function rescaled to Lipschitz constant 1.

    Examples
    --------
    >>> from sfumato.spaces import discrete
    >>> database_size(epsilon_star(discrete(3), 0, "1/4"), "0.1")
    DatabaseSize(needed=18, enough=18)
    """
    lowest, highest = rate_bounds(epsilon)
    if lowest <= 0:
        raise InvalidInput(f"epsilon must be positive, found {epsilon}")
    expect(star, EpsilonStar, "the tradeoff", "epsilon_star(…)")
    if star.high is None:
        raise InvalidInput(f"no number of records is enough: {star.reason}")
    least = 1 if not star.high else int(star.low / highest) + 1  # ε* > low, so N > low/ε
    return DatabaseSize(least, max(1, -int(-star.high // lowest)))
