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
from sfumato.numbers import Array, common_denominator, fractions, is_exact, object_array

__all__ = ["certified"]

_DUAL_BITS = 56  # of the largest multiplier: rounding is then far below what floats have settled
_CUT = 0.3  # share of what the gap still allows that small multipliers may cost when they are left out
_LARGEST_TOTAL = 2**62  # denominators beyond are rounded instead


def certified(problem: Problem, answer: Answer, tolerance: float, provenance: dict[str, Any]) -> Mechanism:
    """The mechanism of an answer with its loss and bound as claims, accepted by the kernel."""
    weights, total = _weights(problem, answer)
    used = np.flatnonzero(weights.any(axis=0)).tolist()  # outputs that are never given are left out
    weights = weights[:, used]
    made = claim_of(problem.prior, weights, total, problem.loss)
    if is_exact(answer.multipliers.values) and len(answer.multipliers):
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
    values, denominator = common_denominator(given.values)
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
    factors = np.exp(problem.privacy.rate * problem.privacy.space.distances.floats[given.first, given.second])
    usable = np.isfinite(factors) & (given.values > 0)
    parts = (given.first[usable], given.second[usable], given.action[usable], given.values[usable].astype(np.float64))
    first, second, action, values = parts
    factors = factors[usable]
    before = _bound(problem, first, second, action, values, factors)
    spare = tolerance * abs(loss) - (loss - before)
    kept = _worth_keeping(problem, first, action, values, _CUT * max(spare, loss - before, 1e-9 * abs(loss)))
    first, second, action, values, factors = (part[kept] for part in (*parts, factors))
    largest = float(values.max(initial=0.0))
    unit = Fraction(2) ** (int(np.frexp(largest)[1]) - _DUAL_BITS) if largest else Fraction(1)
    weights = object_array(int(v) for v in np.floor(values / float(unit)))
    rounded = np.array([float(v) for v in weights]) * float(unit)
    bound = _bound(problem, first, second, action, rounded, factors)
    # sums of at most n + 2 terms with relative errors of a few 2^-53, and factors rounded up by the kernel
    scale = float(np.abs(problem.float_cost).sum() + (rounded * (1 + factors)).sum())
    slack = (len(problem.privacy.space) + 64) * 2.0**-52 * scale
    return Fraction(bound - slack), Dual(first, second, action, weights, unit)


def _bound(problem: Problem, first: Any, second: Any, action: Any, values: Any, factors: Any) -> float:
    """Σ_x min_w (C + AᵀZ)_xw in floats."""
    reduced = problem.float_cost.copy()
    np.add.at(reduced, (first, action), values)
    np.subtract.at(reduced, (second, action), values * factors)
    return float(reduced.min(axis=1).sum())


def _worth_keeping(
    problem: Problem, first: NDArray[np.int64], action: NDArray[np.int64], values: NDArray[np.float64], budget: float
) -> NDArray[np.bool_]:
    """The multipliers whose loss would cost more than the budget: without the others the bound falls by no more.

    Leaving out Z_xzw lowers row x by at most Z; what it gives back to z only helps.
    """
    kept: NDArray[np.bool_] = np.ones(len(values), dtype=bool)
    order = np.argsort(values)
    low, high = 0, len(values)
    while low < high:
        middle = (low + high + 1) // 2
        dropped = order[:middle]
        table = np.zeros(problem.shape)
        np.add.at(table, (first[dropped], action[dropped]), values[dropped])
        low, high = (middle, high) if table.max(axis=1).sum() <= budget else (low, middle - 1)
    kept[order[:low]] = False
    return kept
