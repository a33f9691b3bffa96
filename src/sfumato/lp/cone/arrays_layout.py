"""Which layout the pairs of a program get."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.lp.cone.arrays_backend import Arrays
from sfumato.lp.cone.arrays_band import BandedCone, band
from sfumato.lp.cone.arrays_pairs import Cone, DenseCone
from sfumato.lp.cone.program import ColumnProgram

__all__ = ["cone_for"]

_NARROW = 0.2  # of the rows: a band that wide takes as long as a full matrix
_SMALLEST_BLOCK = 4  # rows: smaller ones are all overhead


def cone_for(program: ColumnProgram, weight: NDArray[np.float64], arrays: Arrays) -> Cone:
    """The pairs of a program that have a weight, in the layout that needs less work."""
    order, width = band(program)
    size = max(width, _SMALLEST_BLOCK)
    if size <= _NARROW * program.shape[0]:
        return BandedCone(arrays, program, weight, order, size)
    if arrays.fused:
        from sfumato.lp.cone.arrays_triton import FusedCone

        return FusedCone(arrays, program, weight)
    return DenseCone(arrays, program, weight)
