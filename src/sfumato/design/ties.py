"""Between mechanisms that are equally good: the one whose worst secret loses least, or that leaves most in the dark.

The mechanisms that come within a tolerance of the least loss are those that keep one more limit, on the expected
loss. Among them the worst secret is a linear program; the conditional entropy H(X | Y) of the secret given the output
is concave in the mechanism, so it is made large by steps towards the best mechanism of its tangent (Frank and Wolfe
1956), each a linear program of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from sfumato.design.problem import Problem
from sfumato.design.solvers.answer import Answer
from sfumato.lp import Limit
from sfumato.numbers import Array, floats, object_array

__all__ = ["Tied", "conditional_entropy", "least_worst_secret", "most_entropy", "tied"]

_STEPS = 12  # towards more entropy; the first ones bring most of it
_ENOUGH = 1e-3  # nats that a further step could still bring at most

Solver = Callable[[Problem], Answer]


@dataclass(frozen=True, eq=False)
class Tied(Problem):
    """The mechanisms of a problem whose expected loss is at most ``level``; what is made small is given by ``aim``.

    ``aim`` is a table of costs, or None for the loss of the worst secret.
    """

    level: Fraction = Fraction(0)
    aim: NDArray[np.float64] | None = None

    @cached_property
    def cost(self) -> Array:
        """What is made small."""
        return np.zeros(self.shape, dtype=np.int64) if self.aim is None else self.aim

    @cached_property
    def float_cost(self) -> NDArray[np.float64]:
        """The same in floats."""
        return floats(self.cost)

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """The worst secret if it is what counts, the expected loss, then the ceilings."""
        n = len(self.privacy.space)
        least = Limit(self.cost_under(self.prior), np.zeros(n, dtype=np.int64), object_array([self.level]))
        worst = Limit(self.loss.matrix.T, np.arange(n), np.zeros(n, dtype=np.int64), relative=True)
        return (*([worst] if self.aim is None else []), least, *super().limits)


def tied(asked: Problem, level: Fraction) -> Tied:
    """The mechanisms whose expected loss is at most ``level``, with the worst secret to be decided about."""
    return Tied(asked.prior, asked.loss, asked.privacy, asked.objective, asked.ceilings, asked.events, level)


def least_worst_secret(asked: Tied, solve: Solver) -> Answer:
    """The one whose worst secret loses least."""
    return solve(asked)


def most_entropy(asked: Tied, solve: Solver, start: NDArray[np.float64]) -> Answer:
    """One with a larger conditional entropy than ``start``, nearly the largest."""
    weights = asked.prior.float_weights
    matrix, answer = start, None
    for _ in range(_STEPS):
        slope = np.where(weights[:, None] > 0, weights[:, None] * np.log(_posteriors(weights, matrix)), 0.0)
        answer = solve(replace(asked, aim=slope))
        towards = floats(answer.matrix)
        gain = float((slope * (matrix - towards)).sum())
        if gain <= _ENOUGH:
            break
        way = towards - matrix
        found = minimize_scalar(
            lambda t, at=matrix, way=way: -conditional_entropy(weights, at + t * way),
            bounds=(0.0, 1.0),
            method="bounded",
        )
        matrix = matrix + float(found.x) * way
    assert answer is not None
    return replace(answer, matrix=matrix)


def conditional_entropy(prior: NDArray[np.float64], matrix: NDArray[np.float64]) -> float:
    """H(X | Y) in nats."""
    joint = prior[:, None] * matrix
    return float(-(joint * np.log(_posteriors(prior, matrix))).sum())


def _posteriors(prior: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """p(x | y), and 1 where nothing is to be counted, so that logarithms are 0 there."""
    joint = prior[:, None] * matrix
    total = joint.sum(axis=0, keepdims=True)
    return np.asarray(np.where(joint > 0, joint / np.where(total > 0, total, 1.0), 1.0))
