"""The set of ε where z ≥ 0, exactly, for spaces with commensurable distances.

With t = e^{−ε·length} the matrix of a quotient has polynomial entries, so det and z_i · det are integer polynomials in
t. Their irreducible factors have finitely many roots in (0, 1), isolated by Descartes' rule; between two of them
no sign changes. The set is closed, since z stays below 1 and limits of solutions are solutions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from itertools import chain, pairwise
from math import gcd, isqrt, lcm
from typing import Any

import flint
import numpy as np

from sfumato.arguments import integer
from sfumato.numbers import as_ball, dyadic, fmpq
from sfumato.privacy.promise import rational_power
from sfumato.privacy.similarity import Quotient
from sfumato.spaces.distances import Distances, Form

_MOST_DECIMALS = 4000  # Python prints no more digits of an integer.


@dataclass(frozen=True)
class Endpoint:
    """A value of ε between two rationals; ``alpha`` is e^{−ε} where that is rational."""

    low: Fraction
    high: Fraction
    alpha: Fraction | None = None

    def __float__(self) -> float:
        return float((self.low + self.high) / 2)

    def decimal(self, digits: int) -> str:
        """The value with the given number of decimals."""
        digits = integer(digits, "digits", 0, _MOST_DECIMALS)
        units = str(round((self.low + self.high) / 2 * 10**digits)).rjust(digits + 1, "0")
        return units if digits == 0 else f"{units[:-digits]}.{units[-digits:]}"


@dataclass(frozen=True)
class Stretch:
    """All ε from ``low`` to ``high``, ends included (0 excepted); no end where ``high`` is None."""

    low: Endpoint
    high: Endpoint | None


@dataclass(frozen=True)
class CommonLength:
    """Distances as integer multiples of one length; −1 stands for infinity."""

    exponents: list[int]
    length: Callable[[], flint.arb]
    rational: Fraction | None


def commensurable(system: Quotient) -> CommonLength | None:
    """Distances as multiples of their greatest common divisor, if there is one and they are exact."""
    table = system.space.distances
    if table.form is Form.FLOAT:
        return None
    far = Distances(table.form, np.array(system.values)).infinite
    squares = [int(v) if table.form is Form.ROOT else int(v) ** 2 for v in system.values[~far]]
    least = min((v for v in squares if v), default=1)
    roots = [isqrt(v * least) for v in squares]
    if any(r * r != v * least for r, v in zip(roots, squares, strict=True)):
        return None
    step, whole = gcd(*roots) or 1, isqrt(least)  # √v = roots / √least
    scale = table.unit * step
    finite = iter(roots)
    exponents = [-1 if f else next(finite) // step for f in far]
    rational = scale / whole if whole * whole == least else None
    return CommonLength(exponents, lambda: as_ball(scale) / flint.arb(least).sqrt(), rational)


@dataclass
class _Root:
    """A root of an irreducible polynomial, the only one in (low, high); low = high where it is rational."""

    polynomial: Any
    low: Fraction
    high: Fraction

    def halve(self) -> None:
        if self.low == self.high:
            return
        middle = (self.low + self.high) / 2
        rises = self.polynomial(fmpq(self.high)) > 0
        if (self.polynomial(fmpq(middle)) > 0) == rises:
            self.high = middle
        else:
            self.low = middle


def algebraic_stretches(
    system: Quotient, steps: CommonLength, rhs: list[Fraction], digits: int
) -> tuple[tuple[Stretch, ...], tuple[Endpoint, ...]]:
    """All ε > 0 for which B has a solution v ≥ 0, and the single ε at which that is not settled.

    The latter can only be zeros of det at which all z_i · det vanish too, with a limit of z that is not
    non-negative: there other solutions may exist.
    """
    given = _fraction_free(system, steps.exponents, rhs)
    shared = reduce(lambda p, q: p.gcd(q), given)
    polynomials = [p // shared for p in given]
    parts = [[factor for factor, _ in p.factor()[1]] for p in (*polynomials, shared)]
    factors: list[Any] = []
    for factor in chain.from_iterable(parts):
        if factor not in factors:  # polynomials have no hash
            factors.append(factor)
    roots = [_Root(factor, *ends) for factor in factors for ends in _roots_in_unit(factor)]
    _separate(roots)
    ends: list[Fraction | _Root] = [Fraction(1), *roots, Fraction(0)]  # from ε = 0 up
    gaps = [_signs(polynomials, _between(above, below)) for above, below in pairwise(ends)]
    inside = [_non_negative(signs) for signs in gaps]
    on_root = []
    for k, root in enumerate(roots):
        # at a root of one factor all polynomials without it keep the sign they have beside it
        there = [0 if root.polynomial in part else sign for part, sign in zip(parts, gaps[k], strict=False)]
        on_root.append(inside[k] or inside[k + 1] or _non_negative(there))
    doubtful = [r for r, member in zip(roots, on_root, strict=True) if not member and r.polynomial in parts[-1]]
    stretches = _stretches([partial(_endpoint_of, root, steps, digits) for root in roots], inside, on_root)
    return stretches, tuple(_endpoint_of(root, steps, digits) for root in doubtful)


def _signs(polynomials: list[Any], point: Fraction) -> list[int]:
    values = [polynomial(fmpq(point)) for polynomial in polynomials]
    return [int(value > 0) - int(value < 0) for value in values]


def _non_negative(signs: list[int]) -> bool:
    """Whether all z_i ≥ 0, given the signs of det and of z_i · det; False where det is 0."""
    return signs[0] != 0 and all(sign * signs[0] >= 0 for sign in signs[1:])


def _fraction_free(system: Quotient, exponents: list[int], rhs: list[Fraction]) -> list[Any]:
    """det B, and det B · B^{-1} rhs behind it, as integer polynomials up to a positive factor (Bareiss, Jordan).

    At t = 0 the matrix is the identity, so no leading minor vanishes and no row is exchanged.
    """
    m = len(system)
    powers = [flint.fmpz_poly([0] * max(e, 0) + [int(e >= 0)]) for e in exponents]
    entries = system.entries(powers, flint.fmpz_poly([]))
    common = lcm(*(b.denominator for b in rhs))
    table = [
        [*entries[i * m : (i + 1) * m], flint.fmpz_poly([int(b * common)])] for i, b in enumerate(rhs)
    ]  # the solution is scaled by the common denominator, which no sign sees
    before = flint.fmpz_poly([1])
    for k in range(m):
        pivot, row = table[k][k], table[k]
        for i in range(m):
            if i != k:
                factor = table[i][k]
                # columns left of k are done: they hold the pivot on the diagonal and zeros elsewhere
                table[i][k:] = [(pivot * a - factor * b) // before for a, b in zip(table[i][k:], row[k:], strict=True)]
        before = pivot
    return [before, *(row[m] for row in table)]


def _on_unit(polynomial: Any, low: Fraction, high: Fraction) -> Any:
    """A positive multiple of x ↦ polynomial(low + (high − low) x), with integer coefficients."""
    moved = flint.fmpq_poly(polynomial)(flint.fmpq_poly([fmpq(low), fmpq(high - low)]))
    return moved.numer()


def _count_roots(polynomial: Any) -> int:
    """Descartes' bound on the roots in (0, 1): 0 and 1 are exact."""
    turned = flint.fmpz_poly(polynomial.coeffs()[::-1])(flint.fmpz_poly([1, 1]))
    signs = [c > 0 for c in turned.coeffs() if c != 0]
    return sum(a != b for a, b in pairwise(signs))


