"""Pairs of secrets as privacy-loss distributions of ``dp-accounting``, rounded to the safe side.

The privacy loss of an output y is ln P(y)/Q(y), with y drawn from P. Google's library composes such distributions on a
grid of losses. Everything up to that grid is done here, exactly: each loss is rounded up to a multiple of the interval
(its place is decided by ball arithmetic; a rational that is not 1 has an irrational logarithm, so no loss lies on the
grid but 0), each probability is summed as a fraction, and an output that Q does not have counts as an infinite loss.
With losses and probabilities too large, δ(ε) is too large, after any number of compositions: the composed δ is an
expectation of a function that grows in every loss.

The library computes in doubles. For what it may lose by rounding, probabilities are made larger by a factor 1 + 2^−40,
and ``slack``, a tiny probability of an infinite loss, is added: sums of products keep their relative precision, Fourier
transforms an absolute one near 1e-16.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from importlib import import_module
from itertools import pairwise
from math import ceil
from typing import Any

from sfumato.arguments import positive
from sfumato.channels.channel import Channel, as_channel
from sfumato.errors import InvalidInput, needs, shown
from sfumato.numbers import float_above, log_bounds
from sfumato.privacy.tradeoff import TradeOff, tradeoff, worst_tradeoff

INTERVAL = 2.0**-13
"""Default step of the losses, about 1e-4; a power of two, so that multiples of it are doubles."""

SLACK = 2.0**-48
"""Default probability of an infinite loss that is added for the rounding of the library, about 4e-15."""

_INFLATION = 1 + Fraction(1, 2**40)

Steps = Iterable[tuple[Fraction, Fraction]]


def privacy_loss(channel: Channel | Any, x: Any, x2: Any, *, interval: float = INTERVAL, slack: float = SLACK) -> Any:
    """Both directions of a pair of secrets as a ``PrivacyLossDistribution``.

    Parameters
    ----------
    channel
        A channel or a mechanism. Floats stand for the rationals they store, each row divided by its exact total.
    x, x2
        Two secrets; the distribution covers "x instead of x2" and "x2 instead of x".
    interval
        Distance of the losses that are kept; smaller is tighter and slower.

    Returns
    -------
    dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
        Pessimistic: ``get_delta_for_epsilon`` is never below the true δ, also after ``compose`` and ``self_compose``.

    Raises
    ------
    MissingExtra
        If dp-accounting is not installed.
    """
    return _distribution(tradeoff(as_channel(channel), x, x2), interval, slack)


def worst_privacy_loss(
    channel: Channel | Any, neighbours: Any = None, *, interval: float = INTERVAL, slack: float = SLACK
) -> Any:
    """One distribution that is worse than every pair of neighbours, and so after composition as well.

    In general no single pair is the worst at all ε. The least concave curve above the trade-off curves of all pairs is
    the trade-off curve of two distributions of its own (:func:`sfumato.privacy.worst_tradeoff`); every pair is a
    post-processing of that one, and that stays so when both are composed.
    """
    return _distribution(worst_tradeoff(as_channel(channel), neighbours), interval, slack)


def _distribution(curve: TradeOff, interval: float, slack: float) -> Any:
    with needs("opendp", "dp-accounting"):
        module = import_module("dp_accounting.pld.privacy_loss_distribution")
    interval = positive(interval, "the interval of losses")
    if not (isinstance(slack, float | int) and 0 <= slack < 1):
        raise InvalidInput(f"slack is a probability, found {shown(slack)}")
    steps = [(a1 - a0, b1 - b0) for (a0, b0), (a1, b1) in pairwise(curve.points)]
    there, beyond_there = rounded_losses(((b, a) for a, b in steps), interval, slack)
    back, beyond_back = rounded_losses(steps, interval, slack)
    return module.PrivacyLossDistribution.create_from_rounded_probability(
        there, beyond_there, float(interval), True, back, beyond_back, symmetric=False
    )


def rounded_losses(steps: Steps, interval: float, slack: float = 0.0) -> tuple[dict[int, float], float]:
    """The losses ln p/q of pairs (p, q), in steps of the interval rounded up, each with its probability, and that of ∞.

    Examples
    --------
    >>> losses, infinite = rounded_losses([(Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3))], 0.25)
    >>> {k: round(p, 9) for k, p in losses.items()}, infinite
    ({3: 0.666666667, -2: 0.333333333}, 0.0)
    """
    step = Fraction(interval)
    sums: dict[int, Fraction] = {}
    infinite = Fraction(slack)
    for p, q in steps:
        if not p:
            continue
        if not q:
            infinite += p * _INFLATION
            continue
        place = _steps_above(p / q, step)
        sums[place] = sums.get(place, Fraction(0)) + p
    return {place: float_above(p * _INFLATION) for place, p in sums.items()}, min(1.0, float_above(infinite))


def _steps_above(ratio: Fraction, step: Fraction) -> int:
    """⌈ln(ratio) / step⌉, exactly."""
    bits = 64
    while True:  # ends: the quotient is irrational unless the ratio is 1
        low, high = log_bounds(ratio, bits)
        if ceil(low / step) == ceil(high / step):
            return ceil(low / step)
        bits *= 2
