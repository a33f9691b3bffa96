"""Supports of kernels by double description, exactly and in pieces.

Start with all rays, add the equations "as much at secret x as at secret 0" one by one, and combine each ray on
the positive side with each on the negative side where the two are adjacent. After k equations an extreme ray
has at most k + 1 members, and the union of two supports is a new one exactly if the equations leave it one
dimension. A ray on one side keeps its members independent under the new equation, so only what the other adds
has to be looked at: a single new member is always adjacent, more of them are checked against the left null
space of the first, modulo primes.

A minor that is not zero modulo a prime is not zero; one that is zero modulo primes with a product above twice
Hadamard's bound is zero. Values of the equations are carried along in floats with an error bound, and only
where the bound does not settle a sign the primes, integers or balls of :mod:`sfumato.privacy.rays` do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isqrt
from time import perf_counter

import flint
import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from sfumato.errors import NotSupported
from sfumato.numbers import Array
from sfumato.privacy.rays import FLOAT_ERROR, Rays

__all__ = ["Enumeration", "Residues", "members_of", "residues_of", "supports_in_pieces"]

_PRIME_BITS = 29  # sixteen products of residues still fit into a machine word
_MOST_PRIMES = 512
_MOST_SECRETS = 16

_MOST_PAIRS = 2 * 10**10  # looked at in half a minute
_FEW_PAIRS = 10**8  # looked at in less time than sorting subsets takes
_PAIRS_A_PIECE = 3 * 10**7  # looked at in a tenth of a second, after which others may speak
_RAYS_A_PIECE = 20_000

_GROWTH = 1 + 2.0**-40  # covers the rounding of error bounds themselves


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


@dataclass(frozen=True, eq=False)
class Residues:
    """The equations modulo enough primes to decide every minor."""

    tables: NDArray[np.int64]  # primes × equations × rays
    primes: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Level:
    """Extreme rays after some equations, with the values of the remaining ones and their errors."""

    supports: NDArray[np.uint64]
    values: NDArray[np.float64]
    errors: NDArray[np.float64]

    def __getitem__(self, which: NDArray[np.int64] | NDArray[np.bool_]) -> _Level:
        return _Level(
            np.ascontiguousarray(self.supports[:, which]), self.values[:, which], np.ascontiguousarray(self.errors[:, which])
        )


def residues_of(table: Array) -> Residues:
    """An integer table modulo primes whose product exceeds twice Hadamard's bound on its minors."""
    bound = 2
    for row in table:
        norms = sorted((int(v) ** 2 for v in row), reverse=True)[: len(table) + 1]
        bound *= isqrt(sum(norms)) + 1
    primes: list[int] = []
    product, candidate = 1, 2**_PRIME_BITS
    while product <= bound:
        candidate -= 1
        if flint.fmpz(candidate).is_prime():
            primes.append(candidate)
            product *= candidate
    if len(primes) > _MOST_PRIMES or len(table) >= _MOST_SECRETS:
        raise NotSupported("kernels with determinants this large", ["fewer secrets", "an alpha with smaller powers"])
    tables = [np.mod(table, prime).astype(np.int64) for prime in primes] or [table.astype(np.int64)]
    return Residues(np.stack(tables), np.array(primes or [2], dtype=np.int64))


def supports_in_pieces(rays: Rays, report: Report | None = None) -> Iterator[NDArray[np.uint64]]:
    """Supports of all kernels as bit sets, words × some; what was yielded is not kept."""
    residues = residues_of(rays.equations)
    level = _all_rays(rays)
    started = perf_counter()
    total = len(rays.equations)
    if total == 0:
        yield level.supports
    for k in range(total):
        signs = _signs(rays, residues, k, level)
        rest = _Level(level.supports, level.values[1:], level.errors[1:])
        last = k + 1 == total
        pieces = [rest[signs == 0]]
        found = pieces[0].supports.shape[1]
        if last:
            yield pieces.pop().supports
        for share, supports, first, second in _joined_pieces(residues, k + 1, level.supports, signs):
            if not rays.complete:
                _prove_dimension(rays, residues, k + 1, supports)
            found += supports.shape[1]
            if last:
                yield supports
            else:
                pieces.append(_combination(level, rest, supports, first, second))
            if report is not None:
                report(Enumeration(k + 1, total, share, found, perf_counter() - started))
        if not last:
            level = _Level(
                np.concatenate([piece.supports for piece in pieces], axis=1),
                np.concatenate([piece.values for piece in pieces], axis=1),
                np.concatenate([piece.errors for piece in pieces], axis=1),
            )


