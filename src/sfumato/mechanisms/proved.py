"""From a formula to a proved mechanism."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sfumato.certify.mechanism import Mechanism
from sfumato.certify.repair import quantise
from sfumato.certify.verify import prove
from sfumato.channels.channel import Channel
from sfumato.numbers import Array, is_exact
from sfumato.privacy.type import PrivacyType

LARGEST_TABLE = 2_500
"""Secrets up to which a mechanism is a table: proving a larger one would take more than half a minute."""


def proved(name: str, privacy: PrivacyType, matrix: Array, outputs: Iterable[Any], **notes: Any) -> Mechanism:
    """The mechanism of a matrix that is private by a theorem: as it is if exact, else rounded to integers.

    Either way the kernel checks it.
    """
    labels = tuple(outputs)
    provenance = {"made by": name, **notes}
    if is_exact(matrix):
        return prove(Channel(privacy.space, matrix, labels), privacy, provenance=provenance)
    return quantise(matrix, privacy, outputs=labels, provenance=provenance).mechanism
