"""WHAT follows for everybody at once: universal optimality, for every prior; compatibility, for every ε."""

from sfumato.theory import compatibility, universal
from sfumato.theory.universal import *
from sfumato.theory.universal.answers import *

__all__ = ["compatibility", "universal"]
__all__ += universal.__all__
