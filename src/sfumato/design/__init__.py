"""BEST answers: the best mechanism for a prior, a loss, a promise and an objective; and for every prior at once."""

from sfumato.design import objectives
from sfumato.design.calibration import Calibration, Curve, calibrate, curve
from sfumato.design.comparison import Comparison, compare_known
from sfumato.design.objectives import Objective
from sfumato.design.optimal import Design, design
from sfumato.design.universal import (
    Better,
    Ground,
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

__all__ = [
    "Better",
    "Calibration",
    "Comparison",
    "Curve",
    "Design",
    "Ground",
    "Impossibility",
    "Objective",
    "OptimalityGround",
    "PriorSet",
    "Regret",
    "UniversalDesign",
    "UtilitySet",
    "ball",
    "calibrate",
    "compare_known",
    "curve",
    "design",
    "hull",
    "impossibility",
    "is_universally_optimal",
    "objectives",
    "universal_design",
    "utility_set",
    "worst_case_regret",
]
