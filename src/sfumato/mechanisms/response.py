"""Mechanisms that say one of a few things: binary, closest pair, one against the rest, random response.

All of them have columns with two values, a high one and a low one e^{−εδ} times as large, where δ is at most
the distance between any two secrets that the column tells apart. That makes them private on every space.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np

from sfumato.arguments import items
from sfumato.certify.mechanism import Mechanism
from sfumato.errors import InvalidInput, NotSupported
from sfumato.mechanisms.proved import proved
from sfumato.numbers import Array, object_array
from sfumato.privacy.type import PrivacyType, as_type

__all__ = ["binary", "closest_pair", "dual_random_response", "membership", "one_against_rest", "random_response"]


def binary(privacy: PrivacyType) -> Mechanism:
    """The only kernel on two secrets: 1/(1 + α) for the truth, α/(1 + α) for the other, α = e^{−εd}.

    Universally optimal for every loss (Fernandes et al. 2023, Corollary 9): with two secrets every mechanism of
    the type is a post-processing of this one.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> binary(PrivacyType(line(2), alpha="1/2")).channel.matrix.tolist()
    [[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]]
    """
    privacy = as_type(privacy)
    if len(privacy.space) != 2:
        raise NotSupported(f"the binary mechanism on {len(privacy.space)} secrets", ["2 secrets"])
    return two_valued("binary", privacy, least_ratio(privacy), np.eye(2, dtype=bool), privacy.secrets)


def closest_pair(privacy: PrivacyType) -> Mechanism:
    """One of two closest secrets against all the others, as far apart as these two may be told.

    Universally optimal for every loss that concerns only the two closest secrets, lifted by zeros (Fernandes et al.
    2023, Theorem 10); such losses exist on every space with more than one secret. The pair is in the provenance.

    Examples
    --------
    >>> from sfumato.spaces import discrete
    >>> mechanism = closest_pair(PrivacyType(discrete(3), alpha="1/2"))
    >>> [[str(p) for p in row] for row in mechanism.channel.matrix]
    [['2/3', '1/3'], ['1/3', '2/3'], ['1/3', '2/3']]
    """
    privacy = as_type(privacy)
    if len(privacy.space) < 2:
        raise NotSupported("a closest pair in a space of one secret", ["2 or more secrets"])
    closest = _closest(privacy)
    if closest is None:
        raise InvalidInput("all secrets are infinitely far apart: nothing is promised about any two")
    x, z = closest
    pair = [str(privacy.secrets[x]), str(privacy.secrets[z])]
    inside = np.arange(len(privacy.space)) == x
    sides = np.stack([inside, ~inside], axis=1)
    return two_valued("closest_pair", privacy, _ratio(privacy, x, z), sides, ("first", "other"), pair=pair)


def one_against_rest(privacy: PrivacyType, secret: Any) -> Mechanism:
    """Is it this secret? The kernels K_A and K_B of Fernandes et al. 2023, VI-B, for the last and the first secret.

    On a discrete space universally optimal for losses on two secrets, this one among them, lifted by zeros.

    Examples
    --------
    >>> from sfumato.spaces import discrete
    >>> one_against_rest(PrivacyType(discrete(3), alpha="1/2"), 2).outputs
    ('yes', 'no')
    """
    privacy = as_type(privacy)
    return membership(privacy, [secret])


def membership(privacy: PrivacyType, subset: Iterable[Any]) -> Mechanism:
    """Is the secret in the subset? The truth with probability 1/(1 + α), α = e^{−εδ}, δ the distance to the rest.

    On a discrete space this is the kernel with the two vertices that are high on the subset and off it.
    """
    privacy = as_type(privacy)
    inside = np.zeros(len(privacy.space), dtype=bool)
    inside[[privacy.space.index(secret) for secret in items(subset, "a subset")]] = True
    if inside.all() or not inside.any():
        raise InvalidInput(f"a subset of some secrets and not all is needed, found {int(inside.sum())}")
    between = np.where(inside[:, None] & ~inside[None, :], privacy.space.distances.floats, np.inf)
    x, z = (int(i) for i in np.unravel_index(between.argmin(), between.shape))
    ratio = _ratio(privacy, x, z) if np.isfinite(between[x, z]) else Fraction(0)  # 0: nothing is promised between
    return two_valued("membership", privacy, ratio, np.stack([inside, ~inside], axis=1), ("yes", "no"))


def random_response(privacy: PrivacyType) -> Mechanism:
    """The secret with weight 1, every other with weight α = e^{−εδ}, δ the smallest distance.

    On a discrete space it is a kernel (Fernandes et al. 2023, Lemma 21) and has the largest multiplicative capacity
    of the type, so it is optimal for ℓ_bin and the uniform prior; for no prior-independent class beyond two secrets
    (their Corollary 13).

    Examples
    --------
    >>> from sfumato.spaces import discrete
    >>> mechanism = random_response(PrivacyType(discrete(3), alpha="1/2"))
    >>> [str(p) for p in mechanism.channel.matrix[0]]
    ['1/2', '1/4', '1/4']
    """
    privacy = as_type(privacy)
    highs = np.eye(len(privacy.space), dtype=bool)
    return two_valued("random_response", privacy, least_ratio(privacy), highs, privacy.secrets)


def dual_random_response(privacy: PrivacyType) -> Mechanism:
    """The secret with weight α = e^{−εδ}, every other with weight 1: "anything but".

    On a discrete space it is a kernel with the largest additive capacity of the type (Fernandes et al. 2023,
    Corollary 22), so it is optimal for ℓ_nib and the uniform prior.
    """
    privacy = as_type(privacy)
    highs = ~np.eye(len(privacy.space), dtype=bool)
    return two_valued("dual_random_response", privacy, least_ratio(privacy), highs, privacy.secrets)


def two_valued(
    name: str, privacy: PrivacyType, ratio: Any, high: np.ndarray[Any, Any], outputs: Iterable[Any], **notes: Any
) -> Mechanism:
    """The mechanism with columns that are 1 where ``high`` and ``ratio`` elsewhere, rows divided by their sum.

    It is private where all rows have one sum, or where ``ratio`` leaves room for their differences.
    """
    if isinstance(ratio, Fraction):
        table: Array = object_array((Fraction(1) if h else ratio for h in high.ravel()), high.shape)
    else:
        table = np.where(high, 1.0, ratio)
    return proved(name, privacy, table / table.sum(axis=1, keepdims=True), outputs, **notes)


def least_ratio(privacy: PrivacyType) -> Any:
    """e^{−εδ} for the smallest distance δ, a Fraction where it is rational; 0 where nothing is promised."""
    closest = _closest(privacy)
    if closest is None:  # one secret has nothing to hide, and of several nothing is promised
        return Fraction(len(privacy.space) == 1)
    return _ratio(privacy, *closest)


def _closest(privacy: PrivacyType) -> tuple[int, int] | None:
    """Two secrets at the smallest distance, None if there are no two at a finite one."""
    distances = privacy.space.distances.floats.copy()
    np.fill_diagonal(distances, np.inf)
    x, z = (int(i) for i in np.unravel_index(distances.argmin(), distances.shape))
    return (x, z) if np.isfinite(distances[x, z]) else None


def _ratio(privacy: PrivacyType, x: int, z: int) -> Any:
    """e^{−ε d(x, z)}, a Fraction where it is rational."""
    factor = privacy.exact_factor(privacy.space.distances.values[x, z])
    return exp(-privacy.log_bounds[x, z]) if factor is None else 1 / factor
