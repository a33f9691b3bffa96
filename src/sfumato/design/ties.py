"""Between mechanisms that are equally good: the one whose worst secret loses least, or that leaves most in the dark.

The mechanisms that come within a tolerance of the least loss are those that keep one more limit, on the expected
loss. Among them the worst secret is a linear program; the conditional entropy H(X | Y) of the secret given the output
is concave in the mechanism, so it is made large by steps towards the best mechanism of its tangent (Frank and Wolfe
1956), each a linear program of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from time import perf_counter

import numpy as np
from scipy.optimize import minimize_scalar

from sfumato.certify.mechanism import Mechanism
from sfumato.channels.prior import Prior
from sfumato.design.answer import Answer
from sfumato.design.bounds import LowerBound
from sfumato.design.certified import as_design, certified, losses_of_secrets
from sfumato.design.choice import accepting
from sfumato.design.problem import Problem, restated
from sfumato.design.result import Design
from sfumato.design.solvers import Solver
from sfumato.errors import NotConverged
from sfumato.lp import Limit
from sfumato.numbers import Floats, floats, object_array
from sfumato.watch import TimeIsUp, Watch

# So many steps towards more entropy are made at most; the first ones bring most of it.
_STEPS = 12
# Steps end where a further one could bring no more than so many nats.
_ENOUGH = 1e-3
# Of the tolerance so much is for mechanisms that count as equally good, the rest for rounding.
_TIE_SHARE = 0.9


def tied(problem: Problem, level: Fraction, aim: Floats | None = None) -> Problem:
    """The mechanisms whose expected loss is at most ``level``; to be made small is ``aim``, or the worst secret."""
    n = len(problem.privacy.space)
    least = Limit(problem.cost_under(problem.prior), np.zeros(n, dtype=np.int64), object_array([level]))
    worst = Limit(problem.loss.matrix.T, np.arange(n), np.zeros(n, dtype=np.int64), relative=True)
    return restated(problem, aim, (*([worst] if aim is None else []), least, *problem.limits))


def tie_broken(problem: Problem, design: Design, solver: Solver, tolerance: float, watch: Watch) -> Design:
    """Another mechanism of nearly the same loss, with the same bound: the best by the second criterion."""
    claim, started, second = design.mechanism.loss_claim, perf_counter(), problem.objective.then
    assert claim is not None and claim.dual is not None
    exactly = solver.rational and second == "worst secret"
    level = design.loss if exactly else design.bound + Fraction(_TIE_SHARE * tolerance) * abs(design.loss)

    def solve(aim: Floats | None = None) -> Answer:
        others = tied(problem, max(level, design.loss), aim)
        return accepting(others, solver)(others, tolerance / 100, None, watch)

    try:
        if second == "worst secret":
            answer = solve()
        else:
            answer = _most_entropy(problem.prior, solve, _full_matrix(problem, design.mechanism))
    except (TimeIsUp, NotConverged):
        if watch.over:  # ties stay as they are
            return replace(design, stopped=True)
        raise
    bound = LowerBound(design.bound, claim.dual, claim.prior, claim.mixture,
                       tuple(ceiling.prices for ceiling in claim.ceilings if ceiling.prices is not None))  # fmt: skip
    provenance = {**design.mechanism.provenance, "ties": f"broken by {second}"}
    answer = replace(answer, method=design.method, prices=(), seconds=design.seconds["solve"] + answer.seconds)
    mechanism = certified(problem, answer, provenance, bounded_by=bound)
    broken = as_design(mechanism, answer, perf_counter() - started, watch)
    return replace(broken, second=_second_value(problem, mechanism), iterations=design.iterations)


def _full_matrix(problem: Problem, mechanism: Mechanism) -> Floats:
    """The mechanism with a column for every action."""
    matrix = np.zeros(problem.shape)
    matrix[:, [problem.loss.actions.index(y) for y in mechanism.outputs]] = mechanism.weights / mechanism.total
    return matrix


def _second_value(problem: Problem, mechanism: Mechanism) -> float:
    if problem.objective.then == "entropy":
        return conditional_entropy(problem.prior.float_weights, mechanism.weights / mechanism.total)
    rows = [problem.loss.actions.index(y) for y in mechanism.outputs]
    return float(max(losses_of_secrets(problem.loss.matrix[rows], mechanism.weights, mechanism.total)))


def _most_entropy(prior: Prior, solve: Callable[[Floats], Answer], start: Floats) -> Answer:
    """One with a larger conditional entropy than ``start``, nearly the largest."""
    weights = prior.float_weights
    matrix, answer = start, None
    for _ in range(_STEPS):
        slope = np.where(weights[:, None] > 0, weights[:, None] * np.log(_posteriors(weights, matrix)), 0.0)
        answer = solve(slope)
        towards = floats(answer.matrix)
        gain = float((slope * (matrix - towards)).sum())
        if gain <= _ENOUGH:
            break
        way = towards - matrix
        step = minimize_scalar(
            lambda t, at=matrix, way=way: -conditional_entropy(weights, at + t * way),
            bounds=(0.0, 1.0),
            method="bounded",
        )
        matrix = matrix + float(step.x) * way
    assert answer is not None
    return replace(answer, matrix=matrix)


def conditional_entropy(prior: Floats, matrix: Floats) -> float:
    """H(X | Y) in nats."""
    joint = prior[:, None] * matrix
    return float(-(joint * np.log(_posteriors(prior, matrix))).sum())


def _posteriors(prior: Floats, matrix: Floats) -> Floats:
    """p(x | y), and 1 where nothing is to be counted, so that logarithms are 0 there."""
    joint = prior[:, None] * matrix
    total = joint.sum(axis=0, keepdims=True)
    return np.asarray(np.where(joint > 0, joint / np.where(total > 0, total, 1.0), 1.0))
