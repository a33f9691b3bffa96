from __future__ import annotations

from itertools import permutations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings

import sfumato as sf
from sfumato.errors import NotSupported
from strategies import spaces


@given(spaces())
@settings(max_examples=60)
def test_against_all_permutations(space: sf.FiniteSpace) -> None:
    if len(space) > 6:
        space = space.restrict(space.labels[:6])
    table, n = space.distances.values, len(space)
    expected = sorted(list(p) for p in permutations(range(n)) if np.array_equal(table[np.ix_(p, p)], table))
    assert sf.spaces.isometries(space).tolist() == expected


@pytest.mark.parametrize(
    ("space", "size"),
    [(sf.line(6), 2), (sf.cycle(7), 14), (sf.hamming(3), 48), (sf.hamming(4), 384), (sf.discrete(5), factorial(5)),
     (sf.grid(3, 3), 8), (sf.grid(2, 3), 4), (sf.spaces.star(4), 24), (sf.spaces.complete_bipartite(3, 3), 72)],
    ids=str,
)  # fmt: skip
def test_known_groups(space: sf.FiniteSpace, size: int) -> None:
    assert len(sf.spaces.isometries(space)) == size


def test_groups_too_large_to_list() -> None:
    with pytest.raises(NotSupported, match="isometries"):
        sf.spaces.isometries(sf.discrete(9))
