"""What every solver returns: a matrix and multipliers. Nobody believes either before they are repaired and proved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.numbers import Array

__all__ = ["Answer", "Multipliers"]


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Z ≥ 0 on M(first)(action) − e^{εd} M(second)(action) ≤ 0, the nonzero ones; floats or rationals."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    action: NDArray[np.int64]
    values: Array

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, which: NDArray[np.bool_]) -> Multipliers:
        return Multipliers(self.first[which], self.second[which], self.action[which], self.values[which])


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