def _roots_in_unit(factor: Any) -> list[tuple[Fraction, Fraction]]:
    """Isolating intervals of the roots in (0, 1) of an irreducible polynomial (Vincent, Collins and Akritas)."""
    if factor.degree() == 1:
        constant, slope = (int(c) for c in factor.coeffs())
        root = Fraction(-constant, slope)
        return [(root, root)] if 0 < root < 1 else []
    intervals = []
    waiting = [(Fraction(0), Fraction(1))]
    while waiting:
        low, high = waiting.pop()
        count = _count_roots(_on_unit(factor, low, high))
        if count == 1:
            intervals.append((low, high))
        elif count:
            middle = (low + high) / 2
            waiting += [(low, middle), (middle, high)]
    return intervals


def _separate(roots: list[_Root]) -> None:
    """Shrink the intervals until they are disjoint, and sort by falling t, which is rising ε."""
    while True:
        roots.sort(key=lambda r: (r.high, r.low), reverse=True)
        touching = [(a, b) for a, b in pairwise(roots) if b.high >= a.low]
        if not touching and all(r.low > 0 and r.high < 1 for r in roots):
            return
        for root in {id(r): r for pair in touching for r in pair}.values():
            root.halve()
        for root in roots:
            if root.low <= 0 or root.high >= 1:
                root.halve()


def _between(above: Fraction | _Root, below: Fraction | _Root) -> Fraction:
    top = above.low if isinstance(above, _Root) else above
    bottom = below.high if isinstance(below, _Root) else below
    return (top + bottom) / 2


def _stretches(
    points: Sequence[Callable[[], Endpoint]], inside: list[bool], on_root: list[bool]
) -> tuple[Stretch, ...]:
    """Join gaps and points where the mechanism exists; only the ends of stretches are computed to their digits."""
    result: list[Stretch] = []
    start = Endpoint(Fraction(0), Fraction(0)) if inside[0] else None
    for k, point in enumerate(points):
        if start is None and on_root[k]:
            start = point()
        if start is not None and not inside[k + 1]:
            result.append(Stretch(start, point()))
            start = None
    assert start is not None  # for large ε the mechanism always exists
    return (*result, Stretch(start, None))


def _endpoint_of(root: _Root, steps: CommonLength, digits: int) -> Endpoint:
    """ε = −ln t / length to the digits asked for."""
    while True:
        end = ball_endpoint(root.low, root.high, steps.length, digits, steps.rational)
        if (end.high - end.low) * 20 * 10**digits <= 1:  # a digit more, so that those shown are right
            return end
        for _ in range(16):
            root.halve()


def ball_endpoint(
    low: Fraction, high: Fraction, length: Callable[[], flint.arb], digits: int, rational: Fraction | None
) -> Endpoint:
    """ε = −ln t / length for t between ``low`` and ``high``; e^{−ε} too where both are rational."""
    with flint.ctx.workprec(64 + 4 * digits):
        near, far = (-as_ball(t).log() / length() for t in (high, low))
        ends = dyadic(near.lower()), dyadic(far.upper())
    alpha = None
    if low == high and rational is not None:
        alpha = rational_power(low, 1 / rational)
    return Endpoint(*ends, alpha)
