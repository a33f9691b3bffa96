"""ε as people write it: a number such as ``0.7``, or a logarithm such as ``"ln(2)/30"``; or α = e^−ε instead.

People think of a promise as "a factor of 2 at 30 km", which is ε = ln(2)/30 per km. Everything that takes an ε, in
Python, in specs, on the command line and in the studio, reads it here. Nothing is evaluated: what a logarithm may look
like is one regular expression,

    [number *] ln(number) [* number] [/ number] …

with ``log`` for ``ln``, the natural logarithm, as well. ε = c·ln b is α = b^−c, exactly, wherever that is a rational.
Elsewhere ε is rounded down to 15 digits: what is promised is then a little stricter than what was written, never
weaker.
"""

from __future__ import annotations

import re
from decimal import ROUND_DOWN, Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple

import flint

from sfumato.errors import InvalidEpsilon, InvalidInput, short
from sfumato.numbers import Number, as_written, exact, log_bounds

LARGEST_PARAMETER = 8192
"""Bits of a numerator or denominator of ε or α that can be written down."""

_LARGEST_EXACT_POWER = 2**16  # An α^-d of more bits is enclosed instead, which is as good and cheaper.
_LONGEST_LOGARITHM = 400  # A text of more characters is no logarithm that a person writes.
_DIGITS = 15  # An ε without a rational form has as many digits as a float shows without noise in the last place.

_PLAIN = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_SHARE = rf"{_PLAIN}(?:\s*/\s*{_PLAIN})?"
_LOGARITHM = re.compile(
    rf"(?:(?P<before>{_SHARE})\s*\*\s*)?(?:ln|log)(?:\s*\(\s*(?P<inside>{_SHARE})\s*\)|\s+(?P<bare>{_PLAIN}))"
    rf"(?P<after>(?:\s*[*/]\s*{_PLAIN})*)"
)
_EXPECTED = "a number such as 2, 0.7 or '1/3', or a logarithm such as ln 2, ln(2)/30 or 2*ln(3)"
_FACTORS = re.compile(rf"([*/])\s*({_PLAIN})")


class EpsilonOrAlpha(NamedTuple):
    """ε or α, one of them, as exact rationals."""

    epsilon: Fraction | None
    alpha: Fraction | None


def promise(epsilon: Number | None, alpha: Number | None, who: str = "") -> EpsilonOrAlpha:
    """ε or α from what was written; a logarithm is α where that is rational.

    Nothing is said about their ranges: 0 is an ε for some.

    Raises
    ------
    InvalidEpsilon
        If not exactly one of them is given, or it is no number, or a logarithm that is not positive.

    Examples
    --------
    >>> promise(0.7, None)
    EpsilonOrAlpha(epsilon=Fraction(7, 10), alpha=None)
    >>> promise("ln(2)/0.5", None)
    EpsilonOrAlpha(epsilon=None, alpha=Fraction(1, 4))
    >>> float(promise("ln(2)/30", None).epsilon)
    0.0231049060186648
    """
    if (epsilon is None) == (alpha is None):
        raise InvalidEpsilon(f"{who} needs either epsilon or alpha" if who else "give either epsilon or alpha")
    if alpha is not None:
        return EpsilonOrAlpha(None, as_written(alpha, "alpha", InvalidEpsilon))
    logarithm = _logarithm(epsilon)
    if logarithm is None:
        return EpsilonOrAlpha(_number(epsilon), None)
    factor, base = logarithm
    power = rational_power(base, factor)
    if power is not None and power.numerator.bit_length() <= LARGEST_PARAMETER:
        return EpsilonOrAlpha(None, 1 / power)
    return EpsilonOrAlpha(_below(factor, base), None)


def part_of(whole: EpsilonOrAlpha, parts: int) -> EpsilonOrAlpha:
    """What each of so many releases promises, so that all of them together keep ``whole``; never more than that.

    α^(1/parts) stays one where it is rational; elsewhere ε is rounded down, as in :func:`promise`.

    Examples
    --------
    >>> part_of(promise("3*ln(2)", None), 3), part_of(promise(0.5, None), 5)
    (EpsilonOrAlpha(epsilon=None, alpha=Fraction(1, 2)), EpsilonOrAlpha(epsilon=Fraction(1, 10), alpha=None))
    """
    if parts == 1:
        return whole
    if whole.epsilon is not None:
        return EpsilonOrAlpha(whole.epsilon / parts, None)
    assert whole.alpha is not None
    power = rational_power(1 / whole.alpha, Fraction(1, parts))
    if power is not None:
        return EpsilonOrAlpha(None, 1 / power)
    return EpsilonOrAlpha(_below(Fraction(1, parts), 1 / whole.alpha), None)


