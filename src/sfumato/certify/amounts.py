"""Amounts of privacy: sums of rational ε and of logarithms of rational 1/α, compared exactly.

d-privacy adds: two releases of one secret at ε₁ and ε₂ are (ε₁ + ε₂)·d-private. An amount is such a sum,

    r + Σ_j n_j ln b_j,   r and b_j > 1 rational, n_j integers,

kept as it was written, so that nothing is rounded however many releases there are. The sign of one is always found. If
r = 0 it is that of ln Π b_j^{n_j}, and the product is 1 exactly if all exponents vanish once the b_j are written over
pairwise coprime integers. If r ≠ 0 it cannot be 0: e^{−r} is transcendental by Lindemann's theorem, the product is
rational. What is not 0 is told from 0 by ball arithmetic at some precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering
from math import gcd
from typing import Any

import flint

from sfumato.arguments import integer
from sfumato.errors import InvalidEpsilon
from sfumato.numbers import Number, as_ball, dyadic, printed_above, text_above
from sfumato.privacy.promise import promise

_LONGEST_SHOWN = 24  # letters of an exact amount that are printed


@total_ordering
@dataclass(frozen=True, eq=False, repr=False)
class Amount:
    """ε as a number: ``rational`` + Σ n·ln b over the pairs (b, n) in ``logarithms``; made by :func:`amount`.

    As a float it is rounded up.

    Examples
    --------
    >>> three = 3 * amount(alpha="1/2")
    >>> print(three), three == amount(alpha="1/8"), three < amount(epsilon="2.0794415416798")
    3·ln(2)
    (None, True, False)
    >>> three < amount(epsilon="2.0794415416799")
    True
    """

    rational: Fraction = Fraction(0)
    logarithms: tuple[tuple[Fraction, int], ...] = ()

    def __add__(self, other: Amount) -> Amount:
        powers = dict(self.logarithms)
        for base, count in other.logarithms:
            powers[base] = powers.get(base, 0) + count
        return _collected(self.rational + other.rational, powers)

    def __mul__(self, times: int) -> Amount:
        times = integer(times, "the number by which an amount is multiplied")
        return _collected(times * self.rational, {base: times * count for base, count in self.logarithms})

    __rmul__ = __mul__

    def __sub__(self, other: Amount) -> Amount:
        return self + other * -1

    def __lt__(self, other: Amount) -> bool:
        return (self - other).sign < 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amount) and (self - other).sign == 0

    def __hash__(self) -> int:
        # equal amounts may be written differently: they need one hash all the same
        return hash(Amount)

    def __bool__(self) -> bool:
        return self.sign != 0

    def __float__(self) -> float:
        return printed_above(self.bounds(64)[1])

    def __str__(self) -> str:
        """Exactly if that is short, else six digits."""
        parts = [str(self.rational)] if self.rational or not self.logarithms else []
        parts += [f"{'' if count == 1 else f'{count}·'}ln({base})" for base, count in self.logarithms]
        text = " + ".join(parts).replace("+ -", "− ")
        return text if len(text) <= _LONGEST_SHOWN else text_above(self.bounds(64)[1], 6)

    def __repr__(self) -> str:
        return f"Amount({self})"

    @property
    def sign(self) -> int:
        """−1, 0 or 1, exactly."""
        if not self.logarithms:
            return (self.rational > 0) - (self.rational < 0)
        if not self.rational and _product_is_one(dict(self.logarithms)):
            return 0
        bits = 64
        while True:  # ends: the number is not 0
            low, high = self.bounds(bits)
            if low > 0 or high < 0:
                return 1 if low > 0 else -1
            bits *= 2

    def bounds(self, bits: int = 64) -> tuple[Fraction, Fraction]:
        """Rationals around it, with about so many binary digits; equal where it is rational."""
        if not self.logarithms:
            return self.rational, self.rational
        with flint.ctx.workprec(bits):
            ball = as_ball(self.rational)
            for base, count in self.logarithms:
                ball += count * as_ball(base).log()
            return dyadic(ball.lower()), dyadic(ball.upper())


def amount(*, epsilon: Number | None = None, alpha: Number | None = None) -> Amount:
    """ε, or ln(1/α) for a rational α.

    Raises
    ------
    InvalidEpsilon
        If not exactly one of them is given, ε is negative or α is not in (0, 1].
    """
    rate, base = promise(epsilon, alpha)
    if rate is not None:
        if rate < 0:
            raise InvalidEpsilon(f"epsilon must not be negative, found {epsilon}")
        return Amount(rate)
    assert base is not None
    if not 0 < base <= 1:
        raise InvalidEpsilon(f"alpha lies between 0 and 1, found {alpha}")
    return _collected(Fraction(0), {1 / base: 1})


def _collected(rational: Fraction, powers: Mapping[Fraction, int]) -> Amount:
    kept = sorted((base, count) for base, count in powers.items() if count and base != 1)
    return Amount(rational, tuple(kept))


def _product_is_one(powers: Mapping[Fraction, int]) -> bool:
    """Whether Π b^n = 1, without ever forming a power."""
    factors: list[tuple[int, int]] = []
    for base, count in powers.items():
        factors += [(base.numerator, count), (base.denominator, -count)]
    return all(count == 0 for _, count in _over_coprimes(factors))


def _over_coprimes(factors: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same product over pairwise coprime integers above 1.

    Splitting a^k b^l with g = gcd(a, b) into (a/g)^k (b/g)^l g^(k+l) makes the product of the integers smaller, so it
    comes to an end.
    """
    waiting, done = [(n, count) for n, count in factors if n > 1], []  # type: ignore[var-annotated]
    while waiting:
        n, count = waiting.pop()
        for place, (other, much) in enumerate(done):
            shared = gcd(n, other)
            if shared > 1:
                del done[place]
                parts: list[Any] = [(n // shared, count), (other // shared, much), (shared, count + much)]
                waiting += [part for part in parts if part[0] > 1]
                break
        else:
            done.append((n, count))
    return done
