"""Leakage of a channel for a consumer, and its capacities over all consumers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from sfumato.arguments import one_of
from sfumato.channels.channel import Channel, as_channel
from sfumato.channels.prior import Prior
from sfumato.errors import InvalidInput
from sfumato.losses.loss import Gain, Loss
from sfumato.losses.standard import guess
from sfumato.measures.uncertainty import (
    posterior_loss,
    posterior_vulnerability,
    prior_loss,
    prior_vulnerability,
)
from sfumato.numbers import is_exact


def leakage(
    prior: Prior,
    channel: Channel,
    stake: Loss | Gain | None = None,
    *,
    kind: Literal["multiplicative", "additive"] = "multiplicative",
) -> Any:
    """How much the channel helps a consumer, as a ratio or a difference.

    For a gain g: V_g[π ▷ C] / V_g(π), or V_g[π ▷ C] − V_g(π). For a loss ℓ, which the
    channel lowers: U_ℓ(π) / U_ℓ[π ▷ C], or U_ℓ(π) − U_ℓ[π ▷ C]. Without a stake: the gain
    of guessing the secret in one try (Bayes vulnerability).

    Examples
    --------
    >>> channel = Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    >>> leakage(Prior.uniform([0, 1]), channel), leakage(Prior.uniform([0, 1]), channel, kind="additive")
    (Fraction(4, 3), Fraction(1, 6))
    """
    one_of(kind, ("multiplicative", "additive"), "leakage of kind")
    if stake is None:
        stake = guess(prior)
    if isinstance(stake, Gain):
        after, before = posterior_vulnerability(prior, channel, stake), prior_vulnerability(prior, stake)
    else:
        after, before = prior_loss(prior, stake), posterior_loss(prior, channel, stake)
    if kind == "additive":
        return after - before
    if before == 0:
        raise InvalidInput("the multiplicative leakage of a value that is 0 does not exist: use additive")
    return (
        Fraction(after) / before if not isinstance(after, float) and not isinstance(before, float) else after / before
    )


@dataclass(frozen=True)
class Capacity:
    """The most a channel can leak to anyone, as a ratio and as a difference."""

    multiplicative: Any
    additive: Any


def capacity(channel: Channel) -> Capacity:
    """Both channel capacities, by the miracle theorems (paper A, Theorems 4 and 5).

    The multiplicative one, max over priors and non-negative gains of V_g[π ▷ C] / V_g(π),
    is Σ_y max_x C_xy; the additive one, over gains whose vulnerability lies in [0, 1], is
    1 − Σ_y min_x C_xy.

    Examples
    --------
    >>> capacity(Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]]))
    Capacity(multiplicative=Fraction(4, 3), additive=Fraction(1, 3))
    """
    channel = as_channel(channel)
    largest = channel.matrix.max(axis=0).sum()
    smallest = channel.matrix.min(axis=0).sum()
    if is_exact(channel.matrix):
        return Capacity(Fraction(largest), 1 - Fraction(smallest))
    return Capacity(float(largest), 1 - float(smallest))
