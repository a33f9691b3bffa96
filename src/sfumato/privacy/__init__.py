"""WHAT is promised: privacy types, whether a channel keeps one, and the best one it keeps."""

from sfumato.privacy.satisfaction import (
    Tightest,
    Violation,
    row_distance,
    satisfies,
    smallest_epsilon,
    tightest_pair,
)
from sfumato.privacy.type import PrivacyType, rational_power

__all__ = [
    "PrivacyType",
    "Tightest",
    "Violation",
    "rational_power",
    "row_distance",
    "satisfies",
    "smallest_epsilon",
    "tightest_pair",
]
