"""WHAT is promised: privacy types, whether a channel keeps one, and what a type is made of."""

from sfumato.privacy import predicates
from sfumato.privacy.algebraic import Endpoint, Stretch
from sfumato.privacy.axioms import AxiomReport, satisfies_axioms
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
from sfumato.privacy.predicates import Predicate
from sfumato.privacy.predicates_definitions import (
    Breach,
    Definition,
    breaks,
    k_of_n_outputs,
    k_of_n_pairs,
    mixture,
    probabilistic,
)
from sfumato.privacy.predicates_satisfaction import BrokenEvent, satisfies_predicate
from sfumato.privacy.promise import rational_power
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
from sfumato.privacy.tradeoff import TradeOff, smallest_delta, smallest_epsilon_at, tradeoff, worst_tradeoff
from sfumato.privacy.type import PrivacyType
from sfumato.privacy.vertices import Vertex, Vertices, vertices

__all__ = [
    "AxiomReport",
    "Breach",
    "BrokenEvent",
    "CapacityMethod",
    "Combination",
    "Decomposition",
    "Definition",
    "Endpoint",
    "Kernel",
    "KernelEstimate",
    "Kernels",
    "Orbits",
    "Predicate",
    "PrivacyType",
    "RegularRegion",
    "Separation",
    "Splitting",
    "Stretch",
    "Threshold",
    "Tightest",
    "TradeOff",
    "TypeCapacities",
    "UtilityBound",
    "Vertex",
    "Vertices",
    "Violation",
    "breaks",
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
    "k_of_n_outputs",
    "k_of_n_pairs",
    "kernels",
    "leakage_bound",
    "maximally_sufficient",
    "mixture",
    "optimal_utility",
    "orbits",
    "predicates",
    "probabilistic",
    "ratio_bounds",
    "rational_power",
    "regular_region",
    "regular_threshold",
    "row_distance",
    "row_graphs",
    "satisfies",
    "satisfies_axioms",
    "satisfies_predicate",
    "similarity",
    "smallest_delta",
    "smallest_epsilon",
    "smallest_epsilon_at",
    "symmetry_classes",
    "tight_threshold",
    "tightest_pair",
    "together_private",
    "tradeoff",
    "utility_bound",
    "vertices",
    "worst_tradeoff",
]
