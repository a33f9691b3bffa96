from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import arcsine, beta, norm, poisson, uniform

from sfumato.errors import InvalidPrior
from sfumato.mechanisms.continuous import MASS_TOLERANCE, Density, gather, lattice
from strategies import distributions


@given(st.data())
@settings(max_examples=60)
def test_gathering_a_histogram_is_exact(data: st.DataObject) -> None:
    """Against sums of overlaps, cell by cell."""
    weights = data.draw(distributions(data.draw(st.integers(1, 6))))
    steps = data.draw(st.integers(1, 9))
    k = len(weights)
    found = gather(Density.steps(weights), steps)
    assert found.exact and found.secrets == lattice(steps)
    assert found.weights[-1] == 0
    for n in range(steps):
        overlap = [
            max(Fraction(0), min(Fraction(n + 1, steps), Fraction(j + 1, k)) - max(Fraction(n, steps), Fraction(j, k)))
            for j in range(k)
        ]
        assert found.weights[n] == sum(w * o * k for w, o in zip(weights, overlap, strict=True))


@given(st.data())
@settings(max_examples=40)
def test_quadrature_of_a_histogram_is_its_sum(data: st.DataObject) -> None:
    weights = data.draw(distributions(data.draw(st.integers(1, 6))))
    density = Density.steps(weights)
    edges = [float(p) for p in lattice(len(weights))]
    assert np.diff(density.cumulative(edges)) == pytest.approx([float(w) for w in weights], abs=1e-14)


DISTRIBUTIONS = [beta(2, 3), uniform(), uniform(0.2, 0.5), arcsine(), beta(0.5, 3)]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=list("abcde"))
def test_cells_of_scipy_distributions(distribution: object) -> None:
    density = Density(distribution)
    found = gather(density, 7).weights
    assert found[:-1] == pytest.approx(np.diff(distribution.cdf(np.arange(8) / 7)), abs=1e-12)  # type: ignore[attr-defined]
    by_quadrature = Density(distribution.pdf)  # type: ignore[attr-defined]
    assert gather(by_quadrature, 7).weights == pytest.approx(found, abs=MASS_TOLERANCE)


def test_functions_of_one_number_and_constants_will_do() -> None:
    scalar = Density(lambda x: math.pi / 2 * math.sin(math.pi * x))
    assert scalar.cumulative(0.5) == pytest.approx(0.5, abs=1e-13)
    assert Density(lambda x: 1.0).cumulative([0.25, 1.0]) == pytest.approx([0.25, 1.0])


def test_a_kink_is_found_without_being_named() -> None:
    tent = Density(lambda x: 4 * np.minimum(x, 1 - x) + 0 * x)
    third = Density(lambda x: np.where(x < 1 / 3, 2.0, 0.5))
    assert tent.cumulative(0.25) == pytest.approx(0.125, abs=1e-12)
    assert third.cumulative(1 / 3) == pytest.approx(2 / 3, abs=1e-9)


def test_other_intervals() -> None:
    density = Density(norm(170, 8), (150, 190), normalise=True)
    assert density.cumulative(170.0) == pytest.approx(0.5, abs=1e-12)
    assert gather(density, 4).secrets == (150, 160, 170, 180, 190)
    assert gather(Density.uniform((-1, 3)), 4).weights.tolist() == [Fraction(1, 4)] * 4 + [0]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda x: 2.0, "integrates to 2"),
        (norm(0.5, 0.2), "normalise=True"),
        (lambda x: 1.5 - 2 * (x > 0.5), "negative"),
        (lambda x: float("nan"), "not a number"),
        (lambda x: 0.0, "integrates to 0"),
        (poisson(3), "function or a frozen scipy distribution"),
        (0.5, "function or a frozen scipy distribution"),
    ],
)
def test_what_is_no_density(wrong: object, says: str) -> None:
    with pytest.raises(InvalidPrior, match=says):
        Density(wrong)


def test_no_mass_cannot_be_normalised() -> None:
    with pytest.raises(InvalidPrior, match="no distribution"):
        Density(lambda x: 0.0, normalise=True)
    with pytest.raises(InvalidPrior, match="sum to"):
        Density.steps(["1/3", "1/3"])
