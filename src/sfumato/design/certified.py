"""From a solver's answer to something proved: a mechanism in integers, its loss, and a lower bound on any loss.

The matrix is repaired and rounded; limits that rounding has overstepped are met by mixing in a little of a mechanism
that keeps them with room to spare; the multipliers give a bound. The kernel checks all, so a solver need not be
trusted.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.certify.mechanism import Claim, Mechanism
from sfumato.certify.repair import private_weights
from sfumato.certify.verify import claim_of, prove
from sfumato.channels.prior import Prior
from sfumato.design.bounds import LowerBound, exact_bound, rounded_bound
from sfumato.design.problem import Problem
from sfumato.design.solvers.answer import Answer
from sfumato.errors import InvalidChannel, PrivacyViolation
from sfumato.losses.loss import Loss
from sfumato.numbers import Array, common_denominator, floats, fractions, is_exact

__all__ = ["NoRoom", "certified", "losses_of_secrets"]

_LARGEST_BITS = 2048  # of a total: denominators beyond are rounded to 2^52 instead
_MIXTURES = [0.0, *(10.0**-k for k in range(12, 1, -1))]  # shares of the mechanism with room to spare, tried in turn


class NoRoom(Exception):
    """The rounded matrix oversteps a limit, and nothing safe was given to mix it with, or not enough."""


def certified(
    problem: Problem,
    answer: Answer,
    provenance: dict[str, Any],
    *,
    bounded_by: LowerBound | None = None,
    safe: NDArray[np.float64] | None = None,
) -> Mechanism:
    """The mechanism of an answer with its loss and bound as claims, accepted by the kernel.

    Parameters
    ----------
    bounded_by
        A bound of the same problem that is known already; by default the multipliers of the answer give one.
    safe
        A matrix that keeps the limits with room to spare.
    """
    if is_exact(answer.matrix, answer.multipliers.values):
        try:
            return _proved(
                problem, *_exact_weights(answer), answer, bounded_by or exact_bound(problem, answer), provenance
            )
        except (NoRoom, PrivacyViolation, InvalidChannel):  # numbers too long, or factors that the kernel must round
            answer, bounded_by = _in_floats(answer), None
    weights, total = _rounded_weights(problem, answer, safe)
    return _proved(problem, weights, total, answer, bounded_by or rounded_bound(problem, answer), provenance)


def _proved(
    problem: Problem, weights: Array, total: int, answer: Answer, bounded_by: LowerBound, provenance: dict[str, Any]
) -> Mechanism:
    """What the kernel accepts of weights and a bound."""
    used = np.flatnonzero(weights.any(axis=0)).tolist()  # outputs that are never given are left out
    weights = weights[:, used]
    made = _claim(problem, weights, total, used, answer)
    ceilings = tuple(
        replace(ceiling, prices=prices)
        for ceiling, prices in zip(problem.ceilings, bounded_by.ceiling_prices, strict=True)
    )
    both = replace(
        made, bound=min(bounded_by.value, made.value), dual=bounded_by.dual, prior=bounded_by.prior,
        mixture=bounded_by.mixture, ceilings=ceilings,
    )  # fmt: skip
    outputs = [problem.loss.actions[w] for w in used]
    return prove(weights, problem.privacy, outputs=outputs, claim=both, provenance=provenance)


def _in_floats(answer: Answer) -> Answer:
    given = answer.multipliers
    return replace(
        answer, matrix=floats(answer.matrix), prices=tuple(floats(price) for price in answer.prices),
        multipliers=replace(given, values=floats(np.asarray(given.values))),
    )  # fmt: skip


def _exact_weights(answer: Answer) -> tuple[Array, int]:
    """The matrix as it is, in integers."""
    weights, denominator = common_denominator(answer.matrix)
    if denominator.bit_length() > _LARGEST_BITS:
        raise NoRoom
    return weights, denominator


def _rounded_weights(problem: Problem, answer: Answer, safe: NDArray[np.float64] | None) -> tuple[Array, int]:
    """Integers next to the matrix, and what each row sums to; all limits are kept."""
    matrix = floats(answer.matrix)
    # a worst case is made of ties in the mean, so there only the nearest mechanism is a good one
    stakes = (problem.prior, problem.loss) if problem.objective.plain else (None, None)
    for share in _MIXTURES if problem.ceilings else [0.0]:
        mixed = matrix if not share or safe is None else (1 - share) * matrix + share * safe
        rounded = private_weights(mixed, problem.privacy, *stakes)
        total = int(rounded[0].sum())
        if all(_kept(ceiling.loss, ceiling.level, rounded, total) for ceiling in problem.ceilings):
            return rounded, total
    raise NoRoom


def _kept(loss: Loss, level: Fraction, weights: Array, total: int) -> bool:
    return bool(max(losses_of_secrets(loss.matrix, weights, total)) <= level)


def losses_of_secrets(table: Array, weights: Array, total: int) -> Array:
    """Σ_y N_xy ℓ(y, x) / total for every secret, exactly; one row of the table for each column of the weights."""
    integers, denominator = common_denominator(table)
    return np.asarray(fractions((integers.astype(object).T * weights).sum(axis=1)) / Fraction(denominator * total))


def _claim(problem: Problem, weights: Array, total: int, used: list[int], answer: Answer) -> Claim:
    """The loss that the criterion looks at; outputs are actions, and stay so where more than one number counts."""
    criterion, priors = problem.objective.criterion, problem.objective.priors
    if problem.objective.plain:
        return claim_of(problem.prior, weights, total, problem.loss)
    lost = losses_of_secrets(problem.loss.matrix[used], weights, total)
    if criterion == "worst secret":
        value = max(lost)
    else:
        value = max(_mean(prior, lost) for prior in (priors if criterion == "worst prior" else (problem.prior,)))
    return Claim(problem.prior, problem.loss, tuple(used), value, criterion=criterion, priors=priors)


def _mean(prior: Prior, lost: Array) -> Fraction:
    weights = fractions(prior.weights)  # floats sum to 1 up to rounding only
    return Fraction((weights * lost).sum() / weights.sum())
