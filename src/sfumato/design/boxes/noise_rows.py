"""Noise that is the same everywhere as the rows of a table, in floats; what leaves the box is moved to its border."""

from __future__ import annotations

import numpy as np

from sfumato.certify.noise import BoxNoise, whole_table
from sfumato.numbers import Floats
from sfumato.spaces.splines import Rounding


def clamped_points(rounding: Rounding) -> Floats:
    """Where lattice points are, moved into the box: what noise tells."""
    grids = np.meshgrid(*([float(point) for point in axis.points] for axis in rounding.axes), indexing="ij")
    sides = [float(side) for side in rounding.box.sides]
    return np.asarray(np.clip(np.stack(grids, axis=-1).reshape(-1, len(grids)), 0.0, sides))


def clamped_rows(noise: BoxNoise) -> Floats:
    """Chances of all outputs at all lattice points, axis by axis: what leaves the box is moved to its border."""
    chances, extended = whole_table(noise.table).astype(np.float64), np.ones(())
    for axis, (many, reach) in enumerate(zip(noise.rounding.shape, noise.reach, strict=True)):
        chances = _clamped(chances, axis, many, reach)
        border = np.ones(many)
        border[[0, -1]] += reach
        extended = np.multiply.outer(extended, border)
    order = (*range(0, chances.ndim, 2), *range(1, chances.ndim, 2))
    rows = chances.transpose(order).reshape(len(noise.rounding), -1) + float(noise.floor) * extended.ravel()
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _clamped(chances: Floats, done: int, many: int, reach: int) -> Floats:
    """Offsets along the next axis become lattice points and outputs along two; tails are summed from their ends."""
    offsets = np.moveaxis(chances, 2 * done, 0)
    shift = np.subtract.outer(-np.arange(many), -np.arange(many)) + reach  # where the offset of each pair stands
    last = len(offsets) - 1
    inside = ((shift >= 0) & (shift <= last)).reshape(many, many, *[1] * (offsets.ndim - 1))
    found = np.where(inside, offsets[np.clip(shift, 0, last)], 0.0)
    low, high = np.cumsum(offsets, axis=0), np.cumsum(offsets[::-1], axis=0)[::-1]
    for v in range(many):
        found[v, 0] = low[reach - v] if v <= reach else 0.0
        upper = reach + many - 1 - v
        found[v, -1] = high[upper] if upper <= last else 0.0
    return np.moveaxis(found, (0, 1), (2 * done, 2 * done + 1))
