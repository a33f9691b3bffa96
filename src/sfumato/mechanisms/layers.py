"""A bound for large boxes: layers of uniform boxes below a prior.

Where points are uniform in a box, no mechanism loses less than the average of (k/ε)(1 − e^{−εt}), with t the distance
of a point from the border (``docs/theory/coordinates.md``). A prior that is a sum of uniform ones, one upon the other,
costs at least what they cost one by one. Which layers to take is a matter of search; any will do.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.certify.noise import Layer
from sfumato.channels.prior import Prior
from sfumato.numbers import Floats, common_denominator
from sfumato.spaces.box import Box
from sfumato.watch import Watch

_MOST_LAYERS = 200
_LEAST_GAIN = 1e-4  # of the bound so far: a layer that adds less is the last
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)

Ends = tuple[tuple[int, int], ...]


def layers_of(prior: Prior, box: Box, rate: float, watch: Watch | None = None) -> tuple[Layer, ...]:
    """Boxes of cells, one upon the other, below the counts of a prior; each adds as much to the bound as can be found.

    A layer is as high as the lowest cell in it allows. It is looked for by moving the sides of a box as long as what it
    adds becomes more, from all cells, from the highest one and from the layer before.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> layers_of(Prior.on_cells([1, 1, 4, 4, 4, 4, 1, 1], box((8,), step=1)), box((8,), step=1), 1.0)
    (((0,), (8,), 1), ((2,), (6,), 3))
    """
    steps = tuple(float(step) * rate for step in box.step)
    everything: Ends = tuple((0, side) for side in box.shape)
    counts = np.array(common_denominator(prior.weights)[0].tolist(), dtype=object).reshape(box.shape)
    # wide layers have little border; but where few people are anywhere, the first one may be for a part
    return max(
        (_layers(counts.copy(), first, steps, watch) for first in ([everything], [])), key=lambda found: found[0]
    )[1]


def _layers(
    counts: NDArray[Any], begin: list[Ends], steps: tuple[float, ...], watch: Watch | None
) -> tuple[float, tuple[Layer, ...]]:
    """What layers add up to, and the layers: some to begin with, then the best that are found."""
    left, last = counts.astype(np.float64), tuple((0, side) for side in counts.shape)
    found: list[Layer] = []
    total = 0.0
    while len(found) < _MOST_LAYERS and not (watch is not None and watch.over and found):
        if begin:
            last = begin.pop()
            gain = _gain(left, last, steps)
        else:
            highest = np.unravel_index(int(left.argmax()), left.shape)
            starts = {tuple((0, side) for side in counts.shape), last, tuple((int(i), int(i) + 1) for i in highest)}
            gain, last = max(_climbed(left, start, steps) for start in sorted(starts))
            if gain <= _LEAST_GAIN * total:
                break
        part = counts[tuple(slice(*ends) for ends in last)]
        lowest = int(part.min())
        if lowest:
            part -= lowest
            left[tuple(slice(*ends) for ends in last)] = part.astype(np.float64)
            found.append((tuple(a for a, _ in last), tuple(b for _, b in last), lowest))
            total += gain
    return total, tuple(found)


def _climbed(left: Floats, ends: Ends, steps: tuple[float, ...]) -> tuple[float, Ends]:
    """The best box that moving sides leads to, and what it adds."""
    best = _gain(left, ends, steps)
    while True:
        moved = [(_gain(left, other, steps), other) for other in _neighbours(ends, left.shape)]
        gain, other = max(moved, default=(0.0, ends))
        if gain <= best:
            return best, ends
        best, ends = gain, other


def _neighbours(ends: Ends, shape: tuple[int, ...]) -> list[Ends]:
    """Boxes with one side moved, by 1, 2, 4, … cells."""
    found = []
    for axis, (low, high) in enumerate(ends):
        by = 1
        while by < shape[axis]:
            for start, stop in ((low - by, high), (low + by, high), (low, high - by), (low, high + by)):
                if 0 <= start < stop <= shape[axis]:
                    found.append((*ends[:axis], (start, stop), *ends[axis + 1 :]))
            by *= 2
    return found


def _gain(left: Floats, ends: Ends, steps: tuple[float, ...]) -> float:
    part: NDArray[np.float64] = left[tuple(slice(*pair) for pair in ends)]
    lowest = float(part.min())
    return (
        lowest * part.size * _share(tuple((b - a) * s for (a, b), s in zip(ends, steps, strict=True)))
        if lowest
        else 0.0
    )


@lru_cache(maxsize=1 << 14)
def _share(sides: tuple[float, ...]) -> float:
    """The average of 1 − e^{−t} over a box, t the distance from its border."""
    end = 1 - exp(-min(sides) / 2)
    u = end * (_NODES + 1) / 2
    return float(end / 2 * (_WEIGHTS * prod(1 + 2 * np.log1p(-u) / side for side in sides)).sum())
