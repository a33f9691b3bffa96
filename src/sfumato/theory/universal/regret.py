"""How much worse than the best a mechanism can be, over all priors: exactly, or between two bounds.

The regret U_M(π) − opt(π) is convex on each cell on which U_M is linear, because opt is concave: it is largest at a
vertex of a cell. Those are finitely many and enumerated exactly (:mod:`sfumato.theory.universal.cells`). At each the
least loss of the type is bounded from below in floats; where that leaves a doubt it is found in integers.

Where its cells are too many to list, the worst-case regret has bounds. From below: a counter-example that a search
finds and exact arithmetic confirms. From above: a simplex of priors with corners π_k has opt(Σ λ_k π_k) ≥ Σ λ_k
opt(π_k), so the regret on it is at most the maximum of a concave function, a linear program; cutting the simplices in
two where the bound is largest brings it down.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import heappop, heappush
from math import lcm
from typing import Any

import numpy as np

from sfumato.arguments import integer
from sfumato.channels.channel import Channel
from sfumato.channels.prior import Prior
from sfumato.design.optimal import design
from sfumato.errors import NotSupported
from sfumato.losses.loss import Loss
from sfumato.numbers import (
    Array,
    Floats,
    common_denominator,
    float_above,
    fractions,
    from_flint,
    object_array,
    to_flint,
)
from sfumato.privacy.type import PrivacyType
from sfumato.theory.universal.answers import Regret
from sfumato.theory.universal.cells import LARGEST_MOST, MOST_RAYS, cell_vertices
from sfumato.theory.universal.least_loss import MARGIN, Least, LeastLoss
from sfumato.theory.universal.opponents import Opponent, opposing_prior
from sfumato.theory.universal.prior_sets import Priors, PriorSet, prior_set
from sfumato.theory.universal.question import (
    ReducedLoss,
    exact_product,
    member_of,
    pose,
    primitive_columns,
    type_of,
)  # fmt: skip
from sfumato.theory.universal.refute import float_pieces, search, verified
from sfumato.theory.universal.theorems import theorem


def worst_case_regret(
    mechanism: Any,
    loss: Loss,
    privacy: PrivacyType | None = None,
    *,
    priors: Priors = "all",
    relative: bool = False,
    most: int = MOST_RAYS,
) -> Regret:
    """The largest U_ℓ[π ▷ M] − min_N U_ℓ[π ▷ N] over priors, N ranging over all mechanisms of the type.

    Exact for rational types; otherwise both bounds are proved. Relative regret divides by the least loss. A table that
    is rounded from a mechanism without regret has at most what its rounding costs.

    Parameters
    ----------
    mechanism
        A mechanism or a channel of the type. Floats count as the rationals they store.
    privacy
        The type; that of the mechanism by default.
    priors
        ``"all"``, ``"regular"``, a list of priors (their hull), or :func:`~sfumato.theory.universal.ball`.
    most
        Vertices of cells kept at a time; if there are more, bounds come from searching and from a linear program.

    Examples
    --------
    >>> import sfumato as sf
    >>> privacy = sf.PrivacyType(sf.discrete(3), alpha="1/2")
    >>> worst_case_regret(sf.random_response(privacy), sf.losses.bin(privacy.space))
    Regret(1/24, 18 vertices of cells)
    >>> worst_case_regret(sf.geometric(sf.PrivacyType(sf.line(4), alpha="1/2")), sf.losses.bin(sf.line(4)))
    Regret(0, 48 vertices of cells)
    """
    question = pose(loss, type_of(mechanism, privacy), relative=relative)
    channel = member_of(mechanism, question.privacy)
    among = prior_set(priors, question.privacy)
    if question.trivial:
        return Regret(Fraction(0), Fraction(0), None, None, "one action is always best", relative=relative)
    program = LeastLoss(question)
    try:
        cells = loss_cells(question, channel, among, integer(most, "most", 1, LARGEST_MOST))
        regret = regret_on(question, cells, program)
    except NotSupported:
        regret = bounded_regret(question, channel, among, program)
    ground = None if relative or regret.exact else theorem(question, channel)
    if ground is not None and regret.upper is not None and ground.regret < regret.upper:
        assert regret.lower is not None and regret.lower <= ground.regret  # the bound from below has a witness
        return replace(regret, upper=ground.regret, method=f"{regret.method}, {ground.name}")
    return regret


@dataclass(frozen=True, eq=False)
class LossCells:
    """A mechanism with merged columns, and the integer priors at which its cells meet (rows)."""

    columns: Array
    weights: Array
    priors: Array


def float_priors(priors: Array) -> Floats:
    """Integer priors (rows) divided by their totals: rounded quotients, right to a few units in the last place."""
    if priors.dtype == object:  # integers that may be beyond the range of floats
        totals = [sum(row) for row in priors]
        return np.array([[v / t for v in row] for row, t in zip(priors, totals, strict=True)], dtype=np.float64)
    table = priors.astype(np.float64)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def loss_cells(question: ReducedLoss, channel: Channel, among: PriorSet, most: int = MOST_RAYS) -> LossCells:
    """Enumerate the vertices of the cells of a mechanism."""
    columns, weights = primitive_columns(channel)
    return LossCells(columns, weights, cell_priors(question, columns, among, most))


def cell_priors(question: ReducedLoss, columns: Array, among: PriorSet, most: int = MOST_RAYS) -> Array:
    """The integer priors at which the cells of a mechanism with these columns meet, one row each."""
    pieces = question.pieces(columns, among)
    if not among.everything:
        return exact_product(cell_vertices(pieces, among.limits, most), among.generators.T)
    # what secrets weigh at which actions do not differ is of no account
    vertices = cell_vertices(pieces[:, :, question.relevant], most=most)
    priors = np.zeros((len(vertices), len(columns)), dtype=vertices.dtype)
    priors[:, question.relevant] = vertices
    return priors


def regret_on(question: ReducedLoss, cells: LossCells, program: LeastLoss) -> Regret:
    """The worst regret over the given priors, with all that is known about its cells."""
    method = f"{len(cells.priors)} vertices of cells"
    if question.exact and _passes_rays(question, cells):
        return Regret(Fraction(0), Fraction(0), None, None, method, len(cells.priors), question.relative)
    own = _own_loss(question, cells)
    least = program.approximate(float_priors(cells.priors))
    if question.exact:
        worst = _exact_worst(question, cells, program, own, least)
    else:
        worst = _bounded_worst(question, cells, own, least)
    return Regret(*worst, method, len(cells.priors), question.relative)


def _regret_at(question: ReducedLoss, loss: Fraction, least: Fraction) -> Fraction | None:
    """Additive in units of the loss, or relative; None for infinite."""
    if not question.relative:
        return (loss - least) / question.scale
    if least == 0:
        return Fraction(0) if loss == 0 else None
    return loss / least - 1


@dataclass(frozen=True, eq=False)
class _Own:
    """What a mechanism loses at integer priors, times scale: exactly numerators / (denominator · totals)."""

    numerators: Array
    denominator: int
    totals: Array
    largest: int

    def at(self, i: int) -> Fraction:
        return Fraction(int(self.numerators[i]), self.denominator * int(self.totals[i]))

    @property
    def floats(self) -> Floats:
        """In units of the largest loss."""
        if object in (self.numerators.dtype, self.totals.dtype):
            return np.array([float(self.at(i) / self.largest) for i in range(len(self.totals))])
        # a few roundings of exact numbers
        scale = float(self.denominator * self.largest)
        return np.asarray(self.numerators.astype(np.float64) / scale / self.totals.astype(np.float64))


def _own_loss(question: ReducedLoss, cells: LossCells) -> _Own:
    """U_M(π) at each prior."""
    parts = question.uncertainties(cells.priors, cells.columns.T)
    weights = fractions(cells.weights)
    denominator = lcm(*(w.denominator for w in weights))
    integers = object_array(int(w * denominator) for w in weights)
    totals = exact_product(cells.priors, np.ones((cells.priors.shape[1], 1), dtype=np.int64))[:, 0]
    return _Own(exact_product(parts, integers[:, None])[:, 0], denominator, totals, question.largest)


def _passes_rays(question: ReducedLoss, cells: LossCells) -> bool:
    """The criterion without programs: columns M_y independent, n of them, and Σ_y c_iy U(π∘M_y) ≤ U(π∘v_i).

    If it holds for every ray v_i = Σ_y c_iy M_y at every vertex of a cell, the mechanism is optimal everywhere. If it
    fails at one, the mechanism Σ_y (1 − t c_iy) M_y + t v_i is better there for a small t.
    """
    n, m = cells.columns.shape
    if n != m:
        return False
    try:
        inverse = to_flint(cells.columns).inv()
    except ZeroDivisionError:
        return False
    rays = question.rays
    parts = [common_denominator(row) for row in from_flint(inverse * to_flint(rays.T)).T]
    integers, scales = np.stack([part for part, _ in parts]), object_array(scale for _, scale in parts)
    left = exact_product(question.uncertainties(cells.priors, cells.columns.T), integers.T)
    right = question.uncertainties(cells.priors, rays)
    if max(int(right.max()), 1) * int(max(scales)) >= 2**62:
        right = right.astype(object)
    else:
        scales = scales.astype(np.int64)
    return bool((left <= right * scales[None, :]).all())


def _regrets_above(question: ReducedLoss, own: _Own, least: Least) -> Floats:
    """Bounds on the regret at each prior in floats, from above."""
    high, low = own.floats + 4 * MARGIN, np.maximum(least.bounds, 0.0)
    if not question.relative:
        return np.asarray((high - low) * float(question.unit) * (1 + 2.0**-50))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(low > 0, (high / low - 1) * (1 + 2.0**-50), np.inf)
    return np.where(own.numerators == 0, 0.0, share)  # where both losses are zero there is nothing to regret


_Worst = tuple[Fraction | None, Fraction | None, Prior, Channel]


def _exact_worst(question: ReducedLoss, cells: LossCells, program: LeastLoss, own: _Own, least: Least) -> _Worst:
    """Vertices in the order of their regret in floats, each decided exactly, until none can be worse."""
    upper = _regrets_above(question, own, least)
    order = np.argsort(-upper, kind="stable")
    best: tuple[Fraction | None, int] = (Fraction(-1), -1)
    place, step = 0, 16
    while place < len(order):
        members = order[place : place + step]
        if best[0] is not None and best[0] >= 0 and upper[members[0]] < float_above(best[0]):
            break
        values = program.exactly(cells.priors[members], least.bases[members])
        for i, value in zip(members.tolist(), values, strict=True):
            now = _regret_at(question, own.at(i), value / int(own.totals[i]))
            if now is None or (best[0] is not None and now > best[0]):
                best = (now, i)
        if best[0] is None:
            break
        place, step = place + step, 4 * step
    worst, i = best
    prior = cells.priors[i]
    return worst, worst, Prior.from_counts(prior, question.loss.secrets), program.mechanism(prior, least.bases[i])


def _bounded_worst(question: ReducedLoss, cells: LossCells, own: _Own, least: Least) -> _Worst:
    """For irrational types: a proved mechanism at the worst vertex, and the bounds of prices at all."""
    guess = own.floats - least.values
    if question.relative:
        guess = np.where(own.floats > 1e-12, guess / np.maximum(least.values, 1e-300), 0.0)
    i = int(np.argmax(guess))
    prior = Prior.from_counts(cells.priors[i], question.loss.secrets)
    best = design(prior, question.loss, question.privacy, tolerance=1e-9)
    floor = Fraction(0) if question.relative else floor_at(question, prior)
    least_loss = (best.loss - floor) * question.scale
    lower = _regret_at(question, own.at(i), least_loss)
    top = float(_regrets_above(question, own, least).max())
    upper = None if not np.isfinite(top) else max(Fraction(top), Fraction(0))
    return (None if lower is None else max(lower, Fraction(0))), upper, prior, best.mechanism.channel


def floor_at(question: ReducedLoss, prior: Prior) -> Fraction:
    """What the question leaves out of the loss: Σ_x π_x min_w ℓ(w, x)."""
    values = fractions(question.loss.matrix)[list(question.kept)].min(axis=0)
    return Fraction(sum((w * v for w, v in zip(fractions(prior.weights), values, strict=True)), Fraction(0)))


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
