"""Secrets in an interval: densities, the Laplace mechanism, its lattices and its pixels.

The theory is that of Fernandes, McIver and Morgan (2021), called paper B here.
"""

from sfumato.mechanisms.continuous.chain import line_hyper_distance
from sfumato.mechanisms.continuous.convergence import (
    Climb,
    ClimbRung,
    Gap,
    climb,
    laplace_gap,
    theorem_14_constant,
)
from sfumato.mechanisms.continuous.density import MASS_TOLERANCE, Density, as_density, gather
from sfumato.mechanisms.continuous.enclosure import LossEnclosure, enclosed_loss
from sfumato.mechanisms.continuous.geometric import Smear, geometric_refinement, lattice_geometric, smear
from sfumato.mechanisms.continuous.interval import UNIT, Interval, lattice, lattice_space
from sfumato.mechanisms.continuous.laplace import Laplace, TruncatedLaplace, laplace, truncated_laplace
from sfumato.mechanisms.continuous.loss import IntervalLoss, absolute_error, lattice_loss, squared_error, step_loss
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
    "Climb",
    "ClimbRung",
    "Density",
    "Enclosure",
    "Estimate",
    "Gap",
    "Interval",
    "IntervalLoss",
    "IntervalMechanism",
    "Laplace",
    "LossEnclosure",
    "Pixelated",
    "Rung",
    "Smear",
    "Stepped",
    "SteppedChannel",
    "TruncatedLaplace",
    "absolute_error",
    "as_density",
    "climb",
    "enclosed_loss",
    "gather",
    "geometric_refinement",
    "laplace",
    "laplace_gap",
    "lattice",
    "lattice_geometric",
    "lattice_loss",
    "lattice_space",
    "line_hyper_distance",
    "on_lattice",
    "pixelate",
    "pixelated_mechanism",
    "posterior_loss",
    "smear",
    "squared_error",
    "step_loss",
    "stepped",
    "theorem_14_constant",
    "truncated_laplace",
]

# the names of version 0.1
Rung, Enclosure = ClimbRung, LossEnclosure
