"""KNOWN answers: mechanisms with a name, each with its promise and its proof."""

from sfumato.mechanisms import continuous
from sfumato.mechanisms.exponential import exponential, true_epsilon
from sfumato.mechanisms.lattice import Lattice, LatticeSolution
from sfumato.mechanisms.line import InfiniteGeometric, geometric, hamming_kernel
from sfumato.mechanisms.planar import planar_geometric, planar_laplace
from sfumato.mechanisms.registry import MECHANISMS, KnownMechanism, pixelated_laplace
from sfumato.mechanisms.response import (
    binary,
    closest_pair,
    dual_random_response,
    membership,
    one_against_rest,
    random_response,
)
from sfumato.mechanisms.selection import permute_and_flip
from sfumato.mechanisms.staircase import Staircase, staircase, stretched_geometric
from sfumato.mechanisms.tight import (
    LatticeMechanism,
    LatticeThreshold,
    ProductMechanism,
    has_lattice_tight_constraints,
    lattice_threshold,
    lattice_tight_constraints,
    product_mechanism,
    tight_constraints,
)

__all__ = [
    "MECHANISMS",
    "InfiniteGeometric",
    "KnownMechanism",
    "Lattice",
    "LatticeMechanism",
    "LatticeSolution",
    "LatticeThreshold",
    "ProductMechanism",
    "Staircase",
    "binary",
    "closest_pair",
    "continuous",
    "dual_random_response",
    "exponential",
    "geometric",
    "hamming_kernel",
    "has_lattice_tight_constraints",
    "lattice_threshold",
    "lattice_tight_constraints",
    "membership",
    "one_against_rest",
    "permute_and_flip",
    "pixelated_laplace",
    "planar_geometric",
    "planar_laplace",
    "product_mechanism",
    "random_response",
    "staircase",
    "stretched_geometric",
    "tight_constraints",
    "true_epsilon",
]
