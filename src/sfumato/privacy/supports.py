"""Supports of kernels by double description, exactly and in pieces.

Start with all rays, add the equations "as much at secret x as at secret 0" one by one, and combine each ray on
the positive side with each on the negative side where the two are adjacent. After k equations an extreme ray
has at most k + 1 members, and the union of two supports is a new one exactly if the equations leave it one
dimension. A ray on one side keeps its members independent under the new equation, so only what the other adds
has to be looked at: a single new member is always adjacent, and of several all but one must be independent in what
is left of the equations once the members of the first are eliminated, modulo primes.

A minor that is not zero modulo a prime is not zero; one that is zero modulo primes with a product above twice
Hadamard's bound is zero. Where the numbers have no such integers, adjacent are those with no third support in
their union. Values of the equations are carried along in floats with an error bound, and only
where the bound does not settle a sign the primes, integers or balls of :mod:`sfumato.privacy.rays` do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb
from time import perf_counter
from typing import Any, NamedTuple

import flint
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from sfumato.arguments import optional_function
from sfumato.errors import NotSupported, advice
from sfumato.privacy.adjacency import adjacent_pairs, lone_pairs, subsets, vanishes
from sfumato.privacy.modular import MOST_ROWS, Residues, residues_of
from sfumato.privacy.rays import FLOAT_ERROR, Rays
from sfumato.threads import plain_interrupts

MOST_SECRETS = MOST_ROWS

_MOST_PAIRS = 2 * 10**10  # So many pairs are looked at in half a minute.
_PAIRS_A_LOOKUP = 100  # So many pairs are looked at in the time in which one subset is sorted or found.
_PAIRS_A_PIECE = 3 * 10**7  # So many pairs are looked at in a tenth of a second, after which the caller is told.
_RAYS_A_PIECE = 20_000

_LARGEST_LEVEL = 2**27  # So many words of supports, 1 GB, may be kept from one equation to the next.

_GROWTH = 1 + 2.0**-40  # Error bounds are multiplied by this, which covers the rounding of the bounds themselves.


@dataclass(frozen=True)
class Enumeration:
    """How far an enumeration is: equations done, the share of pairs seen in this one, rays found, time."""

    equation: int
    equations: int
    share: float
    rays: int
    seconds: float

    def __str__(self) -> str:
        return f"equation {self.equation} of {self.equations}, {self.share:.0%}, {self.rays:,} rays"


Report = Callable[[Enumeration], None]
Indices = NDArray[np.int64]


class _Level(NamedTuple):
    """Extreme rays after some equations, with the values of the remaining ones and their errors."""

    supports: NDArray[np.uint64]
    values: NDArray[np.float64]
    errors: NDArray[np.float64]


def supports_in_pieces(rays: Rays, report: Report | None = None) -> Iterator[NDArray[np.uint64]]:
    """Supports of all kernels as bit sets, words × some; what was yielded is not kept."""
    report = optional_function(report, "progress")
    level = _all_rays(rays)
    # where a nonzero polynomial may be zero as a number, ranks of polynomials decide nothing about adjacency
    residues = residues_of(rays.equations) if rays.complete and rays.equations is not None else None
    started = perf_counter()
    total = len(level.values)
    if total == 0:
        yield level.supports
    for k in range(total):
        signs = _signs(rays, residues, k, level)
        last, zero = k + 1 == total, signs == 0
        kept: tuple[NDArray[Any], ...] = level.supports[:, zero], level.values[1:, zero], level.errors[1:, zero]
        pieces = [_Level(*(np.ascontiguousarray(part) for part in kept))]
        count = pieces[0].supports.shape[1]
        if last:
            yield pieces.pop().supports
        for share, (supports, first, second) in _joined_pieces(residues, k + 1, level.supports, signs):
            count += supports.shape[1]
            if not last and count * supports.shape[0] > _LARGEST_LEVEL:
                raise NotSupported(
                    f"a type this large: over {count:,} rays after {k + 1} of {total} equations",
                    ["fewer secrets" + advice(("estimate_kernels", "says how many there are"))],
                )
            if last:
                yield supports
            else:
                pieces.append(_combination(level, signs, supports, first, second))
            if report is not None:
                report(Enumeration(k + 1, total, share, count, perf_counter() - started))
        if not last:
            level = _Level(*(np.concatenate(parts, axis=1) for parts in zip(*pieces, strict=True)))


def _all_rays(rays: Rays) -> _Level:
    """Every ray by itself."""
    index = np.arange(len(rays))
    supports = np.zeros((-(-len(rays) // 64), len(rays)), dtype=np.uint64)
    supports[index // 64, index] = np.uint64(1) << (index % 64).astype(np.uint64)
    same = (rays.exponents[:, 1:] == rays.exponents[:, :1]).all(axis=2).T
    values = np.where(same, 0.0, rays.floats[1:] - rays.floats[:1])
    return _Level(supports, values, np.where(same, 0.0, 3 * FLOAT_ERROR))  # of two entries and their difference


def _combination(
    level: _Level, signs: NDArray[np.int64], supports: NDArray[np.uint64], first: Indices, second: Indices
) -> _Level:
    """New rays |w·N| P + |w·P| N on which the equation w vanishes, scaled by powers of two."""
    side = signs[first]
    p, ep = side * level.values[0, first], level.errors[0, first]
    n, en = -side * level.values[0, second], level.errors[0, second]
    one, other = level.values[1:, first], level.values[1:, second]
    error_one, error_other = level.errors[1:, first], level.errors[1:, second]
    left, right = n * one, p * other
    errors = abs(n) * error_one + abs(p) * error_other + en * (abs(one) + error_one) + ep * (abs(other) + error_other)
    errors = (errors + 2.0**-51 * (abs(left) + abs(right))) * _GROWTH  # two products and a sum, rounded
    scale = -np.frexp(n + p)[1]
    return _Level(supports, np.ldexp(left + right, scale), np.ldexp(errors, scale))


def _signs(rays: Rays, residues: Residues | None, k: int, level: _Level) -> NDArray[np.int64]:
    """The sign of equation k on each ray; where floats do not settle it, by primes, integers or balls."""
    signs: NDArray[np.int64] = np.sign(level.values[0]).astype(np.int64)
    open_ones = np.flatnonzero(abs(level.values[0]) <= level.errors[0])
    if residues is not None:
        zero = vanishes(*residues, k, level.supports, open_ones)
        signs[open_ones[zero]] = 0
        open_ones = open_ones[~zero]
    for index in open_ones:
        signs[index] = _exact_sign(rays, residues, k, members_of(level.supports[:, index]))
    return signs


def _exact_sign(rays: Rays, residues: Residues | None, k: int, members: list[int]) -> int:
    """The sign of equation k on an extreme ray.

    With s − 1 independent rows R on the s members, the ray is a_j ∝ (−1)^j det(R without column j), so w·a has
    the sign of det(w above R) times that of det(R without its first column).
    """
    if len(members) == 1:
        return 0 if rays.vanishes([k], members) else rays.sign([k], members)
    rows = _independent_rows(rays, residues, k, members[1:])
    if residues is None and rays.vanishes([k, *rows], members):
        return 0
    return rays.sign([k, *rows], members) * rays.sign(rows, members[1:])


def _independent_rows(rays: Rays, residues: Residues | None, k: int, columns: list[int]) -> list[int]:
    """As many of the first k rows as there are columns, with a minor that is not zero."""
    if residues is None:  # any rows that a ball shows to be independent
        order = qr((rays.floats[1 : k + 1, columns] - rays.floats[:1, columns]).T, mode="r", pivoting=True)[1]
        return sorted(int(r) for r in order[: len(columns)])
    for table, prime in zip(*residues, strict=True):
        matrix = flint.nmod_mat(len(columns), k, table[:k, columns].T.ravel().tolist(), int(prime))
        reduced, rank = matrix.rref()
        if rank == len(columns):
            return [next(c for c in range(k) if int(reduced[r, c])) for r in range(rank)]
    raise AssertionError("the members of an extreme ray but one are independent")


def members_of(support: NDArray[np.uint64]) -> list[int]:
    """The members of one bit set."""
    bits = sum(int(word) << (64 * k) for k, word in enumerate(support))
    return [i for i in range(64 * len(support)) if bits >> i & 1]


class _Pairing(NamedTuple):
    """Two groups to combine, by all pairs or by the number of members that a pair must share, and what it costs."""

    outer: Indices
    inner: Indices
    shared: int
    pairs: float


_Unions = tuple[NDArray[np.uint64], Indices, Indices]


def _joined_pieces(
    residues: Residues | None, k: int, supports: NDArray[np.uint64], signs: NDArray[np.int64]
) -> Iterator[tuple[float, _Unions]]:
    """Adjacent pairs: the share of the work done, and (supports, outer rays, inner rays) of those found meanwhile.

    The rays of the shorter side come one by one, in groups of equal size, against all of the other side.
    """
    sides = sorted((np.flatnonzero(signs == side) for side in (1, -1)), key=len)
    pairings = [
        pairing for outer in _by_size(supports, sides[0]) for pairing in _pairings(k, supports, outer, sides[1])
    ]
    work = [pairing.pairs for pairing in pairings]
    if sum(work) > _MOST_PAIRS:
        raise NotSupported(
            f"a type this large: {sum(work):.1e} pairs of rays to combine",
            [f"{_MOST_PAIRS:.0e} pairs" + advice(("estimate_kernels", "says how many there are"))],
        )
    done = 0.0
    for pairing in pairings:
        for part, joined in _joined(residues, k, supports, pairing):
            yield (done + part * pairing.pairs) / sum(work), joined
        done += pairing.pairs


def _by_size(supports: NDArray[np.uint64], which: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Rays grouped by their number of members."""
    sizes = np.bitwise_count(supports[:, which]).sum(axis=0)
    return [which[sizes == size] for size in np.unique(sizes)]


