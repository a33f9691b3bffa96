from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import inf, nan

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InvalidEpsilon, InvalidInput, NotSupported
from sfumato.numbers import (
    array,
    as_written,
    bounds_text,
    common_denominator,
    divide,
    dyadic,
    exact,
    exp_bounds,
    float_above,
    float_below,
    fractions,
    is_exact,
    log_bounds,
    number,
    printed_above,
    product,
    text_above,
    text_below,
    together,
    told_apart,
)

third = Fraction(1, 3)


@pytest.mark.parametrize("value", [third, "1/3", flint.fmpq(1, 3), np.str_("1/3")])
def test_every_spelling_of_a_third_is_exact(value: object) -> None:
    assert exact(value) == third  # type: ignore[arg-type]


def test_floats_are_the_dyadic_rationals_they_store() -> None:
    assert exact(0.1) == Fraction(3602879701896397, 36028797018963968)
    assert exact(np.float32(0.5)) == Fraction(1, 2)
    assert exact(np.int64(7)) == 7


@pytest.mark.parametrize("value", [nan, inf, "one third", "1/0", None, [1]])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput):
        exact(value)  # type: ignore[arg-type]


def test_truth_values_are_no_numbers() -> None:
    with pytest.raises(InvalidInput, match="truth value"):
        number(True)


def test_one_float_makes_an_array_of_floats() -> None:
    assert array([["1/3", 2]], ndim=2).dtype == object
    assert array([[0.5, "1/4"]], ndim=2).dtype == np.float64
    assert array([[1, 2]], ndim=2, small_integers=True).dtype == np.int64
    assert array([[1, 2**40]], ndim=2, small_integers=True).dtype == object


def test_arrays_are_read_only_copies() -> None:
    given = np.ones((2, 2))
    made = array(given)
    given[0, 0] = 5
    assert made[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        made[0, 0] = 2


@pytest.mark.parametrize("bad", [[], [[]], [[1], [1, 2]], 3, "abc", [[nan]], [["x"]], [[True]]])
def test_bad_arrays_are_refused(bad: object) -> None:
    with pytest.raises(InvalidInput):
        array(bad)


def test_mixtures_become_floats_and_integers_divide_exactly() -> None:
    left, right = together(array([third], ndim=1), np.array([0.5]))
    assert left.dtype == right.dtype == np.float64
    assert divide(np.array([1, 2]), 3).tolist() == [third, 2 * third]
    assert divide(np.array([1.0]), 4).tolist() == [0.25]


@given(st.lists(st.lists(st.fractions(max_denominator=50), min_size=3, max_size=3), min_size=2, max_size=4))
def test_exact_product_is_the_sum_of_products(rows: list[list[Fraction]]) -> None:
    left = array(rows)
    right = array(list(map(list, zip(*rows, strict=True))))
    expected = [[sum(a * b for a, b in zip(r, s, strict=True)) for s in rows] for r in rows]
    assert product(left, right).tolist() == expected


@given(st.lists(st.fractions(), min_size=1, max_size=6))
def test_common_denominator_gives_the_values_back(values: list[Fraction]) -> None:
    integers, q = common_denominator(array(values, ndim=1))
    assert [Fraction(int(i), q) for i in integers] == values


@given(st.fractions(min_value=0, max_value=2000), st.integers(8, 200))
def test_exponential_is_enclosed_as_tightly_as_asked(x: Fraction, bits: int) -> None:
    low, high = exp_bounds(x, bits)
    sharper = exp_bounds(x, bits + 60)
    assert low <= sharper[0] <= sharper[1] <= high
    assert (high - low) * 2 ** (bits - 1) <= low


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9).filter(lambda v: v != 1), st.integers(8, 120))
def test_logarithm_is_enclosed_and_inverts_the_exponential(v: Fraction, bits: int) -> None:
    low, high = log_bounds(v, bits)
    assert low <= high
    assert exp_bounds(low, 200)[0] <= v <= exp_bounds(high, 200)[1]


def test_logarithm_of_one_is_zero_and_of_zero_does_not_exist() -> None:
    assert log_bounds(Fraction(1)) == (0, 0)
    assert exp_bounds(Fraction(0)) == (1, 1)
    with pytest.raises(InvalidInput):
        log_bounds(Fraction(0))


@given(st.fractions())
def test_directed_rounding_brackets(value: Fraction) -> None:
    low, high = float_below(value), float_above(value)
    assert Fraction(low) <= value <= Fraction(high)
    assert low == high or np.nextafter(low, inf) == high


def test_directed_rounding_beyond_the_range_of_floats() -> None:
    assert float_above(Fraction(10) ** 400) == inf
    assert float_above(-(Fraction(10) ** 400)) == -inf


def test_is_exact_knows_its_fields() -> None:
    assert is_exact(fractions(np.array([0.5])), np.array([1]))
    assert not is_exact(np.array([0.5]))


@given(st.fractions(), st.fractions(max_denominator=10**6), st.integers(0, 400))
def test_numbers_that_differ_are_written_differently(value: Fraction, part: Fraction, power: int) -> None:
    other = value + part / 10**power
    texts = told_apart(value, other)
    assert (texts[0] == texts[1]) == (value == other)


