"""Laws of privacy types: paper A, sections III, V and VI."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from examples import random_response, truncated_geometric
from strategies import alphas


@given(st.integers(2, 7), alphas())
@settings(max_examples=40)
def test_lemma_19_the_truncated_geometric_is_a_kernel(n: int, alpha: Fraction) -> None:
    assert sf.is_kernel(truncated_geometric(n, alpha), sf.PrivacyType(sf.line(n), alpha=alpha))


@given(st.integers(2, 7), alphas())
@settings(max_examples=40)
def test_lemma_21_random_response_is_a_kernel_and_so_is_its_dual(n: int, alpha: Fraction) -> None:
    privacy = sf.PrivacyType(sf.discrete(n), alpha=alpha)
    assert sf.is_kernel(random_response(n, alpha), privacy)
    assert sf.is_kernel(random_response(n, 1 / alpha), privacy)


@given(st.integers(2, 6), alphas())
@settings(max_examples=30)
def test_corollary_20_capacity_of_the_line(n: int, alpha: Fraction) -> None:
    found = sf.capacities(sf.PrivacyType(sf.line(n), alpha=alpha))
    assert found.multiplicative == (n * (1 - alpha) + 2 * alpha) / (1 + alpha)
    assert found.multiplicative == sf.capacity(truncated_geometric(n, alpha)).multiplicative


@given(st.integers(2, 5), alphas())
@settings(max_examples=30)
def test_corollary_22_capacities_of_discrete_spaces(n: int, alpha: Fraction) -> None:
    """The additive one as Table 5a has it, 1 − n/(1 + (n − 1)e^ε); the printed formula lacks the n."""
    found = sf.capacities(sf.PrivacyType(sf.discrete(n), alpha=alpha))
    assert found.multiplicative == n / (1 + (n - 1) * alpha)
    assert found.additive == 1 - n / (1 + (n - 1) / alpha)
    assert sf.capacity(random_response(n, 1 / alpha)).additive == found.additive


@pytest.mark.parametrize("space", [sf.line(4), sf.cycle(5), sf.hamming(3), sf.grid(2, 2)], ids=str)
def test_lemma_16_no_more_columns_than_secrets_attain_the_capacities(space: sf.FiniteSpace) -> None:
    found = sf.capacities(sf.PrivacyType(space, alpha="1/2"))
    assert len(found.most_multiplicative.outputs) <= len(space)
    assert len(found.most_additive.outputs) <= len(space)


@given(alphas())
@settings(max_examples=20)
def test_vertices_do_not_depend_on_epsilon(alpha: Fraction) -> None:
    one, other = (sf.vertices(sf.PrivacyType(sf.cycle(5), alpha=a)) for a in (alpha, Fraction(1, 2)))
    assert np.array_equal(one.coefficients, other.coefficients)


def test_figure_8_the_hamming_kernel_that_is_geometric_along_a_path() -> None:
    """With the eight rows it should have; the printed hyper has ten."""
    rows = {
        "000": (8, 2, 1, 1), "001": (4, 4, 2, 2), "010": (4, 4, 2, 2), "011": (2, 2, 4, 4),
        "100": (4, 4, 2, 2), "101": (2, 2, 4, 4), "110": (2, 2, 4, 4), "111": (1, 1, 2, 8),
    }  # fmt: skip
    cube = sf.hamming(3)
    outer = (Fraction(9, 32), Fraction(7, 32), Fraction(7, 32), Fraction(9, 32))
    inner = [[Fraction(v, t) for v, t in zip(rows[word], (27, 21, 21, 27), strict=True)] for word in cube.labels]
    mechanism = sf.Channel(cube, [[8 * w * v for w, v in zip(outer, row, strict=True)] for row in inner])
    assert sf.is_kernel(mechanism, sf.PrivacyType(cube, alpha="1/2"))
    path = sf.restrict(mechanism, ["000", "100", "110", "111"])
    assert (path.matrix == truncated_geometric(4, Fraction(1, 2)).matrix).all()
