"""One known mechanism by its name, for a list of secrets or for coordinates, proved, and remapped if that is wanted."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.arguments import flag
from sfumato.certify.coordinates import BoxMechanism
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.noise import BoxNoise
from sfumato.certify.verify import claim, prove
from sfumato.channels.channel import check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.design.boxes.known import laplace_table, remapped, smooth_known, with_loss
from sfumato.errors import InvalidInput, NotSupported, expect, shown
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.losses.loss import Loss
from sfumato.mechanisms.box_noise import laplace_noise, noise_on_box
from sfumato.mechanisms.registry import MECHANISMS
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.box import Box

NOISE = ("planar_laplace", "planar_laplace_within")
"""Mechanisms that are the same noise everywhere on coordinates, where nothing has to be made within a promise."""


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
    (:func:`~sfumato.mechanisms.box_noise.laplace_noise`); the others are tables for the cells, made smooth, with as
    little noise as the promise about all points allows.

    Parameters
    ----------
    name
        With dashes or underscores.
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
    privacy, key = expect(privacy, PrivacyType, "a promise", "PrivacyType(space, epsilon=1) makes one"), as_name(name)
    if flag(remap, "remap") and (prior is None or loss is None):
        raise InvalidInput("a remap is for somebody who knows a prior and has a loss: give both")
    if isinstance(privacy.space, Box):
        return _on_box(key, privacy, prior, loss, remap)
    known = MECHANISMS[key]
    verdict = known.applies(privacy)
    if verdict.outcome != "holds":
        raise NotSupported(f"{key} on {privacy.space.name} ({verdict.reason})")
    made: Mechanism = known(privacy)
    if prior is None or loss is None:
        return made
    stake = expect(loss, Loss, "a loss", "losses.distance(space) makes one")
    made = claim(as_prior(prior), made, stake)
    return _remapped(made, stake) if remap else made


def as_name(name: Any) -> str:
    """The name of a known mechanism as the list has it; the nearest ones where there is none."""
    key = name.strip().lower().replace("-", "_").replace(" ", "_") if isinstance(name, str) else ""
    key = {"randomised_response": "random_response", "randomized_response": "random_response"}.get(key, key)
    if key not in MECHANISMS:
        raise NotSupported(f"known mechanism {shown(name)}", list(MECHANISMS))
    return key


def _remapped(mechanism: Mechanism, loss: Loss) -> Mechanism:
    """Outputs replaced by the best actions, those of one action added up."""
    claimed = mechanism.loss_claim
    assert claimed is not None
    told = [loss.actions[w] for w in claimed.remap]
    actions = tuple(dict.fromkeys(told))
    weights = np.stack(
        [sum(mechanism.weights[:, y] for y, action in enumerate(told) if action == one) for one in actions], axis=1
    )
    notes = mechanism.provenance | {"remapped": "to the best actions for its prior and loss"}
    made = prove(weights, mechanism.privacy, outputs=actions, provenance=notes)
    check_secrets("remapped mechanism", mechanism.privacy.space, made)
    return claim(claimed.prior, made, loss)


def _on_box(key: str, privacy: PrivacyType, prior: Prior | None, loss: Any, remap: bool) -> BoxMechanism | BoxNoise:
    if key in NOISE and not remap:
        return laplace_noise(privacy) if prior is None or loss is None else noise_on_box(prior, loss, privacy)
    table = laplace_table(privacy) if key in NOISE else smooth_known(privacy, key)
    if prior is None or loss is None:
        return table
    stake = expect(loss, CoordinateLoss, "a loss between points", "losses.distance(box) makes one")
    return remapped(table, as_prior(prior), stake) if remap else with_loss(table, as_prior(prior), stake)
