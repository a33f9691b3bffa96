"""The geometric mechanism with a range of answers of its own: more, fewer or others than there are secrets."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import Any

import numpy as np

from sfumato.arguments import integer
from sfumato.certify.mechanism import Mechanism
from sfumato.errors import InvalidInput, NotSupported, short, shown
from sfumato.mechanisms.line import power_of
from sfumato.mechanisms.proved import proved
from sfumato.numbers import exact, object_array
from sfumato.privacy.promise import rational_power
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.spaces.finite import FiniteSpace, check_size


def truncated_geometric(privacy: PrivacyType, low: int, high: int) -> Mechanism:
    """Two-sided geometric noise on integers with answers low, …, high: those beyond an end count for the end.

    A range that covers the secrets tells exactly as much as :func:`~sfumato.mechanisms.line.geometric`; a smaller one
    tells less. An answer can lie where no secret does, so that noise is seen to be noise, or what may be published is
    limited.

    Parameters
    ----------
    privacy
        A promise on integers whose distances are proportional to their differences.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> privacy = PrivacyType(line(2), alpha="1/2")
    >>> [[str(p) for p in row] for row in truncated_geometric(privacy, -1, 2).channel.matrix]
    [['1/3', '1/3', '1/6', '1/6'], ['1/6', '1/6', '1/3', '1/3']]
    """
    privacy, low, high = as_type(privacy), integer(low, "low"), integer(high, "high")
    if low >= high:
        raise InvalidInput(f"needs low < high, found {short(low)} and {short(high)}")
    check_size(high - low + 1)
    step = _step(privacy.space)
    ratio: Any = None if privacy.alpha is None else rational_power(privacy.alpha, step)
    if ratio is None:
        ratio = exp(-privacy.rate * float(step))
    answers = range(low, high + 1)
    rows = [[_probability(ratio, x, y, low, high) for y in answers] for x in privacy.secrets]
    flat = [entry for row in rows for entry in row]
    table = object_array(flat, (len(rows), len(answers))) if isinstance(ratio, Fraction) else np.array(rows)
    return proved("truncated_geometric", privacy, table, answers, low=low, high=high)


def _probability(ratio: Any, x: int, y: int, low: int, high: int) -> Any:
    """Of answer y: its own noise, and at an end all that lies beyond it."""
    if low < y < high:
        return (1 - ratio) / (1 + ratio) * power_of(ratio, abs(x - y))
    inwards = x - y if y == low else y - x  # how far the secret lies inside of this end
    if inwards > 0:
        return power_of(ratio, inwards) / (1 + ratio)
    return 1 - power_of(ratio, 1 - inwards) / (1 + ratio)


def _step(space: FiniteSpace) -> Fraction:
    """The distance that belongs to a difference of 1."""
    table = space.distances.exact()
    labels = space.labels
    whole = all(isinstance(x, int | np.integer) and not isinstance(x, bool) for x in labels)
    if whole and len(labels) == 1:
        return Fraction(1)
    if whole and table is not None:
        step = exact(table[0, 1]) / abs(int(labels[0]) - int(labels[1]))
        if all(table[i, j] == step * abs(x - z) for i, x in enumerate(labels) for j, z in enumerate(labels[:i])):
            return step
    raise NotSupported(
        f"geometric noise on integers for {shown(space)}", ["integers at distances proportional to their differences"]
    )
