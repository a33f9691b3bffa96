"""How the axes of a box are cut: cells of lattices, parts of cells and of pieces, and the breaks that bound them."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, prod

import numpy as np

from sfumato.certify import kernel
from sfumato.numbers import Floats
from sfumato.spaces.box import Box
from sfumato.spaces.splines import Rounding

# Lattice cells are put in step with the cells of a box where that takes no more than so many times as many of them.
_IN_STEP = 1.25
_INTEGRATED = 0.1  # ε times the distance of points between which losses are interpolated, at most
_MOST_POINTS = 40_000  # of these
_FEWEST_PIECES = {1: 256, 2: 24, 3: 8}  # between these along an axis: where ε is small, the box is what is long
_BYTES = 2  # of a number of a table in a file, at least


def lattice_cells(box: Box, rate: float, side: float) -> tuple[int, ...]:
    """Lattice cells along each axis, of about this side in units of 1/ε, in step with the cells of the box.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> lattice_cells(box((10, 7), step=1), 1.0, 0.5), lattice_cells(box((10, 7), step=1), 1.0, 0.9)
    ((20, 14), (12, 8))
    """
    found = []
    for cells, length in zip(box.shape, box.sides, strict=True):
        wanted = max(1, ceil(rate * float(length) / side - 1e-9))
        even = (
            next(c for c in range(wanted, cells + 1) if cells % c == 0)
            if wanted <= cells
            else cells * ceil(wanted / cells)
        )
        found.append(even if even <= _IN_STEP * wanted else wanted)
    return tuple(found)


def parts_of_cells(box: Box, fineness: float, mesh: float) -> tuple[int, ...]:
    """Into how many parts the cells of a box are cut along each axis, to be no wider than that."""
    return tuple(
        max(1 if cells > 1 else 2, ceil(fineness * float(step) / mesh - 1e-9))
        for cells, step in zip(box.shape, box.step, strict=True)
    )


def cells_apart(box: Box, fineness: float, mesh: float) -> tuple[int, ...]:
    """How many cells apart those of a class are along each axis, to be no farther than that."""
    found = []
    for cells, step in zip(box.shape, box.step, strict=True):
        most = min(mesh / (fineness * float(step)) + 1e-9, cells / 2)
        found.append(max((m for m in range(1, cells + 1) if cells % m == 0 and m <= most), default=1))
    return tuple(found)


def breaks_along(box: Box, density: Floats, axis: int, many: int) -> list[Fraction]:
    """Breaks along an axis: equal cells, or ones that are narrower where more people are."""
    side, step = box.sides[axis], box.step[axis]
    table = density.reshape(box.shape)
    share = table.sum(axis=tuple(i for i in range(box.dimension) if i != axis)) * box.shape[axis]
    if many < 4 or np.ptp(share) < 1e-9:
        return [side * Fraction(k, many) for k in range(many + 1)]
    upto = np.concatenate([[0.0], np.cumsum(0.5 + 0.5 * np.sqrt(share))])
    places = np.interp(np.linspace(0, upto[-1], many + 1), upto, np.arange(len(share) + 1))
    grid = max(1, 4 * many // box.shape[axis])  # breaks are put on some lines of a grid within cells
    return sorted({step * Fraction(int(k), grid) for k in np.rint(places * grid)})


def parts_of_pieces(rounding: Rounding, rate: float, outputs: int | None = None) -> int:
    """Into how many parts pieces are cut, so that what convexity adds to the loss is small.

    The kernel sums losses for no more points than a file with so many outputs may ask for.
    """
    box = rounding.box
    outputs = len(rounding) if outputs is None else outputs
    most = 0.75 * kernel.EFFORT + kernel.EFFORT_OF_A_BYTE * _BYTES * len(rounding) * outputs
    halves = prod(2 * (len(axis.breaks) - 1 + n) for axis, n in zip(rounding.axes, box.shape, strict=True))
    pieces = [len({*axis.breaks, *box.breaks(i)}) - 1 for i, axis in enumerate(rounding.axes)]
    widest = max(float(s) / p for s, p in zip(box.sides, pieces, strict=True))
    close = ceil(rate * widest / _INTEGRATED)
    wanted = max(1, min(kernel.MOST_PARTS, max(close, ceil(_FEWEST_PIECES[box.dimension] / max(pieces)))))
    while wanted > 1 and (
        prod(p * wanted + 1 for p in pieces) > _MOST_POINTS or outputs * halves * wanted**box.dimension > most
    ):
        wanted -= 1
    return wanted
