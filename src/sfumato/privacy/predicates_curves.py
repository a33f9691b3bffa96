"""Upper curves of predicates, as minima of concave parts that can be compared with rationals exactly.

A part bounds the probability b of an event under one secret by that under another, b ≤ part(a). A
:class:`Line` does it with a slope that is rational or e^r for a rational r; a :class:`Tail` moves the tail of a
log-concave density (Kifer and Lin 2012, section 2.2.1). For both, "b ≤ part(a)?" is asked at rationals and
answered by rational arithmetic or by enclosures that are refined until they decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, log
from typing import Any, TypeAlias

import flint
import numpy as np
from scipy.special import ndtr, ndtri

from sfumato.arguments import one_of
from sfumato.errors import InvalidEpsilon, InvalidInput, short
from sfumato.numbers import Floats, Number, as_ball, as_written, dyadic, exact, exp_bounds, float_below
from sfumato.privacy.promise import promise

# Two different numbers that agree to so many bits are not met by chance; a tie is reported as undecided.
_MOST_BITS = 2048


def rational_between(
    value: Fraction, bounds: Callable[[int], tuple[Fraction, Fraction]], most_bits: float = inf
) -> Fraction | None:
    """A rational between a value and a number with bounds of any precision: below the value, or not; None for a tie.

    Without a limit on the bits it only ends if the two differ or the bounds meet.
    """
    bits = 64
    while bits <= most_bits:
        low, high = bounds(bits)
        if value <= low or value > high:
            return low if value <= low else high
        bits *= 2
    return None


_LARGEST_SHIFT = 10**6  # An ε beyond this, or a density that is moved by more units of its scale, promises nothing.


@dataclass(frozen=True)
class Growth:
    """A positive number: a rational, or e^exponent for a rational exponent other than 0, which is transcendental.

    Examples
    --------
    >>> Growth(exponent=Fraction(1)).sign(Fraction(27183, 10000), Fraction(1))     # 2.7183 − e
    1
    """

    rational: Fraction | None = None
    exponent: Fraction | None = None

    def __float__(self) -> float:
        return float_below(self.rational) if self.rational is not None else exp(float(self.exponent or 0))

    def __str__(self) -> str:
        return str(self.rational) if self.rational is not None else f"e^{float(self.exponent or 0):g}"

    @property
    def epsilon(self) -> str:
        """ε in words, for a number e^ε."""
        if self.rational is None:
            return f"{float(self.exponent or 0):g}"
        return "0" if self.rational == 1 else f"ln {self.rational}"

    def bounds(self, bits: int = 64) -> tuple[Fraction, Fraction]:
        """Rationals around the number, equal if it is one."""
        if self.rational is not None:
            return self.rational, self.rational
        assert self.exponent is not None
        return exp_bounds(self.exponent, bits)

    def ball(self) -> flint.arb:
        """A ball of the current precision around the number."""
        return as_ball(self.rational) if self.rational is not None else as_ball(self.exponent or 0).exp()

    def inverse(self) -> Growth:
        """One over the number."""
        if self.rational is not None:
            return Growth(1 / self.rational)
        return Growth(exponent=-(self.exponent or Fraction(0)))

    def sign(self, left: Fraction, right: Fraction) -> int:
        """The sign of left − s·right, exactly: a transcendental s equals no quotient of rationals."""
        if self.rational is not None:
            gap = left - self.rational * right
            return (gap > 0) - (gap < 0)
        if left * right <= 0:
            return (left > right) - (left < right)
        end = rational_between(left / right, self.bounds)
        assert end is not None
        return 1 if (left / right > end) == (right > 0) else -1


def growth(
    epsilon: Number | None = None, alpha: Number | None = None, what: str = "a predicate", *, signed: bool = False
) -> Growth:
    """e^ε from ε ≥ 0 or from the rational α = e^−ε in (0, 1]; ``signed`` takes ε < 0 and α > 1 too."""
    rate, base = promise(epsilon, alpha, what)
    if base is not None:
        if base <= 0 or (base > 1 and not signed):
            raise InvalidEpsilon(f"alpha is e^-epsilon, {'above 0' if signed else 'in (0, 1]'}, found {short(alpha)}")
        return Growth(1 / base)
    assert rate is not None
    if rate < 0 and not signed:
        raise InvalidEpsilon(f"epsilon must not be negative, found {short(epsilon)}")
    if abs(rate) > _LARGEST_SHIFT:
        raise InvalidEpsilon(f"epsilon beyond 1,000,000 promises nothing, found {short(epsilon)}")
    return _exponential(rate)


def _exponential(rate: Fraction) -> Growth:
    """e^rate, which is rational for 0 only."""
    return Growth(exponent=rate) if rate else Growth(Fraction(1))


@dataclass(frozen=True)
class Line:
    """The line b ≤ value + slope·(a − at) with a positive slope.

    Examples
    --------
    >>> line = Line(Growth(Fraction(2)), Fraction(0), Fraction(1, 10))
    >>> line.allows(Fraction(1, 5), Fraction(1, 2)), line.allows(Fraction(1, 5), Fraction(51, 100))
    (True, False)
    """

    slope: Growth
    at: Fraction
    value: Fraction

    @property
    def proved(self) -> bool:
        """A line is concave, and its values are decided exactly."""
        return True

    @property
    def intercept(self) -> Fraction | None:
        """Its value at 0, where that is rational."""
        if self.at == 0:
            return self.value
        return None if self.slope.rational is None else self.value - self.slope.rational * self.at

    def bounds(self, a: Fraction, bits: int = 64) -> tuple[Fraction, Fraction]:
        """Rationals around the line at a."""
        ends = [self.value + s * (a - self.at) for s in self.slope.bounds(bits)]
        return min(ends), max(ends)

    def floats(self, a: Floats) -> Floats:
        """The line at many points."""
        return float(self.value) + float(self.slope) * (a - float(self.at))

    def allows(self, a: Fraction, b: Fraction) -> bool:
        """Whether b lies on the line or below it; always decided."""
        return self.slope.sign(b - self.value, a - self.at) <= 0

    def reflected(self) -> Line:
        """The line of the exchanged secrets: (a, b) becomes (1 − b, 1 − a), and the slope its inverse."""
        return Line(self.slope.inverse(), 1 - self.value, 1 - self.at)


def _laplace(a: Any, s: Any, branch: int) -> Any:
    if branch < 0:
        return s * a
    return 1 - 1 / (4 * s * a) if branch == 0 else 1 - (1 - a) / s


def _laplace_branch(a: Fraction, moved: Growth) -> int:
    """Which formula holds at a: the moved boundary is still right of 0 (−1), crosses it (0), was left already (1)."""
    if 2 * a >= 1:
        return 1
    return -1 if moved.sign(Fraction(1), 2 * a) >= 0 else 0


def _laplace_floats(a: Floats, s: float) -> Floats:
    with np.errstate(divide="ignore"):
        middle = 1 - 1 / (4 * s * a)
    return np.asarray(np.where(2 * s * a <= 1, s * a, np.where(2 * a >= 1, 1 - (1 - a) / s, middle)))


@dataclass(frozen=True)
class DensityFamily:
    """A log-concave density, and what its tails hold once they have moved, as a function of a and s = e^t.

    Without ``ball`` the values are floats: by whoever gives them, the value at a lies between those that belong to
    a ± ``tolerance``, give or take ``tolerance``. Neither they nor the shape of the density are proved, so that they
    can refute and never prove.
    """

    name: str
    ball: Callable[[Fraction, Growth, str], Any] | None
    floats: Callable[[Floats, float, str], Floats]
    rational: Callable[[Fraction, Fraction, str], Fraction] | None = None
    tolerance: float = 0.0


def _gaussian_ball(a: Fraction, moved: Growth, tail: str) -> Any:
    root = flint.arb(2).sqrt()
    place = (as_ball(2 * a)).erfcinv() * root  # G^-1(a)
    return ((place - moved.ball().log()) / root).erfc() / 2


def _gumbel_ball(a: Fraction, moved: Growth, tail: str) -> Any:
    if tail == "right":
        return 1 - (as_ball(1 - a).log() * moved.ball()).exp()
    return (as_ball(a).log() / moved.ball()).exp()


DENSITIES: dict[str, DensityFamily] = {
    family.name: family
    for family in (
        DensityFamily("gaussian", _gaussian_ball, lambda a, s, tail: np.asarray(ndtr(ndtri(a) + log(s)))),
        DensityFamily(
            "laplace",
            lambda a, s, tail: _laplace(as_ball(a), s.ball(), _laplace_branch(a, s)),
            lambda a, s, tail: _laplace_floats(a, s),
            lambda a, s, tail: Fraction(_laplace(a, s, _laplace_branch(a, Growth(s)))),
        ),
        DensityFamily(
            "logistic",
            lambda a, s, tail: as_ball(a) * s.ball() / (as_ball(a) * s.ball() + as_ball(1 - a)),
            lambda a, s, tail: a * s / (a * s + 1 - a),
            lambda a, s, tail: a * s / (a * s + 1 - a),
        ),
        DensityFamily("gumbel", _gumbel_ball, lambda a, s, tail: 1 - (1 - a) ** s if tail == "right" else a ** (1 / s)),
    )
}
"""Densities κe^{−c} with c convex whose tails move by a formula; those of an exponential density are lines."""


@dataclass(frozen=True)
class Tail:
    """What the tail of mass a of a log-concave density holds after its boundary has moved outwards by t = ln s.

    Right tail: M(a) = G(G⁻¹(a) − t) with G the upper tail function; left tail: M(a) = F(F⁻¹(a) + t). M is concave,
    increasing and at least a (Kifer and Lin, Theorem 2.2.2).

    Examples
    --------
    >>> moved = Tail(DENSITIES["laplace"], Growth(Fraction(2)))
    >>> moved.bounds(Fraction(1, 3))[0], moved.allows(Fraction(1, 3), Fraction(5, 8))
    (Fraction(5, 8), True)
    """

    family: DensityFamily
    moved: Growth
    tail: str = "right"

    @property
    def proved(self) -> bool:
        """Theorem 2.2.2 gives the shape and ball arithmetic the values, unless they are floats taken on trust."""
        return self.family.ball is not None

    @property
    def tolerance(self) -> float:
        """How far masses in floats may be off, the one that is given and the one that results."""
        return self.family.tolerance

    def bounds(self, a: Fraction, bits: int = 64) -> tuple[Fraction, Fraction]:
        """Rationals around M(a), equal where M(a) is known to be rational."""
        if a == 1 or (a == 0 and self.proved):
            return a, a
        if self.family.ball is None:  # never below a, since moving outwards loses nothing
            slack, at = exact(self.tolerance), float(a)
            ends = self.floats(np.clip([at - self.tolerance, at + self.tolerance], 0, 1)).tolist()
            return max(exact(ends[0]) - slack, a), max(min(exact(ends[1]) + slack, Fraction(1)), a)
        if self.family.rational is not None and self.moved.rational is not None:
            value = self.family.rational(a, self.moved.rational, self.tail)
            return value, value
        with flint.ctx.workprec(bits + 16):
            ball = self.family.ball(a, self.moved, self.tail)
            if not ball.is_finite():
                return Fraction(0), Fraction(1)
            return max(dyadic(ball.lower()), Fraction(0)), min(dyadic(ball.upper()), Fraction(1))

    def floats(self, a: Floats) -> Floats:
        """M at many points."""
        values = self.family.floats(a, float(self.moved), self.tail)
        return values if self.proved else np.clip(values, 0.0, 1.0)

    def allows(self, a: Fraction, b: Fraction) -> bool | None:
        """Whether b ≤ M(a); None where no precision tells."""
        end = rational_between(b, lambda bits: self.bounds(a, bits), _MOST_BITS if self.proved else 64)
        return None if end is None else b <= end

    def reflected(self) -> Tail:
        """Exchanging the secrets moves the other tail."""
        return Tail(self.family, self.moved, "left" if self.tail == "right" else "right")


CurvePart: TypeAlias = Line | Tail
"""A concave, non-decreasing bound b ≤ part(a) on [0, 1]."""


def numeric_tails(
    name: str, right: Callable[[Floats], Floats], left: Callable[[Floats], Floats], tail: str, tolerance: float = 1e-9
) -> tuple[CurvePart, ...]:
    """Moved tails that are functions of floats, the right and the left one, good to a tolerance."""
    family = DensityFamily(name, None, lambda a, _, side: (right if side == "right" else left)(a), tolerance=tolerance)
    return tuple(Tail(family, Growth(Fraction(1)), side) for side in tails(tail))


def density_parts(name: str, moved: Fraction | Growth, tail: str) -> tuple[CurvePart, ...]:
    """The parts of a named density whose boundary moves by t in units of its scale, given as t or as e^t."""
    s = moved if isinstance(moved, Growth) else _exponential(moved)
    zero = Fraction(0)
    sides = tails(tail)
    if name == "exponential":
        right = Line(s, zero, zero)
        return tuple(right if side == "right" else right.reflected() for side in sides)
    if name == "uniform" and isinstance(moved, Fraction):
        return (Line(Growth(Fraction(1)), zero, moved),)
    return tuple(Tail(DENSITIES[name], s, side) for side in sides)


def shift_of(shift: Number) -> Fraction:
    """By how much the boundary of a density moves."""
    moved = as_written(shift, "a shift")
    if not 0 <= moved <= _LARGEST_SHIFT:
        raise InvalidInput(f"a tail moves by a shift between 0 and {_LARGEST_SHIFT}, found {short(shift)}")
    return moved


def probability(value: Number, name: str) -> Fraction:
    """A number in [0, 1] as it was written."""
    number = as_written(value, name)
    if not 0 <= number <= 1:
        raise InvalidInput(f"{name} lies in [0, 1], found {short(value)}")
    return number


def tails(tail: str) -> tuple[str, ...]:
    """The sides that a word stands for."""
    sides = {"right": ("right",), "left": ("left",), "both": ("right", "left")}
    return sides[one_of(tail, tuple(sides), "the tail")]
