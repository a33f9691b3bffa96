"""Labels of secrets and outputs as JSON, in files, certificates and digests."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.certify import kernel
from sfumato.errors import InvalidInput, shown


def label_to_json(label: Any) -> Any:
    """A label in JSON: strings, numbers, truth values, None, tuples as lists, fractions as objects."""
    if isinstance(label, tuple):
        return [label_to_json(part) for part in label]
    if isinstance(label, Fraction):
        return {"fraction": str(label)}
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, str) and not label.isascii():
        try:
            label.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(f"the label {shown(label)} is not valid text") from error
    if label is None or isinstance(label, str | int | bool):
        return label
    if isinstance(label, float) and np.isfinite(label):
        return label
    raise InvalidInput(f"the label {shown(label)} cannot be saved: use strings, numbers or tuples of them")


def label_from_json(label: Any) -> Any:
    """The inverse of :func:`label_to_json`; raises ValueError for what it never writes."""
    if isinstance(label, list):
        return tuple(label_from_json(part) for part in label)
    if isinstance(label, dict):
        if list(label) != ["fraction"]:
            raise ValueError(f"a label is {str(label)[:80]}")
        return kernel.rational(label["fraction"])
    return label
