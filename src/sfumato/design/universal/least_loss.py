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
from math import lcm

import flint
import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.channels.channel import Channel
from sfumato.design.universal.question import Question, exact_product, float_rays
from sfumato.errors import SolverError
from sfumato.lp import LinearProgram, solve
from sfumato.numbers import Array, exact, object_array
from sfumato.privacy.vertices import Vertices

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

    values: NDArray[np.float64]
    bounds: NDArray[np.float64]
    bases: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Basis:
    """An exact basis: the inverse times its determinant (positive), and the weights, if they are not negative."""

    inverse: Array
    determinant: int
    weights: tuple[Fraction, ...] | None


@dataclass(eq=False)
class LeastLoss:
    """The program of one question, with the tableau where it stands."""

    question: Question
    state: tuple[NDArray[np.float64], NDArray[np.int64]] | None = None

    def approximate(self, priors: NDArray[np.float64]) -> Least:
        """Floats for all priors, with rigorous lower bounds."""
        return self._approximate(self.question.float_uncertainties(priors, self.question.float_rays))

    def average_below(self, priors: NDArray[np.float64], shares: NDArray[np.float64]) -> Fraction:
        """A proved lower bound on Σ_k shares_k U_M(π_k) over all mechanisms M, times scale."""
        costs = shares @ self.question.float_uncertainties(priors, self.question.float_rays)
        return Fraction(float(self._approximate(costs[None, :]).bounds[0])) * self.question.largest

    def least_of(self, costs: Array) -> Fraction:
        """min Σ_i a_i costs_i over mechanisms, for integer costs of the integer rays: exactly."""
        rays = self.question.rays
        scale = (rays.max(axis=1)).astype(np.float64)  # float rays have maximum 1
        size = float(max(int(c) for c in costs)) or 1.0
        guess = self._approximate((costs.astype(np.float64) / scale / size)[None, :]).bases[0]
        key = tuple(sorted(guess.tolist()))
        known = self._basis(key)
        if known is not None and known.weights is not None:
            prices = exact_product(costs[None, list(key)], known.inverse)
            if (exact_product(prices, rays.T)[0] <= costs.astype(object) * known.determinant).all():
                return Fraction(sum(int(v) for v in prices[0]), known.determinant)
        return self._program_of(costs)[0]

    def _approximate(self, costs: NDArray[np.float64]) -> Least:
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

    def exactly(self, priors: Array, bases: NDArray[np.int64]) -> list[Fraction]:
        """The least loss times scale for integer priors (not divided by their totals), given bases to begin with."""
        result: list[Fraction | None] = [None] * len(priors)
        groups: dict[tuple[int, ...], list[int]] = {}
        for i, basis in enumerate(bases.tolist()):
            groups.setdefault(tuple(sorted(basis)), []).append(i)
        rays = self.question.rays
        for key, members in groups.items():
            known = self._basis(key)
            if known is None or known.weights is None:
                continue
            costs = self.question.uncertainties(priors[members], rays)
            prices = exact_product(costs[:, list(key)], known.inverse)
            worth = exact_product(prices, rays.T)
            fits = _largest(costs) * known.determinant < 2**62
            scaled = costs * known.determinant if fits else costs.astype(object) * known.determinant
            optimal = [bool(row.all()) for row in np.asarray(worth <= scaled)]
            for position, ok, row in zip(members, optimal, prices, strict=True):
                if ok:
                    result[position] = Fraction(sum(int(v) for v in row), known.determinant)
        for i, value in enumerate(result):
            if value is None:
                result[i] = self._from_scratch(priors[i])[0]
        return [value for value in result if value is not None]

    def _basis(self, key: tuple[int, ...]) -> _Basis | None:
        bases = _known_bases(self.question.corner)
        if key not in bases:
            if len(bases) >= _MOST_BASES:
                bases.clear()
            bases[key] = _exact_basis(self.question.rays, key)
        return bases[key]

    def _from_scratch(self, prior: Array) -> tuple[Fraction, Array]:
        """The least loss and weights on rays by the exact linear program."""
        return self._program_of(self.question.uncertainties(prior[None, :], self.question.rays)[0])

    def _program_of(self, costs: Array) -> tuple[Fraction, Array]:
        rays = self.question.rays
        program = LinearProgram.dense(
            object_array(map(int, costs)), rays.T, "=" * rays.shape[1], np.ones(rays.shape[1], dtype=np.int64)
        )
        solution = solve(program)
        assert isinstance(solution.value, Fraction) and solution.primal is not None
        return solution.value, solution.primal

    def mechanism(self, prior: Array, basis: NDArray[np.int64]) -> Channel:
        """A mechanism of the type that attains the least loss for an integer prior; outputs are numbers of rays."""
        key = tuple(sorted(basis.tolist()))
        known = self._basis(key)
        [least] = self.exactly(prior[None, :], np.array([key]))
        weights = np.full(len(self.question.rays), Fraction(0), dtype=object)
        if known is not None and known.weights is not None:
            weights[list(key)] = known.weights
        costs = self.question.uncertainties(prior[None, :], self.question.rays)[0]
        if (
            known is None
            or known.weights is None
            or sum(w * int(c) for w, c in zip(weights, costs, strict=True)) != least
        ):
            weights = self._from_scratch(prior)[1]
        used = np.flatnonzero(weights)
        matrix = self.question.rays[used].T * weights[used][None, :]
        return Channel(self.question.privacy.space, matrix, used.tolist())