def _all_rays(rays: Rays) -> _Level:
    """Every ray by itself."""
    index = np.arange(len(rays))
    supports = np.zeros((-(-len(rays) // 64), len(rays)), dtype=np.uint64)
    supports[index // 64, index] = np.uint64(1) << (index % 64).astype(np.uint64)
    values = rays.floats[1:] - rays.floats[:1]
    errors = np.where(rays.equations == 0, 0.0, 3 * FLOAT_ERROR)  # of two entries and their difference
    return _Level(supports, np.where(rays.equations == 0, 0.0, values), errors)


def _combination(
    level: _Level, rest: _Level, supports: NDArray[np.uint64], first: NDArray[np.int64], second: NDArray[np.int64]
) -> _Level:
    """New rays |w·N| P + (w·P) N on which the equation w vanishes, scaled by powers of two."""
    p, ep = level.values[0, first], level.errors[0, first]
    n, en = -level.values[0, second], level.errors[0, second]
    one, other = rest.values[:, first], rest.values[:, second]
    error_one, error_other = rest.errors[:, first], rest.errors[:, second]
    left, right = n * one, p * other
    errors = n * error_one + en * (abs(one) + error_one) + p * error_other + ep * (abs(other) + error_other)
    errors = (errors + 2.0**-51 * (abs(left) + abs(right))) * _GROWTH  # two products and a sum, rounded
    scale = -np.frexp(n + p)[1]
    return _Level(supports, np.ldexp(left + right, scale), np.ldexp(errors, scale))


def _signs(rays: Rays, residues: Residues, k: int, level: _Level) -> NDArray[np.int64]:
    """The sign of equation k on each ray; where floats do not settle it, by primes, integers or balls."""
    signs = np.sign(level.values[0]).astype(np.int64)
    open_ones = np.flatnonzero(abs(level.values[0]) <= level.errors[0])
    zero = _vanishes(residues.tables, residues.primes, k, level.supports, open_ones)
    signs[open_ones[zero]] = 0
    for index in open_ones[~zero]:
        signs[index] = _exact_sign(rays, residues, k, members_of(level.supports[:, index]))
    return signs


def _exact_sign(rays: Rays, residues: Residues, k: int, members: list[int]) -> int:
    """The sign of equation k where it is known not to vanish.

    With s − 1 independent rows R on the s members, the ray is a_j ∝ (−1)^j det(R without column j), so w·a has
    the sign of det(w above R) times that of det(R without its first column).
    """
    rows = _independent_rows(residues, k, members[1:])
    orientation = rays.sign(rows, members[1:]) if rows else 1
    return rays.sign([k, *rows], members) * orientation


def _independent_rows(residues: Residues, k: int, columns: list[int]) -> list[int]:
    """As many of the first k rows as there are columns, with a minor that some prime shows not to vanish."""
    for table, prime in zip(residues.tables, residues.primes, strict=True):
        matrix = flint.nmod_mat(len(columns), k, table[:k, columns].T.ravel().tolist(), int(prime))
        reduced, rank = matrix.rref()
        if rank == len(columns):
            return [next(c for c in range(k) if int(reduced[r, c])) for r in range(rank)]
    raise AssertionError("the members of an extreme ray but one are independent")


def _prove_dimension(rays: Rays, residues: Residues, k: int, supports: NDArray[np.uint64]) -> None:
    """Show by balls that each support spans one dimension, where polynomials do not decide about numbers."""
    for support in supports.T:
        members = members_of(support)
        rays.sign(_independent_rows(residues, k, members[1:]), members[1:])


def members_of(support: NDArray[np.uint64]) -> list[int]:
    """The members of one bit set."""
    bits = sum(int(word) << (64 * k) for k, word in enumerate(support))
    return [i for i in range(64 * len(support)) if bits >> i & 1]


def _joined_pieces(
    residues: Residues, k: int, supports: NDArray[np.uint64], signs: NDArray[np.int64]
) -> Iterator[tuple[float, NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]]:
    """Unions of adjacent pairs: the share of pairs done, supports, and which rays they come from."""
    sides = [_by_size(supports, np.flatnonzero(signs == side)) for side in (1, -1)]
    joins = [(one, other) for one in sides[0] for other in sides[1]]
    pairs = [float(len(one)) * len(other) for one, other in joins]
    done = 0.0
    for (one, other), number in zip(joins, pairs, strict=True):
        for part, found, first, second in _joined(residues, k, supports, one, other):
            yield (done + part * number) / sum(pairs), found, first, second
        done += number


def _by_size(supports: NDArray[np.uint64], which: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Rays grouped by their number of members."""
    sizes = np.bitwise_count(supports[:, which]).sum(axis=0)
    return [which[sizes == size] for size in np.unique(sizes)]


def _joined(
    residues: Residues, k: int, supports: NDArray[np.uint64], one: NDArray[np.int64], other: NDArray[np.int64]
) -> Iterator[tuple[float, NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]]:
    """Combine two groups of equal sizes: all pairs if these are few, else those that share enough members.

    A union of at most k + 1 members from sets of a and b needs a + b − k − 1 common ones, so a pair shows
    up under one of the subsets of that many members.
    """
    positive, negative = (np.ascontiguousarray(supports[:, group]) for group in (one, other))
    pairs = len(one) * len(other)
    sizes = [int(np.bitwise_count(group[:, 0]).sum()) for group in (positive, negative)]
    shared = sum(sizes) - k - 1
    if len(supports) > 1 or shared < 2 or pairs < _FEW_PAIRS:
        if pairs > _MOST_PAIRS:
            raise NotSupported(
                f"a type this large: {pairs:.1e} pairs of rays to combine",
                [f"{_MOST_PAIRS:.0e} pairs; estimate_kernels() for more"],
            )
        step = max(1, _PAIRS_A_PIECE // len(other))
        for start in range(0, len(one), step):
            stop = min(start + step, len(one))
            found, first, second = _all_pairs(residues.tables, residues.primes, k, positive[:, start:stop], negative)
            yield stop / len(one), found, one[start + first], other[second]
        return
    keys, owners = _subsets(positive[0], sizes[0], shared)
    order = np.argsort(keys, kind="stable")
    keys, owners = keys[order], owners[order]
    for start in range(0, len(other), _RAYS_A_PIECE):
        stop = min(start + _RAYS_A_PIECE, len(other))
        found, first, second = _sharing_pairs(
            residues.tables, residues.primes, k, positive, negative[:, start:stop], keys, owners, sizes[1], shared
        )
        yield stop / len(other), found, one[first], other[start + second]


@intrinsic
def _bits(typing_context, word):  # type: ignore[no-untyped-def]
    """The number of ones in a machine word: one instruction."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


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
def _grown(array, count):  # type: ignore[no-untyped-def]
    """The array, twice as long if it is full."""
    if count < array.size:
        return array
    longer = np.empty(2 * array.size, array.dtype)
    longer[:count] = array
    return longer


@njit(cache=True)
def _sharing_pairs(tables, primes, k, positive, negative, keys, owners, size, shared):  # type: ignore[no-untyped-def]
    """Unions of adjacent pairs of one-word sets that share a subset."""
    first, second = np.empty(1024, np.int64), np.empty(1024, np.int64)
    count = 0
    own = np.empty(_choose(size, shared), np.uint64)
    base = np.empty(64, np.int64)
    null, ranks, work = _workspace(primes.size)
    for j in range(negative.shape[1]):
        word = negative[0, j]
        _members(negative[:, j], base)
        ready = 0
        _spread(word, size, shared, own)
        for key in own:
            place = np.searchsorted(keys, key)
            while place < keys.size and keys[place] == key:
                i = owners[place]
                place += 1
                both = positive[0, i] & word
                # a pair that shares more comes up under several subsets: take it under the lowest
                for _ in range(_bits(both) - shared):
                    top = np.uint64(1) << np.uint64(63)
                    while not top & both:
                        top >>= np.uint64(1)
                    both ^= top
                if both != key:
                    continue
                near, ready = _adjacent(
                    tables, primes, k, base[:size], negative[:, j], positive[:, i], null, ranks, ready, work
                )
                if near:
                    first, second = _grown(first, count), _grown(second, count)
                    first[count], second[count] = i, j
                    count += 1
    return _unions(positive, negative, first[:count], second[:count])


@njit(cache=True)
def _all_pairs(tables, primes, k, positive, negative):  # type: ignore[no-untyped-def]
    """Unions of adjacent pairs, every pair looked at."""
    first, second = np.empty(1024, np.int64), np.empty(1024, np.int64)
    count = 0
    near = np.empty(negative.shape[1], np.int64)
    base = np.empty(64 * len(positive), np.int64)
    null, ranks, work = _workspace(primes.size)
    for i in range(positive.shape[1]):
        size = _members(positive[:, i], base)
        ready = 0
        for j in near[: _small_unions(positive[:, i], negative, k + 1, near)]:
            adjacent, ready = _adjacent(
                tables, primes, k, base[:size], positive[:, i], negative[:, j], null, ranks, ready, work
            )
            if adjacent:
                first, second = _grown(first, count), _grown(second, count)
                first[count], second[count] = i, j
                count += 1
    return _unions(positive, negative, first[:count], second[:count])


@njit(cache=True)
def _unions(positive, negative, first, second):  # type: ignore[no-untyped-def]
    result = np.empty((len(positive), first.size), np.uint64)
    for w in range(len(positive)):
        for t in range(first.size):
            result[w, t] = positive[w, first[t]] | negative[w, second[t]]
    return result, first.copy(), second.copy()


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
def _members(support, out):  # type: ignore[no-untyped-def]
    """Write the members of one support; returns how many there are."""
    size = 0
    for w in range(len(support)):
        word = support[w]
        while word:
            low = word & (~word + np.uint64(1))
            out[size] = 64 * w + _bits(low - np.uint64(1))
            size += 1
            word ^= low
    return size


@njit(cache=True)
def _workspace(primes):  # type: ignore[no-untyped-def]
    return np.empty((primes, 16, 16), np.int64), np.empty(primes, np.int64), np.empty((16, 40), np.int64)


@njit(cache=True)
def _adjacent(tables, primes, k, base, support, other, null, ranks, ready, work):  # type: ignore[no-untyped-def]
    """Whether k equations leave the union of two supports one dimension, the members of the first independent.

    Left null spaces of the first are kept for the next call: ``ready`` says for how many primes.
    """
    extra = np.empty(16, np.int64)
    outside, inside = 0, 0
    for w in range(len(support)):
        inside += _bits(support[w] & ~other[w])
        word = other[w] & ~support[w]
        while word:
            low = word & (~word + np.uint64(1))
            extra[outside] = 64 * w + _bits(low - np.uint64(1))
            outside += 1
            word ^= low
    if inside == 1 or outside == 1:
        return True, ready
    for q in range(primes.size):
        if q == ready:
            ranks[q] = _left_null(tables[q], primes[q], k, base, null[q], work)
            ready += 1
        wanted = base.size + outside - 1 - ranks[q]
        if _added_rank(tables[q], primes[q], k, null[q], k - ranks[q], extra[:outside], work) >= wanted:
            return True, ready
    return False, ready


@njit(cache=True, inline="always")
def _modulo(value, prime, reciprocal):  # type: ignore[no-untyped-def]
    """value mod prime for 0 ≤ value < 2^62: the rounded quotient is off by at most one."""
    rest = value - np.int64(np.float64(value) * reciprocal) * prime
    if rest < 0:
        rest += prime
    elif rest >= prime:
        rest -= prime
    return rest


@njit(cache=True)
def _left_null(table, prime, k, columns, null, work):  # type: ignore[no-untyped-def]
    """Write combinations of the first k rows that vanish on the columns; returns the rank of the columns."""
    size = columns.size
    reciprocal = 1.0 / prime
    for r in range(k):
        for c in range(size):
            work[r, c] = table[r, columns[c]]
        for c in range(k):
            work[r, size + c] = 1 if r == c else 0
    rank = _eliminate(work, k, size, size + k, prime, reciprocal)
    for r in range(rank, k):
        for c in range(k):
            null[r - rank, c] = work[r, size + c]
    return rank


@njit(cache=True)
def _added_rank(table, prime, k, null, rows, columns, work):  # type: ignore[no-untyped-def]
    """The rank that columns add to those a left null space belongs to."""
    reciprocal = 1.0 / prime
    for r in range(rows):
        for c in range(columns.size):
            value = 0
            for i in range(k):
                value += null[r, i] * table[i, columns[c]]  # at most 15 products of 58 bits
            work[r, c] = _modulo(value, prime, reciprocal)
    return _eliminate(work, rows, columns.size, columns.size, prime, reciprocal)


@njit(cache=True)
def _eliminate(work, rows, pivots, width, prime, reciprocal):  # type: ignore[no-untyped-def]
    """Echelon form of the first ``pivots`` columns modulo a prime, in place; returns the rank."""
    rank = 0
    for c in range(pivots):
        pivot = rank
        while pivot < rows and work[pivot, c] == 0:
            pivot += 1
        if pivot == rows:
            continue
        if pivot != rank:
            for j in range(c, width):
                work[rank, j], work[pivot, j] = work[pivot, j], work[rank, j]
        head = work[rank, c]
        for r in range(rank + 1, rows):
            factor = work[r, c]
            if factor:
                for j in range(c, width):
                    work[r, j] = _modulo(work[r, j] * head + (prime - work[rank, j]) * factor, prime, reciprocal)
        rank += 1
    return rank


@njit(cache=True)
def _vanishes(tables, primes, k, supports, which):  # type: ignore[no-untyped-def]
    """Whether equation k is zero on extreme rays of the first k: it adds no rank modulo any prime."""
    result = np.empty(which.size, np.bool_)
    members = np.empty(64 * len(supports), np.int64)
    work = np.empty((17, 40), np.int64)
    for t in range(which.size):
        size = _members(supports[:, which[t]], members)
        result[t] = True
        for q in range(primes.size):
            for r in range(k + 1):
                for c in range(size):
                    work[r, c] = tables[q, r, members[c]]
            if _eliminate(work, k + 1, size, size, primes[q], 1.0 / primes[q]) == size:
                result[t] = False
                break
    return result
