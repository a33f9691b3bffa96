"""Universal optimality: is a mechanism best for every prior, and if none is, which comes closest?"""

from sfumato.theory.universal import answers
from sfumato.theory.universal.all_losses import UnservedConsumer, exists_for_all_losses, is_optimal_for_all_losses
from sfumato.theory.universal.answers import *
from sfumato.theory.universal.impossibility import Impossibility, impossibility
from sfumato.theory.universal.least_regret import universal_design
from sfumato.theory.universal.optimality import is_universally_optimal
from sfumato.theory.universal.prior_sets import PriorSet, ball, hull
from sfumato.theory.universal.regret import worst_case_regret
from sfumato.theory.universal.theorems import OptimalityGround
from sfumato.theory.universal.utility_set import UtilitySet, utility_set

__all__ = [
    "Impossibility",
    "OptimalityGround",
    "PriorSet",
    "UnservedConsumer",
    "UtilitySet",
    "ball",
    "exists_for_all_losses",
    "hull",
    "impossibility",
    "is_optimal_for_all_losses",
    "is_universally_optimal",
    "universal_design",
    "utility_set",
    "worst_case_regret",
]
__all__ += answers.__all__
