"""What exponential mechanisms achieve: the bound of Theorem 3.4, what it really needs, and the best base measure.

M_x(y) ∝ μ(y) e^{−βσ(f(x), y)} (E, Definition 2.6). With m = min_x μ(B(f(x), γ/2)) and β = (2/γ) ln(1/(δm)) it has
(γ, δ)-utility (Theorem 3.4, (3) ⇒ (2)) and is 2Cβ-private for a function of Lipschitz constant C (Theorem 2.7). Both
steps give something away. The chance of missing falls with β, since what is missed lies farther off than what is not;
so the least β that has the utility is found by bisection, and the ε that this mechanism needs is read off its ratios.

**The base measure.** At fixed β and ε everything asked of μ is linear: utility is Σ_{y far} k_xy μ_y ≤ δ Σ_y k_xy μ_y
with k_xy = e^{−βσ(f(x), y)}, and privacy is (kμ)_z ≤ e^{ερ(x, z)} min_y (k_zy / k_xy) (kμ)_x. So at fixed β the least ε
is a bisection over linear programs, and β is one number to search over. In ln μ the same conditions are differences of
convex functions, not convex; alternating between μ and the normalisers kμ is not needed where both enter linearly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq

from sfumato.certify.mechanism import Mechanism
from sfumato.certify.repair import quantise
from sfumato.errors import InvalidInput, NotConverged, NotSupported, SolverError, shown
from sfumato.labels import in_order
from sfumato.lp import LinearProgram, Status, solve
from sfumato.mechanisms.exponential import true_epsilon
from sfumato.numbers import (
    Array,
    Floats,
    Number,
    array,
    float_above,
    floats,
    fractions,
    log_bounds,
    object_array,
    printed_above,
)
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.finite import FiniteSpace
from sfumato.theory.compatibility.families import greedy_owners
from sfumato.theory.compatibility.utility import Ball, FiniteFunction, Utility, as_function, level, misses, utility

Base = Literal["nets", "uniform", "best"]

_BETA_ACCURACY = 1e-10  # The relative accuracy of β, which is then raised by as much.
_ROOM = 1e-9  # By so much ε is raised above what floats say is needed: rounding to integers has room then.
_RAISES = 12  # So often a larger β is tried when rounding to integers has eaten up the utility.
_BISECTIONS = 14  # So many halvings find ε for one β to a few parts in 10^4.
_BETA_STEPS = (1.0, 1.01, 1.03, 1.07, 1.15, 1.3, 1.5, 2.0)  # These multiples of the least β are tried.
_REFINEMENTS = 4  # So often the step around the best multiple is halved.
_CHUNK = 2**22  # So many entries of a table of differences are held at once.


@dataclass(frozen=True, eq=False)
class Exponential:
    """An exponential mechanism with (γ, δ)-utility: β, the ε it really needs (rounded up), proved at that ε."""

    beta: float
    epsilon: float
    mechanism: Mechanism
    missing: Fraction
    base: Array


@dataclass(frozen=True, eq=False)
class TheoremBound:
    """What Theorem 3.4 promises for a base measure, ε = 2Cβ, and what the same mechanism really needs and misses.

    ``mass`` is m, the least measure of a ball of radius γ/2; ``epsilon`` is rounded up.
    """

    epsilon: Fraction
    beta: float
    mass: Fraction
    really: Exponential


def theorem_34(
    target: FiniteFunction | FiniteSpace,
    gamma: Number,
    delta: Number,
    ball: Ball = "closed",
    *,
    base: Base | Any = "nets",
) -> TheoremBound:
    """The upper bound ε*(γ, δ) ≤ (4C/γ) ln(1/(δm)) of Theorem 3.4, and the true value of its mechanism.

    Parameters
    ----------
    base
        ``"nets"``: the measure of the theorem; ``"uniform"`` on all answers; ``"best"``: :func:`best_measure`; or a
        positive number for each answer.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> bound = theorem_34(line(9), 2, "1/10", base="uniform")
    >>> str(bound.mass), round(float(bound.epsilon), 4), bound.really.epsilon < 5, float(bound.really.missing) < 0.01
    ('2/9', 7.6133, True, True)
    """
    goal, chance = utility(target, gamma, ball), _positive(delta)
    if not goal.gamma:
        raise InvalidInput("Theorem 3.4 needs a radius gamma > 0; epsilon_star takes 0 too")
    measure = _measure(goal, chance, base)
    halves = ~Utility(goal.function, goal.gamma / 2).far  # closed half balls are enough for both kinds of ball
    mass = min(Fraction(sum(fractions(measure[near]).tolist(), Fraction(0))) for near in halves)
    if not mass:
        raise InvalidInput(f"the base measure gives no mass to some ball of radius {goal.gamma / 2}")
    scale = log_bounds(1 / (chance * mass))[1] * 2 / goal.gamma
    bound = 2 * goal.function.lipschitz * scale
    return TheoremBound(bound, float_above(scale), mass, _proved(goal, chance, measure, float_above(scale)))


def least_exponential(
    target: FiniteFunction | FiniteSpace,
    gamma: Number,
    delta: Number,
    ball: Ball = "closed",
    *,
    base: Base | Any = "uniform",
) -> Exponential:
    """The exponential mechanism with the least β that has (γ, δ)-utility, and the ε it needs.

    Examples
    --------
    >>> from sfumato.spaces import discrete
    >>> least = least_exponential(discrete(3), 0, "1/4")            # ln 6: the best of all mechanisms here
    >>> round(least.epsilon, 6), least.missing <= Fraction(1, 4)
    (1.791759, True)
    """
    goal, chance = utility(target, gamma, ball), _positive(delta)
    if isinstance(base, str) and base == "best":
        return _best(goal, chance)
    measure = _measure(goal, chance, base)
    return _proved(goal, chance, measure, _least_beta(goal, chance, measure))


def _best(goal: Utility, chance: Fraction) -> Exponential:
    """The best of what the linear programs find and the uniform measure, both proved."""
    uniform = object_array([Fraction(1, len(goal.function.answers))] * len(goal.function.answers))
    searched = _searched(goal, float(chance))
    tries = [(uniform, _least_beta(goal, chance, uniform)), *([] if searched is None else [(searched[2], searched[1])])]
    return min((_proved(goal, chance, *one) for one in tries), key=lambda one: one.epsilon)


def _positive(delta: Number) -> Fraction:
    chance = level(delta)
    if not chance:
        raise InvalidInput("an exponential mechanism misses with positive probability: delta must be positive")
    return chance


def _measure(goal: Utility, chance: Fraction, base: Base | Any) -> Array:
    """One number for each answer, summing to 1."""
    size = len(goal.function.answers)
    if isinstance(base, str):
        if base == "nets":
            return net_measure(goal.function)
        if base == "uniform":
            return object_array([Fraction(1, size)] * size)
        if base == "best":
            return best_measure(goal.function, goal.gamma, chance, goal.ball)
        raise NotSupported(f"base measure {shown(base)}", ["nets", "uniform", "best", "a number for each answer"])
    return as_measure(base, goal.function.answers)


def as_measure(base: Any, answers: FiniteSpace) -> Array:
    """One rational for each answer, summing to 1, from numbers in the order of the answers or by their names."""
    given = fractions(array(in_order(base, answers.labels, "a base measure"), "a base measure", 1))
    if len(given) != len(answers) or (given < 0).any() or not given.any():
        needed = f"{len(answers)} numbers ≥ 0, one an answer, not all 0"
        raise InvalidInput(f"a base measure has {needed}; found {shown(base)}")
    return np.asarray(given / given.sum())


def net_measure(target: FiniteFunction | FiniteSpace) -> Array:
    """The uniformly positive measure of Theorem 3.4, (4) ⇒ (3), on the values of f: μ = Σ_i 2^{−i} uniform(C_i).

    C_i is a net of radius 2^{−i} times the diameter, found greedily; from the first net that has every value on, all
    that is left goes to that one. Every ball of radius r ≥ 2^{−i} diameters has mass 2^{−i}/|C_i| at least.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> [str(mass) for mass in net_measure(line(3))]           # half on the net {0, 2}, half on all
    ['5/12', '1/6', '5/12']
    """
    function = as_function(target)
    values = np.unique(function.images)
    table, measure = function.answers.distances, object_array([Fraction(0)] * len(function.answers))
    if table.infinite[np.ix_(values, values)].any():
        raise NotSupported("a base measure where values of f are infinitely far apart", ["finite distances"])
    part = Utility(FiniteFunction(function.answers, function.answers, values), Fraction(0))
    radius = max(table.bounds(v)[1] for v in np.unique(part.function.displacements.values[:, values]))
    left = Fraction(1)
    while True:
        radius, share = radius / 2, left / 2
        near = ~Utility(part.function, radius).far[:, values]
        net = np.unique(greedy_owners(near))
        last = len(net) == len(values)
        for k in net:
            measure[values[k]] += (left if last else share) / len(net)
        if last:
            return measure
        left = share


def best_measure(target: FiniteFunction | FiniteSpace, gamma: Number, delta: Number, ball: Ball = "closed") -> Floats:
    """A base measure for which the exponential mechanism with (γ, δ)-utility needs little ε: programs in floats.

    The least ε over μ at several β, by bisection (see above), or the uniform measure where that is better. Constraints
    are kept for every answer, also for one that gets no mass, so a measure on fewer answers may do a little better.
    Nothing is claimed of it: who uses the measure proves the mechanism that it gives.
    """
    return floats(_best(utility(target, gamma, ball), _positive(delta)).base)


def _searched(goal: Utility, chance: float) -> tuple[float, float, Floats] | None:
    """ε, β and μ: the least ε at several β, then at β around the best."""
    least = _least_beta_of_any(goal, chance)
    tried = [(step, _least_epsilon(goal, chance, least * step)) for step in _BETA_STEPS]
    usable = [(one[0], step, one[1]) for step, one in tried if one is not None]
    if not usable:
        return None
    best = min(usable, key=lambda one: one[0])
    width = 0.5 * (best[1] - max((s for s in _BETA_STEPS if s < best[1]), default=1.0)) or 0.005
    for _ in range(_REFINEMENTS):
        for step in (best[1] - width, best[1] + width):
            one = _least_epsilon(goal, chance, least * step) if step > 1 else None
            if one is not None and one[0] < best[0]:
                best = (one[0], step, one[1])
        width /= 2
    return best[0], least * best[1], best[2]


# ----------------------------------------------------------------- floats: search


def _displacements(goal: Utility) -> Floats:
    table = goal.function.displacements
    if table.infinite.any():
        raise NotSupported("an exponential mechanism with infinite distances", ["finite distances"])
    return table.floats


def _log_matrix(goal: Utility, measure: Floats, beta: float) -> Floats:
    beta = min(beta, 1e290)  # an infinite one times a distance of 0 would be nothing at all
    with np.errstate(divide="ignore"):
        logs = np.log(measure)[None, :] - beta * _displacements(goal)
    top = logs.max(axis=1, keepdims=True)
    return np.asarray(logs - top - np.log(np.exp(logs - top).sum(axis=1, keepdims=True)))


def _missing(goal: Utility, measure: Floats, beta: float) -> float:
    return float(np.where(goal.far, np.exp(_log_matrix(goal, measure, beta)), 0.0).sum(axis=1).max())


def _least_beta(goal: Utility, chance: Fraction, measure: Array) -> float:
    """The least β that misses with probability δ at most; it falls with β, to 0 where nearest answers are near."""
    aim, given = float(chance), floats(measure)
    if _missing(goal, given, 0.0) <= aim:
        return 0.0
    high = 1.0 / max(float(_displacements(goal).max()), 1e-300)
    while _missing(goal, given, high) > aim:
        high *= 2
        if high * float(np.ptp(_displacements(goal))) > 1e9:
            raise InvalidInput("the base measure gives no mass near some value: no β has this utility")
    share = _BETA_ACCURACY / 2
    root = brentq(lambda beta: _missing(goal, given, beta) - aim, 0.0, high, xtol=1e-300, rtol=share)
    return float(root) * (1 + share)


def _needed(goal: Utility, logs: Floats) -> float:
    """The least ε of a matrix given by its logarithms, to search with; outputs without mass do not count."""
    logs = logs[:, np.isfinite(logs).all(axis=0)]
    first, second = goal.function.databases.pairs
    distances = goal.function.databases.pair_distances.floats
    step, most = max(1, _CHUNK // logs.shape[1]), 0.0
    for start in range(0, len(first), step):
        part = slice(start, start + step)
        gaps = np.abs(logs[first[part]] - logs[second[part]]).max(axis=1)
        most = max(most, float((gaps / distances[part]).max()))
    return most


def _proved(goal: Utility, chance: Fraction, measure: Array, beta: float) -> Exponential:
    """The mechanism in integers, β raised until its utility, counted exactly, is there."""
    answers, given = goal.function.answers, floats(measure)
    used = np.flatnonzero(given > 0)
    outputs = [answers.labels[y] for y in used]
    for attempt in range(_RAISES):
        raised = beta * (1 + (_BETA_ACCURACY * 8**attempt if attempt else 0.0))
        logs = _log_matrix(goal, given, raised)[:, used]
        epsilon = Fraction(max(_needed(goal, logs) * (1 + _ROOM), _ROOM))
        privacy = PrivacyType(goal.function.databases, epsilon=epsilon)
        notes = {"made by": "exponential", "beta": raised}
        mechanism = quantise(np.exp(logs), privacy, outputs=outputs, provenance=notes).mechanism
        missing = max(misses(goal, mechanism))
        if missing <= chance:
            needs = min(true_epsilon(mechanism), printed_above(epsilon))
            return Exponential(raised, needs, mechanism, missing, measure)
    raise NotConverged("rounding to integers leaves no exponential mechanism with this utility")


# ----------------------------------------------------------------- floats: linear programs over measures


def _bisected(works: Callable[[float], Floats | None], high: float, halvings: int) -> tuple[float, Floats | None]:
    """Nearly the least number up to ``high`` that works, and what it gave; None where nothing lower works."""
    low, best = 0.0, None
    for _ in range(halvings):
        middle = (low + high) / 2
        found = works(middle)
        low, high, best = (middle, high, best) if found is None else (low, middle, found)
    return high, best


def _least_beta_of_any(goal: Utility, chance: float) -> float:
    """The least β with utility for some measure."""
    high = 1.0 / max(float(np.median(_displacements(goal))), 1e-12)
    while _feasible(goal, chance, high, None) is None:
        high *= 2
    return _bisected(lambda beta: _feasible(goal, chance, beta, None), high, 2 * _BISECTIONS)[0]


def _least_epsilon(goal: Utility, chance: float, beta: float) -> tuple[float, Floats] | None:
    """The least ε over all measures at one β, and the measure."""
    measure = _feasible(goal, chance, beta, None)
    if measure is None:
        return None
    most = _needed(goal, _log_matrix(goal, measure, beta))
    least, better = _bisected(lambda epsilon: _feasible(goal, chance, beta, epsilon), most, _BISECTIONS)
    return least, measure if better is None else better


def _feasible(goal: Utility, chance: float, beta: float, epsilon: float | None) -> Floats | None:
    """A measure with utility at β, and private at ε unless that is None."""
    far = goal.far
    shares = np.exp(-beta * _displacements(goal))
    rows = [np.where(far, 1.0 - chance, -chance) * shares]
    if epsilon is not None:
        first, second = goal.function.databases.pairs
        distances, table = goal.function.databases.pair_distances.floats, _displacements(goal)
        for x, z in ((first, second), (second, first)):
            slack = (table[x] - table[z]).min(axis=1)
            exponent = np.minimum(epsilon * distances + beta * slack, 700.0)
            rows.append(shares[z] * np.exp(-np.maximum(exponent, 0.0))[:, None]
                        - shares[x] * np.exp(np.minimum(exponent, 0.0))[:, None])  # fmt: skip
    table = np.concatenate([np.ones((1, far.shape[1])), *rows])
    level_of_rows = np.zeros(len(table))
    level_of_rows[0] = 1.0
    program = LinearProgram.dense(np.zeros(far.shape[1]), table, "=" + "<" * (len(table) - 1), level_of_rows)
    try:
        solution = solve(program)
    except SolverError:  # too close to the edge for floats: a slightly larger ε will do
        return None
    if solution.status is not Status.OPTIMAL or solution.primal is None:
        return None
    measure = np.maximum(np.asarray(solution.primal, dtype=np.float64), 0.0)
    return np.asarray(measure / measure.sum())
