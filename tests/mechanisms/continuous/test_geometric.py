from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from examples import truncated_geometric
from sfumato.mechanisms.continuous import geometric_refinement, lattice_geometric, smear, truncated_laplace
from strategies import alphas


@given(st.integers(1, 7), alphas())
@settings(max_examples=40)
def test_it_is_the_truncated_geometric_of_the_line(steps: int, alpha: Fraction) -> None:
    found = lattice_geometric(truncated_laplace(alpha=alpha**steps), steps)
    assert (found.matrix == truncated_geometric(steps + 1, alpha).matrix).all()


def test_floats_where_the_step_is_irrational() -> None:
    found = lattice_geometric(truncated_laplace(alpha="1/2"), 3)
    assert not found.exact
    assert found.matrix == pytest.approx(truncated_geometric(4, Fraction(0.5 ** (1 / 3))).matrix.astype(float))


@pytest.mark.parametrize("index", [0, 1, 2, 3])
def test_the_density_of_the_smear_integrates_to_its_sums(index: int) -> None:
    source = truncated_laplace(alpha="1/64")
    factor = smear(source, 3)
    sums = factor.edge_sums(6)[index].astype(float)
    start = float(factor.atoms) if index == 0 else 0.0
    for edge in range(1, 6):
        points = [p / 3 for p in range(1, 3) if p / 3 < edge / 6]
        inside = quad(lambda y: float(factor.density(index, y)), 0, edge / 6, points=points or None)[0]
        assert start + inside == pytest.approx(sums[edge], abs=1e-10)
    assert (np.diff(sums) >= 0).all() and sums[-1] == 1


def test_rows_of_a_float_smear_are_distributions() -> None:
    factor = smear(truncated_laplace(1), 50).pixelated(333)
    assert factor.matrix.sum(axis=1) == pytest.approx(np.ones(51))
    assert geometric_refinement(truncated_laplace(1), 5, 7)
