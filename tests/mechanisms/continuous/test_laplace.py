from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import laplace as scipy_laplace

from sfumato.errors import InvalidEpsilon, InvalidInput
from sfumato.mechanisms.continuous import laplace, truncated_laplace


@given(st.floats(0.05, 40), st.floats(0, 1), st.floats(-1, 2), st.floats(-1, 2))
def test_masses_are_those_of_scipy(epsilon: float, x: float, one: float, other: float) -> None:
    low, high = min(one, other), max(one, other)
    reference = scipy_laplace(x, 1 / epsilon)
    expected = reference.cdf(high) - reference.cdf(low) if low < x else reference.sf(low) - reference.sf(high)
    assert float(laplace(epsilon).mass_between(x, low, high)) == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_small_masses_far_out_keep_their_digits() -> None:
    """Differences of cumulative sums would leave nothing of 1e-20."""
    found = float(laplace(50).mass_between(0, 0.9, 0.91))
    assert found == pytest.approx(0.5 * (exp(-45) - exp(-45.5)), rel=1e-12)


@pytest.mark.parametrize("x", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_ends_and_density_make_a_distribution(epsilon: float, x: float) -> None:
    mechanism = truncated_laplace(epsilon)
    ends = mechanism.mass(x, [0, 1])
    assert ends == pytest.approx([exp(-epsilon * x) / 2, exp(-epsilon * (1 - x)) / 2])
    inside = quad(lambda y: float(mechanism.density(x, y)), 0, 1, points=[x], epsabs=1e-13)[0]
    assert ends.sum() + inside == pytest.approx(1, abs=1e-12)


def test_cumulative_sums_start_with_the_lower_end_and_finish_with_the_upper() -> None:
    mechanism = truncated_laplace(2)
    y = np.array([-0.1, 0.0, 0.5, 0.999999999, 1.0])
    found = mechanism.cumulative(0.5, y)
    assert found == pytest.approx([0, exp(-1) / 2, 0.5, 1 - exp(-1) / 2, 1], abs=1e-8)


@given(st.floats(0.1, 10), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_the_promise_holds_for_all_reals(epsilon: float, x: float, z: float, y: float) -> None:
    mechanism = truncated_laplace(epsilon)
    factor = exp(epsilon * abs(x - z)) * (1 + 1e-12)
    assert mechanism.density(x, y) <= factor * mechanism.density(z, y)
    assert (mechanism.mass(x, [0, 1]) <= factor * mechanism.mass(z, [0, 1])).all()


def test_the_promise_on_a_lattice_is_exact() -> None:
    promise = truncated_laplace(alpha="1/16", interval=(0, 2)).promise_on(4)
    assert promise.factor(0, 2) == (256, 256)
    assert promise.exact
    assert truncated_laplace("0.7").promise_on(2).epsilon is not None


def test_intervals_shift_and_stretch() -> None:
    here, there = truncated_laplace(3), truncated_laplace("3/2", interval=(5, 7))
    assert there.mass(5 + 2 * 0.3, [0, 1]) == pytest.approx(here.mass(0.3, [0, 1]))
    assert there.density(5.6, 6.2) == pytest.approx(here.density(0.3, 0.6) / 2)


@pytest.mark.parametrize("wrong", [{}, {"epsilon": 0}, {"epsilon": 1, "alpha": "1/2"}, {"alpha": 1}, {"epsilon": "x"}])
def test_wrong_promises(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidEpsilon):
        truncated_laplace(**wrong)  # type: ignore[arg-type]


def test_wrong_intervals() -> None:
    with pytest.raises(InvalidInput, match="low < high"):
        truncated_laplace(1, interval=(1, 1))
