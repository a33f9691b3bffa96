"""Numbers: float64 and exact rationals, and rational bounds of e^x.

The number field belongs to the value. An array is either ``float64`` or exact; an
exact array has dtype ``object`` and holds :class:`fractions.Fraction`, or dtype
``int64`` where only small integers occur. Mixing the two gives floats, as it does
for Python numbers. Linear algebra over rationals is done by FLINT.

A number that a person types, an ε, a radius or a step, is read by :func:`as_written`: a float means the shortest
decimal that prints it, so 0.3 is 3/10. Numbers in arrays and columns are data and stay the doubles they are, which
:func:`exact` takes.

The tolerances that several rooms share, :data:`ROUNDING` and :data:`TABLE_ROUNDING`, are defined here with their
reasons.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import gcd, inf, isfinite, isnan, lcm, nextafter
from numbers import Integral, Rational, Real
from typing import Any, TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import integer, items, refuse_masked, unbounded
from sfumato.errors import InvalidInput, NotSupported, shown
from sfumato.labels import column_labels, labelled

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Number: TypeAlias = int | float | Fraction | Decimal | str

ROUNDING = 2.0**-50
"""Relative error granted to one float64 entry: eight units in the last place.

A double is within half a unit of what it stands for when it is computed once; entries
that come out of a short computation (an exponential, a division by a sum) are within
a few. Differences below this say nothing about the intended numbers."""

TABLE_ROUNDING = Fraction(1, 2**30)
"""Probability by which a table may differ from the irrational mechanism it stands for: a billionth.

Rounding to 2^52 and keeping the promise leaves a few units for each output, times coth(εd/2) for the shortest distance:
some 10^-11 for two hundred outputs and ε = 0.05. A table that is farther away is a mechanism of its own. A smaller
difference refutes nothing about what the table stands for."""

_SMALL_INTEGER = 2**31  # products of two such integers still fit into int64


_MOST_DIGITS = 4300  # of an integer that is typed, and the largest power of ten: what Python itself reads from a text
_LONGEST_TEXT = 2 * _MOST_DIGITS + 8  # a quotient of two such integers, with signs and a few spaces
_MOST_BITS = 14_284  # 10^4300 < 2^14285: within these an integer can also be printed
_MOST_BINARY_DIGITS = 2**26  # of a rational that is worked out: 8 MB
_LARGEST_EXPONENT = 10**7  # of e: beyond, the digits of the bounds alone would fill megabytes

_TIMES: tuple[type[Any], ...] = (np.timedelta64,)  # NumPy counts them among the integers, in a unit that would be lost
_POWER_OF_TEN = re.compile(r"[eE]([+-]?\d+(?:_\d+)*)\s*$")


def exact(value: Number | Real) -> Fraction:
    """The exact rational value of a number; a float is the dyadic rational it stores."""
    if isinstance(value, Fraction):
        return unbounded(value)  # type: ignore[no-any-return]
    if isinstance(value, _TIMES):
        raise InvalidInput(f"{shown(value)} is not a finite number")
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, flint.fmpq):
        return Fraction(int(value.p), int(value.q))
    if isinstance(value, flint.fmpz):
        return Fraction(int(value))
    try:
        if not isinstance(value, str | Decimal):
            return Fraction(float(value))
        if _is_long(value):  # 10^999999999 would be computed digit by digit
            raise OverflowError
        return Fraction(value)
    except (ValueError, OverflowError, ZeroDivisionError, TypeError) as error:
        raise InvalidInput(f"{shown(value)} is not a finite number{_size_note(value)}") from error


def as_written(
    value: Any,
    what: str = "a number",
    error: type[InvalidInput] = InvalidInput,
    expected: str = "a number such as 2, 0.7 or '1/3'",
) -> Fraction:
    """The rational that a person means who types a number in a call, a flag or a spec.

    A float means the shortest decimal that prints it, in its own precision; text, ``Decimal`` and ``Fraction`` mean
    what they say. Everything that takes such a number reads it here.

    Examples
    --------
    >>> as_written(0.3), as_written(np.float32(0.3)), as_written("3/10"), as_written(Decimal("0.30"))
    (Fraction(3, 10), Fraction(3, 10), Fraction(3, 10), Fraction(3, 10))
    >>> exact(0.3) < as_written(0.3)                              # the double lies just below
    True
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    try:
        if isinstance(value, bool | np.bool_):
            raise InvalidInput("a truth value is no number")
        if isinstance(value, float | np.floating):
            # the fewest digits that tell the value from all others of its type; "nan" and "inf" are refused below
            found = exact(np.format_float_scientific(value, unique=True, trim="-"))
        else:
            says_what_it_means = isinstance(value, Rational | str | Decimal | flint.fmpq | flint.fmpz)
            found = exact(value) if says_what_it_means else as_written(float(value))
    except (InvalidInput, TypeError, ValueError, OverflowError) as failure:
        raise error(f"{what} must be {expected}, found {shown(value)}{_size_note(value)}") from failure
    if max(found.numerator.bit_length(), found.denominator.bit_length()) > _MOST_BITS:
        raise error(f"{what} has more than {_MOST_DIGITS} digits: {shown(value)}")
    if not isfinite(nearest_float(found)):  # what is typed is searched with, drawn and printed as a float somewhere
        raise error(f"{what} lies beyond 1e308, the range of floats, found {shown(value)}")
    return found