def rate(epsilon: Number) -> Fraction:
    """ε as a rational, for what can use no other: a logarithm is rounded down to 15 digits.

    Examples
    --------
    >>> rate(0.7), float(rate("ln 2"))
    (Fraction(7, 10), 0.693147180559945)
    """
    logarithm = _logarithm(epsilon)
    return _number(epsilon) if logarithm is None else _below(*logarithm)


def rate_bounds(epsilon: Number, bits: int = 128) -> tuple[Fraction, Fraction]:
    """Rationals around ε, equal where it is one: what is decided about an ε must be so on both sides.

    Examples
    --------
    >>> low, high = rate_bounds("2*ln(3)")
    >>> float(low), low < high, rate_bounds(0.5)
    (2.1972245773362196, True, (Fraction(1, 2), Fraction(1, 2)))
    """
    logarithm = _logarithm(epsilon)
    if logarithm is None:
        value = _number(epsilon)
        return value, value
    factor, base = logarithm
    low, high = log_bounds(base, bits)
    return factor * low, factor * high


def rational_power(base: Fraction, exponent: Fraction) -> Fraction | None:
    """base^exponent if it is a rational of reasonable size, else None.

    Examples
    --------
    >>> rational_power(Fraction(4), Fraction(3, 2)), rational_power(Fraction(2), Fraction(1, 2))
    (Fraction(8, 1), None)
    """
    base, exponent = exact(base), exact(exponent)
    if base <= 0:
        raise InvalidInput(f"the base of a power is positive, found {short(base)}")
    root_of = exponent.denominator
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if size * abs(exponent) > _LARGEST_EXACT_POWER or root_of > size:
        return None
    numerator, denominator = (_integer_root(part, root_of) for part in (base.numerator, base.denominator))
    if numerator is None or denominator is None:
        return None
    return Fraction(numerator, denominator) ** exponent.numerator


def _integer_root(value: int, degree: int) -> int | None:
    """The integer r with r^degree = value, if there is one."""
    root = int(flint.fmpz(value).root(degree))
    return root if root**degree == value else None


def _number(epsilon: Any) -> Fraction:
    """ε that is no logarithm."""
    return as_written(epsilon, "epsilon", InvalidEpsilon, _EXPECTED)


def _logarithm(written: Any) -> tuple[Fraction, Fraction] | None:
    """c and b of a text that stands for c·ln b > 0, None for what is no logarithm."""
    text = written.strip() if isinstance(written, str) else ""
    match = _LOGARITHM.fullmatch(text) if "l" in text and len(text) <= _LONGEST_LOGARITHM else None
    if match is None:
        return None
    if match["bare"] and "/" in match["after"]:
        raise InvalidEpsilon(f"{text} can be read in two ways: say with parentheses what is meant")
    try:
        factor = _share(match["before"] or "1")
        for sign, number in _FACTORS.findall(match["after"]):
            factor = factor * Fraction(number) if sign == "*" else factor / Fraction(number)
        base = _share(match["inside"] or match["bare"])
    except ZeroDivisionError:
        raise InvalidEpsilon(f"{text}: nothing can be divided by 0") from None
    if base <= 1 or factor <= 0:
        raise InvalidEpsilon(
            f"epsilon must be positive, the logarithm of a number above 1 times a positive number, found {text}"
        )
    return factor, base


def _share(text: str) -> Fraction:
    above, _, under = text.partition("/")
    return Fraction(above.strip()) / Fraction(under.strip() or "1")


def _below(factor: Fraction, base: Fraction) -> Fraction:
    """A rational of few digits that is not above factor · ln base."""
    low = factor * log_bounds(base, 128)[0]
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, ROUND_DOWN
        # numerator and denominator are exact, their quotient is cut: it stays below, since low is positive
        return Fraction(Decimal(low.numerator) / Decimal(low.denominator))
