"""Noise that is the same everywhere in a box: what it promises, what it loses, and what no mechanism goes below."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import exp, isqrt, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.certify.noise import BoxNoise
from sfumato.errors import InvalidInput, NotSupported
from sfumato.mechanisms import box_noise
from sfumato.mechanisms.box_noise import laplace_noise, noise_on_box, noise_table
from sfumato.mechanisms.layers import layers_of
from sfumato.numbers import exp_bounds
from sfumato.spaces.box import Box, box
from sfumato.watch import Watch

METRICS = ("euclidean", "manhattan", "chebyshev")


@cache
def designed(sides: tuple[int, ...], step: int, metric: str = "euclidean", epsilon: str = "1") -> BoxNoise:
    """Noise for a uniform prior."""
    where = box(sides, step=step, metric=metric)
    return noise_on_box(sf.Prior.uniform(where), sf.losses.distance(where), sf.PrivacyType(where, epsilon=epsilon))


def distance_above(first: tuple[Fraction, ...], second: tuple[Fraction, ...], metric: str) -> Fraction:
    """A rational not below a distance, and hardly above."""
    parts = [abs(a - b) for a, b in zip(first, second, strict=True)]
    if metric != "euclidean":
        return max(parts) if metric == "chebyshev" else sum(parts, Fraction(0))
    square = sum((part**2 for part in parts), Fraction(0))
    return Fraction(isqrt((square.numerator << 120) // square.denominator) + 1, 1 << 60)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(METRICS), st.tuples(*[st.fractions(-1, 13, max_denominator=97)] * 4))
def test_the_promise_holds_between_any_two_points_exactly(metric: str, places: tuple[Fraction, ...]) -> None:
    where = box((12, 8), step=4, metric=metric)
    noise = _small(where)
    first, second = places[:2], places[2:]
    factor = exp_bounds(noise.rate * distance_above(first, second, metric))[1]
    for one, other in zip(noise.density(first).weights, noise.density(second).weights, strict=True):
        assert one <= factor * other


@cache
def _small(where: Box) -> BoxNoise:
    return laplace_noise(sf.PrivacyType(where, epsilon="1/4"), parts=2)


@settings(max_examples=20, deadline=None)
@given(st.tuples(*[st.fractions(0, 12, max_denominator=97)] * 2), st.integers(0, 79))
def test_one_probability_is_that_of_the_density(point: tuple[Fraction, ...], number: int) -> None:
    noise = _small(box((12, 8), step=4))
    density = noise.density(point)
    assert sum(density.weights) == 1
    assert (
        noise.probability(point, noise.outputs[number % len(noise.outputs)])
        == density.weights[number % len(noise.outputs)]
    )


@pytest.mark.parametrize(
    ("sides", "step", "most"), [((300,), 2, 1.001), ((300, 300), 3, 2 * 1.006), ((60, 60, 60), 6, 3 * 1.06)]
)
def test_the_loss_is_a_little_above_that_of_laplace_noise(sides: tuple[int, ...], step: int, most: float) -> None:
    found = designed(sides, step)
    assert found.claim is not None and found.claim.bound is not None
    assert len(sides) < float(found.claim.value) < most
    assert float(found.claim.bound.value) < len(sides)


@pytest.mark.parametrize(("metric", "most"), [("manhattan", 2 * 1.007), ("chebyshev", 2 * 1.045)])
def test_other_norms(metric: str, most: float) -> None:
    found = designed((100, 100), 5, metric)
    assert found.claim is not None
    assert 2 < float(found.claim.value) < most


def test_an_irrational_rate_is_replaced_by_one_just_below() -> None:
    where = box((100, 100), step=5)
    found = laplace_noise(sf.PrivacyType(where, alpha="1/2"))
    assert found.rate < 0.6931471805599454 and float(found.rate) == pytest.approx(0.6931471805599453)


def test_the_claimed_loss_is_not_below_the_loss_of_densities() -> None:
    noise = _small(box((12, 8), step=4))
    table = np.array(noise.density((5, 3)).weights, dtype=float)
    points = np.array([[float(c) for c in output] for output in noise.outputs])
    claimed = designed((48, 48), 4, "euclidean", "1/4").claim
    assert claimed is not None
    # moving outputs into a small box brings them nearer
    assert float(table @ np.hypot(*(points - np.array([5.0, 3.0])).T)) < float(claimed.value)


def test_loss_and_bound_bracket_the_best_on_an_interval() -> None:
    # for a uniform prior clamped Laplace noise loses (1/ε)(1 − (1 − e^{−εL})/(εL)), and nothing loses less
    for length in (20, 100):
        found = designed((length,), 1)
        assert found.claim is not None and found.claim.bound is not None
        best = 1 - (1 - exp(-length)) / length
        assert found.claim.bound.value < best < found.claim.value
        assert float(found.claim.bound.value) == pytest.approx(1 - 2 / length * (1 - exp(-length / 2)), rel=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_the_bound_closes_in_on_the_loss_of_large_boxes(metric: str) -> None:
    gaps = []
    for side in (50, 800):
        claim = designed((side, side), side // 10, metric).claim
        assert claim is not None and claim.bound is not None
        gaps.append(1 - claim.bound.value / claim.value)
    assert gaps[0] > gaps[1]
    assert gaps[1] < (0.012 if metric != "chebyshev" else 0.05)


def test_layers_lie_below_a_prior_and_follow_it() -> None:
    town = box((40, 40), step=2)
    middle = [[1 + 8 * (6 <= i < 14 and 4 <= j < 16) for j in range(20)] for i in range(20)]
    prior = sf.Prior.on_cells(middle, town)
    layers = layers_of(prior, town, 1.0)
    assert layers[0] == ((0, 0), (20, 20), 1) and ((6, 4), (14, 16), 8) in layers
    found = noise_on_box(prior, sf.losses.distance(town), sf.PrivacyType(town, epsilon=1))
    assert found.claim is not None and found.claim.bound is not None
    assert 1.5 < float(found.claim.bound.value) < 2


def test_layers_of_random_priors_are_accepted() -> None:
    random = np.random.default_rng(5)
    for shape in ((30,), (9, 7), (4, 5, 3)):
        where = box(shape, step=1)
        prior = sf.Prior.on_cells(random.integers(0, 9, shape).tolist(), where)
        found = noise_on_box(prior, sf.losses.distance(where), sf.PrivacyType(where, epsilon=1))
        assert found.claim is not None and found.claim.bound is not None
        assert 0 <= found.claim.bound.value < found.claim.value


def test_small_noise_as_a_table_is_the_same_mechanism() -> None:
    noise = _small(box((12, 8), step=4))
    table = noise_table(noise)
    for point in ((0, 0), (Fraction(7, 3), 5), (12, 8)):
        assert table.density(point).weights.tolist() == noise.density(point).weights.tolist()


def test_what_is_too_large_says_what_to_do() -> None:
    with pytest.raises(NotSupported, match="probability"):
        designed((300, 300), 3).density((0, 0))
    with pytest.raises(NotSupported, match="rows"):
        noise_table(designed((300, 300), 3))
    with pytest.raises(InvalidInput, match="more parts"):
        laplace_noise(sf.PrivacyType(box((100, 100), step=10), epsilon=1), parts=1)
    with pytest.raises(NotSupported, match="larger cells"):
        laplace_noise(sf.PrivacyType(box((10, 10), step="1/10"), epsilon="1/1000"))


def test_priors_and_losses_of_another_box() -> None:
    here, there = box((8, 8), step=2), box((8, 8), step=1)
    privacy = sf.PrivacyType(here, epsilon=1)
    with pytest.raises(InvalidInput, match="not about the cells"):
        noise_on_box(sf.Prior.uniform(there), sf.losses.distance(here), privacy)
    with pytest.raises(InvalidInput, match="the loss is one of"):
        noise_on_box(sf.Prior.uniform(here), sf.losses.distance(there), privacy)
    with pytest.raises(InvalidInput, match="parts"):
        laplace_noise(privacy, parts=[1, 2, 3])


def test_boxes_that_no_lattice_of_noise_fits() -> None:
    """Very large boxes get a coarser lattice; where that would be too coarse, it is said what to change."""
    for sides, step, says in (((10**9,), 10**6, "a smaller box"), ((300, 100), (100, "1/100"), "larger cells")):
        with pytest.raises(NotSupported, match=says):
            laplace_noise(sf.PrivacyType(sf.box(sides, step=step), epsilon=1))


def test_a_lattice_is_coarser_where_the_box_is_too_large_for_a_fine_one(monkeypatch: pytest.MonkeyPatch) -> None:
    privacy = sf.PrivacyType(sf.box((100,), step=10), epsilon=1)
    fine = laplace_noise(privacy)
    monkeypatch.setattr(box_noise, "_MOST_CELLS", 100)
    coarse = laplace_noise(privacy)
    assert (fine.rounding.shape, coarse.rounding.shape) == ((1602,), (102,))


@pytest.mark.parametrize(("sides", "step", "more"), [((12, 12, 12), "1/4", 4.0), ((30, 30), "1/16", 1.01)])
def test_noise_in_little_time_reaches_less_far(sides: Any, step: str, more: float) -> None:
    """Cells that are fine ask for a large table; its proof takes some seconds, however little is left of the time.

    In space that is half of what a table would need that loses little by its end.
    """
    where = box(sides, step=step)
    privacy, watch = sf.PrivacyType(where, epsilon=1), Watch(0.5)
    found = noise_on_box(sf.Prior.uniform(where), sf.losses.distance(where), privacy, watch)
    assert found.claim is not None and found.proof.loss == found.claim.value
    assert prod(found.table.shape) <= 1 << 17
    assert float(found.claim.value) < more * len(sides)
