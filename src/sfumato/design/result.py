"""What a design is: a mechanism, its loss, and a bound on the loss of all others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.certify.certificate import Certificate, certificate_of
from sfumato.certify.coordinates import BoxMechanism
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.noise import BoxNoise
from sfumato.numbers import float_above, text_above, text_below

SAME_NOISE = "the same noise everywhere"
"""How a ``method`` begins that is noise, or noise that is moved to where it loses least."""


@dataclass(frozen=True, eq=False)
class Design:
    """A mechanism, the loss it has, and a bound below which no mechanism of the type can go; all proved.

    ``remap`` is the best action for each output, ``seconds`` the time of each stage, ``second`` the value of the
    criterion that broke ties, if one did; ``stopped`` says that the search was ended by the time limit, by who asked
    for it, or by the rounding of floats before the gap was as small as was asked for.
    """

    family: ClassVar[str] = "places"
    """Of which kind of question it is the answer."""

    mechanism: Mechanism
    loss: Fraction
    bound: Fraction
    method: str
    iterations: int
    seconds: dict[str, float]
    second: float | None = None
    stopped: bool = False

    @property
    def gap(self) -> float:
        """(loss − bound) / |loss|: how far from the optimum at most; 0 for an exact one."""
        return float_above((self.loss - self.bound) / (abs(self.loss) or 1))

    @property
    def remap(self) -> dict[Any, Any]:
        """The best action for each output."""
        claim = self.mechanism.loss_claim
        assert claim is not None
        return {y: claim.loss.actions[w] for y, w in zip(self.mechanism.outputs, claim.remap, strict=True)}

    @property
    def certificate(self) -> Certificate:
        """What :func:`sfumato.save` writes: weights, promise, loss and bound."""
        return certificate_of(self.mechanism)

    def __repr__(self) -> str:
        return (
            f"Design(loss {text_above(self.loss, 6)}, bound {text_below(self.bound, 6)}, gap {text_above(self.gap)}, "
            f"{self.method}, {self.mechanism!r})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class BoxDesign(Design):
    """A design for coordinates: the bound is about all mechanisms on the box, with whatever outputs."""

    family = "points"

    mechanism: BoxMechanism | BoxNoise  # type: ignore[assignment]  # they are asked for the same things

    @property
    def remap(self) -> dict[Any, Any]:
        """Outputs are what is best told."""
        return {y: y for y in self.mechanism.outputs or ()}
