"""The predictor–corrector loop of every interior-point method here.

A run has slacks s in a product of cones and duals z in the same cones, and a direction (ds, dz) that solves Newton's
equations of s ∘ z = target. How slacks and duals are stored, which linear systems there are and how these are factored
is the business of an adapter, which meets :class:`Iterate`. What the adapters share is here: the predictor aims at
products of zero, Mehrotra's rule says which products to aim at instead, the corrector adds the second-order term within
bounds, a few centrality correctors of Gondzio make the steps longer, and the iterate goes most of the way to the
boundary.

References: Mehrotra (1992), On the implementation of a primal-dual interior point method; Gondzio (1996), Multiple
centrality corrections in a primal-dual method for linear programming.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

_SMALLEST_RATIO = 0.1  # Ten times a full step is as good as any: smaller ratios are taken as this one.


class Steps(NamedTuple):
    """How far slacks and duals go along their directions."""

    primal: float
    dual: float

    def exceed(self, others: Steps) -> bool:
        """Whether the two are longer together than others, full steps being as long as any."""
        return sum(min(1.0, length) for length in self) > sum(min(1.0, length) for length in others)


class Predicted(NamedTuple):
    """What the loop has to know of the predictor.

    ``steps`` lead to the boundary; ``product`` is ⟨s, z⟩, ``slope`` ⟨ds, z⟩ and ``curvature`` −⟨ds, dz⟩. Since a
    predictor has ⟨ds, z⟩ + ⟨s, dz⟩ = −⟨s, z⟩, these say what ⟨s, z⟩ becomes after any steps.
    """

    steps: Steps
    product: float
    slope: float
    curvature: float

    @classmethod
    def from_ratios(cls, down: float, up: float, product: float, first: float, second: float) -> Predicted:
        """With ρ = ds/s and 1 + ρ = −dz/z: the largest −ρ and 1 + ρ, and ⟨s, z⟩ with each product times 1, ρ and ρ²."""
        return cls(longest(down, up), product, first, first + second)

    def after(self, primal: float, dual: float) -> float:
        """⟨s + primal ds, z + dual dz⟩."""
        return self.product * (1.0 - dual) + self.slope * (primal - dual) - self.curvature * primal * dual


@dataclass(frozen=True)
class Tuning:
    """The constants of the loop.

    Parameters
    ----------
    centring
        The most of the average product that is aimed at.
    second_order
        Bounds of the second-order term, in average products.
    step
        The part of the way to the boundary that is gone.
    correctors
        How many centrality correctors there are at most.
    long
        A step that needs no corrector.
    longer
        By how much a corrector tries to make a step longer.
    box
        Where products are to lie at the longer step, in terms of the one aimed at.
    """

    centring: float = 0.3
    second_order: tuple[float, float] = (-1.0, 10.0)
    step: float = 0.98
    correctors: int = 2
    long: float = 0.95
    longer: float = 0.4
    box: tuple[float, float] = (0.1, 3.0)


class Iterate(Protocol):
    """The iterate of one run, with the linear systems of its columns.

    ``weight`` is the sum of the weights of all products: the average product is ⟨s, z⟩ divided by it. Where a
    direction is not finite, or a system has no factor, what makes it answers False, and the iterate stays as it is.
    """

    weight: float

    def factor(self) -> bool:
        """Factor the systems of all columns, and what links them, at the present point."""

    def predict(self) -> bool:
        """Find the direction to products of zero."""

    def predicted(self) -> Predicted:
        """Measure that direction."""

    def aim(self, target: float, least: float, most: float) -> bool:
        """Aim at products ``target`` less the second-order term between ``least`` and ``most``, all times weights.

        Then find the direction to them.
        """

    def steps(self) -> Steps:
        """How far the present direction may go to the boundary."""

    def recentre(self, steps: Steps, longer: Steps, least: float, most: float) -> Steps | None:
        """Bring the products that steps ``longer`` would have back between ``least`` and ``most``, times weights.

        The steps of the corrected direction where they are longer than ``steps``; else None, and the direction is what
        it was.
        """

    def advance(self, primal: float, dual: float) -> None:
        """Take the step."""


def step(iterate: Iterate, tuning: Tuning) -> float:
    """One step of a run: the shorter of its two lengths, or 0, and nothing changed, where there is no direction."""
    if not (iterate.factor() and iterate.predict()):
        return 0.0
    predicted = iterate.predicted()
    average = predicted.product / iterate.weight
    target = _centred(predicted, tuning.centring) * average
    if not iterate.aim(target, *(bound * average for bound in tuning.second_order)):
        return 0.0
    steps = iterate.steps()
    for _ in range(tuning.correctors):
        if min(steps) > tuning.long:
            break
        longer = Steps(*(min(1.0, length + tuning.longer) for length in steps))
        corrected = iterate.recentre(steps, longer, *(bound * target for bound in tuning.box))
        if corrected is None:
            break
        steps = corrected
    primal, dual = (min(1.0, tuning.step * length) for length in steps)
    iterate.advance(primal, dual)
    return min(primal, dual)


def _centred(predicted: Predicted, most: float) -> float:
    """The part of the average product to aim at, by Mehrotra's rule: the cube of what a predictor would leave."""
    left = predicted.after(*(min(1.0, length) for length in predicted.steps)) / predicted.product
    return min(most, max(left, 0.0) ** 3)


def longest(down: float, up: float) -> Steps:
    """Steps to the boundary, from the largest −ds/s and −dz/z."""
    return Steps(1.0 / max(down, _SMALLEST_RATIO), 1.0 / max(up, _SMALLEST_RATIO))
