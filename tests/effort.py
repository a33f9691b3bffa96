"""How much is tried: a part of the examples, so that a run ends in minutes, or all of them with ``SFUMATO_THOROUGH=1``.

What is tried is drawn from fixed seeds, so that the part is the same in every run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import ceil
from typing import TypeVar

T = TypeVar("T")

THOROUGH = os.environ.get("SFUMATO_THOROUGH") == "1"
_PART = 0.25
_FEWEST = 6  # examples that a test keeps


def a_few(cases: Sequence[T], few: int) -> Sequence[T]:
    """The first few of some cases, or all of them: the ones that say most, or take least, stand first."""
    return cases if THOROUGH else cases[:few]


def tried(examples: int) -> int:
    """How many of so many examples are tried."""
    return examples if THOROUGH else min(examples, max(_FEWEST, ceil(_PART * examples)))
