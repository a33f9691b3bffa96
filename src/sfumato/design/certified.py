"""From a solver's answer to something proved: a mechanism in integers, its loss, and a lower bound on any loss.

The matrix is repaired and rounded; limits that rounding has overstepped are met by mixing in a little of a mechanism
that keeps them with room to spare; the multipliers give a bound. The kernel checks all, so a solver need not be
trusted.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from time import perf_counter
from typing import Any, cast

import numpy as np

from sfumato.certify.mechanism import Claim, Criterion, Mechanism
from sfumato.certify.repair import private_weights
from sfumato.certify.twin_claims import exact_sums
from sfumato.certify.verify import claim_of, prove
from sfumato.channels.prior import Prior
from sfumato.design.answer import Answer
from sfumato.design.bounds import LowerBound, exact_bound, proved_excess, rounded_bound
from sfumato.design.problem import FEASIBILITY, Problem
from sfumato.design.result import Design
from sfumato.design.solvers import Solver
from sfumato.design.time_budget import overtime
from sfumato.errors import Infeasible, InvalidChannel, NotConverged, PrivacyViolation
from sfumato.numbers import Array, Floats, common_denominator, floats, fractions, is_exact, object_array, text_below
from sfumato.privacy.events import EventPromise
from sfumato.watch import TimeIsUp, Watch

_LARGEST_BITS = 2048  # Totals of more bits are rounded to 2^52 instead.
_SHARED = 1e-4  # Where events need it, this share of what keeps limits with room to spare is the same for all secrets.
# These shares of the mechanism with room to spare are tried in turn.
_MIXTURES = [0.0, *(10.0**-k for k in range(12, 1, -1))]


class NoRoom(Exception):
    """The rounded matrix oversteps a limit, and nothing safe was given to mix it with, or not enough."""


def proved_design(problem: Problem, answer: Answer, solver: Solver, watch: Watch) -> Design:
    """What an answer has come to when it is repaired and proved; the solver helps where rounding breaks a limit."""
    started = perf_counter()
    provenance = {"made by": "design", "method": answer.method}
    try:
        mechanism = certified(problem, answer, provenance)
    except NoRoom:
        mechanism = _with_room(problem, answer, provenance, solver, watch)
    return as_design(mechanism, answer, perf_counter() - started, watch)


def as_design(mechanism: Mechanism, answer: Answer, certifying: float, watch: Watch) -> Design:
    """A proved mechanism with what its proof says, and how long all of it took."""
    proof = mechanism.proof
    assert proof.loss is not None and proof.bound is not None
    seconds = {"solve": answer.seconds, "certify": certifying, "total": watch.spent}
    return Design(mechanism, proof.loss, proof.bound, answer.method, answer.iterations, seconds)


def _with_room(problem: Problem, answer: Answer, provenance: dict[str, Any], solver: Solver, watch: Watch) -> Mechanism:
    """The mechanism of an answer that rounding has put beyond a limit, mixed with one that keeps them all easily."""
    limit, left = watch.limit, watch.left
    # nothing can be returned without it, so it gets some of the time that is left for repair and proof
    grace = None if limit is None or left is None else max(left, overtime(limit) / 2)
    try:
        safe = _safe_matrix(problem, solver, Watch(grace, watch.clock))
        return certified(problem, answer, provenance, safe=safe)
    except (NoRoom, TimeIsUp, NotConverged) as error:
        raise NotConverged(
            "no mechanism that keeps the limits was found in time: give it more, or raise their levels"
        ) from error


def _safe_matrix(problem: Problem, solver: Solver, watch: Watch) -> Floats:
    """A matrix that keeps all limits with room to spare."""
    step = FEASIBILITY(problem)
    assert step is not None  # there are limits
    easier = step.part
    answer = solver(easier, 1e-3, None, watch)
    excess = proved_excess(easier, answer)
    if excess > 0:
        raise Infeasible(
            f"no mechanism with this promise keeps the limits: one is exceeded by {text_below(excess, 6)} at least"
        )
    return floats(answer.matrix)


def certified(
    problem: Problem,
    answer: Answer,
    provenance: dict[str, Any],
    *,
    bounded_by: LowerBound | None = None,
    safe: Floats | None = None,
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
            weights, total = common_denominator(answer.matrix)
            if total.bit_length() > _LARGEST_BITS:
                raise NoRoom
            return _proved(problem, weights, total, answer, bounded_by or exact_bound(problem, answer), provenance)
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
    value_claim = _claim(problem, weights, total, used, answer)
    ceilings = tuple(
        replace(ceiling, prices=prices)
        for ceiling, prices in zip(problem.ceilings, bounded_by.ceiling_prices, strict=True)
    )
    both = replace(
        value_claim, bound=min(bounded_by.value, value_claim.value), dual=bounded_by.dual, prior=bounded_by.prior,
        mixture=bounded_by.mixture, ceilings=ceilings,
    )  # fmt: skip
    outputs = [problem.loss.actions[w] for w in used]
    return prove(weights, problem.privacy, outputs=outputs, claim=both, events=problem.events, provenance=provenance)


def _in_floats(answer: Answer) -> Answer:
    given = answer.multipliers
    return replace(
        answer, matrix=floats(answer.matrix), prices=tuple(floats(price) for price in answer.prices),
        multipliers=replace(given, values=floats(np.asarray(given.values))),
    )  # fmt: skip


def _rounded_weights(problem: Problem, answer: Answer, safe: Floats | None) -> tuple[Array, int]:
    """Integers next to the matrix, and what each row sums to; all limits are kept."""
    matrix = floats(answer.matrix)
    # a worst case is made of ties in the mean, so there only the nearest mechanism is a good one
    stakes = (problem.prior, problem.loss) if problem.objective.plain else (None, None)
    for share in _MIXTURES if problem.ceilings or problem.events else [0.0]:
        mixed = (1 - share) * matrix + share * _roomy(problem, matrix, safe) if share else matrix
        used = np.flatnonzero(mixed.any(axis=0))  # repair takes a while for each column, empty or not
        rounded = np.zeros(mixed.shape, dtype=np.int64)
        rounded[:, used] = private_weights(mixed[:, used], problem.privacy, *stakes)
        total = int(rounded[0].sum())
        within = all(max(losses_of_secrets(c.loss.matrix, rounded, total)) <= c.level for c in problem.ceilings)
        if within and all(_hidden(event, rounded, total) for event in problem.events):
            return rounded, total
    raise NoRoom


def _roomy(problem: Problem, matrix: Floats, safe: Floats | None) -> Floats:
    """What keeps all with room to spare: ``safe`` keeps limits, a row that all secrets share keeps event promises."""
    if not problem.events:
        return matrix if safe is None else safe
    same = 0.9 * matrix.mean(axis=0) + 0.1 / matrix.shape[1]
    constant = np.tile(same / same.sum(), (len(matrix), 1))
    return constant if safe is None else (1 - _SHARED) * safe + _SHARED * constant


def _hidden(event: EventPromise, weights: Array, total: int) -> bool:
    """Whether integer weights keep a promise about events, by the factor that the kernel takes."""
    factor = event.factor.rational or event.factor.bounds(96)[0]
    p, q = factor.numerator, factor.denominator
    rows = weights.astype(object)
    excess = np.maximum(q * rows[event.upper] - p * rows[event.lower], 0).sum(axis=1)
    return bool((excess * event.delta.denominator <= event.delta.numerator * q * total).all())


def losses_of_secrets(table: Array, weights: Array, total: int) -> Array:
    """Σ_y N_xy ℓ(y, x) / total for every secret, exactly; one row of the table for each column of the weights."""
    sums, unit = exact_sums(weights, table, np.arange(len(table)))
    return object_array(value * unit / total for value in sums)


def _claim(problem: Problem, weights: Array, total: int, used: list[int], answer: Answer) -> Claim:
    """The loss that the criterion looks at; outputs are actions, and stay so where more than one number counts."""
    criterion, priors = cast(Criterion, problem.objective.criterion), problem.objective.priors
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
