"""How well the numbers of a file are known: to half a unit of their last digit.

``0.667`` stands for anything from 0.6665 to 0.6675, ``6.67e-1`` too, and ``0.6670`` for less: zeros that are written
count. Whole numbers and fractions such as ``1/3`` are exact. Three habits of programs are allowed for:

* Zeros at the end are often left out. A number with fewer digits than others of its file, both after the point and in
  all, is known as well as one that has as many: beside 0.125, the number 0.5 is 0.500.
* A file whose longest numbers have 15 digits or more, each of them what some double prints as, is one of doubles. Those
  come out of a short computation and are granted :data:`~sfumato.numbers.ROUNDING` of their size beside their digits.
* An array is granted as much, in units of its own precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.numbers import ROUNDING, exact

_DIGITS_OF_DOUBLES = 15  # Fewer digits do not tell all doubles apart, so they do not stand for one.


def text_errors(cells: Sequence[str]) -> list[Fraction]:
    """By how much each number may differ from what is written.

    Examples
    --------
    >>> [str(error) for error in text_errors(["0.667", "0.08", "2.50e-1", "1/4", "1"])]
    ['1/2000', '1/2000', '1/2000', '0', '0']
    """
    numbers = [None if _is_exact(cell) else Decimal(cell) for cell in cells]
    decimals = [number for number in numbers if number is not None]
    doubles = _print_doubles(decimals)
    places = _places(numbers)
    finest = min(map(_place, decimals), default=0)
    units = {place: Fraction(10) ** place / 2 for place in set(places) if place is not None}
    errors = []
    for number, place in zip(numbers, places, strict=True):
        # a zero of doubles is exact, unless all numbers end at its place: then it may be a small one
        if number is None or place is None or (doubles and not number and _place(number) > finest):
            errors.append(Fraction(0))
        else:
            errors.append(units[place] + (abs(Fraction(number)) * exact(ROUNDING) if doubles else 0))
    return errors


def are_doubles(cells: Sequence[str]) -> bool:
    """Whether a file is one of doubles, printed with all their digits, or with more: then these are its numbers.

    One that ends earlier has lost some, and a fraction is no double.

    Examples
    --------
    >>> are_doubles(["0.33333333333333331", "0.66666666666666663", "0"]), are_doubles(["0.333333333333333", "0.5"])
    (True, False)
    """
    decimals = [Decimal(cell) for cell in cells if not _is_exact(cell)]
    whole = all("/" not in cell for cell in cells)
    return whole and _print_doubles(decimals) and max(map(_length, decimals)) > _DIGITS_OF_DOUBLES


def _print_doubles(decimals: Sequence[Decimal]) -> bool:
    return max(map(_length, decimals), default=0) >= _DIGITS_OF_DOUBLES and all(map(_is_double, decimals))


def rough_errors(cells: Sequence[str]) -> NDArray[np.float64]:
    """The same in floats for very many numbers, which are read as doubles and granted what doubles are."""
    places = _places([None if _is_exact(cell) else Decimal(cell) for cell in cells])
    units = {place: 0.5 * 10.0 ** min(place, 300) for place in set(places) if place is not None}
    return np.array([0.0 if place is None else units[place] for place in places])


def array_errors(table: NDArray[Any]) -> NDArray[np.float64]:
    """The same for an array of numbers, of which whole ones are exact."""
    if table.dtype.kind != "f":
        return np.zeros(table.shape)
    # four units of the last place, as ROUNDING is for doubles; what is longer than a double has become one
    share = max(4 * float(np.finfo(table.dtype).eps), ROUNDING)
    return np.asarray(np.abs(table.astype(np.float64)) * share)


def _is_exact(cell: str) -> bool:
    return "/" in cell or cell.lstrip("+-").isdigit()


def _places(numbers: Sequence[Decimal | None]) -> list[int | None]:
    """For each number the power of ten of the last digit that is known, zeros that were left out included."""
    decimals = [number for number in numbers if number is not None]
    finest = min(map(_place, decimals), default=0)
    most = max((_length(number) for number in decimals if number), default=1)

    def known(number: Decimal) -> int:
        place = _place(number)
        if place == finest or _length(number) >= most:
            return place
        return min(place, max(finest, number.adjusted() - most + 1) if number else finest)

    return [None if number is None else known(number) for number in numbers]


def _place(number: Decimal) -> int:
    """The power of ten of the last digit that is written."""
    return int(number.as_tuple().exponent)


def _length(number: Decimal) -> int:
    """How many digits are written, zeros in front left out."""
    return len(number.as_tuple().digits)


def _is_double(number: Decimal) -> bool:
    """Whether a double prints as this with so many digits."""
    try:
        near = Fraction(float(number))
    except OverflowError:
        return False
    return abs(near - Fraction(number)) * 2 <= Fraction(10) ** _place(number)
