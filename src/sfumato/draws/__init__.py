"""HOW it is drawn: random bits, and exact draws from integer weights and from real masses."""

from sfumato.draws.randomness import Bits, InsecureSeed, SeededBits, SystemBits

__all__ = ["Bits", "InsecureSeed", "SeededBits", "SystemBits"]
