"""Leakage of a channel for a consumer, and its capacities: over all consumers, for one prior, and of the Bayes risk."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, Literal

import numpy as np

from sfumato.arguments import one_of
from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.channels.hyper import joint
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import InvalidInput
from sfumato.losses.loss import Gain, Loss
from sfumato.losses.standard import guess
from sfumato.measures.uncertainty import (
    posterior_loss,
    posterior_vulnerability,
    prior_loss,
    prior_vulnerability,
)
from sfumato.numbers import is_exact, together


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


def additive_capacity(
    prior: Prior, channel: Channel, *, spanning: Literal["vulnerability", "gain"] = "vulnerability"
) -> Any:
    """The most that V_g[π ▷ C] − V_g(π) can be for one prior, over all gains of a class.

    Over gains whose vulnerability lies in [0, 1] it is 1 − Σ_y min C_xy, the least over the secrets that π holds
    possible; the gain 1 − [w = x]/π_x reaches it. Over gains of which no action spans more than 1,
    ``|g(w, x) − g(w, x′)|`` ≤ 1, it is the mean distance of the posteriors from the prior, Σ_y p_y · tv(π, π^y)
    (Alvim et al. 2014, Theorem 17).

    Examples
    --------
    >>> prior = Prior([0, 1, 2], ["1/2", "1/2", 0])
    >>> channel = Channel([0, 1, 2], [["2/3", "1/3"], ["1/3", "2/3"], [0, 1]])
    >>> additive_capacity(prior, channel), additive_capacity(prior, channel, spanning="gain")
    (Fraction(1, 3), Fraction(1, 6))
    >>> capacity(channel).additive              # under other priors, secret 2 can be told from the others
    Fraction(2, 3)
    """
    one_of(spanning, ("vulnerability", "gain"), "additive capacity for gains spanning")
    prior, channel = as_prior(prior), as_channel(channel)
    check_secrets("prior and channel", prior, channel)
    if spanning == "vulnerability":
        least = channel.matrix[np.asarray(prior.weights > 0)].min(axis=0).sum()
        return 1 - Fraction(least) if channel.exact else 1 - float(least)
    table = joint(prior, channel)
    table, weights = together(table, prior.weights)
    total = abs(table - weights[:, None] * table.sum(axis=0)).sum()
    return Fraction(total) / 2 if is_exact(table) else float(total) / 2


@dataclass(frozen=True, eq=False)
class RiskCapacity:
    """The largest factor by which a channel lowers the Bayes risk, infinite where it ends it; ``prior`` reaches it."""

    value: Any
    prior: Prior


def bayes_risk_capacity(channel: Channel) -> RiskCapacity:
    """max_π R(π) / R(π, C), where R is the chance of a wrong guess: 1 / (1 − the largest total variation of two rows).

    An even prior on two secrets is always the worst (Chatzikokolakis, Cherubin, Palamidessi and Troncoso 2023); the
    page on measures has a short proof. A channel that tells nothing has 1.

    Examples
    --------
    >>> found = bayes_risk_capacity(Channel([0, 1, 2], [["2/3", "1/3"], ["1/3", "2/3"], [0, 1]]))
    >>> found.value, found.prior
    (Fraction(3, 1), Prior(0: 1/2, 1: 0, 2: 1/2))
    """
    channel = as_channel(channel)
    matrix, n = channel.matrix, len(channel.secrets)
    shared, pair = matrix[0].sum() if n == 1 else None, (0, 0)
    for x in range(n - 1):
        # what two rows have in common is 1 minus their total variation, and stays 0 exactly where they share nothing
        common = np.minimum(matrix[x], matrix[x + 1 :]).sum(axis=1)
        z = int(common.argmin())
        if shared is None or common[z] < shared:
            shared, pair = common[z], (x, x + 1 + z)
    weights = [Fraction(int(x == pair[0]) + int(x == pair[1]), 2) for x in range(n)]
    value = (1 / Fraction(shared) if channel.exact else 1 / float(shared)) if shared else inf
    return RiskCapacity(value, Prior(channel.secrets, weights))
