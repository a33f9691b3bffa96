from __future__ import annotations

from itertools import combinations, islice

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported, UndecidedError
from sfumato.privacy import supports
from sfumato.privacy.rays import Rays, rays_of
from strategies import alphas


def type_of(space: sf.FiniteSpace, alpha: str = "1/2") -> sf.PrivacyType:
    return sf.PrivacyType(space, alpha=alpha)


@pytest.mark.parametrize(
    ("space", "count"),
    [
        *zip((sf.line(n) for n in range(1, 7)), (1, 1, 2, 11, 187, 15346), strict=True),
        *zip((sf.discrete(n) for n in range(2, 6)), (1, 5, 41, 1291), strict=True),
        (sf.hamming(2), 4),
        (sf.hamming(3), 29213),  # paper A prints 29,275 in Table 7a
    ],
    ids=lambda v: getattr(v, "name", str(v)),
)
def test_counts_of_paper_a(space: sf.FiniteSpace, count: int) -> None:
    assert sf.types.count_kernels(type_of(space)) == count


@pytest.mark.parametrize(("alpha", "count"), [("2/3", 222), ("1/2", 187), ("1/3", 195)])
def test_counts_depend_on_epsilon(alpha: str, count: int) -> None:
    assert sf.types.count_kernels(type_of(sf.line(5), alpha)) == count


def test_kernels_of_the_four_point_line_one_by_one() -> None:
    expected = {
        ("0101", "1010"), ("0101", "0121", "2101"), ("1010", "1012", "1210"), ("0101", "0121", "0123", "3210"),
        ("0101", "0121", "1012", "3210"), ("0121", "0123", "1210", "2101"), ("0121", "0123", "1210", "3210"),
        ("0121", "1012", "1210", "2101"), ("0121", "1012", "1210", "3210"), ("0123", "1010", "1210", "2101"),
        ("0123", "1010", "1210", "3210"),
    }  # fmt: skip
    found = set()
    for kernel in sf.types.kernels(type_of(sf.line(4))):
        rows = [kernel.vertices.coefficients[i][:, 0] for i in kernel.support]
        found.add(tuple(sorted("".join(str(v) for v in row - row.min()) for row in rows)))
    assert found == expected


def brute_force(privacy: sf.PrivacyType) -> set[tuple[int, ...]]:
    """Every set of independent rays with a positive sum of 1, tried one by one with FLINT."""
    rays = rays_of(sf.types.vertices(privacy)).integers
    assert rays is not None
    n, count = rays.shape
    found = set()
    for size in range(1, n + 1):
        for support in combinations(range(count), size):
            matrix = flint.fmpq_mat([[int(rays[x, i]) for i in support] + [1] for x in range(n)])
            reduced, rank = matrix.rref()
            solved = rank == size and all(reduced[i, i] == 1 for i in range(size))
            if solved and all(reduced[i, size] > 0 for i in range(size)):
                found.add(support)
    return found


@given(
    st.sampled_from(
        [sf.line(4), sf.cycle(4), sf.spaces.star(3), sf.discrete(4), sf.spaces.complete_bipartite(2, 2), sf.line(3)]
    ),
    alphas(),
)
@settings(max_examples=25)
def test_small_types_against_brute_force(space: sf.FiniteSpace, alpha: object) -> None:
    privacy = sf.PrivacyType(space, alpha=alpha)  # type: ignore[arg-type]
    assert {kernel.support for kernel in sf.types.kernels(privacy)} == brute_force(privacy)


