"""Numbers and promises as people write them: ``0.7``, ``"1/3"``, ``"ln(2)/30"``.

A number is taken for what is written: ``0.7`` is 7/10. People think of a promise as "a factor of 2 at 30 km", which is
ε = ln(2)/30 per km; specs and the command line both read that here. Nothing is evaluated: what a promise may look like
is one regular expression,

    [number *] ln(number) [* number] [/ number] …

with ``log`` for ``ln``, the natural logarithm, as well.
"""

from __future__ import annotations

import re
from decimal import ROUND_DOWN, Decimal, localcontext
from fractions import Fraction
from typing import Any

__all__ = ["promise_from_text", "quantity", "rate_from_text"]

_MOST_DIGITS = 400  # of a number, and of its exponent to ten
_LARGEST_ALPHA = 8192  # bits of an exact α that a privacy type takes
_DIGITS = 15  # of an ε that is no rational and has no rational α: what a float shows without noise in the last place

_NUMBER = re.compile(r"[+-]?\d+(/\d+)?|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_PLAIN = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?"
_SHARE = rf"{_PLAIN}(?:\s*/\s*{_PLAIN})?"
_LOGARITHM = re.compile(
    rf"(?:(?P<before>{_SHARE})\s*\*\s*)?(?:ln|log)(?:\s*\(\s*(?P<inside>{_SHARE})\s*\)|\s+(?P<bare>{_PLAIN}))"
    rf"(?P<after>(?:\s*[*/]\s*{_PLAIN})*)"
)
_FACTORS = re.compile(rf"([*/])\s*({_PLAIN})")
_NEEDED = "a number such as 2, 0.7 or '1/3' is needed"


def quantity(value: Any) -> Fraction:
    """The rational that a number or a text such as ``"1/3"`` stands for."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) <= _MOST_DIGITS:
        return Fraction(value)
    text = value.strip() if isinstance(value, str) else ""
    if len(text) <= _MOST_DIGITS and _NUMBER.fullmatch(text):
        try:
            return Fraction(text)
        except ZeroDivisionError:
            pass
    raise ValueError(_NEEDED)


def promise_from_text(text: str) -> dict[str, Fraction]:
    """ε or α of a privacy type, from a number or a logarithm: ``{"epsilon": …}`` or ``{"alpha": …}``.

    ε = c·ln b is α = b^−c, exactly, wherever that is a rational. Elsewhere ε is rounded down to 15 digits: what is
    promised is then a little stricter than what was written, never weaker.

    Raises
    ------
    ValueError
        If it is neither, or a logarithm that is not positive.

    Examples
    --------
    >>> promise_from_text("0.7"), promise_from_text("ln 2"), promise_from_text("log(3)*2")
    ({'epsilon': Fraction(7, 10)}, {'alpha': Fraction(1, 2)}, {'alpha': Fraction(1, 9)})
    >>> float(promise_from_text("ln(2)/30")["epsilon"])
    0.0231049060186648
    """
    found = _logarithm(text)
    if found is None:
        try:
            return {"epsilon": quantity(text)}
        except ValueError:
            raise ValueError("a number such as 2, 0.7 or 1/3, or ln 2, ln(2)/30 or 2*ln(3) is needed") from None
    from sfumato.privacy.type import rational_power

    factor, base = found
    power = rational_power(base, factor)
    if power is not None and power.numerator.bit_length() <= _LARGEST_ALPHA:
        return {"alpha": 1 / power}
    return {"epsilon": _below(factor, base)}


def rate_from_text(text: str) -> Fraction:
    """ε as a rational: a number as it is written, a logarithm rounded down to 15 digits.

    Examples
    --------
    >>> rate_from_text("0.7"), float(rate_from_text("ln 2"))
    (Fraction(7, 10), 0.693147180559945)
    """
    found = _logarithm(text)
    return promise_from_text(text)["epsilon"] if found is None else _below(*found)


def _logarithm(text: Any) -> tuple[Fraction, Fraction] | None:
    """c and b of a text that stands for c·ln b > 0, None if no logarithm is in it."""
    text = text.strip() if isinstance(text, str) else ""
    if "l" not in text:
        return None
    found = _LOGARITHM.fullmatch(text) if len(text) <= _MOST_DIGITS else None
    if found is None:
        return None
    if found["bare"] and "/" in found["after"]:
        raise ValueError(
            f"ln {found['bare']}{found['after']} can be read in two ways: say with parentheses what is meant"
        )
    try:
        factor = _share(found["before"] or "1")
        for sign, number in _FACTORS.findall(found["after"]):
            factor = factor * Fraction(number) if sign == "*" else factor / Fraction(number)
        base = _share(found["inside"] or found["bare"])
    except ZeroDivisionError:
        raise ValueError("nothing can be divided by 0") from None
    if base <= 1 or factor <= 0:
        raise ValueError("ε must be positive: the logarithm of a number above 1, times a positive number")
    return factor, base


def _share(text: str) -> Fraction:
    above, _, under = text.partition("/")
    return Fraction(above.strip()) / Fraction(under.strip() or "1")


def _below(factor: Fraction, base: Fraction) -> Fraction:
    """A rational of few digits that is not above factor · ln base."""
    from sfumato.numbers import log_bounds

    low = factor * log_bounds(base, 128)[0]
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, ROUND_DOWN
        # numerator and denominator are exact, their quotient is cut: it stays below, since low is positive
        return Fraction(Decimal(low.numerator) / Decimal(low.denominator))