@lru_cache(maxsize=64)
def _known_bases(corner: Vertices) -> dict[tuple[int, ...], _Basis | None]:
    """Exact bases of a type met so far: they depend on its rays only."""
    return {}


@lru_cache(maxsize=64)
def _first_state(corner: Vertices) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return _start(float_rays(corner))


def _largest(table: Array) -> int:
    return max(int(table.max()), -int(table.min()), 1)


def _exact_basis(rays: Array, key: tuple[int, ...]) -> _Basis | None:
    """The inverse of the chosen rays (columns), or None if they are dependent."""
    n = rays.shape[1]
    if len(key) != n or len(set(key)) != n or max(key) >= len(rays):
        return None
    chosen = rays[list(key)]
    square = flint.fmpq_mat(flint.fmpz_mat([[int(v) for v in row] for row in chosen.T]))
    try:
        inverse = square.inv()
    except ZeroDivisionError:
        return None
    entries = [exact(v) for v in inverse.entries()]
    determinant = lcm(*(v.denominator for v in entries))
    table = object_array((v.numerator * (determinant // v.denominator) for v in entries), (n, n))
    weights = tuple(Fraction(int(row.sum()), determinant) for row in table)
    return _Basis(table, determinant, weights if min(weights) >= 0 else None)


def _start(rays: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A feasible tableau: artificial columns leave first."""
    count, n = rays.shape
    full = np.vstack([rays, np.eye(n)])
    tableau = np.concatenate([full.T, np.ones((n, 1))], axis=1)
    basis = np.arange(count, count + n)
    costs = np.concatenate([np.zeros(count), np.ones(n)])
    _pivot_until_optimal(tableau, basis, full, costs, count)
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
    square = np.empty((n, n))
    chosen = np.empty(n)
    for k in range(total):
        _pivot_until_optimal(tableau, basis, rays, costs[k], count)
        for i in range(n):
            square[i] = rays[basis[i]]
            chosen[i] = costs[k, basis[i]]
        prices[k] = np.linalg.solve(square, chosen)
        values[k] = prices[k].sum()
        bases[k] = basis
    return values, prices, bases


@njit(cache=True)
def leaving_row(tableau, basis, entering, objective):  # type: ignore[no-untyped-def]
    """The row that a column may take the place of, by the least ratio, and the ratio; −1 if there is none.

    The last column has the values of the basis; the row of the objective, −1 if there is none, is left out.
    """
    leaving, ratio = -1, np.inf
    for i in range(len(tableau)):
        if i != objective and tableau[i, entering] > 1e-9:
            now = max(tableau[i, -1], 0.0) / tableau[i, entering]
            if now < ratio - 1e-13 or (now <= ratio + 1e-13 and leaving >= 0 and basis[i] < basis[leaving]):
                leaving, ratio = i, min(now, ratio)
    return leaving, ratio


@njit(cache=True)
def pivot(tableau, basis, row, column):  # type: ignore[no-untyped-def]
    """Bring a column into the basis in the place of a row."""
    tableau[row] /= tableau[row, column]
    for i in range(len(tableau)):
        if i != row and tableau[i, column] != 0.0:
            tableau[i] -= tableau[i, column] * tableau[row]
    basis[row] = column


@njit(cache=True)
def _pivot_until_optimal(tableau, basis, rays, costs, allowed):  # type: ignore[no-untyped-def]
    """The primal simplex method: steepest price first, Bland's rule once nothing moves."""
    n, width = tableau.shape
    last = width - 1
    scale = 1.0
    for c in range(costs.size):
        scale = max(scale, abs(costs[c]))
    still = 0
    for step in range(_MOST_PIVOTS):
        if step % _PIVOTS_A_TABLEAU == _PIVOTS_A_TABLEAU - 1:
            square = np.empty((n, n))
            for i in range(n):
                square[:, i] = rays[basis[i]]
            right = np.empty((n, width))
            right[:, :last] = rays[:last].T
            right[:, last] = 1.0
            tableau[:] = np.linalg.solve(square, right)
        entering, steepest = -1, -_OPTIMAL * scale
        for c in range(allowed):
            reduced = costs[c]
            for i in range(n):
                reduced -= costs[basis[i]] * tableau[i, c]
            if reduced < steepest:
                entering, steepest = c, reduced
                if still > 20:
                    break
        if entering < 0:
            return
        leaving, ratio = leaving_row(tableau, basis, entering, -1)
        if leaving < 0:
            return
        still = still + 1 if ratio <= 1e-13 else 0
        pivot(tableau, basis, leaving, entering)
