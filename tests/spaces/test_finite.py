from __future__ import annotations

from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, InvalidMetric, NotSupported
from sfumato.spaces import Form


@pytest.mark.parametrize(
    ("labels", "table", "words", "triple"),
    [
        ("ab", [[0, 1], [2, 0]], "not symmetric", ("a", "b")),
        ("ab", [[0, -1], [-1, 0]], "negative", ("a", "b")),
        ("ab", [[0, 0], [0, 0]], "distance 0", ("a", "b")),
        ("ab", [[1, 1], [1, 0]], "to itself", ("a",)),
        ("abc", [[0, 1, 3], [1, 0, 1], [3, 1, 0]], "triangle", ("a", "b", "c")),
        ("abc", [[0, 1, inf], [1, 0, 1], [inf, 1, 0]], "triangle", ("a", "b", "c")),
        ("abc", [[0, 1.0, 2.1], [1.0, 0, 1.0], [2.1, 1.0, 0]], "triangle", ("a", "b", "c")),
        ("ab", [[0, nan], [nan, 0]], "NaN", ()),
        ("ab", [[0, 1, 2], [1, 0, 2]], "2 × 2", ()),
        ("ab", [[0, "x"], ["x", 0]], "give an int", ()),
    ],
)
def test_what_is_no_metric_names_the_culprits(labels: str, table: Any, words: str, triple: tuple[str, ...]) -> None:
    with pytest.raises(InvalidMetric, match=words) as caught:
        sf.FiniteSpace(list(labels), table)
    assert caught.value.triple == triple


@pytest.mark.parametrize("labels", [["a", "a"], [], "ab", 3, [["list"], ["list2"]]])
def test_labels_are_distinct_hashable_and_there(labels: Any) -> None:
    with pytest.raises(InvalidInput):
        sf.FiniteSpace(labels, [[0, 1], [1, 0]])


def test_one_secret_is_a_space() -> None:
    space = sf.FiniteSpace(["only"], [[0]])
    assert len(space) == 1
    assert not space.pairs.first.size


def test_exact_numbers_become_integers_with_a_unit() -> None:
    space = sf.FiniteSpace(["x", "y", "z"], [[0, "1/2", "3/4"], ["1/2", 0, "1/4"], ["3/4", "1/4", 0]])
    assert space.distances.form is Form.RATIONAL
    assert space.distances.unit == Fraction(1, 4)
    assert space.distances.values.tolist() == [[0, 2, 3], [2, 0, 1], [3, 1, 0]]
    assert list(zip(*space.pairs, strict=True)) == [(0, 1), (1, 2)]


def test_rounding_is_no_violation_of_the_triangle_inequality() -> None:
    x = np.array([0.1, 0.2, 0.3, 0.7])
    space = sf.FiniteSpace(range(4), np.abs(x[:, None] - x[None, :]))
    assert space.distances.form is Form.FLOAT


def test_infinite_distances_promise_nothing() -> None:
    space = sf.graph([("a", "b")], labels=["a", "b", "c"])
    assert space.distance("a", "c") == inf
    assert list(zip(*space.pairs, strict=True)) == [(0, 1)]
    floats = sf.FiniteSpace(["a", "b", "c"], [[0, 1.0, inf], [1.0, 0, inf], [inf, inf, 0]])
    assert list(zip(*floats.pairs, strict=True)) == [(0, 1)]


def test_unknown_labels_are_named() -> None:
    with pytest.raises(InvalidInput, match="'nowhere'"):
        sf.line(3).distance(0, "nowhere")
    with pytest.raises(InvalidInput):
        sf.line(3).index([1])


def test_restriction_keeps_distances() -> None:
    part = sf.grid(3, 3).restrict([(0, 0), (2, 2), (1, 2)])
    assert part.distance((0, 0), (2, 2)) == 8**0.5
    assert part.coordinates is not None
    assert part.coordinates.shape == (3, 2)


def test_a_large_grid_is_a_space_but_its_table_is_refused() -> None:
    space = sf.grid(200, 200, metric="manhattan")
    assert len(space.pairs.first) == 2 * 199 * 200
    with pytest.raises(NotSupported, match="40000 points"):
        _ = space.distances
