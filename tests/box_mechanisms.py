"""Small mechanisms for coordinates, by hand: a column that doubles at each lattice point, and products."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from sfumato.certify.coordinates import BoxBound, BoxClaim, BoxMechanism, prove_on_box
from sfumato.certify.mechanism import Dual
from sfumato.channels.prior import Prior
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.box import box
from sfumato.spaces.splines import rounding_of

DOUBLING = np.array([[1, 19], [2, 18], [4, 16], [8, 12]])
"""Weights of four lattice points on two cells of side 1; needs ε = 3/4, or 5/7 with cells halved once, of 20."""


def doubling(axes: int = 1, unit: str = "km", claimed: bool = True, **promise: Any) -> BoxMechanism:
    """Each axis of [0, 2]^k for itself: M(v)(y) = Π M(v_i)(y_i), outputs 3/2 and 1/2 along each.

    Its promise is proved; what it claims to lose is made up, for who shows it.
    """
    where = box((2,) * axes, step=1, unit=unit, metric="manhattan" if axes > 1 else "euclidean")
    ends = [Fraction(3, 2), Fraction(1, 2)]
    outputs = ends if axes == 1 else list(product(ends, repeat=axes))
    privacy = PrivacyType(where, **(promise or {"epsilon": "3/4"}))
    weights = reduce(np.kron, [DOUBLING] * axes)
    proved = prove_on_box(weights, privacy, rounding_of(where), outputs, halvings=0, provenance={"method": "by hand"})
    if not claimed:
        return proved
    none = np.zeros(0, dtype=np.int64)
    bound = BoxBound(Fraction(1, 2) * axes, (1,) * axes, b"", Dual(none, none, none, none))
    claim = BoxClaim(Prior.uniform(where), CoordinateLoss(where), Fraction(3, 5) * axes, 4, bound)
    return replace(proved, claim=claim, proof=replace(proved.proof, loss=claim.value, bound=bound.value))
