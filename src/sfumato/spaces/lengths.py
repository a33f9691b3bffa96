"""Lengths as people write them: ``0.5``, or ``"500 m"`` where distances are in km.

A typed length may name its unit. It is converted into the unit of the space where both are known lengths, exactly; a
unit that is no length, such as minutes, must be that of the space.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.arguments import text
from sfumato.errors import InvalidInput, shown
from sfumato.numbers import as_written

METRES = {
    name: Fraction(size)
    for size, names in {
        "1/1000": ("mm", "millimetre", "millimetres", "millimeter", "millimeters"),
        "1/100": ("cm", "centimetre", "centimetres", "centimeter", "centimeters"),
        "1": ("m", "metre", "metres", "meter", "meters"),
        "1000": ("km", "kilometre", "kilometres", "kilometer", "kilometers"),
        "0.0254": ("in", "inch", "inches"),
        "0.3048": ("ft", "foot", "feet"),
        "0.9144": ("yd", "yard", "yards"),
        "1609.344": ("mi", "mile", "miles"),
        "1852": ("nmi", "nautical mile", "nautical miles"),
    }.items()
    for name in names
}
"""Metres in a unit of length, by its names; feet and miles are the international ones of 1959, which are exact."""

_LONGEST_UNIT = 20  # characters
_NO_UNIT = re.compile(  # docs/format.md: ranges that never change
    r"^ | $| .* |[^\x80-\U0010ffffA-Za-z0-9 %'*+/^-]|[\xa1-\xaf\xb8-\xbf\u2010-\u205e\u3001-\u303f\uff01-\uff65]"
    r"|^[\d'*+/^\xb1-\xb4\xb6\xb7\xd7\xf7\u2070-\u209f\u2150-\u2bff\u3190-\u32ff\U00010000-\U0001ffff-]",
    re.S,
)

_WITH_UNIT = re.compile(r"\s*(?P<number>[+-]?[\d./_]+(?:[eE][+-]?\d+)?)\s*(?P<unit>[^\W\d_]\D*?)\s*")


def as_unit(value: Any, what: str) -> str:
    """The name of a unit: one word or two, which stand in sentences behind a number and can say nothing else.

    Examples
    --------
    >>> as_unit("nautical miles", "the unit")
    'nautical miles'
    >>> as_unit("km, once", "it")
    Traceback (most recent call last):
        ...
    sfumato.errors.InvalidInput: it is a word or two of up to 20 letters and digits, first a letter, found 'km, once'
    """
    name: str = text(value, what)
    if len(name) > _LONGEST_UNIT or _NO_UNIT.search(name):
        raise InvalidInput(
            f"{what} is a word or two of up to {_LONGEST_UNIT} letters and digits, first a letter, found {shown(name)}"
        )
    return name


@dataclass(frozen=True)
class Length:
    """A number and its unit; without one, it is that of the space where the length is used.

    Examples
    --------
    >>> as_length("500 m").into("km"), as_length(0.5).into("km"), as_length("1 mi").into("ft")
    (Fraction(1, 2), Fraction(1, 2), Fraction(5280, 1))
    """

    number: Fraction
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.number} {self.unit}".strip()

    def into(self, unit: str, what: str = "a length", error: type[InvalidInput] = InvalidInput) -> Fraction:
        """The number in another unit."""
        if self.unit in ("", unit):
            return self.number
        if self.unit in METRES and unit in METRES:
            return self.number * METRES[self.unit] / METRES[unit]
        if not unit:
            raise error(f"{what} is {self}, but distances are in no named unit: give a number, or the space a unit")
        known = " or another length such as m, km, mi or ft" if unit in METRES else ""
        raise error(f"{what} is {self}, but distances are in {unit}: give it in {unit}{known}")


def as_length(value: Any, what: str = "a length", error: type[InvalidInput] = InvalidInput) -> Length:
    """A length from a number, or from text with a unit after it."""
    if isinstance(value, Length):
        return value
    match = _WITH_UNIT.fullmatch(value) if isinstance(value, str) and len(value) <= 10_000 else None
    if match is None:
        return Length(as_written(value, what, error))
    try:
        return Length(as_written(match["number"]), match["unit"])
    except InvalidInput as failure:
        raise error(f"{what} must be a length such as 0.5 or '500 m', found {shown(value)}") from failure


def in_unit(value: Any, unit: str, what: str = "a length", error: type[InvalidInput] = InvalidInput) -> Fraction:
    """A typed length as a number in the unit of a space.

    Examples
    --------
    >>> in_unit("500 m", "km"), in_unit("0.5 km", "km"), in_unit(3, "")
    (Fraction(1, 2), Fraction(1, 2), Fraction(3, 1))
    >>> in_unit("3 km", "minutes", "within")
    Traceback (most recent call last):
        ...
    sfumato.errors.InvalidInput: within is 3 km, but distances are in minutes: give it in minutes
    """
    return as_length(value, what, error).into(unit, what, error)
