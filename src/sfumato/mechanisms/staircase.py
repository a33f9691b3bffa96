"""Integer noise for answers of which one individual moves up to Δ: the staircase, and geometric noise stretched by Δ.

Sums over individuals with values 0, …, Δ have the metric d(x, z) = ⌈|x − z| / Δ⌉. Noise that falls by e^{−ε} once in Δ
steps keeps the promise ε·d, however it falls within them, as long as it never falls twice in Δ steps in a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import integer
from sfumato.certify.charge import Charge, rule_charge
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.protocol import Domain
from sfumato.draws.noise import staircase_noise
from sfumato.draws.plans import AddedNoise
from sfumato.errors import InvalidEpsilon, InvalidInput, NotSupported, short
from sfumato.mechanisms.line import IntegerSecrets, power_of
from sfumato.mechanisms.proved import proved
from sfumato.numbers import Array, is_exact, number, object_array
from sfumato.privacy.promise import rational_power
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.spaces.distances import Form
from sfumato.spaces.finite import FiniteSpace

_SMALLEST_DECAY = 2.0**-53  # A float e^{−ε} stays so far from 0 and 1; what is proved is the promise itself.
_LARGEST_EXACT = 2**16  # Entries of the largest table of fractions.


@dataclass(frozen=True)
class Staircase(IntegerSecrets):
    """The discrete staircase distribution on the integers (Geng and Viswanath 2014).

    The noise ±i with i = kΔ + s, 0 ≤ s < Δ, has the probability a·b^k for s < r and a·b^{k+1} for s ≥ r, where
    b = e^{−ε} and a = (1 − b)/(2r + 2b(Δ − r) − (1 − b)). For Δ = 1 it is the two-sided geometric distribution.

    Parameters
    ----------
    decay
        b, between 0 and 1; probabilities are exact unless it is a float.
    width
        Δ.
    high
        r, the number of high steps in each period, from 1 to Δ.

    Examples
    --------
    >>> noise = Staircase(Fraction(1, 4), 2, 1)
    >>> [str(noise.probability(i)) for i in range(5)], noise.mean_size
    (['3/7', '3/28', '3/28', '3/112', '3/112'], Fraction(26, 21))
    """

    decay: Fraction | float
    width: int
    high: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "decay", number(self.decay, "the decay"))
        if not 0 < self.decay < 1:
            raise InvalidEpsilon(f"the decay e^-ε lies strictly between 0 and 1, found {short(self.decay)}")
        object.__setattr__(self, "width", integer(self.width, "the width of a period", 1))
        object.__setattr__(self, "high", integer(self.high, "the number of high steps", 1, self.width))

    @property
    def domain(self) -> Domain:
        """The integers, of which one individual moves up to Δ."""
        return super().domain if self.width == 1 else Domain(f"the integers in periods of {self.width}")

    def as_plan(self) -> AddedNoise:
        """Periods are geometric, offsets within them a table."""
        return AddedNoise(staircase_noise(self._exact_decay(), self.width, self.high))

    def as_charge(self) -> Charge:
        """What a ledger adds up: ε for each ⌈|x − z| / Δ⌉."""
        metric = ["integers"] if self.width == 1 else ["integers", self.width]
        rule = ["Staircase", self.width, self.high]
        return rule_charge(self.domain.name, metric, f"alpha {self._exact_decay()}", rule)

    def _exact_decay(self) -> Fraction:
        if not isinstance(self.decay, Fraction):
            raise InvalidInput(
                f"a staircase whose decay is the float {self.decay} promises no exact ε and is not drawn from: give "
                "e^-ε as a fraction"
            )
        return self.decay

    @cached_property
    def peak(self) -> Any:
        """a, the probability of no noise."""
        b, r = self.decay, self.high
        return (1 - b) / (2 * r + 2 * b * (self.width - r) - (1 - b))

    @cached_property
    def period(self) -> Any:
        """What the first period of one side weighs, in units of a."""
        return self.high + self.decay * (self.width - self.high)

    def probability(self, noise: int) -> Any:
        """The probability of one value."""
        k, s = divmod(abs(integer(noise, "noise")), self.width)
        return self.peak * power_of(self.decay, k + (s >= self.high))

    def beyond(self, noise: int) -> Any:
        """The probability of this value or a larger one, for a value ≥ 0."""
        noise = integer(noise, "the noise of a tail", 0)
        k, s = divmod(noise, self.width)
        b, r = self.decay, self.high
        rest = max(r - s, 0) + b * (self.width - max(r, s))
        return self.peak * power_of(b, k) * (rest + b * self.period / (1 - b))

    @cached_property
    def mean_size(self) -> Any:
        """The expected absolute noise.

        Both sides, period by period: Σ_k b^k (kΔ·w + f), where w is the weight of a period and f that of its
        offsets s.
        """
        b, r, n = self.decay, self.high, self.width
        offsets = Fraction(r * (r - 1), 2) + b * Fraction(n * (n - 1) - r * (r - 1), 2)
        return 2 * self.peak * (n * self.period * b / (1 - b) ** 2 + offsets / (1 - b))


def staircase(privacy: PrivacyType, *, high: int | None = None) -> Mechanism:
    """The staircase mechanism, answers beyond an end moved to the end.

    Among mechanisms that add noise which does not depend on the secret, to all integers, it has the least expected
    absolute noise for the best ``high``, and is optimal for every other symmetric cost that grows with the noise, for
    some ``high`` (Geng and Viswanath 2014). Mechanisms that look at the secret or at a prior can do better: on a line,
    Δ = 1, it is the geometric mechanism, which is universally optimal; for Δ > 1 it is optimal for no loss that
    is known once the consumer remaps. The tight-constraints mechanism, where it exists, guesses the sum better.

    Parameters
    ----------
    privacy
        A promise on ``sum_query(u, Δ)`` or a line: distances must be ⌈|i − j|/Δ⌉ times one unit.
    high
        r; by default the one with the least expected absolute noise.

    Examples
    --------
    >>> from sfumato.spaces import sum_query
    >>> mechanism = staircase(PrivacyType(sum_query(1, 2), alpha="1/4"))
    >>> [[str(p) for p in row] for row in mechanism.channel.matrix]
    [['5/7', '3/28', '5/28'], ['2/7', '3/7', '2/7'], ['5/28', '3/28', '5/7']]
    """
    privacy = as_type(privacy)
    width, unit = stretch_of(privacy.space)
    noise = _least_noise(_decay(privacy, unit), width, high)
    note = {"width": width, "high": noise.high, "expected absolute noise": float(noise.mean_size)}
    return proved("staircase", privacy, _clamped(len(privacy.space), noise), privacy.secrets, **note)


def _decay(privacy: PrivacyType, distance: Fraction) -> Fraction | float:
    """e^{−ε·distance}: a fraction if it is one and the table is small enough for fractions."""
    decay = None if privacy.alpha is None else rational_power(privacy.alpha, distance)
    if decay is not None and len(privacy.space) ** 2 <= _LARGEST_EXACT:
        return decay
    return min(max(exp(-privacy.rate * float(distance)), _SMALLEST_DECAY), 1 - _SMALLEST_DECAY)


def _least_noise(decay: Fraction | float, width: int, high: int | None) -> Staircase:
    """The best number of high steps, unless one is given: near Δ/(1 + e^{ε/2}), where continuous noise has it."""
    if high is not None:
        return Staircase(decay, width, high)
    root = float(decay) ** 0.5
    guess = width * root / (1 + root)
    around = range(max(1, int(guess) - 1), min(width, ceil(guess) + 1) + 1)
    return min((Staircase(decay, width, r) for r in around), key=lambda noise: noise.mean_size)


def _clamped(count: int, noise: Staircase) -> Array:
    """Rows 0, …, n − 1 of x plus noise, what is beyond an end counted for the end."""
    tables = ([f(i) for i in range(count)] for f in (noise.probability, noise.beyond))
    inner, beyond = (object_array(t) if isinstance(noise.decay, Fraction) else np.array(t) for t in tables)
    place = np.arange(count)
    gaps = np.abs(place[:, None] - place[None, :])
    table = np.asarray(inner[gaps])
    if count == 1:
        return np.asarray(table * 0 + 1)
    table[:, [0, -1]] = beyond[gaps[:, [0, -1]]]
    return table if is_exact(table) else np.asarray(table / table.sum(axis=1, keepdims=True))


def stretched_geometric(privacy: PrivacyType) -> Mechanism:
    """Geometric noise with the ratio e^{−ε/Δ}, answers beyond an end moved to the end.

    The usual way to answer sums: noise that falls a little at every step. It is the geometric mechanism of the finer
    metric ``|x − z|`` / Δ ≤ d(x, z), so it keeps the promise, and it is universally optimal for that metric and losses
    such as the absolute one. For d itself it is optimal for no loss that is known.

    Examples
    --------
    >>> from sfumato.spaces import sum_query
    >>> mechanism = stretched_geometric(PrivacyType(sum_query(1, 2), alpha="1/4"))
    >>> [str(p) for p in mechanism.channel.matrix[0]]
    ['2/3', '1/6', '1/6']
    """
    privacy = as_type(privacy)
    width, unit = stretch_of(privacy.space)
    matrix = _clamped(len(privacy.space), Staircase(_decay(privacy, unit / width), 1, 1))
    return proved("stretched_geometric", privacy, matrix, privacy.secrets, width=width)


def stretch_of(space: FiniteSpace) -> tuple[int, Fraction]:
    """Δ and the unit u, if distances are u·⌈|i − j|/Δ⌉ between the secrets i and j in their order.

    Raises
    ------
    NotSupported
        If they are not.

    Examples
    --------
    >>> from sfumato.spaces import line, sum_query
    >>> stretch_of(sum_query(3, 5)), stretch_of(line(4, step="1/2"))
    ((5, Fraction(1, 1)), (1, Fraction(1, 2)))
    """
    refusal = NotSupported(f"noise of stretched steps on {space.name}", ["sum_query(u, v)", "line(n)"])
    if len(space) == 1:
        return 1, Fraction(1)
    table = space.distances
    if table.form is Form.FLOAT or table.infinite.any():
        raise refusal
    first: NDArray[Any] = table.values[0]
    unit, width = int(first[1]), int((first == first[1]).sum())
    place = np.arange(len(space))
    steps = -(-np.abs(place[:, None] - place[None, :]) // width)
    expected = (steps * unit) if table.form is Form.RATIONAL else steps * steps * unit
    low, high = table.bounds(unit)
    if low != high or (table.values != expected).any():
        raise refusal
    return width, low