def _is_long(value: Any) -> bool:
    """Whether a text or decimal has more digits, or ten to a larger power, than are read."""
    if isinstance(value, Decimal):
        digits = value.as_tuple().digits
        return value.is_finite() and max(abs(value.adjusted()), len(digits)) > _MOST_DIGITS
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        return isinstance(value, str)
    power = _POWER_OF_TEN.search(value)
    return power is not None and (len(power[1]) > _MOST_DIGITS or abs(int(power[1])) > _MOST_DIGITS)


def _size_note(value: Any) -> str:
    return f"; a number has at most {_MOST_DIGITS} digits, and ten to at most that power" if _is_long(value) else ""


def number(value: Number | Real, what: str = "value") -> Fraction | float:
    """A float for a float, an exact rational for anything else a number can be."""
    if isinstance(value, float | np.floating):
        if isnan(value):
            raise InvalidInput(f"{what} is NaN")
        return float(value)
    if isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{what} is {shown(value)}, a truth value: give a number")
    try:
        return exact(value)
    except InvalidInput as error:
        raise InvalidInput(
            f"{what} is {shown(value)}: give an int, a float, a Fraction or a string such as '1/3'"
        ) from error


def whole_number(value: Any, what: str, least: int = 1) -> int:
    """A number of things as an int; 2.5, 2.0, "2" and True are none."""
    return integer(value, f"the number of {what}", least)


def array(
    values: Any,
    what: str = "values",
    ndim: int = 2,
    *,
    error: type[InvalidInput] = InvalidInput,
    small_integers: bool = False,
) -> Array:
    """A read-only array in one number field.

    One float anywhere makes the whole array float64. Otherwise it is exact, with
    ``int64`` kept only where the caller asks for it (``small_integers``). What carries labels is
    refused: who knows them puts it in order first (:mod:`sfumato.labels`).
    """
    refuse_masked(values, what, error)
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        result = _from_numpy(values, what, error, small_integers)
    else:
        result = _from_objects(values, what, ndim, error, small_integers)
    if result.ndim != ndim:
        raise error(f"{what} must have {ndim} dimension(s), found shape {result.shape}")
    if result.size == 0:
        raise error(f"{what} is empty (shape {result.shape})")
    result.flags.writeable = False
    return result


def _from_numpy(values: NDArray[Any], what: str, error: type[InvalidInput], small_integers: bool) -> Array:
    if values.dtype.kind == "f":
        result = np.array(values, dtype=np.float64, order="C")
        if np.isnan(result).any():
            raise error(f"{what} has a NaN at index {tuple(np.argwhere(np.isnan(result))[0].tolist())}")
        return result
    if small_integers and values.size and np.abs(values).max() < _SMALL_INTEGER:
        return np.array(values, dtype=np.int64, order="C")
    return object_array([Fraction(int(v)) for v in values.ravel().tolist()], values.shape)


