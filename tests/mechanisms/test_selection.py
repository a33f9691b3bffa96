from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import factorial
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.mechanisms.selection import permute_and_flip, permute_and_flip_rows
from sfumato.numbers import object_array


def by_permutations(shares: list[Any]) -> list[Any]:
    """The definition: all orders, all coins."""
    result = [Fraction(0)] * len(shares)
    for order in permutations(range(len(shares))):
        left = Fraction(1)
        for y in order:
            result[y] += left * shares[y] / factorial(len(shares))
            left *= 1 - shares[y]
    return result


@pytest.mark.parametrize("shares", [["1"], ["1", "1/2"], ["1/3", "1", "1"], ["1", "1/2", "1/7", "0", "2/3"]])
def test_probabilities_are_those_of_all_permutations(shares: list[str]) -> None:
    row = [Fraction(p) for p in shares]
    expected = by_permutations(row)
    assert sum(expected) == 1
    assert permute_and_flip_rows(object_array(row, (1, len(row)))).tolist() == [expected]
    in_floats = permute_and_flip_rows(np.array([[float(p) for p in row]]))
    assert np.abs(in_floats[0] - np.array(expected, dtype=float)).max() < 1e-15


def test_floats_keep_small_probabilities() -> None:
    """Gauss' rule is exact for the polynomial, and no term is negative: 40 outputs, shares down to 1e-12."""
    shares = object_array([Fraction(1, 2**k) for k in range(40)], (1, 40))
    expected = permute_and_flip_rows(shares)[0].astype(np.float64)
    found = permute_and_flip_rows(shares.astype(np.float64))[0]
    assert (np.abs(found / expected - 1) < 1e-12).all()


def test_the_mechanism_is_exact_where_it_can_be() -> None:
    mechanism = permute_and_flip(sf.PrivacyType(sf.line(5), alpha="1/9"))
    expected = by_permutations([Fraction(1, 3) ** abs(1 - y) for y in range(5)])
    assert mechanism.channel.row(1).tolist() == expected
    rounded = permute_and_flip(sf.PrivacyType(sf.line(5), epsilon=float(np.log(9))))
    assert np.abs(rounded.weights[1] / rounded.total - np.array(expected, dtype=float)).max() < 1e-13


@pytest.mark.parametrize("space", [sf.line(6), sf.grid(3, 3), sf.spaces.star(3), sf.discrete(4)])
def test_the_bound_is_safe_and_the_exact_calibration_sharp(space: sf.FiniteSpace) -> None:
    privacy = sf.PrivacyType(space, epsilon="0.9")
    loose, sharp = permute_and_flip(privacy), permute_and_flip(privacy, calibration="exact")
    assert loose.provenance["smallest epsilon"] <= 0.9
    assert 0.9 - 1e-9 < sharp.provenance["smallest epsilon"] <= 0.9
    assert sharp.provenance["beta"] >= loose.provenance["beta"]


def test_scores_and_errors() -> None:
    space = sf.line(3)
    privacy = sf.PrivacyType(space, alpha="1/4")
    two = permute_and_flip(privacy, score=[[0, 1], [0, 0], [1, 0]], outputs=["left", "right"])
    assert two.outputs == ("left", "right")
    assert two.channel.matrix[0].tolist() == [Fraction(3, 4), Fraction(1, 4)]
    assert two.channel.matrix[1].tolist() == [Fraction(1, 2), Fraction(1, 2)]
    with pytest.raises(sf.errors.NotSupported, match="calibration"):
        permute_and_flip(privacy, calibration="none")  # type: ignore[arg-type]
