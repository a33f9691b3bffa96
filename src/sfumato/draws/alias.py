"""Alias tables in integers: one random word, one look into a table, one comparison, and exactly the given weights.

A row of integer weights w_0, …, w_{m−1} with the sum T is spread over 2^b ≥ m buckets that hold C = T·s/2^b each,
where s is the least factor that makes C an integer. Bucket i belongs to output i up to its threshold t_i and to its
alias a_i beyond (Walker 1977; the order in which buckets are filled is Vose's, 1991). A draw takes b random bits for
the bucket and compares a uniform real number u = 0.u₁u₂… of [0, 1) with t_i / C.

Of t_i / C the table keeps the first ``low`` binary digits, rounded down, in one 64-bit word with the alias. If C is a
power of two with no more digits than that, the comparison is always decided, and a draw takes exactly log₂(T·s) bits.
Otherwise it is left open when the first digits of u and of t_i / C agree, which happens with probability 2^-low for
each draw and every row alike, 2^-50 or less for a thousand outputs. Then the threshold is worked out again, in
integers of any length, and u is continued with further random words until it differs. No bit is ever rounded away, and
no draw is thrown away.

That a table stands for its row is checked in integers for every row that is built, in code that shares nothing with
what builds it: Σ of the parts that belong to an output is s·w, for every output (:func:`first_wrong_row`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.draws.randomness import Lane, Stream, Words
from sfumato.errors import InvalidInput
from sfumato.numbers import Array
from sfumato.threads import for_reading, on_threads

_WORD = 64


@dataclass(frozen=True, eq=False, repr=False)
class AliasTables:
    """The rows of a table of integer weights, ready to be drawn from; made by :func:`alias_tables`.

    ``entries[x << bucket_bits | i]`` holds the alias of bucket i in its upper and ⌊2^low t_i / C⌋ in its lower ``low``
    bits. ``exact`` says that these digits are all there are.
    """

    weights: Array
    total: int
    bucket_bits: int
    low: int
    exact: bool
    entries: NDArray[np.uint64]

    @property
    def bits(self) -> int:
        """The random bits that a draw takes from its first word, and all it ever takes if ``exact``."""
        return self.bucket_bits + self.low

    def __repr__(self) -> str:
        rows, outputs = self.weights.shape
        return (
            f"AliasTables({rows} rows of {outputs} weights, {self.bits} bits a draw{'' if self.exact else ' or more'})"
        )

    def draw(
        self,
        rows: NDArray[np.int64],
        stream: Stream,
        lanes: NDArray[np.int64],
        first: int = 0,
        words: Words | None = None,
    ) -> Array:
        """One output for each row, with word number ``first`` of its lane; ``words`` are these, if taken already."""
        words = stream.take(lanes, first, 1)[0] if words is None else words
        outputs = np.empty(len(rows), dtype=np.int64)
        equal = _draw(for_reading(self.entries), rows, words, self.bucket_bits, self.low, outputs)
        if equal and not self.exact:
            self._settle(rows, words, stream, lanes, first, outputs)
        return outputs

    def _settle(
        self, rows: Array, words: Words, stream: Stream, lanes: Array, first: int, outputs: NDArray[np.int64]
    ) -> None:
        """Decide the comparisons that were left open, where digits are equal, one by one."""
        used = words >> np.uint64(_WORD - self.bits)
        buckets = (used >> np.uint64(self.low)).astype(np.int64)
        entries = self.entries[(rows << self.bucket_bits) | buckets]
        equal = (used ^ entries) & np.uint64((1 << self.low) - 1) == 0
        for k in np.flatnonzero(equal).tolist():
            bucket, entry = int(buckets[k]), int(entries[k])
            threshold, capacity = self._threshold(int(rows[k]), bucket)
            # both begin with the digits in the entry; what follows is compared
            rest = (threshold << self.low) - (entry & ((1 << self.low) - 1)) * capacity
            if rest >= capacity or rest < 0:
                raise AssertionError("an alias table does not belong to its weights")
            onward = Lane(stream, int(lanes[k]), first)
            outputs[k] = bucket if onward.happens(rest, capacity) else entry >> self.low

    def _threshold(self, row: int, bucket: int) -> tuple[int, int]:
        """t_i and C, worked out again."""
        layout, buckets = _layout(self.total, self.bucket_bits), 1 << self.bucket_bits
        places = np.empty((buckets, layout.width), dtype=np.uint64)
        aliases, small, large = (np.empty(buckets, dtype=np.int64) for _ in range(3))
        limbs = limbs_of(self.weights[row : row + 1], layout.width)
        _fill(limbs, 0, layout.scale_bits, layout.limbs, places, aliases, small, large)
        # a bucket that fills itself has itself as alias, and its threshold is written as 0
        full = int(aliases[bucket]) == bucket
        return (0 if full else int.from_bytes(places[bucket].tobytes(), "little")), layout.capacity


def alias_tables(weights: Array, total: int, *, low: int | None = None) -> AliasTables:
    """Alias tables for rows of non-negative integers with one sum, built in compiled code on all cores and checked.

    Parameters
    ----------
    weights
        One row for each secret, of int64 or of Python integers.
    low
        Digits of a threshold to keep; as many as needed, or as fit, unless given. Few digits make comparisons that
        go on frequent, which is what tests want.

    Examples
    --------
    >>> alias_tables(np.array([[3, 1], [1, 3]]), 4)
    AliasTables(2 rows of 2 weights, 2 bits a draw)
    >>> alias_tables(np.array([[2, 1], [1, 2]]), 3)
    AliasTables(2 rows of 2 weights, 64 bits a draw or more)
    """
    if weights.ndim != 2 or not weights.size or total <= 0:
        raise InvalidInput(f"weights are a table with a positive sum in each row, found shape {weights.shape}")
    if weights.dtype.kind not in "iuO" or int(weights.min()) < 0:
        raise InvalidInput("weights are non-negative integers")
    bits = max(1, (weights.shape[1] - 1).bit_length())
    layout = _layout(total, bits)
    if low is None:
        low = layout.digits if 0 <= layout.digits <= _WORD - bits else _WORD - bits
    if not 0 <= low <= _WORD - bits:
        raise InvalidInput(f"{low} digits of a threshold do not fit beside {bits} bits of an alias")
    entries = np.zeros(len(weights) << bits, dtype=np.uint64)
    wrong = _on_rows(_build, weights, layout, bits, low, entries)
    if wrong >= 0:
        raise InvalidInput(f"the weights of row {wrong} do not sum to {total}")
    entries.flags.writeable = False
    return AliasTables(weights, total, bits, low, 0 <= layout.digits <= low, entries)


def first_wrong_row(tables: AliasTables) -> int:
    """The first row whose table does not reproduce its weights exactly, −1 if there is none: the proof, once more."""
    layout = _layout(tables.total, tables.bucket_bits)
    return _on_rows(_check, tables.weights, layout, tables.bucket_bits, tables.low, tables.entries)


def _on_rows(
    work: Callable[..., Any], weights: Array, layout: _Layout, bits: int, low: int, entries: NDArray[np.uint64]
) -> int:
    """Let compiled code work on all rows, in chunks on all cores; the first row that it complains of, or −1."""

    def some(first: int, last: int) -> int:
        limbs = limbs_of(weights[first:last], layout.width)
        part = entries[first << bits : last << bits]
        wrong = int(work(limbs, layout.scale_bits, layout.limbs, layout.digits, bits, low, part))
        return -1 if wrong < 0 else first + wrong

    return min((row for row in on_threads(some, len(weights), 8) if row >= 0), default=-1)


class _Layout(NamedTuple):
    """How a total is spread: s = 2^scale_bits, C, log₂ C or −1, the 64-bit limbs that hold s·T, and C in such limbs."""

    scale_bits: int
    capacity: int
    digits: int
    width: int
    limbs: NDArray[np.uint64]


def _layout(total: int, bits: int) -> _Layout:
    shared = min(bits, (total & -total).bit_length() - 1)
    capacity = total >> shared
    digits = capacity.bit_length() - 1
    width = -(-(capacity << bits).bit_length() // _WORD)
    limbs = np.frombuffer(capacity.to_bytes(8 * width, "little"), dtype="<u8").astype(np.uint64)
    return _Layout(bits - shared, capacity, digits if capacity == 1 << digits else -1, width, limbs)


def limbs_of(weights: Array, width: int) -> NDArray[np.uint64]:
    """Non-negative integers as 64-bit limbs, the least first, along a new last axis."""
    if weights.dtype != object:
        result = np.zeros((*weights.shape, width), dtype=np.uint64)
        result[..., 0] = weights
        return result
    data = b"".join(int(w).to_bytes(8 * width, "little") for w in weights.ravel())
    # writeable, as the other branch is: code is compiled once for both
    return (
        np.frombuffer(bytearray(data), dtype=np.dtype("<u8"))
        .astype(np.uint64, copy=False)
        .reshape(*weights.shape, width)
    )


# ----------------------------------------------------------------- drawing


@njit(cache=True, nogil=True)
def _draw(entries, rows, words, bucket_bits, low, outputs):  # type: ignore[no-untyped-def]
    """Without a branch that depends on a row or a word; returns how many comparisons met equal digits."""
    unused, down = np.uint64(64 - bucket_bits - low), np.uint64(low)
    mask = (np.uint64(1) << down) - np.uint64(1)
    up = np.int64(bucket_bits)
    equal = np.int64(0)
    for k in range(rows.size):
        word = words[k] >> unused
        bucket = np.int64(word >> down)
        entry = entries[(rows[k] << up) | bucket]
        digits, threshold = word & mask, entry & mask
        alias = np.int64(entry >> down)
        outputs[k] = bucket if digits < threshold else alias
        equal += np.int64(digits == threshold)
    return equal


# ----------------------------------------------------------------- building

# Numbers are rows of a table of 64-bit limbs, the least first; tables and indices are passed instead of rows, because
# taking a row out of an array costs more than the arithmetic.


@njit(cache=True, nogil=True)
def _is_less(table, i, bound):  # type: ignore[no-untyped-def]
    for j in range(table.shape[1] - 1, -1, -1):
        if table[i, j] != bound[j]:
            return table[i, j] < bound[j]
    return False


@njit(cache=True, nogil=True)
def _take_room(table, much, little, capacity):  # type: ignore[no-untyped-def]
    """table[much] −= capacity − table[little]; returns whether that was not more than there was."""
    carry = borrow = np.uint64(0)
    for j in range(table.shape[1]):
        added = table[much, j] + table[little, j]
        more = np.uint64(added < table[little, j])
        added += carry
        carry = more + np.uint64(added < carry)
        taken = added - capacity[j]
        less = np.uint64(added < capacity[j])
        table[much, j] = taken - borrow
        borrow = less + np.uint64(taken < borrow)
    return carry == borrow


@njit(cache=True, nogil=True)
def _scale_into(table, i, weights, row, scale_bits):  # type: ignore[no-untyped-def]
    """table[i] = weights[row, i] · 2^scale_bits, 0 for a bucket beyond all weights."""
    shift, carry = np.uint64(scale_bits), np.uint64(0)
    for j in range(table.shape[1]):
        limb = weights[row, i, j] if i < weights.shape[1] else np.uint64(0)
        table[i, j] = (limb << shift) | carry
        carry = limb >> (np.uint64(64) - shift) if scale_bits else np.uint64(0)


@njit(cache=True, nogil=True)
def _digits(table, i, capacity, capacity_bits, low, rest):  # type: ignore[no-untyped-def]
    """⌊2^low · table[i] / capacity⌋ for a number below the capacity; ``capacity_bits`` is its logarithm, or −1."""
    width = table.shape[1]
    if width == 1 and capacity_bits >= 0:
        if capacity_bits <= low:
            return table[i, 0] << np.uint64(low - capacity_bits)
        return table[i, 0] >> np.uint64(capacity_bits - low)
    for j in range(width):
        rest[0, j] = table[i, j]
    result = np.uint64(0)
    for _ in range(low):
        top = np.uint64(0)
        for j in range(width):  # doubled: fits, since the limbs hold 2^b capacities and b is positive
            limb = rest[0, j]
            rest[0, j] = (limb << np.uint64(1)) | top
            top = limb >> np.uint64(63)
        result <<= np.uint64(1)
        if not _is_less(rest, 0, capacity):
            borrow = np.uint64(0)
            for j in range(width):
                difference = rest[0, j] - capacity[j]
                less = np.uint64(rest[0, j] < capacity[j])
                rest[0, j] = difference - borrow
                borrow = less + np.uint64(difference < borrow)
            result |= np.uint64(1)
    return result


@njit(cache=True, nogil=True)
def _fill(weights, row, scale_bits, capacity, places, aliases, small, large):  # type: ignore[no-untyped-def]
    """Thresholds and aliases of one row; what fills its own bucket exactly is its own alias."""
    smaller = larger = 0
    for i in range(places.shape[0]):
        _scale_into(places, i, weights, row, scale_bits)
        aliases[i] = i
        if _is_less(places, i, capacity):
            small[smaller] = i
            smaller += 1
        else:
            large[larger] = i
            larger += 1
    while smaller and larger:
        smaller -= 1
        little, much = small[smaller], large[larger - 1]
        aliases[little] = much
        _take_room(places, much, little, capacity)
        if _is_less(places, much, capacity):
            larger -= 1
            small[smaller] = much
            smaller += 1


@njit(cache=True, nogil=True)
def _build(weights, scale_bits, capacity, capacity_bits, bucket_bits, low, entries):  # type: ignore[no-untyped-def]
    """Pack the tables of some rows, check each, and return the first wrong row or −1."""
    buckets, width = 1 << bucket_bits, weights.shape[2]
    places, rest = np.empty((buckets, width), dtype=np.uint64), np.empty((1, width), dtype=np.uint64)
    aliases = np.empty(buckets, dtype=np.int64)
    small, large = np.empty(buckets, dtype=np.int64), np.empty(buckets, dtype=np.int64)
    for row in range(weights.shape[0]):
        _fill(weights, row, scale_bits, capacity, places, aliases, small, large)
        for i in range(buckets):
            full = aliases[i] == i
            digits = np.uint64(0) if full else _digits(places, i, capacity, capacity_bits, low, rest)
            entries[(row << bucket_bits) | i] = (np.uint64(aliases[i]) << np.uint64(low)) | digits
    return _check(weights, scale_bits, capacity, capacity_bits, bucket_bits, low, entries)


@njit(cache=True, nogil=True)
def _check(weights, scale_bits, capacity, capacity_bits, bucket_bits, low, entries):  # type: ignore[no-untyped-def]
    """The first row whose entries do not stand for its weights, or −1.

    The aliases alone determine the thresholds: t_i = s·w_i − Σ (C − t_j) over the buckets j with the alias i, worked
    out from the buckets that are nobody's alias onwards. They must lie in [0, C), have the digits of the entries, leave
    every bucket that is its own alias with exactly C, and reach every bucket (no circles).
    """
    buckets, width, outputs = 1 << bucket_bits, weights.shape[2], weights.shape[1]
    parts, rest = np.empty((buckets, width), dtype=np.uint64), np.empty((1, width), dtype=np.uint64)
    feeders, ready = np.empty(buckets, dtype=np.int64), np.empty(buckets, dtype=np.int64)
    down, mask = np.uint64(low), (np.uint64(1) << np.uint64(low)) - np.uint64(1)
    for row in range(weights.shape[0]):
        feeders[:] = 0
        for i in range(buckets):
            alias = np.int64(entries[(row << bucket_bits) | i] >> down)
            if alias >= outputs and alias != i:
                return row
            feeders[alias] += alias != i
            _scale_into(parts, i, weights, row, scale_bits)
        count = 0
        for i in range(buckets):
            if not feeders[i]:
                ready[count] = i
                count += 1
        done = 0
        while done < count:
            i = ready[done]
            done += 1
            entry = entries[(row << bucket_bits) | i]
            alias, digits = np.int64(entry >> down), entry & mask
            if alias == i:
                for j in range(width):
                    if parts[i, j] != capacity[j]:
                        return row
                if digits:
                    return row
                continue
            if not _is_less(parts, i, capacity) or digits != _digits(parts, i, capacity, capacity_bits, low, rest):
                return row
            if not _take_room(parts, alias, i, capacity):
                return row
            feeders[alias] -= 1
            if not feeders[alias]:
                ready[count] = alias
                count += 1
        if done < buckets:
            return row
    return -1
