from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.numbers import ROUNDING
from sfumato.report.audit_digits import array_errors, rough_errors, text_errors
from sfumato.report.audit_matrix import read_matrix

half = Fraction(1, 2)


@pytest.mark.parametrize(
    ("cells", "units"),
    [
        (["0.667", "0.083", "0.250"], ["1/1000"] * 3),
        (["0.6670", "0.0830"], ["1/10000"] * 2),
        (["6.67e-1", "8.33E-02", ".5e0"], ["1/1000", "1/10000", "1/1000"]),
        (["0.666667", "0.0833333", "0.5", "0.25"], ["1/1000000", "1/10000000", "1/1000000", "1/1000000"]),
        (["0.5", "0.125", "0.0"], ["1/1000"] * 3),
        (["1/3", "0", "1", "+1", "0.7"], ["0", "0", "0", "0", "1/10"]),
        (["1/3", "2/3"], ["0", "0"]),
    ],
)
def test_half_a_unit_of_the_last_digit(cells: list[str], units: list[str]) -> None:
    assert text_errors(cells) == [half * Fraction(unit) for unit in units]
    assert rough_errors(cells) == pytest.approx([float(half * Fraction(unit)) for unit in units])


# below 1, which ".17g" writes as an integer, and those are exact
@given(
    st.lists(st.floats(1e-6, 1, exclude_max=True), min_size=1, max_size=8),
    st.sampled_from([".17g", ".16g", ".18e", ".20f", "r"]),
)
@settings(max_examples=60)
def test_what_prints_as_doubles_is_known_as_doubles_are(values: list[float], style: str) -> None:
    values = [1 / 3, *values]  # one with many digits, so that the file is seen to be one of doubles
    cells = [repr(value) if style == "r" else f"{value:{style}}" for value in values]
    for value, cell, error in zip(values, cells, text_errors(cells), strict=True):
        assert abs(Fraction(value) - Fraction(cell)) <= error
        assert error >= Fraction(ROUNDING) * Fraction(cell)
        assert error <= Fraction(ROUNDING) * Fraction(cell) + Fraction(1, 10**15)


def test_many_digits_of_what_is_no_double_are_digits() -> None:
    cells = ["0." + "3" * 40, "0." + "6" * 40]
    assert text_errors(cells) == [half / 10**40] * 2
    assert text_errors(["0.33333333333333331", "0.0"])[1] == 0  # the double zero is exact
    assert text_errors(["0.333333333333333", "0.000000000000000"])[1] == half / 10**15  # may be 3e-16


def test_arrays_are_known_to_their_own_precision() -> None:
    table = np.array([[0.75, 0.25]])
    assert array_errors(table).tolist() == [[0.75 * ROUNDING, 0.25 * ROUNDING]]
    assert array_errors(table.astype(np.float32)).tolist() == [[0.75 * 2.0**-21, 0.25 * 2.0**-21]]
    assert not array_errors(np.array([[1, 0]])).any()


@pytest.mark.parametrize("style", [".17g", ".18e", "r"])
def test_printed_doubles_are_the_numbers_of_an_array(tmp_path: Path, style: str) -> None:
    table = np.random.default_rng(0).dirichlet([5] * 4, size=4)
    np.save(tmp_path / "m.npy", table)
    cells = [[repr(float(v)) if style == "r" else f"{v:{style}}" for v in row] for row in table]
    (tmp_path / "m.csv").write_text("\n".join(map(",".join, cells)))
    text, array = read_matrix(tmp_path / "m.csv"), read_matrix(tmp_path / "m.npy")
    assert (text.values == array.values).all() and (text.errors == array.errors).all()
    assert text.divided == array.divided == 0
