"""Alias tables stand for their weights exactly: by counting all bit strings, by integers, and by their own check."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.draws.alias import AliasTables, alias_tables, first_wrong_row, limbs_of
from sfumato.draws.randomness import Lane
from sfumato.errors import InvalidInput
from sfumato.numbers import object_array


class Words:
    """A stream of given words."""

    def __init__(self, words: Any) -> None:
        self.words = np.asarray(words, dtype=np.uint64)

    def take(self, lanes: np.ndarray, first: int, count: int) -> np.ndarray:
        assert (first, count) == (0, 1)
        return self.words[lanes][None]


def all_words(tables: AliasTables) -> np.ndarray:
    """Every string of the bits that a draw looks at first."""
    return np.arange(1 << tables.bits, dtype=np.uint64) << np.uint64(64 - tables.bits)


def counts(tables: AliasTables, row: int) -> list[int]:
    """How many bit strings lead to each output."""
    assert tables.exact
    words = all_words(tables)
    drawn = tables.draw(np.full(len(words), row), Words(words), np.arange(len(words)))
    return np.bincount(drawn, minlength=tables.weights.shape[1]).tolist()


def chances(tables: AliasTables, row: int, monkeypatch: pytest.MonkeyPatch) -> list[Fraction]:
    """The exact chance of each output: bit strings that decide, and the others with the chance they go on with."""
    words = all_words(tables)
    asked: list[Fraction] = []

    def drawn(answer: bool) -> np.ndarray:
        asked.clear()
        monkeypatch.setattr(
            Lane, "happens", lambda self, part, whole: asked.append(Fraction(part, whole)) or (answer and part > 0)
        )
        return tables.draw(np.full(len(words), row), Words(words), np.arange(len(words)))

    low, high = drawn(False), drawn(True)
    share = Fraction(1, len(words))
    result = [Fraction(0)] * tables.weights.shape[1]
    mask = (1 << tables.low) - 1
    entries = tables.entries[(row << tables.bucket_bits) + np.arange(1 << tables.bucket_bits)]
    open_words = (
        [] if tables.exact else [k for k in range(len(words)) if k & mask == int(entries[k >> tables.low]) & mask]
    )
    assert len(asked) == len(open_words)
    odds = dict(zip(open_words, asked, strict=True))
    for k, (if_not, if_so) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        assert if_not == if_so or k in odds
        result[if_so] += share * odds.get(k, 1)
        result[if_not] += share * (1 - odds.get(k, 1))
    return result


# ----------------------------------------------------------------- by counting


@pytest.mark.parametrize(
    "weights",
    [[[1, 3], [3, 1]], [[5, 0, 11], [0, 16, 0]], [[4]], [[1, 1, 0, 0, 0]], [[0, 0, 0, 0, 0, 0, 2]],
     [[100, 1, 27, 0, 0, 0, 64, 64]], [[1000, 1, 23, 0, 0], [1, 2, 3, 4, 1014]], [[2**12 - 1, 1], [1, 2**12 - 1]]],
)  # fmt: skip
def test_every_bit_string_is_counted_and_the_counts_are_the_weights(weights: list[list[int]]) -> None:
    total = sum(weights[0])
    tables = alias_tables(np.array(weights), total)
    assert tables.exact
    strings = 1 << tables.bits
    assert strings % total == 0
    for row, expected in enumerate(weights):
        assert counts(tables, row) == [w * (strings // total) for w in expected]
    # no bit more than needed: log₂ of the total, or as many as number the buckets
    assert tables.bits == max(total.bit_length() - 1, tables.bucket_bits)


def test_bits_below_those_that_are_looked_at_do_not_matter() -> None:
    tables = alias_tables(np.array([[3, 7, 6]]), 16)
    words = all_words(tables)
    lanes, rows = np.arange(len(words)), np.zeros(len(words), dtype=np.int64)
    junk = words | np.uint64((1 << (64 - tables.bits)) - 1)
    assert (tables.draw(rows, Words(words), lanes) == tables.draw(rows, Words(junk), lanes)).all()


@given(st.data())
def test_any_total_has_exactly_its_chances(data: st.DataObject) -> None:
    m = data.draw(st.integers(1, 9))
    size = data.draw(st.sampled_from([3, 40, 10**6, 2**61, 2**130]))
    row = data.draw(st.lists(st.integers(0, size), min_size=m, max_size=m).filter(any))
    low = data.draw(st.integers(0, 4))
    total = sum(row)
    weights = object_array(row).reshape(1, m) if total >= 2**62 else np.array([row])
    tables = alias_tables(weights, total, low=low)
    with pytest.MonkeyPatch.context() as patch:
        assert chances(tables, 0, patch) == [Fraction(w, total) for w in row]


@given(st.integers(2, 40), st.integers(0, 2**32), st.sampled_from([12, 52, 61, 200, 2000]))
def test_random_rows_pass_the_check(m: int, seed: int, bits: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [[int.from_bytes(rng.bytes(-(-bits // 8)), "little") % (2**bits // m) for _ in range(m)] for _ in range(5)]
    total = max(map(sum, rows)) if seed % 2 else 1 << bits
    for row in rows:
        row[int(rng.integers(m))] += total - sum(row)
    weights = object_array([w for row in rows for w in row], (5, m)) if bits > 60 else np.array(rows)
    tables = alias_tables(weights, total)
    assert first_wrong_row(tables) == -1
    assert not tables.entries.flags.writeable


# ----------------------------------------------------------------- the check can fail


def test_the_check_finds_whatever_is_changed() -> None:
    rng = np.random.default_rng(1)
    for total, m in ((1 << 20, 6), (10**9 + 7, 6), (3**80, 5)):
        row = rng.multinomial(1000, np.ones(m) / m).tolist()
        parts = [w * (total // 1000) for w in row]
        parts[0] += total - sum(parts)
        tables = alias_tables(object_array(parts * 3, (3, m)), total)
        assert first_wrong_row(tables) == -1
        buckets = 1 << tables.bucket_bits
        for place in range(buckets, 2 * buckets):
            for change in (1, -1, 1 << tables.low, 1 << (tables.low - 1)):
                entries = tables.entries.copy()
                entries[place] = (int(entries[place]) + change) % (1 << 64)
                assert first_wrong_row(replace(tables, entries=entries)) == 1, (total, place, change)
        moved = tables.weights.copy()
        step = 1 + (total >> 40)  # what the digits of an entry can tell
        moved[2, 0], moved[2, 1] = moved[2, 0] - step, moved[2, 1] + step
        assert first_wrong_row(replace(tables, weights=moved)) == 2


def test_a_circle_of_aliases_is_found() -> None:
    """Each of two half-empty buckets is the other's alias: sums agree, but nothing says where they come from."""
    tables = alias_tables(np.array([[2, 2]]), 4)
    circle = np.array([(1 << 1) | 1, (0 << 1) | 1], dtype=np.uint64)
    assert first_wrong_row(replace(tables, entries=circle)) == 0


