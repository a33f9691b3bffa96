"""Permute-and-flip: go through the outputs in random order, take each with its own probability."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import flint
import numpy as np

from sfumato.certify.mechanism import Mechanism
from sfumato.mechanisms.continuous.density import gauss
from sfumato.mechanisms.exponential import Calibration, as_score, score_mechanism
from sfumato.numbers import Array, exact, fmpq, is_exact, object_array
from sfumato.privacy.type import PrivacyType, as_type

_LARGEST_EXACT = 2**10  # entries of a table of polynomials in fractions
_LARGEST_BETA = 4.0  # A larger β is looked for up to so many times ε/2C.


def permute_and_flip(
    privacy: PrivacyType,
    *,
    score: Any = None,
    outputs: Iterable[Any] | None = None,
    calibration: Calibration = "bound",
) -> Mechanism:
    """Permute-and-flip (McKenna and Sheldon 2020), with its probabilities and not with samples of them.

    Visit the outputs in random order; stop at y with probability p_y = e^{−β(s(x, y) − min s(x, ·))}. Let every output
    arrive at a random time in [0, 1]; at time t an output z has come and been taken with probability t·p_z, so

        M(x)(y) = p_y ∫₀¹ Π_{z ≠ y} (1 − t p_z) dt,

    a polynomial's integral: exact for rational p, exact up to rounding by Gauss' rule with n/2 nodes for floats.

    With β = ε/2C it keeps the promise ε, like the exponential mechanism: if all scores change by at most δ, no
    probability changes by more than e^{2βδ}. For every secret its expected score is never larger than that of the
    exponential mechanism with the same β, and the score exceeds any number with a smaller or equal probability. It
    is not optimal for an expected loss after a remap: on a line the geometric mechanism is better.

    Parameters
    ----------
    score, outputs
        As for :func:`exponential`: a table, a :class:`Loss`, or by default the distance.
    calibration
        ``"bound"``: β = ε/2C. ``"exact"``: the largest β that a search in floats finds to need no more than ε.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> mechanism = permute_and_flip(PrivacyType(line(3), alpha="1/4"))          # e^{−β} = 1/2
    >>> [str(p) for p in mechanism.channel.matrix[0]]
    ['2/3', '11/48', '5/48']
    """
    privacy = as_type(privacy)
    scored = as_score(privacy, score, outputs)
    most = _LARGEST_BETA / (2 * float(scored.lipschitz)) if scored.spread > 0 else None
    rows = permute_and_flip_rows
    return score_mechanism("permute_and_flip", privacy, scored, rows, calibration, most, _LARGEST_EXACT)


def permute_and_flip_rows(shares: Array) -> Array:
    """The probabilities for rows of numbers p ≤ 1, of which at least one in each row is 1.

    Examples
    --------
    >>> permute_and_flip_rows(np.array([[1.0, 0.5]])).tolist()
    [[0.75, 0.25]]
    """
    if is_exact(shares):
        flat = [value for row in shares for value in _exact_row(row)]
        return object_array(flat, shares.shape)
    nodes, weights = gauss(shares.shape[1] // 2 + 1)
    result = np.empty_like(shares)
    for x, row in enumerate(shares):
        survival = 1 - nodes[:, None] * row[None, :]  # positive, since nodes are below 1
        logs = np.log(survival)
        # every factor is at most 1 and all terms are positive: nothing cancels
        others = np.exp(logs.sum(axis=1, keepdims=True) - logs)
        result[x] = row * (weights @ others)
    return np.asarray(result / result.sum(axis=1, keepdims=True))


def _exact_row(row: Array) -> list[Any]:
    factors = [flint.fmpq_poly([1, -fmpq(p)]) for p in row]
    whole = flint.fmpq_poly([1])
    for factor in factors:
        whole *= factor
    return [p * exact((whole // factor).integral()(1)) if p else p for p, factor in zip(row, factors, strict=True)]
