"""Kernel mechanisms: the finitely many from which a whole privacy type is made.

A mechanism whose posteriors are vertices is a sum Σ a_i v_i = 1 of rays with a ≥ 0. Kernels are those with
linearly independent posteriors, that is, the vertices of {a ≥ 0 : Σ a_i v_i = 1}, each known by its
support (Fernandes et al. 2023, Definition 5 and Theorem 3).

They are found by double description: start with all rays, add the equations "same sum at x as at x₀"
one by one, and combine each ray on the positive side with each on the negative side where the two are
adjacent. After k equations an extreme ray has at most k + 1 members, and a union of two supports is a
new one exactly if the k equations leave it one dimension. Only supports are kept.

Counts do depend on ε, and e^ε = 2 is itself degenerate, so zero is never decided by a tolerance. Rays
are scaled to integers; ranks and determinants are found modulo primes whose product exceeds twice
Hadamard's bound on every minor, which makes them the true ones. No float takes part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any

import flint
import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from sfumato.channels.channel import Channel
from sfumato.errors import NotSupported
from sfumato.numbers import Array, fractions, from_flint, to_flint
from sfumato.privacy.type import PrivacyType, rational_power
from sfumato.privacy.vertices import Vertices, vertices
from sfumato.spaces.distances import Form
from sfumato.spaces.isometries import isometries

__all__ = ["Kernel", "Kernels", "Orbits", "count_kernels", "kernels", "orbits"]

# Two primes below 2^31: residues multiply in int64, and their product 4.6·10^18 decides integers up to half of it.
_PRIMES = (2147483647, 2147483629)
_LARGEST_DETERMINANT = _PRIMES[0] * _PRIMES[1] // 2

_MOST_PAIRS = 2 * 10**10  # looked at in half a minute
_FEW_PAIRS = 10**8  # looked at in less time than sorting subsets takes


@dataclass(frozen=True, eq=False)
class Kernel:
    """One kernel mechanism: which vertices it uses and with which weights."""

    vertices: Vertices
    support: tuple[int, ...]

    @cached_property
    def weights(self) -> tuple[Fraction, ...]:
        """a > 0 with Σ a_i v_i = 1, for rays v_i scaled to maximum 1; exact."""
        rays = [self.vertices[i].ray for i in self.support]
        one = fractions(np.ones(len(rays[0]), dtype=np.int64))
        reduced, _ = to_flint(np.stack([*rays, one], axis=1)).rref()
        return tuple(from_flint(reduced)[: len(rays), -1])

    @cached_property
    def channel(self) -> Channel:
        """The mechanism, one output for each vertex it uses."""
        columns = [a * self.vertices[i].ray for a, i in zip(self.weights, self.support, strict=True)]
        return Channel(self.vertices.privacy.space, np.stack(columns, axis=1), self.support)


@dataclass(frozen=True, eq=False, repr=False)
class Kernels:
    """All kernels of a privacy type, as supports; a :class:`Kernel` is made when it is asked for."""

    vertices: Vertices
    supports: NDArray[np.uint64]

    def __len__(self) -> int:
        return int(self.supports.shape[1])

    def __repr__(self) -> str:
        return f"Kernels({len(self)} of {self.vertices.privacy!r})"

    def __getitem__(self, index: int) -> Kernel:
        words = [int(word) for word in self.supports[:, index]]
        bits = sum(word << (64 * k) for k, word in enumerate(words))
        return Kernel(self.vertices, tuple(i for i in range(len(self.vertices)) if bits >> i & 1))

    def __iter__(self) -> Iterator[Kernel]:
        return (self[i] for i in range(len(self)))

    def sizes(self) -> dict[int, int]:
        """How many kernels have how many outputs."""
        counts = np.bitwise_count(self.supports).sum(axis=0)
        return {int(size): int(number) for size, number in zip(*np.unique(counts, return_counts=True), strict=True)}


@dataclass(frozen=True, eq=False, repr=False)
class Orbits:
    """Kernels that an isometry of the space turns into each other, counted once.

    ``representatives`` are indices into the kernels, ``sizes`` how many each stands for.
    """

    kernels: Kernels
    representatives: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.representatives)

    def __repr__(self) -> str:
        return f"Orbits({len(self)} of {len(self.kernels)} kernels)"


def orbits(found: Kernels) -> Orbits:
    """Group kernels by the isometries of their space.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> orbits(kernels(PrivacyType(line(4), alpha="1/2")))
    Orbits(7 of 11 kernels)
    """
    count = len(found.vertices)
    words = found.supports.astype("<u8").T.copy()
    members = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :count]
    smallest = None
    for permutation in _on_vertices(found.vertices):
        packed = np.packbits(members[:, np.argsort(permutation)], axis=1)
        rows = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}").ravel()
        smallest = rows if smallest is None else np.where(_below(packed, smallest), rows, smallest)
    assert smallest is not None
    _, first, sizes = np.unique(smallest, return_index=True, return_counts=True)
    return Orbits(found, first.astype(np.int64), sizes.astype(np.int64))


def _below(packed: NDArray[np.uint8], smallest: NDArray[Any]) -> NDArray[np.bool_]:
    """Row by row, whether the packed bits come before the smallest so far."""
    other = smallest.view(np.uint8).reshape(packed.shape)
    differs = packed != other
    first = differs.argmax(axis=1)
    rows = np.arange(len(packed))
    return np.asarray(differs.any(axis=1) & (packed[rows, first] < other[rows, first]))


def _on_vertices(corner: Vertices) -> Iterator[NDArray[np.int64]]:
    """Each isometry as a permutation of the vertices: entry i is where vertex i goes."""
    heights = corner.coefficients
    position = {(row - row[0]).tobytes(): i for i, row in enumerate(heights)}
    for isometry in isometries(corner.privacy.space):
        moved = np.empty_like(heights)
        moved[:, isometry] = heights
        yield np.array([position[(row - row[0]).tobytes()] for row in moved])


def kernels(privacy: PrivacyType) -> Kernels:
    """All kernel mechanisms of an exact privacy type.

    Raises
    ------
    NotSupported
        If a bound e^{εd} is irrational (give ``alpha=`` and integer distances), or if determinants are
        too large to decide.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> found = kernels(PrivacyType(line(4), alpha="1/2"))
    >>> len(found), found.sizes()
    (11, {2: 1, 3: 2, 4: 8})
    >>> [str(w) for w in found[0].weights]
    ['2/3', '2/3']
    """
    corner = vertices(privacy)
    rays = _integer_rays(corner)
    equations = np.array([row - rays[0] for row in rays[1:]], dtype=object).reshape(len(rays) - 1, rays.shape[1])
    primes = _primes_needed(equations)
    words = -(-rays.shape[1] // 64)
    return Kernels(corner, _extreme_supports(equations.astype(np.int64), words, primes))


def count_kernels(privacy: PrivacyType) -> int:
    """The number of kernel mechanisms, exactly."""
    return len(kernels(privacy))


def _integer_rays(corner: Vertices) -> Array:
    """Rays as columns of integers without a common factor; scaling a ray changes no support.

    With α = p/q for one step, a secret k steps below the highest of L steps gets p^k q^(L − k).
    """
    privacy = corner.privacy
    ruler = privacy.space.distances
    step = None if privacy.alpha is None else rational_power(privacy.alpha, ruler.unit)
    if step is None or ruler.form is not Form.RATIONAL:
        raise NotSupported(
            f"kernels of {privacy!r}, whose bounds are irrational", ["alpha= with distances that are whole steps"]
        )
    drops = (corner.coefficients.max(axis=1, keepdims=True) - corner.coefficients)[:, :, 0]
    deepest = int(drops.max(initial=0))
    p = [step.numerator**k for k in range(deepest + 1)]
    q = [step.denominator**k for k in range(deepest + 1)]
    columns = [[p[k] * q[max(drop) - k] for k in drop] for drop in drops.tolist()]
    return np.array(columns, dtype=object).T


def _primes_needed(equations: Array) -> int:
    """How many of the primes decide every determinant that can occur, by Hadamard's bound."""
    bound = 1
    for row in equations:
        norms = sorted((int(v) ** 2 for v in row), reverse=True)[: len(equations) + 1]
        bound *= isqrt(sum(norms)) + 1
    if bound > _LARGEST_DETERMINANT or len(equations) > 15:
        raise NotSupported("kernels with determinants this large", ["fewer secrets", "an alpha with smaller powers"])
    return 1 if 2 * bound < _PRIMES[0] else 2


