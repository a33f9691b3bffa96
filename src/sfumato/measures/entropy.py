"""Entropies in bits, before and after a channel; guessing entropy in tries."""

from __future__ import annotations

from fractions import Fraction
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.channel import Channel
from sfumato.channels.hyper import joint
from sfumato.channels.prior import Prior, as_prior
from sfumato.measures.uncertainty import bayes_vulnerability
from sfumato.numbers import Array, floats, is_exact

__all__ = [
    "conditional_guessing_entropy",
    "conditional_min_entropy",
    "conditional_shannon_entropy",
    "guessing_entropy",
    "min_entropy",
    "min_mutual_information",
    "mutual_information",
    "shannon_entropy",
]


def shannon_entropy(prior: Prior) -> float:
    """H(π) = −Σ π_x log₂ π_x."""
    return _entropy_bits(floats(as_prior(prior).weights))


def conditional_shannon_entropy(prior: Prior, channel: Channel) -> float:
    """H(X | Y) = H(X, Y) − H(Y), the average entropy of the posteriors."""
    table = floats(joint(prior, channel))
    return max(0.0, _entropy_bits(table.ravel()) - _entropy_bits(table.sum(axis=0)))


def mutual_information(prior: Prior, channel: Channel) -> float:
    """I(X; Y) = H(X) − H(X | Y)."""
    return max(0.0, shannon_entropy(prior) - conditional_shannon_entropy(prior, channel))


def min_entropy(prior: Prior) -> float:
    """H_∞(π) = −log₂ max_x π_x."""
    return 0.0 - log2(as_prior(prior).weights.max())  # for a point 0, where −log₂ 1 would be −0.0


def conditional_min_entropy(prior: Prior, channel: Channel) -> float:
    """H_∞(π, C) = −log₂ Σ_y max_x π_x C_xy (:data:`sfumato.papers.TITLES`, C, 3.5)."""
    return 0.0 - log2(bayes_vulnerability(prior, channel))


def min_mutual_information(prior: Prior, channel: Channel) -> float:
    """Min-entropy leakage in bits, H_∞(π) − H_∞(π, C): the logarithm of multiplicative Bayes leakage.

    Examples
    --------
    >>> channel = Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    >>> round(min_mutual_information(Prior.uniform([0, 1]), channel), 6)
    0.415037
    """
    ratio = bayes_vulnerability(prior, channel) / prior.weights.max()
    return max(0.0, log2(ratio))


def guessing_entropy(prior: Prior) -> Any:
    """Expected number of tries to find the secret, trying the likeliest first."""
    return _guesses(as_prior(prior).weights[:, None])


def conditional_guessing_entropy(prior: Prior, channel: Channel) -> Any:
    """Expected number of tries after the output was seen."""
    return _guesses(joint(prior, channel))


def _guesses(table: Array) -> Any:
    ranked = np.sort(table, axis=0)[::-1]
    tries = np.arange(1, len(ranked) + 1)
    total = (ranked * tries[:, None]).sum()
    return Fraction(total) if is_exact(table) else float(total)


def _entropy_bits(probabilities: NDArray[np.float64]) -> float:
    positive = probabilities[probabilities > 0]
    return 0.0 - float((positive * np.log2(positive)).sum())
