"""Kinds of questions, each a record: whoever compares or searches asks the record, and tests for no kind.

Places are a list of secrets with a loss for each action; points are the coordinates of a box, all of which are
secrets; shares are those of a population, estimated by a survey, so that no single answer has a loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.certify.coordinates import BoxMechanism
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.noise import BoxNoise
from sfumato.channels.prior import Prior
from sfumato.design.boxes.calibration import PRECISION as BOX_PRECISION
from sfumato.design.boxes.calibration import curve_on_box, ends_on_box
from sfumato.design.boxes.known import compare_on_box, known_for_points
from sfumato.design.calibration_sought import Ends, Sought
from sfumato.design.comparison_rows import Comparison
from sfumato.design.families_places import PRECISION, compare_for_loss, curve_on_list, ends_on_list, known_for_places
from sfumato.design.families_shares import compare_for_shares, curve_on_shares, ends_on_shares
from sfumato.design.objectives import EXPECTED, Objective
from sfumato.design.result import BoxDesign, Design
from sfumato.errors import NotSupported, expect
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.losses.loss import Loss, as_loss
from sfumato.mechanisms.registry import KnownMechanism, exists_on_box
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.box import Box
from sfumato.spaces.finite import FiniteSpace
from sfumato.verdict import Verdict


@dataclass(frozen=True, eq=False)
class DesignFamily:
    """What a kind of question is asked.

    Parameters
    ----------
    name
        As the documentation calls it.
    compare
        Known mechanisms beside each other, from prior, loss, promise, objective and the terms of a comparison.
    exists, known
        Whether a known mechanism is there for a promise, with the reason; and that mechanism, with what it loses for a
        prior and a loss if both are given, remapped or not.
    design
        What is found.
    stake
        The loss that a search is given, from what somebody gives for a space.
    ends, curve
        Where a search for ε ends; the designs of a curve as a function, and the questions it is asked.
    precision, one_sided
        The relative width of ε that is left open where nobody asks for another; whether 1 is one too, and asks for an
        ε that is enough without a proof that others are too small.
    """

    name: str
    compare: Callable[..., Comparison]
    exists: Callable[[KnownMechanism, PrivacyType], Verdict]
    known: Callable[[KnownMechanism, PrivacyType, Prior | None, Any, bool], Mechanism | BoxMechanism | BoxNoise]
    design: type[Design]
    stake: Callable[[Any, Any], Any]
    ends: Callable[[Sought], Ends]
    curve: Callable[..., tuple[Callable[..., Design], Sequence[Any]]]
    precision: float
    one_sided: bool = False

    def __repr__(self) -> str:
        return f"DesignFamily({self.name})"


def _exists(known: KnownMechanism, privacy: PrivacyType) -> Verdict:
    return known.applies(privacy)


def _loss_on_list(loss: Any, space: Any) -> Loss:
    expect(space, FiniteSpace, "a space")
    return as_loss(loss)


def _loss_on_box(loss: Any, _: Box) -> CoordinateLoss:
    return expect(loss, CoordinateLoss, "the loss on a box", "losses.distance(box) makes one")


def _no_loss(loss: Any, _: FiniteSpace) -> None:
    if loss is not None:
        raise NotSupported("a loss beside an objective about shares", ["None: nobody acts on a single answer"])


PLACES = DesignFamily(
    "places", compare_for_loss, _exists, known_for_places, Design, _loss_on_list, ends_on_list, curve_on_list,
    PRECISION,
)  # fmt: skip
POINTS = DesignFamily(
    "points", compare_on_box, exists_on_box, known_for_points, BoxDesign, _loss_on_box, ends_on_box, curve_on_box,
    BOX_PRECISION, one_sided=True,
)  # fmt: skip
SHARES = replace(
    PLACES, name="shares", compare=compare_for_shares, stake=_no_loss, ends=ends_on_shares, curve=curve_on_shares
)


def design_family(space: FiniteSpace | Box, objective: Objective = EXPECTED) -> DesignFamily:
    """Which kind of question is asked of a space."""
    if objective.criterion == "shares":
        return SHARES
    return POINTS if isinstance(space, Box) else PLACES
