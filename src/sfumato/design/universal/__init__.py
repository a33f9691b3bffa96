"""Universal optimality: is a mechanism best for every prior, and if none is, which comes closest?"""

from sfumato.design.universal import answers
from sfumato.design.universal.all_losses import UnservedConsumer, exists_for_all_losses, is_optimal_for_all_losses
from sfumato.design.universal.answers import *
from sfumato.design.universal.impossibility import Impossibility, impossibility
from sfumato.design.universal.least_regret import universal_design
from sfumato.design.universal.optimality import is_universally_optimal
from sfumato.design.universal.prior_sets import PriorSet, ball, hull
from sfumato.design.universal.regret import worst_case_regret
from sfumato.design.universal.theorems import OptimalityGround
from sfumato.design.universal.utility_set import UtilitySet, utility_set

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
