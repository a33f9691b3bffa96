"""BEST answers: the best mechanism for a prior, a loss, a promise and an objective.

``sf.design(prior, loss, privacy)`` calls :func:`sfumato.design.optimal.design`: the room is called like its function,
see :class:`sfumato.rooms.CallableRoom`.
"""

from sfumato.design import calibration, objectives
from sfumato.design.calibration import *
from sfumato.design.comparison import compare_known
from sfumato.design.comparison_rows import Comparison
from sfumato.design.known import known_mechanism
from sfumato.design.objectives import Objective
from sfumato.design.optimal import design
from sfumato.design.result import BoxDesign, Design
from sfumato.design.shares import SharesDesign
from sfumato.rooms import callable_room

__all__ = [
    "BoxDesign",
    "Comparison",
    "Design",
    "Objective",
    "SharesDesign",
    "compare_known",
    "design",
    "known_mechanism",
    "objectives",
]
__all__ += calibration.__all__

callable_room(__name__)
