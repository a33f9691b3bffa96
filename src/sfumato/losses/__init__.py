"""WHAT is at stake: losses and gains, their algebra and their classes."""

from collections.abc import Callable

from sfumato.losses import classes, loss, standard
from sfumato.losses.classes import *
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.losses.loss import *
from sfumato.losses.standard import *

LOSSES: dict[str, Callable[..., Loss]] = {
    constructor.__name__: constructor
    for constructor in (bin, nib, distance, absolute, squared, threshold, member, matrix, function)
}
"""Every constructor of a loss, by name."""

__all__ = ["LOSSES", "CoordinateLoss"]
__all__ += classes.__all__ + loss.__all__ + standard.__all__