def _from_objects(values: Any, what: str, ndim: int, error: type[InvalidInput], small_integers: bool) -> Array:
    flat, shape = _flat(values, ndim, what, error)
    for position, value in enumerate(flat):
        try:
            flat[position] = number(value, "an entry")
        except InvalidInput as failure:
            index = tuple(int(i) for i in np.unravel_index(position, shape))
            raise error(f"{what} at index {index if ndim > 1 else position}: {failure}") from failure
    if any(isinstance(v, float) for v in flat):
        try:
            return np.array([float(v) for v in flat], dtype=np.float64).reshape(shape)
        except OverflowError:
            raise error(f"{what} has floats among numbers that are larger than floats can be") from None
    if small_integers and all(v.denominator == 1 and abs(v) < _SMALL_INTEGER for v in flat):
        return np.array([int(v) for v in flat], dtype=np.int64).reshape(shape)
    return object_array(flat, shape)


def _flat(values: Any, ndim: int, what: str, error: type[InvalidInput]) -> tuple[list[Any], tuple[int, ...]]:
    """The entries of nested sequences one after the other, and the shape they have together."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise error(f"{what} must be a sequence of numbers, found {shown(values)}")
    given = labelled(values) if ndim == 1 else None
    if isinstance(values, Mapping) or (column_labels(values) if ndim > 1 else given and not given.counted):
        raise error(f"{what} must be numbers in order, found {type(values).__name__} with labels: pass its values")
    rows = items(values, what, error)
    if ndim == 1:
        return rows, (len(rows),)
    parts = [_flat(row, ndim - 1, what, error) for row in rows]
    shapes = {shape for _, shape in parts} or {(0,) * (ndim - 1)}
    if len(shapes) > 1:
        raise error(f"{what} has rows of different lengths: {sorted(shapes)}")
    return [entry for part, _ in parts for entry in part], (len(rows), *shapes.pop())


def object_array(flat: Iterable[Any], shape: tuple[int, ...] | None = None) -> Array:
    """An array of Python numbers, which NumPy would otherwise turn into something else."""
    flat = list(flat)
    result = np.empty(len(flat), dtype=object)
    result[:] = flat
    return result if shape is None else result.reshape(shape)


def is_exact(*arrays: Array) -> bool:
    """Whether every array holds exact numbers."""
    return all(a.dtype != np.float64 for a in arrays)


def floats(values: Array) -> NDArray[np.float64]:
    """The nearest float64 array; no copy if it is one already."""
    return values if values.dtype == np.float64 else values.astype(np.float64)


def fractions(values: Array) -> Array:
    """The exact values as an object array of fractions; floats become dyadic rationals."""
    if values.dtype == object:
        return values
    if not np.isfinite(values).all():
        raise InvalidInput("infinities are no fractions: give finite numbers")
    return object_array([Fraction(v) for v in values.ravel().tolist()], values.shape)


def together(*arrays: Array) -> tuple[Array, ...]:
    """The arrays in one number field: floats if any is (NumPy would keep a mixture as objects)."""
    return arrays if is_exact(*arrays) else tuple(floats(a) for a in arrays)


def divide(numerator: Array, denominator: Any) -> Array:
    """Quotient that stays exact for exact operands (NumPy would turn integers into floats)."""
    if is_exact(numerator) and not isinstance(denominator, float) and is_exact(np.asarray(denominator)):
        return np.asarray(fractions(numerator) / denominator)
    return np.asarray(floats(numerator) / np.asarray(denominator, dtype=np.float64))


def product(left: Array, right: Array) -> Array:
    """Matrix product: FLINT for exact operands, BLAS otherwise."""
    if not is_exact(left, right):
        return np.asarray(floats(left) @ floats(right))
    return from_flint(to_flint(left) * to_flint(right))


def to_flint(values: Array) -> flint.fmpq_mat:
    """The exact matrix as a FLINT matrix."""
    rows, columns = values.shape
    entries = [fmpq(v) for v in fractions(values).ravel()]
    return flint.fmpq_mat(rows, columns, entries)


def from_flint(matrix: flint.fmpq_mat) -> Array:
    """The FLINT matrix as an object array of fractions."""
    return object_array(map(exact, matrix.entries()), (matrix.nrows(), matrix.ncols()))


def common_denominator(values: Array) -> tuple[Array, int]:
    """Integers N and one positive integer q with values = N / q, in lowest terms together."""
    if values.dtype == np.float64:
        integers, q = _dyadic_integers(values.ravel())
    else:
        ratios = [v.as_integer_ratio() for v in values.ravel().tolist()]
        q = lcm(*{denominator for _, denominator in ratios})
        integers = [numerator * (q // denominator) for numerator, denominator in ratios]
    shared = gcd(q, *integers)
    return object_array([i // shared for i in integers], values.shape), q // shared


def _dyadic_integers(values: NDArray[np.float64]) -> tuple[list[int], int]:
    """Integers and a power of two whose quotients are the doubles."""
    mantissa, exponent = np.frexp(values)
    whole = (mantissa * 2.0**53).astype(np.int64).tolist()
    lowest = int(exponent[values != 0].min(initial=53))
    shift = np.where(values != 0, exponent - lowest, 0).tolist()
    integers = [m << k for m, k in zip(whole, shift, strict=True)]
    excess = lowest - 53  # of two, the power that multiplies them
    return ([m << excess for m in integers], 1) if excess > 0 else (integers, 1 << -excess)


def is_floatable(value: Any) -> bool:
    """Whether a value, or what a text says, is a number that a float can stand for."""
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def number_pairs(pairs: Any, what: str, read: Callable[[Any], Fraction] = exact) -> list[tuple[Fraction, Fraction]]:
    """Pairs of numbers, exactly, or as another function reads them."""
    found = []
    for pair in items(pairs, what):
        if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
            raise InvalidInput(f"{what} are pairs of numbers, found {shown(pair)}")
        found.append((read(pair[0]), read(pair[1])))
    return found


def float_above(value: Fraction) -> float:
    """The smallest float64 not below an exact value."""
    nearest = nearest_float(value)
    return nearest if not isfinite(nearest) or Fraction(nearest) >= value else nextafter(nearest, inf)


def printed_above(value: Fraction) -> float:
    """The smallest float64 such that neither it nor the decimal that prints it lies below an exact value.

    For results that are given back as arguments, an ε that is enough: :func:`as_written` reads the decimal.
    """
    found = float_above(value)
    while isfinite(found) and as_written(found) < value:  # the decimal lies within half a step: one more is enough
        found = nextafter(found, inf)
    return found


def float_below(value: Fraction) -> float:
    """The largest float64 not above an exact value."""
    return -float_above(-value)


def nearest_float(value: Fraction) -> float:
    """The float64 nearest to an exact value, an infinity beyond their range."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def exp_bounds(exponent: Fraction, bits: int = 64) -> tuple[Fraction, Fraction]:
    """Rationals p, P with p ≤ e^exponent ≤ P and P − p ≤ 2^(1 − bits) · p.

    Ball arithmetic (Arb, inside FLINT) gives the enclosure; e^0 is exactly 1.

    Examples
    --------
    >>> low, high = exp_bounds(Fraction(7, 10), bits=20)
    >>> float(low) < 2.0137527 < float(high)
    True
    """
    if exponent == 0:
        return Fraction(1), Fraction(1)
    if abs(exponent) > _LARGEST_EXPONENT:
        raise NotSupported(f"e^{nearest_float(exponent):g} in digits", [f"exponents of e up to {_LARGEST_EXPONENT}"])
    return _ball_bounds(lambda x: x.exp(), exponent, bits)


