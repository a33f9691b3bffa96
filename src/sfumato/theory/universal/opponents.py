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

from sfumato.errors import NotSupported, UndecidedError
from sfumato.lp.cone.lanes import solve_columns
from sfumato.lp.cone.program import ColumnProgram, column_bound
from sfumato.numbers import Floats
from sfumato.theory.universal.least_loss import MARGIN, LeastLoss, lay_out, pivot, pivot_until_optimal

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

    def best(self, prior: Floats) -> tuple[float, float, Floats]:
        """Loss of the best mechanism found, a lower bound on any, and the loss of that mechanism at each secret."""
        return self._from_rays(prior) if self.by_rays else self._from_columns(prior)

    def _from_rays(self, prior: Floats) -> tuple[float, float, Floats]:
        question = self.program.question
        least = self.program.approximate(prior[None, :])
        chosen = question.float_rays[least.bases[0]]
        weights = np.maximum(np.linalg.solve(chosen.T, np.ones(len(prior))), 0.0)
        actions = (question.float_table @ (prior[None, :] * chosen).T).argmin(axis=0)
        spent = (weights[:, None] * chosen * question.float_table[actions]).sum(axis=0)
        return float(least.values[0]), float(least.bounds[0]), spent

    def _from_columns(self, prior: Floats) -> tuple[float, float, Floats]:
        table = self.program.question.float_table
        program = ColumnProgram(prior[:, None] * table.T, *self.program.question.ordered_bounds)
        solution = solve_columns(program, tolerance=self.tolerance)
        # any multipliers give a bound; sums of n terms and factors e^−l are right to this share of their parts
        size = float(np.abs(program.cost).sum() + (solution.multipliers * (1 + np.exp(-program.logs))[:, None]).sum())
        slack = (len(prior) + 64 + float(program.logs.max(initial=0.0))) * 2.0**-52 * size
        bound = max(column_bound(program, solution.multipliers) - slack, 0.0)
        return solution.value, bound, (solution.matrix * table.T).sum(axis=1)


def opposing_prior(pieces: Floats, spent: Floats, start: Floats) -> tuple[Floats, float]:
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
    """The program in q, a slack for each secret and μ, raised so that it is not negative; μ's row has the prior."""
    outputs, actions, size = pieces.shape
    count = outputs * actions
    columns = np.zeros((count + size + 1, outputs + size))
    right, costs = np.ones(outputs + size), np.zeros(len(columns))
    costs[-1], most = 1.0, spent.max()
    tableau, basis = np.empty((len(right), len(columns) + 1)), np.arange(count - outputs, count + size)
    for x in range(size):
        columns[count + x, outputs + x], columns[-1, outputs + x] = 1.0, -1.0
        right[outputs + x] = spent[x] - most
    for y in range(outputs):
        for w in range(actions):
            columns[y * actions + w, y] = 1.0
            for x in range(size):
                columns[y * actions + w, outputs + x] = pieces[y, w, x]
        basis[y] = y * actions + np.argmin(pieces[y] @ start)
    lay_out(columns, right, tableau)
    for y in range(outputs):  # the remap that is best at the start is basic: what it costs leaves the rows of secrets
        for x in range(size):
            here = pieces[y, basis[y] - y * actions, x]
            for w in range(actions):
                tableau[outputs + x, y * actions + w] -= here
            tableau[outputs + x, -1] -= here
    pivot(tableau, basis, outputs + np.argmin(tableau[outputs:, -1]), count + size)
    pivot_until_optimal(tableau, basis, columns, right, costs, len(columns))
    prior, remap = np.zeros(size), np.zeros((outputs, actions))
    for i in range(len(right)):
        if basis[i] < count:
            remap[basis[i] // actions, basis[i] % actions] = tableau[i, -1]
        elif basis[i] == count + size:
            for x in range(size):
                prior[x] = -tableau[i, count + x]
    return prior, remap
