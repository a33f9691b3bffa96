"""Prior and posterior loss and vulnerability, and the remap that attains them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit

from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.channels.hyper import joint
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import Mismatch, expect
from sfumato.losses.loss import Gain, Loss, as_loss
from sfumato.numbers import Array, floats, is_exact, product, together
from sfumato.threads import for_reading

__all__ = [
    "bayes_risk",
    "bayes_vulnerability",
    "expected_loss",
    "optimal_action",
    "optimal_remap",
    "posterior_loss",
    "posterior_vulnerability",
    "prior_loss",
    "prior_vulnerability",
]


def prior_loss(prior: Prior, loss: Loss) -> Any:
    """U_ℓ(π) = min_w Σ_x π_x ℓ(w, x), the least loss without any observation."""
    return _number(_prior_costs(prior, loss).min())


def optimal_action(prior: Prior, loss: Loss) -> Any:
    """An action that attains :func:`prior_loss`, the first one listed if several do."""
    return as_loss(loss).actions[int(np.argmin(_prior_costs(prior, loss)))]


def posterior_loss(prior: Prior, channel: Channel, loss: Loss) -> Any:
    """U_ℓ[π ▷ C] = Σ_y min_w Σ_x π_x C_xy ℓ(w, x), the loss of a consumer who acts best on each output.

    Examples
    --------
    >>> from sfumato.losses import bin
    >>> channel = Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    >>> posterior_loss(Prior.uniform([0, 1]), channel, bin([0, 1]))
    Fraction(1, 3)
    """
    prior, channel, loss = as_prior(prior), as_channel(channel), as_loss(loss)
    check_secrets("prior, channel and loss", prior, channel, loss)
    if _is_identity(loss, complement=True):
        return bayes_risk(prior, channel)
    return _number(_costs(prior, channel, loss).min(axis=0).sum())


def optimal_remap(prior: Prior, channel: Channel, loss: Loss) -> dict[Any, Any]:
    """The best action for each output; the first one listed if several are equally good."""
    channel = as_channel(channel)
    best = np.argmin(_costs(as_prior(prior), channel, as_loss(loss)), axis=0)
    return {y: loss.actions[int(w)] for y, w in zip(channel.outputs, best, strict=True)}


def expected_loss(prior: Prior, channel: Channel, loss: Loss) -> Any:
    """Σ_xy π_x C_xy ℓ(y, x): the loss when outputs are taken as actions, without a remap."""
    prior, channel, loss = as_prior(prior), as_channel(channel), as_loss(loss)
    check_secrets("prior, channel and loss", prior, channel, loss)
    rows = {action: i for i, action in enumerate(loss.actions)}
    if any(y not in rows for y in channel.outputs):
        raise Mismatch.unknown("outputs taken as actions", loss.actions, channel.outputs)
    weights, table = together(joint(prior, channel), loss.matrix[[rows[y] for y in channel.outputs]])
    return _number((weights * table.T).sum())


def prior_vulnerability(prior: Prior, gain: Gain) -> Any:
    """V_g(π) = max_w Σ_x π_x g(w, x)."""
    return -prior_loss(prior, expect(gain, Gain, "a gain").as_loss())


def posterior_vulnerability(prior: Prior, channel: Channel, gain: Gain) -> Any:
    """V_g[π ▷ C] = Σ_y max_w Σ_x π_x C_xy g(w, x)."""
    prior, channel = as_prior(prior), as_channel(channel)
    check_secrets("prior, channel and gain", prior, channel, expect(gain, Gain, "a gain"))
    if _is_identity(gain, complement=False):
        return bayes_vulnerability(prior, channel)
    return -posterior_loss(prior, channel, gain.as_loss())


def bayes_vulnerability(prior: Prior, channel: Channel) -> Any:
    """Σ_y max_x π_x C_xy, the chance to guess the secret in one try; one pass over the matrix."""
    prior, channel = as_prior(prior), as_channel(channel)
    check_secrets("prior and channel", prior, channel)
    if is_exact(prior.weights, channel.matrix):
        return _number(joint(prior, channel).max(axis=0).sum())
    return float(_column_maxima(for_reading(prior.float_weights), for_reading(floats(channel.matrix))).sum())


def bayes_risk(prior: Prior, channel: Channel) -> Any:
    """1 minus Bayes vulnerability: the chance that the best guess is wrong."""
    return 1 - bayes_vulnerability(prior, channel)


def _prior_costs(prior: Prior, loss: Loss) -> Array:
    prior, loss = as_prior(prior), as_loss(loss)
    check_secrets("prior and loss", prior, loss)
    table, weights = together(loss.matrix, prior.weights)
    return np.asarray(table @ weights)


def _costs(prior: Prior, channel: Channel, loss: Loss) -> Array:
    """Σ_x ℓ(w, x) π_x C_xy for all actions and outputs: one matrix product."""
    check_secrets("prior, channel and loss", prior, channel, loss)
    table, weights, matrix = together(loss.matrix, prior.weights, channel.matrix)
    return product(table * weights[None, :], matrix)


def _is_identity(stake: Loss | Gain, complement: bool) -> bool:
    """Whether the table is ℓ_bin (or the guessing gain), for which no product is needed."""
    if stake.matrix.dtype != np.int64 or stake.actions != stake.secrets:
        return False
    identity = np.eye(len(stake.secrets), dtype=np.int64)
    return bool(np.array_equal(stake.matrix, 1 - identity if complement else identity))


def _number(value: Any) -> Any:
    return value if isinstance(value, Fraction) else (int(value) if isinstance(value, np.integer) else float(value))


@njit(cache=True, nogil=True)
def _column_maxima(weights, matrix):  # type: ignore[no-untyped-def]
    rows, columns = matrix.shape
    best = np.zeros(columns)
    for x in range(rows):
        weight, row = weights[x], matrix[x]
        for y in range(columns):
            value = weight * row[y]
            best[y] = value if value > best[y] else best[y]
    return best
