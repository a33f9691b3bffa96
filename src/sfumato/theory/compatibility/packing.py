"""A lower bound on ε*(γ, δ) from balls that do not meet.

Let x₀, …, x_k be databases such that no answer lies in two of the balls B_i of radius γ around f(x_i). With
(γ, δ)-utility M_{x_i}(B_i) ≥ 1 − δ, so privacy gives M_{x₀}(B_i) ≥ e^{−ερ(x₀, x_i)} (1 − δ), while M_{x₀} has at most
δ outside B₀. Hence Σ_{i ≥ 1} e^{−ερ(x₀, x_i)} ≤ δ / (1 − δ), which small ε violate. This is how Theorem 3.4 of E gets
from infinitely many disjoint balls to ε* = ∞.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from sfumato.errors import InvalidInput
from sfumato.numbers import Array, Floats, Number, exp_bounds
from sfumato.spaces.distances import Distances
from sfumato.spaces.finite import FiniteSpace
from sfumato.theory.compatibility.utility import Ball, FiniteFunction, level, utility

_LOWERED = 1e-9  # A root of floats is lowered by this share before it is checked in rationals.


@dataclass(frozen=True)
class PackingBound:
    """No mechanism with this ε, or less, has (γ, δ)-utility: too many disjoint balls are near to ``centre``."""

    epsilon: Fraction
    centre: Any
    packing: tuple[Any, ...]


def packing_bound(
    target: FiniteFunction | FiniteSpace, gamma: Number, delta: Number, ball: Ball = "closed"
) -> PackingBound:
    """The best bound from packings that are found by taking the nearest database first, around every centre.

    The largest ε with Σ_i e^{−ερ(x₀, x_i)} > δ/(1 − δ), checked in rationals; 0 where no packing says anything.

    Examples
    --------
    >>> from sfumato.spaces import discrete, line
    >>> round(float(packing_bound(discrete(3), 0, "1/4").epsilon), 6)       # ln 6, which is ε* here
    1.791759
    >>> packing_bound(line(9), 1, "1/10").packing
    (3, 0, 6)
    """
    goal, chance = utility(target, gamma, ball), level(delta)
    if not chance:
        raise InvalidInput("delta = 0: use epsilon_star, which decides whether any ε is enough")
    space, odds = goal.function.databases, chance / (1 - chance)
    inside = (~goal.far).astype(np.float32)
    meet = inside @ inside.T > 0
    best, result = 0.0, PackingBound(Fraction(0), space.labels[0], (space.labels[0],))
    for centre in range(len(space)):
        near = space.distances.floats[centre]
        chosen = _nearest_first(near, meet, centre)
        rate = _root(near[chosen[1:]], float(odds), best)
        if rate > best:
            proved = _proved(space.distances, space.distances.values[centre, chosen[1:]], odds, rate)
            if proved > result.epsilon:
                best = rate
                result = PackingBound(proved, space.labels[centre], tuple(space.labels[x] for x in chosen))
    return result


def _nearest_first(near: Floats, meet: NDArray[np.bool_], centre: int) -> list[int]:
    """The centre, then always the nearest database whose ball meets none of those taken."""
    chosen, blocked = [centre], meet[centre] | ~np.isfinite(near)
    for x in np.argsort(near, kind="stable").tolist():
        if not blocked[x] and x != centre:
            chosen.append(x)
            blocked = blocked | meet[x]
    return chosen


def _root(distances: Floats, odds: float, least: float) -> float:
    """Where Σ e^{−ερ} falls to the odds, if it does so beyond ``least``; else 0."""
    if not len(distances) or np.exp(-least * distances).sum() <= odds:
        return 0.0
    high = max(least, 1.0 / float(distances.min()))
    while np.exp(-high * distances).sum() > odds:
        high *= 2
    return float(brentq(lambda rate: np.exp(-rate * distances).sum() - odds, least, high, rtol=1e-13))


def _proved(table: Distances, values: Array, odds: Fraction, rate: float) -> Fraction:
    """A rational next to the root at which the sum is above the odds, by rational bounds of e^x."""
    counted = np.unique(values, return_counts=True)
    epsilon = Fraction(rate) * (1 - Fraction(_LOWERED))
    epsilon = Fraction(f"{float(epsilon):.15g}")
    total = Fraction(0)
    for value, count in zip(*(part.tolist() for part in counted), strict=True):
        total += count / exp_bounds(epsilon * table.bounds(value)[1])[1]
    return epsilon if total > odds else Fraction(0)
