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
from sfumato.design.universal import *
from sfumato.design.universal.answers import *
from sfumato.rooms import callable_room

__all__ = ["Comparison", "Design", "Objective", "compare_known", "compatibility", "design", "objectives", "universal"]
__all__ += calibration.__all__ + universal.__all__

Ground = universal.OptimalityGround
"""The earlier name, for one more version."""

callable_room(__name__)
