from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, norm

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.mechanisms.continuous import (
    Density,
    Interval,
    IntervalLoss,
    absolute_error,
    gather,
    laplace,
    lattice_geometric,
    lattice_loss,
    lattice_space,
    on_lattice,
    pixelate,
    posterior_loss,
    squared_error,
    truncated_laplace,
)


def _plain_sum(density: Any, epsilon: float, value: Any, cells: int = 1200) -> float:
    """Definition 2 with midpoint sums for x and y and the middles of cells as actions: an independent program."""
    x = (np.arange(cells) + 0.5) / cells
    weights = density(x) / cells
    ends = np.exp(-epsilon * np.stack([x, 1 - x], axis=1)) / 2
    kernel = epsilon / 2 * np.exp(-epsilon * np.abs(x[:, None] - x[None, :])) / cells
    joint = weights[:, None] * np.concatenate([ends, kernel], axis=1)
    actions = np.linspace(0, 1, 401)
    return float((value(actions[:, None], x[None, :]) @ joint).min(axis=0).sum())


@pytest.mark.parametrize("loss", [absolute_error(), squared_error()], ids=repr)
@pytest.mark.parametrize("distribution", [beta(2, 3), beta(1, 4)], ids=["beta(2, 3)", "beta(1, 4)"])
def test_against_plain_sums(distribution: Any, loss: IntervalLoss) -> None:
    found = posterior_loss(distribution, truncated_laplace(2), loss)
    assert found.value == pytest.approx(_plain_sum(distribution.pdf, 2, loss.value), abs=2e-5)
    assert found.error < 1e-8


def test_the_error_estimate_covers_a_stricter_run() -> None:
    tent = Density(lambda x: 4 * np.minimum(x, 1 - x))
    bounded = IntervalLoss(lambda w, x: np.minimum(np.abs(w - x), 0.2), offsets=(-0.2, 0, 0.2))
    loose = posterior_loss(tent, truncated_laplace(5), bounded, tolerance=1e-4)
    strict = posterior_loss(tent, truncated_laplace(5), bounded, tolerance=1e-11)
    assert abs(loose.value - strict.value) <= loose.error
    assert strict.error < 1e-9


def test_the_best_actions_of_squared_error_are_posterior_means() -> None:
    source = truncated_laplace(3)
    density = Density(beta(2, 2))
    found = posterior_loss(density, source, squared_error())
    x = (np.arange(4000) + 0.5) / 4000
    for y, action in list(zip(found.outputs, found.remap, strict=True))[2::20]:
        weights = density(x) * source.density(x, y)
        assert action == pytest.approx((weights * x).sum() / weights.sum(), abs=1e-5)


def test_truncation_changes_no_loss() -> None:
    """Outputs beyond an end have the posterior of the end."""
    one, other = (posterior_loss(beta(2, 3), m, absolute_error()) for m in (laplace(1), truncated_laplace(1)))
    assert one.value == other.value


def test_finite_priors_agree_with_the_finite_measure() -> None:
    source = truncated_laplace(alpha="1/81")
    prior = sf.Prior(lattice_space(4), ["1/8", "1/4", "1/4", "1/8", "1/4"])
    geometric = lattice_geometric(source, 4)
    expected = sf.posterior_loss(prior, geometric, lattice_loss(absolute_error(), 4))
    assert posterior_loss(prior, geometric, absolute_error()).value == pytest.approx(float(expected), abs=1e-12)
    few = IntervalLoss(absolute_error().value, actions=[0, "1/2", 1])
    finite = lattice_loss(absolute_error(), 4, actions=[0, "1/2", 1])
    pixels = pixelate(source, 4)
    assert posterior_loss(prior, pixels, few).value == pytest.approx(
        float(sf.posterior_loss(prior, on_lattice(pixels, 4), finite)), abs=1e-13
    )


def test_fine_priors_approach_the_density() -> None:
    source, density = truncated_laplace(2), Density(beta(2, 3))
    limit = posterior_loss(density, source, absolute_error()).value
    fine = posterior_loss(gather(density, 100), source, absolute_error()).value
    assert fine == pytest.approx(limit, abs=2e-3)


def test_poles_of_a_density() -> None:
    """beta(1/2, 1/2) is infinite at both ends."""
    found = posterior_loss(Density(beta(0.5, 0.5)), truncated_laplace(2), squared_error(), tolerance=1e-6)
    assert found.value == pytest.approx(0.0914267, abs=2e-7)
    assert 0 < found.error < 1e-6


def test_other_intervals_scale() -> None:
    interval = Interval(Fraction(2), Fraction(6))
    there = posterior_loss(
        Density.uniform(interval), truncated_laplace("1/4", interval=interval), absolute_error(interval)
    )
    here = posterior_loss(Density.uniform(), truncated_laplace(1), absolute_error())
    assert there.value == pytest.approx(4 * here.value, rel=1e-9)


def test_what_does_not_fit() -> None:
    with pytest.raises(InvalidInput, match="lives on"):
        posterior_loss(Density.uniform((0, 2)), truncated_laplace(1), absolute_error())
    with pytest.raises(InvalidInput, match="lives on"):
        posterior_loss(Density.uniform(), truncated_laplace(1), absolute_error((0, 2)))
    with pytest.raises(InvalidInput, match="not all lie"):
        posterior_loss(sf.Prior.uniform([0, 2]), truncated_laplace(1), absolute_error())
    with pytest.raises(InvalidInput, match="numbers"):
        posterior_loss(sf.Prior.uniform(["a", "b"]), truncated_laplace(1), absolute_error())
    with pytest.raises(InvalidInput, match="gather"):
        posterior_loss(Density.uniform(), lattice_geometric(truncated_laplace(1), 2), absolute_error())
    with pytest.raises(InvalidInput, match="tolerance"):
        posterior_loss(Density.uniform(), truncated_laplace(1), absolute_error(), tolerance=0)


@pytest.mark.parametrize("width", [1e-2, 1e-4, 1e-6])
def test_narrow_priors_are_found(width: float) -> None:
    """Next to nothing is learnt of so narrow a prior: the loss is its mean absolute deviation, σ √(2/π)."""
    found = posterior_loss(Density(norm(0.5, width)), truncated_laplace(1), absolute_error())
    assert found.value == pytest.approx(width * np.sqrt(2 / np.pi), rel=1e-2)
