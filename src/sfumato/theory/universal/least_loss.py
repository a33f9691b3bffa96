"""The least loss of a type for many priors: one linear program whose costs change and whose constraints do not.

Every mechanism is a post-processing of Σ_i a_i v_i = 1 with a ≥ 0 and the rays v_i of the cone of private columns, so
the least loss for π is min Σ_i a_i U(π∘v_i) over such a. A tableau of the constraints is kept from one prior to the
next, where it is feasible again. Floats find a basis and prices p; the prices give a lower bound that holds whatever
rounding did, and for exact types the basis gives the least loss itself, confirmed in integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numba import njit

from sfumato.channels.channel import Channel
from sfumato.errors import SolverError
from sfumato.lp import LinearProgram, solve
from sfumato.numbers import Array, Floats, Integers, common_denominator, from_flint, object_array, to_flint
from sfumato.privacy.vertices import Vertices
from sfumato.theory.universal.question import ReducedLoss, exact_product, float_rays, largest_entry

MARGIN = 2.0**-44
"""Relative error granted to sums over secrets and prices in floats: they have at most some hundred terms, each
right to a few 2^-52 (rays, priors and losses included)."""

# A run ends when no reduced cost is below minus this, relative to the largest cost; bounds do not rely on it.
_OPTIMAL = 1e-11
_MOST_PIVOTS = 5000
_MOST_BASES = 20_000  # So many bases are kept for the next prior, a few kilobytes each.
_PIVOTS_A_TABLEAU = 60  # After so many pivots the tableau is computed anew from the constraints.


@dataclass(frozen=True, eq=False)
class Least:
    """For each prior (rows, floats of total 1): the loss found, a proved lower bound, and the basis.

    In units of the largest loss.
    """

    values: Floats
    bounds: Floats
    bases: Integers


@dataclass(frozen=True, eq=False)
class _Basis:
    """An exact basis: the inverse times its determinant (positive), and the weights, if they are not negative."""

    inverse: Array
    determinant: int
    weights: tuple[Fraction, ...] | None


@dataclass(eq=False)
class LeastLoss:
    """The program of one question, with the tableau where it stands."""

    question: ReducedLoss
    state: tuple[Floats, Integers] | None = None

    def approximate(self, priors: Floats) -> Least:
        """Floats for all priors, with rigorous lower bounds."""
        return self._approximate(self.question.float_uncertainties(priors, self.question.float_rays))

    def average_below(self, priors: Floats, shares: Floats) -> Fraction:
        """A proved lower bound on Σ_k shares_k U_M(π_k) over all mechanisms M, times scale."""
        costs = shares @ self.question.float_uncertainties(priors, self.question.float_rays)
        return Fraction(float(self._approximate(costs[None, :]).bounds[0])) * self.question.largest

    def least_of(self, costs: Array) -> Fraction:
        """min Σ_i a_i costs_i over mechanisms, for integer costs of the integer rays: exactly."""
        scale = self.question.rays.max(axis=1).astype(np.float64)  # float rays have maximum 1
        size = float(max(int(c) for c in costs)) or 1.0
        guess = self._approximate((costs.astype(np.float64) / scale / size)[None, :]).bases[0]
        return self._confirmed(costs[None, :], tuple(sorted(guess.tolist())))[0][0]

    def _approximate(self, costs: Floats) -> Least:
        rays = self.question.float_rays
        if self.state is None:
            tableau, basis = _first_state(self.question.corner)
            self.state = tableau.copy(), basis.copy()
        tableau, basis = self.state
        values, prices, bases = _solve_many(tableau, basis, rays, costs)
        # prices p bound the loss by Σ p if p·v_i ≤ U_i for every ray; where they miss by δ, p − δ does, as a ray sums
        # to at least its maximum, 1
        size = np.abs(prices).sum(axis=1) + 1.0
        miss = np.maximum((prices @ rays.T - costs).max(axis=1), 0.0) + MARGIN * size
        bounds = prices.sum(axis=1) - rays.shape[1] * miss - MARGIN * size
        return Least(values, np.maximum(bounds, 0.0), bases)

    def exactly(self, priors: Array, bases: Integers) -> list[Fraction]:
        """The least loss times scale for integer priors (not divided by their totals), given bases to begin with."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for i, basis in enumerate(bases.tolist()):
            groups.setdefault(tuple(sorted(basis)), []).append(i)
        result: dict[int, Fraction] = {}
        for key, members in groups.items():
            costs = self.question.uncertainties(priors[members], self.question.rays)
            result |= zip(members, (value for value, _ in self._confirmed(costs, key)), strict=True)
        return [result[i] for i in range(len(priors))]

    def mechanism(self, prior: Array, basis: Integers) -> Channel:
        """A mechanism of the type that attains the least loss for an integer prior; outputs are numbers of rays."""
        costs = self.question.uncertainties(prior[None, :], self.question.rays)
        weights = self._confirmed(costs, tuple(sorted(basis.tolist())))[0][1]
        used = np.flatnonzero(weights)
        matrix = self.question.rays[used].T * weights[used][None, :]
        return Channel(self.question.privacy.space, matrix, used.tolist())

    def _confirmed(self, costs: Array, key: tuple[int, ...]) -> list[tuple[Fraction, Array]]:
        """For each row of costs the least sum, and weights on rays: those of a basis where its prices prove it."""
        rays, known = self.question.rays, self._basis(key)
        if known is None or known.weights is None:
            return [self._program_of(row) for row in costs]
        prices = exact_product(costs[:, list(key)], known.inverse)
        fits = largest_entry(costs) * known.determinant < 2**62
        scaled = (costs if fits else costs.astype(object)) * known.determinant
        proved = np.all(exact_product(prices, rays.T) <= scaled, axis=1).tolist()
        weights = np.full(len(rays), Fraction(0), dtype=object)
        weights[list(key)] = known.weights
        return [
            (Fraction(sum(int(v) for v in price), known.determinant), weights) if ok else self._program_of(row)
            for ok, price, row in zip(proved, prices, costs, strict=True)
        ]

    def _basis(self, key: tuple[int, ...]) -> _Basis | None:
        bases = _known_bases(self.question.corner)
        if key not in bases:
            if len(bases) >= _MOST_BASES:
                bases.clear()
            bases[key] = _exact_basis(self.question.rays, key)
        return bases[key]

    def _program_of(self, costs: Array) -> tuple[Fraction, Array]:
        """The same by the exact linear program."""
        rays = self.question.rays
        program = LinearProgram.dense(
            object_array(map(int, costs)), rays.T, "=" * rays.shape[1], np.ones(rays.shape[1], dtype=np.int64)
        )
        solution = solve(program)
        assert isinstance(solution.value, Fraction) and solution.primal is not None
        return solution.value, solution.primal


