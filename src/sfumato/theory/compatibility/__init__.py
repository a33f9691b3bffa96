"""Privacy-compatibility: which ε does an accuracy cost, and are there accuracies that no ε buys?"""

from sfumato.theory.compatibility import compatible, curves, families, positive
from sfumato.theory.compatibility.compatible import *
from sfumato.theory.compatibility.curves import *
from sfumato.theory.compatibility.exponential import (
    Exponential,
    TheoremBound,
    best_measure,
    least_exponential,
    net_measure,
    theorem_34,
)
from sfumato.theory.compatibility.families import *
from sfumato.theory.compatibility.packing import PackingBound, packing_bound
from sfumato.theory.compatibility.positive import *
from sfumato.theory.compatibility.star import DatabaseSize, EpsilonStar, database_size, epsilon_star
from sfumato.theory.compatibility.utility import (
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
