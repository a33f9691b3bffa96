"""A mechanism on a Manhattan grid with e^ε = 2, rounded to integers and checked exactly, where the solver ran.

With that promise every bound is a power of two, so 64-bit integers decide: N_x ≤ 2 N_z for neighbours, rows that sum to
one total. Needs torch alone, so that it runs on machines where nothing else is installed.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import torch

__all__ = ["checked"]

BITS = 50  # of the total: sums of a row, and doubles, hold it


def checked(matrix: np.ndarray, side: int, prior: np.ndarray, representatives: Any, device: str) -> dict[str, float]:
    """The loss of integer weights next to a matrix whose privacy was checked entry by entry, and how long it took."""
    start = perf_counter()
    shares = torch.as_tensor(matrix, dtype=torch.float64, device=device)
    if representatives is not None:
        shares = spread(shares, side, torch.as_tensor(representatives, device=device))
    weights = torch.clamp((shares * 2.0**BITS).round().to(torch.int64), min=0).reshape(side, side, -1)
    del shares
    for axis in (0, 1):
        close(weights, axis)
    weights = weights.reshape(side * side, -1)
    total = fill(weights, side)
    broken = violations(weights.reshape(side, side, -1))
    uneven = int((weights.sum(dim=1) != total).sum())
    if broken or uneven:
        raise AssertionError(f"{broken} pairs break the promise, {uneven} rows do not sum to {total}")
    return {"repaired_loss": loss(weights, total, side, prior), "integer_checks": 4 * side * (side - 1) * side * side,
            "check_seconds": perf_counter() - start}  # fmt: skip


def spread(columns: torch.Tensor, side: int, representatives: torch.Tensor) -> torch.Tensor:
    """All columns from those of representatives, scaled by their orbits: the mean over the square's symmetries."""
    n = side * side
    whole = torch.zeros((n, n), dtype=torch.float64, device=columns.device)
    numbers = torch.arange(n, device=columns.device).reshape(side, side)
    for turned in (numbers, numbers.T):
        for flips in ((), (0,), (1,), (0, 1)):
            moved = torch.flip(turned, flips).reshape(-1)
            for low in range(0, n, 1000):
                rows = moved[low : low + 1000]
                whole[rows[:, None], moved[representatives][None, :]] += columns[low : low + 1000] / 8
    return whole


def close(weights: torch.Tensor, axis: int) -> None:
    """The least integers above with N_x ≤ 2 N_z for neighbours along an axis."""
    lines = weights if axis == 0 else weights.transpose(0, 1)
    last = len(lines) - 1
    for k in range(last):
        lines[k + 1] = torch.maximum(lines[k + 1], (lines[k] + 1) // 2)
    for k in range(last, 0, -1):
        lines[k - 1] = torch.maximum(lines[k - 1], (lines[k] + 1) // 2)


def fill(weights: torch.Tensor, side: int) -> int:
    """Add what rows lack to one output, with the least constant that keeps it private; the total."""
    sums = weights.sum(dim=1)
    middle = (side // 2) * side + side // 2
    column = (weights[:, middle] + sums.max() - sums).reshape(side, side)
    lack = max(int((a - 2 * b).max()) for low, high in neighbours(column) for a, b in ((low, high), (high, low)))
    weights[:, middle] = column.reshape(-1) + max(lack, 0)
    return int(sums.max()) + max(lack, 0)


def violations(weights: torch.Tensor) -> int:
    """Number of entries above twice their neighbour."""
    return sum(int((a > 2 * b).sum()) for low, high in neighbours(weights) for a, b in ((low, high), (high, low)))


def neighbours(table: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(table[:-1], table[1:]), (table[:, :-1], table[:, 1:])]


def loss(weights: torch.Tensor, total: int, side: int, prior: np.ndarray) -> float:
    """Expected Euclidean distance, in doubles: a relative error of 1e-11 at most."""
    n = side * side
    i, j = (part.to(torch.float64) for part in (torch.arange(n) // side, torch.arange(n) % side))
    i, j = i.to(weights.device), j.to(weights.device)
    weigh = torch.as_tensor(prior, dtype=torch.float64, device=weights.device)
    value = 0.0
    for low in range(0, n, 1000):
        rows = slice(low, low + 1000)
        distances = torch.hypot(i[rows, None] - i[None, :], j[rows, None] - j[None, :])
        value += float((weigh[rows] * (weights[rows].to(torch.float64) * distances).sum(dim=1)).sum())
    return value / total
