from __future__ import annotations

from fractions import Fraction
from math import inf, log

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato.channels.ratios import log_ratios, logarithms, row_gaps


@given(arrays(np.float64, (5, 4), elements=st.sampled_from([0.0, 1e-300, 0.1, 0.25, 0.5, 1.0])))
def test_gaps_are_those_of_all_entries_that_can_be_compared(table: np.ndarray) -> None:
    first, second = np.triu_indices(5, 1)
    logs = logarithms(table)
    low, high = row_gaps(logs, first, second)
    for k, (x, z) in enumerate(zip(first, second, strict=True)):
        told = [a - b for a, b in zip(logs[x], logs[z], strict=True) if a != b or a != -inf]
        assert (low[k], high[k]) == (min(told, default=inf), max(told, default=-inf))
        assert log_ratios(logs, first, second)[k] == max(map(abs, told), default=0.0)


def test_exact_entries_may_lie_beyond_the_floats() -> None:
    tiny = Fraction(1, 10**400)
    logs = logarithms(np.array([[tiny, 1 - tiny], [2 * tiny, 1 - 2 * tiny]], dtype=object))
    assert abs(log_ratios(logs, np.array([0]), np.array([1]))[0] - log(2)) < 1e-12


def test_many_pairs_are_scanned_on_threads() -> None:
    table = np.random.default_rng(0).uniform(0.1, 1, (80, 90))
    first, second = np.triu_indices(80, 1)
    expected = np.abs(np.log(table[first]) - np.log(table[second])).max(axis=1)
    assert np.allclose(log_ratios(np.log(table), first, second), expected, rtol=1e-14)
