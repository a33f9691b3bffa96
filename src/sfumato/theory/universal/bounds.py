"""Bounds on the worst-case regret where its cells are too many to list.

From below: a counter-example that a search finds and exact arithmetic confirms. From above: a simplex of priors with
corners π_k has opt(Σ λ_k π_k) ≥ Σ λ_k opt(π_k), so the regret on it is at most the maximum of a concave function, a
linear program; cutting the simplices in two where the bound is largest brings it down.
"""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop, heappush

import numpy as np

from sfumato.channels.channel import Channel
from sfumato.errors import NotSupported
from sfumato.numbers import Floats
from sfumato.theory.universal.answers import Regret
from sfumato.theory.universal.least_loss import LeastLoss
from sfumato.theory.universal.opponents import Opponent, opposing_prior
from sfumato.theory.universal.prior_sets import PriorSet
from sfumato.theory.universal.question import ReducedLoss
from sfumato.theory.universal.refute import float_pieces, search, verified

_STARTS = 20
_SIMPLICES = 400  # So many simplices are cut before the bound from above is taken as it stands.


def bounded_regret(question: ReducedLoss, channel: Channel, among: PriorSet, program: LeastLoss) -> Regret:
    """Bounds from both sides on the regret over all priors of a hull (or all of them)."""
    if question.relative or len(among.limits):
        raise NotSupported("relative regret, or regret on a ball, with so many cells", ["additive regret over a hull"])
    worst = search(question, channel, among, program, _STARTS)
    proof = verified(question, channel, among, program, worst.weights) if worst.regret > 0 else None
    lower = Fraction(0) if proof is None else proof.gap
    above = regret_above(question, channel, among, program, _SIMPLICES, worst.regret)
    upper = max(Fraction(above) * question.unit, lower)
    prior, better = (None, None) if proof is None else (proof.prior, proof.channel)
    return Regret(lower, upper, prior, better, f"search from {_STARTS} starts and {_SIMPLICES} simplices of priors")


def regret_above(
    question: ReducedLoss, channel: Channel, among: PriorSet, program: LeastLoss, simplices: int, goal: float = 0.0
) -> float:
    """A proved upper bound on the regret in units of the largest loss; stops within a thousandth of ``goal``."""
    pieces = float_pieces(question, channel, among)
    generators = among.generators.astype(np.float64)
    totals = generators.sum(axis=0)
    pieces, generators = pieces / totals, generators / totals
    opponent = Opponent(program)
    size = generators.shape[1]
    memory: dict[bytes, float] = {}

    def least(point: Floats) -> float:
        key = point.tobytes()
        if key not in memory:
            memory[key] = opponent.best(generators @ point)[1]
        return memory[key]

    def bound(corners: Floats) -> tuple[float, Floats]:
        spent = np.array([least(corner) for corner in corners])
        inside, top = opposing_prior(np.ascontiguousarray(pieces @ corners.T), spent, np.full(size, 1.0 / size))
        return top, inside

    whole = np.eye(size)
    top, inside = bound(whole)
    heap = [(-top, 0, whole, inside)]
    for number in range(simplices):
        if -heap[0][0] <= max(goal, 0.0) * 1.001 + 1e-9:
            break
        _, _, corners, inside = heappop(heap)
        i, j = _edge(corners, inside)
        middle = (corners[i] + corners[j]) / 2
        for end in (i, j):
            half = corners.copy()
            half[end] = middle
            top, where = bound(half)
            heappush(heap, (-top, 2 * number + 1 + (end == j), half, where))
    return max(-heap[0][0], 0.0)


def _edge(corners: Floats, inside: Floats) -> tuple[int, int]:
    """The edge to cut: long, and between corners that the worst prior is made of."""
    lengths = np.abs(corners[:, None, :] - corners[None, :, :]).sum(axis=2)
    weight = np.sqrt(np.minimum(inside[:, None], inside[None, :]) + 1e-3)
    i, j = np.unravel_index(int((lengths * weight).argmax()), lengths.shape)
    return int(i), int(j)