def _pairings(k: int, supports: NDArray[np.uint64], outer: Indices, side: Indices) -> Iterator[_Pairing]:
    """How to combine a group of equal size with the other side.

    A union of at most k + 1 members from sets of a and b needs a + b − k − 1 common ones, so a pair shows
    up under one of the subsets of that many members.
    """
    plain = []
    a = int(np.bitwise_count(supports[:, outer[0]]).sum())
    for inner in _by_size(supports, side):
        b = int(np.bitwise_count(supports[:, inner[0]]).sum())
        shared = a + b - k - 1
        lookups = len(outer) * comb(a, shared) + len(inner) * comb(b, shared) if shared > 1 else 0
        pairs, equivalent = float(len(outer)) * len(inner), float(_PAIRS_A_LOOKUP) * lookups
        if lookups == 0 or len(supports) > 1 or pairs <= equivalent:
            plain.append(inner)
        else:
            yield _Pairing(outer, inner, shared, equivalent)
    if plain:
        together = np.concatenate(plain)
        yield _Pairing(outer, together, 0, float(len(outer)) * len(together))


def _joined(
    residues: Residues | None, k: int, supports: NDArray[np.uint64], pairing: _Pairing
) -> Iterator[tuple[float, _Unions]]:
    """Combine two groups, a piece of the first at a time."""
    outer, inner, shared, _ = pairing
    theirs = supports[:, inner]
    keys, owners = np.empty(0, np.uint64), np.empty(0, np.int64)
    step = max(1, _PAIRS_A_PIECE // len(inner))
    if residues is None:  # every pair is compared with all supports
        step = max(1, step // supports.shape[1])
    elif shared:
        keys, owners = subsets(theirs[0], int(np.bitwise_count(theirs[0, 0])), shared)
        order = np.argsort(keys, kind="stable")
        keys, owners = keys[order], owners[order]
        step = _RAYS_A_PIECE
    for start in range(0, len(outer), step):
        part = outer[start : start + step]
        with plain_interrupts():
            unions, i, j = (
                lone_pairs(supports, k + 1, theirs, supports[:, part])
                if residues is None
                else adjacent_pairs(*residues, k, keys, owners, shared, theirs, supports[:, part])
            )
        yield min(1.0, (start + step) / len(outer)), (unions, part[i], inner[j])
