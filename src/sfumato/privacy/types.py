"""What a privacy type is made of: vertices and kernels, capacities, regular priors and their bounds, thresholds of ε.

A view of :mod:`sfumato.privacy`, which ``import sfumato as sf`` offers as ``sf.types``.
"""

from sfumato.privacy.algebraic import Endpoint, Stretch
from sfumato.privacy.capacities import CapacityMethod, TypeCapacities, capacities
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
from sfumato.privacy.regular import (
    Combination,
    RegularRegion,
    Separation,
    UtilityBound,
    corner_priors,
    database_leakage_bound,
    has_tight_constraints,
    is_ball_size_symmetric,
    is_regular,
    leakage_bound,
    optimal_utility,
    regular_region,
    utility_bound,
)
from sfumato.privacy.similarity import similarity, symmetry_classes
from sfumato.privacy.threshold import Threshold, regular_threshold, tight_threshold
from sfumato.privacy.vertices import Vertex, Vertices, vertices

__all__ = [
    "CapacityMethod",
    "Combination",
    "Decomposition",
    "Endpoint",
    "Kernel",
    "KernelEstimate",
    "Kernels",
    "Orbits",
    "RegularRegion",
    "Separation",
    "Splitting",
    "Stretch",
    "Threshold",
    "TypeCapacities",
    "UtilityBound",
    "Vertex",
    "Vertices",
    "capacities",
    "corner_priors",
    "count_kernels",
    "database_leakage_bound",
    "decompose",
    "each_kernel",
    "estimate_kernels",
    "has_tight_constraints",
    "is_ball_size_symmetric",
    "is_kernel",
    "is_regular",
    "is_vertex_mechanism",
    "kernels",
    "leakage_bound",
    "maximally_sufficient",
    "optimal_utility",
    "orbits",
    "regular_region",
    "regular_threshold",
    "row_graphs",
    "similarity",
    "symmetry_classes",
    "tight_threshold",
    "utility_bound",
    "vertices",
]
