"""Losses between points: the distance of what is told from the truth, for any two points of a box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from sfumato.arguments import float_array
from sfumato.errors import InvalidInput
from sfumato.numbers import Floats
from sfumato.spaces.box import Box

_NORMS: Any = {"euclidean": "euclidean", "manhattan": "cityblock", "chebyshev": "chebyshev"}  # their names in scipy


@dataclass(frozen=True)
class CoordinateLoss:
    """ℓ(y, x) = ‖y − x‖ in the norm of a box, for points x of the box and outputs y anywhere.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> CoordinateLoss(box((8, 6), step=1)).at([[0.0, 0.0]], [[3.0, 4.0], [0.0, 1.0]]).tolist()
    [[5.0, 1.0]]
    """

    box: Box
    name: str = "distance"

    def at(self, points: Floats, outputs: Floats) -> Floats:
        """The loss of each output at each point, in floats: one row a point, one column an output."""
        where, told = float_array(points, "points"), float_array(outputs, "outputs")
        for table in (where, told):
            if table.ndim != 2 or table.shape[1] != self.box.dimension:
                raise InvalidInput(f"a point of {self.box.name} is a row of {self.box.dimension} coordinates")
        return np.asarray(cdist(where, told, _NORMS[self.box.metric]))
