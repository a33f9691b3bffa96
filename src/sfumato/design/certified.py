"""From a solver's answer to something proved: a mechanism in integers, its loss, and a lower bound on any loss.

The matrix is repaired and rounded; the multipliers are cut where they are too small to matter, rounded, and claimed
with the bound they give. The kernel checks both, so a solver need not be trusted.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.certify.mechanism import Dual, Mechanism
from sfumato.certify.repair import private_weights
from sfumato.certify.verify import claim_of, prove
from sfumato.design.problem import Problem
from sfumato.design.solvers.answer import Answer, Multipliers
from sfumato.numbers import Array, common_denominator, fractions, is_exact

__all__ = ["certified"]

_DUAL_BITS = 56  # of the largest multiplier: rounding is then far below what floats have settled
_CUT = 0.5  # share of what the gap still allows that small multipliers may cost when they are left out
_LARGEST_TOTAL = 2**62  # denominators beyond are rounded instead


def certified(problem: Problem, answer: Answer, tolerance: float, provenance: dict[str, Any]) -> Mechanism:
    """The mechanism of an answer with its loss and bound as claims, accepted by the kernel."""
    weights, total = _weights(problem, answer)
    used = np.flatnonzero(weights.any(axis=0)).tolist()  # outputs that are never given are left out
    weights = weights[:, used]
    made = claim_of(problem.prior, weights, total, problem.loss)
    if is_exact(answer.matrix, answer.multipliers.values):
        bound, dual = _exact_dual(problem, answer.multipliers)
    else:
        bound, dual = _rounded_dual(problem, answer.multipliers, float(made.value), tolerance)
    both = replace(made, bound=min(bound, made.value), dual=dual)
    outputs = [problem.loss.actions[w] for w in used]
    return prove(weights, problem.privacy, outputs=outputs, claim=both, provenance=provenance)


def _weights(problem: Problem, answer: Answer) -> tuple[Array, int]:
    """Integers next to the matrix, as it is if it is exact, and what each row sums to."""
    if is_exact(answer.matrix):
        weights, denominator = common_denominator(answer.matrix)
        if denominator < _LARGEST_TOTAL:
            return weights.astype(np.int64), denominator
    matrix = np.asarray(answer.matrix, dtype=np.float64)
    rounded = private_weights(matrix, problem.privacy, problem.prior, problem.loss)
    return rounded, int(rounded[0].sum())


def _exact_dual(problem: Problem, given: Multipliers) -> tuple[Fraction, Dual]:
    """Rational multipliers over one denominator, and exactly the bound they give."""
    values, denominator = common_denominator(given.values) if len(given) else (np.zeros(0, dtype=np.int64), 1)
    reduced = fractions(problem.cost).copy()
    distances = problem.privacy.space.distances.values
    for x, z, w, value in zip(given.first, given.second, given.action, given.values, strict=True):
        factor = problem.privacy.exact_factor(distances[x, z])
        assert factor is not None
        reduced[x, w] += value
        reduced[z, w] -= value * factor
    bound = sum((min(row) for row in reduced), Fraction(0))
    return bound, Dual(given.first, given.second, given.action, values, Fraction(1, denominator))


def _rounded_dual(problem: Problem, given: Multipliers, loss: float, tolerance: float) -> tuple[Fraction, Dual]:
    """Multipliers as integers times a power of two, and a bound a little below the one they give."""
    given = given[np.isfinite(_factors(problem, given)) & (given.values > 0)]
    before = _bound(problem, given)
    spare = tolerance * abs(loss) - (loss - before)
    given = given[_worth_keeping(problem, given, before - _CUT * max(spare, loss - before, 1e-9 * abs(loss)))]
    largest = float(given.values.max(initial=0.0))
    unit = Fraction(2) ** (int(np.frexp(largest)[1]) - _DUAL_BITS) if largest else Fraction(1)
    integers = np.floor(given.values.astype(np.float64) / float(unit)).astype(np.int64)
    rounded = replace(given, values=integers * float(unit))
    # sums of at most n + 2 terms with relative errors of a few 2^-53, and factors that the kernel rounds up
    spread = np.abs(problem.float_cost).sum() + (rounded.values * (1 + _factors(problem, rounded))).sum()
    slack = (len(problem.privacy.space) + 64) * 2.0**-52 * float(spread)
    bound = Fraction(_bound(problem, rounded) - slack)
    return bound, Dual(rounded.first, rounded.second, rounded.action, integers, unit)


def _factors(problem: Problem, given: Multipliers) -> NDArray[np.float64]:
    """e^{εd} of the pairs, infinite where floats end."""
    logs = problem.privacy.rate * problem.privacy.space.distances.floats[given.first, given.second]
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(logs))


def _bound(problem: Problem, given: Multipliers) -> float:
    """Σ_x min_w (C + AᵀZ)_xw in floats."""
    n, m = problem.shape
    values = given.values.astype(np.float64)
    gained = np.bincount(given.first * m + given.action, values, n * m)
    spent = np.bincount(given.second * m + given.action, values * _factors(problem, given), n * m)
    return float((problem.float_cost + (gained - spent).reshape(n, m)).min(axis=1).sum())


def _worth_keeping(problem: Problem, given: Multipliers, least: float) -> NDArray[np.bool_]:
    """All but the smallest multipliers, as many as can go while the bound stays above ``least``.

    The fewer there are, the sooner the kernel is through. The bound need not fall steadily, so this is a search for
    few, not for the fewest.
    """
    values = given.values.astype(np.float64)
    kept: NDArray[np.bool_] = np.ones(len(values), dtype=bool)
    order = np.argsort(values)
    low, high = 0, len(values) + 1  # so many may go, so many may not
    while high - low > max(1, len(values) // 64):
        middle = (low + high) // 2
        trial = np.ones(len(values), dtype=bool)
        trial[order[:middle]] = False
        if _bound(problem, given[trial]) >= least:
            low, kept = middle, trial
        else:
            high = middle
    return kept
