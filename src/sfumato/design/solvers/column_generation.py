"""Column generation: the optimum as a mixture of rays, each with its best action; exact where the numbers are.

Every column of a mechanism is a sum of rays of the cone of private columns, so a mechanism is a list of rays with
actions and weights that add up to 1 in every row: a program with n rows, the *master*. Its prices p say which ray is
missing: for an action w the one of least ⟨C_w − p, r⟩, found by a program with n rows as well, whose multipliers prove
that there is none below. The block method gives prices to start from, so that few rounds are left; rational problems
are then finished in rationals.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.design.answer import Answer, Multipliers, Progress, TimeLimit
from sfumato.design.problem import Problem
from sfumato.design.simple import joined, multipliers_bound, prices_of, value_of
from sfumato.design.solvers.interior import solve_by_interior_point
from sfumato.design.solvers.reduced import show_bounds
from sfumato.errors import SolverError
from sfumato.lp import LinearProgram, solve
from sfumato.numbers import Array, floats, fractions, object_array
from sfumato.watch import TimeIsUp, Watch, watch_of

_START_GAP = 1e-5  # Prices to start from have this gap: closer ones leave fewer rounds, farther ones come sooner.
_ROUNDING = 1e-10  # A ray that is better by less than this share of the largest cost is a rounding error.
_MOST_ROUNDS = 200


def solve_by_column_generation(
    problem: Problem, tolerance: float, progress: Progress = None, time_limit: TimeLimit = None
) -> Answer:
    """The optimum: exactly for rational problems, else as far as HiGHS can tell; in less time, the best so far."""
    watch = watch_of(time_limit)
    search = _Generation(
        problem, watch, progress, solve_by_interior_point(problem, max(tolerance, _START_GAP), None, watch)
    )
    if not search.rough.finished:  # there is no time to make it better
        return search.rough
    search.show()
    pool = _Pool(problem, watch, exact=False)
    # no rays, but columns that make up a good mechanism; with sum 1, since HiGHS takes tiny coefficients for zero
    columns, sums = floats(search.rough.matrix).T, floats(search.rough.matrix).sum(axis=0)
    used = np.flatnonzero(sums)
    pool.rays += list(columns[used] / sums[used, None])
    pool.actions += used.tolist()
    try:
        found = search.generate(pool, prices_of(problem, search.rough.multipliers))
    except SolverError:  # HiGHS gives up on some programs whose coefficients differ by many orders
        if not problem.exact:
            return search.rough
        found = None
    if problem.exact and (found is None or found.finished) and not watch.over:
        try:
            exactly = search.generate(pool.exactly(), None)
        except TimeIsUp:
            exactly = None
        found = exactly if exactly is not None and (exactly.finished or found is None) else found
    if found is None:
        return replace(search.rough, finished=False, seconds=watch.spent)
    # in each respect the rough answer, where that is still the better one
    return found if found.finished else replace(joined(problem, found, search.rough), finished=False)


class _Generation:
    """Rounds of master and pricing, from a rough answer on; what is shown of them is what can be returned."""

    def __init__(self, problem: Problem, watch: Watch, progress: Progress, rough: Answer) -> None:
        self.problem, self.watch, self.progress, self.rough = problem, watch, progress, rough
        self.value, self.bound = value_of(problem, floats(rough.matrix)), multipliers_bound(problem, rough.multipliers)
        self.rounds = 0

    def show(self) -> None:
        """Show the best value and the best bound so far."""
        show_bounds(self.progress, self.rounds, self.value, self.bound, self.watch)

    def generate(self, pool: _Pool, prices: Array | None) -> Answer | None:
        """Rounds until no ray is missing, or no time is left; None where that was before the end of the first."""
        m = self.problem.shape[1]
        scale = 0 if pool.exact else _ROUNDING * float(np.abs(self.problem.float_cost).max())
        weights, best, finished, highest = None, None, False, None
        try:
            for done in range(1, _MOST_ROUNDS + 1):
                if prices is None:
                    weights, prices = pool.master()
                    self.value = min(self.value, float(prices.sum()))  # what the mixture costs, by duality
                better, lowest, given = 0, pool.one * 0, done == 1 and not pool.exact
                multipliers: Array = np.zeros((len(pool.decay), m), dtype=object)
                for action in range(m):
                    value, ray, multipliers[:, action] = pool.missing(action, prices)
                    lowest = min(lowest, value)
                    if value < -scale or given:  # good prices leave no ray missing, and tell which ones are needed
                        pool.rays.append(ray)
                        pool.actions.append(action)
                        better += 1
                self.rounds += 1
                # all rays of a mechanism together sum to n, so no mechanism has less than this
                bound = prices.sum() + len(prices) * lowest
                if highest is None or bound >= highest:
                    highest, best = bound, multipliers
                self.bound = max(self.bound, float(bound))
                self.show()
                finished = better == 0
                if finished:
                    break
                prices = None
            if weights is None:
                weights, _ = pool.master()
        except TimeIsUp:
            finished = False
        if weights is None or best is None:
            return None
        return pool.answer(weights, best, self.rounds, finished)


class _Pool:
    """Rays found so far, each with an action, in one number field; and the programs over them."""

    def __init__(self, problem: Problem, watch: Watch, *, exact: bool) -> None:
        self.problem, self.watch, self.exact = problem, watch, exact
        self.field = fractions if exact else floats
        self.cost = self.field(problem.cost) if exact else problem.float_cost
        self.decay = self.field(object_array(_decays(problem))) if exact else np.exp(-problem.logs)
        self.one = self.field(np.ones(1, dtype=np.int64))[0]
        # the constant ray makes every master solvable
        self.rays: list[Array] = [self.field(np.ones(problem.shape[0], dtype=np.int64))]
        self.actions: list[int] = [int(problem.float_cost.sum(axis=0).argmin())]

    def exactly(self) -> _Pool:
        """The same rays in rationals, where the pairs that are tight determine them."""
        other = _Pool(self.problem, self.watch, exact=True)
        for ray, action in zip(self.rays[1:], self.actions[1:], strict=True):
            self.watch.check()
            snapped = _snapped(self.problem, ray, other.decay)
            if snapped is not None:
                other.rays.append(snapped)
                other.actions.append(action)
        return other

    def master(self) -> tuple[Array, Array]:
        """Weights of the rays and prices of the rows."""
        table = np.array(self.rays).T
        cost = object_array([(self.cost[:, w] * ray).sum() for ray, w in zip(self.rays, self.actions, strict=True)])
        rows, columns = np.nonzero(table)
        n = len(table)
        program = LinearProgram(
            self.field(cost), rows, columns, table[rows, columns], "=" * n, self.field(np.ones(n, dtype=np.int64))
        )
        solution = solve(program, exact=self.exact, watch=self.watch)
        if solution.primal is None or solution.dual is None:
            raise SolverError(
                f"the master program of the design ended as {solution.status}: the constant ray solves it"
            )
        return solution.primal, solution.dual

    def missing(self, action: int, prices: Array) -> tuple[Any, Array, Array]:
        """The least ⟨C_w − p, r⟩ over rays that sum to 1, the ray, and the multipliers that prove it.

        Solved from the other side: the largest v with C_w − p + AᵀZ ≥ v for some Z ≥ 0, one row a secret.
        """
        first, second = self.problem.ordered_pairs
        n, pairs = len(prices), len(first)
        every = np.arange(pairs)
        rows = np.concatenate([first, second, np.arange(n)])
        columns = np.concatenate([every, every, np.full(n, pairs)])
        ones = self.field(np.ones(max(n, pairs), dtype=np.int64))
        values = np.concatenate([self.decay, -ones[:pairs], -ones[:n]])
        cost = np.append(self.field(np.zeros(pairs, dtype=np.int64)), -ones[:1])
        program = LinearProgram(cost, rows, columns, values, ">" * n, prices - self.cost[:, action], frozenset({pairs}))
        solution = solve(program, exact=self.exact, watch=self.watch)
        if solution.primal is None or solution.dual is None:
            raise SolverError(f"the pricing program of the design ended as {solution.status}: it always has an optimum")
        return solution.primal[-1], solution.dual, solution.primal[:-1] * self.decay

    def answer(self, weights: Array, multipliers: Array, rounds: int, finished: bool) -> Answer:
        """The mixture of the first rays by these weights, and those of the multipliers that are not zero."""
        matrix = np.zeros(self.problem.shape, dtype=weights.dtype) + self.one * 0
        for ray, action, weight in zip(self.rays, self.actions, weights, strict=False):  # later ones have no weight yet
            if weight > 0:
                matrix[:, action] += weight * ray
        pair, column = np.nonzero(multipliers > 0)
        first, second = self.problem.ordered_pairs
        values = multipliers[pair, column]
        used = Multipliers(first[pair], second[pair], column, values if self.exact else floats(values))
        method = f"column generation, {int((weights > 0).sum())} rays"
        return Answer(matrix, used, method, rounds, self.watch.spent, finished)


def _decays(problem: Problem) -> list[Any]:
    factors = [problem.privacy.exact_factor(value) for value in problem.privacy.space.pair_distances.values]
    return [1 / factor for factor in factors if factor is not None] * 2


def _snapped(problem: Problem, ray: NDArray[np.float64], decay: Array) -> Array | None:
    """The rational ray with the same tight pairs, or None if these do not make one."""
    first, second = problem.ordered_pairs
    # r_z = e^{−εd} r_x up to rounding; a vertex of the program has at least n − 1 of these
    tight = np.abs(ray[second] - floats(decay) * ray[first]) <= 1e-9 * ray[second]
    neighbours: dict[int, list[tuple[int, Any]]] = {}
    for x, z, ratio in zip(first[tight].tolist(), second[tight].tolist(), decay[tight], strict=True):
        neighbours.setdefault(x, []).append((z, ratio))
        neighbours.setdefault(z, []).append((x, 1 / ratio))
    start = int(ray.argmax())
    result = object_array([0] * len(ray))
    result[start], waiting = decay[0] / decay[0] if len(decay) else 1, [start]
    while waiting:
        x = waiting.pop()
        for z, ratio in neighbours.get(x, []):
            if result[z] == 0:
                result[z] = result[x] * ratio
                waiting.append(z)
    private = (decay * result[first] <= result[second]).all()  # entries may be too small for floats, and yet not 0
    return fractions(result) if private and (result > 0).any() else None
