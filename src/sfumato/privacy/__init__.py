"""WHAT is promised: privacy types, whether a channel keeps one, and what a type is made of."""

from sfumato.privacy.capacities import TypeCapacities, capacities
from sfumato.privacy.decomposition import (
    Decomposition,
    Splitting,
    decompose,
    is_kernel,
    is_vertex_mechanism,
    maximally_sufficient,
    row_graphs,
)
from sfumato.privacy.estimate import KernelEstimate, estimate_kernels
from sfumato.privacy.kernels import Kernel, Kernels, Orbits, count_kernels, each_kernel, kernels, orbits
from sfumato.privacy.satisfaction import (
    Tightest,
    Violation,
    row_distance,
    satisfies,
    smallest_epsilon,
    tightest_pair,
)
from sfumato.privacy.type import PrivacyType, rational_power
from sfumato.privacy.vertices import Vertex, Vertices, vertices

__all__ = [
    "Decomposition",
    "Kernel",
    "KernelEstimate",
    "Kernels",
    "Orbits",
    "PrivacyType",
    "Splitting",
    "Tightest",
    "TypeCapacities",
    "Vertex",
    "Vertices",
    "Violation",
    "capacities",
    "count_kernels",
    "decompose",
    "each_kernel",
    "estimate_kernels",
    "is_kernel",
    "is_vertex_mechanism",
    "kernels",
    "maximally_sufficient",
    "orbits",
    "rational_power",
    "row_distance",
    "row_graphs",
    "satisfies",
    "smallest_epsilon",
    "tightest_pair",
    "vertices",
]
