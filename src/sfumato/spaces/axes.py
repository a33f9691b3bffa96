"""Whether latitude and longitude look swapped: one rule, for points and for the corners of a box, and one message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sfumato.errors import InvalidInput, keyword
from sfumato.numbers import Floats
from sfumato.spaces.foreign import LATITUDES, LONGITUDES, named_column

NEARLY_ALL = 0.95
"""The part of the points that lie somewhere, or would: a few strays say nothing of the others."""


def look_swapped(lie: Callable[[Floats, Floats], Any], latitude: Any, longitude: Any) -> bool:
    """Whether no place lies where it should, and nearly all would with longitude taken for latitude.

    ``lie`` says it for each pair of finite latitudes and longitudes; what is missing is left out.

    Examples
    --------
    >>> def in_new_york(latitude, longitude):
    ...     return (abs(latitude - 40.7) < 1) & (abs(longitude + 74) < 1)
    >>> look_swapped(in_new_york, [-74.1, -73.9], [40.6, 40.8]), look_swapped(in_new_york, [40.6, -74.1], [-73.9, 40.8])
    (True, False)
    """
    first, second = (np.asarray(along, dtype=np.float64) for along in (latitude, longitude))
    known = np.isfinite(first) & np.isfinite(second)
    first, second = first[known], second[known]
    if not len(first) or np.any(lie(first, second)):
        return False
    return bool(np.mean(lie(second, first)) >= NEARLY_ALL)


def called_swapped(latitude: str, longitude: str) -> bool:
    """Whether what is taken for a latitude is called like a longitude, and the other way round."""
    return bool(named_column([latitude], LONGITUDES, "") and named_column([longitude], LATITUDES, ""))


def swapped_axes(what: str, *remedies: str, axes: str = "latitude and longitude") -> InvalidInput:
    """What is said where axes look swapped; ``what`` ends in how it would be otherwise."""
    return InvalidInput(f"{what} with {axes} swapped: {'; or '.join(remedies)}")


def swap_box(corners: Sequence[Any]) -> str:
    """What to do where the numbers of a box are those of the other axis, two by two.

    Examples
    --------
    >>> swap_box((-74.02, 40.7, -74, 40.72))
    "swap the numbers of the box, box='40.7,-74.02,40.72,-74'"
    """
    south, west, north, east = (f"{float(value):.10g}" for value in corners)
    return f"swap the numbers of the box, {keyword('box', ','.join((west, south, east, north)))}"


def swap_columns(latitude: str, longitude: str) -> str:
    """What to do where columns were named in the other order."""
    return (
        f"{latitude!r} was taken for the latitude and {longitude!r} for the longitude; name the columns in the other "
        "order, or swap the axes first"
    )
