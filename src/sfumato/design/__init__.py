"""BEST answers: the best mechanism for a prior, a loss, a promise and an objective; and for every prior at once.

``sf.design(prior, loss, privacy)`` calls :func:`sfumato.design.optimal.design`: the room is called like its function,
see :class:`sfumato.rooms.CallableRoom`.
"""

from sfumato.design import calibration, compatibility, objectives, universal
from sfumato.design.calibration import *
from sfumato.design.comparison import Comparison, compare_known
from sfumato.design.objectives import Objective
from sfumato.design.optimal import design
from sfumato.design.result import Design
from sfumato.design.universal import (
    Better,
    Impossibility,
    OptimalityGround,
    PriorSet,
    Regret,
    UniversalDesign,
    UtilitySet,
    ball,
    hull,
    impossibility,
    is_universally_optimal,
    universal_design,
    utility_set,
    worst_case_regret,
)
from sfumato.rooms import callable_room

__all__ = [
    "Better",
    "Comparison",
    "Design",
    "Impossibility",
    "Objective",
    "OptimalityGround",
    "PriorSet",
    "Regret",
    "UniversalDesign",
    "UtilitySet",
    "ball",
    "compare_known",
    "compatibility",
    "design",
    "hull",
    "impossibility",
    "is_universally_optimal",
    "objectives",
    "universal",
    "universal_design",
    "utility_set",
    "worst_case_regret",
]
__all__ += calibration.__all__

Ground = OptimalityGround
"""The earlier name, for one more version."""

callable_room(__name__)
