"""One known mechanism by its name, for a list of secrets or for coordinates, proved, and remapped if that is wanted."""

from __future__ import annotations

from typing import Any

from sfumato.arguments import flag
from sfumato.certify.coordinates import BoxMechanism
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.noise import BoxNoise
from sfumato.channels.prior import Prior
from sfumato.design.families import design_family
from sfumato.errors import InvalidInput, NotSupported, expect, shown
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.losses.loss import Loss
from sfumato.mechanisms.registry import MECHANISMS
from sfumato.privacy.type import PrivacyType


def known_mechanism(
    name: str,
    privacy: PrivacyType,
    *,
    prior: Prior | None = None,
    loss: Loss | CoordinateLoss | None = None,
    remap: bool = False,
) -> Mechanism | BoxMechanism | BoxNoise:
    """The known mechanism of a name (:data:`sfumato.mechanisms.MECHANISMS`) for a promise, proved.

    On a box ``planar_laplace`` is noise that is the same everywhere
    (:func:`~sfumato.mechanisms.box_noise.laplace_noise`); the others are tables for the cells, made smooth
    (:func:`~sfumato.mechanisms.registry.table_on_box`).

    Parameters
    ----------
    name
        As the list has it, in any case, with dashes, spaces or underscores; or randomised response by its usual name.
    prior, loss
        With both, what the mechanism loses is proved too.
    remap
        Whether outputs are moved to where they lose least for ``prior`` and ``loss``, a post-processing.

    Raises
    ------
    NotSupported
        If there is no such mechanism for this space; the message says why.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> known_mechanism("geometric", PrivacyType(line(3), alpha="1/2"))
    Mechanism(3 secrets → 3 outputs, PrivacyType(line(3), alpha=1/2), proved)
    >>> from sfumato.losses import absolute
    >>> told = known_mechanism("random-response", PrivacyType(line(3), alpha="1/2"), prior=Prior.point(line(3), 1),
    ...                        loss=absolute(line(3)), remap=True)
    >>> told.outputs, told.proof.loss
    ((1,), Fraction(0, 1))
    """
    privacy, key = (
        expect(privacy, PrivacyType, "a promise", "PrivacyType(space, epsilon=1) makes one"),
        mechanism_key(name),
    )
    if flag(remap, "remap") and (prior is None or loss is None):
        raise InvalidInput("a remap is for somebody who knows a prior and has a loss: give both")
    return design_family(privacy.space).known(MECHANISMS[key], privacy, prior, loss, remap)


def mechanism_key(name: Any) -> str:
    """The name of a known mechanism as the list has it; :class:`NotSupported` with all of them where there is none."""
    key = name.strip().lower().replace("-", "_").replace(" ", "_") if isinstance(name, str) else ""
    key = {"randomised_response": "random_response", "randomized_response": "random_response"}.get(key, key)
    if key not in MECHANISMS:
        raise NotSupported(f"known mechanism {shown(name)}", list(MECHANISMS))
    return key
