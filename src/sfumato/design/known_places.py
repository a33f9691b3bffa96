"""Known mechanisms on a list of secrets: beside each other by what each costs, needs and tells; and each by itself."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from sfumato.certify.mechanism import Mechanism
from sfumato.certify.verify import claim, prove
from sfumato.channels.channel import Channel, check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.design.comparison_rows import (
    Compared,
    Comparison,
    ComparisonTerms,
    compared_candidates,
    measured_row,
    sorted_rows,
)
from sfumato.design.objectives import Objective
from sfumato.design.optimal import design
from sfumato.errors import NotSupported, expect
from sfumato.losses.loss import Loss
from sfumato.measures.leakage import leakage
from sfumato.measures.uncertainty import expected_loss, posterior_loss, prior_loss
from sfumato.mechanisms.registry import KnownMechanism
from sfumato.privacy.type import PrivacyType, as_type


def compare_for_loss(
    prior: Prior | None, loss: Any, privacy: PrivacyType, objective: Objective, terms: ComparisonTerms
) -> Comparison:
    """Known mechanisms by what they lose; :func:`~sfumato.design.comparison.compare_known` calls it.

    A row has ``loss``, the expected loss with outputs taken as actions (None where some output is no action);
    ``remapped``, that of a consumer who takes the best action for each output; and how much it raises the chance to
    guess the secret, as a ratio (``multiplicative``) and as a difference (``additive``).
    """
    if not objective.plain:
        raise NotSupported("a comparison under limits or for the worst", ["the expected loss", "shares"])
    prior, privacy = as_prior(prior), as_type(privacy)
    loss = expect(loss, Loss, "a loss", "losses.absolute(space) makes one")
    check_secrets("prior, loss and privacy type", privacy.space, prior, loss)

    def measures(channel: Channel) -> dict[str, Any]:
        return {
            "loss": expected_loss(prior, channel, loss) if set(channel.outputs) <= set(loss.actions) else None,
            "remapped": posterior_loss(prior, channel, loss),
            "multiplicative": leakage(prior, channel),
            "additive": leakage(prior, channel, kind="additive"),
        }

    def row(name: str, made: Any) -> Compared:
        return measured_row(name, made, privacy, prior.exact and loss.exact, "remapped", measures)

    rows, left_out = compared_candidates(row, partial(design, prior, loss, privacy), privacy, terms)
    return Comparison("loss", prior, loss, privacy, sorted_rows(rows), left_out, {"blind": prior_loss(prior, loss)})


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
