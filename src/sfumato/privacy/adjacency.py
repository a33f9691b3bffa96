"""Which rays are adjacent: the compiled part of double description.

Supports are bit sets, words × rays. A pair is adjacent if the equations leave the union of their supports one
dimension; ranks are taken modulo primes of 29 bits, so that sixteen products of residues fit into a machine word.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

__all__ = ["all_pairs", "bare_pairs", "sharing_pairs", "subsets", "vanishes"]


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
def subsets(words, size, shared):  # type: ignore[no-untyped-def]
    """All subsets of so many members of sets of one size, and which set each comes from."""
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
def sharing_pairs(tables, primes, k, keys, owners, size, shared, inner, outer):  # type: ignore[no-untyped-def]
    """Unions of adjacent pairs of one-word sets that share a subset; keys are subsets of the inner ones."""
    first, second = np.empty(1024, np.int64), np.empty(1024, np.int64)
    count = 0
    own = np.empty(_choose(size, shared), np.uint64)
    rest, ranks, work, base, extra, spanned = _workspace(tables)
    for i in range(outer.shape[1]):
        word = outer[0, i]
        _members(outer, i, base)
        ready = 0
        _spread(word, size, shared, own)
        for key in own:
            place = np.searchsorted(keys, key)
            while place < keys.size and keys[place] == key:
                j = owners[place]
                place += 1
                both = inner[0, j] & word
                # a pair that shares more comes up under several subsets: take it under the lowest
                for _ in range(_bits(both) - shared):
                    top = np.uint64(1) << np.uint64(63)
                    while not top & both:
                        top >>= np.uint64(1)
                    both ^= top
                if both != key:
                    continue
                outside = _difference(inner, j, outer, i, extra)
                adjacent, ready = _adjacent(
                    tables, primes, k, size, outside, rest, ranks, ready, work, base, extra, spanned
                )
                if adjacent:
                    first, second = _grown(first, count), _grown(second, count)
                    first[count], second[count] = i, j
                    count += 1
    return _unions(outer, inner, first[:count], second[:count])


@njit(cache=True)
def all_pairs(tables, primes, k, inner, outer):  # type: ignore[no-untyped-def]
    """Unions of adjacent pairs, every pair looked at."""
    first, second = np.empty(1024, np.int64), np.empty(1024, np.int64)
    count = 0
    near = np.empty(inner.shape[1], np.int64)
    rest, ranks, work, base, extra, spanned = _workspace(tables)
    for i in range(outer.shape[1]):
        size = _members(outer, i, base)
        ready = 0
        for t in range(_small_unions(outer, i, inner, k + 1, near)):
            j = near[t]
            outside = _difference(inner, j, outer, i, extra)
            adjacent, ready = _adjacent(
                tables, primes, k, size, outside, rest, ranks, ready, work, base, extra, spanned
            )
            if adjacent:
                first, second = _grown(first, count), _grown(second, count)
                first[count], second[count] = i, j
                count += 1
    return _unions(outer, inner, first[:count], second[:count])


@njit(cache=True)
def bare_pairs(k, supports, inner, outer):  # type: ignore[no-untyped-def]
    """Unions of adjacent pairs by the combinatorial test: no third set lies in the union."""
    first, second = np.empty(1024, np.int64), np.empty(1024, np.int64)
    count = 0
    near, extra = np.empty(inner.shape[1], np.int64), np.empty(1024, np.int64)
    for i in range(outer.shape[1]):
        for t in range(_small_unions(outer, i, inner, k + 1, near)):
            j = near[t]
            within = 2 if _difference(inner, j, outer, i, extra) == 1 else 0  # a single new member is always adjacent
            for s in range(supports.shape[1] if within == 0 else 0):
                beyond = False
                for w in range(len(supports)):
                    beyond |= supports[w, s] & ~(outer[w, i] | inner[w, j]) != 0
                within += not beyond
                if within > 2:
                    break
            if within == 2:
                first, second = _grown(first, count), _grown(second, count)
                first[count], second[count] = i, j
                count += 1
    return _unions(outer, inner, first[:count], second[:count])


@njit(cache=True)
def _unions(one, other, first, second):  # type: ignore[no-untyped-def]
    result = np.empty((len(one), first.size), np.uint64)
    for w in range(len(one)):
        for t in range(first.size):
            result[w, t] = one[w, first[t]] | other[w, second[t]]
    return result, first.copy(), second.copy()


@njit(cache=True)
def _small_unions(outer, i, inner, largest, near):  # type: ignore[no-untyped-def]
    """Write the indices of the sets whose union with set i has at most so many members."""
    count = 0
    if len(outer) == 1:
        word, row = outer[0, i], inner[0]
        for j in range(row.size):
            near[count] = j
            count += _bits(word | row[j]) <= largest  # overwritten unless it is small: no branch to mispredict
        return count
    for j in range(inner.shape[1]):
        size = 0
        for w in range(len(outer)):
            size += _bits(outer[w, i] | inner[w, j])
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
def _difference(inner, j, outer, i, extra):  # type: ignore[no-untyped-def]
    """Write what set j adds to set i; returns how much, or 1 if set i adds a single member to set j."""
    outside, inside = 0, 0
    for w in range(len(outer)):
        inside += _bits(outer[w, i] & ~inner[w, j])
        word = inner[w, j] & ~outer[w, i]
        while word:
            low = word & (~word + np.uint64(1))
            extra[outside] = 64 * w + _bits(low - np.uint64(1))
            outside += 1
            word ^= low
    return 1 if inside == 1 else outside


@njit(cache=True)
def _workspace(tables):  # type: ignore[no-untyped-def]
    """Equations without a base and its rank for each prime, room to eliminate in, members of two sets."""
    rest, ranks = np.empty((len(tables), 16, tables.shape[2]), np.int64), np.empty(len(tables), np.int64)
    base, extra = np.empty(1024, np.int64), np.empty(1024, np.int64)
    spanned = np.empty((len(tables), tables.shape[2]), np.int64)
    return rest, ranks, np.empty((17, 40), np.int64), base, extra, spanned


@njit(cache=True)
def _adjacent(tables, primes, k, size, outside, rest, ranks, ready, work, base, extra, spanned):  # type: ignore[no-untyped-def]
    """Whether k equations leave the union of two sets one dimension, the members of the first independent.

    What is left of the equations without the first is kept for the next call: ``ready`` says for how many primes.
    """
    if outside == 1:
        return True, ready
    for q in range(primes.size):
        if q == ready:
            ranks[q] = _without_base(tables, primes, q, k, base, size, rest, spanned, work)
            ready += 1
        most = 1 - (size - ranks[q])  # dependence that only this prime sees leaves less
        spare = most
        for t in range(outside):
            spare -= spanned[q, extra[t]]
        if spare < 0:
            continue
        # of two columns that are not both spanned at most one depends on the other
        if (outside == 2 and most == 1) or _few_dependent(rest, primes, q, k - ranks[q], extra, outside, most, work):
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
def _without_base(tables, primes, q, k, base, size, rest, spanned, work):  # type: ignore[no-untyped-def]
    """Write the equations with the base eliminated, for all rays; returns the rank of the base."""
    prime = primes[q]
    for r in range(k):
        for c in range(size):
            work[r, c] = tables[q, r, base[c]]
        for c in range(k):
            work[r, size + c] = 1 if r == c else 0
    rank = _eliminate(work, k, size, size + k, prime)
    reciprocal = 1.0 / prime
    for c in range(rest.shape[2]):
        spanned[q, c] = 1
    for r in range(rank, k):
        for c in range(rest.shape[2]):
            value = 0
            for i in range(k):
                value += work[r, size + i] * tables[q, i, c]  # at most 15 products of 58 bits
            value = _modulo(value, prime, reciprocal)
            rest[q, r - rank, c] = value
            spanned[q, c] &= value == 0
    return rank


@njit(cache=True)
def _few_dependent(rest, primes, q, rows, extra, outside, most, work):  # type: ignore[no-untyped-def]
    """Whether at most so many columns depend on those before them, the base eliminated.

    Column by column, so that most refusals come early: row t of ``work`` keeps pivot t's multipliers, with the
    place it was swapped from behind them.
    """
    prime = primes[q]
    reciprocal = 1.0 / prime
    rank = 0
    for position in range(outside):
        c = extra[position]
        for r in range(rows):
            work[16, r] = rest[q, r, c]
        for t in range(rank):
            swapped, head = work[t, 16], work[t, t]
            work[16, t], work[16, swapped] = work[16, swapped], work[16, t]
            top = prime - work[16, t]
            for r in range(t + 1, rows):
                work[16, r] = _modulo(work[16, r] * head + top * work[t, r], prime, reciprocal)
        pivot = rank
        while pivot < rows and work[16, pivot] == 0:
            pivot += 1
        if pivot == rows:
            most -= 1
            if most < 0:
                return False
            continue
        work[16, rank], work[16, pivot] = work[16, pivot], work[16, rank]
        work[rank, 16] = pivot
        for r in range(rank, rows):
            work[rank, r] = work[16, r]
        rank += 1
    return True


@njit(cache=True)
def _eliminate(work, rows, pivots, width, prime):  # type: ignore[no-untyped-def]
    """Echelon form of the first ``pivots`` columns modulo a prime, in place; returns the rank."""
    reciprocal = 1.0 / prime
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
def vanishes(tables, primes, k, supports, which):  # type: ignore[no-untyped-def]
    """Whether equation k is zero on extreme rays of the first k: it adds no rank modulo any prime."""
    result = np.empty(which.size, np.bool_)
    members = np.empty(64 * len(supports), np.int64)
    work = np.empty((17, 40), np.int64)
    for t in range(which.size):
        size = _members(supports, which[t], members)
        result[t] = True
        for q in range(primes.size):
            for r in range(k + 1):
                for c in range(size):
                    work[r, c] = tables[q, r, members[c]]
            if _eliminate(work, k + 1, size, size, primes[q]) == size:
                result[t] = False
                break
    return result
