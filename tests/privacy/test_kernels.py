from __future__ import annotations

import sys
from itertools import combinations

import flint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import NotSupported
from sfumato.privacy.kernels import _integer_rays
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
    assert sf.count_kernels(type_of(space)) == count


@pytest.mark.parametrize(("alpha", "count"), [("2/3", 222), ("1/2", 187), ("1/3", 195)])
def test_counts_depend_on_epsilon(alpha: str, count: int) -> None:
    assert sf.count_kernels(type_of(sf.line(5), alpha)) == count


def test_kernels_of_the_four_point_line_one_by_one() -> None:
    expected = {
        ("0101", "1010"), ("0101", "0121", "2101"), ("1010", "1012", "1210"), ("0101", "0121", "0123", "3210"),
        ("0101", "0121", "1012", "3210"), ("0121", "0123", "1210", "2101"), ("0121", "0123", "1210", "3210"),
        ("0121", "1012", "1210", "2101"), ("0121", "1012", "1210", "3210"), ("0123", "1010", "1210", "2101"),
        ("0123", "1010", "1210", "3210"),
    }  # fmt: skip
    found = set()
    for kernel in sf.kernels(type_of(sf.line(4))):
        rows = [kernel.vertices.coefficients[i][:, 0] for i in kernel.support]
        found.add(tuple(sorted("".join(str(v) for v in row - row.min()) for row in rows)))
    assert found == expected


def brute_force(privacy: sf.PrivacyType) -> set[tuple[int, ...]]:
    """Every set of independent rays with a positive sum of 1, tried one by one with FLINT."""
    rays = _integer_rays(sf.vertices(privacy))
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
    st.sampled_from([sf.line(4), sf.cycle(4), sf.star(3), sf.discrete(4), sf.complete_bipartite(2, 2), sf.line(3)]),
    alphas(),
)
@settings(max_examples=25)
def test_small_types_against_brute_force(space: sf.FiniteSpace, alpha: object) -> None:
    privacy = sf.PrivacyType(space, alpha=alpha)  # type: ignore[arg-type]
    assert {kernel.support for kernel in sf.kernels(privacy)} == brute_force(privacy)


@pytest.mark.parametrize("space", [sf.line(5), sf.hamming(2), sf.cycle(5)], ids=str)
def test_kernels_are_private_mechanisms_with_independent_posteriors(space: sf.FiniteSpace) -> None:
    privacy = type_of(space)
    found = sf.kernels(privacy)
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
    (only,) = sf.kernels(type_of(sf.discrete(2), "1/3"))
    assert sorted(map(str, only.channel.matrix[0])) == ["1/4", "3/4"]


def test_irrational_and_oversized_types_are_refused() -> None:
    with pytest.raises(NotSupported, match="irrational"):
        sf.kernels(sf.PrivacyType(sf.line(3), epsilon=1))
    with pytest.raises(NotSupported, match="irrational"):
        sf.kernels(type_of(sf.grid(2, 2)))
    with pytest.raises(NotSupported, match="determinants this large"):
        sf.kernels(type_of(sf.line(8), "97/100"))
    with pytest.raises(NotSupported, match="determinants this large"):
        sf.kernels(type_of(sf.hamming(4)))


@pytest.mark.parametrize(
    ("space", "count"), [(sf.line(5), 187), (sf.discrete(5), 1291), (sf.hamming(3), 29213)], ids=str
)
def test_joining_on_common_members_finds_the_same(
    space: sf.FiniteSpace, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_pairs = sf.kernels(type_of(space)).supports
    monkeypatch.setattr(sys.modules[_integer_rays.__module__], "_FEW_PAIRS", 0)
    joined = sf.kernels(type_of(space)).supports
    assert joined.shape[1] == count
    assert set(joined[0].tolist()) == set(by_pairs[0].tolist())


def test_a_list_that_would_take_hours_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[_integer_rays.__module__], "_MOST_PAIRS", 10)
    with pytest.raises(NotSupported, match="pairs of rays"):
        sf.kernels(type_of(sf.line(4)))


@pytest.mark.parametrize("space", [sf.line(4), sf.line(5), sf.cycle(4), sf.discrete(4), sf.hamming(2)], ids=str)
def test_orbits_against_brute_force(space: sf.FiniteSpace) -> None:
    found = sf.kernels(type_of(space))
    matrices = {frozenset(tuple(column) for column in kernel.channel.matrix.T): i for i, kernel in enumerate(found)}
    seen: set[int] = set()
    sizes = []
    for columns, index in matrices.items():
        if index not in seen:
            images = {
                matrices[frozenset(tuple(column[g[x]] for x in range(len(space))) for column in columns)]
                for g in sf.isometries(space)
            }
            seen |= images
            sizes.append(len(images))
    grouped = sf.orbits(found)
    assert sorted(grouped.sizes.tolist()) == sorted(sizes)
    assert grouped.sizes.sum() == len(found)


def test_orbits_of_the_cube() -> None:
    grouped = sf.orbits(sf.kernels(type_of(sf.hamming(3))))
    assert grouped.sizes.sum() == 29213
    assert set(grouped.sizes.tolist()) <= {1, 2, 3, 4, 6, 8, 12, 16, 24, 48}
    assert repr(grouped) == f"Orbits({len(grouped)} of 29213 kernels)"
