from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported, UndecidedError
from strategies import privacy_types


def half(space: sf.FiniteSpace) -> sf.PrivacyType:
    return sf.PrivacyType(space, alpha="1/2")


COUNTS = [
    *((sf.line(n), 2 ** (n - 1)) for n in range(1, 9)),
    *((sf.discrete(n), 2**n - 2) for n in range(2, 8)),
    *((sf.spaces.star(n), 2**n) for n in (3, 5)),
    *((sf.cycle(n), comb(n, n // 2)) for n in (4, 6, 8)),
    *((sf.cycle(n), n * comb(n - 1, (n - 1) // 2)) for n in (3, 5, 7)),
    *((sf.spaces.complete_bipartite(a, b), 2**a + 2**b - 2) for a, b in ((2, 3), (3, 3), (1, 4))),
    (sf.hamming(2), 6),
    (sf.hamming(3), 38),
    (sf.hamming(4), 990),
    (sf.grid(2, 2), 18),
    (sf.grid(3, 3), 4346),  # paper A prints 4,798 in Table 6a
]


@pytest.mark.parametrize(("space", "count"), COUNTS, ids=lambda v: getattr(v, "name", str(v)))
def test_counts_with_a_closed_form_or_confirmed_elsewhere(space: sf.FiniteSpace, count: int) -> None:
    assert len(sf.types.vertices(half(space))) == count


@given(privacy_types(smallest=-1, largest=0.5))
@settings(max_examples=80)
def test_every_vertex_is_private_distinct_and_tied_together(privacy: sf.PrivacyType) -> None:
    if len(privacy.space) > 7:
        privacy = sf.PrivacyType(privacy.space.restrict(privacy.secrets[:7]), privacy.epsilon, privacy.alpha)
    found = sf.types.vertices(privacy)
    table = privacy.space.distances.floats
    gaps = found.heights[:, :, None] - found.heights[:, None, :]
    assert (gaps <= table[None] * (1 + 1e-12) + 1e-12).all()
    assert len(np.unique(np.round(found.heights, 9), axis=0)) == len(found)
    for vertex in found[:20]:
        tied = sf.graph([*vertex.tight], labels=privacy.secrets) if vertex.tight else sf.discrete(privacy.secrets)
        assert not tied.distances.infinite.any() or len(privacy.space) == 1
        assert vertex.posterior.weights.sum() == pytest.approx(1)


def brute_force(space: sf.FiniteSpace) -> set[tuple[int, ...]]:
    """Integer labellings whose tight edges connect everything: the vertices of a graph metric."""
    n, table = len(space), space.distances.values
    found = set()
    for heights in product(range(int(table.max()) + 1), repeat=n):
        if min(heights) or any(heights[x] - heights[z] > table[x, z] for x in range(n) for z in range(n)):
            continue
        tight = [(x, z) for x in range(n) for z in range(n) if x != z and heights[x] - heights[z] == table[x, z]]
        if not sf.graph(tight, labels=range(n)).distances.infinite.any():
            found.add(heights)
    return found


@pytest.mark.parametrize(
    "space", [sf.line(4), sf.cycle(5), sf.spaces.star(4), sf.graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)])], ids=str
)
def test_graph_metrics_against_all_labellings(space: sf.FiniteSpace) -> None:
    found = sf.types.vertices(half(space))
    labels = {tuple((v.coefficients[:, 0] - v.coefficients[:, 0].min()).tolist()) for v in found}
    assert labels == brute_force(space)


def test_rays_are_exact_where_the_type_is() -> None:
    found = sf.types.vertices(sf.PrivacyType(sf.line(3), alpha="2/3"))
    assert all(isinstance(v, Fraction) for vertex in found for v in vertex.ray)
    assert {vertex.ray.max() for vertex in found} == {1}
    halves = sf.types.vertices(sf.PrivacyType(sf.line(3, step="1/2"), alpha="1/4"))
    assert sorted(vertex.ray.min() for vertex in halves) == [
        Fraction(1, 4),
        Fraction(1, 4),
        Fraction(1, 2),
        Fraction(1, 2),
    ]
    assert sf.types.vertices(sf.PrivacyType(sf.grid(2, 2), epsilon=1))[0].ray.dtype == np.float64


def test_limits() -> None:
    with pytest.raises(NotSupported, match="finite"):
        sf.types.vertices(half(sf.graph([(0, 1)], labels=[0, 1, 2])))
    with pytest.raises(NotSupported, match="62"):
        sf.types.vertices(half(sf.line(63)))
    with pytest.raises(InvalidInput, match="PrivacyType"):
        sf.types.vertices(sf.line(3))  # type: ignore[arg-type]
    nearly = 2.0 - 1e-12  # almost on a line
    close = [[0, 1.0, nearly], [1.0, 0, 1.0], [nearly, 1.0, 0]]
    with pytest.raises(UndecidedError, match="float64"):
        sf.types.vertices(sf.PrivacyType(sf.FiniteSpace(range(3), close), epsilon=1))
