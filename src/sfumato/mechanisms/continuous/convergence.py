"""How the geometric mechanism on ever finer lattices approaches the Laplace mechanism (B, Theorems 5, 13, 14).

Theorem 14: for secrets on U_N and a κ-Lipschitz loss, 0 ≤ $(π, L, ℓ) − $(π, G_N, ℓ) ≤ cκ/N with c =
3/(1 − e^{−ε})² on [0, 1]. On [a, b] lengths scale: c = 3(b−a)/(1 − e^{−ε(b−a)})². The difference itself falls like
1/N², for every prior: an output of the Laplace mechanism lies between two posteriors of the geometric one that are 1/N
apart, and mixing them costs a concave uncertainty the square of that. The printed proof for priors that are not uniform
passes to the loss ℓ(w, x)·π(x)·N, which is not κ-Lipschitz; :func:`smear_bound` has a bound that is proved for every
prior, and that is always below cκ/N (docs, "continuous").

Theorem 5: no private mechanism on the whole interval does better than the Laplace mechanism. For every N and every
ε-private K, by Lemma 9 and the optimality of G_N on the lattice,

    $(π, K, ℓ) ≥ e^{−ε(b−a)/N}·$(π_N, G_N, ℓ) − κ(b−a)/N,

since ℓ and its N-step version differ by no more than κ(b−a)/N. The right-hand side climbs to $(π, L, ℓ).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.arguments import items
from sfumato.channels.hyper import hyper
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import InvalidInput, expect, shown
from sfumato.losses.loss import Loss
from sfumato.measures.uncertainty import posterior_loss as finite_loss
from sfumato.mechanisms.continuous.chain import line_hyper_distance
from sfumato.mechanisms.continuous.density import as_density, gather
from sfumato.mechanisms.continuous.enclosure import enclosed_loss
from sfumato.mechanisms.continuous.geometric import lattice_geometric
from sfumato.mechanisms.continuous.interval import lattice_space
from sfumato.mechanisms.continuous.laplace import TruncatedLaplace
from sfumato.mechanisms.continuous.loss import IntervalLoss
from sfumato.mechanisms.continuous.pixelation import on_lattice, pixelate
from sfumato.mechanisms.continuous.quadrature import Estimate, posterior_loss
from sfumato.numbers import exp_bounds, told_apart, whole_number
from sfumato.orders.transport import loss_lipschitz
from sfumato.privacy.promise import rational_power
from sfumato.privacy.type import PrivacyType
from sfumato.verdict import Verdict, fails, holds, undecided

__all__ = ["Climb", "ClimbRung", "Gap", "climb", "laplace_gap", "smear_bound", "theorem_14_constant"]


@dataclass(frozen=True, eq=False)
class Gap:
    """What the truncated Laplace mechanism loses more than the geometric one on a lattice, and bounds of it.

    ``gap`` lies within ``error`` of the truth. ``earth_move`` is κ times the Kantorovich distance between the hypers
    of G_N and of the pixelated Laplace mechanism, ``bound`` is cκ/N. ``within`` says whether 0 ≤ gap ≤ cκ/N.
    """

    steps: int
    geometric: Fraction | float
    laplace: float
    gap: float
    error: float
    earth_move: float
    bound: float
    within: Verdict

    @property
    def ratio(self) -> float:
        """The share of the bound that the gap takes up; 0 for a loss that does not depend on the secret."""
        return self.gap / self.bound if self.bound else 0.0

    @property
    def scaled(self) -> float:
        """N²·gap, which stays bounded."""
        return self.gap * self.steps**2


def theorem_14_constant(mechanism: TruncatedLaplace) -> Fraction:
    """c = 3(b−a)/(1 − e^{−ε(b−a)})² of Theorems 13 and 14: exact where that is rational, else rounded down.

    Examples
    --------
    >>> from sfumato.mechanisms.continuous import truncated_laplace
    >>> theorem_14_constant(truncated_laplace(alpha="1/2"))
    Fraction(12, 1)
    """
    mechanism = expect(mechanism, TruncatedLaplace, "the mechanism", "truncated_laplace(epsilon) makes one")
    length = mechanism.interval.length
    # a smaller e^{−ε(b−a)} makes c smaller, and a verdict on the bound the safer
    return 3 * length / (1 - _decay(mechanism.privacy, length)[0]) ** 2


def smear_bound(mechanism: TruncatedLaplace, steps: int) -> Fraction:
    """What smearing G_N into the Laplace mechanism costs at most, as a factor of κ, whatever the prior on U_N is.

    With t = e^{−ε(b−a)/N} it is b − a times the least of (1 − t)/(2(1 + t)), (1/2 + 2t)/N and
    4(1 − t)²/((1 + t)(1 + 3t)), exact where t is rational, else rounded up. So it is never above 5(b−a)/(2N), while
    c of Theorem 14 is above 3(b−a), and for large N it is about ε²(b−a)³/(2N²). Proofs are in the docs ("continuous").

    Examples
    --------
    >>> from sfumato.mechanisms.continuous import truncated_laplace
    >>> smear_bound(truncated_laplace(alpha="1/16"), 2)             # t = 1/4: 3/10, 1/2 and 36/35
    Fraction(3, 10)
    >>> [round(float(smear_bound(truncated_laplace(1), n) * n**2), 3) for n in (1, 4, 16, 64)]
    [0.231, 0.528, 0.508, 0.502]
    """
    mechanism = expect(mechanism, TruncatedLaplace, "the mechanism", "truncated_laplace(epsilon) makes one")
    steps = whole_number(steps, "steps")
    length = mechanism.interval.length
    low, high = _decay(mechanism.privacy, length / steps)
    curved = 4 * (1 - low) ** 2 / ((1 + low) * (1 + 3 * low))
    return length * min((1 - low) / (2 * (1 + low)), (Fraction(1, 2) + 2 * high) / steps, curved)


def _decay(privacy: PrivacyType, length: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals around e^{−ε·length}, equal where it is one."""
    factor = None if privacy.alpha is None else rational_power(privacy.alpha, length)
    if factor is not None:
        return factor, factor
    slow, fast = privacy.rate_bounds(128)
    return exp_bounds(-fast * length, 128)[0], exp_bounds(-slow * length, 128)[1]


