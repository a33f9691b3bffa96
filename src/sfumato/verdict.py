"""A yes/no question answered with its reason and a witness one can check.

A heuristic may answer ``fails`` with a counter-example or ``undecided``; only a
proof answers ``holds``. Asking for the truth value of an undecided verdict raises,
so that "we do not know" never silently becomes "no".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sfumato.errors import UndecidedError


class Outcome(StrEnum):
    """The three possible answers."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to a yes/no question.

    Parameters
    ----------
    outcome
        ``holds``, ``fails`` or ``undecided``.
    reason
        One sentence on why.
    witness
        What makes the answer checkable: a factor, a counter-example, a chain.

    Examples
    --------
    >>> verdict = holds("every pair was checked")
    >>> bool(verdict), str(verdict)
    (True, 'holds: every pair was checked')
    """

    outcome: Outcome
    reason: str
    witness: Any = None

    def __bool__(self) -> bool:
        if self.outcome is Outcome.UNDECIDED:
            raise UndecidedError(f"undecided: {self.reason}", self)
        return self.outcome is Outcome.HOLDS

    def __str__(self) -> str:
        return f"{self.outcome}: {self.reason}"

    @property
    def decided(self) -> bool:
        """Whether the answer is known; asking this never raises."""
        return self.outcome is not Outcome.UNDECIDED


def holds(reason: str, witness: Any = None) -> Verdict:
    """The verdict *holds*."""
    return Verdict(Outcome.HOLDS, reason, witness)


def fails(reason: str, witness: Any = None) -> Verdict:
    """The verdict *fails*."""
    return Verdict(Outcome.FAILS, reason, witness)


def undecided(reason: str, witness: Any = None) -> Verdict:
    """The verdict *undecided*."""
    return Verdict(Outcome.UNDECIDED, reason, witness)