def log_bounds(value: Fraction, bits: int = 64) -> tuple[Fraction, Fraction]:
    """Rationals around ln(value), value > 0, to the given relative precision; ln 1 is exactly 0."""
    if value <= 0:
        raise InvalidInput(f"the logarithm of {value} does not exist")
    if value == 1:
        return Fraction(0), Fraction(0)
    return _ball_bounds(lambda x: x.log(), value, bits)


def _ball_bounds(function: Any, argument: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    point = fmpq(argument)
    # a large argument of exp, or one near 1 of log, costs as many bits as it is large
    working = bits + 8 + abs(argument.numerator.bit_length() - argument.denominator.bit_length())
    while True:
        with flint.ctx.workprec(working):
            ball = function(flint.arb(point))
            low, high = dyadic(ball.lower()), dyadic(ball.upper())
        if (high - low) * 2 ** (bits - 1) <= min(abs(low), abs(high)):
            return low, high
        working *= 2


def fmpq(value: Fraction | int) -> flint.fmpq:
    """A rational as FLINT has it."""
    return flint.fmpq(value.numerator, value.denominator)


def as_ball(value: Fraction | int) -> flint.arb:
    """A ball of the current precision around a rational."""
    return flint.arb(fmpq(value))


def dyadic(ball: flint.arb) -> Fraction:
    """The rational that a ball without radius is."""
    mantissa, exponent = (int(part) for part in ball.man_exp())
    if abs(exponent) > _MOST_BINARY_DIGITS:
        raise NotSupported(f"a number near 2^{exponent} in digits", [f"powers of 2 up to {_MOST_BINARY_DIGITS}"])
    return Fraction(mantissa) * Fraction(2) ** exponent


_DIGITS = (9, 12, 15, 17, 20, 30, 50)  # tried one after the other until two numbers read differently


def told_apart(first: Number | Real, second: Number | Real, digits: int = 6) -> tuple[str, str]:
    """Two numbers as texts, with at least ``digits`` significant digits and as many more as it takes to see which is
    larger: the texts are equal only if the numbers are.

    Every message that says how two numbers differ prints them with this.

    Examples
    --------
    >>> told_apart(Fraction(1, 3), 2)
    ('0.333333', '2')
    >>> told_apart(2 + Fraction(1, 10**7), 2)
    ('2.0000001', '2')
    >>> told_apart(2 + Fraction(1, 10**80), 2)
    ('2 + 1e-80', '2')
    """
    if (isinstance(first, float) and not isfinite(first)) or (isinstance(second, float) and not isfinite(second)):
        return _written(first, digits), _written(second, digits)
    one, other = exact(first), exact(second)
    count = _digits_apart(one, other, digits)
    if count is not None:
        return _written(one, count), _written(other, count)
    shared = _written(other, digits)
    return f"{shared} {'+' if one > other else '−'} {_written(abs(one - other), 3)}", shared


def text_above(value: Number | Real, digits: int = 2) -> str:
    """A bound from above as a text of few digits, rounded up: what is said to be at most this much is.

    Every sentence with a bound prints it with this, :func:`text_below` or :func:`bounds_text`.

    Examples
    --------
    >>> text_above(Fraction(1, 3)), text_above(2.0**-52), text_above(0.5)
    ('0.34', '2.3e-16', '0.5')
    """
    return _written(value, digits, ROUND_CEILING)


def text_below(value: Number | Real, digits: int = 2) -> str:
    """A bound from below as a text of few digits, rounded down: what is said to be at least this much is.

    Examples
    --------
    >>> text_below(Fraction(2, 3)), text_below(Fraction(8, 135), 3), text_below(-0.25, 1)
    ('0.66', '0.0592', '-0.3')
    """
    return _written(value, digits, ROUND_FLOOR)


def bounds_text(low: Number | Real, high: Number | Real, digits: int = 6) -> tuple[str, str]:
    """Two bounds as texts, the lower rounded down and the upper up, with as many digits as tell them apart.

    Examples
    --------
    >>> bounds_text(Fraction(1, 3), Fraction(2, 3), 2), bounds_text(2, 2 + Fraction(1, 10**7))
    (('0.33', '0.67'), ('2', '2.0000001'))
    >>> bounds_text(Fraction(1, 2), inf)
    ('0.5', 'infinity')
    """
    count: int | None = digits
    if not any(isinstance(end, float) and not isfinite(end) for end in (low, high)):
        count = _digits_apart(exact(low), exact(high), digits)
    return text_below(low, count or _DIGITS[-1]), text_above(high, count or _DIGITS[-1])


def _digits_apart(one: Fraction, other: Fraction, digits: int) -> int | None:
    """With how many digits two numbers read differently; None if they never do, the first number if they are equal."""
    for count in (digits, *(more for more in _DIGITS if more > digits)):
        if one == other or _written(one, count) != _written(other, count):
            return count
    return None


def _written(value: Any, digits: int, rounding: str | None = None) -> str:
    """A number with so many significant digits, as ``%g`` writes it; exact ones may lie beyond the range of floats."""
    if isinstance(value, float) and not isfinite(value):
        return str(value).replace("inf", "infinity")
    number = exact(value)
    context = Context(prec=digits, rounding=rounding)
    quotient = context.normalize(context.divide(Decimal(number.numerator), Decimal(number.denominator)))
    if not quotient or -5 < quotient.adjusted() < digits:
        return f"{quotient:f}"
    mantissa, power = f"{quotient:e}".split("e")
    return f"{mantissa}e{int(power):+03d}"
