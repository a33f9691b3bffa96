"""The rays of a privacy type as numbers one can decide with.

Entry x of ray i is a product of powers β_k^e of the symbols β_k = e^{ε s_k}, one for each independent distance
(see :mod:`sfumato.privacy.vertices`). Whether a determinant of such entries is zero, and which sign it has,
is what enumeration of kernels comes down to. Three views of one ray answer that together:

- *floats* with a proven error, which settle nearly every sign;
- *integers*: if every bound is rational the entries are, after scaling, integers. A few irrational symbols are
  each replaced by a power of one number so large that different polynomials take different values, and a
  determinant that is zero there is zero as a polynomial; with many symbols the polynomials are expanded;
- *balls* of any precision, for the sign of what is not zero.

When ε is rational the symbols are algebraically independent (Lindemann and Weierstrass), and so is a single
irrational power of a rational α (Gelfond and Schneider): then a determinant is zero exactly if it is zero as a
polynomial. Otherwise, for several irrational symbols or measured distances, a determinant that is not zero as a
polynomial must be shown to be nonzero by a ball, or the answer is undecided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import factorial
from operator import mul

import flint
import numpy as np
from numpy.typing import NDArray

from sfumato.errors import UndecidedError
from sfumato.numbers import Array, as_ball, object_array
from sfumato.privacy.promise import rational_power
from sfumato.privacy.type import ball_rate
from sfumato.privacy.vertices import Vertices
from sfumato.spaces.distances import Form

# An entry is at most 1 and rounded once from a ball of radius below 2^-60, so it is right to this.
FLOAT_ERROR = 2.0**-52

_ALL = Fraction(1)
_LARGEST_ENTRY = 2**11  # An integer that stands for an irrational entry has at most so many bits.
_BALL_BITS = 128  # The search for a sign starts with balls of so many bits.
# The search for a sign ends with balls of so many bits: numbers that agree so far are left undecided.
_MOST_BALL_BITS = 4096


@dataclass(frozen=True, eq=False)
class Rays:
    """Entries Π_k β_k^exponents[i, x, k], exponents ≥ 0; the symbol 0 is the rational ``base`` if there is one.

    ``complete`` says that a nonzero polynomial is a nonzero number.
    """

    vertices: Vertices
    exponents: NDArray[np.int64]
    base: Fraction | None
    complete: bool

    def __len__(self) -> int:
        return len(self.exponents)

    @property
    def rational(self) -> bool:
        """Whether the integers are the entries themselves, up to scaling."""
        return self.base is not None and self.exponents.shape[2] == 1

    @cached_property
    def integers(self) -> Array | None:
        """Secrets × rays: the entries, or their values where irrational symbols are replaced by large integers.

        None if these would be too large.
        """
        count, n, symbols = self.exponents.shape
        first = 0 if self.base is None else 1
        base = Fraction(1) if self.base is None else self.base
        tops = self.exponents.max(axis=(1, 2), initial=0)
        # a determinant of n rows of differences has coefficients of at most this in total
        step = 1 if self.base is None else max(base.numerator, base.denominator) ** int(tops.max(initial=0))
        coefficients = 2 * factorial(n) * (2 * step) ** n
        substitutes, power = [], 1
        for k in range(first, symbols):
            substitutes.append((coefficients.bit_length(), power))
            power *= n * int(self.exponents[:, :, k].max(initial=0)) + 1
        if substitutes and coefficients.bit_length() * power > _LARGEST_ENTRY:
            return None
        columns = []
        for ray in self.exponents.tolist():
            top = max(row[0] for row in ray)
            columns += [
                (base.numerator ** row[0] * base.denominator ** (top - row[0]) if first else 1)
                << sum(e * bits * place for e, (bits, place) in zip(row[first:], substitutes, strict=True))
                for row in ray
            ]
        return object_array(columns, (count, n)).T

    @cached_property
    def equations(self) -> Array | None:
        """Row x says "as much at secret x + 1 as at secret 0": differences of the integers."""
        table = self.integers
        return None if table is None else np.asarray(table[1:] - table[:1])

    @cached_property
    def floats(self) -> NDArray[np.float64]:
        """Secrets × rays, each ray at most 1; every entry right to :data:`FLOAT_ERROR`."""
        count, n, _ = self.exponents.shape
        balls = self.balls(range(count), _BALL_BITS)
        return np.array([[float(v.mid()) for v in ray] for ray in balls]).reshape(count, n).T

    def balls(self, which: Sequence[int], bits: int, part: Fraction = _ALL) -> list[list[flint.arb]]:
        """The given rays, maximum 1, as enclosures: one list for each ray; those of a part of the rate where asked."""
        logarithms = _logarithms(self.vertices, bits)
        with flint.ctx.workprec(bits):
            logarithms = [as_ball(part) * logarithm for logarithm in logarithms]
            result = []
            for i in which:
                heights = self.vertices.heights[i]
                top = self.exponents[i, int(heights.argmax())]
                drops = (self.exponents[i] - top).tolist()
                result.append([sum(map(mul, drop, logarithms), flint.arb(0)).exp() for drop in drops])
            return result

    def vanishes(self, rows: Sequence[int], columns: Sequence[int]) -> bool:
        """Whether a minor of the equations is zero as a polynomial in the symbols, by expanding it."""
        names = [f"s{k}" for k in range(self.exponents.shape[2])]
        ring = flint.fmpz_mpoly_ctx.get(names)
        entries = [
            [ring.from_dict({tuple(a): 1}) - ring.from_dict({tuple(b): 1}) for a, b in zip(above, start, strict=True)]
            for above, start in (
                (self.exponents[columns, x + 1].tolist(), self.exponents[columns, 0].tolist()) for x in rows
            )
        ]
        minors = {0: ring.from_dict({(0,) * len(names): 1})}  # of the first rows, by the set of columns they use
        for row in entries:
            grown: dict[int, flint.fmpz_mpoly] = {}
            for used, minor in minors.items():
                for c, entry in enumerate(row):
                    if not used >> c & 1:
                        term = entry * minor if (used >> c).bit_count() % 2 == 0 else -entry * minor
                        key = used | 1 << c
                        grown[key] = grown[key] + term if key in grown else term
            minors = grown
        return all(minor == 0 for minor in minors.values())

    def sign(self, rows: Sequence[int], columns: Sequence[int]) -> int:
        """The sign of a minor of the equations, which is known not to vanish."""
        if self.rational:
            assert self.equations is not None
            table = self.equations[np.ix_(list(rows), list(columns))]
            value = flint.fmpz_mat([[int(v) for v in row] for row in table]).det()
            return int(value > 0) - int(value < 0)
        bits = _BALL_BITS
        while bits <= _MOST_BALL_BITS:
            rays = self.balls(columns, bits)
            with flint.ctx.workprec(bits):
                value = flint.arb_mat([[ray[x + 1] - ray[0] for ray in rays] for x in rows]).det()
            if value > 0 or value < 0:
                return 1 if value > 0 else -1
            bits *= 2
        raise UndecidedError(
            f"a determinant of {len(columns)} rays is smaller than 2^-{bits // 2}: it may be zero or not"
        )


def rays_of(corners: Vertices) -> Rays:
    """The rays of all vertices."""
    privacy = corners.privacy
    ruler = privacy.space.distances
    heights = corners.coefficients
    exponents = heights - heights.min(axis=1, keepdims=True)
    base = None
    if privacy.alpha is not None and ruler.form is not Form.FLOAT:  # the first radical is 1
        base = rational_power(1 / privacy.alpha, ruler.unit)
    irrational = exponents.any(axis=(0, 1))[0 if base is None else 1 :]
    if ruler.form is Form.FLOAT:
        complete = False
    elif privacy.epsilon is not None:
        complete = True
    else:  # α^u for an irrational u; a root of α is algebraic and may satisfy an equation by itself
        complete = int(irrational.sum()) <= 1 and not (base is None and irrational[0])
    return Rays(corners, exponents, base, complete)


def _logarithms(corners: Vertices, bits: int) -> list[flint.arb]:
    """ε · s_k for every symbol."""
    privacy = corners.privacy
    distances = privacy.space.distances
    with flint.ctx.workprec(bits + 16):
        rate = ball_rate(privacy)
        if distances.form is Form.FLOAT:
            return [rate * as_ball(Fraction(float(s))) for s in corners.symbols]
        unit = as_ball(distances.unit)
        return [rate * unit * flint.arb(radical).sqrt() for radical in corners.radicals]
