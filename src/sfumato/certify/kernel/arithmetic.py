"""Bounds of e^x, ln x and roots in integers, rounded to the side that is safe, and common denominators."""

import functools
import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from sfumato.certify.kernel.errors import Unreadable

REMEMBERED = 1 << 14  # factors of distances that are held at a time
LONGEST_SUMS = 1 << 16  # bits of products in an elimination, and of what sums are taken over


def divided(a: int, b: int, up: bool) -> int:
    """a / b for integers, b > 0, rounded down or up."""
    return -(-a // b) if up else a // b


def shifted(a: int, bits: int, up: bool) -> int:
    """a / 2^bits, rounded down or up."""
    return -(-a >> bits) if up else a >> bits


def exp_bound(a: int, b: int, bits: int, up: bool) -> tuple[int, int]:
    """Integers (m, k) with m·2^k ≤ e^(a/b), or ≥ if ``up``; a ≥ 0, b > 0; m has about ``bits`` bits.

    Halve the exponent until it is at most 1/256, sum the Taylor series in fixed point with every
    step rounded to the safe side, square back. The series has positive terms, so cutting it off
    is safe from below; from above, the first term left out is at most one unit and the rest of
    the tail less than another (each term is at most 1/256 of the one before).
    """
    halvings = (a // b).bit_length() + 8
    point = bits + halvings + 16  # binary digits after the point
    x = divided(a << point, b << halvings, up)
    term = total = 1 << point
    k = 0
    while term > (1 if up else 0):
        k += 1
        term = divided(shifted(term * x, point, up), k, up)
        total += term
    total += 2 if up else 0
    exponent = -point
    for _ in range(halvings):
        total, exponent = shortened(total * total, 2 * exponent, point, up)
    return shortened(total, exponent, bits, up)


def shortened(m: int, exponent: int, bits: int, up: bool) -> tuple[int, int]:
    """m·2^exponent with m cut to at most ``bits`` bits (one more if rounding up carries)."""
    excess = m.bit_length() - bits
    return (shifted(m, excess, up), exponent + excess) if excess > 0 else (m, exponent)


@functools.lru_cache(maxsize=16)
def log_bound(v: Fraction, bits: int, up: bool) -> Fraction:
    """A rational ≤ ln v, or ≥ if ``up``, for a rational v > 1.

    v = r·2^k with 1 ≤ r < 2, and ln r = 2 artanh((r − 1)/(r + 1)), ln 2 = 2 artanh(1/3).
    """
    k = 0
    while v >= 2:
        v, k = v / 2, k + 1
    return 2 * (artanh_bound((v - 1) / (v + 1), bits, up) + k * artanh_bound(Fraction(1, 3), bits, up))


def artanh_bound(ratio: Fraction, bits: int, up: bool) -> Fraction:
    """t + t³/3 + t⁵/5 + … for t = ratio, 0 ≤ t ≤ 1/3; the tail is below 1/8 of the first term left out, or 1 unit."""
    point = bits + 16
    t = divided(ratio.numerator << point, ratio.denominator, up)
    square = shifted(t * t, point, up)
    power = total = t
    k = 1
    while power > (1 if up else 0):
        k += 2
        power = shifted(power * square, point, up)
        total += divided(power, k, up)
    return Fraction(total + (2 if up else 0), 1 << point)


def root(square: int, up: bool) -> int:
    """The root of an integer, rounded down or up."""
    found = math.isqrt(square)
    return found + (up and found * found != square)


def with_denominator(grain: int, factor: Fraction) -> int:
    """A grain in which the factor is whole as well, up to 1024 bits: what is finer is rounded up."""
    return min(math.lcm(grain, factor.denominator), 1 << 1024)


def over_one_grain(factors: dict[Any, Fraction]) -> tuple[dict[Any, int], int]:
    """Factors as integers over one grain, rounded up where that is too coarse; and the grain."""
    grain = functools.reduce(with_denominator, factors.values(), 1)
    return {d: math.ceil(f * grain) for d, f in factors.items()}, grain


def common_multiple(numbers: Iterable[int]) -> int:
    """The least common multiple of numbers over which sums are taken: each of them becomes as long as that."""
    common = 1
    for common in itertools.accumulate(numbers, math.lcm):
        if common.bit_length() > LONGEST_SUMS:
            raise Unreadable("the sums of priors, or the units of limits, have no common multiple that is short enough")
    return common


def remembered(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which remembers its latest values."""
    return functools.lru_cache(maxsize=REMEMBERED)(function)