def laplace_gap(
    prior: Prior, mechanism: TruncatedLaplace, loss: Loss | IntervalLoss, *, pixels: int | None = None
) -> Gap:
    """$(π, L, ℓ) − $(π, G_N, ℓ) for a prior on the lattice U_N, beside the bounds of Theorem 14.

    Parameters
    ----------
    prior
        On the N + 1 points of the lattice.
    mechanism
        The truncated Laplace mechanism L; G_N keeps the same promise.
    loss
        A finite loss on the lattice, for which rationals give proven enclosures, or a Lipschitz loss on the
        interval, for which quadrature is used and the verdict can only be that of floats with an error estimate.
    pixels
        T, for the distance of hypers; 4N unless given.

    Examples
    --------
    >>> from sfumato.mechanisms.continuous import absolute_error, lattice_loss, truncated_laplace
    >>> source = truncated_laplace(alpha="1/16")
    >>> row = laplace_gap(Prior.uniform(lattice_space(2)), source, lattice_loss(absolute_error(), 2), pixels=4)
    >>> round(row.gap, 6), round(row.earth_move, 6), round(row.bound, 6), str(row.within.outcome)
    (0.036339, 0.047059, 1.706667, 'holds')
    """
    prior = as_prior(prior)
    mechanism = expect(mechanism, TruncatedLaplace, "the mechanism", "truncated_laplace(epsilon) makes one")
    steps = whole_number(len(prior.secrets) - 1, "steps")
    space = lattice_space(steps, mechanism.interval)
    geometric = lattice_geometric(mechanism, steps)
    coarse = on_lattice(pixelate(mechanism, 4 * steps if pixels is None else pixels), steps)
    # only a float of the distance is reported, so floats are good enough here
    rough = prior.to_floats()
    moved = line_hyper_distance(hyper(rough, geometric.to_floats()), hyper(rough, coarse.to_floats())).cost
    constant = theorem_14_constant(mechanism)
    if isinstance(loss, Loss):
        kappa = Fraction(loss_lipschitz(loss, space))
        best: Any = finite_loss(prior, geometric, loss)
        enclosed = enclosed_loss(prior, mechanism, loss)
        low, high = enclosed.low - best, enclosed.high - best
        value = float(enclosed)
    else:
        loss = expect(loss, IntervalLoss, "a loss", "absolute_error() or lattice_loss(…) make one")
        kappa = _kappa(loss)
        ours, theirs = (posterior_loss(prior, m, loss) for m in (mechanism, geometric))
        best, value, error = theirs.value, ours.value, Fraction(ours.error + theirs.error)
        low, high = Fraction(value) - Fraction(best) - error, Fraction(value) - Fraction(best) + error
    bound = constant * kappa / steps
    return Gap(
        steps, best, value, float((low + high) / 2), float((high - low) / 2),
        float(kappa * Fraction(moved)), float(bound), _within(low, high, bound, exact=isinstance(loss, Loss)),
    )  # fmt: skip


