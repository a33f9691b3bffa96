"""BEST answers: the best mechanism for a prior, a loss, a promise and an objective, certified."""

from sfumato.design import objectives
from sfumato.design.calibration import Calibration, Curve, calibrate, curve
from sfumato.design.objectives import Objective
from sfumato.design.optimal import Design, design

__all__ = ["Calibration", "Curve", "Design", "Objective", "calibrate", "curve", "design", "objectives"]
