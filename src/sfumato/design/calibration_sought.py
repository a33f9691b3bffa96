"""What a search for ε is asked, looked at once, whatever the kind of question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from sfumato.channels.prior import Prior
from sfumato.design.objectives import Objective
from sfumato.design.result import Design
from sfumato.watch import Watch

Ends = Mapping[bool, tuple[Fraction, Design]]
"""Under True an ε whose design is proved to reach the target, under False one whose bound is above it."""


@dataclass(frozen=True, eq=False)
class Sought:
    """One question about ε: ``width`` is the relative width that may be left open."""

    prior: Prior | None
    loss: Any
    space: Any
    outputs: list[Any] | None
    objective: Objective
    target: Fraction
    goal: Literal["reach", "keep"]
    width: float
    watch: Watch
    progress: Callable[[Any], object] | None


def short_epsilon(value: float | Fraction) -> Fraction:
    """An ε of few digits: what people write down."""
    return Fraction(f"{float(value):.6g}")
