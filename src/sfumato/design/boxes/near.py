"""Which secrets a corner concerns: those that are short of their prices there, and those near by that can give.

A secret x with π_x ℓ′(c, x) ≥ p_x asks for nothing at the corner c. Where there are thousands of secrets, corners are
therefore covered in groups of neighbours, by the secrets that are short of something at one of them and by those some
1/ε around these: what is left out could have given next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import numpy as np
from scipy.ndimage import maximum_filter

from sfumato.design.boxes.finite import FiniteProblem
from sfumato.lp.proof.covering import Cover, covered
from sfumato.numbers import Floats, Integers
from sfumato.watch import Watch

MOST_AT_ONCE = 700
"""Secrets up to which all corners are covered together."""

_ACCURACY = 1e-5  # What may stay uncovered although it could be covered, as a part of the prices.
_GROUP = 4.0  # ε times the side of a group of corners, about
_GIVING = 4.0  # ε times the distance from which something may be given: e^(−4) of it would arrive


def covered_near(
    problem: FiniteProblem,
    corners: Floats,
    cost: Callable[[Integers, Integers], Floats],
    price: Floats,
    watch: Watch,
) -> Cover:
    """Multipliers for corners, as :func:`~sfumato.lp.proof.covering.covered` finds them.

    Parameters
    ----------
    corners
        One row a corner, in steps from the first secret.
    cost
        What some secrets lose at some corners, times their masses: one row a secret.
    price
        One number a secret.
    """
    secrets, every = np.arange(len(price)), np.arange(len(corners))
    if len(secrets) <= MOST_AT_ONCE:
        return covered(cost(secrets, every), price, problem.logs, _ACCURACY, watch)
    asking = np.flatnonzero(price > 0)
    reach = [2 * ceil(_GIVING / step) + 1 for step in problem.rate * problem.step]
    groups = np.unique(np.floor(corners * (problem.rate * problem.step / _GROUP)), axis=0, return_inverse=True)[1]
    missing, worst, short = np.zeros(len(price)), np.zeros(len(price), dtype=np.int64), np.zeros(len(corners))
    parts: list[tuple[Integers, Integers, Integers, Floats]] = []
    enough = _ACCURACY * float(np.abs(price).sum())
    for group in range(int(groups.max()) + 1):
        here = np.flatnonzero(groups.ravel() == group)
        needy = np.zeros(len(price), dtype=bool)
        needy[asking] = (cost(asking, here) < price[asking, None]).any(axis=1)
        if not needy.any():
            continue
        near = np.flatnonzero(maximum_filter(needy.reshape(problem.shape), size=reach).ravel())
        own = price[near]
        accuracy = enough / max(float(np.abs(own).sum()), enough)
        found = covered(cost(near, here), own, problem.logs_among(near), accuracy, watch)
        parts.append((near[found.first], near[found.second], here[found.column], found.values))
        worse = found.missing > missing[near]
        missing[near[worse]], worst[near[worse]] = found.missing[worse], here[found.worst[worse]]
        short[here] = found.short
    first, second, column = (np.concatenate([np.zeros(0, np.int64), *(p[k] for p in parts)]) for k in range(3))
    return Cover(first, second, column, np.concatenate([np.zeros(0), *(p[3] for p in parts)]), missing, worst, short)
