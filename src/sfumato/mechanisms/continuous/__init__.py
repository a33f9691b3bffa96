"""Secrets in an interval: densities, the Laplace mechanism, its lattices and its pixels.

The theory is that of Fernandes, McIver and Morgan (2021), called paper B here.
"""

from sfumato.mechanisms.continuous import convergence, geometric, loss
from sfumato.mechanisms.continuous.chain import line_hyper_distance
from sfumato.mechanisms.continuous.convergence import *
from sfumato.mechanisms.continuous.density import MASS_TOLERANCE, Density, as_density, gather
from sfumato.mechanisms.continuous.enclosure import LossEnclosure, enclosed_loss
from sfumato.mechanisms.continuous.geometric import *
from sfumato.mechanisms.continuous.interval import UNIT, Interval, lattice, lattice_space
from sfumato.mechanisms.continuous.laplace import Laplace, TruncatedLaplace, laplace, truncated_laplace
from sfumato.mechanisms.continuous.loss import *
from sfumato.mechanisms.continuous.pixelation import (
    IntervalMechanism,
    Pixelated,
    Stepped,
    SteppedChannel,
    on_lattice,
    pixelate,
    pixelated_mechanism,
    stepped,
)
from sfumato.mechanisms.continuous.quadrature import Estimate, posterior_loss

__all__ = [
    "MASS_TOLERANCE",
    "UNIT",
    "Density",
    "Estimate",
    "Interval",
    "IntervalMechanism",
    "Laplace",
    "LossEnclosure",
    "Pixelated",
    "Stepped",
    "SteppedChannel",
    "TruncatedLaplace",
    "as_density",
    "enclosed_loss",
    "gather",
    "laplace",
    "lattice",
    "lattice_space",
    "line_hyper_distance",
    "on_lattice",
    "pixelate",
    "pixelated_mechanism",
    "posterior_loss",
    "stepped",
    "truncated_laplace",
]
__all__ += convergence.__all__ + geometric.__all__ + loss.__all__
