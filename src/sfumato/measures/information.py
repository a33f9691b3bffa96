"""Shannon capacity: the most mutual information that a prior can draw from a channel, enclosed from both sides.

For every prior π with q = πC, and in bits,

    Σ_x π_x D(C_x ‖ q)  =  I(π; C)  ≤  capacity  ≤  max_x D(C_x ‖ q),

the right side because I(σ; C) = Σ_x σ_x D(C_x ‖ q) − D(σC ‖ q) for every prior σ. At the best prior both are equal. So
whoever finds π, the two sides prove how good it is. Here floats search by an interior-point method, and the two sums
are evaluated in balls (Arb, inside FLINT) at the prior that was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sfumato.channels.channel import Channel, as_channel
from sfumato.channels.prior import Prior
from sfumato.numbers import Array, as_ball, dyadic, float_above, float_below, floats, fractions

_BITS = 128  # Beyond the 53 of a float by more than what sums of a million terms lose.
_MOST_STEPS = 200  # Newton's steps; 8 to 25 were needed for random, sparse and nearly useless channels.
_CLOSED = 2.0**-52  # Nats between both sides that floats cannot tell from none.
_PATIENCE = 12  # Steps without a better enclosure after which the floats have nothing more to say.


@dataclass(frozen=True, eq=False)
class ShannonCapacity:
    """``lower ≤ capacity ≤ upper``, in bits, proved; ``prior`` reaches ``lower``."""

    lower: float
    upper: float
    prior: Prior


def shannon_capacity(channel: Channel) -> ShannonCapacity:
    """max_π I(π; C) in bits, enclosed: the rate at which the channel can tell the truth when it is used often.

    Floats in a channel stand for the rationals they store, rows divided by their totals.

    Examples
    --------
    >>> flip = Channel([0, 1], [["3/4", "1/4"], ["1/4", "3/4"]])        # 1 − H(1/4)
    >>> found = shannon_capacity(flip)
    >>> round(found.lower, 14), found.upper - found.lower < 1e-12
    (0.18872187554087, True)
    >>> erasing = Channel([0, 1], [["3/4", 0, "1/4"], [0, "3/4", "1/4"]])
    >>> round(shannon_capacity(erasing).lower, 12)
    0.75
    """
    channel = as_channel(channel)
    table = floats(channel.matrix)
    weights = fractions(_best_prior(table[:, table.any(axis=0)] / table.sum(axis=1, keepdims=True)))
    prior = Prior(channel.secrets, weights / weights.sum())
    low, high = _enclosed(channel.matrix, prior.weights)
    return ShannonCapacity(max(0.0, float_below(low)), float_above(high), prior)


def _enclosed(matrix: Array, weights: Array) -> tuple[Fraction, Fraction]:
    """Both sides of the capacity at a prior that gives every output a chance, rows divided by their totals."""
    n, m = matrix.shape
    with flint.ctx.workprec(_BITS):
        zero, log_of_two = flint.arb(0), flint.arb(2).log()
        rational = matrix.dtype == object
        entries = [as_ball(v) if rational else flint.arb(v) for v in matrix.ravel().tolist()]
        table = flint.arb_mat(n, m, entries)
        totals = (table * flint.arb_mat(m, 1, [1] * m)).entries()
        prior = list(map(as_ball, weights.tolist()))
        shares = flint.arb_mat(1, n, [w / total for w, total in zip(prior, totals, strict=True)])
        logs = [q.log() if q > 0 else zero for q in (shares * table).entries()]
        across = (table * flint.arb_mat(m, 1, logs)).entries()
        known: dict[float | Fraction, flint.arb] = {}
        apart = []
        for x, row in enumerate(matrix.tolist()):
            own = zero
            for y, value in enumerate(row):
                if value:
                    term = known.get(value)
                    if term is None:
                        entry = entries[x * m + y]
                        term = known[value] = entry * entry.log()
                    own += term
            apart.append(((own - across[x]) / totals[x] - totals[x].log()) / log_of_two)
        information = sum((w * d for w, d in zip(prior, apart, strict=True)), zero)
        return dyadic(information.lower()), max(dyadic(d.upper()) for d in apart)


def _best_prior(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """A prior of nearly the largest mutual information; every secret keeps a positive weight.

    Newton's method on D_x + s_x = λ, π_x s_x = μ, Σ π_x = 1 with μ falling to 0, D_x = D(C_x ‖ πC) in nats: at μ = 0
    these are Kuhn's and Tucker's conditions. The derivative of D_x by π_z is −Σ_y C_xy C_zy / q_y.
    """
    n = len(table)
    own = (table * np.log(np.where(table > 0, table, 1.0))).sum(axis=1)
    prior = np.full(n, 1.0 / n)
    apart = own - table @ np.log(prior @ table)
    level = float(apart.max()) + 0.1 * float(np.ptp(apart)) + 1e-3
    slack = level - apart
    best, least, waited = prior, np.inf, 0
    for _ in range(_MOST_STEPS):
        gap = float(apart.max() - prior @ apart)
        best, least, waited = (prior.copy(), gap, 0) if gap < least else (best, least, waited + 1)
        if least <= _CLOSED or waited > _PATIENCE:
            break
        outputs = prior @ table
        scaled = table / np.sqrt(outputs)
        curvature = scaled @ scaled.T
        curvature[np.diag_indices(n)] += slack / prior + 1e-15 * np.trace(curvature) / n
        try:
            factor = cho_factor(curvature, overwrite_a=True, check_finite=False)
        except LinAlgError:
            break
        ones = cho_solve(factor, np.ones(n), check_finite=False)
        residual = apart + slack - level
        mean = float(prior @ slack) / n
        target, cross = 0.0, np.zeros(n)
        for corrected in (False, True):  # Mehrotra: how far a step to μ = 0 would go says how much to aim for
            goal = (target - cross) / prior - slack
            along = cho_solve(factor, residual + goal, check_finite=False)
            rise = (along.sum() - (1.0 - prior.sum())) / ones.sum()
            step = along - rise * ones
            pull = goal - slack * step / prior
            length = min(1.0, _room(prior, step), _room(slack, pull))
            if not corrected:
                reached = float((prior + length * step) @ (slack + length * pull)) / n
                target, cross = mean * (reached / mean) ** 3, step * pull
        prior = prior + 0.995 * length * step
        prior /= prior.sum()
        slack, level = slack + 0.995 * length * pull, level + 0.995 * length * rise
        apart = own - table @ np.log(prior @ table)
    return np.asarray(best)


def _room(values: NDArray[np.float64], step: NDArray[np.float64]) -> float:
    """How far the step goes before a value is 0."""
    falling = step < 0
    return float((-values[falling] / step[falling]).min(initial=np.inf))
