"""Random nouns for property tests: what a law assumes holds by construction."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

import sfumato as sf

__all__ = [
    "channels",
    "distributions",
    "exact_privacy_types",
    "exact_private_channels",
    "losses",
    "priors",
    "privacy_types",
    "spaces",
]


@st.composite
def distributions(draw: Any, size: int, positive: bool = False) -> list[Fraction]:
    """Probabilities with small denominators, zeros among them unless told otherwise."""
    weights = draw(st.lists(st.integers(1 if positive else 0, 6), min_size=size, max_size=size))
    if not any(weights):
        weights[draw(st.integers(0, size - 1))] = 1
    return [Fraction(w, sum(weights)) for w in weights]


@st.composite
def channels(draw: Any, secrets: Any = None, outputs: int | None = None) -> sf.Channel:
    labels = tuple(range(draw(st.integers(1, 4)))) if secrets is None else tuple(secrets)
    width = outputs or draw(st.integers(1, 5))
    return sf.Channel(labels, [draw(distributions(width)) for _ in labels])


@st.composite
def priors(draw: Any, secrets: Any, positive: bool = False) -> sf.Prior:
    return sf.Prior(secrets, draw(distributions(len(tuple(secrets)), positive)))


@st.composite
def losses(draw: Any, secrets: Any, smallest: int = -4) -> sf.Loss:
    labels = tuple(secrets)
    actions = draw(st.integers(1, 4))
    row = st.lists(st.fractions(smallest, 5, max_denominator=4), min_size=len(labels), max_size=len(labels))
    return sf.Loss(range(actions), labels, [draw(row) for _ in range(actions)])


@st.composite
def graphs(draw: Any) -> sf.FiniteSpace:
    n = draw(st.integers(2, 6))
    length = st.integers(1, 4)
    edges = {(i, draw(st.integers(0, i - 1))): draw(length) for i in range(1, n)}
    for _ in range(draw(st.integers(0, 4))):
        x, z = draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1))
        if x != z:
            edges[x, z] = draw(length)
    return sf.graph(edges, labels=range(n))


@st.composite
def trees(draw: Any, largest: int) -> sf.FiniteSpace:
    """Random trees with edges of length 1 or 2."""
    n = draw(st.integers(2, largest))
    return sf.graph({(draw(st.integers(0, i - 1)), i): draw(st.integers(1, 2)) for i in range(1, n)}, labels=range(n))


def integer_spaces() -> st.SearchStrategy[sf.FiniteSpace]:
    """Spaces with integer distances."""
    return st.one_of(
        st.integers(1, 6).map(sf.line),
        st.integers(1, 5).map(sf.discrete),
        st.integers(3, 6).map(sf.cycle),
        st.integers(1, 3).map(sf.hamming),
        st.just(sf.grid(2, 3, metric="manhattan")),
        st.just(sf.grid(2, 3, metric="chebyshev")),
        st.just(sf.sum_query(2, 2)),
        graphs(),
    )


@st.composite
def float_points(draw: Any) -> sf.FiniteSpace:
    n = draw(st.integers(1, 8))
    seed = draw(st.integers(0, 2**32 - 1))
    scale = 10.0 ** draw(st.integers(-3, 3))
    return sf.points(np.random.default_rng(seed).random((n, 2)) * scale)


def spaces() -> st.SearchStrategy[sf.FiniteSpace]:
    """All three forms of distances."""
    euclidean = st.tuples(st.integers(1, 3), st.integers(1, 4)).map(lambda shape: sf.grid(*shape))
    return st.one_of(integer_spaces(), euclidean, float_points())


def alphas() -> st.SearchStrategy[Fraction]:
    return st.fractions("1/20", "19/20", max_denominator=20)


@st.composite
def privacy_types(draw: Any, smallest: float = -3, largest: float = 1.3) -> sf.PrivacyType:
    space = draw(spaces())
    if draw(st.booleans()):
        return sf.PrivacyType(space, alpha=draw(alphas()))
    return sf.PrivacyType(space, epsilon=10.0 ** draw(st.floats(smallest, largest)))


@st.composite
def exact_privacy_types(draw: Any) -> sf.PrivacyType:
    return sf.PrivacyType(draw(integer_spaces()), alpha=draw(alphas()))


@st.composite
def exact_private_channels(draw: Any) -> tuple[sf.Channel, sf.PrivacyType]:
    """A channel that keeps an exact promise by construction.

    Mixtures of the columns α^d(·, y) are private, and so is the constant that fills the rows.
    """
    privacy = draw(exact_privacy_types())
    table = privacy.space.distances.values
    n = len(privacy.space)
    alpha = privacy.alpha
    assert alpha is not None
    columns = []
    for _ in range(draw(st.integers(1, 3))):
        mix = draw(distributions(n))
        columns.append([sum(w * alpha ** int(d) for w, d in zip(mix, row, strict=True)) for row in table])
    sums = [sum(column[x] for column in columns) for x in range(n)]
    missing = [max(sums) - s for s in sums]
    slack = max(
        [Fraction(0)]
        + [
            (missing[x] - missing[z] / alpha ** int(table[x, z])) / (1 / alpha ** int(table[x, z]) - 1)
            for x in range(n)
            for z in range(n)
            if x != z
        ]
    )
    columns.append([m + slack for m in missing])
    total = sums[0] + columns[-1][0]
    return sf.Channel(privacy.space, [[column[x] / total for column in columns] for x in range(n)]), privacy
