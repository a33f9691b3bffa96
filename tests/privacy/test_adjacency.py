from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import flint
import numpy as np
import pytest
from numpy.typing import NDArray

import sfumato as sf
from sfumato.numbers import Array
from sfumato.privacy import supports
from sfumato.privacy.adjacency import adjacent_pairs
from sfumato.privacy.modular import Residues, residues_of
from sfumato.privacy.rays import Rays, rays_of
from sfumato.privacy.supports import members_of, supports_in_pieces

Sets = NDArray[np.uint64]


def rays(space: sf.FiniteSpace) -> tuple[Rays, Array]:
    """The rays and equations of a rational type."""
    found = rays_of(sf.types.vertices(sf.PrivacyType(space, alpha="1/2")))
    assert found.equations is not None
    return found, found.equations


def small_residues(table: Array) -> Residues:
    """Primes from 3 on with at least the product of the large ones: bases often depend modulo some of them."""
    bound = prod(int(p) for p in residues_of(table).primes)
    primes = [p for p in range(3, 1000) if flint.fmpz(p).is_prime()]
    primes = primes[: next(n for n in range(len(primes)) if prod(primes[:n]) > bound)]
    return Residues(np.stack([np.mod(table, p).astype(np.int64, order="C") for p in primes]), np.array(primes))


def searches(given: Rays, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, Sets, Sets]]:
    """What an enumeration searches for adjacent pairs: equations, sets on the one and on the other side."""
    calls: list[tuple[int, Sets, Sets]] = []

    def spy(*arguments: Any) -> Any:
        *_, shared, inner, outer = arguments
        if not shared:
            calls.append((arguments[2], inner, outer))
        return adjacent_pairs(*arguments)

    monkeypatch.setattr(supports, "adjacent_pairs", spy)
    list(supports_in_pieces(given))
    return calls


def all_pairs(tables: Any, primes: Any, k: int, inner: Sets, outer: Sets) -> Any:
    """Adjacent pairs, every pair looked at."""
    return adjacent_pairs(tables, primes, k, np.empty(0, np.uint64), np.empty(0, np.int64), 0, inner, outer)


def one_dimension(equations: Array, members: list[int]) -> bool:
    matrix = flint.fmpz_mat([[int(v) for v in row] for row in equations[:, members]])
    return int(matrix.rank()) == len(members) - 1


@pytest.mark.parametrize("residues", [residues_of, small_residues])
@pytest.mark.parametrize("space", [sf.line(5), sf.discrete(4), sf.cycle(6)], ids=str)
def test_adjacent_are_pairs_that_are_left_one_dimension(
    space: sf.FiniteSpace, residues: Callable[[Array], Residues], monkeypatch: pytest.MonkeyPatch
) -> None:
    given, equations = rays(space)
    refused = 0
    for k, inner, outer in searches(given, monkeypatch):
        union, first, second = all_pairs(*residues(equations), k, inner, outer)
        assert np.array_equal(union, outer[:, first] | inner[:, second])
        adjacent = {
            (i, j)
            for i in range(outer.shape[1])
            for j in range(inner.shape[1])
            if one_dimension(equations[:k], members_of(outer[:, i] | inner[:, j]))
        }
        assert sorted(adjacent) == list(zip(first.tolist(), second.tolist(), strict=True))
        refused += outer.shape[1] * inner.shape[1] - len(adjacent)
    assert refused > 0


@pytest.mark.parametrize("space", [sf.discrete(5), sf.line(6), sf.hamming(3)], ids=str)
def test_small_primes_find_the_same(space: sf.FiniteSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    given, _ = rays(space)
    expected = np.concatenate(list(supports_in_pieces(given)), axis=1)
    monkeypatch.setattr(supports, "residues_of", small_residues)
    assert np.array_equal(np.concatenate(list(supports_in_pieces(given)), axis=1), expected)


@pytest.mark.parametrize("residues", [residues_of, small_residues])
def test_two_words_find_the_same_as_one(residues: Callable[[Array], Residues], monkeypatch: pytest.MonkeyPatch) -> None:
    given, equations = rays(sf.hamming(3))
    tables, primes = residues(equations)
    half = len(given) // 2
    apart = np.zeros((len(tables), len(equations), 64 + len(given) - half), dtype=np.int64)
    apart[:, :, :half], apart[:, :, 64:] = tables[:, :, :half], tables[:, :, half:]

    def split(sets: Sets) -> Sets:
        return np.concatenate([sets & np.uint64((1 << half) - 1), sets >> np.uint64(half)])

    for k, inner, outer in searches(given, monkeypatch):
        union, first, second = all_pairs(tables, primes, k, inner, outer)
        others = all_pairs(apart, primes, k, split(inner), split(outer))
        for found, expected in zip(others, (split(union), first, second), strict=True):
            assert np.array_equal(found, expected)