def _extreme_supports(equations: NDArray[np.int64], words: int, primes: int) -> NDArray[np.uint64]:
    """Supports of the extreme rays of {a ≥ 0 : equations · a = 0}, as bit sets: words × rays."""
    index = np.arange(equations.shape[1])
    supports = np.zeros((words, len(index)), dtype=np.uint64)
    supports[index // 64, index] = np.uint64(1) << (index % 64).astype(np.uint64)
    for k in range(len(equations)):
        signs = _signs(equations, k, supports, primes)
        above, below = (np.ascontiguousarray(supports[:, side]) for side in (signs > 0, signs < 0))
        merged = [_join(equations, k + 1, one, other, primes) for one in _by_size(above) for other in _by_size(below)]
        supports = np.concatenate([supports[:, signs == 0], *merged], axis=1)
    return supports


def _by_size(supports: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """The supports grouped by their number of members."""
    sizes = np.bitwise_count(supports).sum(axis=0)
    return [np.ascontiguousarray(supports[:, sizes == size]) for size in np.unique(sizes)]


def _join(
    equations: NDArray[np.int64], k: int, positive: NDArray[np.uint64], negative: NDArray[np.uint64], primes: int
) -> NDArray[np.uint64]:
    """Combine two groups of equal sizes: all pairs if these are few, else those that share enough members.

    A union of at most k + 1 members from sets of a and b needs a + b − k − 1 common ones, so a pair shows
    up under one of the subsets of that many members.
    """
    pairs = positive.shape[1] * negative.shape[1]
    sizes = [int(np.bitwise_count(group[:, 0]).sum()) for group in (positive, negative)]
    shared = sum(sizes) - k - 1
    if len(positive) > 1 or shared < 2 or pairs < _FEW_PAIRS:
        if pairs > _MOST_PAIRS:
            raise NotSupported(f"a type this large: {pairs:.1e} pairs of rays to combine", [f"{_MOST_PAIRS:.0e} pairs"])
        return np.asarray(_combined(equations, k, positive, negative, primes))
    keys, owners = _subsets(positive[0], sizes[0], shared)
    order = np.argsort(keys, kind="stable")
    found = _joined(equations, k, positive[0], negative[0], keys[order], owners[order], sizes[1], shared, primes)
    return np.asarray(found[None, :])


@njit(cache=True)
def _choose(n, k):  # type: ignore[no-untyped-def]
    result = 1
    for i in range(k):
        result = result * (n - i) // (i + 1)
    return result


@njit(cache=True)
def _spread(word, size, shared, out):  # type: ignore[no-untyped-def]
    """Write all subsets of ``shared`` members of a set of ``size``; returns how many."""
    members = np.empty(size, np.uint64)
    rest = word
    for i in range(size):
        members[i] = rest & (~rest + np.uint64(1))
        rest ^= members[i]
    count = 0
    chosen = (1 << shared) - 1
    while chosen < 1 << size:
        key = np.uint64(0)
        for i in range(size):
            if chosen >> i & 1:
                key |= members[i]
        out[count] = key
        count += 1
        low = chosen & -chosen  # the next larger number with as many ones
        ripple = chosen + low
        chosen = ripple | (((chosen ^ ripple) // low) >> 2)
    return count


@njit(cache=True)
def _subsets(words, size, shared):  # type: ignore[no-untyped-def]
    number = _choose(size, shared)
    keys = np.empty(words.size * number, np.uint64)
    owners = np.empty(words.size * number, np.int64)
    for i in range(words.size):
        _spread(words[i], size, shared, keys[i * number : (i + 1) * number])
        owners[i * number : (i + 1) * number] = i
    return keys, owners


@njit(cache=True)
def _joined(equations, k, positive, negative, keys, owners, size, shared, primes):  # type: ignore[no-untyped-def]
    """Unions of pairs that share a subset and that k equations leave one dimension."""
    found = np.empty(1024, np.uint64)
    count = 0
    own = np.empty(_choose(size, shared), np.uint64)
    members = np.empty(64, np.int64)
    work = np.empty((16, 17), np.int64)
    single = np.empty((1, 1), np.uint64)
    for j in range(negative.size):
        _spread(negative[j], size, shared, own)
        for key in own:
            place = np.searchsorted(keys, key)
            while place < keys.size and keys[place] == key:
                one = positive[owners[place]]
                place += 1
                both = one & negative[j]
                # a pair that shares more comes up under several subsets: take it under the lowest
                extra = _bits(both) - shared
                for _ in range(extra):
                    top = np.uint64(1) << np.uint64(63)
                    while not top & both:
                        top >>= np.uint64(1)
                    both ^= top
                if both != key:
                    continue
                single[0, 0] = one | negative[j]
                total = _members(single, 0, members)
                if _rank_reaches(equations, k, members[:total], total - 1, work, primes):
                    if count == found.size:
                        grown = np.empty(2 * count, np.uint64)
                        grown[:count] = found
                        found = grown
                    found[count] = single[0, 0]
                    count += 1
    return found[:count].copy()


@intrinsic
def _bits(typing_context, word):  # type: ignore[no-untyped-def]
    """The number of ones in a machine word: one instruction."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@njit(cache=True)
def _combined(equations, k, positive, negative, primes):  # type: ignore[no-untyped-def]
    """Unions of a positive and a negative support that k equations leave one dimension."""
    words = len(positive)
    found = np.empty((words, 1024), np.uint64)
    count = 0
    near = np.empty(negative.shape[1], np.int64)
    members = np.empty(64 * words, np.int64)
    work = np.empty((16, 17), np.int64)
    for i in range(positive.shape[1]):
        for j in near[: _small_unions(positive[:, i], negative, k + 1, near)]:
            if count == found.shape[1]:
                grown = np.empty((words, 2 * count), np.uint64)
                grown[:, :count] = found
                found = grown
            for w in range(words):
                found[w, count] = positive[w, i] | negative[w, j]
            size = _members(found, count, members)
            if _rank_reaches(equations, k, members[:size], size - 1, work, primes):
                count += 1
    return found[:, :count].copy()


@njit(cache=True)
def _small_unions(support, others, largest, near):  # type: ignore[no-untyped-def]
    """Write the indices of the sets whose union with a support has at most so many members."""
    count = 0
    if len(support) == 1:
        word, row = support[0], others[0]
        for j in range(row.size):
            near[count] = j
            count += _bits(word | row[j]) <= largest  # overwritten unless it is small: no branch to mispredict
        return count
    for j in range(others.shape[1]):
        size = 0
        for w in range(len(support)):
            size += _bits(support[w] | others[w, j])
        near[count] = j
        count += size <= largest
    return count


@njit(cache=True)
def _members(supports, index, out):  # type: ignore[no-untyped-def]
    """Write the members of one support; returns how many there are."""
    size = 0
    for w in range(len(supports)):
        word = supports[w, index]
        while word:
            low = word & (~word + np.uint64(1))
            out[size] = 64 * w + _bits(low - np.uint64(1))
            size += 1
            word ^= low
    return size


@njit(cache=True)
def _rank_reaches(equations, k, members, wanted, work, primes):  # type: ignore[no-untyped-def]
    """Whether the first k equations have at least this rank on the members, exactly.

    A minor that is not zero modulo a prime is not zero. If all are zero modulo primes with a product
    above twice Hadamard's bound, all are zero.
    """
    if _rank_modulo(equations, k, members, work, 2147483647) >= wanted:
        return True
    return primes > 1 and _rank_modulo(equations, k, members, work, 2147483629) >= wanted


@njit(cache=True, inline="always")
def _rank_modulo(equations, k, members, work, prime):  # type: ignore[no-untyped-def]
    """Rank by elimination; inlined, so that the prime is a constant and remainders need no division."""
    size = members.size
    for r in range(k):
        for c in range(size):
            work[r, c] = equations[r, members[c]] % prime
    rank = 0
    for c in range(size):
        pivot = rank
        while pivot < k and work[pivot, c] == 0:
            pivot += 1
        if pivot == k:
            continue
        for j in range(c, size):
            work[rank, j], work[pivot, j] = work[pivot, j], work[rank, j]
        head = work[rank, c]
        for r in range(rank + 1, k):
            factor = work[r, c]
            if factor:
                for j in range(c + 1, size):
                    work[r, j] = (work[r, j] * head + (prime - work[rank, j]) * factor) % prime
        rank += 1
    return rank


def _signs(equations: NDArray[np.int64], k: int, supports: NDArray[np.uint64], primes: int) -> NDArray[np.int64]:
    """The sign of equation k on each ray."""
    signs = np.empty(supports.shape[1], dtype=np.int64)
    undecided = _quick_signs(equations, k, supports, signs, primes)
    for index in np.flatnonzero(undecided):
        signs[index] = _exact_sign(equations, k, supports[:, index])
    return signs


@njit(cache=True)
def _quick_signs(equations, k, supports, signs, primes):  # type: ignore[no-untyped-def]
    """Signs from two determinants each; rays whose rank a prime hides are marked instead.

    With s − 1 independent rows R on the s members, the ray is a_j ∝ (−1)^j det(R without column j), so
    w·a has the sign of det(w above R) times that of det(R without its first column).
    """
    undecided = np.zeros(signs.size, np.bool_)
    members = np.empty(64 * len(supports), np.int64)
    rows = np.empty(17, np.int64)
    work = np.empty((17, 18), np.int64)
    for index in range(signs.size):
        size = _members(supports, index, members)
        rows[0] = k
        if _independent_rows(equations, k, members[:size], rows, work) < size - 1:
            undecided[index] = True
            continue
        above = _determinant(equations, rows[:size], members[:size], work, primes)
        orientation = _determinant(equations, rows[1:size], members[1:size], work, primes)
        signs[index] = np.sign(above) * np.sign(orientation)
    return undecided


@njit(cache=True)
def _independent_rows(equations, k, members, rows, work):  # type: ignore[no-untyped-def]
    """Write rows that are independent modulo the first prime behind rows[0]; returns how many."""
    prime = 2147483647
    size, rank = members.size, 0
    for r in range(k):
        for c in range(size):
            work[rank, c] = equations[r, members[c]] % prime
        for done in range(rank):  # clear the pivot column of each earlier row; pivots stand in column 17
            pivot = work[done, 17]
            factor, head = work[rank, pivot], work[done, pivot]
            if factor:
                for c in range(size):
                    work[rank, c] = (work[rank, c] * head + (prime - work[done, c]) * factor) % prime
        for c in range(size):
            if work[rank, c]:
                work[rank, 17] = c
                rows[rank + 1] = r
                rank += 1
                break
        if rank == size - 1:
            break
    return rank


@njit(cache=True)
def _determinant(equations, rows, members, work, primes):  # type: ignore[no-untyped-def]
    """The integer determinant, from its residues: it is smaller than half the product of the primes."""
    p, q = 2147483647, 2147483629
    first = _residue(equations, rows, members, work, 2147483647)
    if primes == 1:
        return first if 2 * first < p else first - p
    second = _residue(equations, rows, members, work, 2147483629)
    value = first + p * (((second - first) % q) * _inverse(p - q, q) % q)
    return value if value < p * q - value else value - p * q


@njit(cache=True, inline="always")
def _residue(equations, rows, members, work, prime):  # type: ignore[no-untyped-def]
    """The determinant modulo a prime; inlined, so that remainders need no division."""
    size = members.size
    for r in range(size):
        for c in range(size):
            work[r, c] = equations[rows[r], members[c]] % prime
    result = 1
    for c in range(size):
        pivot = c
        while pivot < size and work[pivot, c] == 0:
            pivot += 1
        if pivot == size:
            return 0
        if pivot != c:
            result = prime - result
            for j in range(c, size):
                work[c, j], work[pivot, j] = work[pivot, j], work[c, j]
        result = result * work[c, c] % prime
        inverse = _inverse(work[c, c], prime)
        for r in range(c + 1, size):
            if work[r, c]:
                factor = work[r, c] * inverse % prime
                for j in range(c + 1, size):
                    work[r, j] = (work[r, j] + (prime - work[c, j]) * factor) % prime
    return result


@njit(cache=True)
def _inverse(value, prime):  # type: ignore[no-untyped-def]
    """The inverse modulo a prime, by Euclid's algorithm."""
    old, new, left, right = prime, value, 0, 1
    while new:
        quotient = old // new
        old, new = new, old - quotient * new
        left, right = right, left - quotient * right
    return left % prime


def _exact_sign(equations: NDArray[np.int64], k: int, support: NDArray[np.uint64]) -> int:
    """The sign by exact elimination, for a ray whose rank the first prime hides."""
    members = [i for i in range(equations.shape[1]) if int(support[i // 64]) >> (i % 64) & 1]
    matrix = flint.fmpz_mat([[int(v) for v in row] for row in equations[:k, members]]) if k else None
    if matrix is None:
        ray = [1]
    else:
        basis, nullity = matrix.nullspace()
        assert nullity == 1, "an extreme ray spans one dimension"
        ray = [int(basis[i, 0]) for i in range(len(members))]
    orientation = 1 if ray[0] > 0 else -1
    value = orientation * sum(int(equations[k, i]) * a for i, a in zip(members, ray, strict=True))
    return (value > 0) - (value < 0)