@lru_cache(maxsize=64)
def _known_bases(corner: Vertices) -> dict[tuple[int, ...], _Basis | None]:
    """Exact bases of a type met so far: they depend on its rays only."""
    return {}


def _exact_basis(rays: Array, key: tuple[int, ...]) -> _Basis | None:
    """The inverse of the chosen rays (columns), or None if they are dependent."""
    if len(set(key)) != rays.shape[1] or max(key) >= len(rays):
        return None
    try:
        inverse = to_flint(rays[list(key)].T).inv()
    except ZeroDivisionError:
        return None
    table, determinant = common_denominator(from_flint(inverse))
    weights = tuple(Fraction(int(row.sum()), determinant) for row in table)
    return _Basis(table, determinant, weights if min(weights) >= 0 else None)


@lru_cache(maxsize=64)
def _first_state(corner: Vertices) -> tuple[Floats, Integers]:
    """A feasible tableau: artificial columns leave first."""
    rays = float_rays(corner)
    count, n = rays.shape
    full = np.vstack([rays, np.eye(n)])
    tableau, basis = np.ascontiguousarray(np.hstack([full.T, np.ones((n, 1))])), np.arange(count, count + n)
    pivot_until_optimal(tableau, basis, full, np.ones(n), np.repeat([0.0, 1.0], [count, n]), count)
    for row in range(n):  # artificial columns that are still there, at zero
        if basis[row] >= count:
            column = int(np.abs(tableau[row, :count]).argmax())
            if abs(tableau[row, column]) < 1e-9:
                raise SolverError("the rays of the type do not span the space: this is a bug")
            pivot(tableau, basis, row, column)
    keep = [*range(count), count + n]
    return np.ascontiguousarray(tableau[:, keep]), basis


