"""What a promise allows: factors e^(epsilon·d) between rational bounds, and the rate that keeps it on a map."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sfumato.certify.kernel.arithmetic import divided, exp_bound, log_bound, root, shortened
from sfumato.certify.kernel.errors import Refuted, apart
from sfumato.certify.kernel.values import CoordinatesHeader, CoordinatesPromise, Metric, Promise, WrittenFrame

MANTISSA = 62  # bits kept of e^x: a product with a 62-bit weight fits into 128 bits
PI = (Fraction(3141592653589793238462643383279, 10**30), Fraction(3141592653589793238462643383280, 10**30))
FRAME_BITS = 96  # of cosines


def cos_bound(degrees: Fraction, bits: int, up: bool) -> Fraction:
    """A rational ≤ cos(degrees), or ≥ if ``up``, within a few units of 2^-bits; 0 ≤ degrees ≤ 90.

    The series 1 − x²/2! + x⁴/4! − … alternates, and its terms shrink from the second on, since x² < 12: a sum that ends
    with a positive term is too large, one that ends with a negative term too small. Cosines fall, so x is rounded the
    other way.
    """
    x = degrees * PI[not up] / 180
    x = Fraction(divided(x.numerator << bits, x.denominator, not up), 1 << bits)
    term = total = Fraction(1)
    k = 0
    while True:
        k += 2
        term *= -x * x / (k * (k - 1))
        total += term
        if abs(term) * 2**bits <= 1 and (term >= 0 if up else term <= 0):
            return total


def frame_extent(frame: WrittenFrame, sides: Sequence[Fraction]) -> tuple[Fraction, Fraction, Fraction]:
    """The least |latitude| of the box, the largest of accepted places, and how many degrees of longitude these span."""
    (a, b), m, bottom = frame.degrees, frame.margin, frame.south
    top = bottom + sides[1] * b
    lowest = Fraction(0) if bottom < 0 < top else min(abs(bottom), abs(top))
    return lowest, max(abs(bottom - m * b), abs(top + m * b)), (sides[0] + 2 * m) * a


def largest_stretch(frame: WrittenFrame, sides: Sequence[Fraction]) -> Fraction:
    """A rational k with ‖p − q‖ ≤ k·d for all accepted places p, q, at distance d on the ground.

    Along a great circle the map stretches by at most u/b, or u/(a·cos φ) at its highest latitude φ, u = 180/(π·radius).
    Between places up to a latitude with cosine c, at most Λ < 180° of longitude apart, tan φ is at most √(1 − c²)/(ck)
    with k = cos(Λ/2). So cos φ ≥ ck/√(1 − c²(1 − k²)), which is less for smaller c and k. Moving both to the nearest
    point of the box brings them no farther apart.
    """
    (a, b), (_, highest, wide) = frame.degrees, frame_extent(frame, sides)
    c, k = cos_bound(highest, FRAME_BITS, False), cos_bound(wide / 2, FRAME_BITS, False)
    if min(c, k) <= 0:
        raise Refuted("the map of the box reaches a pole, or half around the globe")
    square = 1 - c * c * (1 - k * k)
    root = math.isqrt((square.numerator << 2 * FRAME_BITS) // square.denominator) + 1
    return Fraction(180 / (PI[0] * frame.radius) * max(1 / b, root / (a * c * k * 2**FRAME_BITS)))


def smallest_stretch(frame: WrittenFrame, sides: Sequence[Fraction]) -> Fraction:
    """A rational k with ‖p − q‖ ≥ k·d for all places p, q of the box, at distance d on the ground.

    A straight line of the map is a curve on the ground that is no shorter than the great circle. The map stretches it
    by at least u/b or u/(a·cos φ), where φ is the latitude of the box that is nearest to the equator.
    """
    (a, b), (lowest, _, _) = frame.degrees, frame_extent(frame, sides)
    return Fraction(180 / (PI[1] * frame.radius) / max(b, a * cos_bound(lowest, FRAME_BITS, True)))


def check_frame(header: CoordinatesHeader) -> None:
    """The rate on the map of a box keeps what is promised for distances on the ground."""
    box, rate = header.box, header.promise.rate
    if box.frame is None:
        return
    most = epsilon_below(header.promise) / largest_stretch(box.frame, box.sides)
    if rate > most:
        said = "the rate on the map of the box is {}, and {} is what keeps the promise on the ground"
        raise Refuted(said.format(*apart(rate, most)))


def exponent_of_unit(promise: Promise | CoordinatesPromise, bits: int, up: bool) -> Fraction:
    """Epsilon, or a rational on the safe side of ln(1/alpha)."""
    if promise.alpha is not None:
        return log_bound(1 / promise.alpha, bits, up)
    return promise.epsilon or Fraction(0)


def epsilon_below(promise: CoordinatesPromise) -> Fraction:
    """Epsilon, or a rational just below ln(1/alpha)."""
    return exponent_of_unit(promise, 128 + promise.rate.denominator.bit_length(), False)


def map_promise(header: CoordinatesHeader) -> Promise:
    """What every mechanism of the promise keeps on the map of a box: the promise, or a larger epsilon on the Earth."""
    promise, box = header.promise, header.box
    if box.frame is None:
        return Promise(promise.kind, promise.epsilon, promise.alpha)
    rate = exponent_of_unit(promise, 160, True) / smallest_stretch(box.frame, box.sides)
    return Promise(promise.kind, Fraction(divided(rate.numerator << 96, rate.denominator, True), 1 << 96), None)


def exponent_bound(promise: Promise, metric: Metric, value: Any, up: bool) -> tuple[int, int]:
    """Integers (a, b) with a/b on the safe side of epsilon·d for one entry of the table of distances."""
    precision = 160 if up else 128
    rate = exponent_of_unit(promise, precision, up)
    if metric.form == "float":
        a, b = value.as_integer_ratio()
        return rate.numerator * a, rate.denominator * b
    unit = metric.unit
    a, b = rate.numerator * unit.numerator, rate.denominator * unit.denominator
    if metric.form == "rational":
        return a * value, b
    return a * root(value << (2 * precision), up), b << precision


def exact_factor(promise: Promise, metric: Metric, value: Any) -> tuple[int, int] | None:
    """e^(epsilon·d) as (p, q) when alpha^unit is rational and the power is small, else None."""
    step, steps = promise.step, math.isqrt(value) if metric.form == "root" else int(value)
    if step is None or value != (steps * steps if metric.form == "root" else steps):
        return None
    small = steps * step.denominator.bit_length() <= 1 << 16
    return (step.denominator**steps, step.numerator**steps) if small else None


def factor_below(promise: Promise, metric: Metric, value: Any, cap: int) -> tuple[int, int]:
    """(p, q) with p/q ≤ e^(epsilon·d), as sharp as needed for weights up to ``cap``.

    A factor of ``cap`` or more only says that no weight faces a zero, so it is cut there. A
    rational factor is kept exactly unless its numerator exceeds ``cap``; any other one is
    rounded down to ``MANTISSA`` bits, or to the bits of ``cap`` if these are more.
    """
    bits = max(MANTISSA, cap.bit_length())
    exact = exact_factor(promise, metric, value)
    if exact is not None:
        p, q = exact
        if p >= cap * q:
            return cap, 1
        if p <= cap:
            return p, q
        k = max(0, bits + 2 - p.bit_length() + q.bit_length())
        m, k = shortened((p << k) // q, -k, bits, False)
    else:
        a, b = exponent_bound(promise, metric, value, False)
        if a >= b * cap.bit_length():  # e^x > 2^x ≥ cap
            return cap, 1
        m, k = exp_bound(a, b, bits, False)
    return min((m << k, 1), (cap, 1)) if k >= 0 else (m, 1 << -k)


def factor_above(promise: Promise, metric: Metric, value: Any) -> Fraction:
    """A rational ≥ e^(epsilon·d), equal to it where it is rational and small."""
    exact = exact_factor(promise, metric, value)
    if exact is not None:
        return Fraction(*exact)
    a, b = exponent_bound(promise, metric, value, True)
    if a > b << 16:
        raise Refuted("a dual number uses a pair so far apart that its bound helps nobody")
    m, k = exp_bound(a, b, 128, True)
    return Fraction(m << k) if k >= 0 else Fraction(m, 1 << -k)
