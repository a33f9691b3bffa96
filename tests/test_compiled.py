"""Products of machine words in compiled code against Python's integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from sfumato.compiled import product_exceeds, product_shifted


@njit
def compared(a: Any, b: Any, c: Any, d: Any, bits: Any) -> Any:
    return product_exceeds(a, b, c, d), product_shifted(a, b, bits)


WORDS = st.one_of(st.integers(0, 2**64 - 1), st.integers(2**64 - 3, 2**64 - 1), st.integers(0, 3))


@given(WORDS, WORDS, WORDS, WORDS, st.integers(0, 127))
def test_products_of_words_are_those_of_integers(a: int, b: int, c: int, d: int, bits: int) -> None:
    exceeds, shifted = compared(*map(np.uint64, (a, b, c, d, bits)))
    assert (exceeds, shifted) == (a * b > c * d, (a * b >> bits) % 2**64)


@given(WORDS, WORDS)
def test_a_product_does_not_exceed_itself(a: int, b: int) -> None:
    assert not compared(*map(np.uint64, (a, b, b, a, 0)))[0]
