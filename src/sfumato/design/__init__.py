"""BEST answers: the mechanism of least loss for a prior, a loss and a promise, certified."""

from sfumato.design.calibration import Calibration, Curve, calibrate, curve
from sfumato.design.optimal import Design, design

__all__ = ["Calibration", "Curve", "Design", "calibrate", "curve", "design"]
