"""WHAT is at stake: losses and gains, their algebra and their classes."""

from collections.abc import Callable

from sfumato.losses.classes import (
    Monotone,
    SingleCrossing,
    is_monotone,
    is_single_crossing,
    is_strictly_monotone,
    is_trivial,
)
from sfumato.losses.loss import Gain, Loss, add, lift, restrict_loss, scale
from sfumato.losses.standard import (
    absolute,
    bin,
    default,
    distance,
    function,
    guess,
    matrix,
    member,
    nib,
    squared,
    threshold,
)

LOSSES: dict[str, Callable[..., Loss]] = {
    "bin": bin,
    "nib": nib,
    "distance": distance,
    "absolute": absolute,
    "squared": squared,
    "threshold": threshold,
    "member": member,
    "matrix": matrix,
    "function": function,
}
"""Every constructor of a loss, by name."""

__all__ = [
    "LOSSES",
    "Gain",
    "Loss",
    "Monotone",
    "SingleCrossing",
    "absolute",
    "add",
    "bin",
    "default",
    "distance",
    "function",
    "guess",
    "is_monotone",
    "is_single_crossing",
    "is_strictly_monotone",
    "is_trivial",
    "lift",
    "matrix",
    "member",
    "nib",
    "restrict_loss",
    "scale",
    "squared",
    "threshold",
]