@njit(cache=True)
def _solve_many(tableau, basis, rays, costs):  # type: ignore[no-untyped-def]
    """One program after the other, from where the last one ended."""
    total, count = costs.shape
    n = rays.shape[1]
    values, prices = np.empty(total), np.empty((total, n))
    bases = np.empty((total, n), np.int64)
    for k in range(total):
        pivot_until_optimal(tableau, basis, rays, np.ones(n), costs[k], count)
        found = np.linalg.solve(rays[basis], costs[k][basis])
        values[k] = found.sum()
        for x in range(n):
            prices[k, x], bases[k, x] = found[x], basis[x]
    return values, prices, bases


@njit(cache=True)
def lay_out(columns, right, tableau):  # type: ignore[no-untyped-def]
    """Write a program into its tableau: columns, which are given as rows, and the right-hand side after them."""
    for i in range(len(right)):
        for c in range(len(columns)):
            tableau[i, c] = columns[c, i]
        tableau[i, -1] = right[i]


@njit(cache=True)
def pivot_until_optimal(tableau, basis, columns, right, costs, allowed):  # type: ignore[no-untyped-def]
    """The primal simplex method on a feasible tableau: steepest price first, Bland's rule once nothing moves."""
    scale = max(1.0, np.abs(costs).max())
    reduced = np.empty(allowed)
    still = 0
    for step in range(_MOST_PIVOTS):
        if step % _PIVOTS_A_TABLEAU == _PIVOTS_A_TABLEAU - 1:
            lay_out(columns, right, tableau)
            renewed = np.linalg.solve(np.ascontiguousarray(columns[basis].T), tableau)
            for i in range(basis.size):
                for c in range(tableau.shape[1]):
                    tableau[i, c] = renewed[i, c]
        for c in range(allowed):
            reduced[c] = costs[c]
        for i in range(basis.size):
            price = costs[basis[i]]
            if price != 0.0:
                for c in range(allowed):
                    reduced[c] -= price * tableau[i, c]
        entering, steepest = -1, -_OPTIMAL * scale
        for c in range(allowed):
            if reduced[c] < steepest:
                entering, steepest = c, reduced[c]
                if still > 20:
                    break
        if entering < 0:
            return
        leaving, ratio = -1, np.inf
        for i in range(basis.size):
            if tableau[i, entering] > 1e-9:
                now = max(tableau[i, -1], 0.0) / tableau[i, entering]
                if now < ratio - 1e-13 or (now <= ratio + 1e-13 and leaving >= 0 and basis[i] < basis[leaving]):
                    leaving, ratio = i, min(now, ratio)
        if leaving < 0:
            return
        still = still + 1 if ratio <= 1e-13 else 0
        pivot(tableau, basis, leaving, entering)


@njit(cache=True)
def pivot(tableau, basis, row, column):  # type: ignore[no-untyped-def]
    """Bring a column into the basis in the place of a row."""
    above = tableau[row]
    above /= above[column]
    for i in range(len(tableau)):
        line, times = tableau[i], tableau[i, column]
        if i != row and times != 0.0:
            for c in range(len(line)):
                line[c] -= times * above[c]
    basis[row] = column
