"""WHAT is promised: privacy types, whether a channel keeps one, and what a type is made of."""

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
from sfumato.privacy.ratios import ratio_bounds, together_private
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
from sfumato.privacy.satisfaction import (
    Tightest,
    Violation,
    row_distance,
    satisfies,
    smallest_epsilon,
    tightest_pair,
)
from sfumato.privacy.similarity import similarity, symmetry_classes
from sfumato.privacy.threshold import Threshold, regular_threshold, tight_threshold
from sfumato.privacy.type import PrivacyType, rational_power
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
    "PrivacyType",
    "RegularRegion",
    "Separation",
    "Splitting",
    "Stretch",
    "Threshold",
    "Tightest",
    "TypeCapacities",
    "UtilityBound",
    "Vertex",
    "Vertices",
    "Violation",
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
    "ratio_bounds",
    "rational_power",
    "regular_region",
    "regular_threshold",
    "row_distance",
    "row_graphs",
    "satisfies",
    "similarity",
    "smallest_epsilon",
    "symmetry_classes",
    "tight_threshold",
    "tightest_pair",
    "together_private",
    "utility_bound",
    "vertices",
]
