"""L-BFGS with a search that halves steps: where a function is infinite, it turns back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.numbers import Floats

_HALVINGS = 40  # of a step
_ARMIJO = 1e-4  # of the slope is the least that a step gains
_MEMORY = 30  # steps that tell of the curvature
_WINDOW, _SMALLEST_FALL = 50, 1e-5  # steps, and how much they gain at least in all, or the descent ends

Slope = Callable[[Floats], tuple[float, Floats]]
"""A function with its gradient."""


def descended(
    function: Slope, point: Floats, steps: int, enough: Callable[[], bool], farthest: float = np.inf
) -> Floats:
    """The point that a descent comes to, in so many steps, or until it is enough; none moves an entry any farther."""
    value, gradient = function(point)
    memory: list[tuple[Floats, Floats, float]] = []
    passed = [value]
    for _ in range(steps):
        direction = _two_loops(gradient, memory)
        slope = float(direction @ gradient)
        if not slope < 0 or enough():
            break
        length = 1.0 if memory else min(1.0, 1.0 / float(np.abs(gradient).max()))
        length = min(length, farthest / float(np.abs(direction).max()))
        for _ in range(_HALVINGS):
            after, turned = function(point + length * direction)
            if after <= value + _ARMIJO * length * slope:
                break
            length /= 2
        else:
            break
        moved, bent = length * direction, turned - gradient
        curvature = float(moved @ bent)
        if curvature > 1e-12 * float(moved @ moved) ** 0.5 * float(bent @ bent) ** 0.5:
            memory = [*memory[1 - _MEMORY :], (moved, bent, curvature)]
        point, value, gradient = point + moved, after, turned
        passed.append(value)
        if len(passed) > _WINDOW and passed[-_WINDOW] - value < _SMALLEST_FALL:
            break
    return point


def _two_loops(gradient: Floats, memory: list[tuple[Floats, Floats, float]]) -> Floats:
    """The quasi-Newton direction (Nocedal and Wright 2006, algorithm 7.4)."""
    direction, shares = -gradient, []
    for moved, bent, curvature in reversed(memory):
        share = float(moved @ direction) / curvature
        shares.append(share)
        direction = direction - share * bent
    if memory:
        moved, bent, curvature = memory[-1]
        direction = direction * (curvature / float(bent @ bent))
    for (moved, bent, curvature), share in zip(memory, reversed(shares), strict=True):
        direction = direction + (share - float(bent @ direction) / curvature) * moved
    return direction
