"""Is a family privacy-compatible: is ε*(γ, δ) finite for all γ, δ > 0?

For Lipschitz functions of bounded databases: if and only if the completion of the answers is compact, that is, if
finitely many balls of any radius cover them (Kleinberg and Ligett 2010, Theorem 3.4 and A.2). From nets to mechanisms
the theorem uses no bound on the databases; from a packing to "impossible" it does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, log
from typing import Any

from sfumato.arguments import items
from sfumato.errors import InvalidInput, expect, shown
from sfumato.numbers import Number, as_written
from sfumato.spaces.finite import FiniteSpace
from sfumato.theory.compatibility.families import Answers, Net, Packing, finite
from sfumato.verdict import Verdict, fails, holds, undecided

__all__ = ["Evidence", "Impossible", "privacy_compatible"]

_SCALES = tuple(Fraction(1, 2**i) for i in range(1, 6))


@dataclass(frozen=True, eq=False)
class Impossible:
    """No ε gives (γ, δ)-utility for any δ < 1 and γ below ``radius``: the answers of ``packing`` have disjoint balls.

    ``scale`` is set instead of a packing where covering numbers were given and one of them is infinite.
    """

    radius: Fraction
    packing: Packing | None = None
    scale: Fraction | None = None


@dataclass(frozen=True)
class Evidence:
    """At one scale r: balls that a greedy net of the samples takes, samples pairwise more than r apart, and the growth.

    ``growth`` is the logarithm of the ratio of net sizes to the next larger scale, over that of the radii: near k for k
    dimensions.
    """

    scale: Fraction
    net: int
    samples: int
    growth: float | None


def privacy_compatible(family: Answers | FiniteSpace, *, scales: Iterable[Number] = _SCALES) -> Verdict:
    """Whether every (γ, δ)-utility can be had at some ε, for a described family.

    Parameters
    ----------
    scales
        Radii at which nets are wanted as witness, or covering numbers looked at.

    Returns
    -------
    Verdict
        *Holds* with a :class:`Net` for each scale, *fails* with :class:`Impossible`, or *undecided*: samples, and
        covering numbers at a few scales, are evidence, not proof.

    Examples
    --------
    >>> from sfumato.theory.compatibility.families import interval, sup_ball
    >>> verdict = privacy_compatible(interval(), scales=["1/4", "1/8"])
    >>> str(verdict.outcome), [net.size for net in verdict.witness]
    ('holds', [2, 4])
    >>> verdict = privacy_compatible(sup_ball())
    >>> str(verdict.outcome), verdict.witness.packing.text
    ('fails', 'the unit vectors')
    """
    if isinstance(family, FiniteSpace):
        family = finite(family)
    family = expect(family, Answers, "a family", "compatibility.interval(), compatibility.covering(…), a FiniteSpace")
    radii = sorted({as_written(scale, "a scale") for scale in items(scales, "scales")}, reverse=True)
    if not radii or radii[-1] <= 0:
        raise InvalidInput("scales are positive radii, at least one")
    if family.net is not None:
        nets = tuple(family.net(radius) for radius in radii)
        return holds(f"{family.name} has a finite net of every scale (Theorem 3.4, (4) ⇒ (1))", nets)
    if family.packing is not None:
        return _packed(family, family.packing)
    if family.covering_number is not None:
        return _covered(family, radii)
    if family.sampled is not None:
        return _sampled(family, family.sampled, radii)
    return holds(
        "databases are unbounded, so Theorem 3.4 does not apply; Definition 3.1 holds directly, with ε = "
        + family.unbounded_rate,
        family.unbounded_rate,
    )


def _packed(family: Answers, packing: Packing) -> Verdict:
    if family.diameter is None:
        return undecided(
            f"{family.name} has infinitely many answers that stay {packing.separation} apart, but its databases are "
            "unbounded: Theorem 3.4 does not apply",
            packing,
        )
    # closed balls of a radius below half the separation do not meet; infinitely many lie within the diameter, and the
    # sum of e^{−ε·diameter} over all of them exceeds every δ/(1 − δ)
    radius = packing.separation / 2
    return fails(
        f"{packing.text} stay {packing.separation} apart: no ε gives (γ, δ)-utility for γ < {radius} and any δ < 1 "
        "(Theorem 3.4, (1) ⇒ (4))",
        Impossible(radius, packing),
    )


def _covered(family: Answers, radii: list[Fraction]) -> Verdict:
    assert family.covering_number is not None
    numbers: list[tuple[Fraction, Any]] = [(radius, family.covering_number(radius)) for radius in radii]
    for radius, number in numbers:
        if not number >= 1:
            raise InvalidInput(f"a covering number is at least 1, found {shown(number)} at radius {radius}")
        if not isfinite(number):
            if family.diameter is None:
                return undecided("databases are unbounded: Theorem 3.4 does not apply", (radius, number))
            # no finite net of radius r: picking answers farther than r from all before never ends
            return fails(
                f"finitely many balls of radius {radius} do not cover {family.name}, as given: no ε gives "
                f"(γ, δ)-utility for γ < {radius / 2} and any δ < 1 (Theorem 3.4, (1) ⇒ (4))",
                Impossible(radius / 2, scale=radius),
            )
    nets = tuple(Net(radius, int(number)) for radius, number in numbers)
    if family.vouched:
        return holds(f"{family.name} has finite covering numbers at every scale, as vouched for (Theorem 3.4)", nets)
    return undecided(
        f"covering numbers are finite down to radius {radii[-1]}; smaller ones were not asked for "
        "(everywhere=True if you know them to be finite)",
        nets,
    )


def _sampled(family: Answers, space: FiniteSpace, radii: list[Fraction]) -> Verdict:
    """Net sizes of the samples; numbers that grow with the samples hint at a packing, and prove nothing."""
    net = finite(space).net
    assert net is not None
    sizes = [net(radius).size for radius in radii]
    evidence = []
    for k, (radius, size) in enumerate(zip(radii, sizes, strict=True)):
        growth = log(size / sizes[k - 1]) / log(radii[k - 1] / radius) if k else None
        evidence.append(Evidence(radius, size, len(space), growth))
    shown = ", ".join(f"{one.net} of {one.samples} at radius {one.scale}" for one in evidence)
    return undecided(f"samples are evidence, not proof: greedy nets take {shown}", tuple(evidence))
