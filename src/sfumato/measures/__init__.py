"""HOW MUCH: expected loss and remap, vulnerability, leakage, capacity, entropy, utility measures."""

from sfumato.measures import entropy, uncertainty, utility
from sfumato.measures.branching import (
    GENERATORS,
    Branch,
    Generator,
    Unbranched,
    divergence,
    is_convex_homogeneous,
    largest_gain,
    polygon,
)
from sfumato.measures.entropy import *
from sfumato.measures.information import ShannonCapacity, shannon_capacity
from sfumato.measures.leakage import Capacity, RiskCapacity, additive_capacity, bayes_risk_capacity, capacity, leakage
from sfumato.measures.shares import Workload, mean_workload, recoverable, share_variance, workload
from sfumato.measures.sufficiency import SufficiencyGround
from sfumato.measures.uncertainty import *
from sfumato.measures.utility import *

__all__ = [
    "GENERATORS",
    "Branch",
    "Capacity",
    "Generator",
    "RiskCapacity",
    "ShannonCapacity",
    "SufficiencyGround",
    "Unbranched",
    "Workload",
    "additive_capacity",
    "bayes_risk_capacity",
    "capacity",
    "divergence",
    "is_convex_homogeneous",
    "largest_gain",
    "leakage",
    "mean_workload",
    "polygon",
    "recoverable",
    "shannon_capacity",
    "share_variance",
    "workload",
]
__all__ += entropy.__all__ + uncertainty.__all__ + utility.__all__