def _within(low: Fraction, high: Fraction, bound: Fraction, *, exact: bool) -> Verdict:
    """Whether 0 ≤ gap ≤ bound, the gap known to lie between low and high; that it is not negative is Theorem 12."""
    how = "by exact enclosures" if exact else "by quadrature, if its error estimate is right"
    if high < 0 or low > bound:
        side = f"is at most {told_apart(high, 0)[0]}, below 0"
        if low > bound:
            side = "is at least {}, above the bound {}".format(*told_apart(low, bound))
        return fails(f"the gap {side}, {how}", (low, high))
    if high <= bound:
        gap, most = told_apart(high, bound)
        return (holds if exact else undecided)(f"the gap is at most {gap}, the bound {most}, {how}", (low, high))
    return undecided("the gap cannot be told from the bound", (low, high))


def _kappa(loss: IntervalLoss) -> Fraction:
    if loss.lipschitz is None:
        raise InvalidInput(f"{shown(loss)} has no Lipschitz constant: give lipschitz=…, without it nothing is bounded")
    return loss.lipschitz


@dataclass(frozen=True)
class ClimbRung:
    """One lattice: the loss of G_N there, and what no private mechanism on the interval can beat."""

    steps: int
    geometric: float
    floor: float


@dataclass(frozen=True, eq=False)
class Climb:
    """Theorem 5 in numbers: losses of the geometric mechanism on finer lattices, and that of the Laplace mechanism."""

    limit: Estimate
    rungs: tuple[ClimbRung, ...]


def climb(density: Any, mechanism: TruncatedLaplace, loss: IntervalLoss, steps: Iterable[int]) -> Climb:
    """$(π_N, G_N, ℓ) for several N, and $(π, L, ℓ), to which it climbs (B, Theorem 5 and Corollary 17).

    ``floor`` is e^{−ε(b−a)/N}·$(π_N, G_N, ℓ) − κ(b−a)/N, or 0 if that is negative: for a loss that grows with
    |w − x| no ε-private mechanism on the interval loses less.

    Examples
    --------
    >>> from sfumato.mechanisms.continuous import Density, absolute_error, truncated_laplace
    >>> ladder = climb(Density.uniform(), truncated_laplace(1), absolute_error(), [1, 4, 16])
    >>> [round(rung.geometric, 4) for rung in ladder.rungs], round(ladder.limit.value, 4)
    ([0.0, 0.2224, 0.2374], 0.2378)
    """
    mechanism = expect(mechanism, TruncatedLaplace, "the mechanism", "truncated_laplace(epsilon) makes one")
    density = as_density(density, mechanism.interval)
    loss = expect(loss, IntervalLoss, "a loss on an interval", "absolute_error() is one")
    kappa, length = float(_kappa(loss)), float(mechanism.interval.length)
    rungs = []
    for count in items(steps, "steps"):
        value = posterior_loss(gather(density, count), lattice_geometric(mechanism, count), loss).value
        floor = float(np.exp(-mechanism.rate * length / count)) * value - kappa * length / count
        rungs.append(ClimbRung(int(count), value, max(floor, 0.0)))
    return Climb(posterior_loss(density, mechanism, loss), tuple(rungs))
