"""Which rays are adjacent: the compiled part of double description.

Supports are bit sets, words × rays. A pair is adjacent if the equations leave the union of their supports one
dimension; ranks are taken modulo primes of 29 bits, so that sixteen products of residues fit into a machine word.
For each ray of one side its members are eliminated once, and of the sets that may go with it most are refused by
comparing bits: two new members, one of them spanned already, leave too much.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from sfumato.compiled import instructions
from sfumato.privacy.modular import eliminate, remainder

ones = instructions(lambda _: types.int64(types.uint64), lambda builder, word: builder.ctpop(word))
"""The number of ones in a machine word: one instruction."""


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
        for k in range(i * number, (i + 1) * number):
            owners[k] = i
    return keys, owners


@njit(cache=True)
def _grown(array, count):  # type: ignore[no-untyped-def]
    """The array, at least twice as long if there is no room for so many."""
    if count <= array.size:
        return array
    longer = np.empty(2 * count, array.dtype)
    for k in range(array.size):
        longer[k] = array[k]
    return longer


@njit(cache=True)
def adjacent_pairs(tables, primes, k, keys, owners, shared, inner, outer):  # type: ignore[no-untyped-def]
    """Unions of adjacent pairs of an outer and an inner set, and the indices of both.

    If a pair must share so many members, the outer sets have one size and one word, and ``keys`` are all such subsets
    of the inner sets, sorted.
    """
    first, second = np.empty(1024, np.int64), np.empty(1024, np.int64)
    count = 0
    near = np.empty(inner.shape[1], np.int64)
    rest, spanned, work, members = _workspace(tables)
    own = np.empty(_choose(_members(outer, 0, members), shared) if shared else 0, np.uint64)
    for i in range(outer.shape[1]):
        if shared:
            size = _sharing(outer[0, i], shared, inner[0], keys, owners, own, near)
        else:
            size = _small_unions(outer, i, inner, k + 1, near)
        size = _adjacent(tables, primes, k, outer, i, inner, near, size, rest, spanned, work, members)
        first, second = _listed(first, second, count, i, near[:size])
        count += size
    return _unions(outer, inner, first[:count], second[:count])


@njit(cache=True)
def lone_pairs(supports, largest, inner, outer):  # type: ignore[no-untyped-def]
    """The same where nothing but supports is known: unions of so many members at most that hold no third support."""
    first, second = np.empty(1024, np.int64), np.empty(1024, np.int64)
    count = 0
    near, members = np.empty(inner.shape[1], np.int64), np.empty(64 * len(supports), np.int64)
    without = np.empty((64 * len(supports), (supports.shape[1] + 63) // 64), np.uint64)
    known = np.zeros(len(supports) + 1, np.uint64)  # which members there are; the last word says whether that is known
    for i in range(outer.shape[1]):
        size = _small_unions(outer, i, inner, largest, near)
        size = _alone(supports, without, known, outer, i, inner, near, size, members)
        first, second = _listed(first, second, count, i, near[:size])
        count += size
    return _unions(outer, inner, first[:count], second[:count])


@njit(cache=True)
def _listed(first, second, count, i, near):  # type: ignore[no-untyped-def]
    """The lists of pairs, longer by those of set i."""
    first, second = _grown(first, count + near.size), _grown(second, count + near.size)
    for k in range(near.size):
        first[count + k], second[count + k] = i, near[k]
    return first, second


@njit(cache=True)
def _sharing(word, shared, inner, keys, owners, own, near):  # type: ignore[no-untyped-def]
    """Write the indices of the inner sets that share so many members with a set; returns how many."""
    _spread(word, ones(word), shared, own)
    count = 0
    for key in own:
        place = np.searchsorted(keys, key)
        while place < keys.size and keys[place] == key:
            j = owners[place]
            place += 1
            both = inner[j] & word
            # a pair that shares more comes up under several subsets: take it under the lowest
            for _ in range(ones(both) - shared):
                top = np.uint64(1) << np.uint64(63)
                while not top & both:
                    top >>= np.uint64(1)
                both ^= top
            if both == key:
                near[count] = j
                count += 1
    return count


@njit(cache=True)
def _alone(supports, without, known, outer, i, inner, near, count, members):  # type: ignore[no-untyped-def]
    """Keep those of ``count`` indices whose union with set i holds no third support, in place; returns how many."""
    kept, total = 0, supports.shape[1]
    for t in range(count):
        j, size = near[t], 0
        within = 2 if _one_apart(outer, i, inner, j) else 0
        if not within and not known[-1]:
            _lay_out(supports, without, known, members)
        for w in range(0 if within else len(outer)):
            size = _spell(known[w] & ~(outer[w, i] | inner[w, j]), w, members, size)
        for b in range(0 if within else without.shape[1]):
            word = ~np.uint64(0) if b < total // 64 else (np.uint64(1) << np.uint64(total % 64)) - np.uint64(1)
            for m in range(size - 1, -1, -1):  # late members are in fewer supports
                word &= without[members[m], b]
                if word == 0:
                    break
            within += ones(word)
            if within > 2:
                break
        near[kept] = j
        kept += within == 2
    return kept


@njit(cache=True)
def _lay_out(supports, without, known, members):  # type: ignore[no-untyped-def]
    """For each member the supports without it, as bits: who lies in a union is then an intersection."""
    without[:], known[-1] = ~np.uint64(0), np.uint64(1)
    for s in range(supports.shape[1]):
        for k in range(len(supports)):
            known[k] |= supports[k, s]
        for m in members[: _members(supports, s, members)]:
            without[m, s // 64] ^= np.uint64(1) << np.uint64(s % 64)


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
            count += ones(word | row[j]) <= largest  # overwritten unless it is small: no branch to mispredict
        return count
    for j in range(inner.shape[1]):
        size = 0
        for w in range(len(outer)):
            size += ones(outer[w, i] | inner[w, j])
        near[count] = j
        count += size <= largest
    return count


@njit(cache=True)
def _members(supports, index, out):  # type: ignore[no-untyped-def]
    """Write the members of one support; returns how many there are."""
    size = 0
    for w in range(len(supports)):
        size = _spell(supports[w, index], w, out, size)
    return size


@njit(cache=True)
def _added(outer, i, inner, j, out):  # type: ignore[no-untyped-def]
    """Write what set j adds to set i; returns how much."""
    size = 0
    for w in range(len(outer)):
        size = _spell(inner[w, j] & ~outer[w, i], w, out, size)
    return size


@njit(cache=True)
def _spell(word, w, out, size):  # type: ignore[no-untyped-def]
    """Write the members that are bits of word w, behind ``size`` others; returns how many there are now."""
    while word:
        low = word & (~word + np.uint64(1))
        out[size] = 64 * w + ones(low - np.uint64(1))
        size += 1
        word ^= low
    return size


@njit(cache=True)
def _one_apart(outer, i, inner, j):  # type: ignore[no-untyped-def]
    """Whether one set adds a single member to the other: such a pair is always adjacent."""
    outside, inside = 0, 0
    for w in range(len(outer)):
        outside += ones(inner[w, j] & ~outer[w, i])
        inside += ones(outer[w, i] & ~inner[w, j])
    return outside == 1 or inside == 1


@njit(cache=True)
def _workspace(tables):  # type: ignore[no-untyped-def]
    """Equations without a base, for each prime; the rays the base spans; room to eliminate in; members of a set."""
    count, _, rays = tables.shape
    rest, spanned = np.empty((count, 16, rays), np.int64), np.empty(-(-rays // 64), np.uint64)
    return rest, spanned, np.empty((40, 17), np.int64), np.empty(1024, np.int64)


@njit(cache=True)
def _adjacent(tables, primes, k, outer, i, inner, near, count, rest, spanned, work, members):  # type: ignore[no-untyped-def]
    """Keep those of ``count`` indices whose sets are adjacent to set i, in place; returns how many.

    The two rays together use all members of the union, so k equations leave it one dimension exactly if its
    members without one are independent. Set i is, so the one left out is one that the other set adds.
    """
    rows = k - _members(outer, i, members)
    if rows == 0 or count == 0:  # at most k + 1 members: a single one is added
        return count
    spanned[:] = ~np.uint64(0)
    for q in range(primes.size):
        _without_base(tables, primes, q, k, outer, i, rest, spanned, work, members)
    kept = 0
    for t in range(count):  # most are refused here, for one that set i spans beside another
        j = near[t]
        free = True
        for w in range(len(outer)):
            free &= inner[w, j] & ~outer[w, i] & spanned[w] == 0
        near[kept] = j
        kept += free | _one_apart(outer, i, inner, j)
    count, kept = kept, 0
    for t in range(count):
        near[kept] = near[t]
        adjacent = _one_apart(outer, i, inner, near[t])
        if not adjacent:
            others = _added(outer, i, inner, near[t], members) - 1
            adjacent = others == 1  # which set i does not span
            for q in range(0 if adjacent else primes.size):
                _gather(rest, q, rows, members, others, work)
                if eliminate(work, rows, others, others, primes[q]):
                    adjacent = True
                    break
        kept += adjacent
    return kept


@njit(cache=True)
def _without_base(tables, primes, q, k, outer, i, rest, spanned, work, base):  # type: ignore[no-untyped-def]
    """Write k equations with the members of set i eliminated; rays of which something is left leave ``spanned``.

    A ray that stays in it modulo all primes is spanned by set i.
    """
    size = _members(outer, i, base)
    prime = primes[q]
    _gather(tables, q, k, base, size, work)
    for c in range(k):
        for r in range(k):
            work[size + c, r] = 1 if r == c else 0
    independent = eliminate(work, k, size, size + k, prime)
    reciprocal = 1.0 / prime
    for r in range(size, k):
        row = rest[q, r - size]
        row[:] = 0
        if not independent:  # as they are modulo another prime; this one shows nothing
            continue
        for t in range(k):
            factor = work[size + t, r]
            for c in range(row.size):
                row[c] += factor * tables[q, t, c]  # at most 15 products of 58 bits
        for c in range(row.size):
            row[c] = remainder(row[c], prime, reciprocal)
        for c in range(row.size):
            spanned[c >> 6] &= ~(np.uint64(row[c] != 0) << np.uint64(c & 63))


@njit(cache=True)
def _gather(tables, q, rows, columns, count, work):  # type: ignore[no-untyped-def]
    """Write the first rows of so many columns, modulo prime q, where they are eliminated."""
    for c in range(count):
        for r in range(rows):
            work[c, r] = tables[q, r, columns[c]]


@njit(cache=True)
def vanishes(tables, primes, k, supports, which):  # type: ignore[no-untyped-def]
    """Whether equation k is zero on extreme rays of the first k: it adds no rank modulo any prime."""
    result = np.empty(which.size, np.bool_)
    members = np.empty(64 * len(supports), np.int64)
    work = np.empty((40, 17), np.int64)
    for t in range(which.size):
        size = _members(supports, which[t], members)
        result[t] = True
        for q in range(primes.size):
            _gather(tables, q, k + 1, members, size, work)
            if eliminate(work, k + 1, size, size, primes[q]):
                result[t] = False
                break
    return result
