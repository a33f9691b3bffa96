"""Privacy-compatibility: which ε does an accuracy cost, and are there accuracies that no ε buys?"""

from sfumato.design.compatibility import compatible, curves, families, positive
from sfumato.design.compatibility.compatible import *
from sfumato.design.compatibility.curves import *
from sfumato.design.compatibility.exponential import (
    Exponential,
    TheoremBound,
    best_measure,
    least_exponential,
    net_measure,
    theorem_34,
)
from sfumato.design.compatibility.families import *
from sfumato.design.compatibility.packing import PackingBound, packing_bound
from sfumato.design.compatibility.positive import *
from sfumato.design.compatibility.star import DatabaseSize, EpsilonStar, database_size, epsilon_star
from sfumato.design.compatibility.utility import (
    FiniteFunction,
    chance_of_missing,
    finite_function,
    has_utility,
    normalised,
)

__all__ = [
    "DatabaseSize",
    "EpsilonStar",
    "Exponential",
    "FiniteFunction",
    "PackingBound",
    "TheoremBound",
    "best_measure",
    "chance_of_missing",
    "database_size",
    "epsilon_star",
    "finite_function",
    "has_utility",
    "least_exponential",
    "net_measure",
    "normalised",
    "packing_bound",
    "theorem_34",
]
__all__ += compatible.__all__ + curves.__all__ + families.__all__ + positive.__all__
