"""What every solver returns: a matrix and multipliers. Nobody believes either before they are repaired and proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.numbers import Array, Floats, Integers, floats
from sfumato.watch import Watch

Progress = Callable[..., object] | None
"""Who is called with the state of a solver after each iteration."""

TimeLimit = float | Watch | None
"""Seconds, or the watch of a call that has other stages too."""


def tell_state(progress: Progress, state: object, watch: Watch) -> None:
    """Say where a search stands, if anybody listens; who answers with a KeyboardInterrupt wants what there is."""
    try:
        if progress is not None:
            progress(state)
    except KeyboardInterrupt:
        watch.stop()


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Z ≥ 0 on M(first)(action) − e^{εd} M(second)(action) ≤ 0, the nonzero ones; floats or rationals."""

    first: Integers
    second: Integers
    action: Integers
    values: Array

    @classmethod
    def summed(cls, n: int, first: Integers, second: Integers, action: Integers, values: Array) -> Multipliers:
        """One for each pair of n secrets and action, the sum of all that are given for it."""
        keys, where = np.unique((action * n + first) * n + second, return_inverse=True)
        pair = keys % n**2
        return cls(pair // n, pair % n, keys // n**2, np.bincount(where, values, len(keys)))

    @classmethod
    def joined(cls, *parts: Multipliers) -> Multipliers:
        """All of them, one list after the other."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def __len__(self) -> int:
        return len(self.values)

    def reduced(self, cost: Floats, factors: Floats) -> Floats:
        """C + AᵀZ in floats, given e^{εd} of the pairs; its least entries in each row are prices, their sum a bound."""
        return replace(self, values=floats(self.values)).added(cost.copy(), factors)

    def added(self, cost: Array, factors: Array) -> Array:
        """The same in floats or rationals, in the place of a cost whose rows follow each other."""
        entries, m = cost.reshape(-1), cost.shape[1]
        np.add.at(entries, self.first * m + self.action, self.values)
        np.subtract.at(entries, self.second * m + self.action, self.values * factors)
        return cost

    def __getitem__(self, which: NDArray[np.bool_] | slice) -> Multipliers:
        return Multipliers(self.first[which], self.second[which], self.action[which], self.values[which])


@dataclass(frozen=True, eq=False)
class EventMultipliers:
    """Z ≥ 0 on M(x)(action) − f M(z)(action), one excess of the ``pair``-th promise about events."""

    pair: Integers
    action: Integers
    values: Array


NO_MULTIPLIERS = Multipliers(*(np.zeros(0, dtype=np.int64),) * 3, np.zeros(0))
"""Which prove no more than the costs alone do."""

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
