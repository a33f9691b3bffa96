"""The loss of the truncated Laplace mechanism on a lattice, enclosed between two rationals.

Secrets are lattice points, outputs are real. Between the points i and i + 1 each column of the mechanism is
a·Φ_i + b·Φ_{i+1} with Φ_i = α^{|·−i|} and the a, b ≥ 0 of :mod:`sfumato.mechanisms.continuous.geometric`. So an
action costs a·p + b·q, with p and q its costs at the two ends, and the best actions in a cell are a lower convex
hull of points (p, q). One gives way to the next where a/b = r, a rational: at z = α^t with

    z² = α(α + r)/(1 + rα),

and the integrals of (ε/2)a and (ε/2)b from the left end of the cell up to there are

    A(z) = (1 − z)(1 − α²/z)/(2(1 − α²)),      B(z) = α(1 − z)²/(2z(1 − α²)).

For rational α, prior and loss everything is rational but for these square roots, which ball arithmetic encloses.
No quadrature is involved, and every comparison is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import flint
import numpy as np

from sfumato.arguments import precision
from sfumato.channels.channel import check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import Mismatch, NotSupported, expect
from sfumato.losses.loss import Loss
from sfumato.mechanisms.continuous.interval import lattice
from sfumato.mechanisms.continuous.laplace import TruncatedLaplace, decay_powers
from sfumato.numbers import as_ball, dyadic, fractions, is_exact, product

Point = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class LossEnclosure:
    """Two rationals with the true value between them."""

    low: Fraction
    high: Fraction

    def __float__(self) -> float:
        return float((self.low + self.high) / 2)

    def __sub__(self, other: Fraction) -> LossEnclosure:
        return LossEnclosure(self.low - other, self.high - other)


def enclosed_loss(prior: Prior, mechanism: TruncatedLaplace, loss: Loss, *, bits: int = 64) -> LossEnclosure:
    """$(π, L, ℓ) for secrets on the lattice U_N, finitely many actions and real outputs, with proven bounds.

    Parameters
    ----------
    prior, loss
        Exact, on the N + 1 points of the lattice.
    mechanism
        A truncated Laplace mechanism whose e^{−ε(b−a)/N} is rational.
    bits
        The bounds differ by some 2^-bits of the value.

    Examples
    --------
    >>> from sfumato.mechanisms.continuous import absolute_error, lattice_loss, lattice_space, truncated_laplace
    >>> space = lattice_space(2)
    >>> loss = enclosed_loss(Prior.uniform(space), truncated_laplace(alpha="1/16"), lattice_loss(absolute_error(), 2))
    >>> round(float(loss), 12), float(loss.high - loss.low) < 1e-18
    (0.186338998125, True)
    """
    prior, loss = as_prior(prior), expect(loss, Loss, "a loss on the lattice", "lattice_loss(loss, steps) makes one")
    mechanism = expect(mechanism, TruncatedLaplace, "the mechanism", "truncated_laplace(alpha=…) makes one")
    steps = len(prior.secrets) - 1
    check_secrets("prior and loss", prior, loss)
    if steps < 1 or prior.secrets != lattice(steps, mechanism.interval):
        raise Mismatch("the secrets of the prior", lattice(max(steps, 1), mechanism.interval), prior.secrets)
    powers = decay_powers(mechanism, steps)
    if not is_exact(powers, prior.weights, loss.matrix):
        raise NotSupported("an enclosure of this loss", ["rational e^(−ε(b−a)/N), prior and loss; else posterior_loss"])
    place = np.arange(steps + 1)
    likelihood = powers[np.abs(place[:, None] - place[None, :])]
    costs = product(fractions(loss.matrix) * prior.weights[None, :], likelihood)
    working = precision(bits) + 32
    with flint.ctx.workprec(working):
        total = as_ball((costs[:, 0].min() + costs[:, -1].min()) / 2)  # at the ends
        for ends in pairwise(costs.T.tolist()):
            total += _cell(_lower_hull(list(zip(*ends, strict=True))), powers[1])
        return LossEnclosure(dyadic(total.lower()), dyadic(total.upper()))


def _lower_hull(points: list[Point]) -> list[Point]:
    """The points that are best for some a, b ≥ 0, from the least p to the least q."""
    hull: list[Point] = []
    for point in sorted(set(points)):
        if hull and point[1] >= hull[-1][1]:
            continue  # no smaller q for a larger p: never better
        while len(hull) > 1 and _turns_up(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _turns_up(first: Point, second: Point, third: Point) -> bool:
    """Whether the second point lies on or above the line through the others."""
    return (second[0] - first[0]) * (third[1] - first[1]) <= (second[1] - first[1]) * (third[0] - first[0])


def _cell(hull: list[Point], alpha: Fraction) -> flint.arb:
    """The integral over one cell: hull points take over from each other as z falls from 1 to α."""
    ball = as_ball(alpha)
    until = [_switch(alpha, first, second) for first, second in pairwise(hull)]
    sums = [(as_ball(0), as_ball(0)), *(_integrals(z, ball) for z in until), _integrals(ball, ball)]
    total = flint.arb(0)
    for (p, q), (a_from, b_from), (a_to, b_to) in zip(hull, sums[:-1], sums[1:], strict=True):
        total += as_ball(p) * (a_to - a_from) + as_ball(q) * (b_to - b_from)
    return total


def _switch(alpha: Fraction, first: Point, second: Point) -> flint.arb:
    """Where the two actions cost the same, as z = α^t."""
    ratio = (first[1] - second[1]) / (second[0] - first[0])
    return as_ball(alpha * (alpha + ratio) / (1 + ratio * alpha)).sqrt()


def _integrals(z: flint.arb, alpha: flint.arb) -> tuple[flint.arb, flint.arb]:
    scale = 2 * (1 - alpha * alpha)
    return (1 - z) * (1 - alpha * alpha / z) / scale, alpha * (1 - z) ** 2 / (z * scale)
