"""How far one channel is from refining another: the additive refinement metric.

For a prior π and gains with 0 ≤ V_g ≤ 1 it is the most that anybody can gain by having B instead of A,

    max_g V_g[π ▷ B] − V_g[π ▷ A]   =   1 − max { Σ_x π_x (A·R)_x · 1  :  R ≥ 0,  A·R ≤ B,  R·1 ≤ 1 },

the additive refinement metric of libqif. The right side is the linear program that is dual to the left one: R is a
post-processing that may decline to answer, and what counts is how much of B it makes out of A without making too much
of anything. It has one variable for each pair of outputs, and the page on refinement has the proof.

Rationals are solved exactly. For floats both sides are evaluated exactly at what a solver found, so that the true
value, of the rationals that the floats store with rows divided by their totals, lies between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.channels.channel import Channel, check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import SolverError
from sfumato.losses.loss import Gain
from sfumato.lp import LinearProgram, solve
from sfumato.numbers import Array, float_above, float_below, floats, fractions, is_exact, product
from sfumato.orders.refinement import to_compare

__all__ = ["RefinementDistance", "refinement_distance"]


@dataclass(frozen=True, eq=False)
class RefinementDistance:
    """``lower ≤ distance ≤ upper``, equal for rationals.

    ``gain`` is worth ``lower`` more after B than after A, has entries of at most 1 and an action that gains 0.
    ``post_processing`` makes all but ``upper`` of B out of A: R ≥ 0 with A·R ≤ B and rows that sum to at most 1.
    """

    lower: Fraction | float
    upper: Fraction | float
    gain: Gain
    post_processing: Array


def refinement_distance(b: Channel, a: Channel, prior: Prior) -> RefinementDistance:
    """The most anybody gains by B instead of A under a prior, gains having 0 ≤ V_g ≤ 1; 0 exactly if B refines A there.

    It is not symmetric; d(c, a) ≤ d(c, b) + d(b, a). Where a tells nothing it is the additive capacity of b at this
    prior.

    Parameters
    ----------
    b, a
        Channels on the same secrets, in the order of :func:`~sfumato.orders.refinement.refines`.

    Examples
    --------
    >>> a = Channel([0, 1], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> b = Channel([0, 1], [["5/8", "3/8"], ["3/8", "5/8"]])
    >>> even = Prior.uniform([0, 1])
    >>> refinement_distance(b, a, even).upper, refinement_distance(a, b, even).upper
    (Fraction(0, 1), Fraction(1, 3))
    """
    b, a, _ = to_compare(b, a, False)
    prior = as_prior(prior)
    check_secrets("prior and channels", prior, a)
    exactly = is_exact(a.matrix, b.matrix, prior.weights)
    possible = np.flatnonzero(prior.weights > 0)
    table_a, table_b = (c.matrix[possible] if exactly else floats(c.matrix)[possible] for c in (a, b))
    weights = prior.weights[possible] if exactly else floats(prior.weights)[possible]
    solution = solve(_program(table_b, table_a, weights), exact=exactly)
    if solution.primal is None or solution.dual is None:
        raise SolverError(f"the program of the refinement distance ended as {solution.status}")
    shape = table_a.shape[1], table_b.shape[1]
    made = np.maximum(solution.primal.reshape(shape), 0)
    prices = np.maximum(-solution.dual[: table_b.size].reshape(table_b.shape), 0)
    gains = np.concatenate([(1 - prices / weights[:, None]).T, 0 * prices.T[:1]])
    if exactly:
        assert solution.value is not None
        low = high = 1 + Fraction(solution.value)
    else:
        channels = [c.to_rationals().matrix[possible] for c in (b, a)]
        exact_weights = fractions(weights) / fractions(weights).sum()
        made = _shrunk(made, *channels)
        low = _worth(gains, channels[0], exact_weights) - _worth(gains, channels[1], exact_weights)
        high = 1 - Fraction((product(exact_weights[None, :], channels[1])[0] * fractions(made).sum(axis=1)).sum())
    full = np.zeros((len(gains), len(prior.secrets)), dtype=gains.dtype)
    full[:, possible] = gains
    gain = Gain([*range(shape[1]), "nothing"], prior.secrets, full, "separating")
    if exactly:
        return RefinementDistance(low, high, gain, made)
    return RefinementDistance(max(0.0, float_below(low)), float_above(high), gain, made)


def _program(b: Array, a: Array, weights: Array) -> LinearProgram:
    """Least −Σ p_z R_zy, p_z the probability of output z of A; rows are A·R ≤ B, then R·1 ≤ 1.

    With h ≥ 0 and t ≥ 0 the negative multipliers of both, Σ_x A_xz h_xy + t_z ≥ p_z: the gain g(y, x) = 1 − h_xy/π_x is
    worth at most t_z after z of A, and Σ_xy π_x B_xy g(y, x) − Σ_z t_z is the distance.
    """
    n, m = a.shape
    k = b.shape[1]
    y = np.arange(k)
    x, z = np.nonzero(a)
    rational = is_exact(a, b, weights)
    one: Any = np.int64(1) if rational else 1.0
    outer = product(weights[None, :], a)[0]
    return LinearProgram(
        cost=-np.repeat(outer, k),
        rows=np.concatenate([(x[:, None] * k + y).ravel(), n * k + np.repeat(np.arange(m), k)]),
        columns=np.concatenate([(z[:, None] * k + y).ravel(), np.arange(m * k)]),
        values=np.concatenate([np.repeat(a[x, z], k), np.repeat(one, m * k)]),
        senses="<" * (n * k + m),
        rhs=np.concatenate([b.ravel(), np.repeat(one, m)]),
    )


def _shrunk(made: Array, b: Array, a: Array) -> Array:
    """R made a little smaller, until A·R ≤ B and R·1 ≤ 1 hold exactly."""
    a_gives = np.asarray(a != 0)
    impossible = product(a_gives.T.astype(np.int64), np.asarray(b == 0).astype(np.int64)) != 0
    made = np.where(impossible, 0.0, made)
    reached = product(a, fractions(made))
    for y in range(made.shape[1]):
        over = [Fraction(p) / q for p, q in zip(b[:, y], reached[:, y], strict=True) if q > p]
        if over:
            made[:, y] *= _below(min(over))
    for z, total in enumerate(fractions(made).sum(axis=1)):
        if total > 1:
            made[z] *= _below(1 / total)
    return made


def _below(factor: Fraction) -> float:
    """A float so far below that a product with it, rounded, stays below too."""
    return float_below(factor) * (1 - 2.0**-51)


def _worth(gains: Array, matrix: Array, weights: Array) -> Fraction:
    """V_g[π ▷ C] in exact arithmetic."""
    return Fraction(product(fractions(gains) * weights[None, :], matrix).max(axis=0).sum())
