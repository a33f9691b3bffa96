"""How much is tried: a part of the examples, so that a run ends in minutes, or all of them with ``SFUMATO_THOROUGH=1``.

What is tried is drawn from fixed seeds, so that the part is the same in every run.
"""

from __future__ import annotations

import os
from math import ceil

THOROUGH = os.environ.get("SFUMATO_THOROUGH") == "1"
_PART = 0.25
_FEWEST = 6  # examples that a test keeps


def tried(examples: int) -> int:
    """How many of so many examples are tried."""
    return examples if THOROUGH else min(examples, max(_FEWEST, ceil(_PART * examples)))
