"""The kernel's bounds of e^(epsilon·d) for millions of distances at once, in compiled integers.

:func:`kernel.factor_below` and :func:`kernel.factor_above` take ten microseconds and more for one distance, twenty
seconds for the pairs of 2,000 places. Here are the same integers, bit for bit, in about a tenth of that or less
(``benchmarks/bench_verification.py`` measures it). The series and the squarings of :func:`kernel.exp_bound` are
repeated step by step in 256 bits from below (its numbers stay below 2^93) and in 384 from above (below 2^160). What
has to be found in other ways is the exponent, for the kernel divides integers of any length: it wants
t = epsilon·d·2^places, rounded down or up. With r = epsilon·unit·2^places, and the distance as an integer w times a
power of two:

1. once for all distances, r is enclosed by two integers of 200 binary digits, leading ≤ r·2^s < leading + 1;
2. w · leading and w · (leading + 1) enclose t. Where no integer lies between them, t is rounded;
3. where one does, call it y, r = A/B decides: t ≥ y means w·A − y·B ≥ 0 (each times a power of two). That number is
   less than B in size, so its sign is known from its lowest 384 bits if B has fewer;
4. what is still undecided, what is too large for the words in use, and powers of alpha that are rational, are left to
   the kernel's own functions. Such entries are rare, or repeat few distances.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.certify import kernel
from sfumato.certify.wide import (
    LONGER_WORDS,
    WORDS,
    digits,
    integers_of,
    like,
    longer,
    low_word,
    negative,
    shifted,
    shifted_down,
    shortened,
    store_integer,
)
from sfumato.spaces.axioms import FLOAT, ROOT
from sfumato.spaces.distances import Form
from sfumato.threads import for_reading, on_threads

_INTERPRETED = 1 << 14  # distances: below, Python is through before compiled functions are loaded
_GUARD = 16  # binary digits that kernel.exp_bound adds to those of its result
_HUGE_DIGITS = 16  # of the integral part of an exponent that is not looked at closer
_ABOVE = 128  # binary digits of kernel.factor_above
_ROOT_BELOW, _ROOT_ABOVE = 128, 160  # binary digits after the point of the kernel's square roots
_LEADING = 200  # binary digits of the rate: a root of 176 fits beside into 384
_MODULUS = 64 * LONGER_WORDS
_LARGEST_RADICAND = kernel.LARGEST["root"]
_INFINITY = 0x7FF << 52  # the bits of the infinite double; those of negative ones are larger
_LARGEST_POWER = 1 << 16  # bits of a rational factor in kernel.exact_factor
_FARTHEST = 1 << 6  # an exponent below has e^x < 2^93, which leaves room for 60 binary digits after the point
_SLOTS = 1 << 12  # distances that are remembered, so that a table of few distinct ones costs nothing
_AT_ONCE = 1 << 20  # distances that are sorted at a time

_DECIDED, _HUGE, _UNDECIDED = 0, 1, 2


class _Rate(NamedTuple):
    """epsilon · unit · 2^places = numerator / denominator · 2^power, numerator and denominator odd.

    ``leading`` = ⌊numerator · 2^scale / denominator⌋ has 200 binary digits; ``exact`` says that nothing was cut off.
    ``length`` counts the binary digits of the denominator. Numbers of several words have the lowest first.
    """

    leading: NDArray[np.uint64]
    numerator: NDArray[np.uint64]
    denominator: NDArray[np.uint64]
    power: int
    scale: int
    exact: bool
    length: int

    @classmethod
    def of(cls, promise: kernel.Promise, metric: kernel.Metric, places: int, up: bool) -> _Rate:
        # the exponent of distance 1: what the kernel multiplies distances, or their roots, with
        a, b = kernel.exponent_bound(promise, metric._replace(form="rational"), 1, up)
        rate = Fraction(a, b)
        power = places + _twos(rate.numerator) - _twos(rate.denominator)
        numerator, denominator = (part >> _twos(part) for part in (rate.numerator, rate.denominator))
        scale = _LEADING - numerator.bit_length() + denominator.bit_length()
        leading, rest = divmod(numerator << max(scale, 0), denominator << max(-scale, 0))
        if leading.bit_length() > _LEADING:
            scale -= 1
            leading, rest = divmod(numerator << max(scale, 0), denominator << max(-scale, 0))
        return cls(
            _words(leading), _words(numerator), _words(denominator), power, scale, rest == 0, denominator.bit_length()
        )


def _twos(value: int) -> int:
    """How often 2 divides a positive integer; 0 for 0, which is the logarithm of an alpha too close to 1."""
    return (value & -value).bit_length() - 1 if value else 0


def _words(value: int) -> NDArray[np.uint64]:
    """The lowest 384 bits."""
    return np.frombuffer((value % (1 << _MODULUS)).to_bytes(_MODULUS // 8, "little"), dtype="<u8").astype(np.uint64)


def factors_below(
    promise: kernel.Promise, metric: kernel.Metric, values: NDArray[Any], cap: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The p and q of :func:`kernel.factor_below`, p/q ≤ e^(epsilon·d), for an array of finite distances.

    ``promise`` and ``metric`` are the kernel's, ``cap`` is the largest weight, below 2^62.

    Examples
    --------
    >>> promise, metric = kernel.Promise("rows", Fraction(7, 10), None), kernel.Metric("float", Fraction(1))
    >>> p, q = factors_below(promise, metric, np.array([0.5, 3.0]), 2**52)
    >>> (p / q).round(6).tolist()
    [1.419068, 8.16617]
    """
    values = values.ravel()
    p, q = np.zeros((2, values.size), dtype=np.uint64)
    left = np.ones(values.size, dtype=np.bool_)
    if values.size > _INTERPRETED and cap.bit_length() <= kernel.MANTISSA:
        rate = _Rate.of(promise, metric, kernel.MANTISSA + _GUARD, False)
        words, longest, code = _words_of(metric, values), _longest_power(promise), Form(metric.form).code

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            _many_below(
                code,
                for_reading(words[part]),
                rate,
                longest,
                np.uint64(cap),
                cap.bit_length(),
                p[part],
                q[part],
                left[part],
            )

        on_threads(work, values.size)
    factor_of = kernel.remembered(lambda value: kernel.factor_below(promise, metric, value, cap))
    for start in range(0, values.size, _AT_ONCE):  # to sort takes several times the room of what is sorted
        part = slice(start, start + _AT_ONCE)
        distinct, where = np.unique(values[part][left[part]], return_inverse=True)
        factors = np.array([factor_of(value) for value in distinct.tolist()], dtype=np.uint64).reshape(-1, 2)
        p[part][left[part]], q[part][left[part]] = factors[where].T
    return p, q