def test_as_few_digits_as_it_takes() -> None:
    assert told_apart(third, 2.0) == ("0.333333", "2")
    assert told_apart(0.29681405, 0.29681401) == ("0.29681405", "0.29681401")
    assert told_apart(2 + Fraction(1, 10**17), 2) == ("2.00000000000000001", "2")
    assert told_apart(2, 2 + Fraction(1, 10**90)) == ("2 − 1e-90", "2")
    assert told_apart(10**400, 1.5e-7) == ("1e+400", "1.5e-07")
    assert told_apart(1.5, inf, 2) == ("1.5", "infinity")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_typed_float_is_the_decimal_that_prints_it(value: float) -> None:
    assert as_written(value) == as_written(np.float64(value)) == Fraction(repr(value))
    assert float(as_written(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_a_typed_single_is_the_decimal_that_prints_it_as_a_single(value: float) -> None:
    assert np.float32(float(as_written(np.float32(value)))) == np.float32(value)
    assert as_written(np.float32(0.3)) == Fraction(3, 10) != as_written(float(np.float32(0.3)))


@pytest.mark.parametrize("value", ["0.3", "3/10", " .3 ", "3e-1", Decimal("0.3"), Fraction(3, 10), flint.fmpq(3, 10),
                                   0.3, np.float16(0.3), np.longdouble("0.3"), np.array(0.3)])  # fmt: skip
def test_every_spelling_of_three_tenths(value: object) -> None:
    assert as_written(value) == Fraction(3, 10)


@pytest.mark.parametrize("value", [True, np.True_, None, "", "x", "1e_5", "1e5_", "1__0",
                                   [1], [0.3], 1j, nan, inf, np.float32(inf), "1/0",
                                   Decimal("nan"), Decimal("inf"), np.array([0.3])], ids=repr)  # fmt: skip
def test_what_nobody_writes_for_a_number_is_refused(value: object) -> None:
    with pytest.raises(InvalidEpsilon, match=r"^epsilon must be a number such as 2, 0\.7 or '1/3', found "):
        as_written(value, "epsilon", InvalidEpsilon)


@pytest.mark.parametrize("value", ["1e999999999", "1e-999999999", "1E+9999999999999999999999", "1e９９９９９９９９９",
                                   "9" * 10**6, "1/" + "9" * 5000, Decimal("1e999999999"), Decimal("1e-999999999"),
                                   "0." + "0" * 9000 + "1"])  # fmt: skip
def test_digits_without_end_are_refused_before_they_are_counted(value: object) -> None:
    """10^999999999 would take hours and all memory; the message is short, and does not print them either."""
    for read in (exact, as_written, number, lambda one: array([one], ndim=1)):
        with pytest.raises(InvalidInput) as caught:
            read(value)
        assert len(str(caught.value)) < 250


def test_long_numbers_within_the_bounds_are_read() -> None:
    assert exact("1e4300") == 10**4300 and as_written("1e-4000") == Fraction(1, 10**4000)
    with pytest.raises(InvalidInput, match="gamma lies beyond 1e308"):
        as_written("-1e309", "gamma")
    assert exact(f"{'7' * 4300}/{'9' * 4300}") == Fraction(7, 9)
    assert exact(Decimal("1e-4000")) == Fraction(1, 10**4000)


def test_long_integers_are_data_but_nothing_one_types() -> None:
    assert exact(10**5000) == 10**5000
    for value in (10**5000, Fraction(1, 10**5000)):
        with pytest.raises(InvalidInput, match="more than 4300 digits"):
            as_written(value)


def test_decimals_in_data_stay_decimals() -> None:
    assert array([Decimal("0.1"), 1], ndim=1).tolist() == [Fraction(1, 10), 1]


def test_powers_of_e_that_no_memory_holds_are_refused() -> None:
    for exponent in (Fraction(10**300), Fraction(-(10**300))):
        with pytest.raises(NotSupported, match="in digits"):
            exp_bounds(exponent)
    with flint.ctx.workprec(64), pytest.raises(NotSupported, match="in digits"):
        dyadic(flint.arb(-(10**20)).exp().upper())


@given(st.fractions(Fraction(1, 10**6), 10**6, max_denominator=10**9))
def test_what_is_rounded_up_is_so_as_it_is_printed(value: Fraction) -> None:
    found = printed_above(value)
    assert value <= min(Fraction(found), Fraction(repr(found)))
    assert found <= np.nextafter(float_above(value), inf)


numbers = st.one_of(
    st.fractions(max_denominator=10**9), st.floats(allow_nan=False, allow_infinity=False), st.integers()
)


@given(numbers, st.integers(1, 12))
def test_bounds_are_printed_on_their_side_by_less_than_a_digit(value: Fraction | float, digits: int) -> None:
    low, high = Fraction(text_below(value, digits)), Fraction(text_above(value, digits))
    assert low <= exact(value) <= high
    assert high - low <= abs(exact(value)) * Fraction(10, 10**digits)
    assert low == high or exact(value) not in (low, high)


@given(numbers, numbers, st.integers(1, 12))
def test_what_is_printed_as_between_holds_both_ends(first: float, second: float, digits: int) -> None:
    low, high = sorted((exact(first), exact(second)))
    shown = bounds_text(low, high, digits)
    assert Fraction(shown[0]) <= low <= high <= Fraction(shown[1])
    assert low == high or shown[0] != shown[1]


def test_what_is_infinite_is_printed_as_such() -> None:
    assert bounds_text(-inf, inf) == ("-infinity", "infinity")
    assert (text_below(0), text_above(0), text_above(-0.0)) == ("0", "0", "0")
