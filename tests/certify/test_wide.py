"""Integers of 256 bits in compiled code against Python's."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from sfumato.certify.wide import integers_of, load, lower, shifted, store, wide, words_of


@njit
def results(words: Any, word: Any, bits: Any, out: Any) -> None:
    a, b = load(words, 0), load(words, 1)
    store(out, 0, a + b)
    store(out, 1, a - b)
    store(out, 2, a * b)
    store(out, 3, shifted(a, bits))
    store(out, 4, lower(a, b))
    store(out, 5, wide(word))


def wrapped(value: int) -> int:
    return (value + 2**255) % 2**256 - 2**255


INTEGERS = st.one_of(st.integers(-(2**255), 2**255 - 1), st.integers(-3, 3), st.integers(-(2**70), 2**70))


@given(INTEGERS, INTEGERS, st.integers(0, 2**64 - 1), st.integers(0, 255))
def test_arithmetic_is_that_of_integers_modulo_a_power_of_two(a: int, b: int, word: int, bits: int) -> None:
    out = np.zeros(24, dtype=np.uint64)
    results(words_of([a, b]), np.uint64(word), np.uint64(bits), out)
    expected = [wrapped(a + b), wrapped(a - b), wrapped(a * b), wrapped(a << bits), min(a, b), word]
    assert integers_of(out) == expected


@given(st.lists(INTEGERS, max_size=5))
def test_words_there_and_back(values: list[int]) -> None:
    assert integers_of(words_of(values)) == values
