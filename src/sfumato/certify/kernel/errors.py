"""What the kernel says: that a file cannot be read, that it claims what is false, and numbers and names in messages."""

import math
import re
from fractions import Fraction
from typing import Any

LONGEST_NAME = 80  # characters of a label in a message


class Unreadable(ValueError):
    """The file is damaged, truncated, malicious, or of another version."""


class Refuted(Exception):
    """The file can be read and what it claims is false."""

    def __init__(self, message: str, *details: Any) -> None:
        self.pair, self.output, self.ratio, self.bound = details or (None,) * 4
        super().__init__(message)


def number_text(number: Fraction | int, side: int = 0) -> str:
    """A number for a message: exact if short, else rounded, a bound to its side (1 is up, -1 down), else its size."""
    if number.denominator == 1 and abs(number.numerator) < 1 << 80:
        return str(number)
    try:
        value = float(number)
        while side and value and side * (Fraction(f"{value:.17g}") - number) < 0:
            value = math.nextafter(value, side * math.inf)
        if value:
            return f"{value:.17g}"
    except (OverflowError, ValueError):  # no double is so large
        pass
    return f"{'minus ' * (number < 0)}about 2^{abs(number.numerator).bit_length() - number.denominator.bit_length()}"


def brief(number: Fraction) -> str:
    """A coordinate for a message: as it is written if short."""
    return str(number) if len(str(number)) <= 12 else number_text(number)


def apart(a: Fraction | int, b: Fraction | int) -> tuple[str, str]:
    """Two different numbers for a message; where digits agree, one by its difference from one that is exact in them."""
    first, second = number_text(a), number_text(b)
    if first != second:
        return first, second
    difference = number_text(abs(Fraction(a) - b))
    if re.fullmatch(r"[-+.e\d]+", first) and Fraction(first) == a:
        return first, f"{second} {'plus' if b > a else 'minus'} {difference}"
    return f"{first} {'plus' if a > b else 'minus'} {difference}", second


def named(label: Any) -> str:
    """A label for a message, in quotes if it is a text, and not too long."""
    text = repr(label)
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}…"
