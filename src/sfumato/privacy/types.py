"""What a privacy type is made of: vertices and kernels, capacities, regular priors and their bounds, thresholds of ε.

A view of :mod:`sfumato.privacy`, which ``import sfumato as sf`` offers as ``sf.types``.
"""

from sfumato.privacy import decomposition, regular
from sfumato.privacy.algebraic import Endpoint, Stretch
from sfumato.privacy.capacities import TypeCapacities, capacities
from sfumato.privacy.capacity_program import CapacityMethod
from sfumato.privacy.decomposition import *
from sfumato.privacy.estimate import KernelEstimate, estimate_kernels
from sfumato.privacy.kernels import Kernel, Kernels, Orbits, count_kernels, each_kernel, kernels, orbits
from sfumato.privacy.regular import *
from sfumato.privacy.similarity import similarity, symmetry_classes
from sfumato.privacy.threshold import Threshold, regular_threshold, tight_threshold
from sfumato.privacy.vertices import Vertex, Vertices, vertices

__all__ = [
    "CapacityMethod",
    "Endpoint",
    "Kernel",
    "KernelEstimate",
    "Kernels",
    "Orbits",
    "Stretch",
    "Threshold",
    "TypeCapacities",
    "Vertex",
    "Vertices",
    "capacities",
    "count_kernels",
    "each_kernel",
    "estimate_kernels",
    "kernels",
    "orbits",
    "regular_threshold",
    "similarity",
    "symmetry_classes",
    "tight_threshold",
    "vertices",
]
__all__ += decomposition.__all__ + regular.__all__
