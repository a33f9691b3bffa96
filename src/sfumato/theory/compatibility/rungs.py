"""What can be said at one radius γ and one ε: a mechanism in integers and a bound, each good for many δ.

The least chance of missing δ*(ε) is one program (:mod:`sfumato.lp.cone.worst_row`). Its matrix becomes a
table of integers that keeps the promise exactly, and what the table misses is counted. Its multipliers prove a bound.

Neither has to be believed. The kernel sees a mechanism or a bound when a bracket ends there: the mechanism as it is,
the multipliers rounded to integers and without all those that the bracket can do without.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from math import sqrt
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sfumato.certify.closure import Bounds, bounds_of, close_integers
from sfumato.certify.mechanism import Claim, Mechanism
from sfumato.certify.repair import private_weights
from sfumato.certify.verify import prove
from sfumato.design.answer import Answer
from sfumato.design.bounds import LowerBound, rounded_bound, usable
from sfumato.design.certified import as_design, certified
from sfumato.design.choice import to_a_gap
from sfumato.design.objectives import worst_secret
from sfumato.design.problem import Problem, problem
from sfumato.design.result import Design
from sfumato.design.solvers.reduced import reduced_answer
from sfumato.design.symmetry import Symmetry, by_group, symmetry
from sfumato.errors import InvalidChannel, NotConverged, SolverError
from sfumato.lp import LinearProgram, solve
from sfumato.lp.cone.worst_row import solve_worst_row
from sfumato.numbers import Array, Floats, Integers, floats, fractions, object_array
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.finite import FiniteSpace
from sfumato.theory.compatibility.utility import Utility
from sfumato.watch import Watch

_TOTAL = 1 << 52  # A row of weights has this total: integers that floats hold exactly.
# So much of a row is left free, to be filled up with what rounding lacks; the smallest first.
_ROOMS = tuple(_TOTAL >> bits for bits in (46, 40, 34, 28, 22, 16))
_COLUMNS_TRIED = 4  # So many outputs may take up what a row lacks.
_LARGEST_COMPILED = 300  # For more databases dense systems of all columns would not fit into the caches.
# Multipliers below this share of the largest change a bound by less than the gap of the program.
_NEGLIGIBLE = 2.0**-34
_ROUNDING_SHARE = 0.05  # Rounding gets this share of what a bound has to spare.


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


class PrivacyTypes:
    """The promise at each ε, and its bounds as the kernel takes them, shared by all γ: databases alone decide them."""

    def __init__(self, space: FiniteSpace) -> None:
        self.space = space
        self.at = cache(lambda epsilon: PrivacyType(space, epsilon=epsilon))
        self.bounds = cache(lambda epsilon: bounds_of(self.at(epsilon), _TOTAL))


@dataclass(frozen=True, eq=False)
class EpsilonRung:
    """One ε: integer ``weights`` that keep the promise and miss with probability ``missing`` at most.

    ``bound`` is what the multipliers of ``answer`` seem to prove, in floats: no mechanism misses less.
    """

    problem: Problem
    weights: Integers
    missing: Fraction
    bound: float
    answer: Answer

    @property
    def chance(self) -> float:
        """What is known of δ* here, as one number: between the bound and what the mechanism misses."""
        missing = max(float(self.missing), 1e-300)
        return sqrt(max(self.bound, missing / 2) * missing)

    @property
    def epsilon(self) -> Fraction:
        """The ε of the promise."""
        return Fraction(self.problem.privacy.epsilon)  # type: ignore[arg-type]

    @cached_property
    def mechanism(self) -> Mechanism:
        """The weights, accepted by the kernel."""
        used = np.flatnonzero(self.weights.any(axis=0)).tolist()
        outputs = [self.problem.loss.actions[w] for w in used]
        return prove(self.weights[:, used], self.problem.privacy, outputs=outputs,
                     provenance={"made by": "epsilon_star"})  # fmt: skip

    def design(self, watch: Watch) -> Design:
        """The mechanism with its loss and its bound, both accepted by the kernel."""
        started = perf_counter()
        mechanism = certified(self.problem, self.answer, {"made by": "epsilon_star", "method": self.answer.method})
        return as_design(mechanism, self.answer, perf_counter() - started, watch)

    def refutation(self, chance: Fraction) -> Mechanism | None:
        """A mechanism that tells nothing, with the claim that none misses with probability δ; accepted by the kernel.

        None where the multipliers do not prove it after all.
        """
        bound = self._sufficient(chance)
        if bound.value <= chance:
            return None
        loss = self.problem.loss
        value = Fraction(int(loss.matrix[0].max()))
        claim = Claim(bound.prior, loss, (0,), value, min(bound.value, value), bound.dual, "worst secret")
        nothing = np.ones((len(loss.secrets), 1), dtype=np.int64)
        try:
            return prove(nothing, self.problem.privacy, outputs=loss.actions[:1], claim=claim,
                         provenance={"made by": "epsilon_star", "about": "the bound"})  # fmt: skip
        except InvalidChannel:  # the kernel finds less in the multipliers: rounding was underestimated
            return None

    def _sufficient(self, chance: Fraction) -> LowerBound:
        """The bound of the largest multipliers, of as many as prove that no mechanism misses with probability δ."""
        given, (n, m) = self.answer.multipliers, self.problem.shape
        values, factors = floats(given.values), self.problem.factors(given.first, given.second)
        order = np.argsort(-values * factors)
        gained, spent = (given.first * m + given.action)[order], (given.second * m + given.action)[order]
        values, paid = values[order], (values * factors)[order]
        cost = (_shares(self.answer)[:, None] * floats(self.problem.loss.matrix).T).ravel()
        aim = float(chance) + _ROUNDING_SHARE * (self.bound - float(chance))
        least, most = 0, len(order)
        while most - least > 1 + most // 32:
            middle = (least + most) // 2
            table = cost + np.bincount(gained[:middle], values[:middle], n * m)
            table -= np.bincount(spent[:middle], paid[:middle], n * m)
            least, most = (least, middle) if table.reshape(n, m).min(axis=1).sum() > aim else (middle, most)
        kept = np.zeros(len(order), dtype=bool)
        kept[order[:most]] = True
        return rounded_bound(self.problem, replace(self.answer, multipliers=given[kept]))


class Level:
    """One γ: the program whose ε is still open.

    ``chances`` are the δ that a first look at an ε has to tell apart; a closer one does not stop there.
    """

    def __init__(self, goal: Utility, types: PrivacyTypes, chances: Iterable[Fraction] = ()) -> None:
        self.types, self.chances = types, tuple(map(float, chances))
        self.base = problem(None, goal.loss, types.at(Fraction(1)), None, worst_secret())
        self.table = self.base.loss.matrix.T.astype(np.int64)

    @cached_property
    def group(self) -> Symmetry | None:
        """Symmetries, the same for every ε."""
        return symmetry(self.base)

    def solve(self, epsilon: Fraction, tolerance: float, closer: bool = True) -> EpsilonRung:
        """The program at one ε, to a gap, or until it is known between which δ its optimum lies."""
        problem = replace(self.base, privacy=self.types.at(epsilon))
        answer = self._answer(problem, tolerance, () if closer else self.chances)
        answer = replace(answer, multipliers=usable(problem, answer.multipliers))
        weights = _next_to(answer.matrix, self.types.bounds(epsilon))
        if weights is None:
            weights = private_weights(answer.matrix / answer.matrix.sum(axis=1, keepdims=True), problem.privacy)
        lost = max((self.table * weights.astype(object)).sum(axis=1))
        missing = Fraction(int(lost), int(weights[0].sum()))
        return EpsilonRung(problem, weights, missing, _proved_in_floats(problem, answer), answer)

    def _answer(self, problem: Problem, tolerance: float, levels: tuple[float, ...]) -> Answer:
        """A near-optimum, with multipliers that are worth keeping."""
        solver = to_a_gap(problem, tolerance)
        if not solver.refines or len(self.types.space) > _LARGEST_COMPILED:
            return solver(problem, tolerance)
        step = by_group(problem, self.group)
        try:
            solution = solve_worst_row(step.part, tolerance=tolerance, levels=levels)
        except NotConverged:
            return solver(problem, tolerance)
        values = solution.multipliers
        kept = np.where(values > _NEGLIGIBLE * values.max(initial=0.0), values, 0.0)
        return step.invert(reduced_answer(step.part, solution, kept, "block interior point for the worst row"))


def _shares(answer: Answer) -> Floats:
    """The prices of the worst secret as a prior."""
    prices = np.maximum(floats(answer.prices[0]), 0.0)
    return np.asarray(prices / prices.sum())


def _proved_in_floats(problem: Problem, answer: Answer) -> float:
    """Costs under the prices, changed by the multipliers: the least of each row sum up to a bound."""
    given = answer.multipliers
    cost = _shares(answer)[:, None] * floats(problem.loss.matrix).T
    return float(given.reduced(cost, problem.factors(given.first, given.second)).min(axis=1).sum())


def _next_to(matrix: Floats, bounds: Bounds) -> Integers | None:
    """A private table of integers with rows of one total, found by rounding and one column that takes up the rest.

    A constant added to a private column leaves it private, and gives room for rows that lack a little more than
    others. None where the matrix is not private enough for that.
    """
    shares = np.maximum(matrix, 0.0) / matrix.sum(axis=1).max()
    for room in _ROOMS:
        weights = close_integers(np.rint(shares * float(_TOTAL - room)).astype(np.uint64), bounds)
        sums = weights.sum(axis=1)
        if int(sums.max()) > _TOTAL:
            continue
        lacking = np.uint64(_TOTAL) - sums
        for y in np.argsort(weights.min(axis=0))[::-1][:_COLUMNS_TRIED]:
            column = weights[:, y] + lacking
            if (close_integers(column[:, None], bounds)[:, 0] == column).all():
                weights[:, y] = column
                return weights.astype(np.int64)
    return None
