"""A known mechanism for a list of secrets: proved, with what it loses, and remapped if that is wanted."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.certify.mechanism import Mechanism
from sfumato.certify.verify import claim, prove
from sfumato.channels.channel import check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import NotSupported, expect
from sfumato.losses.loss import Loss
from sfumato.mechanisms.registry import KnownMechanism
from sfumato.privacy.type import PrivacyType


def known_for_places(
    known: KnownMechanism, privacy: PrivacyType, prior: Prior | None, loss: Any, remap: bool
) -> Mechanism:
    """A known mechanism on a list of secrets; with a prior and a loss, what it loses is proved too."""
    verdict = known.applies(privacy)
    if verdict.outcome != "holds":
        raise NotSupported(f"{known.name} on {privacy.space.name} ({verdict.reason})")
    made: Mechanism = known(privacy)
    if prior is None or loss is None:
        return made
    stake = expect(loss, Loss, "a loss", "losses.distance(space) makes one")
    made = claim(as_prior(prior), made, stake)
    return _remapped(made, stake) if remap else made


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