def factors_above(promise: kernel.Promise, metric: kernel.Metric, values: NDArray[Any], grain: int) -> list[int]:
    """:func:`kernel.factor_above`, which is ≥ e^(epsilon·d), rounded up to a multiple of 2^-grain, in units of that.

    Raises :class:`kernel.Refuted` where the kernel does. ``grain`` is at most 60.
    """
    values = values.ravel()
    left, result = np.ones(values.size, dtype=np.bool_), np.zeros(values.size * WORDS, dtype=np.uint64)
    if values.size > _INTERPRETED:
        rate = _Rate.of(promise, metric, _ABOVE + _GUARD, True)
        words, longest, code = _words_of(metric, values), _longest_power(promise), Form(metric.form).code

        def work(start: int, stop: int) -> None:
            into = result[start * WORDS : stop * WORDS]
            _many_above(code, words[start:stop], rate, longest, grain, into, left[start:stop])

        on_threads(work, values.size)
    factors = integers_of(result)
    distinct, where = np.unique(values[left], return_inverse=True)
    rest = [kernel.factor_above(promise, metric, value) for value in distinct.tolist()]
    for k, place in zip(np.flatnonzero(left).tolist(), where.tolist(), strict=True):
        factors[k] = -((-rest[place].numerator << grain) // rest[place].denominator)
    return factors


def _words_of(metric: kernel.Metric, values: NDArray[Any]) -> NDArray[np.uint64]:
    """Distances as words: integers as they are, doubles as their bits."""
    if (values.dtype.kind == "f") != (metric.form == Form.FLOAT):
        raise TypeError(f"distances of the form {metric.form!r} cannot be {values.dtype}")
    if values.dtype.kind == "f":
        return np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    return values.astype(np.uint64)


def _longest_power(promise: kernel.Promise) -> int:
    """The most steps whose power the kernel takes exactly; −1 if none is rational."""
    step = promise.step
    return -1 if step is None else _LARGEST_POWER // step.denominator.bit_length()


# ----------------------------------------------------------------- many distances


@njit(cache=True, nogil=True)
def _many_below(form, words, rate, longest, cap, cap_digits, p, q, left):  # type: ignore[no-untyped-def]
    places = np.uint64(kernel.MANTISSA + _GUARD)
    leading, numerator, denominator = _number(rate.leading), _number(rate.numerator), _number(rate.denominator)
    seen = np.full(_SLOTS, -1, np.int64)
    for i in range(words.size):
        j = _before(words, i, seen)
        if j >= 0:
            p[i], q[i], left[i] = p[j], q[j], left[j]
            continue
        distance, power, steps = _distance(form, words[i], np.uint64(_ROOT_BELOW), False)
        down, _, state = _product(distance, power, leading, numerator, denominator, rate, places)
        whole = low_word(shifted_down(down, places))
        left[i] = False
        if state == _HUGE or (state == _DECIDED and whole >= np.uint64(cap_digits)):
            p[i], q[i] = cap, np.uint64(1)  # e^t > 2^t ≥ cap, whether or not it is rational
        elif state == _UNDECIDED or 0 <= steps <= longest:
            left[i] = True
        else:
            mantissa, exponent = _exponential(shortened(down), whole, np.int64(kernel.MANTISSA), False)
            m = low_word(mantissa)  # 62 digits, so twice as much is above every cap
            if exponent >= 0:
                p[i], q[i] = cap if exponent > 0 else min(m, cap), np.uint64(1)
            else:
                p[i], q[i] = m, np.uint64(1) << np.uint64(-exponent)


@njit(cache=True, nogil=True)
def _many_above(form, words, rate, longest, grain, result, left):  # type: ignore[no-untyped-def]
    places = np.uint64(_ABOVE + _GUARD)
    leading, numerator, denominator = _number(rate.leading), _number(rate.numerator), _number(rate.denominator)
    for i in range(words.size):
        distance, power, steps = _distance(form, words[i], np.uint64(_ROOT_ABOVE), True)
        down, more, state = _product(distance, power, leading, numerator, denominator, rate, places)
        whole = low_word(shifted_down(down, places))
        left[i] = state != _DECIDED or whole >= np.uint64(_FARTHEST) or 0 <= steps <= longest
        if not left[i]:
            up = down + longer(np.uint64(more))
            mantissa, exponent = _exponential(up, whole, np.int64(_ABOVE), True)
            exponent += grain
            if exponent >= 0:
                mantissa = shifted(mantissa, np.uint64(exponent))
            else:
                mantissa = _halved(mantissa, np.uint64(-exponent), True)
            store_integer(result, i, shortened(mantissa))


@njit(cache=True, nogil=True)
def _number(words):  # type: ignore[no-untyped-def]
    """An integer of 384 bits from its words."""
    value = longer(np.uint64(0))
    for k in range(LONGER_WORDS - 1, -1, -1):
        value = shifted(value, np.uint64(64)) + longer(words[k])
    return value


@njit(cache=True, nogil=True)
def _before(words, i, seen):  # type: ignore[no-untyped-def]
    """A place before i with the same distance, if it is remembered, else −1; i is remembered from now on."""
    slot = (words[i] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(52)  # the upper 12 bits depend on all
    j = seen[slot]
    seen[slot] = i
    return j if j >= 0 and words[j] == words[i] else np.int64(-1)


# ----------------------------------------------------------------- one distance


@njit(cache=True, nogil=True)
def _distance(form, word, places, up):  # type: ignore[no-untyped-def]
    """A distance as an integer times 2^power; and as a whole number of steps, −1 if it is none or more than 2^62.

    Roots are rounded to ``places`` binary digits after the point, down or up. What is no distance of the kernel's
    (a larger radicand, a double that is negative, infinite or −0) is passed on as −1, of which no product is decided.
    """
    if (form == ROOT and word > np.uint64(_LARGEST_RADICAND)) or (form == FLOAT and word >= np.uint64(_INFINITY)):
        return longer(np.uint64(0)) - longer(np.uint64(1)), np.int64(0), np.int64(-1)
    if form == ROOT:
        root, square = _root(word, places)
        steps = np.int64(low_word(shifted_down(root, places))) if square else np.int64(-1)
        return root + longer(np.uint64(up and not square)), -np.int64(places), steps
    if form == FLOAT:
        exponent = np.int64(word >> np.uint64(52))
        mantissa = word & np.uint64((1 << 52) - 1)
        if exponent:
            mantissa |= np.uint64(1 << 52)
        power = max(exponent, np.int64(1)) - 1075
        steps = np.int64(-1)
        if mantissa == 0:
            steps = np.int64(0)
        elif -52 <= power <= 0:  # else it is no whole number, or one of more than 2^52 steps
            cut = mantissa >> np.uint64(-power)
            steps = np.int64(cut) if cut << np.uint64(-power) == mantissa else steps
        return longer(mantissa), power, steps
    return longer(word), np.int64(0), np.int64(word)


@njit(cache=True, nogil=True)
def _root(value, places):  # type: ignore[no-untyped-def]
    """⌊√value · 2^places⌋ for value < 2^30 and places ≤ 160, and whether √value is a whole number.

    Newton's method with the slope of the first guess, which is right to 2^-46: each step brings 45 digits. After
    three, a few units are missing at most, and integers settle them.
    """
    if value == 0:
        return longer(np.uint64(0)), True
    guess = np.sqrt(np.float64(value))
    root = shifted(longer(np.uint64(guess * 2.0**48)), places - np.uint64(48))
    slope = longer(np.uint64(2.0**61 / guess))  # 2^62 / 2√value
    square = shifted(longer(value), np.uint64(2) * places)
    one = longer(np.uint64(1))
    for _ in range(3):
        missing = square - root * root
        root = root + shifted_down(shifted_down(missing, places) * slope, np.uint64(62))
    missing = square - root * root
    while negative(missing):
        root = root - one
        missing = missing + root + root + one
    while not negative(missing - root - root - one):
        missing = missing - root - root - one
        root = root + one
    return root, digits(missing) == 0


@njit(cache=True, nogil=True)
def _product(distance, power, leading, numerator, denominator, rate, places):  # type: ignore[no-untyped-def]
    """⌊t⌋ for t = distance · 2^power · rate, whether t is more than that, and whether this is decided.

    It is huge from 2^(places + 16) on, where epsilon·d is 2^16 or more.
    """
    if negative(distance):
        return distance, False, _UNDECIDED
    product = distance * leading
    if digits(product) == 0:
        return product, False, _DECIDED
    power += rate.power
    shift = rate.scale - power
    if digits(product) - shift > np.int64(places) + _HUGE_DIGITS:
        return product, False, _HUGE
    if shift >= _MODULUS:  # distance · (leading + 1) < 2^377
        return longer(np.uint64(0)), True, _DECIDED
    down = shifted_down(product, np.uint64(shift))
    if rate.exact:
        return down, digits(product - shifted(down, np.uint64(shift))) > 0, _DECIDED
    # t is more than product / 2^shift and less than (product + distance) / 2^shift
    near = shifted_down(product + distance - longer(np.uint64(1)), np.uint64(shift))
    if digits(near - down) == 0:
        return down, True, _DECIDED
    # near = down + 1 and |t − near| < 1, because distance / 2^shift < 2^160 / leading
    if power >= _MODULUS or rate.length + max(-power, 0) >= _MODULUS:
        return down, True, _UNDECIDED
    sign = shifted(distance * numerator, np.uint64(max(power, 0)))
    sign = sign - shifted(near * denominator, np.uint64(max(-power, 0)))
    if negative(sign):
        return down, True, _DECIDED
    return near, digits(sign) > 0, _DECIDED


@njit(cache=True, nogil=True)
def _exponential(x, whole, bits, up):  # type: ignore[no-untyped-def]
    """:func:`kernel.exp_bound` of x / 2^(bits + 16), step by step; ``whole`` is the integral part before rounding."""
    halvings = digits(like(x, whole)) + 8
    point = np.uint64(bits + halvings + _GUARD)
    term = shifted(like(x, np.uint64(1)), point)
    total = term
    k = np.uint64(0)
    while digits(term) > (1 if up else 0):
        k += np.uint64(1)
        term = _quotient(_halved(term * x, point, up), k, up)
        total = total + term
    if up:
        total = total + like(x, np.uint64(2))
    exponent = -np.int64(point)
    for _ in range(halvings):
        total, exponent = _cut(total * total, 2 * exponent, np.int64(point), up)
    return _cut(total, exponent, bits, up)


@njit(cache=True, nogil=True)
def _cut(value, exponent, bits, up):  # type: ignore[no-untyped-def]
    """:func:`kernel.shortened`."""
    excess = digits(value) - bits
    return (_halved(value, np.uint64(excess), up), exponent + excess) if excess > 0 else (value, exponent)


@njit(cache=True, nogil=True)
def _halved(value, bits, up):  # type: ignore[no-untyped-def]
    """:func:`kernel.shifted`."""
    if up:
        one = like(value, np.uint64(1))
        value = value + shifted(one, bits) - one
    return shifted_down(value, bits)


@njit(cache=True, nogil=True)
def _quotient(value, k, up):  # type: ignore[no-untyped-def]
    """:func:`kernel.divided` for k < 2^32: long division, the first digit up to 64 bits, all others 32."""
    if up:
        value = value + like(value, k - np.uint64(1))
    place = np.uint64((max(digits(value), 64) - 33) // 32 * 32)
    digit = low_word(shifted_down(value, place))
    result, rest = like(value, digit // k), digit % k
    while place:
        place -= np.uint64(32)
        digit = (rest << np.uint64(32)) | (low_word(shifted_down(value, place)) & np.uint64(0xFFFFFFFF))
        result, rest = shifted(result, np.uint64(32)) + like(value, digit // k), digit % k
    return result
