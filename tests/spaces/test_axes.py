"""Latitude for longitude: who has swapped them is told, and whoever has not is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfumato.spaces.axes import called_swapped, look_swapped, swap_box, swap_columns, swapped_axes

NAN = float("nan")


def in_paris(latitude: Any, longitude: Any) -> Any:
    return (np.abs(latitude - 48.8) < 0.5) & (np.abs(longitude - 2.3) < 0.5)


@pytest.mark.parametrize(
    ("first", "second", "swapped"),
    [
        ([2.3, 2.4], [48.8, 48.9], True),
        ([2.3, NAN], [48.8, 48.9], True),  # what is missing says nothing
        ([2.3] * 39 + [70.0], [48.8] * 40, True),  # nor does a stray
        ([2.3] * 9 + [70.0], [48.8] * 10, False),  # of ten, one is no stray
        ([2.3, 48.8], [48.8, 2.3], False),  # where one lies there, the others are strays
        ([70.0, 71.0], [20.0, 21.0], False),  # neither way
        ([NAN], [NAN], False),
        ([], [], False),
    ],
)
def test_places_look_swapped_where_none_lies_there_and_nearly_all_would(first: Any, second: Any, swapped: bool) -> None:
    assert look_swapped(in_paris, first, second) is swapped


def test_names_and_words() -> None:
    assert (
        called_swapped("start_lon", "start_lat") and not called_swapped("lat", "lon") and not called_swapped("a", "b")
    )
    told = str(
        swapped_axes("no point lies there, but nearly all would", swap_box((1, 2, 3, 4)), swap_columns("a", "b"))
    )
    assert told == (
        "no point lies there, but nearly all would with latitude and longitude swapped: swap the numbers of the box, "
        "box='2,1,4,3'; or 'a' was taken for the latitude and 'b' for the longitude; name the columns in the other "
        "order, or swap the axes first"
    )