@pytest.mark.parametrize("space", [sf.line(5), sf.hamming(2), sf.cycle(5)], ids=str)
def test_kernels_are_private_mechanisms_with_independent_posteriors(space: sf.FiniteSpace) -> None:
    privacy = type_of(space)
    found = sf.types.kernels(privacy)
    for index in range(0, len(found), max(1, len(found) // 40)):
        kernel = found[index]
        assert all(weight > 0 for weight in kernel.weights)
        assert sf.satisfies(kernel.channel, privacy)
        matrix = flint.fmpq_mat(
            [[flint.fmpq(v.numerator, v.denominator) for v in row] for row in kernel.channel.matrix]
        )
        assert matrix.rank() == len(kernel.support)
    assert sum(found.sizes().values()) == len(found)


def test_the_binary_mechanism_is_the_only_kernel_of_two_secrets() -> None:
    """Paper A, Corollary 9."""
    (only,) = sf.types.kernels(type_of(sf.discrete(2), "1/3"))
    assert sorted(map(str, only.channel.matrix[0])) == ["1/4", "3/4"]


def test_oversized_types_are_refused() -> None:
    with pytest.raises(NotSupported, match="at most 16"):
        sf.types.kernels(type_of(sf.spaces.star(16)))
    with pytest.raises(NotSupported, match="determinants this large"):
        supports.residues_of(np.full((4, 4), 2**5000, dtype=object))


@pytest.mark.parametrize(
    ("space", "count"), [(sf.line(5), 187), (sf.discrete(5), 1291), (sf.hamming(3), 29213)], ids=str
)
def test_joining_on_common_members_finds_the_same(
    space: sf.FiniteSpace, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for pairs in (0, 10**9):  # always by subsets, never by subsets
        monkeypatch.setattr(supports, "_PAIRS_A_LOOKUP", pairs)
        found.append(sf.types.kernels(type_of(space)).supports)
        assert found[-1].shape[1] == count
    assert set(found[0][0].tolist()) == set(found[1][0].tolist())


@pytest.mark.parametrize("space", [sf.line(5), sf.discrete(4), sf.cycle(5), sf.grid(2, 2)], ids=str)
def test_primes_and_the_combinatorial_test_agree(space: sf.FiniteSpace) -> None:
    """The way taken where polynomials decide nothing, on types where they do."""
    rays = rays_of(sf.types.vertices(type_of(space)))
    blind = Rays(rays.vertices, rays.exponents, rays.base, complete=False)
    one, other = (
        {tuple(support) for piece in supports.supports_in_pieces(given) for support in piece.T.tolist()}
        for given in (rays, blind)
    )
    assert one == other


def test_a_list_that_would_take_hours_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supports, "_MOST_PAIRS", 10)
    with pytest.raises(NotSupported, match="pairs of rays"):
        sf.types.kernels(type_of(sf.line(4)))


def test_a_type_with_too_many_rays_is_refused_in_seconds() -> None:
    with pytest.raises(NotSupported, match="after 1 of 8 equations"):
        sf.types.count_kernels(sf.PrivacyType(sf.grid(3, 3), epsilon=1))
    with pytest.raises(InvalidInput, match="kernels"):
        sf.types.orbits(type_of(sf.line(3)))  # type: ignore[arg-type]


def brute_force_with_balls(privacy: sf.PrivacyType) -> set[tuple[int, ...]]:
    """Every set of rays, determinants in 256-bit balls; singular only if the ball contains zero."""
    rays = rays_of(sf.types.vertices(privacy))
    count, n = len(rays), len(privacy.space)
    balls = rays.balls(range(count), 256)
    found = set()
    with flint.ctx.workprec(256):
        for size in range(1, n + 1):
            for support in combinations(range(count), size):
                for rows in combinations(range(n), size):
                    square = flint.arb_mat([[balls[i][x] for i in support] for x in rows])
                    if not square.det().contains(0):
                        break
                else:
                    continue
                weights = square.solve(flint.arb_mat(size, 1, [1] * size))
                sums = [sum(weights[k, 0] * balls[i][x] for k, i in enumerate(support)) for x in range(n)]
                if all(v.contains(1) for v in sums) and all(weights[k, 0] > 0 for k in range(size)):
                    found.add(support)
    return found


@pytest.mark.parametrize(
    ("privacy", "count"),
    [
        (sf.PrivacyType(sf.grid(2, 2), alpha="1/2"), 403),  # golden, and printed in Table 6a
        (sf.PrivacyType(sf.grid(2, 2), epsilon=1), 395),
        (sf.PrivacyType(sf.line(4), epsilon="0.7"), 11),
        (sf.PrivacyType(sf.grid(3), epsilon=1), 2),
        (sf.PrivacyType(sf.graph([(0, 1, "1/2"), (1, 2, "1/2")]), alpha="1/2"), 2),
        (sf.PrivacyType(sf.points([[0.0, 0.1], [1.0, 0.2], [0.3, 0.9]]), epsilon=1), 8),
    ],
    ids=repr,
)
def test_irrational_types_against_balls(privacy: sf.PrivacyType, count: int) -> None:
    found = {kernel.support for kernel in sf.types.kernels(privacy)}
    assert len(found) == count
    assert found == brute_force_with_balls(privacy)


def test_what_a_ball_cannot_tell_from_zero_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """√α is algebraic: polynomials in it may vanish by themselves, and then no ball ends."""
    rays = rays_of(sf.types.vertices(sf.PrivacyType(sf.graph([(0, 1, "1/2"), (1, 2, "1/2")]), alpha="1/2")))
    assert not rays.complete
    assert rays.base is None
    with pytest.raises(UndecidedError, match="zero or not"):
        rays.sign([0, 1], [0, 0])


def test_weights_of_irrational_kernels_are_floats_that_fit() -> None:
    for kernel in islice(sf.types.each_kernel(sf.PrivacyType(sf.grid(2, 2), alpha="1/2")), 20):
        rows = sum(w * kernel.vertices[i].ray for w, i in zip(kernel.weights, kernel.support, strict=True))
        assert abs(rows - 1).max() < 1e-12
        assert min(kernel.weights) > 0


def test_each_kernel_is_lazy_and_complete() -> None:
    privacy = type_of(sf.line(5))
    assert {k.support for k in sf.types.each_kernel(privacy)} == {k.support for k in sf.types.kernels(privacy)}


def test_progress_counts_up_and_an_interrupt_comes_through() -> None:
    seen: list[supports.Enumeration] = []
    assert sf.types.count_kernels(type_of(sf.line(6)), progress=seen.append) == 15346
    assert [e.equation for e in seen] == sorted(e.equation for e in seen)
    assert seen[-1].rays == 15346
    assert seen[-1].share == 1
    assert str(seen[-1]) == "equation 5 of 5, 100%, 15,346 rays"

    def stop(_: supports.Enumeration) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sf.types.kernels(type_of(sf.line(6)), progress=stop)


@pytest.mark.parametrize("space", [sf.line(4), sf.line(5), sf.cycle(4), sf.discrete(4), sf.hamming(2)], ids=str)
def test_orbits_against_brute_force(space: sf.FiniteSpace) -> None:
    found = sf.types.kernels(type_of(space))
    matrices = {frozenset(tuple(column) for column in kernel.channel.matrix.T): i for i, kernel in enumerate(found)}
    seen: set[int] = set()
    sizes = []
    for columns, index in matrices.items():
        if index not in seen:
            images = {
                matrices[frozenset(tuple(column[g[x]] for x in range(len(space))) for column in columns)]
                for g in sf.spaces.isometries(space)
            }
            seen |= images
            sizes.append(len(images))
    grouped = sf.types.orbits(found)
    assert sorted(grouped.sizes.tolist()) == sorted(sizes)
    assert grouped.sizes.sum() == len(found)


def test_orbits_of_the_cube() -> None:
    grouped = sf.types.orbits(sf.types.kernels(type_of(sf.hamming(3))))
    assert grouped.sizes.sum() == 29213
    assert set(grouped.sizes.tolist()) <= {1, 2, 3, 4, 6, 8, 12, 16, 24, 48}
    assert repr(grouped) == f"Orbits({len(grouped)} of 29213 kernels)"


@pytest.mark.parametrize(
    "space",
    [
        sf.line(4),
        sf.grid(2, 2),
        sf.discrete(4),
        sf.cycle(5),
        sf.spaces.star(4),
        sf.points([[0.3, 0], [1, 0.1], [0, 2]]),
    ],
    ids=str,
)
@pytest.mark.parametrize("epsilon", ["1/1000000", "1/10", "7/10", 3, 20])
def test_a_kernel_of_an_irrational_type_is_in_it(space: sf.FiniteSpace, epsilon: int | str) -> None:
    """On the border of the type, where rounding up by one unit in the last place would leave it."""
    privacy = sf.PrivacyType(space, epsilon=epsilon)
    found = sf.types.kernels(privacy)
    for kernel in islice(found, 0, None, max(1, len(found) // 10)):
        assert sf.satisfies(kernel.channel, privacy)
        assert np.allclose(kernel.vertices.rays[list(kernel.support)].T @ np.array(kernel.weights), 1, rtol=1e-6)


@pytest.mark.parametrize(
    "space", [sf.points([[0], [2]]), sf.grid(3, 1), sf.points([["0"], ["1/2"], ["3/2"]]),
              sf.grid(2, 2).restrict([(0, 0), (0, 1)]), sf.points([[0, 0], [3, 4], [6, 8]])],
    ids=str,
)  # fmt: skip
def test_roots_that_come_out_whole_are_whole_numbers(space: sf.FiniteSpace) -> None:
    privacy = sf.PrivacyType(space, alpha="1/4")
    assert privacy.exact and sf.types.vertices(privacy).rays.dtype == object
    assert all(kernel.channel.exact and sf.satisfies(kernel.channel, privacy) for kernel in sf.types.kernels(privacy))
    assert sf.design(sf.Prior.uniform(space), None, privacy, objective="shares").proved
    assert sf.universal.universal_design(sf.losses.bin(space), privacy).exists
