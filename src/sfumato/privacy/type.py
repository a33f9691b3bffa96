"""Privacy types: a space and how fast two secrets may become distinguishable."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log, log1p
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import precision
from sfumato.errors import InvalidEpsilon, InvalidInput, expect, shown
from sfumato.numbers import Number, as_ball, exp_bounds, log_bounds
from sfumato.privacy.promise import LARGEST_PARAMETER, promise, rational_power
from sfumato.spaces.axioms import INFINITE
from sfumato.spaces.box import Box, as_box
from sfumato.spaces.distances import Distances, Form
from sfumato.spaces.finite import FiniteSpace
from sfumato.spaces.space import Space

_SMALLEST_EPSILON = Fraction(1, 10**300)  # This and its inverse are within the range of floats.


@dataclass(frozen=True, eq=False, repr=False, init=False)
class PrivacyType:
    """All mechanisms with M(x)(y) ≤ e^{ε d(x, x′)} M(x′)(y) for all secrets and outputs.

    Parameters
    ----------
    space
        Where the secrets live: a finite space, or a box of coordinates (:func:`sfumato.spaces.box.box`).
    epsilon
        ε > 0 for each unit of distance. A float means the shortest decimal that prints it, 0.7 is 7/10; a string such
        as ``"1/3"`` or ``"ln(2)/30"`` means what it says (:mod:`sfumato.privacy.promise`).
    alpha
        Instead of ε: the rational α = e^{−ε} in (0, 1). With integer distances every bound
        is then rational and everything stays exact.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> privacy = PrivacyType(line(3), alpha="1/2")
    >>> privacy
    PrivacyType(line(3), alpha=1/2)
    >>> privacy.factor(0, 2)
    (Fraction(4, 1), Fraction(4, 1))
    >>> PrivacyType(line(3), epsilon="ln(2)/0.5")
    PrivacyType(line(3), alpha=1/4)
    """

    space: FiniteSpace
    epsilon: Fraction | None
    alpha: Fraction | None

    def __init__(self, space: FiniteSpace | Box, epsilon: Number | None = None, alpha: Number | None = None) -> None:
        if not isinstance(space, Space):
            raise InvalidInput(f"a privacy type needs a FiniteSpace or a Box, found {shown(space)}")
        rate, base = promise(epsilon, alpha)
        if rate is not None and rate <= 0:
            raise InvalidEpsilon(f"epsilon must be positive, found {shown(epsilon)}")
        if rate is not None and not _SMALLEST_EPSILON <= rate <= 1 / _SMALLEST_EPSILON:
            raise InvalidEpsilon("epsilon must lie between 1e-300 and 1e300")
        for value in (rate, base):
            if value is not None and value.denominator.bit_length() > LARGEST_PARAMETER:
                raise InvalidEpsilon(f"a promise of more than {LARGEST_PARAMETER} bits cannot be written down")
        if base is not None and not 0 < base < 1:
            raise InvalidEpsilon(f"alpha lies strictly between 0 and 1, found {shown(alpha)}")
        vars(self).update(space=space, epsilon=rate, alpha=base)

    def __repr__(self) -> str:
        promise = f"epsilon={self.rate:g}" if self.alpha is None else f"alpha={self.alpha}"
        return f"PrivacyType({self.space.name}, {promise}{self.space.per})"

    @property
    def secrets(self) -> tuple[Any, ...]:
        """The labels of the space."""
        return self.space.labels

    @cached_property
    def rate(self) -> float:
        """ε per unit of distance, as a float."""
        if self.alpha is not None:
            if self.alpha > Fraction(1, 2):
                return -log1p(-float(1 - self.alpha))  # the difference of logarithms would cancel
            return log(self.alpha.denominator) - log(self.alpha.numerator)
        return float(self.epsilon or 0)

    def rate_bounds(self, bits: int) -> tuple[Fraction, Fraction]:
        """Rationals around ε."""
        bits = precision(bits)
        if self.epsilon is not None:
            return self.epsilon, self.epsilon
        assert self.alpha is not None
        return log_bounds(1 / self.alpha, bits)

    @cached_property
    def log_bounds(self) -> NDArray[np.float64]:
        """The table ε·d(x, x′) in floats: good for searching, not for proving."""
        return np.asarray(self.rate * self.space.distances.floats)

    @cached_property
    def exact(self) -> bool:
        """Whether every bound e^{ε d} between secrets at finite distance is rational."""
        if self.alpha is None:
            return False
        table = self.space.ruler
        if table.form is Form.FLOAT:
            return False
        values = np.unique(table.values)
        return all(self.exact_factor(v) is not None for v in values if v != INFINITE)

    def factor(self, x: Any, z: Any, bits: int = 64) -> tuple[Fraction, Fraction]:
        """Rationals around e^{ε d(x, z)}, equal when it is rational itself."""
        space = self.space
        where = space.index(x), space.index(z)
        if space.distances.infinite[where]:
            raise InvalidInput(f"{shown(x)} and {shown(z)} are infinitely far apart: nothing bounds their ratio")
        return self.factor_bounds(space.distances.values[where], bits)

    def exact_factor(self, value: Any) -> Fraction | None:
        """e^{ε d} for one entry of the table of distances if that is a rational, else None."""
        low, high = self.space.ruler.bounds(value)
        if low != high or self.alpha is None:
            return Fraction(1) if high == 0 else None
        if self.space.ruler.form is Form.FLOAT and low.denominator != 1:
            return None  # a measured distance; the kernel takes whole ones exactly, and so do we
        return rational_power(1 / self.alpha, low)

    def factor_bounds(self, value: Any, bits: int = 64) -> tuple[Fraction, Fraction]:
        """Rationals p ≤ e^{ε d} ≤ P for one entry of the table of distances, P/p − 1 ≤ 2^(2 − bits)."""
        bits, rational = precision(bits), self.exact_factor(value)
        if rational is not None:
            return rational, rational
        working = bits + 8
        while True:
            distance = self.space.ruler.bounds(value, working)
            rates = self.rate_bounds(working)
            low = exp_bounds(rates[0] * distance[0], working)[0]
            high = exp_bounds(rates[1] * distance[1], working)[1]
            if (high - low) * 2 ** (bits - 2) <= low:
                return low, high
            working *= 2


def as_type(privacy: Any) -> PrivacyType:
    """The promise on a finite space, or an error that says how to make one."""
    found = expect(privacy, PrivacyType, "a promise", "PrivacyType(space, epsilon=…)")
    found.space.as_list()
    return found


def as_box_type(privacy: Any) -> tuple[PrivacyType, Box]:
    """The promise about the points of a box, and the box."""
    found = expect(privacy, PrivacyType, "a promise", "PrivacyType makes one of a box and ε")
    return found, as_box(found.space)


def ball_rate(privacy: PrivacyType) -> flint.arb:
    """ε as a ball of the current precision."""
    if privacy.epsilon is not None:
        return as_ball(privacy.epsilon)
    assert privacy.alpha is not None
    return -as_ball(privacy.alpha).log()


def distance_ball(table: Distances, value: Any) -> flint.arb:
    """The distance that one entry of a table stands for, as a ball of the current precision."""
    number = flint.arb(float(value) if table.form is Form.FLOAT else int(value))
    return as_ball(table.unit) * (number.sqrt() if table.form is Form.ROOT else number)