@pytest.mark.parametrize(
    ("weights", "total", "message"),
    [
        (np.array([[1, 2], [2, 2]]), 3, "row 1 do not sum to 3"),
        (np.array([[1, 1]]), 3, "row 0 do not sum to 3"),
        (np.array([[4, -1]]), 3, "non-negative"),
        (np.array([[0.5, 0.5]]), 1, "non-negative integers"),
        (np.array([1, 2]), 3, "a table"),
        (np.zeros((2, 0), dtype=np.int64), 3, "a table"),
        (np.array([[0, 0]]), 0, "positive sum"),
        (object_array([2**70, 2**70 - 1], (1, 2)), 2**71, "row 0"),
    ],
)
def test_what_is_no_row_of_weights_is_refused(weights: np.ndarray, total: int, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        alias_tables(weights, total)


def test_digits_must_fit() -> None:
    with pytest.raises(InvalidInput, match="do not fit"):
        alias_tables(np.array([[1, 2]]), 3, low=64)


def test_limbs_are_the_numbers() -> None:
    values = object_array([0, 1, 2**64, 2**127 + 5], (2, 2))
    limbs = limbs_of(values, 2)
    assert [int(a) + (int(b) << 64) for a, b in limbs.reshape(-1, 2)] == values.ravel().tolist()
    assert (limbs_of(np.array([[3, 4]]), 2) == [[[3, 0], [4, 0]]]).all()


# ----------------------------------------------------------------- what a draw depends on


def test_comparisons_go_on_equally_often_for_every_row() -> None:
    rng = np.random.default_rng(3)
    weights = rng.integers(1, 1000, (6, 7))
    weights[:, 0] += 10**4 - weights.sum(axis=1)
    tables = alias_tables(weights, 10**4, low=3)
    mask = np.uint64(7)
    words = all_words(tables) >> np.uint64(64 - tables.bits)
    for row in range(6):
        entries = tables.entries[(row << tables.bucket_bits) + (words >> np.uint64(3)).astype(np.int64)]
        assert int(((words & mask) == (entries & mask)).sum()) == 1 << tables.bucket_bits


def test_a_wrong_table_is_noticed_when_a_comparison_goes_on() -> None:
    tables = alias_tables(np.array([[2, 1], [1, 2]]), 3, low=2)
    swapped = replace(tables, entries=np.roll(tables.entries, 2))
    words = all_words(tables)
    with pytest.raises(AssertionError, match="does not belong to its weights"):
        swapped.draw(np.zeros(len(words), dtype=np.int64), Words(words), np.arange(len(words)))


def test_large_tables_are_right_in_every_row() -> None:
    rng = np.random.default_rng(5)
    n = 300
    weights = rng.integers(0, 2**52 // n, (n, n))
    weights[np.arange(n), rng.integers(0, n, n)] += 2**52 - weights.sum(axis=1)
    tables = alias_tables(weights, 1 << 52)
    assert tables.bits == 52 and tables.exact
    # once more in Python's integers, from nothing but the entries
    low, entries = tables.low, tables.entries.reshape(n, -1)
    for row in (0, 17, n - 1):
        found = [0] * n
        for bucket, entry in enumerate(entries[row].tolist()):
            part = entry & ((1 << low) - 1)
            if bucket < n:
                found[bucket] += part
            else:
                assert not part
            found[entry >> low] += (1 << low) - part
        assert found == weights[row].tolist()
