"""Capacities of types: the tables of paper A, every way against every other, and bounds that hold."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported
from sfumato.lp import LinearProgram, solve
from sfumato.lp.cone.lanes_iterate import LanesIterate
from sfumato.numbers import is_exact
from sfumato.privacy.capacities import CapacityMethod, _closed_forms, _few_rays
from sfumato.privacy.capacity_program import _bound_below, enclosed_capacity, pairs_of, private_channel
from strategies import alphas, exact_privacy_types, exact_private_channels, privacy_types

CLOSED = {CapacityMethod.TIGHT, CapacityMethod.LOOSE, CapacityMethod.TREE}


def over_vertices(privacy: sf.PrivacyType) -> tuple[Any, Any]:
    """Both capacities by a program over all vertices: exact for exact types, floats otherwise."""
    rays = np.stack([vertex.ray for vertex in sf.types.vertices(privacy)], axis=1)
    one = np.ones(len(rays), dtype=np.int64 if is_exact(rays) else np.float64)
    count = np.ones(rays.shape[1], dtype=one.dtype)
    most, least = (
        solve(LinearProgram.dense(cost, rays, "=" * len(rays), one)).value for cost in (-count, rays.min(axis=0))
    )
    assert most is not None
    assert least is not None
    return -most, 1 - least


@pytest.mark.parametrize(
    ("space", "multiplicative", "additive"),
    [
        (sf.line(2), Fraction(4, 3), Fraction(1, 3)),
        (sf.line(3), Fraction(5, 3), Fraction(1, 2)),
        (sf.line(4), Fraction(2), Fraction(2, 3)),
        (sf.line(5), Fraction(7, 3), Fraction(3, 4)),
        (sf.line(6), Fraction(8, 3), Fraction(5, 6)),
        # Corollary 22 of paper A prints 1 − 1/(1+(n−1)e^ε) for the additive one; its Table 5a has this
        *((sf.discrete(n), Fraction(2 * n, n + 1), 1 - Fraction(n, 2 * n - 1)) for n in range(2, 6)),
        (sf.hamming(2), Fraction(16, 9), Fraction(5, 9)),
        (sf.hamming(3), Fraction(64, 27), Fraction(19, 27)),
        (sf.hamming(4), Fraction(256, 81), Fraction(65, 81)),
    ],
    ids=lambda v: getattr(v, "name", str(v)),
)  # fmt: skip
def test_tables_of_paper_a(space: sf.FiniteSpace, multiplicative: Fraction, additive: Fraction) -> None:
    privacy = sf.PrivacyType(space, alpha="1/2")
    found = sf.types.capacities(privacy)
    assert found.multiplicative == found.multiplicative_bound == multiplicative
    assert found.additive == found.additive_bound == additive
    assert found.multiplicative_method in CLOSED
    assert found.additive_method in CLOSED
    assert sf.capacity(found.most_multiplicative).multiplicative == multiplicative
    assert sf.capacity(found.most_additive).additive == additive
    assert sf.satisfies(found.most_multiplicative, privacy)
    assert sf.satisfies(found.most_additive, privacy)


@pytest.mark.parametrize(
    ("side", "multiplicative", "additive", "closed"),
    [(2, 1.6840586, 0.4781572, True), (3, 2.5023666, 0.6247858, False), (4, 3.534015, 0.7915621, True)],
)
def test_euclidean_grids(side: int, multiplicative: float, additive: float, closed: bool) -> None:
    privacy = sf.PrivacyType(sf.grid(side, side), alpha="1/2")
    found = sf.types.capacities(privacy)
    assert found.multiplicative == pytest.approx(multiplicative, abs=5e-8)
    assert found.additive == pytest.approx(additive, abs=5e-8)
    assert (found.multiplicative_method is CapacityMethod.TIGHT) == closed
    assert 0 <= found.multiplicative_bound - found.multiplicative < 1e-8
    assert 0 <= found.additive_bound - found.additive < 1e-8
    assert sf.satisfies(found.most_multiplicative, privacy)
    assert sf.satisfies(found.most_additive, privacy)


@given(exact_privacy_types())
@settings(max_examples=60)
def test_every_way_of_an_exact_type_agrees_with_the_program_over_vertices(privacy: sf.PrivacyType) -> None:
    found = sf.types.capacities(privacy)
    assert (found.multiplicative, found.additive) == over_vertices(privacy)
    for value, bound, channel, kind in (
        (found.multiplicative, found.multiplicative_bound, found.most_multiplicative, "multiplicative"),
        (found.additive, found.additive_bound, found.most_additive, "additive"),
    ):
        assert value == bound == getattr(sf.capacity(channel), kind)
        assert sf.satisfies(channel, privacy)
        enclosed = enclosed_capacity(privacy, kind)
        assert enclosed.value <= value <= enclosed.bound
        assert enclosed.bound - enclosed.value < 1e-7
        assert sf.satisfies(enclosed.channel, privacy)


@given(privacy_types(smallest=-2, largest=0.8))
@settings(max_examples=40)
def test_enclosures_of_any_type_are_narrow_and_their_mechanisms_private(privacy: sf.PrivacyType) -> None:
    found = sf.types.capacities(privacy)
    assert 1 <= found.multiplicative <= found.multiplicative_bound <= found.multiplicative * (1 + 1e-7)
    assert 0 <= found.additive <= found.additive_bound <= found.additive + 1e-7
    assert sf.satisfies(found.most_multiplicative, privacy)
    assert sf.satisfies(found.most_additive, privacy)
    rounding = 0 if privacy.exact else 1e-9
    assert sf.capacity(found.most_multiplicative).multiplicative >= found.multiplicative - rounding
    assert sf.capacity(found.most_additive).additive >= found.additive - rounding
    if len(privacy.space) <= 6:
        most, least = map(float, over_vertices(privacy))
        assert found.multiplicative == pytest.approx(most, rel=1e-7)
        assert found.additive == pytest.approx(least, abs=1e-7)


@given(exact_private_channels())
@settings(max_examples=40)
def test_no_mechanism_of_the_type_exceeds_them(case: Any) -> None:
    channel, privacy = case
    own, largest = sf.capacity(channel), sf.types.capacities(privacy)
    assert own.multiplicative <= largest.multiplicative_bound
    assert own.additive <= largest.additive_bound


@st.composite
def trees(draw: Any) -> sf.FiniteSpace:
    n = draw(st.integers(2, 7))
    length = st.sampled_from([1, 2, 3, Fraction(1, 2)]) if draw(st.booleans()) else st.just(1)
    return sf.graph({(i, draw(st.integers(0, i - 1))): draw(length) for i in range(1, n)}, labels=range(n))


@given(trees(), alphas())
@settings(max_examples=60)
def test_the_middle_of_a_longest_path_gives_the_additive_capacity_of_a_tree(
    space: sf.FiniteSpace, alpha: Fraction
) -> None:
    """1 − e^{−εR}(e^{−εa} + e^{−εb})/(1 + e^{−ε(a+b)}), where the tight mechanism exists."""
    privacy = sf.PrivacyType(space, alpha=alpha)
    distances = space.distances.floats
    x, y = np.unravel_index(np.argmax(distances), distances.shape)
    radius = distances[x, y] / 2
    on_path = np.flatnonzero(np.isclose(distances[x] + distances[y], 2 * radius))
    before = max(distances[x, p] for p in on_path if distances[x, p] <= radius + 1e-9)
    after = min(distances[x, p] for p in on_path if distances[x, p] >= radius - 1e-9)
    a, b, rate = radius - before, after - radius, privacy.rate
    expected = 1 - np.exp(-rate * radius) * (np.exp(-rate * a) + np.exp(-rate * b)) / (1 + np.exp(-rate * (a + b)))
    found = sf.types.capacities(privacy)
    tight = found.multiplicative_method is CapacityMethod.TIGHT
    assume(tight)
    assert float(found.additive) == pytest.approx(expected, abs=1e-8)
    assert found.additive_method in {CapacityMethod.TREE, CapacityMethod.LOOSE}


@pytest.mark.parametrize("promise", [{"alpha": "1/3"}, {"epsilon": 1.2}], ids=str)
def test_weights_of_a_tree_solve_the_system(promise: dict[str, Any]) -> None:
    space = sf.graph({(0, 1): 1, (1, 2): 2, (1, 3): 1, (3, 4): 3}, labels=range(5))
    privacy = sf.PrivacyType(space, **promise)
    found = sf.types.capacities(privacy)
    assert found.multiplicative_method is CapacityMethod.TIGHT
    weights = np.linalg.solve(np.exp(-privacy.log_bounds), np.ones(5))
    assert float(found.multiplicative) == pytest.approx(weights.sum(), rel=1e-12)
    assert found.multiplicative_bound >= weights.sum() * (1 - 1e-14)


def test_stars_with_too_many_leaves_have_no_closed_form() -> None:
    """At e^ε = 2 the middle of a star with four leaves would get the weight 1 − 4/3."""
    star = sf.graph({(0, leaf): 1 for leaf in range(1, 5)}, labels=range(5))
    privacy = sf.PrivacyType(star, alpha="1/2")
    found = sf.types.capacities(privacy)
    assert found.multiplicative_method is CapacityMethod.VERTICES
    assert (found.multiplicative, found.additive) == over_vertices(privacy)
    assert _closed_forms(sf.PrivacyType(star, alpha="1/4"))[0] is not None


def test_a_weight_of_exactly_zero_counts_as_non_negative_when_it_is_known_exactly() -> None:
    """Three leaves at e^ε = 2: the middle has weight 0, and its output is left out."""
    star = sf.graph({(0, leaf): 1 for leaf in range(1, 4)}, labels=range(4))
    found = sf.types.capacities(sf.PrivacyType(star, alpha="1/2"))
    assert found.multiplicative_method is CapacityMethod.TIGHT
    assert found.multiplicative == 2
    assert found.most_multiplicative.outputs == (1, 2, 3)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev"])
def test_exact_types_with_too_many_vertices_are_enclosed(metric: str) -> None:
    privacy = sf.PrivacyType(sf.grid(5, 5, metric=metric), alpha="1/2")
    assert _few_rays(privacy) is None
    found = sf.types.capacities(privacy)
    assert found.additive_method is CapacityMethod.COLUMNS
    assert 0 <= found.additive_bound - found.additive < 1e-8
    if metric == "manhattan":  # a product of two lines of five: 1 − (1 − 3/4)² for the product of their mechanisms
        assert found.multiplicative == Fraction(7, 3) ** 2
        assert found.additive <= Fraction(15, 16) <= found.additive_bound


def test_a_hundred_points_in_seconds() -> None:
    rng = np.random.default_rng(4)
    for privacy in (
        sf.PrivacyType(sf.points(rng.random((100, 2)) * 10), epsilon=0.3),
        sf.PrivacyType(sf.grid(10, 10), epsilon=0.3),
    ):
        found = sf.types.capacities(privacy)
        assert found.multiplicative_method is found.additive_method is CapacityMethod.COLUMNS
        assert 0 <= found.multiplicative_bound - found.multiplicative <= 1e-6 * found.multiplicative
        assert 0 <= found.additive_bound - found.additive <= 1e-6 * found.additive
        pairs = pairs_of(privacy)
        for channel in (found.most_multiplicative, found.most_additive):
            matrix = channel.matrix.astype(np.float64)  # decided in fractions when it was made; here a check in floats
            assert (matrix[pairs.second] >= pairs.low[:, None] * matrix[pairs.first] * (1 - 1e-14)).all()


@given(exact_privacy_types(), st.integers(0, 2**32 - 1), st.floats(-3, 3))
@settings(max_examples=60)
def test_any_multipliers_give_a_bound(privacy: sf.PrivacyType, seed: int, size: float) -> None:
    n, pairs = len(privacy.space), pairs_of(privacy)
    multipliers = np.random.default_rng(seed).random((len(pairs.first), n)) * 10.0**size
    multipliers[multipliers < 0.5 * 10.0**size] = 0.0
    most, least = over_vertices(privacy)
    assert -_bound_below(-np.eye(n), pairs, multipliers) >= most
    assert 1 - Fraction(_bound_below(np.eye(n), pairs, multipliers)) >= least


def test_the_bound_is_below_its_exact_value() -> None:
    """Against rationals, with decays that are powers of two and multipliers of very different sizes."""
    privacy = sf.PrivacyType(sf.line(6), alpha="1/2")
    pairs = pairs_of(privacy)
    rng = np.random.default_rng(0)
    for _ in range(20):
        multipliers = rng.random((len(pairs.first), 6)) * 10.0 ** rng.uniform(-12, 6, (len(pairs.first), 1))
        reduced = [[Fraction(int(x == y)) for y in range(6)] for x in range(6)]
        for k, (x, z) in enumerate(zip(pairs.first, pairs.second, strict=True)):
            for y in range(6):
                reduced[x][y] += Fraction(1, 2) * Fraction(multipliers[k, y])
                reduced[z][y] -= Fraction(multipliers[k, y])
        true = sum(min(row) for row in reduced)
        found = Fraction(_bound_below(np.eye(6), pairs, multipliers))
        assert true - Fraction(1, 10**9) * abs(true) - Fraction(1, 10**9) <= found <= true


@given(privacy_types(), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_private_channels_are_private_whatever_they_are_made_from(privacy: sf.PrivacyType, seed: int) -> None:
    n = len(privacy.space)
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(n, 0.3), n) + rng.normal(0, 0.01, (n, n))
    channel = private_channel(matrix, privacy, "additive")
    assert channel.exact
    assert set(channel.outputs) <= set(privacy.space.labels)
    assert sf.satisfies(channel, privacy)


def test_bounds_of_decays_enclose_the_true_ones() -> None:
    for privacy in (
        sf.PrivacyType(sf.grid(3, 3), epsilon="1/3"),
        sf.PrivacyType(sf.points([(0.1, 0.2), (0.7, 0.4), (5.0, 3.0)]), alpha="1/7"),
        sf.PrivacyType(sf.line(3), epsilon=1e-12),
        sf.PrivacyType(sf.line(3), epsilon=5000),
    ):
        pairs = pairs_of(privacy)
        labels = privacy.space.labels
        assert (pairs.low <= pairs.high).all()
        for k in range(len(pairs.first)):
            low, high = privacy.factor(labels[pairs.first[k]], labels[pairs.second[k]], bits=200)
            assert Fraction(pairs.low[k]) <= 1 / high <= 1 / low <= Fraction(pairs.high[k])


@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 1e-9, 30, 1e5])
def test_promises_at_the_end_of_floats(epsilon: float) -> None:
    for space in (sf.grid(2, 3), sf.points([(0, 0), (1e-9, 0), (1, 1), (2, 0)]), sf.line(4)):
        privacy = sf.PrivacyType(space, epsilon=epsilon)
        found = sf.types.capacities(privacy)
        assert 1 <= found.multiplicative <= found.multiplicative_bound <= found.multiplicative + 1e-8
        assert 0 <= found.additive <= found.additive_bound <= found.additive + 1e-8
        assert sf.satisfies(found.most_multiplicative, privacy)
        assert sf.satisfies(found.most_additive, privacy)


def test_one_secret_has_nothing_to_leak() -> None:
    for privacy in (sf.PrivacyType(sf.line(1), alpha="1/2"), sf.PrivacyType(sf.line(1), epsilon=1)):
        found = sf.types.capacities(privacy)
        assert (found.multiplicative, found.multiplicative_bound) == (1, 1)
        assert (found.additive, found.additive_bound) == (0, 0)


def test_what_is_refused() -> None:
    apart = sf.graph({(0, 1): 1, (2, 3): 1}, labels=range(4))
    with pytest.raises(NotSupported, match="finite distances"):
        sf.types.capacities(sf.PrivacyType(apart, alpha="1/2"))
    with pytest.raises(InvalidInput, match="a promise"):
        sf.types.capacities(sf.line(3))  # type: ignore[arg-type]


def test_an_interrupt_comes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LanesIterate, "iterate", stop)
    with pytest.raises(KeyboardInterrupt):
        sf.types.capacities(sf.PrivacyType(sf.grid(4, 4), epsilon="0.1"))
