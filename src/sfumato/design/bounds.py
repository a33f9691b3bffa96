"""Lower bounds from multipliers and prices: rounded to a safe side, or exact.

For Z ≥ 0 on the pairs and prices U ≥ 0 on the limits no mechanism has less than Σ_x min_w (C_U + AᵀZ)_xw − Σ U·level,
where C_U is the cost with every limit paid for (:func:`sfumato.lp.column_bound`). Z on the excesses of promises about
events counts like Z on pairs, and δ times its largest entry is paid for each pair.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.certify.kernel import over_one_grain
from sfumato.certify.mechanism import Dual
from sfumato.channels.prior import Prior
from sfumato.design.answer import Answer, EventMultipliers, Multipliers
from sfumato.design.objectives import weighted
from sfumato.design.problem import Problem
from sfumato.design.routes import along_trees
from sfumato.numbers import Array, Floats, Integers, common_denominator, floats, fractions, object_array

_DUAL_BITS = 56  # The largest multiplier has so many bits: rounding is then far below what floats have settled.
_LONGEST = 4096  # A denominator of more bits is not written down as it is.
_SHARE_BITS = 52  # The weights of a mixture of priors or secrets have so many bits.


@dataclass(frozen=True, eq=False)
class LowerBound:
    """A number below which no mechanism can go, and what proves it."""

    value: Fraction
    dual: Dual
    prior: Prior
    mixture: tuple[int, ...]
    ceiling_prices: tuple[Array, ...]


def hardest_prior(problem: Problem, prices: tuple[Array, ...]) -> tuple[Prior, tuple[int, ...]]:
    """The prior that the prices of a worst case make up, exactly, and the shares in it of given priors."""
    if problem.objective.criterion == "expected":
        return problem.prior, ()
    if problem.objective.criterion == "worst secret":
        return Prior.from_counts(_shares(prices[0]), problem.privacy.space), ()
    priors = problem.objective.priors
    shares = _shares(np.concatenate(prices[: len(priors)]))
    return weighted(priors, shares), tuple(shares)


def _shares(prices: Array) -> list[int]:
    """Integers in the proportion of prices: as they are if rational, else rounded."""
    if prices.dtype == object:
        return [int(v) for v in common_denominator(prices)[0]]
    positive = np.maximum(prices, 0.0)
    return [int(v) for v in np.rint(positive / positive.sum() * 2.0**_SHARE_BITS)]


def exact_bound(problem: Problem, answer: Answer) -> LowerBound:
    """Rational multipliers over one denominator, and exactly the bound they give."""
    given, own = answer.multipliers, len(answer.prices) - len(problem.ceilings)
    prior, mixture = hardest_prior(problem, answer.prices)
    every = [given.values, answer.events.values, *answer.prices[own:]]
    joined = fractions(np.concatenate([np.asarray(part, dtype=object) for part in every]))
    values, denominator = common_denominator(joined) if len(joined) else (np.zeros(0, dtype=np.int64), 1)
    if denominator.bit_length() > _LONGEST:  # no file could hold them; smaller ones prove a little less
        values, denominator = object_array(int(v) * 2**_LONGEST // denominator for v in values), 2**_LONGEST
        joined = object_array(Fraction(int(v), denominator) for v in values)
    cuts = np.cumsum([len(part) for part in every])
    parts, used = np.split(values, cuts[:-1]), np.split(joined, cuts[:-1])
    reduced = fractions(problem.cost_under(prior)).copy()
    paid = Fraction(0)
    for limit, price in zip(problem.limits[own:], used[2:], strict=True):
        reduced = reduced + limit.weighted(price)
        paid += Fraction((price * limit.level).sum())
    rounded, grain = over_one_grain({k: event.factor.bounds()[0] for k, event in enumerate(problem.events)})
    events, which, paid_events = _on_pairs(problem, replace(answer.events, values=used[1]))
    event_factors = object_array(Fraction(rounded[k], grain) for k in which.tolist())
    reduced = events.added(np.ascontiguousarray(reduced), event_factors)
    reduced = replace(given, values=used[0]).added(reduced, _kernel_factors(problem, given))
    bound = sum((min(row) for row in reduced), Fraction(0)) - paid - paid_events
    if bound.denominator.bit_length() > _LONGEST:
        bound = Fraction(bound * 2**_LONGEST // 1, 2**_LONGEST)
    dual = Dual(given.first, given.second, given.action, parts[0], Fraction(1, denominator),
                answer.events.pair, answer.events.action, parts[1])  # fmt: skip
    return LowerBound(bound, dual, prior, mixture, tuple(parts[2:]))


def _on_pairs(problem: Problem, given: EventMultipliers) -> tuple[Multipliers, Integers, Any]:
    """Multipliers on events as ones on pairs of secrets, the promise of each, and their price Σ_j δ_j max_w Z_jw."""
    pairs, values = problem.event_pairs, given.values
    deltas = object_array(event.delta for event in problem.events)[pairs.which].astype(values.dtype)
    highest = np.zeros(len(deltas), dtype=values.dtype)
    np.maximum.at(highest, given.pair, values)
    ends = pairs.upper[given.pair], pairs.lower[given.pair]
    return Multipliers(*ends, given.action, values), pairs.which[given.pair], (highest * deltas).sum()


def _kernel_factors(problem: Problem, given: Multipliers) -> Array:
    """e^{εd} of the pairs as the kernel will take them: exact, unless their common denominator is huge."""
    used = problem.privacy.space.distances.values[given.first, given.second].tolist()
    factors = {value: problem.privacy.exact_factor(value) for value in set(used)}
    rounded, grain = over_one_grain({value: f for value, f in factors.items() if f is not None})
    return object_array(Fraction(rounded[value], grain) for value in used)


def rounded_bound(problem: Problem, answer: Answer) -> LowerBound:
    """Multipliers as integers times a power of two, and a bound a little below the one they give.

    Where a solver was stopped early, or worked at the end of the range of floats, its multipliers may prove less than
    ones that need no solver; then those are taken.
    """
    own = _rounded(problem, answer)
    if not problem.objective.plain or problem.events:
        return own
    least, centre, gathered = _without_solver(problem)
    bounds = [own]
    if least > float(own.value):
        nothing = _rounded(problem, replace(answer, multipliers=answer.multipliers[:0]))
        # no rounding can make a sum of losses negative that are not
        safe = Fraction(0) if (floats(problem.loss.matrix) >= 0).all() else nothing.value
        bounds.append(replace(nothing, value=max(nothing.value, safe)))
    if gathered > max(least, float(own.value)):
        bounds.append(_rounded(problem, replace(answer, multipliers=_around(problem, centre))))
    return max(bounds, key=lambda bound: bound.value)


def _without_solver(problem: Problem) -> tuple[float, int, float]:
    """Two bounds in floats: Σ_x min_w C_xw, which needs no multipliers, and one around a secret in the middle.

    For C ≥ 0 the multipliers C_xw e^{−εd(c, x)} on the pairs (c, x) bring all that others can lose to the secret c:
    min_w Σ_x e^{−εd(c, x)} C_xw, which for small ε is nearly what is lost by telling nothing.
    """
    cost, far = problem.float_cost, problem.privacy.space.distances.floats
    floor = cost.min(axis=1)
    centre = int(far.max(axis=1).argmin())
    near = np.exp(-problem.privacy.rate * far[centre])
    return float(floor.sum()), centre, float(floor.sum() + (near @ cost - near @ floor).min())


def _around(problem: Problem, centre: int) -> Multipliers:
    """The multipliers that prove the second of these bounds."""
    cost = problem.float_cost - problem.float_cost.min(axis=1, keepdims=True)
    amount = np.exp(-problem.privacy.rate * problem.privacy.space.distances.floats[centre])[:, None] * cost
    amount[centre] = 0.0
    if problem.privacy.space.edges is not None:
        return along_trees(problem.privacy, np.full(amount.shape[1], centre), amount.T)
    second, action = np.nonzero(amount)
    return Multipliers(np.full(len(second), centre), second, action, amount[second, action])


def _rounded(problem: Problem, answer: Answer) -> LowerBound:
    prices = answer.prices[len(answer.prices) - len(problem.ceilings) :]
    prior, mixture = hardest_prior(problem, answer.prices)
    given, on_events = usable(problem, answer.multipliers), answer.events
    every = [floats(part) for part in (given.values, on_events.values, *prices)]
    unit = dual_unit(max(float(part.max(initial=0.0)) for part in every))
    integers, counts, *whole = (np.floor(np.maximum(part, 0.0) / float(unit)).astype(np.int64) for part in every)
    loss = np.multiply(prior.float_weights[:, None], floats(problem.loss.matrix).T, order="C")
    cost, paid = _with_limits(loss, problem, tuple(price * float(unit) for price in whole))
    rounded = replace(given, values=integers * float(unit))
    on_events = replace(on_events, values=counts * float(unit))
    bound = Fraction(_safe_bound(problem, cost, rounded, paid, on_events))
    dual = Dual(rounded.first, rounded.second, rounded.action, integers, unit, on_events.pair, on_events.action, counts)
    return LowerBound(bound, dual, prior, mixture, tuple(whole))


def dual_unit(largest: float) -> Fraction:
    """The power of two of which multipliers are integer multiples, given the largest of them."""
    return Fraction(2) ** (int(np.frexp(largest)[1]) - _DUAL_BITS) if largest else Fraction(1)


def proved_excess(problem: Problem, answer: Answer) -> float:
    """The largest excess over the limits of a feasibility problem is never below this; safe against rounding."""
    given = usable(problem, answer.multipliers)
    prices = tuple(np.maximum(floats(price), 0.0) for price in answer.prices)
    cost, paid = _with_limits(np.zeros(problem.shape), problem, prices)
    return _safe_bound(problem, cost, given, paid, answer.events) / float(sum(price.sum() for price in prices))


def _with_limits(cost: Floats, problem: Problem, prices: tuple[Array, ...]) -> tuple[Floats, float]:
    """A cost with the last limits paid for, in floats, and Σ U·level."""
    paid = 0.0
    limits = problem.program.limits
    for limit, price in zip(limits[len(limits) - len(prices) :], prices, strict=True):
        cost = cost + limit.weighted(price)
        paid += float(price @ limit.level)
    return cost, paid


def usable(problem: Problem, given: Multipliers) -> Multipliers:
    """Multipliers of pairs whose factors floats can write down."""
    return given[np.isfinite(problem.factors(given.first, given.second)) & (given.values > 0)]


def _safe_bound(problem: Problem, cost: Floats, given: Multipliers, paid: float, on_events: EventMultipliers) -> float:
    """Σ_x min_w (C_U + AᵀZ)_xw − Σ U·level − Σ δ max Z, lowered by what rounding may have added.

    The cost is lost: with ten thousand secrets every further table would take a gigabyte.
    """
    cost = np.ascontiguousarray(cost)
    events, which, paid_events = _on_pairs(problem, replace(on_events, values=floats(on_events.values)))
    event_factors = np.array([float(event.factor) for event in problem.events])[which]
    # sums of at most n + 2 terms with relative errors of a few 2^-53, and factors that the kernel rounds up
    size = sum(float(np.abs(row).sum()) for row in cost) + abs(paid) + paid_events
    for part, factors in ((events, event_factors), (given, problem.factors(given.first, given.second))):
        size += float((part.values * (1 + factors)).sum())
        part.added(cost, factors)
    slack = (len(problem.privacy.space) + 64) * 2.0**-52 * size
    return float(cost.min(axis=1).sum() - paid - paid_events - slack)
