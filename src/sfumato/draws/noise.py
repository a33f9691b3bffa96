"""Noise on the integers that falls by one factor for each step: exact draws from masses that are real numbers.

**Real masses.** Let p_j be real numbers with the sum 1, known by integers below 2^bits·p_j to any number of bits. An
:class:`EnclosedTable` draws j with such integers as weights, and a *rest* with what they leave of 2^bits. In the rest,
which is a few units of 2^-62, the weights are worked out to 64 more bits, and what they have gained is drawn in
proportion; again there is a rest, and so on. The chance of j is the sum of all that was gained: p_j, exactly. The
bounds come from ball arithmetic, so e^{−γ} needs no Bernoulli trials (Canonne, Kamath and Steinke 2020 draw from
the same distribution with those).

**Geometric noise.** G with P(G = g) = (1 − β)β^g has independent digits: G = R + B·Q, where P(R = r) ∝ β^r on
0, …, B − 1 and Q is geometric with β^B in place of β. So a table of B entries for each digit is enough, however slowly
the noise falls; the number of digits is fixed by β. The last one has an entry for "B or more", of chance 2^-40 or less,
after which it is drawn once more and B is added.

**Two sides.** With a sign, noise is G ≥ 0 with probability ρ and −1 − G otherwise. ρ = 1/(1 + β) makes it two-sided
geometric, P(k) = β^|k|(1 − β)/(1 + β). ρ = 1/2 makes it ⌊L⌋ for Laplace noise L with P(|L| > t) = β^t: that is how the
truncated Laplace mechanism is drawn when only the pixel of its output is told.

**Staircases** fall once in Δ steps: r high steps and Δ − r low ones, b = e^{−ε} times as high. The value kΔ + s, s < Δ,
has the weight b^k·b^[s ≥ r], the value −(kΔ + s + 1) the weight b^k·b^[s + 1 ≥ r]: so k is geometric, and the side with
s is drawn from a table of 2Δ entries, whatever k is.

Noise is independent of the secret, and so is all the work it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np

from sfumato.draws.alias import AliasTables, alias_tables
from sfumato.draws.randomness import Lane, Stream
from sfumato.errors import NotSupported
from sfumato.numbers import Integers, as_ball, dyadic

WEIGHT_BITS = 62
"""Binary digits of the weights that a table of real masses begins with."""

DIGIT_SIZES = (1022, 2046)
"""Values of the first digit, which with a sign, "more" and the rest fit 2^11 entries, and of further ones."""

_LAST_DIGIT_EXPONENT = 28  # e^-28 < 2^-40: the chance of "more" at the last digit
_SMALLEST_RATE = Fraction(1, 1 << 40)  # noise then stays below 2^62 but with a chance below e^{-2^21}
_LARGEST_NOISE = 1 << 62
_WIDEST_PERIOD = 1 << 16  # steps of a period: its table has twice as many entries
_LONGEST_SHOWN = 24  # letters of a rate that are printed exactly
_GUARD = 64  # bits beyond the wanted ones: 2^11 products and a few sums lose 13


@dataclass(frozen=True, eq=False)
class EnclosedTable:
    """A table for masses that are real numbers; made by :func:`enclosed_table`."""

    masses: Digit
    bits: int
    tables: AliasTables

    def draw(self, stream: Stream, lanes: Integers, number: int) -> Integers:
        """The index of a mass for each lane, with word ``number`` and, rarely, further ones."""
        drawn = self.tables.draw(np.zeros(len(lanes), dtype=np.int64), stream, lanes, number)
        rest = self.tables.weights.shape[1] - 1
        for k in np.flatnonzero(drawn == rest).tolist():
            drawn[k] = self._in_the_rest(Lane(stream, int(lanes[k]), number))
        return drawn

    def one(self, lane: Lane) -> int:
        """One index, with the words of a lane."""
        index = _hit(self.tables.weights[0].tolist(), lane.below(1 << self.bits))
        return index if index < self.tables.weights.shape[1] - 1 else self._in_the_rest(lane)

    def _in_the_rest(self, lane: Lane) -> int:
        *known, rest = (int(w) for w in self.tables.weights[0])
        bits = self.bits
        while True:
            bits += 64
            finer = [max(w << 64, v) for w, v in zip(known, self.masses.below(bits), strict=True)]
            gained = [v - (w << 64) for w, v in zip(known, finer, strict=True)]
            rest <<= 64
            index = _hit(gained, lane.below(rest))
            if index < len(gained):
                return index
            known, rest = finer, rest - sum(gained)


def _hit(parts: list[int], place: int) -> int:
    """The part that a place lies in when they are laid end to end, their number if it lies beyond."""
    for index, part in enumerate(parts):
        if place < part:
            return index
        place -= part
    return len(parts)


def enclosed_table(masses: Digit, bits: int = WEIGHT_BITS) -> EnclosedTable:
    """A table that begins with weights of so many bits; few of them make the rest frequent, as tests want it."""
    known = masses.below(bits)
    weights = np.array([[*known, (1 << bits) - sum(known)]], dtype=np.int64)
    return EnclosedTable(masses, bits, alias_tables(weights, 1 << bits))


# ----------------------------------------------------------------- geometric digits


@dataclass(frozen=True)
class Rate:
    """γ > 0: ``times`` ε, or ``times`` −ln α, for rational ε or α."""

    epsilon: Fraction | None
    alpha: Fraction | None
    times: Fraction = Fraction(1)

    def ball(self) -> flint.arb:
        """γ as a ball of the current precision."""
        once = -as_ball(self.alpha).log() if self.alpha is not None else as_ball(self.epsilon or 0)
        return once * as_ball(self.times)

    def at_least(self, bound: Fraction) -> bool:
        """Whether γ is at least this, as far as 128 bits can tell."""
        with flint.ctx.workprec(128):
            return bool(self.ball() >= as_ball(bound))

    def scaled(self, factor: int) -> Rate:
        """γ·factor."""
        return Rate(self.epsilon, self.alpha, self.times * factor)

    @property
    def name(self) -> str:
        """ε or α, in words."""
        word, value = ("epsilon", self.epsilon) if self.epsilon is not None else ("alpha", self.alpha)
        text = str(value)
        return f"{word}={text if value is None or len(text) <= _LONGEST_SHOWN else f'{float(value):.12g}'}"


@dataclass(frozen=True)
class Digit:
    """The masses of R, R < size; the last digit has one more for "size or more", others are given R < size.

    With a sign, masses 2r and 2r + 1 are those of r with either sign; ``fair`` says ρ = 1/2, otherwise ρ = 1/(1 + β).
    """

    rate: Rate
    size: int
    last: bool
    signed: bool = False
    fair: bool = False

    def below(self, bits: int) -> list[int]:
        """Integers not above 2^bits times the masses, off by a few units; their sum is at most 2^bits."""
        with flint.ctx.workprec(bits + _GUARD):
            rate = self.rate.ball()
            falls, never = (-rate).exp(), -((-rate * self.size).expm1())
            mass = -((-rate).expm1()) * flint.arb(2) ** bits
            if not self.last:
                mass /= never
            shares = [flint.arb(1)]
            if self.signed:
                positive = flint.arb(1) / 2 if self.fair else 1 / (1 + falls)
                shares = [positive, 1 - positive]
            result = []
            for _ in range(self.size):
                result += [_floor(mass * share) for share in shares]
                mass *= falls
            if self.last:
                more = (-rate * self.size).exp() * flint.arb(2) ** bits
                result += [_floor(more * share) for share in shares]
        return result


def _floor(ball: flint.arb) -> int:
    if not ball >= 1:  # e^{−10^300} has more digits than any memory, and a floor that needs none of them
        return 0
    below = dyadic(ball.lower())
    return below.numerator // below.denominator


@dataclass(frozen=True, eq=False)
class Noise:
    """Noise of two sides, one table for each digit; made by :func:`noise`."""

    rate: Rate
    fair: bool
    sizes: tuple[int, ...]
    digits: tuple[EnclosedTable, ...]

    @property
    def name(self) -> str:
        """How fast it falls."""
        return self.rate.name

    def identity(self) -> bytes:
        """The rate and the kind of sign, which is all there is."""
        return f"{self.rate!r} {self.fair}".encode()

    @property
    def words(self) -> int:
        """Words of a lane that a draw takes."""
        return len(self.digits)

    def draw(self, stream: Stream, lanes: Integers, first: int = 0) -> Integers:
        """One value for each lane, with its words from number ``first`` on."""
        drawn = self.digits[0].draw(stream, lanes, first)
        size, value = self.sizes[0], drawn >> 1
        negative = drawn & 1
        for place, (table, more) in enumerate(zip(self.digits[1:], self.sizes[1:], strict=True), first + 1):
            drawn = table.draw(stream, lanes, place)
            value += drawn * size
            size *= more
        for k in np.flatnonzero(drawn >= self.digits[-1].tables.weights.shape[1] - 1 - self._more).tolist():
            lane = Lane(stream, int(lanes[k]), first + self.words - 1, again=True)
            value[k] += self._beyond(lane) * (size // self.sizes[-1])
        return np.asarray(value ^ -negative)

    @property
    def _more(self) -> int:
        """Entries of the last table that say "or more"."""
        return 2 if self.words == 1 else 1

    def _beyond(self, lane: Lane) -> int:
        """What is added to the last digit when it was at its end: it is drawn again as often as that happens again."""
        table, size = self.digits[-1], self.sizes[-1]
        value, drawn = 0, size
        while drawn == size:
            drawn = table.one(lane) // self._more
            value += drawn
            if value > _LARGEST_NOISE // 2:
                raise OverflowError("noise beyond 2^61")
        return value


def noise(rate: Rate, *, fair: bool, bits: int = WEIGHT_BITS, sizes: tuple[int, int] = DIGIT_SIZES) -> Noise:
    """Two-sided noise that falls by e^{−γ} a step.

    Parameters
    ----------
    fair
        False for two-sided geometric noise, True for Laplace noise rounded down.
    bits, sizes
        Of the tables and their digits; small ones are for tests.

    Examples
    --------
    >>> steep = noise(Rate(Fraction(1, 2), None), fair=False)
    >>> steep.words, noise(Rate(Fraction(1, 1000), None), fair=False).words
    (1, 2)
    """
    if not rate.at_least(_SMALLEST_RATE):
        raise NotSupported("noise that falls by less than 2^-40 a step", [f"rates of at least {_SMALLEST_RATE}"])
    digits: list[EnclosedTable] = []
    used: list[int] = []
    size, step = sizes[0], rate
    while True:
        last = step.at_least(Fraction(_LAST_DIGIT_EXPONENT, size))
        head = not digits
        digits.append(enclosed_table(Digit(step, size, last, signed=head, fair=fair and head), bits))
        used.append(size)
        if last:
            return Noise(rate, fair, tuple(used), tuple(digits))
        step, size = step.scaled(size), sizes[1]


# ----------------------------------------------------------------- staircases


@dataclass(frozen=True, eq=False)
class StaircaseNoise:
    """Noise of two sides that falls by ``decay`` once in ``width`` steps; made by :func:`staircase_noise`."""

    decay: Fraction
    width: int
    high: int
    periods: Noise
    offsets: AliasTables

    @property
    def name(self) -> str:
        """How fast it falls, and in which steps."""
        return f"{Rate(None, self.decay).name} in periods of {self.width}"

    def identity(self) -> bytes:
        """The three parameters."""
        return f"staircase {self.decay} {self.width} {self.high}".encode()

    def draw(self, stream: Stream, lanes: Integers, first: int = 0) -> Integers:
        """One value for each lane, with its words from number ``first`` on."""
        either = self.periods.draw(stream, lanes, first)
        period = either ^ (either >> 63)  # G and −1 − G have one G, whichever side they are on
        if period.size and int(period.max()) >= _LARGEST_NOISE // self.width - 1:
            raise OverflowError("noise beyond 2^61")
        entry = self.offsets.draw(np.zeros(len(lanes), dtype=np.int64), stream, lanes, first + self.periods.words)
        left = entry >= self.width
        value = period * self.width + np.where(left, entry - self.width, entry)
        return np.asarray(value ^ -left.astype(np.int64))


def staircase_noise(decay: Fraction, width: int, high: int) -> StaircaseNoise:
    """The discrete staircase distribution of Geng and Viswanath, exactly.

    Examples
    --------
    >>> staircase_noise(Fraction(1, 4), 3, 1).offsets
    AliasTables(1 rows of 6 weights, 64 bits a draw or more)
    """
    if width > _WIDEST_PERIOD:
        raise NotSupported(f"draws from a staircase with periods of {width}", [f"periods of at most {_WIDEST_PERIOD}"])
    if not Rate(None, decay).at_least(_SMALLEST_RATE * width):
        raise NotSupported("noise that falls by less than 2^-40 a step", [f"rates of at least {_SMALLEST_RATE}"])
    low, full = decay.as_integer_ratio()
    steps = [full] * high + [low] * (width - high), [full] * (high - 1) + [low] * (width - high + 1)
    total = sum(map(sum, steps))
    weights = np.array([[*steps[0], *steps[1]]], dtype=np.int64 if total < 1 << 63 else object)
    return StaircaseNoise(decay, width, high, noise(Rate(None, decay), fair=True), alias_tables(weights, total))
