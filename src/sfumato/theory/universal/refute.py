"""Looking for a prior for which another mechanism does better: alternating best answers from many starts.

From a prior, the best mechanism for it; from that mechanism, the prior at which the one in question loses most against
it; and so on while the regret grows. Floats search. A candidate counts only once the gap between two losses is
verified in rationals, so the search refutes, and never certifies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.channels.channel import Channel
from sfumato.channels.prior import Prior
from sfumato.design.optimal import design
from sfumato.lp import LinearProgram, Status, solve
from sfumato.measures.uncertainty import posterior_loss
from sfumato.numbers import Array, Floats, floats, object_array
from sfumato.theory.universal.answers import Better
from sfumato.theory.universal.least_loss import LeastLoss
from sfumato.theory.universal.opponents import Opponent, opposing_prior
from sfumato.theory.universal.prior_sets import PriorSet
from sfumato.theory.universal.question import ReducedLoss, exact_product

_ROUNDS = 8  # One start has at most so many rounds; most end after two or three.
_VISIBLE_REGRET = 1e-7  # Below this regret, in units of the largest loss, floats have seen nothing.
_GRIDS = (2**6, 2**12, 2**24, 2**48)  # A prior of floats is rounded to these denominators, coarse ones first.


@dataclass(frozen=True, eq=False)
class RegretSearch:
    """What was found: the largest regret in floats (in units of the largest loss), where, and from how many starts."""

    regret: float
    weights: Floats
    starts: int


def search(
    question: ReducedLoss,
    channel: Channel,
    among: PriorSet,
    program: LeastLoss,
    starts: int = 50,
    enough: float = np.inf,
    seed: int = 0,
) -> RegretSearch:
    """The largest regret met on the way, in floats; ends early once it exceeds ``enough``."""
    pieces = float_pieces(question, channel, among)
    generators = among.generators.astype(np.float64)
    opponent = Opponent(program)
    best = RegretSearch(-np.inf, np.full(len(channel.secrets), 1.0 / len(channel.secrets)), 0)
    for number, point in enumerate(_starts(among, starts, seed, question), 1):
        last = -np.inf
        for _ in range(_ROUNDS):
            prior = generators @ point
            total = prior.sum()
            prior, point = prior / total, point / total
            own = float((pieces @ point).min(axis=1).sum())
            least, _, spent = opponent.best(prior)
            regret = own - least
            if regret > best.regret:
                best = RegretSearch(regret, prior, number)
            if regret <= last + 1e-9 or best.regret > enough:
                break
            last = regret
            point = _answer(pieces, spent, generators, among, point)
        if best.regret > enough:
            break
    return RegretSearch(best.regret, best.weights, starts if best.regret <= enough else best.starts)


def _answer(pieces: Floats, spent: Floats, generators: Floats, among: PriorSet, point: Floats) -> Floats:
    """The worst prior against a mechanism that spends so much at each secret; in a set with limits, the way there.

    Coordinates are scaled so that every generator has total 1; limits are kept by going only as far as they allow.
    """
    totals = generators.sum(axis=0)
    goal, _ = opposing_prior(pieces / totals, (spent @ generators) / totals, point * totals)
    goal = goal / totals
    return _towards(goal, point, among)


def _towards(goal: Floats, start: Floats, among: PriorSet) -> Floats:
    """The point nearest to the goal on the way from a member of a set, as far as its limits allow."""
    if not len(among.limits):
        return goal
    limits = among.limits.astype(np.float64)
    here, there = limits @ start, limits @ goal
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(there < 0, np.maximum(here, 0.0) / np.maximum(here - there, 1e-300), 1.0).min()
    return np.asarray(start + min(1.0, float(reach)) * (goal - start))


def float_pieces(question: ReducedLoss, channel: Channel, among: PriorSet) -> Floats:
    """Loss of each action at each output in floats, linear in the coordinates of priors; units of the largest loss."""
    matrix = floats(channel.matrix)
    table = matrix[:, matrix.any(axis=0)].T[:, None, :] * question.float_table[None, :, :]
    return np.ascontiguousarray(table if among.everything else table @ among.generators.astype(np.float64))


def _starts(among: PriorSet, starts: int, seed: int, question: ReducedLoss) -> Iterator[Floats]:
    """Coordinates of priors: even, then random with few and with many secrets, the weights far apart."""
    size = among.generators.shape[1]
    relevant = question.relevant if among.everything else np.arange(size)
    rng = np.random.default_rng(seed)
    inside = inner_point(among)
    for k in range(starts):
        point = np.zeros(size)
        if k == 0:
            point[relevant] = 1.0
        else:
            number = int(rng.integers(min(2, len(relevant)), len(relevant) + 1))
            chosen = rng.choice(relevant, number, replace=False)
            point[chosen] = rng.exponential(size=number) ** rng.choice([0.5, 1.0, 2.0])
        yield _towards(point / point.sum(), inside, among)


def inner_point(among: PriorSet) -> Floats:
    """A point that satisfies the limits: the centre of a ball, or where the tightest of them is least tight."""
    size = among.generators.shape[1]
    if not len(among.limits):
        return np.full(size, 1.0 / size)
    if among.centre is not None:
        point = among.centre.astype(np.float64)
        return np.asarray(point / point.sum())
    limits = among.limits.astype(np.float64)
    limits = limits / np.abs(limits).max(axis=1, keepdims=True)
    matrix = np.concatenate([limits, -np.ones((len(limits), 1))], axis=1)
    matrix = np.concatenate([matrix, np.append(np.ones(size), 0.0)[None, :]])
    cost = np.append(np.zeros(size), -1.0)
    solution = solve(LinearProgram.dense(cost, matrix, ">" * len(limits) + "=", np.append(np.zeros(len(limits)), 1.0)))
    assert solution.primal is not None
    return np.asarray(solution.primal[:size], dtype=np.float64)


def refute(
    question: ReducedLoss, channel: Channel, among: PriorSet, program: LeastLoss, starts: int = 50, seed: int = 0
) -> Better | None:
    """A verified counter-example to universal optimality, or None if the search saw none."""
    enough = _VISIBLE_REGRET
    tried = 0
    while tried < starts:
        worst = search(question, channel, among, program, starts - tried, enough, seed + tried)
        if worst.regret <= enough:
            return None
        proved = verified(question, channel, among, program, worst.weights)
        if proved is not None:
            return proved
        tried += max(worst.starts, 1)
    return None


def verified(
    question: ReducedLoss, channel: Channel, among: PriorSet, program: LeastLoss, weights: Floats
) -> Better | None:
    """The counter-example at a prior near the given one, if exact arithmetic confirms it."""
    for grid in _GRIDS:
        integers = object_array(round(float(w) * grid) for w in weights)
        if not integers.any() or not inside(integers, among):
            continue
        prior = Prior.from_counts(integers, question.loss.secrets)
        loss = posterior_loss(prior, channel, question.exact_loss)
        better = _best_mechanism(question, program, prior, integers, weights)
        other = posterior_loss(prior, better, question.exact_loss)
        if other < loss:
            return Better(prior, better, Fraction(loss), Fraction(other))
    return None


def _best_mechanism(
    question: ReducedLoss, program: LeastLoss, prior: Prior, integers: Array, weights: Floats
) -> Channel:
    """Exact by rays where these are few and rational, else designed and proved."""
    if Opponent(program).by_rays and question.exact:
        least = program.approximate(np.asarray(weights / weights.sum())[None, :])
        return program.mechanism(integers, least.bases[0])
    return design(prior, question.loss, question.privacy, tolerance=1e-8).mechanism.channel


def inside(integers: Array, among: PriorSet) -> bool:
    """Whether a rounded prior is still in the set; for a hull a linear program tells."""
    if among.everything:
        return True
    if among.generators.shape[0] == among.generators.shape[1] and len(among.limits):
        return bool((exact_product(among.limits, integers[:, None]) >= 0).all())
    rows = among.generators
    program = LinearProgram.dense(np.zeros(rows.shape[1], dtype=np.int64), rows, "=" * len(rows), integers)
    return solve(program).status is Status.OPTIMAL
