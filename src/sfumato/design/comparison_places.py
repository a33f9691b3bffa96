"""Known mechanisms on a list of secrets: what each costs with and without a remap, what it needs and what it tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.channels.channel import Channel, check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.design.comparison_candidates import MOST_SECONDS, Candidates, compared, measured_row
from sfumato.design.comparison_rows import Compared, Comparison, sorted_rows
from sfumato.design.optimal import design
from sfumato.errors import expect
from sfumato.losses.loss import Loss
from sfumato.measures.leakage import leakage
from sfumato.measures.uncertainty import expected_loss, posterior_loss, prior_loss
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.watch import Watch


def compare_for_loss(
    prior: Prior | None,
    loss: Any,
    privacy: PrivacyType,
    *,
    mechanisms: Candidates = None,
    optimal: bool | None = None,
    time_limit: float | Watch | None = None,
    progress: Callable[[str], Any] | None = None,
) -> Comparison:
    """Known mechanisms by what they lose; :func:`~sfumato.design.comparison.compare_known` calls it.

    A row has ``loss``, the expected loss with outputs taken as actions (None where some output is no action);
    ``remapped``, that of a consumer who takes the best action for each output; and how much it raises the chance to
    guess the secret, as a ratio (``multiplicative``) and as a difference (``additive``).
    """
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

    limit = MOST_SECONDS if time_limit is None else time_limit
    rows, left_out = compared(
        row, lambda: design(prior, loss, privacy, time_limit=limit), mechanisms, privacy, optimal, progress
    )
    return Comparison("loss", prior, loss, privacy, sorted_rows(rows), left_out, {"blind": prior_loss(prior, loss)})
