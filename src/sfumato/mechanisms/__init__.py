"""KNOWN answers: mechanisms with a name, each with its promise and its proof."""

from sfumato.mechanisms import continuous
from sfumato.mechanisms.lattice import Lattice, LatticeSolution
from sfumato.mechanisms.line import InfiniteGeometric, geometric, hamming_kernel
from sfumato.mechanisms.response import (
    binary,
    closest_pair,
    dual_random_response,
    membership,
    one_against_rest,
    random_response,
)
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
    "InfiniteGeometric",
    "Lattice",
    "LatticeMechanism",
    "LatticeSolution",
    "LatticeThreshold",
    "ProductMechanism",
    "binary",
    "closest_pair",
    "continuous",
    "dual_random_response",
    "geometric",
    "hamming_kernel",
    "has_lattice_tight_constraints",
    "lattice_threshold",
    "lattice_tight_constraints",
    "membership",
    "one_against_rest",
    "product_mechanism",
    "random_response",
    "tight_constraints",
]
