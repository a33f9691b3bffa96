from __future__ import annotations

from fractions import Fraction
from itertools import product

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported
from sfumato.mechanisms.lattice import (
    KERNEL_BITS,
    Lattice,
    LatticeKernel,
    exact_products,
    lattice_kernel,
    lattice_solution,
    mean_distances,
)
from sfumato.privacy.similarity import ball_powers, similarity
from sfumato.privacy.type import ball_rate

METRICS = ("euclidean", "manhattan", "chebyshev")


def kernel(shape: tuple[int, ...], metric: str = "euclidean", step: str = "1", **promise: str) -> LatticeKernel:
    return lattice_kernel(Lattice(shape, metric, Fraction(step)), **promise)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 6), min_size=1, max_size=3))
@settings(max_examples=40)
def test_products_are_exact(seed: int, shape: list[int]) -> None:
    """Up to the rounding of the result, which leaves small results exact however large the terms are."""
    rng = np.random.default_rng(seed)
    reach = [int(rng.integers(0, s)) for s in shape]
    k = rng.integers(0, 2**60, size=[r + 1 for r in reach])
    z = rng.integers(-(2**50), 2**50, size=shape)
    places = list(product(*map(range, shape)))

    def at(x: tuple[int, ...]) -> int:
        near = [tuple(abs(a - b) for a, b in zip(x, y, strict=True)) for y in places]
        inside = [all(o <= r for o, r in zip(offset, reach, strict=True)) for offset in near]
        return sum(int(k[o]) * int(z[y]) for o, y, i in zip(near, places, inside, strict=True) if i)

    first = at(places[0])
    found = exact_products(k, z, first + 7)
    assert found[places[0]] == 7  # 110 bits cancel
    for x in places:
        assert found[x] == pytest.approx(first + 7 - at(x), rel=2**-50)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", [(9,), (4, 5), (3, 3, 4)])
def test_the_solution_is_within_its_error_of_the_true_one(metric: str, shape: tuple[int, ...]) -> None:
    found = lattice_solution(kernel(shape, metric, "1/2", epsilon="2"))
    space = sf.grid(*shape, metric=metric, step="1/2")
    privacy = sf.PrivacyType(space, epsilon=2)
    n = len(space)
    values, codes = np.unique(space.distances.values, return_inverse=True)
    with flint.ctx.workprec(128):
        balls = ball_powers(space, values, ball_rate(privacy))
        table = flint.arb_mat(n, n, [balls[c] for c in codes.ravel()])
        truth = table.solve(flint.arb_mat(n, 1, [1] * n)).entries()
    if metric != "chebyshev" or len(shape) < 3:
        assert found.error < 1e-8
    for z, guess in zip(truth, found.values.ravel(), strict=True):
        assert abs(z - float(guess)) <= found.error
    residual = 1 - similarity(privacy) @ found.values.ravel()
    assert found.residual[0] - 1e-14 <= residual.min() and residual.max() <= found.residual[1] + 1e-14
    assert np.linalg.norm(residual) <= found.norm + 1e-13


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", [(12,), (1, 12), (7, 9), (4, 4, 5)])
@pytest.mark.parametrize("epsilon", ["0.1", "0.7", "3"])
def test_no_eigenvalue_is_below_the_bound(metric: str, shape: tuple[int, ...], epsilon: str) -> None:
    bound = kernel(shape, metric, epsilon=epsilon).least_eigenvalue
    space = sf.grid(*shape, metric=metric)
    least = np.linalg.eigvalsh(similarity(sf.PrivacyType(space, epsilon=epsilon)).astype(float)).min()
    if metric == "chebyshev" and len(shape) == 3 and epsilon != "3":
        assert least < 0 == bound  # Φ is indefinite: no bound is claimed
    else:
        assert 0 < bound <= least or (metric == "chebyshev" and len(shape) == 3)


def test_the_bound_is_the_minimum_of_the_symbol_where_a_closed_form_exists() -> None:
    for metric in ("manhattan", "chebyshev"):
        space = sf.grid(24, 24, metric=metric)
        least = np.linalg.eigvalsh(similarity(sf.PrivacyType(space, epsilon="0.7")).astype(float)).min()
        assert least == pytest.approx(kernel((24, 24), metric, epsilon="0.7").least_eigenvalue, rel=0.05)


def test_similarities_are_rounded_to_the_nearest() -> None:
    k = kernel((40, 30), "euclidean", "1/3", epsilon="0.9")
    assert k.integers[0, 0] == 1 << KERNEL_BITS
    for offset in ((0, 1), (1, 1), (7, 4), (39, 29)):
        with flint.ctx.workprec(200):
            length = flint.arb(offset[0] ** 2 + offset[1] ** 2).sqrt() / 3
            exact = (-length * 9 / 10).exp() * flint.arb(2) ** KERNEL_BITS
            assert abs(exact - int(k.integers[offset])) < 0.51
    every = sum(int(k.integers[abs(a), abs(b)]) for a in range(-39, 40) for b in range(-29, 30))
    assert k.total == every


def test_far_similarities_are_left_out() -> None:
    k = kernel((500, 500), epsilon="2")
    assert k.integers.shape[0] < 30
    assert float(np.exp(-2.0 * k.integers.shape[0])) * 2**KERNEL_BITS < 0.5


def test_exact_alphas() -> None:
    found = lattice_solution(kernel((6, 5), "manhattan", alpha="1/2"))
    one = sf.line(6), sf.line(5)
    ends = [np.array([Fraction(2, 3), *[Fraction(1, 3)] * (len(s) - 2), Fraction(2, 3)]) for s in one]
    assert np.abs(found.values - np.multiply.outer(*ends).astype(float)).max() <= found.error < 1e-12


def test_iterations_hardly_grow_with_the_grid() -> None:
    assert lattice_solution(kernel((16, 16), epsilon="0.7")).iterations <= 20
    assert lattice_solution(kernel((200, 200), epsilon="0.7")).iterations <= 20


def test_mean_distances() -> None:
    space = sf.grid(5, 4)
    table = similarity(sf.PrivacyType(space, epsilon=1)) * space.distances.floats
    assert np.allclose(mean_distances(kernel((5, 4), epsilon="1")).ravel(), table.sum(axis=0))


def test_lattices_of_spaces() -> None:
    assert sf.line(4).source.lattice == Lattice((4,), "manhattan")


def test_wrong_lattices() -> None:
    with pytest.raises(InvalidInput, match="along a side"):
        Lattice((0, 3))
    with pytest.raises(InvalidInput, match="step"):
        Lattice((3, 3), step=Fraction(0))
    with pytest.raises(NotSupported, match="metric"):
        Lattice((3, 3), "hamming")
