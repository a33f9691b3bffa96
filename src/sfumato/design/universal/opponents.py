"""The best mechanism for a prior, and the worst prior for a pair of mechanisms: the two steps of a search in floats.

The first is a linear program over rays where these are few, and over columns otherwise. The second maximises
U_M(π) − π·c, where c_x is what the other mechanism loses at x: by duality it is the least μ with
Σ_yw q_yw A_yw(x) − c_x ≤ μ at every secret, over remaps q (a distribution over actions for each output). Whatever
q is, μ is an upper bound, so the second step also proves bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.design.universal.least_loss import MARGIN, LeastLoss, leaving_row, pivot
from sfumato.errors import NotSupported, UndecidedError
from sfumato.lp.cone.lanes import solve_columns
from sfumato.lp.cone.program import ColumnProgram, column_bound

_MOST_RAYS = 1200  # A tableau has at most so many rays; beyond, columns are quicker.
_MOST_SECRETS_OF_RAYS = 10  # Beyond, the rays of most spaces are too many to list.


@dataclass(eq=False)
class Opponent:
    """Answers a prior with the best mechanism of the type, in floats and units of the largest loss."""

    program: LeastLoss
    tolerance: float = 1e-7

    @cached_property
    def by_rays(self) -> bool:
        """Whether the rays of the type are few enough."""
        question = self.program.question
        if len(question.privacy.space) > _MOST_SECRETS_OF_RAYS:
            return False
        try:
            return len(question.corner) <= _MOST_RAYS
        except (NotSupported, UndecidedError):
            return False

    def best(self, prior: NDArray[np.float64]) -> tuple[float, float, NDArray[np.float64]]:
        """Loss of the best mechanism found, a lower bound on any, and the loss of that mechanism at each secret."""
        return self._from_rays(prior) if self.by_rays else self._from_columns(prior)

    def _from_rays(self, prior: NDArray[np.float64]) -> tuple[float, float, NDArray[np.float64]]:
        question = self.program.question
        least = self.program.approximate(prior[None, :])
        chosen = question.float_rays[least.bases[0]]
        weights = np.maximum(np.linalg.solve(chosen.T, np.ones(len(prior))), 0.0)
        actions = (question.float_table @ (prior[None, :] * chosen).T).argmin(axis=0)
        spent = (weights[:, None] * chosen * question.float_table[actions]).sum(axis=0)
        return float(least.values[0]), float(least.bounds[0]), spent

    def _from_columns(self, prior: NDArray[np.float64]) -> tuple[float, float, NDArray[np.float64]]:
        table = self.program.question.float_table
        program = ColumnProgram(prior[:, None] * table.T, *self.program.question.ordered_bounds)
        solution = solve_columns(program, tolerance=self.tolerance)
        # any multipliers give a bound; sums of n terms and factors e^−l are right to this share of their parts
        size = float(np.abs(program.cost).sum() + (solution.multipliers * (1 + np.exp(-program.logs))[:, None]).sum())
        slack = (len(prior) + 64 + float(program.logs.max(initial=0.0))) * 2.0**-52 * size
        bound = max(column_bound(program, solution.multipliers) - slack, 0.0)
        return solution.value, bound, (solution.matrix * table.T).sum(axis=1)


def worst_prior(
    pieces: NDArray[np.float64], spent: NDArray[np.float64], start: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """A prior that maximises Σ_y min_w pieces[y, w]·π − spent·π, and a proved upper bound on the maximum.

    ``start`` is a prior near which to begin.
    """
    prior, remap = _worst(pieces, spent, start)
    size = pieces.shape[2]
    remap = np.maximum(remap, 0.0)
    remap /= remap.sum(axis=1, keepdims=True)
    values = np.einsum("yw,ywx->x", remap, pieces) - spent
    margin = MARGIN * (float(np.abs(pieces).max(axis=(1, 2)).sum()) + float(np.abs(spent).max()))
    prior = np.maximum(prior, 0.0)
    total = prior.sum()
    prior = prior / total if total > 0.5 else np.full(size, 1.0 / size)
    return prior, float(values.max()) + margin


@njit(cache=True)
def _worst(pieces, spent, start):  # type: ignore[no-untyped-def]
    """The program in q and μ as a tableau: a row for each output and each secret; prices of secrets are the prior."""
    outputs, actions, size = pieces.shape
    count = outputs * actions
    rows, width = outputs + size, count + size + 1  # q, slacks, right-hand side; μ is basic throughout
    tableau = np.zeros((rows, width))
    basis = np.empty(rows, np.int64)
    sums = -spent.copy()
    for y in range(outputs):
        best, chosen = np.inf, 0
        for w in range(actions):
            value = 0.0
            for x in range(size):
                value += pieces[y, w, x] * start[x]
            if value < best:
                best, chosen = value, w
        for w in range(actions):
            tableau[y, y * actions + w] = 1.0
        tableau[y, -1] = 1.0
        basis[y] = y * actions + chosen
        for x in range(size):
            sums[x] += pieces[y, chosen, x]
    worst = int(np.argmax(sums))
    # μ = Σ q A(worst) − c_worst + slack_worst; every other row: slack_x = μ − Σ q A(x) + c_x
    for x in range(size):
        row = outputs + x
        for y in range(outputs):
            for w in range(actions):
                c = y * actions + w
                base = basis[y] - y * actions
                # chosen columns are eliminated: q_chosen = 1 − Σ others
                here = pieces[y, w, x] - pieces[y, base, x]
                there = pieces[y, w, worst] - pieces[y, base, worst]
                tableau[row, c] = (here - there) if x != worst else -there
        tableau[row, -1] = (sums[worst] - sums[x]) if x != worst else sums[worst]
        if x != worst:
            tableau[row, count + x] = 1.0
            tableau[row, count + worst] = -1.0
            basis[row] = count + x
        else:
            tableau[row, count + worst] = -1.0
            basis[row] = -1  # μ
    objective = outputs + worst  # μ = rhs − Σ row·variables: to make it small, raise what has a positive entry
    _descend(tableau, basis, objective, rows, width)
    prior = np.zeros(size)
    for x in range(size):
        prior[x] = -tableau[objective, count + x]
    remap = np.zeros((outputs, actions))
    for i in range(rows):
        if 0 <= basis[i] < count:
            remap[basis[i] // actions, basis[i] % actions] = tableau[i, width - 1]
    return prior, remap


@njit(cache=True)
def _descend(tableau, basis, objective, rows, width):  # type: ignore[no-untyped-def]
    last = width - 1
    still = 0
    for _ in range(40 * rows):
        entering, most = -1, 1e-11
        for c in range(last):
            if tableau[objective, c] > most:
                entering, most = c, tableau[objective, c]
                if still > 20:
                    break
        if entering < 0:
            return
        leaving, ratio = leaving_row(tableau, basis, entering, objective)
        if leaving < 0:
            return
        still = still + 1 if ratio <= 1e-13 else 0
        pivot(tableau, basis, leaving, entering)
