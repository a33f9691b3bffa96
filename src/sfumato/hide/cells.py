"""How large the cells of a box are, where nobody says: a rule that looks at the promise and the box alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, floor, log10, prod

from sfumato.errors import InvalidInput, keyword
from sfumato.spaces.lengths import METRES

MOST_CELLS = 900
"""With more of them the bound of a table is not worked out in a minute."""

WIDEST = 0.7
"""ε times the side of a cell, at most: what a bound loses by them is of second order in it."""

FEWEST = 8
"""Cells along the shorter side, at least."""


def cell_side(rate: float, sides: Sequence[Fraction], unit: str) -> Fraction:
    """The side of a cell in the unit of a box, for ε in the same unit and the sides of the box.

    The largest length of two digits that is at most 0.7/ε and an eighth of the shorter side, or the next larger ones
    until there are at most 900 cells. Digits are those of metres, or of the unit where that is no length.

    Examples
    --------
    >>> str(cell_side(1.386, [Fraction(10), Fraction(10)], "km"))
    '1/2'
    >>> str(cell_side(1.386, [Fraction(100), Fraction(40)], "km"))
    '11/5'
    """
    if min(sides) <= 0 or not rate > 0:
        raise InvalidInput(f"{keyword('box')} has no width, or goes once around; {keyword('epsilon')} is above 0")
    grain = 1 / METRES[unit] if unit in METRES else Fraction(1)
    most = min(WIDEST / rate, float(min(sides)) / FEWEST) / float(grain)
    for side in _round_lengths(most):
        if prod(ceil(length / (side * grain)) for length in sides) <= MOST_CELLS:
            return side * grain
    raise AssertionError("lengths grow until a box is one cell")


def _round_lengths(most: float) -> Iterator[Fraction]:
    """Lengths of two digits, from the largest that is not above a number."""
    power = floor(log10(most)) - 1
    digits = floor(most / 10.0**power)
    while True:
        for first in range(max(digits, 10), 100):
            yield first * Fraction(10) ** power
        power, digits = power + 1, 10
