"""The same noise everywhere as a table: moved into the box, and each output to where it loses least.

In a box that is not much larger than 1/ε that is far better than noise whose outputs stay where they are, and it takes
a part of a second: what there is where the time was not enough for a program, or where its lattice is coarse.
"""

from __future__ import annotations

from math import ceil, prod

from sfumato.channels.prior import Prior
from sfumato.design.boxes.moments import density_moments
from sfumato.design.boxes.noise_rows import clamped_points, clamped_rows
from sfumato.design.boxes.optimal import LARGEST_LATTICE
from sfumato.design.boxes.table import BoxTable, moved_outputs
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.mechanisms.box_noise import laplace_noise
from sfumato.numbers import exact
from sfumato.privacy.type import PrivacyType, as_box_type
from sfumato.spaces.box import Box
from sfumato.spaces.splines import rounding_of
from sfumato.watch import Watch

# ε times the side of a lattice cell, by dimension: half of it gains less than 1 % of the loss on an interval and 2 % in
# the plane, and takes a table that is 4^k times as large.
_FINE = {1: 1 / 4, 2: 1 / 2, 3: 1.0}
_WIDER = 1.1  # times as wide are cells made, again and again, until there are few enough
_COARSEST = 3.0  # such a side beyond which rounding costs more than noise
_MOST_ROWS = {1: 200, 2: 700, 3: 700}  # of a table, and twice as many where there is time for their proof
_SECONDS = 20.0  # that is enough of it
_SMALLEST = 1.0  # ε times a box below which noise, whatever is made of it, is hardly better than telling nothing
_PARTS = {1: 4, 2: 2, 3: 2}  # of a piece between breaks, for its loss
_MOST_LOSSES = 20_000_000  # of outputs at points: a box may have a million cells


def clamped_noise(prior: Prior, loss: CoordinateLoss, privacy: PrivacyType, watch: Watch) -> BoxTable | None:
    """Such a table in floats, on a lattice of a few hundred points; None where it is not worth it, or does not fit.

    Examples
    --------
    >>> from sfumato.losses import distance
    >>> from sfumato.spaces.box import box
    >>> square = box((3, 3), step=1)
    >>> found = clamped_noise(Prior.uniform(square), distance(square), PrivacyType(square, epsilon=1), Watch())
    >>> found.rounding.shape, round(found.value, 2)
    ((8, 8), 0.98)
    """
    (privacy, box), rate = as_box_type(privacy), privacy.rate
    most = min(_MOST_ROWS[box.dimension] * (2 if watch.allows(_SECONDS) else 1), LARGEST_LATTICE[box.dimension])
    cells = _cells(box, rate, most)
    if rate * float(max(box.sides)) < _SMALLEST or cells is None:
        return None
    pieces = prod(many + there for many, there in zip(cells, box.shape, strict=True)) * prod(many + 2 for many in cells)
    parts = next((p for p in range(_PARTS[box.dimension], 0, -1) if pieces * p**box.dimension <= _MOST_LOSSES), None)
    if parts is None:
        return None
    steps = tuple(side / many for side, many in zip(box.sides, cells, strict=True))
    noise = laplace_noise(PrivacyType(Box(box.sides, steps, box.metric), epsilon=exact(rate)), parts=1)
    breaks = [[step * k for k in range(many + 1)] for step, many in zip(steps, cells, strict=True)]
    rounding = rounding_of(box, breaks=breaks)
    weighed = density_moments(rounding, prior.float_weights, parts)
    rows, told = clamped_rows(noise), clamped_points(rounding)
    table = BoxTable(rounding, noise.halvings, told, rows, 0.0, weighed.parts)
    return moved_outputs(table, weighed, loss)


def _cells(box: Box, rate: float, most: int) -> tuple[int, ...] | None:
    """Cells of the lattice along each axis."""
    width = _FINE[box.dimension]
    while width <= _COARSEST:
        cells = tuple(max(1, ceil(rate * float(side) / width - 1e-9)) for side in box.sides)
        if prod(many + 2 for many in cells) <= most:
            return cells
        width *= _WIDER
    return None
