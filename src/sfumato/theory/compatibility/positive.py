"""Is a measure uniformly positive: has every ball of radius r a mass above some m(r) > 0, wherever its centre lies?

This is what an exponential mechanism needs of its base measure (Kleinberg and Ligett 2010, Definition 3.2, here E). A
probability measure μ is uniformly positive on its support S exactly when S is totally bounded. If finitely many balls
of radius r/2 with centres in S cover S, each has a positive mass, and the ball of radius r around any x ∈ S contains
the one that x lies in; the least of finitely many masses is m(r). If not, infinitely many balls of some radius do not
meet, their masses sum to 1 at most, and so come as near to 0 as one likes. On more than the support it is not
uniformly positive either: a point outside has a ball without mass.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np

from sfumato.arguments import items
from sfumato.errors import InvalidInput, expect, shown
from sfumato.numbers import Floats, Number, as_written
from sfumato.spaces.finite import FiniteSpace
from sfumato.theory.compatibility.exponential import as_measure
from sfumato.theory.compatibility.utility import utility
from sfumato.verdict import Verdict, fails, holds

__all__ = ["LeastBall", "is_uniformly_positive"]

_SCALES = tuple(Fraction(1, 2**i) for i in range(1, 6))
_CELLS = 512  # A bounded support is cut into so many cells; all balls with their centres in one are bounded at once.
_THIN = 2.0**-20  # On an unbounded support a ball is shown that has no more mass than this.


@dataclass(frozen=True)
class LeastBall:
    """Of all balls of a radius: a bound that no mass is below, and a ball that has little, with its mass."""

    radius: Fraction
    least: Fraction | float
    centre: Any
    mass: Fraction | float


def is_uniformly_positive(
    measure: Any, answers: FiniteSpace | tuple[Number | None, Number | None] | None = None, *,
    scales: Iterable[Number] = _SCALES,
) -> Verdict:  # fmt: skip
    """Whether the mass of a ball has a positive lower bound for each radius (E, Definition 3.2).

    Parameters
    ----------
    measure
        Numbers for the points of a finite space, decided exactly; or a frozen continuous distribution of scipy on the
        real line, whose support is taken from scipy.
    answers
        The finite space. For a distribution: an interval (low, high), None for an end at infinity, to which it is
        conditioned; its support by default.
    scales
        Radii at which the mass is looked at.

    Returns
    -------
    Verdict
        *Holds* with a :class:`LeastBall` for each scale, *fails* with one of little mass. Masses of distributions are
        floats; whether they have a bound is decided by the support.

    Examples
    --------
    >>> from scipy.stats import norm, uniform
    >>> from sfumato.spaces import line
    >>> verdict = is_uniformly_positive(uniform(), scales=["1/2", "1/4"])
    >>> str(verdict.outcome), [round(ball.mass, 6) for ball in verdict.witness]
    ('holds', [0.5, 0.25])
    >>> print(is_uniformly_positive(norm()).outcome)
    fails
    >>> print(is_uniformly_positive([1, 0, 1], line(3)))
    fails: the ball of radius 1/2 around 1 has no mass
    """
    radii = sorted({as_written(scale, "a scale") for scale in items(scales, "scales")}, reverse=True)
    if not radii or radii[-1] <= 0:
        raise InvalidInput("scales are positive radii, at least one")
    if all(hasattr(measure, name) for name in ("cdf", "sf", "isf", "ppf", "support")):
        return _on_the_line(measure, answers, radii)
    space = expect(answers, FiniteSpace, "what a measure lives on", "a distribution of scipy needs none")
    return _finite(as_measure(measure, space), space, radii)


def _finite(masses: Any, space: FiniteSpace, radii: list[Fraction]) -> Verdict:
    empty = np.flatnonzero(masses == 0)
    if empty.size:
        x = int(empty[0])
        table = space.distances
        near = min(table.bounds(v)[0] for v in table.values[x][masses != 0])
        ball = LeastBall(near / 2, Fraction(0), space.labels[x], Fraction(0))
        return fails(f"the ball of radius {ball.radius} around {ball.centre!r} has no mass", ball)
    found = []
    for radius in radii:
        inside = ~utility(space, radius).far
        sums = [Fraction(sum(masses[row])) for row in inside]
        x = min(range(len(sums)), key=sums.__getitem__)
        found.append(LeastBall(radius, sums[x], space.labels[x], sums[x]))
    return holds("every one of finitely many points has mass", tuple(found))


def _on_the_line(law: Any, answers: Any, radii: list[Fraction]) -> Verdict:
    if not hasattr(law, "pdf"):
        raise InvalidInput(f"a continuous distribution has a density, which {shown(law)} has not")
    first, last = (float(end) for end in law.support())
    low, high = _interval(answers, first, last)
    if not law.cdf(high) > law.cdf(low):
        raise InvalidInput(f"the distribution has no mass from {low:g} to {high:g}")
    outside = low if low < first else high if high > last else None
    if outside is not None and isfinite(outside):
        gap = Fraction(abs(outside - (first if outside < first else last)))
        ball = LeastBall(gap / 2, Fraction(0), outside, Fraction(0))
        return fails(f"{outside:g} lies outside the support, and so does a ball around it", ball)
    if not (isfinite(low) and isfinite(high)):
        radius, right = radii[0], not isfinite(high)
        share = _THIN * float(law.cdf(high) - law.cdf(low))
        centre = float(law.isf(share)) + float(radius) if right else float(law.ppf(share)) - float(radius)
        mass = float(_masses(law, low, high, np.array([centre - float(radius)]), np.array([centre + float(radius)]))[0])
        return fails(
            f"the answers go on for ever, and balls of radius {radius} that do not meet share a mass of 1: the one "
            f"around {centre:.6g} has less than a millionth",
            LeastBall(radius, Fraction(0), centre, mass),
        )
    found = tuple(_least(law, low, high, radius) for radius in radii)
    return holds(f"the support [{low:g}, {high:g}] is bounded, and every ball around one of its points has mass", found)


def _interval(answers: Any, first: float, last: float) -> tuple[float, float]:
    if answers is None:
        return first, last
    try:
        start, end = answers
    except (TypeError, ValueError):
        raise InvalidInput(f"answers on the line are an interval (low, high), found {shown(answers)}") from None
    low = -np.inf if start is None else float(as_written(start, "an end"))
    high = np.inf if end is None else float(as_written(end, "an end"))
    if not low < high:
        raise InvalidInput(f"an interval goes from a number to a larger one, found {shown(answers)}")
    return float(low), float(high)


def _least(law: Any, low: float, high: float, radius: Fraction) -> LeastBall:
    """Balls around the points of a cell [c, c + h] all contain (c + h − r, c + r), which bounds their masses."""
    r, edges = float(radius), np.linspace(low, high, _CELLS + 1)
    masses = _masses(law, low, high, edges - r, edges + r)
    k = int(np.argmin(masses))
    common = _masses(law, low, high, edges[1:] - r, np.maximum(edges[:-1] + r, edges[1:] - r))
    return LeastBall(radius, float(common.min()), float(edges[k]), float(masses[k]))


def _masses(law: Any, low: float, high: float, start: Floats, stop: Floats) -> Floats:
    """The share that intervals have of the mass between two ends."""
    ends = (law.cdf(np.clip(places, low, high)) for places in (stop, start))
    return np.asarray(np.subtract(*ends) / (law.cdf(high) - law.cdf(low)))
