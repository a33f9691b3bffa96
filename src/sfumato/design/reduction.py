"""What a reduction is: something smaller to solve, and the way back from its answer to one for the whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sfumato.design.answer import Answer
from sfumato.watch import Watch


@dataclass(frozen=True, eq=False)
class Reduced:
    """What is left of a problem (``part``), and how an answer to that is one to the whole (``invert``)."""

    part: Any
    invert: Callable[[Answer], Answer]


@dataclass(frozen=True, eq=False)
class Reduction:
    """A step of the chain that makes problems smaller.

    Nobody has to believe that a step is right: whatever its way back gives is repaired and proved like everything else.

    Parameters
    ----------
    name
        What it leaves out, in a few words.
    accepts
        Whether it is worth looking for, which takes no time.
    apply
        What is left; None where there is nothing to leave out, or no time to find it.
    """

    name: str
    accepts: Callable[[Any], bool]
    apply: Callable[[Any, Watch], Reduced | None]

    def __call__(self, whole: Any, watch: Watch | None = None) -> Reduced | None:
        """What is left of a problem, where this step leaves something out."""
        return self.apply(whole, watch or Watch()) if self.accepts(whole) else None


def as_it_is(answer: Answer) -> Answer:
    """The way back where an answer to the part is one to the whole."""
    return answer
