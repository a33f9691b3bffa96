"""What is asked of a design on a box: prior, loss, promise and outputs, looked at once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.arguments import items
from sfumato.certify.coordinates import as_point, check_prior
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import InvalidInput, InvalidPrior, expect, shown
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.privacy.type import PrivacyType, as_box_type
from sfumato.spaces.box import Box


def box_question(
    prior: Prior | None, loss: Any, privacy: PrivacyType, outputs: Any
) -> tuple[Prior, CoordinateLoss, PrivacyType, Box, dict[tuple[float, ...], tuple[Fraction, ...]] | None]:
    """What is asked, looked at."""
    privacy, box = as_box_type(privacy)
    if prior is None:
        raise InvalidPrior("a design on a box needs a prior: Prior.uniform(box), or Prior.on_cells(counts, box)")
    prior, loss = as_prior(prior), expect(loss, CoordinateLoss, "the loss on a box", "losses.distance(box) makes one")
    check_prior(prior, loss, box)
    return prior, loss, privacy, box, None if outputs is None else _given(outputs, box)


def _given(outputs: Any, box: Box) -> dict[tuple[float, ...], tuple[Fraction, ...]]:
    """The outputs that somebody wants, by their coordinates from the origin of the box in floats."""
    found: dict[tuple[float, ...], tuple[Fraction, ...]] = {}
    for output in items(outputs, "outputs"):
        point = as_point(output, box)
        place = tuple(float(c - o) for c, o in zip(point, box.origin, strict=True))
        if place in found:
            raise InvalidInput(f"output {shown(output)} is given twice: a point is listed once")
        found[place] = point
    if not found:
        raise InvalidInput("no output is given: list at least one point, or leave the choice to the design")
    return found
