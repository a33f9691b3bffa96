"""What every solver returns: a matrix and multipliers. Nobody believes either before they are repaired and proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.numbers import Array
from sfumato.watch import Watch

Progress = Callable[..., object] | None
"""Who is called with the state of a solver after each iteration."""

TimeLimit = float | Watch | None
"""Seconds, or the watch of a call that has other stages too."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Z ≥ 0 on M(first)(action) − e^{εd} M(second)(action) ≤ 0, the nonzero ones; floats or rationals."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    action: NDArray[np.int64]
    values: Array

    @classmethod
    def summed(
        cls, n: int, first: NDArray[np.int64], second: NDArray[np.int64], action: NDArray[np.int64], values: Array
    ) -> Multipliers:
        """One for each pair of n secrets and action, the sum of all that are given for it."""
        keys, where = np.unique((action * n + first) * n + second, return_inverse=True)
        pair = keys % n**2
        return cls(pair // n, pair % n, keys // n**2, np.bincount(where, values, len(keys)))

    def __len__(self) -> int:
        return len(self.values)

    def reduced(self, cost: NDArray[np.float64], factors: NDArray[np.float64]) -> NDArray[np.float64]:
        """C + AᵀZ in floats, given e^{εd} of the pairs; its least entries in each row are prices, their sum a bound."""
        n, m = cost.shape
        values = self.values.astype(np.float64)
        gained = np.bincount(self.first * m + self.action, values, n * m)
        spent = np.bincount(self.second * m + self.action, values * factors, n * m)
        return np.asarray(cost + (gained - spent).reshape(n, m))

    def __getitem__(self, which: NDArray[np.bool_] | slice) -> Multipliers:
        return Multipliers(self.first[which], self.second[which], self.action[which], self.values[which])


@dataclass(frozen=True, eq=False)
class EventMultipliers:
    """Z ≥ 0 on M(x)(action) − f M(z)(action), one excess of the ``pair``-th promise about events."""

    pair: NDArray[np.int64]
    action: NDArray[np.int64]
    values: Array


NO_EVENTS = EventMultipliers(*(np.zeros(0, dtype=np.int64),) * 3)
"""Where nothing is promised about events."""


@dataclass(frozen=True, eq=False)
class Answer:
    """An approximate (or exact) optimum: one row a secret, one column an action; prices for each limit."""

    matrix: Array
    multipliers: Multipliers
    method: str
    iterations: int
    seconds: float
    finished: bool = True
    prices: tuple[Array, ...] = ()
    events: EventMultipliers = NO_EVENTS
