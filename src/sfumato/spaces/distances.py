"""Distances as one table of numbers in a form that keeps them exact.

====================  =======================  =================================
form                  the distance is          arises from
====================  =======================  =================================
``rational``          unit · v, v an integer   graphs, L1 and Chebyshev grids
``root``              unit · √v, v an integer  Euclidean grids, rational points
``float``             v, a double              measured points, the sphere
====================  =======================  =================================

A double is itself a rational number, so every form states its distances exactly; only
how faithful they are to what was measured differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InvalidMetric, expect, shown
from sfumato.numbers import Array, array, common_denominator, exact, is_exact, nearest_float, object_array, whole_number
from sfumato.spaces.axioms import FLOAT, INFINITE, RATIONAL, ROOT


class Form(StrEnum):
    """How the numbers of a table become distances."""

    RATIONAL = "rational"
    ROOT = "root"
    FLOAT = "float"

    @property
    def code(self) -> int:
        """The number by which compiled code knows the form."""
        return {Form.RATIONAL: RATIONAL, Form.ROOT: ROOT, Form.FLOAT: FLOAT}[self]


@dataclass(frozen=True, eq=False)
class Distances:
    """A table of distances, square or one-dimensional, in one :class:`Form`."""

    form: Form
    values: NDArray[Any]
    unit: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        expect(self.form, Form, "the form of distances")
        expect(self.values, np.ndarray, "a table of distances", "Distances.parse(table, what, ndim) takes others")
        expect(self.unit, Fraction, "the unit of distances")
        self.values.flags.writeable = False

    @classmethod
    def parse(cls, given: Any, what: str, ndim: int) -> Distances:
        """From what a user gives: exact numbers become integers with one unit."""
        if isinstance(given, Distances):
            return given
        table = array(given, what, whole_number(ndim, "dimensions"), error=InvalidMetric, small_integers=True)
        if not is_exact(table):
            return cls(Form.FLOAT, table)
        if table.dtype == np.int64:
            return cls(Form.RATIONAL, table.copy())
        integers, denominator = common_denominator(table)
        if np.abs(integers).max() >= INFINITE:
            try:
                return cls(Form.FLOAT, table.astype(np.float64))
            except OverflowError:
                raise InvalidMetric(f"{what}: the largest is beyond the range of floats; give a larger unit") from None
        return cls(Form.RATIONAL, integers.astype(np.int64), Fraction(1, denominator))

    @cached_property
    def floats(self) -> NDArray[np.float64]:
        """The distances in float64, correctly rounded up to two units in the last place."""
        if self.form is Form.FLOAT:
            return self.values
        result = self.values.astype(np.float64)
        if self.form is Form.ROOT:
            result = np.sqrt(result)
        result *= float(self.unit)
        result[self.values == INFINITE] = np.inf
        result.flags.writeable = False
        return result

    @property
    def infinite(self) -> NDArray[np.bool_]:
        """Where the distance is infinite, that is, where nothing is promised."""
        result: NDArray[np.bool_] = np.isinf(self.values) if self.form is Form.FLOAT else self.values == INFINITE
        return result

    def bounds(self, value: Any, bits: int = 64) -> tuple[Fraction, Fraction]:
        """Rationals around the distance that one table entry stands for (equal when rational)."""
        self._check(value)
        if self.form is Form.FLOAT:
            return exact(value), exact(value)
        if self.form is Form.RATIONAL:
            return self.unit * int(value), self.unit * int(value)
        scaled = int(value) << (2 * bits)
        root = isqrt(scaled)
        low = self.unit * Fraction(root, 1 << bits)
        return low, low if root * root == scaled else self.unit * Fraction(root + 1, 1 << bits)

    def compare(self, value: Any, limit: Fraction) -> int:
        """The sign of the distance of one table entry minus a limit, decided exactly.

        Beside doubles a limit is the double nearest to it, as they are the nearest to what was measured: a distance
        0.1 in an array lies on the border of the ball of radius 1/10, although the double is a little larger.
        """
        self._check(value)
        limit = exact(limit)
        if self.form is Form.FLOAT:
            return _sign(float(value), nearest_float(limit))
        if int(value) == INFINITE:
            return 1
        if self.form is Form.RATIONAL:
            return _sign(self.unit * int(value), limit)
        return 1 if limit < 0 else _sign(self.unit**2 * int(value), limit**2)

    def exceeds(self, value: Any, limit: Fraction) -> bool:
        """Whether the distance of one table entry is larger than a limit."""
        return self.compare(value, limit) > 0

    def simplest(self) -> Distances:
        """The same table, without roots where all of them come out whole: distances on a line, say."""
        if self.form is not Form.ROOT or _whole_roots(self.values[:1]) is None:  # one row tells of nearly all tables
            return self
        roots = _whole_roots(self.values)
        return self if roots is None else Distances(Form.RATIONAL, roots, self.unit)

    def exact(self) -> Array | None:
        """The table as exact numbers, or None where a square root is irrational."""
        if self.form is Form.FLOAT or self.infinite.any():
            return None
        values = self.values
        if self.form is Form.ROOT:
            roots = _whole_roots(values)
            if roots is None:
                return None
            values = roots
        if self.unit == 1:
            return values
        unique, where = np.unique(values, return_inverse=True)
        multiples = object_array(self.unit * int(v) for v in unique)
        return np.asarray(multiples[where].reshape(values.shape))

    def _check(self, value: Any) -> None:
        """An entry is an integer, or a float where the table has floats; infinity among those alone."""
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not number or value != value or (self.form is not Form.FLOAT and value in (np.inf, -np.inf)):
            raise InvalidMetric(f"an entry of these distances is a number, found {shown(value)}")


def _whole_roots(values: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The square roots of a table of integers if all of them are integers."""
    roots: NDArray[np.int64] = np.sqrt(values.astype(np.float64)).round().astype(np.int64)
    return roots if (roots * roots == values).all() else None


def _sign(value: Fraction | float, limit: Fraction | float) -> int:
    return (value > limit) - (value < limit)
