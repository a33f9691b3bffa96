"""Integers of 256 and 384 bits in compiled code against Python's."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from sfumato.certify.wide import (
    digits,
    extended,
    integers_of,
    like,
    load_integer,
    longer,
    low_word,
    lower,
    negative,
    shifted,
    shifted_down,
    shortened,
    store_integer,
    wide,
    words_of,
)


@njit
def results(words: Any, word: Any, bits: Any, out: Any) -> Any:
    a, b = load_integer(words, 0), load_integer(words, 1)
    store_integer(out, 0, a + b)
    store_integer(out, 1, a - b)
    store_integer(out, 2, a * b)
    store_integer(out, 3, shifted(a, bits))
    store_integer(out, 4, lower(a, b))
    store_integer(out, 5, wide(word))
    store_integer(out, 6, shifted_down(a, bits))
    store_integer(out, 7, like(a, low_word(a)))
    return digits(a), negative(a)


def wrapped(value: int) -> int:
    return (value + 2**255) % 2**256 - 2**255


INTEGERS = st.one_of(st.integers(-(2**255), 2**255 - 1), st.integers(-3, 3), st.integers(-(2**70), 2**70))


@given(INTEGERS, INTEGERS, st.integers(0, 2**64 - 1), st.integers(0, 255))
def test_arithmetic_is_that_of_integers_modulo_a_power_of_two(a: int, b: int, word: int, bits: int) -> None:
    out = np.zeros(32, dtype=np.uint64)
    facts = results(words_of([a, b]), np.uint64(word), np.uint64(bits), out)
    expected = [wrapped(a + b), wrapped(a - b), wrapped(a * b), wrapped(a << bits), min(a, b), word]
    assert integers_of(out) == [*expected, a >> bits, a % 2**64]
    assert facts == ((a % 2**256).bit_length(), a < 0)


@njit
def square_of_a_word(word: Any, bits: Any, out: Any) -> Any:
    long = shifted(longer(word) * longer(word), bits)
    store_integer(out, 0, shortened(long))
    store_integer(out, 1, shortened(shifted_down(long, np.uint64(128))))
    return digits(long), negative(longer(np.uint64(0)) - long)


@given(st.integers(1, 2**64 - 1), st.integers(0, 255))
def test_longer_ones_hold_384_bits(word: int, bits: int) -> None:
    out, square = np.zeros(8, dtype=np.uint64), word**2 << bits
    facts = square_of_a_word(np.uint64(word), np.uint64(bits), out)
    assert integers_of(out) == [wrapped(square), wrapped(square >> 128)]
    assert facts == (square.bit_length(), True)


@njit
def upper_half_of_a_square(words: Any, out: Any) -> Any:
    long = extended(load_integer(words, 0))
    store_integer(out, 0, shortened(shifted_down(long * long, np.uint64(128))))
    return negative(long)


@given(st.integers(-(2**191), 2**191 - 1))
def test_extended_ones_keep_their_sign(value: int) -> None:
    out = np.zeros(4, dtype=np.uint64)
    assert upper_half_of_a_square(words_of([value]), out) == (value < 0)
    assert integers_of(out) == [wrapped(value**2 >> 128)]


@given(st.lists(INTEGERS, max_size=5))
def test_words_there_and_back(values: list[int]) -> None:
    assert integers_of(words_of(values)) == values
